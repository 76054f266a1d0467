"""State that calls replace: places in Python's state whose values are read as further arguments.

A step that assigns `self.h = h` finds another tensor there in each call; a loop around it may put another batch there. Such a
place (an attribute, an item, a variable) is not guarded. Its value is taken apart in each call, as arguments are: tensors,
arrays and numbers that differ are run-time values, all the rest is part of the key. While the function is traced, the place
holds what stands for its value.
"""

from __future__ import annotations

import collections
import itertools
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ..base.dtypes import SUPPORTED
from ..eager.tensor import PublicTensor, Tensor
from ..errors import TraceError
from ..ops.operators.unknown_numbers import NUMBERS, Expression, UnknownNumber
from .arguments import CONTAINERS, names_of, stand_in, taken_apart
from .containers import ByIdentity, same
from .containers import key as plain_key
from .effects import Effect, Former, restore
from .given_objects import Apart, GivenObjects, StandIns, apart, form_of
from .guards import KINDS, MISSING, Read
from .numbers import StateNumbers
from .observer.access_log import AccessLog, key_of
from .segments.runs import Again
from .tracer import ArgumentReached

WRITES = ("attribute", "item", "cell")
"""Kinds of effects that replace the value of a place."""
ORDERED = (list, dict, collections.deque)
"""Containers whose items are places."""
VALUES = 3
"""Values of a number that calls find in a place, from which it is an argument."""
FEW = 64
"""The most numbers in a place that may be arguments."""
MOST = 256
"""Structures that a function keeps."""


NOTHING: Mapping[Hashable, Collection[str]] = MappingProxyType({})


class StateReached(Again):
    """The function replaces values that it reads. Ends the trace; the next one has them as arguments."""

    def __init__(self, places: list[StateLocation]):
        self.places = places


class StateLocation:
    """Where a value lies: `holder.key`, `holder[key]`, or a cell."""

    __slots__ = ("holder", "key", "kind", "label", "saved", "varying")

    def __init__(self, kind: str, holder: Any, key: Any, label: str):
        self.kind, self.holder, self.key, self.label = kind, holder, key, label
        self.varying: set[int] = set()
        """Which of the numbers in its value are arguments."""
        self.saved: Any = MISSING
        """The value while a symbol takes its place."""

    @property
    def identity(self) -> tuple[Any, ...]:
        return self.kind, id(self.holder), key_of(self.key)

    def now(self, containers: Sequence[Any] = ()) -> Any:
        try:
            return KINDS[self.kind].now(self.holder, self.key)
        except Exception:
            return MISSING

    def original(self, containers: Sequence[Any]) -> Any:
        """The container there before the trace put a stand-in in its place."""
        return self.saved

    def put(self, value: Any) -> None:
        """Put a symbol there, or the value back. A dict's own checks and counts of what is written are for values of the
        program."""
        if self.kind == "item" and isinstance(self.holder, dict) and value is not MISSING:
            dict.__setitem__(self.holder, self.key, value)
            return
        restore(self.kind, self.holder, self.key, value)


class Structure:
    """The values of all places but for those that are arguments. One object for equal ones, so that it is compared by identity.

    count: of the tensors and arrays; numbers: whether there are numbers that are arguments.
    """

    __slots__ = ("count", "numbers")

    def __init__(self, count: int, numbers: bool):
        self.count, self.numbers = count, numbers

    def __repr__(self) -> str:
        return f"a structure of {self.count} tensors"


class Itself(ByIdentity):
    """An object of any class by its identity."""

    __slots__ = ()

    def __hash__(self) -> int:
        return id(self.value)


class Values:
    """The values of places, taken apart.

    fields: by form of the objects that are taken apart, the attributes that are read. leaves: (number, tensor or array) by its
    id; known: (number, container or object that can change) likewise; numbers: of the present place; given: those of them that
    are arguments, by `varying`, of all places; for None, the class of each number is its key.
    """

    __slots__ = ("bound", "fields", "given", "known", "leaves", "numbers", "varying")

    def __init__(self, fields: Mapping[Hashable, Collection[str]] = NOTHING, bound: Collection[int] = ()):
        self.fields, self.bound = fields, bound
        self.varying: Collection[int] | None = None
        self.leaves: dict[int, tuple[int, Any]] = {}
        self.known: dict[int, tuple[int, Any]] = {}
        self.numbers: list[Any] = []
        self.given: list[Any] = []

    def of(self, place: StateLocation) -> Hashable:
        """The structure of the value in a place."""
        self.varying, self.numbers = place.varying, []
        return self.key(place.now())

    def key(self, value: Any) -> Hashable:
        """The structure of a value: what is the same for values that can take each other's place in a trace."""
        if is_leaf(value):
            return Tensor, type(value), self.leaves.setdefault(id(value), (len(self.leaves), value))[0]
        kind = type(value)
        if kind in NUMBERS:
            return self._number(value, kind)
        if id(value) in self.known:
            return "again", self.known[id(value)][0]
        found = self.apart(value)
        if found is None:
            whole = plain_key(value)
            return kind, Itself(value) if isinstance(whole, ByIdentity) else whole
        if not issubclass(kind, tuple):
            self.known[id(value)] = len(self.known), value
        return found.key, *map(self.key, found.members)

    def _number(self, value: Any, kind: type) -> Hashable:
        number = len(self.numbers)
        self.numbers.append(value)
        if self.varying is None:
            return kind
        if number not in self.varying:
            return plain_key(value)
        self.given.append(value)
        return kind

    def apart(self, value: Any) -> Apart | None:
        """A container, or an object of a form that is taken apart; None for any other value."""
        kind = type(value)
        if issubclass(kind, CONTAINERS):
            if issubclass(kind, tuple) and kind is not tuple and not hasattr(kind, "_fields"):
                return None
            if id(value) in self.bound or kind.__module__.startswith("staticgrad."):
                return None
            key, members = taken_apart(value)
            return Apart(None, key, [], members)
        form = form_of(value) if self.fields else None
        return apart(value, form, self.fields[form]) if form in self.fields else None


class StateInputs:
    """The places of one function. objects: the forms of objects that are taken apart; bound: containers that are compared by
    identity, by id."""

    def __init__(self, objects: GivenObjects, bound: Mapping[int, Any]) -> None:
        self.objects, self.bound = objects, bound
        self.places: list[StateLocation] = []
        self.structures: dict[Hashable, Structure] = {}
        self.numbers = StateNumbers()
        self.seen: dict[tuple[Any, ...], set[str]] = {}
        """Values of numbers that calls found, by place, the number's position there and its class."""
        self.varying: set[tuple[Any, ...]] = set()
        """Places with numbers that are arguments because others replace them, time and again."""
        self.constant: set[tuple[Any, ...]] = set()
        """Numbers that the code can only use by their values, by place and position."""
        self.labels: list[str] = []
        """Of the numbers of the latest trace."""

    def __bool__(self) -> bool:
        return bool(self.places)

    def read(self, begins: bool = False, whole: bool = False) -> tuple[Any, ...]:
        """The tensors and arrays in the places, and the structure of their values; None for one that no call began with.
        whole: no object is taken apart."""
        values = Values({} if whole else self.objects.fields, self.bound)
        key = tuple([values.of(place) for place in self.places])
        structure = self.structures.get(key)
        if begins:
            if structure is None and self._vary():
                return self.read(True, whole)
            self.numbers.values = values.given
            if structure is None:
                if len(self.structures) >= MOST:
                    del self.structures[next(iter(self.structures))]
                structure = self.structures[key] = Structure(len(values.leaves), bool(values.given))
        return *[leaf for _, leaf in values.leaves.values()], structure

    def begin(self, whole: bool = False) -> tuple[Any, ...]:
        """As `read`, for a call that takes the numbers and may be traced. Calls that hold the function's lock begin: in others
        the places may hold the symbols of another thread's trace."""
        return self.read(True, whole)

    def _vary(self) -> bool:
        """Note the numbers in the places; whether more of them are arguments now."""
        found = False
        for place in self.places:
            values = Values(self.objects.fields, self.bound)
            values.key(place.now())
            found = self._note(place, values.numbers) or found
        if found:
            self.structures.clear()
        return found

    def _note(self, place: StateLocation, numbers: Sequence[Any]) -> bool:
        """Note the numbers that a call found in a place; whether more of them are arguments now."""
        if len(numbers) > FEW:
            return False
        before = len(place.varying)
        for i, number in enumerate(numbers):
            key = place.identity, i, type(number)
            if i not in place.varying and key[:2] not in self.constant:
                seen = self.seen.setdefault(key, set())
                seen.add(repr(number))
                if len(seen) >= VALUES:
                    place.varying.add(i)
                    del self.seen[key]
        if len(place.varying) > before:
            self.varying.add(place.identity)
        return len(place.varying) > before

    def shared(self, given: Collection[int]) -> Iterator[Any]:
        """The containers and objects in the places that are among the arguments, too. given: ids of these."""
        values = Values(self.objects.fields, self.bound)
        for place in self.places if given else ():
            values.of(place)
        return (x for _, x in values.known.values() if id(x) in given)

    def without_numbers(self) -> bool:
        """Take all numbers by their values from now on; whether there were any. Those that the function replaces itself stay,
        where there are others."""
        places = [place for place in self.places if place.identity in self.varying]
        places = places or [place for place in self.places if place.varying]
        for place in places:
            self.constant.update((place.identity, i) for i in place.varying)
            place.varying.clear()
        self.varying.clear()
        self.places[:] = [place for place in self.places if place not in places or _holds(place.now(), self.objects.fields)]
        self.structures.clear()
        self.numbers.conditions.clear()  # of the trace that failed
        return bool(places)

    def guards(self) -> list[Read]:
        """The conditions on numbers that the trace relies on."""

        def worded(text: str) -> str:
            return re.sub(r"s\[(\d+)\]", lambda found: self.labels[int(found[1])], text)

        return [
            Read("call", self.numbers.condition(text), (), value, worded(text))
            for text, value in self.numbers.conditions.items()
        ]

    def moved(self, reads: Sequence[Read]) -> list[StateLocation]:
        """Places whose guards fail because other values of the same structure lie there than in the trace: other tensors,
        arrays or objects, or numbers that are other ones time and again, as rates that are annealed."""
        found = []
        for read in _by_place(reads):
            now = read.now()
            if now is read.value or (type(now) in NUMBERS and same(now, read.value)):
                continue
            forms = self.objects.forms_in(read.value, reads)
            fields = {**self.objects.fields, **forms}
            old, new = Values(fields, self.bound), Values(fields, self.bound)
            if old.key(read.value) != new.key(now):
                continue
            place = StateLocation(read.kind, read.holder, read.key, read.label)
            self._note(place, old.numbers)
            if self._note(place, new.numbers) or new.leaves or new.known:
                self.objects.fields.update(forms)
                found.append(place)
        return found

    def new(self, places: Iterable[StateLocation]) -> list[StateLocation]:
        """Those places that are not known yet."""
        known = {place.identity for place in self.places}
        return [place for place in places if place.identity not in known]

    def add(self, places: Iterable[StateLocation]) -> None:
        self.places[:] = {place.identity: place for place in (*places, *self.places)}.values()
        self.structures.clear()

    def plant(
        self, parts: Sequence[Any], log: AccessLog, stand_ins: StandIns, extents: Mapping[str, Any], whole: bool = False
    ) -> Callable[[], None]:
        """Put symbols in the places of the tensors. parts: those of `read`, with symbols; stand_ins: gets those of objects;
        extents: what stands for numbers that are extents, by their texts. Returns a function that undoes it."""
        self.numbers.conditions.clear()
        containers = [id(value) for place in self.places if type(value := place.now()) in (list, dict)]
        if len(set(containers)) < len(containers):
            raise TraceError("a container that a compiled function replaces lies in two places", "keep a copy in one of them")
        values = Values({} if whole else self.objects.fields, self.bound)
        for place in self.places:
            values.of(place)
        known: dict[int, tuple[Any, str]] = {}
        self.labels = []

        def symbol(value: Any, label: str) -> Any:
            if is_leaf(value):
                return parts[values.leaves[id(value)][0]]
            if type(value) in NUMBERS:
                if next(numbers) not in place.varying:
                    return value
                text = f"s[{len(self.labels)}]"
                self.labels.append(label)
                return extents[text] if text in extents else Expression(self.numbers, text, value)
            found = values.apart(value)
            if found is None:
                return value
            container = issubclass(type(value), CONTAINERS)
            text, names = ("{}[{!r}]", names_of(value)) if container else ("{}.{}", found.names)
            first = id(value) not in known
            made = stand_in(value, names, found.members, known, label, lambda x, n: symbol(x, text.format(label, n)))
            if container:
                log.stand_ins[id(made)] = made  # changes would be made to it
            elif first:
                stand_ins.made.append((made, found.form, label))
            return made

        planted: list[StateLocation] = []

        def undo() -> None:
            for place in reversed(planted):  # items[0] and items[-1] may be one place
                if place.saved is not place.now():
                    place.put(place.saved)
                place.saved = MISSING

        for place in self.places:
            place.saved, numbers = place.now(), itertools.count()
            planted.append(place)
            value = symbol(place.saved, place.label)
            log.inputs.add(place.identity)
            if issubclass(type(value), CONTAINERS) and not issubclass(type(value), tuple):
                log.formers[id(value)] = Former(place)
            if value is not place.saved:
                place.put(value)
        return undo


def is_leaf(x: Any) -> bool:
    """Whether a value is an argument of the plan: a tensor without a tape, or an array."""
    if type(x) is PublicTensor:
        return not (x._tracked or x._parameter or x._hooks)
    return type(x) is np.ndarray and x.dtype in SUPPORTED


def replaced(
    log: AccessLog, effects: Sequence[Effect], constant: Collection[tuple[Any, ...]], containers: Sequence[Any]
) -> list[StateLocation]:
    """Places whose tensors, numbers or containers the function reads and then replaces. Changes of a container in such a place,
    or among the arguments, are made to the one that a run finds there; raises TraceError for those of containers inside of the
    former, and ArgumentReached for one of the latter that the function knows by another name, too. constant: places whose
    numbers are taken by their values; containers: among the arguments."""
    found = []
    originals = {id(former.place.original(containers)): former for former in log.formers.values()}
    for effect in effects:
        other = originals.get(id(effect.holder))
        if other is not None:
            _check_argument(other, effect.holder)
            raise TraceError("a list or a dict that a compiled function replaces by another is changed by another name, too")
        former = log.formers.get(id(effect.holder))
        if former is not None:
            original = former.place.original(containers)
            if not _reached(log, original):
                effect.holder = former
                continue
            _check_argument(former, original)
        if id(effect.holder) in log.stand_ins:
            raise TraceError(
                "a compiled function changes a list or a dict that it also replaces by another",
                "do one of these: assign a new container, or change the old one",
            )
        if effect.kind == "method" or (effect.kind == "item" and type(effect.key) is slice):
            found += _members(log, effect.holder, constant)
            continue
        kind, key = effect.key if effect.kind == "count" else (effect.kind, effect.key)
        if kind not in WRITES or not effect.args:
            continue
        place = StateLocation(kind, effect.holder, key, log.label(effect.holder))  # until its read is found
        if place.identity in log.inputs:
            continue
        read = _read_of(log, place)
        if read is None or effect.args[0] is read[0]:
            continue
        new = effect.args[0] if effect.kind != "count" else read[0]
        number = type(read[0]) in NUMBERS and (type(new) in NUMBERS or isinstance(new, UnknownNumber))
        container = type(read[0]) in (list, dict) and type(new) in (list, dict)
        if _holds(read[0]) or container or (number and (place.identity, 0) not in constant):
            place.varying.update([0] if number else [])
            place.label = read[1]
            found.append(place)
    return found


def _check_argument(former: Former, original: Any) -> None:
    if not isinstance(former.place, StateLocation):
        raise ArgumentReached(original)


def _reached(log: AccessLog, container: Any) -> bool:
    """Whether the trace came to the container of a place in another way, where it does not see changes of the stand-in."""
    return any(read.value is container or read.holder is container for read in log.reads.values())


def _by_place(reads: Iterable[Read]) -> Iterator[Read]:
    """The reads of single places: those of whole containers, whose members are as many as before, item by item."""
    for read in reads:
        if read.kind in WRITES:
            yield read
        elif read.kind == "lookup":
            yield Read("item", read.holder, read.key, read.value, read.label)
        elif read.kind in ("members", "pairs") and isinstance(read.holder, ORDERED) and len(read.now()) == len(read.value):
            keys, values = _items(read)
            for key, value in zip(keys, values, strict=True):
                yield Read("item", read.holder, key, value, f"{read.label}[{key!r}]")


def _items(read: Read) -> tuple[Sequence[Any], Sequence[Any]]:
    """Keys and values of a read of a whole container."""
    n = len(read.value) // 2
    return (read.value[:n], read.value[n:]) if read.kind == "pairs" else (range(len(read.value)), read.value)


def _members(log: AccessLog, holder: Any, constant: Collection[tuple[Any, ...]]) -> list[StateLocation]:
    """Places of the tensors and the numbers in a container that was read as a whole and changed by a method."""
    read = log.reads.get(("members", id(holder), None))
    if read is None or not isinstance(holder, (list, collections.deque)):
        return []
    found = []
    for i, value in enumerate(read.value):
        place = StateLocation("item", holder, i, f"{read.label}[{i}]")
        number = type(value) in NUMBERS
        place.varying.update([0] if number else [])
        if place.identity not in log.inputs and ((place.identity, 0) not in constant if number else _holds(value)):
            found.append(place)
    return found


def _holds(value: Any, fields: Mapping[Hashable, Collection[str]] = NOTHING) -> bool:
    """Whether there are tensors, arrays or objects that are taken apart in a value."""
    values = Values(fields)
    values.key(value)
    return bool(values.leaves) or any(not isinstance(x, CONTAINERS) for _, x in values.known.values())


def _read_of(log: AccessLog, place: StateLocation) -> tuple[Any, str] | None:
    """(value, label) of a place before the trace, where the trace read it."""
    for kind in (place.kind, "lookup") if place.kind == "item" else (place.kind,):
        read = log.reads.get((kind, *place.identity[1:]))
        if read is not None:
            return read.value, read.label
    if place.kind == "attribute" and isinstance(getattr(place.holder, "__dict__", None), dict):
        space = vars(place.holder)
        read = log.reads.get(("item", id(space), place.identity[2]))
        if read is not None:
            return read.value, read.label
    if place.kind == "item" and isinstance(place.holder, (list, dict)):
        known = "pairs" if isinstance(place.holder, dict) else "members"
        whole = log.reads.get((known, id(place.holder), None))
        if whole is not None:
            _, before = log.before.get(("copy", id(place.holder), None), (None, place.holder))
            try:
                return before[place.key], f"{whole.label}[{place.key!r}]"
            except (KeyError, IndexError, TypeError):
                return None
    return None


def without_inputs(read: Read, inputs: Collection[tuple[Any, ...]]) -> list[Read]:
    """The reads that remain of one of all members, where some of them are arguments. inputs: their places."""
    if read.kind == "lookup" and ("item", id(read.holder), key_of(read.key)) in inputs:
        return []
    if read.kind not in ("members", "pairs") or not isinstance(read.holder, ORDERED):
        return [read]
    keys, values = _items(read)
    rest = [(k, x) for k, x in zip(keys, values, strict=True) if ("item", id(read.holder), key_of(k)) not in inputs]
    if len(rest) == len(values):
        return [read]
    if read.kind == "pairs":
        first = Read("members", read.holder, None, read.value[: len(values)], f"the keys of {read.label}")
    else:
        first = Read("length", read.holder, None, len(values), read.label)
    kind = "lookup" if isinstance(read.holder, dict) and type(read.holder) is not dict else "item"
    return [first, *[Read(kind, read.holder, k, x, f"{read.label}[{k!r}]") for k, x in rest]]
