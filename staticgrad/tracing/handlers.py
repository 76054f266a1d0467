"""Whether the user's code would catch an error that an operation raises.

An operation that may fail by its values fails when a plan runs, which is after the code around it. Inside of a `try` block with
handlers it has to run at once.
"""

from __future__ import annotations

import dis
import os
import sys
from functools import cache, lru_cache
from types import CodeType, FrameType

from ..errors import PACKAGE_DIR
from ..ir import Native, OpDef

ENTRY = os.path.join(PACKAGE_DIR, "tracing", "function.py")
"""The file that calls the compiled function."""
MATCHES = frozenset({"CHECK_EXC_MATCH", "CHECK_EG_MATCH", "POP_EXCEPT"})
"""What a handler does that may end an exception; one that cleans up raises it again before."""


@cache
def may_fail(op: OpDef) -> bool:
    """Whether an operation on operands that it accepts may raise an error for their values."""
    return not op.leaf and (op.emit is None or (isinstance(op.emit, Native) and op.emit.check is not None))


def caught() -> bool:
    """Whether code of the compiled function is inside of a `try` block with handlers."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE_DIR):
            if any(start <= frame.f_lasti < end for start, end in _guarded(code)):
                return True
        elif code.co_filename == ENTRY:
            return False
        frame = frame.f_back
    return False


@lru_cache
def _guarded(code: CodeType) -> list[tuple[int, int]]:
    """The instructions inside of `try` blocks with handlers. `with` and `finally` have entries of the same table."""
    bytecode = dis.Bytecode(code)
    entries = bytecode.exception_entries  # type: ignore[attr-defined]
    if not entries:
        return []
    instructions = list(bytecode)
    found = []
    for entry in entries:
        handler = [instruction.opname for instruction in instructions if instruction.offset >= entry.target]
        catches = handler[0] == "PUSH_EXC_INFO" and handler[1] != "WITH_EXCEPT_START"
        if catches and next(name for name in handler if name in MATCHES or name == "RERAISE") != "RERAISE":
            found.append((entry.start, entry.end))
    return found
