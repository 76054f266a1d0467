"""From the source of kernels and of the runtime to LLVM code.

A kernel is a function `def name(buffers, sizes, start, stop)` under `@kernel`, in a subset of Python: loops over ranges,
`while`, `if`, assignments, arithmetic, conditional expressions, and calls. A function written in Python becomes part of its
caller, with what is known of its operands: numbers, and functions. Under `@outlined` it stays a function, written once for
all calls with the same types and known operands. `dialect.py` has the names that kernels use.

An entry of the runtime, under `@entry`, is a function of int64 words that returns one, 0 where it returns nothing. So are the
functions that it calls, which stay functions: LLVM decides which of them become part of their callers. `runtime_builtins.py`
has the names that they use.

Variables have one type each, that of the first value. A name may be used for a value of another type afterwards, as long as no
loop and no branch joins the two. Everything else raises LanguageError.

Types follow from the operands as the text is read, so this takes a small part of the time of LLVM.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, partial, reduce
from pathlib import Path
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from . import kernel_types
from .cpu import BYTES
from .kernel_types import (
    BUFFERS,
    I32,
    I64,
    OF_NUMPY,
    SIZES,
    Builtin,
    Complex,
    Half,
    LanguageError,
    Operand,
    Pointer,
    Refused,
    Scopes,
    Type,
    Value,
    boolean,
    cast,
    common,
    float32,
    int64,
    truth,
    type_of,
    value,
)

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


# statements, expressions, calls ---------------------------------------------------------------------------------------

FUNCTIONS: dict[Any, Callable[..., Operand]] = {
    abs: kernel_types.magnitude,
    math.sqrt: lambda builder, x: kernel_types.real(builder, "llvm.sqrt", x),
    np.sqrt: lambda builder, x: kernel_types.real(builder, "llvm.sqrt", x),
    np.floor: lambda builder, x: kernel_types.real(builder, "llvm.floor", x),
    np.ceil: lambda builder, x: kernel_types.real(builder, "llvm.ceil", x),
    np.rint: lambda builder, x: kernel_types.real(builder, "llvm.rint", x),
    math.copysign: lambda builder, x, y: kernel_types.real(builder, "llvm.copysign", x, y),
    np.fmod: kernel_types.remainder,
    min: lambda builder, *numbers: reduce(partial(kernel_types.choice, builder, "<"), numbers),
    max: lambda builder, *numbers: reduce(partial(kernel_types.choice, builder, ">"), numbers),
}
"""Functions of Python and NumPy that kernels may call."""
RANGES = ("range", "masked")


class Kernel(NamedTuple):
    """A function under `@kernel`, or an entry of the runtime. words: whether operands and result are int64."""

    function: Any
    words: bool = False

    @property
    def operands(self) -> tuple[Type, ...]:
        """The types of the operands."""
        return (int64,) * self.function.__code__.co_argcount if self.words else (BUFFERS, SIZES, int64, int64)


def kernel(function: Any) -> Kernel:
    """Mark a function as a kernel."""
    return Kernel(function)


def entry(function: Any) -> Any:
    """Mark a function of the runtime that is called from outside."""
    return Kernel(function, words=True)


def inline(function: Any) -> Any:
    """Mark a function that kernels call."""
    return function


class Outlined(NamedTuple):
    """A function that kernels call, and that is not part of them."""

    function: Any


def outlined(function: Any) -> Outlined:
    """Mark a function that stays one: a large one that a kernel calls several times, or seldom. It returns nothing, or what it
    is annotated with."""
    return Outlined(function)


def translated(kernels: Sequence[Kernel]) -> str:
    """The LLVM code of kernels. Raises LanguageError, with file and line, for what the language does not have."""
    scopes = Scopes(ir.Module("kernels"))
    for kernel in kernels:
        _function(scopes, kernel, kernel.function.__name__)
    return str(scopes.module)


def _function(scopes: Scopes, kernel: Kernel, name: str) -> Any:
    """The function of a module that a kernel or a function of words becomes, written where there is none yet."""
    found = scopes.module.globals.get(name)
    if found is not None:
        return found
    types, result = kernel.operands, I64 if kernel.words else ir.VoidType()
    written = ir.Function(scopes.module, ir.FunctionType(result, [t.llvm for t in types]), name)
    written.attributes.add("nounwind")
    builder = ir.IRBuilder(written.append_basic_block("entry"))
    operands = [Value(kind, given) for kind, given in zip(types, written.args, strict=True)]
    call = _Call(builder, scopes, kernel.function, operands, kernel.words)
    if not kernel.words:
        call.run()
        builder.ret_void()
    else:
        call.block(call.definition.node.body)
        call.give(0)
    return written


class _Call:
    """A function that is written into its caller, or by itself where its operands are words. `do_For` writes a statement
    `for`, `of_Name` the value of a name, and so on."""

    def __init__(
        self, builder: ir.IRBuilder, scopes: Scopes, function: FunctionType, operands: Sequence[Operand], words: bool = False
    ):
        self.builder, self.scopes, self.words = builder, scopes, words
        self.file, self.scope = function.__code__.co_filename, function.__globals__
        if function.__closure__:
            around = (cell.cell_contents for cell in function.__closure__)
            self.scope = {**self.scope, **dict(zip(function.__code__.co_freevars, around, strict=True))}
        self.definition = definition_of(function)
        self.variables = Variables(builder, self.definition.once)
        self.loops: list[LoopTargets] = []
        self.end: Any = None
        """The block after the call, where a function returns early."""
        self.results: list[Slot] | Slot | None = None
        self.result: Operand = None
        if len(operands) != len(self.definition.parameters):
            raise Refused(f"call of {function.__name__} with {len(operands)} operands")
        for name, operand in zip(self.definition.parameters, operands, strict=True):
            if name in self.definition.assigned:
                self.variables.put(name, operand)
            else:
                self.variables.names[name] = operand

    def run(self) -> Operand:
        """Write the body. Returns the result."""
        body = self.definition.node.body
        *first, last = body
        early = any(isinstance(node, ast.Return) for statement in first for node in ast.walk(statement))
        early = early or (not isinstance(last, ast.Return) and any(isinstance(node, ast.Return) for node in ast.walk(last)))
        if not early:
            self.block(body)
            return self.result
        self.end = self.builder.append_basic_block("end")
        self.block(body)
        self.go(self.end)
        self.builder.position_at_end(self.end)
        if isinstance(self.results, list):
            return tuple(self.variables.loaded(slot) for slot in self.results)
        return None if self.results is None else self.variables.loaded(self.results)

    def give(self, result: Operand) -> None:
        """Return a word, unless a statement before has returned one."""
        if not self.builder.block.is_terminated:
            self.builder.ret(cast(self.builder, result, int64).llvm)

    # statements -----------------------------------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            if self.builder.block.is_terminated:
                return  # nothing reaches the rest
            method = getattr(self, f"do_{type(node).__name__}", None)
            try:
                if method is None:
                    raise Refused(type(node).__name__)
                method(node)
            except Refused as refused:
                line = f"{Path(self.file).name}:{node.lineno}   {ast.unparse(node).splitlines()[0]}"
                raise LanguageError(f"the language of kernels has no {refused}\n  {line}") from None

    def do_Pass(self, node: ast.Pass) -> None:
        pass

    def do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.value(node.value)

    def do_Assign(self, node: ast.Assign) -> None:
        [target] = node.targets
        self.assign(target, self.value(node.value))

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        kind, by = type(node.op), self.value(node.value)
        if isinstance(node.target, ast.Name):
            self.variables.put(node.target.id, kernel_types.binary(self.builder, kind, self.name(node.target.id), by))
        elif isinstance(node.target, ast.Subscript):
            pointer, place = self.element(node.target)
            self.store(pointer, place, kernel_types.binary(self.builder, kind, self.load(pointer, place), by))
        else:
            raise Refused("assignment to this")

    def assign(self, target: ast.expr, given: Operand) -> None:
        if isinstance(target, ast.Tuple):
            if not isinstance(given, tuple) or len(given) != len(target.elts):
                raise Refused("assignment of this to several names")
            for to, one in zip(target.elts, given, strict=True):
                self.assign(to, one)
        elif isinstance(target, ast.Subscript):
            self.store(*self.element(target), given)
        elif isinstance(target, ast.Name):
            self.variables.put(target.id, given)
        else:
            raise Refused("assignment to this")

    def do_Return(self, node: ast.Return) -> None:
        given = None if node.value is None else self.value(node.value)
        if self.words:
            self.give(0 if given is None else given)
            return
        if self.end is None:
            self.result = given
            return
        if isinstance(given, tuple):
            if self.results is None:
                self.results = [self.variables.slot(type_of(one)) for one in given]
            assert isinstance(self.results, list)
            for slot, one in zip(self.results, given, strict=True):
                self.returned(one, slot)
        elif given is not None:
            if self.results is None:
                self.results = self.variables.slot(type_of(given))
            assert isinstance(self.results, Slot)
            self.returned(given, self.results)
        self.builder.branch(self.end)

    def returned(self, given: Operand, slot: Slot) -> None:
        if common(slot.type, type_of(given)) is not slot.type:
            raise Refused(f"results of type {slot.type} and {type_of(given)}")
        self.variables.store(given, slot)

    def do_If(self, node: ast.If) -> None:
        test = self.value(node.test)
        if type(test) in (bool, int):
            self.block(node.body if test else node.orelse)
            return
        then, after = (self.builder.append_basic_block(name) for name in ("then", "after"))
        orelse = self.builder.append_basic_block("else") if node.orelse else after
        self.builder.cbranch(truth(self.builder, test), then, orelse)
        variables = self.variables
        before, reached = dict(variables.names), not node.orelse
        ends = []
        for block, body in ((then, node.body), (orelse, node.orelse)):
            if not body:
                ends.append(before)
                continue
            variables.names = dict(before)
            self.builder.position_at_end(block)
            self.block(body)
            if not self.builder.block.is_terminated:
                reached = True
                variables.back(before)
                self.builder.branch(after)
                ends.append(variables.names)
        self.builder.position_at_end(after)
        variables.names = joined(ends) if ends else before
        if not reached:
            self.builder.unreachable()

    def do_While(self, node: ast.While) -> None:
        head, body, after = (self.builder.append_basic_block(name) for name in ("head", "body", "after"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        with self.variables.iterated():
            self.branch(node.test, body, after)
            self.loop(node, body, head, after)

    def do_For(self, node: ast.For) -> None:
        if not isinstance(node.target, ast.Name):
            raise Refused("loop with several variables")
        bounds = self.bounds(node)
        first, stop, by = (cast(self.builder, bound, int64).llvm for bound in bounds)
        name = node.target.id
        head, body, again, after = (
            self.builder.append_basic_block(f"{name}.{part}") for part in ("head", "body", "again", "after")
        )
        before = self.builder.block
        self.builder.branch(head)
        self.builder.position_at_end(head)
        counter = self.builder.phi(I64, name=name)
        counter.add_incoming(first, before)
        down = type(bounds[2]) is int and bounds[2] < 0
        self.builder.cbranch(self.builder.icmp_signed(">" if down else "<", counter, stop), body, after)
        self.builder.position_at_end(again)
        counter.add_incoming(self.builder.add(counter, by, flags=("nsw",)), again)
        latch = self.builder.branch(head)
        with self.variables.iterated():
            self.loop(node, body, again, after, {name: Value(int64, counter)})
        blocks = self.builder.function.blocks
        hint(latch, [body, *blocks[blocks.index(after) + 1 :]], node.iter.func.id == "masked")  # type: ignore[attr-defined]

    def loop(self, node: ast.While | ast.For, body: Any, again: Any, after: Any, variables: Any = MappingProxyType({})) -> None:
        if node.orelse:
            raise Refused("loop with an else")
        loop = LoopTargets(again, after, dict(self.variables.names), set())
        self.builder.position_at_end(body)
        for name, given in variables.items():
            self.variables.put(name, given)
        self.loops.append(loop)
        self.block(node.body)
        self.loops.pop()
        self.jump(loop, again)
        self.builder.position_at_end(after)
        self.variables.left(loop)

    def do_Continue(self, node: ast.Continue) -> None:
        self.jump(self.loops[-1], self.loops[-1].again)

    def do_Break(self, node: ast.Break) -> None:
        self.jump(self.loops[-1], self.loops[-1].after)

    def jump(self, loop: LoopTargets, to: Any) -> None:
        """End an iteration."""
        if not self.builder.block.is_terminated:
            loop.lost.update(self.variables.back(loop.names))
            self.builder.branch(to)

    def go(self, block: Any) -> None:
        if not self.builder.block.is_terminated:
            self.builder.branch(block)

    def branch(self, test: ast.expr, yes: Any, no: Any) -> None:
        """Branch to `yes` or `no`. Operands of `and` and `or` that don't decide are not evaluated."""
        if isinstance(test, ast.BoolOp):
            for part in test.values[:-1]:
                more = self.builder.append_basic_block()
                self.branch(part, *((more, no) if isinstance(test.op, ast.And) else (yes, more)))
                self.builder.position_at_end(more)
            self.branch(test.values[-1], yes, no)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.branch(test.operand, no, yes)
        else:
            self.builder.cbranch(truth(self.builder, self.value(test)), yes, no)

    def bounds(self, node: ast.For) -> tuple[Operand, Operand, Operand]:
        """The first value of a loop over a range, that at which it stops, and the step."""
        call = node.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in RANGES):
            raise Refused("loop over anything but a range")
        given = [self.value(bound) for bound in call.args]
        first, stop, step = (0, *given, 1) if len(given) == 1 else (*given, 1)[:3]
        return first, stop, step

    # values ---------------------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Operand:
        method = getattr(self, f"of_{type(node).__name__}", None)
        if method is None:
            raise Refused(type(node).__name__)
        return method(node)

    def of_Constant(self, node: ast.Constant) -> Operand:
        return node.value

    def of_Name(self, node: ast.Name) -> Operand:
        return self.name(node.id)

    def name(self, name: str) -> Operand:
        if name in self.variables.names:
            return self.variables.get(name)
        if name in self.definition.assigned:
            raise Refused(f"value of {name} here")
        if name in self.scope:
            return self.scope[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise Refused(f"name {name}")

    def of_Attribute(self, node: ast.Attribute) -> Operand:
        owner = self.value(node.value)
        if not isinstance(owner, ModuleType):
            raise Refused("attribute")
        return getattr(owner, node.attr)

    def of_Tuple(self, node: ast.Tuple) -> Operand:
        return tuple(self.value(element) for element in node.elts)

    def of_Subscript(self, node: ast.Subscript) -> Operand:
        return self.load(*self.element(node))

    def element(self, node: ast.Subscript) -> tuple[Value, Any]:
        """The pointer, and the address of its element."""
        pointer, index = self.value(node.value), self.value(node.slice)
        if not isinstance(pointer, Value) or not isinstance(pointer.type, Pointer):
            raise Refused("element of this")
        return pointer, self.builder.gep(pointer.llvm, [cast(self.builder, index, int64).llvm], inbounds=True)

    def load(self, pointer: Value, place: Any) -> Value:
        assert isinstance(pointer.type, Pointer)
        kind = pointer.type.dtype
        if isinstance(kind, Complex):
            parts = [self.tagged(pointer.type, self.builder.load(part)) for part in self.places(place)]
            return Value(kind, kind.joined(self.builder, parts))
        read = self.tagged(pointer.type, self.builder.load(place))
        return Value(float32, kind.widened(self.builder, read), kind) if isinstance(kind, Half) else Value(kind, read)

    def store(self, pointer: Value, place: Any, given: Operand) -> None:
        assert isinstance(pointer.type, Pointer)
        kind = pointer.type.dtype
        value = cast(self.builder, given, float32 if isinstance(kind, Half) else kind)
        if isinstance(kind, Complex):
            written = [(self.builder.extract_value(value.llvm, i), part) for i, part in enumerate(self.places(place))]
        elif isinstance(kind, Half):
            written = [((kind.packed if kind.holds(value) else kind.rounded)(self.builder, value.llvm), place)]
        else:
            written = [(value.llvm, place)]
        for part, to in written:
            self.tagged(pointer.type, self.builder.store(part, to))

    def places(self, place: Any) -> list[Any]:
        """The addresses of the parts of a complex number."""
        return [self.builder.gep(place, [I32(0), I32(i)], inbounds=True) for i in range(2)]

    def tagged(self, pointer: Pointer, instruction: Any) -> Any:
        if pointer.scope >= 0:
            self.scopes.tag(instruction, pointer.scope)
        return instruction

    def of_BinOp(self, node: ast.BinOp) -> Operand:
        return kernel_types.binary(self.builder, type(node.op), self.value(node.left), self.value(node.right))

    def of_UnaryOp(self, node: ast.UnaryOp) -> Operand:
        x = self.value(node.operand)
        if isinstance(node.op, ast.USub):
            return kernel_types.negated(self.builder, x)
        if isinstance(node.op, ast.Not):
            return kernel_types.opposite(self.builder, x)
        raise Refused(type(node.op).__name__)

    def of_Compare(self, node: ast.Compare) -> Operand:
        if len(node.ops) > 1:
            raise Refused("chain of comparisons")
        return kernel_types.compared(self.builder, type(node.ops[0]), self.value(node.left), self.value(node.comparators[0]))

    def of_BoolOp(self, node: ast.BoolOp) -> Operand:
        yes, no, after = (self.builder.append_basic_block() for _ in range(3))
        self.branch(node, yes, no)
        for block in (yes, no):
            self.builder.position_at_end(block)
            self.builder.branch(after)
        self.builder.position_at_end(after)
        result = self.builder.phi(boolean.llvm)
        result.add_incoming(boolean.llvm(1), yes)
        result.add_incoming(boolean.llvm(0), no)
        return Value(boolean, result)

    def of_IfExp(self, node: ast.IfExp) -> Operand:
        test = self.value(node.test)
        if type(test) in (bool, int):
            return self.value(node.body if test else node.orelse)
        blocks = [self.builder.append_basic_block() for _ in range(2)]
        after = self.builder.append_basic_block()
        self.builder.cbranch(truth(self.builder, test), *blocks)
        ways = []
        for block, part in zip(blocks, (node.body, node.orelse), strict=True):
            self.builder.position_at_end(block)
            ways.append((self.value(part), self.builder.block))
        sides = [given if isinstance(given, tuple) else (given,) for given, _ in ways]
        kinds = [common(type_of(a), type_of(b)) for a, b in zip(*sides, strict=True)]
        ends = []
        for (_, block), side in zip(ways, sides, strict=True):
            self.builder.position_at_end(block)
            ends.append([cast(self.builder, one, kind) for one, kind in zip(side, kinds, strict=True)])
            self.builder.branch(after)
        self.builder.position_at_end(after)
        results = []
        for i, kind in enumerate(kinds):
            phi = self.builder.phi(kind.llvm)
            for (_, block), end in zip(ways, ends, strict=True):
                phi.add_incoming(end[i].llvm, block)
            halves = {end[i].exact for end in ends} - {None}
            half = halves.pop() if len(halves) == 1 else None
            results.append(Value(kind, phi, half if half is not None and all(half.holds(end[i]) for end in ends) else None))
        return tuple(results) if isinstance(ways[0][0], tuple) else results[0]

    def of_Call(self, node: ast.Call) -> Operand:
        called = self.value(node.func)
        if node.keywords:
            raise Refused("keywords in calls")
        operands = [self.value(operand) for operand in node.args]
        if isinstance(called, Builtin):
            return self.built(called, operands)
        if self.words and isinstance(called, (FunctionType, Kernel)):
            return self.called(called, operands)
        if isinstance(called, FunctionType):
            return _Call(self.builder, self.scopes, called, operands).run()
        if isinstance(called, Outlined):
            return self.outlined(called.function, operands)
        if isinstance(called, type) and called in OF_NUMPY and len(operands) == 1:
            return cast(self.builder, operands[0], OF_NUMPY[called])
        found = FUNCTIONS.get(called)
        if found is None:
            raise Refused(f"function {getattr(called, '__name__', called)}")
        return found(self.builder, *operands)

    def outlined(self, function: FunctionType, operands: Sequence[Operand]) -> Operand:
        """Call a function of its own. In it the buffers are numbered by its operands, so those of two calls may differ."""
        own: dict[int, int] = {-1: -1}
        given: list[Any] = []
        inside: list[Operand] = []
        key: list[Any] = [function]
        for operand in operands:
            if isinstance(operand, Value) and not isinstance(operand.llvm, ir.Constant):
                kind = operand.type
                if isinstance(kind, Pointer):
                    kind = Pointer(kind.dtype, own.setdefault(kind.scope, len(own) - 1))
                inside.append(kind)
                given.append(operand.llvm)
                key.append(f"{kind}, {kind.scope}" if isinstance(kind, Pointer) else str(kind))
            else:
                inside.append(operand)
                key.append(str(operand.llvm) if isinstance(operand, Value) else repr(operand))
        found = self.scopes.outlined.get(tuple(key))
        returned = function.__annotations__.get("return")
        result = None if returned is None else OF_NUMPY[returned]
        if found is None:
            types = [one.llvm for one in inside if isinstance(one, Type)]
            made = ir.FunctionType(ir.VoidType() if result is None else result.llvm, types)
            found = ir.Function(self.scopes.module, made, self.scopes.module.get_unique_name(function.__name__))
            self.scopes.outlined[tuple(key)] = found
            found.linkage = "internal"
            found.attributes.add("noinline")
            found.attributes.add("nounwind")
            builder, args = ir.IRBuilder(found.append_basic_block("entry")), iter(found.args)
            values = [Value(one, next(args)) if isinstance(one, Type) else one for one in inside]
            end = _Call(builder, self.scopes, function, values).run()
            if result is None:
                builder.ret_void()
            else:
                builder.ret(cast(builder, end, result).llvm)
        called = self.builder.call(found, given)
        return None if result is None else Value(result, called)

    def called(self, called: FunctionType | Kernel, operands: Sequence[Operand]) -> Operand:
        """The word that another function of words returns."""
        if isinstance(called, Kernel):
            function = _function(self.scopes, called, called.function.__name__)
        else:
            function = _function(self.scopes, Kernel(called, words=True), f"{called.__module__}.{called.__name__}")
            function.linkage = "internal"
        if len(operands) != len(function.args):
            raise Refused(f"call of {function.name} with {len(operands)} operands")
        return Value(int64, self.builder.call(function, [cast(self.builder, x, int64).llvm for x in operands]))

    def built(self, called: Builtin, operands: Sequence[Operand]) -> Operand:
        if len(operands) != len(called.operands):
            raise Refused(f"call of {called.name} with {len(operands)} operands")
        given: list[Any] = []
        for kind, operand in zip(called.operands, operands, strict=True):
            if kind is int:
                if type(operand) is not int:
                    raise Refused(f"call of {called.name} with a number that is not known here")
                given.append(operand)
            elif kind in (None, Pointer):
                if kind is Pointer and not isinstance(type_of(operand), Pointer):
                    raise Refused(f"call of {called.name} with anything but a pointer")
                given.append(value(operand))
            else:
                given.append(cast(self.builder, operand, kind).llvm)
        return called.write(self.builder, *given)
