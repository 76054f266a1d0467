"""The sources of the functions that a kernel is made of, and the variables of a kernel.

A variable has memory for each type that it is given. Where two ways through the code join, the value goes to the memory that
the name stood for before they parted, if that holds it without loss; otherwise the name has no value there.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from llvmlite import ir

from .cpu import BYTES
from .kernel_types import Operand, Refused, Type, Value, cast, common, type_of

# the source of functions that kernels are made of, and facts about their names ---------------------------------------


class Definition(NamedTuple):
    """A function's source. assigned: all names that are assigned to; once: those that have one value."""

    node: ast.FunctionDef
    parameters: list[str]
    assigned: frozenset[str]
    once: frozenset[str]


TEXT = "__text__"
"""The global name of a module's text, where that is no file."""
KEPT = 512
"""Definitions that are kept. Those of kernels are read once, those of other functions by many kernels."""


@lru_cache(KEPT // 16)
def _parsed(text: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """Definitions by name and first line, which is that of a decorator where there is one."""
    found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    return {(node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])): node for node in found}


@cache
def _text(file: str) -> str:
    return Path(file).read_text()


@lru_cache(KEPT)
def definition_of(function: FunctionType) -> Definition:
    """The definition of a function, from the text of its module, or its file."""
    text = function.__globals__.get(TEXT)
    code = function.__code__
    node = _parsed(_text(code.co_filename) if text is None else text)[function.__name__, code.co_firstlineno]
    stores, loads = _names(node.body, ast.Store), _names(node.body, ast.Load)
    parameters = [a.arg for a in node.args.args]
    once = frozenset(_once(node.body, stores, loads) - {*parameters})
    return Definition(node, parameters, frozenset(stores), once)


def _names(body: Sequence[ast.AST], kind: type[ast.expr_context]) -> dict[str, int]:
    """How often names are read or assigned to."""
    counts: dict[str, int] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, kind):
                counts[node.id] = counts.get(node.id, 0) + 1
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                counts[node.target.id] = counts.get(node.target.id, 0) + 1
    return counts


def _once(body: Sequence[ast.stmt], stores: dict[str, int], loads: dict[str, int]) -> set[str]:
    """Names that are assigned to once, and read only where that assignment has been executed: in its block."""
    here = set()
    for statement in body:
        if isinstance(statement, ast.Assign):
            here |= {n.id for n in ast.walk(statement.targets[0]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    here = {name for name in here if stores[name] == 1}
    inside = _names(body, ast.Load) if here else {}
    found = {name for name in here if inside.get(name, 0) == loads.get(name, 0)}
    for statement in body:
        for block in (getattr(statement, "body", ()), getattr(statement, "orelse", ())):
            found |= _once(block, stores, loads)
    for statement in body:
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
            name = statement.target.id
            if stores[name] == 1 and _names(statement.body, ast.Load).get(name, 0) == loads.get(name, 0):
                found.add(name)
    return found


# variables of kernels ------------------------------------------------------------------------------------------------


class Slot(NamedTuple):
    """The memory of a variable; LLVM's first pass puts it into a register."""

    type: Type
    place: Any


Names = dict[str, Operand]
"""Slots, and what is known of names that have one value."""


AMBIGUOUS = object()
"""What a name stands for whose type depends on the way that was taken."""


class LoopTargets(NamedTuple):
    """The blocks that `continue` and `break` jump to. names: before the loop; lost: those that an iteration may leave with a
    value that their slots don't hold."""

    again: Any
    after: Any
    names: Names
    lost: set[str]


class Variables:
    """The variables of one function. once: names that are assigned to once, and read after that only."""

    def __init__(self, builder: ir.IRBuilder, once: Collection[str]):
        self.builder, self.once = builder, once
        self.names: Names = {}
        self.slots: dict[tuple[str, Type], Slot] = {}
        self.read: set[Slot] = set()
        """The slots that the innermost loop has read."""

    def slot(self, kind: Type, name: str = "") -> Slot:
        with self.builder.goto_entry_block():
            return Slot(kind, self.builder.alloca(kind.llvm, name=name))

    def loaded(self, slot: Slot) -> Value:
        return Value(slot.type, self.builder.load(slot.place))

    def store(self, given: Operand, slot: Slot) -> None:
        self.builder.store(cast(self.builder, given, slot.type).llvm, slot.place)

    def put(self, name: str, given: Operand) -> None:
        if name in self.once:
            self.names[name] = given
            return
        kind = type_of(given)
        slot = self.slots.get((name, kind))
        if slot is None:
            slot = self.slots[name, kind] = self.slot(kind, name)
        self.names[name] = slot
        self.store(given, slot)

    def get(self, name: str) -> Operand:
        """Raises Refused where the name has no value."""
        found = self.names[name]
        if found is AMBIGUOUS:
            raise Refused(f"value of {name} here")
        if not isinstance(found, Slot):
            return found
        self.read.add(found)
        return self.loaded(found)

    def back(self, before: Names) -> set[str]:
        """Let names stand for what they did before, with the values that they have now. Returns those whose slots don't hold
        these values."""
        lost = set()
        for name, slot in before.items():
            now = self.names.get(name)
            if now is slot:
                continue
            if isinstance(slot, Slot) and isinstance(now, Slot) and _holds(slot.type, now.type):
                self.store(self.loaded(now), slot)
                self.names[name] = slot
            else:
                lost.add(name)
        return lost

    @contextmanager
    def iterated(self) -> Iterator[None]:
        """Around the code of a loop with its condition."""
        outside, self.read = self.read, set()
        yield
        self.read |= outside

    def left(self, loop: LoopTargets) -> None:
        """After a loop: names with a value of another type have none. Raises Refused where the next iteration would read it."""
        for name, before in loop.names.items():
            if name in loop.lost and before in self.read:
                raise Refused(f"variable of several types: {name}")
            self.names[name] = AMBIGUOUS if name in loop.lost else before


def joined(ends: Sequence[Names]) -> Names:
    """The names after several ways: each of them assigns to a name's memory, or leaves it as it was."""
    found = dict(ends[0])
    for end in ends[1:]:
        for name, known in end.items():
            if found.setdefault(name, known) is not known:
                found[name] = AMBIGUOUS
    return found


def _holds(slot: Type, kind: Type) -> bool:
    """Whether a variable of this type can get such a value: the type that both have in common is its own."""
    try:
        return common(slot, kind) is slot
    except Refused:
        return False


# what LLVM's vectorizer is told of a loop ----------------------------------------------------------------------------

# LLVM interleaves iterations of a loop with a sum or a maximum, four vectors at a time, so that an addition need not wait for
# the one before it. A row that such a step does not divide leaves up to four vectors to slower loops: of 100 float32 elements
# in vectors of 16, 36. In a loop with an elementary function the additions wait for nothing: an iteration takes longer than an
# addition, and the CPU overlaps iterations by itself. Such loops are vectorized only, and compile in less time. Of the longest
# ones, which are chains of a polynomial's steps, the CPU overlaps too few: two vectors at a time save up to a fifth.
#
# A maximum that passes NaN on takes several instructions, and the slower loops are slowest there. Two vectors at a time save a
# quarter of a softmax along 100 elements, and cost nothing along 512.
#
# A single element after the last whole vector takes as long as a vector does. The last vector of a masked loop has idle lanes
# instead, at the cost of a mask in every iteration; see `kernel_writer._uneven`.
#
# LLVM then copies the body of a loop whose number of iterations only the run knows, up to eight times. A short body gains up to
# a tenth. Copies of a long one, and of a loop with loops in it, gain nothing, and take an eighth of the time of compilation.

LONG, LONGER = 16, 28
"""Instructions of arithmetic in an iteration that takes longer than an addition, and in one of which a CPU holds too few."""

INTERLEAVED = "llvm.loop.interleave.count"
MASKED = "llvm.loop.vectorize.predicate.enable"
PASSING_NAN = ("llvm.maximum", "llvm.minimum")
I32 = ir.IntType(32)

OTHERS = (ir.AllocaInstr, ir.LoadInstr, ir.StoreInstr, ir.GEPInstr, ir.PhiInstr, ir.CastInstr, ir.instructions.Terminator)
"""Instructions that are no arithmetic."""


def _narrow(one: Any) -> bool:
    """Whether it reads or writes less than four bytes, for which AVX2 has no masks."""
    kind = one.type if isinstance(one, ir.LoadInstr) else one.operands[0].type if isinstance(one, ir.StoreInstr) else I32
    return isinstance(kind, ir.IntType) and kind.width < 32


def hint(latch: Any, blocks: list[Any], masked: bool) -> None:
    """Tell LLVM how many iterations to interleave, and which loops to leave as they are. latch: the loop's jump to the next
    iteration; blocks: of its body; masked: whether a vector with idle lanes takes the place of the last iterations."""
    code = [one for block in blocks for one in block.instructions]
    found = [one for one in code if not isinstance(one, OTHERS)]
    outer = any("head" in block.name.split(".") for block in blocks)
    passing = any(isinstance(one, ir.CallInstr) and one.callee.name.startswith(PASSING_NAN) for one in found)
    hints: list[tuple[Any, ...]] = [("llvm.loop.unroll.runtime.disable",)] if outer or len(found) >= LONG else []
    if not outer and (passing or len(found) >= LONG):
        hints.append((INTERLEAVED, I32(1 if LONG <= len(found) < LONGER else 2)))
        hints += [(MASKED, ir.Constant(ir.IntType(1), 1))] if masked and not (BYTES < 64 and any(map(_narrow, code))) else []
    if hints:
        module = latch.function.module
        texts = [module.add_metadata([ir.MetaDataString(module, name), *numbers]) for name, *numbers in hints]
        loop = ir.MDValue(module, (), name=str(len(module.metadata)))
        loop.operands = loop, *texts  # the first operand is the node itself
        latch.set_metadata("llvm.loop", loop)
