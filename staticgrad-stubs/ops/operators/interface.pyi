"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np

from ...base.devices import Device
from ...base.dtypes import DType
from ...base.types import Axis, DTypeLike, ShapeLike
from ...eager.storage import TypedStorage, UntypedStorage
from ...eager.tape import Handle, Record
from ...ir import Graph, Node
from ...ir.op import OpDef
from ...ops.random import Generator
from .. import return_types
from .annotations import Array, Carry, Index, Output, TensorLike
from .dispatch import Count, Size
from .symbols import GradFn

class Tensor:
    """A tensor of any mode: eager, traced by `@sg.compile`, or of a graph."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """Nothing: `__new__` has made it."""

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

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor: ...

    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> np.ndarray:
        """For NumPy. Raises GradientError when the tensor requires grad, as the tape would be lost silently."""

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: builtins.bool | None = None,
    ) -> Any:
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
    def _version(self) -> builtins.int:
        """The number of in-place changes of this tensor's memory."""

    @property
    def H(self) -> Tensor:
        """The transpose of a matrix, and the conjugate."""

    @property
    def T(self) -> Tensor:
        """Axes reversed."""

    def abs(self, *, out: Tensor | None = None) -> Tensor:
        """|x|; its derivative at 0 is 0.

        Examples:
            >>> sg.abs(sg.tensor([-1.0, 2.0]))
            tensor([1., 2.])
        """

    def abs_(self, *, out: Tensor | None = None) -> Tensor:
        """`abs` in place. Raises GradientError for a leaf that requires grad while recording."""

    def absolute(self, *, out: Tensor | None = None) -> Tensor:
        """|x|; its derivative at 0 is 0.

        Examples:
            >>> sg.abs(sg.tensor([-1.0, 2.0]))
            tensor([1., 2.])
        """

    def absolute_(self, *, out: Tensor | None = None) -> Tensor:
        """`absolute` in place. Raises GradientError for a leaf that requires grad while recording."""

    def acos(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse cosine.

        Examples:
            >>> sg.acos(sg.tensor([0.0, 1.0]))
            tensor([1.5708, 0.0000])
        """

    def acos_(self, *, out: Tensor | None = None) -> Tensor:
        """`acos` in place. Raises GradientError for a leaf that requires grad while recording."""

    def acosh(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic cosine.

        Examples:
            >>> sg.acosh(sg.tensor([1.0, 2.0]))
            tensor([0.0000, 1.3170])
        """

    def acosh_(self, *, out: Tensor | None = None) -> Tensor:
        """`acosh` in place. Raises GradientError for a leaf that requires grad while recording."""

    def add(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """input + alpha * other, broadcast. Booleans: logical or.

        Examples:
            >>> sg.add(sg.tensor([1.0, 2.0]), sg.tensor([10.0, 20.0]), alpha=2)
            tensor([21., 42.])
        """

    def add_(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """`add` in place. Raises GradientError for a leaf that requires grad while recording."""

    def addbmm(self, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """beta * input + alpha * the sum over the batch of batch1 @ batch2."""

    def addbmm_(self, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """`addbmm` in place. Raises GradientError for a leaf that requires grad while recording."""

    def addcdiv(self, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
        """input + value * tensor1 / tensor2, broadcast. Raises DTypeError for integers."""

    def addcdiv_(self, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
        """`addcdiv` in place. Raises GradientError for a leaf that requires grad while recording."""

    def addcmul(self, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
        """input + value * tensor1 * tensor2, broadcast.

        Examples:
            >>> sg.addcmul(sg.ones(2), sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]), value=0.5)
            tensor([2.5000, 5.0000])
        """

    def addcmul_(self, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Tensor:
        """`addcmul` in place. Raises GradientError for a leaf that requires grad while recording."""

    def addmm(self, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2)."""

    def addmm_(self, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """`addmm` in place. Raises GradientError for a leaf that requires grad while recording."""

    def addmv(self, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """beta * input + alpha * (mat @ vec)."""

    def addmv_(self, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """`addmv` in place. Raises GradientError for a leaf that requires grad while recording."""

    def addr(self, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """beta * input + alpha * outer(vec1, vec2)."""

    def addr_(self, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """`addr` in place. Raises GradientError for a leaf that requires grad while recording."""

    def adjoint(self) -> Tensor:
        """The last two axes swapped, and the conjugate."""

    def all(
        self,
        axis: Axis = None,
        keepdims: builtins.bool = False,
        *,
        dim: Axis = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """Whether every element is true: bool, of uint8 uint8; true over no elements. Raises ArgumentError for a bad axis.

        Examples:
            >>> sg.all(sg.tensor([True, False]))
            tensor(False)
        """

    def allclose(
        self,
        other: Any,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> builtins.bool:
        """Whether `isclose` holds everywhere, as a Python bool.

        Examples:
            >>> sg.allclose(sg.tensor([1.0]), sg.tensor([1.0 + 1e-9]))
            True
        """

    def amax(
        self,
        axis: Any = None,
        keepdims: builtins.bool = False,
        *,
        dim: Any = None,
        keepdim: builtins.bool = False,
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
        self,
        axis: Any = None,
        keepdims: builtins.bool = False,
        *,
        dim: Any = None,
        keepdim: builtins.bool = False,
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
        self,
        *,
        dim: Any = None,
        keepdim: builtins.bool = False,
        axis: Any = None,
        keepdims: builtins.bool = False,
    ) -> return_types.aminmax:
        """The named tuple (min, max) along one axis, or of all elements."""

    def angle(self) -> Tensor:
        """The angle in radians; of real numbers 0, or pi for negative ones, with a gradient of 0. NaN stays NaN."""

    def any(
        self,
        axis: Axis = None,
        keepdims: builtins.bool = False,
        *,
        dim: Axis = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """Whether some element is true: bool, of uint8 uint8; false over no elements. Raises ArgumentError for a bad axis.

        Examples:
            >>> sg.any(sg.tensor([True, False]))
            tensor(True)
        """

    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Replace each element by the number that a Python function makes of it. Slow, and for tensors without a tape."""

    def arccos(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse cosine.

        Examples:
            >>> sg.acos(sg.tensor([0.0, 1.0]))
            tensor([1.5708, 0.0000])
        """

    def arccos_(self, *, out: Tensor | None = None) -> Tensor:
        """`arccos` in place. Raises GradientError for a leaf that requires grad while recording."""

    def arccosh(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic cosine.

        Examples:
            >>> sg.acosh(sg.tensor([1.0, 2.0]))
            tensor([0.0000, 1.3170])
        """

    def arccosh_(self, *, out: Tensor | None = None) -> Tensor:
        """`arccosh` in place. Raises GradientError for a leaf that requires grad while recording."""

    def arcsin(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse sine.

        Examples:
            >>> sg.asin(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 1.5708])
        """

    def arcsin_(self, *, out: Tensor | None = None) -> Tensor:
        """`arcsin` in place. Raises GradientError for a leaf that requires grad while recording."""

    def arcsinh(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic sine.

        Examples:
            >>> sg.asinh(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.8814])
        """

    def arcsinh_(self, *, out: Tensor | None = None) -> Tensor:
        """`arcsinh` in place. Raises GradientError for a leaf that requires grad while recording."""

    def arctan(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse tangent, in radians.

        Examples:
            >>> sg.atan(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.7854])
        """

    def arctan2(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The angle of (other, input)."""

    def arctan2_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`arctan2` in place. Raises GradientError for a leaf that requires grad while recording."""

    def arctan_(self, *, out: Tensor | None = None) -> Tensor:
        """`arctan` in place. Raises GradientError for a leaf that requires grad while recording."""

    def arctanh(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic tangent.

        Examples:
            >>> sg.atanh(sg.tensor([0.0, 0.5]))
            tensor([0.0000, 0.5493])
        """

    def arctanh_(self, *, out: Tensor | None = None) -> Tensor:
        """`arctanh` in place. Raises GradientError for a leaf that requires grad while recording."""

    def argmax(
        self,
        axis: builtins.int | None = None,
        keepdims: builtins.bool = False,
        *,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The int64 position of the first extremum along `dim` (of the flattened array for None).

        Examples:
            >>> sg.argmax(sg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1)
            tensor([1, 0])
        """

    def argmin(
        self,
        axis: builtins.int | None = None,
        keepdims: builtins.bool = False,
        *,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The int64 position of the first extremum along `dim` (of the flattened array for None).

        Examples:
            >>> sg.argmin(sg.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1)
            tensor([0, 1])
        """

    def argsort(
        self,
        dim: builtins.int = -1,
        descending: builtins.bool = False,
        stable: builtins.bool = False,
        *,
        axis: builtins.int = -1,
    ) -> Tensor:
        """The positions along `dim` that sort it, int64; equal elements keep their order, and NaN comes last (largest).

        Examples:
            >>> sg.argsort(sg.tensor([3, 1, 2]))
            tensor([1, 2, 0])
        """

    def argwhere(self) -> Tensor:
        """The positions of elements that are not 0, (number, axes)."""

    def as_strided(self, size: Any, stride: Any, storage_offset: builtins.int | None = None) -> Tensor:
        """The elements at these strides of the memory that `input` lies in: a view. storage_offset: the place of the first
        one,
        by default that of `input`. A tensor without a value has no memory but its elements, row-major.
        """

    def as_strided_(self, size: Any, stride: Any, storage_offset: builtins.int | None = None) -> Tensor:
        """`as_strided` in place: the tensor itself gets that shape. Raises GradientError as other in-place methods do."""

    def as_strided_scatter(self, src: Any, size: Any, stride: Any, storage_offset: builtins.int | None = None) -> Tensor:
        """`input` (row-major) with `src` at the places of these strides."""

    def as_subclass(self, cls: builtins.type) -> Any:
        """A view of this tensor, of a class derived from `sg.Tensor`. Gradients flow through.

        Examples:
            >>> class Meters(sg.Tensor):
            ...     pass
            >>> sg.tensor([1.0, 2.0]).as_subclass(Meters) * 2
            Meters([2., 4.])
        """

    def asin(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse sine.

        Examples:
            >>> sg.asin(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 1.5708])
        """

    def asin_(self, *, out: Tensor | None = None) -> Tensor:
        """`asin` in place. Raises GradientError for a leaf that requires grad while recording."""

    def asinh(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic sine.

        Examples:
            >>> sg.asinh(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.8814])
        """

    def asinh_(self, *, out: Tensor | None = None) -> Tensor:
        """`asinh` in place. Raises GradientError for a leaf that requires grad while recording."""

    def astype(self, dtype: DTypeLike) -> Tensor:
        """x in another dtype (float to integer truncates). The gradient is cast back."""

    def atan(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse tangent, in radians.

        Examples:
            >>> sg.atan(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.7854])
        """

    def atan2(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The angle of (other, input)."""

    def atan2_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`atan2` in place. Raises GradientError for a leaf that requires grad while recording."""

    def atan_(self, *, out: Tensor | None = None) -> Tensor:
        """`atan` in place. Raises GradientError for a leaf that requires grad while recording."""

    def atanh(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic tangent.

        Examples:
            >>> sg.atanh(sg.tensor([0.0, 0.5]))
            tensor([0.0000, 0.5493])
        """

    def atanh_(self, *, out: Tensor | None = None) -> Tensor:
        """`atanh` in place. Raises GradientError for a leaf that requires grad while recording."""

    def backward(
        self,
        gradient: TensorLike | None = None,
        retain_graph: builtins.bool | None = None,
        create_graph: builtins.bool = False,
        inputs: Tensor | Iterable[Tensor] | None = None,
        *,
        retain_variables: builtins.bool | None = None,
    ) -> None:
        """Add d(sum(gradient * self)) / d(leaf) to `leaf.grad` for all leaves (or for `inputs` only).

        gradient: self's shape; may be left out for one element. retain_graph: keep saved values for another backward
        (default: create_graph). create_graph: record the backward pass, so that gradients can be differentiated.
        retain_variables: the former name of retain_graph. Raises GradientError, and leaves every `grad` as it was when it
        does.

        Examples:
            >>> x = sg.tensor([1.0, 2.0, 3.0], requires_grad=True)
            >>> (x * x).sum().backward()
            >>> x.grad
            tensor([2., 4., 6.])
        """

    def baddbmm(self, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """beta * input + alpha * (batch1 @ batch2)."""

    def baddbmm_(self, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """`baddbmm` in place. Raises GradientError for a leaf that requires grad while recording."""

    def bernoulli(self, p: builtins.float | None = None, *, generator: Generator | None = None) -> Tensor:
        """1 with the probabilities in `input` (or p, in its shape), else 0, in its dtype. Raises ArgumentError outside [0,
        1]."""

    def bernoulli_(self, p: Any = 0.5, *, generator: Any = None) -> Tensor:
        """1 with probability p (a number or a tensor), else 0."""

    def bfloat16(self, memory_format: Any = None) -> Tensor:
        """This tensor in bfloat16."""

    def bincount(self, weights: Any = None, minlength: builtins.int = 0) -> Tensor:
        """How often each integer from 0 occurs, or the sum of its weights. Raises DTypeError, ArgumentError.

        Examples:
            >>> sg.bincount(sg.tensor([0, 2, 2]))
            tensor([1, 0, 2])
        """

    def bitwise_and(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x & y, of integers or booleans."""

    def bitwise_and_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`bitwise_and` in place. Raises GradientError for a leaf that requires grad while recording."""

    def bitwise_left_shift(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x shifted by y bits."""

    def bitwise_left_shift_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`bitwise_left_shift` in place. Raises GradientError for a leaf that requires grad while recording."""

    def bitwise_not(self, *, out: Tensor | None = None) -> Tensor:
        """~x, of integers or booleans."""

    def bitwise_not_(self, *, out: Tensor | None = None) -> Tensor:
        """`bitwise_not` in place. Raises GradientError for a leaf that requires grad while recording."""

    def bitwise_or(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x | y, of integers or booleans."""

    def bitwise_or_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`bitwise_or` in place. Raises GradientError for a leaf that requires grad while recording."""

    def bitwise_right_shift(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x shifted by y bits."""

    def bitwise_right_shift_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`bitwise_right_shift` in place. Raises GradientError for a leaf that requires grad while recording."""

    def bitwise_xor(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x ^ y, of integers or booleans."""

    def bitwise_xor_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`bitwise_xor` in place. Raises GradientError for a leaf that requires grad while recording."""

    def bmm(self, mat2: Any) -> Tensor:
        """The products of two batches of matrices, (b, n, m) and (b, m, p). Raises ShapeError.

        Examples:
            >>> sg.bmm(sg.ones(5, 2, 3), sg.ones(5, 3, 4)).shape
            torch.Size([5, 2, 4])
        """

    def bool(self, memory_format: Any = None) -> Tensor:
        """This tensor in bool."""

    def broadcast_to(self, *extents: ShapeLike, size: ShapeLike | None = None, shape: ShapeLike | None = None) -> Tensor:
        """input repeated to a shape by NumPy's broadcasting, without copying. size, shape: names of the shape.

        Examples:
            >>> sg.broadcast_to(sg.tensor([1, 2]), (2, 2))
            tensor([[1, 2],
                    [1, 2]])
        """

    def byte(self, memory_format: Any = None) -> Tensor:
        """This tensor in uint8."""

    def cauchy_(self, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        """Fill with numbers of the Cauchy distribution, in place."""

    def cdouble(self, memory_format: Any = None) -> Tensor:
        """This tensor in complex128."""

    def ceil(self, *, out: Tensor | None = None) -> Tensor:
        """Smallest integer >= x. Integers stay what they are; raises DTypeError for booleans."""

    def ceil_(self, *, out: Tensor | None = None) -> Tensor:
        """`ceil` in place. Raises GradientError for a leaf that requires grad while recording."""

    def cfloat(self, memory_format: Any = None) -> Tensor:
        """This tensor in complex64."""

    def chalf(self, memory_format: Any = None) -> Tensor:
        """Raises DTypeError: there is no complex32."""

    def char(self, memory_format: Any = None) -> Tensor:
        """This tensor in int8."""

    def cholesky(self, upper: builtins.bool = False) -> Tensor:
        """`linalg.cholesky` by an older name."""

    def cholesky_inverse(self, upper: builtins.bool = False) -> Tensor:
        """The inverse of A from its Cholesky factor."""

    def cholesky_solve(self, L: Any, upper: builtins.bool = False) -> Tensor:
        """X with A X = input, from A's Cholesky factor."""

    def chunk(self, chunks: builtins.int, dim: builtins.int = 0, *, axis: builtins.int = 0) -> tuple[Tensor, ...]:
        """At most so many parts of equal size along `dim`; the last one is smaller if need be.

        Examples:
            >>> sg.chunk(sg.arange(4), 2)
            (tensor([0, 1]), tensor([2, 3]))
        """

    def clamp(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
        """PyTorch's name of `clip`.

        Examples:
            >>> sg.clamp(sg.tensor([-1.0, 0.5, 2.0]), 0, 1)
            tensor([0.0000, 0.5000, 1.0000])
        """

    def clamp_(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
        """`clamp` in place. Raises GradientError for a leaf that requires grad while recording."""

    def clamp_max(self, max: Any) -> Tensor:
        """The smaller of `input` and `max`."""

    def clamp_max_(self, max: Any) -> Tensor:
        """`clamp_max` in place. Raises GradientError for a leaf that requires grad while recording."""

    def clamp_min(self, min: Any) -> Tensor:
        """The larger of `input` and `min`."""

    def clamp_min_(self, min: Any) -> Tensor:
        """`clamp_min` in place. Raises GradientError for a leaf that requires grad while recording."""

    def clip(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
        """x limited to [min, max]; either may be None. Inside the bounds, edges included, the gradient passes through.

        The bounds are promoted with x. Raises ArgumentError when both are None.

        Examples:
            >>> sg.clip(sg.tensor([-2.0, 0.5, 2.0]), 0, 1)
            tensor([0.0000, 0.5000, 1.0000])
        """

    def clip_(self, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
        """`clip` in place. Raises GradientError for a leaf that requires grad while recording."""

    def clone(self, *, memory_format: object = None) -> Tensor:
        """A copy in memory of its own, in this order of axes; gradients flow through."""

    def conj(self) -> Tensor:
        """The conjugate; of real numbers, `input` itself."""

    def conj_physical(self) -> Tensor:
        """The conjugate; of real numbers, `input` itself."""

    def conj_physical_(self) -> Tensor:
        """`conj_physical` in place. Raises GradientError for a leaf that requires grad while recording."""

    def contiguous(self, memory_format: object = None) -> Tensor:
        """This tensor when its elements lie in row-major order, or that of a format, else a copy in that order."""

    def copy_(self, src: TensorLike, non_blocking: builtins.bool = False) -> Tensor:
        """Take over the values of `src` (broadcast, cast to this dtype)."""

    def copysign(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """|input| with the sign of `other`."""

    def copysign_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`copysign` in place. Raises GradientError for a leaf that requires grad while recording."""

    def corrcoef(self) -> Tensor:
        """The correlations of variables (rows) over observations (columns)."""

    def cos(self, *, out: Tensor | None = None) -> Tensor:
        """Cosine.

        Examples:
            >>> sg.cos(sg.tensor([0.0, 1.0]))
            tensor([1.0000, 0.5403])
        """

    def cos_(self, *, out: Tensor | None = None) -> Tensor:
        """`cos` in place. Raises GradientError for a leaf that requires grad while recording."""

    def cosh(self, *, out: Tensor | None = None) -> Tensor:
        """Hyperbolic cosine.

        Examples:
            >>> sg.cosh(sg.tensor([0.0, 1.0]))
            tensor([1.0000, 1.5431])
        """

    def cosh_(self, *, out: Tensor | None = None) -> Tensor:
        """`cosh` in place. Raises GradientError for a leaf that requires grad while recording."""

    def count_nonzero(self, dim: Any = None, *, axis: Any = None) -> Tensor:
        """How many elements along `dim` (of all for None) are not 0, int64.

        Examples:
            >>> sg.count_nonzero(sg.tensor([0, 3, 4]))
            tensor(2)
        """

    def cov(self, *, correction: builtins.int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
        """The covariances of variables (rows) over observations (columns), with weights; a number for one variable."""

    def cpu(self, memory_format: Any = None) -> Tensor:
        """This tensor: all tensors are in the CPU's memory."""

    @property
    def creator(self) -> Record | GradFn | None:
        """The former name of `grad_fn`."""

    def cross(self, other: Any, dim: builtins.int | None = None, *, axis: builtins.int | None = None) -> Tensor:
        """The cross products along `dim`, the first axis of extent 3 unless given.

        Examples:
            >>> sg.cross(sg.tensor([1.0, 0.0, 0.0]), sg.tensor([0.0, 1.0, 0.0]), dim=0)
            tensor([0., 0., 1.])
        """

    def cuda(self, device: Any = None, non_blocking: builtins.bool = False, memory_format: Any = None) -> Tensor:
        """Raises DeviceError: tensors are in the CPU's memory."""

    @overload
    def cummax(self, dim: builtins.int, *, _op: OpDef = ..., _name: str = 'cummax') -> return_types.Pair: ...
    @overload
    def cummax(self, *, axis: builtins.int, _op: OpDef = ..., _name: str = 'cummax') -> return_types.Pair:
        """The named tuple (values, indices) of the extremum so far, along `dim`."""

    @overload
    def cummin(self, dim: builtins.int, *, _op: OpDef = ..., _name: str = 'cummin') -> return_types.Pair: ...
    @overload
    def cummin(self, *, axis: builtins.int, _op: OpDef = ..., _name: str = 'cummin') -> return_types.Pair:
        """The named tuple (values, indices) of the extremum so far, along `dim`."""

    @overload
    def cumprod(self, dim: builtins.int, *, dtype: Any = None) -> Tensor: ...
    @overload
    def cumprod(self, *, axis: builtins.int, dtype: Any = None) -> Tensor:
        """Running products along `dim`; integers in int64.

        Examples:
            >>> sg.cumprod(sg.tensor([1, 2, 3]), dim=0)
            tensor([1, 2, 6])
        """

    def cumprod_(self, dim: builtins.int, *, dtype: Any = None) -> Tensor:
        """`cumprod` in place. Raises GradientError for a leaf that requires grad while recording."""

    def cumsum(
        self,
        axis: builtins.int | None = None,
        *,
        dtype: DTypeLike | None = None,
        dim: builtins.int | None = None,
    ) -> Tensor:
        """Running sums along `axis` (of the flattened array for None).

        Examples:
            >>> sg.cumsum(sg.tensor([1, 2, 3]), dim=0)
            tensor([1, 3, 6])
        """

    def cumsum_(self, axis: builtins.int | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
        """`cumsum` in place. Raises GradientError for a leaf that requires grad while recording."""

    @property
    def data(self) -> Tensor:
        """The same memory without the tape. Changes of it are not counted, as in PyTorch: a backward pass computes with the
        values that it finds.
        """
    @data.setter
    def data(self, value: TensorLike) -> None: ...

    def data_ptr(self) -> builtins.int:
        """The address of the first element; only a tensor with a value has one."""

    def deg2rad(self) -> Tensor:
        """Degrees as radians."""

    def deg2rad_(self) -> Tensor:
        """`deg2rad` in place. Raises GradientError for a leaf that requires grad while recording."""

    def det(self) -> Tensor:
        """The determinant of square matrices.

        Examples:
            >>> sg.linalg.det(sg.tensor([[2.0, 0.0], [0.0, 4.0]]))
            tensor(8.)
        """

    def detach(self) -> Tensor:
        """The same memory without the tape."""

    def detach_(self) -> Tensor:
        """Cut this tensor from its tape: it becomes a leaf that doesn't require grad."""

    @property
    def device(self) -> Device:
        """Where the numbers are: the CPU."""

    def diag(self, diagonal: builtins.int = 0) -> Tensor:
        """The diagonal of a matrix, or the matrix with a vector on its diagonal.

        Examples:
            >>> sg.diag(sg.tensor([1, 2]))
            tensor([[1, 0],
                    [0, 2]])
        """

    def diag_embed(self, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
        """Matrices with the last axis of `input` along their diagonal; their axes are dim1 and dim2 of the result."""

    def diagflat(self, offset: builtins.int = 0) -> Tensor:
        """The matrix with all elements of `input` on its diagonal."""

    def diagonal(self, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
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

    def diagonal_scatter(
        self,
        src: Any,
        offset: builtins.int = 0,
        dim1: builtins.int = 0,
        dim2: builtins.int = 1,
    ) -> Tensor:
        """`input` with `src` on a diagonal."""

    def diff(
        self,
        n: builtins.int = 1,
        dim: builtins.int = -1,
        prepend: Any = None,
        append: Any = None,
        *,
        axis: builtins.int = -1,
    ) -> Tensor:
        """Differences of neighbors along `dim`, taken n times; of booleans, whether they differ."""

    def digamma(self, *, out: Tensor | None = None) -> Tensor:
        """The derivative of `lgamma`."""

    def digamma_(self, *, out: Tensor | None = None) -> Tensor:
        """`digamma` in place. Raises GradientError for a leaf that requires grad while recording."""

    def dim(self) -> builtins.int:
        """How many axes there are."""

    def dist(self, other: Any, p: builtins.float = 2) -> Tensor:
        """The p-norm of input - other."""

    def div(self, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """input / other, broadcast; integers give the default float. rounding_mode: "floor" or "trunc" rounds the quotient, of
        integers to an integer. Raises ArgumentError for another one.

        Examples:
            >>> sg.div(sg.tensor([7.0, -7.0]), 2, rounding_mode="floor")
            tensor([ 3., -4.])
        """

    def div_(self, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """`div` in place. Raises GradientError for a leaf that requires grad while recording."""

    def divide(self, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """input / other, broadcast; integers give the default float. rounding_mode: "floor" or "trunc" rounds the quotient, of
        integers to an integer. Raises ArgumentError for another one.

        Examples:
            >>> sg.div(sg.tensor([7.0, -7.0]), 2, rounding_mode="floor")
            tensor([ 3., -4.])
        """

    def divide_(self, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """`divide` in place. Raises GradientError for a leaf that requires grad while recording."""

    def dot(self, tensor: TensorLike) -> Tensor:
        """`matmul` for at most two axes (PyTorch's and NumPy's `dot` agree there).

        Examples:
            >>> sg.dot(sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]))
            tensor(11.)
        """

    def double(self, memory_format: Any = None) -> Tensor:
        """This tensor in float64."""

    def dsplit(
        self,
        indices_or_sections: Any,
        *,
        _name: str = 'dsplit',
        _axis: builtins.int = 2,
        _least: builtins.int = 3,
    ) -> tuple[Tensor, ...]:
        """Equal parts, or parts between positions, along the axis that NumPy's function of this name cuts."""

    @property
    def dtype(self) -> DType:
        """The kind of number that each element is."""

    def element_size(self) -> builtins.int:
        """Bytes of an element."""

    def eq(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x == y elementwise, bool."""

    def eq_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`eq` in place. Raises GradientError for a leaf that requires grad while recording."""

    def equal(self, other: Any) -> builtins.bool:
        """Whether both have the same shape and elements, as a Python bool.

        Examples:
            >>> sg.equal(sg.tensor([1, 2]), sg.tensor([1, 2]))
            True
        """

    def erf(self, *, out: Tensor | None = None) -> Tensor:
        """The error function.

        Examples:
            >>> sg.erf(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.8427])
        """

    def erf_(self, *, out: Tensor | None = None) -> Tensor:
        """`erf` in place. Raises GradientError for a leaf that requires grad while recording."""

    def erfc(self, *, out: Tensor | None = None) -> Tensor:
        """1 - erf(x), accurate for large x."""

    def erfc_(self, *, out: Tensor | None = None) -> Tensor:
        """`erfc` in place. Raises GradientError for a leaf that requires grad while recording."""

    def erfinv(self, *, out: Tensor | None = None) -> Tensor:
        """The inverse of `erf`."""

    def erfinv_(self, *, out: Tensor | None = None) -> Tensor:
        """`erfinv` in place. Raises GradientError for a leaf that requires grad while recording."""

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> np.ndarray:
        """Its value in `session`, the default one when left out; see `Session.run`."""

    def exp(self, *, out: Tensor | None = None) -> Tensor:
        """e**x.

        Examples:
            >>> sg.exp(sg.tensor([0.0, 1.0]))
            tensor([1.0000, 2.7183])
        """

    def exp2(self, *, out: Tensor | None = None) -> Tensor:
        """2**x.

        Examples:
            >>> sg.exp2(sg.tensor([0.0, 3.0]))
            tensor([1., 8.])
        """

    def exp2_(self, *, out: Tensor | None = None) -> Tensor:
        """`exp2` in place. Raises GradientError for a leaf that requires grad while recording."""

    def exp_(self, *, out: Tensor | None = None) -> Tensor:
        """`exp` in place. Raises GradientError for a leaf that requires grad while recording."""

    def expand(self, *extents: ShapeLike, size: ShapeLike | None = None, implicit: builtins.bool = False) -> Tensor:
        """PyTorch's `broadcast_to`: -1 keeps an extent."""

    def expand_as(self, other: Any) -> Tensor:
        """`input` repeated to the shape of `other`."""

    def expand_dims(self, axis: builtins.int | Sequence[builtins.int]) -> Tensor:
        """x with new axes of extent 1 at the places `axis` of the result."""

    def expm1(self, *, out: Tensor | None = None) -> Tensor:
        """exp(x) - 1, accurate for small x.

        Examples:
            >>> sg.expm1(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 1.7183])
        """

    def expm1_(self, *, out: Tensor | None = None) -> Tensor:
        """`expm1` in place. Raises GradientError for a leaf that requires grad while recording."""

    def exponential_(self, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        """Fill with numbers of the exponential distribution of rate `lambd`, in place."""

    def fill(self, value: Any) -> Tensor:
        """One number in the shape and dtype of `input`, whose gradient is 0; a 0-d tensor takes its gradient."""

    def fill_(self, value: TensorLike) -> Tensor:
        """Set every element to a number, also of a broadcast view."""

    def fill_diagonal_(self, fill_value: Any, wrap: builtins.bool = False) -> Tensor:
        """Set the diagonal to a number."""

    def fix(self) -> Tensor:
        """The integer next to `input` on the side of 0; integers stay what they are.

        Examples:
            >>> sg.trunc(sg.tensor([1.5, -1.5]))
            tensor([ 1., -1.])
        """

    def fix_(self) -> Tensor:
        """`fix` in place. Raises GradientError for a leaf that requires grad while recording."""

    def flatten(self, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
        """x with the axes from `start_dim` to `end_dim` joined into one. Raises ArgumentError for one out of range.

        Examples:
            >>> sg.flatten(sg.zeros(2, 3, 4), start_dim=1).shape
            torch.Size([2, 12])
        """

    @overload
    def flip(self, dims: Any = (), *more: builtins.int) -> Tensor: ...
    @overload
    def flip(self, dims: Any = (), *, more: builtins.int) -> Tensor:
        """`input` in reverse order along each of `dims`, in memory of its own: integers, or one tuple of them.

        Examples:
            >>> sg.flip(sg.tensor([1, 2, 3]), (0,))
            tensor([3, 2, 1])
        """

    def fliplr(self) -> Tensor:
        """`input` in reverse order along axis 1."""

    def flipud(self) -> Tensor:
        """`input` in reverse order along axis 0."""

    def float(self, memory_format: Any = None) -> Tensor:
        """This tensor in float32."""

    def float_power(self, exponent: Any) -> Tensor:
        """input ** exponent in float64, or complex128."""

    def float_power_(self, exponent: Any) -> Tensor:
        """`float_power` in place. Raises GradientError for a leaf that requires grad while recording."""

    def floor(self, *, out: Tensor | None = None) -> Tensor:
        """Largest integer <= x. Integers stay what they are; raises DTypeError for booleans."""

    def floor_(self, *, out: Tensor | None = None) -> Tensor:
        """`floor` in place. Raises GradientError for a leaf that requires grad while recording."""

    def floor_divide(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """floor(x / y), with NumPy's rules for signs and zero. Raises DivisionError where integers are divided by 0."""

    def floor_divide_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`floor_divide` in place. Raises GradientError for a leaf that requires grad while recording."""

    def fmax(self, other: Any) -> Tensor:
        """`maximum`, of which a NaN is left out; of equal elements the first has the gradient."""

    def fmin(self, other: Any) -> Tensor:
        """`minimum`, of which a NaN is left out; of equal elements the first has the gradient."""

    def fmod(self, other: Any) -> Tensor:
        """The remainder of a division rounded towards 0: the sign of `input`. Raises DivisionError for integers over 0.

        Examples:
            >>> sg.fmod(sg.tensor([7.0, -7.0]), 3)
            tensor([ 1., -1.])
        """

    def fmod_(self, other: Any) -> Tensor:
        """`fmod` in place. Raises GradientError for a leaf that requires grad while recording."""

    def frac(self) -> Tensor:
        """input - trunc(input), with the sign of the input. Raises DTypeError for integers."""

    def frac_(self) -> Tensor:
        """`frac` in place. Raises GradientError for a leaf that requires grad while recording."""

    def frexp(self) -> tuple[Tensor, Tensor]:
        """Mantissa and exponent: input = mantissa * 2**exponent, the mantissa in [0.5, 1) or 0."""

    @overload
    def gather(self, dim: builtins.int, index: Any, *, sparse_grad: builtins.bool = False) -> Tensor: ...
    @overload
    def gather(self, *, axis: builtins.int, index: Any, sparse_grad: builtins.bool = False) -> Tensor:
        """The elements at positions along `dim`: `out[i, j] = input[index[i, j], j]` for dim 0. The index has the axes of
        `input`,
        and extents no larger than its away from `dim`. Raises IndexRangeError, ShapeError.

        Examples:
            >>> sg.gather(sg.tensor([[1, 2], [3, 4]]), 1, sg.tensor([[1], [0]]))
            tensor([[2],
                    [3]])
        """

    def gcd(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The gcd of two integers."""

    def gcd_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`gcd` in place. Raises GradientError for a leaf that requires grad while recording."""

    def ge(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x >= y elementwise, bool."""

    def ge_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`ge` in place. Raises GradientError for a leaf that requires grad while recording."""

    def geometric_(self, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        """Fill with how many trials it takes to succeed once with probability `p`, in place."""

    def geqrf(self) -> return_types.geqrf:
        """The named tuple (a, tau): R in the upper triangle of `a`, reflections of Q below it. It has no derivative."""

    def ger(self, vec2: TensorLike) -> Tensor:
        """input[i] * vec2[j] for 1-D operands.

        Examples:
            >>> sg.outer(sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]))
            tensor([[3., 4.],
                    [6., 8.]])
        """

    def get_device(self) -> builtins.int:
        """-1, the number of the CPU."""

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient, of the same shape, or None."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...

    @property
    def grad_fn(self) -> Record | GradFn | None:
        """The operation that made it, a node of the tape; None for a leaf."""

    graph: Graph

    def greater(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x > y elementwise, bool."""

    def greater_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`greater` in place. Raises GradientError for a leaf that requires grad while recording."""

    def greater_equal(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x >= y elementwise, bool."""

    def greater_equal_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`greater_equal` in place. Raises GradientError for a leaf that requires grad while recording."""

    def gt(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x > y elementwise, bool."""

    def gt_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`gt` in place. Raises GradientError for a leaf that requires grad while recording."""

    def half(self, memory_format: Any = None) -> Tensor:
        """This tensor in float16."""

    def hardshrink(self, lambd: builtins.float = 0.5) -> Tensor:
        """This tensor, with 0 within [-lambd, lambd]."""

    def heaviside(self, values: Any) -> Tensor:
        """0 below 0 and for NaN, 1 above, `values` at 0."""

    def heaviside_(self, values: Any) -> Tensor:
        """`heaviside` in place. Raises GradientError for a leaf that requires grad while recording."""

    def histc(self, bins: builtins.int = 100, min: builtins.float = 0, max: builtins.float = 0) -> Tensor:
        """How many elements lie in each of `bins` equal intervals from min to max (of the input when both are equal): (bins,),
        in
        the dtype of the input. Raises ArgumentError for a range that is not finite or not ascending.
        """

    def histogram(
        self,
        bins: Any,
        *,
        range: Any = None,
        weight: Any = None,
        density: builtins.bool = False,
    ) -> return_types.histogram:
        """The named tuple (hist, bin_edges): `bins` is a number of equal intervals or their edges, which graphs take to be
        ascending.
        """

    def hsplit(
        self,
        indices_or_sections: Any,
        *,
        _name: str = 'hsplit',
        _axis: builtins.int = 1,
        _least: builtins.int = 1,
    ) -> tuple[Tensor, ...]:
        """Equal parts, or parts between positions, along the axis that NumPy's function of this name cuts."""

    def hypot(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """sqrt(input**2 + other**2), without overflow."""

    def hypot_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`hypot` in place. Raises GradientError for a leaf that requires grad while recording."""

    def i0(self, *, out: Tensor | None = None) -> Tensor:
        """Modified Bessel function of order 0."""

    def i0_(self, *, out: Tensor | None = None) -> Tensor:
        """`i0` in place. Raises GradientError for a leaf that requires grad while recording."""

    def igamma(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The regularized lower incomplete gamma function."""

    def igamma_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`igamma` in place. Raises GradientError for a leaf that requires grad while recording."""

    def igammac(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The regularized upper incomplete gamma function."""

    def igammac_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`igammac` in place. Raises GradientError for a leaf that requires grad while recording."""

    @property
    def imag(self) -> Tensor:
        """The imaginary parts. Raises DTypeError for real numbers."""

    @overload
    def index_add(
        self,
        axis: builtins.int,
        index: TensorLike,
        source: TensorLike,
        *,
        alpha: builtins.float | Tensor = 1,
    ) -> Tensor: ...
    @overload
    def index_add(
        self,
        *,
        dim: builtins.int,
        index: TensorLike,
        source: TensorLike,
        alpha: builtins.float | Tensor = 1,
    ) -> Tensor:
        """x with `alpha * source` added at `index` along `axis`, once for every time that a position occurs.

        index: integers (n,), negative ones count from the end; source: x's shape with n along `axis`, x's dtype. Raises
        IndexRangeError, ShapeError, and DTypeError for a floating index.

        Examples:
            >>> sg.index_add(sg.zeros(3), 0, sg.tensor([2, 0, 2]), sg.tensor([1.0, 2.0, 3.0]))
            tensor([2., 0., 4.])
        """

    def index_add_(
        self,
        axis: builtins.int,
        index: TensorLike,
        source: TensorLike,
        *,
        alpha: builtins.float | Tensor = 1,
    ) -> Tensor:
        """`index_add` in place. Raises GradientError for a leaf that requires grad while recording."""

    @overload
    def index_copy(self, dim: builtins.int, index: Any, source: Any) -> Tensor: ...
    @overload
    def index_copy(self, *, axis: builtins.int, index: Any, source: Any) -> Tensor:
        """`input` with the slices of `source` at positions along `dim`."""

    def index_copy_(self, dim: builtins.int, index: Any, source: Any) -> Tensor:
        """`index_copy` in place. Raises GradientError for a leaf that requires grad while recording."""

    @overload
    def index_fill(self, dim: builtins.int, index: Any, value: Any) -> Tensor: ...
    @overload
    def index_fill(self, *, axis: builtins.int, index: Any, value: Any) -> Tensor:
        """`input` with one value in the slices at positions along `dim`. The value is a number or a 0-d tensor."""

    def index_fill_(self, dim: builtins.int, index: Any, value: Any) -> Tensor:
        """`index_fill` in place. Raises GradientError for a leaf that requires grad while recording."""

    def index_put(self, indices: Any, values: Any, accumulate: builtins.bool = False) -> Tensor:
        """`input` with values where `input[indices]` reads; they are added with `accumulate`."""

    def index_put_(self, indices: Any, values: Any, accumulate: builtins.bool = False) -> Tensor:
        """`index_put` in place. Raises GradientError for a leaf that requires grad while recording."""

    @overload
    def index_reduce(
        self,
        dim: builtins.int,
        index: Any,
        source: Any,
        reduce: str,
        *,
        include_self: builtins.bool = True,
    ) -> Tensor: ...
    @overload
    def index_reduce(
        self,
        *,
        axis: builtins.int,
        index: Any,
        source: Any,
        reduce: str,
        include_self: builtins.bool = True,
    ) -> Tensor:
        """`input` combined with the slices of `source` at positions along `dim`: "prod", "mean", "amax" or "amin"."""

    def index_reduce_(
        self,
        dim: builtins.int,
        index: Any,
        source: Any,
        reduce: str,
        *,
        include_self: builtins.bool = True,
    ) -> Tensor:
        """`index_reduce` in place. Raises GradientError for a leaf that requires grad while recording."""

    @overload
    def index_select(self, dim: builtins.int, index: Any) -> Tensor: ...
    @overload
    def index_select(self, *, axis: builtins.int, index: Any) -> Tensor:
        """The slices at positions along `dim`; index: 1-D integers. Raises IndexRangeError.

        Examples:
            >>> sg.index_select(sg.tensor([[1, 2], [3, 4]]), 0, sg.tensor([1, 1]))
            tensor([[3, 4],
                    [3, 4]])
        """

    def inner(self, other: Any) -> Tensor:
        """Sums of products over the last axes of both operands."""

    def int(self, memory_format: Any = None) -> Tensor:
        """This tensor in int32."""

    def inverse(self) -> Tensor:
        """The inverse of square matrices. Raises ShapeError, LinAlgError for a singular one.

        Examples:
            >>> sg.linalg.inv(sg.tensor([[2.0, 0.0], [0.0, 4.0]]))
            tensor([[0.5000, 0.0000],
                    [0.0000, 0.2500]])
        """

    def is_complex(self) -> builtins.bool:
        """Whether the dtype is complex."""

    def is_conj(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    def is_contiguous(self, memory_format: object = None) -> builtins.bool:
        """Whether the elements lie in row-major order, or that of a format such as `channels_last`."""

    @property
    def is_cpu(self) -> builtins.bool:
        """True: all tensors are on the CPU."""

    @property
    def is_cuda(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    def is_distributed(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    def is_floating_point(self) -> builtins.bool:
        """Whether the dtype is floating."""

    def is_inference(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    @property
    def is_ipu(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    @property
    def is_leaf(self) -> builtins.bool:
        """Made by the user, or by an operation that was not recorded."""

    @property
    def is_maia(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    @property
    def is_meta(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    @property
    def is_mkldnn(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    @property
    def is_mps(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    @property
    def is_mtia(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    def is_neg(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    @property
    def is_nested(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    def is_nonzero(self) -> builtins.bool:
        """Whether the one element is not 0. Raises ShapeError for any other number of elements."""

    def is_pinned(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    @property
    def is_quantized(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    def is_same_size(self, other: Any) -> builtins.bool:
        """Whether both have the same shape."""

    def is_set_to(self, tensor: Tensor) -> builtins.bool:
        """Whether another tensor has the same elements of the same memory, in the same order. Raises DTypeError for no
        tensor."""

    def is_shared(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    def is_signed(self) -> builtins.bool:
        """Whether the dtype has negative numbers."""

    @property
    def is_sparse(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    @property
    def is_sparse_csr(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    @property
    def is_view(self) -> builtins.bool:
        """Shares memory with another tensor of the same tape (what PyTorch calls `_is_view`)."""

    @property
    def is_vulkan(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    @property
    def is_xla(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    @property
    def is_xpu(self) -> builtins.bool:
        """False: tensors are dense, computed when they are written, and in the CPU's memory."""

    def isclose(
        self,
        other: Any,
        rtol: builtins.float = 1e-05,
        atol: builtins.float = 1e-08,
        equal_nan: builtins.bool = False,
    ) -> Tensor:
        """Where |input - other| <= atol + rtol |other|; infinities are close to themselves, NaN to NaN with `equal_nan`.

        Examples:
            >>> sg.isclose(sg.tensor([1.0, 2.0]), sg.tensor([1.0, 2.1]))
            tensor([ True, False])
        """

    def isfinite(self, *, out: Tensor | None = None) -> Tensor:
        """Where x is neither NaN nor infinite, bool.

        Examples:
            >>> sg.isfinite(sg.tensor([1.0, float("inf")]))
            tensor([ True, False])
        """

    def isinf(self) -> Tensor:
        """Where `input` is infinite.

        Examples:
            >>> sg.isinf(sg.tensor([1.0, float("-inf")]))
            tensor([False,  True])
        """

    def isnan(self, *, out: Tensor | None = None) -> Tensor:
        """Where x is NaN, bool.

        Examples:
            >>> sg.isnan(sg.tensor([1.0, float("nan")]))
            tensor([False,  True])
        """

    def isneginf(self) -> Tensor:
        """Where `input` is minus infinity."""

    def isposinf(self) -> Tensor:
        """Where `input` is plus infinity."""

    def isreal(self) -> Tensor:
        """Where the imaginary part is 0; everywhere for real numbers."""

    def istft(
        self,
        n_fft: builtins.int,
        hop_length: builtins.int | None = None,
        win_length: builtins.int | None = None,
        window: Any = None,
        center: builtins.bool = True,
        normalized: builtins.bool = False,
        onesided: builtins.bool | None = None,
        length: builtins.int | None = None,
        return_complex: builtins.bool = False,
    ) -> Tensor:
        """The signal of `stft`'s result, by least squares: real unless `return_complex`. length: of the signal, which zeros
        fill.

        Raises DTypeError for real numbers, ShapeError, and ArgumentError where windows leave a gap.
        """

    def item(self) -> builtins.float | builtins.int | builtins.bool:
        """The Python number of a tensor with one element. Raises ShapeError for any other size."""

    @property
    def itemsize(self) -> builtins.int:
        """Bytes of one element."""

    def kron(self, other: Any) -> Tensor:
        """The Kronecker product: the blocks input[i] * other."""

    def kthvalue(
        self,
        k: builtins.int,
        dim: builtins.int = -1,
        keepdim: builtins.bool = False,
        *,
        axis: builtins.int = -1,
        keepdims: builtins.bool = False,
    ) -> return_types.Pair:
        """The named tuple (values, indices) of the k-th smallest element along `dim`, counted from 1."""

    @property
    def layout(self) -> str:
        """`strided`, as of all tensors but sparse ones."""

    def lcm(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The lcm of two integers."""

    def lcm_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`lcm` in place. Raises GradientError for a leaf that requires grad while recording."""

    def ldexp(self, other: Any) -> Tensor:
        """input * 2**other."""

    def ldexp_(self, other: Any) -> Tensor:
        """`ldexp` in place. Raises GradientError for a leaf that requires grad while recording."""

    def le(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x <= y elementwise, bool."""

    def le_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`le` in place. Raises GradientError for a leaf that requires grad while recording."""

    def lerp(self, end: Any, weight: Any) -> Tensor:
        """input + weight * (end - input): the line from `input` to `end`. Of two formulas the one that is exact nearer its
        end.

        Examples:
            >>> sg.lerp(sg.tensor([0.0, 10.0]), sg.tensor([1.0, 20.0]), 0.5)
            tensor([ 0.5000, 15.0000])
        """

    def lerp_(self, end: Any, weight: Any) -> Tensor:
        """`lerp` in place. Raises GradientError for a leaf that requires grad while recording."""

    def less(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x < y elementwise, bool."""

    def less_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`less` in place. Raises GradientError for a leaf that requires grad while recording."""

    def less_equal(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x <= y elementwise, bool."""

    def less_equal_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`less_equal` in place. Raises GradientError for a leaf that requires grad while recording."""

    def lgamma(self, *, out: Tensor | None = None) -> Tensor:
        """log|gamma(x)|."""

    def lgamma_(self, *, out: Tensor | None = None) -> Tensor:
        """`lgamma` in place. Raises GradientError for a leaf that requires grad while recording."""

    def log(self, *, out: Tensor | None = None) -> Tensor:
        """Natural logarithm.

        Examples:
            >>> sg.log(sg.tensor([1.0, 2.0]))
            tensor([0.0000, 0.6931])
        """

    def log10(self, *, out: Tensor | None = None) -> Tensor:
        """Logarithm to base 10.

        Examples:
            >>> sg.log10(sg.tensor([1.0, 50.0]))
            tensor([0.0000, 1.6990])
        """

    def log10_(self, *, out: Tensor | None = None) -> Tensor:
        """`log10` in place. Raises GradientError for a leaf that requires grad while recording."""

    def log1p(self, *, out: Tensor | None = None) -> Tensor:
        """log(1 + x), accurate for small x.

        Examples:
            >>> sg.log1p(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.6931])
        """

    def log1p_(self, *, out: Tensor | None = None) -> Tensor:
        """`log1p` in place. Raises GradientError for a leaf that requires grad while recording."""

    def log2(self, *, out: Tensor | None = None) -> Tensor:
        """Logarithm to base 2.

        Examples:
            >>> sg.log2(sg.tensor([1.0, 8.0]))
            tensor([0., 3.])
        """

    def log2_(self, *, out: Tensor | None = None) -> Tensor:
        """`log2` in place. Raises GradientError for a leaf that requires grad while recording."""

    def log_(self, *, out: Tensor | None = None) -> Tensor:
        """`log` in place. Raises GradientError for a leaf that requires grad while recording."""

    def log_normal_(self, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        """Fill with exponentials of normal numbers, in place."""

    def log_softmax(self, axis: Axis = -1, dtype: DTypeLike | None = None, *, dim: Axis = -1) -> Tensor:
        """log(softmax(x)) over `axis`, accurate where softmax underflows.

        Examples:
            >>> sg.log_softmax(sg.tensor([0.0, 0.0]), dim=0)
            tensor([-0.6931, -0.6931])
        """

    def logaddexp(self, other: Any) -> Tensor:
        """log(exp(input) + exp(other)), without overflow."""

    def logaddexp2(self, other: Any) -> Tensor:
        """log2(2**input + 2**other), without overflow."""

    @overload
    def logcumsumexp(self, dim: builtins.int) -> Tensor: ...
    @overload
    def logcumsumexp(self, *, axis: builtins.int) -> Tensor:
        """log(cumsum(exp(x))) along `dim`, without overflow."""

    def logdet(self) -> Tensor:
        """log(det), NaN for a negative determinant of real matrices."""

    def logical_and(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """numpy.logical_and, bool."""

    def logical_and_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`logical_and` in place. Raises GradientError for a leaf that requires grad while recording."""

    def logical_not(self, *, out: Tensor | None = None) -> Tensor:
        """not x, bool.

        Examples:
            >>> sg.logical_not(sg.tensor([True, False]))
            tensor([False,  True])
        """

    def logical_not_(self, *, out: Tensor | None = None) -> Tensor:
        """`logical_not` in place. Raises GradientError for a leaf that requires grad while recording."""

    def logical_or(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """numpy.logical_or, bool."""

    def logical_or_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`logical_or` in place. Raises GradientError for a leaf that requires grad while recording."""

    def logical_xor(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """numpy.logical_xor, bool."""

    def logical_xor_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`logical_xor` in place. Raises GradientError for a leaf that requires grad while recording."""

    def logit(self, eps: builtins.float | None = None) -> Tensor:
        """log(input / (1 - input)), of input clamped to [eps, 1 - eps] if that is given."""

    def logit_(self, eps: builtins.float | None = None) -> Tensor:
        """`logit` in place. Raises GradientError for a leaf that requires grad while recording."""

    def logsumexp(
        self,
        axis: Any = None,
        keepdims: builtins.bool = False,
        *,
        dim: Any = None,
        keepdim: builtins.bool = False,
        dtype: Any = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """log(sum(exp(x))) without overflow. `dim` (or `axis`): an int, several, or None for all. Raises ArgumentError for a
        bad one.

        Examples:
            >>> sg.logsumexp(sg.tensor([0.0, 0.0]), dim=0)
            tensor(0.6931)
        """

    def long(self, memory_format: Any = None) -> Tensor:
        """This tensor in int64."""

    def lt(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x < y elementwise, bool."""

    def lt_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`lt` in place. Raises GradientError for a leaf that requires grad while recording."""

    def lu(self, pivot: builtins.bool = True, get_infos: builtins.bool = False) -> tuple[Tensor, ...]:
        """(LU, pivots), with get_infos also the infos, by an older name."""

    def lu_solve(self, LU_data: Any, LU_pivots: Any) -> Tensor:
        """`linalg.lu_solve` by an older name."""

    @property
    def mH(self) -> Tensor:
        """The last two axes swapped, and the conjugate."""

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped."""

    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """Replace each element by what a Python function makes of it and that of another tensor of the same shape."""

    def masked_fill(self, mask: TensorLike, value: TensorLike) -> Tensor:
        """x with `value`, cast to x's dtype, where the mask is true. Raises DTypeError for a number that doesn't fit it.

        Examples:
            >>> sg.masked_fill(sg.tensor([1.0, 2.0]), sg.tensor([True, False]), 0.0)
            tensor([0., 2.])
        """

    def masked_fill_(self, mask: TensorLike, value: TensorLike) -> Tensor:
        """`masked_fill` in place. Raises GradientError for a leaf that requires grad while recording."""

    def masked_scatter(self, mask: Any, source: Any) -> Tensor:
        """`input` with the elements of `source`, in order, where the mask is true."""

    def masked_scatter_(self, mask: Any, source: Any) -> Tensor:
        """`masked_scatter` in place. Raises GradientError for a leaf that requires grad while recording."""

    def masked_select(self, mask: Any) -> Tensor:
        """The elements where the mask (broadcast) is true, 1-D.

        Examples:
            >>> sg.masked_select(sg.tensor([1.0, 2.0]), sg.tensor([True, False]))
            tensor([1.])
        """

    def matmul(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The matrix product with NumPy's rules: 1-D operands are rows or columns, leading axes are batches and broadcast.

        Shapes (..., n, k) @ (..., k, m) -> (..., n, m). Raises ShapeError when inner sizes differ or an operand is 0-d.

        Examples:
            >>> sg.matmul(sg.ones(2, 3), sg.ones(3, 4)).shape
            torch.Size([2, 4])
        """

    def matrix_exp(self) -> Tensor:
        """The exponential of square matrices."""

    def matrix_power(self, n: builtins.int) -> Tensor:
        """The product of n times the matrix A; of its inverse for a negative n. The gradient of the power 0 is 0."""

    @overload
    def max(
        self,
        dim: None = None,
        keepdim: builtins.bool = False,
        *,
        axis: None = None,
        keepdims: builtins.bool = False,
    ) -> Tensor: ...
    @overload
    def max(self, dim: builtins.int, keepdim: builtins.bool = False) -> return_types.Pair: ...
    @overload
    def max(self, *, axis: builtins.int, keepdims: builtins.bool = False) -> return_types.Pair: ...
    @overload
    def max(
        self,
        *,
        axis: builtins.int,
        keepdim: builtins.bool = False,
        keepdims: builtins.bool = False,
    ) -> return_types.Pair: ...
    @overload
    def max(self, other: Tensor) -> Tensor:
        """The extremum of all elements; along one axis the named tuple (values, indices) of the first one; of two tensors
        `maximum`. `amax` gives the values alone, over several axes too.

        Examples:
            >>> values, indices = sg.max(sg.tensor([[3.0, 3.0], [3.0, 3.0]]), dim=1)
            >>> values
            tensor([3., 3.])
        """

    def maximum(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The larger of each pair; NaN if either is. A tie shares its gradient.

        Examples:
            >>> sg.maximum(sg.tensor([1.0, 5.0]), sg.tensor([3.0, 2.0]))
            tensor([3., 5.])
        """

    def mean(
        self,
        axis: Any = None,
        keepdims: builtins.bool = False,
        *,
        dim: Any = None,
        keepdim: builtins.bool = False,
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
        self,
        dim: None = None,
        keepdim: builtins.bool = False,
        *,
        axis: None = None,
        keepdims: builtins.bool = False,
    ) -> Tensor: ...
    @overload
    def median(self, dim: builtins.int, keepdim: builtins.bool = False) -> return_types.Pair: ...
    @overload
    def median(self, *, axis: builtins.int, keepdims: builtins.bool = False) -> return_types.Pair: ...
    @overload
    def median(
        self,
        *,
        axis: builtins.int,
        keepdim: builtins.bool = False,
        keepdims: builtins.bool = False,
    ) -> return_types.Pair:
        """The lower median: of all elements, or the named tuple (values, indices) along `dim`."""

    @overload
    def min(
        self,
        dim: None = None,
        keepdim: builtins.bool = False,
        *,
        axis: None = None,
        keepdims: builtins.bool = False,
    ) -> Tensor: ...
    @overload
    def min(self, dim: builtins.int, keepdim: builtins.bool = False) -> return_types.Pair: ...
    @overload
    def min(self, *, axis: builtins.int, keepdims: builtins.bool = False) -> return_types.Pair: ...
    @overload
    def min(
        self,
        *,
        axis: builtins.int,
        keepdim: builtins.bool = False,
        keepdims: builtins.bool = False,
    ) -> return_types.Pair: ...
    @overload
    def min(self, other: Tensor) -> Tensor:
        """The extremum of all elements; along one axis the named tuple (values, indices) of the first one; of two tensors
        `minimum`. `amin` gives the values alone, over several axes too.

        Examples:
            >>> values, indices = sg.min(sg.tensor([[3.0, 3.0], [3.0, 3.0]]), dim=1)
            >>> values
            tensor([3., 3.])
        """

    def minimum(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The smaller of each pair; NaN if either is. A tie shares its gradient.

        Examples:
            >>> sg.minimum(sg.tensor([1.0, 5.0]), sg.tensor([3.0, 2.0]))
            tensor([1., 2.])
        """

    def mm(self, mat2: Any) -> Tensor:
        """The product of two matrices. Raises ShapeError.

        Examples:
            >>> sg.mm(sg.tensor([[1.0, 2.0]]), sg.tensor([[3.0], [4.0]]))
            tensor([[11.]])
        """

    def mode(
        self,
        dim: Any = None,
        keepdim: builtins.bool = False,
        *,
        axis: Any = None,
        keepdims: builtins.bool = False,
    ) -> return_types.Pair:
        """The named tuple (values, indices) of the most frequent value along `dim` (the last axis)."""

    def moveaxis(self, source: Any, destination: Any) -> Tensor:
        """`input` with the axes `source` at the places `destination`; the others keep their order.

        Examples:
            >>> sg.movedim(sg.zeros(2, 3, 4), 0, -1).shape
            torch.Size([3, 4, 2])
        """

    def movedim(self, source: Any, destination: Any) -> Tensor:
        """`input` with the axes `source` at the places `destination`; the others keep their order.

        Examples:
            >>> sg.movedim(sg.zeros(2, 3, 4), 0, -1).shape
            torch.Size([3, 4, 2])
        """

    def msort(self) -> Tensor:
        """`input` sorted along its first axis."""

    def mul(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x * y, broadcast. Booleans: logical and."""

    def mul_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`mul` in place. Raises GradientError for a leaf that requires grad while recording."""

    def multinomial(
        self,
        num_samples: builtins.int,
        replacement: builtins.bool = False,
        *,
        generator: Generator | None = None,
    ) -> Tensor:
        """Positions along the last axis, drawn with the weights in `input` (1-D or 2-D), int64. Raises ArgumentError."""

    def multiply(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x * y, broadcast. Booleans: logical and."""

    def multiply_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`multiply` in place. Raises GradientError for a leaf that requires grad while recording."""

    def mv(self, vec: Any) -> Tensor:
        """The product of a matrix and a vector. Raises ShapeError.

        Examples:
            >>> sg.mv(sg.tensor([[1.0, 2.0], [3.0, 4.0]]), sg.tensor([1.0, 1.0]))
            tensor([3., 7.])
        """

    def mvlgamma(self, p: builtins.int) -> Tensor:
        """The multivariate log-gamma function of dimension p. Raises ArgumentError for p below 1."""

    def mvlgamma_(self, p: builtins.int) -> Tensor:
        """`mvlgamma` in place. Raises GradientError for a leaf that requires grad while recording."""

    name: str

    def nan_to_num(
        self,
        nan: builtins.float | None = None,
        posinf: builtins.float | None = None,
        neginf: builtins.float | None = None,
    ) -> Tensor:
        """NaN as `nan` (0 unless given), infinities as `posinf` and `neginf` (the largest and the least number); of complex
        numbers in both parts.
        """

    def nan_to_num_(
        self,
        nan: builtins.float | None = None,
        posinf: builtins.float | None = None,
        neginf: builtins.float | None = None,
    ) -> Tensor:
        """`nan_to_num` in place. Raises GradientError for a leaf that requires grad while recording."""

    def nanmean(
        self,
        dim: Any = None,
        keepdim: builtins.bool = False,
        *,
        dtype: Any = None,
        axis: Any = None,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        """The mean of what is not NaN."""

    @overload
    def nanmedian(
        self,
        dim: None = None,
        keepdim: builtins.bool = False,
        *,
        axis: None = None,
        keepdims: builtins.bool = False,
    ) -> Tensor: ...
    @overload
    def nanmedian(self, dim: builtins.int, keepdim: builtins.bool = False) -> return_types.Pair: ...
    @overload
    def nanmedian(self, *, axis: builtins.int, keepdims: builtins.bool = False) -> return_types.Pair: ...
    @overload
    def nanmedian(
        self,
        *,
        axis: builtins.int,
        keepdim: builtins.bool = False,
        keepdims: builtins.bool = False,
    ) -> return_types.Pair:
        """`median`, of which NaN are left out."""

    def nanquantile(
        self,
        q: Any,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
        *,
        interpolation: str = 'linear',
        axis: builtins.int | None = None,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        """`quantile`, of which NaN are left out."""

    def nansum(
        self,
        dim: Any = None,
        keepdim: builtins.bool = False,
        *,
        dtype: Any = None,
        axis: Any = None,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        """The sum of what is not NaN."""

    @overload
    def narrow(self, dim: builtins.int, start: Any, length: builtins.int) -> Tensor: ...
    @overload
    def narrow(self, *, axis: builtins.int, start: Any, length: builtins.int) -> Tensor:
        """`length` elements along `dim` from `start` on. Raises ArgumentError for a part outside.

        Examples:
            >>> sg.narrow(sg.arange(5), 0, 1, 3)
            tensor([1, 2, 3])
        """

    @overload
    def narrow_copy(self, dim: builtins.int, start: Any, length: builtins.int) -> Tensor: ...
    @overload
    def narrow_copy(self, *, axis: builtins.int, start: Any, length: builtins.int) -> Tensor:
        """`length` elements along `dim` from `start` on, in memory of its own."""

    @property
    def nbytes(self) -> builtins.int:
        """Bytes of all elements."""

    @property
    def ndim(self) -> builtins.int: ...

    def ndimension(self) -> builtins.int:
        """The number of axes."""

    def ne(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x != y elementwise, bool."""

    def ne_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`ne` in place. Raises GradientError for a leaf that requires grad while recording."""

    def neg(self, *, out: Tensor | None = None) -> Tensor:
        """-x.

        Examples:
            >>> sg.neg(sg.tensor([1.0, -2.0]))
            tensor([-1.,  2.])
        """

    def neg_(self, *, out: Tensor | None = None) -> Tensor:
        """`neg` in place. Raises GradientError for a leaf that requires grad while recording."""

    def negative(self, *, out: Tensor | None = None) -> Tensor:
        """-x.

        Examples:
            >>> sg.neg(sg.tensor([1.0, -2.0]))
            tensor([-1.,  2.])
        """

    def negative_(self, *, out: Tensor | None = None) -> Tensor:
        """`negative` in place. Raises GradientError for a leaf that requires grad while recording."""

    def nelement(self) -> builtins.int:
        """The number of elements."""

    def new(self, *args: Any, device: Any = None) -> Tensor:
        """PyTorch's older name: of sizes, an empty tensor; of data, a tensor; of this one's dtype."""

    def new_empty(self, *args: Any, dtype: Any = None, **options: Any) -> Tensor:
        """`empty`, of this tensor's dtype unless one is given."""

    def new_empty_strided(self, *args: Any, dtype: Any = None, **options: Any) -> Tensor:
        """`empty_strided`, of this tensor's dtype unless one is given."""

    def new_full(self, *args: Any, dtype: Any = None, **options: Any) -> Tensor:
        """`full`, of this tensor's dtype unless one is given."""

    def new_ones(self, *args: Any, dtype: Any = None, **options: Any) -> Tensor:
        """`ones`, of this tensor's dtype unless one is given."""

    def new_tensor(self, *args: Any, dtype: Any = None, **options: Any) -> Tensor:
        """`tensor`, of this tensor's dtype unless one is given."""

    def new_zeros(self, *args: Any, dtype: Any = None, **options: Any) -> Tensor:
        """`zeros`, of this tensor's dtype unless one is given."""

    def nextafter(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The next number towards y."""

    def nextafter_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`nextafter` in place. Raises GradientError for a leaf that requires grad while recording."""

    node: Node

    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """The positions of elements that are not 0, (number, axes); with as_tuple, a tensor for each axis.

        Examples:
            >>> sg.nonzero(sg.tensor([0, 3, 4]))
            tensor([[1],
                    [2]])
        """

    def nonzero_static(self, *, size: builtins.int, fill_value: builtins.int = -1) -> Tensor:
        """`nonzero` with `size` rows, cut off or filled up: (size, axes), int64. Raises ArgumentError for a negative size."""

    def norm(
        self,
        p: Any = 'fro',
        dim: Any = None,
        keepdim: builtins.bool = False,
        dtype: Any = None,
        *,
        axis: Any = None,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        """The p-norm of the elements along `dim`, of all for None; "fro" is 2, "nuc" the sum of singular values of a matrix.

        Examples:
            >>> sg.norm(sg.tensor([3.0, 4.0]))
            tensor(5.)
        """

    def normal_(self, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        """Fill with normal numbers, in place."""

    def not_equal(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x != y elementwise, bool."""

    def not_equal_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`not_equal` in place. Raises GradientError for a leaf that requires grad while recording."""

    def numel(self) -> builtins.int:
        """How many elements there are."""

    def numpy(self, *, force: builtins.bool = False) -> np.ndarray:
        """An array over the memory of the tensor, not a copy. Raises GradientError when the tensor requires grad, unless
        `force` or under `no_grad`.
        """

    @property
    def op(self) -> str:
        """The op's name."""

    def orgqr(self, tau: Any) -> Tensor:
        """The first columns of the product of Householder reflections I - tau v v.H, whose v lie below A's diagonal."""

    def ormqr(self, tau: Any, other: Any, left: builtins.bool = True, transpose: builtins.bool = False) -> Tensor:
        """Q other, or other Q for left=False, with the whole unitary Q of reflections; Q.H for transpose=True."""

    def outer(self, vec2: TensorLike) -> Tensor:
        """input[i] * vec2[j] for 1-D operands.

        Examples:
            >>> sg.outer(sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]))
            tensor([[3., 4.],
                    [6., 8.]])
        """

    @property
    def output_nr(self) -> builtins.int:
        """Which of the results of `grad_fn` it is; 0 for a leaf."""

    def permute(self, *axes: ShapeLike, dims: ShapeLike | None = None) -> Tensor:
        """input with its axes in the order `axes` (reversed when none are given).

        Examples:
            >>> sg.permute(sg.zeros(2, 3, 4), (2, 0, 1)).shape
            torch.Size([4, 2, 3])
        """

    def pin_memory(self, device: Any = None) -> Tensor:
        """This tensor: memory is pinned for other devices."""

    def pinverse(self, rcond: builtins.float = 1e-15) -> Tensor:
        """`linalg.pinv` by an older name."""

    def polygamma(self, n: builtins.int) -> Tensor:
        """The n-th derivative of `digamma`."""

    def polygamma_(self, n: builtins.int) -> Tensor:
        """The n-th derivative of `digamma`, in place."""

    def positive(self) -> Tensor:
        """`input` itself. Raises DTypeError for booleans."""

    def pow(self, exponent: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """input ** exponent, broadcast. Plain exponents 1, 2, 0.5, -1 take the op made for them.

        Raises DTypeError for negative powers of integers and for booleans.

        Examples:
            >>> sg.pow(sg.tensor([2.0, 3.0]), 2)
            tensor([4., 9.])
        """

    def pow_(self, exponent: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`pow` in place. Raises GradientError for a leaf that requires grad while recording."""

    def prod(
        self,
        dim: Any = None,
        keepdim: builtins.bool = False,
        *,
        dtype: Any = None,
        axis: Any = None,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        """The product along `dim`, of all elements for None; integers in int64.

        Examples:
            >>> sg.prod(sg.tensor([2.0, 3.0, 4.0]))
            tensor(24.)
        """

    def put(self, index: Any, source: Any, accumulate: builtins.bool = False) -> Tensor:
        """`input` with values at positions of the flattened array; they are added with `accumulate`."""

    def put_(self, index: Any, source: Any, accumulate: builtins.bool = False) -> Tensor:
        """`put` in place. Raises GradientError for a leaf that requires grad while recording."""

    def qr(self, some: builtins.bool = True) -> return_types.qr:
        """`linalg.qr` by an older name."""

    def quantile(
        self,
        q: Any,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
        *,
        interpolation: str = 'linear',
        axis: builtins.int | None = None,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        """The q-quantiles along `dim` (of all elements for None), q a number or several in [0, 1], along a new first axis.

        A NaN makes its row NaN. Raises ArgumentError, DTypeError for integers.
        """

    def rad2deg(self) -> Tensor:
        """Radians as degrees."""

    def rad2deg_(self) -> Tensor:
        """`rad2deg` in place. Raises GradientError for a leaf that requires grad while recording."""

    def random_(self, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        """Fill with integers from `from` to below `to`, in place; to 2**24 or 2**53 in floats, to the largest one in
        integers."""

    def ravel(self) -> Tensor:
        """`input` with all axes joined into one."""

    @property
    def real(self) -> Tensor:
        """The real parts; of real numbers, this tensor itself."""

    def reciprocal(self, *, out: Tensor | None = None) -> Tensor:
        """1 / input.

        Examples:
            >>> sg.reciprocal(sg.tensor([2.0, 4.0]))
            tensor([0.5000, 0.2500])
        """

    def reciprocal_(self, *, out: Tensor | None = None) -> Tensor:
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

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> Handle:
        """Call `hook(tensor)` after a backward pass has added to this leaf's `grad`. Raises GradientError for a non-leaf, and
        for a tensor that doesn't require grad.
        """

    def relu(self, *, out: Tensor | None = None) -> Tensor:
        """max(x, 0); its derivative at 0 is 0 and at NaN 1, NaN stays NaN.

        Examples:
            >>> sg.relu(sg.tensor([-1.0, 2.0]))
            tensor([0., 2.])
        """

    def relu_(self, *, out: Tensor | None = None) -> Tensor:
        """`relu` in place. Raises GradientError for a leaf that requires grad while recording."""

    def remainder(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x - y * floor(x / y): the sign of y. Raises DivisionError where integers are divided by 0."""

    def remainder_(self, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """`remainder` in place. Raises GradientError for a leaf that requires grad while recording."""

    @overload
    def renorm(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float) -> Tensor: ...
    @overload
    def renorm(self, *, p: builtins.float, axis: builtins.int, maxnorm: builtins.float) -> Tensor:
        """`input` whose slices along `dim` have a p-norm of at most `maxnorm`."""

    def renorm_(self, p: builtins.float, dim: builtins.int, maxnorm: builtins.float) -> Tensor:
        """`renorm` in place. Raises GradientError for a leaf that requires grad while recording."""

    @overload
    def repeat(self, *repeats: Any) -> Tensor: ...
    @overload
    def repeat(self, *, repeats: Any) -> Tensor:
        """`input` repeated so often along each axis, new axes in front: NumPy's `tile`."""

    def repeat_interleave(
        self,
        repeats: Any = None,
        dim: builtins.int | None = None,
        *,
        output_size: builtins.int | None = None,
        axis: builtins.int | None = None,
    ) -> Tensor:
        """Each element so often in a row, along `dim` or of the flattened input; `repeats`: an integer, or one per element.

        Of counts alone: the position of each, so often.

        Examples:
            >>> sg.repeat_interleave(sg.tensor([1, 2]), 2)
            tensor([1, 1, 2, 2])
        """

    @property
    def requires_grad(self) -> builtins.bool:
        """Whether operations on it are recorded for gradients."""
    @requires_grad.setter
    def requires_grad(self, value: builtins.bool) -> None: ...

    def requires_grad_(self, requires_grad: builtins.bool = True) -> Tensor:
        """Turn recording on or off for a leaf. Raises DTypeError for integers, GradientError for a non-leaf."""

    def reshape(self, *extents: ShapeLike, shape: ShapeLike | None = None) -> Tensor:
        """input in another shape, row-major; one extent may be -1. Raises ShapeError when the sizes differ.

        Examples:
            >>> sg.reshape(sg.arange(6), (2, -1))
            tensor([[0, 1, 2],
                    [3, 4, 5]])
        """

    def reshape_as(self, other: Any) -> Tensor:
        """`input` in the shape of `other`."""

    def resize_(self, *sizes: ShapeLike, memory_format: Any = None) -> Tensor:
        """This tensor in another shape: its elements in the order of memory, 0 where there were none.

        Views of it keep their part of the memory. Raises GradientError for a tensor that requires grad, and ArgumentError
        where
        views share memory that is too small.
        """

    def resize_as_(self, the_template: Any, *, memory_format: Any = None) -> Tensor:
        """`resize_` to the shape of another tensor."""

    def resolve_conj(self) -> Tensor:
        """`input`: a conjugate is computed when it is written."""

    def resolve_neg(self) -> Tensor:
        """`input`: a conjugate is computed when it is written."""

    def retain_grad(self) -> None:
        """Keep `grad` of a non-leaf when backward passes through it."""

    @property
    def retains_grad(self) -> builtins.bool:
        """Whether `backward` keeps the gradient of this tensor though it is no leaf."""

    def roll(self, shifts: Any, dims: Any = None, *, axis: Any = None) -> Tensor:
        """`input` with elements moved by `shifts` along `dims`, round the end, in memory of its own; of the flattened one
        without
        dims.

        Examples:
            >>> sg.roll(sg.tensor([1, 2, 3]), 1)
            tensor([3, 1, 2])
        """

    def rot90(self, k: builtins.int = 1, dims: Any = (0, 1)) -> Tensor:
        """`input` turned k times by 90 degrees in the plane of two axes, from the first to the second."""

    def round(self, *, decimals: builtins.int = 0) -> Tensor:
        """The nearest number with so many decimals, halves to even. Integers stay what they are.

        Examples:
            >>> sg.round(sg.tensor([0.5, 1.5, -2.6]))
            tensor([ 0.,  2., -3.])
        """

    def round_(self, *, decimals: builtins.int = 0) -> Tensor:
        """`round` in place. Raises GradientError for a leaf that requires grad while recording."""

    def rsqrt(self) -> Tensor:
        """1 / sqrt(input).

        Examples:
            >>> sg.rsqrt(sg.tensor([4.0, 16.0]))
            tensor([0.5000, 0.2500])
        """

    def rsqrt_(self) -> Tensor:
        """`rsqrt` in place. Raises GradientError for a leaf that requires grad while recording."""

    def rsub(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """other - alpha * input."""

    @overload
    def scatter(
        self,
        dim: builtins.int,
        index: Any,
        src: Any = None,
        *,
        reduce: str | None = None,
        value: Any = None,
    ) -> Tensor: ...
    @overload
    def scatter(
        self,
        *,
        axis: builtins.int,
        index: Any,
        src: Any = None,
        reduce: str | None = None,
        value: Any = None,
    ) -> Tensor:
        """`input` with values at positions along `dim`: `out[index[i, j], j] = src[i, j]` for dim 0. Where several meet the
        last
        one stays; reduce="add" or "multiply" combines them. `src`: a tensor, or a number. Raises IndexRangeError, DTypeError.
        """

    def scatter_(
        self,
        dim: builtins.int,
        index: Any,
        src: Any = None,
        *,
        reduce: str | None = None,
        value: Any = None,
    ) -> Tensor:
        """`scatter` in place. Raises GradientError for a leaf that requires grad while recording."""

    @overload
    def scatter_add(self, dim: builtins.int, index: Any, src: Any) -> Tensor: ...
    @overload
    def scatter_add(self, *, axis: builtins.int, index: Any, src: Any) -> Tensor:
        """`input` with `src` added at positions along `dim`.

        Examples:
            >>> sg.scatter_add(sg.zeros(3), 0, sg.tensor([0, 2, 2]), sg.tensor([1.0, 2.0, 3.0]))
            tensor([1., 0., 5.])
        """

    def scatter_add_(self, dim: builtins.int, index: Any, src: Any) -> Tensor:
        """`scatter_add` in place. Raises GradientError for a leaf that requires grad while recording."""

    @overload
    def scatter_reduce(
        self,
        dim: builtins.int,
        index: Any,
        src: Any,
        reduce: str,
        *,
        include_self: builtins.bool = True,
    ) -> Tensor: ...
    @overload
    def scatter_reduce(
        self,
        *,
        axis: builtins.int,
        index: Any,
        src: Any,
        reduce: str,
        include_self: builtins.bool = True,
    ) -> Tensor:
        """`input` combined with `src` at positions along `dim`: "sum", "prod", "mean", "amax" or "amin"; without include_self,
        of
        the values alone where there are any.
        """

    def scatter_reduce_(
        self,
        dim: builtins.int,
        index: Any,
        src: Any,
        reduce: str,
        *,
        include_self: builtins.bool = True,
    ) -> Tensor:
        """`scatter_reduce` in place. Raises GradientError for a leaf that requires grad while recording."""

    @overload
    def select(self, dim: builtins.int, index: Any) -> Tensor: ...
    @overload
    def select(self, *, axis: builtins.int, index: Any) -> Tensor:
        """The slice at one position along `dim`, without that axis. Raises IndexRangeError."""

    @overload
    def select_scatter(self, src: Any, dim: builtins.int, index: builtins.int) -> Tensor: ...
    @overload
    def select_scatter(self, *, src: Any, axis: builtins.int, index: builtins.int) -> Tensor:
        """`input` with `src` as the slice at one position along `dim`."""

    def set_(
        self,
        source: Any = None,
        storage_offset: builtins.int = 0,
        size: ShapeLike | None = None,
        stride: ShapeLike | None = None,
    ) -> Tensor:
        """This tensor lies in the memory of `source` from now on, in the whole of it, or at these strides; without a source it
        has
        no elements. Tensors that shared its former memory keep that. Raises DTypeError for another dtype.
        """

    def sgn(self) -> Tensor:
        """x / |x|, 0 for 0; of real numbers `sign`."""

    def sgn_(self) -> Tensor:
        """`sgn` in place. Raises GradientError for a leaf that requires grad while recording."""

    @property
    def shape(self) -> Size:
        """The extents of the axes."""

    def share_memory_(self) -> Tensor:
        """Move this tensor to memory that it shares with processes that are forked, or to which it is sent by
        `multiprocessing`.
        What one of them writes, all read. Tensors that had the former memory in common with this one keep it.
        """

    def short(self, memory_format: Any = None) -> Tensor:
        """This tensor in int16."""

    def sigmoid(self, *, out: Tensor | None = None) -> Tensor:
        """1 / (1 + exp(-x)).

        Examples:
            >>> sg.sigmoid(sg.tensor([0.0, 2.0]))
            tensor([0.5000, 0.8808])
        """

    def sigmoid_(self, *, out: Tensor | None = None) -> Tensor:
        """`sigmoid` in place. Raises GradientError for a leaf that requires grad while recording."""

    def sign(self, *, out: Tensor | None = None) -> Tensor:
        """-1, 0 or 1; 0 for NaN, as in PyTorch. Booleans stay what they are.

        Examples:
            >>> sg.sign(sg.tensor([-2.0, 0.0, 3.0]))
            tensor([-1.,  0.,  1.])
        """

    def sign_(self, *, out: Tensor | None = None) -> Tensor:
        """`sign` in place. Raises GradientError for a leaf that requires grad while recording."""

    def signbit(self) -> Tensor:
        """Whether the sign is negative, of -0.0 too."""

    def sin(self, *, out: Tensor | None = None) -> Tensor:
        """Sine.

        Examples:
            >>> sg.sin(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.8415])
        """

    def sin_(self, *, out: Tensor | None = None) -> Tensor:
        """`sin` in place. Raises GradientError for a leaf that requires grad while recording."""

    def sinc(self) -> Tensor:
        """sin(pi x) / (pi x), 1 at 0."""

    def sinc_(self) -> Tensor:
        """`sinc` in place. Raises GradientError for a leaf that requires grad while recording."""

    def sinh(self, *, out: Tensor | None = None) -> Tensor:
        """Hyperbolic sine.

        Examples:
            >>> sg.sinh(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 1.1752])
        """

    def sinh_(self, *, out: Tensor | None = None) -> Tensor:
        """`sinh` in place. Raises GradientError for a leaf that requires grad while recording."""

    @property
    def size(self) -> Count:
        """The number of elements, as in NumPy; `x.size()` and `x.size(axis)` are extents, as in PyTorch."""

    def slice_scatter(
        self,
        src: Any,
        dim: builtins.int = 0,
        start: builtins.int | None = None,
        end: builtins.int | None = None,
        step: builtins.int = 1,
        *,
        axis: builtins.int = 0,
    ) -> Tensor:
        """`input` with `src` in the place of the slice start:end:step along `dim`."""

    def slogdet(self) -> return_types.slogdet:
        """The named tuple (sign, logabsdet) of square matrices."""

    def softmax(self, axis: Axis = -1, dtype: DTypeLike | None = None, *, dim: Axis = -1) -> Tensor:
        """exp(x) / sum(exp(x)) over `axis`, without overflow.

        Examples:
            >>> sg.softmax(sg.tensor([0.0, 0.0]), dim=0)
            tensor([0.5000, 0.5000])
        """

    def sort(
        self,
        dim: builtins.int = -1,
        descending: builtins.bool = False,
        *,
        stable: builtins.bool = False,
        axis: builtins.int = -1,
    ) -> return_types.Pair:
        """The named tuple (values, indices) of `input` sorted along `dim`.

        Examples:
            >>> sg.sort(sg.tensor([3, 1, 2])).values
            tensor([1, 2, 3])
        """

    def sparse_mask(self, mask: Any) -> Tensor:
        """The elements at the places of a sparse tensor."""

    def split(self, split_size_or_sections: Any, dim: builtins.int = 0, *, axis: builtins.int = 0) -> tuple[Tensor, ...]:
        """Parts of so many elements along `dim`, the last one smaller if need be, or of the sizes in a sequence.

        Raises ArgumentError for sizes that don't add up to the extent.

        Examples:
            >>> sg.split(sg.arange(5), 2)
            (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        """

    def split_with_sizes(self, split_sizes: Any, dim: builtins.int = 0, *, axis: builtins.int = 0) -> tuple[Tensor, ...]:
        """Parts of these sizes along `dim`."""

    def spmm(self, mat2: Any) -> Tensor:
        """The product of two matrices. Raises ShapeError.

        Examples:
            >>> sg.mm(sg.tensor([[1.0, 2.0]]), sg.tensor([[3.0], [4.0]]))
            tensor([[11.]])
        """

    def sqrt(self, *, out: Tensor | None = None) -> Tensor:
        """Square root.

        Examples:
            >>> sg.sqrt(sg.tensor([4.0, 9.0]))
            tensor([2., 3.])
        """

    def sqrt_(self, *, out: Tensor | None = None) -> Tensor:
        """`sqrt` in place. Raises GradientError for a leaf that requires grad while recording."""

    def square(self, *, out: Tensor | None = None) -> Tensor:
        """x * x; booleans count as integers.

        Examples:
            >>> sg.square(sg.tensor([2.0, -3.0]))
            tensor([4., 9.])
        """

    def square_(self, *, out: Tensor | None = None) -> Tensor:
        """`square` in place. Raises GradientError for a leaf that requires grad while recording."""

    def squeeze(self, axis: Axis = None, *, dim: Axis = None) -> Tensor:
        """x without those of the axes `axis` (all for None) whose extent is 1; one that is unknown has to be 1.

        Examples:
            >>> sg.squeeze(sg.zeros(2, 1, 3), 1).shape
            torch.Size([2, 3])
        """

    def squeeze_(self, axis: Axis = None) -> Tensor:
        """`squeeze` in place: the tensor itself gets that shape. Raises GradientError as other in-place methods do."""

    def std(
        self,
        dim: Any = None,
        unbiased: builtins.bool | None = None,
        keepdim: builtins.bool = False,
        *,
        correction: Any = None,
        axis: Any = None,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        """The square root of `var`; its derivative where it is 0 is 0.

        Examples:
            >>> sg.std(sg.tensor([1.0, 3.0]))
            tensor(1.4142)
        """

    def stft(
        self,
        n_fft: builtins.int,
        hop_length: builtins.int | None = None,
        win_length: builtins.int | None = None,
        window: Any = None,
        center: builtins.bool = True,
        pad_mode: str = 'reflect',
        normalized: builtins.bool = False,
        onesided: builtins.bool | None = None,
        return_complex: builtins.bool | None = None,
        align_to_window: builtins.bool | None = None,
    ) -> Tensor:
        """The transforms of windows of `n_fft` elements every `hop_length` (n_fft // 4), frequencies before windows.

        input: (length,) or (batch, length); the result (..., n, windows), where n is n_fft // 2 + 1 if it is onesided. window:
        factors of `win_length` elements. center: the signal gets n_fft // 2 elements more at its ends. Raises ArgumentError,
        ShapeError.
        """

    def storage(self) -> TypedStorage:
        """The memory that this tensor lies in, as elements of its dtype; views of a tensor have the same."""

    def storage_offset(self) -> builtins.int:
        """Elements of the memory that this tensor shares before its first one."""

    def storage_type(self, *args: Any, **named: Any) -> Any:
        """Refused: x.type() names the kind of tensor. Raises ArgumentError."""

    @overload
    def stride(self, dim: None = None) -> tuple[builtins.int, ...]: ...
    @overload
    def stride(self, dim: builtins.int) -> builtins.int:
        """Elements from one place along each axis, or along `dim`, to the next."""

    def sub(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """input - alpha * other, broadcast. Raises DTypeError for booleans.

        Examples:
            >>> sg.sub(sg.tensor([1.0, 2.0]), 1)
            tensor([0., 1.])
        """

    def sub_(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """`sub` in place. Raises GradientError for a leaf that requires grad while recording."""

    def subtract(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """input - alpha * other, broadcast. Raises DTypeError for booleans.

        Examples:
            >>> sg.sub(sg.tensor([1.0, 2.0]), 1)
            tensor([0., 1.])
        """

    def subtract_(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """`subtract` in place. Raises GradientError for a leaf that requires grad while recording."""

    def sum(
        self,
        axis: Any = None,
        keepdims: builtins.bool = False,
        *,
        dim: Any = None,
        keepdim: builtins.bool = False,
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
    def sum_to_size(self, *size: Any) -> Tensor: ...
    @overload
    def sum_to_size(self, *, size: Any) -> Tensor:
        """`input` summed over the axes over which a tensor of this size was broadcast to it. Raises ShapeError."""

    def svd(self, some: builtins.bool = True, compute_uv: builtins.bool = True) -> return_types.svd_v:
        """The named tuple (U, S, V) with input = U diag(S) V.H, by an older name."""

    def swapaxes(self, axis0: builtins.int, axis1: builtins.int) -> Tensor:
        """x with two axes exchanged."""

    def swapaxes_(self, axis0: builtins.int, axis1: builtins.int) -> Tensor:
        """`swapaxes` in place: the tensor itself gets that shape. Raises GradientError as other in-place methods do."""

    def swapdims(self, axis0: builtins.int, axis1: builtins.int) -> Tensor:
        """x with two axes exchanged."""

    def swapdims_(self, axis0: builtins.int, axis1: builtins.int) -> Tensor:
        """`swapdims` in place: the tensor itself gets that shape. Raises GradientError as other in-place methods do."""

    def t(self) -> Tensor:
        """The transpose of a matrix; a vector as it is. Raises ShapeError for more axes."""

    def t_(self) -> Tensor:
        """`t` in place: the tensor itself gets that shape. Raises GradientError as other in-place methods do."""

    def take(self, index: TensorLike, axis: builtins.int | None = None, *, dim: builtins.int | None = None) -> Tensor:
        """x[index] along `axis`: the index's shape replaces that axis. Of the flattened x when no axis is given, as in PyTorch
        and NumPy. Negative indices count from the end.

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

    def take_along_dim(self, indices: Any, dim: builtins.int | None = None, *, axis: builtins.int | None = None) -> Tensor:
        """The elements at positions along `dim`, broadcast otherwise; of the flattened input without one.

        Examples:
            >>> sg.take_along_dim(sg.tensor([[3, 1], [2, 4]]), sg.tensor([[1], [0]]), dim=1)
            tensor([[1],
                    [2]])
        """

    def tan(self, *, out: Tensor | None = None) -> Tensor:
        """Tangent.

        Examples:
            >>> sg.tan(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 1.5574])
        """

    def tan_(self, *, out: Tensor | None = None) -> Tensor:
        """`tan` in place. Raises GradientError for a leaf that requires grad while recording."""

    def tanh(self, *, out: Tensor | None = None) -> Tensor:
        """Hyperbolic tangent.

        Examples:
            >>> sg.tanh(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.7616])
        """

    def tanh_(self, *, out: Tensor | None = None) -> Tensor:
        """`tanh` in place. Raises GradientError for a leaf that requires grad while recording."""

    def tensor_split(
        self,
        indices_or_sections: Any,
        dim: builtins.int = 0,
        *,
        axis: builtins.int = 0,
    ) -> tuple[Tensor, ...]:
        """So many parts along `dim`, the first ones larger by 1 if need be; or parts between positions, as
        `numpy.array_split`."""

    @overload
    def tile(self, *dims: Any) -> Tensor: ...
    @overload
    def tile(self, *, dims: Any) -> Tensor:
        """`repeat`, with 1 for the counts that are missing in front.

        Examples:
            >>> sg.tile(sg.tensor([1, 2]), (2,))
            tensor([1, 2, 1, 2])
        """

    def to(
        self,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        non_blocking: builtins.bool = False,
        copy: builtins.bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        """This tensor in another dtype, on a device, or in the dtype of another tensor: `to(dtype)`, `to(device)`,
        `to(device, dtype)`, `to(other)`. On device meta it has no values. Raises DeviceError for other devices.
        """

    def to_dense(self, dtype: Any = None, *, masked_grad: builtins.bool = True) -> Tensor:
        """This tensor, in a dtype: tensors are dense."""

    def to_device(self, device: Any, *, stream: Any = None) -> Tensor:
        """This tensor. Raises DeviceError for a device other than the CPU."""

    def to_sparse(
        self,
        sparse_dim: Any = None,
        *,
        layout: Any = None,
        blocksize: Any = None,
        dense_dim: Any = None,
    ) -> Tensor:
        """The elements that are not 0, as a sparse tensor; of `sparse_dim` axes where given, of slices along the others.
        Raises
        UnsupportedError for other layouts.

        Examples:
            >>> sg.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse().indices()
            tensor([[0, 1],
                    [1, 0]])
        """

    def to_sparse_coo(
        self,
        sparse_dim: Any = None,
        *,
        layout: Any = None,
        blocksize: Any = None,
        dense_dim: Any = None,
    ) -> Tensor:
        """The elements that are not 0, as a sparse tensor; of `sparse_dim` axes where given, of slices along the others.
        Raises
        UnsupportedError for other layouts.

        Examples:
            >>> sg.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse().indices()
            tensor([[0, 1],
                    [1, 0]])
        """

    def tolist(self) -> Any:
        """The elements as nested lists of Python's numbers; of a tensor without axes, the number."""

    def topk(
        self,
        k: builtins.int,
        dim: builtins.int = -1,
        largest: builtins.bool = True,
        sorted: builtins.bool = True,
        *,
        axis: builtins.int = -1,
    ) -> return_types.Pair:
        """The named tuple (values, indices) of the k largest elements along `dim`, or the smallest ones, in order.

        Raises ArgumentError for a k out of range.

        Examples:
            >>> sg.topk(sg.tensor([3, 1, 2]), 2).indices
            tensor([0, 2])
        """

    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix.

        Examples:
            >>> sg.trace(sg.tensor([[1.0, 2.0], [3.0, 4.0]]))
            tensor(5.)
        """

    def transpose(self, *axes: ShapeLike, dim0: builtins.int | None = None, dim1: builtins.int | None = None) -> Tensor:
        """Two axes: exchange them, as in PyTorch. None, a tuple or more: their order, as in NumPy.

        Examples:
            >>> sg.transpose(sg.zeros(2, 3), 0, 1).shape
            torch.Size([3, 2])
        """

    def transpose_(self, *axes: ShapeLike, dim0: builtins.int | None = None, dim1: builtins.int | None = None) -> Tensor:
        """`transpose` in place: the tensor itself gets that shape. Raises GradientError as other in-place methods do."""

    def triangular_solve(
        self,
        A: Any,
        upper: builtins.bool = True,
        transpose: builtins.bool = False,
        unitriangular: builtins.bool = False,
    ) -> return_types.triangular_solve:
        """The named tuple (solution, cloned_coefficient) of A X = input with a triangle of A."""

    def tril(self, diagonal: builtins.int = 0) -> Tensor:
        """The elements of matrices on one side of a diagonal, and on it; 0 elsewhere."""

    def tril_(self, diagonal: builtins.int = 0) -> Tensor:
        """`tril` in place. Raises GradientError for a leaf that requires grad while recording."""

    def triu(self, diagonal: builtins.int = 0) -> Tensor:
        """The elements of matrices on one side of a diagonal, and on it; 0 elsewhere."""

    def triu_(self, diagonal: builtins.int = 0) -> Tensor:
        """`triu` in place. Raises GradientError for a leaf that requires grad while recording."""

    def true_divide(self, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """input / other, broadcast; integers give the default float. rounding_mode: "floor" or "trunc" rounds the quotient, of
        integers to an integer. Raises ArgumentError for another one.

        Examples:
            >>> sg.div(sg.tensor([7.0, -7.0]), 2, rounding_mode="floor")
            tensor([ 3., -4.])
        """

    def true_divide_(self, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """`true_divide` in place. Raises GradientError for a leaf that requires grad while recording."""

    def trunc(self) -> Tensor:
        """The integer next to `input` on the side of 0; integers stay what they are.

        Examples:
            >>> sg.trunc(sg.tensor([1.5, -1.5]))
            tensor([ 1., -1.])
        """

    def trunc_(self) -> Tensor:
        """`trunc` in place. Raises GradientError for a leaf that requires grad while recording."""

    @overload
    def type(self, dtype: None = None, non_blocking: builtins.bool = False) -> str: ...
    @overload
    def type(self, dtype: Any, non_blocking: builtins.bool = False) -> Tensor:
        """This tensor in another dtype; without one, PyTorch's name of its kind: "torch.FloatTensor"."""

    def type_as(self, other: Any) -> Tensor:
        """This tensor in the dtype of another. Raises DTypeError for an object that is no tensor."""

    def unbind(self, dim: builtins.int = 0, *, axis: builtins.int = 0) -> tuple[Tensor, ...]:
        """The slices along `dim`, without that axis.

        Examples:
            >>> sg.unbind(sg.tensor([[1, 2], [3, 4]]))
            (tensor([1, 2]), tensor([3, 4]))
        """

    @overload
    def unflatten(self, dim: builtins.int, sizes: Any) -> Tensor: ...
    @overload
    def unflatten(self, *, axis: builtins.int, sizes: Any) -> Tensor:
        """`input` with one axis cut into several of these extents, of which one may be -1."""

    def unfold(self, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
        """Windows of `size` elements every `step` along an axis; they lie along a new last axis. A view."""

    def uniform_(self, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        """Fill with numbers between `from` and `to`, each as likely, in place."""

    @overload
    def unique(
        self,
        sorted: builtins.bool = True,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: builtins.int | None = None,
        *,
        axis: builtins.int | None = None,
    ) -> Tensor: ...
    @overload
    def unique(
        self,
        sorted: builtins.bool = True,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        dim: builtins.int | None = None,
        *,
        axis: builtins.int | None = None,
    ) -> Tensor | tuple[Tensor, ...]:
        """The different elements in order, or the different slices along `dim`; with their places in `input`, and counts.

        Examples:
            >>> sg.unique(sg.tensor([3, 1, 3]))
            tensor([1, 3])
        """

    @overload
    def unique_consecutive(
        self,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: builtins.int | None = None,
        *,
        axis: builtins.int | None = None,
    ) -> Tensor: ...
    @overload
    def unique_consecutive(
        self,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        dim: builtins.int | None = None,
        *,
        axis: builtins.int | None = None,
    ) -> Tensor | tuple[Tensor, ...]:
        """The elements, or slices along `dim`, of which each run of equal ones is one; with their places and counts."""

    def unsafe_chunk(self, chunks: builtins.int, dim: builtins.int = 0, *, axis: builtins.int = 0) -> tuple[Tensor, ...]:
        """`chunk`, whose parts may be changed in place where that is recorded.

        Examples:
            >>> sg.unsafe_chunk(sg.arange(4), 2)
            (tensor([0, 1]), tensor([2, 3]))
        """

    def unsafe_split(
        self,
        split_size_or_sections: Any,
        dim: builtins.int = 0,
        *,
        axis: builtins.int = 0,
    ) -> tuple[Tensor, ...]:
        """`split`, whose parts may be changed in place where that is recorded.

        Examples:
            >>> sg.unsafe_split(sg.arange(5), 2)
            (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        """

    def unsafe_split_with_sizes(
        self,
        split_size_or_sections: Any,
        dim: builtins.int = 0,
        *,
        axis: builtins.int = 0,
    ) -> tuple[Tensor, ...]:
        """`split`, whose parts may be changed in place where that is recorded.

        Examples:
            >>> sg.unsafe_split(sg.arange(5), 2)
            (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        """

    @overload
    def unsqueeze(self, axis: builtins.int) -> Tensor: ...
    @overload
    def unsqueeze(self, *, dim: builtins.int) -> Tensor:
        """PyTorch's name of `expand_dims`.

        Examples:
            >>> sg.unsqueeze(sg.zeros(2, 3), 0).shape
            torch.Size([1, 2, 3])
        """

    def unsqueeze_(self, axis: builtins.int) -> Tensor:
        """`unsqueeze` in place: the tensor itself gets that shape. Raises GradientError as other in-place methods do."""

    def untyped_storage(self) -> UntypedStorage:
        """The memory that this tensor lies in, in bytes; views of a tensor have the same."""

    def var(
        self,
        dim: Any = None,
        unbiased: builtins.bool | None = None,
        keepdim: builtins.bool = False,
        *,
        correction: Any = None,
        axis: Any = None,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        """The variance: mean squared distance from the mean, over n - correction (1 unless given; unbiased=False: 0).

        `dim`: an int, several, or None for all. NaN or infinite where n - correction is not positive.

        Examples:
            >>> sg.var(sg.tensor([1.0, 2.0, 3.0, 4.0])), sg.var(sg.tensor([1.0, 2.0, 3.0, 4.0]), correction=0)
            (tensor(1.6667), tensor(1.2500))
        """

    def vdot(self, other: Any) -> Tensor:
        """The product of two vectors, of which the first is conjugated."""

    def view(self, *shape: ShapeLike | DTypeLike, dtype: DTypeLike | None = None) -> Tensor:
        """The same memory in another shape, or read as another dtype, through which no gradient flows. Raises ShapeError where
        only a copy could have the shape (`reshape` copies), and where the bytes of a row make no whole elements.
        """

    def view_as(self, other: Any) -> Tensor:
        """`input` in the shape of `other`, in the same memory."""

    @property
    def volatile(self) -> builtins.bool:
        """False. Nothing computed from a volatile tensor was recorded; `with no_grad():` says that today."""

    def vsplit(
        self,
        indices_or_sections: Any,
        *,
        _name: str = 'vsplit',
        _axis: builtins.int = 0,
        _least: builtins.int = 2,
    ) -> tuple[Tensor, ...]:
        """Equal parts, or parts between positions, along the axis that NumPy's function of this name cuts."""

    def where(self, condition: TensorLike, other: TensorLike) -> Tensor:
        """self where the condition holds, else `other`."""

    def xlogy(self, other: Any) -> Tensor:
        """input * log(other), 0 where `input` is 0 unless `other` is NaN."""

    def xlogy_(self, other: Any) -> Tensor:
        """`xlogy` in place. Raises GradientError for a leaf that requires grad while recording."""

    def zero_(self) -> Tensor:
        """Set every element to 0."""


class Functions:
    """The public functions of tensors: `F` inside the package."""

    @staticmethod
    def abs(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """|x|; its derivative at 0 is 0.

        Examples:
            >>> sg.abs(sg.tensor([-1.0, 2.0]))
            tensor([1., 2.])
        """

    @staticmethod
    def absolute(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """|x|; its derivative at 0 is 0.

        Examples:
            >>> sg.abs(sg.tensor([-1.0, 2.0]))
            tensor([1., 2.])
        """

    @staticmethod
    def acos(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Inverse cosine.

        Examples:
            >>> sg.acos(sg.tensor([0.0, 1.0]))
            tensor([1.5708, 0.0000])
        """

    @staticmethod
    def acosh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic cosine.

        Examples:
            >>> sg.acosh(sg.tensor([1.0, 2.0]))
            tensor([0.0000, 1.3170])
        """

    @staticmethod
    def add(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """input + alpha * other, broadcast. Booleans: logical or.

        Examples:
            >>> sg.add(sg.tensor([1.0, 2.0]), sg.tensor([10.0, 20.0]), alpha=2)
            tensor([21., 42.])
        """

    @staticmethod
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

    @staticmethod
    def addcdiv(
        input: Any,
        tensor1: Any,
        tensor2: Any,
        *,
        value: Any = 1,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """input + value * tensor1 / tensor2, broadcast. Raises DTypeError for integers."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def adjoint(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The last two axes swapped, and the conjugate."""

    @staticmethod
    def alias_copy(input: Any, *args: Any, _source: str = 'clone', out: Tensor | None = None, **named: Any) -> Tensor:
        """As the function without `_copy`, in memory of its own."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
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

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def angle(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The angle in radians; of real numbers 0, or pi for negative ones, with a gradient of 0. NaN stays NaN."""

    @staticmethod
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

    @staticmethod
    def arccos(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Inverse cosine.

        Examples:
            >>> sg.acos(sg.tensor([0.0, 1.0]))
            tensor([1.5708, 0.0000])
        """

    @staticmethod
    def arccosh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic cosine.

        Examples:
            >>> sg.acosh(sg.tensor([1.0, 2.0]))
            tensor([0.0000, 1.3170])
        """

    @staticmethod
    def arcsin(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Inverse sine.

        Examples:
            >>> sg.asin(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 1.5708])
        """

    @staticmethod
    def arcsinh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic sine.

        Examples:
            >>> sg.asinh(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.8814])
        """

    @staticmethod
    def arctan(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Inverse tangent, in radians.

        Examples:
            >>> sg.atan(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.7854])
        """

    @staticmethod
    def arctan2(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The angle of (other, input)."""

    @staticmethod
    def arctanh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic tangent.

        Examples:
            >>> sg.atanh(sg.tensor([0.0, 0.5]))
            tensor([0.0000, 0.5493])
        """

    @staticmethod
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

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def argwhere(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The positions of elements that are not 0, (number, axes)."""

    @staticmethod
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

    @staticmethod
    def as_strided_copy(
        input: Any,
        *args: Any,
        _source: str = 'as_strided',
        out: Tensor | None = None,
        **named: Any,
    ) -> Tensor:
        """As the function without `_copy`, in memory of its own."""

    @staticmethod
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

    @staticmethod
    def asin(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Inverse sine.

        Examples:
            >>> sg.asin(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 1.5708])
        """

    @staticmethod
    def asinh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic sine.

        Examples:
            >>> sg.asinh(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.8814])
        """

    @staticmethod
    def astype(x: TensorLike, dtype: DTypeLike) -> Tensor:
        """x in another dtype (float to integer truncates). The gradient is cast back."""

    @staticmethod
    def atan(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Inverse tangent, in radians.

        Examples:
            >>> sg.atan(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.7854])
        """

    @staticmethod
    def atan2(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The angle of (other, input)."""

    @staticmethod
    def atanh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic tangent.

        Examples:
            >>> sg.atanh(sg.tensor([0.0, 0.5]))
            tensor([0.0000, 0.5493])
        """

    @overload
    @staticmethod
    def atleast_1d(tensor: TensorLike) -> Tensor: ...
    @overload
    @staticmethod
    def atleast_1d(*tensors: Any) -> tuple[Tensor, ...]:
        """Tensors with at least so many axes; a tuple where several are given."""

    @overload
    @staticmethod
    def atleast_2d(tensor: TensorLike) -> Tensor: ...
    @overload
    @staticmethod
    def atleast_2d(*tensors: Any) -> tuple[Tensor, ...]:
        """Tensors with at least so many axes; a tuple where several are given."""

    @overload
    @staticmethod
    def atleast_3d(tensor: TensorLike) -> Tensor: ...
    @overload
    @staticmethod
    def atleast_3d(*tensors: Any) -> tuple[Tensor, ...]:
        """Tensors with at least so many axes; a tuple where several are given."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def bernoulli(
        input: Tensor,
        p: float | None = None,
        *,
        generator: Generator | None = None,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """1 with the probabilities in `input` (or p, in its shape), else 0, in its dtype. Raises ArgumentError outside [0,
        1]."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def bitwise_and(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x & y, of integers or booleans."""

    @staticmethod
    def bitwise_left_shift(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x shifted by y bits."""

    @staticmethod
    def bitwise_not(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """~x, of integers or booleans."""

    @staticmethod
    def bitwise_or(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x | y, of integers or booleans."""

    @staticmethod
    def bitwise_right_shift(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x shifted by y bits."""

    @staticmethod
    def bitwise_xor(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x ^ y, of integers or booleans."""

    @staticmethod
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
    @staticmethod
    def block_diag(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def block_diag(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The matrices along the diagonal of one that is 0 elsewhere."""

    @staticmethod
    def bmm(input: Any, mat2: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The products of two batches of matrices, (b, n, m) and (b, m, p). Raises ShapeError.

        Examples:
            >>> sg.bmm(sg.ones(5, 2, 3), sg.ones(5, 3, 4)).shape
            torch.Size([5, 2, 4])
        """

    @staticmethod
    def broadcast_like(x: Array, like: Array) -> Tensor:
        """x broadcast to the shape of `like`, known or not."""

    @staticmethod
    def broadcast_shapes(*shapes: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Size:
        """The common shape of shapes. Raises ShapeError."""

    @overload
    @staticmethod
    def broadcast_tensors(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> tuple[Tensor, ...]: ...
    @overload
    @staticmethod
    def broadcast_tensors(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> tuple[Tensor, ...]:
        """The tensors, each repeated to their common shape."""

    @staticmethod
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

    @staticmethod
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
    @staticmethod
    def cartesian_prod(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def cartesian_prod(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """All tuples of elements of 1-D tensors, one per row; the tensor itself if there is one."""

    @staticmethod
    def cat(tensors: Any, dim: int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None, axis: int = 0) -> Tensor:
        """Tensors one after another along `dim`; dtypes are promoted. Empty 1-D ones are left out, as in PyTorch.

        Examples:
            >>> sg.cat([sg.zeros(2), sg.ones(1)])
            tensor([0., 0., 1.])
        """

    @staticmethod
    def cdist(
        x1: Any,
        x2: Any,
        p: float = 2.0,
        compute_mode: str | None = None,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """The p-norms of the differences of rows: (..., n, d) and (..., m, d) give (..., n, m). Raises ShapeError."""

    @staticmethod
    def ceil(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Smallest integer >= x. Integers stay what they are; raises DTypeError for booleans."""

    @staticmethod
    def chain_matmul(*matrices: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The product of matrices, in the order that needs the fewest operations."""

    @staticmethod
    def cholesky(input: Any, upper: bool = False, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`linalg.cholesky` by an older name."""

    @staticmethod
    def cholesky_inverse(input: Any, upper: bool = False, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The inverse of A from its Cholesky factor."""

    @staticmethod
    def cholesky_solve(
        input: Any,
        L: Any,
        upper: bool = False,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """X with A X = input, from A's Cholesky factor."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def clamp_max(input: Any, max: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The smaller of `input` and `max`."""

    @staticmethod
    def clamp_min(input: Any, min: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The larger of `input` and `min`."""

    @staticmethod
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

    @staticmethod
    def clone(input: TensorLike, *, memory_format: object = None) -> Tensor:
        """A copy of input in memory of its own, in input's order of axes. memory_format: `contiguous_format` or
        `channels_last`,
        for another order of its elements.
        """

    @overload
    @staticmethod
    def column_stack(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def column_stack(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Vectors as columns, and matrices, side by side."""

    @staticmethod
    def combinations(
        input: Any,
        r: int = 2,
        with_replacement: bool = False,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """The combinations of r elements of a 1-D tensor, one per row."""

    @staticmethod
    def complex(real: Any, imag: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """real + i imag, broadcast. Both are float32, or both float64; raises DTypeError otherwise."""

    @staticmethod
    def concat(tensors: Any, dim: int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None, axis: int = 0) -> Tensor:
        """Tensors one after another along `dim`; dtypes are promoted. Empty 1-D ones are left out, as in PyTorch.

        Examples:
            >>> sg.cat([sg.zeros(2), sg.ones(1)])
            tensor([0., 0., 1.])
        """

    @staticmethod
    def concatenate(
        tensors: Sequence[TensorLike],
        axis: int = 0,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
        dim: int = 0,
    ) -> Tensor:
        """The operands one after another along `axis`; dtypes are promoted. Raises ShapeError."""

    @staticmethod
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

    @staticmethod
    def conj(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The conjugate; of real numbers, `input` itself."""

    @staticmethod
    def conj_physical(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The conjugate; of real numbers, `input` itself."""

    @staticmethod
    def copysign(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """|input| with the sign of `other`."""

    @staticmethod
    def corrcoef(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The correlations of variables (rows) over observations (columns)."""

    @staticmethod
    def cos(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Cosine.

        Examples:
            >>> sg.cos(sg.tensor([0.0, 1.0]))
            tensor([1.0000, 0.5403])
        """

    @staticmethod
    def cosh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Hyperbolic cosine.

        Examples:
            >>> sg.cosh(sg.tensor([0.0, 1.0]))
            tensor([1.0000, 1.5431])
        """

    @staticmethod
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

    @staticmethod
    def cov(
        input: Any,
        *,
        correction: int = 1,
        fweights: Any = None,
        aweights: Any = None,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """The covariances of variables (rows) over observations (columns), with weights; a number for one variable."""

    @staticmethod
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
    @staticmethod
    def cummax(
        input: Any,
        dim: int,
        *,
        _op: OpDef = ...,
        _name: str = 'cummax',
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> return_types.Pair: ...
    @overload
    @staticmethod
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
    @staticmethod
    def cummin(
        input: Any,
        dim: int,
        *,
        _op: OpDef = ...,
        _name: str = 'cummin',
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> return_types.Pair: ...
    @overload
    @staticmethod
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
    @staticmethod
    def cumprod(input: Any, dim: int, *, dtype: Any = None, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def cumprod(*, input: Any, axis: int, dtype: Any = None, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Running products along `dim`; integers in int64.

        Examples:
            >>> sg.cumprod(sg.tensor([1, 2, 3]), dim=0)
            tensor([1, 2, 6])
        """

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def deg2rad(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Degrees as radians."""

    @staticmethod
    def det(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The determinant of square matrices.

        Examples:
            >>> sg.linalg.det(sg.tensor([[2.0, 0.0], [0.0, 4.0]]))
            tensor(8.)
        """

    @staticmethod
    def detach_copy(
        input: Any,
        *args: Any,
        _source: str = 'stop_gradient',
        out: Tensor | None = None,
        **named: Any,
    ) -> Tensor:
        """As the function without `_copy`, in memory of its own."""

    @staticmethod
    def diag(input: Any, diagonal: int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The diagonal of a matrix, or the matrix with a vector on its diagonal.

        Examples:
            >>> sg.diag(sg.tensor([1, 2]))
            tensor([[1, 0],
                    [0, 2]])
        """

    @staticmethod
    def diag_embed(
        input: Any,
        offset: int = 0,
        dim1: int = -2,
        dim2: int = -1,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """Matrices with the last axis of `input` along their diagonal; their axes are dim1 and dim2 of the result."""

    @staticmethod
    def diagflat(input: Any, offset: int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The matrix with all elements of `input` on its diagonal."""

    @staticmethod
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

    @staticmethod
    def diagonal_copy(
        input: Any,
        *args: Any,
        _source: str = 'diagonal',
        out: Tensor | None = None,
        **named: Any,
    ) -> Tensor:
        """As the function without `_copy`, in memory of its own."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def digamma(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The derivative of `lgamma`."""

    @staticmethod
    def dist(input: Any, other: Any, p: float = 2, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The p-norm of input - other."""

    @staticmethod
    def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """input / other, broadcast; integers give the default float. rounding_mode: "floor" or "trunc" rounds the quotient, of
        integers to an integer. Raises ArgumentError for another one.

        Examples:
            >>> sg.div(sg.tensor([7.0, -7.0]), 2, rounding_mode="floor")
            tensor([ 3., -4.])
        """

    @staticmethod
    def divide(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """input / other, broadcast; integers give the default float. rounding_mode: "floor" or "trunc" rounds the quotient, of
        integers to an integer. Raises ArgumentError for another one.

        Examples:
            >>> sg.div(sg.tensor([7.0, -7.0]), 2, rounding_mode="floor")
            tensor([ 3., -4.])
        """

    @staticmethod
    def dot(input: TensorLike, tensor: TensorLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`matmul` for at most two axes (PyTorch's and NumPy's `dot` agree there).

        Examples:
            >>> sg.dot(sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]))
            tensor(11.)
        """

    @staticmethod
    def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
        """Zero each element with probability p and scale the rest by 1 / (1 - p); x itself when not training.

        Raises ArgumentError unless 0 <= p <= 1.

        Examples:
            >>> sg.dropout(sg.ones(3), 0.5, training=False)
            tensor([1., 1., 1.])
        """

    @staticmethod
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
    @staticmethod
    def dstack(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def dstack(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Tensors one after another, each with the axes that it lacks; as NumPy's function of this name."""

    @staticmethod
    def einsum(equation: str, *operands: TensorLike) -> Tensor:
        """The sum over repeated subscripts, `einsum("bij,bjk->bik", x, y)`; "..." stands for axes that broadcast.

        A subscript that the result lacks is summed over; without "->" the result has those that occur once, in alphabetical
        order. Several operands are joined in the cheapest order of pairs. Raises ArgumentError for a malformed
        equation, ShapeError for extents that don't fit.

        Examples:
            >>> sg.einsum("ij,j->i", sg.tensor([[1.0, 2.0], [3.0, 4.0]]), sg.tensor([1.0, 10.0]))
            tensor([21., 43.])
        """

    @staticmethod
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

    @staticmethod
    def eq(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x == y elementwise, bool."""

    @staticmethod
    def equal(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> bool:
        """Whether both have the same shape and elements, as a Python bool.

        Examples:
            >>> sg.equal(sg.tensor([1, 2]), sg.tensor([1, 2]))
            True
        """

    @staticmethod
    def erf(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The error function.

        Examples:
            >>> sg.erf(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.8427])
        """

    @staticmethod
    def erfc(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """1 - erf(x), accurate for large x."""

    @staticmethod
    def erfinv(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The inverse of `erf`."""

    @staticmethod
    def exp(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """e**x.

        Examples:
            >>> sg.exp(sg.tensor([0.0, 1.0]))
            tensor([1.0000, 2.7183])
        """

    @staticmethod
    def exp2(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """2**x.

        Examples:
            >>> sg.exp2(sg.tensor([0.0, 3.0]))
            tensor([1., 8.])
        """

    @staticmethod
    def expand(input: Array, *extents: ShapeLike, size: ShapeLike | None = None, implicit: bool = False) -> Tensor:
        """PyTorch's `broadcast_to`: -1 keeps an extent."""

    @staticmethod
    def expand_as(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` repeated to the shape of `other`."""

    @staticmethod
    def expand_copy(input: Any, *args: Any, _source: str = 'expand', out: Tensor | None = None, **named: Any) -> Tensor:
        """As the function without `_copy`, in memory of its own."""

    @staticmethod
    def expand_dims(x: TensorLike, axis: int | Sequence[int]) -> Tensor:
        """x with new axes of extent 1 at the places `axis` of the result."""

    @staticmethod
    def expm1(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """exp(x) - 1, accurate for small x.

        Examples:
            >>> sg.expm1(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 1.7183])
        """

    @staticmethod
    def fill(input: Any, value: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """One number in the shape and dtype of `input`, whose gradient is 0; a 0-d tensor takes its gradient."""

    @staticmethod
    def fix(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The integer next to `input` on the side of 0; integers stay what they are.

        Examples:
            >>> sg.trunc(sg.tensor([1.5, -1.5]))
            tensor([ 1., -1.])
        """

    @staticmethod
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
    @staticmethod
    def flip(input: Any, dims: Any = (), *more: int, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def flip(input: Any, dims: Any = (), *, more: int, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` in reverse order along each of `dims`, in memory of its own: integers, or one tuple of them.

        Examples:
            >>> sg.flip(sg.tensor([1, 2, 3]), (0,))
            tensor([3, 2, 1])
        """

    @staticmethod
    def fliplr(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` in reverse order along axis 1."""

    @staticmethod
    def flipud(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` in reverse order along axis 0."""

    @staticmethod
    def float_power(input: Any, exponent: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """input ** exponent in float64, or complex128."""

    @staticmethod
    def floor(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Largest integer <= x. Integers stay what they are; raises DTypeError for booleans."""

    @staticmethod
    def floor_divide(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """floor(x / y), with NumPy's rules for signs and zero. Raises DivisionError where integers are divided by 0."""

    @staticmethod
    def fmax(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`maximum`, of which a NaN is left out; of equal elements the first has the gradient."""

    @staticmethod
    def fmin(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`minimum`, of which a NaN is left out; of equal elements the first has the gradient."""

    @staticmethod
    def fmod(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The remainder of a division rounded towards 0: the sign of `input`. Raises DivisionError for integers over 0.

        Examples:
            >>> sg.fmod(sg.tensor([7.0, -7.0]), 3)
            tensor([ 1., -1.])
        """

    @staticmethod
    def frac(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """input - trunc(input), with the sign of the input. Raises DTypeError for integers."""

    @staticmethod
    def frexp(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> tuple[Tensor, Tensor]:
        """Mantissa and exponent: input = mantissa * 2**exponent, the mantissa in [0.5, 1) or 0."""

    @staticmethod
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
    @staticmethod
    def gather(
        input: Any,
        dim: int,
        index: Any,
        *,
        sparse_grad: bool = False,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor: ...
    @overload
    @staticmethod
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

    @staticmethod
    def gcd(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The gcd of two integers."""

    @staticmethod
    def ge(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x >= y elementwise, bool."""

    @staticmethod
    def geqrf(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> return_types.geqrf:
        """The named tuple (a, tau): R in the upper triangle of `a`, reflections of Q below it. It has no derivative."""

    @staticmethod
    def ger(input: TensorLike, vec2: TensorLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """input[i] * vec2[j] for 1-D operands.

        Examples:
            >>> sg.outer(sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]))
            tensor([[3., 4.],
                    [6., 8.]])
        """

    @staticmethod
    def getitem(x: Array, key: Index) -> Tensor:
        """x[key] with NumPy's rules: ints, slices, None, Ellipsis, integer arrays, booleans and, for values known now, boolean
        masks. An int is taken before arrays, as in PyTorch. Raises IndexRangeError.
        """

    @staticmethod
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

    @staticmethod
    def greater(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x > y elementwise, bool."""

    @staticmethod
    def greater_equal(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x >= y elementwise, bool."""

    @staticmethod
    def gt(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x > y elementwise, bool."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def heaviside(input: Any, values: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """0 below 0 and for NaN, 1 above, `values` at 0."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
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

    @staticmethod
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
    @staticmethod
    def hstack(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def hstack(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Tensors one after another, each with the axes that it lacks; as NumPy's function of this name."""

    @staticmethod
    def hypot(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """sqrt(input**2 + other**2), without overflow."""

    @staticmethod
    def i0(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Modified Bessel function of order 0."""

    @staticmethod
    def igamma(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The regularized lower incomplete gamma function."""

    @staticmethod
    def igammac(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The regularized upper incomplete gamma function."""

    @staticmethod
    def imag(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The imaginary parts, a view. Raises DTypeError for real numbers."""

    @overload
    @staticmethod
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
    @staticmethod
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

    @staticmethod
    def index_along(x: Array, axis: int) -> Tensor:
        """The positions along `axis` of x, shaped to broadcast against x; int64. Raises ArgumentError for a bad axis."""

    @overload
    @staticmethod
    def index_copy(
        input: Any,
        dim: int,
        index: Any,
        source: Any,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor: ...
    @overload
    @staticmethod
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
    @staticmethod
    def index_fill(
        input: Any,
        dim: int,
        index: Any,
        value: Any,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor: ...
    @overload
    @staticmethod
    def index_fill(
        *,
        input: Any,
        axis: int,
        index: Any,
        value: Any,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`input` with one value in the slices at positions along `dim`. The value is a number or a 0-d tensor."""

    @staticmethod
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
    @staticmethod
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
    @staticmethod
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
    @staticmethod
    def index_select(input: Any, dim: int, index: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def index_select(*, input: Any, axis: int, index: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The slices at positions along `dim`; index: 1-D integers. Raises IndexRangeError.

        Examples:
            >>> sg.index_select(sg.tensor([[1, 2], [3, 4]]), 0, sg.tensor([1, 1]))
            tensor([[3, 4],
                    [3, 4]])
        """

    @staticmethod
    def inner(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Sums of products over the last axes of both operands."""

    @staticmethod
    def inverse(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The inverse of square matrices. Raises ShapeError, LinAlgError for a singular one.

        Examples:
            >>> sg.linalg.inv(sg.tensor([[2.0, 0.0], [0.0, 4.0]]))
            tensor([[0.5000, 0.0000],
                    [0.0000, 0.2500]])
        """

    @staticmethod
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

    @staticmethod
    def isfinite(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Where x is neither NaN nor infinite, bool.

        Examples:
            >>> sg.isfinite(sg.tensor([1.0, float("inf")]))
            tensor([ True, False])
        """

    @staticmethod
    def isin(
        elements: Any,
        test_elements: Any,
        *,
        assume_unique: bool = False,
        invert: bool = False,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """Where an element is among `test_elements`."""

    @staticmethod
    def isinf(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Where `input` is infinite.

        Examples:
            >>> sg.isinf(sg.tensor([1.0, float("-inf")]))
            tensor([False,  True])
        """

    @staticmethod
    def isnan(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Where x is NaN, bool.

        Examples:
            >>> sg.isnan(sg.tensor([1.0, float("nan")]))
            tensor([False,  True])
        """

    @staticmethod
    def isneginf(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Where `input` is minus infinity."""

    @staticmethod
    def isposinf(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Where `input` is plus infinity."""

    @staticmethod
    def isreal(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Where the imaginary part is 0; everywhere for real numbers."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def kron(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The Kronecker product: the blocks input[i] * other."""

    @staticmethod
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

    @staticmethod
    def lcm(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The lcm of two integers."""

    @staticmethod
    def ldexp(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """input * 2**other."""

    @staticmethod
    def le(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x <= y elementwise, bool."""

    @staticmethod
    def lerp(input: Any, end: Any, weight: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """input + weight * (end - input): the line from `input` to `end`. Of two formulas the one that is exact nearer its
        end.

        Examples:
            >>> sg.lerp(sg.tensor([0.0, 10.0]), sg.tensor([1.0, 20.0]), 0.5)
            tensor([ 0.5000, 15.0000])
        """

    @staticmethod
    def less(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x < y elementwise, bool."""

    @staticmethod
    def less_equal(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x <= y elementwise, bool."""

    @staticmethod
    def lgamma(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """log|gamma(x)|."""

    @staticmethod
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

    @staticmethod
    def log(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Natural logarithm.

        Examples:
            >>> sg.log(sg.tensor([1.0, 2.0]))
            tensor([0.0000, 0.6931])
        """

    @staticmethod
    def log10(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Logarithm to base 10.

        Examples:
            >>> sg.log10(sg.tensor([1.0, 50.0]))
            tensor([0.0000, 1.6990])
        """

    @staticmethod
    def log1p(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """log(1 + x), accurate for small x.

        Examples:
            >>> sg.log1p(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.6931])
        """

    @staticmethod
    def log2(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Logarithm to base 2.

        Examples:
            >>> sg.log2(sg.tensor([1.0, 8.0]))
            tensor([0., 3.])
        """

    @staticmethod
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

    @staticmethod
    def logaddexp(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """log(exp(input) + exp(other)), without overflow."""

    @staticmethod
    def logaddexp2(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """log2(2**input + 2**other), without overflow."""

    @overload
    @staticmethod
    def logcumsumexp(input: Any, dim: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def logcumsumexp(*, input: Any, axis: int, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """log(cumsum(exp(x))) along `dim`, without overflow."""

    @staticmethod
    def logdet(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """log(det), NaN for a negative determinant of real matrices."""

    @staticmethod
    def logical_and(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """numpy.logical_and, bool."""

    @staticmethod
    def logical_not(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """not x, bool.

        Examples:
            >>> sg.logical_not(sg.tensor([True, False]))
            tensor([False,  True])
        """

    @staticmethod
    def logical_or(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """numpy.logical_or, bool."""

    @staticmethod
    def logical_xor(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """numpy.logical_xor, bool."""

    @staticmethod
    def logit(input: Any, eps: float | None = None, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """log(input / (1 - input)), of input clamped to [eps, 1 - eps] if that is given."""

    @staticmethod
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

    @staticmethod
    def lt(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x < y elementwise, bool."""

    @staticmethod
    def lu(
        input: Any,
        pivot: bool = True,
        get_infos: bool = False,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> tuple[Tensor, ...]:
        """(LU, pivots), with get_infos also the infos, by an older name."""

    @staticmethod
    def lu_solve(input: Any, LU_data: Any, LU_pivots: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`linalg.lu_solve` by an older name."""

    @staticmethod
    def lu_unpack(
        LU_data: Any,
        LU_pivots: Any,
        unpack_data: bool = True,
        unpack_pivots: bool = True,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> return_types.lu:
        """The named tuple (P, L, U) of `lu_factor`'s results; empty tensors for what is not asked for."""

    @staticmethod
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

    @staticmethod
    def masked_scatter(input: Any, mask: Any, source: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` with the elements of `source`, in order, where the mask is true."""

    @staticmethod
    def masked_select(input: Any, mask: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The elements where the mask (broadcast) is true, 1-D.

        Examples:
            >>> sg.masked_select(sg.tensor([1.0, 2.0]), sg.tensor([True, False]))
            tensor([1.])
        """

    @staticmethod
    def matmul(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The matrix product with NumPy's rules: 1-D operands are rows or columns, leading axes are batches and broadcast.

        Shapes (..., n, k) @ (..., k, m) -> (..., n, m). Raises ShapeError when inner sizes differ or an operand is 0-d.

        Examples:
            >>> sg.matmul(sg.ones(2, 3), sg.ones(3, 4)).shape
            torch.Size([2, 4])
        """

    @staticmethod
    def matrix_exp(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The exponential of square matrices."""

    @staticmethod
    def matrix_power(A: Any, n: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The product of n times the matrix A; of its inverse for a negative n. The gradient of the power 0 is 0."""

    @overload
    @staticmethod
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
    @staticmethod
    def max(
        input: Any,
        dim: int,
        keepdim: bool = False,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> return_types.Pair: ...
    @overload
    @staticmethod
    def max(
        *,
        input: Any,
        axis: int,
        keepdims: bool = False,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> return_types.Pair: ...
    @overload
    @staticmethod
    def max(
        input: Any,
        *,
        axis: int,
        keepdim: bool = False,
        out: Tensor | tuple[Tensor, ...] | None = None,
        keepdims: bool = False,
    ) -> return_types.Pair: ...
    @overload
    @staticmethod
    def max(input: Any, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The extremum of all elements; along one axis the named tuple (values, indices) of the first one; of two tensors
        `maximum`. `amax` gives the values alone, over several axes too.

        Examples:
            >>> values, indices = sg.max(sg.tensor([[3.0, 3.0], [3.0, 3.0]]), dim=1)
            >>> values
            tensor([3., 3.])
        """

    @staticmethod
    def maximum(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The larger of each pair; NaN if either is. A tie shares its gradient.

        Examples:
            >>> sg.maximum(sg.tensor([1.0, 5.0]), sg.tensor([3.0, 2.0]))
            tensor([3., 5.])
        """

    @staticmethod
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
    @staticmethod
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
    @staticmethod
    def median(
        input: Any,
        dim: int,
        keepdim: bool = False,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> return_types.Pair: ...
    @overload
    @staticmethod
    def median(
        *,
        input: Any,
        axis: int,
        keepdims: bool = False,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> return_types.Pair: ...
    @overload
    @staticmethod
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
    @staticmethod
    def meshgrid(
        *tensors: Any,
        indexing: str = 'ij',
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> tuple[Tensor, ...]: ...
    @overload
    @staticmethod
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
    @staticmethod
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
    @staticmethod
    def min(
        input: Any,
        dim: int,
        keepdim: bool = False,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> return_types.Pair: ...
    @overload
    @staticmethod
    def min(
        *,
        input: Any,
        axis: int,
        keepdims: bool = False,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> return_types.Pair: ...
    @overload
    @staticmethod
    def min(
        input: Any,
        *,
        axis: int,
        keepdim: bool = False,
        out: Tensor | tuple[Tensor, ...] | None = None,
        keepdims: bool = False,
    ) -> return_types.Pair: ...
    @overload
    @staticmethod
    def min(input: Any, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The extremum of all elements; along one axis the named tuple (values, indices) of the first one; of two tensors
        `minimum`. `amin` gives the values alone, over several axes too.

        Examples:
            >>> values, indices = sg.min(sg.tensor([[3.0, 3.0], [3.0, 3.0]]), dim=1)
            >>> values
            tensor([3., 3.])
        """

    @staticmethod
    def minimum(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The smaller of each pair; NaN if either is. A tie shares its gradient.

        Examples:
            >>> sg.minimum(sg.tensor([1.0, 5.0]), sg.tensor([3.0, 2.0]))
            tensor([1., 2.])
        """

    @staticmethod
    def mm(input: Any, mat2: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The product of two matrices. Raises ShapeError.

        Examples:
            >>> sg.mm(sg.tensor([[1.0, 2.0]]), sg.tensor([[3.0], [4.0]]))
            tensor([[11.]])
        """

    @staticmethod
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

    @staticmethod
    def moveaxis(input: Any, source: Any, destination: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` with the axes `source` at the places `destination`; the others keep their order.

        Examples:
            >>> sg.movedim(sg.zeros(2, 3, 4), 0, -1).shape
            torch.Size([3, 4, 2])
        """

    @staticmethod
    def movedim(input: Any, source: Any, destination: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` with the axes `source` at the places `destination`; the others keep their order.

        Examples:
            >>> sg.movedim(sg.zeros(2, 3, 4), 0, -1).shape
            torch.Size([3, 4, 2])
        """

    @staticmethod
    def msort(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` sorted along its first axis."""

    @staticmethod
    def mul(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x * y, broadcast. Booleans: logical and."""

    @staticmethod
    def multinomial(
        input: Tensor,
        num_samples: int,
        replacement: bool = False,
        *,
        generator: Generator | None = None,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """Positions along the last axis, drawn with the weights in `input` (1-D or 2-D), int64. Raises ArgumentError."""

    @staticmethod
    def multiply(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x * y, broadcast. Booleans: logical and."""

    @staticmethod
    def mv(input: Any, vec: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The product of a matrix and a vector. Raises ShapeError.

        Examples:
            >>> sg.mv(sg.tensor([[1.0, 2.0], [3.0, 4.0]]), sg.tensor([1.0, 1.0]))
            tensor([3., 7.])
        """

    @staticmethod
    def mvlgamma(input: Any, p: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The multivariate log-gamma function of dimension p. Raises ArgumentError for p below 1."""

    @staticmethod
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

    @staticmethod
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
    @staticmethod
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
    @staticmethod
    def nanmedian(
        input: Any,
        dim: int,
        keepdim: bool = False,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> return_types.Pair: ...
    @overload
    @staticmethod
    def nanmedian(
        *,
        input: Any,
        axis: int,
        keepdims: bool = False,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> return_types.Pair: ...
    @overload
    @staticmethod
    def nanmedian(
        input: Any,
        *,
        axis: int,
        keepdim: bool = False,
        out: Tensor | tuple[Tensor, ...] | None = None,
        keepdims: bool = False,
    ) -> return_types.Pair:
        """`median`, of which NaN are left out."""

    @staticmethod
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

    @staticmethod
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
    @staticmethod
    def narrow(input: Any, dim: int, start: Any, length: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
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
    @staticmethod
    def narrow_copy(
        input: Any,
        dim: int,
        start: Any,
        length: int,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor: ...
    @overload
    @staticmethod
    def narrow_copy(
        *,
        input: Any,
        axis: int,
        start: Any,
        length: int,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`length` elements along `dim` from `start` on, in memory of its own."""

    @staticmethod
    def ne(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x != y elementwise, bool."""

    @staticmethod
    def neg(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """-x.

        Examples:
            >>> sg.neg(sg.tensor([1.0, -2.0]))
            tensor([-1.,  2.])
        """

    @staticmethod
    def negative(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """-x.

        Examples:
            >>> sg.neg(sg.tensor([1.0, -2.0]))
            tensor([-1.,  2.])
        """

    @staticmethod
    def nextafter(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """The next number towards y."""

    @overload
    @staticmethod
    def nonzero(input: Any, *, as_tuple: Literal[False] = False, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
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

    @staticmethod
    def nonzero_static(
        input: Any,
        *,
        size: int,
        fill_value: int = -1,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`nonzero` with `size` rows, cut off or filled up: (size, axes), int64. Raises ArgumentError for a negative size."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def not_equal(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x != y elementwise, bool."""

    @staticmethod
    def one_hot(index: TensorLike, classes: int, dtype: DTypeLike | None = None) -> Tensor:
        """1 at the index along a new last axis of extent `classes`, else 0; default float unless `dtype` is given.

        Raises IndexRangeError for an index outside [0, classes).
        """

    @staticmethod
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

    @staticmethod
    def orgqr(A: Any, tau: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The first columns of the product of Householder reflections I - tau v v.H, whose v lie below A's diagonal."""

    @staticmethod
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

    @staticmethod
    def outer(input: TensorLike, vec2: TensorLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """input[i] * vec2[j] for 1-D operands.

        Examples:
            >>> sg.outer(sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]))
            tensor([[3., 4.],
                    [6., 8.]])
        """

    @staticmethod
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

    @staticmethod
    def permute(input: TensorLike, *axes: ShapeLike, dims: ShapeLike | None = None) -> Tensor:
        """input with its axes in the order `axes` (reversed when none are given).

        Examples:
            >>> sg.permute(sg.zeros(2, 3, 4), (2, 0, 1)).shape
            torch.Size([4, 2, 3])
        """

    @staticmethod
    def permute_copy(input: Any, *args: Any, _source: str = 'permute', out: Tensor | None = None, **named: Any) -> Tensor:
        """As the function without `_copy`, in memory of its own."""

    @staticmethod
    def pinverse(input: Any, rcond: float = 1e-15, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`linalg.pinv` by an older name."""

    @staticmethod
    def poisson(
        input: Tensor,
        generator: Generator | None = None,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """Poisson numbers with the rates in `input`, in its dtype."""

    @staticmethod
    def polar(abs: Any, angle: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """abs (cos(angle) + i sin(angle)). Both are float32, or both float64; raises DTypeError otherwise."""

    @staticmethod
    def polygamma(n: int, input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The n-th derivative of `digamma`. Raises ArgumentError for a negative n."""

    @staticmethod
    def positive(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` itself. Raises DTypeError for booleans."""

    @staticmethod
    def pow(input: TensorLike, exponent: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """input ** exponent, broadcast. Plain exponents 1, 2, 0.5, -1 take the op made for them.

        Raises DTypeError for negative powers of integers and for booleans.

        Examples:
            >>> sg.pow(sg.tensor([2.0, 3.0]), 2)
            tensor([4., 9.])
        """

    @staticmethod
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

    @staticmethod
    def put(
        input: Any,
        index: Any,
        source: Any,
        accumulate: bool = False,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`input` with values at positions of the flattened array; they are added with `accumulate`."""

    @staticmethod
    def qr(input: Any, some: bool = True, *, out: Tensor | tuple[Tensor, ...] | None = None) -> return_types.qr:
        """`linalg.qr` by an older name."""

    @staticmethod
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

    @staticmethod
    def rad2deg(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Radians as degrees."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def ravel(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` with all axes joined into one."""

    @staticmethod
    def real(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The real parts; of real numbers, `input` itself. A view of complex numbers."""

    @staticmethod
    def reciprocal(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """1 / input.

        Examples:
            >>> sg.reciprocal(sg.tensor([2.0, 4.0]))
            tensor([0.5000, 0.2500])
        """

    @staticmethod
    def relu(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """max(x, 0); its derivative at 0 is 0 and at NaN 1, NaN stays NaN.

        Examples:
            >>> sg.relu(sg.tensor([-1.0, 2.0]))
            tensor([0., 2.])
        """

    @staticmethod
    def remainder(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x - y * floor(x / y): the sign of y. Raises DivisionError where integers are divided by 0."""

    @overload
    @staticmethod
    def renorm(
        input: Any,
        p: float,
        dim: int,
        maxnorm: float,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor: ...
    @overload
    @staticmethod
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
    @staticmethod
    def repeat(input: Any, *repeats: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def repeat(input: Any, *, repeats: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` repeated so often along each axis, new axes in front: NumPy's `tile`."""

    @staticmethod
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

    @staticmethod
    def reshape(input: TensorLike, *extents: ShapeLike, shape: ShapeLike | None = None) -> Tensor:
        """input in another shape, row-major; one extent may be -1. Raises ShapeError when the sizes differ.

        Examples:
            >>> sg.reshape(sg.arange(6), (2, -1))
            tensor([[0, 1, 2],
                    [3, 4, 5]])
        """

    @staticmethod
    def reshape_as(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` in the shape of `other`."""

    @staticmethod
    def resolve_conj(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input`: a conjugate is computed when it is written."""

    @staticmethod
    def resolve_neg(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input`: a conjugate is computed when it is written."""

    @staticmethod
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

    @staticmethod
    def rot90(input: Any, k: int = 1, dims: Any = (0, 1), *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` turned k times by 90 degrees in the plane of two axes, from the first to the second."""

    @staticmethod
    def round(input: Any, *, decimals: int = 0, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The nearest number with so many decimals, halves to even. Integers stay what they are.

        Examples:
            >>> sg.round(sg.tensor([0.5, 1.5, -2.6]))
            tensor([ 0.,  2., -3.])
        """

    @overload
    @staticmethod
    def row_stack(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def row_stack(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Tensors one after another, each with the axes that it lacks; as NumPy's function of this name."""

    @staticmethod
    def rsqrt(input: TensorLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """1 / sqrt(input).

        Examples:
            >>> sg.rsqrt(sg.tensor([4.0, 16.0]))
            tensor([0.5000, 0.2500])
        """

    @staticmethod
    def rsub(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """other - alpha * input."""

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
        sees those of its iteration. In a graph it may assign to variables, too. There a scan is one node, whose time to
        compile does not depend on the number of iterations; eagerly, a Python loop. Raises ShapeError, DTypeError and
        ArgumentError for a body that changes what it carries, and for xs of different lengths.

        Examples:
            >>> total, sums = sg.scan(lambda carry, x: (carry + x, carry + x), sg.tensor(0.0), sg.tensor([1.0, 2.0, 3.0]))
            >>> total, sums
            (tensor(6.), tensor([1., 3., 6.]))
        """

    @overload
    @staticmethod
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
    @staticmethod
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
    @staticmethod
    def scatter_add(
        input: Any,
        dim: int,
        index: Any,
        src: Any,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor: ...
    @overload
    @staticmethod
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
    @staticmethod
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
    @staticmethod
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

    @staticmethod
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
    @staticmethod
    def select(input: Any, dim: int, index: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def select(*, input: Any, axis: int, index: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The slice at one position along `dim`, without that axis. Raises IndexRangeError."""

    @staticmethod
    def select_copy(input: Any, *args: Any, _source: str = 'select', out: Tensor | None = None, **named: Any) -> Tensor:
        """As the function without `_copy`, in memory of its own."""

    @overload
    @staticmethod
    def select_scatter(
        input: Any,
        src: Any,
        dim: int,
        index: int,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor: ...
    @overload
    @staticmethod
    def select_scatter(
        *,
        input: Any,
        src: Any,
        axis: int,
        index: int,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`input` with `src` as the slice at one position along `dim`."""

    @staticmethod
    def sgn(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """x / |x|, 0 for 0; of real numbers `sign`."""

    @staticmethod
    def sigmoid(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """1 / (1 + exp(-x)).

        Examples:
            >>> sg.sigmoid(sg.tensor([0.0, 2.0]))
            tensor([0.5000, 0.8808])
        """

    @staticmethod
    def sign(input: Any, *, out: Tensor | None = None) -> Tensor:
        """-1, 0 or 1; 0 for NaN, as in PyTorch. Booleans stay what they are.

        Examples:
            >>> sg.sign(sg.tensor([-2.0, 0.0, 3.0]))
            tensor([-1.,  0.,  1.])
        """

    @staticmethod
    def signbit(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Whether the sign is negative, of -0.0 too."""

    @staticmethod
    def sin(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Sine.

        Examples:
            >>> sg.sin(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.8415])
        """

    @staticmethod
    def sinc(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """sin(pi x) / (pi x), 1 at 0."""

    @staticmethod
    def sinh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Hyperbolic sine.

        Examples:
            >>> sg.sinh(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 1.1752])
        """

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def slogdet(A: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> return_types.slogdet:
        """The named tuple (sign, logabsdet) of square matrices."""

    @staticmethod
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

    @staticmethod
    def softplus(x: TensorLike) -> Tensor:
        """log(1 + e**x) without overflow; its derivative is sigmoid(x)."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def split_copy(input: Any, *args: Any, _source: str = 'split', **named: Any) -> tuple[Tensor, ...]:
        """As the function without `_copy`, in memory of its own."""

    @staticmethod
    def split_with_sizes(
        input: Any,
        split_sizes: Any,
        dim: int = 0,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
        axis: int = 0,
    ) -> tuple[Tensor, ...]:
        """Parts of these sizes along `dim`."""

    @staticmethod
    def split_with_sizes_copy(
        input: Any,
        *args: Any,
        _source: str = 'split_with_sizes',
        **named: Any,
    ) -> tuple[Tensor, ...]:
        """As the function without `_copy`, in memory of its own."""

    @staticmethod
    def spmm(input: Any, mat2: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The product of two matrices. Raises ShapeError.

        Examples:
            >>> sg.mm(sg.tensor([[1.0, 2.0]]), sg.tensor([[3.0], [4.0]]))
            tensor([[11.]])
        """

    @staticmethod
    def sqrt(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Square root.

        Examples:
            >>> sg.sqrt(sg.tensor([4.0, 9.0]))
            tensor([2., 3.])
        """

    @staticmethod
    def square(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """x * x; booleans count as integers.

        Examples:
            >>> sg.square(sg.tensor([2.0, -3.0]))
            tensor([4., 9.])
        """

    @staticmethod
    def squeeze(x: Any, axis: Axis = None, *, out: Tensor | tuple[Tensor, ...] | None = None, dim: Axis = None) -> Tensor:
        """x without those of the axes `axis` (all for None) whose extent is 1; one that is unknown has to be 1.

        Examples:
            >>> sg.squeeze(sg.zeros(2, 1, 3), 1).shape
            torch.Size([2, 3])
        """

    @staticmethod
    def squeeze_copy(input: Any, *args: Any, _source: str = 'squeeze', out: Tensor | None = None, **named: Any) -> Tensor:
        """As the function without `_copy`, in memory of its own."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def stop_gradient(x: TensorLike) -> Tensor:
        """x, through which no gradient flows (TensorFlow's name; `detach` in PyTorch).

        Examples:
            >>> w = sg.tensor(3.0, requires_grad=True)
            >>> sg.grad(w * sg.stop_gradient(w), w)
            (tensor(3.),)
        """

    @staticmethod
    def sub(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """input - alpha * other, broadcast. Raises DTypeError for booleans.

        Examples:
            >>> sg.sub(sg.tensor([1.0, 2.0]), 1)
            tensor([0., 1.])
        """

    @staticmethod
    def subtract(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """input - alpha * other, broadcast. Raises DTypeError for booleans.

        Examples:
            >>> sg.sub(sg.tensor([1.0, 2.0]), 1)
            tensor([0., 1.])
        """

    @staticmethod
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
    @staticmethod
    def sum_to_size(input: Any, *size: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def sum_to_size(input: Any, *, size: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` summed over the axes over which a tensor of this size was broadcast to it. Raises ShapeError."""

    @staticmethod
    def svd(
        input: Any,
        some: bool = True,
        compute_uv: bool = True,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> return_types.svd_v:
        """The named tuple (U, S, V) with input = U diag(S) V.H, by an older name."""

    @staticmethod
    def svd_lowrank(
        A: Any,
        q: int | None = 6,
        niter: int | None = 2,
        M: Any = None,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(U, S, V) with A - M close to U diag(S) V.H, of q columns, found with `niter` rounds from random vectors."""

    @staticmethod
    def swapaxes(x: Any, axis0: int, axis1: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """x with two axes exchanged."""

    @staticmethod
    def swapdims(x: Any, axis0: int, axis1: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """x with two axes exchanged."""

    @staticmethod
    def t(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The transpose of a matrix; a vector as it is. Raises ShapeError for more axes."""

    @staticmethod
    def t_copy(input: Any, *args: Any, _source: str = 't', out: Tensor | None = None, **named: Any) -> Tensor:
        """As the function without `_copy`, in memory of its own."""

    @staticmethod
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

    @staticmethod
    def tan(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Tangent.

        Examples:
            >>> sg.tan(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 1.5574])
        """

    @staticmethod
    def tanh(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        """Hyperbolic tangent.

        Examples:
            >>> sg.tanh(sg.tensor([0.0, 1.0]))
            tensor([0.0000, 0.7616])
        """

    @staticmethod
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

    @staticmethod
    def tensordot(a: Any, b: Any, dims: Any = 2, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Sums of products over axes of a and of b: `dims` of a's last and b's first, or two lists of axes."""

    @overload
    @staticmethod
    def tile(input: Any, *dims: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def tile(input: Any, *, dims: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`repeat`, with 1 for the counts that are missing in front.

        Examples:
            >>> sg.tile(sg.tensor([1, 2]), (2,))
            tensor([1, 2, 1, 2])
        """

    @staticmethod
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

    @staticmethod
    def trace(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The sum of the diagonal of a matrix.

        Examples:
            >>> sg.trace(sg.tensor([[1.0, 2.0], [3.0, 4.0]]))
            tensor(5.)
        """

    @staticmethod
    def transpose(input: TensorLike, *axes: ShapeLike, dim0: int | None = None, dim1: int | None = None) -> Tensor:
        """Two axes: exchange them, as in PyTorch. None, a tuple or more: their order, as in NumPy.

        Examples:
            >>> sg.transpose(sg.zeros(2, 3), 0, 1).shape
            torch.Size([3, 2])
        """

    @staticmethod
    def transpose_copy(
        input: Any,
        *args: Any,
        _source: str = 'transpose',
        out: Tensor | None = None,
        **named: Any,
    ) -> Tensor:
        """As the function without `_copy`, in memory of its own."""

    @staticmethod
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

    @staticmethod
    def trapz(
        y: Any,
        x: Any = None,
        *,
        dx: float = 1,
        dim: int = -1,
        out: Tensor | tuple[Tensor, ...] | None = None,
        axis: int = -1,
    ) -> Tensor:
        """The area under y along `dim` by the trapezoidal rule, at the places x or at distances dx."""

    @staticmethod
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

    @staticmethod
    def tril(input: Any, diagonal: int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The elements of matrices on one side of a diagonal, and on it; 0 elsewhere."""

    @staticmethod
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

    @staticmethod
    def triu(input: Any, diagonal: int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The elements of matrices on one side of a diagonal, and on it; 0 elsewhere."""

    @staticmethod
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

    @staticmethod
    def true_divide(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
        """input / other, broadcast; integers give the default float. rounding_mode: "floor" or "trunc" rounds the quotient, of
        integers to an integer. Raises ArgumentError for another one.

        Examples:
            >>> sg.div(sg.tensor([7.0, -7.0]), 2, rounding_mode="floor")
            tensor([ 3., -4.])
        """

    @staticmethod
    def trunc(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The integer next to `input` on the side of 0; integers stay what they are.

        Examples:
            >>> sg.trunc(sg.tensor([1.5, -1.5]))
            tensor([ 1., -1.])
        """

    @staticmethod
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

    @staticmethod
    def unbind_copy(input: Any, *args: Any, _source: str = 'unbind', **named: Any) -> tuple[Tensor, ...]:
        """As the function without `_copy`, in memory of its own."""

    @overload
    @staticmethod
    def unflatten(input: Any, dim: int, sizes: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def unflatten(*, input: Any, axis: int, sizes: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` with one axis cut into several of these extents, of which one may be -1."""

    @staticmethod
    def unfold(
        input: Any,
        dimension: int,
        size: int,
        step: int,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """Windows of `size` elements every `step` along an axis; they lie along a new last axis. A view."""

    @staticmethod
    def unfold_copy(input: Any, *args: Any, _source: str = 'unfold', out: Tensor | None = None, **named: Any) -> Tensor:
        """As the function without `_copy`, in memory of its own."""

    @overload
    @staticmethod
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
    @staticmethod
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
    @staticmethod
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
    @staticmethod
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

    @staticmethod
    def unravel_index(indices: Any, shape: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> tuple[Tensor, ...]:
        """Positions in the flattened array as positions along each axis."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def unsafe_split_with_sizes(
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
    @staticmethod
    def unsqueeze(x: TensorLike, axis: int, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def unsqueeze(*, x: TensorLike, dim: int, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """PyTorch's name of `expand_dims`.

        Examples:
            >>> sg.unsqueeze(sg.zeros(2, 3), 0).shape
            torch.Size([1, 2, 3])
        """

    @staticmethod
    def unsqueeze_copy(
        input: Any,
        *args: Any,
        _source: str = 'unsqueeze',
        out: Tensor | None = None,
        **named: Any,
    ) -> Tensor:
        """As the function without `_copy`, in memory of its own."""

    @staticmethod
    def vander(
        x: Any,
        N: int | None = None,
        increasing: bool = False,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """Powers of a vector as columns, the highest first unless `increasing`; of integers int64."""

    @staticmethod
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

    @staticmethod
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

    @staticmethod
    def vdot(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """The product of two vectors, of which the first is conjugated."""

    @staticmethod
    def view_as(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`input` in the shape of `other`, in the same memory."""

    @staticmethod
    def view_as_complex(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Pairs of real numbers, shape (..., 2), as complex ones. Raises DTypeError, and ShapeError for another shape."""

    @staticmethod
    def view_as_complex_copy(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`view_as_complex` in memory of its own."""

    @staticmethod
    def view_as_real(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Complex numbers as pairs of real ones: shape (..., 2), a view. Raises DTypeError for real numbers."""

    @staticmethod
    def view_as_real_copy(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`view_as_real` in memory of its own."""

    @staticmethod
    def view_copy(
        input: Any,
        size: Any = None,
        *,
        dtype: Any = None,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`input` in another shape, in memory of its own."""

    @staticmethod
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
    @staticmethod
    def vstack(*tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def vstack(*, tensors: Any, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """Tensors one after another, each with the axes that it lacks; as NumPy's function of this name."""

    @overload
    @staticmethod
    def where(condition: TensorLike, input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def where(condition: TensorLike) -> tuple[Tensor, ...]:
        """`input` where the condition holds, else `other`; all broadcast. The gradient flows to the chosen side only.

        Of the condition alone: the positions where it holds, one tensor for each axis (`nonzero(as_tuple=True)`).

        Examples:
            >>> sg.where(sg.tensor([True, False]), sg.tensor([1.0, 2.0]), 0.0)
            tensor([1., 0.])
        """

    @overload
    @staticmethod
    def while_loop(
        cond: Callable[..., TensorLike],
        body: Callable[..., Any],
        loop_vars: list[Tensor],
        max_steps: int | None = None,
        checkpoint_every: int | None = None,
        shape_invariants: Any = None,
    ) -> list[Tensor]: ...
    @overload
    @staticmethod
    def while_loop(
        cond: Callable[..., TensorLike],
        body: Callable[..., Any],
        loop_vars: tuple[Tensor, ...],
        max_steps: int | None = None,
        checkpoint_every: int | None = None,
        shape_invariants: Any = None,
    ) -> tuple[Tensor, ...]: ...
    @overload
    @staticmethod
    def while_loop(
        cond: Callable[..., TensorLike],
        body: Callable[..., Any],
        loop_vars: list[Any],
        max_steps: int | None = None,
        checkpoint_every: int | None = None,
        shape_invariants: Any = None,
    ) -> list[Any]: ...
    @overload
    @staticmethod
    def while_loop(
        cond: Callable[..., TensorLike],
        body: Callable[..., Any],
        loop_vars: tuple[Any, ...],
        max_steps: int | None = None,
        checkpoint_every: int | None = None,
        shape_invariants: Any = None,
    ) -> tuple[Any, ...]: ...
    @overload
    @staticmethod
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

    @staticmethod
    def xlogy(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """input * log(other), 0 where `input` is 0 unless `other` is NaN."""

    @staticmethod
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
