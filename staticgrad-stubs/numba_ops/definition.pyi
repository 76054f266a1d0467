"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""
from ..interchange.numba_ops.definition import *  # noqa: F403
