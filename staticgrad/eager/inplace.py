"""In-place operations: `x.add_(y)`, `x += y`, `x[i] = y`.

While recording, the tensor gets a new record and keeps its former one for records made before. Only the operation that
changed it still has the former value: other backward functions that need it raise PyTorch's error. Views share memory,
so a change of one is recorded as a change of all: the new value of the tensor that owns the memory is the former one with the
change at the positions of the view, and its other views are read from it again.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, cast

import numpy as np

from ..base.dtypes import PART_OF
from ..base.types import category, shape_text
from ..errors import DTypeError, GradientError, GraphError, ShapeError
from ..ir import REGISTRY, Layout
from ..ops.gathering import gather_op, scatter_op
from ..ops.operators import F, Lifted, Symbol, apply, frontends, misuse, state
from ..ops.pointwise import saved_with_op
from .execution import UNLISTED
from .grad_mode import eager_kernels, modes
from .pending import Pending, settle_all
from .tape import Record, overwritten_operand, tick, touch
from .tensor import UNRECORDED, PublicTensor, Tensor, check_inplace, part_of, unrecorded_view, wrap


def tracer() -> Any:
    return state.tracer if frontends.tracing else None


def replace(x: Tensor, value: Any, name: str) -> Tensor:
    """Give `x` a new value in its own memory. `value` was computed from x by a recorded or unrecorded operation.

    Raises before anything is changed.
    """
    if value.__class__ is x.__class__ is PublicTensor and not (value._tracked and modes.now.grad):
        array, data = value._data, x._data
        if array.shape == data.shape and array.dtype is data.dtype and unrecorded(x, name):
            data[...] = array
            touch(x, 3)
            return x
    if isinstance(value, Lifted) and not isinstance(x, Lifted):
        raise misuse.transformed(name, value.level.name)
    if isinstance(value, Symbol) and not isinstance(x, Lifted) and tracer() is None:
        raise of_a_graph(name, value)
    if value.shape != x.shape:
        raise ShapeError(
            f"{name}: output with shape {shape_text(x.shape)} doesn't match the broadcast shape {shape_text(value.shape)}"
        )
    check_dtype(x, value, name)
    if isinstance(x, Lifted):
        x.assign(F.astype(value, x.dtype), name)
        return x
    if tracer() is not None:
        tracer().memory.assign(x, value, name)
        return x
    check_writeable(x, name)
    if frontends.tracing and state.deferral is not None and state.deferral.assign(x, value, name):
        return x
    value = value if value.dtype == x.dtype else F.astype(value, x.dtype)
    if x._tracked and not value._tracked:
        value = in_place_of(x, value)
    owner = owner_of(x)
    recorded = modes.now.grad and (value._tracked or owner._tracked or x._tracked)
    if recorded and x is not owner and x._views is UNRECORDED:
        raise unrecorded_view("is being modified inplace", x)
    updates = _records(x, owner, value, name) if recorded else []
    array = value._data
    settle_all()  # what was noted reads the former value
    try:
        x._data[...] = array
    except ValueError:
        check_writeable(x, name)  # a tensor that was pending has its memory only now
        raise
    changed = touch(x, 3)
    for tensor, record in updates:
        set_record(tensor, record, changed)
    return x


def check_dtype(x: Any, value: Any, name: str) -> None:
    """Raises DTypeError for a value whose dtype is of a higher category than that of x."""
    if category(value.dtype) > category(x.dtype):
        raise DTypeError(f"{name}: result type {value.dtype} can't be cast to the desired output type {x.dtype}")


def in_place_of(x: Any, value: Any) -> Any:
    """A value that x takes over whole: where x has a gradient it is recorded as a function of x, whose derivative is 0."""
    return apply(saved_with_op, value, x) if modes.now.grad and x.requires_grad else value


def record_change(x: Tensor, value: Tensor, name: str) -> None:
    """The maker of `value` has changed x in x's own memory: from now on that is x's record. Raises GradientError."""
    updates = _records(x, owner_of(x), value, name)
    now = touch(x)
    for tensor, record in updates:
        set_record(tensor, record, now)


def check_overlap(x: Any, operand: Any, name: str) -> None:
    """Raises GradientError for an operand that lies in a part of the memory that x overwrites, or in another order in it all;
    in any part of it for methods that write to places that they are given."""
    if frontends.tracing:
        layouts = None if tracer() is None else tracer().memory.in_one_memory(x, operand)
    elif x.__class__ is operand.__class__ is PublicTensor:
        a, b = x._data, operand._data
        if not one_memory(a, b) or a.dtype is not b.dtype:
            return
        layouts = layout_of_array(a), layout_of_array(b)
    else:
        return
    if layouts is not None and (layouts[0].crosses(layouts[1]) or (name in PLACING and layouts[0].range and layouts[1].range)):
        raise misuse.overlapping(name + "_")


def one_memory(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are parts of the memory of one array."""
    return (a if a.base is None else a.base) is (b if b.base is None else b.base)


PLACING = frozenset({"index_add", "index_copy", "index_put", "index_reduce", "put", "scatter", "scatter_add", "scatter_reduce"})
"""Functions that write to places that they are given."""


def layout_of_array(array: np.ndarray) -> Layout:
    """Its layout in the memory of the process."""
    size = array.itemsize
    first: int = array.__array_interface__["data"][0]
    return Layout(array.shape, tuple([s // size for s in array.strides]), first // size)


def of_a_graph(name: str, value: Symbol) -> GraphError:
    """The error for an eager tensor that would be given the value of a symbol, which has none yet."""
    return GraphError(
        f"{name}: a tensor that has its value already can't take over that of {value.describe()}, which belongs to a graph",
        "write y = f(x, ...) for a new tensor of the graph, or fetch the value with Session.run first",
    )


def check_change(x: Any) -> None:
    """Raise GradientError for a leaf that requires grad, or a view of one, where its change would be recorded."""
    if x.__class__ is PublicTensor and not frontends.tracing:
        check_inplace(x)
    elif isinstance(x, Lifted):
        return
    elif tracer() is None:
        check_inplace(x)
    else:
        tracer().memory.check_inplace(x)


def unrecorded(x: Any, name: str) -> bool:
    """Whether x may be given new values right away: no tape, trace or transform is told. Raises GradientError for read-only
    memory."""
    if frontends.tracing or x.__class__ is not PublicTensor:
        return False
    if modes.now.grad and (x._tracked or (x._base is not None and x._base._tracked)):
        return False
    check_writeable(x, name)
    return True


def check_writeable(x: Tensor, name: str) -> None:
    """Raise GradientError for a tensor of read-only memory, and for one of `inference_mode` outside of it."""
    if x._inference and not modes.now.inference:
        raise misuse.inference_changed()
    if x.__class__ is not Pending and not x._data.flags.writeable:
        raise misuse.read_only(name, x._data.shape, x._data.strides)


def owner_of(x: Tensor) -> Any:
    """The tensor whose memory x is a part of: its base, unless the base was given other memory (`base.data = ...`)."""
    data = x._data  # a pending view finds out here that it has no base
    return x if x._base is None or not np.may_share_memory(data, x._base._data) else x._base


def set_record(tensor: Tensor, record: Record, now: int) -> None:
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
        mask, flat = part_written(seen, places_of(x, seen), part)
        whole = cast("Tensor", F.where(mask, flat, seen))
        forget(whole._record, seen)
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
                updates.append((view, ambiguous(_read_again(view, owner, whole), unrecorded_view(_CHANGED))))
                continue
            if (split := part_of(view)) is not None:
                updates.append((view, ambiguous(_read_again(view, owner, whole), misuse.part_changed(*split, _CHANGED))))
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
    return cast("Any", F.reshape(again, view.shape))._record


def _without_flow(x: Tensor, value: Tensor) -> Record:
    """A record through which no gradient flows: x was overwritten by a value without one."""
    return Record(REGISTRY["broadcast_like"], (value, wrap(x._data)), {}, value._data)


_CHANGED = "its base or another view of its base has been modified inplace"


def ambiguous(record: Record, error: GradientError) -> Record:
    """A record through which no gradient may flow, because it would be ambiguous."""

    def refuse(cotangent: Any) -> None:
        raise error

    record.add_hook(refuse)
    return record


def replace_apart(x: Tensor, function: Any, former: Any, args: Sequence[Any], named: Any, name: str) -> Tensor | None:
    """Replace x by `function(former, *args, **named)`, which is made of several operations; None where no operand lies in the
    memory of x. These operands are lost, and what was computed from them on the way: a gradient that needs one of these is an
    error, as in PyTorch, where the method is one operation that saves its operands."""
    trace = tracer()
    given: Any = (*args, *named.values()) if named else args
    places: list[int] = []
    for i, a in enumerate(given):
        if trace is not None:
            if trace.memory.meet(x, a):
                places.append(i)
        elif isinstance(a, Tensor) and one_memory(a._data, x._data) and np.may_share_memory(a._data, x._data):
            places.append(i)
    if not places:
        return None
    copies = {i: _copy(given[i]) if trace is None else trace.own(given[i]) for i in places}
    found = [copies.get(i, a) for i, a in enumerate(given)]
    args, named = found[: len(args)], dict(zip(named, found[len(args) :], strict=True))
    if trace is not None:
        since = len(trace.graph.nodes)
        value = function(former, *args, **named)
        replace(x, value, name)
        trace.memory.lose([copy.node for copy in copies.values()], since, value)
        return x
    since = tick()
    with eager_kernels(False):  # a call that is a plan has one record
        value = function(former, *args, **named)
    _lose(value, since, {id(copy) for copy in copies.values()})
    for i, copy in copies.items():
        copy._tracked = given[i]._tracked
    return replace(x, value, name)


def _copy(x: Tensor) -> Tensor:
    """A copy that is made by the same operation. All that is computed from it has a record."""
    copy = wrap(x._data.copy())
    copy._record, copy._tracked = x._record, True
    return copy


def _lose(value: Any, since: int, lost: Set[int]) -> None:
    """Tensors with these ids are lost, and what was computed from them since that tick on the way to `value`."""
    seen: dict[Record, bool] = {}

    def visit(record: Record) -> bool:
        if record not in seen:
            seen[record] = False
            for t in record.inputs:
                maker = t._record
                if id(t) in lost or (maker is not None and maker.clock > since and visit(maker)):
                    touch(t)
                    seen[record] = True
        return seen[record]

    if isinstance(value, Tensor) and value._record is not None:
        visit(value._record)


def _keep_former(record: Any, x: Tensor) -> None:
    """Replace x by a copy of its former value among the operands of its new record, lest the record be its own operand. As in
    PyTorch it is kept for the operand that is changed, the first: where x is another operand, too, that one is lost."""
    places = [i for i, t in enumerate(record.inputs) if t is x]
    if places:
        former = wrap(x._data.copy())
        former._record, former._tracked = x._record, x._tracked
        lost = overwritten_operand(x, record) if places[1:] else x
        record.inputs = tuple(former if i == places[0] else lost if t is x else t for i, t in enumerate(record.inputs))


def forget(record: Any, x: Tensor) -> None:
    """As `_keep_former`, without a copy, for a rule that reads no value of x."""
    record.inputs = tuple(overwritten_operand(x, record) if t is x else t for t in record.inputs)


def part_written(owner: Tensor, places: np.ndarray, part: Tensor) -> tuple[Tensor, Any]:
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
        return (inside - owner._data.__array_interface__["data"][0]) // owner._data.itemsize
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
