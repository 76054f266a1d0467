"""The structure of what is fetched: taken apart into tensors, and put together again around their values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from typing import Any

from ..operators import Symbol


def flatten(fetches: Any, leaves: list[Any]) -> Hashable:
    """Append what is not a list, tuple (named or not) or mapping to `leaves`, in order; return the structure around it.

    A structure is None for a leaf, else (class, structures of the items); for a mapping (class, structures, keys, what
    makes the items of a defaultdict). As in TensorFlow 1, tuples, named tuples, attrs classes and mappings come back as what
    they are, subclasses of list as lists.
    """
    if isinstance(fetches, Symbol):  # most are: no further question
        leaves.append(fetches)
        return None
    if isinstance(fetches, tuple):
        return type(fetches), tuple(flatten(item, leaves) for item in fetches)
    if isinstance(fetches, list):
        return list, tuple(flatten(item, leaves) for item in fetches)
    if isinstance(fetches, Mapping):
        made = fetches.default_factory if isinstance(fetches, defaultdict) else None
        return type(fetches), tuple(flatten(item, leaves) for item in fetches.values()), tuple(fetches), made
    if hasattr(type(fetches), "__attrs_attrs__"):
        return type(fetches), tuple(flatten(getattr(fetches, a.name), leaves) for a in type(fetches).__attrs_attrs__)
    leaves.append(fetches)
    return None


def is_flat(structure: Any) -> bool:
    """A single leaf, or one list or tuple of leaves."""
    return structure is None or (len(structure) == 2 and not any(structure[1]))


def rebuilder(structure: Any) -> Callable[[list[Any]], Any]:
    """The function that puts a list of values into the structure."""
    if structure is None:
        return _only
    if is_flat(structure) and structure[0] is list:
        return _same
    if is_flat(structure) and structure[0] is tuple:
        return tuple
    return lambda values: _rebuild(structure, iter(values))


def _only(values: list[Any]) -> Any:
    return values[0]


def _same(values: list[Any]) -> Any:
    return values


def _rebuild(structure: Any, values: Iterator[Any]) -> Any:
    if structure is None:
        return next(values)
    cls, items, *keys = structure
    parts = [_rebuild(item, values) for item in items]
    if keys:
        make = partial(cls, keys[1]) if issubclass(cls, defaultdict) else cls
        return make(zip(keys[0], parts, strict=True))
    if cls is list:
        return parts
    return cls(*parts) if hasattr(cls, "_fields") or hasattr(cls, "__attrs_attrs__") else tuple(parts)
