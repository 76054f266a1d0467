"""Index checks: where a graph doesn't prove that an index is in range, a check is inserted before native code uses it.

Kernels read and write at indices without a bounds check. The public functions check every index, so this pass adds nothing to
their graphs. A graph from a file, or one built node by node, may lack the check or have a different one. The range of an
integer follows from constants, checks and the ops that pass integers on (`OpDef.range`), into the bodies of loops too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from ...base.types import TensorType, int64
from ...ir import REGISTRY, Graph, Index, Node, Range, Region, Result, Subgraph, View
from ...ops.operands import LoopOperands
from ...ops.rules import joint

Types = Mapping[Node, TensorType]
Value = TypeVar("Value")


def check_indexes(graph: Graph, results: Sequence[Node]) -> tuple[Graph, dict[Node, Node]]:
    """The graph with a check for each index that may be out of range, and the new node of each node."""
    order = graph.reaching(results)
    if not _trusting(order):
        return graph, {node: node for node in order}
    types = {node: node.type for node in order}
    same = {node: node for node in order}
    try:
        _Checks().copy(order, types, None, same, {})
    except _Unproven:
        new = Graph(intern=True)
        moved: dict[Node, Node] = {}
        _Checks().copy(order, types, new, moved, {})
        return new, moved
    return graph, same


def _trusting(nodes: Iterable[Node]) -> bool:
    """Whether an op among them, or in their bodies, uses integers as positions."""
    return any(
        node.op.indexes is not None
        or (isinstance(node.op.emit, Region) and any(_trusting(body.nodes) for body in _bodies(node).values()))
        for node in nodes
    )


def _bodies(node: Node) -> dict[str, Subgraph]:
    return {key: value for key, value in node.attrs.items() if isinstance(value, Subgraph)}


class _Unproven(Exception):
    """An index may be out of range."""


class _Checks:
    """One traversal of a graph and its bodies. Without a graph to add nodes to, it only finds whether a check is needed."""

    def __init__(self) -> None:
        self.added = 0
        self.done: dict[tuple[Subgraph, tuple[TensorType, ...], tuple[Range, ...]], tuple[Subgraph, list[Range]]] = {}

    def copy(
        self, order: Sequence[Node], types: Types, new: Graph | None, moved: dict[Node, Node], ranges: dict[Node, Range]
    ) -> None:
        """Add the nodes to `new`. `moved` and `ranges` start with the parameters and grow. Raises _Unproven without `new`."""
        made: dict[Node, list[Range]] = {}
        for node in order:
            given = [ranges.get(i) for i in node.inputs]
            kinds = [types[i] for i in node.inputs]
            attrs = node.attrs
            if isinstance(node.op.emit, Region):
                found = {key: self.body(body, node, key, kinds, given, new is None) for key, body in _bodies(node).items()}
                attrs = {**attrs, **{key: body for key, (body, _) in found.items()}}
                made[node] = _results(node, kinds, found)
            elif isinstance(node.op.emit, Result) and node.inputs[0] in made:
                numbers = made[node.inputs[0]]
                index = node.attrs["index"]
                ranges[node] = numbers[index] if index < len(numbers) else None
            else:
                numbers_of = _range(node, kinds, given)
                if numbers_of is not None:
                    ranges[node] = numbers_of
            unproven = []
            if node.op.indexes is not None:
                unproven = [
                    index for index in node.op.indexes(kinds, node.attrs)
                    if not _within(given[index[0]], kinds[index[0]], kinds[index[1]].shape[index[2]])
                ]  # fmt: skip
            if new is None:
                if unproven:
                    raise _Unproven
                continue
            inputs = [moved[i] for i in node.inputs]
            for number, table, axis in unproven:
                inputs[number] = self.check(new, inputs[number], inputs[table], axis, node)
            moved[node] = new.add(node.op, tuple(inputs), attrs, node.type, node.name, node.where)

    def check(self, new: Graph, index: Node, table: Node, axis: int, reader: Node) -> Node:
        self.added += 1
        kind = index.type.with_dtype(int64)
        return new.add(REGISTRY["bounded"], (index, table), {"axis": axis, "low": -1}, kind, "", reader.where)

    def body(
        self, body: Subgraph, node: Node, key: str, types: Sequence[TensorType], given: Sequence[Range], dry: bool
    ) -> tuple[Subgraph, list[Range]]:
        """A body with its checks, and the ranges of its results."""
        kinds, known = _operands(node, key, types), _operands(node, key, given)
        if "carries" in node.attrs:  # carries change from iteration to iteration
            at = node.attrs["consts"]
            known[at : at + node.attrs["carries"]] = [None] * node.attrs["carries"]
            kinds[at + node.attrs["carries"] :] = [
                kind.item if hasattr(kind, "item") else kind.with_shape(kind.shape[1:])
                for kind in kinds[at + node.attrs["carries"] :]
            ]
        name = body, tuple(kinds), tuple(known)
        if name not in self.done:
            before = self.added
            new, ranges = None if dry else Graph(intern=True), dict(zip(body.params, known, strict=True))
            moved = {}
            if new is not None:
                moved = {p: new.add(p.op, (), p.attrs, p.type, p.name, p.where) for p in body.params}
            self.copy(body.nodes, body.types(kinds), new, moved, ranges)
            found = [ranges.get(result) for result in body.results]
            if new is not None and self.added > before:
                body = Subgraph(new, [moved[p] for p in body.params], [moved[r] for r in body.results])
            self.done[name] = body, found
        return self.done[name]


def _operands(node: Node, key: str, values: Sequence[Value]) -> list[Value]:
    """Of one value per input of a region, those of the parameters of one of its bodies."""
    if "carries" not in node.attrs:
        return list(values[1:])  # the first input selects the branch
    first, n = int(node.attrs["count"]), len(node.attrs[key].params)
    return list(values[first : first + n])


def _results(node: Node, types: Sequence[TensorType], found: dict[str, tuple[Subgraph, list[Range]]]) -> list[Range]:
    """The integer ranges of the results of a loop or branch."""
    if "carries" in node.attrs:
        loop = LoopOperands(node.attrs, types)
        _, made = found["body"]
        return [None] * len(loop.inits) + made[len(loop.inits) :]
    sides = [made for _, made in found.values()]
    return [joint(*pair) for pair in zip(*sides, strict=True)]


def range_of(node: Node, known: dict[Node, Range], depth: int) -> Range:
    """The range of the integers in a value, as far as it follows from the operations before it, `depth` of them."""
    if node not in known and depth and node.type.dtype.kind in "biu":
        known[node] = _range(node, [i.type for i in node.inputs], [range_of(i, known, depth - 1) for i in node.inputs])
    return known.get(node)


def _range(node: Node, types: Sequence[TensorType], given: Sequence[Range]) -> Range:
    if not all(kind.static for kind in types):
        return None
    if node.op.range is not None:
        return node.op.range(types, node.attrs, *given)
    if isinstance(node.op.emit, View):
        return given[0]
    if isinstance(node.op.emit, Index):
        return 0, max(types[0].shape[node.attrs["axis"]] - 1, 0)
    if node.op.leaf == "constant" and node.type.dtype.kind in "iu":
        array: np.ndarray = node.attrs["value"].array
        return (int(array.min()), int(array.max())) if array.size else (0, 0)
    return None


def _within(found: Range, index: TensorType, extent: int) -> bool:
    if not index.static or extent is None:  # in a body; the program of the part in which it lies checks it
        return True
    return index.size == 0 or (found is not None and found[0] >= 0 and found[1] < extent)
