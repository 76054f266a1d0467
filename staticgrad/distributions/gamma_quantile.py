"""Gamma numbers as a differentiable function of uniform ones: the inverse of the distribution function.

Source of the derivative with respect to the shape: Figurnov et al., "Implicit reparameterization gradients", NeurIPS 2018.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operators import F, apply
from ..ops.host_functions import host, scipy_special, slopes


def _slope_eval(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """d P(a, x) / d a, by central differences of fourth order; of the smaller tail, which keeps its digits."""
    from scipy.special import gammainc, gammaincc

    shape, at = np.asarray(a, np.float64), np.asarray(x, np.float64)
    h = 1e-3 * np.minimum(shape, 1.0)
    upper = at > shape

    def tail(s: np.ndarray) -> np.ndarray:
        result: np.ndarray = np.where(upper, -gammaincc(s, at), gammainc(s, at))
        return result

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
    return F.clip(apply(_quantile_op, a, u), float(np.finfo(a.dtype).tiny), None)
