"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from .platform import DEFINE_bool as DEFINE_bool
from .platform import DEFINE_boolean as DEFINE_boolean
from .platform import DEFINE_float as DEFINE_float
from .platform import DEFINE_integer as DEFINE_integer
from .platform import DEFINE_string as DEFINE_string
from .platform import FLAGS as FLAGS
from .platform import Flags as Flags
__all__ = [
    "DEFINE_bool", "DEFINE_boolean", "DEFINE_float", "DEFINE_integer", "DEFINE_string", "FLAGS", "Flags",
]
