"""How a record says that its op runs inside a compiled plan.

A record has one of these as its `emit`: what kernels can fuse, what native code or the host computes, and what occupies no
instruction at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.tables import record
from ..errors import StaticgradError

if TYPE_CHECKING:
    from .graph import Node

__all__ = [
    "Call", "Clear", "collapse", "Copy", "Deferred", "Effect", "Emit", "Exchange", "Expand", "Extent", "Gemm", "IMAGES",
    "Index", "Layout", "Leaf", "Lookup", "Native", "Order", "Pointwise", "Reduction", "Region", "Result", "Routine", "Scatter",
    "Scratch", "View", "Window",
]  # fmt: skip


@record()
class Pointwise:
    """One value per element of the (broadcast) result.

    `scalar` names the scalar operation of one element; each printer of kernels knows how it is written, and a name that
    it does not know is a function of `compiler/backend/`. A callable `(op, *operands)` composes such operations, with
    Python's operators and `op.minimum(x, y)`; see `compiler/codegen/operands.py`. `cost` is in units of one addition: it
    decides between computing a value twice and storing it.
    """

    scalar: str | Callable[..., Any]
    cost: int = 1
    bilinear: bool = False
    """Whether the result is the product of the two operands, linear in each of them."""
    linear: tuple[int, ...] = ()
    """The coefficients, where the result is a linear combination of the operands; empty where it isn't."""
    error: tuple[float, float] | None = None
    """The largest error found in kernels, in units in the last place of float32 and float64; None where every result is the
    correctly rounded one, or NumPy's."""
    code: str = ""
    """What kernels define the function `scalar` by, where that is the user's."""


@record()
class Reduction:
    """Folds the axes in `attrs["axis"]`. `start` is the neutral element, `combine` the scalar operation that combines
    the accumulated value and the next element."""

    start: Callable[[np.dtype], Any]
    combine: str
    fold: Callable[..., np.ndarray]
    """The NumPy ufunc's reduce over axis 0, which combines the partial results of several threads."""
    monoid: str = ""
    """The name of the monoid over which it folds, for passes that use its algebra: "add" is the sum."""


IMAGES = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
"""By the number of axes of a batch of images or volumes, the order of these in memory with the channels last."""


@record()
class Layout:
    """The place of a value in a buffer: offset and strides in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @staticmethod
    @lru_cache(maxsize=256)
    def contiguous(shape: tuple[int, ...]) -> Layout:
        strides, step = [], 1
        for extent in reversed(shape):
            strides.append(step)
            step *= extent
        return Layout(shape, tuple(reversed(strides)), 0)

    @staticmethod
    def ordered(shape: tuple[int, ...], axes: Sequence[int]) -> Layout:
        """All elements one after another, in this order of the axes, the slowest first."""
        strides = dict(zip(axes, Layout.contiguous(tuple([shape[a] for a in axes])).strides, strict=True))
        return Layout(shape, tuple([strides[a] for a in range(len(shape))]), 0)

    @staticmethod
    def of(array: np.ndarray) -> Layout:
        """That of an array, in its memory from the first element on."""
        return Layout(array.shape, tuple([step // array.itemsize for step in array.strides]), 0)

    @property
    def image_order(self) -> tuple[int, ...] | None:
        """The order of the axes of a batch of images whose channels are the last axis in memory; None for others. The stride of
        an axis of one element has a say, as in PyTorch."""
        if len(self.shape) not in IMAGES or 0 in self.shape or self.strides[1] == 0 or self.is_contiguous:
            return None
        order, least = IMAGES[len(self.shape)], 0
        for axis in (*order[:0:-1], 0):
            step = self.strides[axis]
            if step < least or (axis == 0 and least == self.strides[1]):
                return None
            least = step * self.shape[axis] if self.shape[axis] > 1 else step
        return order

    def has_order(self, axes: Sequence[int]) -> bool:
        """Whether the elements lie one after another, in this order of the axes."""
        return Layout(self.shape, Layout.ordered(self.shape, axes).strides, self.offset).same(self)

    def same(self, other: Layout) -> bool:
        """Whether each element has the same place in both layouts: strides of extents of 1 don't matter."""
        strides = zip(self.shape, self.strides, other.strides, strict=True)
        return (self.shape, self.offset) == (other.shape, other.offset) and all(s == t or d == 1 for d, s, t in strides)

    @property
    def is_contiguous(self) -> bool:
        step = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent == 0:
                return True
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True

    @property
    def repeats(self) -> bool:
        """Whether elements repeat along an axis, as a broadcast makes them."""
        return 0 not in self.shape and any(step == 0 and d > 1 for d, step in zip(self.shape, self.strides, strict=True))

    @property
    def overlaps(self) -> bool:
        """Whether an element may have several places: along some axis the steps are shorter than what the axes with shorter
        steps span."""
        span = 1
        for stride, extent in sorted((abs(s), d) for d, s in zip(self.shape, self.strides, strict=True) if d > 1):
            if stride < span:
                return True
            span += stride * (extent - 1)
        return False

    @property
    def span(self) -> range:
        """The elements of memory from its first to its last."""
        ends = [step * (extent - 1) for extent, step in zip(self.shape, self.strides, strict=True)]
        first, last = self.offset + sum(min(e, 0) for e in ends), self.offset + sum(max(e, 0) for e in ends)
        return range(first, last + 1) if all(self.shape) else range(0)

    @property
    def range(self) -> range | None:
        """The elements of memory that it covers; None for one that covers elements twice, or has gaps."""
        span = self.span
        return span if not self.overlaps and len(span) == math.prod(self.shape) else None

    def crosses(self, other: Layout) -> bool:
        """Whether both cover ranges of one memory that meet, and are not the same layout of one range."""
        a, b = self.range, other.range
        return a is not None and b is not None and a.start < b.stop and b.start < a.stop and not (
            a == b and self.shape == other.shape and self.same(other)
        )  # fmt: skip

    def joined(self, first: int, last: int) -> list[tuple[int, int]]:
        """(extent, stride) of axes [first, last), merged where one stride walks several; at least one."""
        found: list[tuple[int, int]] = []
        for extent, stride in zip(self.shape[first:last], self.strides[first:last], strict=True):
            if extent == 1:
                continue
            if found and found[-1][1] == stride * extent:
                found[-1] = found[-1][0] * extent, stride
            else:
                found.append((extent, stride))
        return found if found else [(1, 1)]


@record()
class View:
    """Moves no data: the result is the operand under another layout.

    `rule(node, layout)` returns the new layout, or None when this operand has to be copied first. `keeps_order`: the
    elements stay in row-major order, so that a fused loop can look through the op. The compiler writes such views
    as reshapes.
    """

    rule: Callable[[Node, Layout], Layout | None]
    keeps_order: bool = False

    def overlaps(self, node: Any, shape: tuple[int, ...]) -> bool:
        """Whether elements of an operand of this shape may appear several times in the view."""
        found = self.rule(node, Layout.contiguous(shape))
        return found is not None and 0 not in found.shape and found.overlaps


@record()
class Expand:
    """Written in other ops once the shapes are known: `rule(node, *inputs)` returns the handle that replaces it."""

    rule: Callable[..., Any]


@record()
class Deferred:
    """Written in other ops once the shapes, and the values of some operands, are known: `rule(graph, node, inputs, values)`
    returns the node of `graph` that replaces it; see `ops/deferred.py`."""

    rule: Callable[..., Node]


@record()
class Extent:
    """A scalar that depends only on shapes; kernels get it as a run-time argument."""

    rule: Callable[[Node], int]


@record()
class Index:
    """The position of each element along `attrs["axis"]`: a value that is not in memory."""


@record()
class Window:
    """The parts of a value along one axis: the elements of an operand from `begin` to `end`, and 0 elsewhere."""

    axis: int
    parts: tuple[tuple[int, int, int], ...]
    """(number of the operand, begin, end) in the order of the axis."""


@record()
class Lookup:
    """A value whose rows are rows of the operand `table`, named by the int64 indices in the operand `index`. The axes of the
    indices come first, then those of a row."""

    table: int
    index: int


@record()
class Scatter:
    """Zeros to which the rows of the operand `values` are added, at the rows that the int64 indices in the operand `index`
    name."""

    values: int
    index: int


@record()
class Scratch:
    """Scratch memory of a routine: so many elements per chunk, or in total where the range is not cut into numbered chunks.
    dtype: that of the result unless given. zeros: the elements are 0 before the first run, and the routine leaves them 0."""

    elements: int
    dtype: np.dtype | None = None
    zeros: bool = False


@record()
class Routine:
    """A native call of a kernel of `compiler/kernels/`, or of one that calls a function of the user's, where `module` is empty.

    Its buffers are operands in row-major order, the result and the scratch, then, for a check, the status of the run. A
    `chunked` kernel gets the sizes `(span, number of chunks, *sizes)`, and its range is over chunks; another one gets `sizes`,
    and its range is over [0, span).
    """

    module: str
    kernel: str
    span: int
    sizes: tuple[int, ...]
    work: int
    """The cost of the whole `span`, in units of one addition."""
    scratch: tuple[Scratch, ...] = ()
    join: str = ""
    """The kernel that runs once after all chunks."""
    why: str = ""
    """The reason for the choice of this kernel, for `explain()`."""
    name: str = ""
    """The name in `explain()`; the kernel's name unless given."""
    chunked: bool = True
    operands: tuple[int, ...] | None = None
    """The operands that it reads; None for all except those of which only the shape is read."""
    strided: tuple[int, ...] = ()
    """The operands whose layout `sizes` describes: they are not copied to row-major order."""


@record()
class Gemm:
    """A native call: factor * product + addend, where `product` (the node itself for None) is a product of two matrices, or
    of many."""

    product: Node | None = None
    addend: Node | None = None
    factor: float = 1.0
    matrices: tuple[tuple[int, Layout], ...] = ()
    """Where these are not the operands as they are: (number of an operand, which is read in row-major order, its matrices)."""
    why: str = ""
    """The reason for a product here, for `explain()`."""


@record()
class Copy:
    """A native call: an operand is copied into the result, at `layout`."""

    operand: int
    layout: Layout


@record()
class Clear:
    """A native call: the result is 0."""


@record()
class Exchange:
    """A native call: an exchange of the first operand with other processes, by MPI's C function of this name. One instruction
    begins it, and another waits for its end, which comes as late as the plan can do without the result."""

    group: int
    function: str
    told: str
    """What processes compare: the exchange with shape and dtype."""
    reduction: str = ""
    root: int = 0
    dtype: str = ""
    shape: tuple[int, ...] = ()
    """Of the operand."""
    table: int = -1
    """Of rows of a gradient, the number of the table in the group: processes may have other numbers of rows, and agree on one.
    -1 for another exchange."""


Call = Routine | Gemm | Copy | Clear | Exchange


@record()
class Order:
    """An order of axes, the slowest first, in which native code can write a result; `fits(node, layouts of the operands)`
    says whether it can do so for these operands. reads: an order in which it can read its operands."""

    axes: tuple[int, ...]
    fits: Callable[[Node, Sequence[Layout]], bool]
    reads: tuple[int, ...] = ()


@record()
class Native:
    """Native code: `plan(node, layouts of the operands)` returns calls, or None to run on the host.

    inplace: the operand in whose memory the result may be computed, when nothing else reads it any more. check: it looks for a
    bad number, and runs before anything is changed; `check(node, number)` is the error for one. alike: which of several bad
    numbers is reported makes no difference, so threads may share the check. missed(sizes, number): that
    error by the sizes of the instruction, which has the op's name, so that a plan from the kernel cache need not be compiled
    for it. fused(node): how kernels can make the result from the operands instead, a `Window`, `Lookup`, `Scatter` or another
    type that a kind of fusion in `compiler/fusion/` takes, or None. scales: the plan is one `Gemm`, which can be given a factor
    and an addend; see `compiler/fusion/epilogue.py`. order: the result can be written in this order of its axes, too; `plan`
    gets the layout of the result then, as a third argument."""

    plan: Callable[..., Sequence[Call] | None]
    inplace: int | None = None
    check: Callable[..., StaticgradError] | None = None
    alike: bool = False
    fused: Callable[[Node], Any] | None = None
    scales: bool = False
    order: Order | None = None
    missed: Callable[[Sequence[int], int], StaticgradError] | None = None
    again: Callable[[Sequence[int], Sequence[int], int], Exception] | None = None
    """Of a check that calls a function of the user's: `again(addresses of the buffers, sizes, number)` calls it once more, in
    Python, and returns the exception that it raises."""


@record()
class Leaf:
    """A leaf: it has no inputs and gets its value from outside. `kind` is "placeholder", "variable", "constant",
    "argument" (a hyper-parameter), "generator" (the random state) or "shape" (an operand whose value is not read)."""

    kind: str


@record()
class Effect:
    """An effect: ordered and never removed. `kind` is "read", "assign" or "group"."""

    kind: str


@record()
class Region:
    """An op that runs subgraphs, which `attrs` hold. `kind` is "loop" or "branch". The type is a TupleType.

    parameters: (attributes, types of the operands) -> for each attribute with a subgraph, the type of each of its parameters,
    and the operand that it always is, or None for one that changes.
    """

    kind: str
    parameters: Callable[[Mapping[str, Any], Sequence[Any]], dict[str, list[tuple[Any, int | None]]]]


@record()
class Result:
    """One result of a node with several: `attrs["index"]`."""


Emit = Pointwise | Reduction | View | Expand | Deferred | Extent | Index | Native | Leaf | Effect | Region | Result | None


def collapse(shape: Sequence[int], a: Sequence[int], b: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """The axes, merged where one stride walks them on both sides; at least one axis."""
    dims: list[list[int]] = []
    for d, s, t in zip(shape, a, b, strict=True):
        if d == 1:
            continue
        if dims and dims[-1][1] == s * d and dims[-1][2] == t * d:
            dims[-1] = [dims[-1][0] * d, s, t]
        else:
            dims.append([d, s, t])
    if not dims:
        dims = [[1 if math.prod(shape) else 0, 1, 1]]
    return [d[0] for d in dims], [d[1] for d in dims], [d[2] for d in dims]
