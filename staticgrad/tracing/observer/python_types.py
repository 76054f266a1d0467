"""Properties of Python's objects and types that decide how a read is recorded."""

from __future__ import annotations

import collections
import gc
import types
from typing import Any

import numpy as np

from ..guards import static
from ..plain import ByIdentity
from ..plain import key as plain_key

CONTAINERS = (list, dict, set, frozenset, tuple, collections.deque, bytearray, types.MappingProxyType)
VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
OBJECT: Any = object
"""Its methods are compared with those of other classes, which type checkers take to be never the same."""
HEAP_TYPE = 1 << 9
"""CPython's Py_TPFLAGS_HEAPTYPE."""


def is_heap_type(kind: type) -> bool:
    """Whether a class was made by a class statement, and so can be changed."""
    return bool(kind.__flags__ & HEAP_TYPE)


def is_iterator(x: Any) -> bool:
    return hasattr(type(x), "__next__")


def has_plain_hash(key: Any) -> bool:
    """Whether looking a key up runs no user code."""
    return not isinstance(plain_key(key), ByIdentity) or type(key).__hash__ in (OBJECT.__hash__, type.__hash__)


def has_python_getattribute(x: Any) -> bool:
    return isinstance(static(type(x), "__getattribute__"), types.FunctionType)


def is_native_function(fn: Any) -> bool:
    """Whether a callable is implemented in C."""
    return isinstance(
        fn,
        (
            types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
            types.ClassMethodDescriptorType, np.ufunc,
        ),
    ) or "cython" in type(fn).__name__ or type(fn).__name__ == "_ArrayFunctionDispatcher"  # fmt: skip


def defining_class(kind: type, name: str) -> type:
    """The class in the method resolution order whose body defines a name."""
    return next(base for base in kind.__mro__ if name in vars(base))


def dict_of_view(view: Any) -> Any:
    """The dict of a view or of a mapping proxy."""
    return gc.get_referents(view)[0]
