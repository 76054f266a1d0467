"""`@sg.compile`: eager code traced once with symbols, compiled whole, run natively."""

from .compiling import compile
from .function import CompiledFunction
from .printing import print

__all__ = ["CompiledFunction", "compile", "print"]
