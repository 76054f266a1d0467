"""The loop IR: a kernel as loops over an iteration domain, in data that printers and rewrites read.

    kernel     = Kernel(name, pointers, prologue, body)
    statement  = Assign(names, values) | Store(pointer, index, value) | Accumulate(target, scalar, value)
               | CompensatedAdd(sum, lost, value) | MatrixVector(...) | TurnedRows(...)
               | Loop(index, start, stop, step, body) | If(condition, body) | Stage(body)
    expression = Name | Integer | Literal(value, dtype) | Convert(value, dtype)
               | Load(pointer, index, dtype) | Scalar(name, operands) | Draw(name, ...)
               | Infix(operator, left, right) | Least(left, right) | Greatest(left, right)

Op records contribute scalar operations by name (`ir.Pointwise.scalar`, `ir.Reduction.combine`); `operands.py` and
`kernel_writer.py` build the loops, the rewrites below transform them. A load whose index holds a loaded value is an indirect
load. `printers.py` writes a kernel for the compiler or as plain Python for a debugger, and counts its arithmetic and
bytes.

`Infix` is arithmetic of places and bounds, and of float64 sums; arithmetic of other values is `Scalar`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np


@dataclass(frozen=True, slots=True)
class Expr:
    """A value. `+ - * // %` of expressions and plain integers make `Infix` expressions."""

    def __add__(self, other: Expr | int) -> Infix:
        return Infix("+", self, wrapped(other))

    def __sub__(self, other: Expr | int) -> Infix:
        return Infix("-", self, wrapped(other))

    def __mul__(self, other: Expr | int) -> Infix:
        return Infix("*", self, wrapped(other))

    def __floordiv__(self, other: Expr | int) -> Infix:
        return Infix("//", self, wrapped(other))

    def __mod__(self, other: Expr | int) -> Infix:
        return Infix("%", self, wrapped(other))


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """A local value: of a loop, an argument, or an `Assign`."""

    name: str


@dataclass(frozen=True, slots=True)
class Integer(Expr):
    """A plain integer of places and bounds."""

    value: int


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant of a dtype that is part of the source."""

    value: Any
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class Convert(Expr):
    """A number in another dtype, not bool."""

    value: Expr
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class Load(Expr):
    """An element of a buffer. Booleans are bytes there: a value of dtype bool is compared with 0."""

    pointer: str
    index: Expr
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class Scalar(Expr):
    """A scalar operation by name. `dtype` is that of the last operand, and of the others except for conditions."""

    name: str
    operands: tuple[Expr, ...]
    dtype: np.dtype
    result: np.dtype
    cost: int = 1
    """In units of one addition."""


@dataclass(frozen=True, slots=True)
class Draw(Expr):
    """A random number: a function of the generator's state (seed, draw), a number of draws later, and of the element."""

    name: str
    generator: str
    later: Expr
    element: Expr
    dtype: np.dtype
    cost: int


@dataclass(frozen=True, slots=True)
class Infix(Expr):
    """Arithmetic and comparison of places and bounds: `+ - * // % == < <= and or`."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Least(Expr):
    """The smaller of two bounds."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Greatest(Expr):
    """The larger of two bounds."""

    left: Expr
    right: Expr


# statements ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Statement:
    """`note`: the node that it computes and the user's line, for a comment."""


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    """Names for values, all computed before the first is named."""

    names: tuple[str, ...]
    values: tuple[Expr, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Store(Statement):
    pointer: str
    index: Expr
    value: Expr
    dtype: np.dtype
    note: str = ""


@dataclass(frozen=True, slots=True)
class Accumulate(Statement):
    """target = scalar(target, value), for a name or an element of a buffer: one step of a reduction."""

    target: Name | Load
    scalar: str
    value: Expr
    dtype: np.dtype
    note: str = ""


@dataclass(frozen=True, slots=True)
class CompensatedAdd(Statement):
    """A value added to a float64 sum; the rounding error is added to `lost` (Knuth's two-sum)."""

    sum: Name | Load
    lost: Name | Load
    value: Expr


Place = tuple[str, Expr]
"""(pointer, first element)."""


@dataclass(frozen=True, slots=True)
class MatrixVector(Statement):
    """Rows of a matrix times a vector, or with `transposed` their sum weighted by a vector, added to `out`.

    Rows of the matrix begin `stride` elements apart. For one row, before row tiling, the result of the former and the weight of
    the latter are local values.
    """

    transposed: bool
    out: Place | Name
    matrix: Place
    vector: Place | Name
    rows: Expr
    columns: Expr
    stride: Expr
    dtype: np.dtype
    note: str = ""


@dataclass(frozen=True, slots=True)
class TurnedRows(Statement):
    """Rows of a matrix, which begin at places that are listed, become columns of a tile; with `back` the tile's columns become
    rows of the matrix. A column of the tile has `length` elements. Squares of `square` rows and
    columns are turned in registers."""

    back: bool
    tile: Place
    matrix: str
    places: Place
    rows: Expr
    columns: Expr
    length: Expr
    dtype: np.dtype
    square: int


@dataclass(frozen=True, slots=True)
class Loop(Statement):
    """`body` for each index from start to before stop. `strip_of`: it walks one strip of the loop with this index. `masked`:
    its last vector has idle lanes."""

    index: str
    start: Expr
    stop: Expr
    body: tuple[Statement, ...]
    step: Expr = Integer(1)
    strip_of: str = ""
    masked: bool = False


@dataclass(frozen=True, slots=True)
class If(Statement):
    condition: Expr
    body: tuple[Statement, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Stage(Statement):
    """Statements of a row that belong together: row tiling runs them for all rows of a tile, then those of the next stage."""

    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Pointer:
    """A buffer of the kernel under the name of its pointer."""

    name: str
    dtype: np.dtype
    note: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """`name(buffers, sizes, start, stop)`: the prologue reads its arguments, the body runs outer iterations [start, stop)."""

    name: str
    pointers: tuple[Pointer, ...]
    prologue: tuple[Statement, ...]
    body: tuple[Statement, ...]


INT64 = np.dtype(np.int64)
ZERO, ONE = Integer(0), Integer(1)
START, STOP = Name("start"), Name("stop")
ROW_I, COLUMN_J, TILE_L = Name("i"), Name("j"), Name("l")
"""Row, column, row of a tile."""


def scalar(name: str, operands: Sequence[Expr], dtype: np.dtype, result: np.dtype, cost: int = 1) -> Expr:
    """A scalar operation. Integers are computed in 64 bits, so results of smaller dtypes are cut to size."""
    value = Scalar(name, tuple(operands), dtype, result, cost)
    return Convert(value, result) if result.kind in "iu" else value


def wrapped(value: Expr | int) -> Expr:
    return value if isinstance(value, Expr) else Integer(value)


def total(terms: Sequence[Expr]) -> Expr | None:
    """The sum of the terms, None for no terms."""
    result: Expr | None = None
    for term in terms:
        result = term if result is None else result + term
    return result


def assign(name: str, value: Expr, note: str = "") -> Assign:
    return Assign((name,), (value,), note)


def loop(
    index: str, start: Expr | int, stop: Expr, body: Sequence[Statement], step: Expr | int = 1, strip_of: str = ""
) -> Loop:
    return Loop(index, wrapped(start), stop, tuple(body), wrapped(step), strip_of)


def child_expressions(value: Expr) -> tuple[Expr, ...]:
    """The operands of an expression."""
    if isinstance(value, (Infix, Least, Greatest)):
        return value.left, value.right
    if isinstance(value, Scalar):
        return value.operands
    if isinstance(value, Load):
        return (value.index,)
    if isinstance(value, Convert):
        return (value.value,)
    if isinstance(value, Draw):
        return value.later, value.element
    return ()


def inside(value: Expr) -> Iterator[Expr]:
    """An expression and all its subexpressions."""
    yield value
    for child in child_expressions(value):
        yield from inside(child)


def mapped(value: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with each part changed, the parts of a part first; itself where nothing changes."""
    if isinstance(value, (Infix, Least, Greatest)):
        left, right = mapped(value.left, change), mapped(value.right, change)
        if left is not value.left or right is not value.right:
            value = Infix(value.operator, left, right) if isinstance(value, Infix) else type(value)(left, right)
    elif isinstance(value, Scalar):
        operands = tuple([mapped(o, change) for o in value.operands])
        if any(new is not old for new, old in zip(operands, value.operands, strict=True)):
            value = Scalar(value.name, operands, value.dtype, value.result, value.cost)
    elif isinstance(value, Load):
        index = mapped(value.index, change)
        value = value if index is value.index else Load(value.pointer, index, value.dtype)
    elif isinstance(value, Convert):
        inner = mapped(value.value, change)
        value = value if inner is value.value else Convert(inner, value.dtype)
    elif isinstance(value, Draw):
        value = replace(value, later=mapped(value.later, change), element=mapped(value.element, change))
    return change(value)


def expressions(s: Statement) -> Iterator[Expr]:
    """The expressions of a statement and of those inside it, in the order of the text."""
    if isinstance(s, Assign):
        yield from s.values
    elif isinstance(s, Store):
        yield from (s.index, s.value)
    elif isinstance(s, Accumulate):
        yield from (s.target, s.value)
    elif isinstance(s, CompensatedAdd):
        yield from (s.sum, s.lost, s.value)
    elif isinstance(s, MatrixVector):
        yield from (place if isinstance(place, Name) else place[1] for place in (s.out, s.matrix, s.vector))
        yield from (s.rows, s.columns, s.stride)
    elif isinstance(s, TurnedRows):
        yield from (s.tile[1], s.places[1], s.rows, s.columns, s.length)
    else:
        assert isinstance(s, (Loop, If, Stage))
        yield from (s.start, s.stop, s.step) if isinstance(s, Loop) else (s.condition,) if isinstance(s, If) else ()
        for inner in s.body:
            yield from expressions(inner)


def rewritten(s: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """The statement with all of its expressions changed; targets stay names or elements."""

    def place(at: Any) -> Any:
        return change(at) if isinstance(at, Name) else (at[0], change(at[1]))

    if isinstance(s, Assign):
        return Assign(s.names, tuple(map(change, s.values)), s.note)
    if isinstance(s, Store):
        return Store(s.pointer, change(s.index), change(s.value), s.dtype, s.note)
    if isinstance(s, Accumulate):
        return Accumulate(cast("Any", change(s.target)), s.scalar, change(s.value), s.dtype, s.note)
    if isinstance(s, CompensatedAdd):
        return CompensatedAdd(cast("Any", change(s.sum)), cast("Any", change(s.lost)), change(s.value))
    if isinstance(s, MatrixVector):
        places = {"out": place(s.out), "matrix": place(s.matrix), "vector": place(s.vector)}
        return replace(s, **places, rows=change(s.rows), columns=change(s.columns), stride=change(s.stride))
    if isinstance(s, TurnedRows):
        places = {"tile": place(s.tile), "places": place(s.places)}
        return replace(s, **places, rows=change(s.rows), columns=change(s.columns), length=change(s.length))
    assert isinstance(s, (Loop, If, Stage))
    body = tuple(rewritten(inner, change) for inner in s.body)
    if isinstance(s, Loop):
        return replace(s, start=change(s.start), stop=change(s.stop), step=change(s.step), body=body)
    return replace(s, condition=change(s.condition), body=body) if isinstance(s, If) else replace(s, body=body)


def store_to(target: Name | Load, value: Expr) -> Statement:
    """The statement that writes a name or an element."""
    if isinstance(target, Name):
        return assign(target.name, value)
    return Store(target.pointer, target.index, value, target.dtype)


def matrix_vector_loops(product: MatrixVector) -> Loop:
    """A matrix-vector product as loops."""
    assert not isinstance(product.out, Name)
    assert not isinstance(product.vector, Name)
    (out, out_at), (matrix, matrix_at), (vector, vector_at) = product.out, product.matrix, product.vector
    dtype = product.dtype
    element = Load(matrix, matrix_at + TILE_L * product.stride + COLUMN_J, dtype)
    factor = Load(vector, vector_at + (TILE_L if product.transposed else COLUMN_J), dtype)
    target = Load(out, out_at + (COLUMN_J if product.transposed else TILE_L), dtype)
    step = Accumulate(target, "plus", Scalar("mul", (element, factor), dtype, dtype), dtype, product.note)
    columns = loop("j", 0, product.columns, [step])
    clear = [] if product.transposed else [Store(out, target.index, Literal(0, dtype), dtype)]
    return loop("l", 0, product.rows, [*clear, columns], strip_of="b")


def turned_rows_loops(turn: TurnedRows) -> Loop:
    """Rows that become columns as loops."""
    place = Load(turn.places[0], turn.places[1] + TILE_L, INT64) + COLUMN_J
    inside_tile = turn.tile[1] + COLUMN_J * turn.length + TILE_L
    if turn.back:
        move = Store(turn.matrix, place, Load(turn.tile[0], inside_tile, turn.dtype), turn.dtype)
    else:
        move = Store(turn.tile[0], inside_tile, Load(turn.matrix, place, turn.dtype), turn.dtype)
    return loop("l", 0, turn.rows, [loop("j", 0, turn.columns, [move])], strip_of="b")


# rewrites of loops ----------------------------------------------------------------------------------------------------

# Rewrites of loops: strip-mining, segments, row tiling, loop interchange.


def strip_mined(
    inner: Loop,
    index: str,
    step: int,
    before: Sequence[Statement],
    after: Sequence[Statement],
    end: str = "",
    tile: Callable[[Loop], Loop] = lambda rows: rows,
) -> Loop:
    """A loop over strips of `step` iterations, with statements before and after each strip.

    index: of the loop over strips, and so where a strip begins; end: a name for where it ends; tile: a rewrite of the
    loop over a strip.

        for s in range(first, last, step):
            e = min(s + step, last)
            <before>
            for i in range(s, e): ...
            <after>
    """
    first = Name(index)
    last = Least(first + step, inner.stop)
    named = [assign(end, last)] if end else []
    strip = replace(inner, start=first, stop=Name(end) if end else last, strip_of=index)
    return loop(index, inner.start, inner.stop, [*named, *before, tile(strip), *after], step)


def segmented(rows: Loop, length: Expr, places: Mapping[Expr, tuple[Name, Expr | None]], tile: Callable[[Loop], Loop]) -> Loop:
    """A loop over rows as one over segments, in which places that are found by divisions grow by one stride.

    A segment ends before each multiple of `length`. places: by such a place, a name for its part that is the same in all rows
    of a segment, and the other part, None where there is no other. tile: a rewrite of the loop over a segment.

        for g in range(start // length * length, stop, length):
            first, last = max(start, g), min(stop, g + length)
            p = <place of first> - first * stride
            for i in range(first, last): ... p + i * stride ...
    """
    segment, first, last = Name("g"), Name("first"), Name("last")

    def at_first(e: Expr) -> Expr:
        return mapped(e, lambda part: first if part == ROW_I else part)

    fixed, moved = list[Statement](), dict[Expr, Expr]()
    for place, (name, step) in places.items():
        fixed.append(assign(name.name, at_first(place) if step is None else at_first(place) - at_first(step)))
        moved[place] = name if step is None else name + step
    body = [rewritten(s, lambda e: mapped(e, lambda part: moved.get(part, part))) for s in rows.body]
    bounds = Assign((first.name, last.name), (Greatest(rows.start, segment), Least(rows.stop, segment + length)))
    inner = tile(replace(rows, start=first, stop=last, body=tuple(body), strip_of=segment.name))
    begin = rows.start // length * length
    return loop(segment.name, begin, rows.stop, [bounds, *fixed, inner], length, rows.strip_of)


def tiled(rows: Loop, size: Expr) -> Loop:
    """A loop over rows as one over tiles of at most `size` rows. The body gets the first row `b` and the number of rows `n`."""
    count = assign("n", Least(size, rows.stop - Name("b")))
    return loop("b", rows.start, rows.stop, [count, *rows.body], size, rows.strip_of)


def over_tile(body: Sequence[Statement]) -> Loop:
    """One phase of a tile: its statements for each row."""
    return loop("l", 0, Name("n"), [assign(ROW_I.name, Name("b") + TILE_L), *body], strip_of="b")


def interchanged(columns: Loop, before: Sequence[Statement], after: Sequence[Statement]) -> Loop:
    """A loop over columns that is to run outside of the tile's rows, `before` and `after` those of a column."""
    return replace(columns, body=(*before, over_tile(columns.body), *after))
