"""One trace of a function: its plan, what it relies on, and what has to be done around a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, is_
from sys import getrefcount
from typing import Any

import numpy as np

from ..compiler.execute.fastcall import Spec
from ..compiler.execute.many_runs import Steps
from ..compiler.passes.user_passes import Pass
from ..compiler.program import Program
from ..eager.grad_mode import modes
from ..eager.tape import tick, touch
from ..eager.tensor import Structure, Tensor, wrap
from ..errors import TraceError
from ..ir import REGISTRY, Cell, Node
from ..operators import Symbol, append
from ..types import shape_text
from .arguments import ArrayKey, Call
from .fast_call import fallback, make_fast_call
from .outputs import Results
from .sharing import bounds, check, pattern
from .sparse_gradients import DeferredGradientBinding, recipe
from .tracer import Tracer
from .watch import Watch

ndarray = np.ndarray
GRAD = attrgetter("_grad")


class _Buffers(dict[Cell, np.ndarray]):
    """The arrays of cells that eager tensors own."""

    def __missing__(self, cell: Cell) -> np.ndarray:
        array: np.ndarray = cell.tensor._data
        return array


BUFFERS = _Buffers()


class GradientBinding:
    """The tensor that a step leaves in `holder.grad`; `cell` is where the plan writes it.

    Eager steps make a new tensor each time, so one that somebody still holds must not be written again. It can be got by
    reading `.grad` only, which `Structure.reads` counts: usually nothing has to be looked at.
    """

    __slots__ = ("alone", "cell", "cells", "holder")

    def __init__(self, holder: Tensor, cell: Cell):
        self.holder = holder
        self.cell = cell
        self.cells = [cell]
        self.alone: tuple[int, int] | None = None
        """References to the tensor and to its array when nobody else has one."""

    def held(self) -> bool:
        """Whether somebody else has the tensor or its array. The first answer, before anybody can have it, is no."""
        tensor = self.cell.tensor
        counts = getrefcount(tensor) - (self.holder._grad is tensor), getrefcount(tensor._data)
        if self.alone is None:
            self.alone = counts
        return counts[0] > self.alone[0] or counts[1] > self.alone[1]

    def renew(self) -> Tensor:
        """Leave the tensor to those who hold it."""
        old = self.cell.tensor._data
        self.cell.tensor = wrap(np.empty(old.shape, old.dtype))
        fresh: Tensor = self.cell.tensor
        return fresh


class Specialization:
    """See the module. It is made while its trace is active; `compile` makes the plan."""

    def __init__(
        self,
        call: Call,
        tracer: Tracer,
        result: Any,
        watch: Watch,
        numerics: str = "fast",
        passes: Sequence[Pass] = (),
    ):
        self.key = call.key
        self.grad_mode = modes.now.grad
        self.owners: list[Tensor] = []
        self.own_grads: list[Tensor | None] = []
        """Tensors whose `.grad` a run sets, and what it is after the run."""
        self.homes: dict[int, GradientBinding | DeferredGradientBinding] = {}
        """By the position in `owners`."""
        self.entry_grads: list[tuple[Tensor, Cell | None]] = []
        """Gradients that the step starts from, and the cells that they are bound to; None for none."""
        self.bare: set[int] = set()
        """Numbers of arguments that have gradients in the step and are arrays, which have no place for one; a tensor in their
        stead takes another trace."""
        self.given_grads: list[tuple[int, bool]] = []
        """(number of an argument, whether it has a gradient that is fed)"""
        self.given_after: list[tuple[int, int | None]] = []
        """(number of an argument, which fetch becomes its gradient)"""
        self.written_back: list[tuple[int, int, bool]] = []
        """(number of an argument, which fetch is written to its memory, whether into its gradient)"""
        self.numbers = {id(leaf): i for i, (_, leaf) in enumerate(tracer.arguments)}
        self.results = Results(result, self.numbers)
        self.effects = watch.effects
        for effect in self.effects:
            effect.build = self.results.kept(effect.args, watch.old)
        self.results.seal()
        self.results._known.clear()
        self.fetches = list(self.results.fetches)
        for fetch in self.fetches:
            tracer.check_active(fetch)
            tracer.check_view(fetch)
        self.assigns: list[tuple[Node, Any]] = []
        feeds = [leaf.origin for _, leaf in tracer.arguments]
        feeds += self._entry_gradients(tracer)
        self._final_gradients(tracer)
        self._changes(tracer)
        check(tracer.members(call.sources, call.array_labels()), tracer.places)
        self.windowed = bool(tracer.places)
        self.changed_arguments = {number for number, _, into_grad in self.written_back if not into_grad}
        self.changed_grads = {number for number, _, into_grad in self.written_back if into_grad}
        effects = [append(tracer.graph, REGISTRY["assign"], pair, {}).node for pair in self.assigns]
        fetches = [fetch.node for fetch in self.fetches]
        self.program = Program(
            tracer.graph, fetches, feeds, effects, draws=tracer.graph.draws, numerics=numerics, passes=passes
        )
        self.captured = [tensor for tensor, _ in tracer.captured.values()]
        self.captured_ids = frozenset(map(id, self.captured))
        self.facts = [_fact(tensor) for tensor in self.captured]
        self.hooks = [(t._hooks, tuple(t._hooks)) for t in self.captured if t._hooks is not None]
        self.written = [variable.attrs["cell"] for variable, _ in self.assigns]
        self.uses_given = bool(self.results.uses_given or self.given_grads or self.given_after or self.written_back)
        self.ordered = [_row_major(x) for x in call.given] if tracer.ordered else None
        """Which arguments are row-major, where the trace relies on it."""
        self.reach = watch.close()
        self.specs = self._specs(call)
        self.short: Callable[[tuple[Any, ...]], Any] = fallback
        self.free = False
        """The short way needs no lock: it reads what it relies on, runs in one native call, and changes nothing else."""
        self.changes = self.reads = -1
        self.clock = 0
        for traced in (self.fetches, self.assigns, self.results.fetches):
            traced.clear()  # with them goes the trace, which holds its own graph and the arrays of the first call

    # what the trace left ----------------------------------------------------------------------------------------------

    def _has_grad(self, owner: Tensor, grad: Tensor | None) -> None:
        self.owners.append(owner)
        self.own_grads.append(grad)

    def _fetch(self, value: Any) -> int:
        self.fetches.append(value)
        return len(self.fetches) - 1

    def _entry_gradients(self, tracer: Tracer) -> list[Node]:
        """Bind or feed the gradients that the step reads at its start; returns the feeds."""
        feeds = []
        for key, leaf in tracer.entry.values():
            if isinstance(key, Tensor):
                self.entry_grads.append((key, None if leaf is None else leaf.origin.attrs["cell"]))
                if leaf is not None and leaf.changed:
                    self.assigns.append((leaf.origin, leaf))
            elif id(key) in self.numbers and not self._is_bare(tracer, key):
                number = self.numbers[id(key)]
                self.given_grads.append((number, leaf is not None))
                if leaf is not None:
                    feeds.append(leaf.origin)
                    if leaf.changed:
                        self.written_back.append((number, self._fetch(leaf), True))
        return feeds

    def _is_bare(self, tracer: Tracer, leaf: Any) -> bool:
        """Whether an argument is an array; takes note that the trace relies on it then."""
        number = self.numbers[id(leaf)]
        if isinstance(tracer.arguments[number][0], Tensor):
            return False
        self.bare.add(number)
        return True

    def _final_gradients(self, tracer: Tracer) -> None:
        """What becomes of `.grad`: none, a tensor of the user, the one it was, or a home for a new one."""
        for key, value in tracer.grads.values():
            if value is not None and value is tracer.entry.get(id(key), (None, None))[1]:
                continue
            if not isinstance(key, Tensor):
                if id(key) in self.numbers and not self._is_bare(tracer, key):
                    self.given_after.append((self.numbers[id(key)], None if value is None else self._fetch(value)))
            elif value is None or isinstance(value, Tensor):
                self._has_grad(key, value)
            else:
                self._home(tracer, key, value)

    def _home(self, tracer: Tracer, key: Tensor, value: Any) -> None:
        """A place for a gradient: for its parts where the step itself updates the rows that they name."""
        name = f"{key.name if key.name else 'tensor'}.grad"
        how = recipe(value.node)
        updated = id(key) in tracer.captured and tracer.captured[id(key)][1].changed
        home: GradientBinding | DeferredGradientBinding
        if how is None or not updated:
            tensor = wrap(np.zeros(key.shape, key.dtype))
            home = GradientBinding(key, self._assigned(tracer, tensor, name, value))
        else:
            cells = []
            for i, part in enumerate(how.parts):
                place = wrap(np.zeros(part.type.shape, part.type.dtype))
                cells.append(self._assigned(tracer, place, f"{name} part {i}", Symbol(tracer.graph, part)))
            home = DeferredGradientBinding(key, how, cells)
            tensor = home.tensor
        self.homes[len(self.owners)] = home
        self._has_grad(key, tensor)

    def _assigned(self, tracer: Tracer, tensor: Tensor, name: str, value: Any) -> Cell:
        variable = tracer.variable(tensor, name).origin
        self.assigns.append((variable, value))
        cell: Cell = variable.attrs["cell"]
        return cell

    def _changes(self, tracer: Tracer) -> None:
        """In-place changes of what the function reached, and of its arguments."""
        self.assigns += [(leaf.origin, leaf) for _, leaf in tracer.captured.values() if leaf.changed]
        for number, (given, leaf) in enumerate(tracer.arguments):
            if leaf.changed:
                if not isinstance(given, (Tensor, ndarray)):
                    tracer.refuse(f"a compiled function can't change a {type(given).__name__} in place")
                self.written_back.append((number, self._fetch(leaf), False))

    def _specs(self, call: Call) -> list[Spec] | None:
        """For the short way: what each argument has to be. None for arguments that take more."""
        parts = call.parts
        if call.kwargs or len(parts) != len(call.args) or self.uses_given or self.windowed:
            return None
        if any(effect.build is not None for effect in self.effects):
            return None
        if self.ordered is not None and not all(self.ordered):
            return None
        if any(isinstance(part, ArrayKey) and (part.requires_grad or part.parameter) for part in parts):
            return None
        arrays = enumerate(call.arrays)
        specs = []
        for part, arg in zip(parts, call.args, strict=True):
            if isinstance(part, ArrayKey):
                number, array = next(arrays)
                specs.append(Spec(array.dtype, part.shape, bare=number in self.bare))
            else:
                specs.append(Spec(None, (), arg))
        return specs

    # before a run -----------------------------------------------------------------------------------------------------

    def compile(self, call: Call) -> None:
        """Make the plan, and bind it. Raises TraceError when tensors share memory that the step writes."""
        self.plan = self.program.plan(*self.fed(call.arrays, call.given))
        self.reach.freeze()
        self.free = self.plan.atomic and not (self.written or self.owners or self.entry_grads or self.effects)
        self.bind(Structure.changes)
        self.sharing = self._sharing(call)

    def _sharing(self, call: Call) -> tuple[Any, ...]:
        """How the arguments share memory that the step writes, with one another and with what it reads and writes."""
        if not (self.changed_arguments or self.changed_grads or self.touched):
            return ()
        grads = [(call.given[n]._grad._data, n in self.changed_grads) for n, fed in self.given_grads if fed]
        mine = [(array, number in self.changed_arguments) for number, array in enumerate(call.sources)] + grads
        return pattern(mine, call.given, self.places)

    def shares(self, call: Call) -> bool:
        """Whether the arguments share memory as those of the trace did."""
        return self._sharing(call) == self.sharing

    def touches(self, array: ndarray) -> bool:
        """Whether a run changes memory of the array in place."""
        low, high = bounds(array)
        return any(changes and low < end and begin < high for begin, end, _, changes in self.places)

    def fed(self, arrays: list[ndarray], given: Sequence[Any]) -> list[ndarray]:
        """The arrays with those of the arguments' gradients."""
        more = [np.ascontiguousarray(given[number]._grad._data) for number, fed in self.given_grads if fed]
        return [*arrays, *more] if more else arrays

    def take(self, call: Call) -> list[ndarray]:
        """The arrays of any arguments."""
        return self.fed([self.apart(array) for array in call.arrays], call.given)

    def apart(self, array: ndarray) -> ndarray:
        """The array, or a copy when it shares memory with what the step writes."""
        low = array.__array_interface__["data"][0]
        high = low + array.nbytes
        return array.copy() if any(low < end and begin < high for begin, end in self.ranges) else array

    def ready(self) -> bool:
        """Whether what the trace relied on is as it was; binds the plan anew where memory has moved."""
        changes = Structure.changes
        if not (self.reach.current() if self.changes == changes else self.holds()):
            return False
        if not self.gradients_ready():
            return False
        if self.changes != changes:
            self.bind(changes)
        return True

    def unmoved(self) -> bool:
        """Whether hooks, and the gradients that the step starts from, are those that the plan is bound to."""
        for hooks, keys in self.hooks:
            if tuple(hooks) != keys:
                return False
        return all(t._grad is (None if cell is None else cell.tensor) for t, cell in self.entry_grads)

    def gradients_ready(self) -> bool:
        """Whether hooks, and the gradients that the step starts from, are as they were; takes note of other tensors."""
        for hooks, keys in self.hooks:
            if tuple(hooks) != keys:
                return False
        for tensor, cell in self.entry_grads:
            g = tensor._grad
            if cell is None:
                if g is not None:
                    return False
            elif g is not cell.tensor:
                if g is None or not _fits(g, cell):
                    return False
                cell.tensor = g
                self.changes = -1  # until it is bound
                self.short = fallback
        return True

    def holds(self) -> bool:
        """Whether names, structures and tensors are as they were."""
        return [_fact(tensor) for tensor in self.captured] == self.facts and self.reach.holds()

    def suits(self, given: Sequence[Any]) -> bool:
        """Whether the arguments are none of the tensors that the function reaches, have gradients or not as they had, and are
        arrays where the trace relies on it."""
        for x in given:
            if id(x) in self.captured_ids:
                return False
        for number in self.bare:
            if isinstance(given[number], Tensor):
                return False
        if self.ordered is not None and [_row_major(x) for x in given] != self.ordered:
            return False
        for number, fed in self.given_grads:
            g = getattr(given[number], "_grad", None)
            if (g is not None) is not fed or (g is not None and g._record is not None):
                return False
        return True

    def bind(self, changes: int) -> None:
        """Point the plan at the tensors' buffers, which may have moved; `changes`: of `Structure`, when all was found to
        hold. Raises TraceError for tensors that share memory."""
        self.plan.alone(self.plan.bind, BUFFERS)
        written = [cell.tensor for cell in self.written]
        self.ranges = _apart(written, [cell.tensor for cell in self.plan.builder.cells])
        homes = {id(cell.tensor) for home in self.homes.values() for cell in home.cells}
        self.touched = [tensor for tensor in written if id(tensor) not in homes]
        touched = set(map(id, self.touched))
        more = [cell.tensor for cell in self.plan.builder.cells if id(cell.tensor) not in homes]
        self.places = [(*bounds(t._data), t, id(t) in touched) for t in {id(t): t for t in [*self.touched, *more]}.values()]
        self.changes = changes
        self.short = make_fast_call(self)

    def _renew_held(self) -> None:
        """Give gradients that somebody holds to them, and the step others."""
        reads, renewed = Structure.reads, False
        try:
            for at, home in self.homes.items():
                if home.held():
                    renewed = True
                    self.owners[at], self.own_grads[at] = home.holder, home.renew()
        finally:
            if renewed:  # also those before one for which there was no memory
                self.bind(self.changes)
        self.reads = reads

    # the run ------------------------------------------------------------------------------------------------------------

    def run(self, arrays: list[ndarray], given: Sequence[Any]) -> Any:
        """One run on arrays that came from `given`. Nothing is changed when it raises."""
        if self.written_back:
            self._check_writeable(given)
        if self.reads != Structure.reads:
            self._renew_held()
        results = self.plan.alone(self.plan.execute, arrays)
        self.finish()
        return self._built(results, given)

    def moves(self, read: Any) -> bool:
        """Whether a run itself changes what was read."""
        return read is not None and any(effect.holder is read.holder for effect in self.effects)

    def replay(self, tensors: Sequence[Any] = (), given: Sequence[Any] = ()) -> None:
        """Write what the function writes to Python's state."""
        for effect in self.effects:
            effect.run(tensors, given)

    @property
    def steady(self) -> bool:
        """A step can follow another without a look at the state: each finds it as the one before."""
        after = {id(tensor): g for tensor, g in zip(self.owners, self.own_grads, strict=True)}
        same = all(
            after.get(id(tensor), None if cell is None else cell.tensor) is (None if cell is None else cell.tensor)
            for tensor, cell in self.entry_grads
        )
        return same and self.specs is not None and not self.effects and Steps.suit(self.plan)

    def run_steps(self, feeds: Any, before: int) -> tuple[list[ndarray], int]:
        """Steps on arrays at the addresses of `feeds`: the stacked results, and how many steps there were."""
        if self.reads != Structure.reads:
            self._renew_held()
        addresses, ids, _ = feeds
        steps = Steps(self.plan, addresses, ids)
        try:
            self.plan.alone(steps.run, before)
        finally:
            if steps.done:
                self.finish()
        return steps.results, steps.done

    def finish(self) -> None:
        """Tell the tape what was written, and put the gradients where they belong."""
        if self.touched:
            now = tick()
            if now != self.clock + 1:  # records were made meanwhile, which may have read what was written now
                for tensor in self.touched:
                    now = touch(tensor)
            self.clock = now
        owners, grads = self.owners, self.own_grads
        if not all(map(is_, map(GRAD, owners), grads)):
            for tensor, g in zip(owners, grads, strict=True):
                tensor._grad = g

    def _built(self, arrays: list[ndarray], given: Sequence[Any]) -> Any:
        """The results of a run, as the user's function returned them."""
        tensors = [wrap(array) for array in arrays]
        if self.uses_given:
            self._write_back(tensors, given)
        if self.effects:
            self.replay(tensors, given)
        if self.results.single:
            return tensors[0]
        return self.results.build(tensors, given)

    def _check_writeable(self, given: Sequence[Any]) -> None:
        for number, _, into_grad in self.written_back:
            x = given[number]._grad if into_grad else given[number]
            array = x._data if isinstance(x, Tensor) else x
            if not isinstance(array, ndarray):
                raise TraceError(f"a compiled function can't change a {type(array).__name__} in place")
            if not array.flags.writeable:
                raise TraceError(
                    f"a compiled function can't change an argument of shape {array.shape} whose memory is read-only",
                    "pass a copy of it, or compute a new tensor from it",
                )

    def _write_back(self, tensors: list[Tensor], given: Sequence[Any]) -> None:
        for number, fetch, into_grad in self.written_back:
            x = given[number]._grad if into_grad else given[number]
            if isinstance(x, Tensor):
                x._data[...] = tensors[fetch]._data
                touch(x)
            else:
                x[...] = tensors[fetch]._data
        for number, position in self.given_after:
            if isinstance(given[number], Tensor):
                given[number]._grad = None if position is None else tensors[position]


def _fact(tensor: Tensor) -> tuple[Any, ...]:
    """What a trace relies on in a tensor that it reached."""
    data = tensor._data
    hooks = tuple(tensor._hooks) if tensor._hooks else ()
    return tensor._tracked, data.shape, data.dtype, data.flags.c_contiguous, data.flags.writeable, hooks


def difference(entry: Specialization, given: Sequence[Any]) -> str:
    """Why an entry for the same kinds of arguments, which came from `given`, did not do, in words."""
    changed = entry.reach.difference()
    if changed is not None:
        return changed
    what = ("requires_grad", "shape", "dtype", "being in row-major order", "being writeable", "hooks")
    for tensor, old in zip(entry.captured, entry.facts, strict=True):
        for name, a, b in zip(what, old, _fact(tensor), strict=True):
            if a != b:
                label = tensor.name if tensor.name else f"a tensor of shape {shape_text(tensor.shape)}"
                return f"{label}: {name} {b} instead of {a}" if name != "hooks" else f"{label} has other hooks"
    if entry.grad_mode is not modes.now.grad:
        return f"grad mode is {'on' if modes.now.grad else 'off'}"
    for tensor, cell in entry.entry_grads:
        if (tensor._grad is None) is not (cell is None):
            label = tensor.name if tensor.name else f"a tensor of shape {shape_text(tensor.shape)}"
            return f"{label} has {'a gradient' if cell is None else 'no gradient'} at the start"
    if any(isinstance(given[number], Tensor) for number in entry.bare):
        return "a tensor instead of an array gets a gradient"
    return "the arguments have other gradients"


def _row_major(x: Any) -> bool:
    """Whether the elements of an argument lie in row-major order."""
    array = x._data if isinstance(x, Tensor) else x
    return not isinstance(array, ndarray) or array.flags.c_contiguous


def _fits(g: Tensor, cell: Cell) -> bool:
    data, kind = g._data, cell.type
    return (
        g._record is None
        and data.shape == kind.shape
        and data.dtype == kind.dtype
        and data.flags.c_contiguous
        and data.flags.writeable
    )


def _apart(written: list[Tensor], reached: list[Tensor]) -> list[tuple[int, int]]:
    """The memory that is written: (first, last + 1) byte. Kernels assume that it is nobody else's: raises TraceError."""
    places: dict[int, tuple[int, int, Tensor]] = {}
    for tensor in reached:
        data = tensor._data
        if data.size:
            begin = data.__array_interface__["data"][0]
            places[id(tensor)] = begin, begin + data.nbytes, tensor
    ids = set(map(id, written))
    order = sorted(places.values(), key=lambda place: place[:2])
    furthest: dict[bool, tuple[int, int, Tensor] | None] = {True: None, False: None}
    for place in order:
        writes = id(place[2]) in ids
        for other_writes, other in furthest.items():
            if other is not None and other[1] > place[0] and (writes or other_writes):
                raise TraceError(
                    f"the compiled function changes a tensor of shape {shape_text((place if writes else other)[2].shape)} "
                    f"that shares memory with another one of shape {shape_text((other if writes else place)[2].shape)} "
                    "which it uses",
                    "use one tensor for both, or a clone()",
                )
        known = furthest[writes]
        if known is None or known[1] < place[1]:
            furthest[writes] = place
    return [places[id(tensor)][:2] for tensor in written if id(tensor) in places]
