"""Bodies of loops and branches: they run through the same passes as the surrounding graph, without unused results.

A pass works on a loop as a `LoopBuilder`: the body as one graph, with the outer operand of each parameter. Work that can be
done once for all iterations moves before or after the loop: in `h = tanh(x[t] @ w + h @ u)` the products `x[t] @ w` of all
items become one large product before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ...base.types import StackType, TensorType
from ...ir import (
    REGISTRY,
    Deferred,
    Extent,
    Graph,
    Index,
    Native,
    Node,
    Pointwise,
    Reduction,
    Region,
    Result,
    Subgraph,
    View,
    may_fail,
)
from ...ir.walks import reached
from ...ops.control.subgraph_tracing import copied, parameter, twin
from ...ops.operands import LoopOperands, trip_count
from ...ops.operators import F, Symbol, apply, lines_of
from ...ops.rewrites.loop_rules import AT_ONCE, SUMMED, Rule, terms
from .specialize import copy

# a loop while passes work on it, and loop-invariant code motion -------------------------------------------------------


@dataclass(eq=False)
class Carry:
    """param: its value in the body; after: its next value; init: its first value, outside; index: the number of its result."""

    param: Node
    after: Node
    init: Node
    index: int


@dataclass(eq=False)
class Later:
    """A value that is computed after the loop: `combine(*stacks, *fixed)`. stacks: operands of the loop, or numbers of its
    results."""

    stacks: list[Node | int]
    fixed: list[Node]
    combine: Callable[..., Any]


class LoopBuilder:
    """consts, items: (parameter, operand outside); outs: (value, number of its result); `places`: the results found so far."""

    def __init__(
        self, node: Node, loop: LoopOperands, graph: Graph, params: Sequence[Node], values: Sequence[Node], length: int | None
    ):
        self.node, self.graph, self.length = node, graph, length
        self.outer = Graph()
        self.count = loop.count
        c, n = len(loop.consts), len(loop.inits)
        self.consts = list(zip(params[:c], loop.consts, strict=True))
        self.carries = [
            Carry(p, after, init, i)
            for i, (p, after, init) in enumerate(zip(params[c : c + n], values, loop.inits, strict=False))
        ]
        self.items = list(zip(params[c + n :], loop.stacks, strict=True))
        self.verdict = values[-1] if loop.cond is not None else None
        made = values[n : -1 if loop.cond is not None else None]
        self.steps = n + len(made)
        self.outs = [(value, n + j) for j, value in enumerate(made)]
        self.places: dict[int, Node] = {}
        self.later: dict[int, tuple[Node | None, list[Later]]] = {}
        """Results that are computed after the loop: the sum of a first value and the addends."""
        self.fresh = self.steps
        self.wanted: set[int] = set()

    def operands(self) -> list[Node]:
        """The outer values that the loop reads."""
        count = [self.count] if self.count is not None else []
        outside = [*(o for _, o in self.consts), *(c.init for c in self.carries), *(o for _, o in self.items)]
        return [*count, *outside, *self.places.values()]

    def move_to(self, outer: Graph, moved: dict[Node, Node]) -> None:
        """Move to another graph, to which the operands belong."""
        self.outer = outer
        self.count = None if self.count is None else moved[self.count]
        self.consts = [(p, moved[o]) for p, o in self.consts]
        self.items = [(p, moved[o]) for p, o in self.items]
        self.places = {index: moved[o] for index, o in self.places.items()}
        for carry in self.carries:
            carry.init = moved[carry.init]

    @property
    def roots(self) -> list[Node]:
        """The results of the body."""
        verdict = [self.verdict] if self.verdict is not None else []
        return [*verdict, *(c.after for c in self.carries), *(value for value, _ in self.outs)]

    def replace(self, moved: dict[Node, Node]) -> None:
        """Replace nodes of the body by others."""
        graph = Graph(intern=True)
        for node in (*(p for p, _ in self.consts), *(c.param for c in self.carries), *(p for p, _ in self.items)):
            graph.append(node)
            moved.setdefault(node, node)
        found = iter(copied(graph, self.roots, moved))
        self.verdict = next(found) if self.verdict is not None else None
        for carry in self.carries:
            carry.after = next(found)
        self.outs = [(next(found), index) for _, index in self.outs]
        self.graph = graph

    def prune(self, wanted: Iterable[int]) -> None:
        """Drop unused results, unused parameters, and one of two parameters for one operand."""
        kept = self.wanted = set(wanted)
        self.outs = [(value, index) for value, index in self.outs if index in kept]
        self._invariant(kept)
        carries = self.carries
        live: list[Carry] = []
        while True:
            verdict = [self.verdict] if self.verdict is not None else []
            read = set(self.graph.reaching([*verdict, *(c.after for c in live), *(value for value, _ in self.outs)]))
            more = [c for c in carries if c.index in kept or c.param in read]
            if len(more) == len(live):
                break
            live = more
        self.carries = live
        moved: dict[Node, Node] = {}
        self.consts = _unique(self.consts, read, moved)
        self.items = _unique(self.items, read, moved)
        if moved:
            self.replace(moved)

    def _invariant(self, kept: set[int]) -> None:
        """Turn carries that never change into constants."""
        for carry in [c for c in self.carries if c.after is c.param]:
            self.carries.remove(carry)
            self.consts.append((carry.param, carry.init))
            if carry.index in kept:
                self.places[carry.index] = carry.init

    def stack(self, value: Node) -> Node | int:
        """The items of all iterations: a stack from outside, or one that the loop has to save."""
        operand: Node
        for param, operand in self.items:
            if param is value:
                return operand
        for known, index in self.outs:
            if known is value:
                return index
        self.fresh += 1
        self.outs.append((value, self.fresh))
        return self.fresh

    def outside(self, value: Node) -> Node:
        """A value that is the same in every iteration, computed in the graph around the loop."""
        return copied(self.outer, [value], dict(self.consts))[0]

    def build(self, wanted: Iterable[int]) -> dict[int, Node]:
        """Add the loop to the graph around it; returns the node of each wanted result."""
        params = [*(p for p, _ in self.consts), *(c.param for c in self.carries), *(p for p, _ in self.items)]
        body = subgraph(params, [*(c.after for c in self.carries), *(value for value, _ in self.outs)])
        given = len(self.consts) + len(self.carries)
        cond = None if self.verdict is None else subgraph(params[:given], [self.verdict])
        count = () if self.count is None else (self.count,)
        operands = (*count, *(o for _, o in self.consts), *(c.init for c in self.carries), *(o for _, o in self.items))
        attrs: dict[str, Any] = {
            **self.node.attrs, "body": body, "cond": cond, "consts": len(self.consts), "carries": len(self.carries),
            "length": self.length,
        }  # fmt: skip
        wanted = [index for index in wanted if index not in self.places]
        wanted = {i for i in wanted if i not in self.later}
        wanted |= {s for _, parts in self.later.values() for part in parts for s in part.stacks if isinstance(s, int)}
        if wanted:
            self._emit(operands, attrs, wanted)
        self._finish()
        return self.places

    def _emit(self, operands: tuple[Node, ...], attrs: dict[str, Any], wanted: set[int]) -> None:
        kind = self.node.op.infer(*(o.type for o in operands), **attrs)
        made = self.outer.add(self.node.op, operands, attrs, kind, self.node.name, self.node.where)
        order = [*(c.index for c in self.carries), *(index for _, index in self.outs)]
        for i, index in enumerate(order):
            if index in wanted:
                self.places[index] = result_of(self.outer, made, i)
        if self.steps in wanted:
            self.places[self.steps] = result_of(self.outer, made, len(order))

    def _finish(self) -> None:
        """The computation after the loop."""
        for index, (first, parts) in self.later.items():
            total: Any = None if first is None else Symbol(self.outer, first)
            for part in parts:
                stacks = [Symbol(self.outer, self.places[s] if isinstance(s, int) else s) for s in part.stacks]
                with lines_of(self.node.where):
                    value = part.combine(*stacks, *(Symbol(self.outer, f) for f in part.fixed))
                    total = value if total is None else F.add(total, value)
            assert total is not None
            self.places[index] = total.node


def result_of(graph: Graph, node: Node, index: int) -> Node:
    kind = node.type.parts[index]  # type: ignore[attr-defined]
    return graph.add(REGISTRY["result"], (node,), {"index": index}, kind, "", node.where)


def _unique(entries: Sequence[tuple[Node, Node]], read: set[Node], moved: dict[Node, Node]) -> list[tuple[Node, Node]]:
    first: dict[Node, Node] = {}
    result = []
    for param, operand in entries:
        if param not in read:
            continue
        if operand in first:
            moved[param] = first[operand]
        else:
            first[operand] = param
            result.append((param, operand))
    return result


def subgraph(params: Sequence[Node], results: Sequence[Node]) -> Subgraph:
    graph = Graph(intern=True)
    moved = {p: twin(graph, p) for p in params}
    return Subgraph(graph, list(moved.values()), copied(graph, results, dict(moved)))


# Loop-invariant code motion: work that can be done once for all iterations, before or after the loop.
#
# - A value that depends only on constants is computed before the loop.
# - A product of items with a constant is one large product before the loop.
# - A sum of products (or of sums) over all iterations is one product (or sum) of stacks after the loop: the gradients of
#   weights.
# - A product with a constant that is only stacked is one large product after the loop: the gradients of items.
#
# The rules are in `ops/rewrites/loop_rules.py`; this pass applies them. In a loop whose number of iterations is unknown when
# the plan is made, only the first rule applies.

OFTEN = 8
"""The least number of iterations for which a copy before the loop pays."""


def hoist_invariants(loop: LoopBuilder) -> None:
    """See the module."""
    _before(loop)
    if loop.length is None:
        return
    _products_before(loop)
    _sums_after(loop)
    _products_after(loop)
    loop.prune({*loop.wanted, *(index for _, index in loop.outs)})


def _fixed(loop: LoopBuilder) -> set[Node]:
    """The loop-invariant values."""
    found = {param for param, _ in loop.consts}
    for node in loop.graph.reaching(loop.roots):
        if node.op.leaf in ("constant", "shape") or (node.inputs and all(i in found for i in node.inputs)):
            found.add(node)
    return found


def _before(loop: LoopBuilder) -> None:
    """Values that depend only on constants, except views and numbers, which cost nothing, and checks, which might not run.

    A transposed operand of a product is copied once in the order that makes products faster.
    """
    fixed, params = _fixed(loop), {param for param, _ in loop.consts}
    dependent: set[Node] = set(params)
    for node in loop.graph.reaching(loop.roots):
        if any(i in dependent for i in node.inputs) and node in fixed:
            dependent.add(node)
    read = {*loop.roots, *(i for n in loop.graph.reaching(loop.roots) if n not in fixed for i in n.inputs)}
    turned = _turned(loop) if loop.length is None or loop.length >= OFTEN else set()

    def worth_moving(node: Node) -> bool:
        return isinstance(node.op.emit, (Pointwise, Reduction)) or not (may_fail(node) or _free(node)) or node in turned

    def stays(node: Node) -> bool:
        return node in params or node not in dependent

    candidates = reached(
        [node for node in loop.graph.nodes if node in read and not stays(node)],
        lambda node: () if stays(node) or worth_moving(node) else node.inputs,
    )
    moved = {node: parameter(loop.graph, node.type, node.name) for node in candidates if not stays(node) and worth_moving(node)}
    hoisted = [(param, loop.outside(node)) for node, param in moved.items()]
    loop.consts += hoisted
    if moved:
        loop.replace(moved)


def _turned(loop: LoopBuilder) -> set[Node]:
    """Constants that products read in an order other than that of memory."""
    products = [n for n in loop.graph.reaching(loop.roots) if isinstance(n.op.emit, Native) and n.type.dtype.kind == "f"]
    params = {param for param, _ in loop.consts}
    return {
        i for node in products for i in node.inputs
        if isinstance(i.op.emit, View) and not i.op.emit.keeps_order and i.inputs[0] in params
        and i.type.size == i.inputs[0].type.size
    }  # fmt: skip


def _free(node: Node) -> bool:
    """Whether the node moves no data, or has several results."""
    return isinstance(node.op.emit, (View, Index, Extent, Region, Result))


def _at_once(loop: LoopBuilder, node: Node, fixed: set[Node]) -> Rule | None:
    for match in AT_ONCE:
        rule = match(node)
        if rule is not None and all(f in fixed for f in rule.fixed):
            return rule
    return None


def _products_before(loop: LoopBuilder) -> None:
    fixed = _fixed(loop)
    moved: dict[Node, Node] = {}
    for node in loop.graph.reaching(loop.roots):
        rule = _at_once(loop, node, fixed)
        stacks = [] if rule is None else [_stacked(loop, factor) for factor in rule.factors]
        if rule is None or any(s is None for s in stacks):
            continue
        with lines_of(node.where):
            whole = rule.combine(*stacks, *(Symbol(loop.outer, loop.outside(f)) for f in rule.fixed))
        moved[node] = parameter(loop.graph, node.type, node.name)
        loop.items.append((moved[node], whole.node))
    if moved:
        loop.replace(moved)


def _stacked(loop: LoopBuilder, value: Node) -> Symbol | None:
    """The stack over all iterations of a value that is computed elementwise from items, outside the loop; None for other
    values."""
    for param, operand in loop.items:
        if param is value:
            return Symbol(loop.outer, operand)
    if not isinstance(value.op.emit, Pointwise) or any(i.type.shape not in (value.type.shape, ()) for i in value.inputs):
        return None
    operands = [Symbol(loop.outer, loop.outside(i)) if _is_number(i) else _stacked(loop, i) for i in value.inputs]
    if any(o is None for o in operands):
        return None
    with lines_of(value.where):
        return cast("Symbol", apply(value.op, *operands, **value.attrs))


def _is_number(node: Node) -> bool:
    """Whether a value is a constant that is broadcast."""
    return node.op.leaf == "constant" and not node.type.shape


LARGE = 1 << 10
"""Elements of a value that is computed in its iteration: in those of all iterations it would not stay in the cache."""


def hoist_elementwise(loop: LoopBuilder) -> None:
    """`hoist_invariants`, and what is computed element by element of items alone: for NumPy, which takes longer to call a
    function than to compute a thousand elements."""
    hoist_invariants(loop)
    if loop.length is None or loop.length < OFTEN:
        return
    order = loop.graph.reaching(loop.roots)
    known = {param for param, _ in loop.items}
    for node in order:
        whole = node.type.shape and isinstance(node.op.emit, Pointwise) and node.type.size <= LARGE
        read = [i for i in node.inputs if not _is_number(i)]
        if whole and read and all(i in known and i.type.shape == node.type.shape for i in read):
            known.add(node)
    wanted = {*loop.roots, *[i for node in order if node not in known for i in node.inputs]}
    moved: dict[Node, Node] = {}
    for node in order:
        if node in wanted and node in known and node.inputs and (stack := _stacked(loop, node)) is not None:
            moved[node] = parameter(loop.graph, node.type, node.name)
            loop.items.append((moved[node], stack.node))
    if moved:
        loop.replace(moved)
        loop.prune({*loop.wanted, *(index for _, index in loop.outs)})


def _sums_after(loop: LoopBuilder) -> None:
    fixed = _fixed(loop)
    for carry in list(loop.carries):
        found = _summands(loop, carry)
        rules = [next((r for match in SUMMED if (r := match(t)) is not None), None) for t in found]
        if not found or any(r is None or any(f in fixed for f in r.factors) for r in rules):
            continue
        loop.carries.remove(carry)
        parts = [Later([loop.stack(f) for f in r.factors], [], r.combine) for r in rules if r is not None]
        if carry.index in loop.wanted:
            loop.later[carry.index] = carry.init, parts


def _summands(loop: LoopBuilder, carry: Carry) -> list[Node]:
    """The addends of a carry that only its own sum reads; empty for other carries."""
    parts = terms(carry.after)
    rest = [p for p in parts if p is not carry.param]
    others = list(loop.roots)
    others.remove(carry.after)  # once: a result that is stacked, too, is read
    if len(rest) != len(parts) - 1 or carry.param in loop.graph.reaching([*rest, *others]):
        return []
    return rest


def _products_after(loop: LoopBuilder) -> None:
    fixed = _fixed(loop)
    for value, index in list(loop.outs):
        rule = _at_once(loop, value, fixed)
        if rule is None or index not in loop.wanted or index in loop.later:
            continue
        users = [n for n in loop.graph.reaching(loop.roots) if value in n.inputs]
        if users or sum(root is value for root in loop.roots) > 1:
            continue
        loop.outs.remove((value, index))
        stacks = [loop.stack(factor) for factor in rule.factors]
        loop.later[index] = None, [Later(stacks, [loop.outside(f) for f in rule.fixed], rule.combine)]


# bodies whose unused results are left out -----------------------------------------------------------------------------

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
