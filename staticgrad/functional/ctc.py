"""Connectionist temporal classification: the likelihood of a labelling, over all its alignments to a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.types import int64, shape_text
from ..eager.calls.composites import composite
from ..errors import ArgumentError, DTypeError, ShapeError
from ..operators import F, Operators, Tensor, TensorLike, autocasts, spelled
from ..ops.control.scan import scan
from ..ops.settings import operand
from .checks import check_floating, check_reduction

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
    if value.dtype.kind not in "iu":
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
