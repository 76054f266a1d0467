"""`tf.app`: the start of a program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import flags as flags


def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> None:
    """Parse the flags, call `main` of the program with the arguments that are left, and exit with its result."""
    main = main if main is not None else sys.modules["__main__"].main
    sys.exit(main(flags.FLAGS.parse(sys.argv if argv is None else argv)))
