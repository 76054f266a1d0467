"""Dtypes as users hold them: `sg.float32`, `x.dtype`.

Such a dtype is PyTorch's: there is one object of each, it says `is_floating_point`, and its repr is `torch.float32`. It
stands for NumPy's, too: it equals `np.float32`, has its hash and its attributes, and NumPy takes it, `np.zeros(3, x.dtype)`.
So a table finds an entry by either.

Nodes, arrays and kernels have NumPy's own objects. `as_dtype` turns what a user gives into one of these; `public` is the way
back, which `x.dtype` goes.

PyTorch has more dtypes than tensors have here. Programs name them in tables and branches, so they are objects, too; a tensor of
one is refused. NumPy's object for bfloat16 is that of the package `ml_dtypes`, which is imported when it is first asked for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DTypeError

DTYPES: tuple[np.dtype, ...] = tuple(map(np.dtype, ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64")))
"""The dtypes that kernels compute with."""
COMPLEX_OF: dict[np.dtype, np.dtype] = {np.dtype("float32"): np.dtype("complex64"), np.dtype("float64"): np.dtype("complex128")}
"""The dtype of numbers whose parts have a floating dtype."""
PART_OF: dict[np.dtype, np.dtype] = {whole: part for part, whole in COMPLEX_OF.items()}
"""The dtype of the parts of complex numbers."""
HALF: set[np.dtype] = {np.dtype("float16")}
"""Floating dtypes of 16 bits, which kernels load as float32 and round to when they store; bfloat16 is one once it is in use."""
FLOATS: set[np.dtype] = {np.dtype("float32"), np.dtype("float64"), *HALF}
"""The floating dtypes."""
WIDE_UNSIGNED = frozenset(map(np.dtype, ("uint16", "uint32", "uint64")))
"""Dtypes of integers that kernels only load and store."""
DERIVED: set[np.dtype] = {*PART_OF, *HALF, *WIDE_UNSIGNED}
"""The dtypes over which an op has a record of its own, see `ir.over`."""
SUPPORTED: set[np.dtype] = {*DTYPES, *DERIVED}
SHORT: dict[np.dtype, str] = {
    np.dtype(name): short
    for name, short in {
        "bool": "bool", "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "float32": "f32",
        "float64": "f64", "complex64": "c64", "complex128": "c128", "float16": "f16", "uint16": "u16", "uint32": "u32",
        "uint64": "u64",
    }.items()
}  # fmt: skip
"""Their names in texts of graphs and in kernels."""
BFLOAT16 = "bfloat16"
ABSENT = (
    "complex32", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2", "qint8", "qint32", "quint8", "quint2x4", "quint4x2",
    "int1", "int2", "int3", "int4", "int5", "int6", "int7", "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7",
    "bits8", "bits16", "bits1x8", "bits2x4", "bits4x2",
)  # fmt: skip
"""Names of PyTorch's other dtypes."""
prefix = ""
"""What stands before a dtype's name in its text: "torch." while a program finds this library under that name."""

if TYPE_CHECKING:
    _Base = np.dtype[Any]  # for which it stands: type checkers let it pass where one of NumPy's is asked for
else:
    _Base = object


class DType(_Base):  # type: ignore[misc]
    """A dtype of tensors. `sg.dtype(x)` gives that of a name, or of one of NumPy's or Python's types; it makes none.

    numpy: NumPy's object, or None where tensors of it don't exist here; name; itemsize: bytes of an element;
    is_floating_point, is_complex, is_signed; and all attributes of NumPy's object. Raises DTypeError for other values.

    Examples:
        >>> sg.ones(2).dtype.is_floating_point, sg.complex64.to_real(), sg.dtype("int8").itemsize
        (True, torch.float32, 1)
    """

    __slots__ = ("is_complex", "is_floating_point", "is_signed", "itemsize", "kind", "name", "numpy")
    numpy: np.dtype[Any] | None
    is_floating_point: bool
    is_complex: bool
    is_signed: bool

    def __new__(cls, of: Any) -> DType:
        return of if isinstance(of, cls) else public(as_dtype(of))

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's object: NumPy asks for it by this name. Raises DTypeError where tensors of the dtype don't exist."""
        return as_dtype(self)

    __numpy_dtype__ = dtype  # by this one from NumPy 2.4 on

    def to_real(self) -> DType:
        """The dtype of the parts of complex numbers; any other dtype is its own."""
        return public(PART_OF[self.numpy]) if self.numpy in PART_OF else self

    def to_complex(self) -> DType:
        """The dtype of complex numbers with parts of this one; any dtype that is no part of any is its own."""
        return public(COMPLEX_OF[self.numpy]) if self.numpy in COMPLEX_OF else self

    def __getattr__(self, name: str) -> Any:
        if name == "numpy":  # of bfloat16 alone, until now
            return _bfloat16()
        if self.numpy is None or name.startswith("__array"):  # it is no array, and has no interface of one
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        return getattr(self.numpy, name)

    def __eq__(self, other: object) -> bool:
        if self is other or isinstance(other, DType):
            return self is other
        return self.numpy is not None and bool(self.numpy == other)

    def __hash__(self) -> int:
        return hash(self.name if self.numpy is None else self.numpy)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __str__(self) -> str:
        return f"{prefix}{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.name,)


def _make(name: str, of: np.dtype | None) -> DType:
    made = object.__new__(DType)
    kind, bits = re.match(r"(\D+)(\d*)", name).groups()  # type: ignore[union-attr]
    facts = {
        "name": name,
        "is_floating_point": kind in ("float", "bfloat"),
        "is_complex": kind == "complex",
        "is_signed": kind not in ("bool", "uint", "quint", "bits"),
        "itemsize": max(1, int(bits) // 8) if of is None else of.itemsize,
        "kind": {"bfloat": "f", "quint": "u", "qint": "i", "bits": "u"}.get(kind, kind[0]) if of is None else of.kind,
    }
    if name != BFLOAT16:
        facts["numpy"] = of
    for fact, value in facts.items():
        setattr(made, fact, value)
    return made


def _bfloat16() -> np.dtype:
    """NumPy's object for bfloat16. From now on it is one of the dtypes of tensors."""
    import ml_dtypes

    made = NAMED[BFLOAT16]
    own: np.dtype = np.dtype(ml_dtypes.bfloat16)
    for table in (HALF, FLOATS, DERIVED, SUPPORTED):
        table.add(own)
    SHORT[own], PUBLIC[own] = "bf16", made
    made.numpy = own
    return own


ANY_DTYPE = (np.dtype, DType)
"""Classes of dtypes, for `isinstance`."""
CLASSES: frozenset[type] = frozenset({DType, *(np.dtype(code).__class__ for code in np.typecodes["All"])})
"""The same, for a look-up of `x.__class__`."""
PUBLIC: dict[np.dtype, DType] = {of: _make(of.name, of) for of in SHORT}
"""The object of each of NumPy's dtypes that tensors have."""
NAMED: dict[str, DType] = {of.name: of for of in PUBLIC.values()} | {name: _make(name, None) for name in (BFLOAT16, *ABSENT)}
"""All, by their names."""
ABSENT_DTYPES = {name: NAMED[name] for name in ABSENT} | {"chalf": NAMED["complex32"]}


def public(of: np.dtype) -> DType:
    """The object that stands for one of NumPy's."""
    return PUBLIC[of]


def named(name: str) -> DType:
    """The object of a name: what a pickle of it calls."""
    return NAMED[name]


DType.__name__ = DType.__qualname__ = "dtype"
dtype = DType
bool_ = NAMED["bool"]
uint8, int8, int16, int32, int64 = (NAMED[name] for name in ("uint8", "int8", "int16", "int32", "int64"))
float32, float64, complex64, complex128 = (NAMED[name] for name in ("float32", "float64", "complex64", "complex128"))
float16, bfloat16, uint16, uint32, uint64 = (NAMED[name] for name in ("float16", "bfloat16", "uint16", "uint32", "uint64"))

TENSOR_NAMES: dict[str, DType] = {
    "ByteTensor": uint8, "CharTensor": int8, "ShortTensor": int16, "IntTensor": int32, "LongTensor": int64,
    "BoolTensor": bool_, "FloatTensor": float32, "DoubleTensor": float64, "HalfTensor": float16, "BFloat16Tensor": bfloat16,
}  # fmt: skip
"""PyTorch's names of tensors of a dtype, `FloatTensor` and its kin."""
SHORT_NAMES: dict[str, np.dtype] = {
    "long": int64, "int": int32, "short": int16, "float": float32, "double": float64, "bool": bool_,
    "cfloat": complex64, "cdouble": complex128, "half": float16,
}  # fmt: skip
"""PyTorch's other names of dtypes, `sg.long` and its kin: "torch.int" is int32, where NumPy's "int" is int64."""
PYTORCH = "torch."


def _all_names() -> str:
    return ", ".join(dict.fromkeys([*map(str, SHORT), BFLOAT16]))  # bfloat16 is in the table once it is in use


def as_dtype(dtype: Any) -> np.dtype:
    """Normalize what NumPy takes for a dtype; `float` is float64 and `int` int64, as in NumPy and PyTorch.

    "torch.float32" and "torch.FloatTensor" are taken, too. Raises DTypeError for an unsupported one.
    """
    if dtype.__class__ is DType:
        own: np.dtype | None = dtype.numpy
        if own is not None:
            return own
        use = "float16, float32 or float64" if dtype.is_floating_point or dtype.is_complex else "an integer dtype"
        raise DTypeError(f"dtype {dtype.name} is not supported", f"use {use}")
    if dtype.__class__ is str and dtype.startswith(PYTORCH):
        name = dtype.removeprefix(PYTORCH)
        dtype = TENSOR_NAMES.get(name) or SHORT_NAMES.get(name) or name
    if dtype.__class__ is str and dtype == BFLOAT16:  # NumPy knows the name once the package is imported
        return bfloat16.numpy  # type: ignore[return-value]
    try:
        result: np.dtype = np.dtype(dtype)
    except (TypeError, ValueError):
        of = getattr(dtype, "dtype", None)
        if isinstance(of, DType):  # of the class of its tensors, `sg.LongTensor`
            return as_dtype(of)
        raise DTypeError(f"{dtype!r} is not a dtype", f"use one of {_all_names()}") from None
    result = result if result.isnative else result.newbyteorder("=")
    if result not in SUPPORTED:
        if result.name == BFLOAT16:
            return bfloat16.numpy  # type: ignore[return-value]
        raise DTypeError(f"dtype {result} is not supported", f"use one of {_all_names()}")
    return result
