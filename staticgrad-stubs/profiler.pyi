"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""
from .namespaces.profiler import *  # noqa: F403
from .namespaces.profiler import __all__ as __all__
