"""ONNX's products of matrices and linear algebra."""

from __future__ import annotations

import numpy as np

from ...operators import F
from .elementwise import like
from .records import T, one_to_one, reader

one_to_one({"MatMul": "matmul", "Det": "det"})


@reader("Gemm")
def _gemm(
    a: T, b: T, c: T = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0, broadcast: int = 0
) -> T:
    product = F.matmul(F.permute(a, (1, 0)) if transA else a, F.permute(b, (1, 0)) if transB else b)
    if alpha != 1.0:
        product = product * like(alpha, product)
    if c is None or beta == 0.0:
        return product
    return product + (c if beta == 1.0 else c * like(beta, c))


@reader("Einsum")
def _einsum(*xs: T, equation: str) -> T:
    return F.einsum(equation.replace(" ", ""), *xs)


def whole(x: T, zero: T, axis: int | None = None) -> T:
    """Quantized numbers as int32 without their zero point, which may differ along an axis."""
    x = F.astype(x, np.int32)
    if zero is None:
        return x
    zero = F.astype(zero, np.int32)
    if axis is not None and zero.ndim == 1:
        zero = F.reshape(zero, [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return x - zero


def integer_product(a: T, b: T) -> T:
    """The exact product of matrices of small integers."""
    return F.astype(F.round(F.matmul(F.astype(a, np.float64), F.astype(b, np.float64))), np.int32)


@reader("MatMulInteger")
def _matmul_integer(a: T, b: T, a_zero: T = None, b_zero: T = None) -> T:
    return integer_product(whole(a, a_zero, -2), whole(b, b_zero, -1))
