"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from ..estimator.core import numpy_input_fn as numpy_input_fn
from ..estimator.core import pandas_input_fn as pandas_input_fn
__all__ = [
    "numpy_input_fn", "pandas_input_fn",
]
