"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""
from ...namespaces.utils.tensorboard.writer import *  # noqa: F403
