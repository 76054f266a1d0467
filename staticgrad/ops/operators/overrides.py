"""`__torch_function__`: objects that take over the calls of functions on them, as in PyTorch.

A public function looks at the classes of its arguments; where one is not `ORDINARY`, `taken` asks the argument. Calls that take
a cached path have ordinary arguments only, so they don't look.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from ...base.dtypes import CLASSES
from ...errors import ArgumentTypeError
from .dispatch import SPECIAL, public_functions, state
from .sizes import Size

ORDINARY: set[type] = {int, float, bool, complex, str, NoneType, slice, EllipsisType, Size, type, np.ndarray}
ORDINARY |= CLASSES
"""Classes of arguments that take over nothing. The modes add their tensors."""
SEQUENCES = frozenset({list, tuple})
"""Classes of arguments whose items are looked at, too."""
NOBODY = object()
"""Of calls that nobody takes over."""


def disabled_torch_function(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes that take over nothing."""
    return func(*args, **(kwargs or {}))


def takes_over(kind: type) -> bool:
    """Whether objects of a class take over the functions that are called on them."""
    return kind not in ORDINARY and getattr(kind, "__torch_function__", disabled_torch_function) is not disabled_torch_function


class untaken:
    """A context in which nobody takes over: what the functions themselves do."""

    __slots__ = ()

    def __enter__(self) -> None:
        state.untaken += 1

    def __exit__(self, *error: object) -> None:
        state.untaken -= 1


def taking(values: Iterable[Any]) -> list[Any]:
    """The first argument of each class that takes over; those of subclasses come before those of their bases."""
    found: list[Any] = []
    for value in values:
        if value.__class__ in ORDINARY:
            continue
        for x in value if value.__class__ in SEQUENCES else (value,):
            kind = x.__class__
            if not takes_over(kind) or any(other.__class__ is kind for other in found):
                continue
            at = next((i for i, other in enumerate(found) if issubclass(kind, other.__class__)), len(found))
            found.insert(at, x)
    return found


def taken(function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """What the arguments make of a call of a public function; NOBODY where none takes it over."""
    if state.untaken:
        return NOBODY
    found = taking((*args, *named.values()))
    return answered(outermost().get(function, function), found, args, named) if found else NOBODY


def answered(public: Callable[..., Any], found: Sequence[Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """What the first of these arguments that answers makes of a call. Raises TypeError where all decline."""
    kinds = tuple([x.__class__ for x in found])
    for x in found:
        result = x.__torch_function__(public, kinds, args, dict(named))
        if result is not NotImplemented:
            return result
    raise ArgumentTypeError(
        f"no implementation found for '{public.__name__}' on types that implement __torch_function__: {[*kinds]}",
        "one of them has to return something other than NotImplemented",
    )


@functools.cache
def outermost() -> Mapping[Any, Callable[..., Any]]:
    """The public functions of tensors by the functions inside that ask."""
    found = {}
    for public in (*SPECIAL.values(), *public_functions().values()):
        inner: Any = public
        while inner is not None:
            found[inner] = public
            inner = getattr(inner, "__wrapped__", None)
    return found
