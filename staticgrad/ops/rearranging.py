"""PyTorch's functions of shapes: made of views, concatenations and gathers, so they run natively and differentiate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from ..errors import ArgumentError, ShapeError, UnknownExtentError
from ..operators import (
    F,
    Operators,
    Tensor,
    TensorLike,
    apply,
    as_array,
    enter_as,
    frontends,
    is_tensor,
    numpy_twin,
    respelled,
    spelled,
    torch_function,
)
from ..types import as_shape, broadcast_shapes, normalize_axis
from .elementwise import dtype_of, operand
from .gathering import bounded, gather_op
from .reductions import ndim_of
from .shaping import swapaxes
from .slicing import slice_op


def extent(name: str, x: Any, axis: int) -> int:
    """The extent of an axis. Raises UnknownExtentError where it is unknown."""
    if x.shape[axis] is None:
        raise UnknownExtentError(f"{name}: the extent of axis {axis} is unknown", "give the placeholder a known extent there")
    return int(x.shape[axis])


def cut(x: Any, axis: int, start: int | None, stop: int | None, step: int = 1) -> Any:
    """x from start to stop along an axis."""
    return apply(slice_op, x, slices=(*[(None, None, 1)] * axis, (start, stop, step)))


def several(name: str, tensors: tuple[Any, ...]) -> list[Any]:
    """Tensors that are given one by one or in one sequence."""
    given = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Operators) else tensors
    if not isinstance(given, (list, tuple)):
        raise ArgumentError(f"{name}: expected tensors, got {type(given).__name__}")
    return list(given)


# joining --------------------------------------------------------------------------------------------------------------


@torch_function(method=False, names=("concat",))
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors one after another along `dim`; dtypes are promoted. Empty 1-D ones are left out, as in PyTorch."""
    given: list[Any] = [t if isinstance(t, Operators) else as_array(t) for t in tensors]
    most = max((len(t.shape) for t in given), default=0)
    wanted = [t for t in given if tuple(t.shape) != (0,) or most <= 1]
    if len(wanted) < len(given) and wanted:
        wanted[0] = F.astype(wanted[0], _joint_dtype(given))
    return F.concatenate(wanted, dim)


def _joint_dtype(given: Sequence[Any]) -> np.dtype:
    kind = dtype_of(given[0])
    for t in given[1:]:
        kind = np.promote_types(kind, dtype_of(t))
    return kind


def _stacked(name: str, least: int, axis: Any, twin: Any) -> None:
    def function(*tensors: Any) -> Tensor:
        parts = [_at_least(t, least) for t in several(name, tensors)]
        at = axis if isinstance(axis, int) else (0 if len(parts[0].shape) == 1 else 1)
        return F.concatenate(parts, at)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Tensors one after another, each with the axes that it lacks; as NumPy's function of this name."
    enter_as(name, spelled(function), method=False)
    numpy_twin(twin)(getattr(F, name))


def _at_least(x: Any, least: int) -> Any:
    x = operand(x)
    n = len(x.shape)
    if n >= least:
        return x
    if least == 1:
        return F.reshape(x, (1,))
    if least == 2:
        return F.expand_dims(x, tuple(range(2 - n)))
    return F.expand_dims(x, (0, 1, 2) if n == 0 else (0, 2) if n == 1 else (2,))


_stacked("hstack", 1, None, np.hstack)
_stacked("vstack", 2, 0, np.vstack)
_stacked("dstack", 3, 2, np.dstack)
enter_as("row_stack", F.vstack, method=False)


@torch_function(np.column_stack, method=False)
def column_stack(*tensors: Any) -> Tensor:
    """Vectors as columns, and matrices, side by side."""
    parts = [operand(t) for t in several("column_stack", tensors)]
    return F.concatenate([F.reshape(p, (-1, 1)) if len(p.shape) <= 1 else p for p in parts], 1)


for _least in (1, 2, 3):

    @overload
    def _atleast(tensor: TensorLike, /) -> Tensor: ...
    @overload
    def _atleast(*tensors: Any) -> tuple[Tensor, ...]: ...
    def _atleast(*tensors: Any, _least: int = _least) -> Any:
        """Tensors with at least so many axes; a tuple where several are given."""
        if len(tensors) == 1 and isinstance(tensors[0], (Operators, np.ndarray)):
            return _at_least(tensors[0], _least)
        return tuple(_at_least(t, _least) for t in several(f"atleast_{_least}d", tensors))

    respelled(_atleast, f"atleast_{_least}d")
    enter_as(f"atleast_{_least}d", _atleast, method=False)


@torch_function(method=False)
def block_diag(*tensors: Any) -> Tensor:
    """The matrices along the diagonal of one that is 0 elsewhere."""
    blocks = [_at_least(t, 2) for t in (tensors or (np.zeros((1, 0), np.float32),))]
    kind = _joint_dtype(blocks)
    width = sum(extent("block_diag", b, 1) for b in blocks)
    rows, left = [], 0
    for b in blocks:
        h, w = extent("block_diag", b, 0), b.shape[1]
        zeros = [np.zeros((h, left), kind), np.zeros((h, width - left - w), kind)]
        rows.append(F.concatenate([zeros[0], F.astype(b, kind), zeros[1]], 1))
        left += w
    return F.concatenate(rows, 0)


# cutting --------------------------------------------------------------------------------------------------------------


@torch_function(method=True, names=("unsafe_split",))
def split(tensor: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    """Parts of so many elements along `dim`, the last one smaller if need be, or of the sizes in a sequence.

    Raises ArgumentError for sizes that don't add up to the extent.
    """
    axis = normalize_axis(dim, ndim_of(tensor))
    whole = extent("split", tensor, axis)
    if isinstance(split_size, (list, tuple)):
        sizes = [int(s) for s in as_shape(split_size)]
        if sum(sizes) != whole:
            raise ArgumentError(
                f"split_with_sizes expects split_sizes to sum exactly to {whole} (input tensor's size at dimension {dim}), but "
                f"got split_sizes={sizes}",
                "sg.tensor_split takes positions, as numpy.split",
            )
    else:
        if isinstance(split_size, bool) or not isinstance(split_size, (int, np.integer)) or split_size < 0:
            raise ArgumentError(f"split: the size is an integer >= 0, or several of them, got {split_size!r}")
        if split_size == 0 and whole:
            raise ArgumentError(f"split expects split_size > 0, but got split_size=0 for an extent of {whole}")
        step = int(split_size) or 1
        sizes = [min(step, whole - at) for at in range(0, max(whole, 1), step)]
    return _parts(tensor, axis, sizes)


def _parts(x: Any, axis: int, sizes: Sequence[int]) -> tuple[Any, ...]:
    ends = list(itertools.accumulate(sizes))
    return tuple(cut(x, axis, end - size, end) for size, end in zip(sizes, ends, strict=True))


@torch_function(names=("split_with_sizes_copy",))
def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    """Parts of these sizes along `dim`."""
    return split(input, list(split_sizes), dim)


@torch_function(names=("unsafe_chunk",))
def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """At most so many parts of equal size along `dim`; the last one is smaller if need be."""
    axis = normalize_axis(dim, ndim_of(input))
    if chunks < 1:
        raise ArgumentError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    whole = extent("chunk", input, axis)
    if not whole:
        return _parts(input, axis, [0] * chunks)
    return split(input, -(-whole // chunks), axis)


@torch_function(np.array_split)
def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """So many parts along `dim`, the first ones larger by 1 if need be; or parts between positions, as `numpy.array_split`."""
    axis = normalize_axis(dim, ndim_of(input))
    whole = extent("tensor_split", input, axis)
    if is_tensor(indices_or_sections):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, (int, np.integer)):
        n = int(indices_or_sections)
        if n < 1:
            raise ArgumentError(f"number of sections must be larger than 0, got {n}")
        size, larger = divmod(whole, n)
        return _parts(input, axis, [size + 1] * larger + [size] * (n - larger))
    cuts = [0, *indices_or_sections, whole]
    return tuple(cut(input, axis, a, b) for a, b in itertools.pairwise(cuts))


@numpy_twin(np.split)
def _numpy_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    at = normalize_axis(axis, ndim_of(ary))
    if isinstance(indices_or_sections, (int, np.integer)) and (
        indices_or_sections <= 0 or extent("split", ary, at) % indices_or_sections
    ):
        raise ShapeError(
            f"split: an extent of {extent('split', ary, at)} can't be divided into {indices_or_sections} equal parts"
        )
    return list(tensor_split(ary, indices_or_sections, at))


for _name, _axis, _least in (("hsplit", 1, 1), ("vsplit", 0, 2), ("dsplit", 2, 3)):

    def _cut(
        input: Any, indices_or_sections: Any, *, _name: str = _name, _axis: int = _axis, _least: int = _least
    ) -> tuple[Tensor, ...]:
        """Equal parts, or parts between positions, along the axis that NumPy's function of this name cuts."""
        n = ndim_of(input)
        if n < _least:
            raise ShapeError(f"torch.{_name} requires a tensor with at least {_least} dimension, but got a tensor with {n}")
        axis = 0 if _name == "hsplit" and n == 1 else _axis
        if isinstance(indices_or_sections, int) and indices_or_sections < 1:
            raise ArgumentError(f"number of sections must be larger than 0, got {indices_or_sections}")
        if isinstance(indices_or_sections, int) and extent(_name, input, axis) % indices_or_sections:
            raise ShapeError(
                f"torch.{_name} attempted to split along dimension {axis}, but the size of the dimension "
                f"{input.shape[axis]} is not divisible by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, axis)

    _cut.__name__ = _cut.__qualname__ = _name
    enter_as(_name, _cut)


@torch_function(names=("unbind_copy",))
def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """The slices along `dim`, without that axis."""
    axis = normalize_axis(dim, ndim_of(input))
    return tuple(select(input, axis, i) for i in range(extent("unbind", input, axis)))


@torch_function()
def select(input: Any, dim: int, index: Any) -> Tensor:
    """The slice at one position along `dim`, without that axis. Raises IndexRangeError."""
    axis = normalize_axis(dim, ndim_of(input))
    return F.getitem(input, (*((slice(None),) * axis), int(index)))


@torch_function(names=("narrow_copy",))
def narrow(input: Any, dim: int, start: Any, length: int) -> Tensor:
    """`length` elements along `dim` from `start` on. Raises ArgumentError for a part outside."""
    axis = normalize_axis(dim, ndim_of(input))
    start, whole = int(start), input.shape[axis]
    if whole is not None:
        at = start + whole if start < 0 else start
        if length < 0 or at < 0 or at + length > whole:
            raise ArgumentError(f"narrow(): start ({start}) + length ({length}) exceeds dimension size ({whole})")
        start = at
    result: Tensor = cut(input, axis, start, start + length)
    return result


# moving axes ----------------------------------------------------------------------------------------------------------


@torch_function(np.moveaxis, names=("moveaxis",))
def movedim(input: Any, source: Any, destination: Any) -> Tensor:
    """`input` with the axes `source` at the places `destination`; the others keep their order."""
    n = ndim_of(input)
    old = [normalize_axis(a, n) for a in (source if isinstance(source, (tuple, list)) else (source,))]
    new = [normalize_axis(a, n) for a in (destination if isinstance(destination, (tuple, list)) else (destination,))]
    if len(old) != len(new) or len(set(old)) != len(old) or len(set(new)) != len(new):
        raise ArgumentError(f"movedim: Invalid source or destination dims: {source!r} and {destination!r}")
    if n == 0:
        result: Tensor = input
        return result
    order = [a for a in range(n) if a not in old]
    for to, a in sorted(zip(new, old, strict=True)):
        order.insert(to, a)
    return F.permute(input, tuple(order))


enter_as("swapdims", swapaxes)


@torch_function()
def t(input: Any) -> Tensor:
    """The transpose of a matrix; a vector as it is. Raises ShapeError for more axes."""
    if ndim_of(input) > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim_of(input)}D", "use x.mT or x.permute")
    return F.permute(input)


@torch_function(method=True)
def adjoint(input: Any) -> Tensor:
    """The last two axes swapped."""
    return F.swapaxes(input, -2, -1)


@torch_function()
def fliplr(input: Any) -> Tensor:
    """`input` in reverse order along axis 1."""
    if ndim_of(input) < 2:
        raise ShapeError("fliplr: Input must be >= 2-d.")
    return F.flip(input, 1)


@torch_function()
def flipud(input: Any) -> Tensor:
    """`input` in reverse order along axis 0."""
    if ndim_of(input) < 1:
        raise ShapeError("flipud: Input must be >= 1-d.")
    return F.flip(input, 0)


numpy_twin(np.fliplr)(F.fliplr)
numpy_twin(np.flipud)(F.flipud)


@torch_function(np.rot90)
def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """`input` turned k times by 90 degrees in the plane of two axes, from the first to the second."""
    a, b = (normalize_axis(d, ndim_of(input)) for d in dims)
    if a == b:
        raise ArgumentError(f"rot90: expected rotation dims to be different, got {dims}")
    turns = k % 4
    if turns == 0:
        return F.clone(input)
    if turns == 2:
        return F.flip(input, (a, b))
    swapped = F.swapaxes(F.flip(input, b), a, b) if turns == 1 else F.flip(F.swapaxes(input, a, b), b)
    return swapped


@torch_function()
def roll(input: Any, shifts: Any, dims: Any = None) -> Tensor:
    """`input` with elements moved by `shifts` along `dims`, round the end; of the flattened one without dims."""
    if dims is None or dims == ():
        return F.reshape(roll(F.reshape(input, (-1,)), shifts, 0), input.shape)
    steps = list(shifts) if isinstance(shifts, (tuple, list)) else [shifts]
    axes = list(dims) if isinstance(dims, (tuple, list)) else [dims]
    if len(steps) != len(axes):
        raise ArgumentError(f"shifts and dimensions must align. shifts: {len(steps)}, dims: {len(axes)}")
    if not ndim_of(input):
        result: Tensor = input
        return result
    for step, dim in zip(steps, axes, strict=True):
        axis = normalize_axis(dim, ndim_of(input))
        whole = extent("roll", input, axis)
        back = int(step) % whole if whole else 0
        if back:
            input = F.concatenate([cut(input, axis, whole - back, None), cut(input, axis, None, whole - back)], axis)
    result = input
    return result


@numpy_twin(np.roll)
def _numpy_roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return roll(a, shift, axis)


# shapes ---------------------------------------------------------------------------------------------------------------


@torch_function()
def unflatten(input: Any, dim: int, sizes: Any) -> Tensor:
    """`input` with one axis cut into several of these extents, of which one may be -1."""
    axis = normalize_axis(dim, max(ndim_of(input), 1))
    return F.reshape(input, (*input.shape[:axis], *sizes, *input.shape[axis + 1 :]))


@torch_function()
def ravel(input: Any) -> Tensor:
    """`input` with all axes joined into one."""
    return F.reshape(input, (-1,))


@torch_function()
def reshape_as(input: Any, other: Any) -> Tensor:
    """`input` in the shape of `other`."""
    return F.reshape(input, other.shape)


@torch_function()
def view_as(input: Any, other: Any) -> Tensor:
    """`input` in the shape of `other`, in the same memory."""
    result: Tensor = input.view(*other.shape) if other.shape else input.view(())
    return result


@torch_function()
def expand_as(input: Any, other: Any) -> Tensor:
    """`input` repeated to the shape of `other`."""
    return F.broadcast_like(input, other) if None in other.shape else F.expand(input, tuple(other.shape))


@torch_function()
def sum_to_size(input: Any, *size: Any) -> Tensor:
    """`input` summed over the axes over which a tensor of this size was broadcast to it. Raises ShapeError."""
    extents = as_shape(size[0] if len(size) == 1 else size)
    lead = ndim_of(input) - len(extents)
    if lead < 0 or any(d not in (1, e) for d, e in zip(extents, input.shape[lead:], strict=True)):
        raise ShapeError(f"size {list(extents)} is not expandable to size {list(input.shape)}.", "use x.sum(dim)")
    axes = [*range(lead), *[lead + i for i, d in enumerate(extents) if d == 1 and input.shape[lead + i] != 1]]
    if not axes:
        result: Tensor = input
        return result
    return F.reshape(F.sum(input, tuple(axes), True), extents)


@torch_function(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """The tensors, each repeated to their common shape."""
    given = several("broadcast_tensors", tensors)
    shape = broadcast_shapes(*(tuple(t.shape) for t in given))
    if None in shape:
        raise ShapeError("broadcast_tensors: extents are unknown", "give the placeholder known extents")
    return tuple(F.broadcast_to(t, shape) for t in given)


@torch_function(method=False)
def broadcast_shapes_(*shapes: Any) -> tuple[int, ...]:
    """The common shape of shapes. Raises ShapeError."""
    return broadcast_shapes(*(as_shape(s) for s in shapes))


@torch_function()
def repeat(input: Any, *repeats: Any) -> Tensor:
    """`input` repeated so often along each axis, new axes in front: NumPy's `tile`."""
    counts = as_shape(repeats[0] if len(repeats) == 1 else repeats)
    n = ndim_of(input)
    if None in input.shape:
        raise ShapeError("repeat: extents are unknown", "give the placeholder known extents")
    if len(counts) < n:
        raise ArgumentError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor", f"got {counts}"
        )
    x = F.expand_dims(input, tuple(range(len(counts) - n))) if len(counts) > n else input
    if not counts:
        return F.clone(x)
    shape = tuple(x.shape)
    wide = F.expand_dims(x, tuple(range(0, 2 * len(counts), 2)))
    spread = F.broadcast_to(wide, tuple(v for pair in zip(counts, shape, strict=True) for v in pair))
    return F.reshape(F.clone(spread), tuple(c * d for c, d in zip(counts, shape, strict=True)))


@torch_function(np.tile)
def tile(input: Any, *dims: Any) -> Tensor:
    """`repeat`, with 1 for the counts that are missing in front."""
    counts = as_shape(dims[0] if len(dims) == 1 else dims)
    return repeat(input, (1,) * (ndim_of(input) - len(counts)) + counts)


@torch_function()
def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Each element so often in a row, along `dim` or of the flattened input; `repeats`: an integer, or one per element.

    Of counts alone: the position of each, so often. Counts have to be known when a graph is built.
    """
    if repeats is None:
        (counts,) = _counts(input)
        result: Tensor = frontends.tensor_class(np.repeat(np.arange(len(counts)), counts))
        return result
    if dim is None:
        input, dim = F.reshape(input, (-1,)), 0
    axis = normalize_axis(dim, ndim_of(input))
    whole = extent("repeat_interleave", input, axis)
    counts = _counts(repeats)[0] if not isinstance(repeats, int) else np.asarray(repeats)
    if counts.size not in (1, whole):
        raise ShapeError(f"repeats must have the same size as input along dim, got {counts.size} for {whole}")
    places = np.repeat(np.arange(whole), counts if counts.size != 1 else int(counts.reshape(())))
    return F.take(input, places, axis)


def _counts(x: Any) -> list[np.ndarray]:
    from .ordering import known

    return [np.asarray(a).reshape(-1) for a in known("repeat_interleave", x)]


@numpy_twin(np.repeat)
def _numpy_repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    return repeat_interleave(a, repeats if isinstance(repeats, (int, np.integer)) else np.asarray(repeats), axis)


@torch_function()
def unfold(input: Any, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` elements every `step` along an axis; they lie along a new last axis."""
    n = ndim_of(input)
    if not n:
        normalize_axis(dimension, 1)
        return F.reshape(input, (1,)) if size == 1 else cut(F.reshape(input, (1,)), 0, 0, size)
    axis = normalize_axis(dimension, n)
    whole = extent("unfold", input, axis)
    if size > whole or size < 0 or step <= 0:
        raise ArgumentError(f"maximum size for tensor at dimension {axis} is {whole} but size is {size} (step {step})")
    places = np.arange(0, whole - size + 1, step)[:, None] + np.arange(size)
    picked = F.take(input, places, axis)
    return movedim(picked, axis + 1, -1)


@torch_function(method=False)
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Any, ...]:
    """Coordinates of a grid: each tensor along its own axis, repeated along those of the others. indexing: "ij", or "xy",
    which exchanges the first two axes."""
    given = [F.reshape(operand(x), (-1,)) for x in several("meshgrid", tensors)]
    if indexing not in ("ij", "xy"):
        raise ArgumentError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    shape = tuple(x.shape[0] for x in given)
    grids = [
        F.broadcast_to(F.reshape(x, tuple(-1 if i == j else 1 for j in range(len(given)))), shape) for i, x in enumerate(given)
    ]
    return tuple(F.swapaxes(g, 0, 1) for g in grids) if indexing == "xy" and len(given) > 1 else tuple(grids)


@torch_function(method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """All tuples of elements of 1-D tensors, one per row; the tensor itself if there is one."""
    grids = meshgrid(*tensors)
    if len(grids) == 1:
        result: Tensor = grids[0]
        return result
    return F.stack([F.reshape(g, (-1,)) for g in grids], 1)


@torch_function(method=False)
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Tensor:
    """The combinations of r elements of a 1-D tensor, one per row."""
    if ndim_of(input) != 1:
        raise ShapeError("combinations: Expect a 1D vector")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(extent("combinations", input, 0)), r)), np.int64).reshape(-1, r)
    return F.take(input, places, 0) if r else F.reshape(cut(input, 0, 0, 0), (0,))


# diagonals and triangles ----------------------------------------------------------------------------------------------


def _diagonal_places(rows: int, columns: int, offset: int) -> tuple[np.ndarray, np.ndarray]:
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    return np.arange(count) - min(offset, 0), np.arange(count) + max(offset, 0)


@torch_function(names=("diagonal_copy",))
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements with equal positions (the second one larger by `offset`) along two axes; they lie along a new last axis."""
    n = ndim_of(input)
    a, b = normalize_axis(dim1, n), normalize_axis(dim2, n)
    if a == b:
        raise ArgumentError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    x = movedim(input, (a, b), (-2, -1))
    rows, columns = _diagonal_places(extent("diagonal", x, n - 2), extent("diagonal", x, n - 1), offset)
    indices = [bounded(p, x, n - 2 + i, negative=False) for i, p in enumerate((rows, columns))]
    return apply(gather_op, x, *indices, axis=n - 2)


@numpy_twin(np.diagonal)
def _numpy_diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return diagonal(a, offset, axis1, axis2)


@torch_function()
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last axis of `input` along their diagonal; their axes are dim1 and dim2 of the result."""
    n = ndim_of(input) + 1
    a, b = normalize_axis(dim1, n), normalize_axis(dim2, n)
    if a == b:
        raise ArgumentError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    count = extent("diag_embed", input, n - 2)
    size = count + abs(offset)
    mask = np.eye(size, size, offset, dtype=bool)
    place = np.zeros((size, size), np.int64)
    place[mask] = np.arange(count)
    spread = (
        F.take(input, place, n - 2)
        if count
        else F.zeros_like(F.take(F.concatenate([input, np.zeros((*input.shape[:-1], 1), input.dtype)], n - 2), place, n - 2))
    )
    return movedim(F.where(mask, spread, F.zeros_like(spread)), (-2, -1), (a, b))


@torch_function(np.diag)
def diag(input: Any, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with a vector on its diagonal."""
    n = ndim_of(input)
    if n == 1:
        return diag_embed(input, diagonal)
    if n != 2:
        raise ShapeError(f"diag(): Supports 1D or 2D tensors. Got {n}D")
    return _diagonal(input, diagonal)


_diagonal = diagonal


@torch_function(np.diagflat)
def diagflat(input: Any, offset: int = 0) -> Tensor:
    """The matrix with all elements of `input` on its diagonal."""
    return diag_embed(F.reshape(input, (-1,)), offset)


def _triangle(name: str, twin: Any) -> None:
    def function(input: Any, diagonal: int = 0) -> Tensor:
        n = ndim_of(input)
        if n < 2:
            raise ShapeError(f"{name}: input tensor must have at least 2 dimensions")
        mask = getattr(np, name)(np.ones((extent(name, input, n - 2), extent(name, input, n - 1)), bool), int(diagonal))
        return F.where(mask, input, np.zeros((), dtype_of(input)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "The elements of matrices on one side of a diagonal, and on it; 0 elsewhere."
    enter_as(name, spelled(function), inplace=True)
    numpy_twin(twin)(getattr(F, name))


_triangle("tril", np.tril)
_triangle("triu", np.triu)


def _triangle_indices(name: str) -> None:
    def function(
        row: int, col: int, offset: int = 0, *, dtype: Any = np.int64, device: Any = None, layout: Any = None
    ) -> Tensor:
        rows, columns = getattr(np, f"{name[:4]}_indices")(row, offset, col)
        return F.astype(frontends.tensor_class(np.stack([rows, columns]).astype(np.int64)), dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "The positions (2, number) of the elements of one triangle of a row x col matrix."
    enter_as(name, function, method=False)


_triangle_indices("tril_indices")
_triangle_indices("triu_indices")


@torch_function(np.vander, method=False)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of a vector as columns, the highest first unless `increasing`."""
    count = extent("vander", x, ndim_of(x) - 1) if N is None else N
    exponents = np.arange(count) if increasing else np.arange(count)[::-1].copy()
    return F.pow(F.expand_dims(x, 1), exponents.astype(dtype_of(x)))


@torch_function(np.kron)
def kron(input: Any, other: Any) -> Tensor:
    """The Kronecker product: the blocks input[i] * other."""
    n = max(ndim_of(input), ndim_of(other))
    x, y = (F.expand_dims(v, tuple(range(n - ndim_of(v)))) if ndim_of(v) < n else v for v in (input, other))
    if n == 0:
        result: Tensor = input * other
        return result
    wide = F.expand_dims(x, tuple(range(1, 2 * n, 2))) * F.expand_dims(y, tuple(range(0, 2 * n, 2)))
    return F.reshape(wide, tuple(a * b for a, b in zip(x.shape, y.shape, strict=True)))


@torch_function(method=False)
def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Positions in the flattened array as positions along each axis."""
    extents = as_shape(shape)
    steps = [math.prod(extents[i + 1 :]) for i in range(len(extents))]
    return tuple(F.remainder(F.floor_divide(indices, s), d) for s, d in zip(steps, extents, strict=True))


@torch_function(names=("as_strided_copy",))
def as_strided(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """The elements of `input`, row-major, at these strides: a copy, gathered by their places."""
    extents, steps = as_shape(size), as_shape(stride)
    place = np.asarray(storage_offset or 0, np.int64)
    for d, s in zip(extents, steps, strict=True):
        place = place[..., None] + np.arange(d) * s
    whole = storage_of(input)
    return F.take(whole, place.reshape(extents), 0)


def storage_of(x: Any) -> Any:
    """x, row-major, as one axis."""
    return F.reshape(F.clone(x) if is_tensor(x) and not x.is_contiguous() else x, (-1,))


for _name, _source in (
    ("expand_copy", "expand"), ("permute_copy", "permute"), ("squeeze_copy", "squeeze"), ("transpose_copy", "transpose"),
    ("unsqueeze_copy", "unsqueeze"), ("unfold_copy", "unfold"), ("t_copy", "t"), ("alias_copy", "clone"),
):  # fmt: skip

    def _copy(input: Any, *args: Any, _source: str = _source, **named: Any) -> Tensor:
        """As the function without `_copy`, in memory of its own."""
        return F.clone(getattr(F, _source)(input, *args, **named))

    _copy.__name__ = _copy.__qualname__ = _name
    enter_as(_name, _copy, method=False)


@torch_function(method=False)
def view_copy(input: Any, size: Any = None, *, dtype: Any = None) -> Tensor:
    """`input` in another shape, in memory of its own."""
    return F.clone(F.reshape(input, size))
