"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""
from ..namespaces.functional.normalization import *  # noqa: F403
from ..namespaces.functional.normalization import __all__ as __all__
