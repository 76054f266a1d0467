"""The log of one trace: the state that it read, the state that it wrote, and labels for error texts."""

from __future__ import annotations

import functools
import gc
import sys
import types
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from ...errors import StaticgradError, TraceError, Where
from ...ops.operators import Symbol
from ..containers import key as plain_key
from ..containers import text_of
from ..effects import Effect, restore
from ..guards import Read, has, is_a, module_of
from .arrays import ArrayMemory, owner_of
from .python_types import USER, ObjectAges, origin_of


class AccessLog:
    """Reads and writes of Python's state.

    A place is (kind of access, id of the holder, key). A place that the trace has written is no longer read from before the
    trace, so `read` leaves it out.
    """

    def __init__(self, ages: ObjectAges) -> None:
        self.ages = ages
        self.reads: dict[tuple[Any, ...], Read] = {}
        self.effects: list[Effect] = []
        self.arrays = ArrayMemory()
        self.structured: list[tuple[str, Any]] = []
        """Modules and optimizers, by label."""
        self.before: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        """(holder, its value or a copy of its contents before the first write) by place."""
        self.moved: set[tuple[Any, ...]] = set()
        """Places that were only changed by counter updates. A run does the update again, from the value that it finds."""
        self.written_items: dict[int, set[Any]] = {}
        """Keys that were set in dicts that were changed in no other way, by id of the dict."""
        self.labels: dict[int, tuple[str, Any]] = {}
        self.inputs: set[tuple[Any, ...]] = set()
        """Places whose values are arguments."""
        self.formers: dict[int, Any] = {}
        """For a stand-in that is the value of a place: the container there when a run begins, by id of the stand-in."""
        self.stand_ins: dict[int, Any] = {}
        """Containers that lie in such places while the function is traced, and what stands for arguments, by id."""
        self.identities: set[int] = set()
        """Ids of stand-ins that the trace told apart from other objects."""
        self.told: list[Any] = []
        """Objects from which it told tensors and containers of the call apart: they are other ones, or the key says so."""
        self.compared: list[tuple[Any, Any]] = []
        """Pairs of objects whose identity was compared, at least one of which stands for another object."""
        self.postponed: dict[int, tuple[Any, frozenset[str]]] = {}
        """Objects that a call at the end of the run is going to change, and the keys and attributes that it leaves alone, by
        id."""
        self.error: StaticgradError | None = None
        self._modules: set[int] = set()

    def label(self, x: Any, otherwise: str = "") -> str:
        known = self.labels.get(id(x))
        return known[0] if known is not None else (otherwise if otherwise else f"a {type(x).__name__}")

    def see(self, value: Any, label: str, holder: Any = None) -> None:
        """Label an object that existed before the trace, and register arrays, modules and optimizers. holder: where it lies."""
        if value is None or is_a(value, (bool, int, float, str)) or id(value) in self.labels:
            return
        if is_a(value, type) and module_of(value) == "builtins":
            return
        self.labels[id(value)] = label, value
        if is_a(value, np.ndarray):
            owner = owner_of(value)
            if id(value) not in self.ages.made and id(owner) not in self.ages.made:
                self.arrays.owners[id(owner)] = owner
        elif type(value) is dict and not gc.is_tracked(value):
            if holder is not None and self.ages.is_new(holder):  # made by code of C, as the rest of what it lies in
                self.ages.add_made(value)
            else:
                self.ages.untracked[id(value)] = value
        elif not is_a(value, type) and has(type(value), "structure"):
            if has(type(value), "add_param_group"):
                self.structured.append((label, value))
                for i, p in enumerate(value.parameters()):
                    self.labels.setdefault(id(p), (f"{label}.parameters[{i}]", p))
                lists = {f"{label}.param_groups": value.param_groups}
                lists |= {f"{label}.param_groups[{i}]['params']": g["params"] for i, g in enumerate(value.param_groups)}
                for name, members in lists.items():
                    if type(members) is list:  # the user's own: the optimizer's count their changes
                        self.read("members", members, None, tuple(members), name)
            elif has(type(value), "named_modules") and id(value) not in self._modules:
                self.structured.append((label, value))
                for path, module in value.named_modules():
                    self._modules.add(id(module))
                    self.labels.setdefault(id(module), (f"{label}.{path}" if path else label, module))
        elif is_a(value, functools.partial):
            self.see(value.func, label)
            for part in (*value.args, *value.keywords.values()):
                self.see(part, label)
        elif is_a(value, types.MethodType):
            self.see(value.__self__, label.rpartition(".")[0] or "self")

    def read(self, kind: str, holder: Any, key: Any, value: Any, label: str) -> None:
        """Record a read of `holder`, unless the trace itself wrote the place."""
        if is_a(value, Symbol):
            return
        self.check_present(holder, key)
        place = kind, id(holder), key_of(key)
        if place in self.reads:
            return
        written = self.before.get(place)
        if written is not None:
            if place not in self.moved:
                return
            value = written[1]
        self.reads[place] = Read(kind, holder, key, value, label)
        self.see(value, label, holder)

    def compare(self, a: Any, b: Any) -> None:
        """Note a comparison by identity."""
        if a is None or b is None:
            return
        if any(is_a(x, Symbol) or id(x) in self.stand_ins for x in (a, b)):
            self.compared.append((a, b))

    def read_bytes(self, holder: Any, label: str) -> None:
        """Record a read of all bytes of a `bytearray` or the like."""
        owner = holder
        while isinstance(owner, memoryview):
            owner = owner.obj
        if owner is not holder and self.copied(owner):
            self.refuse(f"{label} is read inside a compiled function after the memory that it views was changed")
        before = self.before["copy", id(holder), None][1] if self.copied(holder) else holder
        self.reads.setdefault(("bytes", id(holder), None), Read("bytes", holder, None, bytes(before), label))

    def check_present(self, holder: Any, key: Any) -> None:
        """Raises TraceError for a read of what a call at the end of the run is going to change."""
        found = self.postponed.get(id(holder))
        if found is not None and key not in found[1]:
            name = f"{self.label(holder)}[{text_of(key)}]" if is_a(holder, dict) and key is not None else self.label(holder)
            self.refuse(
                f"{name} is read after a scheduler's step in a compiled function, which takes that at the end of each run",
                "step the scheduler last",
            )

    def remember(self, kind: str, holder: Any, key: Any, value: Any) -> None:
        """Keep the value of a place before the first write to it."""
        self.before.setdefault((kind, id(holder), key), (holder, value))

    def copied(self, holder: Any) -> bool:
        """Whether the contents of a container were kept, because the trace changes it."""
        return ("copy", id(holder), None) in self.before

    def refuse(self, what: str, *advice: str) -> NoReturn:
        """Raises TraceError at the user's line. It is raised again at the end of the trace if user code catches it."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and origin_of(frame.f_code.co_filename) is not USER:
            frame = frame.f_back
        where = None if frame is None else Where(frame.f_code.co_filename, frame.f_lineno)
        self.error = TraceError(what, *advice, where=where)
        raise self.error

    def rewind(self) -> None:
        """Undo the writes of the trace to objects that existed before it."""
        for (kind, _, key), (holder, value) in reversed(self.before.items()):
            restore(kind, holder, key, value)
        self.arrays.rewind()
        for values in (self.reads, self.before, self.labels):
            values.clear()
        self.ages.clear()


def key_of(key: Any) -> Any:
    """A hashable key of a place."""
    return key if is_a(key, str) else plain_key(key)
