"""Row tiling: kernels that work on tiles of rows, so that work per row is vectorized too.

Row by row, the work per row is scalar code between two loops over the columns: an exp there costs as much as sixteen
inside a loop. `tile_rows` rewrites the loop over rows: each stage runs over a tile of rows before the next stage does (loop
fission), and values per row lie in small arrays meanwhile (scalar expansion):

    for b in range(<first row of the chunk>, <last>, block):
        n = min(block, ...)
        for l in range(n): <row values of level 0>                      # vectorized over rows
        for l in range(n):
            for j in range(columns): <full values of level 0, ...>      # vectorized over columns
        for l in range(n): <row values of level 1>
        ...

With few columns (10 classes), and where memory runs along the rows (a transposed matrix), the inner loops are interchanged, so
that they too are vectorized over rows; not where rows are looked up, which lie apart in memory. Short rows are turned into
columns before (`turned`). Products of a row with a vector become products of the tile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...base.types import float32, float64
from ...ir import Lookup, Node, Pointwise, Reduction, Window
from ..backend.abi import MAX_BUFFERS, SQUARES
from ..backend.cpu import BYTES
from ..fusion.fuse import Group
from ..fusion.iteration_domain import split_strides
from ..fusion.node_facts import FULL, ROW, SCALAR, SPREAD, Layouts, count, fused_as, inlined, origin, row_run
from .loop_ir import (
    COLUMN_J,
    INT64,
    ROW_I,
    TILE_L,
    ZERO,
    Accumulate,
    Assign,
    Expr,
    If,
    Infix,
    Integer,
    Load,
    Loop,
    MatrixVector,
    Name,
    Place,
    Stage,
    Statement,
    Store,
    TurnedRows,
    assign,
    expressions,
    inside,
    interchanged,
    loop,
    mapped,
    over_tile,
    rewritten,
    tiled,
)
from .loop_nest import CHUNK_COLUMN, COLUMNS, Dot, cost, find_matrix_vector_forms
from .operands import BufferRef, Parameters

BLOCK = 64
"""Rows of a tile, at the most."""
NARROW, UNEVEN = 16, 48
"""Columns up to which the inner loop runs over rows; and where they don't fill whole vectors and the loop over them is dear."""
WIDE = 512
"""Columns from which on the work per row does not count beside the loops over its columns."""
ROW_WORK = 16
"""Cost of the values per row from which on tiles pay."""
LONG = 4096
"""Columns up to which products with a vector are done in tiles: these stay in the second-level cache."""
RESIDENT = 4096
"""Elements that a tile has of each operand: they stay in the first-level cache from stage to stage."""
LEAST = 16
"""Rows of a tile, at the least, where it is multiplied with a vector: lanes of one in float32."""
ACROSS, HELD, FEWEST = 256, 1 << 18, 32
"""Of a tile whose inner loops run over its rows: the bytes of a column, since LLVM takes up to four vectors at a time and
leaves fewer to slow loops; the bytes of a tile of an operand that stay in the second-level cache; the rows of a larger tile."""

TILE = Name("c") * BLOCK
AT = TILE + TILE_L
"""Where the value of a tile's row lies."""


class Tiling(NamedTuple):
    """How the loop over rows is tiled. `dots`: the sums that matrix-vector products compute; `itemsize`: bytes of the widest
    value per row and column; `turned`: short rows become columns of tiles."""

    interchanged: bool
    dots: Mapping[Node, Dot]
    itemsize: int
    turned: bool = False

    def rows_of(self, columns: int) -> int:
        """Rows of a tile."""
        width, least = max(columns, 1), LEAST if self.dots else 1
        if self.interchanged:
            least = ACROSS // self.itemsize if width * ACROSS <= HELD else FEWEST
        return min(BLOCK, max(least, RESIDENT // width))


def tiling_for(group: Group, layouts: Layouts) -> Tiling | None:
    """Whether and how the kernel of a group is tiled: by columns alone, so that every batch size has the same source."""
    domain, columns = group.domain, group.domain.columns
    if SPREAD in domain.rank.values():
        return None
    itemsize = max([n.type.dtype.itemsize for n in group.members if domain.rank[n] == FULL], default=1)
    if columns is not None and columns <= LONG and (dots := find_matrix_vector_forms(group, layouts)):
        return Tiling(False, dots, itemsize)
    if columns is None or not any(isinstance(n.op.emit, Reduction) and domain.rank[n] != SCALAR for n in group.members):
        return None
    if memory_along_rows(group, layouts):
        return Tiling(True, {}, itemsize)
    if not any(isinstance(n.op.emit, Reduction) and domain.rank[n] == ROW for n in group.members):
        return None
    if not any(fused_as(n, Lookup) for n in group.members):
        plain = not any(fused_as(n, Window) or fused_as(n, Reduction) for n in group.members)  # neither parts nor scans
        uneven = columns <= UNEVEN and columns % (BYTES // itemsize) != 0
        if columns <= NARROW or (plain and uneven and work_of(group, FULL) >= ROW_WORK):
            return Tiling(True, {}, itemsize, plain)
    return Tiling(False, {}, itemsize) if columns <= WIDE and work_of(group, ROW) >= ROW_WORK else None


def work_of(group: Group, rank: str) -> int:
    """The cost of the values of a rank, for each."""
    return sum(cost(n) for n in group.members if isinstance(n.op.emit, Pointwise) and group.domain.rank[n] == rank)


def memory_along_rows(group: Group, layouts: Layouts) -> bool:
    """Whether all values per row and column that are read from memory, or else written, have their neighbors in the next row,
    not the next column."""
    domain, inside = group.domain, set(group.members)
    seen = {
        (operand, operand.type.shape)
        for n in group.members
        for operand in n.inputs
        if origin(operand) not in inside and not inlined(origin(operand))
    }
    size = domain.rows * (domain.columns or 1)
    read = [(node, shape) for node, shape in seen if count(shape) == size]
    whole = read if read else [(node, node.type.shape) for node in group.outputs if domain.rank[node] == FULL]
    found = [split_strides(node, shape, FULL, domain, layouts) for node, shape in whole]
    return bool(found) and all(s is not None and s[2] != 1 and row_run(s[0], s[1])[1] == 1 for s in found)


# the rewrite ----------------------------------------------------------------------------------------------------------


def tile_rows(
    rows: Loop,
    size: Expr,
    width: Expr | None,
    array: Callable[[str], Load],
    fresh: Callable[[str], Name],
    scratch: frozenset[str],
) -> Loop:
    """A loop over rows, whose body are stages, as one over tiles of at most `size` rows.

    width: the number of columns, where the loops over columns and over the tile's rows are interchanged. array: the element
    for a value per row (by its name) of an array over a tile. scratch: the pointers to values of a row that are kept for later
    stages; each becomes one of values of a tile.
    """
    stages = [list(s.body) for s in rows.body if isinstance(s, Stage)]
    assert len(stages) == len(rows.body)
    apart = _Fission(stages, array, fresh)
    parts = [apart.stage(number) for number in range(len(stages))]
    body: list[Statement] = []
    for number, (loads, statements) in enumerate(parts):
        if any(isinstance(s, MatrixVector) for s in statements):
            body += [_of_tile(s, array) for s in statements]
        elif width is not None and any(isinstance(s, Loop) for s in statements):
            body += _interchanged(loads, statements, width, array, fresh)
        else:
            body.append(over_tile([*loads, *_with_stores(statements, apart.stored(number), array)]))
    if scratch:
        kept_at = CHUNK_COLUMN * BLOCK + TILE_L if width is not None else AT * COLUMNS + COLUMN_J
        body = [_moved(s, scratch, kept_at) for s in body]
    return _renumbered(tiled(replace(rows, body=tuple(body)), size))


class _Fission:
    """What a stage needs of earlier ones: operands are loaded again, values of nodes are kept in arrays."""

    def __init__(self, stages: Sequence[list[Statement]], array: Callable[[str], Load], fresh: Callable[[str], Name]):
        self.stages, self.array, self.fresh = stages, array, fresh
        self.made: dict[str, tuple[int, Expr | None]] = {}
        """By name, the stage that computes the value, and its expression where it is an operand's or a place."""
        self.needed: set[str] = set()
        """Values that later stages read in arrays."""
        for number, statements in enumerate(stages):
            for s in statements:
                if isinstance(s, Assign):
                    (name,), (value,) = s.names, s.values
                    operand = not s.note and isinstance(value, (Load, Infix, Name))
                    self.made[name] = number, value if operand else None
                elif isinstance(s, MatrixVector) and isinstance(s.out, Name):
                    self.made[s.out.name] = number, None

    def stage(self, number: int) -> tuple[list[Statement], list[Statement]]:
        """(loads of values of earlier stages, statements) of a stage."""
        loads: list[Statement] = []
        again: list[Statement] = []
        found: list[Statement] = []
        names: dict[str, Expr] = {}
        statements = self.stages[number]
        if any(isinstance(s, MatrixVector) for s in statements):
            self.needed |= {s.vector.name for s in statements if isinstance(s, MatrixVector) and isinstance(s.vector, Name)}
            return [], statements
        columns = any(isinstance(s, Loop) for s in statements)
        for s in statements:
            for name in _names(s):
                stage, value = self.made.get(name, (number, None))
                if stage == number or name in names:
                    continue
                if value is not None and not any(isinstance(e, Name) and e.name in self.made for e in inside(value)):
                    names[name] = new = self.fresh(name[0])
                    (again if columns else found).append(assign(new.name, value))
                else:
                    names[name] = new = self.fresh("h")
                    self.needed.add(name)
                    loads.append(assign(new.name, self.array(name)))
            found.append(rewritten(s, lambda e: mapped(e, lambda part: _renamed(part, names))) if names else s)
        return [*loads, *again], found

    def stored(self, number: int) -> list[str]:
        """The values of a stage that later ones need."""
        return [name for name, (stage, _) in self.made.items() if stage == number and name in self.needed]


def _names(s: Statement) -> dict[str, None]:
    """The names in a statement, in the order of the text."""
    return dict.fromkeys(e.name for top in expressions(s) for e in inside(top) if isinstance(e, Name))


def _renamed(e: Expr, names: Mapping[str, Expr]) -> Expr:
    return names.get(e.name, e) if isinstance(e, Name) else e


def _accumulated(statements: Sequence[Statement]) -> set[str]:
    """The names to which loops among these statements add."""
    return {
        s.target.name
        for outer in statements if isinstance(outer, (Loop, If))
        for s in outer.body if isinstance(s, Accumulate) and isinstance(s.target, Name)
    }  # fmt: skip


def _with_stores(statements: Sequence[Statement], expanded: Sequence[str], array: Callable[[str], Load]) -> list[Statement]:
    """Statements that store values for later stages: at once, or after the loop that accumulates them."""
    sums, body = _accumulated(statements), list[Statement]()
    for s in statements:
        body.append(s)
        if isinstance(s, Assign):
            body += [_stored(name, array) for name in s.names if name in expanded and name not in sums]
    return [*body, *(_stored(name, array) for name in expanded if name in sums)]


def _stored(name: str, array: Callable[[str], Load]) -> Store:
    place = array(name)
    return Store(place.pointer, place.index, Name(name), place.dtype)


def _of_tile(product: Statement, array: Callable[[str], Load]) -> MatrixVector:
    """The product of a row with a vector, of all rows of the tile."""
    assert isinstance(product, MatrixVector)
    first = rewritten(product, lambda e: mapped(e, lambda part: Name("b") if part == ROW_I else part))
    assert isinstance(first, MatrixVector)
    out, vector = first.out, first.vector
    if isinstance(out, Name):
        out = array(out.name).pointer, TILE
    if isinstance(vector, Name):
        vector = array(vector.name).pointer, TILE
    return replace(first, out=out, vector=vector, rows=Name("n"))


def _interchanged(
    loads: Sequence[Statement],
    statements: Sequence[Statement],
    width: Expr,
    array: Callable[[str], Load],
    fresh: Callable[[str], Name],
) -> list[Statement]:
    """A stage with a loop over columns, which runs outside of that over the tile's rows.

    A sum along a row is accumulated in its array, one of all elements in its total, one down a column in a local value.
    """
    (number,) = [i for i, s in enumerate(statements) if isinstance(s, Loop)]
    columns = statements[number]
    assert isinstance(columns, Loop)
    sums = _accumulated(statements)
    starts = {s.names[0]: s.values[0] for s in statements[:number] if isinstance(s, Assign) and s.names[0] in sums}
    rest = [s for s in statements[:number] if not (isinstance(s, Assign) and s.names[0] in sums)]
    totals: dict[str, Name] = {}
    for s in statements[number + 1 :]:
        assert isinstance(s, Accumulate)
        assert isinstance(s.target, Name)
        assert isinstance(s.value, Name)
        totals[s.value.name] = s.target
    started: list[Statement] = []
    before: list[Statement] = []
    after: list[Statement] = []
    body: list[Statement] = []
    for s in columns.body:
        if isinstance(s, Accumulate) and isinstance(s.target, Load):
            name = fresh("q")
            before.append(assign(name.name, s.target))
            after.append(Store(s.target.pointer, s.target.index, name, s.target.dtype))
            body.append(replace(s, target=name))
        elif isinstance(s, Accumulate) and isinstance(s.target, Name) and s.target.name in totals:
            body.append(replace(s, target=totals[s.target.name]))
        elif isinstance(s, Accumulate) and isinstance(s.target, Name) and s.target.name in starts:
            place = array(s.target.name)
            started.append(Store(place.pointer, place.index, starts[s.target.name], place.dtype))
            body.append(replace(s, target=place))
        else:
            body.append(s)
    whole = interchanged(replace(columns, stop=width, body=(*loads, *rest, *body)), before, after)
    return [*([loop("l", ZERO, Name("n"), started, strip_of="b")] if started else []), whole]


def _moved(s: Statement, scratch: frozenset[str], place: Expr) -> Statement:
    """The statement with the values that are kept at `place` in their scratch."""

    def load(e: Expr) -> Expr:
        return replace(e, index=place) if isinstance(e, Load) and e.pointer in scratch else e

    changed = rewritten(s, lambda e: mapped(e, load))
    if isinstance(changed, Store) and changed.pointer in scratch:
        return replace(changed, index=place)
    if isinstance(changed, (Loop, If)):
        return replace(changed, body=tuple(_moved(inner, scratch, place) for inner in changed.body))
    return changed


def places_once(tiles: Loop, place: Callable[[int], Load]) -> Loop:
    """A loop over tiles in which a place that takes a division is computed once for a row, and not for each column, where loops
    over columns run outside of those over rows. place: the element for a row of a list of such places, by number."""
    lists: dict[Expr, Load] = {}

    def once(e: Expr, names: frozenset[str]) -> Expr:
        """The expression without the places that depend on the row alone."""
        if isinstance(e, Infix) and _row_alone(e, names):
            if e not in lists:
                lists[e] = place(len(lists))
            return lists[e]
        if isinstance(e, Infix):
            return replace(e, left=once(e.left, names), right=once(e.right, names))
        return replace(e, index=once(e.index, names)) if isinstance(e, Load) else e

    def of_rows(s: Statement) -> Statement:
        if not isinstance(s, Loop) or s.index != TILE_L.name:
            return replace(s, body=tuple(map(of_rows, s.body))) if isinstance(s, Loop) else s
        first, *rest = s.body
        names = frozenset(name for inner in rest if isinstance(inner, Assign) for name in inner.names)
        return replace(s, body=(first, *(rewritten(inner, lambda e: once(e, names)) for inner in rest)))

    body = [of_rows(s) if isinstance(s, Loop) and s.index == COLUMN_J.name else s for s in tiles.body]
    if not lists:
        return tiles
    count, *stages = body
    return replace(tiles, body=(count, over_tile([Store(p.pointer, p.index, e, INT64) for e, p in lists.items()]), *stages))


def _row_alone(e: Infix, names: Collection[str]) -> bool:
    """Whether a place has a division, and is the same for all columns. names: those of values of an element."""
    parts = [*inside(e)]
    plain = all(isinstance(part, (Name, Infix, Integer)) for part in parts) and COLUMN_J not in parts
    divides = any(isinstance(part, Infix) and part.operator in ("//", "%") for part in parts)
    return plain and divides and not any(isinstance(part, Name) and part.name in names for part in parts)


# short rows -----------------------------------------------------------------------------------------------------------
#
# A vector of the elements of one column, which lie a row apart, is a gather, and a scatter where they are written: CPUs take
# each element by itself. So a tile's rows become columns of a tile in scratch, by squares that are transposed in registers, and
# results become rows again. Where a row begins is computed once, also where that takes a division.

TURNED = (float32, float64)
"""Dtypes of rows that are turned."""
IN_TILE = CHUNK_COLUMN * BLOCK + TILE_L
"""Where an element of a tile's column lies."""


def turned(tiles: Loop, width: int, args: Parameters) -> Loop:
    """A loop over tiles whose inner loops run over rows, with the rows that they read and write in columns."""
    if len(args.pointers) > MAX_BUFFERS // 2:
        return tiles
    square = next((size for size in SQUARES if width <= size), SQUARES[-1])
    count, *stages = tiles.body
    known: dict[str, Expr] = {}
    for s in _assigned(stages):
        (name,), (value,) = s.names, s.values
        known[name] = mapped(value, lambda e: known.get(e.name, e) if isinstance(e, Name) else e)
    refs, found = {name: ref for ref, name in args.pointers.items()}, _Turned(known)

    def buffer(kind: str, of: str, dtype: np.dtype, number: int, length: int) -> str:
        return args.buffer(BufferRef(kind, refs[of].node, 0, dtype, length, number), kind)

    body = [found.stage(s, refs, lambda of, dtype, number: buffer("turned", of, dtype, number, BLOCK * width)) for s in stages]
    if not found.tiles:
        return tiles
    before: list[Statement] = []
    after: dict[int, list[Statement]] = {}
    lists: dict[Expr, Place] = {}
    for (pointer, row, stage), tile in found.tiles.items():
        if row not in lists:
            lists[row] = buffer("places", pointer, INT64, len(lists), BLOCK), TILE
            begin = Store(lists[row][0], AT, mapped(row, lambda e: Name("b") + TILE_L if e == ROW_I else e), INT64)
            before.append(loop("l", ZERO, Name("n"), [begin], strip_of="b"))
        of = refs[pointer].dtype
        place = tile, Name("c") * COLUMNS * BLOCK
        turn = TurnedRows(stage >= 0, place, pointer, lists[row], Name("n"), Name("width"), Integer(BLOCK), of, square)
        if stage < 0:
            before.append(turn)
        else:
            after.setdefault(stage, []).append(turn)
    whole = [s for number, s in enumerate(body) for s in (s, *after.get(number, ()))]
    return replace(tiles, body=(count, *before, *whole))


class _Turned:
    """The accesses of short rows in stages. known: places that are computed for a row. tiles: by pointer, beginning of a row
    and the stage that writes it, -1 for none: later stages read what it wrote. apart: pointers that are written otherwise."""

    def __init__(self, known: Mapping[str, Expr]):
        self.known, self.number = known, -1
        self.apart: set[str] = set()
        self.tiles: dict[tuple[str, Expr, int], str] = {}

    def row(self, index: Expr) -> Expr | None:
        """Where the row begins in which an element of column j lies; None where neighbors are not side by side, or where it may
        be outside of the operand."""
        if not isinstance(index, Infix) or index.operator != "+" or index.right != COLUMN_J:
            return None
        row = mapped(index.left, lambda e: self.known.get(e.name, e) if isinstance(e, Name) else e)
        parts = [*inside(row)]
        divided = any(isinstance(e, Infix) and e.operator in ("%", "//") for e in parts)
        plain = all(isinstance(e, (Name, Infix, Integer)) for e in parts) and COLUMN_J not in parts
        return row if plain and (divided or row == ROW_I * COLUMNS) else None

    def stage(self, s: Statement, refs: Mapping[str, BufferRef], tile: Callable[[str, np.dtype, int], str]) -> Statement:
        self.number += 1
        if not isinstance(s, Loop) or s.index != "j" or any(isinstance(inner, If) for inner in s.body):
            self.apart |= _written(s)
            return s

        def place(pointer: str, index: Expr, dtype: np.dtype, stage: int) -> str | None:
            row = self.row(index) if pointer in refs and refs[pointer].kind == "value" and dtype in TURNED else None
            if row is None or pointer in self.apart:
                return None
            if stage < 0:
                stage = max([at for of, begin, at in self.tiles if (of, begin) == (pointer, row)], default=stage)
            if (pointer, row, stage) not in self.tiles:
                self.tiles[pointer, row, stage] = tile(pointer, dtype, len(self.tiles))
            return self.tiles[pointer, row, stage]

        def load(e: Expr) -> Expr:
            if not isinstance(e, Load):
                return e
            found = place(e.pointer, e.index, e.dtype, -1)
            return e if found is None else Load(found, IN_TILE, e.dtype)

        def store(s: Statement) -> Statement:
            if isinstance(s, Loop):
                return replace(s, body=tuple(map(store, s.body)))
            if not isinstance(s, Store):
                return s
            found = place(s.pointer, s.index, s.dtype, self.number)
            if found is None:
                self.apart.add(s.pointer)
                return s
            return replace(s, pointer=found, index=IN_TILE)

        return store(rewritten(s, lambda e: mapped(e, load)))


def _written(s: Statement) -> set[str]:
    """The pointers to which a statement stores."""
    if isinstance(s, (Loop, If)):
        return {pointer for inner in s.body for pointer in _written(inner)}
    return {s.pointer} if isinstance(s, Store) else set()


def _assigned(statements: Sequence[Statement]) -> list[Assign]:
    """The places that loops over a tile's rows compute."""
    found: list[Assign] = []
    for s in statements:
        if isinstance(s, Loop):
            found += _assigned(s.body)
        elif isinstance(s, Assign) and not s.note and s.names != (ROW_I.name,) and isinstance(s.values[0], Infix):
            found.append(s)
    return found


NUMBERED = re.compile(r"([a-z])(\d+)")


def _renumbered(s: Loop) -> Loop:
    """The loop whose local values are numbered in the order of the text, each letter with the numbers that it had."""
    order: dict[str, list[str]] = {}

    def visit(statement: Statement) -> None:
        if isinstance(statement, Assign):
            for name in statement.names:
                if (found := NUMBERED.fullmatch(name)) and name not in order.setdefault(found[1], []):
                    order[found[1]].append(name)
        elif isinstance(statement, (Loop, If)):
            for inner in statement.body:
                visit(inner)

    visit(s)
    names = {
        old: new
        for letter, found in order.items()
        for old, new in zip(found, (f"{letter}{n}" for n in sorted(int(name[1:]) for name in found)), strict=True)
    }

    if all(old == new for old, new in names.items()):
        return s

    def changed(statement: Statement) -> Statement:
        if isinstance(statement, Assign):
            return Assign(tuple([names.get(name, name) for name in statement.names]), statement.values, statement.note)
        if isinstance(statement, (Loop, If)):
            return replace(statement, body=tuple(map(changed, statement.body)))
        return statement

    values = {old: Name(new) for old, new in names.items()}
    found = changed(rewritten(s, lambda e: mapped(e, lambda part: _renamed(part, values))))
    assert isinstance(found, Loop)
    return found
