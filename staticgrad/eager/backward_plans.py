"""The backward pass of a tape whose form recurs is one compiled plan.

A training step makes a tape of the same form in each iteration. Once a form has recurred, its backward pass is built as a
graph from the rules of its ops and compiled, as kernels of single ops are (`kernels.py`). From a certain pass on its
guard finds the tape's values, one call computes the gradients, and nothing is visited record by record. The engine
(`backward_engine.py`) does whatever has no plan, and what a plan leaves to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..base.signals import module
from ..errors import GradientError
from ..operators import frontends, intercepted
from .backward_hooks import Cotangents
from .calls.composite_records import PART
from .calls.kernels import NONE, OFF, STEPS, USES, Call, Computation, Maker, program_of, requests, uses_of
from .grad_mode import modes
from .sparse_gradients import DeferredGradient, deferred
from .tape import Record
from .tape_form import Form, Guards, Kind, Passes, form_of
from .tensor import Tensor, ndarray, wrap

if TYPE_CHECKING:
    from .backward_graphs import Rows

ARENA = 1 << 25
"""Bytes of memory of its own from which a plan is given up again, unless the values that it is fed with take as much. A plan
keeps its memory from pass to pass, where the engine's temporaries come and go."""
TRIED = 4
"""Guards that are tried on a tape."""
VAIN = 64
"""Forms in turn that came for the first time, after which no form is looked for in most passes."""
SELDOM = 256
"""One of so many passes looks for a form then."""

NOTHING: frozenset[int] = frozenset()


class Found(NamedTuple):
    """What a plan computed. leaves: the gradients of leaves, or of targets; rows: those of leaves that are made of a few rows
    when they are read; rest: cotangents with which the engine goes on at records; shared: ids of those that are views of what
    the tape holds, or of seeds. Nobody else holds the others."""

    leaves: list[tuple[Tensor, np.ndarray]]
    rows: list[tuple[Tensor, DeferredGradient]]
    rest: list[tuple[Record, Any]]
    plan: TapePlan
    matched: tuple[Any, ...]
    """See `Guards`."""
    shared: Set[int] = NOTHING

    def free(self) -> None:
        """See `Record.free`."""
        self.plan.guards.free(*self.matched[1:])


class TapePlan:
    """The plan of a form, with its guard."""

    __slots__ = (
        "call", "computes", "form", "guards", "match", "moved", "numbers", "passes", "places", "plain", "rows", "size",
        "targets",
    )  # fmt: skip

    def __init__(self, form: Form, passes: Passes, guard: bytes = b""):
        """guard: `Guards.code` of such a form."""
        self.form, self.passes = form, passes
        self.size = form.size
        self.guards = Guards(form, passes, guard)
        self.match = self.guards.match
        self.places = passes.places
        chains = [steps for _, steps in passes.moved]
        self.moved = [(*place, steps, chains.index(steps)) for place, steps in passes.moved]
        """The last: the first of them that is the same view."""
        self.rows: list[Rows] = passes.rows
        self.computes = passes.computes
        self.plain = not self.moved and not self.rows and all(number < 0 for number, _ in self.places)
        """All that is computed are gradients of leaves."""
        self.numbers = [~number for number, _ in self.places]
        wanted = form.targets if form.targets is not None else ()
        self.targets = {place: i for i, place in enumerate(wanted) if place in passes.planned}
        """The numbers of the targets that are results of records."""
        self.call: Call = NONE

    def __reduce__(self) -> Any:
        return TapePlan, (self.form, self.passes, self.guards.code)

    def run(self, roots: Sequence[Tensor], seeds: Sequence[Tensor], targets: Sequence[Tensor] | None) -> Found | None:
        """The pass; None, and nothing has happened, for a tape of another form."""
        try:
            matched = self.match(roots, seeds, targets)
        except GradientError:  # an operand that was freed
            return None
        if matched is None:
            return None
        arrays, records, leaves = matched
        values = self.call.run(*arrays) if self.computes else ()
        if values is None:
            for array in arrays:
                if array.__class__ is not ndarray:
                    return None  # a value that was freed, or is not computed yet
            values = self._in_any_layout(arrays)
            if values is None:
                return None
        if self.plain:
            named = zip(self.numbers, values, strict=True)
            return Found([(leaves[number], value) for number, value in named], [], [], self, matched)
        placed = [(number, part, value) for (number, part), value in zip(self.places, values, strict=False)]
        views: list[np.ndarray] = []
        for i, (number, part, steps, first) in enumerate(self.moved):
            views.append(steps(arrays) if first == i else views[first])
            placed.append((number, part, views[i]))
        found: list[tuple[Tensor, np.ndarray]] = []
        rest: list[tuple[Record, Any]] = []
        for number, part, value in placed:
            if number < 0:
                found.append((leaves[~number], value))
            elif number in self.targets:
                assert targets is not None
                found.append((targets[self.targets[number]], value))
            else:
                rest.append((records[number], value if part is None else Cotangents({part: value})))
        rows: list[tuple[Tensor, DeferredGradient]] = []
        for number, how, parts in self.rows:
            given = [values[part] if isinstance(part, int) else part(arrays) for part in parts]
            if not self.computes and any(g.shape != part.type.shape for g, part in zip(given, how.parts, strict=True)):
                return None  # other numbers of rows, at which no plan has looked
            if rest or targets is not None:  # the engine adds to arrays, and who asks for a gradient reads it
                found.append((leaves[number], how.make(given)))
            else:  # what it is made of has to be in memory that nobody else holds until then
                own = [g if isinstance(part, int) else g.copy() for part, g in zip(parts, given, strict=True)]
                rows.append((leaves[number], deferred(how, [wrap(g) for g in own])))
        return Found(found, rows, rest, self, matched, {id(view) for view in views} if views else NOTHING)

    def _in_any_layout(self, arrays: Sequence[np.ndarray]) -> Any:
        plan = self.call.plan
        assert plan is not None
        for array, kind in zip(arrays, plan.feed_types, strict=True):
            if array.shape != kind.shape or array.dtype != kind.dtype:
                return None
        return self.call.in_any_layout(*arrays)


class Forms:
    """The plans of tapes with one op at the first root, and how its tapes recur."""

    __slots__ = ("plans", "vain")

    def __init__(self) -> None:
        self.plans: tuple[TapePlan, ...] = ()
        self.vain = 0
        """Passes in turn whose form came for the first time."""


def planned(
    roots: Sequence[Tensor], seeds: Sequence[Tensor], targets: Sequence[Tensor] | None
) -> Found | Literal[False] | None:
    """The backward pass of a tape by its plan; None where the engine has to do it, False where it does until there is one."""
    mode = modes.now
    whole = mode.whole
    if whole is OFF.whole or mode.anomaly or not roots or (frontends.tracing and intercepted()):
        return None
    mode.passes += 1
    record = roots[0]._record
    if record is None:
        return None
    place = Forms, record.op, len(roots), -1 if targets is None else len(targets)
    group: Forms | None = mode.calls[place]
    if group is None:
        group = mode.calls[place] = Forms()
    for plan in group.plans:
        if plan.size >= whole:
            found = plan.run(roots, seeds, targets)
            if found is not None:
                return found
    if group.vain > VAIN and group.vain % SELDOM and not mode.waits:
        group.vain += 1
        return None
    return _requested(group, roots, seeds, targets, whole)


def _requested(group: Forms, roots: Any, seeds: Any, targets: Any, whole: int) -> Found | Literal[False] | None:
    """Count the form of a tape, and request its plan when it has recurred; the pass, where the plan is there."""
    formed = form_of(roots, targets)
    if not formed:
        group.vain += formed is None
        return formed
    key, form = formed
    mode = modes.now
    call: Call | None = mode.calls[key]
    if call is None:
        if form.size < whole:
            return None
        recurring = any(row.call is not None for row in form.rows)  # it had plans of functions before it had this form
        call = requests.begin(key, uses_of(elements_of(form), STEPS if recurring else USES))
        group.vain += not mode.waits
    elif call.waits:
        group.vain = 0
    if call.waits:
        call = requests.call(key, call, PROGRAM, form)
        if call.waits:
            return None if group.vain else False
    plan: TapePlan | None = call.use
    if plan is None or (call.plan is None and plan.computes):
        group.vain += 1
        return None
    if call.plan is not None and call.plan.memory.arena > max(ARENA, sum(feed.nbytes for feed in call.plan.feed_types)):
        mode.calls[key] = requests.plans[key] = NONE
        return None
    plan.call = call
    found = plan.run(roots, seeds, targets)
    if found is None:
        group.vain += 1
    elif plan not in group.plans:
        group.plans = (plan, *group.plans[: TRIED - 1])
    return found


def elements_of(form: Form) -> int:
    """The number of elements of the largest value of a record, on average."""

    def size(operand: int | Kind) -> int:
        if isinstance(operand, Kind):
            return math.prod(operand.shape)
        return math.prod(form.rows[operand].shape if operand >= 0 else form.leaves[~operand].shape)

    return sum(max(math.prod(row.shape), *map(size, row.operands)) for row in form.rows) // len(form.rows)


def _program(form: Form) -> tuple[Computation | None, TapePlan] | None:
    backward = module("staticgrad.eager.backward_graphs").backward_graph(form)
    if backward is None:
        return None
    plan = TapePlan(form, backward.passes)
    if not backward.fetches:
        return None, plan
    return program_of(backward.graph, backward.fetches, backward.feeds), plan


def _whole(key: Any, form: Form) -> Any:
    """All that the program of a form follows from."""

    def operand(x: int | Kind) -> Any:
        return x if isinstance(x, int) else (x.shape, x.dtype, x.tracked)

    rows = []
    for row in form.rows:
        what = "part" if row.op is PART else (row.op, row.attrs) if row.call is None else row.call.whole
        rows.append((what, tuple(map(operand, row.operands)), row.shape, row.dtype, row.part))
    return key[0], tuple(rows), tuple(map(operand, form.leaves)), form.roots, form.targets, form.order


PROGRAM = Maker(_program, whole=_whole)
