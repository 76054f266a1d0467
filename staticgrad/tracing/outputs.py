"""The results of a run, in the structure that the user's function returned."""

from __future__ import annotations

import collections
import copy
import dataclasses
import gc
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..compiler.passes.symbolic_extents import SymbolicExtent, Unfollowed
from ..eager.tape import touch
from ..eager.tensor import Tensor, wrap
from ..errors import TraceError
from ..ops.operators import F, Symbol, frontends, state
from ..ops.operators.dispatch import Size
from ..ops.operators.unknown_numbers import Expression, UnknownNumber
from ..ops.pytree import Container, dict_like, ordered
from .effects import Former
from .numbers import RunNumber, StateNumbers, exactly
from .observer.access_log import AccessLog
from .observer.python_types import is_heap_type
from .traced import Traced
from .traced_array import TracedArray
from .views import ViewOperation, in_order, memory_of, overlap

Build = Callable[[Sequence[Tensor], Sequence[Any]], Any]
"""(tensors of the run, objects that were passed as arguments) -> the result."""


class Results:
    """The structure of a result, without its traced values. fetches: the traced tensors in it, each once, until the
    specialization is made; build: see `Build`; single: it is one tensor; flat: it is a tuple of tensors.

    arguments: their numbers by id of the placeholder. An argument that is returned comes back itself, as it does eagerly.
    views: fetches that share memory with an argument, with a tensor of the state or with another fetch, by position: each run
    takes them of these as eager mode does.
    """

    def __init__(self, result: Any, arguments: Mapping[int, int], log: AccessLog | None = None):
        """log: knows what stands for lists and dicts of the state and the arguments, and what existed before the trace."""
        self.fetches: list[Traced] = []
        self.formers: Mapping[int, Former] = {} if log is None else log.formers
        self.stand_ins: Mapping[int, Any] = {} if log is None else log.stand_ins
        self._log = log
        self.arrays: list[np.ndarray] = []
        """Those that the trace made."""
        self.found: list[Former] = []
        """Those that runs return or store."""
        self.arguments = arguments
        self.uses_given = False
        self.numbers = False
        """Whether there are numbers of the run among them, or among what it stores."""
        self.views: dict[int, tuple[Build, list[ViewOperation]]] = {}
        self.early: list[int] = []
        """Positions of those that are in memory which a run takes from a tensor."""
        self._known: dict[int, Build] = {}
        self._made: list[list[Any]] = []
        """For each object that a run makes and that may lie in several places: itself, once it is made. One run at a time."""
        self._shared: set[int] | None = None
        """Ids of the objects that occur more than once in the result; None where effects may store its parts, too."""
        if log is None or not log.effects:
            self._shared = set()
            _find_shared(result, set(), self._shared)
        build = self._walk(result)
        self.build = self._releasing(build) if self._made or self._shared is None else build
        self._whole = result if isinstance(result, Traced) else None
        self._form = [id(part) for part in result] if type(result) is tuple else None
        self.seal()

    def seal(self) -> None:
        """All fetches are known now."""
        fetched = None if self.views else [*map(id, self.fetches)]
        self.single = self._whole is not None and fetched == [id(self._whole)]
        """The result is the one tensor of the run."""
        self.flat = self._form is not None and fetched == self._form
        """It is a tuple of the tensors of the run, in their order."""

    def enter(self, x: Traced) -> int:
        """Have runs compute a value; its position among the tensors of a run."""
        self.fetches.append(x)
        return len(self.fetches) - 1

    def share(self, owners: Mapping[int, Build], kept: Collection[int]) -> None:
        """Find the fetches that share memory. owners: what gives the tensor whose memory a traced tensor stands for, by id;
        kept: ids of values that a run leaves in a gradient. A value of the run of which fetches are overlapping parts, or
        that is kept, is fetched as well."""
        roots: dict[int, tuple[Any, dict[int, list[ViewOperation]]]] = {}
        for position, x in enumerate(self.fetches):
            root, steps = memory_of(x, owners)
            if id(root) in owners:
                self.views[position] = owners[id(root)], steps
            else:
                roots.setdefault(id(root), (root, {}))[1][position] = steps
        for root, parts in roots.values():
            whole = next((position for position, steps in parts.items() if not steps), None)
            if whole is None and (id(root) in kept or (len(parts) > 1 and overlap(root, [*parts.values()]))):
                whole = self.enter(root)
            if whole is None:
                continue
            moved = in_order(root, [*parts.values()])
            if moved is not None:
                ordered, back = moved
                whole, parts = self.enter(ordered), {position: [back, *steps] for position, steps in parts.items()}
            for position, steps in parts.items():
                if steps:
                    self.views[position] = fetched(whole), steps

    def place(self, value: Any) -> int | None:
        """The position of a traced tensor among the tensors of a run; None for one that is none of them."""
        return next((i for i, fetch in enumerate(self.fetches) if fetch is value), None)

    def position(self, value: Any) -> int | None:
        """`place` of one that is no view."""
        place = self.place(value)
        return None if place in self.views else place

    def join(self, tensors: list[Tensor], given: Sequence[Any]) -> list[Tensor]:
        """Put the views of a run in their places among its tensors."""
        for position in self.views:
            if position not in self.early:
                tensors[position] = self.tensor(position, tensors, given)
        return tensors

    def rebind(self, moves: Sequence[Move], tensors: list[Tensor], given: Sequence[Any]) -> None:
        """Give tensors other memory, after what is in their former memory is taken of them."""
        for move in moves:
            move.leave(tensors, given)
        for position in self.early:
            tensors[position] = self.tensor(position, tensors, given)
        for move in moves:
            found = tensors[move.place] if move.place in self.early else self.tensor(move.place, tensors, given)
            move.owner(tensors, given)._rebind(found._data)

    def tensor(self, position: int, tensors: Sequence[Tensor], given: Sequence[Any]) -> Tensor:
        """One of the tensors of a run, in the memory that eager mode has it in."""
        base, steps = self.views.get(position, (None, ()))
        x: Any = tensors[position] if base is None else base(tensors, given)
        for step in steps:
            x = step.take(x)
        return x

    def again(self, attribute: Callable[[Any], Any]) -> Results:
        """The same for other extents; attribute: of an operation."""
        if not self.views:
            return self
        new = copy.copy(self)
        new.views = {at: (base, [step.again(attribute) for step in steps]) for at, (base, steps) in self.views.items()}
        return new

    def forget(self) -> None:
        """Drop what only the trace needs."""
        self.found, self.formers, self.stand_ins, self._log, self._whole = [], {}, {}, None, None
        self._known.clear()

    @property
    def one_at_a_time(self) -> bool:
        """Whether no two threads may make results at once."""
        return bool(self._made)

    def release(self) -> None:
        """Forget what the last run has made: the next one makes other objects."""
        for made in self._made:
            made.clear()

    def _releasing(self, build: Build) -> Build:
        def built(tensors: Sequence[Tensor], given: Sequence[Any]) -> Any:
            result = build(tensors, given)
            self.release()
            return result

        return built

    def _once(self, build: Build) -> Build:
        """A builder that makes one object per run, however often the run stores or returns it."""
        made: list[Any] = []
        self._made.append(made)

        def one(tensors: Sequence[Tensor], given: Sequence[Any]) -> Any:
            if not made:
                made.append(build(tensors, given))
            return made[0]

        return one

    def kept(self, args: Sequence[Any], old: Callable[[Any], bool]) -> Build | None:
        """The builder of values that the function stores in Python's state. old: whether an object existed before the trace.
        None where every run stores the same objects."""
        if all(self._lasts(x, old) for x in args):
            if any(type(x) in (tuple, Size) and _holds(x, (SymbolicExtent,)) for x in args):
                raise Unfollowed("an extent outlives the trace")
            return None
        self._old = old
        try:
            return self._walk(tuple(args))
        finally:
            self._old = None

    def _lasts(self, x: Any, old: Callable[[Any], bool]) -> bool:
        """Whether every run stores this very object."""
        if id(x) in self.stand_ins or isinstance(x, (Symbol, UnknownNumber)):
            return False
        return (type(x).__hash__ is not None and _plain(x)) or old(x)

    _old: Callable[[Any], bool] | None = None

    def _walk(self, part: Any) -> Build:
        former = self.formers.get(id(part))
        if former is not None:
            self.found.append(former)
            return lambda tensors, given: former.value
        if type(part) is TracedArray:
            return self._traced_array(part)
        if self._old is not None and id(part) in self.stand_ins:
            raise TraceError("a list or a dict inside of a container that a compiled function replaces is kept elsewhere, too")
        if isinstance(part, np.ndarray) and self._is_new(part):
            if id(part) not in self._known:
                self._known[id(part)] = self._once(self._array(part))
            return self._known[id(part)]
        extent = type(part) is SymbolicExtent
        if (
            self._old is not None
            and not extent
            and not isinstance(part, (Symbol, UnknownNumber, tuple))
            and (_plain(part) or self._old(part))
        ):
            return lambda tensors, given: part
        if isinstance(part, Expression):
            kept, text = part.source, part.text
            if type(kept) is StateNumbers:
                return lambda tensors, given: kept[text]
            fed, kind = part.tensor(), type(part.value)
            if not isinstance(fed, Symbol):
                return lambda tensors, given: fed
            of_number = self._walk(fed)
            return lambda tensors, given: kind(of_number(tensors, given)._data.item())
        if isinstance(part, RunNumber):
            self.numbers = True
            of_tensor = self._walk(part.value)
            if part.rounded is not None:
                of_rounded = self._walk(part.rounded)
                return lambda tensors, given: _exact(of_tensor(tensors, given)._data, of_rounded(tensors, given)._data)
            return lambda tensors, given: _number(of_tensor(tensors, given)._data)
        if isinstance(part, Symbol):
            if id(part) not in self._known:
                self._known[id(part)] = self._tensor(part)
            return self._known[id(part)]
        if self._old is None and self._comes_back(part):
            return lambda tensors, given: part
        if isinstance(part, tuple) or _plain(part) or (self._shared is not None and id(part) not in self._shared):
            return self._parts(part)
        known = self._known.get(id(part))
        if known is None:
            self._known[id(part)] = _of_itself
            known = self._known[id(part)] = self._once(self._parts(part))
        elif known is _of_itself:
            raise TraceError("an object that a compiled function makes, and that holds itself, outlives it")
        return known

    def _comes_back(self, part: Any) -> bool:
        """Whether a result is an object of the state that can change: every run returns it itself."""
        if self._log is None or id(part) in self.stand_ins or isinstance(part, tuple):
            return False
        ages = self._log.ages
        changeable = isinstance(part, (list, dict, set, collections.deque)) or hasattr(part, "__dict__")
        return changeable and (gc.is_tracked(part) or id(part) in ages.untracked) and ages.is_old(part)

    def _parts(self, part: Any) -> Build:
        changeable = self._old is not None and isinstance(part, (set, collections.deque))
        if changeable and not any(isinstance(x, Symbol) for x in part):
            return lambda tensors, given: copy.copy(part)
        found = container(part)
        if found is not None:
            make, like, keys, items = found
            parts = [self._walk(item) for item in items]
            return lambda tensors, given: make(like, keys, [p(tensors, given) for p in parts])
        if self._old is not None and is_record(part):
            fields = {name: self._walk(value) for name, value in vars(part).items()}
            blank = _record(part, fields, [None] * len(fields))
            return lambda tensors, given: _record(blank, fields, [p(tensors, given) for p in fields.values()])
        if _holds(part, (SymbolicExtent,)):
            raise Unfollowed("an extent outlives the trace")
        does = "keeps" if self._old is not None else "returns"
        if _holds(part, (Symbol, UnknownNumber)):
            raise TraceError(
                f"a compiled function {does} a {type(part).__name__} that holds what it computed, and has no value",
                "return tensors, and tuples, lists, dicts or dataclasses of them",
            )
        if hasattr(type(part), "__next__") and self._is_new(part):
            raise TraceError(
                f"a compiled function {does} a {type(part).__name__}, which its first reader uses up",
                "return a tuple or a list",
            )
        if isinstance(part, set) and self._old is None and self._is_new(part):
            return lambda tensors, given: copy.copy(part)
        return lambda tensors, given: part

    def _is_new(self, part: Any) -> bool:
        """Whether the function made an object."""
        return self._log is not None and not self._log.ages.is_old(part)

    def _array(self, part: np.ndarray) -> Build:
        """The builder of an array that the trace made: each run gives another one."""
        if part.dtype.hasobject and any(isinstance(x, Symbol) for x in part.flat):
            raise TraceError("an array of objects that outlives a compiled function holds what it computed, and has no value")
        shared = [*self.arrays, *([] if self._log is None else self._log.arrays.shared.values())]
        if any(np.may_share_memory(part, other) for other in shared):
            raise TraceError("an array that a compiled function makes outlives it, and so does what shares its memory")
        self.arrays.append(part)
        values = part.copy()
        return lambda tensors, given: values.copy()

    def _traced_array(self, part: TracedArray) -> Build:
        """The builder of what stands for an array, or for a scalar of NumPy's: an argument itself, or the array of a tensor."""
        if id(part) not in self._known:
            tensor = self._walk(part.tensor)
            if part.scalar and id(part.tensor) not in self.arguments:
                self._known[id(part)] = lambda tensors, given: (
                    x._data[()] if isinstance(x := tensor(tensors, given), Tensor) else x
                )
            else:
                self._known[id(part)] = lambda tensors, given: x._data if isinstance(x := tensor(tensors, given), Tensor) else x
        return self._known[id(part)]

    def _tensor(self, x: Any) -> Build:
        at = self.arguments.get(id(x))
        if at is not None:
            self.uses_given = True
            return lambda tensors, given: given[at]
        return fetched(self.enter(x))


class Move:
    """A tensor that has other memory after a run, as `x.data = y` gives it.

    owner: gives the tensor; place: of what lies in the memory, among the tensors of a run; written: the place of a value that
    is written to the memory which the tensor gives up.
    """

    def __init__(self, owner: Build, place: int):
        self.owner, self.place = owner, place
        self.written: int | None = None

    def former(self, tensors: Sequence[Tensor], given: Sequence[Any]) -> Tensor:
        """The tensor, while it has the memory that it gives up."""
        return self.owner(tensors, given)

    def leave(self, tensors: Sequence[Tensor], given: Sequence[Any]) -> None:
        """Write to the memory that the tensor gives up."""
        if self.written is not None:
            x = self.owner(tensors, given)
            x._data[...] = tensors[self.written]._data
            touch(x)


def fetched(position: int) -> Build:
    """What gives a tensor of a run."""
    return lambda tensors, given: tensors[position]


def _holds(part: Any, kinds: tuple[type, ...], depth: int = 2) -> bool:
    """Whether an object is of one of these classes, or refers to one: a slice, a partial, a function that closes over it, an
    iterator over a list of them."""
    waiting, seen = [(part, depth)], {id(part)}
    while waiting:
        part, depth = waiting.pop()
        if type(part) in kinds or (kinds[0] is Symbol and isinstance(part, kinds)):
            return True
        if depth < 0 or isinstance(part, (type, types.ModuleType)) or _plain(part):
            continue
        if isinstance(part, types.FunctionType):
            held: list[Any] = [*(part.__closure__ or ()), part.__defaults__, part.__kwdefaults__]
        else:
            held = gc.get_referents(part)
        if not isinstance(part, (types.FunctionType, types.CellType, tuple)) and not hasattr(type(part), "__next__"):
            depth -= 1
        waiting += [(x, depth) for x in held if id(x) not in seen]
        seen.update(map(id, held))
    return False


def _plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, str, bytes, type(None), type, Tensor, np.generic, np.ndarray))


def is_record(value: Any) -> bool:
    """Whether an object consists of its attributes alone, so that each run can make another."""
    kind: Any = type(value)
    own = is_heap_type(kind) and hasattr(value, "__dict__")
    return own and not callable(value) and kind.__new__ is object.__new__


def _find_shared(part: Any, seen: set[int], twice: set[int]) -> None:
    """Enter the containers that occur more than once."""
    found = container(part)
    if found is None:
        return
    if not isinstance(part, tuple):
        if id(part) in seen:
            twice.add(id(part))
            return
        seen.add(id(part))
    for item in found.items:
        _find_shared(item, seen, twice)


def _of_itself(tensors: Sequence[Tensor], given: Sequence[Any]) -> Any:
    """Stands for the builder of an object whose parts are being looked at."""


def container(part: Any) -> Container | None:
    """The containers that results are made of: tuples, lists, deques, dicts, dataclasses."""
    if isinstance(part, dict) and type(part) is not dict:
        keys = tuple(part)
        return Container(dict_like, dict_like(part, keys, [None] * len(keys)), keys, [*part.values()])
    if (found := ordered(part)) is not None:
        return found
    if isinstance(part, collections.deque):
        return Container(_deque, part.maxlen, None, [*part])
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        names = tuple(f.name for f in dataclasses.fields(part))
        return Container(_record, _record(part, names, [None] * len(names)), names, [getattr(part, name) for name in names])
    return None


def _deque(like: Any, keys: Any, items: list[Any]) -> Any:
    return collections.deque(items, like)


def _record(like: Any, names: Iterable[str], values: Sequence[Any]) -> Any:
    """A copy of an object with other attributes."""
    result = copy.copy(like)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(result, name, value)
    return result


NUMBERS = (bool, int, float)


def _number(array: np.ndarray) -> Any:
    """A number of a run; of several, their array."""
    return array if array.ndim else array.item()


def _exact(array: np.ndarray, rounded: np.ndarray) -> Any:
    """The same of integers that may have more than 64 bits."""
    if not array.ndim:
        return exactly(array.item(), rounded.item())
    return np.array([*map(exactly, array.tolist(), rounded.tolist())])


def stacked(ones: Sequence[Any], rest: Any = None, numbers: bool = False) -> Any:
    """Results of single steps, and stacked results of the steps after them, in one structure. Tensors and arrays are stacked;
    objects that are the same in every step, and other values, stay as they are. numbers: they are stacked, too."""
    part = ones[0]
    if issubclass(type(part), UnknownNumber):
        part.needed()
    if isinstance(part, (Tensor, Traced, np.ndarray, np.generic, *NUMBERS[: 3 * numbers])):
        if not isinstance(part, NUMBERS) and all(one is part for one in ones) and (
            rest is part or (rest is None and len(ones) > 1)
        ):  # fmt: skip
            return part
        if isinstance(part, (Tensor, Traced)) and frontends.tracing and state.tracer is not None:
            return F.stack(ones)
        arrays = [one._data if isinstance(one, Tensor) else one for one in (*ones, *([] if rest is None else [rest]))]
        whole = np.stack(arrays) if rest is None else np.concatenate([np.stack(arrays[:-1]), arrays[-1]])
        return wrap(whole) if isinstance(part, Tensor) else whole
    found = container(part)
    if found is None:
        return part
    others = [_items(one, found) for one in ones]
    last = None if rest is None else _items(rest, found)
    parts = [
        stacked([items[i] for items in others], None if last is None else last[i], numbers) for i in range(len(found.items))
    ]
    return found.make(found.like, found.keys, parts)


def repeated(part: Any, count: int) -> Any:
    """The stacked results of steps, with the numbers that are the same in each of them stacked, too."""
    if isinstance(part, NUMBERS):
        return np.full(count, part)
    found = container(part)
    return part if found is None else found.make(found.like, found.keys, [repeated(x, count) for x in found.items])


def _items(part: Any, like: Container) -> Sequence[Any]:
    """The items of a part, in the order of another one."""
    found = container(part)
    assert found is not None
    if like.keys is None:
        return found.items
    items = dict(zip(found.keys, found.items, strict=True))
    return [items[key] for key in like.keys]
