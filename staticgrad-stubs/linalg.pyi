"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""

from typing import Any

from .errors import LinAlgError
from .ops import return_types
from .ops.operators.annotations import TensorLike
from .ops.operators.interface import Tensor

def cholesky(A: Any, *, upper: bool = False, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """L with A = L L.H, of symmetric positive definite matrices; L.H for upper=True. Raises LinAlgError.

    Examples:
        >>> sg.linalg.cholesky(sg.tensor([[4.0, 0.0], [0.0, 9.0]]))
        tensor([[2., 0.],
                [0., 3.]])
    """

def cholesky_ex(
    A: Any,
    *,
    upper: bool = False,
    check_errors: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.cholesky_ex:
    """The named tuple (L, info) of `cholesky`."""

def cond(A: Any, p: Any = None, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The condition number: |A| |inv(A)| in the norm p; for None and 2 the quotient of singular values."""

def cross(
    input: Any,
    other: Any,
    *,
    dim: int = -1,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
) -> Tensor:
    """The cross products of vectors of three elements along `dim`, broadcast. Raises ShapeError for other extents."""

def det(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The determinant of square matrices.

    Examples:
        >>> sg.linalg.det(sg.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor(8.)
    """

def diagonal(
    A: Any,
    *,
    offset: int = 0,
    dim1: int = -2,
    dim2: int = -1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """A diagonal of matrices: that at `offset`, of two axes."""

def eig(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> return_types.eig:
    """The named tuple (eigenvalues, eigenvectors) of square matrices, complex. The gradient is that of eigenvectors of
    norm 1
    whose phases don't change the loss.
    """

def eigh(A: Any, UPLO: str = 'L', *, out: Tensor | tuple[Tensor, ...] | None = None) -> return_types.eigh:
    """The named tuple (eigenvalues, eigenvectors) of symmetric matrices, of which one triangle is read; ascending."""

def eigvals(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The eigenvalues of square matrices, complex."""

def eigvalsh(A: Any, UPLO: str = 'L', *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The eigenvalues of symmetric matrices, ascending.

    Examples:
        >>> sg.linalg.eigvalsh(sg.tensor([[2.0, 0.0], [0.0, 3.0]]))
        tensor([2., 3.])
    """

def householder_product(A: Any, tau: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The first columns of the product of Householder reflections I - tau v v.H, whose v lie below A's diagonal."""

def inv(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The inverse of square matrices. Raises ShapeError, LinAlgError for a singular one.

    Examples:
        >>> sg.linalg.inv(sg.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """

def inv_ex(
    A: Any,
    *,
    check_errors: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.inv_ex:
    """The named tuple (inverse, info) of `inv`."""

def ldl_factor(
    A: Any,
    *,
    hermitian: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.ldl_factor:
    """The named tuple (LD, pivots) with A = L D L.T (L.H where hermitian), of which the lower triangle is read: L below
    the
    diagonal, D of blocks of one or two rows on and below it. It has no derivative.
    """

def ldl_factor_ex(
    A: Any,
    *,
    hermitian: bool = False,
    check_errors: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.ldl_factor_ex:
    """The named tuple (LD, pivots, info)."""

def ldl_solve(
    LD: Any,
    pivots: Any,
    B: Any,
    *,
    hermitian: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """X with A X = B, from `ldl_factor`'s results. It has no derivative. Raises ShapeError, DTypeError."""

def lstsq(
    A: Any,
    B: Any,
    rcond: float | None = None,
    *,
    driver: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.lstsq:
    """The named tuple (solution, residuals, rank, singular_values) that minimizes |A X - B|.

    As with PyTorch's default driver, the last two are empty, and residuals are given where A has more rows than columns.
    """

def lu(A: Any, *, pivot: bool = True, out: Tensor | tuple[Tensor, ...] | None = None) -> return_types.lu:
    """The named tuple (P, L, U) with A = P L U."""

def lu_factor(A: Any, *, pivot: bool = True, out: Tensor | tuple[Tensor, ...] | None = None) -> return_types.lu_factor:
    """The named tuple (LU, pivots). Raises ArgumentError for pivot=False."""

def lu_factor_ex(
    A: Any,
    *,
    pivot: bool = True,
    check_errors: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.lu_factor_ex:
    """The named tuple (LU, pivots, info)."""

def lu_solve(
    LU: Any,
    pivots: Any,
    B: Any,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """X with A X = B from `lu_factor`'s results; X A = B for left=False, with A.H for adjoint=True."""

def matmul(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The matrix product with NumPy's rules: 1-D operands are rows or columns, leading axes are batches and broadcast.

    Shapes (..., n, k) @ (..., k, m) -> (..., n, m). Raises ShapeError when inner sizes differ or an operand is 0-d.

    Examples:
        >>> sg.matmul(sg.ones(2, 3), sg.ones(3, 4)).shape
        torch.Size([2, 4])
    """

def matrix_exp(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The exponential of square matrices."""

def matrix_norm(
    A: Any,
    ord: Any = 'fro',
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = (-2, -1),
    keepdims: bool = False,
) -> Tensor:
    """The norm of matrices in two axes: "fro", "nuc", inf, -inf, 1, -1, 2, -2. Raises ArgumentError for another one."""

def matrix_power(A: Any, n: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The product of n times the matrix A; of its inverse for a negative n. The gradient of the power 0 is 0."""

def matrix_rank(
    A: Any,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """How many singular values are above max(atol, rtol * the largest one); int64."""

def multi_dot(tensors: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The product of matrices, in the order that needs the fewest operations; the first and the last may be vectors."""

def norm(
    A: Any,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """`vector_norm` along one axis, or of all elements; `matrix_norm` along two, or of a matrix where `ord` is given.

    Examples:
        >>> sg.linalg.norm(sg.tensor([[3.0, 4.0]]))
        tensor(5.)
    """

def pinv(
    A: Any,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The pseudoinverse; singular values up to max(atol, rtol * the largest one) count as 0."""

def qr(A: Any, mode: str = 'reduced', *, out: Tensor | tuple[Tensor, ...] | None = None) -> return_types.qr:
    """The named tuple (Q, R) with A = Q R: Q orthonormal, R upper triangular. mode: "reduced", "complete", or "r".

    Examples:
        >>> q, r = sg.linalg.qr(sg.tensor([[3.0, 1.0], [4.0, 1.0]]))
        >>> sg.allclose(q @ r, sg.tensor([[3.0, 1.0], [4.0, 1.0]]), atol=1e-5)
        True
    """

def slogdet(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> return_types.slogdet:
    """The named tuple (sign, logabsdet) of square matrices."""

def solve(A: Any, B: Any, *, left: bool = True, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """X with A X = B, or X A = B for left=False. B: matrices, or vectors. Raises ShapeError, LinAlgError.

    Examples:
        >>> sg.linalg.solve(sg.tensor([[2.0, 0.0], [0.0, 4.0]]), sg.tensor([2.0, 4.0]))
        tensor([1., 1.])
    """

def solve_ex(
    A: Any,
    B: Any,
    *,
    left: bool = True,
    check_errors: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.solve_ex:
    """The named tuple (result, info) of `solve`."""

def solve_triangular(
    A: Any,
    B: Any,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`solve` with the upper or the lower triangle of A, whose diagonal counts as 1 where it is unitriangular. The other
    triangle is not read; a 0 on the diagonal gives infinities.
    """

def svd(
    A: Any,
    full_matrices: bool = True,
    *,
    driver: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.svd:
    """The named tuple (U, S, Vh) with A = U diag(S) Vh. Gradients need different singular values."""

def svdvals(A: Any, *, driver: str | None = None, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The singular values, descending.

    Examples:
        >>> sg.linalg.svdvals(sg.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor([4., 3.])
    """

def tensorinv(A: Any, ind: int = 2, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The inverse for `tensordot(..., ind)`. Raises ArgumentError, ShapeError."""

def tensorsolve(A: Any, B: Any, dims: Any = None, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B."""

def vander(x: Any, *, N: int | None = None, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Powers of the last axis along a new last one: 1, x, x**2, ... A number is a vector of one element. Of integers
    int64."""

def vecdot(x: Any, y: Any, *, dim: int = -1, out: Tensor | tuple[Tensor, ...] | None = None, axis: int = -1) -> Tensor:
    """Sums of products along one axis, broadcast; the first operand is conjugated."""

def vector_norm(
    x: Any,
    ord: Any = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """(sum |x|**ord)**(1 / ord) over `dim`, of all elements for None; ord inf, -inf: the largest, the smallest |x|; 0: how
    many
    are not 0. Where it is 0, its derivative is 0.
    """

__all__ = [
    "LinAlgError",
    "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "householder_product",
    "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve",
    "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet",
    "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip
