"""Results of several tensors, by PyTorch's names of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .operators import Tensor

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


FIELDS = {
    **dict.fromkeys(PAIRS, "values indices"),
    "aminmax": "min max",
    "frexp": "mantissa exponent",
    "eig": "eigenvalues eigenvectors",
    "eigh": "eigenvalues eigenvectors",
    "qr": "Q R",
    "svd": "U S Vh",
    "svd_v": "U S V",
    "slogdet": "sign logabsdet",
    "lu": "P L U",
    "ldl_factor": "LD pivots",
    "ldl_factor_ex": "LD pivots info",
    "lu_factor": "LU pivots",
    "lu_factor_ex": "LU pivots info",
    "lstsq": "solution residuals rank singular_values",
    "cholesky_ex": "L info",
    "inv_ex": "inverse info",
    "solve_ex": "result info",
    "triangular_solve": "solution cloned_coefficient",
    "geqrf": "a tau",
    "histogram": "hist bin_edges",
    "histogramdd": "hist bin_edges",
}
"""The fields of each type. The types are made when they are first asked for: each takes Python 0.1 ms."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in FIELDS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        made = NamedTuple("svd" if name == "svd_v" else name, [(field, Any) for field in FIELDS[name].split()])
        made.__module__ = __name__
        return globals().setdefault(name, made)
