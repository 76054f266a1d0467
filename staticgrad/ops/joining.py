"""Tensors one after another or side by side, and tensors cut into parts: concatenations, stacks, blocks; splits and chunks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from ..base.types import TensorType, as_shape, integral, normalize_axis, shape_text
from ..errors import ArgumentError, ArgumentTypeError, DTypeError, IndexRangeError, ShapeError
from ..ir import Call, Copy, Expand, Layout, Native, Node, Window, define
from . import rules as at
from .indexing import cut, slice_op
from .leaves import fits
from .operands import dtype_of, extent, integer, ndim_of, operand, several
from .operators import (
    F,
    Operators,
    Tensor,
    TensorLike,
    apply,
    as_array,
    as_images,
    enter_as,
    image_eval,
    is_tensor,
    numpy_twin,
    public,
    respelled,
    routed,
    spelled,
    torch_function,
    viewed,
)
from .rules import arithmetic, joint, linear
from .sized import in_graph, narrowed


def _concatenate_infer(*types: TensorType, axis: int) -> TensorType:
    if not types:
        raise ArgumentError("need at least one operand")
    first, total = types[0], 0
    shape = list(first.shape)
    for t in types:
        if t.ndim != first.ndim:
            raise ShapeError(
                f"all operands need the same number of axes, got {shape_text(first.shape)} and {shape_text(t.shape)}"
            )
        for i, size in enumerate(t.shape):
            if i == axis:
                total = None if total is None or size is None else total + size  # type: ignore[assignment]
            elif shape[i] is None:
                shape[i] = size
            elif size is not None and shape[i] != size:
                raise ShapeError(f"extents differ away from axis {axis}, {shape_text(first.shape)} and {shape_text(t.shape)}")
    shape[axis] = total
    return first.with_shape(tuple(shape))


def _concatenate_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    axis, whole, at = node.attrs["axis"], Layout.contiguous(node.type.shape), 0
    calls: list[Call] = []
    for i, layout in enumerate(layouts):
        calls.append(Copy(i, Layout(layout.shape, whole.strides, at * whole.strides[axis])))
        at += layout.shape[axis]
    return calls


def _concatenate_window(node: Node) -> Window:
    axis, at, parts = node.attrs["axis"], 0, []
    for number, part in enumerate(node.inputs):
        parts.append((number, at, at + part.type.shape[axis]))
        at += part.type.shape[axis]
    return Window(axis, tuple(parts))


def _part_infer(g: TensorType, *likes: TensorType, axis: int, index: int) -> TensorType:
    if index >= len(likes):
        raise ArgumentError(f"there is no part {index} of {len(likes)}")
    whole = _concatenate_infer(*likes, axis=axis)
    if not fits(g.shape, whole.shape):
        raise ShapeError(f"the parts make shape {shape_text(whole.shape)}, got {shape_text(g.shape)}")
    return g.with_shape(likes[index].shape)


def _part_slices(likes: Sequence[Any], axis: int, index: int) -> tuple[slice, ...]:
    start = sum(like.shape[axis] for like in likes[:index])
    return (slice(None),) * axis + (slice(start, start + likes[index].shape[axis]),)


part_op = define(
    name="part",
    stored=True,
    jvp=linear,
    range=lambda types, attrs, g, *likes: g,
    attrs={"axis": at.axis_of(0), "index": at.integer(0)},
    infer=_part_infer,
    eval=lambda g, *likes, axis, index: g[_part_slices(likes, axis, index)],
    vjp=lambda i: (lambda g, node, out, x, *likes: _pad_part(g, node, likes)) if i == 0 else None,
    emit=Expand(lambda node, g, *likes: g[_part_slices(likes, node.attrs["axis"], node.attrs["index"])]),
    shape_only=tuple(range(1, 1024)),
    doc="The slice of a concatenation that came from operand `index`; the other inputs give extents only.",
)


def _pad_part(g: Any, node: Any, likes: Sequence[Any]) -> Any:
    parts = [g if i == node.attrs["index"] else F.zeros_like(like) for i, like in enumerate(likes)]
    return F.concatenate([F.astype(p, g.dtype) for p in parts], node.attrs["axis"])


FEW = 16
"""Operands up to which each part of a concatenation is told the extents of all of them."""


def _together(*args: Any) -> Any:
    raise AssertionError("the cotangents of all operands are computed together")


def _concatenate_vjp(g: Any, node: Any, wanted: Sequence[bool], *inputs: Any) -> Iterator[Any]:
    axis = node.attrs["axis"]
    extents = [x.shape[axis] for x in inputs]
    if None in extents:
        yield from _parts(g, axis, wanted, inputs)
        return
    stop = 0
    for size, needed in zip(extents, wanted, strict=True):
        stop += size
        slices = (*[(None, None, 1)] * axis, (stop - size, stop, 1))
        yield apply(slice_op, g, slices=slices) if needed else None


def _parts(g: Any, axis: int, wanted: Sequence[bool], likes: Sequence[Any]) -> Iterator[Any]:
    """Of many operands whose extents are not known, groups of them first: each operand would need all others."""
    if len(likes) <= FEW:
        for i, needed in enumerate(wanted):
            yield apply(part_op, g, *likes, axis=axis, index=i) if needed else None
        return
    size = -(-len(likes) // FEW)
    runs = [slice(i, i + size) for i in range(0, len(likes), size)]
    wholes = [apply(concatenate_op, *likes[run], axis=axis) for run in runs]  # of which only the shapes are read
    together = _parts(g, axis, [any(wanted[run]) for run in runs], wholes)
    for run, part in zip(runs, together, strict=True):
        yield from [None] * len(likes[run]) if part is None else _parts(part, axis, wanted[run], likes[run])


concatenate_op = define(
    name="concatenate",
    stored=True,
    backward="CatBackward0",
    jvp=linear,
    range=lambda types, attrs, *xs: joint(*xs),
    attrs={"axis": at.axis_of(0)},
    infer=_concatenate_infer,
    memory=as_images(all),
    eval=image_eval(all, lambda *xs, axis: np.concatenate(xs, axis)),
    vjp=lambda i: _together,
    vjp_all=_concatenate_vjp,
    emit=Native(_concatenate_plan, fused=_concatenate_window),
    promote=arithmetic,
)

# public functions ------------------------------------------------------------------------------------------------


def _several(name: str, xs: Any, axis: Any) -> list[Any]:
    """The operands as a list. Raises ArgumentError where there are none, or where they are not in one argument."""
    if isinstance(axis, Operators):
        raise ArgumentTypeError(f"{name}: the tensors come in one list, and then the axis", f"write sg.{name}([a, b])")
    if not isinstance(xs, Iterable):
        raise ArgumentError(f"{name}: expected a sequence of tensors, got {type(xs).__name__}")
    operands = list(xs)
    if not operands:
        raise ArgumentError(f"{name}: need at least one operand")
    return operands


@public
@numpy_twin(np.concatenate)
@routed
@spelled
def concatenate(tensors: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """The operands one after another along `axis`; dtypes are promoted. Raises ShapeError."""
    xs = _several("concatenate", tensors, axis)
    return apply(concatenate_op, *xs, axis=normalize_axis(axis, ndim_of(xs[0])))


@public
@numpy_twin(np.stack)
@routed
@spelled
def stack(tensors: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """The operands side by side along a new axis. Raises ShapeError when the shapes differ.

    Examples:
        >>> sg.stack([sg.tensor([1, 2]), sg.tensor([3, 4])], dim=1)
        tensor([[1, 3],
                [2, 4]])
    """
    parts = [F.expand_dims(x, axis) for x in _several("stack", tensors, axis)]
    try:
        return concatenate(parts, axis)
    except ShapeError:
        shapes = [[*F.squeeze(x, axis).shape] for x in parts]
        i, other = next((i, shape) for i, shape in enumerate(shapes) if shape != shapes[0])
        text = f"stack expects each tensor to be equal size, but got {shapes[0]} at entry 0 and {other} at entry {i}"
        raise ShapeError(text, "pad them to one shape; the samples of a DataLoader, in its collate_fn") from None


# PyTorch's functions that join tensors: made of `concatenate` --------------------------------------------------------


@torch_function(method=False, names=("concat",), cached=routed)
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors one after another along `dim`; dtypes are promoted. Empty 1-D ones are left out, as in PyTorch.

    Examples:
        >>> sg.cat([sg.zeros(2), sg.ones(1)])
        tensor([0., 0., 1.])
    """
    if isinstance(tensors, Operators):
        raise ArgumentTypeError(
            "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor", "write sg.cat([a, b])"
        )
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
        if not parts:
            raise ArgumentError(f"{name} expects a non-empty TensorList")
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


# PyTorch's functions that cut a tensor along an axis: made of slices, which are views ---------------------------------


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
    return _slices(tensor, axis, sizes)


@torch_function(names=("unsafe_split_with_sizes",), cached=routed)
def unsafe_split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """`split`, whose parts may be changed in place where that is recorded.

    Examples:
        >>> sg.unsafe_split(sg.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return _split(tensor, split_size_or_sections, dim)


def _slices(x: Any, axis: int, sizes: Sequence[int]) -> tuple[Any, ...]:
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
        return _slices(input, axis, [0] * chunks)
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
        return _slices(input, axis, [size + 1] * larger + [size] * (n - larger))
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
