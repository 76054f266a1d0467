"""The cost of a run of a kernel, counted on its loops: arithmetic, and bytes of memory read and written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .loop_ir import (
    Accumulate,
    Assign,
    CompensatedAdd,
    Draw,
    Expr,
    Greatest,
    If,
    Infix,
    Integer,
    Kernel,
    Least,
    Load,
    Loop,
    MatrixVector,
    Name,
    Scalar,
    Stage,
    Statement,
    Store,
    TurnedRows,
    inside,
    matrix_vector_loops,
    turned_rows_loops,
)

COMPENSATED = 6
"""Additions of one step of a compensated sum."""

ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
    "==": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
}


class Cost(NamedTuple):
    """`flops`: in units of one addition, as op records give them; `bytes`: distinct elements read, and those written."""

    flops: int
    bytes: int


def cost_of(kernel: Kernel, sizes: Sequence[int], start: int, stop: int, limits: Sequence[int]) -> Cost:
    """The cost of outer iterations [start, stop). `limits`: bytes of each buffer, more than which it can't have."""
    count = Count(sizes, start, stop)
    count.block((*kernel.prologue, *kernel.body), 1.0)
    most = {pointer.name: limit for pointer, limit in zip(kernel.pointers, limits, strict=True)}
    moved: dict[tuple[str, bool], float] = {}
    for (pointer, _, written), size in count.footprint.items():
        moved[pointer, written] = moved.get((pointer, written), 0.0) + size
    return Cost(round(count.flops), round(sum(min(size, most.get(p, size)) for (p, _), size in moved.items())))


class Count:
    """Visits the statements once; a loop multiplies its body by its trip count.

    The trip count of a loop follows from its bounds, with indices at their first values; strips count with their average
    length. The number of elements that an access touches is the product of the trip counts of the loops on which its place
    depends.
    """

    def __init__(self, sizes: Sequence[int], start: int, stop: int):
        self.sizes = sizes
        self.known: dict[str, int] = {"start": start, "stop": stop}
        """Integers by name."""
        self.trips: dict[str, float] = {}
        self.strips: dict[str, float] = {}
        """By the index of a loop, the length of the range that one trip steps over, on average."""
        self.varies: dict[str, frozenset[str]] = {}
        """By name, the indices of the loops that its value depends on."""
        self.flops = 0.0
        self.footprint: dict[tuple[str, Expr, bool], float] = {}

    def block(self, statements: Iterable[Statement], times: float) -> None:
        for statement in statements:
            self.statement(statement, times)

    def statement(self, s: Statement, times: float) -> None:
        if isinstance(s, Assign):
            for name, value in zip(s.names, s.values, strict=True):
                self.value(value, times)
                self.varies[name] = self.dependence(value)
                number = self.integer(value)
                if number is not None:
                    self.known[name] = number
        elif isinstance(s, Store):
            self.value(s.value, times)
            self.access(s.pointer, s.index, s.dtype.itemsize, True)
        elif isinstance(s, Accumulate):
            self.value(s.value, times)
            self.update(s.target)
            self.flops += times
        elif isinstance(s, CompensatedAdd):
            self.value(s.value, times)
            self.update(s.sum)
            self.update(s.lost)
            self.flops += COMPENSATED * times
        elif isinstance(s, MatrixVector):
            self.statement(matrix_vector_loops(s), times)
        elif isinstance(s, TurnedRows):
            self.statement(turned_rows_loops(s), times)
        elif isinstance(s, Loop):
            self.loop(s, times)
        elif isinstance(s, Stage):
            self.block(s.body, times)
        elif isinstance(s, If):
            met = self.integer(s.condition)
            # Rows that are scatter-added are divided among the chunks of the result.
            share = 1 / max(self.trips.get("c", 1.0), 1.0) if met is None else float(bool(met))
            if share:
                self.block(s.body, times * share)

    def loop(self, s: Loop, times: float) -> None:
        first, last, step = self.integer(s.start), self.integer(s.stop), self.integer(s.step)
        length = float(max(last - first, 0)) if first is not None and last is not None else 0.0
        length = self.strips.get(s.strip_of, length)
        trips = math.ceil(length / step) if step else 0
        self.trips[s.index], self.strips[s.index] = (trips if step != 1 else length), length / max(trips, 1)
        self.varies[s.index] = frozenset({s.index}) | self.dependence(s.start)
        if first is not None:
            self.known[s.index] = first
        if trips:
            self.block(s.body, times * self.trips[s.index])

    def update(self, target: Name | Load) -> None:
        if isinstance(target, Load):
            self.access(target.pointer, target.index, target.dtype.itemsize, False)
            self.access(target.pointer, target.index, target.dtype.itemsize, True)

    def value(self, value: Expr, times: float) -> None:
        for e in inside(value):
            if isinstance(e, (Scalar, Draw)):
                self.flops += e.cost * times
            elif isinstance(e, Load) and e.pointer not in ("sizes", "numbers"):
                self.access(e.pointer, e.index, e.dtype.itemsize, False)

    def access(self, pointer: str, index: Expr, itemsize: int, written: bool) -> None:
        touched = math.prod(self.trips.get(name, 1.0) for name in self.dependence(index))
        key = pointer, index, written
        self.footprint[key] = max(self.footprint.get(key, 0.0), touched * itemsize)

    def dependence(self, value: Expr) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for e in inside(value):
            if isinstance(e, Name):
                found |= self.varies.get(e.name, frozenset())
        return found

    def integer(self, value: Expr) -> int | None:
        """The value of a place or bound, None where it is not known before the run."""
        if isinstance(value, Integer):
            return value.value
        if isinstance(value, Name):
            return self.known.get(value.name)
        if isinstance(value, Load) and value.pointer == "sizes":
            place = self.integer(value.index)
            return None if place is None else int(self.sizes[place])
        if isinstance(value, (Infix, Least, Greatest)):
            left, right = self.integer(value.left), self.integer(value.right)
            if left is None or right is None:
                return None
            if isinstance(value, Infix):
                return int(ARITHMETIC[value.operator](left, right))
            return min(left, right) if isinstance(value, Least) else max(left, right)
        return None
