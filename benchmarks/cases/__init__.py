"""The cases; importing this registers them."""

from . import digits

__all__ = ["digits"]
