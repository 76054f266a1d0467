"""Contents of containers: how those of each built-in class are copied, put back and compared.

None of it calls what a subclass of the user's defines.
"""

from __future__ import annotations

import array
import collections
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple


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
    number: int = native_class(holder).__len__(holder)
    return number


def each(holder: Any) -> Iterator[Any]:
    """The members, of a dict the keys."""
    members: Iterator[Any] = native_class(holder).__iter__(holder)
    return members


def pairs(holder: Any) -> tuple[Any, ...]:
    """The keys of a dict in its order, and then its values."""
    kind = native_class(holder)
    return (*kind.keys(holder), *kind.values(holder))


def same_members(a: Any, b: Any) -> bool:
    """Whether two copies of contents hold the same objects in the same order."""
    parts = [(*x.keys(), *x.values()) if isinstance(x, dict) else tuple(x) for x in (a, b)]
    return len(parts[0]) == len(parts[1]) and all(x is y for x, y in zip(*parts, strict=True))
