"""What modules enter in tables and classes of the package when something of theirs is first asked for.

`import staticgrad` imports what most programs need. Of the other modules it has the names, as data: a table of names leads to
the module, which is imported at the first use of one.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
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
