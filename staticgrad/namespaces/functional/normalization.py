"""Normalization over batches, groups and axes, and dropout, as functions of tensors in every mode."""

from __future__ import annotations

import functools
import math
import numbers
import operator
from typing import Any, cast

import numpy as np

from ...base.types import FLOATING, ShapeLike, as_shape, finfo, is_number, shape_text, to_float
from ...eager import no_grad
from ...eager.calls.composites import composite
from ...errors import ArgumentError, DTypeError, ShapeError
from ...ir import REGISTRY
from ...ops.leaves import fits
from ...ops.operands import operand, size_text
from ...ops.operators import Array, F, Operators, Symbol, Tensor, TensorLike, apply, frontends, spelled, state
from ...ops.padding import pad
from ...ops.shaping import reshape_like
from .activations import in_place
from .checks import check_floating, fitting


def _floating(name: str, x: Any) -> None:
    if x.dtype.kind not in FLOATING:
        raise DTypeError(f"{name}: the input must be floating, got {x.dtype}", "cast it: x.astype(sg.float32)")


def check_eps(name: str, eps: Any) -> Any:
    """Raises ArgumentError unless the term added to a variance is a finite number >= 0; a tensor may be anything."""
    if not isinstance(eps, Operators) and not (isinstance(eps, numbers.Real) and 0 <= cast("float", eps) < math.inf):
        raise ArgumentError(f"{name}: eps has to be a finite number >= 0, got {eps!r}")
    return eps


def _per_channel(values: Tensor, axes: int) -> Tensor:
    """(c,) shaped to broadcast against (n, c, ...) of `axes` axes."""
    return values if axes == 2 else F.expand_dims(values, tuple(range(1, axes - 1)))


def _check_channels(role: str, given: Any, channels: Any) -> None:
    if given is None or fits((channels,), given.shape):
        return
    wanted = "?" if channels is None else channels
    held = "?" if None in given.shape else math.prod(given.shape)
    raise ShapeError(f"{role} should contain {wanted} elements not {held}", f"its shape is {size_text(given.shape)}")


def _in_a_graph(x: Any) -> bool:
    """Whether x belongs to a static graph, whose state is a session's."""
    return isinstance(x, Symbol) and state.tracer is None and x.graph is not None


def renew(tensor: Any, value: Any, x: Any) -> None:
    """Give a tensor that a module keeps a new value, where `x` is computed: now, when the compiled step ends, or, in a
    static graph, with the train step that needs x (`Optimizer.minimize`) or one of `sg.get_collection("update_ops")`."""
    if _in_a_graph(x):
        frontends.renew(x, tensor, value)
        return
    with no_grad():
        tensor.copy_(F.stop_gradient(value))


def kept(tensor: Any, x: Any) -> Tensor:
    """The value of a tensor that a module keeps, or of a plain array, where `x` is computed."""
    state_of_graph = _in_a_graph(x) and isinstance(tensor, frontends.tensor_class)
    return frontends.kept(x.graph, tensor) if state_of_graph else tensor


@spelled
def batch_norm(
    input: TensorLike, running_mean: Array | None = None, running_var: Array | None = None, weight: TensorLike | None = None,
    bias: TensorLike | None = None, training: bool = False, momentum: float | None = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel.

    x: (n, c, ...), floating; all others (c,). Training: mean and (biased) variance of the batch, and the running ones
    become (1 - momentum) * running + momentum * batch, with the unbiased variance; they are state in every mode. Else
    the running ones are used. Raises ShapeError and ArgumentError.
    Source: Ioffe and Szegedy, "Batch normalization", 2015.

    Examples:
        >>> F.batch_norm(sg.tensor([[1.0], [3.0]]), None, None, training=True)
        tensor([[-1.0000],
                [ 1.0000]])
    """
    if training and running_mean is None and running_var is None:
        return _by_batch_alone(input, weight, bias, momentum, eps)
    x, mean, var, weight, bias = _checked(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if training:
        out, batch_mean, batch_var = _by_batch(x, weight, bias, eps)
        _move_running(x, mean, var, momentum, batch_mean, batch_var)
        return out
    if mean is None or var is None:
        raise ArgumentError(f"{'running_mean' if mean is None else 'running_var'} must be defined in evaluation mode")
    return _standardized(x, kept(mean, x), kept(var, x), weight, bias, eps)


def _checked(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool, momentum: Any, eps: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """The tensors among the arguments of `batch_norm`. Raises its errors."""
    x = operand(input)
    _floating("batch_norm", x)
    check_eps("batch_norm", eps)
    if training and not isinstance(eps, Operators) and not eps > 0:
        raise ArgumentError(f"batch_norm eps must be positive during training, but got {eps}")
    n = len(x.shape)
    if n < 2:
        raise ShapeError(f"batch_norm: expected at least 2D input (got {n}D input)")
    channels = x.shape[1]
    weight = None if weight is None else operand(weight)
    bias = None if bias is None else operand(bias)
    given: Any
    for role, given in (("running_mean", running_mean), ("running_var", running_var)):
        if training and given is not None and not isinstance(given, Operators):
            raise ArgumentError(f"batch_norm: {role} changes in training: it has to be a tensor, got {type(given).__name__}")
        if training and _in_a_graph(given) and given.node.op.leaf != "variable":
            raise ArgumentError(
                f"batch_norm: {role} changes in training, and {given.describe()} can't be changed",
                "pass a Variable (trainable=False), or an eager tensor",
            )
    running_mean = None if running_mean is None else operand(running_mean)
    running_var = None if running_var is None else operand(running_var)
    for role, given in (
        ("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)
    ):  # fmt: skip
        _check_channels(role, given, channels)
    if training:
        if not is_number(momentum):
            raise ArgumentError(f"batch_norm: momentum has to be a number, got {momentum!r}")
        if all(x.shape[a] == 1 for a in _folded(x)):
            raise ArgumentError(f"Expected more than 1 value per channel when training, got input size {size_text(x.shape)}")
    return x, running_mean, running_var, weight, bias


@composite
def _standardized(x: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: Any) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias; all but x (c,)."""
    n = len(x.shape)
    scale = F.rsqrt(_per_channel(var, n) + eps)
    if weight is not None:
        scale = scale * _per_channel(weight, n)
    out: Tensor = (x - _per_channel(mean, n)) * scale
    return out if bias is None else out + _per_channel(bias, n)


@composite
def _by_batch(x: Any, weight: Any, bias: Any, eps: Any) -> tuple[Tensor, Tensor, Tensor]:
    """x normalized by mean and variance of the batch, and these, shaped to broadcast.

    The mean m is subtracted from each element as a constant c of the same value. The terms in m - c, which are 0, make
    derivatives of every order right: mean((x - m)**2) = mean((x - c)**2) - (m - c)**2, and (x - m) s = (x - c) s - (m - c) s.
    The cotangent of m thus follows from the sum of the output's, which is the gradient of the bias too: a backward pass reads
    the batch once for all sums, and once for the gradient of x.
    """
    axes, n = _folded(x), len(x.shape)
    mean = F.mean(x, axes, keepdims=True)
    center = F.stop_gradient(mean)
    moved = mean - center
    centered = x - center
    var = F.mean(F.square(centered), axes, keepdims=True) - F.square(moved)
    scale = F.rsqrt(var + eps)
    if weight is not None:
        scale = scale * _per_channel(weight, n)
    shift = -moved * scale if bias is None else _per_channel(bias, n) - moved * scale
    return centered * scale + shift, mean, var


@composite
def _by_batch_alone(input: Any, weight: Any, bias: Any, momentum: Any, eps: Any) -> Tensor:
    """`batch_norm` in training without running values. Its checks are part of it: calls of one plan pass them once."""
    x, _, _, weight, bias = _checked(input, None, None, weight, bias, True, momentum, eps)
    return _by_batch(x, weight, bias, eps)[0]


def _folded(x: Any) -> tuple[int, ...]:
    """All axes but that of the channels."""
    return tuple(a for a in range(len(x.shape)) if a != 1)


def _move_running(x: Any, running_mean: Any, running_var: Any, momentum: Any, mean: Any, var: Any) -> None:
    """The running mean and variance move towards those of a batch, unless it is empty."""
    if 0 in [x.shape[a] for a in _folded(x)] or (running_mean is None and running_var is None):
        return

    def move(running: Any, now: Any, unbiased: bool) -> None:
        with no_grad():
            moved = _moved(kept(running, x), now, x, momentum, unbiased)
        renew(running, moved, x)

    if running_mean is not None:
        move(running_mean, mean, False)
    if running_var is not None:
        move(running_var, var, True)


@composite
def _moved(running: Any, now: Any, x: Any, momentum: Any, unbiased: bool) -> Tensor:
    """A running value, moved towards that of the batch x; unbiased: towards `now` for one sample fewer."""
    axes = _folded(x)
    count = apply(REGISTRY["samples"], x, axis=axes, dtype=x.dtype)
    now = F.reshape(now, (-1,))
    if unbiased:
        now = now * (count / (count - 1))
    moved: Tensor = running + (now - running) * momentum
    return F.where(count > 0, moved, running) if None in [x.shape[a] for a in axes] else moved


@spelled
@composite
def group_norm(
    input: TensorLike, num_groups: int, weight: TensorLike | None = None, bias: TensorLike | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalize each sample over groups of channels and all further axes; then scale and shift each channel.

    x: (n, c, ...), floating; weight, bias: (c,) or None. Raises ShapeError, ArgumentError.
    Source: Wu and He, "Group normalization", 2018.

    Examples:
        >>> F.group_norm(sg.ones(2, 4, 3), 2).shape
        torch.Size([2, 4, 3])
    """
    x = operand(input)
    _floating("group_norm", x)
    check_eps("group_norm", eps)
    if isinstance(num_groups, bool) or not isinstance(num_groups, (int, np.integer)) or num_groups < 1:
        raise ArgumentError(f"Expected num groups to be greater than 0, got {num_groups}")
    if len(x.shape) < 2:
        raise ShapeError(f"Expected at least 2 dimensions for input tensor but received {len(x.shape)}")
    channels = x.shape[1]
    if channels is not None and channels % num_groups:
        raise ShapeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{size_text(x.shape)} and num_groups={num_groups}"
        )
    weight = None if weight is None else operand(weight)
    bias = None if bias is None else operand(bias)
    _check_channels("weight", weight, channels)
    _check_channels("bias", bias, channels)
    if None not in x.shape and channels and math.prod(x.shape[2:]) >= LONG:
        return _by_channels(x, int(num_groups), weight, bias, eps)
    rest = None if None in x.shape[1:] else math.prod(x.shape[1:]) // num_groups
    if x.shape[0] is None and rest is None:
        raise ShapeError(f"group_norm: too many extents are unknown in {size_text(x.shape)}", "give the batch's size")
    groups = F.reshape(x, tuple(-1 if d is None else d for d in (x.shape[0], int(num_groups), rest)))
    centered = groups - F.mean(groups, -1, keepdims=True)
    out = reshape_like(centered * F.rsqrt(F.mean(F.square(centered), -1, keepdims=True) + eps), x)
    out = out if weight is None else out * _per_channel(weight, len(x.shape))
    return out if bias is None else out + _per_channel(bias, len(x.shape))


LONG = 16
"""Elements of a channel from which groups are normalized channel by channel."""


def _by_channels(x: Any, groups: int, weight: Any, bias: Any, eps: float) -> Tensor:
    """`group_norm` by the mean and variance of each channel, from which those of its group follow: every large operation is
    then one along rows of one length, and what differs between the channels of a group is one number per row.

    The variance of a group is the mean of those of its parts, plus the variance of their means. Source: Chan, Golub, LeVeque,
    "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
    """
    n, channels = x.shape[:2]
    apart, each = (n, groups, channels // groups), (n, channels, 1)
    rows = F.reshape(x, (n, channels, math.prod(x.shape[2:])))
    mean = F.mean(rows, -1, keepdims=True)
    variance = F.mean(F.square(rows - mean), -1, keepdims=True)
    means = F.reshape(mean, apart)
    center = F.mean(means, -1, keepdims=True)
    spread = F.mean(F.reshape(variance, apart) + F.square(means - center), -1, keepdims=True)
    center, scale = (F.reshape(F.broadcast_to(v, apart), each) for v in (center, F.rsqrt(spread + eps)))
    out = (rows - center) * (scale if weight is None else scale * F.reshape(weight, (channels, 1)))
    return reshape_like(out if bias is None else out + F.reshape(bias, (channels, 1)), x)


@spelled
@composite
def rms_norm(
    input: TensorLike, normalized_shape: ShapeLike, weight: TensorLike | None = None, eps: float | None = None
) -> Tensor:
    """x / sqrt(mean(x * x) + eps) * weight over the last axes, whose extents are `normalized_shape`.

    eps: the dtype's epsilon when left out. Raises ShapeError when the axes don't fit.
    Source: Zhang and Sennrich, "Root mean square layer normalization", 2019.

    Examples:
        >>> F.rms_norm(sg.tensor([[3.0, 3.0]]), (2,))
        tensor([[1., 1.]])
    """
    x = operand(input)
    _floating("rms_norm", x)
    if eps is not None:
        check_eps("rms_norm", eps)
    extents = as_shape(normalized_shape)
    weight = None if weight is None else operand(weight)
    n = len(extents)
    end = x.shape[len(x.shape) - n :] if 0 < n <= len(x.shape) else ()
    if len(end) != n or not n or any(a is not None and a != b for a, b in zip(end, extents, strict=True)):
        raise ShapeError(
            f"Given normalized_shape={size_text(extents)}, expected input with shape [*{size_text(extents)[1:]}, but got "
            f"input of size{size_text(x.shape)}"
        )
    if weight is not None and not fits(tuple(weight.shape), extents):
        raise ShapeError(f"rms_norm: the weight has shape {tuple(weight.shape)}, not {extents}")
    eps = float(finfo(x.dtype).eps) if eps is None else eps
    out = x * F.rsqrt(F.mean(F.square(x), tuple(range(-n, 0)), keepdims=True) + eps)
    return out if weight is None else out * weight


# Normalization over axes, channels of each sample, and neighbouring channels; above is that over batches.


@spelled
@composite
def layer_norm(
    input: TensorLike, normalized_shape: ShapeLike, weight: TensorLike | None = None, bias: TensorLike | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """(x - mean) / sqrt(var + eps) * weight + bias over the last axes, whose extents are `normalized_shape`.

    weight, bias: of that shape, or None. The variance is the biased one. Raises ShapeError when the axes don't fit.
    Source: Ba, Kiros, Hinton, "Layer normalization", 2016; eps as in PyTorch.

    Examples:
        >>> F.layer_norm(sg.tensor([[1.0, 3.0]]), (2,))
        tensor([[-1.0000,  1.0000]])
    """
    x, extents = operand(input), as_shape(normalized_shape)
    weight = None if weight is None else operand(weight)
    bias = None if bias is None else operand(bias)
    n = len(extents)
    if not n or n > len(x.shape) or not fitting(x.shape[len(x.shape) - n :], extents):
        raise ShapeError(
            f"layer_norm: normalized_shape {shape_text(extents)} is not the end of the input's shape {shape_text(x.shape)}"
        )
    for role, given in (("weight", weight), ("bias", bias)):
        if given is not None and not fitting(given.shape, extents):
            raise ShapeError(f"layer_norm: the {role} has shape {shape_text(given.shape)}, not {shape_text(extents)}")
    check_floating("layer_norm", "input", x)
    check_eps("layer_norm", eps)
    axes = tuple(range(-n, 0))
    centered = x - F.mean(x, axes, keepdims=True)
    out = centered * F.rsqrt(F.mean(F.square(centered), axes, keepdims=True) + eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


@spelled
def instance_norm(
    input: TensorLike, running_mean: Array | None = None, running_var: Array | None = None,
    weight: TensorLike | None = None, bias: TensorLike | None = None, use_input_stats: bool = True, momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel of each sample, over the further axes.

    x: (n, c, ...), floating; all others (c,). With use_input_stats the running statistics, where given, move towards the
    mean over samples of the mean and of the unbiased variance; without it they are used. Raises ShapeError, ArgumentError.
    Source: Ulyanov, Vedaldi, Lempitsky, "Instance normalization", 2016.
    """
    x: Any = operand(input)
    check_floating("instance_norm", "input", x)
    check_eps("instance_norm", eps)
    if len(x.shape) < 3:
        raise ShapeError("instance_norm: expected (n, c, ...) with at least one further axis", f"got {size_text(x.shape)}")
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ArgumentError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    if all(d == 1 for d in x.shape[2:]):
        raise ArgumentError(f"Expected more than 1 spatial element when training, got input size {size_text(x.shape)}")
    weight, bias = (None if v is None else operand(v) for v in (weight, bias))
    result, mean, variance = _by_sample(x, weight, bias, eps)
    if running_mean is not None or running_var is not None:
        count = _count(x, tuple(range(2, len(x.shape))))
        for running, now in ((running_mean, mean), (running_var, variance * (count / (count - 1)))):
            if running is not None:
                old = kept(running, x)
                renew(running, old + (F.reshape(F.mean(now, 0), (-1,)) - old) * momentum, x)
    return result


@composite
def _by_sample(x: Any, weight: Any, bias: Any, eps: Any) -> tuple[Tensor, Tensor, Tensor]:
    """x normalized by mean and variance of each channel of each sample, and these, shaped to broadcast."""
    axes = tuple(range(2, len(x.shape)))
    mean = F.mean(x, axes, keepdims=True)
    centered = x - mean
    variance = F.mean(F.square(centered), axes, keepdims=True)
    out = centered * F.rsqrt(variance + eps)
    shape = (-1, *[1] * (len(x.shape) - 2))
    out = out if weight is None else out * F.reshape(weight, shape)
    return (out if bias is None else out + F.reshape(bias, shape)), mean, variance


def _count(x: Any, axes: tuple[int, ...]) -> Any:
    """The number of elements of a channel; a tensor where an extent is unknown."""
    total = 1
    for a in axes:
        if x.shape[a] is None:
            raise ShapeError("instance_norm: running statistics need known extents", "give the placeholder known extents")
        total *= x.shape[a]
    return total


@spelled
@composite
def local_response_norm(input: TensorLike, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha mean(x**2))**beta with the mean over `size` neighbouring channels (zeros beyond the ends).

    x: (n, c, ...) with at least one further axis. Raises ShapeError.
    Source: Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep convolutional neural networks", 2012.
    """
    x = operand(input)
    if len(x.shape) < 3:
        raise ShapeError(f"Expected 3D or higher dimensionality input (got {len(x.shape)} dimensions)")
    if 0 in x.shape:
        return x
    x = F.astype(x, to_float(x.dtype))
    check_floating("local_response_norm", "input", x)
    sides = (size // 2, (size - 1) // 2)
    window = pad(F.square(x), (*[0] * (2 * (len(x.shape) - 2)), *sides))
    channels = x.shape[1]
    parts = [F.getitem(window, (slice(None), slice(i, _end(channels, i, size)))) for i in range(size)]
    mean = functools.reduce(operator.add, parts) / size
    return x / F.pow(mean * alpha + k, beta)


def _end(channels: int | None, first: int, size: int) -> int | None:
    """Where a slice of as many elements as there are channels ends, in a window with size - 1 more."""
    if channels is not None:
        return first + channels
    return None if first == size - 1 else first - size + 1


# dropout --------------------------------------------------------------------------------------------------------------

ALPHA = -1.7580993408473766
"""What SELU tends to at minus infinity."""


def check_probability(p: float) -> float:
    """Raises ArgumentError unless 0 <= p <= 1."""
    if not is_number(p) or not 0.0 <= p <= 1.0:
        raise ArgumentError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p


@in_place
def dropout(input: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero each element with probability p and scale the rest by 1 / (1 - p); the input itself when not training.

    Any shape, floating. Raises ArgumentError unless 0 <= p <= 1.
    """
    return F.dropout(operand(input), p, training)


def _mask_shape(x: Any) -> Any:
    """One element per channel of (n, c, ...)."""
    return x[(..., *[slice(0, 1)] * (len(x.shape) - 2))] if len(x.shape) > 2 else x


def _channels(name: str, x: Any, axes: int, p: float, training: bool) -> Tensor:
    """Whole channels of (n, c, *axes) or (c, *axes) dropped."""
    n = len(x.shape)
    if n not in (axes + 1, axes + 2):
        raise ShapeError(f"{name}: expected {axes + 1}D or {axes + 2}D input, got {n}D", f"its shape is {size_text(x.shape)}")
    check_probability(p)
    if not training or p == 0:
        return x
    first = x[(..., *[slice(0, 1)] * axes)]
    return x * F.dropout(F.ones_like(first), p, True)


@in_place
def dropout1d(input: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero whole channels of (n, c, l) or (c, l), and scale the rest by 1 / (1 - p). Raises ShapeError, ArgumentError."""
    return _channels("dropout1d", operand(input), 1, p, training)


@in_place
def dropout2d(input: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero whole channels (axis 1) of (n, c, ...), and scale the rest by 1 / (1 - p).

    (c, h, w) is taken for (n, c, l), as in PyTorch. Raises ShapeError for one axis, ArgumentError.
    """
    x: Any = operand(input)
    check_probability(p)
    if not training or p == 0:
        return x
    if len(x.shape) < 2:
        raise ShapeError("Feature dropout requires at least 2 dimensions in the input", f"got {size_text(x.shape)}")
    return x * F.dropout(F.ones_like(_mask_shape(x)), p, True)


@in_place
def dropout3d(input: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero whole channels of (n, c, d, h, w) or (c, d, h, w), and scale the rest by 1 / (1 - p)."""
    x: Any = operand(input)
    axes = 3 if len(x.shape) in (4, 5) else max(len(x.shape) - 2, 1)
    return _channels("dropout3d", x, axes, p, training)


def _alpha_dropped(x: Any, like: Any, p: float, training: bool) -> Tensor:
    """Elements replaced by what SELU tends to, then scaled and shifted such that mean 0 and variance 1 are kept.

    Source: Klambauer et al., "Self-normalizing neural networks", NeurIPS 2017, section 2.
    """
    check_probability(p)
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    scale = 1 / math.sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    keep = F.rand_like(like) >= p
    kept = F.where(keep, x * scale, 0)
    return kept + F.where(keep, F.zeros_like(like), F.full_like(like, ALPHA * scale)) - ALPHA * scale * p


@in_place
def alpha_dropout(input: TensorLike, p: float = 0.5, training: bool = False) -> Tensor:
    """Replace elements by -1.758 with probability p, scaled and shifted such that mean 0 and variance 1 are kept."""
    x = operand(input)
    return _alpha_dropped(x, x, p, training)


@in_place
def feature_alpha_dropout(input: TensorLike, p: float = 0.5, training: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels (axis 1). Raises ShapeError for one axis."""
    x = operand(input)
    if training and p and len(x.shape) < 2:
        raise ShapeError("Feature dropout requires at least 2 dimensions in the input", f"got {size_text(x.shape)}")
    return _alpha_dropped(x, _mask_shape(x), p, training)


__all__ = [
    "alpha_dropout", "batch_norm", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout", "group_norm",
    "instance_norm", "layer_norm", "local_response_norm", "rms_norm",
]  # fmt: skip
