"""Linear algebra: products made of `matmul`, and decompositions that LAPACK computes on the host, by NumPy and SciPy."""

from . import decompositions, determinants, matrix_functions, norms, products, solving, triangular_factors
from .norms import norm
from .records import LINALG
from .solving import solve_triangular

__all__ = [
    "LINALG", "decompositions", "determinants", "matrix_functions", "norm", "norms", "products", "solve_triangular",
    "solving", "triangular_factors",
]  # fmt: skip
