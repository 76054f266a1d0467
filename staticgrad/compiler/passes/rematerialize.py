"""Rematerialization: values of the forward pass that the backward pass reads are computed again there, instead of kept.

The graph is cut at the place where most bytes are live. A value from before the cut that is read after it is either kept or
computed again. The kept ones are a minimum cut between the leaves and the readers, in which a value's capacity is its size,
as in PyTorch's partitioner of joint graphs (`torch/_functorch/partitioners.py`). A policy says which operations may run
again, and how many *checkpoints* are kept in any case: places where few bytes are live (Chen et al., "Training deep nets with
sublinear memory cost", 2016). The backward pass then computes one segment between two checkpoints at a time, just before it
reads it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence, Set
from numbers import Integral, Real
from typing import Any, NamedTuple

from ...base.interpreter import module
from ...errors import ArgumentError
from ...ir import Graph, Native, Node, OpDef, Pointwise, Region, Result, View
from ...ir.walks import minimum_cut, ordered
from ..fusion.node_facts import native_form

LATER = OpDef(
    name="later",
    infer=lambda x, before: x,
    eval=lambda x, before: x,
    emit=View(lambda node, layout: layout),
    doc="The first operand, not to be read before the second one is computed, whose value is not read.",
)

VIEWS, CHEAP, MODERATE, ALL = range(4)
"""What may run again: views, elementwise operations, reductions and the like, products and convolutions."""
WORDS = ("views", "elementwise operations", "elementwise operations and reductions", "all operations")
SHARES = (0.25, 0.5, 0.75, 1.0)
SEGMENTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


def check_budget(budget: Any) -> int | float | None:
    """None, an int of bytes, or a float: a fraction, at most 1. Raises ArgumentError for anything but a positive number."""
    if budget is None:
        return None
    number = isinstance(budget, Real) and not isinstance(budget, bool)
    if not number or not 0 < budget < math.inf:
        raise ArgumentError(f"memory_budget is a number of bytes, or a fraction between 0 and 1, got {budget!r}")
    whole = isinstance(budget, Integral)
    if whole:
        return int(budget)
    if budget > 1 and budget != int(budget):
        raise ArgumentError(f"memory_budget is a whole number of bytes, or a fraction between 0 and 1, got {budget!r}")
    return int(budget) if budget > 1 else float(budget)


class Policy(NamedTuple):
    """level: what may run again in the first `share` of the forward pass, which has so many segments; after it, only
    elementwise operations do."""

    level: int
    share: float = 1.0
    segments: int = 1

    def __str__(self) -> str:
        if self.level < ALL:
            return WORDS[self.level]
        part = "" if self.share == 1 else f" of the first {self.share:.0%} of the forward pass"
        return f"{WORDS[self.level]}{part}, in {self.segments} segment{'s'[: self.segments > 1]}"


def policies() -> list[list[Policy]]:
    """Series of policies, from those that compute least again to those that keep least. In a series, the peak falls with the
    number of segments, and rises where the checkpoints take more than a segment."""
    return [[Policy(CHEAP)], [Policy(MODERATE)], *[[Policy(ALL, share, n) for n in SEGMENTS] for share in SHARES]]


class Rematerialized(NamedTuple):
    """A graph with operations that run again. waits: for each of its `later` nodes, the node that is computed before; again:
    the repeated nodes; paid: their arithmetic, as a share of the program's."""

    graph: Graph
    results: list[Node]
    waits: dict[Node, Node]
    again: list[Node]
    paid: float


class Joint:
    """A program cut in two: `end` is the place of the last node of the forward part.

    step: for nodes that a unit of the schedule computes, the number of the unit; peak: the last unit of the forward part.
    """

    def __init__(self, graph: Graph, results: Sequence[Node], step: Mapping[Node, int], peak: int, strict: bool):
        self.graph, self.results, self.strict = graph, list(results), strict
        steps: dict[Node, int] = {}
        for node in graph.nodes:
            steps[node] = step[node] if node in step else max((steps[i] for i in node.inputs), default=-1)
        serial = {node: i for i, node in enumerate(graph.nodes)}
        self.nodes = ordered({node: set(node.inputs) for node in graph.nodes}, lambda node: (steps[node], serial[node]))
        """In the order of the schedule."""
        self.position = {node: i for i, node in enumerate(self.nodes)}
        self.end = sum(steps[node] <= peak for node in self.nodes) - 1
        self.base: dict[Node, Node] = {}
        for node in graph.nodes:
            view = isinstance(native_form(node), View) and not node.op.leaf
            self.base[node] = self.base[node.inputs[0]] if view else node
        self.levels = {node: self._level(node) for node in graph.nodes}
        self.arithmetic = sum(map(arithmetic, graph.nodes))
        wanted = set(self.results)
        self.read_later = {
            node for node in self.nodes[: self.end + 1]
            if not self.base[node].op.leaf and node not in wanted and any(self.position[u] > self.end for u in graph.succ[node])
        }  # fmt: skip
        self.crossing = self._crossing()

    def _level(self, node: Node) -> int | None:
        """The least level at which a node may run again; None where it never may."""
        emit = native_form(node)
        if node.op.leaf:
            return VIEWS
        if not node.op.pure or isinstance(emit, (Region, Result)) or (not self.strict and (emit is None or node.op.fails)):
            return None
        if isinstance(emit, View):
            return VIEWS
        if isinstance(emit, Pointwise):
            return CHEAP
        return ALL if isinstance(emit, Native) else MODERATE

    def _crossing(self) -> list[int]:
        """For each place of the forward pass, the bytes made before it that the forward pass reads after it."""
        change = [0] * (self.end + 2)
        last: dict[Node, int] = {}
        for node in self.nodes[: self.end + 1]:
            for user in self.graph.succ[node]:
                if self.position[user] <= self.end:
                    base = self.base[node]
                    last[base] = max(last.get(base, 0), self.position[user])
        self.last_read = last
        for base, at in last.items():
            if not base.op.leaf:
                change[self.position[base]] += nbytes(base)
                change[at] -= nbytes(base)
        total, found = 0, []
        for step in change:
            total += step
            found.append(total)
        return found

    def checkpoints(self, policy: Policy) -> set[Node]:
        """Values that are kept: those that cross one of the places between two segments."""
        ends = []
        sizes: list[int] = []
        total = 0
        kept = {self.base[node] for node in self.read_later}
        for node in self.nodes[: self.end + 1]:
            total += nbytes(node) if node in kept else 0
            sizes.append(total)
        for i in range(1, policy.segments + (policy.share < 1)):
            aim = total * policy.share * i / policy.segments
            width = total * policy.share / policy.segments / 3
            first, stop = bisect_right(sizes, aim - width), max(bisect_right(sizes, aim + width), 1)
            places = range(min(first, stop - 1), min(stop, self.end))
            if places:
                ends.append(min(places, key=lambda at: (self.crossing[at], abs(sizes[at] - aim))))
        self.ends = ends
        self.prefix = ends[-1] if policy.share < 1 and ends else self.end
        return {
            base for base, at in self.last_read.items() if not base.op.leaf and any(self.position[base] <= e < at for e in ends)
        }

    def again(self, policy: Policy) -> set[Node]:
        """The nodes of the forward pass that run again, by a minimum cut."""
        forced = self.checkpoints(policy)
        dag = module("networkx").DiGraph()
        forward = self.nodes[: self.end + 1]
        needed = set(self.graph.reaching(self.read_later))
        for node in forward:
            if node not in needed or node.op.leaf:
                continue
            level = self.levels[node]
            allowed = policy.level if self.position[node] <= self.prefix else min(policy.level, CHEAP)
            free = node in forced or level is None or level > allowed
            if free:
                dag.add_edge("leaves", (node, 0))
            elif arithmetic(node):
                dag.add_edge("leaves", (node, 0), capacity=arithmetic(node) * 1e-6)
            if isinstance(native_form(node), View):
                dag.add_edge((node, 0), (node, 1))
            else:
                dag.add_edge((node, 0), (node, 1), capacity=0 if node in forced else nbytes(node))
            for i in node.inputs:
                if not i.op.leaf:
                    dag.add_edge((i, 1), (node, 0))
            if node in self.read_later:
                dag.add_edge((node, 1), "backward")
        if "backward" not in dag or "leaves" not in dag:
            return set()
        _, (_, far) = minimum_cut(dag, "leaves", "backward")
        return {node for node in needed if (node, 0) in far}

    def least(self, again: Set[Node]) -> tuple[int, int]:
        """Estimates of the bytes that are live where those nodes, which `again` gave last, run again: the values that stay from
        the forward pass; the most of them and of a segment's values when its last product has been computed again."""
        stay = {self.base[node] for node in self.read_later if node not in again}
        stay |= {self.base[i] for node in again for i in node.inputs if i not in again}
        kept = {node: nbytes(node) for node in stay if not node.op.leaf}
        most, begin = sum(kept.values()), 0
        for end in [*self.ends, self.end]:
            repeated = [node for node in self.nodes[begin : end + 1] if node in again]
            before = sum(size for node, size in kept.items() if self.position[node] <= end)
            begin = end + 1
            last = next((node for node in reversed(repeated) if self.levels[node] == ALL), None)
            inside, live = {last}, set()
            for node in reversed(repeated):
                if node in inside:
                    inside.update(node.inputs)
                    live.update([self.base[node]] if node in self.read_later else [])
            most = max(most, before + sum(map(nbytes, live)))
        return sum(kept.values()), most

    def rewritten(self, policy: Policy, again: Set[Node] | None = None) -> Rematerialized:
        """The program under a policy. again: what `again` gives for it, where that is known."""
        again = self.again(policy) if again is None else again
        new = Graph()
        new.generator, new.draws, new.step = self.graph.generator, self.graph.draws, self.graph.step
        moved: dict[Node, Node] = {}
        clones: dict[Node, Node] = {}
        waits: dict[Node, Node] = {}
        guarded: dict[tuple[Node, Node], Node] = {}
        anchor = self.nodes[self.end]

        def late(value: Node) -> Node:
            """A kept value, read when the backward pass has come this far."""
            key = value, anchor
            if key not in guarded:
                guarded[key] = new.append(Node(LATER, (value, anchor), {}, value.type, "", value.where))
                waits[guarded[key]] = anchor
            return guarded[key]

        def clone(node: Node) -> Node:
            stack = [node]
            while stack:
                top = stack[-1]
                todo = [i for i in top.inputs if i in again and i not in clones]
                if top in clones or not todo:
                    stack.pop()
                    if top not in clones:
                        inputs = tuple([clones[i] if i in again else i if i.op.leaf else late(i) for i in top.inputs])
                        if inputs == top.inputs and inputs:
                            largest = max(inputs, key=nbytes)
                            guard = largest.op.leaf != "constant"  # numbers are part of the kernels that read them
                            inputs = tuple([late(i) if guard and i is largest else i for i in inputs])
                        clones[top] = new.append(Node(top.op, inputs, top.attrs, top.type, "", top.where))
                else:
                    stack += todo
            return clones[node]

        for place, node in enumerate(self.nodes):
            if place <= self.end:
                moved[node] = new.append(node)
                continue
            inputs = tuple([clone(i) if i in again else moved[i] for i in node.inputs])
            if inputs == node.inputs:
                moved[node] = new.append(node)
            else:
                moved[node] = new.append(Node(node.op, inputs, node.attrs, node.type, node.name, node.where))
            if isinstance(native_form(node), Native) and not node.op.leaf:
                anchor = moved[node]
        paid = sum(map(arithmetic, clones)) / max(self.arithmetic, 1)
        return Rematerialized(new, [moved[r] for r in self.results], waits, list(clones.values()), paid)


def nbytes(node: Node) -> int:
    kind = node.type
    return int(math.prod(kind.shape)) * kind.dtype.itemsize if hasattr(kind, "shape") else 0


def arithmetic(node: Node) -> float:
    """The arithmetic of a node, in additions; of a product, the geometric mean of its three matrices is that of its extents."""
    emit = native_form(node)
    if node.op.leaf or isinstance(emit, View) or not hasattr(node.type, "shape"):
        return 0.0
    size = float(math.prod(node.type.shape))
    if isinstance(emit, Pointwise):
        return size * emit.cost
    operands = [float(math.prod(i.type.shape)) for i in node.inputs if hasattr(i.type, "shape")]
    if isinstance(emit, Native) and len(operands) >= 2:
        return math.sqrt(size * operands[0] * operands[1])
    return max([size, *operands])
