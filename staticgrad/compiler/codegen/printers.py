"""What is made of a kernel of the loop IR: text for the compiler, plain Python that a debugger steps through, and its cost.

Both texts are Python and have the same lines. They differ in scalar operations: `exp` of a float32 is `exp_f32(x)`
for the compiler, a function of `backend/`, and `exp(x)` in plain Python, the NumPy meaning that the op's record gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...base.dtypes import SHORT
from ...base.types import INEXACT, bool_
from .loop_ir import (
    Accumulate,
    Assign,
    CompensatedAdd,
    Convert,
    Draw,
    Expr,
    Greatest,
    If,
    Infix,
    Integer,
    Kernel,
    Least,
    Literal,
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
    scalar,
    turned_rows_loops,
)

OPERATORS = {
    "add": "({0} + {1})", "sub": "({0} - {1})", "mul": "({0} * {1})", "div": "({0} / {1})", "neg": "(-{0})",
    "square": "({0} * {0})", "abs": "abs({0})", "identity": "{0}", "where": "({1} if {0} else {2})",
    "eq": "({0} == {1})", "ne": "({0} != {1})", "lt": "({0} < {1})", "le": "({0} <= {1})", "gt": "({0} > {1})",
    "ge": "({0} >= {1})", "logical_and": "({0} & {1})", "logical_or": "({0} | {1})", "logical_xor": "({0} ^ {1})",
    "bitwise_and": "({0} & {1})", "bitwise_or": "({0} | {1})", "bitwise_xor": "({0} ^ {1})",
    "logical_not": "(not {0})", "isnan": "({0} != {0})", "isfinite": "(abs({0}) < {s}(np.inf))",
    "finite_or_zero": "({0} if abs({0}) < {s}(np.inf) else {s}(0))",
}  # fmt: skip
"""Scalar operations that Python writes with operators. `{s}` is the operands' dtype; all others are functions."""

BY_DTYPE = {
    ("add", "b"): "({0} | {1})", ("mul", "b"): "({0} & {1})",
    **{(name, kind): "{0}" for name in ("floor", "ceil", "round") for kind in "iu"},
}  # fmt: skip
"""The same for results of these kinds of dtypes."""

STEPS = {"plus": "({0} + {1})", "times": "({0} * {1})"}
"""Steps of reductions, which kernels take in any order."""

PRECEDENCE = {"or": 0, "and": 1, "==": 2, "<": 2, "<=": 2, "+": 3, "-": 3, "*": 4, "//": 4, "%": 4}


class Printer:
    """Writes statements and expressions. A subclass says how a scalar operation is called."""

    masked = "range"
    """The range of a masked loop."""

    def __init__(self) -> None:
        self.expressions: dict[type, Callable[..., str]] = {
            Name: lambda e: e.name,
            Integer: lambda e: str(e.value),
            Literal: self.literal,
            Convert: lambda e: f"{SHORT[e.dtype]}({self.value(e.value)})",
            Load: self.load,
            Scalar: self.operation,
            Draw: self.draw,
            Infix: self.infix,
            Least: lambda e: f"min({self.value(e.left)}, {self.value(e.right)})",
            Greatest: lambda e: f"max({self.value(e.left)}, {self.value(e.right)})",
        }
        self.statements: dict[type, Callable[..., Iterable[str]]] = {
            Assign: self.assign,
            Store: self.store,
            Accumulate: self.accumulate,
            CompensatedAdd: self.compensated_add,
            MatrixVector: self.matrix_vector,
            TurnedRows: self.turned_rows,
            Loop: self.loop,
            If: self.condition,
            Stage: lambda s: [line for inner in s.body for line in self.statements[type(inner)](inner)],
        }

    # to be said by a target -------------------------------------------------------------------------------------------

    def called(self, scalar: Scalar) -> str:
        """The function, or the template with `{0}`, `{1}`, ..., of a scalar operation that is no operator."""
        raise NotImplementedError

    def draw(self, draw: Draw) -> str:
        raise NotImplementedError

    def matrix_vector(self, product: MatrixVector) -> Iterable[str]:
        raise NotImplementedError

    def turned_rows(self, turn: TurnedRows) -> Iterable[str]:
        raise NotImplementedError

    # kernels ------------------------------------------------------------------------------------------------------------

    def kernel(self, kernel: Kernel) -> str:
        lines = ["@kernel", f"def {kernel.name}(buffers, sizes, start, stop):"]
        for i, pointer in enumerate(kernel.pointers):
            lines.append(f"    {pointer.name} = {SHORT[pointer.dtype]}_at(buffers, {i})  # {pointer.note}")
        lines += self.block((*kernel.prologue, *kernel.body))
        if not "".join(lines).isprintable():
            lines = list(map(_one_line, lines))
        return "\n".join(lines) + "\n"

    def block(self, statements: Sequence[Statement]) -> list[str]:
        """The lines of statements, indented by one more level."""
        return [f"    {line}" for s in statements for line in self.statements[type(s)](s)]

    def assign(self, s: Assign) -> list[str]:
        return [f"{', '.join(s.names)} = {', '.join(map(self.value, s.values))}{_noted(s.note)}"]

    def store(self, s: Store) -> list[str]:
        value = self.value(s.value)
        text = f"u8(1) if {value} else u8(0)" if s.dtype == bool_ else value
        return [f"{s.pointer}[{self.value(s.index)}] = {text}{_noted(s.note)}"]

    def accumulate(self, s: Accumulate) -> list[str]:
        step = scalar(s.scalar, (s.target, s.value), s.dtype, s.dtype)
        if isinstance(s.target, Load):
            return self.store(Store(s.target.pointer, s.target.index, step, s.target.dtype, s.note))
        return [f"{s.target.name} = {self.value(step)}{_noted(s.note)}"]

    def compensated_add(self, s: CompensatedAdd) -> list[str]:
        whole, lost = self.value(s.sum), self.value(s.lost)
        return [
            f"before, more = {whole}, {self.value(s.value)}",
            "after = before + more",
            "part = after - before",
            f"{lost} = {lost} + ((before - (after - part)) + (more - part))",
            f"{whole} = after",
        ]

    def loop(self, s: Loop) -> list[str]:
        start, stop, step = self.value(s.start), self.value(s.stop), self.value(s.step)
        bounds = stop if start == "0" and step == "1" else f"{start}, {stop}" if step == "1" else f"{start}, {stop}, {step}"
        return [f"for {s.index} in {self.masked if s.masked else 'range'}({bounds}):", *self.block(s.body)]

    def condition(self, s: If) -> list[str]:
        return [f"if {self.value(s.condition)}:{_noted(s.note)}", *self.block(s.body)]

    # expressions --------------------------------------------------------------------------------------------------------

    def value(self, e: Expr) -> str:
        return e.name if isinstance(e, Name) else self.expressions[type(e)](e)

    def operand(self, e: Expr) -> str:
        """A value inside an operation that has its own parentheses or none."""
        if isinstance(e, Name):
            return e.name
        return f"({self.infix(e)})" if isinstance(e, Infix) and PRECEDENCE[e.operator] > 2 else self.value(e)

    def literal(self, e: Literal) -> str:
        kind = SHORT[e.dtype]
        if e.dtype == bool_:
            return "True" if e.value else "False"
        if e.dtype.kind not in INEXACT:
            return f"{kind}({int(e.value)})"
        if math.isnan(e.value):
            return f"{kind}(np.nan)"
        if math.isinf(e.value):
            return f"{kind}(-np.inf)" if e.value < 0 else f"{kind}(np.inf)"
        return f"{kind}({e.value:g})"

    def load(self, e: Load) -> str:
        text = f"{e.pointer}[{self.value(e.index)}]"
        return f"({text} != 0)" if e.dtype == bool_ else text

    def operation(self, e: Scalar) -> str:
        template = BY_DTYPE.get((e.name, e.result.kind)) or OPERATORS.get(e.name) or _cast(e) or self.called(e)
        operands = [self.operand(o) for o in e.operands]
        return template.format(*operands, s=SHORT[e.dtype]) if "{" in template else f"{template}({', '.join(operands)})"

    def infix(self, e: Infix) -> str:
        """With as few parentheses as possible, except around differences and remainders that are multiplied, which need them
        for readability."""
        rank = PRECEDENCE[e.operator]

        def side(child: Expr, least: int) -> str:
            if not isinstance(child, Infix):
                return self.value(child)
            text = self.infix(child)
            inner = PRECEDENCE[child.operator]
            unclear = child.operator == "-" or (e.operator == "*" and child.operator in ("//", "%"))
            return f"({text})" if inner < least or unclear else text

        return f"{side(e.left, rank)} {e.operator} {side(e.right, rank + 1)}"


class KernelPrinter(Printer):
    """The source that `backend/kernel_cache.py` compiles. Functions have the dtype of their operands as a suffix."""

    masked = "masked"
    FUNCTIONS = {"sqrt": "math.sqrt", "floor": "np.floor", "ceil": "np.ceil", "round": "np.rint"}
    """Those that the compiler knows by NumPy's names."""

    def called(self, scalar: Scalar) -> str:
        known = self.FUNCTIONS.get(scalar.name)
        return known if known is not None else f"{scalar.name}_{_suffix(scalar.dtype)}"

    def draw(self, e: Draw) -> str:
        name = f"{e.name}_{SHORT[e.dtype]}" if e.dtype.kind == "f" else e.name
        return f"{name}({e.generator}[0], {e.generator}[1] + {self.value(e.later)}, {self.value(e.element)})"

    def matrix_vector(self, s: MatrixVector) -> list[str]:
        name = f"{'add' if s.transposed else 'dot'}_rows_{SHORT[s.dtype]}"
        assert not isinstance(s.out, Name)
        assert not isinstance(s.vector, Name)
        places = [text for pointer, at in (s.out, s.matrix, s.vector) for text in (pointer, self.value(at))]
        return [f"{name}({', '.join([*places, *map(self.value, (s.rows, s.columns, s.stride))])}){_noted(s.note)}"]

    def turned_rows(self, s: TurnedRows) -> list[str]:
        name = f"turn_{'back' if s.back else 'rows'}_{SHORT[s.dtype]}_{s.square}"
        places = s.tile[0], self.value(s.tile[1]), s.matrix, "0", s.places[0], self.value(s.places[1])
        return [f"{name}({', '.join([*places, *map(self.value, (s.rows, s.columns, s.length))])})"]


class PythonPrinter(Printer):
    """Plain Python over NumPy scalars. Functions have the names of scalar operations; `execute/unjitted.py` defines them."""

    def called(self, scalar: Scalar) -> str:
        return STEPS.get(scalar.name, scalar.name)

    def draw(self, e: Draw) -> str:
        state = f"{e.generator}[0], {e.generator}[1] + {self.value(e.later)}"
        return f"{e.name}({state}, {self.value(e.element)}, {SHORT[e.dtype]})"

    def matrix_vector(self, s: MatrixVector) -> Iterable[str]:
        return self.loop(matrix_vector_loops(s))

    def turned_rows(self, s: TurnedRows) -> Iterable[str]:
        return self.loop(turned_rows_loops(s))


def _suffix(dtype: np.dtype) -> str:
    """Functions of integers are the same for all their dtypes."""
    return SHORT[dtype] if dtype.kind in "fbc" else "int"


def _cast(e: Scalar) -> str:
    if e.name != "cast":
        return ""
    kind = SHORT[e.result]
    if e.result == bool_:
        return "({0} != 0)"
    return f"({kind}(1) if {{0}} else {kind}(0))" if e.dtype == bool_ else f"{kind}({{0}})"


def _noted(note: str) -> str:
    return f"  # {note}" if note else ""


def _one_line(text: str) -> str:
    """Comments stay on their line: names and files are the user's, or come from a saved graph."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


KERNEL, PYTHON = KernelPrinter(), PythonPrinter()


# the cost of a run, counted on the loops: arithmetic, and bytes of memory read and written ----------------------------

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
