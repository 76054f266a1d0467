"""How far values of two modes lie apart, and how far rounding lets them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

MISSING: Any = object()
"""In place of a value that a mode does not have."""


@dataclass
class Difference:
    """How far a value is from the eager one: largest absolute, largest in units of the last place of the eager value, and
    largest relative to the largest finite element of the eager value. All are infinite where shapes or floating dtypes differ,
    or one is NaN or infinite and the other is not. kind: "value", "gradient", "second gradient", or "state" for a tensor that
    the function changes."""

    what: str
    absolute: float
    ulps: float
    relative: float = 0.0
    kind: str = "value"
    tolerance: float = 0.0
    """The relative difference up to which two roundings of one result are expected to lie."""


def excess(difference: Difference) -> float:
    """A difference in units of what rounding explains."""
    if np.isinf(difference.relative):
        return np.inf
    return difference.relative / difference.tolerance if difference.tolerance else np.inf if difference.relative else 0.0


def difference(what: str, mine: np.ndarray | None, theirs: np.ndarray | None, kind: str) -> Difference:
    """The difference of `mine` from the eager `theirs`. None is a gradient of zeros: eager mode has no branch that it
    did not take."""
    mine, theirs = _zeros(mine, theirs), _zeros(theirs, mine)
    if mine is None or theirs is None:  # both are
        return Difference(what, 0.0, 0.0, 0.0, kind)
    if mine is MISSING:
        return Difference(f"{what}, which is missing", np.inf, np.inf, np.inf, kind)
    if mine.shape != theirs.shape:
        return Difference(f"{what}, whose shape is {mine.shape} and not {theirs.shape}", np.inf, np.inf, np.inf, kind)
    if mine.dtype != theirs.dtype and "f" in mine.dtype.kind + theirs.dtype.kind:  # integers of peers may have other sizes
        return Difference(f"{what}, whose dtype is {mine.dtype} and not {theirs.dtype}", np.inf, np.inf, np.inf, kind)
    wide = np.complex128 if "c" in (mine.dtype.kind, theirs.dtype.kind) else np.float64
    a, b = mine.astype(wide), theirs.astype(wide)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        absolute = np.where(same, 0.0, np.abs(a - b))
        size = np.abs(b)
        spacing = np.spacing(np.abs(theirs)).astype(np.float64) if theirs.dtype.kind in "fc" else 1.0
        ulps = np.where(same, 0.0, absolute / spacing)
    worst, most = (float(np.where(np.isnan(x), np.inf, x).max(initial=0.0)) for x in (absolute, ulps))
    largest = float(size[np.isfinite(size)].max(initial=0.0))
    relative = worst / largest if largest else np.inf if worst else 0.0
    return Difference(what, worst, most, relative, kind, _tolerance(theirs.dtype, kind))


def _zeros(gradient: Any, other: Any) -> Any:
    return np.zeros_like(other) if gradient is None and other is not None and other is not MISSING else gradient


def _tolerance(dtype: np.dtype, kind: str) -> float:
    """A relative difference between two orders of the same sums: the square root of the unit of precision for second
    gradients, which are differences of large terms; a tenth of it else."""
    if dtype.kind not in "fc":
        return 0.0
    root = math.sqrt(np.finfo(dtype).eps)
    return root if kind == "second gradient" else root / 10


def close(mine: dict[str, Any], theirs: dict[str, Any], rtol: float, atol: float) -> bool:
    for what, expected in theirs.items():
        actual, expected = _zeros(mine.get(what, MISSING), expected), _zeros(expected, mine.get(what, MISSING))
        if actual is MISSING:
            return False
        if actual is None:  # and so is the other
            continue
        same_kind = actual.shape == expected.shape and actual.dtype == expected.dtype
        if not same_kind or not np.allclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True):
            return False
    return True
