"""What a trace asks of Python's state: which objects existed before it, what it has read of them, and what it has changed.

`StateWatcher` is the interface. `TraceObserver` sees every instruction; `PortableWatcher` needs nothing of the interpreter.
"""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from ...base import types as sg_types
from ...eager.tensor import Tensor
from ...ops.operators import state
from ..containers import refill, same_members, snapshot
from ..effects import Effect
from ..guards import MISSING, Guards, Read, contents, has, is_a
from ..mentions import ADVICE, Mentions, UnknownState
from ..settings import settings_of
from ..sharing import MemoryUse
from ..state_inputs import without_inputs
from .access_log import AccessLog
from .arrays import read_array
from .container_reads import read_contents
from .python_types import CHANGEABLE, ObjectAges
from .state_writes import set_attribute

# the watcher that needs nothing of the interpreter -------------------------------------------------------------------

# For a Python whose frames nobody knows, and where a debugger or a profiler has the trace function.
#
# It guards all state that the function mentions (`tracing/mentions.py`). What that may be can't always be told from outside,
# and changes that Python makes can't be followed: both are an UnknownState error, before the trace or after one whose changes
# are undone, and the function runs in segments, with Python in each call.

Result = TypeVar("Result")


class StateWatcher(ABC):
    """Fills an `AccessLog` while the traced function runs. roots: (label, object) that the function is given; ages: tells what
    existed before."""

    def __init__(self, name: str, roots: Iterable[tuple[str, Any]], ages: ObjectAges):
        self.name = name
        self.log = AccessLog(ages)
        self.conditions: list[Read] = []
        """Guards on numbers that are arguments."""
        self.log.read("item", vars(sg_types), "default_float", sg_types.get_default_dtype(), "the default dtype")
        self.log.read("attribute", state, "autocast", state.autocast, "the dtype of autocast")
        for label, value in roots:
            self.log.see(value, label)

    @abstractmethod
    def call(self, fn: Callable[..., Any]) -> None:
        """The traced function is about to be called."""

    @abstractmethod
    def observe(self, work: Callable[[], Result]) -> Result:
        """Run `work` under observation and return its result. `close` or `rewind` undo its writes, which each run repeats."""

    @property
    def effects(self) -> list[Effect]:
        return self.log.effects

    def existed(self, x: Any) -> bool:
        """Whether an object existed before the trace. Valid after `observe`."""
        return self.log.ages.is_old(x)

    def read_array(self, array: np.ndarray) -> None:
        """The trace depends on the values of an array."""
        read_array(self.log, array)

    def check_arrays(self, members: Sequence[MemoryUse]) -> None:
        """Raises TraceError for arrays whose writes, or reads, can't be followed. members: see `ArrayMemory.check`."""
        read = [read.holder for read in self.log.reads.values() if read.kind == "contents"]
        read += [read.holder._data for read in self.log.reads.values() if read.kind == "values"]
        buffers = [x for (kind, _, _), (x, _) in self.log.before.items() if kind == "copy" and type(x) is bytearray and x]
        views = {id(view): (view, None) for view in [np.frombuffer(x, np.uint8) for x in buffers]}
        self.log.arrays.written.update(views)  # an array may share their memory
        try:
            self.log.arrays.check(read, members, self.log)
        finally:  # a bytearray with views can't get its former length back
            for key in views:
                del self.log.arrays.written[key]
            views.clear()

    def read_values(self, tensor: Tensor) -> None:
        """The trace depends on the values of a tensor."""
        label = self.log.label(tensor, tensor.name if tensor.name else "a tensor")
        self.log.read("values", tensor, None, contents(tensor._data), label)

    def set_attribute(self, holder: Any, name: str, value: Any) -> None:
        """An attribute of an object is about to be set, to another value of Python, by code that is not observed."""
        former = [e for e in self.log.effects if e.holder is holder and (e.kind, e.key) == ("attribute", name)]
        self.log.effects = [effect for effect in self.log.effects if effect not in former]  # nobody reads it in between
        set_attribute(self.log, holder, name, value)

    def keeps(self, x: Any) -> None:
        """An object that the package has made stays after the trace: changes of it are effects."""
        self.log.ages.keep(x)

    def close(self, captured: frozenset[int] = frozenset()) -> Guards:
        """The guards on all that was read of objects that existed before. Undoes the writes of the trace. captured: ids of the
        tensors whose values it reads."""
        log = self.log
        old = [read for place, read in log.reads.items() if place not in log.inputs and self.existed(read.holder)]
        reads = [
            part for read in old for part in without_inputs(read, log.inputs)
            if id(part.holder) not in log.stand_ins and id(part.value) not in log.stand_ins
        ]  # fmt: skip
        structured = [(label, x) for label, x in log.structured if self.existed(x)]
        reads += self.conditions
        counted = [read for read in reads if _is_counted(read)]
        skipped, replaced = self._changed_settings(structured, captured)
        self.rewind()
        known = set(map(id, counted))
        return Guards([read for read in reads if id(read) not in known], counted, structured, skipped, replaced)

    def rewind(self) -> None:
        """Undo the writes of the trace to objects that existed before it."""
        self.log.rewind()

    def _changed_settings(
        self, structured: list[tuple[str, Any]], captured: frozenset[int]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Labels of settings that the function itself changes: those of the user's modules, whose reads are guarded by
        themselves, and tensors in staticgrad's layers whose former values it does not read."""
        changed = {
            (id(e.holder), e.key[1] if e.kind == "count" else e.key) for e in self.effects if e.kind in ("attribute", "count")
        }
        skipped, replaced = set(), set()
        for label, value in structured:
            for path, module in value.named_modules() if has(type(value), "named_modules") else ():
                own = settings_of(type(module))
                for name in vars(module):
                    if (id(module), name) in changed:
                        full = ".".join(x for x in (label, path, name) if x)
                        _, before = self.log.before.get(("attribute", id(module), name), (module, None))
                        if name not in own:
                            skipped.add(full)
                        elif before is MISSING or (is_a(before, Tensor) and id(before) not in captured):
                            replaced.add(full)
        return frozenset(skipped), frozenset(replaced)

    def read_function(self, f: types.FunctionType) -> None:
        """Guard the code and the defaults of a function that runs."""
        log = self.log
        label = log.label(f, f.__name__)
        log.read("attribute", f, "__code__", f.__code__, f"{label}.__code__")
        if f.__defaults__ is not None:
            log.read("attribute", f, "__defaults__", f.__defaults__, f"{label}.__defaults__")
            names = f.__code__.co_varnames[: f.__code__.co_argcount][-len(f.__defaults__) :]
            for name, value in zip(names, f.__defaults__, strict=False):
                log.see(value, name)
        if f.__kwdefaults__ is not None:
            log.read("attribute", f, "__kwdefaults__", f.__kwdefaults__, f"{label}.__kwdefaults__")
            read_contents(log, f.__kwdefaults__, f"{label}.__kwdefaults__")


def _is_counted(read: Read) -> bool:
    """Whether `Structure` counts changes of the value read: a parameter or module that is a member of a module. Other tensors
    there may be replaced by a compiled function, which is not counted."""
    return (
        read.kind == "attribute"
        and has(type(read.holder), "named_modules")
        and ((is_a(read.value, Tensor) and read.value._parameter) or has(type(read.value), "named_modules"))
    )


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
