"""The backward pass of a compiled function's results, for callers that differentiate them.

A result that requires grad is recorded on the eager tape as one operation, whose gradient is a plan of its own: the symbolic
backward pass of the trace, cut where it reads values of the forward pass. As long as nobody has called `backward`, the forward
plan keeps none of these values, and the first backward pass computes them again; then the function is traced once more, and its
plan returns them.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from ..autodiff import requests
from ..autodiff.reverse import gradients
from ..base.interpreter import rlock
from ..base.types import TensorType
from ..compiler.passes.specialize import FunctionalGraph, functionalize
from ..compiler.passes.symbolic_extents import Conditions, Filler, SymbolicProgram
from ..compiler.program import Program
from ..eager.grad_mode import INFERRED, Inference, modes, set_grad_enabled
from ..eager.tape import Record, edge, tick
from ..eager.tensor import Tensor, wrap
from ..errors import GradientError, TraceError
from ..ir import REGISTRY, Cell, Graph, Node
from ..ir.walks import reached
from ..namespaces.autograd.function import Function
from ..ops.operators import Symbol, append
from .traced import Traced
from .traced_backward import cotangents, differentiating, hook_of_node, untracked

if TYPE_CHECKING:
    from .specialization import Specialization
    from .tracer import Tracer

# Gradients of a compiled function's results as functions that can be differentiated again, to any order.
#
# A gradient depends on the leaves and on the cotangents of all orders before. Its own gradient is derived symbolically, on
# the graph of the trace, when somebody asks for it first. It reads no value of the forward pass that the first backward pass
# did not read: the rules that it goes through are those which that pass went through.


class Derivatives:
    """Gradients `targets` (None where there is none) of one order, as nodes of the graph of a trace.

    leaves: for each leaf, its nodes; saved: the values of the forward pass that the first backward pass reads; seeds: the
    cotangents of all orders, this one's included; stops: nodes that no gradient flows past.
    """

    def __init__(
        self, graph: Graph, leaves: Sequence[Sequence[Node]], saved: Sequence[Node], seeds: Sequence[Node],
        targets: Sequence[Node | None], stops: Sequence[Node], numerics: str,
    ):  # fmt: skip
        self.graph, self.leaves, self.saved, self.seeds = graph, leaves, list(saved), list(seeds)
        self.targets, self.stops, self.numerics = list(targets), stops, numerics
        self._next: Derivatives | None = None
        self._program: Program | None = None
        self._lock = rlock()

    def next(self) -> Derivatives:
        """The gradients of the targets: for the leaves, and for the cotangents."""
        with self._lock:
            if self._next is None:
                self._next = self._derived()
            return self._next

    def _derived(self) -> Derivatives:
        def symbols(nodes: Sequence[Node]) -> list[Symbol]:
            return [Symbol(self.graph, node) for node in nodes]

        ys = [node for node in self.targets if node is not None]
        seeds = [append(self.graph, REGISTRY["placeholder"], (), {"type": node.type}) for node in ys]
        wanted = [*self.leaves, *[[seed] for seed in self.seeds]]
        nodes = [node for versions in wanted for node in versions]
        with set_grad_enabled(False):
            parts = iter(gradients(symbols(ys), symbols(nodes), seeds, symbols(self.stops)))
            targets = [total([next(parts) for _ in versions]) for versions in wanted]
        seen = [*self.seeds, *(seed.node for seed in seeds)]
        return Derivatives(self.graph, self.leaves, self.saved, seen, targets, self.stops, self.numerics)

    def symbolic(self, conditions: Conditions) -> SymbolicProgram:
        """The graph of a trace over symbols, to be filled in for other extents. Raises Unfollowed where it can't be."""
        present = [node for node in self.targets if node is not None]
        nodes = [*present, *self.saved, *self.stops, *(node for versions in self.leaves for node in versions)]
        return SymbolicProgram(functionalize(self.graph, nodes, self.seeds, strict=True), conditions, ())

    def filled(self, made: FunctionalGraph) -> Derivatives:
        """The same for other extents. made: what `symbolic` gave, filled in."""
        found = iter(made.fetches)
        targets = [None if node is None else next(found) for node in self.targets]
        saved, stops = [next(found) for _ in self.saved], [next(found) for _ in self.stops]
        leaves = [[next(found) for _ in versions] for versions in self.leaves]
        return Derivatives(made.graph, leaves, saved, made.feeds, targets, stops, self.numerics)

    def run(self, values: Sequence[np.ndarray]) -> list[Tensor | None]:
        """The gradients. values: of `saved` and `seeds`."""
        if self._program is None:
            feeds = [*self.saved, *self.seeds]
            made = Program(self.graph, [x for x in self.targets if x is not None], feeds, numerics=self.numerics)
            leaves = [node for node in made.prepared.graph.nodes if node.op.leaf in ("generator", "variable")]
            if leaves or made.prepared.needs:
                raise GradientError(
                    "this gradient of a compiled function's result needs a value that its first gradient did not need",
                    "take both gradients inside the compiled function",
                )
            self._program = made
        found = iter(self._program.run([np.asarray(a, order=self._program.order) for a in values], {}))
        return [None if node is None else wrap(next(found)) for node in self.targets]


def total(parts: Sequence[Any]) -> Node | None:
    """The node of a sum of cotangents, of which those that are None count for nothing."""
    present = [x for x in parts if x is not None]
    if not present:
        return None
    found = present[0]
    for part in present[1:]:
        found = found + part
    return found.node


def as_recorded(tensors: Sequence[Tensor], clock: int) -> list[Tensor]:
    """Tensors whose gradients flow to where they would have flowed at an earlier time."""
    found = []
    for tensor in tensors:
        record, leaf = edge(tensor, clock)
        found.append(leaf if leaf is not None else wrap(tensor._data, record))
    return found


class Recorded:
    """What a recorded gradient is computed of: the Derivatives that it has the values of, and what these read."""

    def __init__(self, order: Callable[[], Derivatives], saved: Sequence[Tensor], computed: Sequence[np.ndarray]):
        self.order, self.saved, self.computed = order, saved, computed

    def record(self, found: Sequence[Tensor | None], leaves: Sequence[Tensor], seeds: Sequence[Tensor]) -> list[Tensor | None]:
        """The gradients `found`, on the tape."""
        values = [g for g in found if g is not None]
        if not values:
            return list(found)
        made = iter(CompiledGradient.apply(self, values, len(leaves), *leaves, *seeds))
        return [None if g is None else next(made) for g in found]


class CompiledGradient(Function):
    """The gradients of one call on the tape. They have been computed already."""

    @staticmethod
    def forward(ctx: Any, recorded: Recorded, found: Sequence[Tensor], count: int, *operands: Tensor) -> Any:
        ctx.recorded, ctx.leaves = recorded, operands[:count]
        ctx.save_for_backward(*recorded.saved, *operands[count:])
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        recorded: Recorded = ctx.recorded
        count = len(recorded.saved)
        saved, seeds = ctx.saved_tensors[:count], [*ctx.saved_tensors[count:], *cotangents]
        order = recorded.order().next()
        values = [*(x._data for x in saved), *recorded.computed, *(g._data for g in seeds)]
        found = order.run(values)
        if modes.now.grad:
            again = Recorded(lambda: order, saved, recorded.computed)
            made = again.record(found, ctx.leaves, seeds)
            return None, None, None, *made
        return None, None, None, *found


class ResultTape:
    """Which results can be differentiated, with respect to which leaves, and the programs that do it.

    roots: positions of the results among the fetches. leaves: captured tensors, and numbers of arguments. saved: where the
    backward pass finds each value that it reads: ("argument", its number), ("cell", that of a captured tensor), ("fetch", a
    position). wanted: the caller has called `backward`, so that the next trace should return these values. recompute: computes
    those that the plan does not return, from the arguments with the numbers `repeated` and the tensors of the cells `reread`;
    None where it returns all. first: the gradients as functions that can be differentiated, or the error that says why they
    can't be.
    """

    def __init__(
        self, roots: Sequence[int], leaves: Sequence[Tensor | int], saved: Sequence[tuple[str, Any]], backward: Program,
        reached: Sequence[bool], recompute: Program | None, first: Derivatives | GradientError,
        repeated: Sequence[int] = (), reread: Sequence[Cell] = (),
    ):  # fmt: skip
        self.roots, self.leaves, self.saved = list(roots), list(leaves), list(saved)
        self.backward, self.reached, self.recompute = backward, list(reached), recompute
        self.repeated, self.reread, self.wanted = frozenset(repeated), list(reread), False
        self._first = first
        self._filled: Callable[[], Derivatives] | None = None
        self._symbolic: list[SymbolicProgram] = []
        self._whole: SymbolicProgram | None = None

    @property
    def incomplete(self) -> bool:
        """Whether another trace should return the values that the backward pass reads."""
        return self.wanted and self.recompute is not None

    def follow(self, conditions: Conditions) -> None:
        """Prepare for other extents. Raises Unfollowed where a program can't be filled in."""
        programs = [self.backward] if self.recompute is None else [self.backward, self.recompute]
        self._symbolic = [SymbolicProgram(program.prepared, conditions, ()) for program in programs]
        if isinstance(self._first, Derivatives):
            self._whole = self._first.symbolic(conditions)

    def again(self, filler: Filler, cells: Mapping[Cell, Cell]) -> ResultTape:
        """The same for other extents, over storage of its own."""
        new = copy.copy(self)
        new.wanted = False
        new.saved = [(kind, cells.get(key, key) if kind == "cell" else key) for kind, key in self.saved]
        new.reread = [cells.get(cell, cell) for cell in self.reread]
        filled = [symbolic.filled(filler, _Others(cells)) for symbolic in self._symbolic]
        new.backward = self.backward.of(filled[0], None)
        whole, first = self._whole, self._first
        if whole is not None and isinstance(first, Derivatives):
            new._filled = lambda: first.filled(whole.filled(filler, _Others(cells)))
        if self.recompute is not None:
            new.recompute = self.recompute.of(filled[1], None)
        return new

    def first(self) -> Derivatives:
        """See the class. Raises GradientError."""
        if isinstance(self._first, GradientError):
            raise self._first
        if self._filled is not None:
            self._first, self._filled = self._filled(), None
        return self._first

    def recorded(self, tensors: list[Tensor], args: Sequence[Any]) -> list[Tensor]:
        """`record` of a call whose arguments are tensors and arrays that need no conversion."""
        self.record(tensors, [x._data if isinstance(x, Tensor) else x for x in args], args)
        return tensors

    def record(self, tensors: list[Tensor], arrays: Sequence[np.ndarray], given: Sequence[Any]) -> None:
        """Put the results of a run on the tape. tensors: of all fetches; arrays: of the arguments `given`."""
        run = _Run(self, tensors, arrays, given)
        made = CompiledCall.apply(run, *run.leaves)
        for position, tensor in zip(self.roots, made, strict=True):
            tensors[position] = tensor


class _Others(dict[Cell, Cell]):
    """Storage by the cell whose place it takes; any other cell stays."""

    def __missing__(self, cell: Cell) -> Cell:
        return cell


class _Run:
    """The values of one run that its backward pass reads."""

    def __init__(self, tape: ResultTape, tensors: Sequence[Tensor], arrays: Sequence[np.ndarray], given: Sequence[Any]):
        self.tape = tape
        self.results = [tensors[position] for position in tape.roots]
        self.leaves = [given[leaf] if isinstance(leaf, int) else leaf for leaf in tape.leaves]
        self.clock = tick()
        self.saved: list[Tensor] = []
        self.arrays: Sequence[np.ndarray] = ()
        for kind, key in tape.saved:
            if kind == "fetch":
                self.saved.append(tensors[key])
            elif kind == "feed":
                self.saved.append(wrap(arrays[key]))
            else:
                source = given[key] if kind == "argument" else key.tensor
                self.saved.append(source if _counts(source) else wrap(np.array(getattr(source, "_data", source))))
        if tape.recompute is not None:
            # After those of the arguments come numbers and gradients that the run read, whose changes nobody counts.
            counted = {i for i, x in enumerate(given) if _counts(x)}
            self.arrays = [a.copy() if i in tape.repeated - counted else a for i, a in enumerate(arrays)]
            self.saved += [given[i] for i in sorted(tape.repeated & counted)]  # a backward pass notices their changes
            self.saved += [cell.tensor for cell in tape.reread if _counts(cell.tensor)]

    def gradients(self, saved: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
        """The cotangents of the leaves, which can be differentiated where gradients are recorded."""
        tape = self.tape
        tape.wanted = True
        saved = saved[: len(tape.saved)]
        order = tape.backward.order
        values = [np.asarray(x._data, order=order) for x in saved]
        computed = []
        if tape.recompute is not None:
            computed = tape.recompute.run([np.asarray(a, order=order) for a in self.arrays], _Cells())
        arrays = iter(tape.backward.run([*values, *computed, *(np.asarray(g._data, order=order) for g in seeds)], _Cells()))
        found = [wrap(next(arrays)) if reached else None for reached in tape.reached]
        if not modes.now.grad:
            return found
        return Recorded(tape.first, saved, computed).record(found, as_recorded(self.leaves, self.clock), seeds)


def _counts(x: Any) -> bool:
    """Whether changes of an argument or captured tensor are counted: not those of an array, or inside `inference_mode`."""
    return isinstance(x, Tensor) and x._inference is None


class _Cells(dict[Any, np.ndarray]):
    """The arrays of cells, which eager tensors own."""

    def __missing__(self, cell: Any) -> np.ndarray:
        return cell.tensor._data


class CompiledCall(Function):
    """One call of a compiled function on the tape. `run` has done it already."""

    @staticmethod
    def forward(ctx: Any, run: _Run | _LostRun, *leaves: Any) -> Any:
        ctx.run = run
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*run.saved)
        return tuple(run.results)

    @staticmethod
    def backward(ctx: Any, *seeds: Any) -> Any:
        # Zeros lie as the results do: strict plans add in the order of memory.
        seeds = tuple([wrap(np.zeros_like(x._data)) if g is None else g for g, x in zip(seeds, ctx.run.results, strict=True)])
        return None, *ctx.run.gradients(ctx.saved_tensors, seeds)


class _LostRun:
    """Stands for a run whose tape a backward pass inside the function has freed, or a change in place has broken."""

    saved: tuple[Tensor, ...] = ()

    def __init__(self, error: GradientError):
        self.results, self.error = [wrap(np.zeros(()))], error

    def gradients(self, saved: Sequence[Any], seeds: Sequence[Any]) -> NoReturn:
        raise GradientError(self.error.summary, *self.error.details)


class _IdleRun(_LostRun):
    """Stands for a run whose results require grad by leaves that the function made and nobody else has."""

    def __init__(self, result: Tensor):
        self.results, self.saved = [wrap(result._data)], (wrap(np.zeros(())),)  # which a backward pass frees

    def gradients(self, saved: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:  # type: ignore[override]
        return [None]


class ResultFlags:
    """Results that require grad, though no backward pass can go through them: in eager mode a loss whose tape `backward` has
    freed still does, and another backward pass raises an error; so does one that needs a value which a change has overwritten.
    One through `idle` results does nothing that can be seen. A leaf that the function made is a leaf outside as well.

    lost: the errors, by position among the fetches; arguments: the numbers of those that require grad and lead there; idle,
    leaves: positions; differentiated: captured tensors that require grad.
    """

    def __init__(
        self, lost: Mapping[int, GradientError], arguments: Mapping[int, Sequence[int]], idle: Sequence[int],
        leaves: Sequence[int], differentiated: Sequence[Tensor],
    ):  # fmt: skip
        self.lost, self.arguments, self.idle, self.leaves = lost, arguments, idle, leaves
        self.differentiated = differentiated
        self._records: list[tuple[int, Record | None]] | None = None
        """With the position of each. Made by the first run: the trace is active when these flags are."""

    def set(self, tensors: Sequence[Tensor], given: Sequence[Any] = ()) -> None:
        """Set the flags of the results of a run. given: its arguments, where some require grad."""
        if self._records is None:
            self._records = [
                (position, _recorded(_LostRun(error), self.differentiated)) for position, error in self.lost.items()
            ]
        for position, record in self._records:
            tensor = tensors[position]
            if numbers := self.arguments[position]:
                record = _recorded(_LostRun(self.lost[position]), [*self.differentiated, *[given[i] for i in numbers]])
            tensor._record, tensor._tracked = record, True
        for position in self.idle:
            tensor = tensors[position]
            tensor._record, tensor._tracked = _recorded(_IdleRun(tensor), ()), True
        for position in self.leaves:
            tensor = tensors[position]
            tensor._since, tensor._tracked = tick(), True


class InferenceMarks:
    """Which results of a run are tensors of `inference_mode`: all that are made in a call inside of it, but for those that the
    function makes outside of it again; and in any call those that it makes inside one of its own.

    found: for each fetch whether it was such a tensor in the trace; within: whether that was inside of the mode.
    """

    def __init__(self, found: Sequence[bool], within: bool):
        self.inside = [] if within else [i for i, one in enumerate(found) if one]
        """Those of a mode of the function's own."""
        self.outside = {i for i, one in enumerate(found) if within and not one}
        self._mode = Inference() if self.inside else None
        if self._mode is not None:
            INFERRED.append(weakref.ref(self._mode))

    def set(self, tensors: Sequence[Tensor]) -> None:
        """Mark the results of a run."""
        now = modes.now.inference
        if now is not None:
            for i, tensor in enumerate(tensors):
                if i not in self.outside:
                    tensor._inference = now
        else:
            for i in self.inside:
                tensors[i]._inference = self._mode


def _recorded(run: _LostRun, differentiated: Sequence[Tensor]) -> Record | None:
    """A record of a result, which holds nothing of its run."""
    leaf = Tensor(np.zeros(()), requires_grad=True)  # where no captured tensor requires grad
    return CompiledCall.apply(run, leaf, *differentiated)[0]._record


def result_tape(
    specialization: Specialization, tracer: Tracer, fetches: Sequence[Any], feeds: Sequence[Node], saves: bool
) -> tuple[ResultTape | None, ResultFlags | None]:
    """The tape of the results among `fetches`, and the flags of those that require grad and are not on it; None for none. A
    fetch that is None has a tape already. Called while the trace is active.

    saves: whether the plan returns the values that the backward pass reads; they are entered in `specialization.fetches`.
    """
    if not modes.now.grad:
        return None, None
    tracked = [i for i, x in enumerate(fetches) if x is not None and x.requires_grad]
    made = [i for i in tracked if isinstance(tracer.leaves.get(fetches[i].node), Traced)]
    roots = [i for i in tracked if fetches[i].node not in tracer.leaves]
    request = _request(specialization, tracer, [fetches[i].node for i in roots])
    lost = {i: requests.freed() for i in roots if request is None and fetches[i].node in tracer.freed}
    if request is not None and isinstance(request.found, GradientError):
        for i in roots:
            one = _request(specialization, tracer, [fetches[i].node]) if len(roots) > 1 else request
            if one is not None and isinstance(one.found, GradientError):
                lost[i] = one.found
        roots = [i for i in roots if i not in lost]
        request = _request(specialization, tracer, [fetches[i].node for i in roots])
    alive = [i for i in roots if i not in lost]
    if made and not {fetches[i].node for i in made}.isdisjoint(tracer.graph.reaching([fetches[i].node for i in alive])):
        raise TraceError(
            "a compiled function returns a tensor that requires grad since it was made there, and what depends on it",
            "make the tensor outside, or call backward() inside the function",
        )
    differentiated = [tensor for tensor, leaf in tracer.captured.values() if tensor._tracked]
    idle = alive if request is None else []
    arguments = {i: _leading(tracer, fetches[i].node) for i in lost}
    flags = ResultFlags(lost, arguments, idle, made, differentiated) if lost or idle or made else None
    tape = None
    if request is not None:
        tape = _tape(specialization, tracer, fetches, feeds, saves, roots, request)
    return tape, flags


def _leading(tracer: Tracer, node: Node) -> list[int]:
    """The numbers of the arguments that require grad and from which a value is computed."""
    above = set(tracer.graph.reaching([node]))
    given = enumerate(tracer.arguments)
    return [i for i, (x, leaf) in given if isinstance(x, Tensor) and x.requires_grad and leaf.origin in above]


class _Request(NamedTuple):
    """A backward pass from some results. keys: leaves, with the nodes of their versions; found: the cotangents of all of these,
    or the error where a backward pass inside the function has freed what they need, or a change has overwritten it."""

    order: list[Node]
    keys: dict[int, tuple[Any, list[Node]]]
    begin: int
    seeds: list[Symbol]
    stops: list[Node]
    found: list[Any] | GradientError


def _request(specialization: Specialization, tracer: Tracer, nodes: Sequence[Node]) -> _Request | None:
    """The backward pass from these nodes to leaves from outside; None where there are none."""
    graph = tracer.graph
    order = graph.reaching(nodes) if nodes else []
    keys: dict[int, tuple[Any, list[Node]]] = {}
    for node in order:
        key = tracer.leaves.get(node)
        if isinstance(key, Tensor) or (key is not None and _passed(specialization, tracer, key)):
            keys.setdefault(id(key), (key, []))[1].append(node)
    if not keys:
        return None
    begin = len(graph.nodes)
    seeds = [append(graph, REGISTRY["placeholder"], (), {"type": node.type}) for node in nodes]
    hooks = {node: hook_of_node(tracer, node) for node in order if node in tracer.hooks and node not in tracer.leaves}
    targets = [node for _, versions in keys.values() for node in versions]
    found: list[Any] | GradientError
    try:
        with differentiating(tracer, False):
            found = cotangents(tracer, [Symbol(graph, node) for node in nodes], seeds, order, targets, hooks)
    except GradientError as error:
        found = error.with_traceback(None)  # whose frames hold the trace
    return _Request(order, keys, begin, seeds, untracked(tracer, order), found)


def _tape(
    specialization: Specialization, tracer: Tracer, fetches: Sequence[Any], feeds: Sequence[Node], saves: bool,
    roots: Sequence[int], request: _Request,
) -> ResultTape | None:  # fmt: skip
    """The tape of results that can be differentiated."""
    graph, (order, keys, begin, seeds, stops, found) = tracer.graph, request
    assert not isinstance(found, GradientError)
    parts = iter(found)
    grads = [total([next(parts) for _ in versions]) for _, versions in keys.values()]
    targets = [g for g in grads if g is not None]
    late = set(graph.nodes[begin:])
    read = {i: None for node in graph.reaching(targets) if node in late for i in node.inputs}
    read.update(dict.fromkeys(targets))
    early = _saved_nodes([node for node in read if node not in late])
    if early is None:
        return None
    changed = {leaf.origin for _, leaf in (*tracer.captured.values(), *tracer.arguments) if leaf.changed}
    places: dict[Node, tuple[str, Any]] = {}
    for number, (_, leaf) in enumerate(tracer.arguments):
        if leaf.origin in early and leaf.origin not in changed:
            places[leaf.origin] = "argument", number
    if tracer.given_numbers is not None:
        numbers = {*tracer.given_numbers.nodes.values()}
        places.update({node: ("feed", i) for i, node in enumerate(feeds) if node in numbers and node in early})
    for node in early:
        if node.op.leaf == "variable" and node not in changed:
            places[node] = "cell", node.attrs["cell"]
    for _, leaf in tracer.captured.values():
        if leaf.changed and leaf.node in early:  # which lies in the tensor after the run
            places[leaf.node] = "cell", leaf.origin.attrs["cell"]
    rest = [node for node in early if node not in places]
    recompute = None
    repeated: list[int] = []
    reread: list[Cell] = []
    if rest and not saves:
        above = graph.reaching(rest)
        own = {id(tensor) for owner, tensor in tracer.wrappers.values() if isinstance(owner, np.ndarray)}
        others = {leaf.origin for tensor, leaf in tracer.captured.values() if leaf.changed or id(tensor) in own}
        if any(node.op.leaf in ("generator", "argument") or node in changed or node in others for node in above):  # by then
            saves = True
        else:
            reread = [node.attrs["cell"] for node in above if node.op.leaf == "variable"]
            found_above = set(above)
            repeated = [i for i, node in enumerate(feeds) if node in found_above]
            recompute = Program(graph, rest, feeds, numerics=specialization.numerics)
    if saves:
        for node in rest:
            places[node] = "fetch", next((i for i in roots if fetches[i].node is node), None)
            if places[node][1] is None:
                places[node] = "fetch", specialization.fetch(Symbol(graph, node))
    known = [node for node in early if node in places]
    feeds_back = [*known, *([] if saves else rest), *(seed.node for seed in seeds)]
    backward = Program(graph, targets, feeds_back, numerics=specialization.numerics)
    leaves = [key if isinstance(key, Tensor) else specialization.numbers[id(key)] for key, _ in keys.values()]
    saved = [places[node] for node in known]
    if any(node in tracer.hooks for node in order if node not in tracer.leaves):
        first: Derivatives | GradientError = GradientError(
            "the gradient of a compiled function's result can't be differentiated again, because the function registers a hook",
            "take both gradients inside the compiled function, or the first one with create_graph=False",
        )
    else:
        versions = [nodes for _, nodes in keys.values()]
        inputs = [seed.node for seed in seeds]
        first = Derivatives(graph, versions, feeds_back[: -len(seeds)], inputs, grads, stops, specialization.numerics)
    return ResultTape(roots, leaves, saved, backward, [g is not None for g in grads], recompute, first, repeated, reread)


def _saved_nodes(read: Sequence[Node]) -> list[Node] | None:
    """The values of the forward pass that are returned; those that no run can return, such as the stacks of a loop, are
    computed again from them. None where that would draw other random numbers."""
    found = reached(read, lambda node: () if type(node.type) is TensorType else node.inputs)
    if any(node.op.leaf == "generator" for node in found):
        return None
    return [node for node in found if type(node.type) is TensorType and node.op.leaf != "constant"]


def _passed(specialization: Specialization, tracer: Tracer, leaf: Any) -> bool:
    """Whether a leaf is an argument that was passed as a tensor."""
    number = specialization.numbers.get(id(leaf))
    return number is not None and isinstance(tracer.arguments[number][0], Tensor)
