"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""
from ..namespaces.autograd.grad_mode import *  # noqa: F403
from ..namespaces.autograd.grad_mode import __all__ as __all__
