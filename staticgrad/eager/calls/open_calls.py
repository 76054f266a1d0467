"""Plans of composite functions whose numbers vary from call to call.

A number among the arguments is part of a call's key: most are the same in all calls, and constants make simpler kernels. Where
calls come with ever other values of a number, such as a rate that is annealed, one plan serves them all: the function is called
with open numbers (`ops/operators/unknown_numbers.py`), and the plan is fed with what it computes of them. A number whose value
the function needs, as for an attribute of an op, stays part of the key.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.interpreter import module
from ...base.tables import Bounded
from ...ir import OpDef
from ...ops.operators import OpenNumbers
from ..grad_mode import modes
from ..tensor import Tensor
from .composite_records import Form
from .kernels import Computation, PlannedCall, requests, uses_of
from .signature import SEQUENCES, Signature, token

NUMBERS = frozenset({float, int})
VALUES = 4
"""Values of a number from which it is taken to vary: equal layers with a constant each have few."""
PLANS = 8
"""Plans of one function and kind of operands, for other outcomes of comparisons."""
KEPT = 64
"""Combinations of values that numbers have that are part of the key."""
Values = Sequence[float | int]


def numbers_of(signature: Signature) -> tuple[Values, Signature]:
    """The numbers of a call, in order, those in tuples left out, and the rest of its signature."""
    values: list[float | int] = []
    rest: Signature = []
    items, inside = iter(signature), 0
    for item in items:
        rest.append(item)
        if not isinstance(item, type):
            continue
        if item in NUMBERS and not inside:
            values.append(item(next(items)))
            continue
        rest.append(next(items))
        inside = max(inside - 1, 0) + (rest[-1] if item in SEQUENCES and rest[-1].__class__ is int else 0)
    return values, rest


def with_numbers(form: Form, numbers: Iterator[Any]) -> Form:
    """The form with other numbers, in their order."""

    def other(a: Any) -> Any:
        return next(numbers) if a.__class__ in NUMBERS else with_numbers(a, numbers) if a.__class__ is Form else a

    return Form(form.function, tuple(map(other, form.args)), tuple([(name, other(a)) for name, a in form.named]))


class OpenPlan(NamedTuple):
    """A plan for all numbers with the same answers. key: of the plan; feeds: see `OpenNumbers.feeds`."""

    key: Hashable
    feeds: Callable[[Values], list[np.ndarray] | None]

    def fed(self, values: Values) -> list[np.ndarray] | None:
        """What the plan is fed with for these numbers; None where they need another one, or an error."""
        try:
            return modes.now.quiet(self.feeds, values)
        except Exception:  # the function raises it, too
            return None


class CallFamily:
    """Calls that differ in numbers alone."""

    def __init__(self, values: Values):
        self.number = next(numbers_of_kinds)
        """Its part of the plans' keys: plans outlast kinds."""
        self.seen: list[set[Hashable]] = [set() for _ in values]
        self.varying: list[int] = []
        """The positions of the numbers that are open."""
        self.constant: set[int] = set()
        """Those of numbers whose values the function needs."""
        self.plans: Bounded[list[OpenPlan]] = Bounded(KEPT)
        """By the numbers that are part of the key."""
        self.made = 0
        """How many plans there were."""

    def note(self, values: Values) -> None:
        """Take note of the numbers of a call."""
        for i, value in enumerate(values):
            seen = self.seen[i]
            if len(seen) < VALUES and i not in self.constant:
                seen.add(token(value))
                if len(seen) == VALUES:
                    self.varying = sorted([*self.varying, i])

    def close(self, positions: Sequence[int]) -> None:
        """Let numbers be part of the key."""
        self.constant.update(positions)
        self.varying = [i for i in self.varying if i not in self.constant]


numbers_of_kinds = itertools.count()


def open_call(
    op: OpDef, form: Form, values: Values, rest: Signature, tensors: Sequence[Tensor], grad: bool
) -> tuple[PlannedCall, list[np.ndarray]] | None:
    """The plan of a call whose numbers vary, and the numbers to feed after the tensors; None where there is none, or not
    yet. form: of the call; values, rest: see `numbers_of`; grad: whether calls are recorded."""
    arrays = [t._data for t in tensors]
    family = (op, *rest)
    key = (CallFamily, family, *[a.shape for a in arrays], *[a.dtype for a in arrays])
    mode = modes.now
    kind: CallFamily | None = mode.calls[key]
    if kind is None:
        kind = mode.calls[key] = CallFamily(values)
    varying = kind.varying
    if len(varying) < len(values) - len(kind.constant):
        kind.note(values)
        varying = kind.varying
    if not varying:
        return None
    fixed = tuple([token(x) for i, x in enumerate(values) if i not in varying])
    plans = kind.plans[*varying, fixed]
    if plans is None:
        plans = kind.plans[*varying, fixed] = []
    given, last = [values[i] for i in varying], uses_of(max([a.size for a in arrays]))
    for plan in plans:
        feeds = plan.fed(given)
        if feeds is not None:
            call: PlannedCall = mode.calls[plan.key] or requests.begin(plan.key, last)
            if call.waits:
                if requests.plans[plan.key] is None:  # it was made long ago
                    plans.remove(plan)
                    return None
                call = requests.call(plan.key, call, lambda: None)
            return None if call.plan is None else (call, feeds)
    whole = ("open", kind.number, *varying, fixed, kind.made)
    if len(plans) >= PLANS:
        return None
    call = mode.calls[whole] or requests.begin(whole, last)
    if not call.waits:
        return None
    call = requests.call(whole, call, _program, kind, whole, family, plans, form, values, tensors, grad)
    if call.plan is None:
        return None
    feeds = plans[-1].fed(given)
    return None if feeds is None else (call, feeds)


def _program(
    kind: CallFamily, key: Hashable, family: Hashable, plans: list[OpenPlan], form: Form, values: Values,
    tensors: Sequence[Tensor], grad: bool,
) -> tuple[Computation | None, Any] | None:  # fmt: skip
    varying = kind.varying
    numbers = OpenNumbers([values[i] for i in varying])
    opened = dict(zip(varying, map(numbers.number, range(len(varying))), strict=True))
    given = iter([opened.get(i, value) for i, value in enumerate(values)])
    program = module("staticgrad.eager.calls.composite_plans").program
    made: tuple[Computation, Any] | None = program(with_numbers(form, given), tensors, grad, (numbers, family))
    if made is None:
        kind.close([varying[i] for i in numbers.constant] or varying)
    else:
        kind.made += 1
        plans.append(OpenPlan(key, numbers.feeds()))
    return made
