"""Filling parameters with first values, in place, from the library's own generator (`sg.manual_seed` fixes them).

Each function returns its tensor. None of them is recorded.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from ..base.types import shape_text
from ..eager import Tensor, generator, no_grad
from ..eager.inplace import replace, tracer
from ..errors import ArgumentError, ShapeError
from ..ir import OpDef
from ..namespaces.lookup.modules import refusing
from ..ops.operators import MetaTensor
from ..ops.operators import Tensor as AnyTensor
from ..ops.random import DrawPosition, normal_op, uniform_op

GAINS = {
    **dict.fromkeys(
        ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"), 1.0
    ),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def _fillable(tensor: Any, name: str) -> bool:
    """Whether a tensor has memory to fill, which one on device meta hasn't. Raises TraceError in a trace."""
    if isinstance(tensor, MetaTensor):
        return False
    if tracer() is not None:
        tracer().refuse(f"nn.init.{name} can't be traced", "make modules outside the compiled function")
    return True


def _draw(op: OpDef, shape: Any, dtype: Any, source: Any) -> Any:
    """The next numbers of `source`, the library's generator for None. They are drawn now, inside a graph's context too."""
    return DrawPosition(Tensor((generator if source is None else source).take()), None, 0).draw(op, shape=shape, dtype=dtype)


def _drawn(tensor: AnyTensor, op: OpDef, name: str, scale: float, shift: float, source: Any) -> AnyTensor:
    """scale * draw + shift."""
    if not _fillable(tensor, name):
        return tensor
    with no_grad():
        draw = _draw(op, tensor.shape, tensor.dtype, source)
        if isinstance(draw, Tensor):  # a new array: large parameters need no further ones
            draw._data *= draw.dtype.type(scale)
            draw._data += draw.dtype.type(shift)
        else:
            draw = draw * scale + shift
        return replace(cast("Tensor", tensor), draw, name)


def _filled(tensor: AnyTensor, values: np.ndarray, name: str) -> AnyTensor:
    if not _fillable(tensor, name):
        return tensor
    with no_grad():
        array = np.array(np.broadcast_to(values, tensor.shape), tensor.dtype, order="C")
        return replace(cast("Tensor", tensor), Tensor(array), name)


def uniform_(tensor: AnyTensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> AnyTensor:
    """Uniform in [a, b). generator: the source of the numbers, the library's unless given."""
    return _drawn(tensor, uniform_op, "uniform_", b - a, a, generator)


def normal_(tensor: AnyTensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> AnyTensor:
    """Normal with this mean and standard deviation."""
    return _drawn(tensor, normal_op, "normal_", std, mean, generator)


def trunc_normal_(
    tensor: AnyTensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> AnyTensor:
    """Normal with this mean and standard deviation, conditional on values in [a, b]: the inverse of the distribution
    function of uniform numbers."""
    from scipy.special import ndtr, ndtri

    if not _fillable(tensor, "trunc_normal_"):
        return tensor
    low, high = ndtr((a - mean) / std), ndtr((b - mean) / std)
    u = _draw(uniform_op, tensor.shape, np.dtype(np.float64), generator)._data
    return _filled(tensor, np.clip(mean + std * ndtri(low + u * (high - low)), a, b), "trunc_normal_")


def orthogonal_(tensor: AnyTensor, gain: float = 1.0, generator: Any = None) -> AnyTensor:
    """`gain` times a matrix (out, everything else) with orthonormal rows or columns, uniform among them.

    Raises ShapeError for fewer than two axes. Source: Saxe et al., "Exact solutions to the nonlinear dynamics of learning in
    deep linear neural networks", 2013; the signs as in Mezzadri, "How to generate random matrices", 2007.
    """
    if len(tensor.shape) < 2:
        raise ShapeError("Only tensors with 2 or more dimensions are supported", f"got {shape_text(tensor.shape)}")
    if not _fillable(tensor, "orthogonal_") or not math.prod(tensor.shape):
        return tensor
    rows = tensor.shape[0]
    columns = math.prod(tensor.shape) // rows
    draws = _draw(normal_op, (rows, columns), np.dtype(np.float64), generator)._data
    q, r = np.linalg.qr(draws.T if rows < columns else draws)
    q = q * np.sign(np.diag(r))
    return _filled(tensor, gain * (q.T if rows < columns else q).reshape(tensor.shape), "orthogonal_")


def sparse_(tensor: AnyTensor, sparsity: float, std: float = 0.01, generator: Any = None) -> AnyTensor:
    """Normal of mean 0, with the share `sparsity` of each column, at random places, set to 0. Raises ShapeError unless it
    is a matrix. Source: Martens, "Deep learning via Hessian-free optimization", 2010."""
    if len(tensor.shape) != 2:
        raise ShapeError("Only tensors with 2 dimensions are supported", f"got {shape_text(tensor.shape)}")
    if not _fillable(tensor, "sparse_"):
        return tensor
    rows = tensor.shape[0]
    values = std * _draw(normal_op, tensor.shape, np.dtype(np.float64), generator)._data
    places = np.argsort(_draw(uniform_op, tensor.shape, np.dtype(np.float64), generator)._data, 0)
    np.put_along_axis(values, places[: math.ceil(sparsity * rows)], 0.0, 0)
    return _filled(tensor, values, "sparse_")


def eye_(tensor: AnyTensor) -> AnyTensor:
    """Ones on the diagonal of a matrix. Raises ShapeError for other shapes."""
    if len(tensor.shape) != 2:
        raise ShapeError("Only tensors with 2 dimensions are supported", f"got {shape_text(tensor.shape)}")
    return _filled(tensor, np.eye(*tensor.shape), "eye_")


def dirac_(tensor: AnyTensor, groups: int = 1) -> AnyTensor:
    """A convolution's weight that keeps its input: 1 in the middle of the window from channel i of a group to channel i.

    Raises ShapeError for other than 3 to 5 axes, ArgumentError for groups that do not divide the output channels.
    """
    shape = tensor.shape
    if len(shape) not in (3, 4, 5):
        raise ShapeError("Only tensors with 3, 4, or 5 dimensions are supported", f"got {shape_text(shape)}")
    if shape[0] % groups:
        raise ArgumentError("dim 0 must be divisible by groups", f"got {shape[0]} and {groups}")
    values = np.zeros(shape)
    each = shape[0] // groups
    middle = tuple(d // 2 for d in shape[2:])
    for group in range(groups):
        for i in range(min(each, shape[1])):
            values[(group * each + i, i, *middle)] = 1
    return _filled(tensor, values, "dirac_")


def constant_(tensor: AnyTensor, val: float) -> AnyTensor:
    """`val` everywhere."""
    return _filled(tensor, np.asarray(val, tensor.dtype), "constant_")


def zeros_(tensor: AnyTensor) -> AnyTensor:
    """0 everywhere."""
    return constant_(tensor, 0.0)


def ones_(tensor: AnyTensor) -> AnyTensor:
    """1 everywhere."""
    return constant_(tensor, 1.0)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps variances through a nonlinearity; `param` is leaky_relu's slope, 0.01 unless given.

    Raises ArgumentError.
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
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


_calculate_fan_in_and_fan_out = fans
"""PyTorch's name of it."""


def _spread(gain: float, fan: float) -> float:
    return gain / math.sqrt(fan) if fan > 0 else 0.0


def xavier_uniform_(tensor: AnyTensor, gain: float = 1.0, generator: Any = None) -> AnyTensor:
    """U(-a, a) with a = gain sqrt(6 / (fan_in + fan_out)). Source: Glorot and Bengio, AISTATS 2010, equation 16."""
    bound = math.sqrt(6.0) * _spread(gain, sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: AnyTensor, gain: float = 1.0, generator: Any = None) -> AnyTensor:
    """N(0, s^2) with s = gain sqrt(2 / (fan_in + fan_out)). Source: Glorot and Bengio, AISTATS 2010."""
    return normal_(tensor, 0.0, math.sqrt(2.0) * _spread(gain, sum(fans(tensor))), generator)


def _calculate_correct_fan(tensor: AnyTensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return fans(tensor)[mode == "fan_out"]


def kaiming_uniform_(
    tensor: AnyTensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> AnyTensor:
    """U(-b, b) with b = gain sqrt(3 / fan); `a` is leaky_relu's slope. Source: He et al., ICCV 2015, equation 14."""
    bound = math.sqrt(3.0) * _spread(calculate_gain(nonlinearity, a), _calculate_correct_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: AnyTensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> AnyTensor:
    """N(0, s^2) with s = gain / sqrt(fan). Source: He et al., ICCV 2015, equation 14."""
    return normal_(tensor, 0.0, _spread(calculate_gain(nonlinearity, a), _calculate_correct_fan(tensor, mode)), generator)


# names without the underscore, of PyTorch before 0.4
uniform, normal, constant, eye, dirac = uniform_, normal_, constant_, eye_, dirac_
xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal = (
    xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_
)  # fmt: skip
orthogonal, sparse = orthogonal_, sparse_

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse", "sparse_",
    "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]  # fmt: skip

__getattr__ = refusing(__name__, __all__)

_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_
"""PyTorch's names of what the functions do once gradients are off."""
