"""Bodies of loops and branches: they run through the same passes as the surrounding graph, without unused results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base.types import StackType, TensorType
from ...ir import Deferred, Graph, Node, Region, Result, Subgraph
from ...ir.walks import reached
from ...ops.control.subgraph_tracing import copied, twin
from ...ops.operands import LoopOperands, trip_count
from .loop_builder import LoopBuilder, hoist_invariants, result_of, subgraph
from .specialize import copy

Reduce = Callable[[Graph, Sequence[Node], dict[Node, TensorType]], tuple[Graph, list[Node]]]
"""The passes before layouts, for a body: (graph, results, types of its parameters) -> the new graph and its results."""


SMALL = 64
"""Constants of up to so many elements become part of a body, where rewrite rules see them; larger ones are passed in."""


def has_subgraphs(graph: Graph) -> bool:
    """Whether there are loops or branches, or nodes that may be written as such when shapes are known."""
    return any(isinstance(node.op.emit, (Region, Deferred)) for node in graph.nodes)


# one loop for several --------------------------------------------------------------------------------------------------


class EqualLoops:
    """Loops that run the same iterations and differ only in the values that they stack: a loop, and the loop that its gradient
    repeats with further stacks for the values that it needs. `results`: the carries and the union of their stacked values."""

    def __init__(self, first: Node, carries: Sequence[Node]):
        self.first = first
        self.results = list(carries)
        self.places: dict[Node, int] = {}
        """Per stacked value, the number of its result."""
        self.members = 0
        """How many loops these are."""

    def join(self, stacked: Sequence[Node]) -> list[int]:
        """The numbers of a member's results among those of the merged loop."""
        self.members += 1
        carries = self.first.attrs["carries"]
        for value in stacked:
            if value not in self.places:
                self.places[value] = len(self.results)
                self.results.append(value)
        return [*range(carries), *(self.places[value] for value in stacked)]


class LoopBodies:
    """Bodies of loops over the same operands, with the same settings, in one numbering of values: there, equal loops have the
    same next carries, and the same condition."""

    def __init__(self, first: Node):
        self.params: tuple[Node, ...] = first.attrs["body"].params
        self.values = EqualValues(bodies=True)
        self.loops: dict[tuple[Node, ...], EqualLoops] = {}

    def add(self, loop: Node) -> tuple[EqualLoops, list[int]]:
        """The loops that a loop is equal to, and the numbers of its results among theirs."""
        results, carries = self._results(loop.attrs["body"]), loop.attrs["carries"]
        cond: Subgraph | None = loop.attrs["cond"]
        key = tuple(results[:carries]) if cond is None else (*results[:carries], *self._results(cond))
        equal = self.loops.setdefault(key, EqualLoops(loop, results[:carries]))
        return equal, equal.join(results[carries:])

    def _results(self, body: Subgraph) -> list[Node]:
        same = self.values.same
        same.update(zip(body.params, self.params, strict=False))  # a condition has no parameters for items
        for node in body.nodes:
            self.values.add(node)
        return [same[r] for r in body.results]

    def body(self, equal: EqualLoops) -> Subgraph:
        """The body of the merged loop."""
        graph = Graph(intern=True)
        moved = {p: twin(graph, p) for p in self.params}
        params = list(moved.values())
        self.values.build(graph, equal.results, moved)
        return Subgraph(graph, params, [moved[r] for r in equal.results])


class EqualValues:
    """Finds the values that are equal. Bodies of loops are compared by what they compute.

    bodies: of bodies of loops, where a call of a Python function occurs again in the loop of a gradient, which repeats it: the
    same function, from the same line. Elsewhere an operation with an effect is equal to no other.
    """

    def __init__(self, bodies: bool = False) -> None:
        self._repeated = bodies
        self.same: dict[Node, Node] = {}
        """For each value, the first one that it is equal to."""
        self._first: list[Node] = []
        """Those that are equal to none before, in order."""
        self._known: dict[Any, Node] = {}
        self._bodies: dict[Any, LoopBodies] = {}
        self._loops: dict[Node, tuple[LoopBodies, EqualLoops, list[int]]] = {}

    def add(self, node: Node) -> None:
        """Compare a value with those so far, among which its operands are."""
        same = self.same
        inputs = tuple([same[i] for i in node.inputs])
        if isinstance(node.op.emit, Region) and "body" in node.attrs:
            settings = tuple(sorted((k, v) for k, v in node.attrs.items() if k not in ("body", "cond")))
            bodies = self._bodies.setdefault((node.op, inputs, settings), LoopBodies(node))
            equal, places = bodies.add(node)
            self._loops[node] = bodies, equal, places
            self._put(node, equal.first)
            return
        key: Any = (node.op, inputs, tuple(sorted(node.attrs.items())), node.type)
        if isinstance(node.op.emit, Result) and node.inputs[0] in self._loops:
            _, equal, places = self._loops[node.inputs[0]]
            index = node.attrs["index"]
            key = equal, places[index] if index < len(places) else "steps"
        if not node.op.pure:
            if not self._repeated:
                self._put(node, node)
                return
            key = key, node.name, node.where
        self._put(node, self._known.setdefault(key, node))

    def _put(self, node: Node, first: Node) -> None:
        self.same[node] = first
        if first is node:
            self._first.append(node)

    def build(self, graph: Graph, results: Sequence[Node], moved: dict[Node, Node]) -> None:
        """Add first values that are equal to these results, and what they need, to a graph, in order. moved: receives the new
        nodes; holds those of parameters."""
        same, loops = self.same, self._loops
        needed = reached([same[r] for r in results], lambda n: [same[i] for i in n.inputs])
        for node in self._first:
            if node not in needed or node in moved:
                continue
            if not node.inputs:
                moved[node] = graph.append(node)
                continue
            inputs, attrs, kind = tuple([moved[same[i]] for i in node.inputs]), node.attrs, node.type
            if node in loops and loops[node][1].members > 1:
                bodies, equal, _ = loops[node]
                attrs = {**attrs, "body": bodies.body(equal)}
                kind = node.op.infer(*(i.type for i in inputs), **attrs)
            elif isinstance(node.op.emit, Result) and node.inputs[0] in loops and loops[node.inputs[0]][1].members > 1:
                _, equal, places = loops[node.inputs[0]]
                index = attrs["index"]
                attrs = {"index": places[index] if index < len(places) else len(equal.results)}
            moved[node] = graph.add(node.op, inputs, attrs, kind, node.name, node.where)


def merge(graph: Graph, results: Sequence[Node]) -> tuple[Graph, dict[Node, Node]]:
    """Each group of equal loops becomes one loop: the loop of the results also computes the residuals of its gradients."""
    if not has_subgraphs(graph):
        return graph, {node: node for node in results}
    values, new = EqualValues(), Graph(intern=True)
    for node in graph.reaching(results):
        values.add(node)
    moved: dict[Node, Node] = {}
    values.build(new, results, moved)
    return new, {node: moved[values.same[node]] for node in results}


# bodies ------------------------------------------------------------------------------------------------------------------


def lower_subgraphs(
    graph: Graph, results: Sequence[Node], reduce: Reduce, hoist: Callable[[LoopBuilder], None] = hoist_invariants
) -> tuple[Graph, dict[Node, Node]]:
    """Run the passes over the bodies, the last loop first: earlier loops then drop the results that it does not read. hoist:
    moves work out of a loop."""
    order = graph.reaching(results)
    if not any(isinstance(node.op.emit, Region) for node in order):
        return graph, {node: node for node in order}
    live: set[Node] = set(results)
    wanted: dict[Node, set[int]] = {}
    builders: dict[Node, LoopBuilder | BranchBuilder] = {}
    for node in reversed(order):
        if node not in live:
            continue
        if isinstance(node.op.emit, Result) and isinstance(node.inputs[0].op.emit, Region):
            wanted.setdefault(node.inputs[0], set()).add(node.attrs["index"])
        if isinstance(node.op.emit, Region):
            make = _loop if "body" in node.attrs else BranchBuilder
            builders[node] = make(node, wanted[node], reduce)
            live.update(builders[node].operands())
        else:
            live.update(node.inputs)
    new = Graph(intern=True)
    moved: dict[Node, Node] = {}
    places: dict[Node, dict[int, Node]] = {}
    for node in order:
        if node not in live:
            continue
        if node.inputs and node.inputs[0] in places:
            moved[node] = places[node.inputs[0]][node.attrs["index"]]
        elif node in builders:
            builder = builders[node]
            builder.move_to(new, moved)
            if isinstance(builder, LoopBuilder):
                hoist(builder)
            places[node] = builder.build(wanted[node])
        else:
            moved[node] = copy(new, node, tuple(moved[i] for i in node.inputs))
    return new, {node: moved[node] for node in results}


def _loop(node: Node, wanted: set[int], reduce: Reduce) -> LoopBuilder:
    loop = LoopOperands(node.attrs, node.inputs)
    body, params = Graph(intern=True), []
    for p, outer in zip(loop.body.params, [*loop.consts, *loop.inits, *loop.stacks], strict=True):
        params.append(twin(body, p, _seen(outer.type) if p in loop.item_params else outer.type))
    given = _with_constants(body, params, loop.consts)
    values = copied(body, loop.body.results, dict(zip(loop.body.params, given, strict=True)))
    if loop.cond is not None:
        values += copied(body, loop.cond.results, dict(zip(loop.cond.params, given, strict=False)))
    body, found = reduce(body, [*values, *params], {p: p.type for p in params})
    n = None if loop.dynamic else trip_count(node.attrs["length"], [s.type for s in loop.stacks])
    builder = LoopBuilder(node, loop, body, found[len(values) :], found[: len(values)], n)
    builder.prune(wanted)
    return builder


def _with_constants(body: Graph, params: Sequence[Node], operands: Sequence[Node]) -> list[Node]:
    """The parameters of a body, of which the first take these operands. Small constants replace their parameters: no run feeds
    them, because feeds are placeholders by now."""
    result = list(params)
    for i, operand in enumerate(operands):
        if operand.op.leaf == "constant" and operand.type.size <= SMALL:
            result[i] = body.append(operand)
    return result


def _seen(stack: TensorType) -> TensorType:
    """The type of an item."""
    return stack.item if isinstance(stack, StackType) else stack.with_shape(stack.shape[1:])


class BranchBuilder:
    """A branch while passes work on it: its sides after the passes, with the operands that they read."""

    def __init__(self, node: Node, wanted: set[int], reduce: Reduce):
        self.node = node
        self.inputs: Sequence[Node] = node.inputs
        self.sides: dict[str, tuple[list[Node], list[Node]]] = {}
        read: set[int] = set()
        for name in ("then", "orelse"):
            side: Subgraph = node.attrs[name]
            operands, body = node.inputs[1:], Graph(intern=True)
            given = [twin(body, p, i.type) for p, i in zip(side.params, operands, strict=True)]
            moved = dict(zip(side.params, _with_constants(body, given, operands), strict=True))
            results = copied(body, [side.results[i] for i in sorted(wanted)], moved)
            graph, found = reduce(body, [*results, *given], {p: p.type for p in given})
            values, params = found[: len(results)], found[len(results) :]
            reached = set(graph.reaching(values))
            read |= {k for k, p in enumerate(params) if p in reached}
            self.sides[name] = params, values
        self.read = sorted(read)

    def operands(self) -> list[Node]:
        return [self.inputs[0], *(self.inputs[1 + k] for k in self.read)]

    def move_to(self, outer: Graph, moved: dict[Node, Node]) -> None:
        self.outer = outer
        self.given = [moved[i] for i in self.operands()]

    def build(self, wanted: set[int]) -> dict[int, Node]:
        """Add the branch to the graph around it; returns the node of each wanted result."""
        attrs = {name: subgraph([params[k] for k in self.read], values) for name, (params, values) in self.sides.items()}
        kind = self.node.op.infer(*(i.type for i in self.given), **attrs)
        made = self.outer.add(self.node.op, tuple(self.given), attrs, kind, self.node.name, self.node.where)
        return {old: result_of(self.outer, made, i) for i, old in enumerate(sorted(wanted))}
