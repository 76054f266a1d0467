"""Gradients as tensors of the graph."""

from __future__ import annotations

from typing import Any

from ... import static
from ...static.graphs import using
from .tensor import graph_of, handles, symbols


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: str = "none",
) -> list[Any]:
    """d(sum of ys) / dx for each x; None, or zeros for unconnected_gradients="zero", where no y depends on it.

    colocate_gradients_with_ops, gate_gradients and aggregation_method are accepted.
    """
    graph = graph_of([ys, xs])
    graph.check_open()
    if unconnected_gradients not in ("none", "zero"):
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}")
    with using(graph), graph.name_scope(name):
        found = static.gradients(symbols(ys), symbols(xs), symbols(grad_ys), symbols(stop_gradients or []))
    result: list[Any] = handles(graph, found)
    if unconnected_gradients == "zero":
        from .arrays import zeros_like

        sources = xs if isinstance(xs, (list, tuple)) else [xs]
        result = [zeros_like(x) if g is None else g for g, x in zip(result, sources, strict=True)]
    return result


def hessians(ys: Any, xs: Any, name: str = "hessians", **options: Any) -> list[Any]:
    """For each x of one axis the matrix of second derivatives of the sum of ys."""
    from .arrays import stack, unstack

    sources = xs if isinstance(xs, (list, tuple)) else [xs]
    result = []
    for x, first in zip(sources, gradients(ys, sources, **options), strict=True):
        if first.shape.ndims != 1:
            raise ValueError(f"hessians: x has to have one axis, got shape {first.shape}")
        result.append(stack([gradients(part, x, unconnected_gradients="zero")[0] for part in unstack(first)], name=name))
    return result
