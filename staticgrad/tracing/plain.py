"""Equality of guarded values: immutable ones by type and value, all others by identity."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
from collections.abc import Hashable
from typing import Any

import numpy as np

from ..base.dtypes import ANY_DTYPE

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
        return kind, value.dtype.str, value.tobytes()
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
