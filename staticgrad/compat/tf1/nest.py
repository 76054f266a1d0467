"""`tf.nest`: nests of lists, tuples, named tuples and dicts, whose items are taken in the order of their keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .core import Container, pytree


def _rule(value: Any) -> Container | None:
    if isinstance(value, Mapping):
        keys = tuple(sorted(value))
        return Container(_mapping, value, keys, [value[key] for key in keys])
    if isinstance(value, (list, tuple)):
        return Container(pytree.sequence, type(value), None, value)
    return None


def _mapping(like: Any, keys: Any, items: list[Any]) -> Any:
    """A mapping of the class and in the order of another one."""
    found = dict(zip(keys, items, strict=True))
    return type(like)((key, found[key]) for key in like)


def is_nested(seq: Any) -> bool:
    """Whether it is a list, tuple or mapping."""
    return _rule(seq) is not None


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves in their order; of a mapping, in the order of its keys."""
    return list(pytree.flatten(structure, _rule)[0])


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """A nest like `structure` with other leaves. Raises ValueError for another number of them."""
    leaves, made = pytree.flatten(structure, _rule)
    given = list(flat_sequence)
    if len(given) != len(leaves):
        raise ValueError(
            f"Could not pack sequence. Structure had {len(leaves)} atoms, but flat_sequence had {len(given)} items. "
            f"Structure: {structure}, flat_sequence: {given}."
        )
    return pytree.unflatten(made, given)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Raises ValueError for two nests of different forms, and TypeError for different classes unless check_types is False."""
    error = _difference(nest1, nest2, check_types)
    if error is not None:
        raise type(error)(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: type={type(nest1).__name__} str={nest1}\n\n"
            f"Second structure: type={type(nest2).__name__} str={nest2}\n\nMore specifically: {error}"
        )


def _difference(nest1: Any, nest2: Any, check_types: bool) -> ValueError | TypeError | None:
    """How two nests differ."""
    a, b = _rule(nest1), _rule(nest2)
    if a is None or b is None:
        return None if a is b else ValueError(f"{nest1} and {nest2} are a leaf and a nest")
    if len(a.items) != len(b.items):
        return ValueError(f"{nest1} and {nest2} have {len(a.items)} and {len(b.items)} items")
    if check_types and type(nest1) is not type(nest2):
        return TypeError(f"the first has type {type(nest1)}, and the second {type(nest2)}")
    if a.keys != b.keys:
        return ValueError(f"the mappings have the keys {a.keys} and {b.keys}")
    found = (_difference(one, other, check_types) for one, other in zip(a.items, b.items, strict=True))
    return next((error for error in found if error is not None), None)


def map_structure(func: Callable[..., Any], *structure: Any, check_types: bool = True, expand_composites: bool = False) -> Any:
    """A nest of `func` of the leaves of one or several nests of one form. Raises as `assert_same_structure` does."""
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*map(flatten, structure), strict=True)])
