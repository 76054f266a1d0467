"""Looking at a program while it runs."""

from __future__ import annotations

import pdb
import sys

from ..ops.operators import frontends, state

__all__ = ["breakpoint"]


def breakpoint() -> None:
    """Enter Python's debugger. A compiled function with a breakpoint runs in segments: the values of its tensors are there."""
    if frontends.tracing and state.tracer is not None:
        state.tracer.refuse("the debugger needs values, which a trace doesn't have", "compile with on_break='split'")
    if sys.breakpointhook is sys.__breakpointhook__:
        pdb.Pdb().set_trace(sys._getframe(1))
    else:
        sys.breakpointhook()
