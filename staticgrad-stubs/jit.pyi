"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""
from .namespaces.jit import *  # noqa: F403
from .namespaces.jit import __all__ as __all__
