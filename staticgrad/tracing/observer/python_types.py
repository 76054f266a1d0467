"""Properties of Python's objects and types that decide how a read is recorded."""

from __future__ import annotations

import collections
import functools
import gc
import itertools
import os
import sys
import sysconfig
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import PACKAGE_DIR
from ..containers import CONTENTS, ByIdentity
from ..containers import key as plain_key
from ..guards import MISSING, body_of, has, is_a, module_of, order_of

CONTAINERS = (list, dict, set, frozenset, tuple, collections.deque, bytearray, types.MappingProxyType)
CHANGEABLE = tuple(CONTENTS)
"""Classes whose changes are recorded, undone and repeated."""
VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
OBJECT: Any = object
"""Its methods are compared with those of other classes, which type checkers take to be never the same."""
HEAP_TYPE = 1 << 9
"""CPython's Py_TPFLAGS_HEAPTYPE."""


def is_heap_type(kind: type) -> bool:
    """Whether a class was made by a class statement, and so can be changed."""
    return bool(kind.__flags__ & HEAP_TYPE)


KNOWN_HOMES = frozenset(
    [
        "array", "builtins", "collections", "datetime", "decimal", "itertools", "numpy", "operator", "re", "staticgrad",
        "types", "weakref", "zoneinfo", "_ast", "_contextvars", "_io", "_random", "_struct", "_weakref",
    ]
)  # fmt: skip
"""Modules whose classes of C have objects that don't change, or whose changes are recorded or refused by themselves."""


def is_known(kind: type, name: str) -> bool:
    """Whether what a method does is known: only those of classes of C that are not in `KNOWN_HOMES` do something else than
    Python code, which is observed."""
    for base in order_of(kind):
        found = body_of(base).get(name)
        if found is not None:
            native = type(found) in (types.MethodDescriptorType, types.WrapperDescriptorType)
            return not native or str(module_of(base)).partition(".")[0] in KNOWN_HOMES
    return True


def is_iterator(x: Any) -> bool:
    return has(type(x), "__next__")


def has_plain_hash(key: Any) -> bool:
    """Whether looking a key up runs no user code."""
    return not is_a(plain_key(key), ByIdentity) or type(key).__hash__ in (OBJECT.__hash__, type.__hash__)


def is_native_function(fn: Any) -> bool:
    """Whether a callable is implemented in C."""
    return is_a(
        fn,
        (
            types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
            types.ClassMethodDescriptorType, np.ufunc,
        ),
    ) or "cython" in type(fn).__name__ or type(fn).__name__ == "_ArrayFunctionDispatcher"  # fmt: skip


def defining_class(kind: type, name: str) -> type:
    """The class in the method resolution order whose body defines a name."""
    return next(base for base in order_of(kind) if name in body_of(base))


def dict_of_view(view: Any) -> Any:
    """The dict of a view or of a mapping proxy."""
    return gc.get_referents(view)[0]


# Whose code a file holds: the user's, the standard library's, or code whose frames are not observed.
#
# Everything that is neither this package, nor the standard library, nor a package that is known to be pure, is the user's
# code, wherever it lies: in a file beside the program or in an installed package.

STDLIB = sysconfig.get_path("stdlib") + os.sep
INSTALLED = ("site-packages", "dist-packages")
"""Folders of the standard library's that hold packages of others."""
USER, LIBRARY, IGNORED = "user", "library", "ignored"
PURE_PACKAGES = (
    "numpy", "scipy", "llvmlite", "numba", "networkx", "opt_einsum", "einops", "threadpoolctl", "_pytest", "pluggy",
)  # fmt: skip
"""Packages whose results depend on their arguments, and pytest, whose frames surround the program's."""
IGNORED_STDLIB = (
    "importlib", "warnings.py", "_py_warnings.py", "traceback.py", "linecache.py", "logging", "inspect.py", "abc.py",
)  # fmt: skip


@functools.cache
def origin_of(file: str) -> str:
    """USER, LIBRARY or IGNORED. LIBRARY is the standard library, whose frames are observed where observed frames call them."""
    if file.startswith((PACKAGE_DIR, "<frozen importlib", "<__array_function__", "<guards>")):
        return IGNORED
    if file.startswith("<frozen "):
        return IGNORED if file == "<frozen abc>" else LIBRARY
    if any(file.startswith(path) for name in PURE_PACKAGES if (path := _path_of(name))):
        return IGNORED
    if file.startswith(STDLIB) and not file[len(STDLIB) :].startswith(INSTALLED):
        return IGNORED if file[len(STDLIB) :].startswith(IGNORED_STDLIB) else LIBRARY
    return USER


def _path_of(name: str) -> str:
    """The folder of a package, or the file of a module, wherever it was imported from; empty for one that was not."""
    file: str | None = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return ""
    return os.path.dirname(file) + os.sep if os.path.basename(file).startswith("__init__.") else file


def origin_of_class(kind: type) -> str:
    """The origin of the module that defines a class; USER where no file is known."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return USER if file is None else origin_of(file)


# which objects the trace made, and which existed before it -----------------------------------------------------------


class ObjectAges:
    """Tells objects that existed before the trace from those that it made.

    The garbage collector's youngest generation is empty at the start, and the collector does not run by itself during a trace:
    what is in that generation then is what the trace made. Before a collection that somebody asks for, which moves objects on,
    they are noted. Objects that the collector doesn't track are recorded explicitly.
    """

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}
        """Objects that the trace is known to have made, by id."""
        self.untracked: dict[int, Any] = {}
        """Dicts that the garbage collector did not track when they were first seen. Its generations say nothing of them."""
        self._owners: dict[int, tuple[Any, Any]] = {}
        """(namespace of an object, that object) by id of the namespace."""
        self._kept: set[int] = set()
        """Ids of objects made meanwhile that count as made before."""
        self._moved: set[int] = set()
        """Ids of those that the trace had made before the latest collection."""
        self._new: set[int] = set()

    def start(self) -> None:
        gc.collect(0)  # an object that is young now may end, and one of the trace get its address
        gc.callbacks.append(self._collection)

    def stop(self) -> None:
        """The trace is over, or has failed."""
        if self._collection in gc.callbacks:
            gc.callbacks.remove(self._collection)
            self._new = self._made_so_far() - self._kept

    def _collection(self, phase: str, info: dict[str, Any]) -> None:
        """Called by the collector when a collection starts or stops."""
        if phase == "start":
            self._moved |= _youngest_generation()

    def _made_so_far(self) -> set[int]:
        return _youngest_generation() | self._moved

    def older(self) -> Callable[[], None]:
        """What is made from now on until the call of the function returned counts as made before the trace."""
        before = self._made_so_far()

        def end() -> None:
            self._kept |= self._made_so_far() - before

        return end

    def clear(self) -> None:
        for values in (self.made, self.untracked, self._owners, self._kept, self._moved):
            values.clear()

    def keep(self, x: Any) -> None:
        """An object that the trace made counts as one that existed before."""
        self._kept.add(id(x))

    def add_made(self, x: Any) -> None:
        self.made[id(x)] = x

    def set_owner(self, namespace: Any, x: Any) -> None:
        """A namespace is as old as the object that has it."""
        self._owners[id(namespace)] = namespace, x

    def owner(self, namespace: Any) -> Any:
        """The object that has a namespace; MISSING for other dicts."""
        return self._owners.get(id(namespace), (None, MISSING))[1]

    def is_old(self, x: Any) -> bool:
        """Whether an object existed before the trace. Valid after `stop`."""
        if id(x) in self._owners:
            return self.is_old(self._owners[id(x)][1])
        if id(x) in self.made:
            return False
        if id(x) in self.untracked or not gc.is_tracked(x):
            return True
        return id(x) not in self._new

    def is_new(self, x: Any) -> bool:
        """Whether the trace made an object. Valid during the trace; takes time linear in the number of young objects."""
        if id(x) in self.made:
            return True
        if not gc.is_tracked(x) or id(x) in self.untracked:
            return False
        if id(x) in self._kept or id(x) not in self._made_so_far():
            return False
        self.add_made(x)
        return True


def _youngest_generation() -> set[int]:
    """The ids of the objects in the garbage collector's youngest generation.

    A single call of C code, during which no other thread runs. A list in a Python variable would hold references to tuples
    that another thread is still building, and CPython refuses to resize a tuple that somebody else refers to.
    """
    return set(map(id, itertools.chain.from_iterable(map(gc.get_objects, (0,)))))
