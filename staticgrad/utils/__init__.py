"""Tools around training: `utils.data`, `utils.checkpoint`, `utils.tensorboard`."""

from . import checkpoint, data, tensorboard

__all__ = ["checkpoint", "data", "tensorboard"]
