"""Indexing as users write it: basic and integer-array subscripts, take, take_along_axis, index_add, one_hot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index, itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..base.dtypes import as_dtype
from ..base.types import (
    DTypeLike,
    TensorType,
    bool_,
    broadcast_shapes,
    check_unmasked,
    get_default_dtype,
    integral,
    normalize_axis,
    shape_text,
    type_of,
    uint8,
)
from ..errors import ArgumentError, DataDependentError, DTypeError, IndexRangeError, ShapeError, StaticgradError
from ..ir import REGISTRY, Call, Clear, Copy, Layout, Native, Node, OpDef, View, Window, define
from . import rules as at
from .gathering import along_op, bounded, gather_op, index_add_op
from .leaves import fits
from .operands import ndim_of
from .operators import (
    Array,
    F,
    Index,
    Operators,
    Symbol,
    Tensor,
    TensorLike,
    apply,
    concrete,
    frontends,
    numpy_twin,
    public,
    routed,
    spelled,
    state,
    tensor_method,
    torch_function,
    warn_former,
    weight_in,
)
from .operators.unknown_numbers import UnknownNumber
from .rules import linear

# slices: the part of a tensor that ints and slices name, and zeros around a part --------------------------------------

Slices = tuple[Any, ...]
"""Per axis an int, which removes it, or the (start, stop, step) of a slice; axes that are not named stay whole."""

WHOLE = (None, None, 1)


def as_key(slices: Slices) -> tuple[Any, ...]:
    """With an Ellipsis at the end NumPy gives a view where only ints are named, too."""
    return (*[s if s.__class__ is int else slice(*s) for s in slices], ...)


def _slice_eval(x: np.ndarray, slices: Slices) -> np.ndarray:
    try:
        return x[as_key(slices)]
    except IndexError:
        _slice_infer(type_of(x), slices)  # says which index
        raise


def _per_axis(slices: Slices, ndim: int) -> Slices:
    return slices + (WHOLE,) * (ndim - len(slices))


def indices_of(s: Any, extent: int) -> tuple[int, int, int]:
    """`slice(*s).indices(extent)`, for extents that are symbols too."""
    start, stop, step = s
    step = 1 if step is None else step
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    first = _within(start, low, high, extent) if start is not None else low if step > 0 else high
    last = _within(stop, low, high, extent) if stop is not None else high if step > 0 else low
    return first, last, step


def _within(position: int, low: int, high: int, extent: int) -> int:
    if position < 0:
        return max(position + extent, low)
    return min(position, high)


def _count(start: int, stop: int, step: int) -> int:
    """`len(range(start, stop, step))`, for positions that are symbols too."""
    if step < 0:
        start, stop, step = stop, start, -step
    return (stop - start - 1) // step + 1 if start < stop else 0


def _slice_infer(x: TensorType, slices: Slices) -> TensorType:
    shape: list[int | None] = []
    for axis, (extent, s) in enumerate(zip(x.shape, _per_axis(slices, x.ndim), strict=True)):
        if not isinstance(s, int):
            shape.append(extent if s == WHOLE else None if extent is None else _count(*indices_of(s, extent)))
        elif extent is not None and not -extent <= s < extent:
            raise IndexRangeError(f"index {s} is out of range for axis {axis} with extent {extent}")
    return x.with_shape(tuple(shape))


def _unslice_infer(g: TensorType, like: TensorType, slices: Slices) -> TensorType:
    part = _slice_infer(like, slices)
    if not fits(g.shape, part.shape):
        raise ShapeError(f"the part has shape {shape_text(part.shape)}, got {shape_text(g.shape)}")
    return g.with_shape(like.shape)


def _place(s: Any, extent: int) -> tuple[int, int]:
    """First position and step along an axis."""
    if isinstance(s, int):
        return s % extent if extent else 0, 1
    if s == WHOLE:
        return 0, 1
    start, _, step = indices_of(s, extent)
    return (start if extent else 0), step


def _unslice_eval(g: np.ndarray, like: np.ndarray, slices: Slices) -> np.ndarray:
    out = np.zeros(like.shape, g.dtype)
    out[as_key(slices)] = g
    return out


def _unslice_add(total: np.ndarray, g: np.ndarray, node: Node) -> None:
    total[as_key(node.attrs["slices"])] += g


def _unslice_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    whole = Layout.contiguous(node.type.shape)
    return [Clear(), Copy(0, Layout(layouts[0].shape, *_inner(whole, node.attrs["slices"])))]


def _unslice_window(node: Node) -> Window | None:
    """For a part that is cut out along one axis, without gaps."""
    shape = node.type.shape
    per_axis = list(_per_axis(node.attrs["slices"], len(shape)))
    cut = [axis for axis, s in enumerate(per_axis) if s != WHOLE]
    if len(cut) != 1 or isinstance(per_axis[cut[0]], int):
        return None
    begin, step = _place(per_axis[cut[0]], shape[cut[0]])
    return Window(cut[0], ((0, begin, begin + node.inputs[0].type.shape[cut[0]]),)) if step == 1 else None


def interval_of(node: Node) -> tuple[int, int, int] | None:
    """(axis, start, stop) of a `slice` or `unslice` that is whole along all other axes; None for others."""
    found = None
    for axis, (s, extent) in enumerate(zip(node.attrs["slices"], node.type.shape, strict=False)):
        if not isinstance(s, int) and s[0] in (None, 0) and s[1] in (None, extent) and s[2] in (None, 1):
            continue
        start, stop, step = (s % extent, s % extent + 1, 1) if isinstance(s, int) else slice(*s).indices(extent)
        if step != 1:
            return None
        if isinstance(s, int) or (start, stop) != (0, extent):
            if found is not None:
                return None
            found = axis, start, stop
    return found


def _slice_layout(node: Node, at: Layout) -> Layout:
    strides, offset = _inner(at, node.attrs["slices"])
    return Layout(node.type.shape, strides, at.offset + offset)


def _inner(whole: Layout, slices: Slices) -> tuple[tuple[int, ...], int]:
    """Strides and offset of the part that `slices` names."""
    offset, strides = 0, []
    for extent, stride, s in zip(whole.shape, whole.strides, _per_axis(slices, len(whole.shape)), strict=True):
        start, step = _place(s, extent)
        offset += start * stride
        if not isinstance(s, int):
            strides.append(stride * step)
    return tuple(strides), offset


def _selects(slices: Slices) -> bool:
    """Whether the last axis that is cut is left out, as PyTorch's `select` does it."""
    return bool(slices) and isinstance(slices[-1], int)


class Part(NamedTuple):
    """What is taken along an axis, for positions that may differ between runs. slices: what is the same in each run; places:
    those that differ, or None; alike: a slice without such positions that gives the same strides and extent."""

    slices: Any
    places: Any
    alike: Any


def _parts(shape: Sequence[Any], slices: Slices) -> list[Part] | None:
    """For each axis that is sliced, what is taken. The extents have to be the same in each run; None for others."""
    parts: list[Part] = []
    for s, extent in zip(slices, shape, strict=False):
        start, stop, step = s if s.__class__ is tuple else (s, None, None)
        if not any(issubclass(type(p), UnknownNumber) for p in (start, stop, step)):
            parts.append(Part(s, None, s))
            continue
        sliced = s.__class__ is tuple
        if type(extent) is not int or not issubclass(type(start), UnknownNumber) or (sliced and type(step) is not int):
            return None
        start = start + extent if start < 0 else start
        if not sliced:
            if not 0 <= start < extent:
                return None
            parts.append(Part(WHOLE, start.tensor(), 0))
            continue
        stop = extent if stop is None else stop + extent if stop < 0 else stop
        if step < 1 or not 0 <= start <= stop <= extent:
            return None
        count = index(stop - start)
        parts.append(Part(WHOLE, F.add(start.tensor(), np.arange(0, count, step)), (0, count, step)))
    return parts


def _opened(x: Any, slices: Slices) -> Any:
    """The part whose positions differ between runs, picked by them."""
    parts = _parts(x.shape, slices)
    if parts is None:
        return None
    x = apply(slice_op, x, slices=tuple([part.slices for part in parts]))
    for axis, places in _picks(parts):
        x = F.take(x, places, axis)
    return x, {"slices": tuple([part.alike for part in parts])}


def _picks(parts: Sequence[Part]) -> Iterator[tuple[int, Any]]:
    """The places that differ, each with its axis of the part so far."""
    axis = 0
    for s, places, _ in parts:
        if places is not None:
            yield axis, places
        axis += s.__class__ is tuple and (places is None or len(places.shape))


def _put_back(g: Any, like: Any, slices: Slices) -> Any:
    """Zeros with g at positions that differ between runs."""
    parts = _parts(like.shape, slices)
    if parts is None:
        return None
    for axis, places in reversed([*_picks(parts)]):
        extent = next(n for n, part in zip(like.shape, parts, strict=False) if part.places is places)
        rest = (*g.shape[:axis], *g.shape[axis + len(places.shape) :])
        room = np.broadcast_to(np.zeros((), g.dtype), (*rest[:axis], extent, *rest[axis:]))
        g = apply(REGISTRY["scatter_add"], g, room, places, axis=axis)
    total = apply(unslice_op, g, like, slices=tuple([part.slices for part in parts]))
    return total, {"slices": tuple([part.alike for part in parts])}


slice_op = define(
    name="slice",
    backward=lambda node: "SelectBackward0" if _selects(node.attrs["slices"]) else "SliceBackward0",
    attrs={"slices": at.slices_of(0)},
    infer=_slice_infer,
    eval=_slice_eval,
    prepared=lambda node: itemgetter(as_key(node.attrs["slices"])),
    vjp=(lambda g, node, out, x: apply(unslice_op, g, x, slices=node.attrs["slices"]),),
    vjp_add=_unslice_add,
    emit=View(_slice_layout),
    opened=_opened,
)
unslice_op: OpDef = define(
    name="unslice",
    stored=True,
    jvp=linear,
    attrs={"slices": at.slices_of(1)},
    infer=_unslice_infer,
    eval=_unslice_eval,
    vjp=(lambda g, node, out, x, like: apply(slice_op, g, slices=node.attrs["slices"]), None),
    emit=Native(_unslice_plan, fused=_unslice_window),
    shape_only=(1,),
    opened=_put_back,
    doc="Zeros of the shape of `like` with x in the place that `slices` names.",
)


def _written_infer(x: TensorType, part: TensorType, slices: Slices) -> TensorType:
    inner = _slice_infer(x, slices)
    if not fits(part.shape, inner.shape):
        raise ShapeError(f"the part has shape {shape_text(inner.shape)}, got {shape_text(part.shape)}")
    if part.dtype != x.dtype:
        raise DTypeError(f"the part has dtype {x.dtype}, got {part.dtype}", "cast one of them")
    return x


def _written_eval(x: np.ndarray, part: np.ndarray, slices: Slices) -> np.ndarray:
    out = x.copy()
    out[as_key(slices)] = part
    return out


def _written_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    """The operand is copied to the result unless it lies there, and the part over it."""
    whole = Layout.contiguous(node.type.shape)
    return [Copy(0, whole), Copy(1, Layout(layouts[1].shape, *_inner(whole, node.attrs["slices"])))]


def _written_opened(x: Any, part: Any, slices: Slices) -> Any:
    """The same at positions that differ between runs."""
    found = _put_back(part, x, slices)
    mask = found and _put_back(F.eq(part, part) | F.ne(part, part), x, slices)
    return found and (F.where(mask[0], found[0], x), found[1])


written_op: OpDef = define(
    name="slice_scatter",
    backward=lambda node: "CopySlices",
    stored=True,
    jvp=linear,
    attrs={"slices": at.slices_of(0)},
    infer=_written_infer,
    eval=_written_eval,
    vjp=(
        lambda g, node, out, x, part: apply(written_op, g, F.zeros_like(part), slices=node.attrs["slices"]),
        lambda g, node, out, x, part: apply(slice_op, g, slices=node.attrs["slices"]),
    ),
    emit=Native(_written_plan, inplace=0),
    opened=_written_opened,
    doc="x with another value in the part that `slices` names; in place where nobody else reads x.",
)


def cut(x: Any, axis: int, start: int | None, stop: int | None, step: int = 1) -> Any:
    """x from start to stop along an axis."""
    return apply(slice_op, x, slices=(*[(None, None, 1)] * axis, (start, stop, step)))


# public functions ------------------------------------------------------------------------------------------------


@tensor_method(cached=routed)
@numpy_twin(np.take)
@spelled
def take(x: TensorLike, index: TensorLike, axis: int | None = None) -> Tensor:
    """x[index] along `axis`: the index's shape replaces that axis. Of the flattened x when no axis is given, as in PyTorch
    and NumPy. Negative indices count from the end.

    Raises IndexRangeError for one out of range, DTypeError for a floating index.
    """
    if axis is None:
        x, axis = F.reshape(x, (-1,)), 0
    axis = normalize_axis(axis, ndim_of(x))
    index = _as_index(index)
    return apply(gather_op, x, bounded(index, x, axis, negative=True), axis=axis)


@tensor_method(cached=routed)
@numpy_twin(np.take_along_axis)
def take_along_axis(x: TensorLike, index: TensorLike, axis: int = -1) -> Tensor:
    """Pick along `axis` one or more positions per row (PyTorch's `gather`, NumPy's `take_along_axis`).

    `index` has x's number of axes. Negative positions count from the end. Raises IndexRangeError.

    Examples:
        >>> scores = sg.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> sg.take_along_axis(scores, sg.tensor([[1], [0]]), axis=1)
        tensor([[2.],
                [3.]])
    """
    axis = normalize_axis(axis, ndim_of(x))
    return apply(along_op, x, bounded(_as_index(index), x, axis, negative=True), axis=axis)


@torch_function(inplace=True, cached=routed)
def index_add(x: TensorLike, axis: int, index: TensorLike, source: TensorLike, *, alpha: float | Tensor = 1) -> Tensor:
    """x with `alpha * source` added at `index` along `axis`, once for every time that a position occurs.

    index: integers (n,), negative ones count from the end; source: x's shape with n along `axis`, x's dtype. Raises
    IndexRangeError, ShapeError, and DTypeError for a floating index.

    Examples:
        >>> sg.index_add(sg.zeros(3), 0, sg.tensor([2, 0, 2]), sg.tensor([1.0, 2.0, 3.0]))
        tensor([2., 0., 4.])
    """
    if not ndim_of(x):
        normalize_axis(axis, 1)
        return F.reshape(index_add(F.reshape(x, (1,)), 0, index, F.reshape(source, (-1,)), alpha=alpha), ())
    axis = normalize_axis(axis, ndim_of(x))
    if not ndim_of(index):
        index = F.reshape(index, (1,))
    index = bounded(_as_index(index), x, axis, negative=True)
    x, source = (a if hasattr(a, "dtype") else np.asarray(a) for a in (x, source))
    if source.dtype != x.dtype:
        raise DTypeError(
            f"index_add: self and source are expected to have the same dtype, but got {x.dtype} and {source.dtype}"
        )
    if ndim_of(index) != 1:
        raise ShapeError(f"index_add: the index needs one axis, got {shape_text(index.shape)}")
    if ndim_of(source) != ndim_of(x) > 1:
        raise ShapeError(f"index_add: source needs as many axes as x, got {ndim_of(source)} and {ndim_of(x)}")
    if isinstance(alpha, Operators) or alpha != 1:
        weight = alpha if isinstance(alpha, Operators) else weight_in(x.dtype, alpha)
        source = F.astype(F.mul(source, weight), x.dtype)
    if axis == 0:
        return apply(index_add_op, x, source, index)
    return F.swapaxes(apply(index_add_op, F.swapaxes(x, 0, axis), F.swapaxes(source, 0, axis), index), 0, axis)


@public
def one_hot(index: TensorLike, classes: int, dtype: DTypeLike | None = None) -> Tensor:
    """1 at the index along a new last axis of extent `classes`, else 0; default float unless `dtype` is given.

    Raises IndexRangeError for an index outside [0, classes).
    """
    classes = integral(classes)
    if isinstance(classes, bool) or not isinstance(classes, (int, np.integer)) or classes < 1:
        raise ArgumentError(f"one_hot: classes must be a positive integer, got {classes!r}")
    dtype = get_default_dtype() if dtype is None else as_dtype(dtype)
    rail = np.arange(int(classes), dtype=np.int64)
    index = bounded(_as_index(index), rail, 0, negative=False)
    return F.astype(F.eq(F.expand_dims(index, ndim_of(index)), rail), dtype)


def _as_index(index: Any) -> Array:
    if frontends.tracing and state.tracer is not None and isinstance(index, (list, tuple)):
        index = state.tracer.listed(index)
    if isinstance(index, Operators):
        return index
    check_unmasked(index)
    array = np.asarray(index)
    if array.dtype.kind not in "iu" and array.size:
        raise DTypeError(f"indices must be integers, got {array.dtype}")
    return array if array.dtype.kind in "iu" else array.astype(np.int64)


@public
def getitem(x: Array, key: Index) -> Tensor:
    """x[key] with NumPy's rules: ints, slices, None, Ellipsis, integer arrays, booleans and, for values known now, boolean
    masks. An int is taken before arrays, as in PyTorch. Raises IndexRangeError."""
    if key.__class__ is int and x.shape:
        return apply(slice_op, x, slices=(key,))
    if key is None:
        return F.expand_dims(x, 0)
    if key.__class__ is slice:
        key = (key,)
    if key.__class__ is tuple and len(key) <= ndim_of(x) and PLAIN.issuperset([k.__class__ for k in key]):
        try:
            return apply(slice_op, x, slices=tuple([k if k.__class__ is int else bounds(k) for k in key]))
        except OpenBound:
            pass
    return _general(x, key)


PLAIN = frozenset({int, slice})


def _general(x: Any, key: Any) -> Tensor:
    key = as_read(key)
    keys = [_as_mask(k) for k in (key if isinstance(key, tuple) else (key,))]
    if sum(k is Ellipsis for k in keys) > 1:
        raise IndexRangeError("an index can have only one Ellipsis")
    consumed, n = sum(map(_axes_of, keys)), ndim_of(x)
    if n == 0 and _is_first(key):
        warn_former("indexing a 0-dim tensor with [0] is deprecated. Use `tensor.item()` to convert it to a number.")
        return _subscript(x, [])
    if consumed > n:
        raise IndexRangeError(f"too many indices: {consumed} for {n} axes")
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
    keys = keys[:at] + [slice(None)] * (n - consumed) + keys[at + 1 :]
    if keys and isinstance(keys[0], Symbol) and _is_mask(keys[0]) and keys[0].ndim and all(k == slice(None) for k in keys[1:]):
        from .sized import leading

        _check_mask(keys[0], x, 0)
        return leading(x, keys[0])
    return _subscript(x, _unmask(keys, x))


def _is_first(key: Any) -> bool:
    """Whether a key is the place of the one element that scalars had before PyTorch 0.4, as tensors of one axis."""
    return isinstance(key, (int, np.integer)) and not isinstance(key, bool) and key in (0, -1)


def _as_mask(k: Any) -> Any:
    """One key, with masks as boolean arrays, whose values have to be known now."""
    if isinstance(k, (bool, np.bool_)):
        return np.asarray(k)
    if isinstance(k, list):
        array = np.asarray(k)
        return array if array.dtype == bool_ and array.size else k
    if getattr(k, "dtype", None) != bool_:
        return k
    k = concrete(k)
    if isinstance(k, Symbol) and k.graph.sized:
        return k
    if isinstance(k, Symbol):
        raise DataDependentError(
            "a boolean mask gives a result whose size depends on values; a graph can't hold it",
            "use sg.where(mask, x, 0), or index with integers",
        )
    if frontends.tracing and state.tracer is not None and isinstance(k, frontends.tensor_class):
        return state.tracer.fixed(k)
    return np.asarray(k.numpy() if hasattr(k, "numpy") else k)


def _is_mask(k: Any) -> bool:
    return isinstance(k, (np.ndarray, Symbol)) and k.dtype == bool_


def _axes_of(k: Any) -> int:
    """How many axes a key takes."""
    return 0 if k is None or k is Ellipsis else k.ndim if _is_mask(k) else 1


LONGEST = 31
"""Items of a list that PyTorch takes for a tuple of keys."""


def as_read(key: Any) -> Any:
    """A key as PyTorch reads it: a list with lists, tensors or slices inside is a tuple of keys, a tuple inside of a tuple is a
    list, a mask of uint8 is a boolean one. What is deprecated there is warned of."""
    if key.__class__ is list and len(key) <= LONGEST and any(_is_key(k) for k in key):
        warn_former(
            "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of x[seq], or "
            "x[tensor(seq)] for an index tensor.",
            UserWarning,
        )
        key = tuple(key)
    return tuple(map(_key_as_read, key)) if isinstance(key, tuple) else _key_as_read(key)


def _is_key(k: Any) -> bool:
    """Whether an item of a list is more than a number."""
    return k is None or k is Ellipsis or isinstance(k, (Operators, np.ndarray, slice, list, tuple, range))


def _key_as_read(k: Any) -> Any:
    if k.__class__ is tuple:
        return list(k)
    if k.__class__ is np.ndarray and not k.ndim and k.dtype.kind in "iu":
        return k.item()
    if getattr(k, "dtype", None) != uint8 or isinstance(k, np.generic):
        return k
    warn_former("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", UserWarning)
    return F.ne(k, 0) if isinstance(k, Operators) else np.not_equal(k, 0)


def ints_first(array: np.ndarray, keys: tuple[Any, ...]) -> tuple[np.ndarray, tuple[Any, ...]]:
    """The part of an array that the ints among keys name, and the other keys, which say of that part what all say of the array.

    NumPy counts an int among the arrays; PyTorch takes it first, so that it doesn't part two arrays or move the axes that an
    array picks: `x[0, :, [1, 2]]`.
    """
    ints = [isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in keys]
    if not any(ints) or all(ints) or not any(isinstance(k, (list, np.ndarray, range)) for k in keys):
        return array, keys
    whole: list[Any] = []
    for k, is_int in zip(keys, ints, strict=True):
        if k is Ellipsis:
            whole += [slice(None)] * (array.ndim - sum(_axes_of(k) for k in keys))
        else:
            whole += [k] if is_int else [slice(None)] * _axes_of(np.asarray(k) if isinstance(k, (list, bool)) else k)
    return array[tuple(whole)], tuple([k for k, is_int in zip(keys, ints, strict=True) if not is_int])


def _check_mask(mask: Any, x: Any, axis: int) -> None:
    """Raises IndexRangeError unless a mask has the extents of x from an axis on, as far as they are known."""
    if any(None not in (a, b) and a != b for a, b in zip(mask.shape, x.shape[axis : axis + mask.ndim], strict=True)):
        raise IndexRangeError(f"a mask of shape {shape_text(mask.shape)} doesn't fit x of shape {shape_text(x.shape)}")


def _unmask(keys: list[Any], x: Any) -> list[Any]:
    """Boolean masks as the integer arrays of their true positions; one without axes as a position along a new axis."""
    if any(isinstance(k, Symbol) and _is_mask(k) for k in keys):
        from .sized import mask_keys
    result: list[Any] = []
    axis = 0
    for k in keys:
        if not _is_mask(k):
            result.append(k)
        elif k.ndim:
            _check_mask(k, x, axis)
            result.extend(np.nonzero(k) if isinstance(k, np.ndarray) else mask_keys(k))
        else:
            result.append(Along(np.zeros(int(k), np.int64) if isinstance(k, np.ndarray) else mask_keys(k)[0]))
        axis += _axes_of(k)
    return result


class Along(NamedTuple):
    """Positions along a new axis of extent 1."""

    positions: Any


class OpenBound(StaticgradError):
    """A bound of a slice is a number of the run."""


def _subscript(x: Any, keys: list[Any]) -> Tensor:
    slices: list[Any] = []
    open_slices: list[tuple[int, slice]] = []
    insert: list[int] = []  # axes of extent 1 that are new
    arrays: list[tuple[int, Any]] = []  # axis of the remaining x, index
    place = 0
    for k in keys:
        if k is None:
            insert.append(place)
            place += 1
        elif isinstance(k, Along):
            insert.append(place)
            arrays.append((place, k.positions))
            place += 1
        elif isinstance(k, slice):
            try:
                slices.append(bounds(k))
            except OpenBound:
                slices.append(WHOLE)
                open_slices.append((place, k))
            place += 1
        elif isinstance(k, (int, np.integer)) and not isinstance(k, (bool, np.bool_)):
            slices.append(int(k))
        elif isinstance(k, (list, np.ndarray, Operators, range)):
            slices.append(WHOLE)
            arrays.append((place, _as_index(list(k) if isinstance(k, range) else k)))
            place += 1
        else:
            raise IndexRangeError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
                f"{type(k).__name__})",
                f"x[{k!r}]: write an int, a slice, None, Ellipsis, or an array of integers or booleans",
            )
    if any(s != WHOLE for s in slices) or not (arrays or insert or open_slices):
        x = apply(slice_op, x, slices=tuple(slices))
    if insert:
        x = F.expand_dims(x, tuple(insert))
    if open_slices:
        from .sized import sliced

        for axis, k in open_slices:
            x = sliced(x, axis, k)
    return _pick(x, arrays) if arrays else x


def _pick(x: Any, arrays: list[tuple[int, Any]]) -> Tensor:
    axes = [a for a, _ in arrays]
    if axes != list(range(axes[0], axes[0] + len(axes))):  # NumPy: the picked axes come first
        rest = [i for i in range(ndim_of(x)) if i not in axes]
        x, axes = F.permute(x, tuple(axes + rest)), list(range(len(axes)))
    indices = [bounded(k, x, a, negative=True) for a, (_, k) in zip(axes, arrays, strict=True)]
    try:
        broadcast_shapes(*[k.shape for k in indices])
    except ShapeError:
        shapes = ", ".join(str(list(k.shape)) for k in indices)
        raise IndexRangeError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}", "give them one shape"
        ) from None
    return apply(gather_op, x, *indices, axis=axes[0])


def bounds(k: slice) -> tuple[int | None, int | None, int]:
    """A slice as a tuple of ints and None, as attributes of nodes have to be. Raises ArgumentError."""
    start, stop, step = k.start, k.stop, k.step
    step = 1 if step is None else step
    if step.__class__ is int and step and (start is None or start.__class__ is int) and (stop is None or stop.__class__ is int):
        return start, stop, step
    if any(isinstance(p, Symbol) and p.graph.sized for p in (start, stop)):
        raise OpenBound("a bound of a slice is known in the run only")
    try:
        start, stop = [None if p is None else index(p) for p in (start, stop)]
        step = index(step)
    except StaticgradError:  # a tensor that has no value yet
        raise
    except TypeError:
        raise ArgumentError(f"slice bounds must be integers, got {k!r}") from None
    if step == 0:
        raise ArgumentError("a slice step can't be 0")
    return start, stop, step
