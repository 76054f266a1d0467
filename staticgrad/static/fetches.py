"""The structure of fetches: flattened into tensors, and rebuilt around their values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ..errors import FeedError
from ..operators import Symbol
from ..ops import pytree
from ..ops.pytree import LEAF, Container, Structure, unflatten


def flatten(fetches: Any, leaves: list[Any]) -> Structure:
    """Append the leaves of `fetches` to `leaves`, in order; return the structure around them.

    As in TensorFlow 1, tuples, named tuples, attrs classes and mappings come back as what they are, subclasses of list as
    lists. None is a leaf, which is no tensor.
    """
    found, structure = pytree.flatten(fetches, _container)
    leaves += found
    return structure


def _container(fetches: Any) -> Container | None:
    if isinstance(fetches, Symbol):  # most are: no further question
        return None
    if isinstance(fetches, tuple):
        return Container(_tuple, type(fetches), None, fetches)
    if isinstance(fetches, list):
        return Container(_list, list, None, fetches)
    if isinstance(fetches, Mapping):
        factory = fetches.default_factory if isinstance(fetches, defaultdict) else None
        return Container(_mapping, (type(fetches), factory), tuple(fetches), [*fetches.values()])
    if hasattr(type(fetches), "fetched_as"):  # a tensor of several parts
        return _container(fetches.fetched_as())
    if hasattr(type(fetches), "__attrs_attrs__"):
        return Container(_attrs, type(fetches), None, [getattr(fetches, a.name) for a in type(fetches).__attrs_attrs__])
    return None


def _tuple(like: Any, keys: Any, items: list[Any]) -> Any:
    return like(*items) if hasattr(like, "_fields") else tuple(items)


def _list(like: Any, keys: Any, items: list[Any]) -> Any:
    return items


def _mapping(like: Any, keys: Any, items: list[Any]) -> Any:
    kind, factory = like
    make = partial(kind, factory) if issubclass(kind, defaultdict) else kind
    return make(zip(keys, items, strict=True))


def _attrs(like: Any, keys: Any, items: list[Any]) -> Any:
    return like(*items)


def is_flat(structure: Any) -> bool:
    """A single leaf, or one list or tuple of leaves."""
    return structure is LEAF or (structure.keys is None and all(item is LEAF for item in structure.items))


def rebuilder(structure: Any) -> Callable[[list[Any]], Any]:
    """The function that puts a list of values into the structure."""
    if structure is LEAF:
        return _only
    if is_flat(structure) and structure.like is list:
        return _values
    if is_flat(structure) and structure.like is tuple:
        return tuple
    return partial(unflatten, structure)


def _only(values: list[Any]) -> Any:
    return values[0]


def _values(values: list[Any]) -> Any:
    return values


class FedInParts:
    """A step for a feed dict some of whose keys are nests of tensors, or tensors of several parts: called with one value, of
    the same nesting, for each key."""

    def __init__(self, step: Any, structures: Sequence[Structure]):
        self.step, self.structures = step, structures

    def _values(self, values: Iterable[Any]) -> list[Any]:
        return [part for value, like in zip(values, self.structures, strict=True) for part in _parts(value, like)]

    def __call__(self, values: Iterable[Any]) -> Any:
        return self.step(self._values(values))

    def plan(self, values: Iterable[Any]) -> Any:
        return self.step.plan(self._values(values))


def _parts(value: Any, structure: Any) -> list[Any]:
    """The values of a key's tensors."""
    if structure is LEAF:
        return [value]
    items = list(value)
    if len(items) != len(structure.items):
        raise FeedError(f"a key of {len(structure.items)} parts is fed a value of {len(items)}")
    return [part for item, like in zip(items, structure.items, strict=True) for part in _parts(item, like)]


def in_parts(keys: Sequence[Any]) -> tuple[tuple[Any, ...], list[Structure]] | None:
    """The tensors of a feed dict's keys, and the structure of each key; None where each key is one tensor."""
    if not any(isinstance(key, tuple) or hasattr(type(key), "fetched_as") for key in keys):
        return None
    leaves: list[Any] = []
    structures = [flatten(key, leaves) for key in keys]
    return tuple(leaves), structures
