"""A table that keeps what was used last: for programs that have no end of shapes and numbers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar

Value = TypeVar("Value")


class Bounded(dict[Hashable, "Value | None"]):
    """`table[key]` is the value, or None where there is none. A key stays while fewer than `most` others were entered since it
    was last read; there are at most twice as many.

    Keys are in two generations. The younger one is this dict, so that reading it takes no longer than reading another dict.
    When it is full it becomes the older one, from which a key that is read returns.

    Examples:
        >>> table = Bounded(2)
        >>> for key in "abc":
        ...     table[key] = key.upper()
        ...     assert table["a"] == "A"
        >>> table["d"] = "D"
        >>> table["a"], table["b"]
        ('A', None)
    """

    __slots__ = ("most", "older")

    def __init__(self, most: int):
        self.most = most
        self.older: dict[Hashable, Value | None] = {}

    def __missing__(self, key: Hashable) -> Value | None:
        value = self.older.pop(key, None)
        if value is not None:
            self[key] = value
        return value

    def __setitem__(self, key: Hashable, value: Value | None) -> None:
        if len(self) >= self.most and key not in self:
            self.age()
        super().__setitem__(key, value)

    def age(self) -> None:
        """Make the younger generation the older one, whose keys are gone."""
        self.older = dict(self)
        super().clear()

    def forget(self, key: Hashable) -> None:
        """Let go of a value, if there is one."""
        super().pop(key, None)
        self.older.pop(key, None)

    def clear(self) -> None:
        """Let go of all values."""
        super().clear()
        self.older.clear()

    def everything(self) -> dict[Hashable, Any]:
        """All keys with their values, as a dict of its own."""
        return {**self.older, **self}
