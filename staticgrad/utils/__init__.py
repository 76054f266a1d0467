"""Tools around training: `utils.data`."""

from . import data

__all__ = ["data"]
