"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""
from .namespaces.backends import *  # noqa: F403
from .namespaces.backends import __all__ as __all__
