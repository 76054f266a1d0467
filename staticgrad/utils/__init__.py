"""Tools around training: `utils.data`, `utils.checkpoint`, `utils.tensorboard`, `utils.benchmark`."""

from . import benchmark, checkpoint, data, tensorboard

__all__ = ["benchmark", "checkpoint", "data", "tensorboard"]
