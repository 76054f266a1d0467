"""Any nesting of state in a file, and back: `sg.save` and `sg.load`."""

from .files import load, save

__all__ = ["load", "save"]
