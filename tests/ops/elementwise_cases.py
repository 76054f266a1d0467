"""The table of plain elementwise functions: one row per function, from which all of their tests take what they need.

`cases.py` runs a row in every backend with gradients, `test_special.py` at special values, `test_oracle.py` beside PyTorch, and
`tests/compiler/backend/test_elementary.py` holds the kernels of a row with `ranges` to the error that the record states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.helpers import Arg, positive, real

Sample = tuple[Arg, ...]
Range = tuple[float, float]

PLAIN: tuple[Sample, ...] = ((real(3, 4),), (real(),), (real(1, 5),), (real(0, 3),))
POSITIVE: tuple[Sample, ...] = ((positive(3, 4),), (positive(),), (positive(1, 5),), (positive(0, 3),))
UNIT: tuple[Sample, ...] = ((real(3, 4, low=-0.9, high=0.9),), (real(0, 3),))
ABOVE_ONE: tuple[Sample, ...] = ((real(3, 4, low=1.5, high=3.0),), (real(0, 3),))
PAIRS: tuple[Sample, ...] = ((real(3, 4), real(3, 4)), (real(3, 4), real(4)), (real(2, 1, 4), real(3, 1)), (real(), real(3)),
                             (real(1, 3), real(1, 1)), (real(0, 3), real(3)))  # fmt: skip


class Elementwise(NamedTuple):
    """One row.

    numpy: the reference. ulps: largest difference of eager results from it, in units of the dtype's epsilon. order: how often
    it is differentiated numerically. ranges: where kernels are compared densely with `exact` (`numpy` unless given) of
    numbers of more digits. signs: zeros have the reference's signs.
    """

    name: str
    numpy: Callable[..., Any]
    samples: tuple[Sample, ...] = PLAIN
    ulps: float = 4
    order: int = 2
    ranges: tuple[Range, ...] = ()
    exact: Callable[..., Any] | None = None
    signs: bool = True

    @property
    def operands(self) -> int:
        return len(self.samples[0])

    @property
    def reference(self) -> Callable[..., Any]:
        return self.numpy if self.exact is None else self.exact


def _erf(x: np.ndarray) -> Any:
    from scipy.special import erf

    return erf(x)


def _exact_erf(x: np.ndarray) -> np.ndarray:
    """2/sqrt(pi) exp(-x**2) sum of 2**k x**(2k+1) / (2k+1)!!: all terms of one sign, so nothing cancels."""
    a = np.minimum(np.abs(x), 7)
    term, total = a.copy(), a.copy()
    for k in range(1, 200):
        term *= 2 * a * a / (2 * k + 1)
        total += term
    sqrt_pi = np.sqrt(np.longdouble("3.14159265358979323846264338327950288"))
    return np.copysign(np.where(a < 7, 2 / sqrt_pi * np.exp(-a * a) * total, a / a), x)


def _exact_sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return _exact_sigmoid(x.astype(np.float64)).astype(x.dtype)


E = Elementwise
NEAR_0, TURNS = (-1e-3, 1e-3), ((-7, 7), (-1e4, 1e4), (-3e13, 3e13), (-1e38, 1e38))

ELEMENTWISE: tuple[Elementwise, ...] = (
    E("abs", np.abs, ulps=0),
    E("neg", np.negative, ulps=0),
    E("square", np.square, ulps=0),
    E("sqrt", np.sqrt, POSITIVE, 0),
    E("reciprocal", np.reciprocal, POSITIVE, 0),
    E("relu", lambda x: np.maximum(x, 0), ulps=0, signs=False),
    E("clone", np.copy, ulps=0),
    E("sign", lambda x: np.nan_to_num(np.sign(x)), ulps=0, order=0),  # 0 for NaN, as in PyTorch
    E("floor", np.floor, ulps=0, order=0),
    E("ceil", np.ceil, ulps=0, order=0),
    E("round", np.rint, ulps=0, order=0),
    E("isnan", np.isnan, ulps=0, order=0),
    E("isfinite", np.isfinite, ulps=0, order=0),
    E("exp", np.exp, ranges=((-2, 2), (-104, 89), (-750, 710))),
    E("exp2", np.exp2, ranges=((-2, 2), (-151, 130), (-1080, 1030))),
    E("expm1", np.expm1, ranges=(NEAR_0, (-1.2, 1.2), (-40, 90), (0.3, 0.4))),
    E("log", np.log, POSITIVE, ranges=((0.5, 2), (0.99, 1.01), (0, 1e30))),
    E("log2", np.log2, POSITIVE, ranges=((0.5, 2), (0.99, 1.01), (0.7, 0.72), (1.41, 1.42), (0, 1e30))),
    E("log1p", np.log1p, POSITIVE, ranges=(NEAR_0, (-1, 1), (0.3, 0.5), (0, 1e30))),
    E("sigmoid", _sigmoid, ulps=8, ranges=((-4, 4), (-104, 20), (-17, -16), (-750, 40)), exact=_exact_sigmoid, signs=False),
    E("erf", _erf, ranges=(NEAR_0, (-1.2, 1.2), (-6.5, 6.5)), exact=_exact_erf),
    E("sin", np.sin, ranges=(NEAR_0, *TURNS)),
    E("cos", np.cos, ranges=(NEAR_0, *TURNS)),
    E("tan", np.tan, UNIT, ranges=(NEAR_0, (1.5, 1.65), *TURNS)),
    E("asin", np.arcsin, UNIT, ranges=(NEAR_0, (-1, 1), (0.49, 0.52), (0.9, 1))),
    E("acos", np.arccos, UNIT, ranges=(NEAR_0, (-1, 1), (0.49, 0.52), (-0.52, -0.49), (0.9, 1))),
    E("log10", np.log10, POSITIVE, ranges=((0.5, 2), (0.99, 1.01), (0.7, 0.72), (1.41, 1.42), (0, 1e30))),
    E("atan", np.arctan, ranges=((-0.6, 0.6), (0.4999, 0.52), (1.8, 2.2), (-10, 10))),
    E("sinh", np.sinh, ranges=(NEAR_0, (-2, 2), (0.3, 0.4), (-91, 91), (-712, 712))),
    E("cosh", np.cosh, ranges=((-2, 2), (0.3, 0.4), (-91, 91), (-712, 712))),
    E("tanh", np.tanh, ranges=(NEAR_0, (0.5, 0.53), (-1, 1), (-22, 22))),
    E("asinh", np.arcsinh, ranges=(NEAR_0, (-0.6, 0.6), (-2, 2), (1, 50), (-1e5, 1e5))),
    E("acosh", np.arccosh, ABOVE_ONE, ranges=((1, 1.001), (1, 1.2), (1, 3), (1, 50), (0, 1e5))),
    E("atanh", np.arctanh, UNIT, ranges=(NEAR_0, (-0.6, 0.6), (-1, 1), (0.9, 1))),
    E("hypot", np.hypot, PAIRS, ranges=((-2, 2), (0.5, 1), (1e-45, 1e-37), (1e15, 1e25))),
    E("atan2", np.arctan2, PAIRS, ranges=((-2, 2), (0.5, 1), (1e-30, 1e-20), (-1e15, 1e25))),
    E("copysign", np.copysign, PAIRS, 0, ranges=((-2, 2),)),
)  # fmt: skip
