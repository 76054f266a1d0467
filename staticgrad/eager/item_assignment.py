"""`x[key] = value`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

import numpy as np

from ..base.types import category, check_unmasked, shape_text
from ..errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from ..ops.indexing import WHOLE, as_key, as_read, bounds, ints_first, written_op
from ..ops.operators import F, Index, Lifted, Operators, Symbol, TensorLike, apply, misuse
from ..ops.placing import written
from .grad_mode import modes, no_grad
from .inplace import check_change, check_overlap, check_writeable, of_a_graph, one_memory, owner_of, replace, tracer
from .pending import settle_all
from .tape import touch
from .tensor import PublicTensor, Tensor

Written = TypeVar("Written", bound=Any)


def __setitem__(self: Tensor, key: Index, value: TensorLike) -> None:
    """self[key] = value, with gradients to both."""
    check_change(self)
    if isinstance(self, Lifted):
        _set_lifted(self, key, value)
        return
    key = as_read(key)
    parts = (value, *(key if isinstance(key, tuple) else (key,)))
    for part in parts:
        if isinstance(part, Lifted):
            raise misuse.transformed("setitem", part.level.name)
    if tracer() is not None:
        tracer().memory.assign_item(self, key, value)
        return
    for part in parts:
        if isinstance(part, Symbol):
            raise of_a_graph("setitem", part)
    check_unmasked(value)
    if value.__class__ is PublicTensor and one_memory(self._data, value._data):
        check_part(self, key, value)
    value = value if isinstance(value, Tensor) else Tensor(np.asarray(value))
    keys: Sequence[Any] = key if isinstance(key, tuple) else (key,)
    value = fitting(value, self.dtype, keys)
    plain = tuple([k._data if isinstance(k, Tensor) else k for k in keys])
    owner = owner_of(self)
    if not modes.now.grad or not (self._tracked or value._tracked or owner._tracked):
        check_writeable(self, "setitem")
        _write(self._data, plain, value._data)
        touch(self)
        return
    slices = slices_named(plain, self._data.ndim)
    if slices is None:
        places = places_named(np.arange(self._data.size).reshape(self.shape), plain)
        flat = written(F.reshape(self, (-1,)), Tensor(places), _spread(self, value, places.shape))
        replace(self, F.reshape(flat, self.shape), "setitem")
    else:
        try:
            shape = self._data[as_key(slices)].shape
        except IndexError as error:
            raise index_error(error) from None
        replace(self, apply(written_op, self, _spread(self, value, shape), slices=slices), "setitem")


def _spread(x: Tensor, value: Tensor, shape: tuple[int, ...]) -> Any:
    """A value in the dtype of x and the shape of places in it. NumPy drops leading axes of extent 1."""
    value = value if value.dtype == x.dtype else cast("Tensor", F.astype(value, x.dtype))
    if value.shape == shape:
        return value
    try:
        return F.broadcast_to(F.reshape(value, value.shape[max(value.ndim - len(shape), 0) :]), shape)
    except ShapeError:
        raise _misfit(value.shape, shape) from None


def slices_named(keys: tuple[Any, ...], ndim: int) -> tuple[Any, ...] | None:
    """Ints, slices and an Ellipsis as the attribute of the op that writes such a part; None for other keys."""
    found: list[Any] = []
    whole: int | None = None
    for k in keys:
        if k.__class__ is int:
            found.append(k)
        elif k.__class__ is slice:
            found.append(bounds(k))
        elif k is Ellipsis and whole is None:
            whole = ndim - len(keys) + 1
            found += [WHOLE] * whole
        else:
            return None
    return tuple(found)


def check_part(x: Any, key: Any, value: Any) -> None:
    """Raises GradientError for a value in a part of the memory that is overwritten; see `check_overlap`."""
    if x.__class__ is PublicTensor and np.may_share_memory(x._data, value._data):
        with no_grad():
            part = F.getitem(x, key)
        check_overlap(part, value, "setitem")


def places_named(numbers: np.ndarray, keys: tuple[Any, ...]) -> np.ndarray:
    """The elements of an array that keys name, by PyTorch's rules."""
    try:
        part, keys = ints_first(numbers, keys)
        return np.asarray(part[keys])
    except IndexError as error:
        raise index_error(error) from None


def fitting(value: Written, dtype: np.dtype, keys: Sequence[Any]) -> Written:
    """A value of another category than the tensor's is cast, as in PyTorch: `mask[..., 0] = 0` writes False. Raises DTypeError
    for complex numbers, and for several values in places that a mask or an array names."""
    if category(value.dtype) <= category(dtype):
        return value
    if value.dtype.kind == "c" or (value.ndim and any(isinstance(k, (Operators, np.ndarray, list)) for k in keys)):
        raise DTypeError(f"setitem: {value.dtype} values can't be written to a {dtype} tensor", "cast one of them")
    return cast("Written", F.astype(value, dtype))


def _set_lifted(x: Any, key: Any, value: Any) -> None:
    """x[key] = value of a tensor under a transform: a new value with the elements that the key names replaced."""
    value = value if isinstance(value, Operators) else np.asarray(value, x.dtype)
    key = as_read(key)
    keys: Sequence[Any] = key if isinstance(key, tuple) else (key,)
    value = F.astype(fitting(value, x.dtype, keys), x.dtype)
    masks = [k for k in keys if isinstance(k, Operators) and k.dtype == np.bool_]
    if masks and len(keys) == 1:
        mask = F.reshape(masks[0], (*masks[0].shape, *[1] * (x.ndim - masks[0].ndim)))
        if value.shape:
            raise ArgumentError("setitem: values for a mask depend on how many it names", "use sg.where(mask, value, x)")
        replace(x, F.where(mask, value, x), "setitem")
        return
    places = F.getitem(np.arange(int(np.prod(x.shape))).reshape(x.shape), key)
    shape = value.shape[max(value.ndim - len(places.shape), 0) :]
    try:
        spread = F.broadcast_to(F.reshape(value, shape), places.shape)
    except ShapeError:
        raise _misfit(value.shape, places.shape) from None
    flat = written(F.reshape(x, (-1,)), F.reshape(places, (-1,)), spread)
    replace(x, F.reshape(flat, x.shape), "setitem")


def _write(data: np.ndarray, key: tuple[Any, ...], value: np.ndarray) -> None:
    settle_all()
    if not data.flags.writeable:
        raise misuse.read_only("setitem", data.shape, data.strides)
    try:
        data, key = ints_first(data, key)
        data[key] = value
    except IndexError as error:
        raise index_error(error) from None
    except ValueError:
        extents = np.shape(data[key])
        lead = value.ndim - len(extents)
        if lead <= 0 or value.shape[:lead] != (1,) * lead:
            raise _misfit(value.shape, extents) from None
        _write(data, key, value.reshape(value.shape[lead:]))  # NumPy drops such axes only for some keys


def index_error(error: IndexError) -> Exception:
    return IndexRangeError(f"setitem: {error}")


def _misfit(value: Any, places: Any) -> ShapeError:
    return ShapeError(f"setitem: can't write a value of shape {shape_text(value)} to places of shape {shape_text(places)}")
