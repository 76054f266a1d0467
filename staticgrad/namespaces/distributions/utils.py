"""`torch.distributions.utils`: what distributions of other packages are written with."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import update_wrapper
from numbers import Number
from typing import Any

import numpy as np

from ...base.types import finfo, get_default_dtype
from ...eager import enable_grad
from ...errors import ArgumentError
from ...ops.host_functions import host, in_dtype_of_last, scipy_special, slopes
from ...ops.operators import F, apply, as_array, frontends, is_tensor

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """The values broadcast against each other; numbers become tensors of the dtype of the first tensor, or of the default one.
    Raises ArgumentError for other objects."""
    if not all(is_tensor(v) or isinstance(v, (Number, np.ndarray)) or hasattr(type(v), "__torch_function__") for v in values):
        raise ArgumentError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    kind = next((v.dtype for v in values if is_tensor(v)), get_default_dtype())
    return tuple(F.broadcast_tensors(*(v if is_tensor(v) else F.astype(as_array(v), kind) for v in values)))


def _sum_rightmost(value: Any, dim: int) -> Any:
    return value if dim == 0 else value.reshape(tuple(value.shape)[:-dim] + (-1,)).sum(-1)


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Any:
    from ...eager import randn

    return randn(*shape, dtype=dtype, device=device)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities: the sigmoid, or the softmax over the last axis."""
    return F.sigmoid(logits) if is_binary else F.softmax(logits, -1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities kept away from 0 and 1 by the dtype's epsilon."""
    eps = float(finfo(probs.dtype).eps)
    return F.clamp(probs, eps, 1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Log-odds, or logarithms, of clamped probabilities."""
    kept = clamp_probs(probs)
    return F.log(kept) - F.log1p(-kept) if is_binary else F.log(kept)


class lazy_property:
    """A property that is computed when it is first read, with gradients, and kept in the instance."""

    def __init__(self, wrapped: Callable[[Any], Any]):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        if not frontends.tracing:  # a traced value lives as long as the trace
            setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The elements of the lower triangles of matrices (..., n, n), row by row. Raises ArgumentError."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ArgumentError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = np.tril_indices(n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """Matrices of the elements of their lower triangles row by row; 0 above. Raises ArgumentError."""
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if not np.isclose(round(n), n):
        raise ArgumentError(f"The size of last dimension is {vec.shape[-1]} which is no size of a lower triangle")
    size = round(n)
    rows, columns = np.tril_indices(size, diag)
    places = np.zeros((size, size), np.int64)
    places[rows, columns] = np.arange(len(rows))
    inside = np.zeros((size, size), np.bool_)
    inside[rows, columns] = True
    return F.where(as_array(inside), vec[..., places.reshape(-1)].reshape((*vec.shape[:-1], size, size)), 0.0)


__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs", "probs_to_logits",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip


# gamma and von Mises numbers as differentiable functions of uniform ones ---------------------------------------------

# The inverses of the distribution functions.
#
# Source of the gamma derivative with respect to the shape: Figurnov et al., "Implicit reparameterization gradients", NeurIPS
# 2018. With A_j = I_j(k) / I_0(k), von Mises's distribution function is 1/2 + (x / 2 + sum over j >= 1 of A_j sin(j x) / j) /
# pi. Sources: Hill, "Algorithm 518: incomplete Bessel function I0: the von Mises distribution", ACM TOMS 3 (1977), for the
# series; Amos, "Computation of modified Bessel functions and their ratios", Math. Comp. 28 (1974), for the backward recurrence.


def _slope_eval(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """d P(a, x) / d a, by central differences of fourth order; of the smaller tail, which keeps its digits."""
    from scipy.special import gammainc, gammaincc

    shape, at = np.asarray(a, np.float64), np.asarray(x, np.float64)
    h = 1e-3 * np.minimum(shape, 1.0)
    upper = at > shape

    def tail(s: np.ndarray) -> np.ndarray:
        return np.where(upper, -gammaincc(s, at), gammainc(s, at))

    slope = (8 * (tail(shape + h) - tail(shape - h)) - (tail(shape + 2 * h) - tail(shape - 2 * h))) / (12 * h)
    result: np.ndarray = slope.astype(np.result_type(a, x))
    return result


_slope_op = host("gamma_shape_slope", _slope_eval, (None, None), names=(), doc="d igamma(a, x) / d a.")


def _density(a: Any, x: Any) -> Any:
    return F.exp((a - 1) * F.log(x) - x - F.lgamma(a))


_quantile_op = host(
    "gamma_quantile", scipy_special("gammaincinv"),
    slopes(lambda out, a, u: -apply(_slope_op, a, out) / _density(a, out), lambda out, a, u: 1 / _density(a, out)),
    names=(), doc="x with igamma(a, x) = u.",
)  # fmt: skip


def gamma_quantile(a: Any, u: Any) -> Any:
    """x with igamma(a, x) = u, at least the smallest normal number; differentiable once in a and u."""
    return F.clip(apply(_quantile_op, a, u), float(finfo(a.dtype).tiny), None)


# von Mises ------------------------------------------------------------------------------------------------------------


LARGEST = 5000.0
"""Beyond this concentration the angle is normal to 1e-4 of its deviation."""
STEPS = 40


def _ratios(k: np.ndarray, terms: int) -> np.ndarray:
    """I_j(k) / I_(j-1)(k) for j = 1 ... terms, by r_j = 1 / (2 j / k + r_(j+1)) from far out."""
    found = np.zeros((terms + 1, *k.shape))
    ratio = np.zeros_like(k)
    for j in range(terms + 20, 0, -1):
        ratio = k / (2 * j + k * ratio)
        if j <= terms:
            found[j] = ratio
    return found[1:]


def _clipped(z: np.ndarray) -> np.ndarray:
    return np.clip(z, -math.pi, math.pi)


def _quantile_eval(u: np.ndarray, concentration: np.ndarray) -> np.ndarray:
    """Newton's method inside a bracket that halves where a step leaves it; in float64."""
    u, k = np.broadcast_arrays(np.asarray(u, np.float64), np.asarray(concentration, np.float64))
    z = scipy_special("ndtri")(u) / np.sqrt(np.maximum(k, 1e-9))
    small = k <= LARGEST
    if not small.any():
        return _clipped(z)
    k = np.where(small, k, 1.0)
    terms = int(10 + 8 * math.sqrt(float(k.max())))
    weights = np.cumprod(_ratios(k, terms), 0)
    orders = np.arange(1, terms + 1).reshape(-1, *[1] * k.ndim)
    low, high = np.full(k.shape, -math.pi), np.full(k.shape, math.pi)
    x = np.clip(z, -3.0, 3.0)
    for _ in range(STEPS):
        value = 0.5 + (x / 2 + (weights * np.sin(orders * x) / orders).sum(0)) / math.pi - u
        low, high = np.where(value < 0, x, low), np.where(value < 0, high, x)
        density = (0.5 + (weights * np.cos(orders * x)).sum(0)) / math.pi
        with np.errstate(divide="ignore", invalid="ignore"):
            following = x - value / density
        inside = (following > low) & (following < high)
        moved = np.where(inside, following, (low + high) / 2)
        if np.allclose(moved, x, rtol=0, atol=1e-14):
            break
        x = moved
    return np.where(small, x, _clipped(z))


_von_mises_op = host(
    "von_mises_quantile", in_dtype_of_last(_quantile_eval), (None, None), names=(),
    doc="x whose von Mises distribution function is u.",
)  # fmt: skip


def von_mises_quantile(u: Any, concentration: Any) -> Any:
    """The angle about 0 below which the fraction u lies; no gradient flows."""
    return apply(_von_mises_op, u, concentration)
