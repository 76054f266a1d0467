"""Losses and activations as functions, on eager tensors, symbols and arrays alike.

`import staticgrad.functional as F`. Every loss checks shapes and dtypes before it computes anything; unknown extents of a
graph are taken to fit. `reduction` is "mean" (over all elements or samples), "sum" or "none".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .attention import scaled_dot_product_attention
from .errors import ArgumentError, DTypeError, ShapeError
from .normalization import batch_norm, check_eps, group_norm, rms_norm
from .operators import F, Tensor, TensorLike, apply
from .ops.convolution import conv1d, conv2d, conv_transpose2d
from .ops.gathering import along_op, bounded, gather_op
from .ops.indexing import one_hot
from .ops.logistic import logistic_loss, softplus
from .ops.padding import pad
from .ops.pointwise import saving_op
from .ops.pooling import adaptive_avg_pool2d, avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from .ops.settings import operand
from .ops.shaping import flatten
from .ops.softmax import log_softmax, softmax
from .types import Shape, ShapeLike, as_shape, is_number, shape_text

erf, exp, log, relu, sigmoid, tanh = F.erf, F.exp, F.log, F.relu, F.sigmoid, F.tanh
logsumexp = F.logsumexp

REDUCTIONS = ("mean", "sum", "none")


def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero each element with probability p and scale the rest by 1 / (1 - p); x itself when not training.

    Any shape, floating. Raises ArgumentError unless 0 <= p <= 1.
    """
    return F.dropout(x, p, training)


# checks ---------------------------------------------------------------------------------------------------------------


def check_reduction(reduction: str) -> None:
    """Raises ArgumentError for anything but "mean", "sum" and "none"."""
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"{reduction!r} is not a valid value for reduction", f"use one of {', '.join(REDUCTIONS)}")


def _fits(a: Shape, b: Shape) -> bool:
    """Equal as far as the extents are known."""
    return len(a) == len(b) and all(m == n or m is None or n is None for m, n in zip(a, b, strict=True))


def _floating(name: str, role: str, x: Any) -> None:
    if x.dtype.kind != "f":
        raise DTypeError(f"{name}: the {role} must be floating, got {x.dtype}", "cast it: x.astype(sg.float32)")


def _pair(name: str, input: TensorLike, target: TensorLike, reduction: str) -> tuple[Tensor, Tensor]:
    """The operands of an elementwise regression loss, of one shape: broadcasting here is nearly always a mistake."""
    check_reduction(reduction)
    input, target = operand(input), operand(target)
    _floating(name, "input", input)
    if not _fits(input.shape, target.shape):
        raise ShapeError(
            f"Using a target size ({shape_text(target.shape)}) that is different to the input size "
            f"({shape_text(input.shape)})",
            f"{name} does not broadcast: reshape the target",
        )
    return input, target


def _reduced(loss: Any, reduction: str) -> Tensor:
    return F.mean(loss) if reduction == "mean" else F.sum(loss) if reduction == "sum" else loss


# layers ---------------------------------------------------------------------------------------------------------------


def linear(x: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Tensor:
    """x @ weight.T + bias, in PyTorch's layout.

    Shapes: x (..., in), weight (out, in), bias (out,) -> (..., out). Raises ShapeError.
    """
    x, weight = operand(x), operand(weight)
    if len(weight.shape) != 2 or not x.shape:
        raise ShapeError(
            f"linear: need x (..., in) and weight (out, in), got {shape_text(x.shape)} and {shape_text(weight.shape)}"
        )
    if not _fits(x.shape[-1:], weight.shape[1:]):
        rows = "x".join("?" if d is None else str(d) for d in (x.shape if len(x.shape) > 1 else (1, *x.shape)))
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows} and {weight.shape[1]}x{weight.shape[0]})",
            f"linear: x {shape_text(x.shape)} needs a last extent of {weight.shape[1]}, "
            f"for weight (out, in) {shape_text(weight.shape)}",
        )
    if bias is None:
        return F.matmul(x, weight.T)
    bias = operand(bias)
    if not _fits(bias.shape, weight.shape[:1]):
        raise ShapeError(
            f"linear: bias {shape_text(bias.shape)} must be (out,) for weight (out, in) {shape_text(weight.shape)}"
        )
    return F.add(F.matmul(x, weight.T), bias)


# regression -----------------------------------------------------------------------------------------------------------


def mse_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> Tensor:
    """(input - target)**2, reduced over all elements.

    input: floating, any shape; target: the same shape. Raises ShapeError, DTypeError, ArgumentError.

    Examples:
        >>> F.mse_loss(sg.tensor([1.0, 2.0]), sg.tensor([0.0, 0.0]))
        tensor(2.5000)
    """
    input, target = _pair("mse_loss", input, target, reduction)
    return _reduced(F.square(F.sub(input, target)), reduction)


def l1_loss(input: TensorLike, target: TensorLike, reduction: str = "mean") -> Tensor:
    """|input - target|, reduced over all elements; the derivative at 0 is 0.

    input: floating, any shape; target: the same shape. Raises ShapeError, DTypeError, ArgumentError.
    """
    input, target = _pair("l1_loss", input, target, reduction)
    return _reduced(F.abs(F.sub(input, target)), reduction)


# classification -------------------------------------------------------------------------------------------------------


def _class_axis(name: str, scores: Any) -> int:
    if not scores.shape:
        raise ShapeError(f"{name}: scores need an axis of classes, got a 0-d tensor")
    return 0 if len(scores.shape) == 1 else 1


def _picked(name: str, scores: Any, target: Any, axis: int) -> Tensor:
    """The score of each sample's class, with extent 1 along `axis`. Raises before anything is computed."""
    samples = scores.shape[:axis] + scores.shape[axis + 1 :]
    if target.dtype.kind not in "iu":
        raise DTypeError(
            f"{name}: a target of class indices must be integers, got {target.dtype}",
            f"class probabilities need the shape of the scores, {shape_text(scores.shape)}",
        )
    if len(target.shape) != len(samples):
        text = "0D or 1D target tensor expected, multi-target not supported" if len(scores.shape) <= 2 else (
            f"expected target size {shape_text(samples)}, got {shape_text(target.shape)}"
        )  # fmt: skip
        raise ShapeError(text, f"{name}: scores {shape_text(scores.shape)}, target {shape_text(target.shape)}")
    if not _fits(samples, target.shape):
        text = (
            f"Expected input batch_size ({scores.shape[0]}) to match target batch_size ({target.shape[0]})."
            if not _fits(samples[:1], target.shape[:1])
            else f"expected target size {shape_text(samples)}, got {shape_text(target.shape)}"
        )
        raise ShapeError(text, f"{name}: scores {shape_text(scores.shape)}, target {shape_text(target.shape)}")
    index = bounded(target, scores, axis, negative=False, loss=name)
    return apply(along_op, scores, F.expand_dims(index, axis), axis=axis)


def nll_loss(log_probabilities: TensorLike, target: TensorLike, reduction: str = "mean") -> Tensor:
    """Minus the log-probability of each sample's class.

    Shapes: (N, C), or (C,), or (N, C, d1, ...); target: integers of that shape without C. Raises ShapeError,
    DTypeError, IndexRangeError for a target outside [0, C), ArgumentError.
    """
    check_reduction(reduction)
    scores, target = operand(log_probabilities), operand(target)
    axis = _class_axis("nll_loss", scores)
    _floating("nll_loss", "input", scores)
    picked = apply(saving_op, _picked("nll_loss", scores, target, axis))
    return _reduced(F.neg(F.squeeze(picked, axis)), reduction)


def cross_entropy(logits: TensorLike, target: TensorLike, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    """The cross entropy between softmax(logits) and the target, reduced over samples.

    Shapes: logits (N, C), or (C,), or (N, C, d1, ...), floating. target: class indices, integers of that shape without
    C; or class probabilities, floating, of the shape of logits. With `label_smoothing` e the target becomes
    (1 - e) * target + e / C.

    For indices: logsumexp(z) - z[y], whose gradient is exp(z - logsumexp(z)) - onehot(y), in which nothing overflows.
    Raises ShapeError, DTypeError, IndexRangeError ("Target 10 is out of bounds."; negative indices too), ArgumentError.
    Source of label smoothing: Szegedy et al., "Rethinking the Inception Architecture", 2016, section 7.

    Examples:
        >>> logits = sg.tensor([[2.0, 0.0], [0.0, 2.0]])
        >>> print(f"{F.cross_entropy(logits, sg.tensor([0, 1])).item():.4f}")
        0.1269
    """
    check_reduction(reduction)
    if not is_number(label_smoothing) or not 0.0 <= label_smoothing <= 1.0:
        raise ArgumentError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    logits, target = operand(logits), operand(target)
    axis = _class_axis("cross_entropy", logits)
    _floating("cross_entropy", "logits", logits)
    if target.dtype.kind == "f" and _fits(logits.shape, target.shape):
        return _reduced(_against_probabilities(logits, target, axis, label_smoothing), reduction)
    if target.dtype.kind in "iu" and len(target.shape) == len(logits.shape) and _fits(logits.shape, target.shape):
        raise DTypeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype}",
            f"class indices have the shape {shape_text(logits.shape[:axis] + logits.shape[axis + 1 :])}",
        )
    picked = _picked("cross_entropy", logits, target, axis)
    loss = F.logsumexp(logits, axis, keepdims=True)
    if label_smoothing:
        loss = loss - (picked * (1 - label_smoothing) + F.mean(logits, axis, keepdims=True) * label_smoothing)
    else:
        loss = loss - picked
    return F.squeeze(loss, axis) if reduction == "none" else _reduced(loss, reduction)


def _against_probabilities(logits: Any, target: Any, axis: int, smoothing: float) -> Tensor:
    scores = F.log_softmax(logits, axis)
    loss = F.neg(F.sum(F.mul(target, scores), axis))
    return loss * (1 - smoothing) - F.mean(scores, axis) * smoothing if smoothing else loss


def binary_cross_entropy_with_logits(input: TensorLike, target: TensorLike, reduction: str = "mean") -> Tensor:
    """-(t log(s) + (1 - t) log(1 - s)) for s = sigmoid(input), reduced over all elements.

    Computed as max(x, 0) - x t + log1p(exp(-|x|)), in which nothing overflows; the gradient is s - t, the second s (1 - s).
    input: floating, any shape; target: floating, the same shape. Raises ShapeError, DTypeError, ArgumentError.
    """
    name = "binary_cross_entropy_with_logits"
    check_reduction(reduction)
    x, t = operand(input), operand(target)
    _floating(name, "input", x)
    _floating(name, "target", t)
    if not _fits(x.shape, t.shape):
        raise ShapeError(
            f"Target size ({shape_text(t.shape)}) must be the same as input size ({shape_text(x.shape)})",
            f"{name} does not broadcast: reshape the target",
        )
    return _reduced(apply(logistic_loss, x, t), reduction)


__all__ = [
    "adaptive_avg_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "conv_transpose2d",
    "cross_entropy",
    "dropout",
    "embedding",
    "erf",
    "exp",
    "flatten",
    "gelu",
    "group_norm",
    "l1_loss",
    "layer_norm",
    "linear",
    "log",
    "log_softmax",
    "logsumexp",
    "max_pool1d",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "relu",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]


# layers ---------------------------------------------------------------------------------------------------------------


def layer_norm(
    x: TensorLike, normalized_shape: ShapeLike, weight: TensorLike | None = None, bias: TensorLike | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """(x - mean) / sqrt(var + eps) * weight + bias over the last axes, whose extents are `normalized_shape`.

    weight, bias: of that shape, or None. The variance is the biased one. Raises ShapeError when the axes don't fit.
    Source: Ba, Kiros, Hinton, "Layer normalization", 2016; eps as in PyTorch.
    """
    x, extents = operand(x), as_shape(normalized_shape)
    weight = None if weight is None else operand(weight)
    bias = None if bias is None else operand(bias)
    n = len(extents)
    if not n or n > len(x.shape) or not _fits(x.shape[len(x.shape) - n :], extents):
        raise ShapeError(
            f"layer_norm: normalized_shape {shape_text(extents)} is not the end of the input's shape "
            f"{shape_text(x.shape)}"
        )
    for role, given in (("weight", weight), ("bias", bias)):
        if given is not None and not _fits(given.shape, extents):
            raise ShapeError(f"layer_norm: the {role} has shape {shape_text(given.shape)}, not {shape_text(extents)}")
    _floating("layer_norm", "input", x)
    check_eps("layer_norm", eps)
    axes = tuple(range(-n, 0))
    centered = x - F.mean(x, axes, keepdims=True)
    out = centered * F.rsqrt(F.mean(F.square(centered), axes, keepdims=True) + eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def gelu(x: TensorLike, approximate: str = "none") -> Tensor:
    """x Phi(x), with Phi the normal distribution function by erf, or by tanh with approximate="tanh".

    Any shape, floating. Raises ArgumentError for another `approximate`.
    Source: Hendrycks and Gimpel, "Gaussian error linear units", 2016.
    """
    x = operand(x)
    if approximate == "none":
        return x * 0.5 * (1 + F.erf(x * math.sqrt(0.5)))
    if approximate == "tanh":
        return x * 0.5 * (1 + F.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    raise ArgumentError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}")


def silu(x: TensorLike) -> Tensor:
    """x * sigmoid(x). Any shape, floating."""
    x = operand(x)
    return x * F.sigmoid(x)


def embedding(index: TensorLike, weight: TensorLike, padding_idx: int | None = None) -> Tensor:
    """Rows of `weight` (entries, features) by integer index of any shape: (*index.shape, features).

    padding_idx: the entry that gets no gradient, counted from the end if negative. Raises DTypeError for an index that is
    not integer, IndexRangeError for one outside [0, entries), ArgumentError for such a padding_idx.

    Examples:
        >>> F.embedding(sg.tensor([2, 0]), sg.tensor([[1.0], [2.0], [3.0]]))
        tensor([[3.],
                [1.]])
    """
    index, weight = operand(index), operand(weight)
    if len(weight.shape) != 2:
        raise ShapeError(f"embedding: the weight needs two axes, got {shape_text(weight.shape)}")
    rows = apply(gather_op, weight, bounded(index, weight, 0, negative=False), axis=0)
    if padding_idx is None:
        return rows
    padding = F.expand_dims(index == padding_entry(padding_idx, weight.shape[0]), len(index.shape))
    return F.where(padding, F.stop_gradient(rows), rows)


def padding_entry(padding_idx: Any, entries: int | None) -> int:
    """Which entry of a table is padding. Raises ArgumentError."""
    if isinstance(padding_idx, bool) or not isinstance(padding_idx, (int, np.integer)):
        raise ArgumentError(f"embedding: padding_idx has to be an integer or None, got {padding_idx!r}")
    if entries is None or not -entries <= padding_idx < entries:
        raise ArgumentError(f"embedding: padding_idx must be within the {entries} entries, got {padding_idx}")
    return int(padding_idx) % entries


def embedding_bag(
    index: TensorLike, weight: TensorLike, offsets: TensorLike | None = None, mode: str = "mean",
    per_sample_weights: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """The sum, mean or maximum of the rows of `weight` (entries, features) in each bag: (bags, features).

    index: integers (bags, n), or (n,) with `offsets` (bags,), where each bag begins, ascending from 0; an empty bag gives
    0. per_sample_weights: of the index's shape, for mode "sum", multiply the rows. Where the mean or sum of (bags, n) is
    compiled, the rows are added up as they are read. Raises DTypeError, IndexRangeError, ShapeError, and ArgumentError for
    another mode, or "max" with offsets. Source: PyTorch's function of this name.
    """
    index = operand(index)
    if mode not in ("sum", "mean", "max"):
        raise ArgumentError(f"embedding_bag: mode has to be one of sum, mean or max, got {mode!r}")
    if len(index.shape) != (2 if offsets is None else 1):
        raise ShapeError(
            f"embedding_bag: input has to be a 2D Tensor, or a 1D Tensor with offsets, got {shape_text(index.shape)}"
            + ("" if offsets is None else " with offsets")
        )
    if mode != "sum" and per_sample_weights is not None:
        raise ArgumentError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode={mode!r})"
        )
    rows = embedding(index, weight)
    if per_sample_weights is not None:
        rows = rows * F.expand_dims(operand(per_sample_weights), len(index.shape))
    if offsets is None:
        bags: Tensor = getattr(F, "amax" if mode == "max" else mode)(rows, 1)
        return bags
    if mode == "max":
        raise ArgumentError("embedding_bag: mode 'max' takes no offsets here", "make the bags rows of a 2D index")
    starts = F.expand_dims(operand(offsets), 0)
    inside = F.astype(F.expand_dims(F.index_along(index, 0), 1) >= starts, np.int64)
    bag = F.sum(inside, 1) - 1
    total = F.index_add(F.zeros_like(F.take(weight, F.zeros_like(operand(offsets)), 0)), 0, bag, rows)
    if mode == "sum":
        return total
    number = F.sum(F.eq(F.expand_dims(bag, 1), F.index_along(F.expand_dims(operand(offsets), 0), 1)), 0)
    return total / F.astype(F.expand_dims(F.maximum(number, 1), 1), total.dtype)
