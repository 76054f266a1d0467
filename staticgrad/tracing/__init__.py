"""`@sg.compile`: eager code traced once with symbols, compiled whole, run natively."""

from .function import CompiledFunction, compile

__all__ = ["CompiledFunction", "compile"]
