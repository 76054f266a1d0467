"""Special functions of `tf.math`, orders of elements, polynomials, histograms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import slopes
from .core import FLOATING, REGISTRY, F, apply, module, special, static
from .dtypes import as_dtype
from .gathering import FOLDS
from .tensor import Operand, Pair, Rows, define, define_rows, operation, pair, tensor, value_now

UNARY: Rows = {
    "bessel_i0e": (special.i0e, "BesselI0e"),
    "bessel_i1": (special.i1, "BesselI1"),
    "bessel_i1e": (special.i1e, "BesselI1e"),
    "ndtri": (special.ndtri, "Ndtri"),
    "erfcinv": (lambda x: F.mul(special.ndtri(F.mul(x, 0.5)), -math.sqrt(0.5)), "erfcinv"),
}
globals().update(define_rows(UNARY, "x"))

xlog1py = define("xlog1py", "Xlog1py", slopes.xlog1py, "x * log1p(y), 0 where x is 0.", default="xlog1py")
ZETA = "The Hurwitz zeta function, the sum of (q + k) ** -x; its gradient is that by q."
zeta = define("zeta", "Zeta", special.zeta, ZETA, "x q")


@operation("Betainc")
def betainc(a: Pair, b: Pair, x: Any) -> Any:
    """The regularized incomplete beta function I_x(a, b); its gradient is that by x."""
    b, x = pair(b, x, "Betainc")
    return apply(REGISTRY["betainc"], a, b, x)


@operation("Polygamma", sizes=frozenset({"a"}))
def polygamma(a: Any, x: Operand) -> Any:
    """The derivative of order `a` of the digamma function; `a` holds whole numbers."""
    orders = np.asarray(a)
    if orders.ndim == 0 or (orders == orders.flat[0]).all():
        return F.broadcast_to(F.polygamma(int(orders.flat[0]), x), np.broadcast_shapes(orders.shape, x.shape))
    total = None
    for order in np.unique(orders):
        chosen = static.constant((orders == order).astype(x.dtype))
        part = F.mul(chosen, F.polygamma(int(order), x))
        total = part if total is None else F.add(total, part)
    return total


@operation("polyval")
def polyval(coeffs: Any, x: Operand) -> Any:
    """The polynomial with these coefficients, the highest power first, by Horner's scheme."""
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    if not coeffs:
        return F.zeros_like(x)
    total = F.broadcast_like(tensor(coeffs[0], x.dtype), x)
    for item in coeffs[1:]:
        total = F.add(F.mul(total, x), tensor(item, x.dtype))
    return total


@operation("CumulativeLogsumexp")
def cumulative_logsumexp(x: Operand, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    """log(cumsum(exp(x))) along an axis; exclusive: without the element itself, -inf at the start."""
    x = F.flip(x, axis) if reverse else x
    out = F.logcumsumexp(x, axis)
    if exclusive:
        before = (slice(None),) * (axis % x.ndim)
        first = F.full_like(x[(*before, slice(0, 1))], -math.inf)
        out = F.concatenate([first, out[(*before, slice(0, -1))]], axis=axis)
    return F.flip(out, axis) if reverse else out


@operation("TruncateDiv")
def truncatediv(x: Pair, y: Pair) -> Any:
    """The quotient of integers, rounded toward zero."""
    if x.dtype.kind in FLOATING:
        return F.stop_gradient(F.trunc(F.div(x, y)))
    return F.floor_divide(F.sub(x, F.fmod(x, y)), y)


@operation("ApproxTopK")
def approx_top_k(
    input: Operand, k: int, reduction_dimension: int = -1, recall_target: float = 0.95, is_max_k: bool = True,
    reduction_input_size_override: int = -1, aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """The k best along an axis and their positions (int32): exactly, whatever the recall asked."""
    values, places = F.topk(input, k, reduction_dimension, largest=is_max_k)
    return values, F.astype(places, np.int32)


def _best(name: str, largest: bool) -> Callable[..., Any]:
    def call(
        operand: Any, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
        reduction_input_size_override: int = -1, aggregate_to_topk: bool = True, name: str | None = None,
    ) -> Any:  # fmt: skip
        return approx_top_k(operand, k, reduction_dimension, is_max_k=largest, name=name)

    call.__name__, call.__doc__ = name, approx_top_k.__doc__
    return call


approx_max_k, approx_min_k = _best("approx_max_k", True), _best("approx_min_k", False)


@operation("sobol_sample", sizes=frozenset({"dim", "num_results", "skip"}))
def sobol_sample(dim: int, num_results: int, skip: int = 0, dtype: Any = np.float32) -> Any:
    """Points (num_results, dim) of Sobol's sequence in [0, 1), without the origin and `skip` more."""
    sequence = module("scipy.stats.qmc").Sobol(int(dim), scramble=False)
    sequence.fast_forward(int(skip) + 1)
    return static.constant(sequence.random(int(num_results)).astype(as_dtype(dtype).numpy))


# histograms -----------------------------------------------------------------------------------------------------------


def _bins(values: Any, value_range: Any, nbins: int) -> Any:
    values = tensor(values)
    ends = tensor(value_range, values.dtype)
    low, high = ends[0], ends[1]
    share = F.div(F.sub(values, low), F.sub(high, low))
    return F.astype(F.clip(F.floor(F.mul(share, float(nbins))), 0, nbins - 1), np.int64)


@operation("histogram_fixed_width_bins", "Cast", frozenset({"nbins"}))
def histogram_fixed_width_bins(values: Any, value_range: Any, nbins: int = 100, dtype: Any = np.int32) -> Any:
    """The number of the bin of each element; those beyond the ends are in the outer bins."""
    return F.astype(_bins(values, value_range, int(nbins)), as_dtype(dtype).numpy)


@operation("histogram_fixed_width", "Bincount", frozenset({"nbins"}))
def histogram_fixed_width(values: Any, value_range: Any, nbins: int = 100, dtype: Any = np.int32) -> Any:
    """How many elements are in each of `nbins` equal parts of an interval."""
    places = F.reshape(_bins(values, value_range, int(nbins)), (-1,))
    kind = as_dtype(dtype).numpy
    return F.index_add(static.constant(np.zeros(int(nbins), kind)), 0, places, F.astype(F.ones_like(places), kind))


@operation("bincount", "Bincount", frozenset({"minlength", "maxlength"}))
def bincount(
    arr: Any, weights: Any = None, minlength: int | None = None, maxlength: int | None = None, dtype: Any = np.int32
) -> Any:
    """How often each integer from 0 to the largest occurs, or the sum of its weights. The values have to be known or fed."""
    found = np.asarray(value_now(arr)).ravel()
    count = int(found.max()) + 1 if found.size else 0
    count = max(count, 0 if minlength is None else int(minlength))
    count = count if maxlength is None else min(count, int(maxlength))
    ids = static.constant(found.astype(np.int64)[found < count])
    if weights is None:
        values: Any = static.constant(np.ones(ids.shape, as_dtype(dtype).numpy))
    else:
        values = F.reshape(tensor(weights), (-1,))[static.constant(np.flatnonzero(found < count))]
    return FOLDS["sum"](values, ids, count, ())
