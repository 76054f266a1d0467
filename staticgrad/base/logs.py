"""The logger "staticgrad": traces and their reasons, kernels and where they come from, warnings.

`logging.basicConfig(level=logging.INFO)` shows them. The standard library's `logging` takes milliseconds to import, so that is
left to the program: until it has, nobody can have asked for events.
"""

from __future__ import annotations

import functools
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging


@functools.cache
def logger() -> logging.Logger:
    """The logger. It has a handler that drops records, because warnings reach the user by `warnings`, too."""
    import logging

    made = logging.getLogger("staticgrad")
    made.addHandler(logging.NullHandler())
    return made


def info(text: str, *args: Any) -> None:
    """Tell of an event, such as a trace."""
    if "logging" in sys.modules:
        logger().info(text, *args)


def debug(text: str, *args: Any) -> None:
    """Tell of a detail, such as a kernel."""
    if "logging" in sys.modules:
        logger().debug(text, *args)


def warn(text: str, stacklevel: int) -> None:
    """A RuntimeWarning at the line of a caller, which the logger gets, too."""
    logger().warning(text)
    warnings.warn(text, RuntimeWarning, stacklevel=stacklevel + 1)
