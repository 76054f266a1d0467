"""PyTorch's functions that move axes, change shapes, repeat or combine elements: made of views, broadcasts and gathers, so they
run natively and differentiate.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ..base.types import as_shape, broadcast_shapes, int64, normalize_axis
from ..errors import ArgumentError, DTypeError, ShapeError
from .indexing import cut
from .operands import dtype_of, extent, integer, ndim_of, operand, several
from .operators import (
    F,
    Size,
    Symbol,
    Tensor,
    apply,
    concrete,
    frontends,
    in_format,
    numpy_twin,
    routed,
    state,
    torch_function,
    viewed,
)
from .operators.unknown_numbers import UnknownNumber
from .shaping import reshape_like
from .sized import in_graph, repeated, repeated_op

# moving axes ----------------------------------------------------------------------------------------------------------


@torch_function(np.moveaxis, names=("moveaxis",), cached=routed)
def movedim(input: Any, source: Any, destination: Any) -> Tensor:
    """`input` with the axes `source` at the places `destination`; the others keep their order.

    Examples:
        >>> sg.movedim(sg.zeros(2, 3, 4), 0, -1).shape
        torch.Size([3, 4, 2])
    """
    n = ndim_of(input)
    old = [normalize_axis(a, n) for a in (source if isinstance(source, (tuple, list)) else (source,))]
    new = [normalize_axis(a, n) for a in (destination if isinstance(destination, (tuple, list)) else (destination,))]
    if len(old) != len(new) or len(set(old)) != len(old) or len(set(new)) != len(new):
        raise ArgumentError(f"movedim: Invalid source or destination dims: {source!r} and {destination!r}")
    if n == 0:
        return input
    order = [a for a in range(n) if a not in old]
    for to, a in sorted(zip(new, old, strict=True)):
        order.insert(to, a)
    return F.permute(input, tuple(order))


@torch_function(cached=viewed)
def t(input: Any) -> Tensor:
    """The transpose of a matrix; a vector as it is. Raises ShapeError for more axes."""
    if ndim_of(input) > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim_of(input)}D", "use x.mT or x.permute")
    return F.permute(input)


@torch_function(method=True)
def adjoint(input: Any) -> Tensor:
    """The last two axes swapped, and the conjugate."""
    return F.conj(F.swapaxes(input, -2, -1))


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
    if len(tuple(dims)) != 2:
        raise ArgumentError(f"expected total rotation dims == 2, but got dims = {len(tuple(dims))}")
    a, b = (normalize_axis(d, ndim_of(input)) for d in dims)
    if a == b:
        raise ArgumentError(f"rot90: expected rotation dims to be different, got {dims}")
    turns = integer("rot90", "k", k) % 4
    if turns == 0:
        return F.clone(input)
    if turns == 2:
        return F.flip(input, (a, b))
    swapped = F.swapaxes(F.flip(input, b), a, b) if turns == 1 else F.flip(F.swapaxes(input, a, b), b)
    return swapped


@torch_function(words={"axis": "dims"}, cached=routed)
def roll(input: Any, shifts: Any, dims: Any = None) -> Tensor:
    """`input` with elements moved by `shifts` along `dims`, round the end, in memory of its own; of the flattened one without
    dims.

    Examples:
        >>> sg.roll(sg.tensor([1, 2, 3]), 1)
        tensor([3, 1, 2])
    """
    if dims is None or dims == ():
        return F.reshape(roll(F.reshape(input, (-1,)), shifts, 0), input.shape)
    steps = list(shifts) if isinstance(shifts, (tuple, list)) else [shifts]
    axes = list(dims) if isinstance(dims, (tuple, list)) else [dims]
    if len(steps) != len(axes):
        raise ArgumentError(f"shifts and dimensions must align. shifts: {len(steps)}, dims: {len(axes)}")
    result: Tensor = input
    for step, dim in zip(steps, axes, strict=True):
        axis = normalize_axis(dim, ndim_of(input))
        whole = extent("roll", input, axis)
        if isinstance(step, Symbol) or (state.tracer is not None and issubclass(type(step), UnknownNumber)):
            result = _rolled_by(result, step, axis, whole)
            continue
        back = integer("roll", "a shift", step) % whole if whole else 0
        if state.deferral is not None and state.deferral.differs(("roll", axis), back):
            result = F.take(result, (np.arange(whole) - back) % whole, axis)
        elif back:
            result = F.concatenate([cut(result, axis, whole - back, None), cut(result, axis, None, whole - back)], axis)
    return F.clone(result) if result is input else result


def _rolled_by(input: Any, step: Any, axis: int, whole: int) -> Any:
    """`input` rolled by a number that is known in the run."""
    if isinstance(step, Symbol):
        if step.dtype.kind not in "iu" or step.ndim:
            raise DTypeError(f"roll(): a shift has to be an integer, got {step.describe()}", "use an integer")
        step = F.astype(step, np.int64)
    elif type(step.sample()) is not int:
        integer("roll", "a shift", step)  # raises the error
    return F.take(input, F.remainder(F.sub(np.arange(whole), step), max(whole, 1)), axis)


@numpy_twin(np.roll)
def _numpy_roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return roll(a, shift, axis)


# shapes ---------------------------------------------------------------------------------------------------------------


@torch_function(cached=routed)
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
    return reshape_like(input, other) if None in other.shape else F.reshape(input, other.shape)


@torch_function()
def view_as(input: Any, other: Any) -> Tensor:
    """`input` in the shape of `other`, in the same memory."""
    return input.view(*other.shape) if other.shape else input.view(())


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
    if not extents:
        return F.sum(input)
    if not axes:
        return input
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
def broadcast_shapes_(*shapes: Any) -> Size:
    """The common shape of shapes. Raises ShapeError."""
    return Size(broadcast_shapes(*(as_shape(s) for s in shapes)))


@torch_function(method=False)
def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Positions in the flattened array as positions along each axis."""
    extents = as_shape(shape)
    steps = [math.prod(extents[i + 1 :]) for i in range(len(extents))]
    if dtype_of(indices).kind not in "iub":
        raise DTypeError(f"unravel_index: expected indices to be integers, got {dtype_of(indices)}")
    indices = F.astype(indices, int64)
    return tuple(F.remainder(F.floor_divide(indices, s), d) for s, d in zip(steps, extents, strict=True))


# functions that repeat or combine elements ----------------------------------------------------------------------------


@torch_function(cached=routed)
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
    return F.reshape(in_format(spread, None), tuple(c * d for c, d in zip(counts, shape, strict=True)))


@torch_function(np.tile, cached=routed)
def tile(input: Any, *dims: Any) -> Tensor:
    """`repeat`, with 1 for the counts that are missing in front.

    Examples:
        >>> sg.tile(sg.tensor([1, 2]), (2,))
        tensor([1, 2, 1, 2])
    """
    counts = as_shape(dims[0] if len(dims) == 1 else dims)
    return repeat(input, (1,) * (ndim_of(input) - len(counts)) + counts)


@torch_function()
def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Each element so often in a row, along `dim` or of the flattened input; `repeats`: an integer, or one per element.

    Of counts alone: the position of each, so often.

    Examples:
        >>> sg.repeat_interleave(sg.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2])
    """
    if repeats is None and in_graph(input):
        return apply(repeated_op, concrete(input))
    if repeats is None:
        (counts,) = _counts(input)
        return frontends.tensor_class(np.repeat(np.arange(len(counts)), counts))
    if dim is None:
        input, dim = F.reshape(input, (-1,)), 0
    axis = normalize_axis(dim, ndim_of(input))
    if not isinstance(repeats, int) and in_graph(repeats):
        return repeated(operand(input), repeats, axis)
    whole = extent("repeat_interleave", input, axis)
    counts = _counts(repeats)[0] if not isinstance(repeats, int) else np.asarray(repeats)
    if counts.size and counts.dtype.kind not in "iu":
        raise DTypeError(f"repeat_interleave(): repeats has to be an integer, or several, got {repeats!r}", "use integers")
    if counts.size not in (1, whole):
        raise ShapeError(f"repeats must have the same size as input along dim, got {counts.size} for {whole}")
    places = np.repeat(np.arange(whole), counts if counts.size != 1 else int(counts.reshape(())))
    return F.take(input, places, axis)


def _counts(x: Any) -> list[np.ndarray]:
    from .data_dependent import known

    return [np.asarray(a).reshape(-1) for a in known("repeat_interleave", x)]


@numpy_twin(np.repeat)
def _numpy_repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    return repeat_interleave(a, repeats if isinstance(repeats, (int, np.integer)) else np.asarray(repeats), axis)


@torch_function(method=False)
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Any, ...]:
    """Coordinates of a grid: each tensor along its own axis, repeated along those of the others. indexing: "ij", or "xy",
    which exchanges the first two axes.

    Examples:
        >>> [m.tolist() for m in sg.meshgrid(sg.arange(2), sg.arange(2), indexing="ij")]
        [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
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
        return grids[0]
    return F.stack([F.reshape(g, (-1,)) for g in grids], 1)


@torch_function(method=False)
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Tensor:
    """The combinations of r elements of a 1-D tensor, one per row."""
    if ndim_of(input) != 1:
        raise ShapeError("combinations: Expect a 1D vector")
    r = integer("combinations", "r", r)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(extent("combinations", input, 0)), r)), np.int64).reshape(-1, r)
    return F.take(input, places, 0) if r else F.reshape(cut(input, 0, 0, 0), (0,))
