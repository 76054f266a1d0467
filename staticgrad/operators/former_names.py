"""Names from before PyTorch 0.4. They work, and a warning at the user's line says how the same is written today."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from ..base.types import is_scalar
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


FORMER_ORDERS = {
    "add": ("alpha",), "sub": ("alpha",), "addcmul": ("value",), "addcdiv": ("value",),
    **dict.fromkeys(("addmm", "addmv", "addr", "addbmm", "baddbmm"), ("beta", "alpha")),
}  # fmt: skip
"""Functions that took their numbers by position, and the names that these have today: `addmm(beta, M, alpha, a, b)`."""


def in_former_order(name: str, args: tuple[Any, ...], tensors: int) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """A call with numbers among the positional arguments as today's, with PyTorch's warning. None for any other call. tensors:
    how many the function takes."""
    words, places = FORMER_ORDERS[name], [i for i, a in enumerate(args) if is_scalar(a)]
    if not 0 < len(places) <= len(words) or len(args) != tensors + len(places) or places[-1] > len(places):
        return None
    if len(words) == 1 and places != [1]:
        return None
    numbers = [args[i] for i in places]
    named = dict(zip(words, numbers, strict=False))
    today = ", ".join(["Tensor"] * tensors + [f"{word}=number" for word in named])
    warn_former(f"This overload of {name} is deprecated:\n\tConsider using {name}({today}) instead", UserWarning)
    return tuple([a for a in args if not is_scalar(a)]), named


class FormerNode:
    """What nodes of the tape had."""

    __slots__ = ()

    @property
    def previous_functions(self: Any) -> tuple[tuple[Any, int], ...]:
        """The former name of `next_functions`."""
        warn_former("`previous_functions` is deprecated. Use `next_functions` instead.")
        return self.next_functions
