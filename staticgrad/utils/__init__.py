"""Tools around training: `utils.data`, `utils.checkpoint`."""

from . import checkpoint, data

__all__ = ["checkpoint", "data"]
