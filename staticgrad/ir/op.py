"""The op record, and the ways in which a record can say how it runs inside a compiled plan.

One op is one record in one place (`staticgrad/ops/`). The engine reads records; it knows no op by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
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

    `template` is a Python expression: `{0}`, `{1}` are the operands, `{s}` the suffix of the operand dtype (`f32`),
    which is also the name of its constructor in kernels. A callable gets the node and returns the template, or "" to
    leave this dtype to the host. `cost` is in units of one addition: it decides between computing a value twice and
    storing it.
    """

    template: str | Callable[[Node], str]
    cost: int = 1
    product: bool = False
    """It is the product of its two operands: sums of products have routines of their own."""
    sum_of: tuple[int, ...] = ()
    """It is the sum of its operands times these."""
    memory: str = "as computed"
    """Of the result in eager mode: "as computed", in the order of the operands; "row-major"; or "shared" with the operand."""

    def text(self, node: Node) -> str:
        return self.template if isinstance(self.template, str) else self.template(node)


@dataclass(frozen=True, slots=True)
class Reduction:
    """Folds the axes in `attrs["axis"]`. `start` is the neutral element, `combine` joins `{acc}` and `{x}`."""

    start: Callable[[np.dtype], Any]
    combine: str
    fold: Callable[..., np.ndarray]
    """The NumPy ufunc's reduce over axis 0, which joins the partial results of several threads."""
    sums: bool = False
    """It is the sum."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a value lies inside a buffer: offset and strides in elements."""

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

    def same(self, other: Layout) -> bool:
        """Whether each element lies where the other has it: strides of extents of 1 don't matter."""
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


@dataclass(frozen=True, slots=True)
class View:
    """Moves no data: the result is the operand under another layout.

    `rule(node, layout)` returns the new layout, or None when this operand has to be copied first. `keeps_order`: the
    elements stay in row-major order, so that a fused loop can look through the op.
    """

    rule: Callable[[Node, Layout], Layout | None]
    keeps_order: bool = False
    as_reshape: bool = False
    """The compiler writes it as a reshape, the one order-keeping view that later passes know."""


@dataclass(frozen=True, slots=True)
class Expand:
    """Written in other ops once the shapes are known: `rule(node, *inputs)` returns the handle that replaces it."""

    rule: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Extent:
    """A scalar that follows from shapes alone; it reaches kernels as a run-time argument."""

    rule: Callable[[Node], int]


@dataclass(frozen=True, slots=True)
class Index:
    """The position of each element along `attrs["axis"]`: a value that no memory holds."""


@dataclass(frozen=True, slots=True)
class Window:
    """What a value is made of along one axis: from `begin` to `end` the elements of an operand, and 0 elsewhere."""

    axis: int
    parts: tuple[tuple[int, int, int], ...]
    """(number of the operand, begin, end) in the order of the axis."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A value whose rows are rows of an operand, by the int64 numbers in another one: the numbers of both operands. The
    axes of the numbers come first, then those of a row."""

    table: int
    index: int


@dataclass(frozen=True, slots=True)
class Scatter:
    """A value that is 0 with rows of an operand added to those that the int64 numbers in another one name: the numbers of
    both operands."""

    values: int
    index: int


@dataclass(frozen=True, slots=True)
class Native:
    """A routine of `compiler/library` does it. `plan(node, layouts)` returns calls, or None to take the host.

    inplace: the operand in whose memory the result may be computed, when nothing else reads it any more. check: it looks
    for a bad number, and runs before anything is changed; `check(node, number)` is the error for one. window(node) and
    lookup(node): how kernels can read the result from the operands instead, or None. scatter(node): how a kernel that computes
    the operand can make the result, or None. scales: the call takes
    (node, addend, factor) too, and computes factor * node + addend; see `compiler/fusion/epilogue.py`.
    """

    plan: Callable[..., Any]
    inplace: int | None = None
    check: Callable[..., StaticgradError] | None = None
    window: Callable[[Node], Window | None] | None = None
    lookup: Callable[[Node], Lookup | None] | None = None
    scatter: Callable[[Node], Scatter | None] | None = None
    scales: bool = False


@dataclass(frozen=True, slots=True)
class Routine:
    """A call `("routine", (Routine(...),))` in a native plan: a kernel of `compiler/library/`, run over chunks of `span`.

    Its buffers are the operands (row-major, without those of which only the shape is read), the result and the scratch;
    its sizes are span, number of chunks, then `sizes`.
    """

    module: str
    kernel: str
    span: int
    sizes: tuple[int, ...]
    work: int
    """In units of one addition, for all of `span`."""
    scratch: int = 0
    """Elements per chunk, of the result's dtype."""
    join: str = ""
    """The kernel that runs once when all chunks are done."""
    why: str = ""
    """Why this kernel and not another; `explain()` says it."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """Has no inputs and gets its value from outside: `kind` is "placeholder", "variable", "constant",
    "argument" (a hyper-parameter), "generator" (the random state) or "shape" (an operand whose value is not read)."""

    kind: str


@dataclass(frozen=True, slots=True)
class Effect:
    """Ordered and never removed: `kind` is "read", "assign" or "group"."""

    kind: str


@dataclass(frozen=True, slots=True)
class Region:
    """Runs subgraphs, which `attrs` hold: `kind` is "loop" or "branch". The type is a TupleType."""

    kind: str


@dataclass(frozen=True, slots=True)
class Result:
    """One result of a node with several: `attrs["index"]`."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """What an attribute may be: `holds(value, types of the operands)`, and the same in words, for errors."""

    what: str
    holds: Callable[[Any, Sequence[TensorType]], bool]
    optional: bool = False


Range = tuple[int, int] | None
"""The least and the largest integer that a value can hold; None where nothing is known."""

Emit = Pointwise | Reduction | View | Expand | Extent | Index | Native | Leaf | Effect | Region | Result | None
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
        What the inputs are cast to before `infer` (None: kept). Operands are TensorTypes or plain numbers.
    """

    name: str
    infer: Callable[..., TensorType]
    eval: Callable[..., Any]
    vjp: Any = None
    emit: Emit = None
    promote: Promote | None = None
    symbol: str = ""
    """How error messages join two operands: `@` for matmul."""
    doc: str = field(default="", repr=False)
    vjp_all: Callable[..., Any] | None = None
    """`(g, node, wanted, *inputs) -> cotangents`: all cotangents at once, where they share work. `wanted`: for which
    inputs; None where there is none. `vjp` then only says where gradients flow."""
    vjp_add: Callable[..., None] | None = None
    """`(total, g, node)`: adds the cotangent of the first operand, which is 0 but for a part, to an array in place. For eager
    mode, where many parts of one tensor would each bring an array of its size."""
    shape_only: tuple[int, ...] = ()
    """Inputs of which only the shape is read: no value has to exist for them."""
    equals: int | None = None
    """The input that the result is equal to but for rounding: fast numerics take that, and nothing of the others."""
    sparse: bool = False
    """Most of the result is 0: what it is made of is smaller, and says as much."""
    attrs: Mapping[str, Attribute] = field(default_factory=dict, repr=False)
    """What its attributes may be. `typed` refuses others, so that `eval` and kernels can rely on them."""
    indexes: Callable[[Sequence[TensorType], Mapping[str, Any]], Sequence[tuple[int, int, int]]] | None = None
    """`indexes(types, attrs)`: (number of an operand, number of another, axis) where native code takes the integers of the
    first as positions along that axis of the second. The compiler checks those that it can't prove to be in range; see
    `compiler/passes/index_ranges.py`."""
    range: Callable[..., Range] | None = None
    """`range(types, attrs, *ranges of the operands)`: which integers the result can hold."""
    leaf: str = field(init=False, repr=False, default="")
    """The kind of a leaf, "" for other ops."""
    effect: str = field(init=False, repr=False, default="")
    """The kind of an effect, "" for other ops."""
    pure: bool = field(init=False, repr=False, default=True)
    """The result follows from inputs and attributes alone: may be interned, moved, or dropped."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "leaf", self.emit.kind if isinstance(self.emit, Leaf) else "")
        put(self, "effect", self.emit.kind if isinstance(self.emit, Effect) else "")
        put(self, "pure", self.leaf in ("", "constant", "shape") and not self.effect)

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
        """Raises ArgumentError unless it takes so many operands."""
        least, most = arity(self)
        if given < least or (most is not None and given > most):
            takes = f"{least}" if most == least else f"{least} or more" if most is None else f"{least} to {most}"
            raise ArgumentError(f"{self.name} takes {takes} operand{'' if takes == '1' else 's'}, got {given}")

    def check_attrs(self, types: Sequence[TensorType], attrs: Mapping[str, Any]) -> None:
        """Raises ArgumentError for an attribute that is absent, unknown, or not what the record says."""
        for name, kind in self.attrs.items():
            if name not in attrs:
                if not kind.optional:
                    raise ArgumentError(f"{self.name}: the attribute {name} is missing", f"it is {kind.what}")
            elif not kind.holds(attrs[name], types):
                raise ArgumentError(f"{self.name}: {name} has to be {kind.what}, got {_short(attrs[name])}")
        for name in attrs:
            if name not in self.attrs:
                raise ArgumentError(f"{self.name} has no attribute {_short(name)}")

    @property
    def grad_name(self) -> str:
        """The name that PyTorch shows for its derivative: `AddBackward0`."""
        return "".join(part.capitalize() for part in self.name.split("_")) + "Backward0"

    def __repr__(self) -> str:
        return f"<op {self.name}>"


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


def define(op: OpDef) -> OpDef:
    """Enter a record in the table. Raises ArgumentError when the name is taken."""
    if op.name in REGISTRY:
        raise ArgumentError(f"an op named {op.name!r} is defined already")
    REGISTRY[op.name] = op
    return op
