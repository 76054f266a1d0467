"""Results of several tensors, by PyTorch's names of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..operators import Tensor


def _named(name: str, fields: str) -> Any:
    made = NamedTuple(name, [(field, Any) for field in fields.split()])  # type: ignore[misc]
    made.__module__ = __name__
    return made


PAIRS = ("max", "min", "median", "nanmedian", "mode", "sort", "topk", "kthvalue", "cummax", "cummin")
if TYPE_CHECKING:
    # as checkers see them
    class Pair(NamedTuple):
        """Values and their positions."""

        values: Tensor
        indices: Tensor

    max = min = median = nanmedian = mode = sort = topk = kthvalue = cummax = cummin = Pair

    class aminmax(NamedTuple):
        min: Tensor
        max: Tensor

    class frexp(NamedTuple):
        mantissa: Tensor
        exponent: Tensor

    class eig(NamedTuple):
        eigenvalues: Tensor
        eigenvectors: Tensor

    class eigh(NamedTuple):
        eigenvalues: Tensor
        eigenvectors: Tensor

    class qr(NamedTuple):
        Q: Tensor
        R: Tensor

    class svd(NamedTuple):
        U: Tensor
        S: Tensor
        Vh: Tensor

    class svd_v(NamedTuple):
        U: Tensor
        S: Tensor
        V: Tensor

    class slogdet(NamedTuple):
        sign: Tensor
        logabsdet: Tensor

    class lu(NamedTuple):
        P: Tensor
        L: Tensor
        U: Tensor

    class lu_factor(NamedTuple):
        LU: Tensor
        pivots: Tensor

    class lu_factor_ex(NamedTuple):
        LU: Tensor
        pivots: Tensor
        info: Tensor

    class ldl_factor(NamedTuple):
        LD: Tensor
        pivots: Tensor

    class ldl_factor_ex(NamedTuple):
        LD: Tensor
        pivots: Tensor
        info: Tensor

    class lstsq(NamedTuple):
        solution: Tensor
        residuals: Tensor
        rank: Tensor
        singular_values: Tensor

    class cholesky_ex(NamedTuple):
        L: Tensor
        info: Tensor

    class inv_ex(NamedTuple):
        inverse: Tensor
        info: Tensor

    class solve_ex(NamedTuple):
        result: Tensor
        info: Tensor

    class triangular_solve(NamedTuple):
        solution: Tensor
        cloned_coefficient: Tensor

    class geqrf(NamedTuple):
        a: Tensor
        tau: Tensor

    class histogram(NamedTuple):
        hist: Tensor
        bin_edges: Tensor

    class histogramdd(NamedTuple):
        hist: Tensor
        bin_edges: tuple[Tensor, ...]
else:
    for _name in PAIRS:
        globals()[_name] = _named(_name, "values indices")
    aminmax = _named("aminmax", "min max")
    frexp = _named("frexp", "mantissa exponent")
    eig = _named("eig", "eigenvalues eigenvectors")
    eigh = _named("eigh", "eigenvalues eigenvectors")
    qr = _named("qr", "Q R")
    svd = _named("svd", "U S Vh")
    svd_v = _named("svd", "U S V")
    slogdet = _named("slogdet", "sign logabsdet")
    lu = _named("lu", "P L U")
    ldl_factor = _named("ldl_factor", "LD pivots")
    ldl_factor_ex = _named("ldl_factor_ex", "LD pivots info")
    lu_factor = _named("lu_factor", "LU pivots")
    lu_factor_ex = _named("lu_factor_ex", "LU pivots info")
    lstsq = _named("lstsq", "solution residuals rank singular_values")
    cholesky_ex = _named("cholesky_ex", "L info")
    inv_ex = _named("inv_ex", "inverse info")
    solve_ex = _named("solve_ex", "result info")
    triangular_solve = _named("triangular_solve", "solution cloned_coefficient")
    geqrf = _named("geqrf", "a tau")
    histogram = _named("histogram", "hist bin_edges")
    histogramdd = _named("histogramdd", "hist bin_edges")
