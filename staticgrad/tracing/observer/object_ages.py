"""Which objects the trace made, and which existed before it."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any

from ..guards import MISSING


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
