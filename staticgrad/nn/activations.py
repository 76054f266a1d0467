"""Activations: each a record of its function and settings, from which the module is made."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import functional
from ..eager import Tensor
from ..errors import ArgumentError, ShapeError
from ..operators import Tensor as AnyTensor
from ..operators import with_example
from .layers import made_kind
from .module import Module
from .parameter import Parameter


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

    def forward(self, input: Any) -> Any:
        own = vars(self)
        return type(self).function(input, *(own[name] for name in self.names))

    def extra_repr(self) -> str:
        own = vars(self)
        shown = [f"{name}={own[name]!r}" if name != "lambd" else repr(own[name]) for name in self.names if name != "inplace"]
        return ", ".join([*shown, *(["inplace=True"] if own.get("inplace") else [])])


def _made(name: str, function: Callable[..., Any], doc: str, *required: str, **defaults: Any) -> type[_Activation]:
    """The module of an activation. With `inplace` its input takes over the result."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(n, kind) for n in required]
    parameters += [inspect.Parameter(n, kind, default=value) for n, value in defaults.items()]
    signature = inspect.Signature(parameters)
    members = {
        "__doc__": doc, "__module__": __name__, "settings": signature, "function": staticmethod(function),
        "__signature__": signature,
    }  # fmt: skip
    return type(name, (_Activation,), members)


ReLU = _made(
    "ReLU", functional.relu, with_example("max(x, 0).", "nn.ReLU()(sg.tensor([-1.0, 2.0])) -> tensor([0., 2.])"), inplace=False
)
LeakyReLU = _made(
    "LeakyReLU",
    functional.leaky_relu,
    with_example("`functional.leaky_relu`.", "nn.LeakyReLU()(sg.tensor([-1.0, 1.0])) -> tensor([-0.0100,  1.0000])"),
    negative_slope=0.01,
    inplace=False,
)
ELU = _made("ELU", functional.elu, "`functional.elu`.", alpha=1.0, inplace=False)
SELU = _made("SELU", functional.selu, "`functional.selu`.", inplace=False)
CELU = _made("CELU", functional.celu, "`functional.celu`.", alpha=1.0, inplace=False)
GELU = _made(
    "GELU",
    functional.gelu,
    with_example("`functional.gelu`.", "nn.GELU()(sg.tensor([-1.0, 1.0])) -> tensor([-0.1587,  0.8413])"),
    approximate="none",
)
SiLU = _made(
    "SiLU",
    functional.silu,
    with_example("x * sigmoid(x).", "nn.SiLU()(sg.tensor([-1.0, 1.0])) -> tensor([-0.2689,  0.7311])"),
    inplace=False,
)
Mish = _made("Mish", functional.mish, "x tanh(softplus(x)).", inplace=False)
Sigmoid = _made(
    "Sigmoid",
    functional.sigmoid,
    with_example("1 / (1 + exp(-x)).", "nn.Sigmoid()(sg.tensor([0.0, 2.0])) -> tensor([0.5000, 0.8808])"),
)
Tanh = _made(
    "Tanh", functional.tanh, with_example("Hyperbolic tangent.", "nn.Tanh()(sg.tensor([0.0, 1.0])) -> tensor([0.0000, 0.7616])")
)
Softsign = _made("Softsign", functional.softsign, "x / (1 + |x|).")
Tanhshrink = _made("Tanhshrink", functional.tanhshrink, "x - tanh(x).")
LogSigmoid = _made("LogSigmoid", functional.logsigmoid, "log(sigmoid(x)).")
Hardsigmoid = _made("Hardsigmoid", functional.hardsigmoid, "x / 6 + 1/2, within [0, 1].", inplace=False)
Hardswish = _made("Hardswish", functional.hardswish, "x hardsigmoid(x).", inplace=False)
Hardshrink = _made("Hardshrink", functional.hardshrink, "x, or 0 within [-lambd, lambd].", lambd=0.5)
Softshrink = _made("Softshrink", functional.softshrink, "x moved towards 0 by lambd, or 0.", lambd=0.5)
Softplus = _made("Softplus", functional.softplus, "`functional.softplus`.", beta=1.0, threshold=20.0)
Threshold = _made(
    "Threshold", functional.threshold, "x above the threshold, else the value.", "threshold", "value", inplace=False
)
GLU = _made("GLU", functional.glu, "a sigmoid(b) for the halves a, b of x along dim.", dim=-1)
Softmax = _made(
    "Softmax",
    functional.softmax,
    with_example(
        "exp(x) / sum(exp(x)) over the axis dim; None as in PyTorch: 0 or 1.",
        "nn.Softmax(dim=-1)(sg.zeros(1, 2)) -> tensor([[0.5000, 0.5000]])",
    ),
    dim=None,
)
LogSoftmax = _made("LogSoftmax", functional.log_softmax, "The logarithm of Softmax.", dim=None)
Softmin = _made("Softmin", functional.softmin, "Softmax of -x.", dim=None)


class Softmax2d(Module):
    """Softmax over the channels of (n, c, h, w) or (c, h, w). Raises ShapeError."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def forward(self, input: Any) -> AnyTensor:
        if len(input.shape) not in (3, 4):
            raise ShapeError(f"Softmax2d: expected input to be 3D or 4D, got {len(input.shape)}D instead")
        return functional.softmax(input, -3)


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

    def forward(self, input: Any) -> AnyTensor:
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """min(max(x, 0), 6)."""

    def __init__(self, inplace: bool = False):
        super().__init__(0.0, 6.0, inplace)

    def forward(self, input: Any) -> AnyTensor:
        return functional.relu6(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class RReLU(Module):
    """x, or a x below 0 with a uniform in [lower, upper) while training, and their middle otherwise."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, bool(inplace)

    def forward(self, input: Any) -> AnyTensor:
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """x, or weight x below 0: one weight, or one per channel (axis 1)."""

    weight: Tensor

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(np.full(num_parameters, init, made_kind(device, dtype)))

    def forward(self, input: Any) -> AnyTensor:
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
