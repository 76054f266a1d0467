"""Functions of `staticgrad.special` alone: Bessel functions, orthogonal polynomials, entropies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.interpreter import module
from .elementwise import times_log, written
from .host_functions import host, in_dtype_of_last, scipy_special
from .operators import SPECIAL, F, Tensor, composite, spelled
from .pointwise import ZERO
from .rules import Rule


def _special(function: Rule) -> Rule:
    SPECIAL[function.__name__] = spelled(function)
    return SPECIAL[function.__name__]


_xlog1py_op = times_log("xlog1py", "log1p", 0)
_entr_op = written(
    "entr",
    lambda x: np.where(x == 0, ZERO[x.dtype], np.where(x < 0, x.dtype.type(-np.inf), -x * np.log(x))),
    lambda x: F.where(F.eq(x, 0), 0, F.where(x < 0, -math.inf, -x * F.log(x))),
    (lambda g, x: -g * (1 + F.log(x)),),
)


@_special
@composite
def xlog1py(input: Any, other: Any) -> Tensor:
    """input * log1p(other), 0 where `input` is 0 unless `other` is NaN."""
    return _xlog1py_op(input, other)


@_special
@composite
def entr(input: Any) -> Tensor:
    """-x log(x), 0 at 0, minus infinity below."""
    return _entr_op(input)


FLAT = (
    ("airy_ai", lambda x: module("scipy.special").airy(x)[0], "Airy's function Ai."),
    ("bessel_j0", scipy_special("j0"), "Bessel function of the first kind, of order 0."),
    ("bessel_j1", scipy_special("j1"), "Bessel function of the first kind, of order 1."),
    ("bessel_y0", scipy_special("y0"), "Bessel function of the second kind, of order 0."),
    ("bessel_y1", scipy_special("y1"), "Bessel function of the second kind, of order 1."),
    ("modified_bessel_i0", scipy_special("i0"), "Modified Bessel function of the first kind, of order 0."),
    ("modified_bessel_i1", scipy_special("i1"), "Modified Bessel function of the first kind, of order 1."),
    ("modified_bessel_k0", scipy_special("k0"), "Modified Bessel function of the second kind, of order 0."),
    ("modified_bessel_k1", scipy_special("k1"), "Modified Bessel function of the second kind, of order 1."),
    ("scaled_modified_bessel_k0", scipy_special("k0e"), "k0(x) exp(x)."),
    ("scaled_modified_bessel_k1", scipy_special("k1e"), "k1(x) exp(x)."),
    ("spherical_bessel_j0", lambda x: module("scipy.special").spherical_jn(0, np.abs(x)), "sin(x) / x."),
)
"""Functions without a derivative in PyTorch."""

for _name, _numpy, _doc in FLAT:
    host(_name, in_dtype_of_last(_numpy), names=(f"special.{_name}",), doc=_doc, words={"x": "input"})


def _recurrence(first: Rule, step: Rule, edges: Rule | None = None) -> Rule:
    """A polynomial of degree n by its recurrence: `first(x)` is that of degree 1, `step(k, x, p, q)` that of degree k + 1
    from those of degrees k and k - 1. A degree that is no integer of 64 bits is below 0."""

    def evaluate(x: np.ndarray, n: np.ndarray) -> np.ndarray:
        found = np.empty_like(np.less(x, n), x.dtype)  # in the order of the operands
        x, degree = np.broadcast_arrays(x, np.where(np.abs(n) < 2.0**63, np.trunc(n), -1))
        before, now = np.ones_like(x), np.asarray(first(x))
        out = np.where(degree == 0, before, np.where(degree == 1, now, 0)).astype(x.dtype)
        for k in range(1, int(degree.max(initial=0))):
            before, now = now, step(k, x, now, before)
            out = np.where(degree == k + 1, now, out).astype(x.dtype)
        found[...] = out
        return found

    return evaluate


POLYNOMIALS: tuple[tuple[str, Rule], ...] = (
    ("chebyshev_polynomial_t", _recurrence(lambda x: x, lambda k, x, p, q: 2 * x * p - q)),
    ("chebyshev_polynomial_u", _recurrence(lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - q)),
    ("chebyshev_polynomial_v", _recurrence(lambda x: 2 * x - 1, lambda k, x, p, q: 2 * x * p - q)),
    ("chebyshev_polynomial_w", _recurrence(lambda x: 2 * x + 1, lambda k, x, p, q: 2 * x * p - q)),
    ("hermite_polynomial_h", _recurrence(lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q)),
    ("hermite_polynomial_he", _recurrence(lambda x: x, lambda k, x, p, q: x * p - k * q)),
    ("laguerre_polynomial_l", _recurrence(lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1))),
    ("legendre_polynomial_p", _recurrence(lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))),
    *[(f"shifted_chebyshev_polynomial_{c}", _recurrence(f, lambda k, x, p, q: (4 * x - 2) * p - q)) for c, f in (
        ("t", lambda x: 2 * x - 1), ("u", lambda x: 4 * x - 2), ("v", lambda x: 4 * x - 3), ("w", lambda x: 4 * x - 1))],
)  # fmt: skip

for _name, _numpy in POLYNOMIALS:
    host(
        _name,
        _numpy,
        arity=2,
        names=(f"special.{_name}",),
        doc=f"The polynomial of degree n at x: {_name}.",
        words={"x": "input", "n": "other"},
    )
