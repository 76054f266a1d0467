"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""
from ..interchange.numba_ops import *  # noqa: F403
from ..interchange.numba_ops import __all__ as __all__
