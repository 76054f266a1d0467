"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

from ..eager.tape import Handle, Record
from ..ir import Graph, Node
from ..types import Axis, DTypeLike, ShapeLike
from .annotations import Array, Carry, Index, Output, TensorLike
from .sizes import Size
from .symbols import GradFn

class Tensor:
    """A tensor of any mode: eager, traced by `@sg.compile`, or of a graph."""

    def __init__(self, data: Any, requires_grad: builtins.bool = False) -> None: ...

    def __getitem__(self, index: Index) -> Tensor: ...

    def __setitem__(self, key: Index, value: TensorLike) -> None:
        """self[key] = value, with gradients to both."""

    def __len__(self) -> builtins.int: ...

    def __iter__(self) -> Iterator[Tensor]: ...

    def __contains__(self, value: Any) -> builtins.bool: ...

    def __bool__(self) -> builtins.bool: ...

    def __int__(self) -> builtins.int: ...

    def __float__(self) -> builtins.float: ...

    def __index__(self) -> builtins.int: ...

    def __format__(self, spec: str) -> str: ...

    def __deepcopy__(self, memo: dict[builtins.int, Any]) -> Tensor: ...

    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> np.ndarray:
        """For NumPy. Raises GradientError when the tensor requires grad, as the tape would be lost silently."""

    def __dlpack__(self, **options: Any) -> Any:
        """For other libraries, which share the memory. Raises GradientError when the tensor requires grad."""

    def __dlpack_device__(self) -> Any: ...

    def __add__(self, other: TensorLike) -> Tensor: ...

    def __radd__(self, other: TensorLike) -> Tensor: ...

    def __sub__(self, other: TensorLike) -> Tensor: ...

    def __rsub__(self, other: TensorLike) -> Tensor: ...

    def __mul__(self, other: TensorLike) -> Tensor: ...

    def __rmul__(self, other: TensorLike) -> Tensor: ...

    def __truediv__(self, other: TensorLike) -> Tensor: ...

    def __rtruediv__(self, other: TensorLike) -> Tensor: ...

    def __floordiv__(self, other: TensorLike) -> Tensor: ...

    def __rfloordiv__(self, other: TensorLike) -> Tensor: ...

    def __mod__(self, other: TensorLike) -> Tensor: ...

    def __rmod__(self, other: TensorLike) -> Tensor: ...

    def __pow__(self, other: TensorLike) -> Tensor: ...

    def __rpow__(self, other: TensorLike) -> Tensor: ...

    def __matmul__(self, other: TensorLike) -> Tensor: ...

    def __rmatmul__(self, other: TensorLike) -> Tensor: ...

    def __and__(self, other: TensorLike) -> Tensor: ...

    def __rand__(self, other: TensorLike) -> Tensor: ...

    def __or__(self, other: TensorLike) -> Tensor: ...

    def __ror__(self, other: TensorLike) -> Tensor: ...

    def __xor__(self, other: TensorLike) -> Tensor: ...

    def __rxor__(self, other: TensorLike) -> Tensor: ...

    def __neg__(self) -> Tensor: ...

    def __pos__(self) -> Tensor: ...

    def __abs__(self) -> Tensor: ...

    def __invert__(self) -> Tensor: ...

    def __lt__(self, other: TensorLike) -> Tensor: ...

    def __le__(self, other: TensorLike) -> Tensor: ...

    def __gt__(self, other: TensorLike) -> Tensor: ...

    def __ge__(self, other: TensorLike) -> Tensor: ...

    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]

    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]

    def __hash__(self) -> builtins.int: ...

    @property
    def T(self) -> Tensor:
        """Axes reversed."""

    def abs(self) -> Tensor:
        """|x|; its derivative at 0 is 0."""

    def abs_(self) -> Tensor:
        """`abs` in place. Raises GradientError for a leaf that requires grad while recording."""

    def absolute(self) -> Tensor:
        """|x|; its derivative at 0 is 0."""

    def add(self, y: TensorLike) -> Tensor:
        """x + y, broadcast. Booleans: logical or."""

    def add_(self, y: TensorLike) -> Tensor:
        """`add` in place. Raises GradientError for a leaf that requires grad while recording."""

    def all(
        self,
        axis: Axis = None,
        keepdims: builtins.bool = False,
        *,
        dim: Axis = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """Whether every element is true, bool; true over no elements, as in NumPy. Raises ArgumentError for a bad axis."""

    def any(
        self,
        axis: Axis = None,
        keepdims: builtins.bool = False,
        *,
        dim: Axis = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """Whether some element is true, bool; false over no elements, as in NumPy. Raises ArgumentError for a bad axis."""

    def arctan(self) -> Tensor:
        """Inverse tangent, in radians."""

    def argmax(
        self,
        axis: builtins.int | None = None,
        keepdims: builtins.bool = False,
        *,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The int64 position of the first extremum along `axis` (of the flattened array for None)."""

    def argmin(
        self,
        axis: builtins.int | None = None,
        keepdims: builtins.bool = False,
        *,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The int64 position of the first extremum along `axis` (of the flattened array for None)."""

    def astype(self, dtype: DTypeLike) -> Tensor:
        """x in another dtype (float to integer truncates). The gradient is cast back."""

    def atan(self) -> Tensor:
        """Inverse tangent, in radians."""

    def backward(
        self,
        gradient: TensorLike | None = None,
        retain_graph: builtins.bool | None = None,
        create_graph: builtins.bool = False,
        inputs: Tensor | Iterable[Tensor] | None = None,
    ) -> None:
        """Add d(sum(gradient * self)) / d(leaf) to `leaf.grad` for all leaves (or for `inputs` only).

        gradient: self's shape; may be left out for one element. retain_graph: keep saved values for another backward
        (default: create_graph). create_graph: record the backward pass, so that gradients can be differentiated. Raises
        GradientError, and leaves every `grad` as it was when it does.

        Examples:
            >>> x = sg.tensor([1.0, 2.0, 3.0], requires_grad=True)
            >>> (x * x).sum().backward()
            >>> x.grad
            tensor([2., 4., 6.])
        """

    def bmm(self, y: TensorLike) -> Tensor:
        """The matrix product with NumPy's rules: 1-D operands are rows or columns, leading axes are batches and broadcast.

        Shapes (..., n, k) @ (..., k, m) -> (..., n, m). Raises ShapeError when inner sizes differ or an operand is 0-d.
        """

    def bool(self) -> Tensor: ...

    def broadcast_to(self, *shape: ShapeLike) -> Tensor:
        """x repeated to `shape` by NumPy's broadcasting, without copying."""

    def ceil(self) -> Tensor:
        """Smallest integer >= x. Integers stay what they are; raises DTypeError for booleans."""

    def ceil_(self) -> Tensor:
        """`ceil` in place. Raises GradientError for a leaf that requires grad while recording."""

    def clamp(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
        """PyTorch's name of `clip`."""

    def clamp_(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
        """`clamp` in place. Raises GradientError for a leaf that requires grad while recording."""

    def clip(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
        """x limited to [min, max]; either may be None. Inside the bounds, edges included, the gradient passes through.

        The bounds are promoted with x. Raises ArgumentError when both are None.

        Examples:
            >>> sg.clip(sg.tensor([-2.0, 0.5, 2.0]), 0, 1)
            tensor([0. , 0.5, 1. ])
        """

    def clip_(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
        """`clip` in place. Raises GradientError for a leaf that requires grad while recording."""

    def clone(self) -> Tensor:
        """A copy in memory of its own, row-major; gradients flow through."""

    def contiguous(self) -> Tensor:
        """This tensor when its elements lie in row-major order, else a copy in that order."""

    def copy_(self, value: TensorLike) -> Tensor:
        """Take over the values of `value` (broadcast, cast to this dtype)."""

    def cos(self) -> Tensor:
        """Cosine."""

    def cosh(self) -> Tensor:
        """Hyperbolic cosine."""

    def cpu(self) -> Tensor:
        """This tensor: all tensors are in the CPU's memory."""

    def cumsum(self, axis: builtins.int | None = None, *, dim: builtins.int | None = None) -> Tensor:
        """Running sums along `axis` (of the flattened array for None)."""

    @property
    def data(self) -> Tensor:
        """The same memory without the tape."""
    @data.setter
    def data(self, value: TensorLike) -> None: ...

    def detach(self) -> Tensor:
        """The same memory without the tape."""

    def detach_(self) -> Tensor:
        """Cut this tensor from its tape: it becomes a leaf that doesn't require grad."""

    def dim(self) -> builtins.int: ...

    def div(self, y: TensorLike) -> Tensor:
        """x / y, broadcast; integers give the default float."""

    def div_(self, y: TensorLike) -> Tensor:
        """`div` in place. Raises GradientError for a leaf that requires grad while recording."""

    def divide(self, y: TensorLike) -> Tensor:
        """x / y, broadcast; integers give the default float."""

    def dot(self, y: TensorLike) -> Tensor:
        """`matmul` for at most two axes (PyTorch's and NumPy's `dot` agree there)."""

    def double(self) -> Tensor: ...

    @property
    def dtype(self) -> np.dtype: ...

    def element_size(self) -> builtins.int:
        """Bytes of an element."""

    def eq(self, y: TensorLike) -> Tensor:
        """x == y elementwise, bool."""

    def erf(self) -> Tensor:
        """The error function."""

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> np.ndarray:
        """Its value in `session`, the default one when left out; see `Session.run`."""

    def exp(self) -> Tensor:
        """e**x."""

    def exp2(self) -> Tensor:
        """2**x."""

    def exp_(self) -> Tensor:
        """`exp` in place. Raises GradientError for a leaf that requires grad while recording."""

    def expand(self, *shape: ShapeLike) -> Tensor:
        """PyTorch's `broadcast_to`: -1 keeps an extent."""

    def expand_dims(self, axis: builtins.int | Sequence[builtins.int]) -> Tensor:
        """x with new axes of extent 1 at the places `axis` of the result."""

    def expm1(self) -> Tensor:
        """exp(x) - 1, accurate for small x."""

    def fill_(self, value: TensorLike) -> Tensor:
        """Set every element to a number."""

    def flatten(self, start: builtins.int = 0) -> Tensor:
        """x with all axes from `start` on joined into one. Raises ArgumentError for a start out of range."""

    def flip(self, axis: builtins.int) -> Tensor:
        """x in reverse order along `axis`."""

    def float(self) -> Tensor: ...

    def floor(self) -> Tensor:
        """Largest integer <= x. Integers stay what they are; raises DTypeError for booleans."""

    def floor_(self) -> Tensor:
        """`floor` in place. Raises GradientError for a leaf that requires grad while recording."""

    def floor_divide_(self, y: TensorLike) -> Tensor:
        """`floor_divide` in place. Raises GradientError for a leaf that requires grad while recording."""

    def ge(self, y: TensorLike) -> Tensor:
        """x >= y elementwise, bool."""

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient, of the same shape, or None."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...

    @property
    def grad_fn(self) -> Record | GradFn | None: ...

    graph: Graph

    def gt(self, y: TensorLike) -> Tensor:
        """x > y elementwise, bool."""

    def int(self) -> Tensor: ...

    def is_contiguous(self) -> builtins.bool: ...

    def is_floating_point(self) -> builtins.bool: ...

    @property
    def is_leaf(self) -> builtins.bool:
        """Made by the user, or by an operation that was not recorded."""

    @property
    def is_view(self) -> builtins.bool:
        """Shares memory with another tensor of the same tape (what PyTorch calls `_is_view`)."""

    def isfinite(self) -> Tensor:
        """Where x is neither NaN nor infinite, bool."""

    def isnan(self) -> Tensor:
        """Where x is NaN, bool."""

    def item(self) -> builtins.float | builtins.int | builtins.bool:
        """The Python number of a tensor with one element. Raises ShapeError for any other size."""

    def le(self, y: TensorLike) -> Tensor:
        """x <= y elementwise, bool."""

    def log(self) -> Tensor:
        """Natural logarithm."""

    def log1p(self) -> Tensor:
        """log(1 + x), accurate for small x."""

    def log2(self) -> Tensor:
        """Logarithm to base 2."""

    def log_(self) -> Tensor:
        """`log` in place. Raises GradientError for a leaf that requires grad while recording."""

    def log_softmax(self, axis: Axis = -1, *, dim: Axis = -1) -> Tensor:
        """log(softmax(x)) over `axis`, accurate where softmax underflows."""

    def logical_and(self, y: TensorLike) -> Tensor:
        """numpy.logical_and, bool."""

    def logical_not(self) -> Tensor:
        """not x, bool."""

    def logical_or(self, y: TensorLike) -> Tensor:
        """numpy.logical_or, bool."""

    def logsumexp(
        self,
        axis: Axis = None,
        keepdims: builtins.bool = False,
        *,
        dim: Axis = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """log(sum(exp(x))) without overflow. `axis`: an int, several, or None for all. Raises ArgumentError for a bad axis."""

    def long(self) -> Tensor: ...

    def lt(self, y: TensorLike) -> Tensor:
        """x < y elementwise, bool."""

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped."""

    def masked_fill(self, mask: TensorLike, value: TensorLike) -> Tensor:
        """x with `value`, cast to x's dtype, where the mask is true. Raises DTypeError for a number that doesn't fit it."""

    def masked_fill_(self, mask: TensorLike, value: TensorLike) -> Tensor:
        """`masked_fill` in place. Raises GradientError for a leaf that requires grad while recording."""

    def matmul(self, y: TensorLike) -> Tensor:
        """The matrix product with NumPy's rules: 1-D operands are rows or columns, leading axes are batches and broadcast.

        Shapes (..., n, k) @ (..., k, m) -> (..., n, m). Raises ShapeError when inner sizes differ or an operand is 0-d.
        """

    def max(self, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
        """The largest element (NaN if any is); ties share the gradient. Of two tensors: `maximum`. `axis`: an int, several, or
        None for all. Raises ArgumentError for a bad axis."""

    def maximum(self, y: TensorLike) -> Tensor:
        """The larger of each pair; NaN if either is. A tie shares its gradient."""

    def mean(
        self,
        axis: Axis = None,
        keepdims: builtins.bool = False,
        *,
        dim: Axis = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The mean, floating; NaN over no elements. `axis`: an int, several, or None for all. Raises ArgumentError for a bad
        axis."""

    def min(self, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
        """The smallest element (NaN if any is); ties share the gradient. Of two tensors: `minimum`. `axis`: an int, several,
        or None for all. Raises ArgumentError for a bad axis."""

    def minimum(self, y: TensorLike) -> Tensor:
        """The smaller of each pair; NaN if either is. A tie shares its gradient."""

    def mm(self, y: TensorLike) -> Tensor:
        """The matrix product with NumPy's rules: 1-D operands are rows or columns, leading axes are batches and broadcast.

        Shapes (..., n, k) @ (..., k, m) -> (..., n, m). Raises ShapeError when inner sizes differ or an operand is 0-d.
        """

    def mul(self, y: TensorLike) -> Tensor:
        """x * y, broadcast. Booleans: logical and."""

    def mul_(self, y: TensorLike) -> Tensor:
        """`mul` in place. Raises GradientError for a leaf that requires grad while recording."""

    def multiply(self, y: TensorLike) -> Tensor:
        """x * y, broadcast. Booleans: logical and."""

    name: str

    @property
    def ndim(self) -> builtins.int: ...

    def ne(self, y: TensorLike) -> Tensor:
        """x != y elementwise, bool."""

    def neg(self) -> Tensor:
        """-x."""

    def neg_(self) -> Tensor:
        """`neg` in place. Raises GradientError for a leaf that requires grad while recording."""

    node: Node

    def norm(
        self,
        axis: Axis = None,
        keepdims: builtins.bool = False,
        *,
        dim: Axis = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The Euclidean norm, sqrt(sum(x * x)), floating; its derivative at 0 is 0."""

    def normal_(self, a: builtins.float = 0.0, b: builtins.float = 1.0) -> Tensor: ...

    def numel(self) -> builtins.int: ...

    def numpy(self) -> np.ndarray:
        """The array itself, not a copy. Raises GradientError when the tensor requires grad."""

    @property
    def op(self) -> str:
        """The op's name."""

    def outer(self, y: TensorLike) -> Tensor:
        """x[i] * y[j] for 1-D operands."""

    def permute(self, *axes: ShapeLike) -> Tensor:
        """x with its axes in the order `axes` (reversed when none are given)."""

    def pow(self, exponent: TensorLike) -> Tensor:
        """x ** exponent, broadcast. Plain exponents 1, 2, 0.5, -1 take the op made for them.

        Raises DTypeError for negative powers of integers and for booleans.
        """

    def pow_(self, exponent: TensorLike) -> Tensor:
        """`pow` in place. Raises GradientError for a leaf that requires grad while recording."""

    def reciprocal(self) -> Tensor:
        """1 / x."""

    def reciprocal_(self) -> Tensor:
        """`reciprocal` in place. Raises GradientError for a leaf that requires grad while recording."""

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Handle:
        """Call `hook(grad)` whenever a gradient of this tensor is computed; a returned tensor replaces the gradient.

        Examples:
            >>> x = sg.tensor([1.0, 2.0], requires_grad=True)
            >>> _ = x.register_hook(lambda grad: grad * 10)
            >>> x.sum().backward()
            >>> x.grad
            tensor([10., 10.])
        """

    def relu(self) -> Tensor:
        """max(x, 0); its derivative at 0 is 0 and at NaN 1, NaN stays NaN."""

    def relu_(self) -> Tensor:
        """`relu` in place. Raises GradientError for a leaf that requires grad while recording."""

    def remainder_(self, y: TensorLike) -> Tensor:
        """`remainder` in place. Raises GradientError for a leaf that requires grad while recording."""

    @property
    def requires_grad(self) -> builtins.bool: ...
    @requires_grad.setter
    def requires_grad(self, value: builtins.bool) -> None: ...

    def requires_grad_(self, value: builtins.bool = True) -> Tensor:
        """Turn recording on or off for a leaf. Raises DTypeError for integers, GradientError for a non-leaf."""

    def reshape(self, *shape: ShapeLike) -> Tensor:
        """x in another shape, row-major; one extent may be -1. Raises ShapeError when the sizes differ."""

    def retain_grad(self) -> None:
        """Keep `grad` of a non-leaf when backward passes through it."""

    @property
    def retains_grad(self) -> builtins.bool: ...

    def round(self) -> Tensor:
        """Nearest integer, halves to even. Integers stay what they are; raises DTypeError for booleans."""

    def round_(self) -> Tensor:
        """`round` in place. Raises GradientError for a leaf that requires grad while recording."""

    def rsqrt(self) -> Tensor:
        """1 / sqrt(x)."""

    @property
    def shape(self) -> tuple[builtins.int, ...]: ...

    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x))."""

    def sigmoid_(self) -> Tensor:
        """`sigmoid` in place. Raises GradientError for a leaf that requires grad while recording."""

    def sign(self) -> Tensor:
        """-1, 0 or 1; 0 for NaN, as in PyTorch."""

    def sign_(self) -> Tensor:
        """`sign` in place. Raises GradientError for a leaf that requires grad while recording."""

    def sin(self) -> Tensor:
        """Sine."""

    def sinh(self) -> Tensor:
        """Hyperbolic sine."""

    @property
    def size(self) -> Size:
        """The number of elements, as in NumPy; `x.size()` and `x.size(axis)` are extents, as in PyTorch."""

    def softmax(self, axis: Axis = -1, *, dim: Axis = -1) -> Tensor:
        """exp(x) / sum(exp(x)) over `axis`, without overflow."""

    def split(self, sections: builtins.int | Sequence[builtins.int], axis: builtins.int = 0) -> list[Tensor]:
        """x cut along `axis`: into `sections` equal parts, or at the given positions (NumPy's meaning)."""

    def sqrt(self) -> Tensor:
        """Square root."""

    def sqrt_(self) -> Tensor:
        """`sqrt` in place. Raises GradientError for a leaf that requires grad while recording."""

    def square(self) -> Tensor:
        """x * x."""

    def square_(self) -> Tensor:
        """`square` in place. Raises GradientError for a leaf that requires grad while recording."""

    def squeeze(self, axis: Axis = None, *, dim: Axis = None) -> Tensor:
        """x without the axes `axis` (all of extent 1 for None). Raises ShapeError when one isn't of extent 1."""

    def std(self, axis: Axis = None, keepdims: builtins.bool = False, ddof: builtins.int = 0) -> Tensor:
        """The square root of `var`; its derivative where it is 0 is 0, as in PyTorch."""

    @overload
    def stride(self, axis: None = None) -> tuple[builtins.int, ...]: ...
    @overload
    def stride(self, axis: builtins.int) -> builtins.int:
        """Elements from one place along each axis, or along `axis`, to the next."""

    def sub(self, y: TensorLike) -> Tensor:
        """x - y, broadcast. Raises DTypeError for booleans."""

    def sub_(self, y: TensorLike) -> Tensor:
        """`sub` in place. Raises GradientError for a leaf that requires grad while recording."""

    def sum(
        self,
        axis: Axis = None,
        keepdims: builtins.bool = False,
        *,
        dim: Axis = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The sum; integers and booleans in int64. `axis`: an int, several, or None for all. Raises ArgumentError for a bad
        axis."""

    def swapaxes(self, a: builtins.int, b: builtins.int) -> Tensor:
        """x with two axes exchanged."""

    def t(self) -> Tensor:
        """The transpose of a matrix; a vector as it is. Raises ShapeError for more axes."""

    def take(self, index: TensorLike, axis: builtins.int = 0) -> Tensor:
        """x[index] along `axis`: the index's shape replaces that axis. Negative indices count from the end.

        Raises IndexRangeError for one out of range, DTypeError for a floating index.
        """

    def take_along_axis(self, index: TensorLike, axis: builtins.int = -1) -> Tensor:
        """Pick along `axis` one or more positions per row (PyTorch's `gather`, NumPy's `take_along_axis`).

        `index` has x's number of axes. Negative positions count from the end. Raises IndexRangeError.

        Examples:
            >>> scores = sg.tensor([[1.0, 2.0], [3.0, 4.0]])
            >>> sg.take_along_axis(scores, sg.tensor([[1], [0]]), axis=1)
            tensor([[2.],
                    [3.]])
        """

    def tanh(self) -> Tensor:
        """Hyperbolic tangent."""

    def tanh_(self) -> Tensor:
        """`tanh` in place. Raises GradientError for a leaf that requires grad while recording."""

    def to(self, dtype: DTypeLike | Tensor) -> Tensor:
        """This tensor in another dtype, or that of another tensor."""

    def tolist(self) -> Any: ...

    def transpose(self, *axes: ShapeLike) -> Tensor:
        """Two axes: exchange them, as in PyTorch. None, a tuple or more: their order, as in NumPy."""

    def type(self, dtype: DTypeLike) -> Tensor:
        """This tensor in another dtype."""

    def type_as(self, other: Array) -> Tensor:
        """This tensor in the dtype of another. Raises DTypeError where the other is no tensor."""

    def uniform_(self, a: builtins.float = 0.0, b: builtins.float = 1.0) -> Tensor: ...

    @overload
    def unsqueeze(self, axis: builtins.int) -> Tensor: ...
    @overload
    def unsqueeze(self, *, dim: builtins.int) -> Tensor:
        """PyTorch's name of `expand_dims`."""

    def var(self, axis: Axis = None, keepdims: builtins.bool = False, ddof: builtins.int = 0) -> Tensor:
        """The variance: mean squared distance from the mean, over n - ddof (0 as in NumPy; PyTorch's default is 1).

        NaN or infinite where n - ddof is not positive.
        """

    def view(self, *shape: ShapeLike) -> Tensor:
        """The same memory in another shape. Raises ShapeError where only a copy could have it (`reshape` copies)."""

    def where(self, condition: TensorLike, other: TensorLike) -> Tensor:
        """self where the condition holds, else `other`."""

    def zero_(self) -> Tensor:
        """Set every element to 0."""


class Functions:
    """The public functions of tensors: `F` inside the package."""

    @staticmethod
    def abs(x: TensorLike) -> Tensor:
        """|x|; its derivative at 0 is 0."""

    @staticmethod
    def add(x: TensorLike, y: TensorLike) -> Tensor:
        """x + y, broadcast. Booleans: logical or."""

    @staticmethod
    def all(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """Whether every element is true, bool; true over no elements, as in NumPy. Raises ArgumentError for a bad axis."""

    @staticmethod
    def any(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """Whether some element is true, bool; false over no elements, as in NumPy. Raises ArgumentError for a bad axis."""

    @staticmethod
    def argmax(x: TensorLike, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """The int64 position of the first extremum along `axis` (of the flattened array for None)."""

    @staticmethod
    def argmin(x: TensorLike, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """The int64 position of the first extremum along `axis` (of the flattened array for None)."""

    @staticmethod
    def astype(x: TensorLike, dtype: DTypeLike) -> Tensor:
        """x in another dtype (float to integer truncates). The gradient is cast back."""

    @staticmethod
    def atan(x: TensorLike) -> Tensor:
        """Inverse tangent, in radians."""

    @staticmethod
    def broadcast_like(x: Array, like: Array) -> Tensor:
        """x broadcast to the shape of `like`, known or not."""

    @staticmethod
    def broadcast_to(x: TensorLike, *shape: ShapeLike) -> Tensor:
        """x repeated to `shape` by NumPy's broadcasting, without copying."""

    @staticmethod
    def ceil(x: TensorLike) -> Tensor:
        """Smallest integer >= x. Integers stay what they are; raises DTypeError for booleans."""

    @staticmethod
    def clamp(x: TensorLike, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
        """PyTorch's name of `clip`."""

    @staticmethod
    def clip(x: TensorLike, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
        """x limited to [min, max]; either may be None. Inside the bounds, edges included, the gradient passes through.

        The bounds are promoted with x. Raises ArgumentError when both are None.

        Examples:
            >>> sg.clip(sg.tensor([-2.0, 0.5, 2.0]), 0, 1)
            tensor([0. , 0.5, 1. ])
        """

    @staticmethod
    def clone(x: TensorLike) -> Tensor:
        """A copy of x, row-major, in memory of its own."""

    @staticmethod
    def concatenate(xs: Sequence[TensorLike], axis: int = 0) -> Tensor:
        """The operands one after another along `axis`; dtypes are promoted. Raises ShapeError."""

    @staticmethod
    def cond(pred: TensorLike, true_fn: Callable[..., Output], false_fn: Callable[..., Output], *operands: Any) -> Output:
        """true_fn(*operands) where `pred` holds, else false_fn(*operands); only that one runs.

        pred: one boolean. The functions may use anything from outside (TensorFlow 1's style has no operands); they return the
        same structure, of the same shapes and dtypes, and have no side effects; random numbers they may draw. In a graph it is
        one node; eagerly, and for a boolean of Python's or NumPy's, an ordinary decision: the other function does not run, so
        what it returns is not looked at. Raises ArgumentError for what is no function; in a graph ArgumentError, ShapeError
        and
        DTypeError when the branches disagree.

        Examples:
            >>> sg.cond(sg.tensor(True), lambda x: x + 1, lambda x: x - 1, sg.tensor(1.0))
            tensor(2.)
        """

    @staticmethod
    def cos(x: TensorLike) -> Tensor:
        """Cosine."""

    @staticmethod
    def cosh(x: TensorLike) -> Tensor:
        """Hyperbolic cosine."""

    @staticmethod
    def cumsum(x: TensorLike, axis: int | None = None) -> Tensor:
        """Running sums along `axis` (of the flattened array for None)."""

    @staticmethod
    def div(x: TensorLike, y: TensorLike) -> Tensor:
        """x / y, broadcast; integers give the default float."""

    @staticmethod
    def dot(x: TensorLike, y: TensorLike) -> Tensor:
        """`matmul` for at most two axes (PyTorch's and NumPy's `dot` agree there)."""

    @staticmethod
    def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
        """Zero each element with probability p and scale the rest by 1 / (1 - p); x itself when not training.

        Raises ArgumentError unless 0 <= p <= 1.
        """

    @staticmethod
    def einsum(equation: str, *operands: TensorLike) -> Tensor:
        """The sum over repeated subscripts, `einsum("bij,bjk->bik", x, y)`; "..." stands for axes that broadcast.

        A subscript that the result lacks is summed over; without "->" the result has those that occur once, in alphabetical
        order. Several operands are joined in the order that opt_einsum finds cheapest. Raises ArgumentError for a malformed
        equation, ShapeError for extents that don't fit.

        Examples:
            >>> sg.einsum("ij,j->i", sg.tensor([[1.0, 2.0], [3.0, 4.0]]), sg.tensor([1.0, 10.0]))
            tensor([21., 43.])
        """

    @staticmethod
    def eq(x: TensorLike, y: TensorLike) -> Tensor:
        """x == y elementwise, bool."""

    @staticmethod
    def erf(x: TensorLike) -> Tensor:
        """The error function."""

    @staticmethod
    def exp(x: TensorLike) -> Tensor:
        """e**x."""

    @staticmethod
    def exp2(x: TensorLike) -> Tensor:
        """2**x."""

    @staticmethod
    def expand(x: Array, *shape: ShapeLike) -> Tensor:
        """PyTorch's `broadcast_to`: -1 keeps an extent."""

    @staticmethod
    def expand_dims(x: TensorLike, axis: int | Sequence[int]) -> Tensor:
        """x with new axes of extent 1 at the places `axis` of the result."""

    @staticmethod
    def expm1(x: TensorLike) -> Tensor:
        """exp(x) - 1, accurate for small x."""

    @staticmethod
    def flatten(x: Array, start: int = 0) -> Tensor:
        """x with all axes from `start` on joined into one. Raises ArgumentError for a start out of range."""

    @staticmethod
    def flip(x: Array, axis: int) -> Tensor:
        """x in reverse order along `axis`."""

    @staticmethod
    def floor(x: TensorLike) -> Tensor:
        """Largest integer <= x. Integers stay what they are; raises DTypeError for booleans."""

    @staticmethod
    def floor_divide(x: TensorLike, y: TensorLike) -> Tensor:
        """floor(x / y), with NumPy's rules for signs and zero. Raises DivisionError where integers are divided by 0."""

    @staticmethod
    def ge(x: TensorLike, y: TensorLike) -> Tensor:
        """x >= y elementwise, bool."""

    @staticmethod
    def getitem(x: Array, key: Index) -> Tensor:
        """x[key] with NumPy's rules: ints, slices, None, Ellipsis, integer arrays, booleans and, for values known now, boolean
        masks. Raises IndexRangeError, and ArgumentError where NumPy and PyTorch differ.
        """

    @staticmethod
    def gt(x: TensorLike, y: TensorLike) -> Tensor:
        """x > y elementwise, bool."""

    @staticmethod
    def index_add(x: TensorLike, axis: int, index: TensorLike, source: TensorLike) -> Tensor:
        """x with `source` added at `index` along `axis`, once for every time that a position occurs; PyTorch's `index_add`.

        index: integers (n,), negative ones count from the end; source: x's shape with n along `axis`, x's dtype. Raises
        IndexRangeError, ShapeError, and DTypeError for a floating index.

        Examples:
            >>> sg.index_add(sg.zeros(3), 0, sg.tensor([2, 0, 2]), sg.tensor([1.0, 2.0, 3.0]))
            tensor([2., 0., 4.])
        """

    @staticmethod
    def index_along(x: Array, axis: int) -> Tensor:
        """The positions along `axis` of x, shaped to broadcast against x; int64. Raises ArgumentError for a bad axis."""

    @staticmethod
    def isfinite(x: TensorLike) -> Tensor:
        """Where x is neither NaN nor infinite, bool."""

    @staticmethod
    def isnan(x: TensorLike) -> Tensor:
        """Where x is NaN, bool."""

    @staticmethod
    def le(x: TensorLike, y: TensorLike) -> Tensor:
        """x <= y elementwise, bool."""

    @staticmethod
    def log(x: TensorLike) -> Tensor:
        """Natural logarithm."""

    @staticmethod
    def log1p(x: TensorLike) -> Tensor:
        """log(1 + x), accurate for small x."""

    @staticmethod
    def log2(x: TensorLike) -> Tensor:
        """Logarithm to base 2."""

    @staticmethod
    def log_softmax(x: TensorLike, axis: Axis = -1) -> Tensor:
        """log(softmax(x)) over `axis`, accurate where softmax underflows."""

    @staticmethod
    def logical_and(x: TensorLike, y: TensorLike) -> Tensor:
        """numpy.logical_and, bool."""

    @staticmethod
    def logical_not(x: TensorLike) -> Tensor:
        """not x, bool."""

    @staticmethod
    def logical_or(x: TensorLike, y: TensorLike) -> Tensor:
        """numpy.logical_or, bool."""

    @staticmethod
    def logical_xor(x: TensorLike, y: TensorLike) -> Tensor:
        """numpy.logical_xor, bool."""

    @staticmethod
    def logsumexp(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """log(sum(exp(x))) without overflow. `axis`: an int, several, or None for all. Raises ArgumentError for a bad axis."""

    @staticmethod
    def lt(x: TensorLike, y: TensorLike) -> Tensor:
        """x < y elementwise, bool."""

    @staticmethod
    def masked_fill(x: Array, mask: TensorLike, value: TensorLike) -> Tensor:
        """x with `value`, cast to x's dtype, where the mask is true. Raises DTypeError for a number that doesn't fit it."""

    @staticmethod
    def matmul(x: TensorLike, y: TensorLike) -> Tensor:
        """The matrix product with NumPy's rules: 1-D operands are rows or columns, leading axes are batches and broadcast.

        Shapes (..., n, k) @ (..., k, m) -> (..., n, m). Raises ShapeError when inner sizes differ or an operand is 0-d.
        """

    @staticmethod
    def max(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The largest element (NaN if any is); ties share the gradient. Of two tensors: `maximum`. `axis`: an int, several, or
        None for all. Raises ArgumentError for a bad axis."""

    @staticmethod
    def maximum(x: TensorLike, y: TensorLike) -> Tensor:
        """The larger of each pair; NaN if either is. A tie shares its gradient."""

    @staticmethod
    def mean(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The mean, floating; NaN over no elements. `axis`: an int, several, or None for all. Raises ArgumentError for a bad
        axis."""

    @staticmethod
    def min(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The smallest element (NaN if any is); ties share the gradient. Of two tensors: `minimum`. `axis`: an int, several,
        or None for all. Raises ArgumentError for a bad axis."""

    @staticmethod
    def minimum(x: TensorLike, y: TensorLike) -> Tensor:
        """The smaller of each pair; NaN if either is. A tie shares its gradient."""

    @staticmethod
    def mul(x: TensorLike, y: TensorLike) -> Tensor:
        """x * y, broadcast. Booleans: logical and."""

    @staticmethod
    def ne(x: TensorLike, y: TensorLike) -> Tensor:
        """x != y elementwise, bool."""

    @staticmethod
    def neg(x: TensorLike) -> Tensor:
        """-x."""

    @staticmethod
    def norm(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The Euclidean norm, sqrt(sum(x * x)), floating; its derivative at 0 is 0."""

    @staticmethod
    def one_hot(index: TensorLike, classes: int, dtype: DTypeLike | None = None) -> Tensor:
        """1 at the index along a new last axis of extent `classes`, else 0; default float unless `dtype` is given.

        Raises IndexRangeError for an index outside [0, classes).
        """

    @staticmethod
    def ones_like(x: Array, dtype: DTypeLike | None = None) -> Tensor:
        """Ones of x's shape and dtype."""

    @staticmethod
    def outer(x: TensorLike, y: TensorLike) -> Tensor:
        """x[i] * y[j] for 1-D operands."""

    @staticmethod
    def permute(x: TensorLike, *axes: ShapeLike) -> Tensor:
        """x with its axes in the order `axes` (reversed when none are given)."""

    @staticmethod
    def pow(x: TensorLike, exponent: TensorLike) -> Tensor:
        """x ** exponent, broadcast. Plain exponents 1, 2, 0.5, -1 take the op made for them.

        Raises DTypeError for negative powers of integers and for booleans.
        """

    @staticmethod
    def reciprocal(x: TensorLike) -> Tensor:
        """1 / x."""

    @staticmethod
    def relu(x: TensorLike) -> Tensor:
        """max(x, 0); its derivative at 0 is 0 and at NaN 1, NaN stays NaN."""

    @staticmethod
    def remainder(x: TensorLike, y: TensorLike) -> Tensor:
        """x - y * floor(x / y): the sign of y. Raises DivisionError where integers are divided by 0."""

    @staticmethod
    def reshape(x: TensorLike, *shape: ShapeLike) -> Tensor:
        """x in another shape, row-major; one extent may be -1. Raises ShapeError when the sizes differ."""

    @staticmethod
    def round(x: TensorLike) -> Tensor:
        """Nearest integer, halves to even. Integers stay what they are; raises DTypeError for booleans."""

    @staticmethod
    def rsqrt(x: TensorLike) -> Tensor:
        """1 / sqrt(x)."""

    @staticmethod
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
        sees those of its iteration. In a graph it is one node, whose time to compile does not depend on the number of
        iterations; eagerly, a Python loop. Raises ShapeError, DTypeError and ArgumentError for a body that changes what it
        carries, and for xs of different lengths.

        Examples:
            >>> total, sums = sg.scan(lambda carry, x: (carry + x, carry + x), sg.tensor(0.0), sg.tensor([1.0, 2.0, 3.0]))
            >>> total, sums
            (tensor(6.), tensor([1., 3., 6.]))
        """

    @staticmethod
    def sigmoid(x: TensorLike) -> Tensor:
        """1 / (1 + exp(-x))."""

    @staticmethod
    def sign(x: TensorLike) -> Tensor:
        """-1, 0 or 1; 0 for NaN, as in PyTorch."""

    @staticmethod
    def sin(x: TensorLike) -> Tensor:
        """Sine."""

    @staticmethod
    def sinh(x: TensorLike) -> Tensor:
        """Hyperbolic sine."""

    @staticmethod
    def softmax(x: TensorLike, axis: Axis = -1) -> Tensor:
        """exp(x) / sum(exp(x)) over `axis`, without overflow."""

    @staticmethod
    def softplus(x: TensorLike) -> Tensor:
        """log(1 + e**x) without overflow; its derivative is sigmoid(x)."""

    @staticmethod
    def split(x: Array, sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
        """x cut along `axis`: into `sections` equal parts, or at the given positions (NumPy's meaning)."""

    @staticmethod
    def sqrt(x: TensorLike) -> Tensor:
        """Square root."""

    @staticmethod
    def square(x: TensorLike) -> Tensor:
        """x * x."""

    @staticmethod
    def squeeze(x: Array, axis: Axis = None) -> Tensor:
        """x without the axes `axis` (all of extent 1 for None). Raises ShapeError when one isn't of extent 1."""

    @staticmethod
    def stack(xs: Sequence[TensorLike], axis: int = 0) -> Tensor:
        """The operands side by side along a new axis. Raises ShapeError when the shapes differ."""

    @staticmethod
    def std(x: Array, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
        """The square root of `var`; its derivative where it is 0 is 0, as in PyTorch."""

    @staticmethod
    def stop_gradient(x: TensorLike) -> Tensor:
        """x, through which no gradient flows (TensorFlow's name; `detach` in PyTorch)."""

    @staticmethod
    def sub(x: TensorLike, y: TensorLike) -> Tensor:
        """x - y, broadcast. Raises DTypeError for booleans."""

    @staticmethod
    def sum(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The sum; integers and booleans in int64. `axis`: an int, several, or None for all. Raises ArgumentError for a bad
        axis."""

    @staticmethod
    def swapaxes(x: TensorLike, a: int, b: int) -> Tensor:
        """x with two axes exchanged."""

    @staticmethod
    def take(x: TensorLike, index: TensorLike, axis: int = 0) -> Tensor:
        """x[index] along `axis`: the index's shape replaces that axis. Negative indices count from the end.

        Raises IndexRangeError for one out of range, DTypeError for a floating index.
        """

    @staticmethod
    def take_along_axis(x: TensorLike, index: TensorLike, axis: int = -1) -> Tensor:
        """Pick along `axis` one or more positions per row (PyTorch's `gather`, NumPy's `take_along_axis`).

        `index` has x's number of axes. Negative positions count from the end. Raises IndexRangeError.

        Examples:
            >>> scores = sg.tensor([[1.0, 2.0], [3.0, 4.0]])
            >>> sg.take_along_axis(scores, sg.tensor([[1], [0]]), axis=1)
            tensor([[2.],
                    [3.]])
        """

    @staticmethod
    def tanh(x: TensorLike) -> Tensor:
        """Hyperbolic tangent."""

    @staticmethod
    def transpose(x: TensorLike, *axes: ShapeLike) -> Tensor:
        """Two axes: exchange them, as in PyTorch. None, a tuple or more: their order, as in NumPy."""

    @staticmethod
    def unsqueeze(x: TensorLike, axis: int) -> Tensor:
        """PyTorch's name of `expand_dims`."""

    @staticmethod
    def var(x: Array, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tensor:
        """The variance: mean squared distance from the mean, over n - ddof (0 as in NumPy; PyTorch's default is 1).

        NaN or infinite where n - ddof is not positive.
        """

    @staticmethod
    def where(condition: TensorLike, x: TensorLike, y: TensorLike) -> Tensor:
        """x where the condition holds, else y; all broadcast. The gradient flows to the chosen side only."""

    @overload
    @staticmethod
    def while_loop(
        cond: Callable[..., TensorLike],
        body: Callable[..., Any],
        loop_vars: list[Tensor],
        max_steps: int | None = None,
        checkpoint_every: int | None = None,
    ) -> list[Tensor]: ...
    @overload
    @staticmethod
    def while_loop(
        cond: Callable[..., TensorLike],
        body: Callable[..., Any],
        loop_vars: tuple[Tensor, ...],
        max_steps: int | None = None,
        checkpoint_every: int | None = None,
    ) -> tuple[Tensor, ...]: ...
    @overload
    @staticmethod
    def while_loop(
        cond: Callable[..., TensorLike],
        body: Callable[..., Any],
        loop_vars: list[Any],
        max_steps: int | None = None,
        checkpoint_every: int | None = None,
    ) -> list[Any]: ...
    @overload
    @staticmethod
    def while_loop(
        cond: Callable[..., TensorLike],
        body: Callable[..., Any],
        loop_vars: tuple[Any, ...],
        max_steps: int | None = None,
        checkpoint_every: int | None = None,
    ) -> tuple[Any, ...]: ...
    @overload
    @staticmethod
    def while_loop(
        cond: Callable[..., TensorLike],
        body: Callable[..., Any],
        loop_vars: Array | float,
        max_steps: int | None = None,
        checkpoint_every: int | None = None,
    ) -> Tensor:
        """Repeat `body` while `cond` holds; returns the last loop variables, in the structure of `loop_vars`.

        As in TensorFlow 1: loop_vars is a list or tuple, cond(*loop_vars) one boolean, body(*loop_vars) the next variables
        (a single one may come bare). Each is a tensor or a nested structure of them, and keeps its shapes and dtypes.
        max_steps:
        at most so many iterations. checkpoint_every: the gradient keeps the variables of every so many iterations only. Both
        functions may draw random numbers, as in `scan`.

        In a graph it is one node, and differentiable to any order: its gradient keeps residuals on a stack that grows
        with the number of iterations. Eagerly, a Python loop.

        Examples:
            >>> @sg.compile
            ... def halve(x):
            ...     return sg.while_loop(lambda x, n: x > 1, lambda x, n: (x / 2, n + 1), (x, sg.tensor(0)))
            >>> halve(sg.tensor(40.0))
            (tensor(0.625), tensor(6))
        """

    @staticmethod
    def zeros_like(x: Array, dtype: DTypeLike | None = None) -> Tensor:
        """Zeros of x's shape and dtype."""
