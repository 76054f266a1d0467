"""The operands on a frame's value stack before each bytecode instruction.

CPython gives a trace function the frame before every instruction, but not the operands of the instruction. They are stored
after the frame's locals in memory, and the depth of the stack follows from the code. The offset of the locals is found once,
by a search for known objects. The low bits of a place say who owns the reference, from CPython 3.14 on."""

from __future__ import annotations

import ctypes
import dis
import sys
import weakref
from functools import cache
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

word = ctypes.c_size_t.from_address
WORD = ctypes.sizeof(ctypes.c_size_t)
NULL: Any = type("NULL", (), {"__repr__": lambda self: "NULL"})()
"""Stands for the empty places that calls have on the stack."""
_object = ctypes.py_object.from_address
TAG = 3
"""The bits of a place that are no part of the object's address."""
PROBED = ((3, 11), (3, 12), (3, 13), (3, 14))
"""Versions of CPython of which all instructions that read or change state have a handler (`observer/instructions.py`)."""
BY_CODE = sys.version_info >= (3, 13)
"""Whether events of instructions belong to a code object, not to a frame."""


SUBSCRIPT = next((i for i, (name, _) in enumerate(dis._nb_ops) if name == "NB_SUBSCR"), None)  # type: ignore[attr-defined]
"""The argument of BINARY_OP with which CPython 3.14 reads an item."""


class FrameOffsets(NamedTuple):
    """Bytes from the start of a frame object to its interpreter frame, and from there to the function and the locals."""

    inner: int
    function: int
    locals: int


class BytecodeStep(NamedTuple):
    """An instruction."""

    op: str
    arg: int
    value: Any
    """The name, constant or comparison that `arg` stands for."""
    depth: int
    """Objects on the stack before it."""
    next: int
    """Offset of the following instruction."""


class Code:
    """The instructions of a code object by offset, and its variables."""

    __slots__ = ("__weakref__", "free", "locals", "names", "steps")

    def __init__(self, code: CodeType):
        self.names = (*code.co_varnames, *(x for x in code.co_cellvars if x not in code.co_varnames), *code.co_freevars)
        self.locals = len(self.names)
        self.free = self.locals - len(code.co_freevars)
        self.steps = _steps(code)


_known: weakref.WeakKeyDictionary[CodeType, Code] = weakref.WeakKeyDictionary()


def code_of(code: CodeType) -> Code:
    found = _known.get(code)
    if found is None:
        found = _known[code] = Code(code)
    return found


def _steps(code: CodeType) -> dict[int, BytecodeStep]:
    """The reachable instructions, with the depth of the stack before each."""
    instructions = list(dis.get_instructions(code))
    at = {instruction.offset: i for i, instruction in enumerate(instructions)}
    returns = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "INTERPRETER_EXIT"}
    resumed = code.co_flags & 0x2A0  # a generator begins with the value that was sent to it on the stack
    first = 1 if resumed and dis.stack_effect(dis.opmap["RETURN_GENERATOR"], None, jump=False) == 0 else 0
    depths: dict[int, int] = {}
    work = [(0, first)]
    handlers = [(e.start, e.end, e.target, e.depth + e.lasti + 1) for e in dis.Bytecode(code).exception_entries]  # type: ignore[attr-defined]
    work += [(target, depth) for *_, target, depth in handlers]
    while work:
        offset, depth = work.pop()
        i = at[offset]
        while i < len(instructions) and instructions[i].offset not in depths:
            instruction = instructions[i]
            depths[instruction.offset] = depth
            op, arg = instruction.opcode, instruction.arg
            name = instruction.opname
            if instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs:
                work.append((instruction.argval, depth + dis.stack_effect(op, arg, jump=True)))
            if name in returns or name.startswith(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE")):
                break
            depth += dis.stack_effect(op, arg, jump=False)
            i += 1
    steps: dict[int, BytecodeStep] = {}
    prefixes: list[int] = []
    for i, instruction in enumerate(instructions):
        if instruction.offset not in depths:
            continue
        name = instruction.opname
        if name == "EXTENDED_ARG":
            prefixes.append(instruction.offset)
            continue
        following = instructions[i + 1].offset if i + 1 < len(instructions) else -1
        arg = 0 if instruction.arg is None else instruction.arg
        depth = depths[instruction.offset]
        if name == "BINARY_OP" and arg == SUBSCRIPT:
            name = "BINARY_SUBSCR"
        elif name == "LOAD_SMALL_INT":
            name = "LOAD_CONST"
        steps[instruction.offset] = BytecodeStep(name, arg, instruction.argval, depth, following)
        for offset in prefixes:
            steps[offset] = BytecodeStep("EXTENDED_ARG", 0, None, depth, following)
        prefixes = []
    return steps


class Operands:
    """The locals and the value stack of a frame."""

    __slots__ = ("base", "stack")

    def __init__(self, frame: FrameType, code: Code):
        at = places()
        self.base = word(id(frame) + at.inner).value + at.locals
        self.stack = self.base + WORD * code.locals

    def top(self, depth: int, count: int) -> list[Any]:
        """The uppermost `count` objects, the topmost last."""
        first = self.stack + WORD * (depth - count)
        return [_at(first + WORD * i) for i in range(count)]

    def local(self, number: int) -> Any:
        """The object in a slot of the locals: a cell for variables that nested functions share."""
        return _at(self.base + WORD * number)


def _at(address: int) -> Any:
    """The object in a place; NULL for an empty one, and for a number that the interpreter keeps there itself."""
    value = word(address).value
    if not value & TAG:
        return _object(address).value if value else NULL
    if value & TAG == TAG or not value & ~TAG:
        return NULL
    return ctypes.py_object.from_buffer(ctypes.c_size_t(value & ~TAG)).value


def function_of(frame: FrameType) -> Any:
    """The function that a frame runs."""
    at = places()
    found = _at(word(id(frame) + at.inner).value + at.function)
    return found if isinstance(found, FunctionType) else None


@cache
def places() -> FrameOffsets:
    """The offsets in this version of CPython. Raises ImportError where they are not found."""
    found: list[FrameOffsets] = []

    def probe(left: Any, right: Any) -> None:
        found.extend(_search(sys._getframe(), id(left), id(right), id(probe)))

    probe(object(), object())
    if not found or not _agrees(found[0]):
        raise ImportError("this Python keeps the operands of its instructions elsewhere: sg.compile needs CPython 3.11 to 3.14")
    return found[0]


@cache
def readable() -> bool:
    """Whether operands can be read from the frames of this Python, whose instructions are known."""
    if sys.version_info[:2] not in PROBED:
        return False
    try:
        places()
    except ImportError:
        return False
    return True


def _search(frame: FrameType, left: int, right: int, function: int) -> list[FrameOffsets]:
    """Places for a frame whose first two locals, and whose function, have these ids."""
    inner = 3 * WORD
    start = word(id(frame) + inner).value
    if not start or start % WORD:
        return []
    words = [word(start + WORD * i).value & ~TAG for i in range(16)]
    pairs = [i for i in range(15) if words[i] == left and words[i + 1] == right]
    functions = [i for i in range(8) if words[i] == function]
    return [FrameOffsets(inner, WORD * functions[0], WORD * pairs[0])] if pairs and functions else []


def trace_instructions(frame: FrameType, local: Any) -> Any:
    """Have `local` called before each instruction of a frame that begins or goes on."""
    frame.f_trace = local
    frame.f_trace_opcodes = True
    return local


def leave_instructions(frame: FrameType) -> None:
    """A traced frame ends or waits. CPython 3.12 would give a generator's instructions to the trace function of the thread that
    runs it next, and crash where that has none while another thread is traced. Later ones note instructions by code."""
    if not BY_CODE:
        frame.f_trace_opcodes = False


def ask_for_instructions() -> None:
    """CPython 3.12 has events of instructions once a frame has asked for them: here one that never runs."""
    never: Any = (_ for _ in ())
    never.gi_frame.f_trace_opcodes = True


def _agrees(at: FrameOffsets) -> bool:
    """Whether the operands of an addition are at these offsets."""
    left, right = object(), object()
    seen: list[bool] = []

    def add(a: Any, b: Any) -> Any:
        try:
            return [a, a + b]
        except TypeError:
            return None

    code = code_of(add.__code__)

    def local(frame: FrameType, event: str, arg: Any) -> Any:
        step = code.steps.get(frame.f_lasti) if event == "opcode" else None
        if step is not None and step.op == "BINARY_OP":
            stack = word(id(frame) + at.inner).value + at.locals + WORD * code.locals
            operands = [word(stack + WORD * (step.depth - 2 + i)).value & ~TAG for i in range(2)]
            seen.append(operands == [id(left), id(right)])
        return local

    before = sys.gettrace()
    ask_for_instructions()
    sys.settrace(lambda frame, event, arg: trace_instructions(frame, local) if frame.f_code is add.__code__ else None)
    try:
        add(left, right)
    finally:
        sys.settrace(before)
    return seen == [True]
