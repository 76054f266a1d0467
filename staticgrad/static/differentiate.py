"""Gradients of a graph as further tensors of the same graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from .. import ir
from ..autodiff import requests
from ..autodiff.requests import roots_of, seeds_of
from ..autodiff.reverse import gradients as append_gradients
from ..base.types import INEXACT
from ..eager.tensor import Tensor
from ..errors import ArgumentError
from ..ops.operators import F, MaybeNone, Symbol, TensorLike, Tensors
from .graphs import Graph, element


class GraphMode:
    """See `autodiff.requests.Mode`. Every floating tensor of a graph can be differentiated."""

    scalar_roots = False

    def tensor(self, x: Any) -> Symbol | None:
        return Symbol(x.graph, element(x.graph, x)) if isinstance(x, Symbol) else None

    def differentiable(self, x: Any) -> Symbol | None:
        tensor = self.tensor(x)
        return tensor if tensor is not None and tensor.dtype.kind in INEXACT else None

    def ones(self, root: Symbol) -> None:
        return None

    def seed(self, value: Any, root: Symbol) -> Any:
        return value if isinstance(value, (Symbol, Tensor)) else np.asarray(value, root.dtype)

    def cast(self, x: Any, dtype: np.dtype) -> Symbol:
        return cast("Symbol", F.astype(x, dtype))


def gradients(
    ys: Tensors, xs: Tensors, grad_ys: TensorLike | Iterable[TensorLike] | None = None, stop_gradients: Tensors = ()
) -> list[Symbol | MaybeNone]:
    """d(sum of grad_ys * ys) / dx for each x, as tensors of the shape and dtype of x; None where no y depends on x.

    ys, xs: tensors, one or a list; xs may be variables, inner tensors, and eager tensors that the graph captured;
    grad_ys: weights of the ys (tensors or arrays of their shapes, None for ones); stop_gradients: tensors taken for
    constants. The result can be differentiated again. Raises GradientError for a y or x that is not floating, and for
    another number of weights than ys, ShapeError for a weight of another shape, DTypeError for an integer tensor as a weight,
    GraphError for tensors of different graphs.

    Examples:
        >>> x = sg.placeholder(sg.float32, [])
        >>> (slope,) = sg.gradients(x**3, [x])
        >>> (curvature,) = sg.gradients(slope, [x])
        >>> with sg.Session() as sess:
        ...     sess.run([slope, curvature], {x: 2.0})
        [np.float32(12.0), np.float32(12.0)]
    """
    mode = GraphMode()
    roots = roots_of(mode, ys)
    if not roots:
        raise requests.no_roots()
    graph = roots[0].graph
    seeds = seeds_of(mode, roots, grad_ys)
    sources = [_tensor(graph, x) for x in _listed(xs, "xs")]
    stops = [_tensor(graph, s) for s in _listed(stop_gradients, "stop_gradients")]
    found = iter(
        append_gradients(
            [Symbol(graph, element(graph, root)) for root in roots],
            [s for s in sources if s is not None],
            seeds,
            [s for s in stops if s is not None],
        )
    )
    return [None if source is None else next(found) for source in sources]


def _listed(value: Any, what: str) -> list[Any]:
    if isinstance(value, (Symbol, Tensor)):
        return [value]
    if isinstance(value, Iterable) and not isinstance(value, str):
        return list(value)
    raise ArgumentError(f"gradients: {what} has to be a tensor or a list of tensors, got {type(value).__name__}")


def _tensor(graph: ir.Graph, thing: Any) -> Symbol | None:
    """A tensor of the graph; None for an eager tensor that the graph did not capture, on which nothing can depend."""
    if isinstance(thing, Tensor) and isinstance(graph, Graph) and graph.standing_for(thing) is None:
        return None
    return Symbol(graph, element(graph, thing))
