"""Values that guards compare, and contents of containers: how those of each built-in class are copied, put back and compared.

None of it calls what a subclass of the user's defines.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.dtypes import ANY_DTYPE

# equality of guarded values: immutable ones by type and value, all others by identity --------------------------------

ATOMS = (bool, int, str, bytes, type(None), type(...), type(NotImplemented))
PRINTED = (datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, fractions.Fraction, pathlib.PurePath)
"""Immutable values of the standard library that are compared by type and text."""


class ByIdentity:
    """An object by its identity, whatever its `__eq__` says."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


def key(value: Any) -> Hashable:
    """A key that is equal for values that no program can tell apart except by `is`. 1, 1.0 and True have three keys, 0.0 and
    -0.0 two, and nan has one. Mutable objects are `ByIdentity`."""
    kind = type(value)
    if kind in ATOMS:
        return kind, value
    if kind in (float, complex):
        return kind, repr(value)
    if issubclass(kind, np.generic):  # by the type: `isinstance` asks for `value.__class__`, which may be the user's code
        return kind, value.dtype, value.tobytes()
    if issubclass(kind, ANY_DTYPE):
        return np.dtype, str(value), value
    if kind is tuple or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return kind, *map(key, value)
    if kind is frozenset:
        return kind, frozenset(map(key, value))
    if kind in (slice, range):
        return kind, key(value.start), key(value.stop), key(value.step)
    if issubclass(kind, enum.Enum):
        return ByIdentity(value)
    if kind in PRINTED or (kind.__module__ in ("datetime", "pathlib", "pathlib._local") and issubclass(kind, PRINTED)):
        return kind, repr(value)
    if _is_frozen(kind):
        names = [field.name for field in dataclasses.fields(kind)]
        if getattr(value, "__dict__", names).__len__() == len(names) and all(hasattr(value, name) for name in names):
            return kind, *(key(getattr(value, name)) for name in names)
    return ByIdentity(value)


def _is_frozen(kind: type) -> bool:
    """Whether a class is a frozen dataclass, without its metaclass."""
    try:
        frozen: bool = type.__getattribute__(kind, "__dataclass_params__").frozen
    except AttributeError:
        return False
    return frozen


def text_of(value: Any) -> str:
    """A value in labels, without calling a `__repr__` of the user's."""
    kind = type(value)
    if kind is tuple:
        return f"({', '.join(map(text_of, value))}{',' if len(value) == 1 else ''})"
    return repr(value) if kind in (*ATOMS, float, complex, slice, range) else f"a {kind.__name__}"


def same(old: Any, now: Any) -> bool:
    """Whether two values are one object, or can't be told apart."""
    return now is old or (type(now) is type(old) and key(now) == key(old))


# kinds of containers -------------------------------------------------------------------------------------------------


class Contents(NamedTuple):
    """How the contents of a kind of container are copied, in its order, and put back."""

    copy: Callable[[Any], Any]
    refill: Callable[[Any, Any], None]


def _refill_ordered(holder: Any, contents: Mapping[Any, Any]) -> None:
    collections.OrderedDict.clear(holder)
    for key, value in contents.items():
        collections.OrderedDict.__setitem__(holder, key, value)


def _refill_dict(holder: Any, contents: Mapping[Any, Any]) -> None:
    dict.clear(holder)
    dict.update(holder, contents)


def _refill_set(holder: Any, contents: Sequence[Any]) -> None:
    """The order of a set follows from its history: what stays in it stays in its place."""
    set.intersection_update(holder, contents)
    set.update(holder, contents)
    if not same_members(snapshot(holder), contents):
        set.clear(holder)
        set.update(holder, contents)


def _refill_deque(holder: Any, contents: Sequence[Any]) -> None:
    collections.deque.clear(holder)
    collections.deque.extend(holder, contents)


CONTENTS: dict[type, Contents] = {
    collections.OrderedDict: Contents(
        lambda x: {key: dict.__getitem__(x, key) for key in collections.OrderedDict.__iter__(x)}, _refill_ordered
    ),
    dict: Contents(dict.copy, _refill_dict),
    list: Contents(list.copy, lambda x, contents: list.__setitem__(x, slice(None), contents)),
    set: Contents(lambda x: tuple(set.__iter__(x)), _refill_set),
    collections.deque: Contents(lambda x: tuple(collections.deque.__iter__(x)), _refill_deque),
    bytearray: Contents(bytes, lambda x, contents: bytearray.__setitem__(x, slice(None), contents)),
    array.array: Contents(lambda x: x[:], lambda x, contents: x.__setitem__(slice(None), contents)),
}
"""By built-in class, a derived one before its base."""


def snapshot(holder: Any) -> Any:
    """A copy of the contents of a container."""
    return CONTENTS[native_class(holder)].copy(holder)


def refill(holder: Any, contents: Any) -> None:
    """Put contents back."""
    CONTENTS[native_class(holder)].refill(holder, contents)


def native_class(holder: Any) -> Any:
    """The built-in class that keeps a container's contents; its own class where none of those known does."""
    return next((kind for kind in CONTENTS if issubclass(type(holder), kind)), type(holder))


def blank(like: Any) -> Any:
    """An empty container of the same class."""
    made = native_class(like).__new__(type(like), *([like.typecode] if isinstance(like, array.array) else ()))
    if isinstance(like, collections.deque):
        collections.deque.__init__(made, (), like.maxlen)
    if isinstance(like, collections.defaultdict):
        made.default_factory = like.default_factory
    return made


def size(holder: Any) -> int:
    """The number of members."""
    return native_class(holder).__len__(holder)


def each(holder: Any) -> Iterator[Any]:
    """The members, of a dict the keys."""
    return native_class(holder).__iter__(holder)


def pairs(holder: Any) -> tuple[Any, ...]:
    """The keys of a dict in its order, and then its values."""
    kind = native_class(holder)
    return (*kind.keys(holder), *kind.values(holder))


def same_members(a: Any, b: Any) -> bool:
    """Whether two copies of contents hold the same objects in the same order."""
    parts = [(*x.keys(), *x.values()) if isinstance(x, dict) else tuple(x) for x in (a, b)]
    return len(parts[0]) == len(parts[1]) and all(x is y for x, y in zip(*parts, strict=True))
