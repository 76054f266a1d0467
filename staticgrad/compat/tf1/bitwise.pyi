"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from .math import invert as invert
from typing import Any
bitwise_and: Any
bitwise_or: Any
bitwise_xor: Any
left_shift: Any
right_shift: Any
__all__ = [
    "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift",
]
