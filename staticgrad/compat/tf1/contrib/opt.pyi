"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from ..train.optimizers import AdamWOptimizer as AdamWOptimizer
__all__ = [
    "AdamWOptimizer",
]
