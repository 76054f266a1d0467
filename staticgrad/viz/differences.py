"""How far values of two modes lie apart, and how far rounding lets them."""

from __future__ import annotations

import math
from collections.abc import Iterable
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
    floor: float = 0.0
    """Likewise the absolute difference, whatever the size of the result: what is left of terms that cancel."""


def excess(difference: Difference, rtol: float | None = None, atol: float | None = None) -> float:
    """A difference in units of what rounding explains: more than 1 is a disagreement. rtol, atol: other bounds than its own."""
    bounds = (
        (difference.relative, difference.tolerance if rtol is None else rtol),
        (difference.absolute, difference.floor if atol is None else atol),
    )
    return min(apart / bound if bound else math.inf if apart else 0.0 for apart, bound in bounds)


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


ROUNDINGS = 10
"""Units of precision that terms of size 1 may leave where they cancel."""


def floor(dtype: np.dtype, scale: float) -> float:
    """The absolute difference that rounding explains in a step whose largest value or gradient is `scale`."""
    return ROUNDINGS * float(np.finfo(dtype).eps) * min(1.0, scale) if dtype.kind in "fc" else 0.0


def largest(arrays: Iterable[np.ndarray | None]) -> float:
    """The largest finite magnitude in arrays of floating numbers; 0 without any."""
    found = [np.abs(a[np.isfinite(a)]).max(initial=0.0) for a in arrays if a is not None and a.dtype.kind in "fc"]
    return float(max(found, default=0.0))
