"""Losses of scores of classes: against class indices, probabilities and several labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.types import FLOATING, int64, is_number, shape_text
from ...eager.calls.composites import check_operands, composite
from ...errors import ArgumentError, DTypeError, ShapeError
from ...ops.control.scan import scan
from ...ops.elementwise import written
from ...ops.gathering import along_op, bounded
from ...ops.operands import dtype_of, operand
from ...ops.operators import F, Operators, Tensor, TensorLike, apply, autocasts, spelled
from ...ops.pointwise import saving_op
from ...ops.softmax import logistic_loss
from .checks import check_floating, check_reduction, fitting, legacy_reduction, reduced, value_of

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "linear_cross_entropy", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss",
]  # fmt: skip

# class indices --------------------------------------------------------------------------------------------------------


def _class_axis(name: str, scores: Any) -> int:
    if not scores.shape:
        raise ShapeError(f"{name}: scores need an axis of classes, got a 0-d tensor")
    return 0 if len(scores.shape) == 1 else 1


def _check_indices(name: str, scores: Any, target: Any, axis: int) -> None:
    samples = scores.shape[:axis] + scores.shape[axis + 1 :]
    if target.dtype.kind not in "iu":
        if len(target.shape) == len(scores.shape) and not fitting(scores.shape[:1], target.shape[:1]):
            raise _other_batch(name, scores, target)
        raise DTypeError(
            f"{name}: a target of class indices must be integers, got {target.dtype}",
            f"class probabilities need the shape of the scores, {shape_text(scores.shape)}",
        )
    if len(target.shape) != len(samples):
        text = "0D or 1D target tensor expected, multi-target not supported" if len(scores.shape) <= 2 else (
            f"expected target size {shape_text(samples)}, got {shape_text(target.shape)}"
        )  # fmt: skip
        raise ShapeError(text, f"{name}: scores {shape_text(scores.shape)}, target {shape_text(target.shape)}")
    if not fitting(samples, target.shape):
        if not fitting(samples[:1], target.shape[:1]):
            raise _other_batch(name, scores, target)
        text = f"expected target size {shape_text(samples)}, got {shape_text(target.shape)}"
        raise ShapeError(text, f"{name}: scores {shape_text(scores.shape)}, target {shape_text(target.shape)}")


def _other_batch(name: str, scores: Any, target: Any) -> ShapeError:
    return ShapeError(
        f"Expected input batch_size ({scores.shape[0]}) to match target batch_size ({target.shape[0]}).",
        f"{name}: scores {shape_text(scores.shape)}, target {shape_text(target.shape)}",
    )


def _picked(scores: Any, index: Any, axis: int) -> Tensor:
    """The score of each sample's class, with extent 1 along `axis`."""
    return apply(along_op, scores, F.expand_dims(index, axis), axis=axis)


def _class_weights(name: str, weight: TensorLike | None, scores: Any, axis: int) -> Any:
    """The weights of classes as an operand, or None. Raises ShapeError."""
    if weight is None:
        return None
    weight = operand(weight)
    if not fitting(weight.shape, scores.shape[axis : axis + 1]):
        raise ShapeError(
            "weight tensor should be defined either for all or no classes",
            f"{name}: {scores.shape[axis]} classes, weights {shape_text(weight.shape)}",
        )
    return F.astype(weight, scores.dtype)


class _Counted:
    """Class indices as positions, and how much each sample counts.

    valid: where the target is not `ignore_index`; None where eager values show that all are. factor: the weights of the
    samples' classes, 0 where ignored; None where each counts 1.
    """

    def __init__(self, name: str, scores: Any, target: Any, axis: int, weight: Any, ignore_index: int):
        _check_indices(name, scores, target, axis)
        self.valid: Any = None
        if not _none_equal(target, ignore_index):
            self.valid = F.ne(target, ignore_index)
            target = F.where(self.valid, target, F.zeros_like(target))
        self.index = bounded(target, scores, axis, negative=False, loss=name)
        self.factor: Any = None
        if weight is not None:
            self.factor = F.take(weight, self.index, 0)
            if self.valid is not None:
                self.factor = F.where(self.valid, self.factor, 0)
        elif self.valid is not None:
            self.factor = F.astype(self.valid, scores.dtype)

    def counted(self, loss: Any) -> Any:
        """Losses of samples with 0 for the ignored, whatever their scores."""
        return loss if self.valid is None else F.where(self.valid, loss, 0)

    def reduced(self, loss: Any, reduction: str) -> Tensor:
        """The reduced losses, which have their factors; the mean is over the sum of these."""
        if reduction != "mean" or self.factor is None:
            return reduced(loss, reduction)
        return F.sum(loss) / F.sum(self.factor)


def _none_equal(target: Any, value: int) -> bool:
    """Whether eager values show that no target has the value. False of a graph or while tracing: a run may have other ones."""
    if target.dtype.kind == "u" and value < 0:
        return True
    known = value_of(target)
    return known is not None and not np.count_nonzero(known == value)


def _check_ignored(name: str, ignore_index: Any) -> int:
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, (int, np.integer)):
        raise ArgumentError(f"{name}: ignore_index has to be an integer, got {ignore_index!r}")
    return int(ignore_index)


@spelled
@composite
def nll_loss(
    input: TensorLike, target: TensorLike, weight: TensorLike | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log-probability of each sample's class, times the class's weight.

    Shapes: (N, C), or (C,), or (N, C, d1, ...); target: integers of that shape without C; weight: (C,). Samples whose target
    is `ignore_index` count as 0; the mean is over the sum of the weights of all others. Raises ShapeError, DTypeError,
    IndexRangeError for another target outside [0, C), ArgumentError.

    Examples:
        >>> F.nll_loss(sg.log(sg.tensor([[0.25, 0.75]])), sg.tensor([1]))
        tensor(0.2877)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    scores, target = operand(input), operand(target)
    axis = _class_axis("nll_loss", scores)
    check_floating("nll_loss", "input", scores)
    weight = _class_weights("nll_loss", weight, scores, axis)
    check_operands(scores, target, weight)
    samples = _Counted("nll_loss", scores, target, axis, weight, _check_ignored("nll_loss", ignore_index))
    loss = F.neg(F.squeeze(apply(saving_op, _picked(scores, samples.index, axis)), axis))
    if weight is not None:
        loss = loss * samples.factor
    return samples.reduced(samples.counted(loss), reduction)


@spelled
@composite
def cross_entropy(
    input: TensorLike, target: TensorLike, weight: TensorLike | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """The cross entropy between softmax(input) and the target, reduced over samples.

    Shapes: input (N, C), or (C,), or (N, C, d1, ...), floating. target: class indices, integers of that shape without
    C; or class probabilities, floating, of the shape of the input. weight: (C,), factors of the classes. With
    `label_smoothing` e the target becomes (1 - e) * target + e / C. Samples whose class index is `ignore_index` count as 0;
    for class indices the mean is over the sum of the weights of all others.

    For indices: logsumexp(z) - z[y], whose gradient is exp(z - logsumexp(z)) - onehot(y), in which nothing overflows.
    Raises ShapeError, DTypeError, IndexRangeError ("Target 10 is out of bounds."; negative indices too), ArgumentError.
    Source of label smoothing: Szegedy et al., "Rethinking the Inception Architecture", 2016, section 7.

    Examples:
        >>> logits = sg.tensor([[2.0, 0.0], [0.0, 2.0]])
        >>> print(f"{F.cross_entropy(logits, sg.tensor([0, 1])).item():.4f}")
        0.1269
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not is_number(label_smoothing) or not 0.0 <= label_smoothing <= 1.0:
        raise ArgumentError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    logits, target = operand(input), operand(target)
    axis = _class_axis("cross_entropy", logits)
    check_floating("cross_entropy", "logits", logits)
    weight = _class_weights("cross_entropy", weight, logits, axis)
    if target.dtype.kind in FLOATING and fitting(logits.shape, target.shape):
        if ignore_index >= 0:
            raise ArgumentError("ignore_index is not supported for floating point target")
        return _against_probabilities(logits, target, axis, weight, label_smoothing, reduction)
    if target.dtype.kind in "iu" and len(target.shape) == len(logits.shape) and fitting(logits.shape, target.shape):
        raise DTypeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype}",
            f"class indices have the shape {shape_text(logits.shape[:axis] + logits.shape[axis + 1 :])}",
        )
    check_operands(logits, target, weight)
    samples = _Counted("cross_entropy", logits, target, axis, weight, _check_ignored("cross_entropy", ignore_index))
    picked = _picked(logits, samples.index, axis)
    total = F.logsumexp(logits, axis, keepdims=True)
    if weight is not None:
        loss = _smoothed_and_weighted(logits, total, picked, samples, axis, weight, label_smoothing)
    elif label_smoothing:
        loss = total - (picked * (1 - label_smoothing) + F.mean(logits, axis, keepdims=True) * label_smoothing)
    else:
        loss = total - picked
    if samples.factor is None:
        return F.squeeze(loss, axis) if reduction == "none" else reduced(loss, reduction)
    return samples.reduced(samples.counted(F.squeeze(loss, axis)), reduction)


def _smoothed_and_weighted(
    logits: Any, total: Any, picked: Any, samples: _Counted, axis: int, weight: Any, smoothing: float
) -> Any:
    own = (total - picked) * F.expand_dims(samples.factor, axis)
    if not smoothing:
        return own
    spread = (smoothing / _classes(logits, axis)) * F.sum((total - logits) * _along(weight, logits, axis), axis, keepdims=True)
    return own * (1 - smoothing) + spread


def _classes(scores: Any, axis: int) -> int:
    extent = scores.shape[axis]
    if extent is None:
        raise ShapeError("cross_entropy: the number of classes has to be known", "give the placeholder a known extent there")
    return int(extent)


def _along(weight: Any, scores: Any, axis: int) -> Any:
    """(C,) shaped to broadcast against scores with classes along `axis`."""
    return F.expand_dims(weight, tuple(range(1, len(scores.shape) - axis))) if len(scores.shape) - axis > 1 else weight


def _against_probabilities(logits: Any, target: Any, axis: int, weight: Any, smoothing: float, reduction: str) -> Tensor:
    """The mean is over samples, with weights too."""
    scores = F.log_softmax(logits, axis)
    if weight is not None:
        scores = scores * _along(weight, scores, axis)
    loss = F.neg(F.sum(F.mul(target, scores), axis))
    if smoothing:
        loss = loss * (1 - smoothing) - F.mean(scores, axis) * smoothing
    return reduced(loss, reduction)


@spelled
@composite
def linear_cross_entropy(
    input: TensorLike, linear_weight: TensorLike, target: TensorLike, *, linear_bias: TensorLike | None = None,
    weight: TensorLike | None = None, reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:  # fmt: skip
    """cross_entropy(input @ linear_weight.T + linear_bias, target, ...).

    Shapes: input (N, in) or (in,), linear_weight (C, in) or (C, d1, ..., in), linear_bias without `in`. options say how
    PyTorch cuts the product into parts, and are not used. Raises ShapeError, ArgumentError.
    """
    x, w = operand(input), operand(linear_weight)
    if len(x.shape) not in (1, 2):
        raise ShapeError(f"expected input with dimensionality 1 or 2, got {len(x.shape)}")
    if len(w.shape) < 2:
        raise ShapeError(f"expected linear_weight with dimensionality at least 2, got {len(w.shape)}")
    if not fitting(x.shape[-1:], w.shape[-1:]):
        raise ShapeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {x.shape[-1]} and {w.shape[-1]}, respectively"
        )
    if len(w.shape) > 2 and len(x.shape) < 2:
        raise ShapeError("a loss of several axes needs batched input", f"input {shape_text(x.shape)}")
    out = w.shape[:-1]
    logits = F.matmul(x, F.reshape(w, (-1, w.shape[-1])).T)
    if linear_bias is not None:
        logits = logits + F.reshape(operand(linear_bias), (-1,))
    if len(out) > 1:
        logits = F.reshape(logits, (-1, *out))
    if ignore_index is not None and dtype_of(target).kind in FLOATING:
        raise ArgumentError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(logits, target, weight, None, ignored, None, reduction, label_smoothing)


# probabilities of one class -------------------------------------------------------------------------------------------


def _targets(name: str, input: TensorLike, target: TensorLike) -> tuple[Tensor, Tensor]:
    x, t = operand(input), operand(target)
    check_floating(name, "input", x)
    check_floating(name, "target", t)
    if not fitting(x.shape, t.shape):
        raise ShapeError(
            f"Target size ({shape_text(t.shape)}) must be the same as input size ({shape_text(x.shape)})",
            f"{name} does not broadcast: reshape the target",
        )
    return x, t


@spelled
def binary_cross_entropy(
    input: TensorLike, target: TensorLike, weight: TensorLike | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """-(t log(p) + (1 - t) log(1 - p)) of probabilities p, whose logarithms are at least -100; reduced over all elements.

    input: floating, any shape; target: the same shape; weight: factors, broadcast. Raises ShapeError, DTypeError,
    ArgumentError, eagerly for probabilities outside [0, 1], too, where the loss is NaN in a graph or compiled code.
    `binary_cross_entropy_with_logits` takes what sigmoid would be applied to, and is exact there.

    Examples:
        >>> F.binary_cross_entropy(sg.tensor([0.9, 0.2]), sg.tensor([1.0, 0.0]))
        tensor(0.1643)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    loss = _binary_cross_entropy(input, target, weight, reduction)
    value = value_of(loss)
    if value is not None and np.isnan(value).any() and not _within_unit(value_of(operand(input))):
        raise ArgumentError("all elements of input should be between 0 and 1", "sigmoid makes probabilities of scores")
    return loss


def _within_unit(known: np.ndarray | None) -> bool:
    """Whether values are probabilities, as far as they are at hand."""
    return known is None or bool(np.all((known >= 0) & (known <= 1)))


@composite
def _binary_cross_entropy(input: TensorLike, target: TensorLike, weight: TensorLike | None, reduction: str) -> Tensor:
    x, t = _targets("binary_cross_entropy", input, target)
    loss = _cross_entropy(x, t)
    return reduced(loss if weight is None else loss * operand(weight), reduction)


LOWEST = 1e-12
"""The derivative by a probability p is divided by p (1 - p), or by this number where that is smaller, as in PyTorch."""


def _slope(g: Any, x: Any, t: Any) -> Any:
    width = x * (1 - x)
    return g * (x - t) / F.where(width < LOWEST, LOWEST, width)


_cross_entropy = written(
    "binary_cross_entropy",
    lambda x, t: (t - 1) * np.maximum(np.log1p(-x), -100) - t * np.maximum(np.log(x), -100),
    lambda x, t: (t - 1) * F.clip(F.log1p(-x), -100, None) - t * F.clip(F.log(x), -100, None),
    (_slope, lambda g, x, t: g * (F.log1p(-x) - F.log(x))),
    2,
)


@spelled
@composite
def binary_cross_entropy_with_logits(
    input: TensorLike, target: TensorLike, weight: TensorLike | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """-(t log(s) + (1 - t) log(1 - s)) for s = sigmoid(input), reduced over all elements.

    Computed as max(x, 0) - x t + log1p(exp(-|x|)), in which nothing overflows; the gradient is s - t, the second s (1 - s).
    input: floating, any shape; target: floating, the same shape. weight: factors of the elements; pos_weight: of the terms
    with t; both broadcast. Raises ShapeError, DTypeError, ArgumentError.

    Examples:
        >>> F.binary_cross_entropy_with_logits(sg.tensor([0.0]), sg.tensor([1.0]))
        tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    x, t = _targets("binary_cross_entropy_with_logits", input, target)
    if pos_weight is None:
        loss = apply(logistic_loss, x, t)
    else:
        check_operands(x, t, pos_weight)
        loss = (1 - t) * x + ((operand(pos_weight) - 1) * t + 1) * F.softplus(-x)
    return reduced(loss if weight is None else loss * operand(weight), reduction)


# margins and several labels -------------------------------------------------------------------------------------------


def _rows(name: str, scores: Tensor) -> tuple[Tensor, bool]:
    """Scores as (n, c), and whether the axis of samples was lacking. Raises ShapeError."""
    if len(scores.shape) not in (0, 1, 2):
        raise ShapeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape_text(scores.shape)}", name
        )
    if len(scores.shape) == 2:
        return scores, False
    return F.reshape(scores, (1, -1)), True


@spelled
@composite
def multi_margin_loss(
    input: TensorLike, target: TensorLike, p: int = 1, margin: float = 1.0, weight: TensorLike | None = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The sum over other classes i of max(0, margin - input[y] + input[i])**p, over the number of classes.

    Shapes: input (n, c) or (c,), target integers (n,) or (); weight (c,), the factor of sample's class. Raises ShapeError,
    DTypeError, IndexRangeError, ArgumentError unless p is 1 or 2.
    """
    name = "multi_margin_loss"
    reduction = legacy_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ArgumentError("only p == 1 and p == 2 supported", f"{name}: got p={p}")
    scores, target = operand(input), operand(target)
    check_floating(name, "input", scores)
    rows, single = _rows(name, scores)
    target = F.reshape(target, (-1,)) if len(target.shape) != 1 else target
    _check_indices(name, rows, target, 1)
    factors = _class_weights(name, weight, rows, 1)
    check_operands(rows, target, factors)
    index = bounded(target, rows, 1, negative=False, loss=name)
    over = F.relu(margin - _picked(rows, index, 1) + rows)
    over = over if p == 1 else F.square(over)
    if factors is not None:
        over = over * F.expand_dims(F.take(factors, index, 0), 1)
    other = F.ne(F.expand_dims(index, 1), F.index_along(rows, 1))
    loss = F.sum(F.where(other, over, 0), 1) / _classes(rows, 1)
    if reduction == "none" and single and len(operand(input).shape) < 2:
        return F.squeeze(loss, 0)
    return reduced(loss, reduction)


@spelled
@composite
def multilabel_margin_loss(
    input: TensorLike, target: TensorLike, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """The sum over labels y and all other classes i of max(0, 1 - (input[y] - input[i])), over the number of classes.

    Shapes: input (n, c) or (c,); target: integers of that shape, the labels of a sample first, then -1. Raises ShapeError,
    DTypeError.
    """
    name = "multilabel_margin_loss"
    reduction = legacy_reduction(size_average, reduce, reduction)
    scores, target = operand(input), operand(target)
    check_floating(name, "input", scores)
    if target.dtype.kind not in "iu":
        raise DTypeError(f"{name}: labels have to be integers, got {target.dtype}")
    if not fitting(scores.shape, target.shape):
        raise ShapeError(f"inconsistent target size: {shape_text(target.shape)} for input of size: {shape_text(scores.shape)}")
    rows, single = _rows(name, scores)
    labels = F.reshape(target, (1, -1)) if single else target
    given = F.cumsum(F.astype(labels < 0, np.int64), 1) < 1
    index = bounded(F.where(given, labels, F.zeros_like(labels)), rows, 1, negative=False, loss=name)
    hits = F.eq(F.expand_dims(index, 2), np.arange(_classes(rows, 1)))
    is_label = F.any(F.logical_and(hits, F.expand_dims(given, 2)), 1)
    picked = apply(along_op, rows, index, axis=1)
    over = F.relu(1 - F.expand_dims(picked, 2) + F.expand_dims(rows, 1))
    counted = F.logical_and(F.expand_dims(given, 2), F.expand_dims(F.logical_not(is_label), 1))
    loss = F.sum(F.sum(F.where(counted, over, 0), 2), 1) / _classes(rows, 1)
    if reduction == "none" and single:
        return F.squeeze(loss, 0)
    return reduced(loss, reduction)


@spelled
@composite
def multilabel_soft_margin_loss(
    input: TensorLike, target: TensorLike, weight: TensorLike | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The mean over classes of -(t log(s) + (1 - t) log(1 - s)) with s = sigmoid(input): (..., c) -> (...), then reduced.

    target: of the input's shape; weight: factors of classes, broadcast. Raises DTypeError, ArgumentError.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    x, t = operand(input), operand(target)
    check_floating("multilabel_soft_margin_loss", "input", x)
    loss = t * F.softplus(-x) + (1 - t) * F.softplus(x)
    loss = loss if weight is None else loss * operand(weight)
    return reduced(F.mean(loss, -1), reduction)


# connectionist temporal classification --------------------------------------------------------------------------------

# Connectionist temporal classification: the likelihood of a labelling, over all its alignments to a sequence.


NEVER = -1e30
"""The logarithm of a probability of 0, finite for the sake of gradients."""


@spelled
@autocasts
def ctc_loss(
    log_probs: TensorLike, targets: TensorLike, input_lengths: TensorLike | Sequence[int],
    target_lengths: TensorLike | Sequence[int], blank: int = 0, reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the log-likelihood of the targets, summed over all alignments with blanks between labels.

    Shapes: log_probs (t, n, c) or (t, c), logarithms of probabilities; targets (n, s) or (s,) or, of all samples one after
    another, (sum of lengths,); lengths (n,) or (). reduction: "mean" is over samples, of losses divided by the length of the
    target. zero_infinity: losses of targets that are too long for their input become 0. Gradients are the derivatives by
    log_probs; PyTorch's differ by exp(log_probs), which vanishes in log_softmax. Raises ShapeError, DTypeError, ArgumentError,
    IndexRangeError. Source: Graves et al., "Connectionist temporal classification", ICML 2006, section 4.1.
    """
    check_reduction(reduction)
    x: Any = operand(log_probs)
    check_floating("ctc_loss", "log_probs", x)
    labels = _whole("targets", targets)
    steps, sizes = _whole("input_lengths", input_lengths), _whole("target_lengths", target_lengths)
    single = len(x.shape) == 2
    if len(x.shape) not in (2, 3):
        raise ShapeError(f"ctc_loss: log_probs has to be (t, n, c) or (t, c), got {shape_text(x.shape)}")
    if single:
        x = F.expand_dims(x, 1)
        labels, steps, sizes = (F.reshape(v, (1, -1)) for v in (labels, steps, sizes))
        steps, sizes = F.reshape(steps, (-1,)), F.reshape(sizes, (-1,))
    if None in x.shape:
        raise ShapeError("ctc_loss: the extents of log_probs have to be known", f"got {shape_text(x.shape)}")
    t, n, c = x.shape
    if isinstance(blank, bool) or not isinstance(blank, (int, np.integer)) or not 0 <= blank < c:
        raise ArgumentError("blank must be in label range", f"ctc_loss: got {blank} for {c} labels")
    if tuple(steps.shape) != (n,) or tuple(sizes.shape) != (n,):
        raise ShapeError(f"ctc_loss: lengths have to be ({n},), got {shape_text(steps.shape)} and {shape_text(sizes.shape)}")
    _check_lengths(steps, t)
    loss = _losses(x, _padded(labels, sizes, n), steps, sizes, int(blank))
    impossible = loss > -NEVER / 2
    loss = F.where(impossible, 0.0 if zero_infinity else np.inf, loss)
    if reduction == "sum":
        return F.sum(loss)
    if reduction == "mean":
        return F.mean(loss / F.astype(F.maximum(sizes, 1), loss.dtype))
    return F.squeeze(loss, 0) if single else loss


def _whole(name: str, value: Any) -> Any:
    value = operand(value if isinstance(value, Operators) else np.asarray(value))
    if value.dtype.kind not in ("iuf" if name == "targets" else "iu"):
        raise DTypeError(f"ctc_loss: {name} must be integers, got {value.dtype}")
    return F.astype(value, int64)


def _check_lengths(steps: Any, t: int) -> None:
    """Lengths that are at hand have to be within the sequence."""
    known = getattr(steps, "_data", steps)
    if isinstance(known, np.ndarray) and ((known < 0) | (known > t)).any():
        raise ArgumentError(f"Expected input_lengths to have value at most {t}, but got value {known.max()}")


def _padded(labels: Any, sizes: Any, n: int) -> Any:
    """(n, s) of labels, from samples one after another, too."""
    if len(labels.shape) == 2:
        return labels
    if len(labels.shape) != 1:
        raise ShapeError(f"ctc_loss: targets have to be (n, s) or (sum of lengths,), got {shape_text(labels.shape)}")
    total = labels.shape[0]
    known = getattr(sizes, "_data", sizes)
    longest = int(known.max(initial=0)) if isinstance(known, np.ndarray) else total
    if not total:
        return np.zeros((n, 0), np.int64)
    begins = F.expand_dims(F.cumsum(sizes, 0) - sizes, 1)
    return F.take(labels, F.minimum(begins + np.arange(longest), total - 1), 0)


def _add(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)), of numbers that may be NEVER."""
    top = F.stop_gradient(F.maximum(a, b))
    return top + F.log(F.exp(a - top) + F.exp(b - top))


@composite
def _losses(x: Any, labels: Any, steps: Any, sizes: Any, blank: int) -> Any:
    """The forward recursion over time: alpha[s], the log-likelihood of all beginnings that end in state s; (n,)."""
    t, n, _ = x.shape
    count = labels.shape[1]
    states = 2 * count + 1
    is_label = np.arange(states) % 2 == 1
    sequence: Any
    if count:
        beyond = np.arange(count) >= F.expand_dims(sizes, 1)
        inner = F.take(F.where(beyond, blank, labels), np.arange(states).clip(0, 2 * count - 1) // 2, 1)
        sequence = F.where(np.broadcast_to(is_label, (n, states)).copy(), inner, blank)
    else:
        sequence = np.full((n, 1), blank)
    scores = F.take_along_axis(x, F.expand_dims(sequence, 0) + np.zeros((t, 1, 1), np.int64), 2)  # (t, n, states)
    scores = F.maximum(scores, NEVER)
    skips: Any = np.zeros((n, states), bool)
    if states > 2:
        other = F.ne(sequence[:, 2:], sequence[:, :-2])
        skips = F.concatenate([np.zeros((n, 2), bool), F.logical_and(other, is_label[2:])], 1)
    first = F.where(np.arange(states) < 2, scores[0], NEVER)
    nothing = np.full((n, 2), NEVER, x.dtype)

    def step(alpha: Any, inputs: Any) -> Any:
        now, number = inputs
        one = F.concatenate([nothing[:, :1], alpha[:, :-1]], 1)
        total = _add(alpha, one)
        if states > 2:
            two = F.concatenate([nothing, alpha[:, :-2]], 1)
            total = F.where(skips, _add(total, F.where(skips, two, NEVER)), total)
        total = F.maximum(total + now, NEVER)
        after = F.where(F.expand_dims(number < steps, 1), total, alpha)
        return after, after[:, :1]

    alpha: Any = first
    if t > 1:
        alpha, _ = scan(step, first, (scores[1:], np.arange(1, t)))
    ends = F.expand_dims(2 * sizes, 1)
    last = F.take_along_axis(alpha, ends, 1)
    before = F.take_along_axis(alpha, F.maximum(ends - 1, 0), 1)
    both = F.where(F.expand_dims(sizes > 0, 1), _add(last, before), last)
    return F.where(steps > 0, -F.squeeze(both, 1), F.where(sizes > 0, -NEVER, 0.0 * -F.squeeze(last, 1)))
