"""Linear algebra: products made of `matmul`, and decompositions that LAPACK computes on the host, by NumPy and SciPy."""

from . import decompositions, matrix_functions, products, triangular_factors, triangular_systems
from .products import norm
from .records import LINALG
from .triangular_systems import solve_triangular

__all__ = [
    "LINALG", "decompositions", "determinants", "low_rank", "matrix_functions", "norm", "norms", "products", "reflections",
    "solve_triangular", "solving", "triangular_factors", "triangular_systems",
]  # fmt: skip
