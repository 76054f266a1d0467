"""Rewrite rules: data by which the compiler simplifies graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.tables import record


@record()
class RewriteRule:
    """`ops`: the names of the ops over real numbers that it applies to (empty: all); `identity`: the equation that it states.

    `apply(node, *inputs)` gets a node of the new graph with symbols of its operands, and returns the symbol that may
    replace it, or None.
    """

    name: str
    identity: str
    ops: tuple[str, ...]
    apply: Callable[..., Any]
