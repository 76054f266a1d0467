"""Gradients as tensors of the graph."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import static
from ...ir import Node
from ...operators import F, Symbol
from ...static.graphs import using
from .graph import Graph
from .handles import Handle, Tensor
from .tensor import graph_of, handles, symbols, tensor

# sparse gradients -----------------------------------------------------------------------------------------------------

# Sparse gradients: some rows of a tensor that is 0 elsewhere.


class IndexedSlicesValue(NamedTuple):
    """The value of `IndexedSlices` in a run."""

    values: Any
    indices: Any
    dense_shape: Any = None


class IndexedSlices(Handle):
    """Rows `values[k]` at `indices[k]` of a tensor of shape `dense_shape` that is 0 elsewhere; rows of one place add up.

    Taken for that tensor wherever one is expected, if dense_shape is known.
    """

    __slots__ = ("_dense", "_parts", "_shape")

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None):
        self.graph = graph_of([values, indices])
        with using(self.graph):
            rows, places = tensor(values), tensor(indices)
        self._parts: Any = (self.graph.handle(rows.node), self.graph.handle(places.node))
        self._shape = dense_shape
        self._dense: Node | None = None

    @classmethod
    def of(cls, graph: Graph, dense: Node, parts: Sequence[tuple[Node, Node]]) -> IndexedSlices:
        """The sum of scatters of values at indices, `parts`, which `dense` is."""
        made = cls.__new__(cls)
        made.graph, made._dense, made._parts, made._shape = graph, dense, list(parts), None
        return made

    def _rows(self) -> tuple[Any, Any]:
        if isinstance(self._parts, list):
            graph = self.graph
            with using(graph), static.control_dependencies(None):
                values = [_flat_rows(Symbol(graph, v), i.type.ndim) for v, i in self._parts]
                indices = [F.reshape(Symbol(graph, i), (-1,)) for _, i in self._parts]
                if len({i.dtype for i in indices}) > 1:
                    indices = [F.astype(i, np.int64) for i in indices]
                joined = [x[0] if len(x) == 1 else F.concatenate(x, axis=0) for x in (values, indices)]
            self._parts = tuple(graph.handle(x.node) for x in joined)
        rows: tuple[Any, Any] = self._parts
        return rows

    @property
    def values(self) -> Tensor:
        """The rows."""
        found: Tensor = self._rows()[0]
        return found

    @property
    def indices(self) -> Tensor:
        """Their places along the first axis."""
        found: Tensor = self._rows()[1]
        return found

    @property
    def dense_shape(self) -> Any:
        """The shape of the whole as a tensor; None where it is unknown."""
        if self._shape is None and self._dense is not None:
            from .arrays import shape

            self._shape = shape(self.graph.handle(self._dense))
        return self._shape

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The whole tensor's."""
        if self._dense is None:
            if self._shape is None:
                raise ValueError(
                    "Tensor conversion requested for IndexedSlices without dense_shape: give it the shape of the whole"
                )
            from .gathering import scatter_nd

            dense = scatter_nd(_column(self.indices), self.values, self._shape)
            self._dense = dense.node
        return self._dense

    @property
    def symbol(self) -> Symbol:
        return Symbol(self.graph, self.node)

    def with_values(self, values: Any) -> IndexedSlices:
        """Other rows at the same places."""
        return IndexedSlices(values, self.indices, self.dense_shape)

    def fetched_as(self) -> IndexedSlicesValue:
        """What a run fetches for it."""
        shape = self.dense_shape
        return IndexedSlicesValue(self.values, self.indices, static.constant(-1) if shape is None else shape)

    def consumers(self) -> list[Any]:
        return self.values.consumers()

    def __neg__(self) -> IndexedSlices:
        return self.with_values(-self.values)  # type: ignore[operator]

    def __repr__(self) -> str:
        shape = "" if self._shape is None else f", dense_shape={self._shape}"
        return f"IndexedSlices(indices={self.indices}, values={self.values}{shape})"

    __str__ = __repr__


def _flat_rows(values: Any, axes: int) -> Any:
    """Values whose first axes are those of the indices, as rows."""
    if axes == 1:
        return values
    tail = values.shape[axes:]
    if None not in tail:
        return F.reshape(values, (-1, *tail))
    from .arrays import concat, reshape, shape

    whole = values.graph.handle(values.node)
    return reshape(whole, concat([[-1], shape(whole)[axes:]], 0)).symbol


def _column(indices: Any) -> Any:
    from .arrays import expand_dims

    return expand_dims(indices, -1)


def slices_of(node: Node, whole: Node) -> list[tuple[Node, Node]] | None:
    """The (values, indices) of which a gradient is the sum, where all parts are scattered rows of the whole; else None."""
    stack, found = [node], []
    while stack:
        part = stack.pop()
        if part.op.name == "add" and all(i.type == part.type for i in part.inputs):
            stack += reversed(part.inputs)
        elif part.op.sparse and part.attrs.get("axis") == 0 and len(part.inputs) == 3 and part.type == whole.type:
            index = part.inputs[2]
            found.append((part.inputs[0], index.inputs[0] if index.op.name == "bounded" else index))
        else:
            return None
    return found


def rows_once(g: IndexedSlices, whole: Any) -> tuple[Any, Any]:
    """Places (n,) of rows of the whole, and at each the sum of all values of that place."""
    ids, values = F.reshape(F.astype(g.indices.symbol, np.int64), (-1,)), tensor(g.values, whole.dtype)
    numbers = F.index_along(ids, 0)
    writer = F.index_copy(static.constant(np.zeros(whole.shape[0], np.int64)), 0, ids, numbers)
    first = F.take(writer, ids, axis=0)  # one number for all values of a place
    return ids, F.take(F.index_add(F.zeros_like(values), 0, first, values), first, axis=0)


def convert_to_tensor_or_indexed_slices(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """`IndexedSlices` as they are, all else as a tensor."""
    from .arrays import convert_to_tensor

    if isinstance(value, IndexedSlices):
        return value
    return convert_to_tensor(value, dtype, name=name)


class UnconnectedGradients(enum.Enum):
    """What `gradients` gives for an x on which no y depends: None, or zeros."""

    NONE = "none"
    ZERO = "zero"


class AggregationMethod:
    """Accepted: how gradients are summed is the compiler's decision."""

    ADD_N = DEFAULT = 0
    EXPERIMENTAL_TREE, EXPERIMENTAL_ACCUMULATE_N = 1, 2


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def gradients(
    ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients", colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False, aggregation_method: Any = None, stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:  # fmt: skip
    """d(sum of ys) / dx for each x; None, or zeros for UnconnectedGradients.ZERO, where no y depends on it.

    The gradient of a tensor of which rows were gathered is `IndexedSlices`. colocate_gradients_with_ops, gate_gradients and
    aggregation_method are accepted.
    """
    graph = graph_of([ys, xs])
    graph.check_open()
    try:
        zeros = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}") from None
    sources, roots = _listed(xs), _listed(ys)
    seeds = None if grad_ys is None else symbols(_listed(grad_ys))
    if seeds is not None and len(seeds) != len(roots):
        raise ValueError(f"Passed {len(seeds)} grad_ys for {len(roots)} ys")
    for what, given in (("y", roots), ("x", sources)):
        for item in given:
            if not isinstance(item, Handle):
                raise TypeError(f"gradients: each {what} has to be a tensor or variable, got {item!r}")
    # none flows from or to an integer
    ends = [(y, None if seeds is None else seeds[i]) for i, y in enumerate(roots) if y.dtype.is_floating]
    smooth = [x for x in sources if x.dtype.is_floating]
    with using(graph), graph.name_scope(name or "gradients"):
        found: list[Any] = [None] * len(smooth)
        if ends:
            cotangents = None if seeds is None else [seed for _, seed in ends]
            stops = symbols(_listed(stop_gradients or []))
            found = static.gradients(symbols([y for y, _ in ends]), symbols(smooth), cotangents, stops)
        rest = iter(found)
        pairs = [(next(rest) if x.dtype.is_floating else None, x) for x in sources]
        made = [None if g is None else _gradient(graph, g, x) for g, x in pairs]
    if zeros:
        from .arrays import zeros_like

        made = [zeros_like(x) if g is None else g for g, x in zip(made, sources, strict=True)]
    return made


def _gradient(graph: Graph, g: Any, x: Any) -> Any:
    parts = slices_of(g.node, x.node)
    if parts is not None:
        return IndexedSlices.of(graph, g.node, parts)
    if not graph.known(g.node):
        graph.adopt(g.node, f"{graph.name_of(x.node)}_grad", "AddN")
    return handles(graph, g)


def hessians(
    ys: Any, xs: Any, name: str = "hessians", colocate_gradients_with_ops: bool = False, gate_gradients: bool = False,
    aggregation_method: Any = None,
) -> list[Any]:  # fmt: skip
    """For each x the second derivatives of the sum of ys, of the shape of x twice. Raises ValueError for unknown extents."""
    from .arrays import convert_to_tensor, reshape, stack, unstack

    sources = _listed(xs)
    result = []
    for x, first in zip(sources, gradients(ys, sources), strict=True):
        if first is None or not first.shape.is_fully_defined():
            raise ValueError(f"hessians: {x} has to be connected to the ys, and its shape fully defined")
        shape = first.shape.as_list()
        entries = unstack(reshape(convert_to_tensor(first), [-1]))
        rows = [convert_to_tensor(gradients(part, x, unconnected_gradients="zero")[0]) for part in entries]
        result.append(reshape(stack(rows), [*shape, *shape], name=name))
    return result
