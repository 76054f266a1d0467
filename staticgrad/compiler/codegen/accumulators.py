"""How a kernel accumulates over rows: what it starts from, adds up, and folds when the last chunk is done.

A running sum in float32 loses what is small beside it: after a million ones and more, a column's sum would be off in the
fifth digit. So sums go in strips of rows, or pieces of a long row. Inside one they accumulate in their own dtype, in
vector lanes; its total is added to a float64 number. For float64 itself, what that addition rounds off is kept beside it.

Source: Knuth, "The Art of Computer Programming", volume 2, section 4.2.2, theorem B.
"""

from __future__ import annotations

from ...ir import Node, Reduction
from ...types import SHORT, float32, float64
from .parameters import Arguments, BufferRef, real_extent

STRIP = 128
"""Rows of a strip: additions one after another to the sum of a column."""
FLAT_STRIP = 4096
"""Elements of a strip where lanes share them."""
LONG_ROW = 8192
"""Columns from which on the sum of a row is cut into pieces."""
PIECE = 4096


def indent(lines: list[str], by: int) -> list[str]:
    return ["    " * by + line for line in lines]


class Accumulators(Arguments):
    """The accumulators of a kernel: `totals` are scalars, `sums` have one value per column."""

    flat: bool
    totals: list[Node]
    sums: list[Node]

    def sums_up(self, node: Node) -> bool:
        """Whether it is a sum of rounded numbers."""
        return isinstance(node.op.emit, Reduction) and node.op.emit.monoid == "add" and node.type.dtype.kind == "f"

    def start(self, node: Node) -> str:
        return self.literal(node.op.emit.start(node.type.dtype), node.type.dtype)  # type: ignore[union-attr]

    def combine(self, node: Node, acc: str, x: str) -> str:
        dtype = node.type.dtype
        suffix = SHORT[dtype] if dtype.kind in "fb" else "int"
        text = node.op.emit.combine.format(acc=acc, x=x, s=suffix)  # type: ignore[union-attr]
        return f"{SHORT[dtype]}({text})" if dtype.kind in "iu" else text

    def folded(self, node: Node, acc: str, x: str) -> str:
        """The results of two chunks as one."""
        return f"{acc} + {x}" if self.sums_up(node) else self.combine(node, acc, x)

    # names ----------------------------------------------------------------------------------------------------------

    def total(self, node: Node) -> str:
        return f"t{self.totals.index(node)}"

    def accumulator(self, node: Node) -> str:
        ref = BufferRef("partial", node, 0, node.type.dtype, real_extent(self.group.domain, "columns"))
        return self.buffer(ref, "acc")

    def _pair(self, node: Node) -> list[str]:
        """The sum of a chunk's strips and, in float64, what rounding took from it; nothing for other accumulators."""
        if not self.sums_up(node):
            return []
        if node in self.totals:
            names = [f"whole{self.totals.index(node)}", f"lost{self.totals.index(node)}"]
        else:
            place = "[c * columns + j]"
            names = [self._chunk_sums(node) + place]
            if node.type.dtype != float32:
                ref = BufferRef("lost", node, 0, float64, real_extent(self.group.domain, "columns"))
                names.append(self.buffer(ref, "lost") + place)
        return names[: 1 if node.type.dtype == float32 else 2]

    def _chunk_sums(self, node: Node) -> str:
        """The results of each chunk, per column."""
        if not self.sums_up(node):
            return self.accumulator(node)
        return self.buffer(BufferRef("whole", node, 0, float64, real_extent(self.group.domain, "columns")), "sums")

    def _chunk_totals(self, node: Node) -> str:
        dtype = float64 if self.sums_up(node) else node.type.dtype
        return self.buffer(BufferRef("partial", node, 0, dtype, 1), "part")

    # text -----------------------------------------------------------------------------------------------------------

    def chunk(self, loops: list[str]) -> list[str]:
        """The rows of a chunk, with what is accumulated over them."""
        first, last = self.share()
        summed = [n for n in (*self.totals, *self.sums) if self.sums_up(n)]
        others = [n for n in (*self.totals, *self.sums) if n not in summed]
        if not summed:
            return [*self._open(others), *self.row_loop(loops, first, last), *self._close()]
        strip = FLAT_STRIP if self.flat else STRIP
        return [
            *self._open(others),
            *(f"{name} = f64(0)" for n in summed if n in self.totals for name in self._pair(n)),
            *self._columnwise([f"{name} = f64(0)" for n in summed if n in self.sums for name in self._pair(n)]),
            f"for s in range({first}, {last}, {strip}):",
            f"    e = min(s + {strip}, {last})",
            *indent([*self._open(summed), *self.row_loop(loops, "s", "e"), *self._add_strip(summed)], 1),
            *self._columnwise([f"{p[0]} = {joined(p)}" for p in map(self._pair, self.sums) if len(p) == 2]),
            *self._close(),
        ]

    def share(self) -> tuple[str, str]:
        """The rows that a chunk walks: from the first to that before the last."""
        return "rows * c // chunks", "rows * (c + 1) // chunks"

    def row_loop(self, loops: list[str], first: str, last: str) -> list[str]:
        """The loop over rows [first, last)."""
        return [f"for i in range({first}, {last}):", *indent(loops, 1)]

    def _open(self, nodes: list[Node]) -> list[str]:
        columns = [f"{self.accumulator(n)}[c * columns + j] = {self.stored(n, self.start(n))}" for n in nodes if n in self.sums]
        return [*(f"{self.total(n)} = {self.start(n)}" for n in nodes if n in self.totals), *self._columnwise(columns)]

    def _add_strip(self, nodes: list[Node]) -> list[str]:
        totals = [line for n in nodes if n in self.totals for line in added(self._pair(n), self.total(n))]
        columns = [
            line for n in nodes if n in self.sums for line in added(self._pair(n), f"{self.accumulator(n)}[c * columns + j]")
        ]
        return [*totals, *self._columnwise(columns)]

    def _columnwise(self, lines: list[str]) -> list[str]:
        return ["for j in range(columns):", *indent(lines, 1)] if lines else []

    def _close(self) -> list[str]:
        result = {n: joined(self._pair(n)) if self.sums_up(n) else self.stored(n, self.total(n)) for n in self.totals}
        return [f"{self._chunk_totals(n)}[c] = {text}" for n, text in result.items()]

    def fold_columns(self, node: Node, out: str) -> list[str]:
        """The chunks' sums of one node as its result."""
        pointer = self._chunk_sums(node)
        text = f"{SHORT[node.type.dtype]}(t)" if self.sums_up(node) else self.stored(node, "t")
        return [
            "for j in range(columns):",
            f"    t = {self.loaded(pointer, 'j', node)}",
            "    for c in range(1, chunks):",
            f"        t = {self.folded(node, 't', self.loaded(pointer, 'c * columns + j', node))}",
            f"    {out}[j] = {text}",
        ]

    def fold_total(self, node: Node) -> list[str]:
        """The chunks' totals of one node, as a name."""
        slot, name = self._chunk_totals(node), f"w{self.next('w')}"
        lines = [
            f"{name} = {self.loaded(slot, '0', node)}",
            "for c in range(1, chunks):",
            f"    {name} = {self.folded(node, name, self.loaded(slot, 'c', node))}",
        ]
        self.value[node] = name
        if self.sums_up(node):
            self.value[node] = f"v{self.next('v')}"
            lines.append(f"{self.value[node]} = {SHORT[node.type.dtype]}({name})")
        return lines

    def in_pieces(self, inside: list[str], before: list[str], names: dict[Node, str]) -> list[str] | None:
        """The loop over the columns of a long row, with `names` the sums that it makes; None where rows are short."""
        summed = {n: name for n, name in names.items() if self.sums_up(n)}
        if not summed or real_extent(self.group.domain, "columns") < LONG_ROW:
            return None
        starts = [f"{name} = {self.start(n)}" for n, name in summed.items()]
        return [
            *(line for line in before if line not in starts),
            *(f"{part} = f64(0)" for n, name in summed.items() for part in pieces(n, name)),
            f"for k in range(0, columns, {PIECE}):",
            *indent(starts, 1),
            f"    for j in range(k, min(k + {PIECE}, columns)):",
            *indent(inside, 2),
            *(f"    {line}" for n, name in summed.items() for line in added(pieces(n, name), name)),
            *(f"{name} = {SHORT[n.type.dtype]}({joined(pieces(n, name))})" for n, name in summed.items()),
        ]


def pieces(node: Node, name: str) -> list[str]:
    """As `_pair`, for the pieces of a row."""
    return [f"{name}_whole", f"{name}_lost"][: 1 if node.type.dtype == float32 else 2]


def joined(pair: list[str]) -> str:
    """The value of a pair. What an infinite sum lost means nothing."""
    return pair[0] if len(pair) == 1 else f"{pair[0]} + ({pair[1]} if abs({pair[1]}) < f64(np.inf) else f64(0))"


def added(pair: list[str], x: str) -> list[str]:
    """x added to a float64 number, and what the addition loses to the one beside it (Knuth's two-sum)."""
    whole = pair[0]
    if len(pair) == 1:
        return [f"{whole} = {whole} + f64({x})"]
    return [
        f"before, more = {whole}, {x}",
        "after = before + more",
        "part = after - before",
        f"{pair[1]} = {pair[1]} + ((before - (after - part)) + (more - part))",
        f"{whole} = after",
    ]
