"""Tensor types: shape with `None` for an unknown extent, dtype; broadcasting and the promotion lattice.

One lattice serves both modes. It has PyTorch's categories, bool < integer < floating < complex: the result has the highest
category among the operands; within it, tensors with axes count before 0-d tensors, and those before Python and NumPy
scalars, which are weak: `float32_tensor * 2.0` stays float32. A dtype of a lower priority wins only by its category:
`int64_tensor * 2.0` is the default float, and `float64_tensor * 1j` complex128, of the tensor's precision.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, TypeAlias

import numpy as np

from ..errors import ArgumentError, ArgumentTypeError, AxisError, DTypeError, ShapeError, StaticgradError, UnknownExtentError
from .dtypes import COMPLEX_OF, HALF, NAMED, PART_OF, SHORT, WIDE_UNSIGNED, DType, as_dtype

Shape = tuple[Any, ...]
"""Extents: integers >= 0, or None for one that is known only at run time."""

DTypeLike: TypeAlias = "np.dtype[Any] | type | str"
"""What `as_dtype` takes: `sg.float32`, `np.float32`, `float`, "float32"."""
Axis: TypeAlias = "int | Sequence[int] | None"
"""One axis, several, or all."""
ShapeLike: TypeAlias = "int | Sequence[int]"
"""One extent, or several."""

bool_ = np.dtype(np.bool_)
uint8 = np.dtype(np.uint8)
int8 = np.dtype(np.int8)
int16 = np.dtype(np.int16)
int32 = np.dtype(np.int32)
int64 = np.dtype(np.int64)
float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)
complex64 = np.dtype(np.complex64)
complex128 = np.dtype(np.complex128)

INEXACT = "fcV"
"""The kinds of dtypes that have gradients: floating and complex numbers. NumPy says "V" of bfloat16."""
FLOATING = "fV"
"""The kinds of floating dtypes."""

default_float = float32
"""See `get_default_dtype`."""


def get_default_dtype() -> np.dtype:
    """The floating dtype that Python floats and `int / int` take: float32 unless set."""
    return default_float


def set_default_dtype(dtype: DTypeLike) -> None:
    """Set the default floating dtype. Raises DTypeError for a dtype of other numbers."""
    global default_float
    dtype = as_dtype(dtype)
    if dtype.kind not in FLOATING:
        raise DTypeError(f"set_default_dtype: only floating dtypes are supported as the default, got {dtype}")
    default_float = dtype


def category(dtype: np.dtype) -> int:
    """0 for bool, 1 for integers, 2 for floating, 3 for complex."""
    kind = dtype.kind
    return 2 if kind in FLOATING else 0 if kind == "b" else 3 if kind == "c" else 1


def check_unmasked(value: Any) -> None:
    """Raises DTypeError for one of NumPy's masked arrays, or a list with one in it: an array made of it forgets the mask."""
    if value.__class__ is np.ndarray:
        return
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise DTypeError(
                "a masked array can't become a tensor: its mask would be lost",
                "fill it first, x.filled(value), or keep the mask as a tensor of its own: sg.where(mask, 0, x)",
            )
    elif isinstance(value, (list, tuple)) and not PLAIN.issuperset(map(type, value)):
        for item in value:
            check_unmasked(item)


PLAIN = frozenset({int, float, bool, np.ndarray})
"""What can't hide a masked array."""


def is_number(value: Any) -> bool:
    """Whether it is a real number, or has a dtype of numbers."""
    return isinstance(value, numbers.Real) or getattr(getattr(value, "dtype", None), "kind", "none") in "biufV"


def is_scalar(value: Any) -> bool:
    """A Python or NumPy number: weak in promotion."""
    return isinstance(value, (bool, int, float, complex, np.generic)) or (
        isinstance(value, numbers.Real) and not hasattr(value, "__array__")
    )


def scalar_dtype(value: Any) -> np.dtype:
    """The dtype that a weak scalar brings when it decides the category."""
    if isinstance(value, (bool, np.bool_)):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (complex, np.complexfloating)):
        return complex_with(default_float)
    return default_float


ADDRESSES = 2**47
"""Bytes that a process can have."""
MOST_AXES = 64
"""Axes that an array of NumPy's can have."""


class TensorType:
    """The static type of a value: `shape` (None for an extent that is known only at run time) and `dtype`."""

    __slots__ = ("dtype", "shape")

    shape: Shape
    dtype: np.dtype

    def __init__(self, shape: Shape, dtype: np.dtype):
        self.shape = shape
        self.dtype = dtype.numpy if dtype.__class__ is DType else dtype  # type: ignore[assignment]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def static(self) -> bool:
        """Every extent is known."""
        return None not in self.shape

    @property
    def size(self) -> int:
        """Elements; raises ShapeError when an extent is unknown."""
        if None in self.shape:
            raise ShapeError(f"{self} has no known number of elements")
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def check_size(self) -> None:
        """Raises ShapeError for more axes than NumPy has, or more bytes than there are addresses.

        An extent of 0 or an unknown one counts as 1: NumPy, too, multiplies the others.
        """
        if len(self.shape) > MOST_AXES:
            raise ShapeError(f"a tensor has at most {MOST_AXES} axes, got {len(self.shape)}")
        shape = self.shape
        nbytes = math.prod([d for d in shape if d] if 0 in shape or None in shape else shape) * self.dtype.itemsize
        if nbytes >= ADDRESSES:
            raise ShapeError(
                f"Storage size calculation overflowed with sizes={list(self.shape)}",
                f"{float(min(nbytes, 10**300)):.1e} bytes are more than there are addresses",
            )

    def with_shape(self, shape: Shape) -> TensorType:
        return TensorType(shape, self.dtype)

    def with_dtype(self, dtype: np.dtype) -> TensorType:
        return TensorType(self.shape, dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and self.shape == other.shape and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"{SHORT[self.dtype]}[{','.join('?' if d is None else str(d) for d in self.shape)}]"


class UnrankedType(TensorType):
    """The type of a value of which even the number of axes is known only at run time. Asking for its shape raises
    UnknownExtentError; operations that need it are written once it is known, see `ops/deferred.py`."""

    __slots__ = ()

    def __init__(self, dtype: np.dtype):
        self.dtype = as_dtype(dtype)

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        raise UnknownExtentError(
            f"the number of axes of {self} is unknown until the graph runs",
            "give the placeholder a shape: None stands for an extent that may change, as in [None, 784]",
        )

    @property
    def static(self) -> bool:
        return False

    def check_size(self) -> None:
        """There is nothing to check yet."""

    def with_dtype(self, dtype: np.dtype) -> TensorType:
        return UnrankedType(dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnrankedType) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((UnrankedType, self.dtype))

    def __repr__(self) -> str:
        return f"{SHORT[self.dtype]}[...]"


class SingletonType(TensorType):
    """The type of one value, which is known."""

    __slots__ = ("value",)

    value: np.ndarray

    def __init__(self, value: np.ndarray):
        super().__init__(value.shape, value.dtype)
        self.value = value


class TupleType(TensorType):
    """The type of a node with several results. It has no value of its own: other nodes take the results out."""

    __slots__ = ("parts",)

    parts: tuple[TensorType, ...]

    def __init__(self, parts: Sequence[TensorType]):
        floating = (part.dtype for part in parts if part.dtype.kind in INEXACT)
        super().__init__((), next(floating, bool_))
        self.parts = tuple(parts)

    @property
    def static(self) -> bool:
        return all(part.static for part in self.parts)

    def check_size(self) -> None:
        for part in self.parts:
            part.check_size()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TupleType) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.parts))})"


class StackType(TensorType):
    """The values of type `item` that a loop made, one per iteration: how many is known when it has run."""

    __slots__ = ("item",)

    item: TensorType

    def __init__(self, item: TensorType):
        super().__init__((), item.dtype)
        self.item = item

    @property
    def static(self) -> bool:
        return self.item.static

    def check_size(self) -> None:
        self.item.check_size()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StackType) and self.item == other.item

    def __hash__(self) -> int:
        return hash((StackType, self.item))

    def __repr__(self) -> str:
        return f"stack of {self.item!r}"


class OpenType(TensorType):
    """A value whose extents the run decides: an array of its own, of the type `item` as far as that is known."""

    __slots__ = ("item",)

    item: TensorType

    def __init__(self, item: TensorType):
        super().__init__((), item.dtype)
        self.item = item

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpenType) and self.item == other.item

    def __hash__(self) -> int:
        return hash((OpenType, self.item))

    def __repr__(self) -> str:
        return f"{self.item!r} of the run"


def type_of(array: Any) -> TensorType:
    """The type of an array, or of a tensor that has a shape."""
    return TensorType(tuple(array.shape), array.dtype)


def shape_text(shape: Shape) -> str:
    """`(32, ?)`, as in error messages."""
    inner = ", ".join("?" if d is None else str(d) for d in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def promote(operands: Sequence[Any]) -> np.dtype:
    """The dtype of an arithmetic result. `operands`: TensorType for tensors, plain numbers for weak scalars."""
    with_axes: np.dtype | None = None
    without_axes: np.dtype | None = None
    scalar: np.dtype | None = None
    for operand in operands:
        if isinstance(operand, TensorType):
            if operand.shape:
                with_axes = _join(with_axes, operand.dtype)
            else:
                without_axes = _join(without_axes, operand.dtype)
        else:
            scalar = _join(scalar, scalar_dtype(operand))
    result = with_axes
    for lower in (without_axes, scalar):
        if lower is not None and (result is None or category(lower) > category(result)):
            result = complex_with(result) if lower.kind == "c" and result is not None and category(result) == 2 else lower
    assert result is not None
    return result


def _join(a: np.dtype | None, b: np.dtype) -> np.dtype:
    if a is None or a == b:
        return b
    if WIDE_UNSIGNED & {a, b} and category(a) in (0, 1, 3) and category(b) in (0, 1, 3):
        raise DTypeError(f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {a} and {b}")
    if a in HALF and b in HALF:
        return float32
    if category(a) == category(b) or (category(a) >= 2 and category(b) >= 2):
        return np.promote_types(a, b)
    return max(a, b, key=category)


def complex_with(part: np.dtype) -> np.dtype:
    """The dtype of complex numbers with the precision of a floating one; bfloat16 has that of float32, as in PyTorch. Raises
    DTypeError for float16: there is no complex32."""
    return as_dtype(NAMED["complex32"]) if part.kind == "f" and part in HALF else COMPLEX_OF.get(part, complex64)


def to_float(dtype: np.dtype) -> np.dtype:
    """The dtype of a result that is floating or complex by nature (exp, mean, true division)."""
    return dtype if dtype.kind in INEXACT else default_float


def part_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the parts of complex numbers; any other dtype itself."""
    return PART_OF.get(dtype, dtype)


def broadcast_extent(a: int | None, b: int | None) -> int | None:
    """One extent of a broadcast. Unknown against 1 or unknown stays unknown; against n > 1 it must be n (or 1)."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if a is None:
        return b
    if b is None:
        return a
    raise ShapeError("")


def broadcast_shapes(*shapes: Shape) -> Shape:
    """NumPy's broadcasting over shapes with unknown extents. Raises ShapeError."""
    result: Shape = ()
    for shape in shapes:
        if shape == result:
            continue
        if not result:
            result = shape
            continue
        a, b = result, shape
        if len(a) != len(b):
            n = max(len(a), len(b))
            a, b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
        try:
            result = tuple([p if p == q or q == 1 else broadcast_extent(p, q) for p, q in zip(a, b, strict=True)])
        except ShapeError:
            raise ShapeError(f"shapes don't broadcast, {' and '.join(map(shape_text, shapes))}") from None
    return result


def integral(value: Any) -> Any:
    """The integer of a 0-d tensor or array of integers; anything else as it is. Raises TraceError for a traced tensor."""
    if isinstance(value, np.generic) or not hasattr(value, "__index__"):
        return value
    if getattr(value, "shape", None) == () and value.dtype.kind in "iu":
        return index(value)
    return value


def normalize_axis(axis: Any, ndim: int) -> int:
    """A non-negative axis. Raises AxisError when it is out of range, ArgumentError when it is no integer."""
    if axis.__class__ is int and -ndim <= axis < ndim:
        return axis if axis >= 0 else axis + ndim
    axis = integral(axis)
    if isinstance(axis, (bool, np.bool_)) or not isinstance(axis, (int, np.integer)):
        raise ArgumentError(f"axis must be an integer, got {axis!r}")
    if not -ndim <= axis < ndim:
        raise AxisError(f"axis {axis} is out of range for {ndim} axes")
    return int(axis) % ndim


ALL_AXES = tuple(tuple(range(n)) for n in range(MOST_AXES + 1))


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Sorted non-negative axes; all of them for None, and none for 0 and -1 of what has no axes, as in PyTorch.

    Raises AxisError for one out of range, ArgumentError for one that is named twice.
    """
    if axis is None or (ndim == 0 and axis.__class__ is int and axis in (0, -1)):
        return ALL_AXES[ndim]
    if axis.__class__ is int and -ndim <= axis < ndim:
        return (axis if axis >= 0 else axis + ndim,)
    if axis.__class__ is tuple and len(axis) == 1 and axis[0].__class__ is int and 0 <= axis[0] < ndim:
        return axis
    axis = integral(axis)
    if isinstance(axis, str) or (hasattr(axis, "__array__") and not isinstance(axis, np.integer)):
        raise ArgumentError(f"axis must be an integer, several, or None, got {type(axis).__name__}")
    given = tuple(axis) if isinstance(axis, Iterable) else (axis,)
    if not ndim and given in ((0,), (-1,)):
        return ()
    axes = [normalize_axis(a, ndim) for a in given]
    if len(set(axes)) != len(axes):
        raise ArgumentError(f"an axis is named twice in {tuple(axes)}")
    return tuple(sorted(axes))


def as_shape(shape: Any, *, unknown: bool = False) -> tuple[Any, ...]:
    """A shape as a tuple of ints (with `unknown`, None allowed). Raises ArgumentError."""
    if shape.__class__ is not tuple:
        shape = integral(shape)
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    try:
        extents = tuple([d if d.__class__ is int else integral(d) for d in shape])
    except StaticgradError:  # a tensor that has no value yet
        raise
    except TypeError:
        raise ArgumentError(f"a shape is a tuple of integers, got {shape!r}") from None
    for extent in extents:
        if extent is None and unknown:
            continue
        if isinstance(extent, bool) or not isinstance(extent, (int, np.integer)) or extent < 0:
            known = ("give the placeholder known extents",) if extent is None else ()
            raise ArgumentError(f"a shape is a tuple of integers >= 0{' or None' if unknown else ''}, got {extents!r}", *known)
    return tuple([d if d is None or d.__class__ is int else int(d) for d in extents])


# PyTorch's names for the types of arguments, `torch.types` --------------------------------------------------------------

Number: TypeAlias = "int | float | bool"
Device: TypeAlias = Any
Storage: TypeAlias = Any
_dtype = np.dtype
_device = _layout = str
_size: TypeAlias = "Sequence[int]"
_int, _float, _bool, _complex = int, float, bool, complex


# the limits of dtypes: plain numbers as in PyTorch, also for dtypes that tensors don't have here ----------------------

LIMITS = {
    "float16": (16, 2.0**-10, 2.0**-14, 65504.0, 1e-3),
    "bfloat16": (16, 2.0**-7, 2.0**-126, (2 - 2.0**-7) * 2.0**127, 1e-2),
    "float8_e4m3fn": (8, 2.0**-3, 2.0**-6, 448.0, 1.0),
    "float8_e4m3fnuz": (8, 2.0**-3, 2.0**-7, 240.0, 1.0),
    "float8_e5m2": (8, 2.0**-2, 2.0**-14, 57344.0, 1.0),
    "float8_e5m2fnuz": (8, 2.0**-3, 2.0**-15, 57344.0, 1.0),
    "float8_e8m0fnu": (8, 1.0, 2.0**-127, 2.0**127, 1.0),
}
"""bits, eps, tiny, max and resolution of floating dtypes of 16 bits, and of those that tensors don't have here."""


class finfo:
    """The limits of a floating dtype, by default of the default one, or of the parts of a complex one.

    bits; eps: the distance from 1 to the next number; max, min; tiny, smallest_normal: the least positive one with all digits;
    resolution: of decimal digits; dtype: its name. Raises TypeError for other dtypes.

    Examples:
        >>> sg.finfo(sg.float32).eps
        1.1920928955078125e-07
    """

    def __init__(self, type: Any = None):
        limits: tuple[int, float, float, float, float] | None
        if isinstance(type, DType) and (type.name in LIMITS or type.numpy is None):
            self.dtype = "float16" if type.is_complex else type.name
            limits = LIMITS.get(self.dtype)
        else:
            kind = get_default_dtype() if type is None else as_dtype(type)
            self.dtype = str(kind)
            limits = LIMITS.get(self.dtype)
            if limits is None and kind.kind in INEXACT:
                own = np.finfo(kind)
                self.dtype = str(own.dtype)
                limits = own.bits, float(own.eps), float(own.tiny), float(own.max), float(str(own.resolution))
        if limits is None:
            raise ArgumentTypeError("finfo() requires a floating point input type", f"use iinfo for {self.dtype}")
        self.bits, self.eps, self.tiny, self.max, self.resolution = limits
        self.min = self.tiny if self.dtype == "float8_e8m0fnu" else -self.max  # which has no sign
        self.smallest_normal = self.tiny

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.dtype, self.eps))

    def __repr__(self) -> str:
        words = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{word}={getattr(self, word):g}' for word in words)}, dtype={self.dtype})"


class iinfo:
    """The limits of an integer dtype: bits, min, max, and its name as dtype. Raises TypeError for other dtypes.

    Examples:
        >>> sg.iinfo(sg.int16).max
        32767
    """

    def __init__(self, type: Any):
        kind = type if isinstance(type, DType) else as_dtype(type)
        if kind.kind not in "iu" or getattr(kind, "numpy", kind) is None:
            raise ArgumentTypeError("iinfo() requires an integer input type", f"use finfo for {kind}")
        limits = np.iinfo(kind)
        self.dtype, self.bits, self.min, self.max = str(limits.dtype), limits.bits, int(limits.min), int(limits.max)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
