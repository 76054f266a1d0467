"""State that a function replaces: places in Python's state whose values are read as further arguments.

A step that assigns `self.h = h` finds another tensor there in each call. Such a place (an attribute, an item, a variable) is
not guarded. Its value is flattened in each call: tensors are arguments of the plan, all the rest is part of the key. While the
function is traced, the place holds the symbols of these arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from ..eager.tensor import PublicTensor, Tensor
from ..errors import TraceError
from ..operators import Symbol
from .effects import Effect, restore
from .guards import KINDS, MISSING, Read
from .observer.access_log import AccessLog, key_of
from .plain import key as plain_key

WRITES = ("attribute", "item", "cell")
"""Kinds of effects that replace the value of a place."""
CONTAINERS = (tuple, list, dict)


class StateReached(BaseException):
    """The function replaces values that it reads. Ends the trace; the next one has them as arguments."""

    def __init__(self, places: list[Place]):
        self.places = places


class Place:
    """Where a value lies: `holder.key`, `holder[key]`, or a cell."""

    __slots__ = ("holder", "key", "kind", "label", "saved")

    def __init__(self, kind: str, holder: Any, key: Any, label: str):
        self.kind, self.holder, self.key, self.label = kind, holder, key, label
        self.saved: Any = MISSING
        """The value while a symbol takes its place."""

    @property
    def identity(self) -> tuple[Any, ...]:
        return self.kind, id(self.holder), key_of(self.key)

    def now(self) -> Any:
        try:
            return KINDS[self.kind].now(self.holder, self.key)
        except Exception:
            return MISSING

    def put(self, value: Any) -> None:
        restore(self.kind, self.holder, self.key, value)


class Structure:
    """The values of all places but for their tensors. One object for equal ones, so that it is compared by identity.

    build: a function of the tensors' stand-ins, one for each place in order.
    """

    __slots__ = ("builds", "count")

    def __init__(self, builds: Sequence[Callable[[Sequence[Any]], Any]], count: int):
        self.builds, self.count = builds, count


class StateInputs:
    """The places of one function."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.structures: dict[Hashable, Structure] = {}

    def __bool__(self) -> bool:
        return bool(self.places)

    @property
    def labels(self) -> list[str]:
        return [place.label for place in self.places]

    def read(self) -> tuple[Any, ...]:
        """The tensors in the places, and the structure of their values."""
        leaves: list[Tensor] = []
        key = tuple([_key(place.now(), leaves) for place in self.places])
        try:
            structure = self.structures.get(key)
        except TypeError:  # unhashable: compared by identity
            key = tuple([id(place.now()) for place in self.places])
            structure = self.structures.get(key)
        if structure is None:
            numbers = iter(range(len(leaves)))
            seen: dict[int, int] = {}
            builds = [_build(place.now(), numbers, seen) for place in self.places]
            structure = self.structures[key] = Structure(builds, len(leaves))
        return *leaves, structure

    def add(self, places: Iterable[Place]) -> None:
        known = {place.identity for place in self.places}
        self.places += [place for place in places if place.identity not in known]
        self.structures.clear()

    def plant(self, parts: Sequence[Any], log: AccessLog) -> Callable[[], None]:
        """Put symbols in the places of the tensors. parts: those of `read`, with symbols. Returns a function that undoes it."""
        structure = parts[-1]
        for place, build in zip(self.places, structure.builds, strict=True):
            place.saved = place.now()
            value = build(parts)
            log.inputs.add(place.identity)
            _note_containers(value, place.saved, log)
            if value is not place.saved:
                place.put(value)

        def undo() -> None:
            for place in self.places:
                if place.saved is not place.now():
                    place.put(place.saved)
                place.saved = MISSING

        return undo


def _input(x: Any) -> bool:
    """Whether a value can be an argument of the plan: a tensor without a tape."""
    return type(x) is PublicTensor and not (x._tracked or x._parameter or x._hooks)


def _key(value: Any, leaves: list[Tensor]) -> Hashable:
    """The structure of a value, whose tensors are appended to `leaves`, each once."""
    if _input(value):
        for i, other in enumerate(leaves):
            if other is value:
                return Tensor, i
        leaves.append(value)
        return Tensor, len(leaves) - 1
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


def replaced(log: AccessLog, effects: Sequence[Effect]) -> list[Place]:
    """Places whose tensors the function reads and then replaces. Raises TraceError for changes of containers in such places."""
    found = []
    for effect in effects:
        if id(effect.holder) in log.stand_ins:
            raise TraceError(
                "a compiled function changes a list or a dict that it also replaces by another",
                "do one of these: assign a new container, or change the old one",
            )
        if effect.kind not in WRITES or not effect.args:
            continue
        place = Place(effect.kind, effect.holder, effect.key, f"{log.label(effect.holder)}, {effect.key}")
        if place.identity in log.inputs:
            continue
        read = _read_of(log, place)
        if read is None or effect.args[0] is read[0]:
            continue
        leaves: list[Tensor] = []
        _key(read[0], leaves)
        if leaves:
            place.label = read[1]
            found.append(place)
    return found


def _read_of(log: AccessLog, place: Place) -> tuple[Any, str] | None:
    """(value, label) of a place before the trace, where the trace read it."""
    read = log.reads.get(place.identity)
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


def without_inputs(read: Read) -> list[Read]:
    """The reads that remain of one of all members, where some of them are arguments."""
    if read.kind == "members" and any(isinstance(x, Symbol) for x in read.value):
        rest = [(i, x) for i, x in enumerate(read.value) if not isinstance(x, Symbol)]
        keys = [Read("length", read.holder, None, len(read.value), read.label)]
    elif read.kind == "pairs" and any(isinstance(x, Symbol) for x in read.value):
        n = len(read.value) // 2
        rest = [(k, x) for k, x in zip(read.value[:n], read.value[n:], strict=True) if not isinstance(x, Symbol)]
        keys = [Read("members", read.holder, None, read.value[:n], f"the keys of {read.label}")]
    else:
        return [read]
    kind = "item" if type(read.holder) in (list, dict) else "lookup" if isinstance(read.holder, dict) else "item"
    return [*keys, *[Read(kind, read.holder, k, x, f"{read.label}[{k!r}]") for k, x in rest]]
