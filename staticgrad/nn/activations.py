"""Activations: each a record of its function and settings, from which the module is made."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import functional
from ..eager import Tensor, rand
from ..errors import ArgumentError
from ..operators import F
from ..operators import Tensor as AnyTensor
from .layers import made_kind
from .module import Module
from .parameter import Parameter

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
"""Source: Klambauer et al., "Self-normalizing neural networks", NeurIPS 2017."""


class _Activation(Module):
    """An elementwise function with settings."""

    settings: inspect.Signature
    function: Callable[..., Any]

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()
        try:
            bound = self.settings.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        bound.apply_defaults()
        self.names = tuple(bound.arguments)
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    def forward(self, x: Any) -> Any:
        own = vars(self)
        return type(self).function(x, *(own[name] for name in self.names if name != "inplace"))

    def extra_repr(self) -> str:
        own = vars(self)
        shown = [f"{name}={own[name]!r}" if name != "lambd" else repr(own[name]) for name in self.names if name != "inplace"]
        return ", ".join([*shown, *(["inplace=True"] if own.get("inplace") else [])])


def _made(name: str, function: Callable[..., Any], doc: str, *required: str, **defaults: Any) -> type[_Activation]:
    """The module of an activation. `inplace` is accepted and gives the same values in memory of their own."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(n, kind) for n in required]
    parameters += [inspect.Parameter(n, kind, default=value) for n, value in defaults.items()]
    signature = inspect.Signature(parameters)
    members = {
        "__doc__": doc, "__module__": __name__, "settings": signature, "function": staticmethod(function),
        "__signature__": signature,
    }  # fmt: skip
    return type(name, (_Activation,), members)


def _leaky(x: Any, slope: Any) -> Any:
    return F.where(x > 0, x, x * slope)


def _elu(x: Any, alpha: Any) -> Any:
    return F.where(x > 0, x, alpha * F.expm1(F.minimum(x, 0)))


def _celu(x: Any, alpha: Any) -> Any:
    return F.where(x > 0, x, alpha * F.expm1(F.minimum(x, 0) / alpha))


def _softplus(x: Any, beta: Any, threshold: Any) -> Any:
    scaled = x * beta
    return F.where(scaled > threshold, x, F.softplus(F.minimum(scaled, threshold)) / beta)


def _softshrink(x: Any, lambd: Any) -> Any:
    return F.where(x > lambd, x - lambd, F.where(x < -lambd, x + lambd, 0 * x))


def _hardshrink(x: Any, lambd: Any) -> Any:
    return F.where(F.abs(x) > lambd, x, 0 * x)


def _glu(x: Any, dim: Any) -> Any:
    a, b = F.chunk(x, 2, dim)
    return a * F.sigmoid(b)


def _axis(dim: int | None, x: Any) -> int:
    """PyTorch's axis where none is given."""
    return (0 if len(x.shape) in (0, 1, 3) else 1) if dim is None else dim


def _softmax(x: Any, dim: Any) -> Any:
    return functional.softmax(x, _axis(dim, x))


def _log_softmax(x: Any, dim: Any) -> Any:
    return functional.log_softmax(x, _axis(dim, x))


def _softmin(x: Any, dim: Any) -> Any:
    return functional.softmax(-x, _axis(dim, x))


ReLU = _made("ReLU", functional.relu, "max(x, 0).", inplace=False)
ReLU6 = _made("ReLU6", lambda x: F.clip(x, 0, 6), "min(max(x, 0), 6).", inplace=False)
LeakyReLU = _made("LeakyReLU", _leaky, "x, or negative_slope x below 0.", negative_slope=0.01, inplace=False)
ELU = _made("ELU", _elu, "x, or alpha (exp(x) - 1) below 0.", alpha=1.0, inplace=False)
SELU = _made("SELU", lambda x: SELU_SCALE * _elu(x, SELU_ALPHA), "1.0507 ELU(x) with alpha = 1.6733.", inplace=False)
CELU = _made("CELU", _celu, "x, or alpha (exp(x / alpha) - 1) below 0.", alpha=1.0, inplace=False)
GELU = _made("GELU", functional.gelu, "`functional.gelu`.", approximate="none")
SiLU = _made("SiLU", functional.silu, "x * sigmoid(x).", inplace=False)
Mish = _made("Mish", lambda x: x * F.tanh(F.softplus(x)), "x tanh(softplus(x)).", inplace=False)
Sigmoid = _made("Sigmoid", functional.sigmoid, "1 / (1 + exp(-x)).")
Tanh = _made("Tanh", functional.tanh, "Hyperbolic tangent.")
Softsign = _made("Softsign", lambda x: x / (1 + F.abs(x)), "x / (1 + |x|).")
Tanhshrink = _made("Tanhshrink", lambda x: x - F.tanh(x), "x - tanh(x).")
LogSigmoid = _made("LogSigmoid", lambda x: -F.softplus(-x), "log(sigmoid(x)).")
Hardsigmoid = _made("Hardsigmoid", lambda x: F.clip(x / 6 + 0.5, 0, 1), "x / 6 + 1/2, within [0, 1].", inplace=False)
Hardswish = _made("Hardswish", lambda x: x * F.clip(x / 6 + 0.5, 0, 1), "x hardsigmoid(x).", inplace=False)
Hardshrink = _made("Hardshrink", _hardshrink, "x, or 0 within [-lambd, lambd].", lambd=0.5)
Softshrink = _made("Softshrink", _softshrink, "x moved towards 0 by lambd, or 0.", lambd=0.5)
Softplus = _made("Softplus", _softplus, "log(1 + exp(beta x)) / beta; x where beta x > threshold.", beta=1.0, threshold=20.0)
Threshold = _made(
    "Threshold", lambda x, t, v: F.where(x > t, x, F.astype(v, x.dtype)), "x above the threshold, else the value.",
    "threshold", "value", inplace=False,
)  # fmt: skip
GLU = _made("GLU", _glu, "a sigmoid(b) for the halves a, b of x along dim.", dim=-1)
Softmax = _made("Softmax", _softmax, "exp(x) / sum(exp(x)) over the axis dim; None as in PyTorch: 0 or 1.", dim=None)
LogSoftmax = _made("LogSoftmax", _log_softmax, "The logarithm of Softmax.", dim=None)
Softmin = _made("Softmin", _softmin, "Softmax of -x.", dim=None)
Softmax2d = _made("Softmax2d", lambda x: functional.softmax(x, -3), "Softmax over the channels of (n, c, h, w).")


class Hardtanh(Module):
    """x within [min_val, max_val]. Raises ArgumentError unless min_val < max_val."""

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None,
        max_value: float | None = None,
    ):  # fmt: skip
        super().__init__()
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = bool(inplace)
        if not self.max_val > self.min_val:
            raise ArgumentError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, x: Any) -> AnyTensor:
        return F.clip(x, self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """x, or a x below 0 with a uniform in [lower, upper) while training, and their middle otherwise."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, bool(inplace)

    def forward(self, x: Any) -> AnyTensor:
        if not self.training:
            result: AnyTensor = _leaky(x, (self.lower + self.upper) / 2)
            return result
        result = _leaky(x, self.lower + (self.upper - self.lower) * rand(*x.shape, dtype=x.dtype))
        return result

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """x, or weight x below 0: one weight, or one per channel (axis 1)."""

    weight: Tensor

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(np.full(num_parameters, init, made_kind(device, dtype)))

    def forward(self, x: Any) -> AnyTensor:
        weight: Any = self.weight
        if self.num_parameters > 1:
            weight = F.reshape(weight, (-1, *[1] * (len(x.shape) - 2)))
        return F.where(x > 0, x, weight * x)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
