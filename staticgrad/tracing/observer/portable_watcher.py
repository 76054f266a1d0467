"""The watcher that needs nothing of the interpreter: for a Python whose frames nobody knows, and where a debugger or a profiler
has the trace function.

It guards all state that the function mentions (`tracing/mentions.py`). What that may be can't always be told from outside, and
changes that Python makes can't be followed: both are an UnknownState error, before the trace or after one whose changes are
undone, and the function runs in segments, with Python in each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ..containers import refill, same_members, snapshot
from ..guards import MISSING, is_a
from ..mentions import ADVICE, Mentions, UnknownState
from .object_ages import ObjectAges
from .python_types import CHANGEABLE
from .state_watcher import StateWatcher

Result = TypeVar("Result")


class MentionedObjects(ObjectAges):
    """Objects that the function mentions existed before the trace."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[int, Any] = {}
        self.begun = False
        """Whether the function runs; before, there are no other objects."""

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def keep(self, x: Any) -> None:
        self.known[id(x)] = x

    def is_old(self, x: Any) -> bool:
        return not self.begun or (id(x) in self.known and id(x) not in self.made)

    def is_new(self, x: Any) -> bool:
        return False  # what nobody mentions may be the package's own


class PortableWatcher(StateWatcher):
    """Guards what a function mentions, and refuses what it can't know."""

    def __init__(self, name: str, roots: Iterable[tuple[str, Any]] = ()):
        self._objects = MentionedObjects()
        self._roots = list(roots)
        self._copies: list[tuple[Any, Any]] = []
        """(container or namespace, its contents before the trace)"""
        super().__init__(name, self._roots, self._objects)

    def call(self, fn: Callable[..., Any]) -> None:
        log = self.log
        given = [(log.label(x), x) for x in log.stand_ins.values()]
        mentions = Mentions(fn, [*self._roots, *given], log)
        for function in mentions.functions:
            self.read_function(function)
        self._objects.known.update(mentions.seen)
        self._objects.known.update((id(read.holder), read.holder) for read in log.reads.values())
        for _, x in log.structured:
            members = [*x.modules(), *x.parameters(), *x.buffers()] if hasattr(x, "buffers") else x.parameters()
            self._objects.known.update((id(part), part) for part in (x, *members))
        holders = {id(x): x for x in (*mentions.seen.values(), *mentions.spaces.values()) if is_a(x, CHANGEABLE)}
        self._objects.begun = True
        self._copies = [(x, snapshot(x)) for x in holders.values() if not isinstance(x, bytearray)]

    def observe(self, work: Callable[[], Result]) -> Result:
        try:
            result = work()
        except Exception as error:
            changed = self._undo()
            self.rewind()
            if changed:
                raise self._refused(changed) from error
            raise
        except BaseException:
            self._undo()
            self.rewind()
            raise
        changed = self._undo()
        if changed:
            self.rewind()
            raise self._refused(changed)
        if self.log.error is not None:
            self.rewind()
            raise self.log.error
        log = self.log
        log.effects = [effect for effect in log.effects if effect.holder is None or self.existed(effect.holder)]
        return result

    def _refused(self, changed: str) -> UnknownState:
        return UnknownState(f"without watching Python's instructions, a change of {changed} can't be followed", ADVICE)

    def _undo(self) -> str:
        """Undo what Python has changed in the trace; the first change, in words."""
        log, found = self.log, ""
        for holder, before in self._copies:
            if not same_members(before, snapshot(holder)):
                own = [key for kind, place, key in log.before if place == id(holder) and kind in ("item", "attribute")]
                label = log.label(holder, "a namespace")
                if not own:
                    refill(holder, before)
                    found = found or label
        for read in list(log.reads.values()):
            if read.kind == "cell" and ("cell", id(read.holder), None) not in log.before and read.now() is not read.value:
                if read.value is MISSING:
                    del read.holder.cell_contents
                else:
                    read.holder.cell_contents = read.value
                found = found or read.label
        return found
