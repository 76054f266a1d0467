"""Arrays of NumPy: the memory that existed before the trace, what Python reads and writes of it.

A traced operation reads an array from outside anew in each run. Values that Python reads become a guard. A write by Python is
undone at the end of the trace, and each run repeats it at its end. None of this holds for memory that is read in one way and
changed in another: `check` refuses that. The values of arrays that the trace makes follow from its guards.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import TraceError, Where, user_line
from ...ops.operators import Symbol
from ..effects import Effect
from ..guards import MISSING, Read, contents, is_a

if TYPE_CHECKING:
    from ..sharing import MemoryUse
    from .access_log import AccessLog

ndarray = np.ndarray
WRITERS = frozenset(
    [
        "copyto",
        "fill",
        "fill_diagonal",
        "itemset",
        "partition",
        "place",
        "put",
        "put_along_axis",
        "putmask",
        "setfield",
        "sort",
    ]
)
"""Functions and methods that write their first operand, whatever it holds. `np.sort` gives an array, so it is none."""
ADVICE = "keep it in a tensor that the function changes (x.copy_(value)), or write the array outside"


def owner_of(x: ndarray) -> ndarray:
    """The array that an array is a view of, by way of any others."""
    while is_a(x.base, ndarray):
        x = x.base
    return x


def array_of(x: Any) -> Any:
    """The array that an object writes when it is written: itself, or that of an iterator, a row or a memoryview."""
    if is_a(x, (np.flatiter, np.void)):
        x = x.base
    elif is_a(x, memoryview):
        x = x.obj
    return x if is_a(x, ndarray) else None


def arrays_in(values: Iterable[Any], depth: int = 3) -> Iterator[ndarray]:
    """The arrays among values, and in lists, tuples and dicts of them."""
    for x in values:
        if is_a(x, ndarray):
            yield x
        elif depth and is_a(x, (list, tuple, dict)):
            kind = next(kind for kind in (dict, list, tuple) if is_a(x, kind))  # not what a class of the user's defines
            yield from arrays_in(dict.values(x) if kind is dict else kind.__iter__(x), depth - 1)
        else:
            array = array_of(x)
            if array is not None:
                yield array


class ArrayMemory:
    """The memory of arrays in one trace."""

    def __init__(self) -> None:
        self.owners: dict[int, ndarray] = {}
        """Arrays that existed before the trace, by id: those that own the memory."""
        self.kept: dict[int, tuple[ndarray, ndarray]] = {}
        """(array, a copy from before the trace) of all that Python has read or may have written, by id."""
        self.written: dict[int, tuple[ndarray, Where | None]] = {}
        """(array, the user's line) of those that Python writes, by id."""
        self.read_late: list[ndarray] = []
        """Arrays that writes read, at the end of each run."""
        self.fed: list[int] = []
        """The ids of the owners of arrays that traced operations take, in the order of these."""
        self.shared: dict[int, ndarray] = {}
        """Arrays that the trace made and whose memory a tensor of it shares, by id: those that own the memory."""

    def existed(self, x: ndarray) -> bool:
        """Whether the memory of an array existed before the trace."""
        return id(owner_of(x)) in self.owners

    def feed(self, x: ndarray) -> None:
        """Note that a traced operation takes an array, anew in each run."""
        self.fed.append(id(owner_of(x)))

    def watched(self, x: ndarray) -> bool:
        """Whether somebody else than Python may read the memory of an array."""
        owner = id(owner_of(x))
        return owner in self.owners or owner in self.shared

    def keep(self, x: ndarray) -> ndarray:
        """A copy of the values that an array has now, the first of which is kept."""
        known = self.kept.get(id(x))
        if known is not None and not self.written:
            return known[1]
        copy = x.copy()
        self.kept.setdefault(id(x), (x, copy))
        return copy

    def write(self, x: ndarray, effect: Effect | None, log: AccessLog) -> None:
        """Note that Python writes an array, whose values are kept. effect: repeats it; None for a write that can't be repeated.
        Raises TraceError where it can't be followed."""
        owner = id(owner_of(x))
        if owner in self.shared:
            log.refuse(
                "an array that shares memory with a tensor of a compiled function is written by Python inside of it", ADVICE
            )
        if owner not in self.owners:
            return
        if effect is None:
            log.refuse(
                f"{log.label(x, 'an array')} from outside is written inside a compiled function by a call that may do more",
                ADVICE,
            )
        self.written.setdefault(id(x), (x, user_line()))
        log.effects.append(effect)

    def frozen(self, value: Any) -> Any:
        """A value as a write takes it now: later changes of what the trace made don't matter."""
        if is_a(value, ndarray):
            if not self.existed(value):
                return value.copy()
            self.read_late.append(value)
        elif type(value) in (list, tuple):
            return type(value)(map(self.frozen, value))
        elif type(value) is dict:
            return {name: self.frozen(x) for name, x in value.items()}
        return value

    def unnoticed(self) -> ndarray | None:
        """An array that was written in a way which no instruction shows, by way of a buffer for instance."""
        for x, copy in self.kept.values():
            if contents(x) != contents(copy) and not any(np.may_share_memory(x, y) for y, _ in self.written.values()):
                return x
        return None

    def check(self, read: Sequence[ndarray], members: Sequence[MemoryUse], log: AccessLog) -> None:
        """Raises TraceError for memory that Python writes or reads, and the trace otherwise. read: arrays that Python reads;
        members: the memory of tensors that the trace reads and changes."""
        found = self.unnoticed()
        if found is not None:
            raise TraceError(f"{log.label(found, 'an array')} from outside is written inside a compiled function", ADVICE)
        fed = [member.array for member in members]
        for x, where in self.written.values():
            if any(np.may_share_memory(x, y) for y in itertools.chain(read, fed)):
                raise TraceError(
                    f"{log.label(x, 'an array')} from outside is written by Python and read, too, in a compiled function",
                    ADVICE,
                    where=where,
                )
        late = [*read, *self.read_late]
        for member in members:
            if member.changed and any(np.may_share_memory(member.array, y) for y in late):
                raise TraceError(
                    f"an array that Python reads shares memory with {member.label}, which a compiled function changes in place",
                    "read the tensor in its place, or do it outside",
                    where=member.where,
                )

    def rewind(self) -> None:
        """Undo the writes of the trace."""
        for x, copy in reversed(self.kept.values()):
            if x.shape != copy.shape:
                x.resize(copy.shape, refcheck=False)
            if x.flags.writeable and contents(x) != contents(copy):
                x[...] = copy
        for values in (self.kept, self.written, self.shared):
            values.clear()
        self.read_late.clear()


def read_array(log: AccessLog, array: ndarray) -> None:
    """Read the values of an array that existed before the trace, because Python computes with them."""
    memory = log.arrays
    if memory.existed(array):
        memory.keep(array)
        value = contents(memory.kept[id(array)][1])
        log.reads.setdefault(("contents", id(array), None), Read("contents", array, None, value, log.label(array, "an array")))


def read_arrays(log: AccessLog, *values: Any) -> None:
    """Read the values of all arrays among some values."""
    for x in arrays_in(values):
        read_array(log, x)


def read_or_fed(
    log: AccessLog, args: tuple[Any, ...], kwargs: dict[str, Any], read: Callable[[Any], None]
) -> Callable[[Any], None]:
    """A callback for a call of this package, which reads the values of the arrays that no operation of it takes."""
    memory, start = log.arrays, len(log.arrays.fed)
    given = [x for x in arrays_in((args, kwargs)) if memory.existed(x)]
    if not given:
        return read

    def done(result: Any) -> None:
        read(result)
        taken = set(memory.fed[start:])
        for x in given:
            if id(owner_of(x)) not in taken:
                read_array(log, x)

    return done


def set_array_item(log: AccessLog, holder: Any, key: Any, value: Any) -> None:
    """Record `holder[key] = value` of an array, or of an object that writes one."""
    array, memory = array_of(holder), log.arrays
    _check_plain(log, array, (value,))
    if not memory.watched(array):
        read_arrays(log, key, value)
        return
    memory.keep(array)
    known = holder is array or is_a(holder, np.flatiter)
    effect = Effect("function", array, holder.__setitem__, (memory.frozen(key), memory.frozen(value))) if known else None
    memory.write(array, effect, log)


def _check_plain(log: AccessLog, array: Any, values: Iterable[Any]) -> None:
    """Raises TraceError for a value of the trace that is written to an array: one of numbers, or of objects."""
    if any(map(_has_symbol, values)):
        log.refuse(f"{log.label(array, 'an array')} gets a value of a compiled function", ADVICE)


def _has_symbol(x: Any) -> bool:
    return any(map(_has_symbol, x)) if is_a(x, (tuple, list)) else is_a(x, Symbol)


def observe_arrays(
    log: AccessLog, fn: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], read: Callable[[Any], None]
) -> Callable[[Any], None]:
    """A callback for a call that may write the arrays among its arguments. read: the callback of one that doesn't."""
    memory = log.arrays
    targets = {id(x): x for x in _targets(fn, name, args, kwargs)}
    for x in targets.values():
        _check_plain(log, x, (*args, *kwargs.values()))
    given = {id(x): x for x in arrays_in((args, kwargs)) if memory.watched(x)}
    if not given:
        return read
    before = [(x, memory.keep(x)) for x in given.values()]

    def done(result: Any) -> None:
        meant = set() if result is MISSING else targets
        written = [x for x, copy in before if id(x) in meant or x.shape != copy.shape or contents(x) != contents(copy)]
        if not written:
            read(result)
            return
        results = result if type(result) is tuple else (result,)
        known = _repeatable(fn, args) and all(x is None or (is_a(x, ndarray) and memory.existed(x)) for x in results)
        known = known and all(x.shape == copy.shape for x, copy in before)
        own = args[1:] if args and getattr(fn, "__self__", None) is args[0] else args  # a bound method has the first itself
        effect = Effect("function", written[0], fn, memory.frozen(own), memory.frozen(kwargs)) if known else None
        for i, x in enumerate(written):
            memory.write(x, effect, log)
            if i:
                log.effects.pop()  # one call writes them all

    return done


def _targets(fn: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[ndarray]:
    """Arrays that a call writes by its meaning."""
    yield from arrays_in((kwargs.get("out"),))
    if is_a(fn, np.ufunc):
        yield from arrays_in(args[fn.nin :])
    elif args and is_a(args[0], np.ufunc):
        yield from arrays_in(args[1:2] if name == "at" else ())
    elif name in WRITERS or name in IN_PLACE or (name.startswith("__i") and name != "__invert__"):
        function = not is_a(getattr(fn, "__objclass__", None), type) and not is_a(getattr(fn, "__self__", None), ndarray)
        if args and not (function and name in ("sort", "partition")):
            yield from arrays_in(args[:1])


IN_PLACE = frozenset(
    ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior", "ixor", "setitem"]
)
"""Functions of the module `operator`."""


def _repeatable(fn: Any, args: tuple[Any, ...]) -> bool:
    """Whether a call does the same each time, to what its arguments are then."""
    if args and is_a(args[0], (ndarray, np.ufunc)) and type(args[0]).__module__.partition(".")[0] == "numpy":
        owner = getattr(fn, "__self__", getattr(fn, "__objclass__", None))
        if owner is args[0] or owner in (ndarray, np.ufunc):
            return True
    module = getattr(fn, "__module__", None) or ""
    return is_a(fn, np.ufunc) or module == "_operator" or (module.startswith("numpy") and "random" not in module)
