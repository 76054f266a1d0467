"""Indexing as users write it: basic and integer-array subscripts, take, take_along_axis, index_add, one_hot."""

from __future__ import annotations

from operator import index
from typing import Any, NamedTuple

import numpy as np

from ..base.dtypes import as_dtype
from ..base.types import (
    DTypeLike,
    bool_,
    broadcast_shapes,
    check_unmasked,
    get_default_dtype,
    integral,
    normalize_axis,
    shape_text,
    uint8,
)
from ..errors import ArgumentError, DataDependentError, DTypeError, IndexRangeError, ShapeError, StaticgradError
from .gathering import along_op, bounded, gather_op, index_add_op
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
from .slicing import WHOLE, slice_op

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
