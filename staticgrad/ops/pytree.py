"""Nested tuples, lists and dicts of tensors, taken apart and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Structure = Any
"""A tree without its leaves; equal for trees of one structure."""

LEAF = "*"


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves in order (of a dict: of its sorted keys), and the structure. None is a tree without leaves; anything that
    is no container is a leaf."""
    leaves: list[Any] = []
    return leaves, _structure(tree, leaves)


def _structure(tree: Any, leaves: list[Any]) -> Structure:
    if tree is None:
        return None
    if isinstance(tree, (tuple, list)):
        return type(tree), tuple([_structure(part, leaves) for part in tree])
    if isinstance(tree, dict):
        keys = tuple(sorted(tree, key=repr))
        return dict, keys, tuple([_structure(tree[key], leaves) for key in keys])
    leaves.append(tree)
    return LEAF


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The tree of this structure with other leaves."""
    rest = iter(leaves)
    tree = _tree(structure, rest)
    assert next(rest, None) is None
    return tree


def _tree(structure: Structure, rest: Any) -> Any:
    if structure is None:
        return None
    if structure == LEAF:
        return next(rest)
    if structure[0] is dict:
        return dict(zip(structure[1], [_tree(part, rest) for part in structure[2]], strict=True))
    parts = [_tree(part, rest) for part in structure[1]]
    return structure[0](*parts) if hasattr(structure[0], "_fields") else structure[0](parts)


def text(structure: Structure) -> str:
    """A structure for error messages: `(*, {'h': *})`."""
    if structure is None or structure == LEAF:
        return str(structure)
    if structure[0] is dict:
        inner = ", ".join(f"{key!r}: {text(part)}" for key, part in zip(structure[1], structure[2], strict=True))
        return "{" + inner + "}"
    inner = ", ".join(map(text, structure[1]))
    if issubclass(structure[0], list):
        return f"[{inner}]"
    return f"({inner},)" if len(structure[1]) == 1 else f"({inner})"


def paths(structure: Structure, at: str) -> list[str]:
    """How each leaf is reached: `carry[0]['h']`."""
    if structure is None:
        return []
    if structure == LEAF:
        return [at]
    if structure[0] is dict:
        named = zip(map(repr, structure[1]), structure[2], strict=True)
    else:
        named = zip(map(str, range(len(structure[1]))), structure[1], strict=True)
    return [path for key, part in named for path in paths(part, f"{at}[{key}]")]
