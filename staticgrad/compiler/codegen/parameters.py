"""What a kernel is called with, and how its text names it: buffers, sizes, numbers, and the operands behind them.

Extents, strides and numbers are run-time arguments, one per meaning and never per value: a batch whose extents happen
to be equal gives the same source as any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...ir import Extent, Index, Lookup, Node, Pointwise, Window
from ...types import SHORT, bool_, float64
from ..fusion.fuse import Group
from ..fusion.gather_fusion import table_strides
from ..fusion.iteration_domain import COL, FULL, ROW, SCALAR, origin, split_strides
from ..fusion.layout import Layouts, real, row_terms
from ..fusion.padding_fusion import strides_of

LITERALS = (0.0, 1.0, -1.0, 2.0, 0.5)
"""Numbers that are written into the source; others are arguments."""


HELD = {
    "value": "", "scratch": "one row of ", "rows": "a block of ", "partial": "per chunk: ", "whole": "sums per chunk: ",
    "lost": "what they lost: ",
}  # fmt: skip
"""What buffers hold, in front of the name of a node."""


@dataclass(frozen=True)
class BufferRef:
    """A buffer of a kernel: `kind` is value (of `node`, at `offset` elements), scratch, rows, partial, whole, lost, numbers."""

    kind: str
    node: Node | None = None
    offset: int = 0
    dtype: np.dtype = float64
    length: int = 0
    """Elements per chunk, for all but values and numbers."""


@dataclass
class KernelSource:
    """A kernel's text and what it is called with."""

    name: str
    body: str
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
class Arguments:
    """The arguments of one kernel, collected while its text is written."""

    group: Group
    layouts: Layouts
    place: dict[Node, Node]
    """Where a stored value lies when not in memory of its own: assigned values lie in their variable."""
    number: dict[Node, int]
    """Positions in the listing of the graph, for the comments."""

    buffers: list[BufferRef] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    size_lines: list[str] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    known_sizes: dict[Any, str] = field(default_factory=dict)
    prologue: list[str] = field(default_factory=list)
    value: dict[Node, str] = field(default_factory=dict)
    level: dict[Node, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)

    def next(self, letter: str) -> int:
        """Numbers values of one kind: v0, v1, ..."""
        self.counters[letter] = self.counters.get(letter, -1) + 1
        return self.counters[letter]

    # arguments ----------------------------------------------------------------------------------------------------

    def size(self, key: Any, value: int, name: str = "") -> str:
        """A run-time integer; one per meaning."""
        if key not in self.known_sizes:
            position = len(self.sizes)
            name = name or f"s{position}"
            self.sizes.append(value)
            self.size_lines.append(f"{name} = sizes[{position}]")
            self.known_sizes[key] = name
        return self.known_sizes[key]

    def buffer(self, ref: BufferRef, name: str) -> str:
        for i, known in enumerate(self.buffers):
            if known == ref:
                return self.names[i]
        self.buffers.append(ref)
        self.names.append(f"{name}{len(self.buffers) - 1}")
        return self.names[-1]

    def memory(self, node: Node, name: str) -> str:
        """The pointer at which a stored value begins."""
        base = self.layouts.base[node]
        base = self.place.get(base, base)
        return self.buffer(BufferRef("value", base, self.layouts.at[node].offset, node.type.dtype), name)

    def literal(self, value: Any, dtype: np.dtype) -> str:
        kind = SHORT[dtype]
        if dtype == bool_:
            return "True" if value else "False"
        if dtype.kind != "f":
            return f"{kind}({self.size(('int', value), int(value))})" if abs(value) > 1 else f"{kind}({int(value)})"
        if math.isnan(value):
            return f"{kind}(np.nan)"
        if math.isinf(value):
            return f"{kind}(-np.inf)" if value < 0 else f"{kind}(np.inf)"
        if value in LITERALS and not (value == 0 and math.copysign(1, value) < 0):
            return f"{kind}({value:g})"
        if value not in self.numbers:
            self.numbers.append(value)
        name = f"n{self.numbers.index(value)}_{kind}"
        line = f"{name} = {kind}(numbers[{self.numbers.index(value)}])"
        if line not in self.prologue:
            self.prologue.append(line)
        return name

    def described(self, ref: BufferRef) -> str:
        """What a buffer holds, for the comment at its name."""
        if ref.kind == "numbers":
            return ", ".join(f"{n:g}" for n in self.numbers)
        assert ref.node is not None
        label = ref.node.name if ref.node.name else f"%{self.number.get(ref.node, 0)} {ref.node.op.name}"
        return f"{HELD[ref.kind]}{label} {ref.node.type}"

    def loaded(self, pointer: str, index: str, node: Node) -> str:
        return f"({pointer}[{index}] != 0)" if node.type.dtype == bool_ else f"{pointer}[{index}]"

    def stored(self, node: Node, text: str) -> str:
        return f"u8(1) if {text} else u8(0)" if node.type.dtype == bool_ else text

    # operands -----------------------------------------------------------------------------------------------------

    def uniform_value(self, node: Node) -> str:
        """A scalar that no memory holds."""
        if node.op.leaf == "constant":
            return self.literal(node.attrs["value"].array.item(), node.type.dtype)
        if node not in self.value:
            name = f"k{self.next('k')}"
            if isinstance(node.op.emit, Extent):
                key = self.size(("extent", node), node.op.emit.rule(node))
                text = f"{SHORT[node.type.dtype]}({key})"
            else:
                text = self.expression(node, [self.uniform_value(origin(i)) for i in node.inputs])
            self.prologue.append(self.line(name, text, node))
            self.value[node] = name
        return self.value[node]

    def line(self, name: str, text: str, node: Node) -> str:
        where = f"  {node.where.short}" if node.where is not None else ""
        return f"{name} = {text}  # %{self.number.get(node, 0)} {node.op.name}{where}"

    def expression(self, node: Node, operands: list[str], element: str = "0") -> str:
        emit = node.op.emit
        assert isinstance(emit, Pointwise)
        dtype = node.inputs[-1].type.dtype if node.inputs else node.type.dtype
        suffix = SHORT[dtype] if dtype.kind in "fb" else "int"
        fields = {"s": suffix, "t": SHORT[node.type.dtype], "element": element}
        if node.inputs and node.inputs[0].op.leaf == "generator":
            fields |= {"rng": operands[0], "index": self.size(("draw", node), node.attrs["index"])}
        text = emit.text(node).format(*operands, **fields)
        return f"{SHORT[node.type.dtype]}({text})" if node.type.dtype.kind in "iu" else text

    def access(self, seen: Node, user: Node, kind: str, shape: tuple[int, ...]) -> tuple[str, str, str]:
        """(pointer, row term, column term) of an operand in memory; terms are texts, empty for 0."""
        pointer = self.memory(seen, "x")
        if kind == SCALAR or not seen.type.shape:
            return pointer, "", ""
        found = split_strides(seen, shape, kind, self.group.domain, self.layouts)
        assert found is not None
        extents, strides, column = found
        if self.group.domain.columns is None:
            flat = split_strides(seen, shape, ROW, self.group.domain, self.layouts)
            assert flat is not None
            extents, strides, column = flat
        terms = row_terms(extents, strides)
        row = " + ".join(self.row_term(t, (seen, n)) for n, t in enumerate(terms))
        col = "" if column == 0 else "j" if column == 1 else f"j * {self.size(('stride', column, seen), column)}"
        return pointer, row, col

    def window(self, node: Node, window: Window, kind: str) -> str:
        """The text of a value that is read from operands at other places, under conditions."""
        text = self.literal(0, node.type.dtype)
        for number, begin, end in reversed(window.parts):
            seen = node.inputs[number]
            row, column, over_columns = strides_of(node, window, number, kind, self.group.domain, self.layouts)
            first, last = self.size(("begin", node, number), begin), self.size(("end", node, number), end)
            terms = []
            for place, stride, what, moved in (("i", row, "row", not over_columns), ("j", column, "column", over_columns)):
                if kind == (COL if what == "row" else ROW):
                    continue
                at = f"({place} - {first})" if moved else place
                unit = what == "column" and stride == 1
                terms.append(at if unit else f"{at} * {self.size((what, 'stride', node, number), stride)}")
            place = "j" if over_columns else "i"
            read = self.loaded(self.memory(seen, "x"), " + ".join(terms), seen)
            text = f"({read} if {first} <= {place} and {place} < {last} else {text})"
        return text

    def looked_up(self, node: Node, lookup: Lookup, number: str) -> str:
        """The text of a value that lies in the row of its table with this number."""
        table = node.inputs[lookup.table]
        row, column = table_strides(node, lookup, self.group.domain, self.layouts)
        place = number if row == 1 else f"{number} * {self.size(('table row', node), row)}"
        if self.group.domain.rank[node] == FULL:
            place += " + j" if column == 1 else f" + j * {self.size(('table column', node), column)}"
        return self.loaded(self.memory(table, "x"), place, table)

    def row_term(self, term: tuple[int, int, int], key: Any) -> str:
        """Arguments are keyed by operand, not by value: equal extents of one batch must not shape the source."""
        divisor, modulus, stride = term
        if modulus == 0:
            if self.group.domain.columns is not None and stride == self.group.domain.columns:
                return "i * columns"
            return "i" if stride == 1 else f"i * {self.size(('row stride', key), real(stride))}"
        place = f"i // {self.size(('div', key), divisor)}" if divisor != 1 else "i"
        place = f"{place} % {self.size(('mod', key), modulus)}"
        return f"({place}) * {self.size(('row stride', key), stride)}"

    def position(self, node: Node, shape: tuple[int, ...], kind: str) -> str:
        """The value of an Index operand: the place along its axis of the element at hand, from the flat position."""
        assert isinstance(node.op.emit, Index)
        if kind == SCALAR:
            return "0"
        axis = node.attrs["axis"] + len(shape) - node.type.ndim
        n, inner = shape[axis], math.prod(shape[axis + 1 :])
        columns = self.group.domain.columns
        if kind == FULL and columns is not None:
            if axis == len(shape) - 1 and n == columns:
                return "j"
            flat = "(i * columns + j)"
        else:
            flat = "j" if kind == COL else "i"
            if axis == 0 and inner == 1:
                return flat
        divisor, modulus = self.size(("inner", node), inner), self.size(("extent", node), n)
        return f"({flat} // {divisor} % {modulus})"


def real_extent(domain: Any, which: str) -> int:
    return real(getattr(domain, which))
