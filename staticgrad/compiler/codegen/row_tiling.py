"""Kernels that walk blocks of rows, where what is computed once a row should be vectorised too.

Row by row, the work per row is scalar code between two loops over the columns: an exp there costs as much as sixteen
inside a loop. Here each phase of the row loop runs over a block of rows before the next phase does, and values per row
lie in small arrays meanwhile:

    for b in range(<first row of the chunk>, <last>, block):
        n = min(block, ...)
        for l in range(n): <row values of level 0>                      # vectorised over rows
        for l in range(n):
            for j in range(columns): <full values of level 0, ...>      # vectorised over columns
        for l in range(n): <row values of level 1>
        ...

With few columns (10 classes) the inner loops are exchanged, so that they too are vectorised over rows.
"""

from __future__ import annotations

from typing import Any

from ...ir import Node, Pointwise, Reduction
from ...types import SHORT
from ..fusion.fuse import Group
from ..fusion.iteration_domain import COL, FULL, ROW, SCALAR, SPREAD, origin
from ..fusion.layout import Layouts
from ..fusion.matrix_vector_forms import find_matrix_vector_forms
from .accumulators import indent
from .kernel_writer import Body
from .loop_nest import cost
from .parameters import BufferRef, real_extent

BLOCK = 64
"""Rows of a block, at the most."""
NARROW = 16
"""Columns up to which the inner loop runs over rows."""
WIDE = 512
"""Columns from which on the work per row does not count beside the loops over its columns."""
ROW_WORK = 16
"""Cost of the values per row from which on blocks pay."""
LONG = 4096
"""Columns up to which products with a vector are done in blocks: these stay in the second-level cache."""
RESIDENT = 4096
"""Elements that a block has of each operand: they stay in the first-level cache from phase to phase."""
LEAST = 16
"""Rows of a block, at the least, where it is multiplied with a vector: lanes of one in float32."""

AT = f"c * {BLOCK} + l"


def writer_for(group: Group, layouts: Layouts) -> type[Body]:
    """How to write the kernel of a group: by columns alone, so that every batch size has the same source."""
    domain, columns = group.domain, group.domain.columns
    if SPREAD in domain.rank.values():
        return Body
    if columns is not None and columns <= LONG and find_matrix_vector_forms(group, layouts):
        return RowTiledWriter
    if columns is None or not any(isinstance(n.op.emit, Reduction) and domain.rank[n] == ROW for n in group.members):
        return Body
    if columns <= NARROW:
        return RowVectorizedWriter
    work = sum(cost(n) for n in group.members if isinstance(n.op.emit, Pointwise) and domain.rank[n] == ROW)
    return RowTiledWriter if columns <= WIDE and work >= ROW_WORK else Body


class RowTiledWriter(Body):
    """Phases over blocks of rows; loops over the columns of a row are innermost."""

    blocked = True
    kept_at = f"(c * {BLOCK} + l) * columns + j"
    kept_rows = BLOCK

    def levels(self) -> None:
        super().levels()
        self.dots = find_matrix_vector_forms(self.group, self.layouts)

    def row_loop(self, loops: list[str], first: str, last: str) -> list[str]:
        fewest = LEAST if self.dots else 1
        rows = min(BLOCK, max(fewest, RESIDENT // max(real_extent(self.group.domain, "columns"), 1)))
        block = self.size("block", rows, "block")
        return [
            f"for b in range({first}, {last}, {block}):", f"    n = min({block}, {last} - b)",
            *indent(loops, 1),
        ]  # fmt: skip

    def rows(self) -> list[str]:
        """The statements for a block of rows."""
        self.arrays: dict[Node, str] = {}
        self.late: list[str] = []
        lines: list[str] = []
        for level in range(max(self.level.values(), default=0) + 1):
            lines += [*self._row_phase(level), *self._loop_phase(level)]
        return lines

    # phases ---------------------------------------------------------------------------------------------------------

    def _row_phase(self, level: int) -> list[str]:
        """Values per row of one level, vectorised over the rows of the block."""
        self._begin()
        lines: list[str] = []
        for node in self.group.members:
            if self.kind(node) != ROW or self.level[node] != level:
                continue
            if not isinstance(node.op.emit, Reduction):
                lines += self.row_value(node)
                self.local[node] = self.value[node]
                if self._travels(node, level):
                    lines.append(f"{self._array(node)}[{AT}] = {self.stored(node, self.value[node])}")
            elif node in self.outputs:
                name = self.row_name(node)
                self.put(node, name, "i", lines)
        for node in self.totals:
            source = origin(node.inputs[0])
            inside = source in self.members
            if (self.kind(source) if inside else self.outside_kind(node)) != ROW:
                continue
            if (self.level[source] if inside else 0) == level:
                self.row_loads = []
                operand = self.operand(node.inputs[0], node, ROW, node.inputs[0].type.shape, lines, 0)
                total = self.total(node)
                lines += [*self.row_loads, self.line(total, self.combine(node, total, operand), node)]
        lines += self.late
        self.late = []
        return self._lanes([*self.loads, *lines]) if lines else []

    def _loop_phase(self, level: int) -> list[str]:
        self._begin()
        lines = self._loop(level)
        # Products first: what the loop writes may lie over the matrix that they read.
        return [*self._products(level), *(self._lanes([*self.loads, *lines]) if lines else [])]

    def _products(self, level: int) -> list[str]:
        """Calls for the matrix-vector products of one level."""
        lines = []
        for node, dot in self.dots.items():
            if self.level[dot.product] != level:
                continue
            shape, kind = dot.product.type.shape, SHORT[node.type.dtype]
            matrix, row, _ = self.access(dot.matrix, dot.product, FULL, shape)
            stride = row.removeprefix("i * ") if row != "i" else "1"
            x = f"{matrix}, b * {stride}"
            if self.kind(node) == ROW:
                vector = self.access(dot.vector, dot.product, FULL, shape)[0]
                call = f"dot_rows_{kind}({self._array(node)}, c * {BLOCK}, {x}, {vector}, 0, n, columns, {stride})"
            else:
                source = origin(dot.vector)
                inside = source in self.members
                vector = self._array(source) if inside else self.access(dot.vector, dot.product, FULL, shape)[0]
                place = f"c * {BLOCK}" if inside else "b"
                call = f"add_rows_{kind}({self.accumulator(node)}, c * columns, {x}, {vector}, {place}, n, columns, {stride})"
            where = f"  {node.where.short}" if node.where is not None else ""
            lines.append(f"{call}  # %{self.number.get(node, 0)} {node.op.name}{where}")
        return lines

    def _begin(self) -> None:
        """Nothing is at hand yet."""
        self.here: dict[Any, str] = {}
        self.local: dict[Node, str] = {}
        self.loads: list[str] = []

    def _lanes(self, lines: list[str]) -> list[str]:
        return ["for l in range(n):", "    i = b + l", *indent(lines, 1)]

    # values per row -------------------------------------------------------------------------------------------------

    def row_name(self, node: Node) -> str:
        if self.kind(node) != ROW:
            return super().row_name(node)
        if node not in self.local:
            self.local[node] = f"h{self.next('h')}"
            self.loads.append(f"{self.local[node]} = {self.loaded(self._array(node), AT, node)}")
        return self.local[node]

    def reduced(self, node: Node, name: str) -> list[str]:
        if self.kind(node) == SCALAR:
            return super().reduced(node, name)
        return [f"{self._array(node)}[{AT}] = {self.stored(node, name)}"]

    def _array(self, node: Node) -> str:
        """Where a value per row lies between the phases."""
        if node not in self.arrays:
            self.arrays[node] = self.buffer(BufferRef("rows", node, 0, node.type.dtype, BLOCK), "rows")
        return self.arrays[node]

    def _travels(self, node: Node, level: int) -> bool:
        """Whether a later phase reads a value that this row phase computes."""
        return any(
            node in map(origin, user.inputs) and (self.kind(user) != ROW or self.level[user] != level)
            for user in self.group.members
            if user not in self.totals  # they are added up in the phase that computes the value
        )


class RowVectorizedWriter(RowTiledWriter):
    """With few columns: the loop over the rows of the block is innermost."""

    kept_at = f"(c * columns + j) * {BLOCK} + l"

    def _loop_phase(self, level: int) -> list[str]:
        sinks, reductions = self.loop_sinks(level), self.loop_reductions(level)
        if not sinks and not reductions:
            return []
        self._begin()
        inside = self.loop_values(sinks, level)
        begin, before, after = [], [], []
        for node in reductions:
            operand = self.operand(node.inputs[0], node, FULL, node.inputs[0].type.shape, inside, level)
            kind = self.kind(node)
            if kind == ROW:
                place = f"{self._array(node)}[{AT}]"
                begin.append(f"{place} = {self.stored(node, self.start(node))}")
                inside.append(f"{place} = {self._folded(node, place, operand)}")
                continue
            name = self.total(node) if kind == SCALAR else f"q{self.next('q')}"
            if kind == COL:
                place = f"{self.accumulator(node)}[c * columns + j]"
                pointer, index = place[:-1].split("[", 1)
                before.append(f"{name} = {self.loaded(pointer, index, node)}")
                after.append(f"{place} = {self.stored(node, name)}")
            inside.append(self.line(name, self.combine(node, name, operand), node))
        inside += self.late
        self.late = []
        lanes = self._lanes([*self.loads, *self.row_loads, *inside])
        first = ["for l in range(n):", *indent(begin, 1)] if begin else []
        # An argument, even where the number of columns is in the source: LLVM would write the loop out ten times, for
        # nothing, and take as long again for it.
        width = self.size("width", real_extent(self.group.domain, "columns"), "width")
        return [*first, f"for j in range({width}):", *indent([*before, *lanes, *after], 1)]

    def _folded(self, node: Node, place: str, operand: str) -> str:
        pointer, index = place[:-1].split("[", 1)
        return self.stored(node, self.combine(node, self.loaded(pointer, index, node), operand))
