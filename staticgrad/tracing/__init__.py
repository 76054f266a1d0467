"""`@sg.compile`: eager code traced once with symbols, compiled whole, run natively."""

from .function import CompiledFunction, compile
from .printing import print

__all__ = ["CompiledFunction", "compile", "print"]
