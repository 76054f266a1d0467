"""Any nesting of state in a file, and back: `sg.save` and `sg.load`."""

from ..namespaces.modules import refusing
from .files import load, save

__all__ = ["load", "save"]
SAFE = "add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"
__getattr__ = refusing(__name__, __all__, lazy=dict.fromkeys(SAFE, "staticgrad.serialization.torch_archive"))
