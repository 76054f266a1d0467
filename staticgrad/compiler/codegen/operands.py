"""The arguments of a kernel, and the expressions that read and combine them.

A kernel gets addresses, sizes and numbers. `Parameters` gives each a name and notes what a plan has to pass. `Operands`
writes the expression of a value: `x[i, j]` of a transposed array is `Load("x", j * columns + i)`, and `exp(x) + b` a scalar
operation of two others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ...base.dtypes import SHORT
from ...base.types import INEXACT, TensorType, bool_, float32, float64, int32, int64
from ...ir import REGISTRY, Extent, Index, Lookup, Node, Pointwise, Window
from ..fusion.fuse import Group
from ..fusion.iteration_domain import split_strides
from ..fusion.node_facts import (
    COL,
    FULL,
    ROW,
    SCALAR,
    Layouts,
    inlined,
    origin,
    real,
    row_run,
    row_terms,
    strides_of,
    table_strides,
)
from .loop_ir import (
    COLUMN_J,
    ROW_I,
    ZERO,
    Assign,
    Convert,
    Draw,
    Expr,
    Greatest,
    Infix,
    Integer,
    Kernel,
    Least,
    Literal,
    Load,
    Name,
    Pointer,
    Scalar,
    Statement,
    assign,
    inside,
    scalar,
    total,
)

# parameters: buffers, sizes, numbers, and the names of local values ---------------------------------------------------

# Extents, strides and numbers are run-time arguments, one per meaning and never per value: a batch whose extents happen
# to be equal gives the same source as any other.

LITERALS = (0.0, 1.0, -1.0, 2.0, 0.5)
"""Numbers that are written into the source; others are arguments."""


HELD = {
    "value": "", "scratch": "one row of ", "rows": "a block of ", "partial": "per chunk: ", "whole": "sums per chunk: ",
    "lost": "what they lost: ", "turned": "columns of ", "places": "where rows begin: ",
}  # fmt: skip
"""Prefixes of buffer names by the contents of the buffer."""


@dataclass(frozen=True)
class BufferRef:
    """A buffer of a kernel: `kind` is value (of `node`, at `offset` elements), scratch, rows, turned, places, partial,
    whole, lost, numbers."""

    kind: str
    node: Node | None = None
    offset: int = 0
    dtype: np.dtype = float64
    length: int = 0
    """Elements per chunk, for all but values and numbers."""
    number: int = 0
    """Of several of one kind for a node."""


@dataclass
class KernelSource:
    """A kernel's text and its arguments."""

    name: str
    body: str
    loops: Kernel
    """The loop IR of which `body` is the text."""
    buffers: list[BufferRef]
    sizes: list[int]
    numbers: list[float]
    rows: int
    chunked: bool
    folds: bool
    """Needs a closing call (start = -1) when the rows are cut into several chunks."""
    chunks_at: int = -1
    """Position in `sizes` of the number of chunks."""
    work: int = 0
    """Cost units (one addition each) of one run."""


@dataclass
class Parameters:
    """The parameters of one kernel, collected while its loops are built."""

    number: Mapping[Node, int]
    """Positions in the listing of the graph, for the comments."""
    pointers: dict[BufferRef, str] = field(default_factory=dict)
    """The names of the buffers' pointers, in the order of the buffers."""
    sizes: list[int] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    prologue: list[Statement] = field(default_factory=list)
    """The statements before the loops."""
    known_sizes: dict[Any, Name] = field(default_factory=dict)
    _read: list[Assign] = field(default_factory=list)
    _known_numbers: dict[str, Name] = field(default_factory=dict)
    _counters: dict[str, int] = field(default_factory=dict)

    def fresh(self, letter: str) -> Name:
        """The next name for a value of one kind: v0, v1, ..."""
        self._counters[letter] = self._counters.get(letter, -1) + 1
        return Name(f"{letter}{self._counters[letter]}")

    def note(self, node: Node) -> str:
        """The node that a line computes, and the user's line."""
        where = f"  {node.where.short}" if node.where is not None else ""
        return f"%{self.number.get(node, 0)} {node.op.name}{where}"

    def size(self, key: Any, value: int, name: str = "") -> Name:
        """A run-time integer; one per meaning."""
        known = self.known_sizes.get(key)
        if known is None:
            position = len(self.sizes)
            known = self.known_sizes[key] = Name(name or f"s{position}")
            self.sizes.append(value)
            self._read.append(assign(known.name, Load("sizes", Integer(position), int64)))
        return known

    def fix(self, key: Any, value: int) -> Name:
        """An integer that is part of the source."""
        known = self.known_sizes[key] = Name(key)
        self._read.append(assign(key, Integer(value)))
        return known

    def buffer(self, ref: BufferRef, name: str) -> str:
        """The name of a buffer's pointer."""
        known = self.pointers.get(ref)
        if known is None:
            known = self.pointers[ref] = f"{name}{len(self.pointers)}"
        return known

    def literal(self, value: Any, dtype: np.dtype) -> Expr:
        """A number: part of the source where it is simple, otherwise an argument."""
        if dtype == bool_:
            return Literal(bool(value), dtype)
        if dtype.kind not in INEXACT:
            return Convert(self.size(("int", value), int(value)), dtype) if abs(value) > 1 else Literal(int(value), dtype)
        negative_zero = value == 0 and math.copysign(1, value) < 0
        if not math.isfinite(value) or (value in LITERALS and not negative_zero):
            return Literal(value, dtype)
        if value not in self.numbers:
            self.numbers.append(value)
        position = self.numbers.index(value)
        name = f"n{position}_{SHORT[dtype]}"
        if name not in self._known_numbers:
            self._known_numbers[name] = Name(name)
            self.prologue.append(assign(name, Convert(Load("numbers", Integer(position), float64), dtype)))
        return self._known_numbers[name]

    def kernel(self, name: str, body: list[Statement]) -> Kernel:
        """The kernel: the loops with the parameters that they use."""
        numbers = []
        if self.numbers:
            numbers.append(assign("numbers", Name(self.buffer(BufferRef("numbers"), "numbers"))))
        pointers = [Pointer(pointer, ref.dtype, self._described(ref)) for ref, pointer in self.pointers.items()]
        return Kernel(name, tuple(pointers), (*self._read, *numbers, *self.prologue), tuple(body))

    def _described(self, ref: BufferRef) -> str:
        """The contents of a buffer, for the comment at its name."""
        if ref.kind == "numbers":
            return ", ".join(f"{n:g}" for n in self.numbers)
        assert ref.node is not None
        label = ref.node.name if ref.node.name else f"%{self.number.get(ref.node, 0)} {ref.node.op.name}"
        return f"{HELD[ref.kind]}{label} {ref.node.type}"


def real_extent(domain: Any, which: str) -> int:
    return real(getattr(domain, which))


# scalar operations that records compose of others ---------------------------------------------------------------------

# `hypot` is one of them, written into a kernel.
#
# A composition is a function `(op, *operands)` (`ir.Pointwise.scalar`). Its operands are `Value`s, which Python's arithmetic
# and comparisons combine; `op.sqrt(x)` is the scalar operation of that name, `op.where(condition, x, y)` a choice between
# values that are both computed, and `op.pick(a, b)` a number for float32 and one for float64. A value that is used more than
# once becomes a line of the kernel.


class Value:
    """A value of a composition."""

    __slots__ = ("expr", "op")

    def __init__(self, op: Composer, expr: Expr):
        self.op, self.expr = op, expr

    def __add__(self, other: Value | float) -> Value:
        return self.op("add", self, other)

    def __radd__(self, other: float) -> Value:
        return self.op("add", other, self)

    def __sub__(self, other: Value | float) -> Value:
        return self.op("sub", self, other)

    def __rsub__(self, other: float) -> Value:
        return self.op("sub", other, self)

    def __mul__(self, other: Value | float) -> Value:
        return self.op("mul", self, other)

    def __rmul__(self, other: float) -> Value:
        return self.op("mul", other, self)

    def __truediv__(self, other: Value | float) -> Value:
        return self.op("div", self, other)

    def __rtruediv__(self, other: float) -> Value:
        return self.op("div", other, self)

    def __neg__(self) -> Value:
        return self.op("neg", self)

    def __abs__(self) -> Value:
        return self.op("abs", self)

    def __lt__(self, other: Value | float) -> Value:
        return self.op("lt", self, other)

    def __le__(self, other: Value | float) -> Value:
        return self.op("le", self, other)

    def __gt__(self, other: Value | float) -> Value:
        return self.op("gt", self, other)

    def __ge__(self, other: Value | float) -> Value:
        return self.op("ge", self, other)


class Composer:
    """The first argument of a composition. `literal(number, dtype)`: the expression of a number."""

    def __init__(self, dtype: np.dtype, literal: Callable[[Any, np.dtype], Expr]):
        self.dtype, self._literal = dtype, literal

    def __call__(self, name: str, *operands: Value | float) -> Value:
        """A scalar operation: its type and cost are those of the record of this name, if there is one."""
        dtypes = [self._type(v) for v in operands]
        record = REGISTRY.get(name)
        cost, result = 1, dtypes[-1]
        if record is not None:
            result = record.infer(*(TensorType((), dtype) for dtype in dtypes)).dtype
            cost = record.emit.cost if isinstance(record.emit, Pointwise) else 1
        return Value(self, Scalar(name, tuple(map(self._expr, operands)), dtypes[-1], result, cost))

    def __getattr__(self, name: str) -> Callable[..., Value]:
        return lambda *operands: self(name, *operands)

    def pick(self, single: float, double: float) -> float:
        """The number for this composition's dtype."""
        return single if self.dtype == float32 else double

    def _type(self, value: Value | float) -> np.dtype:
        expr = value.expr if isinstance(value, Value) else None
        return expr.result if isinstance(expr, Scalar) else self.dtype

    def _expr(self, value: Value | float) -> Expr:
        return value.expr if isinstance(value, Value) else self._literal(value, self.dtype)


def composed(
    composition: Callable[..., Value],
    operands: Sequence[Expr],
    dtype: np.dtype,
    literal: Callable[[Any, np.dtype], Expr],
    fresh: Callable[[str], Name],
    note: str,
) -> tuple[list[Statement], Expr]:
    """The lines that a composition of these operands needs, and its value."""
    op = Composer(dtype, literal)
    whole = composition(op, *(Value(op, operand) for operand in operands)).expr
    uses: Counter[int] = Counter()
    _count(whole, uses)
    lines: list[Statement] = []
    named: dict[int, Expr] = {}

    def written(expr: Expr) -> Expr:
        if not isinstance(expr, Scalar):
            return expr
        if id(expr) not in named:
            value: Expr = replace(expr, operands=tuple(map(written, expr.operands)))
            if uses[id(expr)] > 1:
                name = fresh("p")
                lines.append(assign(name.name, value, note))
                value = name
            named[id(expr)] = value
        return named[id(expr)]

    return lines, written(whole)


def _count(expr: Expr, uses: Counter[int]) -> None:
    """How often each operation inside is an operand of another one, by identity."""
    if isinstance(expr, Scalar):
        uses[id(expr)] += 1
        if uses[id(expr)] == 1:
            for operand in expr.operands:
                _count(operand, uses)


COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
MOST = 2**31 - 1
"""The greatest int32."""


class Run(NamedTuple):
    """Rows from each multiple of `rows` on, as far as the next: a place grows by `step` in them, None where it stays."""

    rows: int
    step: Expr | None


class Operands:
    """Expressions for values that a kernel reads, from the layouts of the graph."""

    def __init__(self, args: Parameters, group: Group, layouts: Layouts, place: Mapping[Node, Node], innermost: bool):
        """place: the value or variable in whose memory a stored value is; innermost: whether loops over columns are, not those
        over the rows of a tile."""
        self.args, self.layouts, self.place, self.innermost = args, layouts, place, innermost
        self.domain = group.domain
        self.uniform: dict[Node, Name] = {}
        self.runs: dict[Expr, Run] = {}
        """By a row's part of a place that has divisions, the rows in which it grows by one stride."""

    def memory(self, node: Node, name: str) -> str:
        """The pointer to the first element of a stored value."""
        base = self.layouts.base[node]
        base = self.place.get(base, base)
        return self.args.buffer(BufferRef("value", base, self.layouts.at[node].offset, node.type.dtype), name)

    def uniform_value(self, node: Node) -> Expr:
        """A scalar that is not in memory."""
        if node.op.leaf == "constant":
            return self.args.literal(node.attrs["value"].array.item(), node.type.dtype)
        if node not in self.uniform:
            name = self.args.fresh("k")
            value: Expr
            if isinstance(node.op.emit, Extent):
                value = Convert(self.args.size(("extent", node), node.op.emit.rule(node)), node.type.dtype)
            else:
                value = self.expression(node, [self.uniform_value(origin(i)) for i in node.inputs], self.args.prologue)
            self.args.prologue.append(assign(name.name, value, self.args.note(node)))
            self.uniform[node] = name
        return self.uniform[node]

    def expression(self, node: Node, operands: Sequence[Expr], body: list[Statement], element: Expr = ZERO) -> Expr:
        """The scalar operation of a node; the lines that it needs are added to `body`.

        element: the flat position, which random draws are a function of.
        """
        emit = node.op.emit
        assert isinstance(emit, Pointwise)
        result = node.type.dtype
        dtype = node.inputs[-1].type.dtype if node.inputs else result
        if node.op.draws:
            later: Expr = self.args.size(("draw", node), node.attrs["index"])
            if len(node.inputs) > 1 and 1 not in node.op.shape_only:  # draws of earlier iterations of a loop
                later = later + operands[1]
            generator = operands[0]
            assert isinstance(generator, Name)
            draw = Draw(str(emit.scalar), generator.name, later, element, result, emit.cost)
            return Convert(draw, result) if result.kind in "iu" else draw
        if isinstance(emit.scalar, str):
            if emit.scalar in COMPARISONS and self._narrows(node, operands):
                operands, dtype = [_narrow(operand) for operand in operands], int32
            return scalar(emit.scalar, operands, dtype, result, emit.cost)
        note = self.args.note(node)
        lines, value = composed(emit.scalar, operands, dtype, self.args.literal, self.args.fresh, note)
        body += lines
        return Convert(value, result) if result.kind in "iu" else value

    def _narrows(self, node: Node, operands: Sequence[Expr]) -> bool:
        """Whether a comparison is one of the column's number with a value that all columns of the row share, and int32 has the
        numbers of all columns: then a loop over float32 has lanes of one width."""
        if not self.innermost or COLUMN_J not in operands or node.inputs[0].type.dtype != int64:
            return False
        if real_extent(self.domain, "columns") > MOST:
            return False
        at = 1 if operands[0] == COLUMN_J else 0
        other, source = node.inputs[at], origin(node.inputs[at])
        if source in self.domain.rank:
            return self.domain.rank[source] in (ROW, SCALAR)
        if inlined(source) or not other.type.shape:
            return COLUMN_J not in inside(operands[at])
        found = split_strides(other, node.type.shape, FULL, self.domain, self.layouts)
        return found is not None and found[2] == 0

    def access(self, seen: Node, user: Node, kind: str, shape: tuple[int, ...]) -> tuple[str, Expr | None, Expr | None]:
        """(pointer, row term, column term) of an operand in memory; None for terms that are 0."""
        pointer = self.memory(seen, "x")
        if kind == SCALAR or not seen.type.shape:
            return pointer, None, None
        found = split_strides(seen, shape, kind, self.domain, self.layouts)
        assert found is not None
        extents, strides, column = found
        if self.domain.columns is None:
            flat = split_strides(seen, shape, ROW, self.domain, self.layouts)
            assert flat is not None
            extents, strides, column = flat
        row = self.rows(extents, strides, (seen, shape, kind))  # it may be read as a row and broadcast, too
        return pointer, row, None if column == 0 else self.times(COLUMN_J, column, ("stride", column, seen))

    def rows(self, extents: Sequence[int], strides: Sequence[int], key: tuple[Any, ...]) -> Expr | None:
        """The row's part of a place."""
        terms = row_terms(extents, strides)
        place = total([self._row_term(t, (*key, n)) for n, t in enumerate(terms)])
        if place is not None and not (len(terms) == 1 and terms[0][:2] == (1, 0)):
            rows, stride = row_run(extents, strides)
            step = self.times(ROW_I, stride, ("row stride", (*key, 0))) if stride != 0 else None
            self.runs[place] = Run(rows, step)
        return place

    def times(self, place: Expr, stride: int, key: Any) -> Expr:
        """A place times a stride, which is an argument unless it is 1."""
        return place if stride == 1 else place * self.args.size(key, stride)

    def window(self, node: Node, window: Window, kind: str, body: list[Statement]) -> Expr:
        """A value that is read from operands at shifted places, under conditions. Where these differ along a row, each of
        several operands is a line of `body`: LLVM makes one load of two that exclude each other, and gathers its elements."""
        dtype = node.type.dtype
        zero = value = self.args.literal(0, dtype)
        for number, begin, end in reversed(window.parts):
            seen = node.inputs[number]
            row, column, over_columns = strides_of(node, window, number, kind, self.domain, self.layouts)
            first: Expr = self.args.size(("begin", node, number), begin)
            last: Expr = self.args.size(("end", node, number), end)
            terms: list[Expr] = []
            axes = (ROW_I, row, "row", not over_columns), (COLUMN_J, column, "column", over_columns)
            for place, stride, axis, moved in axes:
                if kind == (COL if axis == "row" else ROW):
                    continue
                at = place - first if moved else place
                unit = stride == 1 and (axis == "column" or self.domain.columns is None)
                terms.append(at if unit else at * self.args.size((axis, "stride", node, number), stride))
            index = total(terms)
            assert index is not None
            moving: Expr = COLUMN_J if over_columns else ROW_I
            read = Load(self.memory(seen, "x"), index, seen.type.dtype)
            if over_columns and self.innermost and real_extent(self.domain, "columns") <= MOST:  # lanes as wide as float32
                first, moving, last = (Convert(bound, int32) for bound in (first, moving, last))
            condition = Infix("and", Infix("<=", first, moving), Infix("<", moving, last))
            if len(window.parts) > 1 and (over_columns or self.domain.columns is None):
                name = self.args.fresh("p")
                body.append(assign(name.name, Scalar("where", (condition, read, zero), dtype, dtype), self.args.note(node)))
                value = name if value is zero else Scalar("where", (condition, name, value), dtype, dtype)
            else:
                value = Scalar("where", (condition, read, value), dtype, dtype)
        return value

    def looked_up(self, node: Node, lookup: Lookup, number: Expr) -> Load:
        """An indirect load: an element of the row of a table that an index names."""
        table = node.inputs[lookup.table]
        row, column = table_strides(node, lookup, self.domain, self.layouts)
        place = self.times(number, row, ("table row", node))
        if self.domain.rank[node] == FULL:
            place = place + self.times(COLUMN_J, column, ("table column", node))
        return Load(self.memory(table, "x"), place, table.type.dtype)

    def _row_term(self, term: tuple[int, int, int], key: Any) -> Expr:
        """Arguments are keyed by operand, not by value: equal extents of one batch must not shape the source."""
        divisor, modulus, stride = term
        if modulus == 0 and divisor == 1:
            if self.domain.columns is not None and stride == self.domain.columns:
                return ROW_I * Name("columns")
            return ROW_I if stride == 1 else ROW_I * self.args.size(("row stride", key), real(stride))
        place: Expr = ROW_I // self.args.size(("div", key), divisor) if divisor != 1 else ROW_I
        if modulus != 0:
            place = place % self.args.size(("mod", key), modulus)
        return place * self.args.size(("row stride", key), stride)

    def position(self, node: Node, shape: tuple[int, ...], kind: str) -> Expr:
        """The value of an Index operand: the position of the current element along its axis, computed from the flat
        position."""
        assert isinstance(node.op.emit, Index)
        if kind == SCALAR:
            return ZERO
        axis = node.attrs["axis"] + len(shape) - node.type.ndim
        n, inner = shape[axis], math.prod(shape[axis + 1 :])
        flat: Expr
        if kind == FULL and self.domain.columns is not None:
            if axis == len(shape) - 1 and n == self.domain.columns:
                return COLUMN_J
            flat = ROW_I * Name("columns") + COLUMN_J
            for first in range(axis + 1, len(shape)):
                if math.prod(shape[first:]) == self.domain.columns:  # all columns of a row are at one position
                    flat, inner = ROW_I, math.prod(shape[axis + 1 : first])
                    break
            outermost = axis == 0
        else:
            flat = COLUMN_J if kind == COL else ROW_I
            outermost = axis == 0 and inner == 1
        if inner != 1 or flat not in (ROW_I, COLUMN_J):
            flat = flat // self.args.size(("inner", node, kind), inner)
        return flat if outermost else flat % self.args.size(("extent", node), n)


def _narrow(value: Expr) -> Expr:
    """An int64 as an int32 that compares with the number of a column as it does."""
    return Convert(value if value == COLUMN_J else Least(Greatest(value, Integer(-1)), Integer(MOST)), int32)
