"""From a Python function to a subgraph: it runs once on symbols, and the nodes that it appended to the graph move into a body.

The function runs in the graph around it, so whatever it uses from outside is found by itself: values that do not depend
on a loop's parameters stay outside, computed once, and enter the body as constants. Every tensor from outside is handed in,
constants too, so that it can be fed and differentiated with respect to; the numbers that the function itself writes are part
of the body. The compiler puts small constants into bodies when it knows that nothing feeds them
(`compiler/passes/subgraphs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ...base.types import TensorType
from ...errors import GraphError
from ...ir import REGISTRY, Graph, Node, Subgraph, may_fail
from ...ir.walks import postorder, reached
from ..custom_gradient import nothing
from ..operators import Symbol, append, apply, control_of, state
from ..pytree import flatten
from ..random import STREAMS, next_place, stream_op

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


# assignments in a branch of `cond` or in the body of a loop -----------------------------------------------------------

# Branches and bodies are pure. So they give the new values of variables as further results, and the assignments follow
# them. The other branch gives the values that the variables have; a loop
# carries them from one iteration to the next.


class Resolved(NamedTuple):
    """A function without effects: its results, the new values of variables, the nodes that others replace, and the effects
    outside that its operations come after."""

    results: list[Node]
    assigned: dict[Node, Node]
    replaced: set[Node]
    before: list[Node]


def effects_of(
    added: Sequence[Node], results: Sequence[Node], own: Callable[[Node], bool], waits: bool
) -> tuple[set[Node], set[Node]]:
    """The assignments and groups among the appended operations, and those that don't run, with what depends on them.

    own: whether an effect belongs to the function, and not to a variable that it made. waits: those run for which the results
    wait, as in TensorFlow; else all run.
    """
    inner = set(added)
    found = {n for n in added if n.op.effect in ("assign", "group") and own(n)}
    if not found or not waits:
        return found, set()

    def before(node: Node) -> list[Node]:
        return [p for p in node.parents if p in inner]

    waited: list[Node] = list(reached(results, before))
    effects = found.intersection(waited)
    idle = found - effects
    for node in added:
        if any(p in idle for p in node.parents):
            idle.add(node)
    return effects, idle


def assigned_variables(added: Sequence[Node], effects: set[Node]) -> list[Node]:
    """The variables that effects assign to, in program order."""
    return list(dict.fromkeys(n.inputs[0] for n in added if n in effects and n.op.effect == "assign"))


def resolved(graph: Graph, added: Sequence[Node], results: Sequence[Node], effects: set[Node],
             carried: Mapping[Node, Node] = MappingProxyType({})) -> Resolved:  # fmt: skip
    """The function whose operations were appended to the graph, with values in place of its assignments and of the reads that
    see them. carried: parameters for the values that variables have at the beginning of an iteration."""
    inner = set(added)
    before = [a for n in added for a in n.after if a not in inner and a.op.effect]
    if not effects and not carried:
        return Resolved(list(results), {}, set(), list(dict.fromkeys(before)))
    moved: dict[Node, Node] = dict(carried)
    assigned: dict[Node, Node] = {}
    replaced = set(effects)
    order = {node: i for i, node in enumerate(added)}
    for node in added:
        inputs = tuple([moved.get(i, i) for i in node.inputs])
        if node in effects:
            if node.op.effect == "assign":
                variable = node.inputs[0]
                current = assigned.get(variable, carried.get(variable))
                value = inputs[1] if node.op is REGISTRY["assign"] else _updated(graph, node, current, inputs)
                moved[node] = assigned[variable] = value
        elif node.op.effect == "read":
            moved[node] = _seen(graph, node, order, moved, effects, carried)
            replaced.add(node)
        elif not node.op.leaf and not node.op.effect and (inputs != node.inputs or any(a in inner for a in node.after)):
            moved[node] = graph.add(node.op, inputs, node.attrs, node.type, "", node.where)
            replaced.add(node)
    return Resolved([moved.get(r, r) for r in results], assigned, replaced, list(dict.fromkeys(before)))


def ordered(graph: Graph, added: Sequence[Node], results: Sequence[Node]) -> list[Node]:
    """The results of a body in which operations that come after a call of Python (a check, a print) read it: a body keeps
    nothing that is there for its order alone."""
    calls = {n for n in added if n.op.stateful}
    if not calls:
        return list(results)
    moved: dict[Node, Node] = {}

    def before(nodes: Sequence[Node]) -> list[Node]:
        """The calls among control inputs, and among those of groups."""
        found = []
        for a in nodes:
            found += [moved.get(a, a)] if a in calls else before(a.after) if a.op.effect == "group" else []
        return found

    for node in added:
        inputs, waits = tuple([moved.get(i, i) for i in node.inputs]), before(node.after)
        if node.op.effect or not (waits or inputs != node.inputs):
            continue
        if waits and not inputs:
            moved[node] = _watched(graph, node, waits)
            continue
        if waits:
            inputs = (_watched(graph, inputs[0], waits), *inputs[1:])
        moved[node] = graph.add(node.op, inputs, node.attrs, node.type, "", node.where, node.after)
    return [moved.get(r, r) for r in results]


def _watched(graph: Graph, x: Node, calls: Sequence[Node]) -> Node:
    return append(graph, REGISTRY["watch"], [Symbol(graph, n) for n in (x, *calls)], {"call": nothing}).node


def _updated(graph: Graph, node: Node, current: Node | None, inputs: tuple[Node, ...]) -> Node:
    """The value that an update gives a variable."""
    op, attrs = REGISTRY[node.attrs["op"]], dict(node.attrs["attrs"])
    operands = (node.inputs[0] if current is None else current, *inputs[1:])
    value = graph.add(op, operands, attrs, op.infer(*(i.type for i in operands), **attrs), "", node.where)
    if all(i.type.static for i in operands):
        return value
    return graph.add(REGISTRY["fit"], (value,), {"shape": node.type.shape}, node.type, "", node.where)


def _seen(graph: Graph, read: Node, order: dict[Node, int], moved: dict[Node, Node], effects: set[Node],
          carried: Mapping[Node, Node]) -> Node:  # fmt: skip
    """The value that a read in the function sees: of the last assignment before it, else the one that an iteration begins
    with, else that of the variable outside."""
    stack, known = list(read.after), set(read.after)
    latest: Node | None = None
    while stack:
        node = stack.pop()
        if node not in order:
            continue
        if node.op.effect == "assign" and node in effects and node.inputs[0] is read.inputs[0]:
            latest = node if latest is None or order[node] > order[latest] else latest
        new = [p for p in node.parents if p not in known]
        known.update(new)
        stack += new
    if latest is not None:
        return moved[latest]
    if read.inputs[0] in carried:
        return carried[read.inputs[0]]
    outside = tuple(a for a in read.after if a not in order)
    if not outside:
        return read.inputs[0]
    return graph.add(read.op, read.inputs, read.attrs, read.type, "", read.where, outside)


@contextmanager
def _after(graph: Graph, nodes: Sequence[Node]) -> Iterator[None]:
    state.control.append(tuple(dict.fromkeys([*control_of(graph), *nodes])))
    try:
        yield
    finally:
        state.control.pop()


def current_values(graph: Graph, variables: Sequence[Node], before: Sequence[Node]) -> list[Any]:
    """The values of variables after `before` and the control dependencies of the context."""
    with _after(graph, before):
        if not control_of(graph):
            return [Symbol(graph, v) for v in variables]
        return [append(graph, REGISTRY["read"], (v,), {}) for v in variables]


def assign_results(graph: Graph, variables: Sequence[Node], values: Sequence[Any], results: Sequence[Any],
                   before: Sequence[Node]) -> list[Any]:  # fmt: skip
    """Assign values that a branch or loop gave, after `before`. Whoever reads the results waits for the assignments."""
    with _after(graph, before):
        made = [append(graph, REGISTRY["assign"], (Symbol(graph, v), x), {}).node
                for v, x in zip(variables, values, strict=True)]  # fmt: skip
    with _after(graph, [*before, *made]):
        return [append(graph, REGISTRY["identity"], (x,), {}) for x in results]
