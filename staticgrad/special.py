"""`sg.special`: PyTorch's special functions. Those that SciPy computes run on the host.

They are made in `ops/`, beside their records; `special.pyi` tells type checkers and editors what this module has.
"""

from __future__ import annotations

from . import ops
from .base.module_paths import refusing
from .operators import SPECIAL

assert ops is not None, "importing the records enters the functions"

globals().update(SPECIAL)
__all__ = sorted(SPECIAL)

__getattr__ = refusing(__name__, __all__)
