"""Gradients as tensors of the graph."""

from __future__ import annotations

import enum
from typing import Any

from ... import static
from ...static.graphs import using
from .graph import Graph
from .handles import Handle
from .indexed_slices import IndexedSlices, slices_of
from .tensor import graph_of, handles, symbols


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
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
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
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
) -> list[Any]:
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
