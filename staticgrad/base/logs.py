"""The logger "staticgrad": traces and their reasons, kernels and where they come from, warnings.

`logging.basicConfig(level=logging.INFO)` shows them. The standard library's `logging` takes milliseconds to import, so that is
left to the program: until it has, nobody can have asked for events.
"""

from __future__ import annotations

import functools
import sys
import warnings
from typing import TYPE_CHECKING, Any

from ..errors import user_line

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


def warn(text: str, stacklevel: int | None = None) -> None:
    """A RuntimeWarning at the line of a caller, that of the user where no level is given; the logger gets it, too."""
    logger().warning(text)
    line = user_line() if stacklevel is None else None
    if line is not None:
        warnings.warn_explicit(text, RuntimeWarning, line.file, line.line)
    else:
        warnings.warn(text, RuntimeWarning, stacklevel=1 + (stacklevel or 1))
