"""Accumulation over rows: initial values, steps, and the fold after the last chunk.

A running sum in float32 loses addends that are small beside it: after some million ones, the sum of a column would be wrong in
the fifth digit. So sums are computed by strips of rows, or of a long row. Inside a strip they accumulate in their own dtype,
in SIMD lanes, and the strip's total is added to a float64 number. For float64, the rounding error of that addition is kept
too.

Source: Knuth, "The Art of Computer Programming", volume 2, section 4.2.2, theorem B.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...base.types import bool_, float32, float64, uint8
from ...ir import Node, Reduction
from ..fusion.broadcast_rank import COL, SCALAR
from .loop_ir import (
    COLUMN_J,
    ZERO,
    Accumulate,
    Assign,
    CompensatedAdd,
    Convert,
    Expr,
    Infix,
    Literal,
    Load,
    Loop,
    Name,
    Scalar,
    Statement,
    Store,
    assign,
    loop,
    store_to,
    strip_mined,
)
from .parameters import BufferRef, Parameters, real_extent

STRIP = 128
"""Rows of a strip: the number of successive additions to the sum of a column."""
FLAT_STRIP = 4096
"""Elements of a strip whose sum is shared by SIMD lanes."""
LONG_ROW = 8192
"""Rows of more columns than this are summed by strips."""
ROW_STRIP = 4096

COLUMNS, CHUNKS = Name("columns"), Name("chunks")
CHUNK_COLUMN = Name("c") * COLUMNS + COLUMN_J
"""The place of a chunk's value for column j."""


def sums_up(node: Node) -> bool:
    """Whether it is a sum of floating-point numbers."""
    return isinstance(node.op.emit, Reduction) and node.op.emit.monoid == "add" and node.type.dtype.kind == "f"


def combined(node: Node, target: Name | Load, value: Expr, note: str = "") -> Accumulate:
    """One step of a reduction."""
    emit = node.op.emit
    assert isinstance(emit, Reduction)
    return Accumulate(target, emit.combine, value, node.type.dtype, note)


class Accumulators:
    """The accumulators of a kernel: `totals` are scalars, `sums` have one value per column."""

    def __init__(self, args: Parameters, domain: object, nodes: Sequence[Node], rank: Callable[[Node], str], flat: bool):
        self.args, self.domain, self.flat = args, domain, flat
        self.totals = [n for n in nodes if rank(n) == SCALAR]
        self.sums = [n for n in nodes if rank(n) == COL]

    def start(self, node: Node) -> Expr:
        """The neutral element."""
        emit = node.op.emit
        assert isinstance(emit, Reduction)
        return self.args.literal(emit.start(node.type.dtype), node.type.dtype)

    # memory ---------------------------------------------------------------------------------------------------------

    def total(self, node: Node) -> Name:
        return Name(f"t{self.totals.index(node)}")

    def accumulator(self, node: Node) -> str:
        """The pointer to the values of each chunk, one per column."""
        ref = BufferRef("partial", node, 0, node.type.dtype, real_extent(self.domain, "columns"))
        return self.args.buffer(ref, "acc")

    def column(self, node: Node) -> Load:
        """The accumulator of column j. Booleans are combined as bytes."""
        dtype = uint8 if node.type.dtype == bool_ else node.type.dtype
        return Load(self.accumulator(node), CHUNK_COLUMN, dtype)

    def _pair(self, node: Node) -> list[Name | Load]:
        """The sum of a chunk's strips and, in float64, its accumulated rounding error; nothing for other accumulators."""
        if not sums_up(node):
            return []
        if node in self.totals:
            number = self.totals.index(node)
            names: list[Name | Load] = [Name(f"whole{number}"), Name(f"lost{number}")]
            return names[: 1 if node.type.dtype == float32 else 2]
        places: list[Name | Load] = [Load(self._chunk_sums(node), CHUNK_COLUMN, float64)]
        if node.type.dtype != float32:
            ref = BufferRef("lost", node, 0, float64, real_extent(self.domain, "columns"))
            places.append(Load(self.args.buffer(ref, "lost"), CHUNK_COLUMN, float64))
        return places

    def _chunk_sums(self, node: Node) -> str:
        """The results of each chunk, per column."""
        if not sums_up(node):
            return self.accumulator(node)
        return self.args.buffer(BufferRef("whole", node, 0, float64, real_extent(self.domain, "columns")), "sums")

    def _chunk_totals(self, node: Node) -> str:
        dtype = float64 if sums_up(node) else node.type.dtype
        return self.args.buffer(BufferRef("partial", node, 0, dtype, 1), "part")

    # loops ----------------------------------------------------------------------------------------------------------

    def chunk(self, rows: Loop, tile: Callable[[Loop], Loop]) -> list[Statement]:
        """The loop over the rows of a chunk, with its accumulation. `tile` rewrites the loop over the rows or over a strip of
        them."""
        summed = [n for n in (*self.totals, *self.sums) if sums_up(n)]
        others = [n for n in (*self.totals, *self.sums) if n not in summed]
        if not summed:
            return [*self._open(others), tile(rows), *self._close()]
        strip = FLAT_STRIP if self.flat else STRIP
        zero = Literal(0, float64)
        return [
            *self._open(others),
            *(store_to(part, zero) for n in summed if n in self.totals for part in self._pair(n)),
            *_columnwise([store_to(part, zero) for n in summed if n in self.sums for part in self._pair(n)]),
            strip_mined(rows, "s", strip, self._open(summed), self._add_strip(summed), "e", tile),
            *_columnwise([store_to(p[0], joined(p)) for p in map(self._pair, self.sums) if len(p) == 2]),
            *self._close(),
        ]

    def _open(self, nodes: list[Node]) -> list[Statement]:
        columns = [Store(self.accumulator(n), CHUNK_COLUMN, self.start(n), n.type.dtype) for n in nodes if n in self.sums]
        return [*(assign(self.total(n).name, self.start(n)) for n in nodes if n in self.totals), *_columnwise(columns)]

    def _add_strip(self, nodes: list[Node]) -> list[Statement]:
        totals = [added(self._pair(n), self.total(n)) for n in nodes if n in self.totals]
        columns = [added(self._pair(n), self.column(n)) for n in nodes if n in self.sums]
        return [*totals, *_columnwise(columns)]

    def _close(self) -> list[Statement]:
        values = {n: joined(self._pair(n)) if sums_up(n) else self.total(n) for n in self.totals}
        return [
            Store(self._chunk_totals(n), Name("c"), value, float64 if sums_up(n) else n.type.dtype)
            for n, value in values.items()
        ]

    # the last chunk ---------------------------------------------------------------------------------------------------

    def fold_columns(self, node: Node, out: str) -> Loop:
        """Combines the chunks' sums of one node to its result."""
        pointer, dtype, total = self._chunk_sums(node), node.type.dtype, Name("t")
        held = float64 if sums_up(node) else dtype
        return loop("j", 0, COLUMNS, [
            assign(total.name, Load(pointer, COLUMN_J, held)),
            loop("c", 1, CHUNKS, [_folded(node, total, Load(pointer, CHUNK_COLUMN, held))]),
            Store(out, COLUMN_J, Convert(total, dtype) if sums_up(node) else total, dtype),
        ])  # fmt: skip

    def fold_total(self, node: Node) -> tuple[Name, list[Statement]]:
        """Combines the chunks' totals of one node: the name of the result, and the statements that compute it."""
        pointer, dtype, name = self._chunk_totals(node), node.type.dtype, self.args.fresh("w")
        held = float64 if sums_up(node) else dtype
        lines: list[Statement] = [
            assign(name.name, Load(pointer, ZERO, held)),
            loop("c", 1, CHUNKS, [_folded(node, name, Load(pointer, Name("c"), held))]),
        ]
        if not sums_up(node):
            return name, lines
        value = self.args.fresh("v")
        return value, [*lines, assign(value.name, Convert(name, dtype))]

    # long rows --------------------------------------------------------------------------------------------------------

    def in_strips(self, columns: Loop, starts: dict[Node, Assign]) -> list[Statement] | None:
        """The loop over the columns of a long row, with the sums that it makes and their starts; None where rows are short."""
        summed = {n: s for n, s in starts.items() if sums_up(n)}
        if not summed or real_extent(self.domain, "columns") < LONG_ROW:
            return None
        names = {n: Name(s.names[0]) for n, s in summed.items()}
        zero = Literal(0, float64)
        return [
            *(s for n, s in starts.items() if n not in summed),
            *(store_to(part, zero) for n, name in names.items() for part in compensated(n, name)),
            strip_mined(
                columns, "k", ROW_STRIP, list(summed.values()), [added(compensated(n, name), name) for n, name in names.items()]
            ),
            *(assign(name.name, Convert(joined(compensated(n, name)), n.type.dtype)) for n, name in names.items()),
        ]


def compensated(node: Node, name: Name) -> list[Name]:
    """As `Accumulators._pair`, for the strips of a row."""
    return [Name(f"{name.name}_whole"), Name(f"{name.name}_lost")][: 1 if node.type.dtype == float32 else 2]


def joined(pair: Sequence[Name | Load]) -> Expr:
    """The value of a pair. The rounding error of an infinite sum is ignored."""
    if len(pair) == 1:
        return pair[0]
    return Infix("+", pair[0], Scalar("finite_or_zero", (pair[1],), float64, float64))


def added(pair: Sequence[Name | Load], x: Name | Load) -> Statement:
    """x added to a float64 sum, and the rounding error to the number beside it, if there is one."""
    if len(pair) == 1:
        return store_to(pair[0], pair[0] + Convert(x, float64))
    return CompensatedAdd(pair[0], pair[1], x)


def _folded(node: Node, target: Name, value: Load) -> Statement:
    """The results of two chunks as one."""
    return assign(target.name, target + value) if sums_up(node) else combined(node, target, value)


def _columnwise(body: Sequence[Statement]) -> list[Statement]:
    return [loop("j", ZERO, COLUMNS, body)] if body else []
