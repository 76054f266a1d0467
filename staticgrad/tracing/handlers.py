"""Whether the user's code would catch an error that an operation raises.

An operation that may fail by its values fails when a plan runs, which is after the code around it. Inside of a `try` block with
handlers, or of a `with` block that suppresses exceptions, it has to run at once.
"""

from __future__ import annotations

import contextlib
import dis
import os
import sys
from functools import lru_cache
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from ..errors import PACKAGE_DIR
from .frames import NULL, Operands, code_of, readable
from .settings import watcher_setting

ENTRIES = tuple(os.path.join(PACKAGE_DIR, "tracing", *path) for path in (("specialization_cache.py",), ("segments", "runs.py")))
"""The files that call a function that is traced, or runs in segments. Compiled functions within it are called elsewhere."""
MATCHES = frozenset({"CHECK_EXC_MATCH", "CHECK_EG_MATCH", "POP_EXCEPT"})
"""What a handler does that may end an exception; one that cleans up raises it again before."""
EXIT_PLACES = 2 if "LOAD_SPECIAL" in dis.opmap else 1
"""Places of the stack that hold the method `__exit__`: CPython 3.14 keeps a function and its object apart."""


def caught() -> bool:
    """Whether code of the compiled function is inside of a `try` block with handlers, or of a `with` block whose context
    manager may suppress exceptions."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE_DIR):
            if _catches(frame):
                return True
        elif code.co_filename in ENTRIES:
            return False
        frame = frame.f_back
    return False


def _catches(frame: FrameType) -> bool:
    """Whether an exception that is raised where a frame is now may end in it. Of a `with` block that is unknown where the
    frame can't be read."""
    for block in _blocks(frame.f_code):
        if block.start <= frame.f_lasti < block.end:
            if block.depth is None or watcher_setting() == "portable" or not readable():
                return True
            exit_method, *owner = Operands(frame, code_of(frame.f_code)).top(block.depth, EXIT_PLACES)
            bound = isinstance(exit_method, FunctionType) and owner and owner[0] is not NULL
            if _suppresses(exit_method.__get__(owner[0]) if bound else exit_method):
                return True
    return False


class Block(NamedTuple):
    """The instructions of a `try` block with handlers, or of a `with` block. depth: that of the stack whose uppermost places
    hold the method `__exit__`; None for `try`."""

    start: int
    end: int
    depth: int | None


@lru_cache
def _blocks(code: CodeType) -> list[Block]:
    """The blocks of a function. `finally` has entries of the same table."""
    bytecode = dis.Bytecode(code)
    entries = bytecode.exception_entries  # type: ignore[attr-defined]
    if not entries:
        return []
    instructions = list(bytecode)
    found = []
    for entry in entries:
        handler = [instruction.opname for instruction in instructions if instruction.offset >= entry.target]
        if handler[0] != "PUSH_EXC_INFO":
            continue
        if handler[1] == "WITH_EXCEPT_START":
            found.append(Block(entry.start, entry.end, entry.depth))
        elif next(name for name in handler if name in MATCHES or name == "RERAISE") != "RERAISE":
            found.append(Block(entry.start, entry.end, None))
    return found


def _suppresses(exit_method: Any) -> bool:
    """Whether a method `__exit__` may suppress an exception: it may return a true value. Those that are written in C, as of
    locks and files, don't."""
    function, manager = getattr(exit_method, "__func__", exit_method), getattr(exit_method, "__self__", None)
    if not isinstance(function, FunctionType):
        return False
    if function is contextlib._GeneratorContextManager.__exit__:
        suspended = manager.gen.gi_frame  # type: ignore[union-attr]
        return suspended is not None and _catches(suspended)
    if function is contextlib.ExitStack.__exit__:
        return any(_suppresses(entered) for _, entered in manager._exit_callbacks)  # type: ignore[union-attr]
    return not function.__code__.co_filename.startswith(PACKAGE_DIR) and _may_return_true(function.__code__)


@lru_cache
def _may_return_true(code: CodeType) -> bool:
    before = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "RETURN_CONST":  # of CPython 3.12 and 3.13
            if instruction.argval:
                return True
        elif instruction.opname == "RETURN_VALUE" and (before is None or before.opname != "LOAD_CONST" or before.argval):
            return True
        before = instruction
    return False
