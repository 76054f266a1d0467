"""`tf.flags`: options of the command line, through argparse."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
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
