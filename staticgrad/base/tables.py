"""Tables of names that lead to modules, and of what was used last.

`import staticgrad` imports what most programs need. Of the other modules it has the names, as data: a table of names leads to
the module, which is imported at the first use of one. What modules enter in classes waits in the same way."""

from __future__ import annotations

from collections.abc import Callable, Hashable, ItemsView, Iterator, KeysView, ValuesView
from typing import Any, TypeVar

from .signals import module

Value = TypeVar("Value")


class LateTable(dict[str, Value]):
    """A dict. late: of names that are not entered yet, the modules that enter them when they are imported."""

    __slots__ = ("late",)

    def __init__(self) -> None:
        super().__init__()
        self.late: dict[str, str] = {}

    def __missing__(self, name: str) -> Value:
        if not self._enters(name):
            raise KeyError(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or self._enters(name)

    def get(self, name: str, default: Any = None) -> Any:
        found = super().get(name, default)
        return super().get(name, default) if found is default and self._enters(name) else found

    def _enters(self, name: Any) -> bool:
        """Whether a name is entered once its module is imported; while that is being imported, nothing happens."""
        place = self.late.get(name)
        if place is None:
            return False
        module(place)
        return super().__contains__(name)

    def entered(self) -> dict[str, Value]:
        """What is entered by now."""
        return dict(zip(super().keys(), super().values(), strict=True))

    def complete(self) -> None:
        """Import all of these modules."""
        for place in {*self.late.values()}:
            module(place)

    def __iter__(self) -> Iterator[str]:
        self.complete()
        return super().__iter__()

    def __len__(self) -> int:
        self.complete()
        return super().__len__()

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        self.complete()
        return super().keys()

    def values(self) -> ValuesView[Value]:  # type: ignore[override]
        self.complete()
        return super().values()

    def items(self) -> ItemsView[str, Value]:  # type: ignore[override]
        self.complete()
        return super().items()


class LateMethod:
    """A class attribute in place of a method, which takes its place when it is first asked for. make: gives the method, and may
    itself have replaced this object."""

    __slots__ = ("make", "name")

    def __init__(self, name: str, make: Callable[[str], Any]):
        self.name, self.make = name, make

    def __get__(self, instance: Any, owner: type) -> Any:
        method = self.make(self.name)
        for kind in owner.__mro__:
            if vars(kind).get(self.name) is self:
                setattr(kind, self.name, method)
        return method.__get__(instance, owner)


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
