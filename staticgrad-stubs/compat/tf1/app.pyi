"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from .platform import FLAG_NAMES as flags
from .platform import run as run
__all__ = [
    "flags", "run",
]
