"""Linear algebra: products made of `matmul`, and decompositions that LAPACK computes on the host, by NumPy and SciPy.

A decomposition with several results is one record whose result holds them flat, one after another; they are cut out of it,
so that it is computed once and its gradient takes the cotangents of all of them together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, DTypeError, LinAlgError, ShapeError, UnknownExtentError
from ..ir import REGISTRY, OpDef, define
from ..operators import (
    F,
    Operators,
    Symbol,
    Tensor,
    append,
    apply,
    as_array,
    enter_as,
    frontends,
    is_tensor,
    numpy_twin,
    spelled,
    torch_function,
)
from ..signals import module
from ..types import TensorType, broadcast_shapes, normalize_axis, shape_text, to_float
from . import attributes as at
from . import return_types
from .elementwise import dtype_of
from .linear import matmul, outer
from .rearranging import cut, extent, movedim
from .reductions import ndim_of, root
from .rules import floating

Rule = Callable[..., Any]

# products -------------------------------------------------------------------------------------------------------------


def _of_axes(name: str, *operands: tuple[Any, int]) -> None:
    """Raises ShapeError unless each operand has its number of axes."""
    for x, n in operands:
        if ndim_of(x) != n:
            raise ShapeError(f"{name}: expected a {n}D tensor, got {ndim_of(x)}D", "matmul takes any number of axes")


@torch_function()
def mm(input: Any, mat2: Any) -> Tensor:
    """The product of two matrices. Raises ShapeError."""
    _of_axes("mm", (input, 2), (mat2, 2))
    return F.matmul(input, mat2)


@torch_function()
def bmm(input: Any, mat2: Any) -> Tensor:
    """The products of two batches of matrices, (b, n, m) and (b, m, p). Raises ShapeError."""
    _of_axes("bmm", (input, 3), (mat2, 3))
    return F.matmul(input, mat2)


@torch_function()
def mv(input: Any, vec: Any) -> Tensor:
    """The product of a matrix and a vector. Raises ShapeError."""
    _of_axes("mv", (input, 2), (vec, 1))
    return F.matmul(input, vec)


def _blend(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * product; an input with beta 0 is not read."""
    if dtype_of(product).kind != "f":  # of integers the factors are integers, of booleans truth values
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
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    result: Tensor = _blend(input, mm(mat1, mat2), beta, alpha)
    return result


@torch_function(inplace=True)
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
    result: Tensor = _blend(input, mv(mat, vec), beta, alpha)
    return result


@torch_function(inplace=True)
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""
    _of_axes("addr", (vec1, 1), (vec2, 1))
    result: Tensor = _blend(input, F.outer(vec1, vec2), beta, alpha)
    return result


@torch_function(inplace=True)
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * the sum over the batch of batch1 @ batch2."""
    result: Tensor = _blend(input, F.sum(bmm(batch1, batch2), 0), beta, alpha)
    return result


@torch_function(inplace=True)
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2)."""
    result: Tensor = _blend(input, bmm(batch1, batch2), beta, alpha)
    return result


@torch_function(np.vdot)
def vdot(input: Any, other: Any) -> Tensor:
    """The product of two vectors."""
    _of_axes("vdot", (input, 1), (other, 1))
    return F.matmul(input, other)


enter_as("ger", outer)


@torch_function(np.inner)
def inner(input: Any, other: Any) -> Tensor:
    """Sums of products over the last axes of both operands."""
    if not ndim_of(input) or not ndim_of(other):
        result: Tensor = input * other
        return result
    return tensordot(input, other, ([-1], [-1]))


@torch_function(np.tensordot, method=False)
def tensordot(a: Any, b: Any, dims: Any = 2) -> Tensor:
    """Sums of products over axes of a and of b: `dims` of a's last and b's first, or two lists of axes."""
    if is_tensor(dims):
        dims = dims.tolist()
    n, m = ndim_of(a), ndim_of(b)
    if isinstance(dims, int):
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
    result: Tensor = multi_dot(matrices[0] if len(matrices) == 1 and not isinstance(matrices[0], Operators) else matrices)
    return result


LINALG: dict[str, Rule] = {}
"""The functions of `staticgrad.linalg`."""


def linalg(*, name: str = "", public: bool = False, twin: Rule | None = None) -> Callable[[Rule], Rule]:
    """Enter a function in `staticgrad.linalg`; public: among the functions and methods of tensors, too."""

    def enter(function: Rule) -> Rule:
        made = spelled(function)
        LINALG[name or function.__name__] = made
        if public:
            enter_as(name or function.__name__, made)
        if twin is not None:
            numpy_twin(twin)(made)
        return made

    return enter


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
    """Sums of products along one axis, broadcast."""
    return F.sum(x * y, dim)


@linalg(name="cross")
def _linalg_cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """The cross products of vectors of three elements along `dim`, broadcast. Raises ShapeError for other extents."""
    n = max(ndim_of(input), ndim_of(other))
    axis = normalize_axis(dim, n)
    x, y = F.broadcast_tensors(input, other)
    if extent("cross", x, axis) != 3:
        raise ShapeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {x.shape[axis]}")
    a, b = ([cut(v, axis, i, i + 1) for i in range(3)] for v in (x, y))
    return F.concatenate([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], axis)


@torch_function()
def cross(input: Any, other: Any, dim: int | None = None) -> Tensor:
    """The cross products along `dim`, the first axis of extent 3 unless given."""
    if dim is None:
        found = [i for i, d in enumerate(input.shape) if d == 3]
        if not found:
            raise ShapeError("no dimension of size 3 in input", f"got {shape_text(input.shape)}")
        dim = found[0]
    result: Tensor = _linalg_cross(input, other, dim=dim)
    return result


@torch_function(np.trace)
def trace(input: Any) -> Tensor:
    """The sum of the diagonal of a matrix."""
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
    """Powers of the last axis along a new last one: 1, x, x**2, ..."""
    count = extent("vander", x, ndim_of(x) - 1) if N is None else N
    if count < 1:
        raise ArgumentError(f"linalg.vander: N must be greater than 1, got {count}")
    columns = [F.ones_like(x)]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    return F.stack(columns, -1)


@linalg(public=True, twin=np.linalg.matrix_power)
def matrix_power(A: Any, n: int) -> Tensor:
    """The product of n times the matrix A; of its inverse for a negative n."""
    _square("matrix_power", A)
    if n < 0:
        A, n = LINALG["inv"](A), -n
    result = None
    while n:
        if n & 1:
            result = A if result is None else F.matmul(result, A)
        A, n = F.matmul(A, A) if n > 1 else A, n >> 1
    return (
        F.broadcast_like(np.eye(extent("matrix_power", A, ndim_of(A) - 1), dtype=dtype_of(A)), A) if result is None else result
    )


# norms ----------------------------------------------------------------------------------------------------------------


def _floats(x: Any, dtype: Any = None) -> Any:
    if dtype is not None:
        return F.astype(x, dtype)
    return F.astype(x if isinstance(x, Operators) else as_array(x), to_float(dtype_of(x)))


@linalg()
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """(sum |x|**ord)**(1 / ord) over `dim`, of all elements for None; ord inf, -inf: the largest, the smallest |x|; 0: how many
    are not 0. Its derivative is 0 where it is 0 for ord 2."""
    x = _floats(x, dtype)
    ord = 2.0 if ord is None else float(ord)
    if ord == 2:
        return root(F.sum(F.square(x), dim, keepdim))
    if ord == 0:
        return F.sum(F.square(F.sign(x)), dim, keepdim)
    size = F.abs(x)
    if ord == 1:
        return F.sum(size, dim, keepdim)
    if math.isinf(ord):
        return (F.amax if ord > 0 else F.amin)(size, dim, keepdim)
    if ord < 0:
        return F.pow(F.sum(F.pow(size, ord), dim, keepdim), 1 / ord)
    zero = F.eq(size, 0)
    total = F.sum(F.where(zero, 0.0, F.pow(F.where(zero, 1.0, size), ord)), dim, keepdim)
    nothing = F.eq(total, 0)
    return F.where(nothing, 0.0, F.pow(F.where(nothing, 1.0, total), 1 / ord))


@linalg()
def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of matrices in two axes: "fro", "nuc", inf, -inf, 1, -1, 2, -2. Raises ArgumentError for another one."""
    x = _floats(A, dtype)
    n = ndim_of(x)
    a, b = (normalize_axis(d, n) for d in dim)
    if a == b:
        raise ArgumentError(f"linalg.matrix_norm: dims must be different. Got {dim}")
    if ord == "fro":
        return vector_norm(x, 2, (a, b), keepdim)
    if ord in (1, -1, math.inf, -math.inf):
        first, second = (a, b) if abs(ord) == 1 else (b, a)
        sums = F.sum(F.abs(x), first, True)
        out = (F.amax if ord > 0 else F.amin)(sums, second, True)
    elif ord in ("nuc", 2, -2):
        values = svdvals(movedim(x, (a, b), (-2, -1)))
        out = F.sum(values, -1) if ord == "nuc" else F.amax(values, -1) if ord == 2 else F.amin(values, -1)
        return F.expand_dims(out, tuple(sorted((a, b)))) if keepdim else out
    else:
        raise ArgumentError(f"linalg.matrix_norm: Order {ord} not supported.")
    return out if keepdim else F.squeeze(out, (a, b))


@linalg(name="norm")
def _linalg_norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`vector_norm` along one axis, or of all elements; `matrix_norm` along two, or of a matrix where `ord` is given."""
    if dim is not None:
        axes = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
        if len(axes) == 2 and ord is not None:
            return matrix_norm(A, ord, axes, keepdim, dtype=dtype)
        return vector_norm(A, 2 if ord is None else ord, axes, keepdim, dtype=dtype)
    if ord is None:
        x = _floats(A, dtype)
        out = vector_norm(F.reshape(x, (-1,)))
        return F.reshape(out, (1,) * ndim_of(x)) if keepdim else out
    return (vector_norm if ndim_of(A) == 1 else matrix_norm)(A, ord, keepdim=keepdim, dtype=dtype)


@numpy_twin(np.linalg.norm)
def _numpy_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return _linalg_norm(x, ord, axis, keepdims)


@torch_function()
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The p-norm of the elements along `dim`, of all for None; "fro" is 2, "nuc" the sum of singular values of a matrix."""
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
        x = _floats(input, dtype)
        out = vector_norm(F.reshape(x, (-1,)), order)
        return F.reshape(out, (1,) * ndim_of(x)) if keepdim else out
    result = vector_norm(input, order, dim, keepdim, dtype=dtype)
    return result


@torch_function(inplace=True)
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Tensor:
    """`input` whose slices along `dim` have a p-norm of at most `maxnorm`."""
    axis = normalize_axis(dim, ndim_of(input))
    others = tuple(i for i in range(ndim_of(input)) if i != axis)
    size = vector_norm(input, p, others, True)
    result: Tensor = input * F.where(F.gt(size, maxnorm), maxnorm / (size + 1e-7), F.ones_like(size))
    return result


@torch_function()
def dist(input: Any, other: Any, p: float = 2) -> Tensor:
    """The p-norm of input - other."""
    result: Tensor = vector_norm(F.reshape(input - other, (-1,)), p)
    return result


@torch_function(method=False)
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The p-norms of the differences of rows: (..., n, d) and (..., m, d) give (..., n, m). Raises ShapeError."""
    if extent("cdist", x1, ndim_of(x1) - 1) != extent("cdist", x2, ndim_of(x2) - 1):
        raise ShapeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    result: Tensor = vector_norm(F.expand_dims(x1, ndim_of(x1) - 1) - F.expand_dims(x2, ndim_of(x2) - 2), p, -1)
    return result


# records --------------------------------------------------------------------------------------------------------------


def _square(name: str, x: Any) -> None:
    if ndim_of(x) < 2:
        raise ShapeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if x.shape[-1] != x.shape[-2] and None not in x.shape[-2:]:
        raise ShapeError(
            f"linalg.{name}: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices"
        )


def _matrices(name: str, x: Any) -> None:
    if ndim_of(x) < 2:
        raise ShapeError(f"linalg.{name}: The input tensor must have at least 2 dimensions.", f"got {shape_text(x.shape)}")


def _lapack(name: str, function: Rule) -> Rule:
    """The function, whose failures are ours."""

    def call(*arrays: np.ndarray, **attrs: Any) -> Any:
        try:
            return function(*arrays, **attrs)
        except (np.linalg.LinAlgError, ArithmeticError) as error:
            raise LinAlgError(f"linalg_{name}: {error}") from None
        except Exception as error:
            if type(error).__name__ != "LinAlgError":
                raise
            raise LinAlgError(f"linalg_{name}: {error}") from None

    return call


def _host(name: str, infer: Rule, evaluate: Rule, vjp: Any, attrs: Any = None, doc: str = "", shown: str = "") -> OpDef:
    return define(
        OpDef(f"linalg_{name}", infer, _lapack(shown or name, evaluate), vjp, None, floating, doc=doc, attrs=attrs or {})
    )


def _like(x: TensorType, *rest: TensorType, **attrs: Any) -> TensorType:
    return x


def _batch(f: Rule) -> Rule:
    """A function of one matrix, over leading axes."""

    def call(x: np.ndarray, *args: Any) -> np.ndarray:
        rows = [f(m, *args) for m in x.reshape(-1, *x.shape[-2:])] if x.size else []
        return np.array(rows, x.dtype).reshape(*x.shape[:-2], *np.shape(rows[0])) if rows else x.copy()

    return call


inv_op = _host(
    "inv", _like, np.linalg.inv,
    (lambda g, node, out, x: -F.matmul(out.mT, F.matmul(g, out.mT)),), doc="The inverse of square matrices.",
)  # fmt: skip


@linalg(twin=np.linalg.inv)
def inv(A: Any) -> Tensor:
    """The inverse of square matrices. Raises ShapeError, LinAlgError for a singular one."""
    _square("inv", A)
    return apply(inv_op, A)


enter_as("inverse", inv)


def _solve_infer(a: TensorType, b: TensorType) -> TensorType:
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != a.shape[-2] or a.shape[-1] != b.shape[-2]:
        raise ShapeError(f"linalg.solve: A {shape_text(a.shape)} and B {shape_text(b.shape)} don't fit")
    return b.with_shape((*broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]))


def _solve_da(g: Any, node: Any, out: Any, a: Any, b: Any) -> Any:
    from .rules import unbroadcast

    return unbroadcast(-F.matmul(apply(solve_op, a.mT, g), out.mT), a)


def _solve_db(g: Any, node: Any, out: Any, a: Any, b: Any) -> Any:
    from .rules import unbroadcast

    return unbroadcast(apply(solve_op, a.mT, g), b)


solve_op: OpDef = _host("solve", _solve_infer, np.linalg.solve, (_solve_da, _solve_db), doc="X with A X = B.")


@linalg(twin=np.linalg.solve)
def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """X with A X = B, or X A = B for left=False. B: matrices, or vectors. Raises ShapeError, LinAlgError."""
    _square("solve", A)
    vector = ndim_of(B) == 1 or (ndim_of(B) + 1 == ndim_of(A) and tuple(B.shape) == tuple(A.shape[:-1]))
    b = F.expand_dims(B, ndim_of(B)) if vector else B
    if left:
        out = apply(solve_op, A, b)
    else:
        out = F.swapaxes(apply(solve_op, F.swapaxes(A, -1, -2), F.swapaxes(b, -1, -2)), -1, -2)
    return F.squeeze(out, -1) if vector else out


def _zeros_info(A: Any) -> Any:
    return np.zeros(tuple(A.shape[:-2]), np.int32)


def _tensor(array: np.ndarray, like: Any) -> Any:
    """An array as a tensor of the mode of another one."""
    if isinstance(like, Symbol):
        return append(like.graph, REGISTRY["identity"], (array,), {})
    return frontends.tensor_class(array)


@linalg()
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """The named tuple (result, info) of `solve`."""
    return return_types.solve_ex(solve(A, B, left=left), _tensor(_zeros_info(A), A))


@linalg()
def inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    """The named tuple (inverse, info) of `inv`."""
    return return_types.inv_ex(inv(A), _tensor(_zeros_info(A), A))


@linalg()
def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """`solve` with the upper or the lower triangle of A, whose diagonal counts as 1 where it is unitriangular."""
    _square("solve_triangular", A)
    t = F.triu(A, int(unitriangular)) if upper else F.tril(A, -int(unitriangular))
    if unitriangular:
        t = t + np.eye(extent("solve_triangular", A, ndim_of(A) - 1), dtype=dtype_of(A))
    return solve(t, B, left=left)


@torch_function()
def triangular_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> return_types.triangular_solve:
    """The named tuple (solution, cloned_coefficient) of A X = b with a triangle of A."""
    t = F.swapaxes(A, -1, -2) if transpose else A
    solution = solve_triangular(t, b, upper=upper != transpose, unitriangular=unitriangular)
    return return_types.triangular_solve(solution, F.clone(F.broadcast_to(A, (*solution.shape[:-2], *A.shape[-2:]))))


# determinants ---------------------------------------------------------------------------------------------------------


def _scalar_infer(x: TensorType) -> TensorType:
    return x.with_shape(x.shape[:-2])


def _wide(g: Any) -> Any:
    return F.expand_dims(g, (ndim_of(g), ndim_of(g) + 1))


def _cofactor_eval(x: np.ndarray) -> np.ndarray:
    """det(x) inv(x).T, where x is singular too: U diag(products of the other singular values) V.T det(U) det(V)."""
    if not x.size:
        return x.copy()
    u, s, vh = np.linalg.svd(x)
    n = s.shape[-1]
    others = np.stack([np.prod(np.delete(s, i, -1), -1) for i in range(n)], -1)
    sign = np.linalg.det(u) * np.linalg.det(vh)
    result: np.ndarray = ((u * (others * sign[..., None])[..., None, :]) @ vh).astype(x.dtype)
    return result


def _cofactor_vjp(h: Any, node: Any, out: Any, x: Any) -> Any:
    inverse = inv(x).mT
    det_ = apply(det_op, x)
    return _wide(F.sum(h * inverse, (-2, -1))) * out - _wide(det_) * F.matmul(inverse, F.matmul(h.mT, inverse))


cofactor_op: OpDef = _host("cofactor", _like, _cofactor_eval, (_cofactor_vjp,), doc="The derivative of the determinant.")
det_op: OpDef = _host(
    "det", _scalar_infer, lambda x: np.asarray(np.linalg.det(x), x.dtype),
    (lambda g, node, out, x: _wide(g) * apply(cofactor_op, x),), doc="The determinant.",
)  # fmt: skip
logabsdet_op = _host(
    "logabsdet", _scalar_infer, lambda x: np.asarray(np.linalg.slogdet(x)[1], x.dtype),
    (lambda g, node, out, x: _wide(g) * inv(x).mT,), doc="log|det|.",
)  # fmt: skip
signdet_op = _host(
    "signdet", _scalar_infer, lambda x: np.asarray(np.linalg.slogdet(x)[0], x.dtype),
    (lambda g, node, out, x: F.zeros_like(x),), doc="The sign of the determinant.",
)  # fmt: skip


@linalg(public=True, twin=np.linalg.det)
def det(A: Any) -> Tensor:
    """The determinant of square matrices."""
    _square("det", A)
    return apply(det_op, A)


@linalg(public=True, twin=np.linalg.slogdet)
def slogdet(A: Any) -> return_types.slogdet:
    """The named tuple (sign, logabsdet) of square matrices."""
    _square("slogdet", A)
    return return_types.slogdet(apply(signdet_op, A), apply(logabsdet_op, A))


@torch_function()
def logdet(input: Any) -> Tensor:
    """log(det), NaN for a negative determinant."""
    sign, value = slogdet(input)
    return F.where(F.lt(sign, 0), float("nan"), value)


# several results ------------------------------------------------------------------------------------------------------


class Packed:
    """A decomposition: parts(m, n, **attrs) gives the shapes of its results for one matrix.

    rule(cotangents, results, x, **attrs) -> cotangent of x.
    """

    def __init__(self, name: str, parts: Rule, evaluate: Rule, rule: Rule, attrs: Any = None):
        self.parts, self.rule = parts, rule

        def infer(x: TensorType, **attrs: Any) -> TensorType:
            if x.ndim < 2 or None in x.shape:
                raise UnknownExtentError(f"linalg.{name}: expected matrices of known extents, got {shape_text(x.shape)}")
            total = sum(math.prod(s) for s in parts(*x.shape[-2:], **attrs))
            return x.with_shape((*x.shape[:-2], total))

        def packed(x: np.ndarray, **attrs: Any) -> np.ndarray:
            lead = x.shape[:-2]
            shapes = parts(*x.shape[-2:], **attrs)
            arrays = _lapack(name, evaluate)(x, **attrs) if x.size else [
                np.broadcast_to(np.eye(*s) if len(s) == 2 else np.zeros(s), (*lead, *s)) for s in shapes]  # fmt: skip
            flat = [np.ascontiguousarray(a).reshape(*lead, math.prod(s)) for a, s in zip(arrays, shapes, strict=True)]
            return np.concatenate(flat, -1).astype(x.dtype, copy=False)

        def vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
            return rule(self.cut(g, x, node.attrs), self.cut(out, x, node.attrs), x, **node.attrs)

        self.op = _host(name, infer, packed, (vjp,), attrs)

    def cut(self, flat: Any, x: Any, attrs: Any) -> list[Any]:
        lead, axis, at_, results = tuple(x.shape[:-2]), ndim_of(x) - 2, 0, []
        for shape in self.parts(*x.shape[-2:], **attrs):
            size = math.prod(shape)
            results.append(F.reshape(cut(flat, axis, at_, at_ + size), (*lead, *shape)))
            at_ += size
        return results

    def __call__(self, x: Any, **attrs: Any) -> list[Any]:
        x = _floats(x)
        return self.cut(apply(self.op, x, **attrs), x, attrs)


def _column(v: Any) -> Any:
    return F.expand_dims(v, ndim_of(v) - 1)


def _row(v: Any) -> Any:
    return F.expand_dims(v, ndim_of(v))


def _diagonal_matrix(v: Any) -> Any:
    return F.diag_embed(v)


def _gaps(v: Any) -> Any:
    """1 / (v[j] - v[i]), 0 on the diagonal."""
    n = v.shape[-1]
    difference = _column(v) - _row(v)
    eye = np.eye(n, dtype=bool)
    return F.where(eye, 0.0, 1.0 / F.where(eye, 1.0, difference))


def _eigh_rule(gs: list[Any], results: list[Any], x: Any, upper: bool) -> Any:
    """V (diag(gw) + (V.T gV) / (w[j] - w[i])) V.T"""
    (gw, gv), (w, v) = gs, results
    middle = _diagonal_matrix(gw) + F.matmul(v.mT, gv) * _gaps(w)
    return F.matmul(v, F.matmul(middle, v.mT))


def _eigh_eval(x: np.ndarray, upper: bool) -> Sequence[np.ndarray]:
    return np.linalg.eigh(x, "U" if upper else "L")


eigh_packed = Packed("eigh", lambda m, n, upper: ((n,), (n, n)), _eigh_eval, _eigh_rule, {"upper": at.flag})


@linalg(twin=np.linalg.eigh)
def eigh(A: Any, UPLO: str = "L") -> Any:
    """The named tuple (eigenvalues, eigenvectors) of symmetric matrices, of which one triangle is read; ascending."""
    _square("eigh", A)
    if str(UPLO).upper() not in ("L", "U"):
        raise ArgumentError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return return_types.eigh(*eigh_packed(A, upper=UPLO.upper() == "U"))


@linalg(twin=np.linalg.eigvalsh)
def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of symmetric matrices, ascending."""
    return eigh(A, UPLO).eigenvalues


def _svd_parts(m: int, n: int, full: bool) -> tuple[tuple[int, ...], ...]:
    k = min(m, n)
    return ((m, m if full else k), (k,), (n if full else k, n))


def _svd_rule(gs: list[Any], results: list[Any], x: Any, full: bool) -> Any:
    """By the differential of A = U S V.T; see Townsend, "Differentiating the singular value decomposition", 2016."""
    (gu, gs_, gvh), (u, s, vh) = gs, results
    m, n = x.shape[-2:]
    k = min(m, n)
    if full and m != n:
        u, gu = cut(u, ndim_of(u) - 1, 0, k), cut(gu, ndim_of(gu) - 1, 0, k)
        vh, gvh = cut(vh, ndim_of(vh) - 2, 0, k), cut(gvh, ndim_of(gvh) - 2, 0, k)
    gaps = _gaps(F.square(s))
    left, right = F.matmul(u.mT, gu), F.matmul(vh, gvh.mT)
    middle = ((left - left.mT) * gaps) * _column(s) + _row(s) * ((right - right.mT) * gaps) + _diagonal_matrix(gs_)
    out = F.matmul(u, F.matmul(middle, vh))
    safe = F.where(F.eq(s, 0), 1.0, s)
    inverse = F.where(F.eq(s, 0), 0.0, 1.0 / safe)
    if m > k:
        rest = (gu - F.matmul(u, left)) * _column(inverse)
        out = out + F.matmul(rest, vh)
    if n > k:
        rest = _row(inverse) * (gvh - F.matmul(F.matmul(gvh, vh.mT), vh))
        out = out + F.matmul(u, rest)
    return out


svd_packed = Packed("svd", _svd_parts, lambda x, full: np.linalg.svd(x, full), _svd_rule, {"full": at.flag})


@linalg(name="svd", twin=np.linalg.svd)
def _linalg_svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """The named tuple (U, S, Vh) with A = U diag(S) Vh. Gradients need different singular values."""
    return return_types.svd(*svd_packed(A, full=bool(full_matrices)))


@torch_function()
def svd(input: Any, some: bool = True, compute_uv: bool = True) -> return_types.svd_v:
    """The named tuple (U, S, V) with input = U diag(S) V.T, by an older name."""
    u, s, vh = svd_packed(input, full=not some)
    if not compute_uv:
        zeros = (F.zeros_like(u), F.zeros_like(F.swapaxes(vh, -1, -2)))
        return return_types.svd_v(zeros[0], s, zeros[1])
    return return_types.svd_v(u, s, F.swapaxes(vh, -1, -2))


@linalg()
def svdvals(A: Any, *, driver: str | None = None) -> Any:
    """The singular values, descending."""
    return svd_packed(A, full=False)[1]


def _qr_parts(m: int, n: int, mode: str) -> tuple[tuple[int, ...], ...]:
    k = m if mode == "complete" else min(m, n)
    return ((m, k), (k, n))


def _qr_rule(gs: list[Any], results: list[Any], x: Any, mode: str) -> Any:
    """Of the wide case, the first columns, and the others by R's right part. Source: Walter and Lehmann, "Walter and
    Lehmann's algorithmic differentiation of linear algebra functions", 2018."""
    (gq, gr), (q, r) = gs, results
    m, n = x.shape[-2:]
    if mode == "complete" and m > n:
        raise LinAlgError("linalg.qr: the derivative of the complete decomposition needs nrows <= ncols", 'use mode="reduced"')
    if m >= n:
        return _qr_tall(gq, gr, q, r)
    axis = ndim_of(x) - 1
    rest, gr1, gr2 = cut(x, axis, m, None), cut(gr, axis, 0, m), cut(gr, axis, m, None)
    first = _qr_tall(gq + F.matmul(rest, gr2.mT), gr1, q, cut(r, axis, 0, m))
    return F.concatenate([first, F.matmul(q, gr2)], axis)


def _qr_tall(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    middle = F.matmul(r, gr.mT) - F.matmul(gq.mT, q)
    lower = F.tril(middle, -1)
    symmetric = lower + lower.mT + middle * np.eye(middle.shape[-1], dtype=dtype_of(middle))
    return F.swapaxes(solve(r, F.swapaxes(gq + F.matmul(q, symmetric), -1, -2)), -1, -2)


qr_packed = Packed("qr", _qr_parts, lambda x, mode: np.linalg.qr(x, mode), _qr_rule, {"mode": at.text})


@linalg(name="qr", twin=np.linalg.qr)
def _linalg_qr(A: Any, mode: str = "reduced") -> Any:
    """The named tuple (Q, R) with A = Q R: Q orthonormal, R upper triangular. mode: "reduced", "complete", or "r"."""
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    q, r = qr_packed(A, mode="reduced" if mode == "r" else mode)
    return return_types.qr(_tensor(np.zeros((0,), dtype_of(A)), A) if mode == "r" else q, r)


@torch_function()
def qr(input: Any, some: bool = True) -> return_types.qr:
    """`linalg.qr` by an older name."""
    result: return_types.qr = _linalg_qr(input, "reduced" if some else "complete")
    return result


# triangular factors -----------------------------------------------------------------------------------------------------


def _half(x: Any) -> Any:
    """The lower triangle, with half the diagonal."""
    n = x.shape[-1]
    return x * (np.tril(np.ones((n, n)), -1) + 0.5 * np.eye(n)).astype(dtype_of(x))


def _cholesky_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """L^-T half(L^T g) L^-1, made symmetric."""
    middle = _half(F.matmul(out.mT, g))
    half = F.swapaxes(solve(out.mT, F.swapaxes(solve(out.mT, middle), -1, -2)), -1, -2)
    return (half + half.mT) * 0.5


cholesky_op = _host("cholesky", _like, np.linalg.cholesky, (_cholesky_vjp,), doc="The lower Cholesky factor.")


@linalg(name="cholesky", twin=np.linalg.cholesky)
def _linalg_cholesky(A: Any, *, upper: bool = False) -> Any:
    """L with A = L L.T, of symmetric positive definite matrices; L.T for upper=True. Raises LinAlgError."""
    _square("cholesky", A)
    lower = apply(cholesky_op, A)
    return F.swapaxes(lower, -1, -2) if upper else lower


@torch_function()
def cholesky(input: Any, upper: bool = False) -> Tensor:
    """`linalg.cholesky` by an older name."""
    result: Tensor = _linalg_cholesky(F.swapaxes(input, -1, -2) if upper else input, upper=upper)
    return result


@linalg()
def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The named tuple (L, info) of `cholesky`."""
    return return_types.cholesky_ex(_linalg_cholesky(A, upper=upper), _tensor(_zeros_info(A), A))


@torch_function()
def cholesky_inverse(input: Any, upper: bool = False) -> Tensor:
    """The inverse of A from its Cholesky factor."""
    factor = F.triu(input) if upper else F.tril(input)
    product = F.matmul(factor.mT, factor) if upper else F.matmul(factor, factor.mT)
    result: Tensor = inv(product)
    return result


@torch_function()
def cholesky_solve(input: Any, L: Any, upper: bool = False) -> Tensor:
    """X with A X = input, from A's Cholesky factor."""
    factor = F.swapaxes(F.triu(L), -1, -2) if upper else F.tril(L)
    result: Tensor = solve(F.swapaxes(factor, -1, -2), solve(factor, input))
    return result


def _lu_eval(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = _batch(lambda m: _getrf(m)[0])(x)
    return result


def _getrf(m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    (getrf,) = module("scipy.linalg").get_lapack_funcs(("getrf",), (m,))
    lu_, pivots, _ = getrf(m)
    return lu_, pivots


def _lu_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """P L^-T (tril(L.T gL, -1) + triu(gU U.T)) U^-T, of square matrices."""
    m, n = x.shape[-2:]
    if m != n:
        raise LinAlgError("linalg.lu: the derivative is that of square matrices here", "cut or pad the matrix")
    eye = np.eye(n, dtype=dtype_of(out))
    lower, upper = F.tril(out, -1) + eye, F.triu(out)
    middle = F.tril(F.matmul(lower.mT, F.tril(g, -1)), -1) + F.triu(F.matmul(F.triu(g), upper.mT))
    inside = F.swapaxes(solve(upper, F.swapaxes(solve(lower.mT, middle), -1, -2)), -1, -2)
    return F.matmul(permutation(apply(pivots_op, x), m, dtype_of(out)), inside)


def _pivots_infer(x: TensorType) -> TensorType:
    return TensorType((*x.shape[:-2], min(x.shape[-2:])), np.dtype(np.int32))


def _pivots_eval(x: np.ndarray) -> np.ndarray:
    rows = [_getrf(m)[1] + 1 for m in x.reshape(-1, *x.shape[-2:])] if x.size else []
    return np.array(rows, np.int32).reshape(*x.shape[:-2], min(x.shape[-2:]))


lu_op = _host("lu_factor", _like, _lu_eval, (_lu_vjp,), doc="L without its diagonal of 1, and U, in one matrix.")
pivots_op = _host("lu_pivots", _pivots_infer, _pivots_eval, None, doc="Which rows were exchanged, counted from 1.")


def _permutation_eval(pivots: np.ndarray, rows: int) -> np.ndarray:
    """P with A = P L U."""
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    out = np.empty((len(flat), rows, rows))
    for i, swaps in enumerate(flat):
        order = np.arange(rows)
        for j, p in enumerate(swaps - 1):
            order[[j, p]] = order[[p, j]]
        out[i] = np.eye(rows)[order].T
    return out.reshape(*pivots.shape[:-1], rows, rows)


permutation_op = define(
    OpDef("lu_permutation", lambda pivots, rows: TensorType((*pivots.shape[:-1], rows, rows), np.dtype(np.float64)),
          _permutation_eval, attrs={"rows": at.integer(0)}, promote=None, doc="The matrix of row exchanges.")
)  # fmt: skip


def permutation(pivots: Any, rows: int, dtype: np.dtype) -> Any:
    return F.astype(apply(permutation_op, pivots, rows=rows), dtype)


def _factors(packed: Any) -> tuple[Any, Any]:
    """L and U of the matrix that holds both."""
    m, n = packed.shape[-2:]
    k = min(m, n)
    lower = F.tril(cut(packed, ndim_of(packed) - 1, 0, k), -1) + np.eye(m, k, dtype=dtype_of(packed))
    return lower, F.triu(cut(packed, ndim_of(packed) - 2, 0, k))


@linalg()
def lu_factor(A: Any, *, pivot: bool = True) -> Any:
    """The named tuple (LU, pivots). Raises ArgumentError for pivot=False."""
    if not pivot:
        raise ArgumentError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    _matrices("lu_factor", A)
    return return_types.lu_factor(apply(lu_op, A), apply(pivots_op, A))


@linalg()
def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """The named tuple (LU, pivots, info)."""
    packed, pivots = lu_factor(A, pivot=pivot)
    return return_types.lu_factor_ex(packed, pivots, _tensor(_zeros_info(A), A))


@linalg(name="lu")
def _linalg_lu(A: Any, *, pivot: bool = True) -> Any:
    """The named tuple (P, L, U) with A = P L U."""
    packed, pivots = lu_factor(A, pivot=pivot)
    lower, upper = _factors(packed)
    return return_types.lu(permutation(pivots, A.shape[-2], dtype_of(packed)), lower, upper)


@torch_function()
def lu(input: Any, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """(LU, pivots), with get_infos also the infos, by an older name."""
    packed, pivots = lu_factor(input, pivot=pivot)
    return (packed, pivots, _tensor(_zeros_info(input), input)) if get_infos else (packed, pivots)


@torch_function(method=False)
def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> return_types.lu:
    """The named tuple (P, L, U) of `lu_factor`'s results; empty tensors for what is not asked for."""
    empty = _tensor(np.zeros((0,), dtype_of(LU_data)), LU_data)
    lower, upper = _factors(LU_data) if unpack_data else (empty, empty)
    p = permutation(LU_pivots, LU_data.shape[-2], dtype_of(LU_data)) if unpack_pivots else empty
    return return_types.lu(p, lower, upper)


@linalg(name="lu_solve")
def _linalg_lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """X with A X = B from `lu_factor`'s results; X A = B for left=False, with A.T for adjoint=True."""
    _square("lu_solve", LU)
    _matrices("lu_solve", B)
    if ndim_of(pivots) != ndim_of(LU) - 1:
        raise ShapeError(f"linalg.lu_solve: pivots {shape_text(pivots.shape)} don't fit LU {shape_text(LU.shape)}")
    lower, upper = _factors(LU)
    A = F.matmul(permutation(pivots, LU.shape[-2], dtype_of(LU)), F.matmul(lower, upper))
    return solve(F.swapaxes(A, -1, -2) if adjoint else A, B, left=left)


@torch_function()
def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Tensor:
    """`linalg.lu_solve` by an older name."""
    result: Tensor = _linalg_lu_solve(LU_data, LU_pivots, b)
    return result


# other functions of matrices ------------------------------------------------------------------------------------------


def _exp_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """The upper right block of exp([[x.T, g], [0, x.T]])."""
    n, axis = x.shape[-1], ndim_of(x) - 1
    t = x.mT
    upper = F.concatenate([t, g], axis)
    lower = F.concatenate([F.zeros_like(t), t], axis)
    whole = apply(exp_op, F.concatenate([upper, lower], axis - 1))
    return cut(cut(whole, axis - 1, 0, n), axis, n, None)


exp_op: OpDef = _host(
    "matrix_exp", _like, lambda x: _batch(lambda m: module("scipy.linalg").expm(m))(x), (_exp_vjp,), doc="exp(A)."
)


@linalg(public=True)
def matrix_exp(A: Any) -> Tensor:
    """The exponential of square matrices."""
    _square("matrix_exp", A)
    return apply(exp_op, A)


def _pinv_infer(x: TensorType, tolerances: TensorType, hermitian: bool) -> TensorType:
    return x.with_shape((*x.shape[:-2], x.shape[-1], x.shape[-2]))


def _pinv_eval(x: np.ndarray, tolerances: np.ndarray, hermitian: bool) -> np.ndarray:
    if not x.size:
        return np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    if hermitian:
        w, v = np.linalg.eigh(x)
        u, s, vh = v * np.sign(w)[..., None, :], np.abs(w), np.swapaxes(v, -1, -2)
    else:
        u, s, vh = np.linalg.svd(x, full_matrices=False)
    small = np.maximum(tolerances[..., 0], tolerances[..., 1] * s.max(-1))[..., None]
    with np.errstate(divide="ignore"):
        inverse = np.where(s > small, 1 / s, 0)
    result: np.ndarray = (np.swapaxes(vh, -1, -2) * inverse[..., None, :] @ np.swapaxes(u, -1, -2)).astype(x.dtype)
    return result


def _pinv_vjp(g: Any, node: Any, out: Any, x: Any, tolerances: Any) -> Any:
    """Source: Golub and Pereyra, "The differentiation of pseudo-inverses", 1973."""
    m, n = x.shape[-2:]
    left = np.eye(m, dtype=dtype_of(x)) - F.matmul(x, out)
    right = np.eye(n, dtype=dtype_of(x)) - F.matmul(out, x)
    first = -F.matmul(out.mT, F.matmul(g, out.mT))
    second = F.matmul(left, F.matmul(g.mT, F.matmul(out, out.mT)))
    third = F.matmul(F.matmul(out.mT, out), F.matmul(g.mT, right))
    return first + second + third


pinv_op = _host("pinv", _pinv_infer, _pinv_eval, (_pinv_vjp, None), {"hermitian": at.flag}, "The pseudoinverse.")


def _tolerances(A: Any, atol: Any, rtol: Any, rcond: Any = None) -> Any:
    """(absolute, relative) tolerance of singular values, in the last axis."""
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        eps = float(np.finfo(to_float(dtype_of(A))).eps) * max(A.shape[-2:])
        rtol = (
            eps
            if atol is None
            else F.where(F.gt(atol, 0), 0.0, eps)
            if isinstance(atol, Operators)
            else (0.0 if atol > 0 else eps)
        )
    atol = 0.0 if atol is None else atol
    kind = to_float(dtype_of(A))
    if not isinstance(atol, Operators) and not isinstance(rtol, Operators):
        given = np.broadcast_arrays(np.asarray(atol, kind), np.asarray(rtol, kind))
        return np.broadcast_to(np.stack(given, -1), (*broadcast_shapes(given[0].shape, tuple(A.shape[:-2])), 2))
    both = [F.astype(v, kind) if isinstance(v, Operators) else np.asarray(v, kind) for v in (atol, rtol)]
    shape = broadcast_shapes(*(tuple(v.shape) for v in both), tuple(A.shape[:-2]))
    return F.stack([F.broadcast_to(v, shape) for v in both], -1)


@linalg(twin=np.linalg.pinv)
def pinv(A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """The pseudoinverse; singular values up to max(atol, rtol * the largest one) count as 0."""
    _matrices("pinv", A)
    x = _floats(A)
    limits = _tolerances(x, atol, rtol, rcond)
    if tuple(limits.shape[:-1]) != tuple(x.shape[:-2]):
        raise ShapeError(f"linalg.pinv: tolerances {shape_text(limits.shape[:-1])} don't fit matrices {shape_text(x.shape)}")
    return apply(pinv_op, x, limits, hermitian=bool(hermitian))


@torch_function()
def pinverse(input: Any, rcond: float = 1e-15) -> Tensor:
    """`linalg.pinv` by an older name."""
    result: Tensor = pinv(input, rcond)
    return result


@linalg(twin=np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """How many singular values are above max(atol, rtol * the largest one); int64."""
    if tol is not None:
        atol, rtol = tol, 0.0
    x = F.stop_gradient(_floats(A))
    if 0 in x.shape[-2:]:
        return _tensor(np.zeros(tuple(x.shape[:-2]), np.int64), x)
    values = F.abs(eigvalsh(x)) if hermitian else svdvals(x)
    limits = _tolerances(x, atol, rtol)
    absolute, relative = F.select(limits, -1, 0), F.select(limits, -1, 1)
    small = F.maximum(absolute, relative * F.amax(values, -1))
    return F.sum(F.gt(values, F.expand_dims(small, ndim_of(small))), -1)


@linalg(twin=np.linalg.lstsq)
def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The named tuple (solution, residuals, rank, singular_values) that minimizes |A X - B|.

    As with PyTorch's default driver, the last two are empty, and residuals are given where A has more rows than columns.
    """
    m, n = A.shape[-2:]
    vector = ndim_of(B) == 1 or (ndim_of(B) + 1 == ndim_of(A) and tuple(B.shape) == tuple(A.shape[:-1]))
    b = F.expand_dims(B, ndim_of(B)) if vector else B
    x = F.matmul(pinv(A, rcond), b)
    if m > n and driver != "gelsy":
        residuals = F.sum(F.square(F.matmul(A, x) - b), -2)
    else:
        residuals = _tensor(np.zeros((0,), dtype_of(x)), x)
    empty = _tensor(np.zeros((0,), dtype_of(x)), x)
    rank = _tensor(np.zeros((0,), np.int64), x) if driver in (None, "gels") else matrix_rank(A)
    if driver is None:
        rank = matrix_rank(A)
    values = svdvals(A) if driver in ("gelss", "gelsd") else empty
    return return_types.lstsq(F.squeeze(x, -1) if vector else x, residuals, rank, values)


@linalg()
def cond(A: Any, p: Any = None) -> Any:
    """The condition number: |A| |inv(A)| in the norm p; for None and 2 the quotient of singular values."""
    if p in (None, 2, -2):
        values = svdvals(A)
        if 0 in A.shape[-2:]:
            return F.sum(values, -1)
        top, low = F.select(values, -1, 0), F.select(values, -1, values.shape[-1] - 1)
        return low / top if p == -2 else top / low
    _square("cond", A)
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


@linalg(twin=np.linalg.tensorinv)
def tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse for `tensordot(..., ind)`. Raises ArgumentError, ShapeError."""
    if ind <= 0:
        raise ArgumentError(f"Expected a strictly positive integer for 'ind', got {ind}")
    head, tail = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(head) != math.prod(tail):
        raise ShapeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), got {A.shape}"
        )
    return F.reshape(inv(F.reshape(A, (math.prod(head), -1)) if A.shape and 0 not in A.shape else A), (*tail, *head))


@linalg(twin=np.linalg.tensorsolve)
def tensorsolve(A: Any, B: Any, dims: Any = None) -> Any:
    """X with tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        axes = [normalize_axis(d, ndim_of(A)) for d in dims]
        A = movedim(A, axes, list(range(ndim_of(A) - len(axes), ndim_of(A))))
    shape = tuple(A.shape[ndim_of(B) :])
    size = math.prod(shape)
    if size != math.prod(tuple(B.shape)):
        raise ShapeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim])",
            f"got {shape_text(A.shape)}",
        )
    return F.reshape(solve(F.reshape(A, (size, size)), F.reshape(B, (size,))), shape)


def _complex(name: str) -> Rule:
    def function(A: Any, *args: Any, **named: Any) -> Any:
        raise DTypeError(
            f"linalg.{name}: eigenvalues of a general matrix are complex, which tensors here can't be",
            "use linalg.eigh for symmetric matrices, or numpy.linalg on x.numpy()",
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raises DTypeError: the result is complex."
    return function


LINALG["eig"], LINALG["eigvals"] = _complex("eig"), _complex("eigvals")


@linalg()
def householder_product(A: Any, tau: Any) -> Any:
    """The first columns of the product of Householder reflections I - tau v v.T, whose v lie below A's diagonal."""
    m, n = A.shape[-2:]
    eye = np.eye(m, dtype=dtype_of(A))
    out = F.broadcast_to(_tensor(np.eye(m, n, dtype=dtype_of(A)), A), (*A.shape[:-2], m, n))
    lower = F.tril(A, -1) + np.eye(m, n, dtype=dtype_of(A))
    for i in reversed(range(extent("householder_product", tau, ndim_of(tau) - 1))):
        v = cut(lower, ndim_of(A) - 1, i, i + 1)
        weight = F.expand_dims(cut(tau, ndim_of(tau) - 1, i, i + 1), ndim_of(tau))
        out = F.matmul(eye - weight * F.matmul(v, v.mT), out)
    return out
