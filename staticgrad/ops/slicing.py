"""Slices: the part of a tensor that ints and slices name, and zeros around a part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index, itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..base.types import TensorType, shape_text, type_of
from ..errors import DTypeError, IndexRangeError, ShapeError
from ..ir import REGISTRY, Call, Clear, Copy, Layout, Native, Node, OpDef, View, Window, define
from . import attributes as at
from .batching import linear
from .leaves import fits
from .operators import F, apply
from .operators.unknown_numbers import UnknownNumber

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
