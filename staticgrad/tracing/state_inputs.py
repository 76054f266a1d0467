"""State that a function replaces: places in Python's state whose values are read as further arguments.

A step that assigns `self.h = h` finds another tensor there in each call. Such a place (an attribute, an item, a variable) is
not guarded. Its value is flattened in each call: tensors are arguments of the plan, all the rest is part of the key. While the
function is traced, the place holds the symbols of these arguments.
"""

from __future__ import annotations

import collections
import itertools
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ..eager.tensor import PublicTensor, Tensor
from ..errors import TraceError
from .effects import Effect, Former, restore
from .guards import KINDS, MISSING, Read
from .numbers import NUMBERS, StateNumber, StateNumbers, TracedNumber
from .observer.access_log import AccessLog, key_of
from .plain import key as plain_key
from .plain import same
from .tracer import ArgumentReached

WRITES = ("attribute", "item", "cell")
"""Kinds of effects that replace the value of a place."""
CONTAINERS = (tuple, list, dict)
ORDERED = (list, dict, collections.deque)
"""Containers whose items are places."""
VALUES = 3
"""Values of a number that calls find in a place, from which it is an argument."""


Leaves: TypeAlias = dict[int, tuple[int, Tensor]]
"""(number, tensor) by the tensor's id."""


class StateReached(BaseException):
    """The function replaces values that it reads. Ends the trace; the next one has them as arguments."""

    def __init__(self, places: list[Place]):
        self.places = places


class Place:
    """Where a value lies: `holder.key`, `holder[key]`, or a cell."""

    __slots__ = ("holder", "key", "kind", "label", "number", "saved")

    def __init__(self, kind: str, holder: Any, key: Any, label: str):
        self.kind, self.holder, self.key, self.label = kind, holder, key, label
        self.number = False
        """Whether a number there is an argument too."""
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
    """The values of all places but for their tensors. One object for equal ones, so that it is compared by identity.

    builds: functions of the tensors' stand-ins, one for each place in order; count: of the tensors; numbers: whether some
    places hold numbers that are arguments.
    """

    __slots__ = ("builds", "count", "numbers")

    def __init__(self, builds: Sequence[Callable[[Sequence[Any]], Any]], count: int, numbers: bool):
        self.builds, self.count, self.numbers = builds, count, numbers

    def __repr__(self) -> str:
        return f"a structure of {self.count} tensors"


class StateInputs:
    """The places of one function."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.structures: dict[Hashable, Structure] = {}
        self.numbers = StateNumbers()
        self.seen: dict[tuple[Any, ...], set[str]] = {}
        """Values of numbers that guards found, by place."""
        self.varying: set[tuple[Any, ...]] = set()
        """Places whose numbers are arguments because others replace them, time and again."""
        self.constant: set[tuple[Any, ...]] = set()
        """Places whose numbers the code can only use by their values."""

    def __bool__(self) -> bool:
        return bool(self.places)

    def read(self, begins: bool = False) -> tuple[Any, ...]:
        """The tensors in the places, and the structure of their values; None for one that no call began with."""
        leaves: Leaves = {}
        values = [place.now() for place in self.places]
        numbers = [place.number and type(v) in NUMBERS for place, v in zip(self.places, values, strict=True)]
        key = tuple([type(v) if number else _key(v, leaves) for number, v in zip(numbers, values, strict=True)])
        containers = [id(v) for v in values if type(v) in (list, dict)]
        if len(containers) > 1:
            key += tuple(map(containers.index, containers))
        try:
            structure = self.structures.get(key)
        except TypeError:  # unhashable: compared by identity
            key = tuple([type(v) if place.number else id(v) for place, v in zip(self.places, values, strict=True)])
            structure = self.structures.get(key)
        if begins:
            self.numbers.values = [v for number, v in zip(numbers, values, strict=True) if number]
            if structure is None:
                structure = self.structures[key] = self._structure(values, numbers, len(leaves))
        return *[leaf for _, leaf in leaves.values()], structure

    def begin(self) -> tuple[Any, ...]:
        """As `read`, for a call that takes the numbers and may be traced. Calls that hold the function's lock begin: in others
        the places may hold the symbols of another thread's trace."""
        return self.read(True)

    def _structure(self, values: Sequence[Any], numbers: Sequence[bool], leaves: int) -> Structure:
        places, count = iter(range(leaves)), itertools.count()
        seen: dict[int, int] = {}
        builds = [
            self._number(next(count)) if number else _build(v, places, seen) for number, v in zip(numbers, values, strict=True)
        ]
        return Structure(builds, leaves, any(numbers))

    def _number(self, i: int) -> Callable[[Sequence[Any]], Any]:
        return lambda parts: StateNumber(self.numbers, f"s[{i}]", self.numbers.values[i])

    def check_apart(self, containers: Mapping[int, Any]) -> None:
        """Raises TraceError where a container that the function replaces is an argument, too. containers: by id."""
        if any(id(place.now()) in containers for place in self.places):
            raise TraceError("a container that a compiled function replaces is one of its arguments", "pass a copy of it")

    def without_numbers(self) -> bool:
        """Take all numbers by their values from now on; whether there were any. Those that the function replaces itself stay,
        where there are others."""
        places = [place for place in self.places if place.identity in self.varying]
        places = places or [place for place in self.places if place.number]
        self.constant.update(place.identity for place in places)
        self.varying.clear()
        self.places[:] = [place for place in self.places if place not in places]
        self.structures.clear()
        self.numbers.conditions.clear()  # of the trace that failed
        return bool(places)

    def guards(self) -> list[Read]:
        """The conditions on numbers that the trace relies on."""
        labels = [place.label for place in self.places if place.number]

        def worded(text: str) -> str:
            return re.sub(r"s\[(\d+)\]", lambda found: labels[int(found[1])], text)

        return [
            Read("call", self.numbers.condition(text), (), value, worded(text))
            for text, value in self.numbers.conditions.items()
        ]

    def varied(self, reads: Sequence[Read]) -> list[Place]:
        """Places whose guards fail because of numbers that are other ones time and again, as rates that are annealed."""
        found = []
        for read in _by_place(reads):
            if type(read.value) not in NUMBERS:
                continue
            now = read.now()
            if type(now) is not type(read.value) or same(now, read.value):
                continue
            place = Place(read.kind, read.holder, read.key, read.label)
            seen = self.seen.setdefault(place.identity, {repr(read.value)})
            seen.add(repr(now))
            if len(seen) >= VALUES and place.identity not in self.constant:
                place.number = True
                self.varying.add(place.identity)
                found.append(place)
        return found

    def new(self, places: Iterable[Place]) -> list[Place]:
        """Those places that are not known yet."""
        known = {place.identity for place in self.places}
        return [place for place in places if place.identity not in known]

    def add(self, places: Iterable[Place]) -> None:
        self.places[:] = {place.identity: place for place in (*places, *self.places)}.values()
        self.structures.clear()

    def plant(self, parts: Sequence[Any], log: AccessLog) -> Callable[[], None]:
        """Put symbols in the places of the tensors. parts: those of `read`, with symbols. Returns a function that undoes it."""
        structure = parts[-1]
        self.numbers.conditions.clear()
        containers = [id(value) for place in self.places if type(value := place.now()) in (list, dict)]
        if len(set(containers)) < len(containers):
            raise TraceError("a container that a compiled function replaces lies in two places", "keep a copy in one of them")
        for place, build in zip(self.places, structure.builds, strict=True):
            place.saved = place.now()
            value = build(parts)
            log.inputs.add(place.identity)
            _note_containers(value, place.saved, log)
            if type(value) in (list, dict):
                log.formers[id(value)] = Former(place)
            if value is not place.saved:
                place.put(value)

        def undo() -> None:
            for place in reversed(self.places):  # items[0] and items[-1] may be one place
                if place.saved is not place.now():
                    place.put(place.saved)
                place.saved = MISSING

        return undo


def _input(x: Any) -> bool:
    """Whether a value can be an argument of the plan: a tensor without a tape."""
    return type(x) is PublicTensor and not (x._tracked or x._parameter or x._hooks)


def _key(value: Any, leaves: Leaves) -> Hashable:
    """The structure of a value, whose tensors are added to `leaves`, each once."""
    if _input(value):
        return Tensor, leaves.setdefault(id(value), (len(leaves), value))[0]
    kind = type(value)
    if kind is dict:
        return dict, *[(plain_key(k), _key(v, leaves)) for k, v in value.items()]
    if kind in (tuple, list) or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return kind, *[_key(v, leaves) for v in value]
    return kind, plain_key(value)


def _build(value: Any, numbers: Iterator[int], seen: dict[int, int]) -> Callable[[Sequence[Any]], Any]:
    """A function that makes the value again, of stand-ins of its tensors."""
    if _input(value):
        at = seen.get(id(value))
        if at is None:
            at = seen[id(value)] = next(numbers)
        return lambda parts, at=at: parts[at]  # type: ignore[misc]
    kind = type(value)
    if kind is dict:
        fields = {k: _build(v, numbers, seen) for k, v in value.items()}
        return lambda parts: {k: build(parts) for k, build in fields.items()}
    if kind in (tuple, list) or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        builds = [_build(v, numbers, seen) for v in value]
        if hasattr(kind, "_fields"):
            return lambda parts: kind(*[build(parts) for build in builds])
        return lambda parts: kind([build(parts) for build in builds])
    return lambda parts: value


def _note_containers(value: Any, original: Any, log: AccessLog) -> None:
    """Changes of lists and dicts that a place holds would be made to their stand-ins."""
    if type(value) in (list, dict):
        log.stand_ins[id(value)] = value
    if type(value) in CONTAINERS:
        for part in value.values() if isinstance(value, dict) else value:
            _note_containers(part, original, log)


def replaced(
    log: AccessLog, effects: Sequence[Effect], constant: Collection[tuple[Any, ...]], containers: Sequence[Any]
) -> list[Place]:
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
        place = Place(kind, effect.holder, key, log.label(effect.holder))  # until its read is found
        if place.identity in log.inputs:
            continue
        read = _read_of(log, place)
        if read is None or effect.args[0] is read[0]:
            continue
        leaves: Leaves = {}
        _key(read[0], leaves)
        new = effect.args[0] if effect.kind != "count" else read[0]
        place.number = type(read[0]) in NUMBERS and (type(new) in NUMBERS or isinstance(new, TracedNumber))
        container = type(read[0]) in (list, dict) and type(new) in (list, dict)
        if leaves or container or (place.number and place.identity not in constant):
            place.label = read[1]
            found.append(place)
    return found


def _check_argument(former: Former, original: Any) -> None:
    if not isinstance(former.place, Place):
        raise ArgumentReached(original)


def _reached(log: AccessLog, container: Any) -> bool:
    """Whether the trace came to the container of a place in another way, where it does not see changes of the stand-in."""
    return any(read.value is container or read.holder is container for read in log.reads.values())


def moved(reads: Sequence[Read]) -> list[Place]:
    """Places whose guards fail because other tensors lie there than in the trace."""
    found = []
    for read in _by_place(reads):
        now = read.now()
        if now is read.value:
            continue
        old: Leaves = {}
        new: Leaves = {}
        if _key(read.value, old) == _key(now, new) and old:
            found.append(Place(read.kind, read.holder, read.key, read.label))
    return found


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


def _members(log: AccessLog, holder: Any, constant: Collection[tuple[Any, ...]]) -> list[Place]:
    """Places of the tensors and the numbers in a container that was read as a whole and changed by a method."""
    read = log.reads.get(("members", id(holder), None))
    if read is None or not isinstance(holder, (list, collections.deque)):
        return []
    found = []
    for i, value in enumerate(read.value):
        place = Place("item", holder, i, f"{read.label}[{i}]")
        place.number = type(value) in NUMBERS
        if place.identity not in log.inputs and (place.identity not in constant if place.number else _holds_input(value)):
            found.append(place)
    return found


def _holds_input(value: Any) -> bool:
    leaves: Leaves = {}
    _key(value, leaves)
    return bool(leaves)


def _read_of(log: AccessLog, place: Place) -> tuple[Any, str] | None:
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
