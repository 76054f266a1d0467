"""`tf.flags`, `tf.app` and `tf.logging`: options of the command line through argparse, the start of a program, and the logger
"tensorflow" of the standard library."""

from __future__ import annotations

import argparse
import itertools
import logging
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class Flags:
    """The values of the flags as attributes, parsed when the first one is read."""

    def __init__(self) -> None:
        self.__dict__["_parser"] = argparse.ArgumentParser(allow_abbrev=False)
        self.__dict__["_values"] = None

    def define(self, name: str, default: Any, help: str | None, type_: Any) -> None:
        self._parser.add_argument(f"--{name}", default=default, help=help, type=type_)
        self.__dict__["_values"] = None

    def parse(self, argv: list[str]) -> list[str]:
        """Read the flags; returns the program's name and the arguments that are no flags."""
        self.__dict__["_values"], rest = self._parser.parse_known_args(argv[1:])
        return [argv[0], *rest]

    def __getattr__(self, name: str) -> Any:
        if self._values is None:
            self.parse(sys.argv)
        return getattr(self._values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._values is None:
            self.parse(sys.argv)
        setattr(self._values, name, value)


FLAGS = Flags()


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0", "t", "f"):
        raise argparse.ArgumentTypeError(f"not a boolean: {text}")
    return text.lower() in ("true", "1", "t")


def _define(name: str, type_: Any) -> Callable[[str, Any, str | None], None]:
    def define(name: str, default: Any, help: str | None) -> None:
        FLAGS.define(name, default, help, type_)

    define.__name__ = name
    return define


DEFINE_string, DEFINE_integer = _define("DEFINE_string", str), _define("DEFINE_integer", int)
DEFINE_float, DEFINE_boolean = _define("DEFINE_float", float), _define("DEFINE_boolean", _boolean)
DEFINE_bool = DEFINE_boolean
FLAG_NAMES = SimpleNamespace(
    FLAGS=FLAGS, DEFINE_string=DEFINE_string, DEFINE_integer=DEFINE_integer, DEFINE_float=DEFINE_float,
    DEFINE_boolean=DEFINE_boolean, DEFINE_bool=DEFINE_bool,
)  # fmt: skip
"""`tf.app.flags`."""


def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> None:
    """Parse the flags, call `main` of the program with the arguments that are left, and exit with its result."""
    main = main if main is not None else sys.modules["__main__"].main
    sys.exit(main(FLAGS.parse(sys.argv if argv is None else argv)))


# log entries ----------------------------------------------------------------------------------------------------------

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
    return next(_counts.setdefault(msg, itertools.count()))


def log_every_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log at every n-th call with this message."""
    log_if(level, msg, _count(msg) % n == 0, *args)


def log_first_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log at the first n calls with this message."""
    log_if(level, msg, _count(msg) < n, *args)
