"""The logger "staticgrad": new plans and what is removed from the cache at INFO, each kernel at DEBUG, warnings at WARNING.

Nothing is shown unless the program asks for it: `logging.basicConfig(level=logging.INFO)`, or for this package alone
`logging.getLogger("staticgrad").setLevel(logging.DEBUG)`. Warnings go to `warnings` as well, which Python shows by itself.
"""

from __future__ import annotations

import logging
import warnings

logger = logging.getLogger("staticgrad")
logger.addHandler(logging.NullHandler())


def warn(text: str, stacklevel: int) -> None:
    """A RuntimeWarning, which is logged too. stacklevel: as for `warnings.warn`, counted from here."""
    logger.warning("%s", text)
    warnings.warn(text, RuntimeWarning, stacklevel=stacklevel)
