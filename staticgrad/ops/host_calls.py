"""Python functions that look at values in the middle of a plan: to print or to check them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ir import Attribute, OpDef, define
from .rules import keep


def nothing(*arrays: np.ndarray) -> None:
    """For an operand that is there to be computed before the result."""


def _watched(x: np.ndarray, *others: np.ndarray, call: Callable[..., None]) -> np.ndarray:
    call(*others)
    return x


watch_op: OpDef = define(
    OpDef(
        name="watch",
        attrs={"call": Attribute("a function of arrays", lambda value, types: callable(value))},
        infer=lambda x, *others, call: x,
        eval=_watched,
        vjp=lambda i: (lambda g, node, out, x, *others: g) if i == 0 else None,
        promote=keep,
        stateful=True,
        doc="The first operand, after a call of a Python function with the values of the others.",
    )
)
