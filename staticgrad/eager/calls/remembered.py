"""What earlier processes learnt of eager calls, in the kernel cache: the plans of a call and how it uses them, by what it is.

A process that meets the call again makes no graph and runs no pass. What a call is, is a text in which two processes agree
(`plan_store.Description`). A plan may also follow from templates of the plans that were made before it: the name of its file
says which there were, and its content which there are after it. A template that a new plan asks for is made then.

The files that a program needs are read when it asks for the first of them, in the second step of training; see `Ahead`.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib
import io
import pickle
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from types import FunctionType, MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import interpreter, types
from ...base.dtypes import SHORT, as_dtype
from ...base.interpreter import module
from ...errors import GraphError
from ...ir import REGISTRY, Cell, Node
from ...ops.leaves import Source
from ..backward_plans import PROGRAM, expect
from ..grad_mode import modes
from ..tape import Record
from ..tensor import Tensor, wrap
from .composite_records import CALL, PART, Saved, Unread
from .kernels import NONE, Maker, PlannedCall, families, requests
from .signature import ITSELF

if TYPE_CHECKING:
    from ...compiler.plan_store import State, Templates

ByPart = dict[str, "Templates"]
"""See `Requests.templates`."""
LARGEST = 1 << 12
"""The most bytes of a constant in what is no plan."""
UNPICKLED = pickle.PicklingError, TypeError, AttributeError, GraphError
"""What is raised for an object that can't be pickled."""
RECORDS = PART, CALL
"""Ops that are in no table."""
MOST = 64
"""Calls that are read ahead."""


class LazyCall:
    """A call made anew, with the templates that it had; those of its family stay as they are. args: without memory of arrays;
    templates: see `Requests.templates`."""

    def __init__(self, make: Maker, args: tuple[Any, ...], templates: ByPart):
        self.make, self.args, self.templates = make, args, templates
        self._made: PlannedCall | None = None

    def made(self) -> PlannedCall:
        with requests.making:
            if self._made is None:
                mode = modes.now
                numpy, mode.numpy = mode.numpy, False
                try:
                    self._made = requests.apart(_made, self.templates, self.make, self.args)
                finally:
                    mode.numpy = numpy
        return self._made

    def template(self, part: str, axes: Any) -> Any:
        """That which was made of the program of this part, which is the first one. axes: of its symbols."""
        self.made()
        return self.templates[part].kept[0].made()


class StoredCall:
    """The place of a call in the kernel cache."""

    def __init__(self, make: Maker, args: tuple[Any, ...], family: str, key: str = "", whole: str = "", what: Any = None):
        """family, whole: what `make` says of it; what: that in the objects of this process, if its key has all of them."""
        self.make, self.args, self.family, self.what = make, args, family, what
        self.templates: ByPart = families(family) if family else {}
        self.before = names_of(self.templates)
        self.key = key or hashlib.sha256(f"{setting()}\n{self.before}\n{family}\n{whole}".encode()).hexdigest()
        self.name = f"c{self.key[:24]}.call"

    def call(self) -> PlannedCall:
        """The call: read, or made and kept."""
        found = self._read()
        if found is None:
            try:
                found = _made(self.templates, self.make, self.args)
            finally:
                for part, each in self.templates.items():
                    each.enter(f"{part} {self.key}")
            if found is NONE or not found.vain:
                self._write(found)
        ahead.called(self.key, found.use)
        return found

    @cached_property
    def emptied(self) -> tuple[Any, ...]:
        return _emptied(self.args)

    def _follow(self, states: dict[str, State]) -> None:
        """Let the templates be those that there are after the call, which was read."""
        again = LazyCall(self.make, self.emptied, {})
        for part, (vain, kept) in states.items():
            own = [axes for _, axes in kept if axes is not None]
            if own:
                again.templates[part] = templates_of(axes=own[0])
            self.templates.setdefault(part, templates_of()).read((vain, kept), partial(again.template, part))

    def _read(self) -> PlannedCall | None:
        found = ahead.content(self)
        if found is None:
            return None
        again = LazyCall(self.make, self.emptied, {part: each.copy() for part, each in self.templates.items()})
        call = found.call(again) if found.stored["plans"] else NONE
        if found.stored["templates"]:
            self._follow(found.stored["templates"])
        return call

    def _write(self, call: PlannedCall) -> None:
        packed = module("staticgrad.compiler.execute.stored_plan").packed
        cells, owners = self.make.bound()
        numbers = {cell: i for i, cell in enumerate(cells)}
        sources: dict[Source, int] = {}
        plans: list[Any] = []
        if not call.vain:
            for each in _plans_of(call):
                if each is None:
                    plans.append((None, ()))
                    continue
                for source in each.builder.argument_sources:
                    sources.setdefault(source, len(sources))
                if not numbers.keys() >= {*each.builder.cells} or (content := packed(each, numbers, sources, {})) is None:
                    return
                plans.append((content, [(kind.shape, kind.dtype.name) for kind in each.feed_types]))
        use = io.BytesIO()
        if plans:
            try:
                _Pickler(use, call.calls).dump(call.use)
            except UNPICKLED as why:
                interpreter.debug("the call is not kept: %s", why)
                return
        places = [([*map(id, owners)].index(id(source.owner)), source.key) for source in sources]
        states = {part: each.state(f"{part} {self.key}") for part, each in self.templates.items()}
        stored = {
            "plans": plans, "sources": places, "use": use.getvalue(), "templates": states, "family": self.family,
            "before": self.before, "what": _stated(self.what), "form": _stated(getattr(call.use, "form", None)),
        }  # fmt: skip
        content = pickle.dumps(stored)
        module("staticgrad.compiler.backend.disk_cache").keep(self.name, self.key, content)


class Content:
    """A file of a call. Its plans are made before it is known whose call it is, unless they have variables."""

    def __init__(self, content: bytes):
        stored_plan = module("staticgrad.compiler.execute.stored_plan")
        self.stored = pickle.loads(content)
        self.opened = [stored_plan.opened(packed) if packed else () for packed, _ in self.stored["plans"]]
        self.whole = None not in self.opened
        """Whether all kernels are there."""
        self.bound = any(found and (found[0]["state"] or found[0]["arguments"]) for found in self.opened)
        """Whether there are variables."""
        self.again: LazyCall | None = None
        self.calls: list[PlannedCall] = []
        self.use: Any = None

    def make(self, cells: Sequence[Cell] = (), owners: Sequence[dict[str, Any]] = ()) -> None:
        """Make the plans. cells, owners: see `Maker.bound`."""
        unpacked = module("staticgrad.compiler.execute.stored_plan").unpacked
        sources = [Source(owners[i], name) for i, name in self.stored["sources"]]
        for number, (found, (_, kinds)) in enumerate(zip(self.opened, self.stored["plans"], strict=True)):
            if not found:
                self.calls.append(PlannedCall(None))
                continue
            feeds = [types.TensorType(shape, as_dtype(dtype)) for shape, dtype in kinds]
            plan = unpacked(found, feeds, cells, sources, (), partial(self._remade, number))
            requests.share(plan)
            self.calls.append(PlannedCall(plan))

    def open(self) -> None:
        """Find out how the call uses the plans."""
        if self.use is None and self.calls:
            self.use = self.object("use")

    def object(self, part: str, uses: Mapping[str, Saved] = MappingProxyType({})) -> Any:
        """A part of the file; None where it is missing."""
        content = self.stored[part]
        return _Unpickler(io.BytesIO(content), self.calls, self.remade, uses).load() if content else None

    def remade(self) -> PlannedCall:
        assert self.again is not None
        return self.again.made()

    def _remade(self, number: int) -> Any:
        return _plans_of(self.remade())[number]

    def call(self, again: LazyCall) -> PlannedCall:
        """The call. again: makes it anew."""
        self.again = again
        if not self.calls:
            self.make(*again.make.bound())
        self.open()
        self.calls[0].use = again.make.used(self.use, *again.args)
        return self.calls[0]


class Ahead:
    """The calls that a program asks for, as earlier processes have noted them beside the name of the first one.

    Plans that a step of training asks for one after another would make each of these steps slow.
    """

    def __init__(self) -> None:
        self.name = self.key = ""
        self.noted: list[tuple[str, str]] = []
        """Names and keys of files, as they were noted."""
        self.asked: dict[tuple[str, str], None] = {}
        """The first ones that this process has asked for."""
        self.contents: dict[str, Content] = {}
        """What was read, by key, until somebody asks for it."""
        self.uses: dict[str, Saved] = {}
        """How calls use their plans, by key: the forms of tapes name them."""
        self.known: dict[Hashable, tuple[str, Content]] = {}
        """Those of `contents` whose `StoredCall.what` is here, with their keys."""
        self.chosen: Hashable = None
        """What `chosen` said when they were read."""

    def content(self, place: StoredCall) -> Content | None:
        """The file of a call; None where it is missing, or kernels are."""
        disk = module("staticgrad.compiler.backend.disk_cache")
        if not self.key:
            self.key = hashlib.sha256(f"{place.key} {sys.argv[:1]}".encode()).hexdigest()
            self.name = f"n{self.key[:24]}.call"
            atexit.register(self.keep)
            self._read(disk)
        self._ask(place.name, place.key)
        found = self.contents.pop(place.key, None)
        if found is None and (content := disk.read(place.name, place.key)) is not None:
            found = Content(content)
        return found if found is not None and found.whole else None

    def _ask(self, name: str, key: str) -> None:
        if len(self.asked) < MOST:
            self.asked[name, key] = None

    def _read(self, disk: Any) -> None:
        content = disk.read(self.name, self.key)
        if content is None:
            return
        self.noted = pickle.loads(content)
        for name, key in self.noted:
            content = disk.read(name, key)
            if content is not None:
                found = self.contents[key] = Content(content)
                if found.whole and not found.bound:
                    found.make()
                    found.open()
                    for call in found.calls:
                        call.arrive()
                    self.called(key, found.use)
        self.chosen = chosen()
        for name, key in self.noted:
            if key in self.contents:
                self._expect(self.contents[key], name, key)

    def called(self, key: str, use: Any) -> None:
        """Note how a call uses its plans."""
        if use.__class__ is Saved and len(self.uses) < MOST:
            self.uses[key] = use

    def _expect(self, content: Content, name: str, key: str) -> None:
        """Let a call be found by what it is, and a backward pass be ready before there is a tape of its form."""
        with suppress(KeyError, TypeError):  # a call of the tape was not read ahead, or what it is can't be hashed
            if (what := content.object("what", self.uses)) is not None:
                self.known[what] = key, content
            elif content.use is not None and (form := content.object("form", self.uses)) is not None:
                content.again = LazyCall(PROGRAM, (form,), {})
                content.calls[0].use = content.use
                expect(content.calls[0], form, self.chosen, lambda: self._ask(name, key))
                del self.contents[key]

    def place(self, what: Hashable, make: Maker, args: tuple[Any, ...]) -> StoredCall | None:
        """The place of a call that was read; None for others."""
        found = self.known.pop(what, None) if self.known else None
        if found is None or self.chosen != chosen():
            return None
        key, content = found
        place = StoredCall(make, args, content.stored["family"], key, what=what)
        return place if place.before == content.stored["before"] else None

    def keep(self) -> None:
        """Note the files for later processes. Of those that this one did not ask for, which may have been too short for them,
        at most as many stay."""
        others = [file for file in self.noted if file not in self.asked]
        files = [*self.asked, *others[: len(self.asked)]][:MOST]
        if files != self.noted:
            module("staticgrad.compiler.backend.disk_cache").keep(self.name, self.key, pickle.dumps(files))


ahead = Ahead()


def _made(templates: ByPart, make: Maker, args: tuple[Any, ...]) -> PlannedCall:
    former, requests.templates = requests.templates, templates
    try:
        return requests.new(make, *args)
    finally:
        requests.templates = former


def templates_of(**given: Any) -> Templates:
    """See `Templates`."""
    return module("staticgrad.compiler.plan_store").Templates(**given)


def call_of(key: Hashable, make: Any, args: tuple[Any, ...]) -> PlannedCall:
    """The new call of a key: read where an earlier process has kept it, else made."""
    place = _place(key, make, args)
    return requests.new(make, *args) if place is None else place.call()


def _place(key: Hashable, make: Any, args: tuple[Any, ...]) -> StoredCall | None:
    """None for a call that other processes would not know again."""
    if make.__class__ is not Maker or not module("staticgrad.compiler.plan_store").kept():
        return None
    whole = make.whole(key, *args)
    if make.keyed and (known := ahead.place(whole, make, args)) is not None:
        return known
    plan_store = module("staticgrad.compiler.plan_store")
    description = plan_store.Description()
    try:
        family = make.family(key, *args)
        text = "" if family is None else description.text(family)
        return StoredCall(make, args, text, whole=description.text(whole), what=whole if make.keyed else None)
    except plan_store.Unkept as why:
        interpreter.debug("the call is not kept: %s", why)
        return None


def names_of(templates: ByPart) -> list[tuple[str, str | None]]:
    """The names of the templates of a family."""
    return [(part, each.name) for part, each in templates.items()]


def setting() -> str:
    """What plans follow from besides the call."""
    threads, default = chosen()
    return f"{module('staticgrad.compiler.plan_store').setting()} {threads} {SHORT[default]}"


def chosen() -> tuple[int, np.dtype]:
    """What of that a program may choose at any time."""
    return module("staticgrad.compiler.runtime.loader").get_num_threads(), types.default_float


def _plans_of(call: PlannedCall) -> list[Any]:
    return [each.plan for each in call.calls]


def _emptied(value: Any) -> Any:
    """An argument of `Maker.make` without the memory of arrays, of which only shapes and dtypes are read."""
    kind = value.__class__
    if kind in ITSELF:
        return value
    if kind in (tuple, list):
        return kind([_emptied(x) for x in value])
    if kind is dict:
        return {name: _emptied(x) for name, x in value.items()}
    if isinstance(value, Tensor):
        out = wrap(_emptied(value._data))
        out._tracked = value._tracked
        return out
    if isinstance(value, Record):
        inputs = tuple([SimpleNamespace(shape=tuple(x.shape), dtype=x.dtype) for x in value.inputs])
        return SimpleNamespace(op=value.op, attrs=value.attrs, inputs=inputs)
    if kind is np.ndarray:  # one element, repeated
        return np.ndarray(value.shape, value.dtype, bytes(value.itemsize), strides=(0,) * value.ndim)
    if not isinstance(value, np.generic) and hasattr(value, "shape") and hasattr(value, "dtype"):
        return SimpleNamespace(shape=tuple(value.shape), dtype=value.dtype)
    return value


# what is no plan --------------------------------------------------------------------------------------------------------


def _stated(value: Any) -> bytes:
    """What other processes know a call by, in the objects that it has there; nothing where they would not."""
    file = io.BytesIO()
    try:
        _Pickler(file, [], ahead.uses).dump(value)
    except UNPICKLED as why:
        interpreter.debug("not read ahead: %s", why)
        return b""
    return b"" if value is None else file.getvalue()


class _Pickler(pickle.Pickler):
    """Objects of the package are named. calls: those that have plans; uses: what others have in their files, by key."""

    def __init__(self, file: Any, calls: list[PlannedCall], uses: Mapping[str, Saved] | None = None):
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.calls, self.uses = calls, uses

    def persistent_id(self, value: Any) -> Any:
        if value.__class__ is Unread:
            return "unread", value.name
        if value.__class__ is Saved and self.uses is not None:
            for key, use in self.uses.items():
                if use is value:
                    return "use", key
            raise pickle.PicklingError("a call that is in no file")
        if value is PART or value is CALL:
            return "record", RECORDS.index(value)
        if isinstance(value, PlannedCall):
            return "call", self.calls.index(value) if value in self.calls else -1
        if value.__class__ is FunctionType and value.__module__.startswith("staticgrad."):
            name = evaluations().get(value)
            return ("eval", name) if name else ("function", *named(value))
        if isinstance(value, Tensor) or (isinstance(value, np.ndarray) and value.nbytes > LARGEST):
            raise pickle.PicklingError("a value of a run")
        return None

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Node):
            return Node, (value.op, value.inputs, dict(value.attrs), value.type, value.name)
        if value.__class__ is MappingProxyType:
            return read_only, (dict(value),)
        if isinstance(value, np.dtype):
            return as_dtype, (value.name,)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, calls: Sequence[PlannedCall], made: Callable[[], PlannedCall], uses: Mapping[str, Saved]):
        super().__init__(file)
        self.calls, self.made, self.uses = calls, made, uses

    def persistent_load(self, named: Any) -> Any:
        what, name, *rest = named
        if what == "eval":
            return REGISTRY[name].eval
        if what == "call":
            return self.calls[name] if name >= 0 else NONE
        if what == "unread":
            return Unread(None, name, self.made)
        if what == "use":
            return self.uses[name]
        if what == "record":
            return RECORDS[name]
        return function(name, *rest)


def read_only(value: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(value)


@cache
def evaluations() -> dict[Any, str]:
    """The ops by their `eval`."""
    return {op.eval: name for name, op in REGISTRY.items()}


def named(value: Any) -> tuple[str, str, int]:
    """A function of the package: its module, its name there, and how many decorators are around it. Raises PicklingError."""
    place, name = value.__module__, value.__qualname__
    found, depth = _found(place, name) if place.startswith("staticgrad.") else None, 0
    while found is not None:
        if found is value:
            return place, name, depth
        found, depth = _inside(found), depth + 1
    raise pickle.PicklingError(name)


def function(place: str, name: str, depth: int) -> Any:
    """The function of such a name."""
    found = _found(place, name)
    for _ in range(depth):
        found = _inside(found)
    return found


def _found(place: str, name: str) -> Any:
    found: Any = importlib.import_module(place)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _inside(function: Any) -> Any:
    """The function around which a decorator is; one of them does its work at the first call."""
    getattr(function, "decorated", bool)()
    return getattr(function, "__wrapped__", None)
