"""Activations. With `inplace` the input takes over the result, as with the functions whose names end in "_"."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.types import FLOATING, DTypeLike, normalize_axis
from ...eager.calls.composites import check_operands, composite
from ...eager.inplace import check_change, replace
from ...errors import ArgumentError, ShapeError
from ...ops.operands import operand
from ...ops.operators import NOBODY, ORDINARY, F, Symbol, Tensor, TensorLike, apply, spelled, state, taken, warn_former
from ...ops.pointwise import saving_op

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu",
    "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold", "threshold_",
]  # fmt: skip

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
"""Source: Klambauer et al., "Self-normalizing neural networks", NeurIPS 2017."""

Activation = Callable[..., Tensor]


def taken_over(name: str, x: Any, value: Any) -> Tensor:
    """x with the value of an activation of it. A symbol of a graph can't change: the value is a new one."""
    if isinstance(x, Symbol) and state.tracer is None:
        return value
    check_change(x)
    return replace(x, value, name)


KEEP_NO_INPUT = frozenset({"dropout", "dropout1d", "dropout2d", "dropout3d", "relu", "rrelu"})
"""Functions whose gradients don't read the input, which may change; the others in place are functions of a copy."""


def _before_change(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, with the input kept from the change to come where its gradient reads it."""
    if name in KEEP_NO_INPUT:
        return args, named
    if args:
        return (F.clone(args[0]), *args[1:]), named
    return args, {**named, "input": F.clone(named["input"])}


def in_place(function: Activation) -> Activation:
    """The function, which takes `inplace` after its other arguments."""
    name = function.__name__
    signature = inspect.signature(function)
    last = inspect.Parameter("inplace", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False, annotation="bool")
    parameters = [*signature.parameters.values(), last]
    place = len(parameters) - 1

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Tensor:
        if args and args[0].__class__ not in ORDINARY and (answer := taken(public[-1], args, named)) is not NOBODY:
            return answer
        if len(args) > place:
            change, args = args[place], args[:place]
        else:
            change = named.pop("inplace", False)
        if not change:
            return function(*args, **named)
        given, words = _before_change(name, args, named)
        return taken_over(name + "_", args[0] if args else named["input"], function(*given, **words))

    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    public: list[Activation] = []
    call.public = public  # type: ignore[attr-defined]  # see `spelled`
    return spelled(call)


def changing(function: Activation) -> Activation:
    """The function whose name ends in "_": its input takes over the result."""
    plain = inspect.unwrap(function)

    @functools.wraps(plain)
    def call(*args: Any, **named: Any) -> Tensor:
        given, words = _before_change(plain.__name__, args, named)
        return taken_over(call.__name__, args[0] if args else named["input"], function(*given, **words))

    call.__name__ = call.__qualname__ = plain.__name__ + "_"
    call.__doc__ = f"`{plain.__name__}` in place. Raises GradientError for a leaf that requires grad while recording."
    return call


@in_place
def relu(input: TensorLike) -> Tensor:
    """max(input, 0)."""
    return F.relu(input)


def _saved(x: Tensor) -> Tensor:
    """x, whose gradient is recorded as a function of x: x chooses the slope."""
    return apply(saving_op, x)


def _between(x: Tensor, low: float, high: float) -> Tensor:
    """x within [low, high]; the derivative at the ends is 0."""
    if x.dtype.kind in "iu":
        low, high = int(low), int(high)
    return F.where(x <= low, low, F.where(x >= high, high, _saved(x)))


@in_place
@composite
def relu6(input: TensorLike) -> Tensor:
    """min(max(input, 0), 6).

    Examples:
        >>> F.relu6(sg.tensor([-1.0, 3.0, 9.0]))
        tensor([0., 3., 6.])
    """
    return _between(operand(input), 0, 6)


@in_place
@composite
def hardtanh(input: TensorLike, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """The input within [min_val, max_val]. Raises ArgumentError for a range that is empty.

    Examples:
        >>> F.hardtanh(sg.tensor([-2.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """
    if min_val > max_val:
        raise ArgumentError("min_val cannot be greater than max_val", f"got {min_val} and {max_val}")
    return _between(operand(input), min_val, max_val)


@in_place
@composite
def hardsigmoid(input: TensorLike) -> Tensor:
    """input / 6 + 1/2, within [0, 1]."""
    return _between(operand(input) + 3.0, 0, 6) / 6


@in_place
@composite
def hardswish(input: TensorLike) -> Tensor:
    """input hardsigmoid(input). Source: Howard et al., "Searching for MobileNetV3", 2019."""
    x = operand(input)
    outside = F.abs(x) >= 3
    inside = F.where(outside, 0, x)
    return F.where(outside, x * F.astype(x > 0, x.dtype), inside * (inside + 3.0) / 6)


@in_place
@composite
def leaky_relu(input: TensorLike, negative_slope: float = 0.01) -> Tensor:
    """The input, times negative_slope below 0.

    Examples:
        >>> F.leaky_relu(sg.tensor([-1.0, 1.0]))
        tensor([-0.0100,  1.0000])
    """
    x = operand(input)
    return F.where(x > 0, _saved(x), x * negative_slope)


def _elu(x: Tensor, alpha: float, rate: float = 1) -> Tensor:
    """At 0 the slope is that from below, and the second derivative 0."""
    below = F.where(x > 0, 0, x)
    below = below if rate == 1 else below / rate
    return F.where(x > 0, x, alpha * F.where(F.eq(below, 0), below, F.expm1(below)))


@in_place
@composite
def elu(input: TensorLike, alpha: float = 1.0) -> Tensor:
    """The input, or alpha (exp(input) - 1) below 0.

    Examples:
        >>> F.elu(sg.tensor([-1.0, 1.0]))
        tensor([-0.6321,  1.0000])
    """
    return _elu(operand(input), alpha)


@in_place
@composite
def selu(input: TensorLike) -> Tensor:
    """1.0507 elu(input) with alpha = 1.6733. Source: Klambauer et al., "Self-normalizing neural networks", 2017."""
    return SELU_SCALE * _elu(operand(input), SELU_ALPHA)


@in_place
@composite
def celu(input: TensorLike, alpha: float = 1.0) -> Tensor:
    """The input, or alpha (exp(input / alpha) - 1) below 0. Raises ArgumentError for alpha = 0."""
    if alpha == 0:
        raise ArgumentError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(operand(input), alpha, alpha)


@in_place
@composite
def silu(input: TensorLike) -> Tensor:
    """input sigmoid(input).

    Examples:
        >>> F.silu(sg.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """
    x = operand(input)
    return x * F.sigmoid(x)


@in_place
@composite
def mish(input: TensorLike) -> Tensor:
    """input tanh(softplus(input)). Source: Misra, "Mish", 2019.

    Examples:
        >>> F.mish(sg.tensor([-1.0, 1.0]))
        tensor([-0.3034,  0.8651])
    """
    x = operand(input)
    return x * F.tanh(F.softplus(x))


@in_place
@composite
def threshold(input: TensorLike, threshold: float, value: float) -> Tensor:
    """The input above the threshold, else the value."""
    x = operand(input)
    return F.where(x <= threshold, value if x.dtype.kind in FLOATING else np.asarray(value).astype(x.dtype), _saved(x))


@in_place
def rrelu(input: TensorLike, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """The input, times a below 0, with a uniform in [lower, upper) in training and their middle otherwise.

    Raises ArgumentError for lower > upper. Source: Xu et al., "Empirical evaluation of rectified activations", 2015.
    """
    if lower > upper:
        raise ArgumentError("Lower bound should be less than or equal to the upper bound", f"got {lower} and {upper}")
    x = operand(input)
    slope = F.rand_like(x) * (upper - lower) + lower if training else (lower + upper) / 2
    return F.where(x > 0, _saved(x), x * slope)


relu_ = changing(relu)
hardtanh_ = changing(hardtanh)
leaky_relu_ = changing(leaky_relu)
elu_ = changing(elu)
selu_ = changing(selu)
celu_ = changing(celu)
threshold_ = changing(threshold)
rrelu_ = changing(rrelu)


@spelled
@composite
def gelu(input: TensorLike, approximate: str = "none") -> Tensor:
    """x Phi(x), with Phi the normal distribution function by erf, or by tanh with approximate="tanh".

    Any shape, floating. Raises ArgumentError for another `approximate`.
    Source: Hendrycks and Gimpel, "Gaussian error linear units", 2016.

    Examples:
        >>> F.gelu(sg.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.1587,  0.0000,  0.8413])
    """
    x = operand(input)
    if approximate == "none":
        return x * 0.5 * (1 + F.erf(x * math.sqrt(0.5)))
    if approximate == "tanh":
        return x * 0.5 * (1 + F.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    raise ArgumentError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}")


@spelled
@composite
def prelu(input: TensorLike, weight: TensorLike) -> Tensor:
    """The input, times the weight below 0: one number, or one per channel (axis 1). Raises ShapeError."""
    x, weight = operand(input), operand(weight)
    check_operands(x, weight)
    if len(weight.shape) > 1:
        raise ShapeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(weight.shape)}")
    if len(weight.shape) == 1:
        channels = x.shape[1] if len(x.shape) > 1 else 1
        if weight.shape[0] != 1:
            if channels is not None and weight.shape[0] is not None and channels != weight.shape[0]:
                raise ShapeError(
                    f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.shape[0]} and "
                    f"channel size = {channels}."
                )
            weight = F.reshape(weight, (-1, *[1] * (len(x.shape) - 2)))
        elif not x.shape:
            weight = F.reshape(weight, ())
    return F.where(x > 0, 1, weight) * (apply(saving_op, x) if x.dtype.kind in FLOATING else x)


@spelled
@composite
def softplus(input: TensorLike, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta input)) / beta; the input where beta input > threshold.

    Examples:
        >>> F.softplus(sg.tensor([-1.0, 0.0, 1.0]))
        tensor([0.3133, 0.6931, 1.3133])
    """
    x = operand(input)
    scaled = x if beta == 1 else x * beta
    value = F.softplus(F.where(scaled > threshold, threshold, scaled))
    return F.where(scaled > threshold, x, value if beta == 1 else value / beta)


@spelled
@composite
def logsigmoid(input: TensorLike) -> Tensor:
    """log(sigmoid(input)).

    Examples:
        >>> F.logsigmoid(sg.tensor([0.0, 2.0]))
        tensor([-0.6931, -0.1269])
    """
    return -F.softplus(-operand(input))


@spelled
@composite
def hardshrink(input: TensorLike, lambd: float = 0.5) -> Tensor:
    """The input, or 0 within [-lambd, lambd]."""
    x = operand(input)
    return F.where(F.abs(x) <= lambd, F.zeros_like(x), _saved(x))


@spelled
@composite
def softshrink(input: TensorLike, lambd: float = 0.5) -> Tensor:
    """The input moved towards 0 by lambd, or 0. Raises ArgumentError for a negative lambd."""
    if lambd < 0:
        raise ArgumentError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    x = operand(input)
    return F.where(x > lambd, _saved(x) - lambd, F.where(x < -lambd, x + lambd, x * 0))


@spelled
@composite
def tanhshrink(input: TensorLike) -> Tensor:
    """input - tanh(input)."""
    x = operand(input)
    return x - F.tanh(x)


@spelled
@composite
def softsign(input: TensorLike) -> Tensor:
    """input / (1 + |input|)."""
    x = operand(input)
    return x / (1 + F.abs(x))


@spelled
def sigmoid(input: TensorLike) -> Tensor:
    """1 / (1 + exp(-input))."""
    return F.sigmoid(input)


@spelled
def tanh(input: TensorLike) -> Tensor:
    """The hyperbolic tangent."""
    return F.tanh(input)


@spelled
@composite
def glu(input: TensorLike, dim: int = -1) -> Tensor:
    """a sigmoid(b) for the halves a, b of the input along `dim`. Raises ShapeError for an odd extent.

    Examples:
        >>> F.glu(sg.tensor([1.0, 2.0, 0.0, 0.0]), dim=0)
        tensor([0.5000, 1.0000])
    """
    x = operand(input)
    if not x.shape:
        raise ShapeError("glu does not support 0-dimensional tensors")
    axis = normalize_axis(dim, len(x.shape))
    extent = x.shape[axis]
    if extent is None:
        raise ShapeError("glu: the extent to be halved has to be known", "give the placeholder a known extent there")
    if extent % 2:
        raise ShapeError(f"Halving dimension must be even, but dimension {axis} is size {extent}")
    a, b = F.split(x, extent // 2, axis)
    return a * F.sigmoid(b)


# over an axis -----------------------------------------------------------------------------------------------------------


def _axis(name: str, dim: int | None, x: Any) -> int:
    """The axis that PyTorch takes, with a warning, where none is given."""
    if dim is not None:
        return dim
    warn_former(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        UserWarning,
    )
    return 0 if len(x.shape) in (0, 1, 3) else 1


@spelled
def softmax(input: TensorLike, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> Tensor:
    """exp(input) / sum(exp(input)) over `dim`; None: 0 for one or three axes, else 1. dtype: that of the result."""
    x = operand(input)
    return F.softmax(x, _axis("softmax", dim, x), dtype)


@spelled
def log_softmax(input: TensorLike, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> Tensor:
    """The logarithm of `softmax`, accurate where that underflows."""
    x = operand(input)
    return F.log_softmax(x, _axis("log_softmax", dim, x), dtype)


@spelled
@composite
def softmin(input: TensorLike, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> Tensor:
    """softmax(-input)."""
    x = operand(input)
    return F.softmax(-x, _axis("softmin", dim, x), dtype)


@spelled
def gumbel_softmax(logits: TensorLike, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of softmax((logits + g) / tau) with g from the Gumbel distribution; eps is not used.

    hard: the value is 1 at the largest element and 0 elsewhere, the gradient that of the soft sample.
    Source: Jang, Gu, Poole, "Categorical reparameterization with Gumbel-softmax", ICLR 2017.
    """
    x = operand(logits)
    tiny = 2.0**-126
    exponential = F.maximum(-F.log1p(-F.rand_like(x)), tiny)
    soft = F.softmax((x - F.log(exponential)) / tau, dim)
    if not hard:
        return soft
    best = F.expand_dims(F.argmax(soft, dim), normalize_axis(dim, len(x.shape)))
    return F.stop_gradient(F.astype(F.eq(F.index_along(x, dim), best), soft.dtype) - soft) + soft
