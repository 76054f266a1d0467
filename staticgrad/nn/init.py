"""Filling parameters with first values, in place, from the library's own generator (`sg.manual_seed` fixes them).

Each function returns its tensor. None of them is recorded.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from ..eager import Tensor, generator, no_grad
from ..eager.inplace import replace, tracer
from ..errors import ArgumentError, ShapeError
from ..ir import OpDef
from ..operators import Tensor as AnyTensor
from ..ops.random import Place, normal_op, uniform_op
from ..types import shape_text

GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0)}


def _refuse_tracing(name: str) -> None:
    if tracer() is not None:
        tracer().refuse(f"nn.init.{name} can't be traced", "make modules outside the compiled function")


def _drawn(tensor: AnyTensor, op: OpDef, name: str, scale: float, shift: float) -> AnyTensor:
    """scale * draw + shift. The next draw is taken here: inside a graph's context too, parameters have values now."""
    _refuse_tracing(name)
    with no_grad():
        values = Place(Tensor(generator.take()), None, 0).draw(op, shape=tensor.shape, dtype=tensor.dtype)
        return replace(cast("Tensor", tensor), values * scale + shift, name)


def uniform_(tensor: AnyTensor, a: float = 0.0, b: float = 1.0) -> AnyTensor:
    """Uniform in [a, b)."""
    return _drawn(tensor, uniform_op, "uniform_", b - a, a)


def normal_(tensor: AnyTensor, mean: float = 0.0, std: float = 1.0) -> AnyTensor:
    """Normal with this mean and standard deviation."""
    return _drawn(tensor, normal_op, "normal_", std, mean)


def constant_(tensor: AnyTensor, val: float) -> AnyTensor:
    """`val` everywhere."""
    _refuse_tracing("constant_")
    with no_grad():
        return replace(cast("Tensor", tensor), Tensor(np.full(tensor.shape, val, tensor.dtype)), "constant_")


def zeros_(tensor: AnyTensor) -> AnyTensor:
    """0 everywhere."""
    return constant_(tensor, 0.0)


def ones_(tensor: AnyTensor) -> AnyTensor:
    """1 everywhere."""
    return constant_(tensor, 1.0)


def calculate_gain(nonlinearity: str, param: float = 0.01) -> float:
    """The factor that keeps variances through a nonlinearity; `param` is leaky_relu's slope. Raises ArgumentError."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + param**2))
    if nonlinearity not in GAINS:
        raise ArgumentError(f"Unsupported nonlinearity {nonlinearity}", f"use one of leaky_relu, {', '.join(GAINS)}")
    return GAINS[nonlinearity]


def fans(tensor: AnyTensor) -> tuple[int, int]:
    """(fan in, fan out) of a weight (out, in, ...). Raises ShapeError for fewer than two axes."""
    if len(tensor.shape) < 2:
        raise ShapeError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
            f"got {shape_text(tensor.shape)}",
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _spread(gain: float, fan: float) -> float:
    return gain / math.sqrt(fan) if fan > 0 else 0.0


def xavier_uniform_(tensor: AnyTensor, gain: float = 1.0) -> AnyTensor:
    """U(-a, a) with a = gain sqrt(6 / (fan_in + fan_out)). Source: Glorot and Bengio, AISTATS 2010, equation 16."""
    bound = math.sqrt(6.0) * _spread(gain, sum(fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: AnyTensor, gain: float = 1.0) -> AnyTensor:
    """N(0, s^2) with s = gain sqrt(2 / (fan_in + fan_out)). Source: Glorot and Bengio, AISTATS 2010."""
    return normal_(tensor, 0.0, math.sqrt(2.0) * _spread(gain, sum(fans(tensor))))


def _fan(tensor: AnyTensor, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return fans(tensor)[mode == "fan_out"]


def kaiming_uniform_(tensor: AnyTensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> AnyTensor:
    """U(-b, b) with b = gain sqrt(3 / fan); `a` is leaky_relu's slope. Source: He et al., ICCV 2015, equation 14."""
    bound = math.sqrt(3.0) * _spread(calculate_gain(nonlinearity, a), _fan(tensor, mode))
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: AnyTensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> AnyTensor:
    """N(0, s^2) with s = gain / sqrt(fan). Source: He et al., ICCV 2015, equation 14."""
    return normal_(tensor, 0.0, _spread(calculate_gain(nonlinearity, a), _fan(tensor, mode)))


__all__ = [
    "calculate_gain",
    "constant_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]
