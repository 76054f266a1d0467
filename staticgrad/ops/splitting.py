"""PyTorch's functions that cut a tensor along an axis: made of slices, which are views."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..base.types import as_shape, integral, normalize_axis
from ..errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from .operands import extent, integer, ndim_of
from .operators import F, Tensor, enter_as, is_tensor, numpy_twin, routed, spelled, torch_function, viewed
from .sized import in_graph, narrowed
from .slicing import cut


@torch_function(method=True, cached=routed)
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Parts of so many elements along `dim`, the last one smaller if need be, or of the sizes in a sequence.

    Raises ArgumentError for sizes that don't add up to the extent.

    Examples:
        >>> sg.split(sg.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return _split(tensor, split_size_or_sections, dim)


def _split(tensor: Any, split_size_or_sections: Any, dim: int) -> tuple[Any, ...]:
    axis = normalize_axis(dim, ndim_of(tensor))
    whole = extent("split", tensor, axis)
    split_size = integral(split_size_or_sections)
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


@torch_function(names=("unsafe_split_with_sizes",), cached=routed)
def unsafe_split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """`split`, whose parts may be changed in place where that is recorded.

    Examples:
        >>> sg.unsafe_split(sg.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return _split(tensor, split_size_or_sections, dim)


def _parts(x: Any, axis: int, sizes: Sequence[int]) -> tuple[Any, ...]:
    ends = list(itertools.accumulate(sizes))
    return tuple(cut(x, axis, end - size, end) for size, end in zip(sizes, ends, strict=True))


@torch_function()
def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    """Parts of these sizes along `dim`."""
    return split(input, list(split_sizes), dim)


@torch_function(cached=routed)
def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """At most so many parts of equal size along `dim`; the last one is smaller if need be.

    Examples:
        >>> sg.chunk(sg.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
    """
    return _chunk(split, input, chunks, dim)


@torch_function(cached=routed)
def unsafe_chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """`chunk`, whose parts may be changed in place where that is recorded.

    Examples:
        >>> sg.unsafe_chunk(sg.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
    """
    return _chunk(_split, input, chunks, dim)


def _chunk(cutting: Callable[[Any, int, int], tuple[Any, ...]], input: Any, chunks: int, dim: int) -> tuple[Any, ...]:
    axis = normalize_axis(dim, ndim_of(input))
    chunks = integer("chunk", "chunks", chunks)
    if chunks < 1:
        raise ArgumentError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    whole = extent("chunk", input, axis)
    if not whole:
        return _parts(input, axis, [0] * chunks)
    return cutting(input, -(-whole // chunks), axis)


@torch_function(np.array_split, cached=routed)
def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """So many parts along `dim`, the first ones larger by 1 if need be; or parts between positions, as `numpy.array_split`."""
    axis = normalize_axis(dim, ndim_of(input))
    if is_tensor(indices_or_sections) and in_graph(indices_or_sections) and ndim_of(indices_or_sections) == 1:
        places = [None, *unbind(indices_or_sections), None]
        return tuple(F.getitem(input, (*(slice(None),) * axis, slice(a, b))) for a, b in itertools.pairwise(places))
    whole = extent("tensor_split", input, axis)
    if is_tensor(indices_or_sections):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, (int, np.integer)):
        n = int(indices_or_sections)
        if n < 1:
            raise ArgumentError(f"number of sections must be larger than 0, got {n}")
        size, larger = divmod(whole, n)
        return _parts(input, axis, [size + 1] * larger + [size] * (n - larger))
    if not isinstance(indices_or_sections, Iterable):
        raise DTypeError(f"tensor_split(): expected an integer or a list of positions, got {indices_or_sections!r}")
    cuts = [0, *(integer("tensor_split", "a position", i) for i in indices_or_sections), whole]
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
    enter_as(_name, spelled(_cut))


@torch_function(cached=routed)
def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """The slices along `dim`, without that axis.

    Examples:
        >>> sg.unbind(sg.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    axis = normalize_axis(dim, ndim_of(input))
    return tuple(select(input, axis, i) for i in range(extent("unbind", input, axis)))


@torch_function(cached=viewed)
def select(input: Any, dim: int, index: Any) -> Tensor:
    """The slice at one position along `dim`, without that axis. Raises IndexRangeError."""
    axis = normalize_axis(dim, ndim_of(input))
    return F.getitem(input, (*((slice(None),) * axis), integer("select", "index", index)))


@torch_function(cached=viewed)
def narrow(input: Any, dim: int, start: Any, length: int) -> Tensor:
    """`length` elements along `dim` from `start` on. Raises ArgumentError for a part outside.

    Examples:
        >>> sg.narrow(sg.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
    """
    axis = normalize_axis(dim, ndim_of(input))
    if in_graph(start, length):
        return narrowed(input, axis, start, length)
    start, length, whole = integer("narrow", "start", start), integer("narrow", "length", length), input.shape[axis]
    if whole is not None:
        at = start + whole if start < 0 else start
        if not 0 <= at <= whole:
            raise IndexRangeError(f"narrow(): start ({start}) is out of range for axis {axis} with extent {whole}")
        if length < 0 or at + length > whole:
            raise ArgumentError(f"narrow(): start ({start}) + length ({length}) exceeds dimension size ({whole})")
        start = at
    return cut(input, axis, start, start + length)
