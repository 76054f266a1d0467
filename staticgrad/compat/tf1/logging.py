"""`tf.logging`: the logger "tensorflow" of the standard library."""

from __future__ import annotations

import itertools
import logging
from typing import Any

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL
_logger = logging.getLogger("tensorflow")
debug, info, warn, warning, error, fatal = (
    _logger.debug, _logger.info, _logger.warning, _logger.warning, _logger.error, _logger.critical,
)  # fmt: skip
get_verbosity = _logger.getEffectiveLevel


def set_verbosity(v: int) -> None:
    """Messages below this level are dropped."""
    _logger.setLevel(v)


log = vlog = _logger.log
_counts: dict[str, Any] = {}
"""By the text of a message: how often it was asked for."""


def get_logger() -> logging.Logger:
    """The logger."""
    return _logger


def flush() -> None:
    """Accepted: records are written at once."""


def TaskLevelStatusMessage(msg: str) -> None:
    """Log an error."""
    _logger.error(msg)


def log_if(level: int, msg: str, condition: bool, *args: Any) -> None:
    """Log where the condition holds."""
    if condition:
        _logger.log(level, msg, *args)


def _count(msg: str) -> int:
    number: int = next(_counts.setdefault(msg, itertools.count()))
    return number


def log_every_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log at every n-th call with this message."""
    log_if(level, msg, _count(msg) % n == 0, *args)


def log_first_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log at the first n calls with this message."""
    log_if(level, msg, _count(msg) < n, *args)
