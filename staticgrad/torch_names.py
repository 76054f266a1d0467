"""The public functions of tensors, under the names that their definitions in `ops/` and `eager/` enter.

`torch_names.pyi` tells type checkers and editors the same; `python -m tools.stubs` writes it. All of them take eager tensors,
symbols, arrays and numbers.
"""

from __future__ import annotations

from .eager import Tensor
from .operators import F

assert Tensor is not None, "importing the eager front end enters the functions that draw"

globals().update(vars(F))
__all__ = sorted(vars(F))
