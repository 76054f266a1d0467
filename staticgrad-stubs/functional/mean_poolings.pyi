"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""
from ..namespaces.functional.mean_poolings import *  # noqa: F403
from ..namespaces.functional.mean_poolings import __all__ as __all__
