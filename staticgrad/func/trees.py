"""Arguments and results of transformed functions: nested tuples, lists and dicts of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError, TransformError
from ..operators import Operators
from ..ops.pytree import LEAF, Structure, flatten, ordered, text, unflatten


def leaves_of(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves in order, and the structure. None is a leaf."""
    return flatten(tree, ordered)


def kinds(structure: Structure) -> Any:
    """A structure in a form that is equal for containers of the same class and keys, copies of subclasses of dict included."""
    if structure is LEAF:
        return LEAF
    like = structure.like if isinstance(structure.like, type) else type(structure.like)
    return like, structure.keys, tuple([kinds(item) for item in structure.items])


def prefix(tree: Any, structure: Structure) -> list[Any] | None:
    """A leaf of `tree` for each leaf of the structure: `tree` is like it, but a leaf may stand for a whole part. None where
    it isn't."""
    container = ordered(tree)
    if container is None:
        return [tree] * _count(structure)
    if structure is LEAF:
        return None
    like = container.like if isinstance(container.like, type) else type(container.like)
    own = structure.like if isinstance(structure.like, type) else type(structure.like)
    if like is not own or container.keys != structure.keys or len(container.items) != len(structure.items):
        return None
    found: list[Any] = []
    for part, inner in zip(container.items, structure.items, strict=True):
        leaves = prefix(part, inner)
        if leaves is None:
            return None
        found += leaves
    return found


def _count(structure: Structure) -> int:
    return 1 if structure is LEAF else sum(map(_count, structure.items))


def is_tensor(x: Any) -> bool:
    return isinstance(x, Operators)


def name_of(fn: Any) -> str:
    """A function's name for error messages."""
    return str(getattr(fn, "__name__", repr(fn)))


def selected(args: Sequence[Any], argnums: int | Sequence[int], what: str) -> list[int]:
    """The positions of the arguments to differentiate, counted from 0. Raises ArgumentError and GradientError."""
    several = isinstance(argnums, (tuple, list))
    if several and not argnums:
        raise TransformError("argnums must be non-empty", f"{what} needs an argument to differentiate")
    found = []
    for n in argnums if isinstance(argnums, (tuple, list)) else (argnums,):
        if isinstance(n, bool) or not isinstance(n, int):
            raise ArgumentError(f"argnum must be int or Tuple[int], got: {type(n).__name__}", f"{what}: argnums={argnums!r}")
        if not -len(args) <= n < len(args):
            raise TransformError(f"Got argnum={n}, but only {len(args)} positional inputs")
        found.append(n % len(args))
    if len(set(found)) != len(found):
        raise TransformError(f"argnums elements must be unique, got {argnums!r}")
    return found


__all__ = ["LEAF", "Structure", "is_tensor", "kinds", "leaves_of", "name_of", "prefix", "selected", "text", "unflatten"]
