"""The op record, and the ways in which a record can say how it runs inside a compiled plan.

One op is one record in one place (`staticgrad/ops/`). The engine reads records; it knows no op by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, DTypeError, StaticgradError
from ..types import StackType, TensorType, TupleType

if TYPE_CHECKING:
    from .node import Node


@dataclass(frozen=True, slots=True)
class Pointwise:
    """One value per element of the (broadcast) result.

    `scalar` names the scalar operation of one element; each printer of kernels knows how it is written, and a name that
    it does not know is a function of `compiler/backend/`. A callable `(op, *operands)` composes such operations, with
    Python's operators and `op.minimum(x, y)`; see `compiler/codegen/compositions.py`. `cost` is in units of one addition: it
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
    memory: str = "as computed"
    """The memory of the result in eager mode: "as computed", in the order of the operands; "row-major"; or "shared" with the
    operand."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """Folds the axes in `attrs["axis"]`. `start` is the neutral element, `combine` the scalar operation that combines
    the accumulated value and the next element."""

    start: Callable[[np.dtype], Any]
    combine: str
    fold: Callable[..., np.ndarray]
    """The NumPy ufunc's reduce over axis 0, which combines the partial results of several threads."""
    monoid: str = ""
    """The name of the monoid over which it folds, for passes that use its algebra: "add" is the sum."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class View:
    """Moves no data: the result is the operand under another layout.

    `rule(node, layout)` returns the new layout, or None when this operand has to be copied first. `keeps_order`: the
    elements stay in row-major order, so that a fused loop can look through the op. The compiler writes such views
    as reshapes.
    """

    rule: Callable[[Node, Layout], Layout | None]
    keeps_order: bool = False


@dataclass(frozen=True, slots=True)
class Expand:
    """Written in other ops once the shapes are known: `rule(node, *inputs)` returns the handle that replaces it."""

    rule: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Deferred:
    """Written in other ops once the shapes, and the values of some operands, are known: `rule(graph, node, inputs, values)`
    returns the node of `graph` that replaces it; see `ops/deferred.py`."""

    rule: Callable[..., Node]


@dataclass(frozen=True, slots=True)
class Extent:
    """A scalar that depends only on shapes; kernels get it as a run-time argument."""

    rule: Callable[[Node], int]


@dataclass(frozen=True, slots=True)
class Index:
    """The position of each element along `attrs["axis"]`: a value that is not in memory."""


@dataclass(frozen=True, slots=True)
class Window:
    """The parts of a value along one axis: the elements of an operand from `begin` to `end`, and 0 elsewhere."""

    axis: int
    parts: tuple[tuple[int, int, int], ...]
    """(number of the operand, begin, end) in the order of the axis."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A value whose rows are rows of the operand `table`, named by the int64 indices in the operand `index`. The axes of the
    indices come first, then those of a row."""

    table: int
    index: int


@dataclass(frozen=True, slots=True)
class Scatter:
    """Zeros to which the rows of the operand `values` are added, at the rows that the int64 indices in the operand `index`
    name."""

    values: int
    index: int


@dataclass(frozen=True, slots=True)
class Scratch:
    """Scratch memory of a routine: so many elements per chunk, or in total where the range is not cut into numbered chunks.
    dtype: that of the result unless given. zeros: the elements are 0 before the first run, and the routine leaves them 0."""

    elements: int
    dtype: np.dtype | None = None
    zeros: bool = False


@dataclass(frozen=True, slots=True)
class Routine:
    """A native call of a kernel of `compiler/kernels/`.

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


@dataclass(frozen=True, slots=True)
class Gemm:
    """A native call: factor * product + addend, where `product` (the node itself for None) is a product of two matrices, or
    of many."""

    product: Node | None = None
    addend: Node | None = None
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Copy:
    """A native call: an operand is copied into the result, at `layout`."""

    operand: int
    layout: Layout


@dataclass(frozen=True, slots=True)
class Clear:
    """A native call: the result is 0."""


Call = Routine | Gemm | Copy | Clear


@dataclass(frozen=True, slots=True)
class Order:
    """An order of axes, the slowest first, in which native code can write a result; `fits(node, layouts of the operands)`
    says whether it can do so for these operands. reads: an order in which it can read its operands."""

    axes: tuple[int, ...]
    fits: Callable[[Node, Sequence[Layout]], bool]
    reads: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Native:
    """Native code: `plan(node, layouts of the operands)` returns calls, or None to run on the host.

    inplace: the operand in whose memory the result may be computed, when nothing else reads it any more. check: it looks for a
    bad number, and runs before anything is changed; `check(node, number)` is the error for one. fused(node): how kernels can
    make the result from the operands instead, a `Window`, `Lookup`, `Scatter` or another type that a kind of fusion in
    `compiler/fusion/` takes, or None. scales: the plan is one `Gemm`, which can be given a factor and an addend; see
    `compiler/fusion/epilogue.py`. order: the result can be written in this order of its axes, too; `plan` gets the layout of
    the result then, as a third argument."""

    plan: Callable[..., Sequence[Call] | None]
    inplace: int | None = None
    check: Callable[..., StaticgradError] | None = None
    fused: Callable[[Node], Any] | None = None
    scales: bool = False
    order: Order | None = None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf: it has no inputs and gets its value from outside. `kind` is "placeholder", "variable", "constant",
    "argument" (a hyper-parameter), "generator" (the random state) or "shape" (an operand whose value is not read)."""

    kind: str


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect: ordered and never removed. `kind` is "read", "assign" or "group"."""

    kind: str


@dataclass(frozen=True, slots=True)
class Region:
    """An op that runs subgraphs, which `attrs` hold. `kind` is "loop" or "branch". The type is a TupleType.

    parameters: (attributes, types of the operands) -> for each attribute with a subgraph, the type of each of its parameters,
    and the operand that it always is, or None for one that changes.
    """

    kind: str
    parameters: Callable[[Mapping[str, Any], Sequence[Any]], dict[str, list[tuple[Any, int | None]]]]


@dataclass(frozen=True, slots=True)
class Result:
    """One result of a node with several: `attrs["index"]`."""


@dataclass(frozen=True, slots=True)
class OverComplex:
    """How an op computes with complex numbers, where that does not follow from its record; see `ops/over_complex.py`."""

    rule: str
    """"linear": the cotangent rules hold as they are, because their coefficients are real. "holomorphic": they hold for the
    conjugates, because the op has a complex derivative. "own": the record itself is written for complex numbers, and so are
    the fields below."""
    infer: Callable[..., TensorType] | None = None
    eval: Callable[..., Any] | None = None
    vjp: Any = None
    jvp: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Attribute:
    """The constraint on an attribute: `holds(value, types of the operands)`, and the same in words for errors."""

    what: str
    holds: Callable[[Any, Sequence[TensorType]], bool]
    optional: bool = False
    shifted: Callable[[Any], Any] | None = None
    """Of one that names axes: the value where every operand has one more axis in front."""


Range = tuple[int, int] | None
"""The least and the largest integer that a value can hold; None where nothing is known."""

Emit = Pointwise | Reduction | View | Expand | Deferred | Extent | Index | Native | Leaf | Effect | Region | Result | None
Promote = Callable[[Sequence[Any]], Sequence[np.dtype | None]]


@dataclass(frozen=True, slots=True, eq=False)
class OpDef:
    """One op, for every mode.

    infer(*types, **attrs) -> TensorType
        The result's type; raises ShapeError, DTypeError or ArgumentError. Extents may be None.
    eval(*arrays, **attrs) -> ndarray
        The meaning in NumPy, used by eager mode, the interpreter and the plan's fallback.
    vjp
        One function per input, `(g, node, out, *inputs) -> cotangent`, written in this library's ops: it runs on eager
        tensors or appends to a graph, and differentiates again. An entry None means that no gradient flows to this
        input. For a variadic op: a function of the input's position that returns such a function. None for the op:
        its result does not depend smoothly on anything (comparisons, argmax).
    emit
        How it looks in a plan; None: the plan calls `eval` from the host.
    promote(operands) -> dtypes
        The dtypes to which inputs are cast before `infer` (None: no cast). Operands are TensorTypes or plain numbers.
    """

    name: str
    infer: Callable[..., TensorType]
    eval: Callable[..., Any]
    vjp: Any = None
    emit: Emit = None
    promote: Promote | None = None
    symbol: str = ""
    """The symbol between two operands in error messages: `@` for matmul."""
    doc: str = field(default="", repr=False)
    vjp_all: Callable[..., Any] | None = None
    """`(g, node, wanted, *inputs) -> cotangents`: all cotangents at once, where they share work. `wanted`: for which
    inputs; None where there is none. `vjp` then only says where gradients flow."""
    vjp_add: Callable[..., None] | None = None
    """`(total, g, node)`: adds the cotangent of the first operand, which is 0 except in a part, to an array in place. For
    eager mode, where many parts of one tensor would each bring an array of its size."""
    shape_only: tuple[int, ...] = ()
    """Inputs of which only the shape is read: no value has to exist for them."""
    equals: int | None = None
    """The input to which the result is equal except for rounding: fast numerics use it, and drop the others."""
    sparse: bool = False
    """Whether most of the result is 0: its operands are smaller and hold the same information."""
    attrs: Mapping[str, Attribute] = field(default_factory=dict, repr=False)
    """The constraints on its attributes. `typed` refuses other values, so that `eval` and kernels can rely on them."""
    indexes: Callable[[Sequence[TensorType], Mapping[str, Any]], Sequence[tuple[int, int, int]]] | None = None
    """`indexes(types, attrs)`: (number of an operand, number of another, axis) where native code takes the integers of the
    first as positions along that axis of the second. The compiler checks those that it can't prove to be in range; see
    `compiler/passes/index_ranges.py`."""
    range: Callable[..., Range] | None = None
    """`range(types, attrs, *ranges of the operands)`: the range of integers in the result."""
    stateful: bool = False
    """Whether `eval` does more than compute its result, as printing: a node is never merged with another of its kind."""
    draws: bool = False
    """Whether the first operand is the (seed, draw) of a random generator, and every element of the result a function of it."""
    backward: str | Callable[[Any], str] = ""
    """PyTorch's name of its derivative, where that does not follow from `name`: `UnsqueezeBackward0`; or a function that finds
    it from a node, or a record of the tape."""
    batch: Callable[..., Any] | None = None
    """The batching rule: `(samples, node, *operands) -> result`, the op on many samples at once. Operands that
    `samples.flags` marks have an axis of samples in front of the axes that `node` knows, and so has the result, unless it is
    the same for all. None: the rule follows from `emit` and `attrs`; see `ops/batching.py`."""
    jvp: Callable[..., Any] | None = None
    """The forward-mode rule: `(node, out, primals, tangents) -> tangent`; a tangent that is None is 0. None: the rule
    follows from `emit` and `vjp`; see `autodiff/forward.py`."""
    written: Callable[..., Any] | None = None
    """Of an op whose result in eager mode is a view that no `View` describes, because its elements are parts of the
    operand's: `(operand, value)`, the operand whose view has that value."""
    complex: OverComplex | None = None
    """How it computes with complex numbers. None: it follows from `emit` and `jvp`, or the op refuses them."""
    plain: OpDef = field(init=False, repr=False)
    """The record itself; of one that `over_complex` made, the record that it was made of."""
    aliases: bool = field(init=False, repr=False, default=False)
    """Whether the result shares the operand's memory in eager mode."""
    leaf: str = field(init=False, repr=False, default="")
    """The kind of a leaf, "" for other ops."""
    effect: str = field(init=False, repr=False, default="")
    """The kind of an effect, "" for other ops."""
    eager_least: int = field(init=False, repr=False, compare=False, default=0)
    """The number of elements of the first operand from which eager mode looks for a kernel; see `eager/op_calls.py`. 0: not
    determined yet."""
    by_rules: bool = field(init=False, repr=False, default=False)
    """Whether `vjp` alone says what a backward pass does: there is neither `vjp_all` nor `vjp_add`."""
    product: bool = field(init=False, repr=False, default=False)
    """Whether it is a product of matrices. Where one of them is a vector, NumPy calls the BLAS routine, sooner than a kernel
    is called."""
    pure: bool = field(init=False, repr=False, default=True)
    """Whether the result depends only on inputs and attributes, so that the node may be interned, moved or dropped."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "plain", self)
        put(self, "aliases", isinstance(self.emit, View) or self.written is not None)
        put(self, "leaf", self.emit.kind if isinstance(self.emit, Leaf) else "")
        put(self, "effect", self.emit.kind if isinstance(self.emit, Effect) else "")
        put(self, "by_rules", self.vjp_all is None and self.vjp_add is None)
        put(self, "product", isinstance(self.emit, Native) and self.emit.scales)
        put(self, "pure", self.leaf in ("", "constant", "shape") and not self.effect and not self.stateful)

    def vjp_for(self, i: int) -> Callable[..., Any] | None:
        """The cotangent function of input `i`, or None when no gradient flows there."""
        if self.vjp is None:
            return None
        rule: Callable[..., Any] | None = self.vjp(i) if callable(self.vjp) else self.vjp[i]
        return rule

    def typed(self, types: Sequence[TensorType], attrs: Mapping[str, Any]) -> TensorType:
        """The result's type, after a check of all that `eval` and kernels rely on: the number of operands, their dtypes,
        every attribute, the size of the result. Raises ArgumentError, DTypeError, ShapeError."""
        self.check_arity(len(types))
        for t in types:
            if isinstance(t, (StackType, TupleType)) and self.equals is None and not isinstance(self.emit, (Region, Result)):
                raise ArgumentError(f"{self.name} can't take {t}", "only loops, branches and their results can")
        self.check_attrs(types, attrs)
        if self.promote is not None:
            for i, (t, dtype) in enumerate(zip(types, self.promote(types), strict=True)):
                if dtype is not None and t.dtype != dtype:
                    raise DTypeError(f"{self.name}: operand {i} has to be {dtype} here, got {t.dtype}", "cast it first")
        result = self.infer(*types, **attrs)
        result.check_size()
        return result

    def check_arity(self, given: int) -> None:
        """Raises ArgumentError unless the op takes so many operands."""
        least, most = arity(self)
        if given < least or (most is not None and given > most):
            takes = f"{least}" if most == least else f"{least} or more" if most is None else f"{least} to {most}"
            raise ArgumentError(f"{self.name} takes {takes} operand{'' if takes == '1' else 's'}, got {given}")

    def check_attrs(self, types: Sequence[TensorType], attrs: Mapping[str, Any]) -> None:
        """Raises ArgumentError for an attribute that is absent, unknown, or against the record's constraint."""
        for name, kind in self.attrs.items():
            if name not in attrs:
                if not kind.optional:
                    raise ArgumentError(f"{self.name}: the attribute {name} is missing", f"it is {kind.what}")
            elif not kind.holds(attrs[name], types):
                raise ArgumentError(f"{self.name}: {name} has to be {kind.what}, got {_short(attrs[name])}")
        for name in attrs:
            if name not in self.attrs:
                raise ArgumentError(f"{self.name} has no attribute {_short(name)}")

    def grad_name(self, node: Any) -> str:
        """The name that PyTorch shows for the derivative of a node, or of a record of the tape: `AddBackward0`."""
        return self.backward(node) if callable(self.backward) else self.backward or node_name(self.name)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def node_name(name: str) -> str:
    """PyTorch's name of the derivative of a function: that of `log1p` is `Log1PBackward0`."""
    return name.title().replace("_", "") + "Backward0"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


@cache
def arity(op: OpDef) -> tuple[int, int | None]:
    """The least and the largest number of operands; None for any."""
    if isinstance(op.emit, Leaf):
        return 0, 0
    if isinstance(op.vjp, tuple):
        return len(op.vjp), len(op.vjp)
    if isinstance(op.eval, np.ufunc):
        return op.eval.nin, op.eval.nin
    given = inspect.signature(op.infer).parameters.values()
    least = sum(p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in op.attrs for p in given)
    return least, None if any(p.kind is p.VAR_POSITIONAL for p in given) else least


REGISTRY: dict[str, OpDef] = {}
OVER_COMPLEX: dict[OpDef, OpDef] = {}
"""The records over complex numbers that were needed so far."""
derivation: list[Callable[[OpDef], OpDef]] = []
"""The function that makes them; `ops/over_complex.py` enters it."""


def over_complex(op: OpDef) -> OpDef:
    """The record of the same op over complex numbers, which the host computes. Raises DTypeError where there is none.

    It is a record of its own, so rules of rewriting, kernels and everything else that is made for the op over real numbers
    leave it alone.
    """
    made = OVER_COMPLEX.get(op)
    if made is None:
        made = OVER_COMPLEX[op] = derivation[0](op)
        OVER_COMPLEX[made] = made
    return made


def is_complex(types: Iterable[TensorType]) -> bool:
    """Whether one of the types is complex."""
    return any(t.dtype.kind == "c" for t in types)


def define(op: OpDef) -> OpDef:
    """Enter a record in the table. Raises ArgumentError when the name is taken."""
    if op.name in REGISTRY:
        raise ArgumentError(f"an op named {op.name!r} is defined already")
    REGISTRY[op.name] = op
    return op
