"""Losses of numbers against numbers, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...base.types import INEXACT, Shape, is_number, normalize_axis, shape_text, to_float
from ...eager.calls.composites import check_operands, composite
from ...errors import ArgumentError, ShapeError
from ...ops.linear_algebra.products import vector_norm
from ...ops.operands import operand, promoted
from ...ops.operators import F, Operators, Tensor, TensorLike, spelled
from .checks import check_floating, check_reduction, fitting, legacy_reduction, reduced, regression_pair, value_of

__all__ = [
    "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss",
    "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "cosine_embedding_loss", "cosine_similarity", "normalize",
    "pairwise_distance", "pdist", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


def _weighted(name: str, loss: Tensor, weight: TensorLike | None, reduction: str) -> Tensor:
    """The reduced loss; with weights the mean is over their sum. Raises ShapeError unless weights have the loss's shape."""
    if weight is None:
        return reduced(loss, reduction)
    weight = operand(weight)
    if not fitting(weight.shape, loss.shape):
        raise ShapeError("Weights and input must have the same size.", f"{name}: the weight is {shape_text(weight.shape)}")
    loss = loss * weight
    return F.sum(loss) / F.sum(weight) if reduction == "mean" else reduced(loss, reduction)


@spelled
@composite
def mse_loss(
    input: TensorLike, target: TensorLike, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """(input - target)**2, reduced over all elements; with weights of that shape, the mean is over their sum.

    input: floating, any shape; target: the same shape. Raises ShapeError, DTypeError, ArgumentError.

    Examples:
        >>> F.mse_loss(sg.tensor([1.0, 2.0]), sg.tensor([0.0, 0.0]))
        tensor(2.5000)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = regression_pair("mse_loss", input, target)
    check_operands(input, target)
    return _weighted("mse_loss", F.square(F.sub(input, target)), weight, reduction)


@spelled
@composite
def l1_loss(
    input: TensorLike, target: TensorLike, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """|input - target|, reduced over all elements; the derivative at 0 is 0. Weights as for `mse_loss`.

    input: floating, any shape; target: the same shape. Raises ShapeError, DTypeError, ArgumentError.

    Examples:
        >>> F.l1_loss(sg.tensor([1.0, 2.0]), sg.tensor([0.0, 4.0]))
        tensor(1.5000)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = regression_pair("l1_loss", input, target, INEXACT)
    return _weighted("l1_loss", F.abs(F.sub(input, target)), weight, reduction)


@spelled
@composite
def smooth_l1_loss(
    input: TensorLike, target: TensorLike, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """d**2 / (2 beta) where d = |input - target| is below beta, else d - beta / 2; reduced over all elements.

    input: floating, any shape; target: the same shape. Raises ShapeError, DTypeError, ArgumentError for a negative beta.
    Source: Girshick, "Fast R-CNN", 2015.

    Examples:
        >>> F.smooth_l1_loss(sg.tensor([1.0, 2.0]), sg.tensor([0.5, 4.0]))
        tensor(0.8125)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = regression_pair("smooth_l1_loss", input, target)
    check_operands(input, target)
    if not is_number(beta) or beta < 0:
        raise ArgumentError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    difference = F.sub(input, target)
    size = F.abs(difference)
    if beta == 0:
        return reduced(size, reduction)
    near = F.logical_not(size >= beta)
    square = F.square(F.where(near, difference, 0))  # of infinite ones not even the gradient of 0
    return reduced(F.where(near, square * (0.5 / beta), size - 0.5 * beta), reduction)


@spelled
@composite
def huber_loss(
    input: TensorLike, target: TensorLike, reduction: str = "mean", delta: float = 1.0, weight: TensorLike | None = None
) -> Tensor:
    """d**2 / 2 where d = |input - target| is at most delta, else delta (d - delta / 2); reduced over all elements.

    weight: of the same shape; factors of the elements. Raises ShapeError, DTypeError, ArgumentError unless delta > 0.
    Source: Huber, "Robust estimation of a location parameter", 1964.

    Examples:
        >>> F.huber_loss(sg.tensor([1.0, 2.0]), sg.tensor([0.5, 4.0]))
        tensor(0.8125)
    """
    check_reduction(reduction)
    input, target = regression_pair("huber_loss", input, target)
    check_operands(input, target)
    if not is_number(delta) or delta <= 0:
        raise ArgumentError(f"huber_loss does not support non-positive values for delta, got {delta}")
    difference = F.sub(input, target)
    size = F.abs(difference)
    near = F.logical_not(size > delta)
    loss = F.where(near, F.square(F.where(near, difference, 0)) * 0.5, delta * (size - 0.5 * delta))
    if weight is not None:
        weight = operand(weight)
        if not fitting(weight.shape, loss.shape):
            raise ShapeError(
                "Weights and input must have the same size.", f"huber_loss: the weight is {shape_text(weight.shape)}"
            )
        loss = loss * weight
    return reduced(loss, reduction)


@spelled
@composite
def kl_div(
    input: TensorLike, target: TensorLike, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Tensor:  # fmt: skip
    """target (log(target) - input), the divergence of a distribution from log-probabilities `input`, broadcast.

    log_target: the target holds log-probabilities too. reduction: "batchmean" is the sum over the first extent, "mean" that
    over all elements. Raises DTypeError, ArgumentError.

    Examples:
        >>> F.kl_div(sg.log(sg.tensor([0.5, 0.5])), sg.tensor([0.25, 0.75]), reduction="sum")
        tensor(0.1308)
    """
    batchmean = reduction == "batchmean" and size_average is None and reduce is None
    reduction = legacy_reduction(size_average, reduce, "sum" if batchmean else reduction)
    input, target = operand(input), operand(target)
    check_floating("kl_div", "input", input)
    loss = F.exp(target) * (target - input) if log_target else F.xlogy(target, target) - target * input
    out = reduced(loss, reduction)
    if not batchmean or not input.shape:
        return out
    return out / _extent_of(input)


def _extent_of(x: Tensor) -> Tensor | int:
    """The first extent, as a number or as a tensor where it is unknown."""
    first = x.shape[0]
    if first is not None:
        return int(first)
    column = F.reshape(x[(slice(None), *[slice(0, 1)] * (len(x.shape) - 1))], (-1,))
    return F.sum(F.ones_like(column))


@spelled
@composite
def poisson_nll_loss(
    input: TensorLike, target: TensorLike, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """exp(input) - target input for log_input, else input - target log(input + eps): minus the log-likelihood of counts.

    full: with Stirling's approximation of log(target!) where target > 1. Raises DTypeError, ArgumentError.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = operand(input), operand(target)
    loss = F.exp(input) - target * input if log_input else input - target * F.log(input + eps)
    if full:
        large = F.where(target > 1, target, F.ones_like(target))
        stirling = large * F.log(large) - large + 0.5 * F.log(2 * math.pi * large)
        loss = loss + F.where(target > 1, stirling, F.zeros_like(stirling))
    return reduced(loss, reduction)


@spelled
def gaussian_nll_loss(
    input: TensorLike, target: TensorLike, var: TensorLike | float, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """(log(var) + (input - target)**2 / var) / 2, with var at least eps; reduced over all elements.

    var: a number, of the input's shape, or of that with one extent 1 or without the last axis. full: with log(2 pi) / 2.
    The gradient passes where var is below eps. Raises ShapeError, ArgumentError, for a negative variance eagerly and for that
    of a number in every mode. Source: Nix and Weigend, "Estimating the mean and variance of the target probability
    distribution", 1994.
    """
    known = var if isinstance(var, (int, float)) else value_of(operand(var))
    if known is not None and np.any(np.less(known, 0)):
        raise ArgumentError("var has negative entry/entries")
    return _gaussian_nll_loss(input, target, var, full, eps, reduction)


@composite
def _gaussian_nll_loss(
    input: TensorLike, target: TensorLike, var: TensorLike | float, full: bool, eps: float, reduction: str
) -> Tensor:
    check_reduction(reduction)
    input, target = operand(input), operand(target)
    check_floating("gaussian_nll_loss", "input", input)
    if not isinstance(var, Operators) and is_number(var):
        var = F.ones_like(input) * var
    var = operand(var)
    if not fitting(var.shape, input.shape):
        if fitting(input.shape[:-1], var.shape):
            var = F.expand_dims(var, -1)
        elif len(var.shape) != len(input.shape) or _differing(input.shape, var.shape) != [1]:
            raise ArgumentError("var is of incorrect size", f"input {shape_text(input.shape)}, var {shape_text(var.shape)}")
    floor = F.stop_gradient(F.maximum(var, eps) - var)
    safe = var + floor
    loss = 0.5 * (F.log(safe) + F.square(input - target) / safe)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def _differing(shape: Shape, other: Shape) -> list[int | None]:
    """The extents of `other` that are not those of `shape`."""
    return [b for a, b in zip(shape, other, strict=True) if a != b]


@spelled
@composite
def soft_margin_loss(
    input: TensorLike, target: TensorLike, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """log(1 + exp(-target input)) for targets of 1 and -1, broadcast; reduced over all elements. Raises DTypeError."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    input = operand(input)
    check_floating("soft_margin_loss", "input", input)
    return reduced(F.softplus(-(operand(target) * input)), reduction)


@spelled
@composite
def hinge_embedding_loss(
    input: TensorLike, target: TensorLike, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The input where target is 1, max(0, margin - input) where it is -1; reduced over all elements."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = operand(input), operand(target)
    far = F.where(target != 1, F.clip(margin - input, 0, None), 0)
    near = F.where(target != -1, input, 0)
    return reduced(far + near, reduction)


@spelled
@composite
def margin_ranking_loss(
    input1: TensorLike, input2: TensorLike, target: TensorLike, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, -target (input1 - input2) + margin): 0 where the first ranks higher for target 1, or lower for -1.

    Raises ShapeError unless the three have the same number of axes.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    a, b, t = operand(input1), operand(input2), operand(target)
    if not len(a.shape) == len(b.shape) == len(t.shape):
        raise ShapeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {shape_text(a.shape)}, input2: {shape_text(b.shape)}, target: {shape_text(t.shape)} "
        )
    return reduced(F.clip(-t * (a - b) + margin, 0, None), reduction)


# distances and similarities of vectors --------------------------------------------------------------------------------

# Distances and similarities of vectors, and the losses made of them.


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
