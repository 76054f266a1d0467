"""From a group to the source of its kernel.

    for c in range(start, stop):            # chunks of rows; only with accumulators or scratch, else rows directly
        for i in range(rows * c // chunks, rows * (c + 1) // chunks):
            <row values of level 0>
            for j in range(columns): <full values of level 0, stores, accumulation>
            <row values of level 1: they need what the loop above reduced>
            for j in range(columns): ...
    <when the last chunk is done: partial results are folded, scalars made of them>

The level of a value counts the reductions over columns that lie behind it (`loop_nest.py`).

Extents, strides and numbers are run-time arguments (`sizes`, `numbers`), so a new batch size or learning rate gives the
same source. The source is a product: names are short and stable, and each line leads home.
"""

from __future__ import annotations

from typing import Any

from ...ir import Index, Node, Reduction
from ...types import SHORT
from ..fusion.gather_fusion import gather_of
from ..fusion.iteration_domain import COL, FULL, ROW, SCALAR, SPREAD, inlined, origin, split_strides
from ..fusion.layout import row_terms
from ..fusion.padding_fusion import padding_of
from ..fusion.scatter_fusion import scatter_of
from .accumulators import indent
from .loop_nest import LoopNest, cost
from .parameters import BufferRef, KernelSource, real_extent

UNROLLED = 64
"""Columns up to which their number may be part of the source."""

CLEARED, ADDED = 2, 4
"""Cost of an element of a result to whose rows others are added, and of one that is added."""


class Body(LoopNest):
    """Writes the loops of a group."""

    def write(self, name: str) -> KernelSource:
        self.members = set(self.group.members)
        self.outputs = set(self.group.outputs)
        self.scratch: dict[Node, str] = {}
        self.kept: dict[Node, int] = {}
        domain = self.group.domain
        self.flat = domain.columns is None
        self.levels()
        accumulated = [n for n in self.group.members if isinstance(n.op.emit, Reduction) and n in domain.post]
        self.totals = [n for n in accumulated if domain.rank[n] == SCALAR]
        self.sums = [n for n in accumulated if domain.rank[n] == COL]
        self.spread = next((n for n in self.group.members if domain.rank[n] == SPREAD), None)
        rows = real_extent(domain, "rows")
        if not self.flat:
            self._columns()
        self.choose_scratch()
        chunked = bool(accumulated or self.kept or self.blocked or self.spread)
        if chunked:
            self.size("rows", rows, "rows")
            chunks_at = len(self.sizes)
            self.size("chunks", 1, "chunks")
        loops = self.rows()
        body: list[str] = []
        alone = all(domain.rank[n] == SCALAR and n not in domain.post for n in self.group.members)
        if alone:
            body += self._scalars()
        elif chunked:
            body.append("for c in range(start, stop):")
            body += indent(self.chunk(loops), 1)
        elif loops:
            body.append("for i in range(start, stop):")
            body += indent(loops, 1)
        body += self._stored_columns()
        if accumulated:
            body.append("if chunks == 1 or start < 0:  # the last chunk is done")
            body += indent(self._finish(), 1)
        total = rows * (real_extent(domain, "columns") if not self.flat else 1)
        work = sum(cost(n) * (total if domain.rank[n] in (FULL, ROW) else 1) for n in self.group.members)
        if self.spread is not None:
            work += CLEARED * self.spread.type.size + ADDED * total
        return KernelSource(
            name, self._assemble(name, body), self.buffers, self.sizes, self.numbers, 1 if alone else rows, chunked,
            bool(accumulated), chunks_at if chunked else -1,
            work,
        )  # fmt: skip

    blocked = False
    """Whether the kernel walks blocks of rows; see `row_tiling.py`."""
    kept_at = "c * columns + j"
    """Where a value that is kept for later levels lies in its scratch."""

    def _columns(self) -> None:
        """Few columns, along a weight or a constant, are a number in the source: short loops are unrolled then. Others
        are an argument."""
        columns = real_extent(self.group.domain, "columns")
        if 0 < columns <= UNROLLED and self._along_weight(columns):
            self.known_sizes["columns"] = "columns"
            self.size_lines.append(f"columns = {columns}")
        else:
            self.size("columns", columns, "columns")

    def _along_weight(self, columns: int) -> bool:
        """Whether the columns are those of a variable or constant, whose extents don't change from call to call."""
        for node in self.group.members:
            for seen in node.inputs:
                base = self.layouts.base[seen]
                weight = base.op.leaf in ("variable", "constant")
                if weight and seen.type.shape[-1:] == (columns,) == base.type.shape[-1:]:
                    return True
        return False

    # loops ----------------------------------------------------------------------------------------------------------

    def rows(self) -> list[str]:
        """The statements for one row."""
        last = max(self.level.values(), default=0)
        lines: list[str] = []
        self.here: dict[Any, str] = {}  # values loaded in this row
        self.late: list[str] = []  # writes to variables, when the old values are read
        for level in range(last + 1):
            for node in self.group.members:
                if self.kind(node) == ROW and self.level[node] == level and not isinstance(node.op.emit, Reduction):
                    lines += self.row_value(node)
                elif self.kind(node) == ROW and self.level[node] == level and node in self.outputs:
                    self.put(node, self.value[node], "i", lines)
            if self.flat:
                continue
            lines += self._loop(level)
        return [*lines, *self._row_totals(), *self.late]

    def _loop(self, level: int) -> list[str]:
        sinks, reductions = self.loop_sinks(level), self.loop_reductions(level)
        if not sinks and not reductions:
            return []
        outer, self.late = self.late, []
        inside = self.loop_values(sinks, level)
        before, after = [], []
        names: dict[Node, str] = {}
        for node in reductions:
            operand = self.operand(node.inputs[0], node, FULL, node.inputs[0].type.shape, inside, level)
            if self.kind(node) == COL:
                place = f"{self.accumulator(node)}[c * columns + j]"
                inside.append(f"{place} = {self.combine(node, place, operand)}")
                continue
            if node is self.spread:
                place = f"{self.memory(node, 'y')}[to * columns + j]"
                inside.append(self.line(place, f"{place} + {operand}", node))
                continue
            name = names[node] = self.value.setdefault(node, f"r{self.next('r')}")
            before.append(f"{name} = {self.start(node)}")
            inside.append(self.line(name, self.combine(node, name, operand), node))
            after += self.reduced(node, name)
        inside += self.late
        self.late = outer
        loop = self.in_pieces(inside, before, names)
        if loop is None:
            loop = [*before, "for j in range(columns):", *indent(inside, 1)]
        return [*self.row_loads, *loop, *after]

    def loop_values(self, sinks: list[Node], level: int) -> list[str]:
        """What the loop of this level computes and stores, before it reduces."""
        self.inner: dict[Any, str] = {}
        self.row_loads: list[str] = []
        inside: list[str] = []
        for node in sinks:
            self.full(node, level, inside)
            if node in self.outputs:
                self.put(node, self.inner[node], self._element(node), inside)
            if node in self.kept:
                inside.append(f"{self.scratch[node]}[{self.kept_at}] = {self.stored(node, self.inner[node])}")
        return inside

    def reduced(self, node: Node, name: str) -> list[str]:
        """What follows the loop that reduced a row to `name`."""
        if self.kind(node) != SCALAR:
            return []
        return [f"{self.total(node)} = {self.combine(node, self.total(node), name)}"]

    def _row_totals(self) -> list[str]:
        """Accumulation over rows of row values."""
        lines: list[str] = []
        self.row_loads = []
        for node in self.totals:
            source = origin(node.inputs[0])
            kind = self.kind(source) if source in self.members else self.outside_kind(node)
            if kind == ROW:
                operand = self.operand(node.inputs[0], node, ROW, node.inputs[0].type.shape, lines, 0)
                total = self.total(node)
                lines.append(self.line(total, self.combine(node, total, operand), node))
        return [*self.row_loads, *lines]

    def row_value(self, node: Node) -> list[str]:
        lines: list[str] = []
        self.row_loads = []
        text = self._computed(node, ROW, lines, 0, "i")
        name = self.value.setdefault(node, f"v{self.next('v')}")
        lines.append(self.line(name, text, node))
        if node in self.outputs:
            self.put(node, name, "i", lines)
        return [*self.row_loads, *lines]

    def full(self, node: Node, level: int, lines: list[str]) -> str:
        """The text of a full value inside the loop of `level`."""
        if node in self.inner:
            return self.inner[node]
        if self.level[node] < level and node in self.outputs:
            text = self.loaded(self.memory(node, "y"), self._element(node), node)
        elif self.level[node] < level and node in self.kept:
            text = self.loaded(self.scratch[node], self.kept_at, node)
        else:
            text = self._computed(node, FULL, lines, level, "i * columns + j")
        name = f"v{self.next('v')}"
        lines.append(self.line(name, text, node))
        self.inner[node] = name
        return name

    def _computed(self, node: Node, kind: str, lines: list[str], level: int, element: str) -> str:
        """The text that computes a value; what it needs is in `lines`."""
        window = padding_of(node)
        if window is not None:
            return self.window(node, window, kind)
        lookup = gather_of(node)
        if lookup is not None:
            index = node.inputs[lookup.index]
            return self.looked_up(node, lookup, self._load(index, node, ROW, index.type.shape, lines))
        operands = [self.operand(i, node, kind, node.type.shape, lines, level) for i in node.inputs]
        return self.expression(node, operands, element)

    def operand(self, seen: Node, user: Node, kind: str, shape: tuple[int, ...], lines: list[str], level: int) -> str:
        """The text of an operand, loading or computing it first where needed."""
        source = origin(seen)
        if source.op.leaf == "shape":
            return ""
        if isinstance(source.op.emit, Index):
            return self.position(seen, shape, kind)
        if inlined(source):
            return self.uniform_value(source)
        if source.op.leaf == "generator":
            return self.memory(source, "rng")
        if source in self.members:
            own = self.kind(source)
            if own == FULL:
                return self.full(source, level, lines)
            if own == COL:
                return self._col(source, lines)
            return self.row_name(source)
        return self._load(seen, user, kind, shape, lines)

    def row_name(self, node: Node) -> str:
        """The name of a value per row (or of a scalar) where it is used."""
        return self.value[node]

    def _col(self, node: Node, lines: list[str]) -> str:
        """A value per column that is not accumulated: computed where it is used."""
        if node not in self.inner:
            text = self._computed(node, COL, lines, 0, "j")
            self.inner[node] = f"v{self.next('v')}"
            lines.append(self.line(self.inner[node], text, node))
        return self.inner[node]

    def _stored_columns(self) -> list[str]:
        """Values per column that are stored and not accumulated: written once, also when there is no row."""
        lines: list[str] = []
        self.inner, self.row_loads = {}, []
        for node in self.group.members:
            if self.kind(node) == COL and node in self.outputs and node not in self.group.domain.post:
                text = self._col(node, lines)
                lines.append(self._store(node, text, "j"))
        return ["if start == 0:", "    for j in range(columns):", *indent(lines, 2)] if lines else []

    def _load(self, seen: Node, user: Node, kind: str, shape: tuple[int, ...], lines: list[str]) -> str:
        pointer, row, column = self.access(seen, user, kind, shape)
        index = " + ".join(t for t in (row, column) if t)
        if not index:
            return self._hoisted(pointer, seen)
        cache = self.here if not column else self.inner
        key = (pointer, index)
        if key not in cache:
            if column and "%" in row:
                row = self._row_offset(row)
                index = f"{row} + {column}"
            cache[key] = f"a{self.next('a')}"
            text = f"{cache[key]} = {self.loaded(pointer, index, seen)}"
            (lines if column else self.row_loads).append(text)
        return cache[key]

    def _hoisted(self, pointer: str, node: Node) -> str:
        name = f"{pointer}_0"
        line = f"{name} = {self.loaded(pointer, '0', node)}"
        if line not in self.prologue:
            self.prologue.append(line)
        return name

    # accumulation ---------------------------------------------------------------------------------------------------

    def _finish(self) -> list[str]:
        lines: list[str] = []
        for node in self.sums:
            if node in self.outputs:
                lines += self.fold_columns(node, self.memory(node, "y"))
        for node in self.totals:
            lines += self.fold_total(node)
            if node in self.outputs:
                lines.append(self._store(node, self.value[node], "0"))
        for node in self.group.members:
            if node in self.group.domain.post and not self.folds(node):
                lines += self._scalar(node)
        return lines

    def _scalars(self) -> list[str]:
        """A group of nothing but scalar arithmetic."""
        lines: list[str] = []
        for node in self.group.members:
            lines += self._scalar(node)
        return lines

    def _scalar(self, node: Node) -> list[str]:
        lines: list[str] = []
        operands = [self.operand(i, node, SCALAR, (), lines, 0) for i in node.inputs]
        self.value[node] = f"v{self.next('v')}"
        lines.append(self.line(self.value[node], self.expression(node, operands), node))
        if node in self.outputs:
            lines.append(self._store(node, self.value[node], "0"))
        return lines

    # rows by number -------------------------------------------------------------------------------------------------

    def chunk(self, loops: list[str]) -> list[str]:
        lines = super().chunk(loops)
        if self.spread is None:
            return lines
        extent = self.size(("extent", self.spread), self.spread.type.shape[0], "extent")
        return [
            f"begin, end = {extent} * c // chunks, {extent} * (c + 1) // chunks  # rows of the result, for this chunk alone",
            "for k in range(begin * columns, end * columns):",
            f"    {self.memory(self.spread, 'y')}[k] = {SHORT[self.spread.type.dtype]}(0)",
            *lines,
        ]

    def share(self) -> tuple[str, str]:
        return super().share() if self.spread is None else ("0", "rows")

    def row_loop(self, loops: list[str], first: str, last: str) -> list[str]:
        if self.spread is None:
            return super().row_loop(loops, first, last)
        scatter = scatter_of(self.spread)
        assert scatter is not None
        index = self.spread.inputs[scatter.index]
        pointer, row, _ = self.access(index, self.spread, ROW, index.type.shape)
        return [
            f"for i in range({first}, {last}):", f"    to = {pointer}[{row if row else '0'}]",
            "    if begin <= to and to < end:", *indent(loops, 2),
        ]  # fmt: skip

    # text -----------------------------------------------------------------------------------------------------------

    def _store(self, node: Node, text: str, index: str) -> str:
        return f"{self.memory(node, 'y')}[{index}] = {self.stored(node, text)}"

    def put(self, node: Node, text: str, index: str, lines: list[str]) -> None:
        """Store now; a variable that is written in place, when nothing here reads its old value any more."""
        (self.late if node in self.place else lines).append(self._store(node, text, index))

    def _element(self, node: Node) -> str:
        """Where a stored full value lies: rows of a part are further from each other than they are long."""
        if self.layouts.at[node].is_contiguous:
            return "i * columns + j"
        found = split_strides(node, node.type.shape, FULL, self.group.domain, self.layouts)
        assert found is not None
        row = " + ".join(self.row_term(t, (node, "to", n)) for n, t in enumerate(row_terms(*found[:2])))
        return f"{self._row_offset(row) if '%' in row else row} + j"

    def _row_offset(self, row: str) -> str:
        if row not in self.here:
            self.here[row] = f"o{self.next('o')}"
            self.row_loads.append(f"{self.here[row]} = {row}")
        return self.here[row]

    def _assemble(self, name: str, body: list[str]) -> str:
        lines = ["@kernel", f"def {name}(buffers, sizes, start, stop):"]
        if self.numbers:
            pointer = self.buffer(BufferRef("numbers"), "numbers")
            self.prologue.insert(0, f"numbers = {pointer}")
        for i, (ref, pointer) in enumerate(zip(self.buffers, self.names, strict=True)):
            lines.append(f"    {pointer} = {SHORT[ref.dtype]}_at(buffers, {i})  # {self.described(ref)}")
        lines += indent(self.size_lines, 1) + indent(self.prologue, 1) + indent(body, 1)
        return "".join(f"{_one_line(line)}\n" for line in lines)


def _one_line(text: str) -> str:
    """What is behind a # stays there: names and files are the user's, or come from a saved graph."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)
