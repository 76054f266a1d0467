"""The logger "staticgrad": traces and plans at INFO, each kernel at DEBUG, warnings at WARNING.

Nothing is shown unless the program asks for it: `logging.basicConfig(level=logging.INFO)`, or for this package alone
`logging.getLogger("staticgrad").setLevel(logging.DEBUG)`. Warnings are `warnings.warn`'s as well, which Python shows by itself.
"""

from __future__ import annotations

import logging

logger = logging.getLogger("staticgrad")
logger.addHandler(logging.NullHandler())
