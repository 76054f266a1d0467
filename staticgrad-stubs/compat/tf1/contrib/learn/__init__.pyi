"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from . import datasets as datasets
from . import preprocessing as preprocessing
__all__ = [
    "datasets", "preprocessing",
]
