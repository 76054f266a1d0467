"""Products of matrices and vectors: made of `matmul`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.types import INEXACT, broadcast_shapes, int64, normalize_axis, shape_text
from ...errors import ArgumentError, ShapeError
from ..linear import matmul, outer
from ..operands import dtype_of, extent, integer, ndim_of
from ..operators import F, Operators, Tensor, autocasts, composite, enter_as, is_tensor, routed, spelled, torch_function
from ..slicing import cut
from .records import LINALG, check_square, linalg


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
