"""A loop while passes work on it: its body as one graph, with the outer operand of each parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir import REGISTRY, Graph, Node, Subgraph
from ...operators import F, Symbol, lines_of
from ...ops.control.loop_operands import Loop
from ...ops.control.subgraph_tracing import copied, twin


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
        self, node: Node, loop: Loop, graph: Graph, params: Sequence[Node], values: Sequence[Node], length: int | None
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
