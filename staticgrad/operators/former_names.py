"""Names from before PyTorch 0.4. They work, and a warning at the user's line says how the same is written today."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from ..errors import PACKAGE_DIR


def warn_former(text: str, category: type[Warning] = FutureWarning) -> None:
    """Warn at the innermost line outside of this package."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE_DIR):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(text, category, stacklevel=depth)


def retained(retain_graph: bool | None, retain_variables: bool | None) -> bool | None:
    """`retain_graph` of a call that may give it under its former name."""
    if retain_variables is None:
        return retain_graph
    warn_former("`retain_variables` is deprecated. Use `retain_graph` instead.")
    return retain_variables if retain_graph is None else retain_graph


class FormerNode:
    """What nodes of the tape had."""

    __slots__ = ()

    @property
    def previous_functions(self: Any) -> tuple[tuple[Any, int], ...]:
        """The former name of `next_functions`."""
        warn_former("`previous_functions` is deprecated. Use `next_functions` instead.")
        found: tuple[tuple[Any, int], ...] = self.next_functions
        return found
