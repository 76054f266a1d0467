"""Making eager tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack, cast

import numpy as np

from ..base.devices import CPU, check_device
from ..base.dtypes import TENSOR_NAMES, as_dtype
from ..base.types import (
    DTypeLike,
    ShapeLike,
    TensorType,
    as_shape,
    check_unmasked,
    get_default_dtype,
    is_number,
    is_scalar,
    shape_text,
)
from ..errors import ArgumentError, ArgumentTypeError, DTypeError, OutOfMemoryError, ShapeError
from ..ir import REGISTRY
from ..ops.operators import (
    F,
    Lifted,
    MetaTensor,
    Operators,
    Options,
    Placement,
    Size,
    Symbol,
    TensorLike,
    append,
    as_array,
    factory,
    for_meta,
    frontends,
    is_tensor,
    on_meta,
    state,
    warn_former,
)
from ..ops.operators import Tensor as AnyTensor
from ..ops.operators.node_names import NUMBERS
from .tensor import PublicTensor, Tensor

__all__ = [
    "arange", "asarray", "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "empty",
    "empty_permuted", "empty_strided", "eye", "FloatTensor", "full", "HalfTensor", "IntTensor", "linspace", "logspace",
    "LongTensor", "ones",
    "scalar_tensor", "ShortTensor", "tensor", "zeros",
]  # fmt: skip


def tensor(
    data: TensorLike, dtype: DTypeLike | None = None, requires_grad: bool = False, *, device: Any = None,
    pin_memory: bool = False, names: None = None,
) -> AnyTensor:  # fmt: skip
    """A tensor with a copy of `data` (numbers, nested lists, an array, a tensor, lists of 0-d tensors).

    Python floats become the default float, NumPy arrays keep their dtype. Raises DTypeError for data without a
    supported dtype, for integers out of the range of `dtype`, or when an integer tensor is to require grad; DeviceError
    for a device other than the CPU.

    Examples:
        >>> x = sg.tensor([[1, 2], [3, 4]], dtype=sg.float32, requires_grad=True)
        >>> x.shape, x.dtype
        (torch.Size([2, 2]), torch.float32)
        >>> sg.tensor([1, 2, 3])
        tensor([1, 2, 3])
    """
    if (device is not None or frontends.tracing) and for_meta(device):
        return on_meta(tensor(data, dtype, requires_grad, device=CPU))
    check_device(device)
    if isinstance(data, Lifted):
        return F.clone(F.stop_gradient(data if dtype is None else F.astype(data, dtype)))
    if frontends.tracing and state.tracer is not None:
        kind = None if dtype is None else as_dtype(dtype)
        data = as_array(data) if isinstance(data, np.ndarray) else state.tracer.listed(data, kind)
        if isinstance(data, (Tensor, Symbol, np.ndarray)):
            return state.tracer.copied(data, kind, requires_grad)
    data = with_numbers(data)
    if dtype is not None and not isinstance(data, (Tensor, np.ndarray)):
        as_array(data)  # refuses unsupported dtypes; the values are converted to the requested dtype in one step
        kind = as_dtype(dtype)
        try:
            return _made(np.array(data, dtype=kind), requires_grad)
        except OverflowError as error:
            raise DTypeError(f"tensor: {error}") from None
    array = data._data if isinstance(data, Tensor) else as_array(data)
    return _made(np.array(array, dtype=None if dtype is None else as_dtype(dtype)), requires_grad)


def with_numbers(data: Any) -> Any:
    """Nested lists with numbers in the place of tensors of one element, whatever their shape, as PyTorch reads lists.
    Raises ShapeError for a tensor of more."""
    if not isinstance(data, (list, tuple)) or NUMBERS.issuperset(map(type, data)):
        return data
    if frontends.tracing and state.tracer is not None:
        for x in data:
            if isinstance(x, np.ndarray):
                state.tracer.observer.read_array(x)
    if not any(isinstance(x, (list, tuple, Tensor)) for x in data):
        return data
    return [_number(x) if isinstance(x, Tensor) else with_numbers(x) for x in data]


def _number(x: Tensor) -> Any:
    if frontends.tracing and state.tracer is not None:
        state.tracer.no_value(x, "a number")
    if x._data.size != 1:
        raise ShapeError(
            "only one element tensors can be converted to Python scalars",
            f"got shape {shape_text(x.shape)}: use sg.stack(tensors)",
        )
    number = x._data.reshape(())[()]
    return number.item() if number.dtype == get_default_dtype() else number


def _made(array: np.ndarray, requires_grad: bool = False) -> AnyTensor:
    """The tensor around a fresh array; while tracing, one that each run makes anew."""
    if frontends.tracing and state.tracer is not None:
        return state.tracer.constant(array, requires_grad)
    return Tensor(array, requires_grad)


def _filled(value: Any, shape: tuple[int, ...], dtype: np.dtype, requires_grad: bool) -> AnyTensor:
    """One value everywhere. Where an extent is a symbol of a trace, it stays one."""
    if frontends.tracing and state.on_meta is not None:
        return MetaTensor(TensorType(shape, dtype), requires_grad)
    if frontends.tracing and any(type(extent) is not int for extent in shape):
        return cast("AnyTensor", state.tracer.filled(np.full((), value, dtype), shape, requires_grad))
    zeros = value.__class__ is int and not value
    try:
        array = np.zeros(shape, dtype) if zeros else np.full(shape, value, dtype)
    except (MemoryError, ValueError) as error:
        raise _no_memory(shape, dtype, error) from None
    return _made(array, requires_grad)


def _no_memory(shape: tuple[int, ...], dtype: np.dtype, error: Exception) -> Exception:
    """The error for an array that NumPy could not make. Raises ShapeError for more bytes than there are addresses."""
    kind = TensorType(shape, dtype)
    kind.check_size()
    if not isinstance(error, MemoryError):
        return error
    text = f"there is no memory for a tensor of shape {shape_text(shape)}: {kind.nbytes:.1e} bytes"
    return OutOfMemoryError(text, "make it smaller, or work on a part of it at a time")


def _dtype(dtype: DTypeLike | None) -> np.dtype:
    return get_default_dtype() if dtype is None else as_dtype(dtype)


def _extents(shape: tuple[Any, ...], size: Any = None) -> tuple[int, ...]:
    if size is not None:
        return as_shape(size)
    if len(shape) == 1 and not isinstance(shape[0], Operators):
        return as_shape(shape[0])
    return as_shape(tuple(int(d) if is_tensor(d) else d for d in shape))


def _constant(value: int, shape: tuple[int, ...], options: Options) -> AnyTensor:
    """One value everywhere, with the options of a factory."""
    if not options:
        return _filled(value, shape, get_default_dtype(), False)
    return _filled(value, shape, _dtype(options.get("dtype")), options.get("requires_grad", False))


@factory(Options)
def zeros(*shape: ShapeLike | AnyTensor, size: ShapeLike | None = None, **options: Unpack[Options]) -> AnyTensor:
    """Zeros; default float unless `dtype` is given.

    Examples:
        >>> sg.zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
    """
    return _constant(0, _extents(shape, size), options)


@factory(Options)
def ones(*shape: ShapeLike | AnyTensor, size: ShapeLike | None = None, **options: Unpack[Options]) -> AnyTensor:
    """Ones; default float unless `dtype` is given.

    Examples:
        >>> sg.ones((2, 2), dtype=sg.int64)
        tensor([[1, 1],
                [1, 1]])
    """
    return _constant(1, _extents(shape, size), options)


@factory(Options)
def empty(
    *shape: ShapeLike | AnyTensor, size: ShapeLike | None = None, memory_format: Any = None, **options: Unpack[Options]
) -> AnyTensor:
    """A tensor whose values are yet to be written: zeros, so that a program that reads them is the same in every run."""
    return _constant(0, _extents(shape, size), options)


@factory(Options)
def empty_strided(size: ShapeLike, stride: ShapeLike, **options: Unpack[Options]) -> AnyTensor:
    """As `empty`; elements lie `stride` elements apart along each axis. Raises ArgumentError for another number of them."""
    extents, steps = as_shape(size), as_shape(stride)
    if len(extents) != len(steps):
        raise ArgumentError(f"empty_strided: mismatch in length of strides and shape, {steps} and {extents}")
    kind = _dtype(options.get("dtype"))
    last = sum((d - 1) * s for d, s in zip(extents, steps, strict=True)) if 0 not in extents else -1
    room = np.zeros(last + 1, kind)
    array = np.lib.stride_tricks.as_strided(room, extents, [s * kind.itemsize for s in steps])
    return _made(array, options.get("requires_grad", False))


@factory(Options)
def empty_permuted(size: ShapeLike, physical_layout: Sequence[int], **options: Unpack[Options]) -> AnyTensor:
    """As `empty`, with the axes in memory in the order `physical_layout`."""
    extents, order = as_shape(size), as_shape(physical_layout)
    if sorted(order) != list(range(len(extents))):
        raise ArgumentError(f"empty_permuted: {order} is not an order of {len(extents)} axes")
    made = empty(tuple(extents[a] for a in order), **options)
    return F.permute(made, tuple(order.index(i) for i in range(len(order))))


@factory(Placement)
def full(
    size: ShapeLike | None = None, fill_value: TensorLike | None = None, dtype: DTypeLike | None = None,
    requires_grad: bool = False, *, shape: ShapeLike | None = None, value: TensorLike | None = None,
    **options: Unpack[Placement],
) -> AnyTensor:  # fmt: skip
    """`fill_value` everywhere; its own dtype unless `dtype` is given. `shape` and `value` are taken for PyTorch's names.

    Examples:
        >>> sg.full((2, 2), 7.0)
        tensor([[7., 7.],
                [7., 7.]])
    """
    size, fill_value = shape if size is None else size, value if fill_value is None else fill_value
    if isinstance(fill_value, Operators):
        filled = F.clone(F.broadcast_to(fill_value, as_shape(size)))
        return filled if dtype is None else F.astype(filled, dtype)
    if fill_value is None:
        raise ArgumentTypeError("full: the value is missing", "write sg.full(size, fill_value)")
    check_unmasked(fill_value)
    kind = as_array(fill_value).dtype if dtype is None else as_dtype(dtype)
    try:
        extents = as_shape(size)
        if is_scalar(fill_value):
            return _filled(fill_value, extents, kind, requires_grad)
        return _made(np.full(extents, fill_value, kind), requires_grad)
    except OverflowError as error:
        raise DTypeError(f"full: {error}") from None


@factory(Options)
def scalar_tensor(s: float, **options: Unpack[Options]) -> AnyTensor:
    """A number as a 0-d tensor, of the default float unless `dtype` is given."""
    return _made(np.array(s, _dtype(options.get("dtype"))), options.get("requires_grad", False))


@factory(Placement)
def eye(
    n: int, m: int | None = None, dtype: DTypeLike | None = None, requires_grad: bool = False, **options: Unpack[Placement],
) -> AnyTensor:  # fmt: skip
    """Ones on the diagonal of an n x m matrix (m = n unless given).

    Examples:
        >>> sg.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    n, m = as_shape((n, n if m is None else m))
    kind = _dtype(dtype)
    try:
        array = np.eye(n, m, dtype=kind)
    except (MemoryError, ValueError) as error:
        raise _no_memory((n, m), kind, error) from None
    return _made(array, requires_grad)


@factory(Placement)
def arange(
    start: float | AnyTensor | None = None, end: float | AnyTensor | None = None, step: float | AnyTensor = 1,
    dtype: DTypeLike | None = None, requires_grad: bool = False, *, stop: float | AnyTensor | None = None,
    **options: Unpack[Placement],
) -> AnyTensor:  # fmt: skip
    """start, start + step, ... before end (also called `stop`); int64 for integers, else the default float.

    Examples:
        >>> sg.arange(3), sg.arange(1.0, 2.0, 0.5)
        (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    end = stop if end is None else end
    given = (0, start) if end is None else (0 if start is None else start, end)
    first, last, by = [_plain(value) for value in (*given, step)]
    for name, value in (("start", first), ("stop", last), ("step", by)):
        if not is_number(value):
            raise ArgumentError(f"arange: {name} has to be a number, got {value!r}")
    if by == 0:
        raise ArgumentError("arange: step must be nonzero")
    floating = any(isinstance(v, (float, np.floating)) for v in (first, last, by))
    kind = (get_default_dtype() if floating else np.dtype(np.int64)) if dtype is None else as_dtype(dtype)
    if kind.kind in "iu":
        first, last, by = int(first), int(last), int(by) or by
    try:
        values = np.arange(first, last, by)
    except MemoryError as error:
        raise _no_memory((math.ceil((last - first) / by),), kind, error) from None
    except ValueError as error:
        raise ArgumentError(f"arange: {error}", f"from {first} to {last} by {by}") from None
    return _made(values.astype(kind), requires_grad)


@factory(Options)
def range_(
    start: float | AnyTensor = 0,
    end: float | AnyTensor | None = None,
    step: float | AnyTensor = 1,
    **options: Unpack[Options],
) -> AnyTensor:
    """start, start + step, ... up to and with `end`, of the default float unless `dtype` is given. PyTorch deprecates it."""
    warn_former(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's "
        "range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
    )
    first, last, by = [_plain(value) for value in ((0, start, step) if end is None else (start, end, step))]
    for name, value in (("start", first), ("end", last), ("step", by)):
        if not is_number(value) or np.ndim(value):
            raise ArgumentError(f"range: {name} has to be a number, got {value!r}")
    if by == 0 or (last - first) * by < 0:
        raise ArgumentError("range: upper bound and lower bound inconsistent with step sign", f"{first} to {last} by {by}")
    values = first + np.arange(math.floor((last - first) / by) + 1) * by
    return _made(values.astype(_dtype(options.get("dtype"))), options.get("requires_grad", False))


@factory(Placement)
def linspace(
    start: float | AnyTensor, end: float | AnyTensor | None = None, steps: int | AnyTensor | None = None,
    dtype: DTypeLike | None = None, requires_grad: bool = False, *, stop: float | AnyTensor | None = None, num: int = 50,
    **options: Unpack[Placement],
) -> AnyTensor:  # fmt: skip
    """`steps` evenly spaced values from start to end, both included. NumPy's `stop` and `num` are taken, too.

    Examples:
        >>> sg.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    last, count = stop if end is None else end, num if steps is None else steps
    if _computed(start, last):
        return F.astype(_spaced_between(start, last, count, _dtype(dtype)), _dtype(dtype))
    values = _spaced("linspace", start, last, count, _dtype(dtype))
    return _made(values.astype(_dtype(dtype)), requires_grad)


@factory(Options)
def logspace(
    start: float | AnyTensor, end: float | AnyTensor, steps: int | AnyTensor, base: float = 10.0, **options: Unpack[Options],
) -> AnyTensor:  # fmt: skip
    """base**start to base**end, with evenly spaced exponents.

    Examples:
        >>> sg.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """
    with np.errstate(all="ignore"):
        dtype = _dtype(options.get("dtype"))
        if _computed(start, end):
            first, last = (_whole(v) if dtype.kind in "iu" else v for v in (start, end))
            return F.astype(F.pow(float(base), _spaced_between(first, last, steps, np.dtype(np.float64))), dtype)
        start, end = (int(v) if dtype.kind in "iu" and is_number(v) else v for v in map(_plain, (start, end)))
        values = np.power(float(base), _spaced("logspace", start, end, steps, np.dtype(np.float64)))
        return _made(values.astype(dtype), options.get("requires_grad", False))


def _whole(value: Any) -> Any:
    """An end without its fraction."""
    return F.trunc(value) if is_tensor(value) and value.dtype.kind == "f" else value


def _computed(start: Any, stop: Any) -> bool:
    """Whether an end is a tensor without a value: one of a graph, of a trace or under a transform."""
    tracing = frontends.tracing and state.tracer is not None
    return any(is_tensor(v) and (tracing or not isinstance(v, Tensor)) for v in (start, stop))


def _spaced_between(start: Any, stop: Any, num: Any, dtype: np.dtype) -> Any:
    """As `_spaced`, of ends that are tensors without values, in float64. No gradient flows, as in PyTorch."""
    (count,) = as_shape((_plain(num),))
    first, last = (F.stop_gradient(F.astype(v, np.float64)) for v in (start, stop))
    if dtype.kind in "iu":
        first, last = F.trunc(first), F.trunc(last)
    places = np.arange(count, dtype=np.float64)
    values = first + places * ((last - first) / max(count - 1, 1))
    values = F.where(places == count - 1, last, values) if count > 1 else values
    return F.trunc(values) if dtype.kind in "iu" else values


def _spaced(name: str, start: Any, stop: Any, num: Any, dtype: np.dtype) -> np.ndarray:
    start, stop, num = map(_plain, (start, stop, num))
    for word, value in (("start", start), ("stop", stop)):
        if not is_number(value) or np.ndim(value):
            raise ArgumentError(f"{name}: {word} has to be a number, got {value!r}")
    if dtype.kind in "iu":
        start, stop = int(start), int(stop)
    (count,) = as_shape((num,))
    values = np.linspace(start, stop, count)
    return np.trunc(values) if dtype.kind in "iu" else values


def _plain(value: Any) -> Any:
    """The number of a 0-d tensor; anything else as it is."""
    return value.item() if is_tensor(value) and not value.shape else value


# like another tensor --------------------------------------------------------------------------------------------------


def _beside(x: Any, made: Any) -> Any:
    """A fresh tensor, in the graph of x if that belongs to one."""
    if isinstance(x, MetaTensor):
        return on_meta(made)
    if isinstance(x, Symbol) and x.graph is not None and isinstance(made, Tensor):
        return append(x.graph, REGISTRY["identity"], (made._data,), {})
    return made


def _new(name: str, function: Any) -> Any:
    """A method that makes a tensor of this one's dtype."""

    def method(self: Any, *args: Any, dtype: Any = None, **options: Any) -> AnyTensor:
        if frontends.tracing and state.on_meta is not None:  # it is made where this tensor is
            options.setdefault("device", CPU)
        return _beside(self, function(*args, dtype=self.dtype if dtype is None else dtype, **options))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`{function.__name__}`, of this tensor's dtype unless one is given."
    return method


for _name, _function in (
    ("new_zeros", zeros), ("new_ones", ones), ("new_empty", empty), ("new_full", full), ("new_tensor", tensor),
    ("new_empty_strided", empty_strided),
):  # fmt: skip
    setattr(Operators, _name, _new(_name, _function))


def _new_legacy(self: Any, *args: Any, device: Any = None) -> AnyTensor:
    """PyTorch's older name: of sizes, an empty tensor; of data, a tensor; of this one's dtype."""
    return _beside(self, _legacy("new", self.dtype, args, device))


Operators.new = _new_legacy  # type: ignore[method-assign]


# constructors ---------------------------------------------------------------------------------------------------------


def _legacy(name: str, dtype: np.dtype, args: tuple[Any, ...], device: Any, requires_grad: bool = False) -> Any:
    """What PyTorch's constructors of tensors make: an empty tensor of sizes, a copy of data, a tensor itself."""
    check_device(device)
    if not args:
        return _made(np.zeros((0,), dtype), requires_grad)
    if len(args) == 1 and isinstance(args[0], Size):  # extents, where a list is data
        return _made(np.zeros(as_shape(args[0]), dtype), requires_grad)
    if len(args) == 1 and not (isinstance(args[0], (int, np.integer)) and not isinstance(args[0], bool)):
        data = args[0]
        traced = frontends.tracing and state.tracer is not None and not is_scalar(data) and not isinstance(data, str)
        if traced and (not is_tensor(data) or getattr(data, "_is_array", False)):
            return tensor(data, dtype, requires_grad)
        if is_tensor(data):
            if data.dtype != dtype:
                raise DTypeError(f"{name}: expected a tensor of dtype {dtype}, got {data.dtype}", f"write x.to({dtype})")
            return data.requires_grad_(True) if requires_grad else data
        if is_scalar(data) or isinstance(data, str):
            raise DTypeError(f"{name}: data must be a sequence (got {type(data).__name__})", f"write tensor({data!r})")
        array = as_array(with_numbers(data)) if hasattr(data, "dtype") or len(data) else np.zeros((0,), dtype)
        return _made(array.astype(dtype), requires_grad)
    return _made(np.zeros(_extents(args), dtype), requires_grad)


def _public_tensor(*data: Any, device: Any = None, requires_grad: bool = False, **known: Any) -> Any:
    """`sg.Tensor(...)`, as PyTorch's: of the default float. known: what another tensor keeps about itself, which code hands
    over that makes a parameter again on another device, `type(p)(p.to(device), **vars(p))`. Raises TypeError for others."""
    for name in known:
        if not hasattr(Tensor, name):
            raise TypeError(f"Tensor() got an unexpected keyword argument {name!r}")
    return _legacy("Tensor", get_default_dtype(), data, device, requires_grad)


class _OfDType(type):
    """The class of `FloatTensor` and the like: tensors of one dtype; calling it makes one."""

    dtype: np.dtype

    def __call__(cls, *data: Any, device: Any = None) -> Any:
        return _legacy(cls.__name__, cls.dtype, data, device)

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, PublicTensor) and x.dtype == cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'staticgrad.{cls.__name__}'>"


def _of_dtype(name: str) -> Any:
    doc = f"Tensors of dtype {TENSOR_NAMES[name]}: an empty one of sizes, or a copy of data."
    return _OfDType(name, (), {"dtype": TENSOR_NAMES[name], "__doc__": doc, "__module__": "staticgrad"})


HalfTensor = _of_dtype("HalfTensor")
BFloat16Tensor = _of_dtype("BFloat16Tensor")
FloatTensor = _of_dtype("FloatTensor")
DoubleTensor = _of_dtype("DoubleTensor")
ByteTensor = _of_dtype("ByteTensor")
CharTensor = _of_dtype("CharTensor")
ShortTensor = _of_dtype("ShortTensor")
IntTensor = _of_dtype("IntTensor")
LongTensor = _of_dtype("LongTensor")
BoolTensor = _of_dtype("BoolTensor")


def asarray(obj: TensorLike, *, dtype: DTypeLike | None = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool = False) -> AnyTensor:  # fmt: skip
    """`obj` as a tensor, which shares its memory where it can; with copy=True, a copy."""
    if for_meta(device):
        return on_meta(asarray(obj, dtype=dtype, device=CPU, requires_grad=requires_grad))
    check_device(device)
    if dtype is not None and not is_tensor(obj) and not hasattr(obj, "__array__"):
        return tensor(obj, dtype, requires_grad)
    made: Any = obj if is_tensor(obj) else Tensor(with_numbers(obj))
    made = made if dtype is None else F.astype(made, dtype)
    made = F.clone(made).detach() if copy and made is obj else made
    return made.requires_grad_(True) if requires_grad else made


frontends.make_public = _public_tensor
