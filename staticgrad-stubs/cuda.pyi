"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""
from .namespaces.cuda import *  # noqa: F403
from .namespaces.cuda import __all__ as __all__
