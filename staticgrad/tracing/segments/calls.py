"""Calls of functions that are made of several operations, and have no effects: their operations are noted once.

They follow from the place in the tree of roads, from the function and from its arguments. So a later call there goes on behind
them at once. It makes the tensors that would still be there after the call: its results, and what the records of the tape hold.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from sys import getrefcount
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

import numpy as np

from ...base.types import get_default_dtype
from ...compiler.runtime.plan_memory import references
from ...eager.execution import link
from ...eager.grad_mode import modes
from ...eager.pending import Pending, PendingValue, pending
from ...eager.tape import Named, Record
from ...eager.tensor import Tensor, record_of
from ...ir import Node, OpDef
from ...ops.operators import frontends

if TYPE_CHECKING:
    from .deferral import Deferral
    from .roads import RoadNode

# who else sees the memory of a tensor of a run in segments ------------------------------------------------------------

ndarray = np.ndarray


def _passed(x: object) -> int:
    return getrefcount(x)


def _measured() -> tuple[int, int]:
    x = object()
    at_hand = getrefcount(x)
    return _passed(x) - at_hand, at_hand - 1


PASSED, COUNTED = _measured()
"""References that a function has to a variable of its caller, and `getrefcount` to one of its caller: none in CPython 3.14,
which lends them."""


def viewed(x: Tensor) -> bool:
    """Whether other tensors share the memory of x by the tape."""
    return bool(x._views) and any(view() is not None for view in x._views)  # type: ignore[union-attr]


def exclusive(array: ndarray, count: int, views: Callable[[Any], int] | None = None) -> bool:
    """Whether nobody else holds an array, or the memory that it is a part of. array: a variable of the caller; count:
    references that it knows of, this one among them; views: how many other views of an object with that memory it knows of.
    The call has no branch among its arguments, across which CPython 3.14 lends no references. Plans that are bound to the array
    don't count: none of them runs before what was noted."""
    count += PASSED + COUNTED  # and those of this call
    if getrefcount(array) > count and getrefcount(array) > count + references(array):
        return False
    held: Any = array
    while True:
        below = held.obj if isinstance(held, memoryview) else held.base if isinstance(held, ndarray) else None
        if below is None:
            return True
        count = 2 + COUNTED
        if getrefcount(below) > count and getrefcount(below) > count + references(below) + (views(below) if views else 0):
            return False
        held = below


def only_copied(tensor: Tensor) -> bool:
    """Whether only the tables of copied tensors hold one, and a variable of the caller, and only it holds its array."""
    return getrefcount(tensor) <= 3 + PASSED + COUNTED and getrefcount(tensor._data) <= 2


class Detached:
    """The results of `x.data` and `x.detach()` in one run, each with its x."""

    def __init__(self) -> None:
        self._owners: dict[int, tuple[ref[Tensor], ref[Tensor]]] = {}

    def add(self, x: Tensor, owner: Tensor) -> None:
        """Note that x was detached from its owner."""
        self._owners[id(x)] = ref(x), ref(owner)

    def owner(self, x: Any) -> Any:
        """The tensor that x was detached from, as long as they share memory; otherwise None."""
        noted: Any = self._owners.get(id(x))
        if noted is None or noted[0]() is not x:
            return None
        owner = noted[1]()
        if owner is None or owner.__class__ is not x.__class__:
            return None
        same = owner._value is x._value if owner.__class__ is Pending else owner._data is x._data
        return owner if same else None


PLAIN = frozenset({int, float, bool, str, type(None)})
MOST = 16
"""Calls that are kept at one step: arguments that differ in each run are not."""


class Made(NamedTuple):
    """A tensor that a call leaves. Tensors are numbered: those among the arguments, then numbers that the tape has saved, then
    those that are made.

    base: the tensor that it is a view of; op, inputs: of its record, None for a tensor without one; inputs: gives the operands
    of the list of all tensors; named: see `tape.Named`, with the number of the tensor whose record is the first of that
    function, and of the tensors whose makers are its arguments, each with whether it is the maker itself.
    """

    node: Node
    base: int | None
    op: OpDef | None
    inputs: Callable[[Sequence[Any]], tuple[Any, ...]] | None
    attrs: dict[str, Any]
    named: tuple[Named, int, tuple[int | None, ...]] | None


class RecordedCall(NamedTuple):
    """The last step of a call, and the number of its operations. checks: those that may fail; numbers: those that the tape has
    saved; made: the tensors; records: of all that the call recorded, the number of the tensor made, None where nothing holds
    the record any more; results: a number of a tensor, or several."""

    end: RoadNode
    steps: int
    checks: tuple[RoadNode, ...]
    numbers: tuple[Tensor, ...]
    made: tuple[Made, ...]
    records: tuple[int | None, ...]
    results: int | tuple[int, ...]


def gone() -> None:
    """Stands for the reference to a record that nothing holds any more."""


def call(deferral: Deferral, function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """The result of a function, whose operations are noted, or known."""
    tensors: list[Tensor] = []
    key = _key(deferral, function, args, named, tensors)
    if key is None:
        return function(*args, **named)
    start = deferral.at
    known = start.calls.get(key)
    if known is not None and all(deferral.passes(step.op, step.refs, step.attrs) for step in known.checks):
        return _follow(deferral, known, tensors)
    inputs, count, given, records = deferral.inputs, deferral.count, len(deferral.arrays), len(deferral.records)
    changes = len(deferral.assigned)
    noted = deferral.noted = []
    try:
        result = function(*args, **named)
    finally:
        deferral.noted = None
    if (
        inputs is deferral.inputs and given == len(deferral.arrays) and count < deferral.count and len(start.calls) < MOST
        and changes == len(deferral.assigned)
    ):  # fmt: skip
        made = _made(tensors, noted, deferral.records[records:], result)
        if made is not None:
            start.calls[key] = RecordedCall(deferral.at, deferral.count - count, _checks(start, deferral.at), *made)
    return result


def _follow(deferral: Deferral, known: RecordedCall, tensors: list[Any]) -> Any:
    """The result of a known call. tensors: those among its arguments."""
    deferral.at = known.end
    deferral.count += known.steps
    values = deferral.values
    if len(known.made) == 1 and known.made[0].inputs is None and known.made[0].base is None:
        value = PendingValue(known.made[0].node, deferral)
        values.append(weakref.ref(value))
        out = pending(value)
        return out if known.results.__class__ is int else (out,)
    tensors += known.numbers
    mode, before = modes.now, len(tensors)
    for node, base, op, inputs, attrs, named in known.made:
        record = source = None
        if base is not None:
            viewed = tensors[base]
            source = viewed._value if viewed.__class__ is Pending else viewed._data
        value = PendingValue(node, deferral, source)
        values.append(weakref.ref(value))
        if inputs is not None:
            assert op is not None
            record = record_of(op, inputs(tensors), attrs, value, mode)
            if named is not None:
                record.named = _named(*named, tensors, record)
        out = pending(value, record)
        if base is not None:
            link(out, viewed)
        tensors.append(out)
    deferral.records += [gone if i is None else weakref.ref(tensors[i + before]._record) for i in known.records]
    results = known.results
    return tensors[results] if results.__class__ is int else tuple([tensors[i] for i in results])  # type: ignore[union-attr]


def _named(named: Named, first: int, makers: tuple[int | None, ...], tensors: Sequence[Any], record: Record) -> Named:
    """The function that made a record, of a call that is repeated."""
    start = (record if first == len(tensors) else tensors[first]._record).clock - 1
    arguments = tuple([0 if i is None else _maker(tensors[i]) for i in makers])
    return Named(named.name, start, named.output_nr, arguments, named.order, named.kept)


def _maker(x: Any) -> int:
    return id(x) if x._record is None else id(x._record)


def _made(
    tensors: Sequence[Any], noted: Sequence[tuple[RoadNode, Any, Any]], records: Sequence[Any], result: Any
) -> tuple[Any, ...] | None:
    """What a call has left: `numbers`, `made`, `records` and `results` of `RecordedCall`; None where that is not followed.
    noted: its operations, each with its result and the tensor that this is a view of; records: references to its records."""
    several = result.__class__ is tuple
    outs = result if several else (result,)
    by_id = {id(out): i for i, (_, out, _) in enumerate(noted)}
    given = {id(x): i for i, x in enumerate(tensors)}
    if not outs or any(id(x) not in by_id for x in outs):
        return None
    needed: set[int] = set()
    numbers: dict[int, Any] = {}
    waiting = [by_id[id(x)] for x in outs]
    while waiting:
        i = waiting.pop()
        if i in needed:
            continue
        needed.add(i)
        step, out, base = noted[i]
        record = out._record
        if out.__class__ is not Pending or out._memory is not None or out._history or out._home is not None:
            return None
        if record is not None and (record.__class__ is not Record or record.out is not out._value or record.hooks):
            return None
        read = [] if record is None else list(record.inputs)
        if base is not None:
            read.append(base)
        for x in read:
            if id(x) in by_id:
                waiting.append(by_id[id(x)])
            elif id(x) not in given:
                if x is base or step.free or x.__class__ is Pending or x._data.ndim or x._data.flags.writeable:
                    return None
                numbers[id(x)] = x
    first = len(tensors) + len(numbers)
    order = sorted(needed)
    place = given | {key: len(tensors) + i for i, key in enumerate(numbers)}
    place |= {id(noted[i][1]): first + n for n, i in enumerate(order)}
    makers = {_maker(x): place[id(x)] for x in tensors}
    clocks: list[tuple[int, int]] = []
    made = []
    for i in order:
        step, out, base = noted[i]
        record, named = out._record, None
        if record is not None:
            makers[id(record)] = place[id(out)]
            clocks.append((record.clock, place[id(out)]))
            if record.named is not None:
                begin = next(n for clock, n in clocks if clock > record.named.start)
                if any(key and key not in makers for key in record.named.arguments):
                    return None
                named = record.named, begin, tuple([makers[key] if key else None for key in record.named.arguments])
        made.append(
            Made(
                step.node, None if base is None else place[id(base)], step.recorded,  # type: ignore[arg-type]
                None if record is None else _getter([place[id(x)] for x in record.inputs]),
                {} if record is None else record.attrs, named,
            )
        )  # fmt: skip
    alive = {id(noted[i][1]._record): n for n, i in enumerate(order) if noted[i][1]._record is not None}
    found = [alive.get(id(reference())) for reference in records]
    results = [place[id(x)] for x in outs]
    return tuple(numbers.values()), tuple(made), tuple(found), tuple(results) if several else results[0]


def _getter(places: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    if len(places) > 1:
        return itemgetter(*places)
    (place,) = places
    return lambda tensors: (tensors[place],)


def _checks(start: RoadNode, end: RoadNode) -> tuple[RoadNode, ...]:
    """The operations between two steps that may fail."""
    step: RoadNode | None = end
    found = []
    while step is not None and step is not start:
        if step.op is not None and step.op.fails:
            found.append(step)
        step = step.parent
    return tuple(found)


def _key(
    deferral: Deferral, function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any], tensors: list[Tensor]
) -> Any:
    """What the operations depend on beside the road, with the arguments among the inputs; None where that is unknown. The
    tensors among the arguments are entered in `tensors`."""
    mode = modes.now
    watched = mode.watched and (mode.saver is not None or mode.anomaly)
    if mode.arrays or watched or frontends.tracing != 1 or deferral.region is not None or deferral.noted is not None:
        return None
    grad = mode.grad
    key: list[Any] = [function, get_default_dtype(), grad]
    arrays = []
    for a in (*args, *named.values()) if named else args:
        kind = a.__class__
        if kind is Pending:
            key.append(a._value.node)
            if grad and a._tracked:
                key.append(a._record is None)
            tensors.append(a)
        elif kind in PLAIN:
            key.append((kind, repr(a) if kind is float else a))
        elif kind is tuple and all(x.__class__ is int for x in a):
            key.append(a)
        elif isinstance(a, Tensor) and a._data.ndim:
            node = deferral.inputs.get(id(a._data))
            if node is None:
                array = a._data
                alone = exclusive(array, 2)
                del array  # the next count is of its other holders
                if not alone:
                    return None  # a copy, which is another input in each call
                arrays.append((len(key), a))
            key.append(node)
            if grad and a._tracked:
                key.append(a._record is None)
            tensors.append(a)
        else:
            return None
    for at, tensor in arrays:
        node = deferral.inputs.get(id(tensor._data))
        key[at] = deferral.input_of(tensor, tensor._data) if node is None else node
        if key[at] is None:
            return None
    if len(tensors) > 1 and len(set(map(id, tensors))) < len(tensors):
        ids = list(map(id, tensors))
        key.append(tuple(map(ids.index, ids)))
    return (*key, *named) if named else tuple(key)
