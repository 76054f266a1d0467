"""Distances and similarities of vectors, and the losses made of them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..base.types import is_number, normalize_axis, shape_text, to_float
from ..eager.calls.composites import composite
from ..errors import ArgumentError, ShapeError
from ..operators import F, Tensor, TensorLike, spelled
from ..ops.linear_algebra.norms import vector_norm
from ..ops.operands import promoted
from ..ops.settings import operand
from .checks import check_floating, check_reduction, legacy_reduction, reduced

__all__ = [
    "cosine_embedding_loss", "cosine_similarity", "normalize", "pairwise_distance", "pdist", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip


def _powers_sum(size: Tensor, p: float, axis: int, keepdim: bool) -> Tensor:
    """The p-norm of non-negative numbers along an axis, whose derivative at 0 is 0."""
    if abs(p) == math.inf:
        return F.amax(size, axis, keepdims=keepdim) if p > 0 else F.amin(size, axis, keepdims=keepdim)
    if p == 0:
        return F.sum(F.square(F.sign(size)), axis, keepdims=keepdim)
    if p == 1:
        return F.sum(size, axis, keepdims=keepdim)
    return vector_norm(size, p, axis, keepdim)


@spelled
@composite
def pairwise_distance(x1: TensorLike, x2: TensorLike, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """||x1 - x2 + eps||_p along the last axis, broadcast."""
    difference = operand(x1) - operand(x2) + eps
    return _powers_sum(F.abs(difference), p, -1, keepdim)


@spelled
@composite
def cosine_similarity(x1: TensorLike, x2: TensorLike, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 x2 / (max(||x1||, eps) max(||x2||, eps)) along `dim`, broadcast. Raises ShapeError.

    Examples:
        >>> F.cosine_similarity(sg.tensor([[1.0, 0.0]]), sg.tensor([[1.0, 1.0]]))
        tensor([0.7071])
    """
    a, b = operand(x1), operand(x2)
    kind = to_float(promoted(a, b))
    a, b = F.astype(a, kind), F.astype(b, kind)
    check_floating("cosine_similarity", "input", a)
    if not a.shape and not b.shape:
        a, b = F.reshape(a, (1,)), F.reshape(b, (1,))
    axes = max(len(a.shape), len(b.shape))
    axis = normalize_axis(dim, axes) - axes
    if -axis > min(len(a.shape), len(b.shape)) or a.shape[axis] != b.shape[axis]:  # one is broadcast along the axis
        a, b = F.broadcast_tensors(a, b)
    return F.sum(_scaled(a, axis, eps) * _scaled(b, axis, eps), axis)


def _scaled(x: Tensor, axis: int, eps: float) -> Tensor:
    size = vector_norm(x, 2, axis, True)
    return x / F.where(size > eps, size, eps)


@spelled
@composite
def normalize(input: TensorLike, p: float = 2.0, dim: int | tuple[int, ...] = 1, eps: float = 1e-12) -> Tensor:
    """input / max(||input||_p, eps), with norms along `dim`, one axis or several.

    Examples:
        >>> F.normalize(sg.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    x = operand(input)
    size = vector_norm(x, p, dim, True)
    return x / F.clip(size, eps, None)


@spelled
@composite
def pdist(input: TensorLike, p: float = 2.0) -> Tensor:
    """The p-norm distances of all pairs of rows of (n, m): (n (n - 1) / 2,), row 0 with 1 to n - 1, then row 1 and so on.

    Raises ShapeError, ArgumentError for a negative p.
    """
    x = operand(input)
    if len(x.shape) != 2:
        raise ShapeError("pdist only supports 2D tensors, got: " + f"{len(x.shape)}D", f"its shape is {shape_text(x.shape)}")
    if x.shape[0] is None:
        raise ShapeError("pdist: the number of rows has to be known", "give the placeholder a known extent there")
    if not is_number(p) or p < 0:
        raise ArgumentError(f"pdist only supports non-negative p values, got {p!r}")
    first, second = np.triu_indices(x.shape[0], 1)
    return _powers_sum(F.abs(F.take(x, first, 0) - F.take(x, second, 0)), p, -1, False)


# losses -----------------------------------------------------------------------------------------------------------------


@spelled
@composite
def cosine_embedding_loss(
    input1: TensorLike, input2: TensorLike, target: TensorLike, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """1 - cos(input1, input2) where target is 1, max(0, cos - margin) where it is -1.

    Shapes: inputs (n, d), target (n,); or (d,) and (). Raises ShapeError.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    a, b, t = operand(input1), operand(input2), operand(target)
    axes = len(t.shape)
    if axes > 1 or len(a.shape) != axes + 1 or len(b.shape) != axes + 1:
        raise ShapeError(
            f"{axes}D target tensor expects {axes + 1}D input tensors, but found inputs with sizes {shape_text(a.shape)} and "
            f"{shape_text(b.shape)}."
            if axes <= 1
            else "0D or 1D target tensor expected, multi-target not supported"
        )
    epsilon = 1e-12
    product, square_a, square_b = (F.sum(v, -1) for v in (a * b, a * a, b * b))
    cosine = product / F.sqrt((square_a + epsilon) * (square_b + epsilon))
    near = F.where(t == 1, 1 - cosine, 0)
    return reduced(near + F.where(t == -1, F.clip(cosine - margin, 0, None), 0), reduction)


def _triplet(positive: Tensor, negative: Tensor, swapped: Tensor | None, margin: float, reduction: str) -> Tensor:
    if swapped is not None:
        negative = F.minimum(negative, swapped)
    return reduced(F.clip(margin + positive - negative, 0, None), reduction)


def _check_triplet(name: str, a: Tensor, p: Tensor, n: Tensor) -> None:
    if not len(a.shape) == len(p.shape) == len(n.shape):
        raise ShapeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {len(a.shape)}D, positive {len(p.shape)}D, and negative {len(n.shape)}D inputs",
            name,
        )


@spelled
@composite
def triplet_margin_loss(
    anchor: TensorLike, positive: TensorLike, negative: TensorLike, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, margin + d(anchor, positive) - d(anchor, negative)) with d = `pairwise_distance`.

    swap: with the smaller of d(anchor, negative) and d(positive, negative). Raises ShapeError, ArgumentError.
    Source: Balntas et al., "Learning shallow convolutional feature descriptors with triplet losses", 2016.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ArgumentError(f"margin must be greater than 0, got {margin}")
    a, b, c = operand(anchor), operand(positive), operand(negative)
    _check_triplet("triplet_margin_loss", a, b, c)
    far = pairwise_distance(b, c, p, eps) if swap else None
    return _triplet(pairwise_distance(a, b, p, eps), pairwise_distance(a, c, p, eps), far, margin, reduction)


@spelled
def triplet_margin_with_distance_loss(
    anchor: TensorLike, positive: TensorLike, negative: TensorLike, *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0, swap: bool = False,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """As `triplet_margin_loss`, with a distance of the caller's."""
    check_reduction(reduction)
    if margin <= 0:
        raise ArgumentError(f"margin must be greater than 0, got {margin}")
    a, b, c = operand(anchor), operand(positive), operand(negative)
    _check_triplet("triplet_margin_with_distance_loss", a, b, c)
    distance = pairwise_distance if distance_function is None else distance_function
    return _triplet(distance(a, b), distance(a, c), distance(b, c) if swap else None, margin, reduction)
