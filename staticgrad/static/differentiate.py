"""Gradients of a graph as further tensors of the same graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ir
from ..autodiff.reverse import gradients as append_gradients
from ..eager.tensor import Tensor
from ..errors import ArgumentError, GradientError
from ..operators import Symbol, TensorLike, Tensors
from .graphs import Graph, element


def gradients(
    ys: Tensors, xs: Tensors, grad_ys: TensorLike | Iterable[TensorLike] | None = None, stop_gradients: Tensors = ()
) -> list[Symbol | None]:
    """d(sum of grad_ys * ys) / dx for each x, as tensors of the shape and dtype of x; None where no y depends on x.

    ys, xs: tensors, one or a list; xs may be variables, inner tensors, and eager tensors that the graph captured;
    grad_ys: weights of the ys (tensors or arrays of their shapes, None for ones); stop_gradients: tensors taken for
    constants. The result can be differentiated again. Raises GradientError for a y or x that is not floating,
    ShapeError for a weight of another shape, GraphError for tensors of different graphs.
    """
    targets = _listed(ys, "ys")
    if not targets or not all(isinstance(y, Symbol) for y in targets):
        raise GradientError(f"gradients: ys have to be tensors of a graph, got {ys!r}", "eager: y.backward()")
    graph = targets[0].graph
    weights = None if grad_ys is None else _listed(grad_ys, "grad_ys")
    if weights is not None and len(weights) != len(targets):
        raise ArgumentError(f"gradients: {len(targets)} ys need {len(targets)} grad_ys, got {len(weights)}")
    sources = [_tensor(graph, x) for x in _listed(xs, "xs")]
    stops = [_tensor(graph, s) for s in _listed(stop_gradients, "stop_gradients")]
    found = iter(
        append_gradients(
            [Symbol(graph, element(graph, y)) for y in targets],
            [s for s in sources if s is not None],
            weights,
            [s for s in stops if s is not None],
        )
    )
    return [None if source is None else next(found) for source in sources]


def _listed(value: Any, what: str) -> list[Any]:
    if isinstance(value, (Symbol, Tensor)):
        return [value]
    if what == "grad_ys" and (hasattr(value, "__array__") or not isinstance(value, Iterable)):  # an array or a number
        return [value]
    if isinstance(value, Iterable) and not isinstance(value, str):
        return list(value)
    raise ArgumentError(f"gradients: {what} has to be a tensor or a list of tensors, got {type(value).__name__}")


def _tensor(graph: ir.Graph, thing: Any) -> Symbol | None:
    """A tensor of the graph; None for an eager tensor that the graph did not capture, on which nothing can depend."""
    if isinstance(thing, Tensor) and isinstance(graph, Graph) and graph.standing_for(thing) is None:
        return None
    return Symbol(graph, element(graph, thing))
