"""From a group to the loops of its kernel.

    for c in range(start, stop):            # chunks of rows; only with accumulators or scratch, else rows directly
        for i in range(rows * c // chunks, rows * (c + 1) // chunks):
            <row values of level 0, totals of them>
            for j in range(columns): <full values of level 0, stores, accumulation>
            <row values of level 1: they need the results of the loop above>
            for j in range(columns): ...
    <after the last chunk: partial results are folded, and scalars are computed from them>

The level of a value counts the reductions over columns that precede it (`loop_nest.py`). The lines in brackets are stages of
the row, and so are the loops over columns; `row_tiling.py` makes loops over tiles of rows of them. `printers.py` makes text.

Extents, strides and numbers are run-time arguments (`sizes`, `numbers`), so a new batch size or learning rate gives the
same source. The source is a product: names are short and stable, and each line's comment names the source line it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...base.types import float64, int64
from ...ir import Index, Node, Pointwise, Reduction
from ..backend.cpu import BYTES
from ..fusion.fuse import Group
from ..fusion.iteration_domain import split_strides
from ..fusion.node_facts import COL, FULL, ROW, SCALAR, Layouts, gather_of, inlined, origin, padding_of, scan_of, scatter_of
from .loop_ir import (
    COLUMN_J,
    INT64,
    ROW_I,
    START,
    STOP,
    ZERO,
    Accumulate,
    Assign,
    Convert,
    Expr,
    If,
    Infix,
    Integer,
    Literal,
    Load,
    Loop,
    MatrixVector,
    Name,
    Place,
    Stage,
    Statement,
    Store,
    assign,
    expressions,
    inside,
    loop,
    segmented,
    total,
)
from .loop_nest import CHUNK_COLUMN, CHUNKS, COLUMNS, Accumulators, LoopNest, combined, cost
from .operands import BufferRef, KernelSource, Operands, Parameters, real_extent
from .printers import KERNEL
from .row_tiling import AT, BLOCK, LEAST, ROW_WORK, places_once, tile_rows, tiling_for, turned, work_of

FIXED, FIXED_REDUCED, FIXED_SUMMED = 8, 16, 64
"""Up to so many columns, their number may be part of the source: in kernels without reductions, in those that reduce rows, and
in those that sum over the rows. LLVM unrolls a loop over a known number of columns and vectorizes across rows instead. That
is faster where rows are few numbers apart (LLVM loads groups of up to 8 numbers at equal distances), and where the sums along
the columns stay in registers. Elsewhere it is up to 3 times slower."""
MASKED = BYTES >= 32
"""Whether vectors may have idle lanes."""
ENDS, MASKS = 128, 3
"""Dear iterations that fill no vector take many times as long as idle lanes, and masks a fifth of the loop: they pay for a rest
of more than (`ENDS` + `MASKS` * columns) / bytes of a vector."""
MANY = 1024
"""Rows from which a loop over an unknown number of columns, most of which is its ends, costs more than a kernel of its own."""

CLEARED, ADDED = 2, 4
"""The cost of an element of the result of a scatter, and of an element that is added."""


class KernelWriter:
    """Builds the loops of a group, row by row; row tiling rewrites them."""

    def __init__(self, group: Group, layouts: Layouts, place: Mapping[Node, Node], number: Mapping[Node, int]):
        """place: the value or variable in whose memory a stored value is; number: positions in the graph's listing."""
        self.group, self.layouts, self.place, self.domain = group, layouts, place, group.domain
        self.args = Parameters(number)
        self.tiling = tiling_for(group, layouts)
        innermost = self.tiling is None or not self.tiling.interchanged
        self.operands = Operands(self.args, group, layouts, place, innermost)
        self.nest = LoopNest(group, self.tiling.dots if self.tiling is not None else {})
        accumulated = [n for n in group.members if isinstance(n.op.emit, Reduction) and n in self.domain.post]
        self.acc = Accumulators(self.args, self.domain, accumulated, self.nest.rank, self.nest.flat)
        self.accumulated = bool(accumulated)
        self.scans = [n for n in group.members if scan_of(n) is not None]
        """Partial results along the columns: a loop of its own computes them for a row, before other loops read them."""
        self.value: dict[Node, Name] = {}
        self.scratch: dict[Node, str] = {}
        self.uneven = False
        """Whether the last vector of a row's columns has idle lanes."""
        self.hoisted: set[str] = set()
        self.here: dict[Any, Name] = {}
        """Values loaded in this row."""
        self.inner: dict[Any, Name] = {}
        """Values of this loop over columns."""
        self.row_loads: list[Statement] = []
        """Loads of a row that precede its next statements."""
        self.late: list[Statement] = []
        """Writes to variables after the old values are read."""

    def write(self, name: str) -> KernelSource:
        group, nest = self.group, self.nest
        rows = real_extent(self.domain, "rows")
        if not nest.flat:
            self._columns()
            for node in dict.fromkeys([*nest.kept, *self.scans]):
                length = (1 if self.tiling is None else BLOCK) * real_extent(self.domain, "columns")
                self.scratch[node] = self.args.buffer(BufferRef("scratch", node, 0, node.type.dtype, length), "kept")
        chunked = bool(self.accumulated or self.scratch or self.tiling is not None or nest.spread)
        if chunked:
            self.args.size("rows", rows, "rows")
            chunks_at = len(self.args.sizes)
            self.args.size("chunks", 1, "chunks")
        statements = self.rows()
        body: list[Statement] = []
        alone = all(nest.rank(n) == SCALAR and n not in self.domain.post for n in group.members)
        if alone:
            body += [s for node in group.members for s in self._scalar(node)]
        elif chunked:
            body.append(loop("c", START, STOP, self._chunk(statements)))
        elif statements:
            body.append(self.tile(loop("i", START, STOP, statements)))
        body += self._stored_columns()
        if self.accumulated:
            last = Infix("or", Infix("==", CHUNKS, Integer(1)), Infix("<", START, ZERO))
            body.append(If(last, tuple(self._finish()), "the last chunk is done"))
        elements = rows * (real_extent(self.domain, "columns") if not nest.flat else 1)
        per_element = {n for n in group.members if nest.rank(n) in (FULL, ROW)}.union(self.acc.totals, self.acc.sums)
        work = sum(cost(n) * (elements if n in per_element else 1) for n in group.members)
        if nest.spread is not None:
            work += CLEARED * nest.spread.type.size + ADDED * elements
        kernel = self.args.kernel(name, body)
        return KernelSource(
            name, KERNEL.kernel(kernel), kernel, list(self.args.pointers), self.args.sizes, self.args.numbers,
            1 if alone else rows, chunked, self.accumulated, chunks_at if chunked else -1, work,
        )  # fmt: skip

    def _columns(self) -> None:
        """Few columns, along a weight or a constant or of many rows, are a number in the source. Others are an argument."""
        columns = real_extent(self.domain, "columns")
        reduced = any(isinstance(n.op.emit, Reduction) for n in self.group.members)
        fixed = FIXED_SUMMED if self.accumulated else FIXED_REDUCED if reduced else FIXED
        if 0 < columns <= fixed and (self._along_weight(columns) or self._many_short_rows(columns)):
            self.args.fix("columns", columns)
        else:
            self.args.size("columns", columns, "columns")
            self.uneven = self._uneven(columns)

    def _many_short_rows(self, columns: int) -> bool:
        """Whether most of a loop over an unknown number of columns would be its ends, or each row has numbers of its own to
        compute, one at a time."""
        alone = any(isinstance(n.op.emit, Pointwise) and self.domain.rank[n] == ROW for n in self.group.members)
        return real_extent(self.domain, "rows") >= MANY and (columns < FIXED or (columns == FIXED and alone))

    def _uneven(self, columns: int) -> bool:
        """Whether the last columns of a row, which fill no vector, would take a large part of a loop over columns."""
        if not MASKED or (self.tiling is not None and self.tiling.interchanged) or work_of(self.group, FULL) < ROW_WORK:
            return False
        size = max(n.type.dtype.itemsize for n in self.group.members if self.domain.rank[n] == FULL)
        return columns % (2 * BYTES // size) * BYTES > ENDS + MASKS * columns

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

    def rows(self) -> list[Statement]:
        """The stages of one row."""
        stages: list[Sequence[Statement]] = []
        for level in range(self.nest.last + 1):
            stages.append(self.row_values(level))
            if not self.nest.flat:
                # Products first: what the loop writes may lie over the matrix that they read.
                stages += [self.matrix_vector_products(level), self.column_loop(level)]
        return [Stage(tuple(body)) for body in (*stages, self.late) if body]

    def row_values(self, level: int) -> list[Statement]:
        """The values per row of one level, and their totals over the rows."""
        body: list[Statement] = []
        for node in self.group.members:
            if self.nest.rank(node) == ROW and self.nest.level[node] == level:
                if not isinstance(node.op.emit, Reduction):
                    body += self.row_value(node)
                elif node in self.nest.outputs:
                    self.put(node, self.value[node], ROW_I, body)
        self.row_loads = []
        steps = [s for node in self.acc.totals if self.total_of_rows(node, level) for s in self.total_step(node)]
        return [*body, *self.row_loads, *steps]

    def matrix_vector_products(self, level: int) -> list[Statement]:
        """The matrix-vector products of one level, of this row."""
        products: list[Statement] = []
        for node, dot in self.nest.dots.items():
            if self.nest.level[dot.product] != level:
                continue
            shape, access = dot.product.type.shape, self.operands.access
            matrix, row, _ = access(dot.matrix, dot.product, FULL, shape)
            stride = row.right if isinstance(row, Infix) else Integer(1)
            out: Place | Name
            vector: Place | Name
            transposed = self.nest.rank(node) != ROW
            source = origin(dot.vector)
            if not transposed:
                vector = access(dot.vector, dot.product, FULL, shape)[0], ZERO
                out = self.value[node] = self.args.fresh("d")
            else:
                inside = source in self.nest.members
                vector = self.value[source] if inside else (access(dot.vector, dot.product, FULL, shape)[0], ROW_I)
                out = self.acc.accumulator(node), Name("c") * COLUMNS
            place = matrix, ROW_I * stride
            note, dtype = self.args.note(node), node.type.dtype
            products.append(MatrixVector(transposed, out, place, vector, Integer(1), COLUMNS, stride, dtype, note))
        return products

    def column_loop(self, level: int) -> list[Statement]:
        """The loop over columns of one level, with the statements before and after it."""
        scans = [s for node in self.scans if self.nest.level[node] == level for s in self._scan(node)]
        sinks, reductions = self.nest.sinks(level), self.nest.reductions(level)
        if not sinks and not reductions:
            return scans
        outer, self.late = self.late, []
        body = self.column_values(sinks, level)
        starts: dict[Node, Assign] = {}
        after: list[Statement] = []
        for node in reductions:
            operand = self.operand(node.inputs[0], node, FULL, node.inputs[0].type.shape, body, level)
            if self.nest.rank(node) == COL:
                body.append(combined(node, self.acc.column(node), operand, self.args.note(node)))
            elif node is self.nest.spread:
                pointer, index = self.operands.memory(node, "y"), Name("to") * COLUMNS + COLUMN_J
                old = Load(pointer, index, node.type.dtype)
                body.append(Store(pointer, index, Infix("+", old, operand), node.type.dtype, self.args.note(node)))
            else:
                name = self.value[node] = self.args.fresh("r")
                starts[node] = assign(name.name, self.acc.start(node))
                body.append(combined(node, name, operand, self.args.note(node)))
                after += self.reduced(node, name)
        columns = replace(loop("j", 0, COLUMNS, [*body, *self.late]), masked=self.uneven)
        self.late = outer
        whole = self.acc.in_strips(columns, starts) or [*starts.values(), columns]
        return [*scans, *self.row_loads, *whole, *after]

    def _scan(self, node: Node) -> list[Statement]:
        """The loop over the columns that carries a total from each to the next; that of floats is float64."""
        fold = scan_of(node)
        assert fold is not None
        self.inner, self.row_loads = {}, []
        body: list[Statement] = []
        operand = self.operand(node.inputs[0], node, FULL, node.type.shape, body, self.nest.level[node])
        dtype = node.type.dtype
        carried = float64 if dtype.kind == "f" else dtype
        narrow = dtype != carried
        carry = self.args.fresh("r")
        body += [
            Accumulate(carry, fold.combine, Convert(operand, carried) if narrow else operand, carried, self.args.note(node)),
            Store(self.scratch[node], CHUNK_COLUMN, Convert(carry, dtype) if narrow else carry, dtype),
        ]
        start = assign(carry.name, self.args.literal(fold.start(carried), carried))
        return [*self.row_loads, start, loop("j", 0, COLUMNS, body)]

    def column_values(self, sinks: Sequence[Node], level: int) -> list[Statement]:
        """The values that the loop of this level computes and stores before it reduces."""
        self.inner, self.row_loads = {}, []
        body: list[Statement] = []
        for node in sinks:
            value = self.full(node, level, body)
            if node in self.nest.outputs:
                self.put(node, value, self._element(node), body)
            if node in self.nest.kept:
                body.append(Store(self.scratch[node], CHUNK_COLUMN, value, node.type.dtype))
        return body

    def reduced(self, node: Node, name: Name) -> list[Statement]:
        """The statements after the loop that reduced a row to `name`."""
        return [combined(node, self.acc.total(node), name)] if self.nest.rank(node) == SCALAR else []

    def total_of_rows(self, node: Node, level: int) -> bool:
        """Whether a total is made of one value per row, which is known at this level."""
        source = origin(node.inputs[0])
        rank = self.nest.rank(source) if source in self.nest.members else self.nest.outside_rank(node)
        return rank == ROW and self.nest.level.get(source, 0) == level

    def total_step(self, node: Node) -> list[Statement]:
        """One row's value, added to a total."""
        body: list[Statement] = []
        operand = self.operand(node.inputs[0], node, ROW, node.inputs[0].type.shape, body, 0)
        return [*body, combined(node, self.acc.total(node), operand, self.args.note(node))]

    # values ---------------------------------------------------------------------------------------------------------

    def row_value(self, node: Node) -> list[Statement]:
        body: list[Statement] = []
        self.row_loads = []
        value = self._computed(node, ROW, body, 0, ROW_I)
        name = self.value[node] = self.args.fresh("v")
        body.append(assign(name.name, value, self.args.note(node)))
        if node in self.nest.outputs:
            self.put(node, name, ROW_I, body)
        return [*self.row_loads, *body]

    def full(self, node: Node, level: int, body: list[Statement]) -> Name:
        """A full value inside the loop of `level`."""
        if node in self.inner:
            return self.inner[node]
        earlier = self.nest.level[node] < level
        value: Expr
        if earlier and node in self.nest.outputs:
            value = Load(self.operands.memory(node, "y"), self._element(node), node.type.dtype)
        elif (earlier and node in self.nest.kept) or node in self.scans:
            value = Load(self.scratch[node], CHUNK_COLUMN, node.type.dtype)
        else:
            value = self._computed(node, FULL, body, level, ROW_I * COLUMNS + COLUMN_J)
        name = self.inner[node] = self.args.fresh("v")
        body.append(assign(name.name, value, self.args.note(node)))
        return name

    def _computed(self, node: Node, kind: str, body: list[Statement], level: int, element: Expr) -> Expr:
        """The expression of a value; the statements that it needs are added to `body`."""
        window = padding_of(node)
        if window is not None:
            return self.operands.window(node, window, kind, body)
        lookup = gather_of(node)
        if lookup is not None:
            index = node.inputs[lookup.index]
            return self.operands.looked_up(node, lookup, self._load(index, node, ROW, index.type.shape, body))
        operands = [self.operand(i, node, kind, node.type.shape, body, level) for i in node.inputs]
        return self.operands.expression(node, operands, body, element)

    def operand(self, seen: Node, user: Node, kind: str, shape: tuple[int, ...], body: list[Statement], level: int) -> Expr:
        """An operand, which is loaded or computed first where needed."""
        source = origin(seen)
        if source.op.leaf == "shape":
            return ZERO  # no statement reads its value
        if isinstance(source.op.emit, Index):
            place = self.operands.position(seen, shape, kind)
            return place if COLUMN_J in inside(place) else self._row_offset(place)
        if inlined(source):
            return self.operands.uniform_value(source)
        if user.op.draws and seen is user.inputs[0]:
            return Name(self.operands.memory(source, "rng"))
        if source in self.nest.members:
            own = self.nest.rank(source)
            if own == FULL:
                return self.full(source, level, body)
            if own == COL:
                return self._col(source, body)
            return self.value[source]
        return self._load(seen, user, kind, shape, body)

    def _col(self, node: Node, body: list[Statement]) -> Name:
        """A value per column that is not accumulated: computed where it is used."""
        if node not in self.inner:
            value = self._computed(node, COL, body, 0, COLUMN_J)
            self.inner[node] = self.args.fresh("v")
            body.append(assign(self.inner[node].name, value, self.args.note(node)))
        return self.inner[node]

    def _stored_columns(self) -> list[Statement]:
        """Stores values per column that are not accumulated: once, even where there is no row."""
        body: list[Statement] = []
        self.inner, self.row_loads = {}, []
        for node in self.group.members:
            if self.nest.rank(node) == COL and node in self.nest.outputs and node not in self.domain.post:
                value = self._col(node, body)
                body.append(self._store(node, value, COLUMN_J))
        return [If(Infix("==", START, ZERO), (loop("j", 0, COLUMNS, body),))] if body else []

    def _load(self, seen: Node, user: Node, kind: str, shape: tuple[int, ...], body: list[Statement]) -> Name:
        pointer, row, column = self.operands.access(seen, user, kind, shape)
        index = total([term for term in (row, column) if term is not None])
        if index is None:
            return self._hoisted(pointer, seen)
        cache = self.here if column is None else self.inner
        key = (pointer, index)
        if key not in cache:
            if column is not None and row is not None:
                index = self._row_offset(row) + column
            cache[key] = self.args.fresh("a")
            read = assign(cache[key].name, Load(pointer, index, seen.type.dtype))
            (self.row_loads if column is None else body).append(read)
        return cache[key]

    def _hoisted(self, pointer: str, node: Node) -> Name:
        """A scalar in memory, loaded once."""
        name = f"{pointer}_0"
        if name not in self.hoisted:
            self.hoisted.add(name)
            self.args.prologue.append(assign(name, Load(pointer, ZERO, node.type.dtype)))
        return Name(name)

    # accumulation ---------------------------------------------------------------------------------------------------

    def _chunk(self, rows: list[Statement]) -> list[Statement]:
        """The range of rows of a chunk."""
        c, extent = Name("c"), Name("rows")
        spread = self.nest.spread
        if spread is None:
            return self.acc.chunk(loop("i", extent * c // CHUNKS, extent * (c + 1) // CHUNKS, rows), self.tile)
        scatter = scatter_of(spread)
        assert scatter is not None
        index = spread.inputs[scatter.index]
        pointer, row, _ = self.operands.access(index, spread, ROW, index.type.shape)
        begin, end, to = Name("begin"), Name("end"), Name("to")
        own = If(Infix("and", Infix("<=", begin, to), Infix("<", to, end)), tuple(rows))
        found = assign("to", Load(pointer, ZERO if row is None else row, int64))
        lines = self.acc.chunk(loop("i", ZERO, extent, [found, own]), self.tile)
        height = self.args.size(("extent", spread), spread.type.shape[0], "extent")
        clear = Store(self.operands.memory(spread, "y"), Name("k"), Literal(0, spread.type.dtype), spread.type.dtype)
        bounds = height * c // CHUNKS, height * (c + 1) // CHUNKS
        return [
            Assign((begin.name, end.name), bounds, "rows of the result, for this chunk alone"),
            loop("k", begin * COLUMNS, end * COLUMNS, [clear]),
            *lines,
        ]

    def tile(self, rows: Loop) -> Loop:
        """The rewrite of the loop over rows, or a strip of them."""
        read = {e for s in rows.body for top in expressions(s) for e in inside(top)}
        runs = {place: run for place, run in self.operands.runs.items() if place in read}
        if not runs:
            return self._tile(rows)
        shortest = min([run.rows for run in runs.values()])
        if self.tiling is not None and shortest < LEAST:
            return self._tile(rows)
        segment = self.args.size("segment", shortest, "segment")
        places = {place: (self.args.fresh("p"), run.step) for place, run in runs.items() if run.rows % shortest == 0}
        return segmented(rows, segment, places, self._tile)

    def _tile(self, rows: Loop) -> Loop:
        if self.tiling is None:
            return rows
        columns = real_extent(self.domain, "columns")
        # An argument, even where the number of columns is in the source: LLVM would write the loop out ten times, for
        # nothing, and take as long again for it.
        width = self.args.size("width", columns, "width") if self.tiling.interchanged else None
        block = self.args.size("block", self.tiling.rows_of(columns), "block")
        nodes = {name.name: node for node, name in self.value.items()}

        def array(name: str) -> Load:
            """Where a value per row lies between the stages of a tile."""
            dtype = nodes[name].type.dtype
            return Load(self.args.buffer(BufferRef("rows", nodes[name], 0, dtype, BLOCK), "rows"), AT, dtype)

        def place(number: int) -> Load:
            """Where a row begins."""
            places = BufferRef("places", self.group.members[0], 0, INT64, BLOCK, number)
            return Load(self.args.buffer(places, "places"), AT, INT64)

        whole = tile_rows(rows, block, width, array, self.args.fresh, frozenset(self.scratch.values()))
        return turned(whole, columns, self.args) if self.tiling.turned else places_once(whole, place)

    def _finish(self) -> list[Statement]:
        body: list[Statement] = []
        for node in self.acc.sums:
            if node in self.nest.outputs:
                body.append(self.acc.fold_columns(node, self.operands.memory(node, "y")))
        for node in self.acc.totals:
            self.value[node], folded = self.acc.fold_total(node)
            body += folded
            if node in self.nest.outputs:
                body.append(self._store(node, self.value[node], ZERO))
        for node in self.group.members:
            if node in self.domain.post and not self.nest.folds(node):
                body += self._scalar(node)
        return body

    def _scalar(self, node: Node) -> list[Statement]:
        """A value that is the same for all rows and columns."""
        body: list[Statement] = []
        operands = [self.operand(i, node, SCALAR, (), body, 0) for i in node.inputs]
        name = self.value[node] = self.args.fresh("v")
        value = self.operands.expression(node, operands, body)
        body.append(assign(name.name, value, self.args.note(node)))
        if node in self.nest.outputs:
            body.append(self._store(node, name, ZERO))
        return body

    # stores -----------------------------------------------------------------------------------------------------------

    def _store(self, node: Node, value: Expr, index: Expr) -> Store:
        return Store(self.operands.memory(node, "y"), index, value, node.type.dtype)

    def put(self, node: Node, value: Expr, index: Expr, body: list[Statement]) -> None:
        """Store now, or for a variable that is written in place, after the last read of its old value."""
        (self.late if node in self.place else body).append(self._store(node, value, index))

    def _element(self, node: Node) -> Expr:
        """The place of a stored full value; the rows of a part of a concatenation are apart, and columns may be."""
        if self.layouts.at[node].is_contiguous:
            return ROW_I * COLUMNS + COLUMN_J
        found = split_strides(node, node.type.shape, FULL, self.domain, self.layouts)
        assert found is not None
        row = self.operands.rows(found[0], found[1], (node, "to"))
        column = self.operands.times(COLUMN_J, found[2], ("column stride", node, "to"))
        return column if row is None else self._row_offset(row) + column

    def _row_offset(self, row: Expr) -> Expr:
        """The row's part of a place; one with divisions is computed once per row."""
        if not _divides(row):
            return row
        if row not in self.here:
            self.here[row] = self.args.fresh("o")
            self.row_loads.append(assign(self.here[row].name, row))
        return self.here[row]


def _divides(place: Expr) -> bool:
    return isinstance(place, Infix) and (place.operator in ("//", "%") or _divides(place.left) or _divides(place.right))
