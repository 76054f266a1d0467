"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""
from ..interchange.serialization.safetensors import *  # noqa: F403
from ..interchange.serialization.safetensors import __all__ as __all__
