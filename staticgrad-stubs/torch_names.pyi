"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from .base.types import Axis, DTypeLike, ShapeLike
from .ir.op import OpDef
from .ops import return_types
from .ops.operators.annotations import Array, Carry, Index, Output, TensorLike
from .ops.operators.dispatch import Size
from .ops.operators.interface import Tensor
from .ops.random import Generator

def abs(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """|x|; its derivative at 0 is 0.

    Examples:
        >>> sg.abs(sg.tensor([-1.0, 2.0]))
        tensor([1., 2.])
    """

def acos(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Inverse cosine.

    Examples:
        >>> sg.acos(sg.tensor([0.0, 1.0]))
        tensor([1.5708, 0.0000])
    """

def acosh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic cosine.

    Examples:
        >>> sg.acosh(sg.tensor([1.0, 2.0]))
        tensor([0.0000, 1.3170])
    """

def add(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """input + alpha * other, broadcast. Booleans: logical or.

    Examples:
        >>> sg.add(sg.tensor([1.0, 2.0]), sg.tensor([10.0, 20.0]), alpha=2)
        tensor([21., 42.])
    """

def addbmm(
    input: Any,
    batch1: Any,
    batch2: Any,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """beta * input + alpha * the sum over the batch of batch1 @ batch2."""

def addcdiv(
    input: Any,
    tensor1: Any,
    tensor2: Any,
    *,
    value: Any = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input + value * tensor1 / tensor2, broadcast. Raises DTypeError for integers."""

def addcmul(
    input: Any,
    tensor1: Any,
    tensor2: Any,
    *,
    value: Any = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input + value * tensor1 * tensor2, broadcast.

    Examples:
        >>> sg.addcmul(sg.ones(2), sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]), value=0.5)
        tensor([2.5000, 5.0000])
    """

def addmm(
    input: Any,
    mat1: Any,
    mat2: Any,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""

def addmv(
    input: Any,
    mat: Any,
    vec: Any,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""

def addr(
    input: Any,
    vec1: Any,
    vec2: Any,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""

def adjoint(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The last two axes swapped, and the conjugate."""

def alias_copy(input: Any, *args: Any, _source: str = 'clone', out: Tensor | None = None, **named: Any) -> Tensor:
    """As the function without `_copy`, in memory of its own."""

def all(
    x: TensorLike,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dim: Axis = None,
    keepdim: bool = False,
) -> Tensor:
    """Whether every element is true: bool, of uint8 uint8; true over no elements. Raises ArgumentError for a bad axis.

    Examples:
        >>> sg.all(sg.tensor([True, False]))
        tensor(False)
    """

def allclose(
    input: Any,
    other: Any,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> bool:
    """Whether `isclose` holds everywhere, as a Python bool.

    Examples:
        >>> sg.allclose(sg.tensor([1.0]), sg.tensor([1.0 + 1e-9]))
        True
    """

def amax(
    input: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The largest element (NaN if any is); ties share the gradient. `dim` (or `axis`): an int, several, or None for all.
    Raises ArgumentError for a bad one.

    Examples:
        >>> sg.amax(sg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=0)
        tensor([7., 5.])
    """

def amin(
    input: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The smallest element (NaN if any is); ties share the gradient. `dim` (or `axis`): an int, several, or None for all.
    Raises ArgumentError for a bad one.

    Examples:
        >>> sg.amin(sg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=0)
        tensor([1., 2.])
    """

def aminmax(
    input: Any,
    *,
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> return_types.aminmax:
    """The named tuple (min, max) along one axis, or of all elements."""

def angle(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The angle in radians; of real numbers 0, or pi for negative ones, with a gradient of 0. NaN stays NaN."""

def any(
    x: TensorLike,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dim: Axis = None,
    keepdim: bool = False,
) -> Tensor:
    """Whether some element is true: bool, of uint8 uint8; false over no elements. Raises ArgumentError for a bad axis.

    Examples:
        >>> sg.any(sg.tensor([True, False]))
        tensor(True)
    """

def argmax(
    x: TensorLike,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dim: int | None = None,
    keepdim: bool = False,
) -> Tensor:
    """The int64 position of the first extremum along `dim` (of the flattened array for None).

    Examples:
        >>> sg.argmax(sg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1)
        tensor([1, 0])
    """

def argmin(
    x: TensorLike,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dim: int | None = None,
    keepdim: bool = False,
) -> Tensor:
    """The int64 position of the first extremum along `dim` (of the flattened array for None).

    Examples:
        >>> sg.argmin(sg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1)
        tensor([0, 1])
    """

def argsort(
    input: Any,
    dim: int = -1,
    descending: bool = False,
    stable: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
) -> Tensor:
    """The positions along `dim` that sort it, int64; equal elements keep their order, and NaN comes last (largest).

    Examples:
        >>> sg.argsort(sg.tensor([3, 1, 2]))
        tensor([1, 2, 0])
    """

def argwhere(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The positions of elements that are not 0, (number, axes)."""

def as_strided(
    input: Any,
    size: Any,
    stride: Any,
    storage_offset: int | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The elements at these strides of the memory that `input` lies in: a view. storage_offset: the place of the first
    one,
    by default that of `input`. A tensor without a value has no memory but its elements, row-major.
    """

def as_strided_copy(
    input: Any,
    *args: Any,
    _source: str = 'as_strided',
    out: Tensor | None = None,
    **named: Any,
) -> Tensor:
    """As the function without `_copy`, in memory of its own."""

def as_strided_scatter(
    input: Any,
    src: Any,
    size: Any,
    stride: Any,
    storage_offset: int | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` (row-major) with `src` at the places of these strides."""

def asin(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Inverse sine.

    Examples:
        >>> sg.asin(sg.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5708])
    """

def asinh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic sine.

    Examples:
        >>> sg.asinh(sg.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8814])
    """

def astype(x: TensorLike, dtype: DTypeLike) -> Tensor:
    """x in another dtype (float to integer truncates). The gradient is cast back."""

def atan(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Inverse tangent, in radians.

    Examples:
        >>> sg.atan(sg.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854])
    """

def atan2(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The angle of (other, input)."""

def atanh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic tangent.

    Examples:
        >>> sg.atanh(sg.tensor([0.0, 0.5]))
        tensor([0.0000, 0.5493])
    """

@overload
def atleast_1d(tensor: TensorLike) -> Tensor: ...
@overload
def atleast_1d(*tensors: Any) -> tuple[Tensor, ...]:
    """Tensors with at least so many axes; a tuple where several are given."""

@overload
def atleast_2d(tensor: TensorLike) -> Tensor: ...
@overload
def atleast_2d(*tensors: Any) -> tuple[Tensor, ...]:
    """Tensors with at least so many axes; a tuple where several are given."""

@overload
def atleast_3d(tensor: TensorLike) -> Tensor: ...
@overload
def atleast_3d(*tensors: Any) -> tuple[Tensor, ...]:
    """Tensors with at least so many axes; a tuple where several are given."""

def baddbmm(
    input: Any,
    batch1: Any,
    batch2: Any,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2)."""

def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
    layout: Any = None,
    out: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A triangle, (window_length,)."""

def bernoulli(
    input: Tensor,
    p: float | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """1 with the probabilities in `input` (or p, in its shape), else 0, in its dtype. Raises ArgumentError outside [0,
    1]."""

def bincount(
    input: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """How often each integer from 0 occurs, or the sum of its weights. Raises DTypeError, ArgumentError.

    Examples:
        >>> sg.bincount(sg.tensor([0, 2, 2]))
        tensor([1, 0, 2])
    """

def binomial(
    count: Tensor,
    prob: Tensor,
    generator: Generator | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The numbers of successes in `count` trials with probability `prob` (broadcast), in their dtype.

    Raises ArgumentError for negative counts and for probabilities outside [0, 1].
    """

def bitwise_and(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x & y, of integers or booleans."""

def bitwise_left_shift(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x shifted by y bits."""

def bitwise_not(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """~x, of integers or booleans."""

def bitwise_or(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x | y, of integers or booleans."""

def bitwise_right_shift(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x shifted by y bits."""

def bitwise_xor(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x ^ y, of integers or booleans."""

def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
    layout: Any = None,
    out: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t), (window_length,)."""

@overload
def block_diag(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def block_diag(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The matrices along the diagonal of one that is 0 elsewhere."""

def bmm(input: Any, mat2: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The products of two batches of matrices, (b, n, m) and (b, m, p). Raises ShapeError.

    Examples:
        >>> sg.bmm(sg.ones(5, 2, 3), sg.ones(5, 3, 4)).shape
        torch.Size([5, 2, 4])
    """

def broadcast_like(x: Array, like: Array) -> Tensor:
    """x broadcast to the shape of `like`, known or not."""

def broadcast_shapes(*shapes: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Size:
    """The common shape of shapes. Raises ShapeError."""

@overload
def broadcast_tensors(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> tuple[Tensor, ...]: ...
@overload
def broadcast_tensors(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> tuple[Tensor, ...]:
    """The tensors, each repeated to their common shape."""

def broadcast_to(
    input: TensorLike,
    *extents: ShapeLike,
    size: ShapeLike | None = None,
    shape: ShapeLike | None = None,
) -> Tensor:
    """input repeated to a shape by NumPy's broadcasting, without copying. size, shape: names of the shape.

    Examples:
        >>> sg.broadcast_to(sg.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """

def bucketize(
    input: Any,
    boundaries: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The number of the bucket of each element, of those that sorted boundaries (1-D) make."""

@overload
def cartesian_prod(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def cartesian_prod(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """All tuples of elements of 1-D tensors, one per row; the tensor itself if there is one."""

def cat(tensors: Any, dim: int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None, axis: int = 0) -> Tensor:
    """Tensors one after another along `dim`; dtypes are promoted. Empty 1-D ones are left out, as in PyTorch.

    Examples:
        >>> sg.cat([sg.zeros(2), sg.ones(1)])
        tensor([0., 0., 1.])
    """

def cdist(
    x1: Any,
    x2: Any,
    p: float = 2.0,
    compute_mode: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The p-norms of the differences of rows: (..., n, d) and (..., m, d) give (..., n, m). Raises ShapeError."""

def ceil(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Smallest integer >= x. Integers stay what they are; raises DTypeError for booleans."""

def chain_matmul(*matrices: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The product of matrices, in the order that needs the fewest operations."""

def cholesky(input: Any, upper: bool = False, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`linalg.cholesky` by an older name."""

def cholesky_inverse(input: Any, upper: bool = False, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The inverse of A from its Cholesky factor."""

def cholesky_solve(
    input: Any,
    L: Any,
    upper: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """X with A X = input, from A's Cholesky factor."""

def chunk(
    input: Any,
    chunks: int,
    dim: int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = 0,
) -> tuple[Tensor, ...]:
    """At most so many parts of equal size along `dim`; the last one is smaller if need be.

    Examples:
        >>> sg.chunk(sg.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
    """

def clamp(
    x: TensorLike,
    min: TensorLike | None = None,
    max: TensorLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """PyTorch's name of `clip`.

    Examples:
        >>> sg.clamp(sg.tensor([-1.0, 0.5, 2.0]), 0, 1)
        tensor([0.0000, 0.5000, 1.0000])
    """

def clamp_max(input: Any, max: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The smaller of `input` and `max`."""

def clamp_min(input: Any, min: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The larger of `input` and `min`."""

def clip(
    x: TensorLike,
    min: TensorLike | None = None,
    max: TensorLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """x limited to [min, max]; either may be None. Inside the bounds, edges included, the gradient passes through.

    The bounds are promoted with x. Raises ArgumentError when both are None.

    Examples:
        >>> sg.clip(sg.tensor([-2.0, 0.5, 2.0]), 0, 1)
        tensor([0.0000, 0.5000, 1.0000])
    """

def clone(input: TensorLike, *, memory_format: object = None) -> Tensor:
    """A copy of input in memory of its own, in input's order of axes. memory_format: `contiguous_format` or
    `channels_last`,
    for another order of its elements.
    """

@overload
def column_stack(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def column_stack(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Vectors as columns, and matrices, side by side."""

def combinations(
    input: Any,
    r: int = 2,
    with_replacement: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The combinations of r elements of a 1-D tensor, one per row."""

def complex(real: Any, imag: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """real + i imag, broadcast. Both are float32, or both float64; raises DTypeError otherwise."""

def concatenate(
    tensors: Sequence[TensorLike],
    axis: int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dim: int = 0,
) -> Tensor:
    """The operands one after another along `axis`; dtypes are promoted. Raises ShapeError."""

def cond(pred: TensorLike, true_fn: Callable[..., Output], false_fn: Callable[..., Output], *operands: Any) -> Output:
    """true_fn(*operands) where `pred` holds, else false_fn(*operands); only that one runs.

    pred: one boolean. operands: one after another, or in one tuple (PyTorch's form). The functions may use anything from
    outside (TensorFlow 1's style has no operands); they return the same structure, of the same shapes and dtypes. They may
    draw random numbers, and in a graph assign to variables.

    In a graph it is one node; eagerly, and for a boolean of Python's or NumPy's, an ordinary decision: the other function
    does not run, so what it returns is not looked at. Raises ArgumentError for a branch that is no function; in a graph
    ArgumentError, ShapeError and DTypeError when the branches disagree.

    Examples:
        >>> sg.cond(sg.tensor(True), lambda x: x + 1, lambda x: x - 1, sg.tensor(1.0))
        tensor(2.)
    """

def conj(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The conjugate; of real numbers, `input` itself."""

def copysign(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """|input| with the sign of `other`."""

def corrcoef(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The correlations of variables (rows) over observations (columns)."""

def cos(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Cosine.

    Examples:
        >>> sg.cos(sg.tensor([0.0, 1.0]))
        tensor([1.0000, 0.5403])
    """

def cosh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic cosine.

    Examples:
        >>> sg.cosh(sg.tensor([0.0, 1.0]))
        tensor([1.0000, 1.5431])
    """

def count_nonzero(
    input: Any,
    dim: Any = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
) -> Tensor:
    """How many elements along `dim` (of all for None) are not 0, int64.

    Examples:
        >>> sg.count_nonzero(sg.tensor([0, 3, 4]))
        tensor(2)
    """

def cov(
    input: Any,
    *,
    correction: int = 1,
    fweights: Any = None,
    aweights: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The covariances of variables (rows) over observations (columns), with weights; a number for one variable."""

def cross(
    input: Any,
    other: Any,
    dim: int | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int | None = None,
) -> Tensor:
    """The cross products along `dim`, the first axis of extent 3 unless given.

    Examples:
        >>> sg.cross(sg.tensor([1.0, 0.0, 0.0]), sg.tensor([0.0, 1.0, 0.0]), dim=0)
        tensor([0., 0., 1.])
    """

@overload
def cummax(
    input: Any,
    dim: int,
    *,
    _op: OpDef = ...,
    _name: str = 'cummax',
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.Pair: ...
@overload
def cummax(
    *,
    input: Any,
    axis: int,
    _op: OpDef = ...,
    _name: str = 'cummax',
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.Pair:
    """The named tuple (values, indices) of the extremum so far, along `dim`."""

@overload
def cummin(
    input: Any,
    dim: int,
    *,
    _op: OpDef = ...,
    _name: str = 'cummin',
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.Pair: ...
@overload
def cummin(
    *,
    input: Any,
    axis: int,
    _op: OpDef = ...,
    _name: str = 'cummin',
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.Pair:
    """The named tuple (values, indices) of the extremum so far, along `dim`."""

@overload
def cumprod(input: Any, dim: int, *, dtype: Any = None, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def cumprod(*, input: Any, axis: int, dtype: Any = None, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Running products along `dim`; integers in int64.

    Examples:
        >>> sg.cumprod(sg.tensor([1, 2, 3]), dim=0)
        tensor([1, 2, 6])
    """

def cumsum(
    x: TensorLike,
    axis: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dim: int | None = None,
) -> Tensor:
    """Running sums along `axis` (of the flattened array for None).

    Examples:
        >>> sg.cumsum(sg.tensor([1, 2, 3]), dim=0)
        tensor([1, 3, 6])
    """

def cumulative_trapezoid(
    y: Any,
    x: Any = None,
    *,
    dx: float = 1,
    dim: int = -1,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
) -> Tensor:
    """The running areas of `trapezoid`."""

def deg2rad(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Degrees as radians."""

def det(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The determinant of square matrices.

    Examples:
        >>> sg.linalg.det(sg.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor(8.)
    """

def detach_copy(
    input: Any,
    *args: Any,
    _source: str = 'stop_gradient',
    out: Tensor | None = None,
    **named: Any,
) -> Tensor:
    """As the function without `_copy`, in memory of its own."""

def diag(input: Any, diagonal: int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The diagonal of a matrix, or the matrix with a vector on its diagonal.

    Examples:
        >>> sg.diag(sg.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """

def diag_embed(
    input: Any,
    offset: int = 0,
    dim1: int = -2,
    dim2: int = -1,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Matrices with the last axis of `input` along their diagonal; their axes are dim1 and dim2 of the result."""

def diagflat(input: Any, offset: int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The matrix with all elements of `input` on its diagonal."""

def diagonal(
    input: Any,
    offset: int = 0,
    dim1: int = 0,
    dim2: int = 1,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The elements with equal positions (the second one larger by `offset`) along two axes; they lie along a new last
    axis.

    A view, as in PyTorch: a change of it is one of `input`.

    Examples:
        >>> x = sg.zeros(2, 2)
        >>> _ = x.diagonal().add_(1)
        >>> x
        tensor([[1., 0.],
                [0., 1.]])
    """

def diagonal_copy(
    input: Any,
    *args: Any,
    _source: str = 'diagonal',
    out: Tensor | None = None,
    **named: Any,
) -> Tensor:
    """As the function without `_copy`, in memory of its own."""

def diagonal_scatter(
    input: Any,
    src: Any,
    offset: int = 0,
    dim1: int = 0,
    dim2: int = 1,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with `src` on a diagonal."""

def diff(
    input: Any,
    n: int = 1,
    dim: int = -1,
    prepend: Any = None,
    append: Any = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
) -> Tensor:
    """Differences of neighbors along `dim`, taken n times; of booleans, whether they differ."""

def digamma(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma`."""

def dist(input: Any, other: Any, p: float = 2, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The p-norm of input - other."""

def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """input / other, broadcast; integers give the default float. rounding_mode: "floor" or "trunc" rounds the quotient, of
    integers to an integer. Raises ArgumentError for another one.

    Examples:
        >>> sg.div(sg.tensor([7.0, -7.0]), 2, rounding_mode="floor")
        tensor([ 3., -4.])
    """

def dot(input: TensorLike, tensor: TensorLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`matmul` for at most two axes (PyTorch's and NumPy's `dot` agree there).

    Examples:
        >>> sg.dot(sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]))
        tensor(11.)
    """

def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero each element with probability p and scale the rest by 1 / (1 - p); x itself when not training.

    Raises ArgumentError unless 0 <= p <= 1.

    Examples:
        >>> sg.dropout(sg.ones(3), 0.5, training=False)
        tensor([1., 1., 1.])
    """

def dsplit(
    input: Any,
    indices_or_sections: Any,
    *,
    _name: str = 'dsplit',
    _axis: int = 2,
    _least: int = 3,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, ...]:
    """Equal parts, or parts between positions, along the axis that NumPy's function of this name cuts."""

@overload
def dstack(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def dstack(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Tensors one after another, each with the axes that it lacks; as NumPy's function of this name."""

def einsum(equation: str, *operands: TensorLike) -> Tensor:
    """The sum over repeated subscripts, `einsum("bij,bjk->bik", x, y)`; "..." stands for axes that broadcast.

    A subscript that the result lacks is summed over; without "->" the result has those that occur once, in alphabetical
    order. Several operands are joined in the cheapest order of pairs. Raises ArgumentError for a malformed
    equation, ShapeError for extents that don't fit.

    Examples:
        >>> sg.einsum("ij,j->i", sg.tensor([[1.0, 2.0], [3.0, 4.0]]), sg.tensor([1.0, 10.0]))
        tensor([21., 43.])
    """

def empty_like(
    input: TensorLike,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    *,
    device: Any = None,
    layout: Any = None,
    memory_format: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """As `empty`, of the shape of `input`, and of its dtype unless one is given."""

def eq(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x == y elementwise, bool."""

def equal(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> bool:
    """Whether both have the same shape and elements, as a Python bool.

    Examples:
        >>> sg.equal(sg.tensor([1, 2]), sg.tensor([1, 2]))
        True
    """

def erf(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The error function.

    Examples:
        >>> sg.erf(sg.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8427])
    """

def erfc(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(x), accurate for large x."""

def erfinv(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `erf`."""

def exp(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """e**x.

    Examples:
        >>> sg.exp(sg.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
    """

def exp2(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """2**x.

    Examples:
        >>> sg.exp2(sg.tensor([0.0, 3.0]))
        tensor([1., 8.])
    """

def expand(input: Array, *extents: ShapeLike, size: ShapeLike | None = None, implicit: bool = False) -> Tensor:
    """PyTorch's `broadcast_to`: -1 keeps an extent."""

def expand_as(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` repeated to the shape of `other`."""

def expand_copy(input: Any, *args: Any, _source: str = 'expand', out: Tensor | None = None, **named: Any) -> Tensor:
    """As the function without `_copy`, in memory of its own."""

def expand_dims(x: TensorLike, axis: int | Sequence[int]) -> Tensor:
    """x with new axes of extent 1 at the places `axis` of the result."""

def expm1(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """exp(x) - 1, accurate for small x.

    Examples:
        >>> sg.expm1(sg.tensor([0.0, 1.0]))
        tensor([0.0000, 1.7183])
    """

def fill(input: Any, value: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """One number in the shape and dtype of `input`, whose gradient is 0; a 0-d tensor takes its gradient."""

def flatten(
    x: Any,
    start_dim: int = 0,
    end_dim: int = -1,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """x with the axes from `start_dim` to `end_dim` joined into one. Raises ArgumentError for one out of range.

    Examples:
        >>> sg.flatten(sg.zeros(2, 3, 4), start_dim=1).shape
        torch.Size([2, 12])
    """

@overload
def flip(input: Any, dims: Any = (), *more: int, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def flip(input: Any, dims: Any = (), *, more: int, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` in reverse order along each of `dims`, in memory of its own: integers, or one tuple of them.

    Examples:
        >>> sg.flip(sg.tensor([1, 2, 3]), (0,))
        tensor([3, 2, 1])
    """

def fliplr(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` in reverse order along axis 1."""

def flipud(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` in reverse order along axis 0."""

def float_power(input: Any, exponent: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """input ** exponent in float64, or complex128."""

def floor(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Largest integer <= x. Integers stay what they are; raises DTypeError for booleans."""

def floor_divide(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """floor(x / y), with NumPy's rules for signs and zero. Raises DivisionError where integers are divided by 0."""

def fmax(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`maximum`, of which a NaN is left out; of equal elements the first has the gradient."""

def fmin(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`minimum`, of which a NaN is left out; of equal elements the first has the gradient."""

def fmod(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The remainder of a division rounded towards 0: the sign of `input`. Raises DivisionError for integers over 0.

    Examples:
        >>> sg.fmod(sg.tensor([7.0, -7.0]), 3)
        tensor([ 1., -1.])
    """

def frac(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """input - trunc(input), with the sign of the input. Raises DTypeError for integers."""

def frexp(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> tuple[Tensor, Tensor]:
    """Mantissa and exponent: input = mantissa * 2**exponent, the mantissa in [0.5, 1) or 0."""

def full_like(
    input: TensorLike,
    fill_value: Any,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    *,
    device: Any = None,
    layout: Any = None,
    memory_format: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`fill_value` in the shape of `input`, and in its dtype unless one is given.

    Examples:
        >>> sg.full_like(sg.zeros(2), 5)
        tensor([5., 5.])
    """

@overload
def gather(
    input: Any,
    dim: int,
    index: Any,
    *,
    sparse_grad: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def gather(
    *,
    input: Any,
    axis: int,
    index: Any,
    sparse_grad: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The elements at positions along `dim`: `out[i, j] = input[index[i, j], j]` for dim 0. The index has the axes of
    `input`,
    and extents no larger than its away from `dim`. Raises IndexRangeError, ShapeError.

    Examples:
        >>> sg.gather(sg.tensor([[1, 2], [3, 4]]), 1, sg.tensor([[1], [0]]))
        tensor([[2],
                [3]])
    """

def gcd(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The gcd of two integers."""

def ge(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x >= y elementwise, bool."""

def geqrf(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> return_types.geqrf:
    """The named tuple (a, tau): R in the upper triangle of `a`, reflections of Q below it. It has no derivative."""

def getitem(x: Array, key: Index) -> Tensor:
    """x[key] with NumPy's rules: ints, slices, None, Ellipsis, integer arrays, booleans and, for values known now, boolean
    masks. An int is taken before arrays, as in PyTorch. Raises IndexRangeError.
    """

def gradient(
    input: Any,
    *,
    spacing: Any = None,
    dim: Any = None,
    edge_order: int = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
) -> tuple[Tensor, ...]:
    """Estimates of the derivatives of samples along axes (all unless `dim` names some), one tensor for each.

    Central differences inside, one-sided ones of `edge_order` 1 or 2 at the ends. spacing: the distance of samples (1),
    one for
    each axis, or a 1-D tensor of places for each. Raises ArgumentError, and ShapeError for axes that are too short.
    """

def gt(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x > y elementwise, bool."""

def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
    layout: Any = None,
    out: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """alpha - beta cos(2 pi t), (window_length,)."""

def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
    layout: Any = None,
    out: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """(1 - cos(2 pi t)) / 2, (window_length,)."""

def heaviside(input: Any, values: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """0 below 0 and for NaN, 1 above, `values` at 0."""

def histc(
    input: Any,
    bins: int = 100,
    min: float = 0,
    max: float = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """How many elements lie in each of `bins` equal intervals from min to max (of the input when both are equal): (bins,),
    in
    the dtype of the input. Raises ArgumentError for a range that is not finite or not ascending.
    """

def histogram(
    input: Any,
    bins: Any,
    *,
    range: Any = None,
    weight: Any = None,
    density: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.histogram:
    """The named tuple (hist, bin_edges): `bins` is a number of equal intervals or their edges, which graphs take to be
    ascending.
    """

def histogramdd(
    input: Any,
    bins: Any,
    *,
    range: Any = None,
    weight: Any = None,
    density: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.histogramdd:
    """Counts of points (number, d) in a grid, and the edges of the grid along each of the d axes.

    bins: the intervals of each axis, one number for all of them, or a sequence of edges. range: low and high of each axis,
    one
    after the other. Raises ArgumentError for bins or a range that don't fit, and for fewer than two axes; graphs take
    edges to
    be ascending.
    """

def hsplit(
    input: Any,
    indices_or_sections: Any,
    *,
    _name: str = 'hsplit',
    _axis: int = 1,
    _least: int = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, ...]:
    """Equal parts, or parts between positions, along the axis that NumPy's function of this name cuts."""

@overload
def hstack(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def hstack(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Tensors one after another, each with the axes that it lacks; as NumPy's function of this name."""

def hypot(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """sqrt(input**2 + other**2), without overflow."""

def i0(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of order 0."""

def igamma(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The regularized lower incomplete gamma function."""

def igammac(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The regularized upper incomplete gamma function."""

def imag(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The imaginary parts, a view. Raises DTypeError for real numbers."""

@overload
def index_add(
    x: TensorLike,
    axis: int,
    index: TensorLike,
    source: TensorLike,
    *,
    alpha: float | Tensor = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def index_add(
    *,
    x: TensorLike,
    dim: int,
    index: TensorLike,
    source: TensorLike,
    alpha: float | Tensor = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """x with `alpha * source` added at `index` along `axis`, once for every time that a position occurs.

    index: integers (n,), negative ones count from the end; source: x's shape with n along `axis`, x's dtype. Raises
    IndexRangeError, ShapeError, and DTypeError for a floating index.

    Examples:
        >>> sg.index_add(sg.zeros(3), 0, sg.tensor([2, 0, 2]), sg.tensor([1.0, 2.0, 3.0]))
        tensor([2., 0., 4.])
    """

def index_along(x: Array, axis: int) -> Tensor:
    """The positions along `axis` of x, shaped to broadcast against x; int64. Raises ArgumentError for a bad axis."""

@overload
def index_copy(
    input: Any,
    dim: int,
    index: Any,
    source: Any,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def index_copy(
    *,
    input: Any,
    axis: int,
    index: Any,
    source: Any,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with the slices of `source` at positions along `dim`."""

@overload
def index_fill(
    input: Any,
    dim: int,
    index: Any,
    value: Any,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def index_fill(
    *,
    input: Any,
    axis: int,
    index: Any,
    value: Any,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with one value in the slices at positions along `dim`. The value is a number or a 0-d tensor."""

def index_put(
    input: Any,
    indices: Any,
    values: Any,
    accumulate: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with values where `input[indices]` reads; they are added with `accumulate`."""

@overload
def index_reduce(
    input: Any,
    dim: int,
    index: Any,
    source: Any,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def index_reduce(
    *,
    input: Any,
    axis: int,
    index: Any,
    source: Any,
    reduce: str,
    include_self: bool = True,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` combined with the slices of `source` at positions along `dim`: "prod", "mean", "amax" or "amin"."""

@overload
def index_select(input: Any, dim: int, index: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def index_select(*, input: Any, axis: int, index: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The slices at positions along `dim`; index: 1-D integers. Raises IndexRangeError.

    Examples:
        >>> sg.index_select(sg.tensor([[1, 2], [3, 4]]), 0, sg.tensor([1, 1]))
        tensor([[3, 4],
                [3, 4]])
    """

def inner(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Sums of products over the last axes of both operands."""

def inverse(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The inverse of square matrices. Raises ShapeError, LinAlgError for a singular one.

    Examples:
        >>> sg.linalg.inv(sg.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """

def isclose(
    input: Any,
    other: Any,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Where |input - other| <= atol + rtol |other|; infinities are close to themselves, NaN to NaN with `equal_nan`.

    Examples:
        >>> sg.isclose(sg.tensor([1.0, 2.0]), sg.tensor([1.0, 2.1]))
        tensor([ True, False])
    """

def isfinite(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Where x is neither NaN nor infinite, bool.

    Examples:
        >>> sg.isfinite(sg.tensor([1.0, float("inf")]))
        tensor([ True, False])
    """

def isin(
    elements: Any,
    test_elements: Any,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Where an element is among `test_elements`."""

def isinf(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Where `input` is infinite.

    Examples:
        >>> sg.isinf(sg.tensor([1.0, float("-inf")]))
        tensor([False,  True])
    """

def isnan(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Where x is NaN, bool.

    Examples:
        >>> sg.isnan(sg.tensor([1.0, float("nan")]))
        tensor([False,  True])
    """

def isneginf(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Where `input` is minus infinity."""

def isposinf(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Where `input` is plus infinity."""

def isreal(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Where the imaginary part is 0; everywhere for real numbers."""

def istft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The signal of `stft`'s result, by least squares: real unless `return_complex`. length: of the signal, which zeros
    fill.

    Raises DTypeError for real numbers, ShapeError, and ArgumentError where windows leave a gap.
    """

def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
    layout: Any = None,
    out: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """i0(beta sqrt(1 - (2 t - 1)^2)) / i0(beta), (window_length,)."""

def kron(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The Kronecker product: the blocks input[i] * other."""

def kthvalue(
    input: Any,
    k: int,
    dim: int = -1,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
    keepdims: bool = False,
) -> return_types.Pair:
    """The named tuple (values, indices) of the k-th smallest element along `dim`, counted from 1."""

def lcm(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The lcm of two integers."""

def ldexp(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """input * 2**other."""

def le(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x <= y elementwise, bool."""

def lerp(input: Any, end: Any, weight: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """input + weight * (end - input): the line from `input` to `end`. Of two formulas the one that is exact nearer its
    end.

    Examples:
        >>> sg.lerp(sg.tensor([0.0, 10.0]), sg.tensor([1.0, 20.0]), 0.5)
        tensor([ 0.5000, 15.0000])
    """

def lgamma(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """log|gamma(x)|."""

def lobpcg(
    A: Any,
    k: int | None = None,
    B: Any = None,
    X: Any = None,
    n: int | None = None,
    iK: Any = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues and their vectors, A v = w B v, of symmetric A and positive definite B.

    LAPACK finds all of them at once, so start values (X), preconditioners (iK) and what else steers PyTorch's iteration
    change
    nothing. Raises ArgumentError for a tracker, which there is no iteration to call.
    """

def log(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm.

    Examples:
        >>> sg.log(sg.tensor([1.0, 2.0]))
        tensor([0.0000, 0.6931])
    """

def log10(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 10.

    Examples:
        >>> sg.log10(sg.tensor([1.0, 50.0]))
        tensor([0.0000, 1.6990])
    """

def log1p(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """log(1 + x), accurate for small x.

    Examples:
        >>> sg.log1p(sg.tensor([0.0, 1.0]))
        tensor([0.0000, 0.6931])
    """

def log2(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 2.

    Examples:
        >>> sg.log2(sg.tensor([1.0, 8.0]))
        tensor([0., 3.])
    """

def log_softmax(
    x: TensorLike,
    axis: Axis = -1,
    dtype: DTypeLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dim: Axis = -1,
) -> Tensor:
    """log(softmax(x)) over `axis`, accurate where softmax underflows.

    Examples:
        >>> sg.log_softmax(sg.tensor([0.0, 0.0]), dim=0)
        tensor([-0.6931, -0.6931])
    """

def logaddexp(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """log(exp(input) + exp(other)), without overflow."""

def logaddexp2(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """log2(2**input + 2**other), without overflow."""

@overload
def logcumsumexp(input: Any, dim: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def logcumsumexp(*, input: Any, axis: int, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """log(cumsum(exp(x))) along `dim`, without overflow."""

def logdet(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """log(det), NaN for a negative determinant of real matrices."""

def logical_and(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """numpy.logical_and, bool."""

def logical_not(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """not x, bool.

    Examples:
        >>> sg.logical_not(sg.tensor([True, False]))
        tensor([False,  True])
    """

def logical_or(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """numpy.logical_or, bool."""

def logical_xor(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """numpy.logical_xor, bool."""

def logit(input: Any, eps: float | None = None, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """log(input / (1 - input)), of input clamped to [eps, 1 - eps] if that is given."""

def logsumexp(
    input: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """log(sum(exp(x))) without overflow. `dim` (or `axis`): an int, several, or None for all. Raises ArgumentError for a
    bad one.

    Examples:
        >>> sg.logsumexp(sg.tensor([0.0, 0.0]), dim=0)
        tensor(0.6931)
    """

def lt(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x < y elementwise, bool."""

def lu(
    input: Any,
    pivot: bool = True,
    get_infos: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, ...]:
    """(LU, pivots), with get_infos also the infos, by an older name."""

def lu_solve(input: Any, LU_data: Any, LU_pivots: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`linalg.lu_solve` by an older name."""

def lu_unpack(
    LU_data: Any,
    LU_pivots: Any,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.lu:
    """The named tuple (P, L, U) of `lu_factor`'s results; empty tensors for what is not asked for."""

def masked_fill(
    x: Array,
    mask: TensorLike,
    value: TensorLike,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """x with `value`, cast to x's dtype, where the mask is true. Raises DTypeError for a number that doesn't fit it.

    Examples:
        >>> sg.masked_fill(sg.tensor([1.0, 2.0]), sg.tensor([True, False]), 0.0)
        tensor([0., 2.])
    """

def masked_scatter(input: Any, mask: Any, source: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` with the elements of `source`, in order, where the mask is true."""

def masked_select(input: Any, mask: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The elements where the mask (broadcast) is true, 1-D.

    Examples:
        >>> sg.masked_select(sg.tensor([1.0, 2.0]), sg.tensor([True, False]))
        tensor([1.])
    """

def matmul(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The matrix product with NumPy's rules: 1-D operands are rows or columns, leading axes are batches and broadcast.

    Shapes (..., n, k) @ (..., k, m) -> (..., n, m). Raises ShapeError when inner sizes differ or an operand is 0-d.

    Examples:
        >>> sg.matmul(sg.ones(2, 3), sg.ones(3, 4)).shape
        torch.Size([2, 4])
    """

def matrix_exp(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The exponential of square matrices."""

def matrix_power(A: Any, n: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The product of n times the matrix A; of its inverse for a negative n. The gradient of the power 0 is 0."""

@overload
def max(
    input: Any,
    dim: None = None,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: None = None,
    keepdims: bool = False,
) -> Tensor: ...
@overload
def max(
    input: Any,
    dim: int,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.Pair: ...
@overload
def max(
    *,
    input: Any,
    axis: int,
    keepdims: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.Pair: ...
@overload
def max(
    input: Any,
    *,
    axis: int,
    keepdim: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: bool = False,
) -> return_types.Pair: ...
@overload
def max(input: Any, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The extremum of all elements; along one axis the named tuple (values, indices) of the first one; of two tensors
    `maximum`. `amax` gives the values alone, over several axes too.

    Examples:
        >>> values, indices = sg.max(sg.tensor([[3.0, 3.0], [3.0, 3.0]]), dim=1)
        >>> values
        tensor([3., 3.])
    """

def maximum(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The larger of each pair; NaN if either is. A tie shares its gradient.

    Examples:
        >>> sg.maximum(sg.tensor([1.0, 5.0]), sg.tensor([3.0, 2.0]))
        tensor([3., 5.])
    """

def mean(
    input: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The mean, floating; NaN over no elements. `dim` (or `axis`): an int, several, or None for all. Raises ArgumentError
    for a bad one.

    Examples:
        >>> sg.mean(sg.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
        tensor([1.5000, 3.5000])
    """

@overload
def median(
    input: Any,
    dim: None = None,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: None = None,
    keepdims: bool = False,
) -> Tensor: ...
@overload
def median(
    input: Any,
    dim: int,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.Pair: ...
@overload
def median(
    *,
    input: Any,
    axis: int,
    keepdims: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.Pair: ...
@overload
def median(
    input: Any,
    *,
    axis: int,
    keepdim: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: bool = False,
) -> return_types.Pair:
    """The lower median: of all elements, or the named tuple (values, indices) along `dim`."""

@overload
def meshgrid(
    *tensors: Any,
    indexing: str = 'ij',
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, ...]: ...
@overload
def meshgrid(
    *,
    tensors: Any,
    indexing: str = 'ij',
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, ...]:
    """Coordinates of a grid: each tensor along its own axis, repeated along those of the others. indexing: "ij", or "xy",
    which exchanges the first two axes.

    Examples:
        >>> [m.tolist() for m in sg.meshgrid(sg.arange(2), sg.arange(2), indexing="ij")]
        [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """

@overload
def min(
    input: Any,
    dim: None = None,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: None = None,
    keepdims: bool = False,
) -> Tensor: ...
@overload
def min(
    input: Any,
    dim: int,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.Pair: ...
@overload
def min(
    *,
    input: Any,
    axis: int,
    keepdims: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.Pair: ...
@overload
def min(
    input: Any,
    *,
    axis: int,
    keepdim: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: bool = False,
) -> return_types.Pair: ...
@overload
def min(input: Any, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The extremum of all elements; along one axis the named tuple (values, indices) of the first one; of two tensors
    `minimum`. `amin` gives the values alone, over several axes too.

    Examples:
        >>> values, indices = sg.min(sg.tensor([[3.0, 3.0], [3.0, 3.0]]), dim=1)
        >>> values
        tensor([3., 3.])
    """

def minimum(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The smaller of each pair; NaN if either is. A tie shares its gradient.

    Examples:
        >>> sg.minimum(sg.tensor([1.0, 5.0]), sg.tensor([3.0, 2.0]))
        tensor([1., 2.])
    """

def mm(input: Any, mat2: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The product of two matrices. Raises ShapeError.

    Examples:
        >>> sg.mm(sg.tensor([[1.0, 2.0]]), sg.tensor([[3.0], [4.0]]))
        tensor([[11.]])
    """

def mode(
    input: Any,
    dim: Any = None,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> return_types.Pair:
    """The named tuple (values, indices) of the most frequent value along `dim` (the last axis)."""

def movedim(input: Any, source: Any, destination: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` with the axes `source` at the places `destination`; the others keep their order.

    Examples:
        >>> sg.movedim(sg.zeros(2, 3, 4), 0, -1).shape
        torch.Size([3, 4, 2])
    """

def msort(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` sorted along its first axis."""

def mul(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x * y, broadcast. Booleans: logical and."""

def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Positions along the last axis, drawn with the weights in `input` (1-D or 2-D), int64. Raises ArgumentError."""

def mv(input: Any, vec: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The product of a matrix and a vector. Raises ShapeError.

    Examples:
        >>> sg.mv(sg.tensor([[1.0, 2.0], [3.0, 4.0]]), sg.tensor([1.0, 1.0]))
        tensor([3., 7.])
    """

def mvlgamma(input: Any, p: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The multivariate log-gamma function of dimension p. Raises ArgumentError for p below 1."""

def nan_to_num(
    input: Any,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """NaN as `nan` (0 unless given), infinities as `posinf` and `neginf` (the largest and the least number); of complex
    numbers in both parts.
    """

def nanmean(
    input: Any,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """The mean of what is not NaN."""

@overload
def nanmedian(
    input: Any,
    dim: None = None,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: None = None,
    keepdims: bool = False,
) -> Tensor: ...
@overload
def nanmedian(
    input: Any,
    dim: int,
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.Pair: ...
@overload
def nanmedian(
    *,
    input: Any,
    axis: int,
    keepdims: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.Pair: ...
@overload
def nanmedian(
    input: Any,
    *,
    axis: int,
    keepdim: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: bool = False,
) -> return_types.Pair:
    """`median`, of which NaN are left out."""

def nanquantile(
    input: Any,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = 'linear',
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int | None = None,
    keepdims: bool = False,
) -> Tensor:
    """`quantile`, of which NaN are left out."""

def nansum(
    input: Any,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """The sum of what is not NaN."""

@overload
def narrow(input: Any, dim: int, start: Any, length: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def narrow(
    *,
    input: Any,
    axis: int,
    start: Any,
    length: int,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`length` elements along `dim` from `start` on. Raises ArgumentError for a part outside.

    Examples:
        >>> sg.narrow(sg.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
    """

@overload
def narrow_copy(
    input: Any,
    dim: int,
    start: Any,
    length: int,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def narrow_copy(
    *,
    input: Any,
    axis: int,
    start: Any,
    length: int,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`length` elements along `dim` from `start` on, in memory of its own."""

def ne(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x != y elementwise, bool."""

def neg(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """-x.

    Examples:
        >>> sg.neg(sg.tensor([1.0, -2.0]))
        tensor([-1.,  2.])
    """

def nextafter(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The next number towards y."""

@overload
def nonzero(input: Any, *, as_tuple: Literal[False] = False, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def nonzero(
    input: Any,
    *,
    as_tuple: Literal[True],
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, ...]:
    """The positions of elements that are not 0, (number, axes); with as_tuple, a tensor for each axis.

    Examples:
        >>> sg.nonzero(sg.tensor([0, 3, 4]))
        tensor([[1],
                [2]])
    """

def nonzero_static(
    input: Any,
    *,
    size: int,
    fill_value: int = -1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`nonzero` with `size` rows, cut off or filled up: (size, axes), int64. Raises ArgumentError for a negative size."""

def norm(
    input: Any,
    p: Any = 'fro',
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """The p-norm of the elements along `dim`, of all for None; "fro" is 2, "nuc" the sum of singular values of a matrix.

    Examples:
        >>> sg.norm(sg.tensor([3.0, 4.0]))
        tensor(5.)
    """

def normal(
    mean: float | Tensor = 0.0,
    std: float | Tensor = 1.0,
    size: ShapeLike | None = None,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
    layout: Any = None,
    out: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """Normal numbers of this mean and standard deviation: numbers with a size, or tensors, broadcast. Gradients flow to
    neither. Raises ArgumentError for a negative deviation, or without a shape.
    """

def one_hot(index: TensorLike, classes: int, dtype: DTypeLike | None = None) -> Tensor:
    """1 at the index along a new last axis of extent `classes`, else 0; default float unless `dtype` is given.

    Raises IndexRangeError for an index outside [0, classes).
    """

def ones_like(
    input: TensorLike,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    *,
    device: Any = None,
    layout: Any = None,
    memory_format: Any = None,
) -> Tensor:
    """Ones of the shape of `input`, and of its dtype unless one is given.

    Examples:
        >>> sg.ones_like(sg.zeros(2))
        tensor([1., 1.])
    """

def orgqr(A: Any, tau: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The first columns of the product of Householder reflections I - tau v v.H, whose v lie below A's diagonal."""

def ormqr(
    input: Any,
    tau: Any,
    other: Any,
    left: bool = True,
    transpose: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Q other, or other Q for left=False, with the whole unitary Q of reflections; Q.H for transpose=True."""

def outer(input: TensorLike, vec2: TensorLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """input[i] * vec2[j] for 1-D operands.

    Examples:
        >>> sg.outer(sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]))
        tensor([[3., 4.],
                [6., 8.]])
    """

def pca_lowrank(
    A: Any,
    q: int | None = None,
    center: bool = True,
    niter: int = 2,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) of `svd_lowrank` for A whose columns have their means taken away, unless center is False: V's columns are
    the
    principal directions. q: min(6, m, n) unless given. Raises ArgumentError.
    """

def permute(input: TensorLike, *axes: ShapeLike, dims: ShapeLike | None = None) -> Tensor:
    """input with its axes in the order `axes` (reversed when none are given).

    Examples:
        >>> sg.permute(sg.zeros(2, 3, 4), (2, 0, 1)).shape
        torch.Size([4, 2, 3])
    """

def permute_copy(input: Any, *args: Any, _source: str = 'permute', out: Tensor | None = None, **named: Any) -> Tensor:
    """As the function without `_copy`, in memory of its own."""

def pinverse(input: Any, rcond: float = 1e-15, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`linalg.pinv` by an older name."""

def poisson(
    input: Tensor,
    generator: Generator | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Poisson numbers with the rates in `input`, in its dtype."""

def polar(abs: Any, angle: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """abs (cos(angle) + i sin(angle)). Both are float32, or both float64; raises DTypeError otherwise."""

def polygamma(n: int, input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The n-th derivative of `digamma`. Raises ArgumentError for a negative n."""

def positive(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` itself. Raises DTypeError for booleans."""

def pow(input: TensorLike, exponent: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """input ** exponent, broadcast. Plain exponents 1, 2, 0.5, -1 take the op made for them.

    Raises DTypeError for negative powers of integers and for booleans.

    Examples:
        >>> sg.pow(sg.tensor([2.0, 3.0]), 2)
        tensor([4., 9.])
    """

def prod(
    input: Any,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """The product along `dim`, of all elements for None; integers in int64.

    Examples:
        >>> sg.prod(sg.tensor([2.0, 3.0, 4.0]))
        tensor(24.)
    """

def put(
    input: Any,
    index: Any,
    source: Any,
    accumulate: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with values at positions of the flattened array; they are added with `accumulate`."""

def qr(input: Any, some: bool = True, *, out: Tensor | tuple[Tensor, ...] | None = None) -> return_types.qr:
    """`linalg.qr` by an older name."""

def quantile(
    input: Any,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = 'linear',
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The q-quantiles along `dim` (of all elements for None), q a number or several in [0, 1], along a new first axis.

    A NaN makes its row NaN. Raises ArgumentError, DTypeError for integers.
    """

def rad2deg(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Radians as degrees."""

def rand_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
    device: Any = None,
    layout: Any = None,
    memory_format: Any = None,
) -> Tensor:
    """`rand` of the shape of `input`, and of its dtype unless one is given."""

def randint_like(
    input: Tensor,
    low: int = 0,
    high: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
    device: Any = None,
    layout: Any = None,
    memory_format: Any = None,
) -> Tensor:
    """`randint` of the shape of `input`, and of its dtype unless one is given."""

def randn_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
    device: Any = None,
    layout: Any = None,
    memory_format: Any = None,
) -> Tensor:
    """`randn` of the shape of `input`, and of its dtype unless one is given."""

def ravel(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` with all axes joined into one."""

def real(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The real parts; of real numbers, `input` itself. A view of complex numbers."""

def reciprocal(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """1 / input.

    Examples:
        >>> sg.reciprocal(sg.tensor([2.0, 4.0]))
        tensor([0.5000, 0.2500])
    """

def relu(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """max(x, 0); its derivative at 0 is 0 and at NaN 1, NaN stays NaN.

    Examples:
        >>> sg.relu(sg.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

def remainder(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x - y * floor(x / y): the sign of y. Raises DivisionError where integers are divided by 0."""

@overload
def renorm(
    input: Any,
    p: float,
    dim: int,
    maxnorm: float,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def renorm(
    *,
    input: Any,
    p: float,
    axis: int,
    maxnorm: float,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` whose slices along `dim` have a p-norm of at most `maxnorm`."""

@overload
def repeat(input: Any, *repeats: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def repeat(input: Any, *, repeats: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` repeated so often along each axis, new axes in front: NumPy's `tile`."""

def repeat_interleave(
    input: Any,
    repeats: Any = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int | None = None,
) -> Tensor:
    """Each element so often in a row, along `dim` or of the flattened input; `repeats`: an integer, or one per element.

    Of counts alone: the position of each, so often.

    Examples:
        >>> sg.repeat_interleave(sg.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2])
    """

def reshape(input: TensorLike, *extents: ShapeLike, shape: ShapeLike | None = None) -> Tensor:
    """input in another shape, row-major; one extent may be -1. Raises ShapeError when the sizes differ.

    Examples:
        >>> sg.reshape(sg.arange(6), (2, -1))
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """

def reshape_as(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` in the shape of `other`."""

def resolve_conj(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input`: a conjugate is computed when it is written."""

def roll(
    input: Any,
    shifts: Any,
    dims: Any = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
) -> Tensor:
    """`input` with elements moved by `shifts` along `dims`, round the end, in memory of its own; of the flattened one
    without
    dims.

    Examples:
        >>> sg.roll(sg.tensor([1, 2, 3]), 1)
        tensor([3, 1, 2])
    """

def rot90(input: Any, k: int = 1, dims: Any = (0, 1), *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` turned k times by 90 degrees in the plane of two axes, from the first to the second."""

def round(input: Any, *, decimals: int = 0, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The nearest number with so many decimals, halves to even. Integers stay what they are.

    Examples:
        >>> sg.round(sg.tensor([0.5, 1.5, -2.6]))
        tensor([ 0.,  2., -3.])
    """

def rsqrt(input: TensorLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """1 / sqrt(input).

    Examples:
        >>> sg.rsqrt(sg.tensor([4.0, 16.0]))
        tensor([0.5000, 0.2500])
    """

def rsub(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """other - alpha * input."""

def scan(
    fn: Callable[[Carry, Any], tuple[Carry, Output]],
    init: Carry,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    checkpoint_every: int | None = None,
) -> tuple[Carry, Output]:
    """A loop that carries a state and collects results, like `jax.lax.scan`: returns (last carry, stacked ys).

    fn(carry, x) -> (carry, y). init: the first carry; xs: the tensors to iterate over along their leading axis, or None;
    both nested tuples, lists or dicts of tensors, like y. The carry keeps its structure, shapes and dtypes. length: the
    number of iterations where there are no xs. reverse: from the last x to the first; ys lie where their x was.
    checkpoint_every: the gradient keeps the carry of every so many iterations and computes the others again.

    fn may draw random numbers (`sg.rand`, dropout): fresh ones in each iteration, the same in every mode, and the gradient
    sees those of its iteration. In a graph it may assign to variables, too. There a scan is one node, whose time to
    compile does not depend on the number of iterations; eagerly, a Python loop. Raises ShapeError, DTypeError and
    ArgumentError for a body that changes what it carries, and for xs of different lengths.

    Examples:
        >>> total, sums = sg.scan(lambda carry, x: (carry + x, carry + x), sg.tensor(0.0), sg.tensor([1.0, 2.0, 3.0]))
        >>> total, sums
        (tensor(6.), tensor([1., 3., 6.]))
    """

@overload
def scatter(
    input: Any,
    dim: int,
    index: Any,
    src: Any = None,
    *,
    reduce: str | None = None,
    value: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def scatter(
    *,
    input: Any,
    axis: int,
    index: Any,
    src: Any = None,
    reduce: str | None = None,
    value: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with values at positions along `dim`: `out[index[i, j], j] = src[i, j]` for dim 0. Where several meet the
    last
    one stays; reduce="add" or "multiply" combines them. `src`: a tensor, or a number. Raises IndexRangeError, DTypeError.
    """

@overload
def scatter_add(
    input: Any,
    dim: int,
    index: Any,
    src: Any,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def scatter_add(
    *,
    input: Any,
    axis: int,
    index: Any,
    src: Any,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with `src` added at positions along `dim`.

    Examples:
        >>> sg.scatter_add(sg.zeros(3), 0, sg.tensor([0, 2, 2]), sg.tensor([1.0, 2.0, 3.0]))
        tensor([1., 0., 5.])
    """

@overload
def scatter_reduce(
    input: Any,
    dim: int,
    index: Any,
    src: Any,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def scatter_reduce(
    *,
    input: Any,
    axis: int,
    index: Any,
    src: Any,
    reduce: str,
    include_self: bool = True,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` combined with `src` at positions along `dim`: "sum", "prod", "mean", "amax" or "amin"; without include_self,
    of
    the values alone where there are any.
    """

def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Where `input` has to be put into a sequence that is sorted along its last axis, before equal elements or after them
    (`right`). The leading extents are equal, or the sequence is 1-D. Raises ShapeError, ArgumentError.

    Examples:
        >>> sg.searchsorted(sg.tensor([1, 3, 5]), sg.tensor([2, 5]))
        tensor([1, 2])
    """

@overload
def select(input: Any, dim: int, index: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def select(*, input: Any, axis: int, index: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The slice at one position along `dim`, without that axis. Raises IndexRangeError."""

def select_copy(input: Any, *args: Any, _source: str = 'select', out: Tensor | None = None, **named: Any) -> Tensor:
    """As the function without `_copy`, in memory of its own."""

@overload
def select_scatter(
    input: Any,
    src: Any,
    dim: int,
    index: int,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def select_scatter(
    *,
    input: Any,
    src: Any,
    axis: int,
    index: int,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with `src` as the slice at one position along `dim`."""

def sgn(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """x / |x|, 0 for 0; of real numbers `sign`."""

def sigmoid(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-x)).

    Examples:
        >>> sg.sigmoid(sg.tensor([0.0, 2.0]))
        tensor([0.5000, 0.8808])
    """

def sign(input: Any, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1; 0 for NaN, as in PyTorch. Booleans stay what they are.

    Examples:
        >>> sg.sign(sg.tensor([-2.0, 0.0, 3.0]))
        tensor([-1.,  0.,  1.])
    """

def signbit(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Whether the sign is negative, of -0.0 too."""

def sin(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Sine.

    Examples:
        >>> sg.sin(sg.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8415])
    """

def sinc(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """sin(pi x) / (pi x), 1 at 0."""

def sinh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic sine.

    Examples:
        >>> sg.sinh(sg.tensor([0.0, 1.0]))
        tensor([0.0000, 1.1752])
    """

def slice_copy(
    input: Any,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = 0,
) -> Tensor:
    """input[start:end:step] along `dim`, in memory of its own."""

def slice_scatter(
    input: Any,
    src: Any,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = 0,
) -> Tensor:
    """`input` with `src` in the place of the slice start:end:step along `dim`."""

def slogdet(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> return_types.slogdet:
    """The named tuple (sign, logabsdet) of square matrices."""

def softmax(
    x: TensorLike,
    axis: Axis = -1,
    dtype: DTypeLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dim: Axis = -1,
) -> Tensor:
    """exp(x) / sum(exp(x)) over `axis`, without overflow.

    Examples:
        >>> sg.softmax(sg.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])
    """

def softplus(x: TensorLike) -> Tensor:
    """log(1 + e**x) without overflow; its derivative is sigmoid(x)."""

def sort(
    input: Any,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
) -> return_types.Pair:
    """The named tuple (values, indices) of `input` sorted along `dim`.

    Examples:
        >>> sg.sort(sg.tensor([3, 1, 2])).values
        tensor([1, 2, 3])
    """

def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """A sparse tensor of the values (n, ...) at the places `indices`, (axes, n); without both an empty one. Raises
    ShapeError,
    and IndexRangeError for places outside.

    Examples:
        >>> a = sg.sparse_coo_tensor([[0, 1], [1, 0]], [3.0, 4.0], (2, 2))
        >>> a.to_dense()
        tensor([[0., 3.],
                [4., 0.]])
        >>> a @ sg.ones(2, 1)
        tensor([[3.],
                [4.]])
    """

def split(
    tensor: Any,
    split_size_or_sections: Any,
    dim: int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = 0,
) -> tuple[Tensor, ...]:
    """Parts of so many elements along `dim`, the last one smaller if need be, or of the sizes in a sequence.

    Raises ArgumentError for sizes that don't add up to the extent.

    Examples:
        >>> sg.split(sg.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """

def split_copy(input: Any, *args: Any, _source: str = 'split', **named: Any) -> tuple[Tensor, ...]:
    """As the function without `_copy`, in memory of its own."""

def split_with_sizes(
    input: Any,
    split_sizes: Any,
    dim: int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = 0,
) -> tuple[Tensor, ...]:
    """Parts of these sizes along `dim`."""

def split_with_sizes_copy(
    input: Any,
    *args: Any,
    _source: str = 'split_with_sizes',
    **named: Any,
) -> tuple[Tensor, ...]:
    """As the function without `_copy`, in memory of its own."""

def sqrt(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Square root.

    Examples:
        >>> sg.sqrt(sg.tensor([4.0, 9.0]))
        tensor([2., 3.])
    """

def square(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """x * x; booleans count as integers.

    Examples:
        >>> sg.square(sg.tensor([2.0, -3.0]))
        tensor([4., 9.])
    """

def squeeze(x: Any, axis: Axis = None, *, out: Tensor | tuple[Tensor, ...] | None = None, dim: Axis = None) -> Tensor:
    """x without those of the axes `axis` (all for None) whose extent is 1; one that is unknown has to be 1.

    Examples:
        >>> sg.squeeze(sg.zeros(2, 1, 3), 1).shape
        torch.Size([2, 3])
    """

def squeeze_copy(input: Any, *args: Any, _source: str = 'squeeze', out: Tensor | None = None, **named: Any) -> Tensor:
    """As the function without `_copy`, in memory of its own."""

def stack(
    tensors: Sequence[TensorLike],
    axis: int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dim: int = 0,
) -> Tensor:
    """The operands side by side along a new axis. Raises ShapeError when the shapes differ.

    Examples:
        >>> sg.stack([sg.tensor([1, 2]), sg.tensor([3, 4])], dim=1)
        tensor([[1, 3],
                [2, 4]])
    """

def std(
    input: TensorLike,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """The square root of `var`; its derivative where it is 0 is 0.

    Examples:
        >>> sg.std(sg.tensor([1.0, 3.0]))
        tensor(1.4142)
    """

def std_mean(
    input: TensorLike,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> tuple[Tensor, Tensor]:
    """`std` and `mean`."""

def stft(
    input: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = 'reflect',
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The transforms of windows of `n_fft` elements every `hop_length` (n_fft // 4), frequencies before windows.

    input: (length,) or (batch, length); the result (..., n, windows), where n is n_fft // 2 + 1 if it is onesided. window:
    factors of `win_length` elements. center: the signal gets n_fft // 2 elements more at its ends. Raises ArgumentError,
    ShapeError.
    """

def stop_gradient(x: TensorLike) -> Tensor:
    """x, through which no gradient flows (TensorFlow's name; `detach` in PyTorch).

    Examples:
        >>> w = sg.tensor(3.0, requires_grad=True)
        >>> sg.grad(w * sg.stop_gradient(w), w)
        (tensor(3.),)
    """

def sub(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """input - alpha * other, broadcast. Raises DTypeError for booleans.

    Examples:
        >>> sg.sub(sg.tensor([1.0, 2.0]), 1)
        tensor([0., 1.])
    """

def sum(
    input: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum; integers and booleans in int64. `dim` (or `axis`): an int, several, or None for all. Raises ArgumentError
    for a bad one.

    Examples:
        >>> sg.sum(sg.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
        tensor([4., 6.])
    """

@overload
def sum_to_size(input: Any, *size: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def sum_to_size(input: Any, *, size: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` summed over the axes over which a tensor of this size was broadcast to it. Raises ShapeError."""

def svd(
    input: Any,
    some: bool = True,
    compute_uv: bool = True,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.svd_v:
    """The named tuple (U, S, V) with input = U diag(S) V.H, by an older name."""

def svd_lowrank(
    A: Any,
    q: int | None = 6,
    niter: int | None = 2,
    M: Any = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with A - M close to U diag(S) V.H, of q columns, found with `niter` rounds from random vectors."""

def swapaxes(x: Any, axis0: int, axis1: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """x with two axes exchanged."""

def t(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The transpose of a matrix; a vector as it is. Raises ShapeError for more axes."""

def t_copy(input: Any, *args: Any, _source: str = 't', out: Tensor | None = None, **named: Any) -> Tensor:
    """As the function without `_copy`, in memory of its own."""

def take(
    x: TensorLike,
    index: TensorLike,
    axis: int | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dim: int | None = None,
) -> Tensor:
    """x[index] along `axis`: the index's shape replaces that axis. Of the flattened x when no axis is given, as in PyTorch
    and NumPy. Negative indices count from the end.

    Raises IndexRangeError for one out of range, DTypeError for a floating index.
    """

def take_along_axis(x: TensorLike, index: TensorLike, axis: int = -1) -> Tensor:
    """Pick along `axis` one or more positions per row (PyTorch's `gather`, NumPy's `take_along_axis`).

    `index` has x's number of axes. Negative positions count from the end. Raises IndexRangeError.

    Examples:
        >>> scores = sg.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> sg.take_along_axis(scores, sg.tensor([[1], [0]]), axis=1)
        tensor([[2.],
                [3.]])
    """

def take_along_dim(
    input: Any,
    indices: Any,
    dim: int | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int | None = None,
) -> Tensor:
    """The elements at positions along `dim`, broadcast otherwise; of the flattened input without one.

    Examples:
        >>> sg.take_along_dim(sg.tensor([[3, 1], [2, 4]]), sg.tensor([[1], [0]]), dim=1)
        tensor([[1],
                [2]])
    """

def tan(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Tangent.

    Examples:
        >>> sg.tan(sg.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5574])
    """

def tanh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent.

    Examples:
        >>> sg.tanh(sg.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """

def tensor_split(
    input: Any,
    indices_or_sections: Any,
    dim: int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = 0,
) -> tuple[Tensor, ...]:
    """So many parts along `dim`, the first ones larger by 1 if need be; or parts between positions, as
    `numpy.array_split`."""

def tensordot(a: Any, b: Any, dims: Any = 2, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Sums of products over axes of a and of b: `dims` of a's last and b's first, or two lists of axes."""

@overload
def tile(input: Any, *dims: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def tile(input: Any, *, dims: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`repeat`, with 1 for the counts that are missing in front.

    Examples:
        >>> sg.tile(sg.tensor([1, 2]), (2,))
        tensor([1, 2, 1, 2])
    """

def topk(
    input: Any,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
) -> return_types.Pair:
    """The named tuple (values, indices) of the k largest elements along `dim`, or the smallest ones, in order.

    Raises ArgumentError for a k out of range.

    Examples:
        >>> sg.topk(sg.tensor([3, 1, 2]), 2).indices
        tensor([0, 2])
    """

def trace(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The sum of the diagonal of a matrix.

    Examples:
        >>> sg.trace(sg.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor(5.)
    """

def transpose(input: TensorLike, *axes: ShapeLike, dim0: int | None = None, dim1: int | None = None) -> Tensor:
    """Two axes: exchange them, as in PyTorch. None, a tuple or more: their order, as in NumPy.

    Examples:
        >>> sg.transpose(sg.zeros(2, 3), 0, 1).shape
        torch.Size([3, 2])
    """

def transpose_copy(
    input: Any,
    *args: Any,
    _source: str = 'transpose',
    out: Tensor | None = None,
    **named: Any,
) -> Tensor:
    """As the function without `_copy`, in memory of its own."""

def trapezoid(
    y: Any,
    x: Any = None,
    *,
    dx: float = 1,
    dim: int = -1,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
) -> Tensor:
    """The area under y along `dim` by the trapezoidal rule, at the places x or at distances dx."""

def triangular_solve(
    input: Any,
    A: Any,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> return_types.triangular_solve:
    """The named tuple (solution, cloned_coefficient) of A X = input with a triangle of A."""

def tril(input: Any, diagonal: int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The elements of matrices on one side of a diagonal, and on it; 0 elsewhere."""

def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = ...,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """The positions (2, number) of the elements of one triangle of a row x col matrix."""

def triu(input: Any, diagonal: int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The elements of matrices on one side of a diagonal, and on it; 0 elsewhere."""

def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = ...,
    device: Any = None,
    layout: Any = None,
) -> Tensor:
    """The positions (2, number) of the elements of one triangle of a row x col matrix."""

def trunc(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The integer next to `input` on the side of 0; integers stay what they are.

    Examples:
        >>> sg.trunc(sg.tensor([1.5, -1.5]))
        tensor([ 1., -1.])
    """

def unbind(
    input: Any,
    dim: int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = 0,
) -> tuple[Tensor, ...]:
    """The slices along `dim`, without that axis.

    Examples:
        >>> sg.unbind(sg.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """

def unbind_copy(input: Any, *args: Any, _source: str = 'unbind', **named: Any) -> tuple[Tensor, ...]:
    """As the function without `_copy`, in memory of its own."""

@overload
def unflatten(input: Any, dim: int, sizes: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def unflatten(*, input: Any, axis: int, sizes: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` with one axis cut into several of these extents, of which one may be -1."""

def unfold(
    input: Any,
    dimension: int,
    size: int,
    step: int,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Windows of `size` elements every `step` along an axis; they lie along a new last axis. A view."""

def unfold_copy(input: Any, *args: Any, _source: str = 'unfold', out: Tensor | None = None, **named: Any) -> Tensor:
    """As the function without `_copy`, in memory of its own."""

@overload
def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """The different elements in order, or the different slices along `dim`; with their places in `input`, and counts.

    Examples:
        >>> sg.unique(sg.tensor([3, 1, 3]))
        tensor([1, 3])
    """

@overload
def unique_consecutive(
    input: Any,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    input: Any,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """The elements, or slices along `dim`, of which each run of equal ones is one; with their places and counts."""

def unravel_index(indices: Any, shape: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> tuple[Tensor, ...]:
    """Positions in the flattened array as positions along each axis."""

def unsafe_chunk(
    input: Any,
    chunks: int,
    dim: int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = 0,
) -> tuple[Tensor, ...]:
    """`chunk`, whose parts may be changed in place where that is recorded.

    Examples:
        >>> sg.unsafe_chunk(sg.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
    """

def unsafe_split(
    tensor: Any,
    split_size_or_sections: Any,
    dim: int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = 0,
) -> tuple[Tensor, ...]:
    """`split`, whose parts may be changed in place where that is recorded.

    Examples:
        >>> sg.unsafe_split(sg.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """

@overload
def unsqueeze(x: TensorLike, axis: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def unsqueeze(*, x: TensorLike, dim: int, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """PyTorch's name of `expand_dims`.

    Examples:
        >>> sg.unsqueeze(sg.zeros(2, 3), 0).shape
        torch.Size([1, 2, 3])
    """

def unsqueeze_copy(
    input: Any,
    *args: Any,
    _source: str = 'unsqueeze',
    out: Tensor | None = None,
    **named: Any,
) -> Tensor:
    """As the function without `_copy`, in memory of its own."""

def vander(
    x: Any,
    N: int | None = None,
    increasing: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Powers of a vector as columns, the highest first unless `increasing`; of integers int64."""

def var(
    input: TensorLike,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """The variance: mean squared distance from the mean, over n - correction (1 unless given; unbiased=False: 0).

    `dim`: an int, several, or None for all. NaN or infinite where n - correction is not positive.

    Examples:
        >>> sg.var(sg.tensor([1.0, 2.0, 3.0, 4.0])), sg.var(sg.tensor([1.0, 2.0, 3.0, 4.0]), correction=0)
        (tensor(1.6667), tensor(1.2500))
    """

def var_mean(
    input: TensorLike,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> tuple[Tensor, Tensor]:
    """`var` and `mean`."""

def vdot(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The product of two vectors, of which the first is conjugated."""

def view_as(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`input` in the shape of `other`, in the same memory."""

def view_as_complex(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Pairs of real numbers, shape (..., 2), as complex ones. Raises DTypeError, and ShapeError for another shape."""

def view_as_complex_copy(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`view_as_complex` in memory of its own."""

def view_as_real(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Complex numbers as pairs of real ones: shape (..., 2), a view. Raises DTypeError for real numbers."""

def view_as_real_copy(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`view_as_real` in memory of its own."""

def view_copy(
    input: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` in another shape, in memory of its own."""

def vsplit(
    input: Any,
    indices_or_sections: Any,
    *,
    _name: str = 'vsplit',
    _axis: int = 0,
    _least: int = 2,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, ...]:
    """Equal parts, or parts between positions, along the axis that NumPy's function of this name cuts."""

@overload
def vstack(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def vstack(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Tensors one after another, each with the axes that it lacks; as NumPy's function of this name."""

@overload
def where(condition: TensorLike, input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor: ...
@overload
def where(condition: TensorLike) -> tuple[Tensor, ...]:
    """`input` where the condition holds, else `other`; all broadcast. The gradient flows to the chosen side only.

    Of the condition alone: the positions where it holds, one tensor for each axis (`nonzero(as_tuple=True)`).

    Examples:
        >>> sg.where(sg.tensor([True, False]), sg.tensor([1.0, 2.0]), 0.0)
        tensor([1., 0.])
    """

@overload
def while_loop(
    cond: Callable[..., TensorLike],
    body: Callable[..., Any],
    loop_vars: list[Tensor],
    max_steps: int | None = None,
    checkpoint_every: int | None = None,
    shape_invariants: Any = None,
) -> list[Tensor]: ...
@overload
def while_loop(
    cond: Callable[..., TensorLike],
    body: Callable[..., Any],
    loop_vars: tuple[Tensor, ...],
    max_steps: int | None = None,
    checkpoint_every: int | None = None,
    shape_invariants: Any = None,
) -> tuple[Tensor, ...]: ...
@overload
def while_loop(
    cond: Callable[..., TensorLike],
    body: Callable[..., Any],
    loop_vars: list[Any],
    max_steps: int | None = None,
    checkpoint_every: int | None = None,
    shape_invariants: Any = None,
) -> list[Any]: ...
@overload
def while_loop(
    cond: Callable[..., TensorLike],
    body: Callable[..., Any],
    loop_vars: tuple[Any, ...],
    max_steps: int | None = None,
    checkpoint_every: int | None = None,
    shape_invariants: Any = None,
) -> tuple[Any, ...]: ...
@overload
def while_loop(
    cond: Callable[..., TensorLike],
    body: Callable[..., Any],
    loop_vars: Array | float,
    max_steps: int | None = None,
    checkpoint_every: int | None = None,
    shape_invariants: Any = None,
) -> Tensor:
    """Repeat `body` while `cond` holds; returns the last loop variables, in the structure of `loop_vars`.

    As in TensorFlow 1: loop_vars is a list or tuple, cond(*loop_vars) one boolean, body(*loop_vars) the next variables
    (a single one may come bare). Each is a tensor or a nested structure of them, and keeps its shapes and dtypes.
    shape_invariants: in the structure of loop_vars, a shape for each tensor, with None for extents that may change.
    max_steps:
    at most so many iterations. checkpoint_every: the gradient keeps the variables of every so many iterations only. Both
    functions may draw random numbers, as in `scan`.

    In a graph it is one node, and differentiable to any order: its gradient keeps residuals on a stack that grows
    with the number of iterations. Eagerly, a Python loop. A loop of a graph whose shapes change becomes one iteration
    after the
    other; its condition has to follow from constants, shapes and feeds.

    Examples:
        >>> @sg.compile
        ... def halve(x):
        ...     return sg.while_loop(lambda x, n: x > 1, lambda x, n: (x / 2, n + 1), (x, sg.tensor(0)))
        >>> halve(sg.tensor(40.0))
        (tensor(0.6250), tensor(6))
    """

def xlogy(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """input * log(other), 0 where `input` is 0 unless `other` is NaN."""

def zeros_like(
    input: TensorLike,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    *,
    device: Any = None,
    layout: Any = None,
    memory_format: Any = None,
) -> Tensor:
    """Zeros of the shape of `input`, and of its dtype unless one is given.

    Examples:
        >>> sg.zeros_like(sg.ones(2))
        tensor([0., 0.])
    """

absolute = abs
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
concat = cat
conj_physical = conj
divide = div
fix = trunc
ger = outer
greater = gt
greater_equal = ge
less = lt
less_equal = le
moveaxis = movedim
multiply = mul
negative = neg
not_equal = ne
resolve_neg = resolve_conj
row_stack = vstack
spmm = mm
subtract = sub
swapdims = swapaxes
trapz = trapezoid
true_divide = div
unsafe_split_with_sizes = unsafe_split

__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "adjoint",
    "alias_copy", "all", "allclose", "amax", "amin", "aminmax", "angle", "any", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "argmax", "argmin", "argsort", "argwhere", "as_strided", "as_strided_copy",
    "as_strided_scatter", "asin", "asinh", "astype", "atan", "atan2", "atanh", "atleast_1d", "atleast_2d", "atleast_3d",
    "baddbmm", "bartlett_window", "bernoulli", "bincount", "binomial", "bitwise_and", "bitwise_left_shift", "bitwise_not",
    "bitwise_or", "bitwise_right_shift", "bitwise_xor", "blackman_window", "block_diag", "bmm", "broadcast_like",
    "broadcast_shapes", "broadcast_tensors", "broadcast_to", "bucketize", "cartesian_prod", "cat", "cdist", "ceil",
    "chain_matmul", "cholesky", "cholesky_inverse", "cholesky_solve", "chunk", "clamp", "clamp_max", "clamp_min", "clip",
    "clone", "column_stack", "combinations", "complex", "concat", "concatenate", "cond", "conj", "conj_physical", "copysign",
    "corrcoef", "cos", "cosh", "count_nonzero", "cov", "cross", "cummax", "cummin", "cumprod", "cumsum",
    "cumulative_trapezoid", "deg2rad", "det", "detach_copy", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_copy",
    "diagonal_scatter", "diff", "digamma", "dist", "div", "divide", "dot", "dropout", "dsplit", "dstack", "einsum",
    "empty_like", "eq", "equal", "erf", "erfc", "erfinv", "exp", "exp2", "expand", "expand_as", "expand_copy", "expand_dims",
    "expm1", "fill", "fix", "flatten", "flip", "fliplr", "flipud", "float_power", "floor", "floor_divide", "fmax", "fmin",
    "fmod", "frac", "frexp", "full_like", "gather", "gcd", "ge", "geqrf", "ger", "getitem", "gradient", "greater",
    "greater_equal", "gt", "hamming_window", "hann_window", "heaviside", "histc", "histogram", "histogramdd", "hsplit",
    "hstack", "hypot", "i0", "igamma", "igammac", "imag", "index_add", "index_along", "index_copy", "index_fill", "index_put",
    "index_reduce", "index_select", "inner", "inverse", "isclose", "isfinite", "isin", "isinf", "isnan", "isneginf",
    "isposinf", "isreal", "istft", "kaiser_window", "kron", "kthvalue", "lcm", "ldexp", "le", "lerp", "less", "less_equal",
    "lgamma", "lobpcg", "log", "log10", "log1p", "log2", "log_softmax", "logaddexp", "logaddexp2", "logcumsumexp", "logdet",
    "logical_and", "logical_not", "logical_or", "logical_xor", "logit", "logsumexp", "lt", "lu", "lu_solve", "lu_unpack",
    "masked_fill", "masked_scatter", "masked_select", "matmul", "matrix_exp", "matrix_power", "max", "maximum", "mean",
    "median", "meshgrid", "min", "minimum", "mm", "mode", "moveaxis", "movedim", "msort", "mul", "multinomial", "multiply",
    "mv", "mvlgamma", "nan_to_num", "nanmean", "nanmedian", "nanquantile", "nansum", "narrow", "narrow_copy", "ne", "neg",
    "negative", "nextafter", "nonzero", "nonzero_static", "norm", "normal", "not_equal", "one_hot", "ones_like", "orgqr",
    "ormqr", "outer", "pca_lowrank", "permute", "permute_copy", "pinverse", "poisson", "polar", "polygamma", "positive", "pow",
    "prod", "put", "qr", "quantile", "rad2deg", "rand_like", "randint_like", "randn_like", "ravel", "real", "reciprocal",
    "relu", "remainder", "renorm", "repeat", "repeat_interleave", "reshape", "reshape_as", "resolve_conj", "resolve_neg",
    "roll", "rot90", "round", "row_stack", "rsqrt", "rsub", "scan", "scatter", "scatter_add", "scatter_reduce", "searchsorted",
    "select", "select_copy", "select_scatter", "sgn", "sigmoid", "sign", "signbit", "sin", "sinc", "sinh", "slice_copy",
    "slice_scatter", "slogdet", "softmax", "softplus", "sort", "sparse_coo_tensor", "split", "split_copy", "split_with_sizes",
    "split_with_sizes_copy", "spmm", "sqrt", "square", "squeeze", "squeeze_copy", "stack", "std", "std_mean", "stft",
    "stop_gradient", "sub", "subtract", "sum", "sum_to_size", "svd", "svd_lowrank", "swapaxes", "swapdims", "t", "t_copy",
    "take", "take_along_axis", "take_along_dim", "tan", "tanh", "tensor_split", "tensordot", "tile", "topk", "trace",
    "transpose", "transpose_copy", "trapezoid", "trapz", "triangular_solve", "tril", "tril_indices", "triu", "triu_indices",
    "true_divide", "trunc", "unbind", "unbind_copy", "unflatten", "unfold", "unfold_copy", "unique", "unique_consecutive",
    "unravel_index", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "unsqueeze", "unsqueeze_copy", "vander", "var",
    "var_mean", "vdot", "view_as", "view_as_complex", "view_as_complex_copy", "view_as_real", "view_as_real_copy", "view_copy",
    "vsplit", "vstack", "where", "while_loop", "xlogy", "zeros_like",
]  # fmt: skip
