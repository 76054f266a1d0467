"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""
from ..namespaces.functional.checks import *  # noqa: F403
