"""From a Python function to a subgraph: it runs once on symbols, and the nodes that it appended to the graph move into a body.

The function runs in the graph around it, so whatever it uses from outside is found by itself: values that do not depend
on a loop's parameters stay outside, computed once, and enter the body as constants. Every tensor from outside is handed in,
constants too, so that it can be fed and differentiated with respect to; the numbers that the function itself writes are part
of the body. The compiler puts small constants into bodies when it knows that nothing feeds them
(`compiler/passes/subgraphs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...base.types import TensorType
from ...errors import GraphError
from ...ir import REGISTRY, Graph, Node, Subgraph, may_fail
from ...ir.walks import postorder, reached
from ..operators import Symbol, append, apply, state
from ..pytree import flatten
from ..random import STREAMS, next_place, stream_op
from .branch_effects import assigned_variables, effects_of, ordered, resolved

COUNTER = TensorType((), np.dtype(np.int64))
"""How many draws of a body's random numbers earlier iterations took."""


def in_graph(graph: Graph, op: str, args: tuple[Any, ...], **attrs: Any) -> Any:
    """An op in the graph at hand: through the tracer when one is at work."""
    if state.tracer is not None:
        return state.tracer.apply(REGISTRY[op], args, attrs)
    return append(graph, REGISTRY[op], args, attrs)


@contextmanager
def entered(graph: Graph) -> Iterator[None]:
    """While a body is being built, new tensors go to its graph, random draws included. A trace takes all by itself."""
    graphs = [graph] if state.tracer is None else []
    state.graphs += graphs
    state.inside += 1
    try:
        yield
    finally:
        state.inside -= 1
        del state.graphs[len(state.graphs) - len(graphs) :]


def symbol(graph: Graph, value: Any, like: Any = None) -> Any:
    """A tensor, array or number as a symbol of the graph; numbers take the dtype of `like`."""
    if getattr(value, "_is_array", False):
        return value.tensor  # a scalar of NumPy's brings its dtype, as in eager mode
    if isinstance(value, Symbol):
        return value
    if like is not None and not hasattr(value, "dtype"):
        value = np.asarray(value, like)
    return in_graph(graph, "identity", (value,))


class Draws:
    """The random numbers of the body of a loop or branch: a stream of its own, derived from one draw of the surrounding stream.

    Around what builds the node. always: the draw is taken even if the body has no use for it. count: how many the body took
    in one iteration.
    """

    def __init__(self, graph: Graph, *, always: bool):
        self.graph, self.always, self.count = graph, always, 0
        self.bare = graph.generator is None
        self.stream = next_place(graph).draw(stream_op)

    def __enter__(self) -> Draws:
        return self

    def __exit__(self, error: Any, *rest: Any) -> None:
        if error is not None or not (self.always or self.count):
            self._withdraw()

    @contextmanager
    def inside(self, step: Any) -> Iterator[None]:
        """While the body is being built: its draws come from the stream. step: those of earlier iterations; None: it has
        only one."""
        graph = self.graph
        saved, around = (graph.generator, graph.step, graph.draws), graph.around
        graph.generator, graph.step, graph.draws = self.stream, step, self.count
        graph.around = (*around, step)
        try:
            yield
        finally:
            self.count, (graph.generator, graph.step, graph.draws) = graph.draws, saved
            graph.around = around

    def _withdraw(self) -> None:
        """There is no loop, or it draws nothing: its draw is the next one's. What a body that failed had drawn goes, too."""
        graph = self.graph
        gone = {self.stream.node}
        graph.draws -= 1
        if self.bare:
            gone.add(graph.generator.node)
            graph.generator = None
        graph.withdraw(reached(gone, graph.succ.__getitem__))


class Traced:
    """One run of `fn` on parameters of the given types.

    structure, results: its return value; captured: the nodes from outside that the results need; assigned, before: of its
    effects, see `branch_effects`. `closed`: the function has no parameters, and everything that it appended is part of it (a
    branch), else only what depends on them (the body of a loop, whose further parameters and results are the values of the
    variables that it assigns).
    """

    def __init__(
        self, graph: Graph, fn: Callable[..., Any], kinds: Sequence[TensorType],
        arrange: Callable[[list[Any]], tuple[Any, ...]], what: str, likes: Sequence[Any] = (), *, closed: bool = False,
    ):  # fmt: skip
        self.graph, self.what, self.closed = graph, what, closed
        self.assigned: dict[Node, Node] = {}
        self.before: list[Node] = []
        marks = None if state.tracer is None else state.tracer.marks()
        first = len(graph.nodes)
        params = [in_graph(graph, "placeholder", (), type=kind) for kind in kinds]
        if state.tracer is not None:
            state.tracer.follow(params)
        self.params = [p.node for p in params]
        try:
            with entered(graph):
                leaves, self.structure = flatten(fn(*arrange(params)))
            dtypes = [*likes, *[None] * (len(leaves) - len(likes))]
            self.symbols = [symbol(graph, leaf, like) for leaf, like in zip(leaves, dtypes, strict=False)]
            self.results = [s.operand() for s in self.symbols]
            if state.tracer is None:
                self.results = ordered(graph, graph.nodes[first:], self.results)
                waits = getattr(graph, "bodies_wait", False)
                effects, idle = effects_of(graph.nodes[first:], self.results, lambda n: not _initializes(n), waits)
                graph.withdraw(idle)
                variables = [] if closed else assigned_variables(graph.nodes[first:], effects)
                self._resolve(graph.nodes[first:], effects, variables)
                self.results += [self.assigned[v] for v in variables]
            added = graph.nodes[first:]
            self._refuse_effects(added, marks)
        except BaseException:
            graph.withdraw(self._dependent(graph.nodes[first:]))
            raise
        self._close(added)
        self._refuse_unread()

    def _resolve(self, added: Sequence[Node], effects: set[Node], variables: Sequence[Node]) -> list[Node]:
        """Put values in the place of effects; the nodes that this appended. variables: those for whose values there are
        parameters from here on."""
        graph, first = self.graph, len(self.graph.nodes)
        params = [parameter(graph, v.type) for v in variables]
        self.params += params
        carried = dict(zip(variables, params, strict=True))
        self.results, self.assigned, replaced, self.before = resolved(graph, added, self.results, effects, carried)
        made = graph.nodes[first:]
        graph.withdraw(replaced)
        return made

    def carry(self, variables: Sequence[Node]) -> None:
        """Take parameters for the values of variables that another function of the same loop assigns."""
        if variables:
            self._close([*self.added, *self._resolve(self.added, set(), variables)])

    def _close(self, added: list[Node]) -> None:
        """Find out what belongs to the function."""
        self.added = added
        self.numbers = self._own_numbers(added)
        self.written = self._branch(added)
        self.inside = self.written if self.closed else self._dependent(added)
        self.read = self._captured(self.written)
        self.captured = list(dict.fromkeys([*self._captured(self.inside), *self.read]))

    def _refuse_effects(self, added: Iterable[Node], marks: Any) -> None:
        for node in added:
            if node.op.effect in ("assign", "group") and not _initializes(node):
                raise GraphError(
                    f"{self.what}: its body assigns to a variable, and a body has no side effects",
                    "carry the value from one iteration to the next, and assign the result outside",
                    where=node.where,
                )
        if marks is not None and marks != state.tracer.marks():
            raise GraphError(
                f"{self.what}: its body changes a tensor from outside, or a gradient, and a body has no side effects",
                "carry the value from one iteration to the next, and change the tensor outside",
            )

    def _refuse_unread(self) -> None:
        """A compiled function may not leave out what may fail, and a body has no results for it."""
        if state.tracer is None:
            return
        read = reached(self.results, lambda node: node.inputs)
        for node in self.inside - read.keys():
            if may_fail(node):
                state.tracer.refuse(f"{self.what}: its body has a value that nobody reads, and {node.op.name} may fail")

    def _dependent(self, added: Iterable[Node]) -> set[Node]:
        inside = set(self.params)
        for node in added:
            if any(i in inside for i in node.inputs):
                inside.add(node)
        return inside

    def _shared(self) -> set[Node]:
        """The nodes for eager tensors and their tape, which other bodies share."""
        captured = getattr(self.graph, "captured", {}).values()
        return {*getattr(self.graph, "replayed", {}).values(), *(known.node for known in captured)}

    def _own_numbers(self, added: Iterable[Node]) -> set[Node]:
        """The constants that the function wrote, and nodes that depend on nothing else."""
        shared, found = self._shared(), set[Node]()
        for node in added:
            made = node.inputs and node.op.pure and all(i in found for i in node.inputs)
            if node not in shared and (made or node.op.leaf == "constant"):
                found.add(node)
        return found

    def _branch(self, added: Iterable[Node]) -> set[Node]:
        shared = self._shared()
        return {*self.params, *(n for n in added if not n.op.leaf and n not in shared and not n.op.effect)}

    def _captured(self, inside: set[Node]) -> list[Node]:
        found = reached(self.results, lambda node: node.inputs if node in inside else ())
        return [node for node in found if node not in inside and node not in self.numbers]

    def add_results(self, nodes: Sequence[Node]) -> None:
        """Let a branch give further values."""
        self.results = [*self.results, *nodes]
        self.read = self._captured(self.written)
        self.captured = list(dict.fromkeys([*self._captured(self.inside), *self.read]))

    def subgraph(self, captured: Sequence[Node], extra: Sequence[TensorType] = ()) -> Subgraph:
        """The body as a function of the captured values (its own and those of sibling bodies), then of the parameters."""
        body = Graph(intern=True)
        moved = {node: twin(body, node) for node in captured}
        params = [twin(body, node) for node in self.params]
        moved |= dict(zip(self.params, params, strict=True))
        spare = [parameter(body, kind) for kind in extra]
        return Subgraph(
            body, [*(moved[c] for c in captured), *params, *spare], copied(body, self.results, moved),
            self._as_written(captured, extra),
        )  # fmt: skip

    def _as_written(self, captured: Sequence[Node], extra: Sequence[TensorType]) -> Subgraph:
        """Every operation of the function in program order, loop-invariant and repeated ones included."""
        body = Graph()
        places = {node: twin(body, node) for node in (*captured, *self.params)}
        given = [*places.values(), *(parameter(body, kind) for kind in extra)]
        moved = {node: places[node] for node in (*self.read, *self.params)}
        needed = reached(self.results, lambda node: () if node in moved else node.inputs)
        for node in self.added:
            if node in needed and node not in moved:
                moved[node] = body.add(
                    node.op, tuple(moved[i] for i in node.inputs), node.attrs, node.type, node.name, node.where
                )
        return Subgraph(body, given, [moved[r] for r in self.results])

    def drop(self, param: int, result: int) -> None:
        """Do without a parameter that only one result reads, and without that."""
        del self.params[param], self.symbols[result], self.results[result]

    def move_last(self, count: int, place: int) -> None:
        """Move the last parameters and results, those of variables, to a place among the others."""
        for items in (self.params, self.results):
            moved = items[len(items) - count :]
            del items[len(items) - count :]
            items[place:place] = moved

    def withdraw(self) -> None:
        """Take the body out of the graph around it, with the numbers that nothing else there reads."""
        gone = set(self.inside)
        read = {i for node in self.added if node not in gone and node not in self.numbers for i in node.parents}
        for node in reversed(self.added):
            if node in self.numbers and node not in read:
                gone.add(node)
            elif node in self.numbers:
                read.update(node.parents)
        self.graph.withdraw(gone)


def parameter(graph: Graph, kind: TensorType, name: str = "") -> Node:
    return graph.add(REGISTRY["placeholder"], (), {"type": kind}, kind, name)


def twin(graph: Graph, node: Node, kind: TensorType | None = None) -> Node:
    """A parameter that stands for a node, of its type unless another is given; a generator stays one."""
    op = REGISTRY["generator"] if node.op.leaf == "generator" or node.op in STREAMS else REGISTRY["placeholder"]
    kind = node.type if kind is None else kind
    return graph.add(op, (), {"type": kind}, kind, node.name)


def copied(body: Graph, results: Sequence[Node], moved: dict[Node, Node], *, lean: bool = False) -> list[Node]:
    """The results and their ancestors as nodes of `body`; `moved` maps the inputs, and receives every copied node.

    lean: operands of which only the shape is read, and known, become leaves.
    """

    def spared(node: Node, p: int) -> bool:
        return lean and p in node.op.shape_only and node.inputs[p].type.static and node.inputs[p] not in moved

    def read(node: Node) -> list[Node]:
        return [i for p, i in enumerate(node.inputs) if not spared(node, p)]

    for node in postorder(results, read, moved):
        inputs = tuple(_shape(body, i.type) if spared(node, p) else moved[i] for p, i in enumerate(node.inputs))
        moved[node] = body.add(node.op, inputs, node.attrs, node.type, node.name, node.where)
    return [moved[r] for r in results]


def _shape(graph: Graph, kind: TensorType) -> Node:
    return graph.add(REGISTRY["shape"], (), {"type": kind}, kind)


def outputs(node: Any, count: int) -> list[Any]:
    """The results of a loop or branch as symbols."""
    return [apply(REGISTRY["result"], node, index=i) for i in range(count)]


def _initializes(node: Node) -> bool:
    """Whether this belongs to the initializer of a variable, which a body brings when it is the first to use an eager
    parameter; only `sg.global_variables_initializer` runs it."""
    if node.op.effect == "group":
        return bool(node.after) and all(before.op.effect == "assign" and _initializes(before) for before in node.after)
    return node.inputs[0].attrs["cell"].initial is node.inputs[1]
