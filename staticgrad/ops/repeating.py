"""PyTorch's functions that repeat or combine elements: made of broadcasts and gathers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..base.types import as_shape, normalize_axis
from ..errors import ArgumentError, DTypeError, ShapeError
from .operands import extent, integer, ndim_of, operand, several
from .operators import F, Tensor, apply, concrete, frontends, in_format, numpy_twin, routed, torch_function
from .sized import in_graph, repeated, repeated_op
from .slicing import cut


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
