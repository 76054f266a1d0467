"""Rows of the op-case table for PyTorch's functions: each against NumPy or SciPy, in every backend."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad import linalg, special
from staticgrad.ir import REGISTRY
from staticgrad.operators import F, apply
from staticgrad.ops.cumulative import running_product
from tests.helpers import Arg, boolean, integer, positive, real

ONE = ((real(3, 4),), (real(),), (real(0, 3),))
ABOVE = ((positive(3, 4),), (positive(),))
UNIT = ((real(3, 4, low=-0.9, high=0.9),),)
TWO = ((positive(3, 4), positive(4)), (positive(2, 1, 3), positive(2, 1)))
NUMBERS = ((integer(3, 4, low=1, high=9), integer(4, low=1, high=5)),)
CUBE = ((real(2, 3, 4),),)
SQUARE = ((real(3, 3),), (real(2, 3, 3),))


def scipy(name: str) -> Callable[..., Any]:
    def call(*arrays: np.ndarray) -> Any:
        import scipy.special

        return np.asarray(getattr(scipy.special, name)(*arrays)).astype(arrays[-1].dtype)

    return call


def symmetric(x: Any) -> Any:
    """A symmetric matrix with different eigenvalues, of any one."""
    xp = F if isinstance(x, sg.Tensor) else np
    return x + xp.swapaxes(x, -1, -2) + np.diag(np.arange(x.shape[-1]) * 5.0).astype(x.dtype)


def definite(x: Any) -> Any:
    """A symmetric positive definite matrix."""
    xp = F if isinstance(x, sg.Tensor) else np
    return xp.matmul(x, xp.swapaxes(x, -1, -2)) + np.eye(x.shape[-1], dtype=x.dtype) * 3


def regular(x: Any) -> Any:
    """A matrix far from a singular one."""
    return x + np.eye(x.shape[-1], dtype=x.dtype) * 6


def record(name: str, *args: Any, **attrs: Any) -> Any:
    return apply(REGISTRY[name], *args, **attrs)


def mean_of(x: Any) -> Any:
    """A result that does not depend on the signs of vectors."""
    return F.square(x)


def rows(plain: Any) -> list[Any]:
    """The rows, made by the class of rows; those of records that the host computes say so."""
    Case = functools.partial(plain, host=True)
    host = [
        Case(name, fn, reference, samples, ulps=ulps, order=order)
        for name, fn, reference, samples, ulps, order in (
            ("erfc", F.erfc, scipy("erfc"), ONE, 4, 2),
            ("erfinv", F.erfinv, scipy("erfinv"), UNIT, 4, 2),
            ("lgamma", F.lgamma, scipy("gammaln"), ABOVE, 4, 2),
            ("digamma", F.digamma, scipy("digamma"), ABOVE, 4, 2),
            ("i0", F.i0, scipy("i0"), ABOVE, 4, 2),
            ("entr", special.entr, scipy("entr"), ABOVE, 4, 2),
            ("i0e", special.i0e, scipy("i0e"), ABOVE, 4, 2),
            ("i1", special.i1, scipy("i1"), ABOVE, 4, 2),
            ("i1e", special.i1e, scipy("i1e"), ABOVE, 4, 2),
            ("erfcx", special.erfcx, scipy("erfcx"), ABOVE, 4, 2),
            ("ndtr", special.ndtr, scipy("ndtr"), ONE, 4, 2),
            ("ndtri", special.ndtri, scipy("ndtri"), ((real(3, 4, low=0.1, high=0.9),),), 4, 2),
            ("log_ndtr", special.log_ndtr, scipy("log_ndtr"), UNIT, 4, 2),
            ("polygamma", lambda x: F.polygamma(1, x), lambda x: scipy("polygamma")(np.ones_like(x), x), ABOVE, 16, 1),
            ("signbit", F.signbit, np.signbit, ONE, 0, 0),
            ("mantissa", lambda x: F.frexp(x)[0], lambda x: np.frexp(x)[0], ABOVE, 0, 1),
            ("exponent_of", lambda x: F.frexp(x)[1], lambda x: np.frexp(x)[1].astype(np.int32), ABOVE, 0, 0),
        )
    ]
    host += [
        Case("fmod", F.fmod, np.fmod, TWO, order=1, ulps=0),
        Case("nextafter", F.nextafter, np.nextafter, TWO, order=1, ulps=0),
        Case(
            "igamma",
            lambda x: F.igamma(np.asarray(1.5, x.dtype), x),
            lambda x: scipy("gammainc")(np.asarray(1.5, x.dtype), x),
            ABOVE,
        ),
        Case(
            "igammac",
            lambda x: F.igammac(np.asarray(1.5, x.dtype), x),
            lambda x: scipy("gammaincc")(np.asarray(1.5, x.dtype), x),
            ABOVE,
        ),
        Case(
            "zeta",
            lambda q: special.zeta(np.asarray(2.5, q.dtype), q),
            lambda q: scipy("zeta")(np.asarray(2.5, q.dtype), q),
            ABOVE,
        ),
        Case(
            "betainc",
            lambda x: record("betainc", np.asarray(1.5, x.dtype), np.asarray(2.5, x.dtype), x),
            lambda x: scipy("betainc")(np.asarray(1.5, x.dtype), np.asarray(2.5, x.dtype), x),
            ((real(3, 4, low=0.1, high=0.9),),),
            ulps=16,
        ),
        Case(
            "poisson_quantile",
            lambda u, r: record("poisson_quantile", u, r),
            poisson,
            ((real(5, low=0.1, high=0.9), positive(5)),),
            order=0,
        ),
        Case(
            "binomial_quantile",
            lambda u, p: record("binomial_quantile", u, np.asarray(7.0, u.dtype), p),
            binomial,
            ((real(5, low=0.1, high=0.9), real(5, low=0.1, high=0.9)),),
            order=0,
        ),
        Case(
            "nonzero_static",
            lambda x: F.nonzero_static(x > 0, size=5),
            lambda x: np.concatenate([np.argwhere(x > 0)[:5], np.full((max(5 - (x > 0).sum(), 0), x.ndim), -1)]),
            CUBE,
            order=0,
        ),
        Case("histc", lambda x: F.histc(x, 4, -1, 1), lambda x: np.histogram(x, 4, (-1, 1))[0].astype(x.dtype), CUBE, order=0),
    ]
    host += [
        Case(f"bitwise_{name}", getattr(F, f"bitwise_{name}"), getattr(np, f"bitwise_{name}"), NUMBERS, order=0, ulps=0)
        for name in ("and", "or", "xor")
    ]
    host += [
        Case("bitwise_not", F.bitwise_not, np.invert, ((integer(3, low=-4, high=4),),), order=0, ulps=0),
        Case("bitwise_left_shift", F.bitwise_left_shift, np.left_shift, NUMBERS, order=0, ulps=0),
        Case("bitwise_right_shift", F.bitwise_right_shift, np.right_shift, NUMBERS, order=0, ulps=0),
        Case("gcd", F.gcd, np.gcd, NUMBERS, order=0, ulps=0),
        Case("lcm", F.lcm, np.lcm, NUMBERS, order=0, ulps=0),
    ]
    flat = {
        "bessel_j0": "j0", "bessel_j1": "j1", "bessel_y0": "y0", "bessel_y1": "y1", "modified_bessel_i0": "i0",
        "modified_bessel_i1": "i1", "modified_bessel_k0": "k0", "modified_bessel_k1": "k1",
        "scaled_modified_bessel_k0": "k0e", "scaled_modified_bessel_k1": "k1e",
    }  # fmt: skip
    host += [Case(name, getattr(special, name), scipy(theirs), ABOVE, order=0) for name, theirs in flat.items()]
    host += [
        Case("xlog1py", special.xlog1py, scipy("xlog1py"), TWO),
        Case(
            "binary_cross_entropy",
            lambda x, t: sg.functional.binary_cross_entropy(x, t, reduction="none"),
            lambda x, t: -t * np.log(x) - (1 - t) * np.log(1 - x),
            ((real(3, 4, low=0.1, high=0.9), real(3, 4, low=0.1, high=0.9)),),
            ulps=16,
        ),
        Case("airy_ai", special.airy_ai, lambda x: scipy("airy")(x)[0], ABOVE, order=0),
        Case("spherical_bessel_j0", special.spherical_bessel_j0, lambda x: np.sin(x) / x, ABOVE, order=0),
    ]
    polynomials = {
        "chebyshev_polynomial_t": "eval_chebyt", "chebyshev_polynomial_u": "eval_chebyu",
        "hermite_polynomial_h": "eval_hermite",
        "hermite_polynomial_he": "eval_hermitenorm", "laguerre_polynomial_l": "eval_laguerre",
        "legendre_polynomial_p": "eval_legendre", "shifted_chebyshev_polynomial_t": "eval_sh_chebyt",
        "shifted_chebyshev_polynomial_u": "eval_sh_chebyu",
    }  # fmt: skip
    host += [
        Case(
            name,
            lambda x, name=name: getattr(special, name)(x, np.asarray(4, x.dtype)),
            lambda x, theirs=theirs: scipy(theirs)(4, x),
            UNIT,
            order=0,
            ulps=256,
        )
        for name, theirs in polynomials.items()
    ]
    host += [
        Case(
            f"{prefix}chebyshev_polynomial_{kind}",
            lambda x, n=f"{prefix}chebyshev_polynomial_{kind}": getattr(special, n)(x, np.asarray(3, x.dtype)),
            lambda x, s=bool(prefix), sign=sign: third(2 * x - 1 if s else x, sign),
            UNIT,
            order=0,
            ulps=256,
        )
        for prefix in ("", "shifted_")
        for kind, sign in (("v", -1), ("w", 1))
    ]
    return [*host, *composed(plain), *ordered(Case), *matrices(Case)]


def third(x: np.ndarray, sign: int) -> np.ndarray:
    """Chebyshev's polynomial of degree 3 of the third or the fourth kind."""
    return 8 * x**3 + sign * 4 * x**2 - 4 * x - sign * 1


def poisson(u: np.ndarray, rate: np.ndarray) -> np.ndarray:
    import scipy.special

    return np.maximum(np.ceil(scipy.special.pdtrik(u, rate)), 0).astype(rate.dtype)


def binomial(u: np.ndarray, p: np.ndarray) -> np.ndarray:
    import scipy.stats

    rare = scipy.stats.binom.ppf(u, 7, np.minimum(p, 1 - p))
    return np.where(p > 0.5, 7 - rare, rare).astype(p.dtype)


def composed(Case: Any) -> list[Any]:
    def logsum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.logaddexp(x, y)

    return [
        Case("addcmul", lambda x, y: F.addcmul(x, x, y, value=2), lambda x, y: x + 2 * x * y, TWO, ulps=8),
        Case("addcdiv", lambda x, y: F.addcdiv(x, x, y, value=2), lambda x, y: x + 2 * (x / y), TWO, ulps=8),
        Case("lerp", lambda x, y: F.lerp(x, y, 0.25), lambda x, y: x + 0.25 * (y - x), TWO, ulps=8),
        Case("add alpha", lambda x, y: F.add(x, y, alpha=3), lambda x, y: x + 3 * y, TWO),
        Case("div trunc", lambda x, y: F.div(x, y, rounding_mode="trunc"), lambda x, y: np.trunc(x / y), TWO, order=0),
        Case("trunc", F.trunc, np.trunc, ONE, order=0, ulps=0),
        Case("frac", F.frac, lambda x: x - np.trunc(x), ONE, order=1, ulps=0),
        Case("logaddexp", F.logaddexp, logsum, TWO, ulps=8),
        Case("xlogy", F.xlogy, lambda x, y: x * np.log(y), TWO, ulps=8),
        Case("logit", F.logit, lambda x: np.log(x / (1 - x)), ((real(3, low=0.2, high=0.8),),), ulps=16),
        Case("sinc", F.sinc, np.sinc, ABOVE, ulps=16),
        Case("fmax", F.fmax, np.fmax, TWO, ulps=0),
        Case("nan_to_num", F.nan_to_num, np.nan_to_num, ONE, ulps=0),
        Case("isclose", F.isclose, np.isclose, TWO, order=0),
        Case(
            "cat",
            lambda x, y: F.cat([x, y], dim=1),
            lambda x, y: np.concatenate([x, y], 1),
            ((real(2, 3), real(2, 1)),),
            ulps=0,
        ),
        Case("hstack", lambda x, y: F.hstack([x, y]), lambda x, y: np.hstack([x, y]), ((real(3), real(2)),), ulps=0),
        Case(
            "split sizes",
            lambda x: list(F.split(x, [1, 2], 1)),
            lambda x: [x[:, :1], x[:, 1:]],
            CUBE,
            ulps=0,
            refused="split: the extent of axis 1 is unknown",
        ),
        Case(
            "split size",
            lambda x: list(F.split(x, 3, 2)),
            lambda x: [x[..., :3], x[..., 3:]],
            CUBE,
            ulps=0,
            refused="split: the extent of axis 2 is unknown",
        ),
        Case(
            "chunk",
            lambda x: list(F.chunk(x, 2, -1)),
            lambda x: [x[..., :2], x[..., 2:]],
            CUBE,
            ulps=0,
            refused="chunk: the extent of axis 2 is unknown",
        ),
        Case(
            "unbind",
            lambda x: list(F.unbind(x, 1)),
            lambda x: [x[:, i] for i in range(3)],
            CUBE,
            ulps=0,
            refused="unbind: the extent of axis 1 is unknown",
        ),
        Case("movedim", lambda x: F.movedim(x, 0, -1), lambda x: np.moveaxis(x, 0, -1), CUBE, ulps=0),
        Case(
            "roll",
            lambda x: F.roll(x, (1, -1), (1, 2)),
            lambda x: np.roll(x, (1, -1), (1, 2)),
            CUBE,
            ulps=0,
            refused="roll: the extent of axis 1 is unknown",
        ),
        Case("rot90", lambda x: F.rot90(x, 1, (1, 2)), lambda x: np.rot90(x, 1, (1, 2)), CUBE, ulps=0),
        Case("flip both", lambda x: F.flip(x, (0, 2)), lambda x: np.flip(x, (0, 2)), CUBE, ulps=0),
        Case(
            "repeat",
            lambda x: F.repeat(x, 2, 1, 1, 2),
            lambda x: np.tile(x, (2, 1, 1, 2)),
            CUBE,
            ulps=0,
            refused="repeat: extents are unknown",
        ),
        Case(
            "repeat_interleave",
            lambda x: F.repeat_interleave(x, 2, 1),
            lambda x: np.repeat(x, 2, 1),
            CUBE,
            ulps=0,
            refused="repeat_interleave: the extent of axis 1 is unknown",
        ),
        Case(
            "unfold",
            lambda x: F.unfold(x, 2, 2, 1),
            lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 2),
            CUBE,
            ulps=0,
            refused="unfold: the extent of axis 2 is unknown",
        ),
        Case(
            "diagonal",
            lambda x: F.diagonal(x, 1, 1, 2),
            lambda x: np.diagonal(x, 1, 1, 2),
            CUBE,
            ulps=0,
            refused="diagonal: the extent of axis 1 is unknown",
        ),
        Case("diag of a row", F.diag, np.diag, ((real(3),),), ulps=0, refused="diag_embed: the extent of axis 0 is unknown"),
        Case("diag", F.diag, np.diag, ((real(3, 4),),), ulps=0, refused="diagonal: the extent of axis 0 is unknown"),
        Case("tril", F.tril, np.tril, CUBE, ulps=0, refused="tril: the extent of axis 1 is unknown"),
        Case(
            "triu",
            lambda x: F.triu(x, 1),
            lambda x: np.triu(x, 1),
            CUBE,
            ulps=0,
            refused="triu: the extent of axis 1 is unknown",
        ),
        Case("kron", F.kron, np.kron, ((real(2, 3), real(1, 2)),), ulps=4, refused="kron: the extent of axis 0 is unknown"),
        Case(
            "gather",
            lambda x, i: F.gather(x, 1, i),
            lambda x, i: np.take_along_axis(x, i, 1),
            ((real(3, 4), integer(3, 2, low=0, high=4)),),
            ulps=0,
        ),
        Case(
            "index_select",
            lambda x, i: F.index_select(x, 1, i),
            lambda x, i: np.take(x, i, 1),
            ((real(3, 4), integer(5, low=0, high=4)),),
            ulps=0,
        ),
        Case(
            "scatter_add along",
            lambda x, i, y: F.scatter_add(x, 1, i, y),
            scatter_added,
            ((real(3, 4), integer(3, 2, low=0, high=4), real(3, 2)),),
            ulps=8,
            refused="scatter: the extent of axis 1 is unknown",
        ),
        Case(
            "scatter",
            lambda x, i, y: F.scatter(x, 0, i, y),
            scattered,
            ((real(4, 3), integer(2, 3, low=0, high=4), real(2, 3)),),
            ulps=0,
            refused="scatter: the extent of axis 1 is unknown",
        ),
        Case(
            "index_fill",
            lambda x: F.index_fill(x, 1, np.array([0, 2]), 7.0),
            filled,
            ((real(2, 3),),),
            ulps=0,
        ),
        Case(
            "index_fill by a tensor",
            lambda x, v: F.index_fill(x, 1, np.array([0, 2, 0]), v),
            lambda x, v: np.where(np.arange(3) == 1, x, v),
            ((real(2, 3), real()),),
            ulps=0,
        ),
        Case(
            "masked_scatter",
            lambda x, m, y: F.masked_scatter(x, m, y),
            masked,
            ((real(2, 3), boolean(2, 3), real(6)),),
            ulps=0,
            refused="masked_scatter: the extent of axis 0 is unknown",
        ),
        Case(
            "tensordot",
            lambda x, y: F.tensordot(x, y, 2),
            lambda x, y: np.tensordot(x, y, 2),
            ((real(2, 3, 4), real(3, 4, 5)),),
            ulps=64,
        ),
        Case(
            "baddbmm",
            lambda x, a, b: F.baddbmm(x, a, b, alpha=2),
            lambda x, a, b: x + 2 * (a @ b),
            ((real(2, 3, 3), real(2, 3, 4), real(2, 4, 3)),),
            ulps=64,
        ),
        Case(
            "cross",
            lambda x, y: linalg.cross(x, y),
            np.cross,
            ((real(4, 3), real(4, 3)),),
            ulps=16,
            refused="broadcast_tensors: extents are unknown",
        ),
        Case(
            "cdist",
            F.cdist,
            lambda x, y: np.sqrt(np.square(x[:, None] - y[None]).sum(-1)),
            ((real(3, 2), real(4, 2)),),
            ulps=16,
            refused="cdist: the extent of axis 1 is unknown",
        ),
    ]


def scatter_added(x: np.ndarray, i: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = x.copy()
    np.add.at(out, (np.arange(3)[:, None], i), y)
    return out


def scattered(x: np.ndarray, i: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = x.copy()
    for row in range(2):
        for column in range(3):
            out[i[row, column], column] = y[row, column]
    return out


def filled(x: np.ndarray) -> np.ndarray:
    out = x.copy()
    out[:, [0, 2]] = 7
    return out


def masked(x: np.ndarray, m: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = x.copy()
    out[m] = y[: m.sum()]
    return out


def ordered(Case: Any) -> list[Any]:
    return [
        Case("argsort", lambda x: F.argsort(x, 1), lambda x: np.argsort(x, 1, kind="stable"), CUBE, order=0, ulps=0),
        Case("sort", lambda x: F.sort(x, 1, descending=True).values, lambda x: -np.sort(-x, 1), CUBE, ulps=0),
        Case("topk", lambda x: F.topk(x, 2).values, lambda x: -np.sort(-x, -1)[..., :2], CUBE, ulps=0),
        Case("kthvalue", lambda x: F.kthvalue(x, 2, 1).values, lambda x: np.sort(x, 1)[:, 1], CUBE, ulps=0),
        Case("median_index", lambda x: F.median(x, 2).values, lambda x: np.sort(x, 2)[..., 1], CUBE, ulps=0),
        Case("nanmedian_index", lambda x: F.nanmedian(x, 2).values, lambda x: np.sort(x, 2)[..., 1], CUBE, ulps=0),
        Case("median", F.median, lambda x: np.sort(x, None)[(x.size - 1) // 2], ONE[:2], ulps=0),
        Case("nanmedian", F.nanmedian, lambda x: np.sort(x, None)[(x.size - 1) // 2], ONE[:2], ulps=0),
        Case("mode_index", lambda x: F.mode(x, 1).values, lambda x: np.sort(x, 1)[:, 0], CUBE, ulps=0),
        Case("max pair", lambda x: list(F.max(x, 1)), lambda x: [x.max(1), x.argmax(1)], CUBE, ulps=0),
        Case(
            "min pair",
            lambda x: list(F.min(x, -1, keepdim=True)),
            lambda x: [x.min(-1, keepdims=True), x.argmin(-1, keepdims=True)],
            CUBE,
            ulps=0,
        ),
        Case("cummax_index", lambda x: F.cummax(x, 1).values, lambda x: np.maximum.accumulate(x, 1), CUBE, ulps=0),
        Case("cummin_index", lambda x: F.cummin(x, 1).values, lambda x: np.minimum.accumulate(x, 1), CUBE, ulps=0),
        Case(
            "searchsorted",
            lambda x: F.bucketize(x, np.array([-1.0, 0.0, 1.0], x.dtype)),
            lambda x: np.searchsorted([-1.0, 0.0, 1.0], x),
            CUBE,
            order=0,
        ),
        Case(
            "quantile",
            lambda x: F.quantile(x, 0.4, 1),
            lambda x: np.quantile(x, 0.4, 1).astype(x.dtype),
            CUBE,
            ulps=16,
            refused="quantile: the extent of the axis has to be known",
        ),
        Case("prod", lambda x: F.prod(x, 1), lambda x: np.prod(x, 1), CUBE, ulps=8),
        Case("cumprod", lambda x: F.cumprod(x, 1), lambda x: np.cumprod(x, 1), CUBE, ulps=8),
        Case(
            "cumprod of those before",
            lambda x: running_product(x, 1, exclusive=True),
            lambda x: np.cumprod(np.concatenate([np.ones_like(x[:, :1]), x[:, :-1]], 1), 1),
            CUBE,
            ulps=8,
        ),
        Case(
            "cumprod from the end",
            lambda x: running_product(x, 1, reverse=True),
            lambda x: np.cumprod(x[:, ::-1], 1)[:, ::-1],
            CUBE,
            ulps=8,
        ),
        Case(
            "cumprod of those after",
            lambda x: running_product(x, 1, exclusive=True, reverse=True),
            lambda x: np.cumprod(np.concatenate([np.ones_like(x[:, :1]), x[:, :0:-1]], 1), 1)[:, ::-1],
            CUBE,
            ulps=8,
        ),
        Case("logcumsumexp", lambda x: F.logcumsumexp(x, 1), lambda x: np.logaddexp.accumulate(x, 1), CUBE, ulps=8),
        Case("nanmean", lambda x: F.nanmean(x, 1), lambda x: np.nanmean(x, 1), CUBE, ulps=8),
        Case("count_nonzero", lambda x: F.count_nonzero(x, 1), lambda x: np.count_nonzero(x, 1), CUBE, order=0),
        Case("diff", lambda x: F.diff(x, 2), lambda x: np.diff(x, 2), CUBE, ulps=8),
        Case(
            "trapezoid", lambda x: F.trapezoid(x, dx=0.5), lambda x: (0.25 * (x[..., 1:] + x[..., :-1])).sum(-1), CUBE, ulps=8
        ),
        Case(
            "cov",
            F.cov,
            lambda x: np.cov(x).astype(x.dtype),
            ((real(3, 5),),),
            ulps=64,
            refused="cov: the extent of axis 0 is unknown",
        ),
        Case("var unbiased", lambda x: F.var(x, 1), lambda x: np.var(x, 1, ddof=1), CUBE, ulps=16),
    ]


def matrices(Case: Any) -> list[Any]:
    def det_cofactor(x: np.ndarray) -> np.ndarray:
        return (np.linalg.det(x)[..., None, None] * np.swapaxes(np.linalg.inv(x), -1, -2)).astype(x.dtype)

    def lu_parts(x: np.ndarray) -> Any:
        import scipy.linalg

        return scipy.linalg.lu_factor(x)

    def reflections(x: np.ndarray) -> Any:
        packed, tau = np.linalg.qr(x, "raw")
        return [packed.T, tau]

    def expm(x: np.ndarray) -> np.ndarray:
        import scipy.linalg

        return np.array([scipy.linalg.expm(m) for m in x.reshape(-1, 3, 3)], x.dtype).reshape(x.shape)

    Case = functools.partial(Case, sized=True)
    one = ((real(3, 3),),)
    tall, wide = ((real(4, 3),),), ((real(3, 4),),)
    return [
        Case("linalg_inv", lambda x: linalg.inv(regular(x)), lambda x: np.linalg.inv(regular(x)), SQUARE, ulps=256),
        Case(
            "linalg_solve",
            lambda x, b: linalg.solve(regular(x), b),
            lambda x, b: np.linalg.solve(regular(x), b),
            ((real(3, 3), real(3, 2)),),
            ulps=256,
        ),
        Case(
            "linalg_det",
            lambda x: linalg.det(regular(x)),
            lambda x: np.linalg.det(regular(x)).astype(x.dtype),
            SQUARE,
            ulps=256,
        ),
        Case(
            "linalg_cofactor",
            lambda x: record("linalg_cofactor", regular(x)),
            lambda x: det_cofactor(regular(x)),
            SQUARE,
            ulps=512,
            order=1,
        ),
        Case(
            "linalg_slogdet",
            lambda x: linalg.slogdet(regular(x)).logabsdet,
            lambda x: np.linalg.slogdet(regular(x))[1],
            SQUARE,
            ulps=256,
        ),
        Case(
            "linalg_slogdet sign",
            lambda x: linalg.slogdet(regular(x)).sign,
            lambda x: np.linalg.slogdet(regular(x))[0],
            SQUARE,
            order=0,
        ),
        Case(
            "linalg_eigh",
            lambda x: [linalg.eigh(symmetric(x)).eigenvalues, mean_of(linalg.eigh(symmetric(x)).eigenvectors)],
            lambda x: [np.linalg.eigh(symmetric(x))[0], np.linalg.eigh(symmetric(x))[1] ** 2],
            one,
            ulps=512,
        ),
        Case(
            "linalg_eigvalsh",
            lambda x: linalg.eigvalsh(symmetric(x)),
            lambda x: np.linalg.eigvalsh(symmetric(x)),
            SQUARE,
            ulps=256,
        ),
        Case("linalg_svdvals", lambda x: linalg.svdvals(x), lambda x: np.linalg.svd(x)[1], (*tall, *wide), ulps=256),
        Case(
            "linalg_eigvals",
            lambda x: F.abs(linalg.eigvals(regular(x))).sum(-1),
            lambda x: np.abs(np.linalg.eigvals(regular(x))).sum(-1),
            SQUARE,
            ulps=512,
        ),
        Case(
            "linalg_svd",
            lambda x: [linalg.svd(x).S, mean_of(linalg.svd(x, False).U), mean_of(linalg.svd(x, False).Vh)],
            lambda x: [np.linalg.svd(x)[1], np.linalg.svd(x, False)[0] ** 2, np.linalg.svd(x, False)[2] ** 2],
            ((real(4, 3),), (real(2, 4),)),
            ulps=512,
            compiled=512,
        ),
        Case(
            "linalg_qr",
            lambda x: list(linalg.qr(x)),
            lambda x: list(np.linalg.qr(x)),
            ((real(4, 3),), (real(2, 4),)),
            ulps=512,
            compiled=512,
        ),
        Case(
            "linalg_cholesky",
            lambda x: linalg.cholesky(definite(x)),
            lambda x: np.linalg.cholesky(definite(x)),
            one,
            ulps=512,
            compiled=512,
        ),
        Case(
            "linalg_cholesky_inverse",
            lambda x: F.cholesky_inverse(linalg.cholesky(definite(x))),
            lambda x: np.linalg.inv(definite(x)),
            one,
            ulps=2048,
            compiled=2048,
        ),
        Case(
            "linalg_lstsq",
            lambda x, b: linalg.lstsq(x, b).solution,
            lambda x, b: np.linalg.lstsq(x, b)[0],
            ((real(4, 3), real(4, 2)),),
            ulps=2048,
            compiled=2048,
        ),
        Case("linalg_lu_factor", lambda x: linalg.lu_factor(regular(x)).LU, lambda x: lu_parts(regular(x))[0], one, ulps=512),
        Case(
            "linalg_lu_factor of other shapes",
            lambda x: linalg.lu_factor(x + 3 * np.eye(*x.shape, dtype=x.dtype)).LU,
            lambda x: lu_parts(x + 3 * np.eye(*x.shape, dtype=x.dtype))[0],
            (*tall, *wide),
            ulps=512,
        ),
        Case(
            "linalg_apply_lu",
            lambda x, b: record("linalg_apply_lu", record("linalg_lu_factor", regular(x)), b, turned=True),
            lambda x, b: np.linalg.solve(regular(x).swapaxes(-1, -2), b),
            ((real(3, 3), real(3, 2)), (real(2, 3, 3), real(3, 2))),
            ulps=512,
            compiled=512,
        ),
        Case(
            "linalg_regular",
            lambda x: record("linalg_regular", regular(x), regular(x), of="solve"),
            lambda x: regular(x),
            one,
        ),
        Case("linalg_geqrf", lambda x: list(F.geqrf(x)), reflections, (*tall, *wide), ulps=512, order=0),
        Case(
            "linalg_ldl_solve",
            lambda x, b: linalg.ldl_solve(*linalg.ldl_factor(x + x.mT), b),
            lambda x, b: np.linalg.solve(x + x.swapaxes(-1, -2), b),
            ((real(3, 3), real(3, 2)),),
            ulps=4096,
            order=0,
        ),
        Case(
            "linalg_lu_factor pivots",
            lambda x: linalg.lu_factor(x).pivots,
            lambda x: (lu_parts(x)[1] + 1).astype(np.int32),
            one,
            order=0,
        ),
        Case(
            "lu_permutation",
            lambda x: F.matmul(linalg.lu(x).P, F.matmul(linalg.lu(x).L, linalg.lu(x).U)),
            lambda x: x,
            one,
            ulps=512,
            compiled=512,
        ),
        Case("linalg_matrix_exp", lambda x: linalg.matrix_exp(x), expm, one, ulps=512, compiled=512),
        Case("linalg_pinv", lambda x: linalg.pinv(x), lambda x: np.linalg.pinv(x), (*tall, *wide), ulps=2048, compiled=2048),
        Case("matrix_power", lambda x: linalg.matrix_power(x, 3), lambda x: np.linalg.matrix_power(x, 3), SQUARE, ulps=256),
        Case("matrix_norm", lambda x: linalg.matrix_norm(x, 1), lambda x: np.abs(x).sum(-2).max(-1), SQUARE, ulps=64),
        Case(
            "vector_norm",
            lambda x: linalg.vector_norm(x, 3, -1),
            lambda x: (np.abs(x) ** 3).sum(-1) ** (1 / 3),
            ((positive(3, 4),),),
            ulps=64,
        ),
    ]


Sample = tuple[Arg, ...]
