"""The backward pass of a tape whose form recurs is one compiled plan.

A training step makes a tape of the same form in each iteration. Once a form has recurred, its backward pass is built as a
graph from the rules of its ops and compiled, as kernels of single ops are (`kernels.py`). From a certain pass on its
guard finds the tape's values, one call computes the gradients, and nothing is visited record by record. The engine
(`backward_engine.py`) does whatever has no plan, and what a plan leaves to it.
"""

from __future__ import annotations

import marshal
import math
from collections.abc import Callable, Hashable, Sequence, Set
from contextlib import suppress
from types import CodeType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..base.dtypes import SHORT
from ..base.interpreter import module
from ..errors import GradientError
from ..ops.operators import frontends, intercepted
from .backward_hooks import Cotangents
from .calls.composite_records import PART
from .calls.kernels import NONE, OFF, STEPS, Computation, Maker, PlannedCall, program_of, requests, uses_of
from .grad_mode import modes
from .sparse_gradients import DeferredGradient, deferred
from .tape import Record, tick
from .tape_form import Form, FormOperand, Guards, Passes, form_of, key_of, order_of
from .tensor import Tensor, ndarray, wrap

if TYPE_CHECKING:
    from .backward_graphs import Rows

ARENA = 1 << 25
"""Bytes of memory of its own from which a plan is given up again, unless the values that it is fed with take as much. A plan
keeps its memory from pass to pass, where the engine's temporaries come and go."""
TRIED = 4
"""Guards that are tried on a tape."""
VAIN = 64
"""After so many new forms in a row, most passes are run without looking for a form."""
SELDOM = 256
"""From then on one pass in so many looks for a form."""
AT_ONCE = 3
"""Forms with plans of functions whose own plan takes over at the first tape: such a function came in every step so far, so its
tape will. A program whose tapes differ makes so many plans in vain."""

NOTHING: frozenset[int] = frozenset()


class Found(NamedTuple):
    """What a part of a plan computed. leaves: the gradients of leaves, or of targets; rows: those of leaves that are made of a
    few rows when they are read; rest: cotangents with which the engine goes on at records, and visits some at once (`visited`);
    shared: ids of those that are views of what the tape holds, or of seeds. Nobody else holds the others."""

    leaves: list[tuple[Tensor, np.ndarray]]
    rows: list[tuple[Tensor, DeferredGradient]]
    rest: list[tuple[Record, Any]]
    tape: Tape
    part: int
    shared: Set[int] = NOTHING

    @property
    def visited(self) -> list[Record]:
        """The records that the engine passes before the next part."""
        return [self.tape.records[number] for number in self.tape.plan.parts[self.part].passes.left]

    def following(self, cotangents: dict[Record, Any]) -> Found | None:
        """What the next part computes of the cotangents that the engine has, from which it takes them; None where there is no
        such part, and where the engine has to do it."""
        plan, number = self.tape.plan, self.part + 1
        return plan.parts[number].following(self.tape, number, cotangents) if number < len(plan.parts) else None

    def free(self) -> None:
        """See `Record.free`."""
        self.tape.plan.guards.free[self.part](self.tape.records, self.tape.leaves)


class Tape(NamedTuple):
    """A tape that has the form of a plan. records, leaves, arrays: see `Guards`; clock: when this was found."""

    plan: TapePlan
    targets: Sequence[Tensor] | None
    records: Sequence[Record]
    leaves: Sequence[Tensor]
    arrays: Sequence[Sequence[np.ndarray]]
    clock: int


class Part:
    """A part of the plan of a form: all of it, or what is between two visits of the engine."""

    __slots__ = ("call", "computes", "moved", "numbers", "passes", "pending", "places", "plain", "rows", "targets")

    def __init__(self, form: Form, passes: Passes, call: PlannedCall):
        self.passes, self.call = passes, call
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
        self.pending = [(i, n, part) for i, (kind, n, part) in enumerate(passes.sources) if kind == "pending"]

    def following(self, tape: Tape, number: int, cotangents: dict[Record, Any]) -> Found | None:
        """See `Found.following`."""
        if tape.plan.guards.changed[number - 1](tape.records, tape.leaves, tape.clock):
            return None
        arrays, parts = [*tape.arrays[number]], dict.fromkeys((n for _, n, _ in self.pending), 0)
        for i, n, part in self.pending:
            g = cotangents.get(tape.records[n])
            if part >= 0 and g is not None:
                g, parts[n] = g.get(part), parts[n] + 1
            if g.__class__ is not ndarray:
                return None
            arrays[i] = g
        if any(count and count != len(cotangents[tape.records[n]]) for n, count in parts.items()):
            return None
        self.call.arrive()
        found = self.run(tape, number, arrays)
        if found is not None:
            for n in parts:
                del cotangents[tape.records[n]]
        return found

    def run(self, tape: Tape, part: int, arrays: Sequence[np.ndarray]) -> Found | None:
        """None, and nothing has happened, where the engine has to do it."""
        values = self.call.run(*arrays) if self.computes else ()
        if values is None:
            for array in arrays:
                if array.__class__ is not ndarray:
                    return None  # a value that was freed, or is not computed yet
            values = self._in_any_layout(arrays)
            if values is None:
                return None
        targets, records, leaves = tape.targets, tape.records, tape.leaves
        if self.plain:
            named = zip(self.numbers, values, strict=True)
            return Found([(leaves[number], value) for number, value in named], [], [], tape, part)
        placed = [(number, result, value) for (number, result), value in zip(self.places, values, strict=False)]
        views: list[np.ndarray] = []
        for i, (number, result, steps, first) in enumerate(self.moved):
            views.append(steps(arrays) if first == i else views[first])
            placed.append((number, result, views[i]))
        found: list[tuple[Tensor, np.ndarray]] = []
        rest: list[tuple[Record, Any]] = []
        for number, result, value in placed:
            if number < 0:
                found.append((leaves[~number], value))
            elif number in self.targets:
                assert targets is not None
                found.append((targets[self.targets[number]], value))
            else:
                rest.append((records[number], value if result is None else Cotangents({result: value})))
        rows: list[tuple[Tensor, DeferredGradient]] = []
        for number, how, parts in self.rows:
            given = [values[of] if isinstance(of, int) else of(arrays) for of in parts]
            if not self.computes and any(g.shape != of.type.shape for g, of in zip(given, how.parts, strict=True)):
                return None  # other numbers of rows, at which no plan has looked
            if rest or part or targets is not None:  # the engine adds to arrays, and who asks for a gradient reads it
                found.append((leaves[number], how.make(given)))
            else:  # what it is made of has to be in memory that nobody else holds until then
                own = [g if isinstance(of, int) else g.copy() for of, g in zip(parts, given, strict=True)]
                rows.append((leaves[number], deferred(how, [wrap(g) for g in own])))
        return Found(found, rows, rest, tape, part, {id(view) for view in views} if views else NOTHING)

    def _in_any_layout(self, arrays: Sequence[np.ndarray]) -> Any:
        plan = self.call.plan
        if plan is None:
            return None
        for array, kind in zip(arrays, plan.feed_types, strict=True):
            if array.shape != kind.shape or array.dtype != kind.dtype:
                return None
        return self.call.in_any_layout(*arrays)


class TapePlan:
    """The plan of a form, with its guard."""

    __slots__ = ("form", "guards", "match", "parts", "size")

    def __init__(self, form: Form, passes: Sequence[Passes], later: Sequence[PlannedCall], guard: CodeType | None = None):
        """later: the calls of all parts but the first; guard: `Guards.code` of such a form."""
        self.form, self.size = form, form.size
        self.parts = [Part(form, each, call) for each, call in zip(passes, (NONE, *later), strict=True)]
        self.guards = Guards(form, passes, guard)
        self.match = self.guards.match

    def __reduce__(self) -> Any:
        return kept, ([part.passes for part in self.parts], self.calls, marshal.dumps(self.guards.code))

    @property
    def calls(self) -> list[PlannedCall]:
        """See `PlannedCall.calls`."""
        return [part.call for part in self.parts[1:]]

    def matched(self, roots: Sequence[Tensor], seeds: Sequence[Tensor], targets: Sequence[Tensor] | None) -> Any:
        """See `Guards.match`."""
        try:
            return self.match(roots, seeds, targets)
        except GradientError:  # an operand that was freed
            return None

    def run(self, roots: Sequence[Tensor], seeds: Sequence[Tensor], targets: Sequence[Tensor] | None) -> Found | None:
        """The pass, or the first part of it; None, and nothing has happened, for a tape of another form."""
        matched = self.matched(roots, seeds, targets)
        if matched is None:
            return None
        records, leaves, *arrays = matched
        tape = Tape(self, targets, records, leaves, arrays, tick() if len(arrays) > 1 else 0)
        return self.parts[0].run(tape, 0, arrays[0])


class Kept(NamedTuple):
    """A plan without its form, which each process finds on its own tape."""

    passes: Sequence[Passes]
    later: Sequence[PlannedCall]
    guard: CodeType

    def of(self, form: Form) -> TapePlan:
        return TapePlan(form, *self)


def kept(passes: Sequence[Passes], later: Sequence[PlannedCall], guard: bytes) -> Kept:
    """See `TapePlan.__reduce__`."""
    return Kept(passes, later, marshal.loads(guard))


class Expected(NamedTuple):
    """A backward pass that earlier processes had, which is ready before the first tape of its form. setting: what else its
    plans follow from; asked: notes that this process asks for it."""

    call: PlannedCall
    key: Hashable
    setting: Hashable
    asked: Callable[[], None]

    def meets(self, roots: Sequence[Tensor], seeds: Sequence[Tensor], targets: Sequence[Tensor] | None) -> bool:
        """Whether a tape has the form, as `form_of` would find it."""
        plan: TapePlan = self.call.use
        form = plan.form
        counts = None if form.targets is None else len(form.targets)
        if len(form.roots) != len(roots) or counts != (None if targets is None else len(targets)):
            return False
        matched = plan.matched(roots, seeds, targets)
        if matched is None:
            return False
        records = matched[0]
        began, ended = modes.now.passing
        return order_of(records) == form.order and not any(began < record.clock < ended for record in records)


expected: list[Expected] = []
"""Those that are to come."""


def expect(call: PlannedCall, form: Form, setting: Hashable, asked: Callable[[], None]) -> None:
    """Let a call that was read, whose `use` is a `Kept`, be ready for tapes of a form."""
    call.use = plan = call.use.of(form)
    plan.parts[0].call = call
    expected.append(Expected(call, key_of(form), setting, asked))


def _met(roots: Any, seeds: Any, targets: Any) -> tuple[Hashable, Form] | None:
    """The form of a tape, and its key, where it is one of `expected`."""
    for each in () if modes.now.numpy else [*expected]:
        if each.meets(roots, seeds, targets) and each.setting == module("staticgrad.eager.calls.remembered").chosen():
            with suppress(ValueError):  # another thread has met it
                expected.remove(each)
            if requests.plans[each.key] is None:
                requests.plans[each.key] = each.call
            each.asked()
            return each.key, each.call.use.form
    return None


class Forms:
    """The plans of tapes with one op at the first root, and how its tapes recur."""

    __slots__ = ("at_once", "plans", "vain")

    def __init__(self) -> None:
        self.plans: tuple[TapePlan, ...] = ()
        self.vain = 0
        """Passes in turn whose form came for the first time."""
        self.at_once = AT_ONCE
        """Forms whose plan may still take over at the first tape."""


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
    formed = (expected and _met(roots, seeds, targets)) or form_of(roots, targets)
    if not formed:
        group.vain += formed is None
        return formed
    key, form = formed
    mode = modes.now
    call: PlannedCall | None = mode.calls[key]
    if call is None:
        if form.size < whole:
            return None
        if any(row.call is not None for row in form.rows):  # it had plans of functions before it had this form
            last = 1 if group.at_once else STEPS
            group.at_once -= group.at_once > 0
        else:
            last = uses_of(elements_of(form))
        call = requests.begin(key, last)
        group.vain += not mode.waits
    elif call.waits:
        group.vain = 0
    if call.waits:
        call = requests.call(key, call, PROGRAM, form)
        if call.waits:
            return None if group.vain else False
    plan: TapePlan | None = call.use
    if plan is None or (call.plan is None and plan.parts[0].computes):
        group.vain += 1
        return None
    large = [each.plan for each in call.calls if each.plan is not None and each.plan.memory.arena > ARENA]
    if any(each.memory.arena > sum(feed.nbytes for feed in each.feed_types) for each in large):
        mode.calls[key] = requests.plans[key] = NONE
        return None
    plan.parts[0].call = call
    found = plan.run(roots, seeds, targets)
    if found is None:
        group.vain += 1
    elif plan not in group.plans:
        plan.guards.meet(form, found.tape.records)
        group.plans = (plan, *group.plans[: TRIED - 1])
    return found


def elements_of(form: Form) -> int:
    """The number of elements of the largest value of a record, on average."""

    def size(operand: int | FormOperand) -> int:
        if isinstance(operand, FormOperand):
            return math.prod(operand.shape)
        return math.prod(form.rows[operand].shape if operand >= 0 else form.leaves[~operand].shape)

    return sum(max(math.prod(row.shape), *map(size, row.operands)) for row in form.rows) // len(form.rows)


def _program(form: Form) -> tuple[Computation | None, TapePlan] | None:
    parts = module("staticgrad.eager.backward_graphs").backward_graphs(form)
    if not parts:
        return None
    programs = [program_of(each.graph, each.fetches, each.feeds) if each.fetches else None for each in parts]
    later = [NONE if program is None else requests.new(lambda it: (it, None), program) for program in programs[1:]]
    return programs[0], TapePlan(form, [each.passes for each in parts], later)


def _whole(key: Any, form: Form) -> Any:
    """All that the program of a form follows from; what there is much of is text, which need not be described."""

    def operand(x: int | FormOperand) -> Any:
        return x if x.__class__ is int else f"{x.shape} {SHORT[x.dtype]} {x.tracked}"  # type: ignore[union-attr]

    rows: list[Any] = []
    for row in form.rows:
        what: Any = row.results
        if not what:
            what = "part" if row.op is PART else (row.op, row.attrs) if row.call is None else row.call.whole
        rows += (what, f"{[*map(operand, row.operands)]} {row.shape} {SHORT[row.dtype]} {row.part}")
    return key[0], tuple(rows), f"{[*map(operand, form.leaves)]} {form.roots} {form.targets} {form.order}"


PROGRAM = Maker(_program, whole=_whole, used=lambda plan, form: plan.of(form))
