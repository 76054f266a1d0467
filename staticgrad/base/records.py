"""Dataclasses that cost next to nothing at import."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

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
