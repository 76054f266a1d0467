"""Small data structures that everything else is made of: dataclasses, tables of names whose modules wait, tables of recent
values.

`import staticgrad` imports only the modules that most programs need. It knows the others by tables from names to modules
(`LateTable`), and imports one at the first use of a name:

    table.late["svd"] = "staticgrad.ops.linear_algebra.decompositions"
    table["svd"]  # imports that module, which enters itself
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, ItemsView, Iterator, KeysView, Sequence, ValuesView
from dataclasses import MISSING
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

from .interpreter import module

# dataclasses that cost next to nothing at import ----------------------------------------------------------------------

Class = TypeVar("Class", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(*, eq: bool = True, frozen: bool = True) -> Callable[[Class], Class]:
    """`dataclass(frozen=frozen, slots=True, eq=eq)`, whose methods are closures.

    `dataclass` compiles the text of each method: 0.5 to 1 ms a class in CPython 3.11, of which `import staticgrad` has dozens.
    """

    def make(cls: Class) -> Class:
        vars_of = {name: value for name, value in vars(cls).items() if callable(value)}
        made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
        fields = dataclasses.fields(made)
        methods: dict[str, Any] = {
            "__init__": _init(made, fields), "__repr__": _repr(fields), "__getstate__": _getstate, "__setstate__": _setstate,
        }  # fmt: skip
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
        if eq:
            methods["__eq__"], methods["__hash__"] = _comparison(fields)
        for name, method in methods.items():
            if name not in vars_of:
                setattr(made, name, method)
        return made

    return make


def _init(cls: type, fields: Sequence[dataclasses.Field[Any]]) -> Callable[..., None]:
    places = {field.name: place for place, field in enumerate(field for field in fields if field.init)}
    puts = [getattr(cls, name).__set__ for name in places]
    defaults = [field.default for field in fields if field.init]
    factories = [(places[f.name], f.default_factory) for f in fields if f.default_factory is not MISSING]
    others = [(getattr(cls, f.name).__set__, f.default) for f in fields if not f.init and f.default is not MISSING]
    needed = [f.name for f in fields if f.init and f.default is MISSING and f.default_factory is MISSING]
    named_ones = [frozenset(needed[i:]) for i in range(len(places) + 1)]
    """The arguments that have to be given by name, by the number of those that come by position."""
    then = getattr(cls, "__post_init__", None)

    def __init__(self: Any, *values: Any, **named: Any) -> None:
        row = defaults.copy()
        row[: len(values)] = values
        for name, value in named.items():
            if places.get(name, -1) < len(values):
                raise TypeError(f"{cls.__name__}() got an unexpected argument {name!r}")
            row[places[name]] = value
        for place, factory in factories:
            if row[place] is MISSING:
                row[place] = factory()
        if len(row) > len(puts) or not named.keys() >= named_ones[len(values)]:
            raise TypeError(f"{cls.__name__}() takes {', '.join(places)}; got {len(values)} values and {', '.join(named)}")
        for put, value in zip(puts, row, strict=True):
            put(self, value)
        for put, value in others:
            put(self, value)
        if then is not None:
            then(self)

    return __init__


def _repr(fields: Sequence[dataclasses.Field[Any]]) -> Callable[[Any], str]:
    shown = [field.name for field in fields if field.repr]

    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    return __repr__


def _comparison(fields: Sequence[dataclasses.Field[Any]]) -> tuple[Callable[[Any, Any], Any], Callable[[Any], int]]:
    compared = [field.name for field in fields if field.compare]
    values: Any = attrgetter(*compared) if compared else type

    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash((values(self),))

    return __eq__, __hash__


def _refuse(self: Any, name: str, value: Any = None) -> None:
    raise dataclasses.FrozenInstanceError(f"{type(self).__name__}.{name} does not change")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


# tables whose values wait for an import, and tables of what was used last ---------------------------------------------

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
