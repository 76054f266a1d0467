"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from .platform import DEBUG as DEBUG
from .platform import ERROR as ERROR
from .platform import FATAL as FATAL
from .platform import INFO as INFO
from .platform import TaskLevelStatusMessage as TaskLevelStatusMessage
from .platform import WARN as WARN
from .platform import debug as debug
from .platform import error as error
from .platform import fatal as fatal
from .platform import flush as flush
from .platform import get_logger as get_logger
from .platform import get_verbosity as get_verbosity
from .platform import info as info
from .platform import log as log
from .platform import log_every_n as log_every_n
from .platform import log_first_n as log_first_n
from .platform import log_if as log_if
from .platform import set_verbosity as set_verbosity
from .platform import vlog as vlog
from .platform import warn as warn
from .platform import warning as warning
__all__ = [
    "DEBUG", "ERROR", "FATAL", "INFO", "TaskLevelStatusMessage", "WARN", "debug", "error", "fatal", "flush", "get_logger",
    "get_verbosity", "info", "log", "log_every_n", "log_first_n", "log_if", "set_verbosity", "vlog", "warn", "warning",
]
