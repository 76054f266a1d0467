"""Which loop of a kernel computes a value, which values are kept for later loops, and how sums over rows accumulate.

In `softmax` the row's maximum has to be there before a value is subtracted, and the sum before one is divided: three loops over
the columns. The *level* of a value is the number of reductions over columns that precede it. A full value that a later level
needs is read back from memory where it is stored, kept in row scratch, or recomputed where that is cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...base.types import bool_, float32, float64, uint8
from ...ir import Node, Pointwise, Reduction
from ..fusion.fuse import Group
from ..fusion.iteration_domain import split_strides
from ..fusion.node_facts import COL, FULL, ROW, SCALAR, SPREAD, Layouts, count, inlined, origin, row_terms
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
from .operands import BufferRef, Parameters, real_extent

RECOMPUTE = 12  # a full value cheaper than this (in additions) is recomputed rather than kept


def cost(node: Node) -> int:
    return node.op.emit.cost if isinstance(node.op.emit, Pointwise) else 1


class LoopNest:
    """Orders the values of a group into loops. `dots`: sums that matrix-vector products compute."""

    def __init__(self, group: Group, dots: Mapping[Node, Dot]):
        self.group, self.dots = group, dots
        self.members = set(group.members)
        self.rank = group.domain.rank.__getitem__
        """The broadcast rank of a member."""
        self.outputs = set(group.outputs)
        self.flat = group.domain.columns is None
        self.spread = next((n for n in group.members if group.domain.rank[n] == SPREAD), None)
        """The result to which the kernel scatter-adds rows."""
        self.level: dict[Node, int] = {}
        for node in group.members:
            before = [self.level[o] for o in map(origin, node.inputs) if o in self.members]
            deepest = max(before, default=0)
            folds = isinstance(node.op.emit, Reduction) and self.rank(node) == ROW
            self.level[node] = deepest + 1 if folds else deepest
        self.last = max(self.level.values(), default=0)
        self.kept = self._kept()
        """Full values that later levels use, are not stored, and are expensive to recompute."""

    def sinks(self, level: int) -> list[Node]:
        """Full values that the loop of this level has to produce: stored, reduced, accumulated or kept."""
        sinks: dict[Node, None] = {}
        for node in self.group.members:
            if self.rank(node) == FULL and self.level[node] == level and (node in self.outputs or node in self.kept):
                sinks[node] = None
            if self.folds(node) and node not in self.dots:
                source = origin(node.inputs[0])
                if source in self.members and self.rank(source) == FULL and self.level[source] == level:
                    sinks[source] = None
        return list(sinks)

    def reductions(self, level: int) -> list[Node]:
        """Reductions folded in the loop of this level."""
        result = []
        for node in self.group.members:
            if self.folds(node) and node not in self.dots and not self.flat:
                source = origin(node.inputs[0])
                if source in self.members:
                    if self.rank(source) == FULL and self.level[source] == level:
                        result.append(node)
                elif level == 0 and self.outside_rank(node) == FULL:
                    result.append(node)
        return result

    def folds(self, node: Node) -> bool:
        """Whether the loop over a row accumulates its elements, in a sum or in rows of a result."""
        return isinstance(node.op.emit, Reduction) or node is self.spread

    def outside_rank(self, node: Node) -> str:
        """The rank of a reduction's operand in memory."""
        if self.flat:
            return ROW
        if self.rank(node) in (ROW, COL):
            return FULL
        size = count(node.inputs[0].type.shape)
        return FULL if size == self.group.domain.rows * self.group.domain.columns else ROW  # type: ignore[operator]

    def _kept(self) -> dict[Node, None]:
        kept: dict[Node, None] = {}
        if self.flat:
            return kept
        price: dict[Node, int] = {}
        for node in self.group.members:
            if self.rank(node) == FULL:
                price[node] = cost(node) + sum(price.get(o, 0) for o in map(origin, node.inputs) if self._unstored(o))
        for node in self.group.members:
            for source in map(origin, node.inputs):
                if source in kept or not self._unstored(source) or self.rank(node) != FULL:
                    continue
                if self.level[node] > self.level[source] and price[source] > RECOMPUTE:
                    kept[source] = None
        return kept

    def _unstored(self, node: Node) -> bool:
        """Whether it is a full value of this kernel that is not in memory."""
        return node in self.members and self.rank(node) == FULL and node not in self.outputs


# matrix-vector products inside a kernel: reductions that the routines of `row_products.py` compute -------------------

# A sum along the rows of x * w, where w has one value per column, is x times a vector; a sum over the rows of x * g, where g
# has one value per row, is the transposed product, accumulated.


@dataclass(frozen=True)
class Dot:
    """`total` sums `product`, of a matrix in memory (row after row, `stride` elements apart) and a vector."""

    total: Node
    product: Node
    matrix: Node
    vector: Node
    stride: int


def find_matrix_vector_forms(group: Group, layouts: Layouts) -> dict[Node, Dot]:
    """The sums of the group that are products of a matrix with a vector, by node."""
    found = (_dot(node, group, layouts) for node in group.members)
    return {dot.total: dot for dot in found if dot is not None}


def _dot(node: Node, group: Group, layouts: Layouts) -> Dot | None:
    domain = group.domain
    if not (isinstance(node.op.emit, Reduction) and node.op.emit.monoid == "add" and node.type.dtype.kind == "f"):
        return None
    product, rank = origin(node.inputs[0]), domain.rank[node]
    if rank not in (ROW, COL) or product is not node.inputs[0] or not _only_for(product, node, group):
        return None
    for matrix, vector in (product.inputs, product.inputs[::-1]):
        stride = _matrix_stride(matrix, product, group, layouts)
        if stride and _fits(vector, rank, product, group, layouts):
            return Dot(node, product, matrix, vector, stride)
    return None


def _only_for(product: Node, total: Node, group: Group) -> bool:
    """Whether it is a product of this kernel that only the sum needs."""
    emit = product.op.emit
    if product not in group.members or product in group.outputs or group.domain.rank[product] != FULL:
        return False
    users = [n for n in group.members if product in map(origin, n.inputs)]
    return isinstance(emit, Pointwise) and emit.bilinear and users == [total]


def _in_memory(node: Node, group: Group) -> bool:
    source = origin(node)
    return source not in group.members and not inlined(source) and source.op.leaf != "generator"


def _walk(seen: Node, product: Node, group: Group, layouts: Layouts) -> Iterator[int]:
    """(row stride, column stride) of an operand in memory; empty where its rows aren't one stride apart."""
    found = split_strides(seen, product.type.shape, FULL, group.domain, layouts)
    if found is None:
        return
    terms = row_terms(found[0], found[1])
    if len(terms) <= 1 and all(divisor == 1 and modulus == 0 for divisor, modulus, _ in terms):
        yield terms[0][2] if terms else 0
        yield found[2]


def _matrix_stride(seen: Node, product: Node, group: Group, layouts: Layouts) -> int:
    """Elements from row to row; 0 unless it is a matrix with contiguous rows."""
    if not _in_memory(seen, group) or seen.type.dtype != product.type.dtype:
        return 0
    row, column = (*_walk(seen, product, group, layouts), 0, 0)[:2]
    return row if column == 1 else 0


def _fits(seen: Node, rank: str, product: Node, group: Group, layouts: Layouts) -> bool:
    """Whether it is a vector along the axis over which the sum runs."""
    if seen.type.dtype != product.type.dtype:
        return False
    source = origin(seen)
    if source in group.members:
        return rank == COL and group.domain.rank[source] == ROW
    if not _in_memory(seen, group):
        return False
    return [*_walk(seen, product, group, layouts)] == ([0, 1] if rank == ROW else [1, 0])


# accumulation over rows: initial values, steps, and the fold after the last chunk -------------------------------------

# A running sum in float32 loses addends that are small beside it: after some million ones, the sum of a column would be
# wrong in the fifth digit. So sums are computed by strips of rows, or of a long row. Inside a strip they accumulate in
# their own dtype, in SIMD lanes, and the strip's total is added to a float64 number. For float64, the rounding error of
# that addition is kept too.
#
# Source: Knuth, "The Art of Computer Programming", volume 2, section 4.2.2, theorem B.

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
