"""Products of matrices and vectors, made of `matmul`; Einstein summation; norms; a few singular vectors of large matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.types import INEXACT, broadcast_shapes, int64, normalize_axis, shape_text
from ...errors import ArgumentError, ShapeError
from ..indexing import cut
from ..linear import matmul, outer
from ..operands import dtype_of, extent, extents, integer, ndim_of, operand
from ..operators import (
    F,
    Operators,
    Tensor,
    TensorLike,
    autocasts,
    composite,
    enter_as,
    is_tensor,
    numpy_twin,
    one_node,
    public,
    routed,
    spelled,
    torch_function,
)
from ..rearranging import movedim
from ..reductions import root
from ..shaping import backwards
from .decompositions import eigh, qr_packed, svd_packed, svdvals
from .records import LINALG, as_floats, check_matrices, check_square, linalg
from .triangular_factors import _linalg_cholesky
from .triangular_systems import triangular


def _of_axes(name: str, *operands: tuple[Any, int]) -> None:
    """Raises ShapeError unless each operand has its number of axes."""
    for x, n in operands:
        if ndim_of(x) != n:
            raise ShapeError(f"{name}: expected a {n}D tensor, got {ndim_of(x)}D", "matmul takes any number of axes")


@torch_function(names=("spmm",), cached=routed)
def mm(input: Any, mat2: Any) -> Tensor:
    """The product of two matrices. Raises ShapeError.

    Examples:
        >>> sg.mm(sg.tensor([[1.0, 2.0]]), sg.tensor([[3.0], [4.0]]))
        tensor([[11.]])
    """
    _of_axes("mm", (input, 2), (mat2, 2))
    return F.matmul(input, mat2)


@torch_function()
def bmm(input: Any, mat2: Any) -> Tensor:
    """The products of two batches of matrices, (b, n, m) and (b, m, p). Raises ShapeError.

    Examples:
        >>> sg.bmm(sg.ones(5, 2, 3), sg.ones(5, 3, 4)).shape
        torch.Size([5, 2, 4])
    """
    _of_axes("bmm", (input, 3), (mat2, 3))
    return F.matmul(input, mat2)


@torch_function(cached=routed)
@autocasts
def mv(input: Any, vec: Any) -> Tensor:
    """The product of a matrix and a vector. Raises ShapeError.

    Examples:
        >>> sg.mv(sg.tensor([[1.0, 2.0], [3.0, 4.0]]), sg.tensor([1.0, 1.0]))
        tensor([3., 7.])
    """
    _of_axes("mv", (input, 2), (vec, 1))
    return F.matmul(input, vec)


def _blend(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * product; an input with beta 0 is not read."""
    if dtype_of(product).kind not in INEXACT:  # of integers the factors are integers, of booleans truth values
        convert = bool if dtype_of(product).kind == "b" else int
        alpha, beta = convert(alpha), convert(beta)
        if convert is bool:
            product = F.logical_and(product, alpha)
            return F.logical_or(F.logical_and(input, beta), product)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        shape = broadcast_shapes(tuple(input.shape), tuple(product.shape))
        return F.broadcast_to(product, shape) if shape != tuple(product.shape) else product
    return (input if beta == 1 else input * beta) + product


@torch_function(inplace=True)
@composite
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    return _blend(input, mm(mat1, mat2), beta, alpha)


@torch_function(inplace=True)
@composite
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
    return _blend(input, mv(mat, vec), beta, alpha)


@torch_function(inplace=True)
@composite
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""
    _of_axes("addr", (vec1, 1), (vec2, 1))
    return _blend(input, F.outer(vec1, vec2), beta, alpha)


@torch_function(inplace=True)
@composite
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * the sum over the batch of batch1 @ batch2."""
    products = bmm(batch1, batch2)
    return _blend(input, F.astype(F.sum(products, 0), products.dtype), beta, alpha)


@torch_function(inplace=True)
@composite
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2)."""
    return _blend(input, bmm(batch1, batch2), beta, alpha)


@torch_function(np.vdot)
@autocasts
def vdot(input: Any, other: Any) -> Tensor:
    """The product of two vectors, of which the first is conjugated."""
    _of_axes("vdot", (input, 1), (other, 1))
    return F.matmul(F.conj(input), other)


enter_as("ger", outer)


@torch_function(np.inner)
def inner(input: Any, other: Any) -> Tensor:
    """Sums of products over the last axes of both operands."""
    if not ndim_of(input) or not ndim_of(other):
        return input * other
    return tensordot(input, other, ([-1], [-1]))


@torch_function(np.tensordot, method=False)
def tensordot(a: Any, b: Any, dims: Any = 2) -> Tensor:
    """Sums of products over axes of a and of b: `dims` of a's last and b's first, or two lists of axes."""
    if is_tensor(dims):
        dims = dims.tolist()
    n, m = ndim_of(a), ndim_of(b)
    if not isinstance(dims, (list, tuple)):
        dims = integer("tensordot", "dims", dims)
        if dims < 0:
            raise ArgumentError(f"tensordot expects dims >= 0, but got dims={dims}")
        left, right = list(range(n - dims, n)), list(range(dims))
    else:
        left, right = ([normalize_axis(d, k) for d in (g if isinstance(g, (list, tuple)) else (g,))]
                       for g, k in zip(dims, (n, m), strict=True))  # fmt: skip
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    first = [next(letters) for _ in range(n)]
    second = [next(letters) for _ in range(m)]
    for i, j in zip(left, right, strict=True):
        second[j] = first[i]
    kept = [s for i, s in enumerate(first) if i not in left] + [s for j, s in enumerate(second) if j not in right]
    return F.einsum(f"{''.join(first)},{''.join(second)}->{''.join(kept)}", a, b)


@torch_function(method=False)
def chain_matmul(*matrices: Any) -> Tensor:
    """The product of matrices, in the order that needs the fewest operations."""
    return multi_dot(matrices[0] if len(matrices) == 1 and not isinstance(matrices[0], Operators) else matrices)


@linalg()
def multi_dot(tensors: Any) -> Any:
    """The product of matrices, in the order that needs the fewest operations; the first and the last may be vectors."""
    given = list(tensors)
    if len(given) < 2:
        raise ArgumentError("linalg.multi_dot(): expected at least 2 tensors", f"got {len(given)}")
    first, last = ndim_of(given[0]) == 1, ndim_of(given[-1]) == 1
    given[0] = F.expand_dims(given[0], 0) if first else given[0]
    given[-1] = F.expand_dims(given[-1], 1) if last else given[-1]
    sizes = [extent("multi_dot", given[0], 0), *(extent("multi_dot", t, 1) for t in given)]
    cost: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(given))}
    for length in range(1, len(given)):
        for i in range(len(given) - length):
            j = i + length
            cost[i, j] = min(
                (cost[i, k][0] + cost[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def product(i: int, j: int) -> Any:
        k = cost[i, j][1]
        return given[i] if i == j else F.matmul(product(i, k), product(k + 1, j))

    out = product(0, len(given) - 1)
    out = F.squeeze(out, 0) if first else out
    return F.squeeze(out, -1) if last else out


@linalg()
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """Sums of products along one axis, broadcast; the first operand is conjugated."""
    return F.sum(F.conj(x) * y, dim)


@linalg(name="cross")
def _linalg_cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """The cross products of vectors of three elements along `dim`, broadcast. Raises ShapeError for other extents."""
    if ndim_of(input) != ndim_of(other):
        raise ShapeError("linalg.cross: inputs must have the same number of dimensions.", "give one more axes of extent 1")
    axis = normalize_axis(dim, ndim_of(input))
    x, y = F.broadcast_tensors(input, other)
    if extent("cross", input, axis) != 3 or extent("cross", other, axis) != 3:
        got = f"{input.shape[axis]} and {other.shape[axis]}"
        raise ShapeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {got}")
    a, b = ([cut(v, axis, i, i + 1) for i in range(3)] for v in (x, y))
    return F.concatenate([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], axis)


@torch_function()
def cross(input: Any, other: Any, dim: int | None = None) -> Tensor:
    """The cross products along `dim`, the first axis of extent 3 unless given.

    Examples:
        >>> sg.cross(sg.tensor([1.0, 0.0, 0.0]), sg.tensor([0.0, 1.0, 0.0]), dim=0)
        tensor([0., 0., 1.])
    """
    if dim is None:
        found = [i for i, d in enumerate(input.shape) if d == 3]
        if not found:
            raise ShapeError("no dimension of size 3 in input", f"got {shape_text(input.shape)}")
        dim = found[0]
    return _linalg_cross(input, other, dim=dim)


@torch_function(np.trace)
@composite
def trace(input: Any) -> Tensor:
    """The sum of the diagonal of a matrix.

    Examples:
        >>> sg.trace(sg.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor(5.)
    """
    _of_axes("trace", (input, 2))
    return F.sum(F.diagonal(input))


LINALG["matmul"] = matmul


def _linalg_diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """A diagonal of matrices: that at `offset`, of two axes."""
    return F.diagonal(A, offset, dim1, dim2)


_linalg_diagonal.__name__ = _linalg_diagonal.__qualname__ = "diagonal"
LINALG["diagonal"] = spelled(_linalg_diagonal)


@linalg(name="vander")
def _linalg_vander(x: Any, *, N: int | None = None) -> Any:
    """Powers of the last axis along a new last one: 1, x, x**2, ... A number is a vector of one element. Of integers int64."""
    x = F.astype(x, int64) if dtype_of(x).kind in "biu" else x
    if not ndim_of(x):
        x = F.expand_dims(x, 0)
    count = extent("vander", x, ndim_of(x) - 1) if N is None else integer("vander", "N", N)
    if count < 1:
        raise ArgumentError(f"linalg.vander: N must be greater than 1, got {count}")
    columns = [F.ones_like(x)]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    return F.stack(columns, -1)


@linalg(public=True, twin=np.linalg.matrix_power)
def matrix_power(A: Any, n: int) -> Tensor:
    """The product of n times the matrix A; of its inverse for a negative n. The gradient of the power 0 is 0."""
    check_square("matrix_power", A)
    n = integer("matrix_power", "n", n)
    if n < 0:
        A, n = LINALG["inv"](A), -n
    if n == 1:
        return F.clone(A)
    result: Tensor | None = None
    while n:
        if n & 1:
            result = A if result is None else F.matmul(result, A)
        A, n = F.matmul(A, A) if n > 1 else A, n >> 1
    if result is None:
        result = F.where(np.True_, np.eye(extent("matrix_power", A, ndim_of(A) - 1), dtype=dtype_of(A)), A)
    return result


# norms of vectors and matrices ----------------------------------------------------------------------------------------


@linalg()
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """(sum |x|**ord)**(1 / ord) over `dim`, of all elements for None; ord inf, -inf: the largest, the smallest |x|; 0: how many
    are not 0. Where it is 0, its derivative is 0."""
    x = as_floats(x, dtype)
    x = F.abs(x) if x.dtype.kind == "c" else x
    ord = 2.0 if ord is None else ord if isinstance(ord, float) else float(ord)
    if ord == 2:
        return root(F.sum(F.square(x), dim, keepdim))
    if ord == 0:
        return F.sum(F.square(F.sign(F.where(F.ne(x, x), 1, x))), dim, keepdim)  # NaN is not 0
    size = F.abs(x)
    if ord == 1:
        return F.sum(size, dim, keepdim)
    if abs(ord) == math.inf:
        return (F.amax if ord > 0 else F.amin)(size, dim, keepdim)
    zero, edge = F.eq(size, 0), 0.0 if ord > 0 else math.inf
    total = F.sum(F.where(zero, edge, F.pow(F.where(zero, 1.0, size), ord)), dim, keepdim)
    nothing = F.eq(total, edge)
    return F.where(nothing, 0.0, F.pow(F.where(nothing, 1.0, total), 1 / ord))


def _largest(sizes: Any, axis: int, keepdim: bool = False) -> Any:
    """The largest of numbers >= 0; 0 of none."""
    return (F.amax if sizes.shape[axis] != 0 else F.sum)(sizes, axis, keepdim)


@linalg()
def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of matrices in two axes: "fro", "nuc", inf, -inf, 1, -1, 2, -2. Raises ArgumentError for another one."""
    x = as_floats(A, dtype)
    n = ndim_of(x)
    a, b = (normalize_axis(d, n) for d in dim)
    if a == b:
        raise ArgumentError(f"linalg.matrix_norm: dims must be different. Got {dim}")
    if ord == "fro":
        return vector_norm(x, 2, (a, b), keepdim)
    if ord in (1, -1, math.inf, -math.inf):
        first, second = (a, b) if abs(ord) == 1 else (b, a)
        sums = F.sum(F.abs(x), first, True)
        out = _largest(sums, second, True) if ord > 0 else F.amin(sums, second, True)
    elif ord in ("nuc", 2, -2):
        values = svdvals(movedim(x, (a, b), (-2, -1)))
        out = F.sum(values, -1) if ord == "nuc" else _largest(values, -1) if ord == 2 else F.amin(values, -1)
        return F.expand_dims(out, tuple(sorted((a, b)))) if keepdim else out
    else:
        raise ArgumentError(f"linalg.matrix_norm: Order {ord} not supported.")
    return out if keepdim else F.squeeze(out, (a, b))


@linalg(name="norm")
def _linalg_norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`vector_norm` along one axis, or of all elements; `matrix_norm` along two, or of a matrix where `ord` is given.

    Examples:
        >>> sg.linalg.norm(sg.tensor([[3.0, 4.0]]))
        tensor(5.)
    """
    if dim is not None:
        axes = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
        if len(axes) == 2 and ord is not None:
            return matrix_norm(A, ord, axes, keepdim, dtype=dtype)
        return vector_norm(A, 2 if ord is None else ord, axes, keepdim, dtype=dtype)
    if ord is None:
        x = as_floats(A, dtype)
        out = vector_norm(F.reshape(x, (-1,)))
        return F.reshape(out, (1,) * ndim_of(x)) if keepdim else out
    return (vector_norm if ndim_of(A) == 1 else matrix_norm)(A, ord, keepdim=keepdim, dtype=dtype)


@numpy_twin(np.linalg.norm)
def _numpy_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return _linalg_norm(x, ord, axis, keepdims)


@torch_function()
@composite
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The p-norm of the elements along `dim`, of all for None; "fro" is 2, "nuc" the sum of singular values of a matrix.

    Examples:
        >>> sg.norm(sg.tensor([3.0, 4.0]))
        tensor(5.)
    """
    if p == "nuc":
        if dim is None:
            result: Tensor = matrix_norm(input, "nuc", (-2, -1), keepdim, dtype=dtype)
            return result
        result = matrix_norm(input, "nuc", dim, keepdim, dtype=dtype)
        return result
    order = 2 if p in ("fro", None) else p
    if isinstance(order, str):
        raise ArgumentError(f"norm: only 'fro' and 'nuc' are names of norms, got {p!r}")
    if dim is None or dim in ((), []):
        x = as_floats(input, dtype)
        out = vector_norm(F.reshape(x, (-1,)), order)
        return F.reshape(out, (1,) * ndim_of(x)) if keepdim else out
    result = vector_norm(input, order, dim, keepdim, dtype=dtype)
    return result


@torch_function(inplace=True)
@composite
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Tensor:
    """`input` whose slices along `dim` have a p-norm of at most `maxnorm`."""
    axis = normalize_axis(dim, ndim_of(input))
    others = tuple(i for i in range(ndim_of(input)) if i != axis)
    size = vector_norm(input, p, others, True)
    return input * F.where(F.gt(size, maxnorm), maxnorm / (size + 1e-7), F.ones_like(size))


@torch_function()
@composite
def dist(input: Any, other: Any, p: float = 2) -> Tensor:
    """The p-norm of input - other."""
    return vector_norm(F.reshape(input - other, (-1,)), p)


@torch_function(method=False)
@composite
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The p-norms of the differences of rows: (..., n, d) and (..., m, d) give (..., n, m). Raises ShapeError."""
    if extent("cdist", x1, ndim_of(x1) - 1) != extent("cdist", x2, ndim_of(x2) - 1):
        raise ShapeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    return vector_norm(F.expand_dims(x1, ndim_of(x1) - 1) - F.expand_dims(x2, ndim_of(x2) - 2), p, -1)


# a few singular vectors or eigenvectors of large matrices ------------------------------------------------------------


def _basis(A: Any, q: int, niter: int) -> Any:
    """q orthonormal columns that nearly span A's. Source: Halko, Martinsson and Tropp, "Finding structure with randomness",
    2009, algorithm 4.4."""
    (n,) = extents("svd_lowrank", A, -1)
    draws = F.randn_like(F.broadcast_to(F.zeros_like(F.sum(F.stop_gradient(A))), (n, q)))
    span = qr_packed(F.matmul(A, draws), mode="reduced")[0]
    for _ in range(niter):
        span = qr_packed(F.matmul(F.adjoint(A), span), mode="reduced")[0]
        span = qr_packed(F.matmul(A, span), mode="reduced")[0]
    return span


@torch_function(method=False)
def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with A - M close to U diag(S) V.H, of q columns, found with `niter` rounds from random vectors."""
    check_matrices("svd_lowrank", A)
    x = as_floats(A) if M is None else as_floats(A) - F.broadcast_to(as_floats(M), A.shape)
    m, n = extents("svd_lowrank", x, -2)
    wide = m < n
    x = F.adjoint(x) if wide else x
    q, niter = (default if v is None else integer("svd_lowrank", w, v) for w, v, default in (("q", q, 6), ("niter", niter, 2)))
    span = _basis(x, q, niter)
    u, s, vh = svd_packed(F.matmul(F.adjoint(span), x), full=False)
    u, v = F.matmul(span, u), F.adjoint(vh)
    return (v, s, u) if wide else (u, s, v)


@torch_function(method=False)
def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) of `svd_lowrank` for A whose columns have their means taken away, unless center is False: V's columns are the
    principal directions. q: min(6, m, n) unless given. Raises ArgumentError."""
    check_matrices("pca_lowrank", A)
    m, n = extents("pca_lowrank", A, -2)
    q = min(6, m, n) if q is None else integer("pca_lowrank", "q", q)
    if not 0 <= q <= min(m, n):
        raise ArgumentError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ArgumentError(f"niter(={niter}) must be non-negative integer")
    x = as_floats(A)
    return svd_lowrank(x - F.mean(x, -2, True) if center else x, q, niter)


@torch_function(method=False)
def lobpcg(
    A: Any, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None, iK: Any = None, niter: int | None = None,
    tol: float | None = None, largest: bool | None = None, method: str | None = None, tracker: Any = None,
    ortho_iparams: Any = None, ortho_fparams: Any = None, ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The k largest (or smallest) eigenvalues and their vectors, A v = w B v, of symmetric A and positive definite B.

    LAPACK finds all of them at once, so start values (X), preconditioners (iK) and what else steers PyTorch's iteration change
    nothing. Raises ArgumentError for a tracker, which there is no iteration to call.
    """
    if tracker is not None:
        raise ArgumentError("lobpcg: there is no iteration here that a tracker could follow", "leave tracker out")
    check_square("lobpcg", A)
    m = extents("lobpcg", A, -1)[0]
    count = (1 if X is None else X.shape[-1]) if k is None else integer("lobpcg", "k", k)
    if not 0 < count <= m:
        raise ShapeError(f"lobpcg: k has to be in 1 to {m}, got {count}")
    x = as_floats(A)
    if B is None:
        values, vectors = eigh(x)
    else:
        factor = _linalg_cholesky(B)
        inner = triangular(factor, F.swapaxes(triangular(factor, x, upper=False), -1, -2), upper=False)
        values, whitened = eigh(inner)
        vectors = triangular(F.swapaxes(factor, -1, -2), whitened, upper=True)
    axis = ndim_of(x) - 2
    if largest is False:
        return cut(values, axis, 0, count), cut(vectors, axis + 1, 0, count)
    return backwards(cut(values, axis, m - count, m), (axis,)), backwards(cut(vectors, axis + 1, m - count, m), (axis + 1,))


# Einstein summation: a chain of products of two, each a batched matrix product or an elementwise one ------------------

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
MOST = 5
"""Operands whose orders are all tried."""
UNLIMITED = 1 << 62
"""Elements of a product on the way."""


@public
@numpy_twin(np.einsum)
@one_node
def einsum(equation: str, *operands: TensorLike) -> Tensor:
    """The sum over repeated subscripts, `einsum("bij,bjk->bik", x, y)`; "..." stands for axes that broadcast.

    A subscript that the result lacks is summed over; without "->" the result has those that occur once, in alphabetical
    order. Several operands are joined in the cheapest order of pairs. Raises ArgumentError for a malformed
    equation, ShapeError for extents that don't fit.

    Examples:
        >>> sg.einsum("ij,j->i", sg.tensor([[1.0, 2.0], [3.0, 4.0]]), sg.tensor([1.0, 10.0]))
        tensor([21., 43.])
    """
    if not isinstance(equation, str):
        raise ArgumentError(f"einsum(): the first argument is the equation, got {type(equation).__name__}")
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    values = [operand(x) for x in given]
    terms, result = _parsed(equation, [len(x.shape) for x in values])
    _check_extents(terms, values)
    pairs = [_without_repeats(*pair) for pair in zip(terms, values, strict=True)]
    for i, j in _order(terms, result, values):
        second, first = pairs.pop(max(i, j)), pairs.pop(min(i, j))
        kept = set(result).union(*(term for term, _ in pairs))
        pairs.append(_product(first, second, kept))
    (term, x), *_ = pairs
    x = _summed(term, x, set(result))[1]
    term = "".join(s for s in term if s in result)
    if term != result:
        return F.permute(x, tuple(term.index(s) for s in result))
    return F.reshape(x, x.shape) if x is values[0] and None not in x.shape else x  # a view


def _parsed(equation: str, ndims: list[int]) -> tuple[list[str], str]:
    """The operands' subscripts and the result's, with letters in the place of "..."."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) > len(ndims):
        raise ArgumentError("einsum(): fewer operands were provided than specified in the equation")
    if len(parts) < len(ndims):
        raise ArgumentError("einsum(): more operands were provided than specified in the equation")
    used = set(text)
    free = [s for s in LETTERS if s not in used]
    spread = max((n - len(p.replace("...", "")) for p, n in zip(parts, ndims, strict=True) if "..." in p), default=0)
    if spread < 0 or spread > len(free):
        raise ArgumentError(f"einsum(): the ellipsis of {equation!r} does not fit the operands")
    wild = "".join(free[:spread])
    terms = []
    for i, (part, n) in enumerate(zip(parts, ndims, strict=True)):
        named = part.replace("...", "")
        if not set(named) <= set(LETTERS):
            raise ArgumentError(f"einsum(): invalid subscript given in {equation!r}, subscripts must be in [a-zA-Z]")
        if "..." not in part and len(named) != n:
            raise ArgumentError(
                f"einsum(): the number of subscripts in the equation ({len(named)}) does not match the number of "
                f"dimensions ({n}) for operand {i} and no ellipsis was given"
            )
        if "..." in part and len(named) > n:
            raise ArgumentError(
                f"einsum(): the number of subscripts in the equation ({len(named)}) is more than the number of "
                f"dimensions ({n}) for operand {i}"
            )
        terms.append(part.replace("...", wild[spread - (n - len(named)) :]) if "..." in part else named)
    joined = "".join(p.replace("...", "") for p in parts)
    if not arrow:
        return terms, wild + "".join(sorted(s for s in set(joined) if joined.count(s) == 1))
    result = right.replace("...", wild)
    for s in result:
        if s not in wild and s not in joined:
            raise ArgumentError(f"einsum(): output subscript {s} does not appear in the equation for any input operand")
        if result.count(s) > 1:
            raise ArgumentError(f"einsum(): output subscript {s} appears more than once in the output")
    return terms, result


def _check_extents(terms: list[str], values: list[Any]) -> None:
    seen: dict[str, int] = {}
    for i, (term, x) in enumerate(zip(terms, values, strict=True)):
        for s, d in zip(term, x.shape, strict=True):
            if d is None or d == 1:
                continue
            if seen.setdefault(s, d) != d:
                raise ShapeError(
                    f"einsum(): subscript {s} has size {d} for operand {i} which does not broadcast with previously seen "
                    f"size {seen[s]}"
                )


def _order(terms: list[str], result: str, values: list[Any]) -> list[tuple[int, int]]:
    """Which two of the operands that are left to join next; a product goes to the end of the list."""
    if len(values) < 3:
        return [(0, 1)] * (len(values) - 1)
    if any(None in x.shape for x in values):
        return [(0, 1)] + [(0, len(values) - 2 - k) for k in range(len(values) - 2)]
    search = "optimal" if len(values) <= MOST else "greedy"
    shapes = [np.broadcast_to(0.0, x.shape) for x in values]
    steps = np.einsum_path(f"{','.join(terms)}->{result}", *shapes, optimize=(search, UNLIMITED))[0][1:]
    return [pair for step in steps for pair in [(step[0], step[1]), *[(0, 1)] * (len(step) - 2)]]


def _without_repeats(term: str, x: Any) -> tuple[str, Any]:
    """The diagonal where an operand names a subscript twice."""
    for s in dict.fromkeys(term):
        while term.count(s) > 1:
            a = term.index(s)
            b = term.index(s, a + 1)
            same = F.eq(F.index_along(x, a), F.index_along(x, b))
            x = F.astype(F.sum(F.where(same, x, 0), b), x.dtype)
            term = term[:b] + term[b + 1 :]
    return term, x


def _summed(term: str, x: Any, kept: set[str]) -> tuple[str, Any]:
    """Sum over the subscripts that no other operand and no result has."""
    axes = tuple(i for i, s in enumerate(term) if s not in kept)
    return ("".join(s for s in term if s in kept), F.sum(x, axes)) if axes else (term, x)


def _product(first: tuple[str, Any], second: tuple[str, Any], kept: set[str]) -> tuple[str, Any]:
    """Two operands as one, over the subscripts that are still needed: a batched matrix product, or an elementwise one
    where nothing is summed, where nothing is left, or where axes of unknown extents can't be joined."""
    (a, x), (b, y) = _stretched(first, second), _stretched(second, first)
    a, x = _summed(a, x, kept | set(b))
    b, y = _summed(b, y, kept | set(a))
    inner = [s for s in a if s in b and s not in kept]
    shared = [s for s in a if s in b and s in kept]
    rows, columns = [s for s in a if s not in b], [s for s in b if s not in a]
    term = "".join([*shared, *rows, *columns])
    extents = {**dict(zip(b, y.shape, strict=True)), **dict(zip(a, x.shape, strict=True))}
    unknown = [s for s in extents if extents[s] is None]
    if not inner or not (rows or columns) or (unknown and (len(unknown) > 1 or max(map(len, (rows, inner, columns))) > 1)):
        left = _axes(a, x, [*shared, *rows, *inner, *([""] * len(columns))])
        right = _axes(b, y, [*shared, *([""] * len(rows)), *inner, *columns])
        first_inner = len(shared) + len(rows)
        out = left * right
        if inner:  # a product of matrices keeps the dtype of its operands, small integers too
            out = F.astype(F.sum(out, tuple(range(first_inner, first_inner + len(inner)))), out.dtype)
        return term, out
    batch = [extents[s] for s in shared]
    m, k, n = (math.prod(extents[s] for s in part) if len(part) != 1 else extents[part[0]] for part in (rows, inner, columns))
    left = _shaped(_axes(a, x, [*shared, *rows, *inner]), [*batch, m, k])
    right = _shaped(_axes(b, y, [*shared, *inner, *columns]), [*batch, k, n])
    return term, _shaped(F.matmul(left, right), [extents[s] for s in term])


def _shaped(x: Any, extents: list[Any]) -> Any:
    """x in a shape of which one extent may be unknown."""
    if tuple(x.shape) == tuple(extents):
        return x
    return F.reshape(x, tuple(-1 if d is None else d for d in extents))


def _stretched(own: tuple[str, Any], other: tuple[str, Any]) -> tuple[str, Any]:
    """Without the axes of extent 1 along which it is repeated for the other operand."""
    term, x = own
    extents = dict(zip(other[0], other[1].shape, strict=True))
    axes = tuple(i for i, s in enumerate(term) if x.shape[i] == 1 and extents.get(s, 1) != 1)
    return ("".join(s for i, s in enumerate(term) if i not in axes), F.squeeze(x, axes)) if axes else own


def _axes(term: str, x: Any, order: list[str]) -> Any:
    """x with its axes in this order, and an axis of extent 1 for each ""."""
    named = [s for s in order if s]
    x = F.permute(x, tuple(term.index(s) for s in named)) if named != list(term) else x
    absent = tuple(i for i, s in enumerate(order) if not s)
    return F.expand_dims(x, absent) if absent else x
