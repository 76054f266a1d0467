"""Row tiling: kernels that work on tiles of rows, so that work per row is vectorized too.

Row by row, the work per row is scalar code between two loops over the columns: an exp there costs as much as sixteen
inside a loop. Here each phase of the row loop runs over a tile of rows before the next phase does (loop fission), and
values per row are kept in small arrays in between (scalar expansion):

    for b in range(<first row of the chunk>, <last>, block):
        n = min(block, ...)
        for l in range(n): <row values of level 0>                      # vectorized over rows
        for l in range(n):
            for j in range(columns): <full values of level 0, ...>      # vectorized over columns
        for l in range(n): <row values of level 1>
        ...

With few columns (10 classes) the inner loops are interchanged, so that they too are vectorized over rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ir import Node, Pointwise, Reduction
from ..fusion.broadcast_rank import COL, FULL, ROW, SCALAR, SPREAD, origin
from ..fusion.fuse import Group
from ..fusion.layout import Layouts
from ..fusion.matrix_vector_forms import Dot, find_matrix_vector_forms
from .accumulators import CHUNK_COLUMN, COLUMNS, combined
from .kernel_writer import KernelWriter
from .loop_ir import (
    ROW_I,
    TILE_L,
    ZERO,
    Expr,
    Infix,
    Integer,
    Load,
    Loop,
    MatrixVector,
    Name,
    Statement,
    Store,
    assign,
    loop,
)
from .loop_nest import cost
from .parameters import BufferRef, real_extent
from .rewrites import interchanged, over_tile, tiled

BLOCK = 64
"""The most rows of a tile."""
NARROW = 16
"""Up to so many columns, the inner loop runs over rows."""
WIDE = 512
"""From so many columns on, the work per row is negligible beside the loops over columns."""
ROW_WORK = 16
"""The least cost of values per row for which tiles pay."""
LONG = 4096
"""Up to so many columns, products with a vector are tiled: a tile stays in the second-level cache."""
RESIDENT = 4096
"""Elements of each operand in a tile: they stay in the first-level cache from phase to phase."""
LEAST = 16
"""The least rows of a tile that is multiplied by a vector: the SIMD lanes of float32."""

TILE = Name("c") * BLOCK
AT = TILE + TILE_L
"""The place of the value of a tile's row."""


def writer_for(group: Group, layouts: Layouts) -> type[KernelWriter]:
    """The form of a group's kernel. Only the columns decide it, so that every batch size has the same source."""
    domain, columns = group.domain, group.domain.columns
    if SPREAD in domain.rank.values():
        return KernelWriter
    if columns is not None and columns <= LONG and find_matrix_vector_forms(group, layouts):
        return RowTiledWriter
    if columns is None or not any(isinstance(n.op.emit, Reduction) and domain.rank[n] == ROW for n in group.members):
        return KernelWriter
    if columns <= NARROW:
        return RowVectorizedWriter
    work = sum(cost(n) for n in group.members if isinstance(n.op.emit, Pointwise) and domain.rank[n] == ROW)
    return RowTiledWriter if columns <= WIDE and work >= ROW_WORK else KernelWriter


class RowTiledWriter(KernelWriter):
    """Phases over tiles of rows; loops over the columns of a row are innermost."""

    tiled = True
    kept_at = AT * COLUMNS + Name("j")
    kept_rows = BLOCK

    def matrix_vector_products(self) -> Mapping[Node, Dot]:
        return find_matrix_vector_forms(self.group, self.layouts)

    def tile(self, rows: Loop) -> Loop:
        fewest = LEAST if self.nest.dots else 1
        size = min(BLOCK, max(fewest, RESIDENT // max(real_extent(self.domain, "columns"), 1)))
        return tiled(rows, self.args.size("block", size, "block"))

    def rows(self) -> list[Statement]:
        """The statements for a tile of rows."""
        self.arrays: dict[Node, str] = {}
        levels = range(self.nest.last + 1)
        return [s for level in levels for phase in (self._row_phase, self.column_phase) for s in phase(level)]

    # phases ---------------------------------------------------------------------------------------------------------

    def _row_phase(self, level: int) -> list[Statement]:
        """Values per row of one level, vectorized over the rows of the tile."""
        self.begin()
        body: list[Statement] = []
        for node in self.group.members:
            if self.nest.rank(node) != ROW or self.nest.level[node] != level:
                continue
            if not isinstance(node.op.emit, Reduction):
                body += self.row_value(node)
                self.local[node] = self.value[node]
                if self._travels(node, level):
                    body.append(Store(self._array(node), AT, self.value[node], node.type.dtype))
            elif node in self.nest.outputs:
                self.put(node, self.row_name(node), ROW_I, body)
        for node in self.acc.totals:
            source = origin(node.inputs[0])
            if self.total_of_rows(node) and self.nest.level.get(source, 0) == level:
                self.row_loads = []
                step = self.total_step(node)
                body += [*self.row_loads, *step]
        return self.end(body)

    def column_phase(self, level: int) -> list[Statement]:
        """The loops over columns of one level."""
        self.begin()
        columns = self.column_loop(level)
        # Products first: the loop may overwrite the matrix that they read.
        return [*self._products(level), *self.end(columns)]

    def _products(self, level: int) -> list[MatrixVector]:
        """The matrix-vector products of one level."""
        products = []
        first = Name("b")
        for node, dot in self.nest.dots.items():
            if self.nest.level[dot.product] != level:
                continue
            shape, access = dot.product.type.shape, self.operands.access
            matrix, row, _ = access(dot.matrix, dot.product, FULL, shape)
            stride = row.right if isinstance(row, Infix) else Integer(1)
            out: tuple[str, Expr]
            vector: tuple[str, Expr]
            transposed = self.nest.rank(node) != ROW
            source = origin(dot.vector)
            if not transposed:
                vector = access(dot.vector, dot.product, FULL, shape)[0], ZERO
                out = self._array(node), TILE
            else:
                if source in self.nest.members:
                    vector = self._array(source), TILE
                else:
                    vector = access(dot.vector, dot.product, FULL, shape)[0], first
                out = self.acc.accumulator(node), Name("c") * COLUMNS
            place = matrix, first * stride
            note, dtype = self.args.note(node), node.type.dtype
            products.append(MatrixVector(transposed, out, place, vector, Name("n"), COLUMNS, stride, dtype, note))
        return products

    def begin(self) -> None:
        """Start a phase: nothing has been loaded."""
        self.here = {}
        self.local: dict[Node, Name] = {}
        self.loads: list[Statement] = []

    def end(self, body: Sequence[Statement]) -> list[Statement]:
        """The phase as a loop over the tile's rows."""
        late, self.late = self.late, []
        return [over_tile([*self.loads, *body, *late])] if body or late else []

    # values per row -------------------------------------------------------------------------------------------------

    def row_name(self, node: Node) -> Name:
        if self.nest.rank(node) != ROW:
            return super().row_name(node)
        if node not in self.local:
            self.local[node] = self.args.fresh("h")
            self.loads.append(assign(self.local[node].name, Load(self._array(node), AT, node.type.dtype)))
        return self.local[node]

    def reduced(self, node: Node, name: Name) -> list[Statement]:
        if self.nest.rank(node) == SCALAR:
            return super().reduced(node, name)
        return [Store(self._array(node), AT, name, node.type.dtype)]

    def _array(self, node: Node) -> str:
        """The place of a value per row between the phases."""
        if node not in self.arrays:
            self.arrays[node] = self.args.buffer(BufferRef("rows", node, 0, node.type.dtype, BLOCK), "rows")
        return self.arrays[node]

    def _travels(self, node: Node, level: int) -> bool:
        """Whether a later phase reads a value that this row phase computes."""
        return any(
            node in map(origin, user.inputs) and (self.nest.rank(user) != ROW or self.nest.level[user] != level)
            for user in self.group.members
            if user not in self.acc.totals  # they accumulate in the phase that computes the value
        )


class RowVectorizedWriter(RowTiledWriter):
    """With few columns: the loop over the rows of the tile is innermost."""

    kept_at = CHUNK_COLUMN * BLOCK + TILE_L

    def column_phase(self, level: int) -> list[Statement]:
        sinks, reductions = self.nest.sinks(level), self.nest.reductions(level)
        if not sinks and not reductions:
            return []
        self.begin()
        body = self.column_values(sinks, level)
        start: list[Statement] = []
        before: list[Statement] = []
        after: list[Statement] = []
        for node in reductions:
            operand = self.operand(node.inputs[0], node, FULL, node.inputs[0].type.shape, body, level)
            rank, dtype = self.nest.rank(node), node.type.dtype
            if rank == ROW:
                place = Load(self._array(node), AT, dtype)
                start.append(Store(place.pointer, AT, self.acc.start(node), dtype))
                body.append(combined(node, place, operand))
                continue
            name = self.acc.total(node) if rank == SCALAR else self.args.fresh("q")
            if rank == COL:
                pointer = self.acc.accumulator(node)
                before.append(assign(name.name, Load(pointer, CHUNK_COLUMN, dtype)))
                after.append(Store(pointer, CHUNK_COLUMN, name, dtype))
            body.append(combined(node, name, operand, self.args.note(node)))
        body += self.late
        self.late = []
        # An argument, even where the number of columns is in the source: LLVM would unroll the loop ten times without
        # any gain, and take twice as long for it.
        width = self.args.size("width", real_extent(self.domain, "columns"), "width")
        columns = loop("j", 0, width, [*self.loads, *self.row_loads, *body])
        started = [loop("l", 0, Name("n"), start, strip_of="b")] if start else []
        return [*started, interchanged(columns, before, after)]
