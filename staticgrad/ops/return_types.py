"""Results of several tensors, by PyTorch's names of them."""

from __future__ import annotations

from typing import Any, NamedTuple


def _named(name: str, fields: str) -> Any:
    made = NamedTuple(name, [(field, Any) for field in fields.split()])  # type: ignore[misc]
    made.__module__ = __name__
    return made


PAIRS = ("max", "min", "median", "nanmedian", "mode", "sort", "topk", "kthvalue", "cummax", "cummin")
for _name in PAIRS:
    globals()[_name] = _named(_name, "values indices")
aminmax = _named("aminmax", "min max")
frexp = _named("frexp", "mantissa exponent")
eigh = _named("eigh", "eigenvalues eigenvectors")
qr = _named("qr", "Q R")
svd = _named("svd", "U S Vh")
svd_v = _named("svd", "U S V")
slogdet = _named("slogdet", "sign logabsdet")
lu = _named("lu", "P L U")
lu_factor = _named("lu_factor", "LU pivots")
lu_factor_ex = _named("lu_factor_ex", "LU pivots info")
lstsq = _named("lstsq", "solution residuals rank singular_values")
cholesky_ex = _named("cholesky_ex", "L info")
inv_ex = _named("inv_ex", "inverse info")
solve_ex = _named("solve_ex", "result info")
triangular_solve = _named("triangular_solve", "solution cloned_coefficient")
geqrf = _named("geqrf", "a tau")
histogram = _named("histogram", "hist bin_edges")
