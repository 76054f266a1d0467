"""`sg.linalg`: PyTorch's functions of matrices. Products run natively, decompositions are LAPACK's."""

from __future__ import annotations

from .base.module_paths import refusing
from .errors import LinAlgError
from .ops.linear_algebra import LINALG

# names ----------------------------------------------------------------------------------------------------------------

cholesky = LINALG["cholesky"]
cholesky_ex = LINALG["cholesky_ex"]
cond = LINALG["cond"]
cross = LINALG["cross"]
det = LINALG["det"]
diagonal = LINALG["diagonal"]
eig = LINALG["eig"]
eigh = LINALG["eigh"]
eigvals = LINALG["eigvals"]
eigvalsh = LINALG["eigvalsh"]
householder_product = LINALG["householder_product"]
inv = LINALG["inv"]
inv_ex = LINALG["inv_ex"]
ldl_factor = LINALG["ldl_factor"]
ldl_factor_ex = LINALG["ldl_factor_ex"]
ldl_solve = LINALG["ldl_solve"]
lstsq = LINALG["lstsq"]
lu = LINALG["lu"]
lu_factor = LINALG["lu_factor"]
lu_factor_ex = LINALG["lu_factor_ex"]
lu_solve = LINALG["lu_solve"]
matmul = LINALG["matmul"]
matrix_exp = LINALG["matrix_exp"]
matrix_norm = LINALG["matrix_norm"]
matrix_power = LINALG["matrix_power"]
matrix_rank = LINALG["matrix_rank"]
multi_dot = LINALG["multi_dot"]
norm = LINALG["norm"]
pinv = LINALG["pinv"]
qr = LINALG["qr"]
slogdet = LINALG["slogdet"]
solve = LINALG["solve"]
solve_ex = LINALG["solve_ex"]
solve_triangular = LINALG["solve_triangular"]
svd = LINALG["svd"]
svdvals = LINALG["svdvals"]
tensorinv = LINALG["tensorinv"]
tensorsolve = LINALG["tensorsolve"]
vander = LINALG["vander"]
vecdot = LINALG["vecdot"]
vector_norm = LINALG["vector_norm"]

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm",
    "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals",
    "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip

__getattr__ = refusing(__name__, __all__)
