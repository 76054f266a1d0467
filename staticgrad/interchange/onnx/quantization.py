"""ONNX's quantized numbers of 8, 16 and 32 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DTypeError
from ...ops.operators import F
from .elementwise import integer_product, whole
from .records import T, dtype_of, reader
from .windows import conv


def _aligned(vector: T, x: T, axis: int, block_size: int) -> T:
    """Scales or zero points along an axis, or of blocks along it, against x."""
    if vector is None or vector.ndim == 0 or (vector.ndim == 1 and vector.shape[0] == 1 and not block_size):
        return vector if vector is None or vector.ndim == 0 else F.reshape(vector, ())
    if block_size:
        wide = F.repeat_interleave(vector, block_size, axis)
        return wide[tuple(slice(0, extent) for extent in x.shape)]
    return F.reshape(vector, [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


def _saturated(x: T, dtype: np.dtype) -> T:
    """Rounded numbers in an integer dtype, the ends of its range for those beyond."""
    if dtype.kind not in "iu":
        raise DTypeError(f"ONNX: quantized numbers of dtype {dtype} are not supported")
    ends = np.iinfo(dtype)
    return F.astype(F.clip(x, float(ends.min), float(ends.max)), dtype)


def quantized(x: T, scale: T, zero: T, dtype: np.dtype) -> T:
    """round(x / scale) + zero, in a dtype of integers."""
    number = F.round(F.astype(x / scale, np.float64))
    return _saturated(number if zero is None else number + F.astype(zero, np.float64), dtype)


@reader("QuantizeLinear")
def _quantize(
    x: T, scale: T, zero: T = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0, precision: int = 0,
    saturate: int = 1,
) -> T:  # fmt: skip
    kind = zero.dtype if zero is not None else dtype_of(output_dtype or 2)
    return quantized(x, _aligned(scale, x, axis, block_size), _aligned(zero, x, axis, block_size), kind)


@reader("DequantizeLinear")
def _dequantize(x: T, scale: T, zero: T = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0) -> T:
    kind = dtype_of(output_dtype) if output_dtype else scale.dtype
    number = F.astype(x, np.int32)
    if zero is not None:
        number = number - F.astype(_aligned(zero, x, axis, block_size), np.int32)
    return F.astype(F.astype(number, scale.dtype) * _aligned(scale, x, axis, block_size), kind)


@reader("DynamicQuantizeLinear")
def _dynamic(x: T) -> T:
    high, low = F.maximum(F.amax(x), np.zeros((), x.dtype)), F.minimum(F.amin(x), np.zeros((), x.dtype))
    scale = (high - low) / np.asarray(255, x.dtype)
    zero = F.astype(F.round(F.clip(-low / scale, 0.0, 255.0)), np.uint8)
    return quantized(x, scale, zero, np.dtype(np.uint8)), scale, zero


@reader("QLinearMatMul")
def _qlinear_matmul(a: T, a_scale: T, a_zero: T, b: T, b_scale: T, b_zero: T, y_scale: T, y_zero: T) -> T:
    product = F.astype(integer_product(whole(a, a_zero, -2), whole(b, b_zero, -1)), np.float64)
    factor = F.astype(a_scale, np.float64) * F.astype(b_scale, np.float64)
    return quantized(product * factor, F.astype(y_scale, np.float64), y_zero, y_zero.dtype)


@reader("QLinearConv")
def _qlinear_conv(
    x: T, x_scale: T, x_zero: T, w: T, w_scale: T, w_zero: T, y_scale: T, y_zero: T, bias: T = None, **settings: Any
) -> T:
    product = conv(F.astype(whole(x, x_zero), np.float64), F.astype(whole(w, w_zero, 0), np.float64), None, **settings)
    if bias is not None:
        product = product + F.reshape(F.astype(bias, np.float64), (1, -1) + (1,) * (x.ndim - 2))
    factor = F.astype(x_scale, np.float64) * F.astype(w_scale, np.float64)
    factor = F.reshape(factor, (1, -1) + (1,) * (x.ndim - 2)) if w_scale.ndim else factor
    return quantized(product * factor, F.astype(y_scale, np.float64), y_zero, y_zero.dtype)
