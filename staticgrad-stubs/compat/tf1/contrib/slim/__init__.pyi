"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from . import evaluation as evaluation
from . import learning as learning
__all__ = [
    "evaluation", "learning",
]
