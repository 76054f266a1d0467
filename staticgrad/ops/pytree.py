"""Nested containers of tensors, taken apart into leaves and put together again.

A *rule* says which objects are containers: it gives the `Container` of an object, or None for a leaf. Loops and branches,
fetches of sessions, results of compiled functions and reports have rules of their own, because their originals differ: JAX
sorts the keys of a dict, TensorFlow 1 returns lists for subclasses of list.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple


class Container(NamedTuple):
    """One container: `make(like, keys, items)` makes one of its kind around other items. like: its class, or an object to copy;
    keys: None where the items are numbered."""

    make: Callable[[Any, Any, list[Any]], Any]
    like: Any
    keys: Any
    items: Sequence[Any]


Rule = Callable[[Any], Container | None]
Structure = Any  # str | Container, whose items are structures
"""A tree without its leaves: LEAF, or a `Container` whose items are structures. Equal for trees of one form."""

LEAF = "*"


# rules ----------------------------------------------------------------------------------------------------------------


def sequence(like: Any, keys: Any, items: list[Any]) -> Any:
    """A list, tuple or named tuple."""
    return like(*items) if hasattr(like, "_fields") else like(items)


def plain_dict(like: Any, keys: Any, items: list[Any]) -> dict[Any, Any]:
    return dict(zip(keys, items, strict=True))


def dict_like(like: Any, keys: Any, items: list[Any]) -> dict[Any, Any]:
    """A dict, or a copy of an object of a subclass."""
    if like is dict:
        return dict(zip(keys, items, strict=True))
    made: dict[Any, Any] = copy.copy(like)
    made.update(zip(keys, items, strict=True))
    return made


def nothing(like: Any, keys: Any, items: list[Any]) -> None:
    return None


def loop_operands(tree: Any) -> Container | None:
    """Tuples, lists, and dicts in the order of their sorted keys. None has no leaves."""
    if isinstance(tree, (tuple, list)):
        return Container(sequence, type(tree), None, tree)
    if isinstance(tree, dict):
        keys = tuple(sorted(tree, key=repr))
        return Container(plain_dict, dict, keys, [tree[key] for key in keys])
    return Container(nothing, None, None, ()) if tree is None else None


def ordered(tree: Any) -> Container | None:
    """Tuples, lists, and dicts in their own order; None is a leaf."""
    if isinstance(tree, (tuple, list)):
        return Container(sequence, type(tree), None, tree)
    if isinstance(tree, dict):
        return Container(dict_like, dict if type(tree) is dict else tree, tuple(tree), [*tree.values()])
    return None


# trees ----------------------------------------------------------------------------------------------------------------


def flatten(tree: Any, rule: Rule = loop_operands) -> tuple[list[Any], Structure]:
    """The leaves in order, and the structure."""
    leaves: list[Any] = []
    return leaves, _structure(tree, rule, leaves)


def _structure(tree: Any, rule: Rule, leaves: list[Any]) -> Structure:
    found = rule(tree)
    if found is None:
        leaves.append(tree)
        return LEAF
    return found._replace(items=tuple([_structure(item, rule, leaves) for item in found.items]))


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with other leaves."""
    rest = iter(leaves)
    tree = _tree(structure, rest)
    assert next(rest, None) is None
    return tree


def _tree(structure: Structure, rest: Iterator[Any]) -> Any:
    if structure is LEAF:
        return next(rest)
    make, like, keys, items = structure
    return make(like, keys, [_tree(item, rest) for item in items])


def text(structure: Structure) -> str:
    """A structure for error messages: `(*, {'h': *})`."""
    if structure is LEAF:
        return str(structure)
    if structure.make is nothing:
        return "None"
    if structure.keys is not None:
        inner: str = ", ".join(f"{key!r}: {text(part)}" for key, part in zip(structure.keys, structure.items, strict=True))
        return "{" + inner + "}"
    inner = ", ".join(map(text, structure.items))
    if issubclass(structure.like, list):
        return f"[{inner}]"
    return f"({inner},)" if len(structure.items) == 1 else f"({inner})"


def paths(structure: Structure, at: str) -> list[str]:
    """How each leaf is reached: `carry[0]['h']`."""
    if structure is LEAF:
        return [at]
    keys = range(len(structure.items)) if structure.keys is None else structure.keys
    return [path for key, part in zip(keys, structure.items, strict=True) for path in paths(part, f"{at}[{key!r}]")]
