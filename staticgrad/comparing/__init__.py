"""`sg.compare`: one function in every mode, side by side."""

from .modes import compare
from .report import Comparison, Difference, Mode

__all__ = ["Comparison", "Difference", "Mode", "compare"]
