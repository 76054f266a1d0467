"""Tools around training: `utils.data`, `utils.checkpoint`, `utils.tensorboard`, `utils.benchmark`."""

from ..lookup.modules import refusing
from . import benchmark, checkpoint, data, tensorboard

__all__ = ["benchmark", "checkpoint", "data", "tensorboard"]

__getattr__ = refusing("staticgrad.utils", __all__)
