"""In-place operations: `x.add_(y)`, `x += y`, `x[i] = y`.

While recording, the tensor gets a new record and keeps its former one for records made before. Only the operation that
changed it still has the former value: other backward functions that need it raise PyTorch's error. Views share memory,
so a change of one is recorded as a change of all: the new value of the tensor that owns the memory is the former one with the
change at the positions of the view, and its other views are read from it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

import numpy as np

from ..errors import ArgumentError, DTypeError, GradientError, GraphError, IndexRangeError, ShapeError
from ..ir import REGISTRY
from ..operators import INPLACE, F, Index, Lifted, Operators, Symbol, TensorLike, apply, as_array, frontends, misuse, state
from ..ops.gathering import gather_op, scatter_op
from ..ops.indexing import check_order
from ..ops.placing import written
from ..ops.random import uniform_op
from ..types import PART_OF, category, check_unmasked, is_number, shape_text
from .execution import UNLISTED
from .grad_mode import modes, no_grad
from .pending import Pending, settle_all
from .tape import Record, overwritten_operand, touch
from .tensor import UNRECORDED, Tensor, check_inplace, unrecorded_view, wrap


def tracer() -> Any:
    return state.tracer if frontends.tracing else None


def replace(x: Tensor, value: Any, name: str) -> Tensor:
    """Give `x` a new value in its own memory. `value` was computed from x by a recorded or unrecorded operation.

    Raises before anything is changed.
    """
    if isinstance(value, Lifted) and not isinstance(x, Lifted):
        raise misuse.transformed(name, value.level.name)
    if isinstance(value, Symbol) and not isinstance(x, Lifted) and tracer() is None:
        raise of_a_graph(name, value)
    if value.shape != x.shape:
        raise ShapeError(
            f"{name}: output with shape {shape_text(x.shape)} doesn't match the broadcast shape {shape_text(value.shape)}"
        )
    if category(value.dtype) > category(x.dtype):
        raise DTypeError(f"{name}: result type {value.dtype} can't be cast to the desired output type {x.dtype}")
    if isinstance(x, Lifted):
        x.assign(F.astype(value, x.dtype), name)
        return x
    if tracer() is not None:
        tracer().assign(x, value, name)
        return x
    if state.deferral is not None and state.deferral.assign(x, value, name):
        return x
    value = value if value.dtype == x.dtype else F.astype(value, x.dtype)
    check_writeable(x, name)
    owner = _owner(x)
    recorded = modes.now.grad and (value._tracked or owner._tracked or x._tracked)
    if recorded and x is not owner and x._views is UNRECORDED:
        raise unrecorded_view("is being modified inplace")
    updates = _records(x, owner, value, name) if recorded else []
    array = value._data
    settle_all()  # what was noted reads the former value
    x._data[...] = array
    changed = touch(x, 3)
    for tensor, record in updates:
        _set_record(tensor, record, changed)
    return x


def record_change(x: Tensor, value: Tensor, name: str) -> None:
    """The maker of `value` has changed x in x's own memory: from now on that is x's record. Raises GradientError."""
    updates = _records(x, _owner(x), value, name)
    now = touch(x)
    for tensor, record in updates:
        _set_record(tensor, record, now)


def of_a_graph(name: str, value: Symbol) -> GraphError:
    """The error for an eager tensor that would be given the value of a symbol, which has none yet."""
    return GraphError(
        f"{name}: a tensor that has its value already can't take over that of {value.describe()}, which belongs to a graph",
        "write y = f(x, ...) for a new tensor of the graph, or fetch the value with Session.run first",
    )


def check_change(x: Any) -> None:
    """Raise GradientError for a leaf that requires grad, or a view of one, where its change would be recorded."""
    if isinstance(x, Lifted):
        return
    if tracer() is None:
        check_inplace(x)
    else:
        tracer().check_inplace(x)


def check_writeable(x: Tensor, name: str) -> None:
    """Raise GradientError for a tensor of read-only memory."""
    if x.__class__ is not Pending and not x._data.flags.writeable:
        raise misuse.read_only(name)


def _owner(x: Tensor) -> Any:
    """The tensor whose memory x is a part of: its base, unless the base was given other memory (`base.data = ...`)."""
    return x if x._base is None or not np.may_share_memory(x._data, x._base._data) else x._base


def _set_record(tensor: Tensor, record: Record, now: int) -> None:
    """From now on `record` is the maker of the tensor's value."""
    tensor._history = (*tensor._history, (now, tensor._record, tensor._tracked))
    tensor._record, tensor._tracked = record, True
    if tensor._retained is not None:
        tensor._retained.remove()
        tensor._retained = None
        tensor.retain_grad()


def _records(x: Tensor, owner: Any, value: Tensor, name: str) -> list[tuple[Any, Any]]:
    """The new records: of x, of the tensor that owns its memory, and of that one's other views."""
    new: Any = value._record if value._tracked else _without_flow(x, value)
    _keep_former(new, x)
    if x is owner:
        updates, whole = [(x, new)], wrap(value._data, new)
    elif _same_order(x, owner):
        whole = cast("Tensor", F.reshape(wrap(value._data, new), owner.shape))
        updates = [(owner, whole._record), (x, _read_again(x, owner, whole))]
    else:
        part, seen = wrap(value._data, new), _seen_as(x.dtype, owner)
        mask, flat = _written(seen, places_of(x, seen), part)
        whole = cast("Tensor", F.where(mask, flat, seen))
        _forget(whole._record, seen)
        whole = whole if seen is owner else cast("Tensor", F.view_as_complex(whole))
        updates = [(owner, whole._record), (x, _read_again(x, owner, whole))]
    if owner._views is UNLISTED:
        raise GradientError(
            f"{name}: this tensor has views from when it was a leaf that required grad", "change a clone() of it"
        )
    for reference in owner._views or ():
        view = reference()
        if view is None or view is x or view._base is not owner:
            continue
        if np.may_share_memory(view._data, owner._data):  # its gradient is the owner's, even without an overlap
            if view._views is UNRECORDED:
                updates.append((view, _ambiguous(view)))
                continue
            if view._tracked and view._record is None:
                raise GradientError(
                    f"{name}: a view of this tensor is a leaf that requires grad; it can't take a recorded change",
                    "change a clone(), or make the view's own memory: leaf = x[i].detach().clone()",
                )
            updates.append((view, _read_again(view, owner, whole)))
    return updates


def _same_order(view: Tensor, owner: Tensor) -> bool:
    """Whether a view shows all elements of its owner, in the owner's order."""
    a, b = view._data, owner._data
    return a.size == b.size and a.dtype == b.dtype and a.flags.c_contiguous and b.flags.c_contiguous


def _seen_as(dtype: np.dtype, owner: Tensor) -> Tensor:
    """The memory of a tensor in the dtype of a view of it: of complex numbers, their parts. Raises GradientError for others."""
    if dtype == owner.dtype:
        return owner
    if PART_OF.get(owner.dtype) != dtype:
        raise GradientError(
            f"a {dtype} view of {owner.dtype} memory can't be changed in place while it is recorded",
            "change a clone() of it",
        )
    return cast("Tensor", F.view_as_real(owner))


def _read_again(view: Tensor, owner: Tensor, whole: Tensor) -> Record:
    """The record of a view as read from the present value of the tensor that owns its memory."""
    same = _same_order(view, owner)
    if not same:
        places = wrap(places_of(view, _seen_as(view.dtype, owner)))
        again = apply(gather_op, F.reshape(_seen_as(view.dtype, whole), (-1,)), places, axis=0)
    else:
        again = whole
    record: Record = cast("Any", F.reshape(again, view.shape))._record
    return record


def _without_flow(x: Tensor, value: Tensor) -> Record:
    """A record through which no gradient flows: x was overwritten by a value without one."""
    return Record(REGISTRY["broadcast_like"], (value, wrap(x._data)), {}, value._data)


def _ambiguous(view: Tensor) -> Record:
    """The record of a view made under `no_grad` whose base is changed: whether it has a gradient is ambiguous."""
    record = _without_flow(view, wrap(view._data))

    def refuse(cotangent: Any) -> None:
        raise unrecorded_view("its base or another view of its base has been modified inplace")

    record.add_hook(refuse)
    return record


def _keep_former(record: Any, x: Tensor) -> None:
    """Replace x by a copy of its former value among the operands of its new record, lest the record be its own operand."""
    if any(t is x for t in record.inputs):
        former = wrap(x._data.copy())
        former._record, former._tracked = x._record, x._tracked
        record.inputs = tuple(former if t is x else t for t in record.inputs)


def _forget(record: Any, x: Tensor) -> None:
    """As `_keep_former`, without a copy, for a rule that reads no value of x."""
    record.inputs = tuple(overwritten_operand(x, record) if t is x else t for t in record.inputs)


def _written(owner: Tensor, places: np.ndarray, part: Tensor) -> tuple[Tensor, Any]:
    """A mask of the positions `places`, and the values of `part` there (0 elsewhere), in the owner's shape."""
    mask = np.zeros(owner.shape, bool)
    mask.reshape(-1)[places.reshape(-1)] = True
    room = wrap(np.broadcast_to(np.zeros((), owner.dtype), (owner._data.size,)))
    flat = apply(scatter_op, F.reshape(part, (-1,)), room, wrap(places.reshape(-1)), axis=0)
    return wrap(mask), F.reshape(flat, owner.shape)


def places_of(view: Tensor, owner: Tensor) -> np.ndarray:
    """The positions of a view's elements among those of its owner, found by their addresses."""
    inside = addresses(view._data)
    if owner._data.flags.c_contiguous:
        result: np.ndarray = (inside - owner._data.__array_interface__["data"][0]) // owner._data.itemsize
        return result
    whole = addresses(owner._data).reshape(-1)
    order = np.argsort(whole, kind="stable")
    return order[np.searchsorted(whole, inside, sorter=order)]


def addresses(array: np.ndarray) -> np.ndarray:
    """The address of each element."""
    result = np.full(array.shape, array.__array_interface__["data"][0], np.int64)
    for axis, (extent, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        shape = [1] * array.ndim
        shape[axis] = extent
        result += (np.arange(extent, dtype=np.int64) * stride).reshape(shape)
    return result


# the methods ----------------------------------------------------------------------------------------------------


def _inplace(name: str) -> Callable[..., Tensor]:
    function = getattr(F, name)

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_change(self)
        fresh = function(self, *args, **kwargs)
        if getattr(fresh, "_drawn", False):
            self._drawn = True
        return replace(self, fresh, name + "_")

    method.__wrapped__ = function  # type: ignore[attr-defined]  # it takes the same arguments
    method.__name__ = name + "_"
    method.__doc__ = f"`{name}` in place. Raises GradientError for a leaf that requires grad while recording."
    return method


for _name in INPLACE:
    setattr(Tensor, _name + "_", _inplace(_name))

for _dunder, _name in (
    ("__iadd__", "add"), ("__isub__", "sub"), ("__imul__", "mul"), ("__itruediv__", "div"), ("__ipow__", "pow"),
    ("__ifloordiv__", "floor_divide"), ("__imod__", "remainder"), ("__iand__", "bitwise_and"), ("__ior__", "bitwise_or"),
    ("__ixor__", "bitwise_xor"), ("__ilshift__", "bitwise_left_shift"), ("__irshift__", "bitwise_right_shift"),
):  # fmt: skip
    setattr(Tensor, _dunder, getattr(Tensor, _name + "_"))


def polygamma_(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of `digamma`, in place."""
    check_change(self)
    return replace(self, F.polygamma(n, self), "polygamma_")


def _shape_kept(name: str, instead: str) -> Callable[..., Tensor]:
    def method(self: Tensor, *args: Any, **named: Any) -> Tensor:
        raise ArgumentError(
            f"{name}: a tensor keeps its shape and its memory, which records, views and compiled functions depend on",
            f"write {instead}",
        )

    method.__name__ = name
    method.__doc__ = f"Refused: write `{instead}`. Raises ArgumentError."
    return method


for _name, _call in (
    ("squeeze_", "x.squeeze(dim)"), ("unsqueeze_", "x.unsqueeze(dim)"), ("transpose_", "x.transpose(dim0, dim1)"),
    ("swapaxes_", "x.swapaxes(axis0, axis1)"), ("swapdims_", "x.swapdims(dim0, dim1)"), ("t_", "x.t()"),
    ("resize_", "x.reshape(shape), or sg.empty(shape)"), ("resize_as_", "x.reshape(other.shape), or sg.empty_like(other)"),
    ("as_strided_", "x.as_strided(size, stride)"), ("set_", "source.clone()"),
):  # fmt: skip
    setattr(Tensor, _name, _shape_kept(_name, f"x = {_call}"))


def copy_(self: Tensor, value: TensorLike) -> Tensor:
    """Take over the values of `value` (broadcast, cast to this dtype)."""
    check_change(self)
    if not hasattr(value, "shape"):
        check_unmasked(value)
        value = Tensor(np.asarray(value, self.dtype))
    elif isinstance(value, np.ndarray):
        value = Tensor(as_array(value))
    try:
        value = F.broadcast_to(F.astype(value, self.dtype), self.shape)
    except ShapeError as error:
        raise ShapeError(f"copy_: {error.summary.removeprefix('broadcast_to: ')}") from None
    return replace(self, F.clone(value) if getattr(value, "requires_grad", False) else value, "copy_")


def fill_(self: Tensor, value: TensorLike) -> Tensor:
    """Set every element to a number."""
    check_change(self)
    check_unmasked(value)
    value = F.astype(value, self.dtype) if isinstance(value, Operators) else np.asarray(value, self.dtype)
    if value.shape:
        raise ShapeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {len(value.shape)} dimensions.",
            "copy_ takes the values of a tensor",
        )
    return replace(self, F.broadcast_like(value, self), "fill_")


def zero_(self: Tensor) -> Tensor:
    """Set every element to 0."""
    return fill_(self, 0)


def _fill_random(name: str, defaults: dict[str, Any], values: Callable[..., Any]) -> Callable[..., Tensor]:
    """A method that draws: `values(x, source, *arguments)`, whose names and defaults are given."""

    def method(self: Tensor, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        unknown = [word for word in named if word not in defaults]
        if len(args) > len(defaults) or unknown:
            raise TypeError(f"{name}() takes {', '.join(defaults)} and generator, got {', '.join(unknown) or len(args)}")
        if self.dtype in PART_OF and name not in ("normal_", "uniform_"):
            raise DTypeError(f"{name} is not implemented for complex numbers", f"use x.real.{name}(...) and x.imag.{name}(...)")
        given = {**defaults, **dict(zip(defaults, args, strict=False)), **named}
        check_change(self)
        with no_grad():
            fresh = values(self, generator, *given.values())
        if isinstance(fresh, Tensor):
            self._drawn = True
        return replace(self, fresh, name)

    method.__name__ = name
    return method


def _uniform_of(x: Tensor, source: Any, dtype: Any = None) -> Any:
    """Uniform numbers in [0, 1) in x's shape; in x's dtype if that is floating."""
    from .generator import _draw_like

    return _draw_like(uniform_op, x, dtype or (x.dtype if x.dtype.kind == "f" else np.float64), source)


def _check_drawing(given: bool, text: str) -> None:
    """Raises ArgumentError for parameters that no distribution has; a tensor's value is not read."""
    if not given:
        raise ArgumentError(text)


def _normal(x: Tensor, source: Any, mean: float, std: float) -> Any:
    _check_drawing(isinstance(std, Operators) or std >= 0, f"normal expects std >= 0.0, but found std {std}")
    from .generator import randn

    return randn(x.shape, dtype=x.dtype, generator=source) * std + mean


def _uniform(x: Tensor, source: Any, low: float, high: float) -> Any:
    from .generator import rand

    given = isinstance(low, Operators) or isinstance(high, Operators) or low <= high
    _check_drawing(given, f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    least = complex(low, low) if x.dtype in PART_OF else low
    return rand(x.shape, dtype=x.dtype, generator=source) * (high - low) + least


def _exponential(x: Tensor, source: Any, rate: float) -> Any:
    if not is_number(rate) or isinstance(rate, Operators) or not rate > 0:
        raise ArgumentError(f"exponential_ expects lambda > 0.0, but found lambda={rate}")
    return F.log1p(-_uniform_of(x, source)) * (-1 / rate)


def _cauchy(x: Tensor, source: Any, median: float, sigma: float) -> Any:
    _check_drawing(isinstance(sigma, Operators) or sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    angle = (_uniform_of(x, source) - 0.5) * np.pi
    return F.sin(angle) / F.cos(angle) * sigma + median


def _log_normal(x: Tensor, source: Any, mean: float, std: float) -> Any:
    _check_drawing(isinstance(std, Operators) or std > 0, f"log_normal_ expects std > 0.0, but found std={std}")
    return F.exp(_normal(x, source, mean, std))


def _geometric(x: Tensor, source: Any, p: float) -> Any:
    if not is_number(p) or isinstance(p, Operators) or not 0 < p < 1:
        raise ArgumentError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    count = F.ceil(F.log1p(-_uniform_of(x, source)) / np.log1p(-p))
    return F.astype(F.maximum(count, 1), x.dtype)


def _random(x: Tensor, source: Any, low: Any, high: Any) -> Any:
    """Integers in [low, high); up to 2**24 or 2**53 in floats, up to the largest one in integers."""
    if high is None:
        low, high = 0, low
    if high is None:
        high = 2 ** np.finfo(x.dtype).nmant if x.dtype.kind == "f" else 2 if x.dtype == bool else int(np.iinfo(x.dtype).max)
    low = 0 if low is None else low
    return F.astype(F.floor(_uniform_of(x, source, np.float64) * (high - low)) + low, x.dtype)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """1 with probability p (a number or a tensor), else 0."""
    check_change(self)
    with no_grad():
        fresh = F.astype(F.lt(_uniform_of(self, generator), p), self.dtype)
    if isinstance(fresh, Tensor):
        self._drawn = True
    return replace(self, fresh, "bernoulli_")


def _casted(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, source, *args: F.astype(function(x, source, *args), x.dtype)


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Set the diagonal to a number."""
    check_change(self)
    if self.ndim < 2:
        raise ShapeError("dimensions must larger than 1", f"fill_diagonal_: got shape {shape_text(self.shape)}")
    mask = np.zeros(self.shape, bool)
    np.fill_diagonal(mask, True, wrap)
    return replace(self, F.where(mask, np.asarray(fill_value, self.dtype), self), "fill_diagonal_")


def __setitem__(self: Tensor, key: Index, value: TensorLike) -> None:
    """self[key] = value, with gradients to both."""
    check_change(self)
    if isinstance(self, Lifted):
        _set_lifted(self, key, value)
        return
    parts = (value, *(key if isinstance(key, tuple) else (key,)))
    for part in parts:
        if isinstance(part, Lifted):
            raise misuse.transformed("setitem", part.level.name)
    if tracer() is not None:
        tracer().assign_item(self, key, value)
        return
    for part in parts:
        if isinstance(part, Symbol):
            raise of_a_graph("setitem", part)
    check_unmasked(value)
    value = value if isinstance(value, Tensor) else Tensor(np.asarray(value))
    if category(value.dtype) > category(self.dtype):
        raise DTypeError(f"setitem: {value.dtype} values can't be written to a {self.dtype} tensor", "cast one of them")
    keys: Sequence[Any] = key if isinstance(key, tuple) else (key,)
    check_order(keys)
    plain = tuple([k._data if isinstance(k, Tensor) else k for k in keys])
    owner = _owner(self)
    if not modes.now.grad or not (self._tracked or value._tracked or owner._tracked):
        _write(self._data, plain, value._data)
        touch(self)
        return
    places = np.arange(self._data.size).reshape(self.shape)
    try:
        places = places[plain]
    except IndexError as error:
        raise index_error(error) from None
    shape = value.shape[max(value.ndim - places.ndim, 0) :]  # NumPy drops leading axes of extent 1
    try:
        spread = F.broadcast_to(F.reshape(F.astype(value, self.dtype), shape), places.shape)
    except ShapeError:
        raise _misfit(value.shape, places.shape) from None
    if len(np.unique(places)) != places.size:
        raise GradientError("setitem: an index is named twice, so the gradient is not defined", "make the indices unique")
    mask, flat = _written(self, places, cast("Tensor", spread))
    replace(self, F.where(mask, flat, self), "setitem")


def _set_lifted(x: Any, key: Any, value: Any) -> None:
    """x[key] = value of a tensor under a transform: a new value with the elements that the key names replaced."""
    value = value if isinstance(value, Operators) else np.asarray(value, x.dtype)
    if category(value.dtype) > category(x.dtype):
        raise DTypeError(f"setitem: {value.dtype} values can't be written to a {x.dtype} tensor", "cast one of them")
    keys: Sequence[Any] = key if isinstance(key, tuple) else (key,)
    value = F.astype(value, x.dtype)
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
        raise misuse.read_only("setitem")
    try:
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
    kind = IndexRangeError if "out of bounds" in str(error) or "too many" in str(error) else ArgumentError
    return kind(f"setitem: {error}")


def _misfit(value: Any, places: Any) -> ShapeError:
    return ShapeError(f"setitem: can't write a value of shape {shape_text(value)} to places of shape {shape_text(places)}")


for _function in (copy_, polygamma_, fill_, zero_, bernoulli_, fill_diagonal_, __setitem__):
    setattr(Tensor, _function.__name__, _function)
for _name, _defaults, _values in (
    ("normal_", {"mean": 0.0, "std": 1.0}, _normal),
    ("uniform_", {"from": 0.0, "to": 1.0}, _uniform),
    ("exponential_", {"lambd": 1.0}, _casted(_exponential)),
    ("cauchy_", {"median": 0.0, "sigma": 1.0}, _cauchy),
    ("log_normal_", {"mean": 1.0, "std": 2.0}, _log_normal),
    ("geometric_", {"p": None}, _geometric),
    ("random_", {"from": None, "to": None}, _random),
):
    setattr(Tensor, _name, _fill_random(_name, _defaults, _values))


def _refused(name: str) -> Callable[..., NoReturn]:
    def method(self: Symbol, *args: Any, **kwargs: Any) -> NoReturn:
        call = "x[index] = value" if name == "__setitem__" else f"x.{name}()"
        raise GraphError(
            f"{call}: {self.describe()} belongs to a graph, whose tensors are not changed in place",
            "write y = f(x) for a new tensor; a Variable is changed by w.assign(value), w.assign_add(delta) or "
            "w.assign_sub(delta), operations that a run does",
        )

    method.__name__ = name
    return method


for _name in [name for name, value in vars(Tensor).items() if getattr(value, "__module__", "") == __name__]:
    if not _name.startswith("__i"):  # x += y makes a new tensor, for Python has a meaning for it
        setattr(Symbol, _name, _refused(_name))
for _name in [name for name, value in vars(Tensor).items() if getattr(value, "__module__", "") == __name__]:
    setattr(Lifted, _name, getattr(Tensor, _name))
