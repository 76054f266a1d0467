"""Arguments that share memory with one another, or with captured tensors, where a step writes that memory.

A step assumes that no two arguments share memory. Where one of them is changed in place, or shares memory with a tensor that
is, the trace begins again with one base and views of it. Such a trace suits calls whose arguments share memory as these do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.types import shape_text
from ..compiler.runtime.plan_memory import disjoint
from ..eager.inplace import addresses
from ..eager.tensor import Tensor
from ..errors import TraceError, Where
from ..ir import Node
from ..ops.gathering import gather_op, scatter_op
from ..ops.operators import F, Symbol, apply
from .segments.runs import Again
from .traced import Alias, Traced

ndarray = np.ndarray
ADVICE = "pass a clone() of one of them, or one tensor of which the function takes the views that it needs"


class MemoryUse(NamedTuple):
    """Memory that a step reads or writes. key: the number of an argument, a captured tensor, or for a gradient (its owner,),
    which is a number or a tensor."""

    array: ndarray
    key: Any
    label: str
    changed: bool
    where: Where | None = None
    """The line that changes it."""
    tensor: Tensor | None = None

    @property
    def is_argument(self) -> bool:
        return isinstance(self.key, int)


class PositionInBase(NamedTuple):
    """The position of an argument in its base. base: as `MemoryUse.key`; places: the positions of its elements among those of
    the base, None for the same elements; inside: which of its elements the base has, None for all; taped: it is a view of
    the base on the same tape; array, label: of the base."""

    base: Any
    places: ndarray | None
    inside: ndarray | None
    taped: bool
    array: ndarray
    label: str


class SharedMemory(Again):
    """Arguments share memory that the step writes: the trace begins again with `places`, by the arguments' numbers."""

    def __init__(self, places: Mapping[int, PositionInBase]):
        self.places = places


class SharedView(Alias):
    """An argument as a view of another tensor's memory: a change of either changes both.

    origin: its placeholder, from which elements outside the base are read.
    """

    __slots__ = ("origin", "place")
    changed = False

    def __init__(self, tracer: Any, base: Traced, place: PositionInBase, origin: Node):
        self.origin, self.place = origin, place
        super().__init__(tracer, base)

    def read_base(self) -> Node:
        value: Any = self.base if self.place.taped else F.stop_gradient(self.base)
        places = self.place.places
        if places is not None:
            flat = apply(gather_op, F.reshape(value, (-1,)), places.reshape(-1), axis=0)
            value = F.reshape(flat, places.shape)
        if self.place.inside is not None:
            value = F.where(self.place.inside, value, Symbol(self.tracer.graph, self.origin))
        node: Node = value.node
        if self.origin in self.tracer.memory.layouts:  # it lies in memory as the argument does
            self.tracer.memory.layouts[node] = self.tracer.memory.layouts[self.origin]
        return node

    def within(self, value: Any) -> Any:
        places = self.place.places
        if self.place.inside is not None:
            self.tracer.refuse(
                f"the compiled function changes {self.origin.name} in place, which shares a part of its memory with "
                f"{self.place.label}",
                ADVICE,
            )
        if places is None:
            return value
        base, flat = self.base, places.reshape(-1)
        inside = np.zeros(base.shape, np.bool_)
        inside.reshape(-1)[flat] = True
        room: Any = np.zeros(inside.size, base.dtype)
        spread = apply(scatter_op, F.reshape(value, (-1,)), room, flat, axis=0)
        return F.where(inside, F.reshape(spread, base.shape), base)

    @property
    def detaches(self) -> bool:
        return not self.place.taped


# shared memory -------------------------------------------------------------------------------------------------------


def bounds(array: ndarray) -> tuple[int, int]:
    """(first, last + 1) byte of an array; equal for an empty one."""
    return np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)


def meets(ranges: Sequence[tuple[int, int]], begin: int, end: int) -> bool:
    """Whether bytes from `begin` to `end` are in one of ascending ranges that don't overlap."""
    at = bisect_left(ranges, (end,))
    return at > 0 and ranges[at - 1][1] > begin


def share(a: ndarray, b: ndarray) -> bool:
    """Whether two arrays have a byte in common; True where the exact answer takes too long."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def relation(a: ndarray, b: ndarray) -> tuple[Any, ...]:
    """The position of b in memory relative to a."""
    start = b.__array_interface__["data"][0] - a.__array_interface__["data"][0]
    return start, a.strides, b.strides


def pattern(
    mine: Sequence[tuple[ndarray, bool]], given: Sequence[Any], others: Sequence[tuple[int, int, Tensor, bool]]
) -> tuple[Any, ...]:
    """How arrays of arguments share memory, as a value to compare; only where one of the two is written.

    mine: (array, whether it is written), of the arguments and then of their gradients; given: the arguments; others: (first
    byte, last + 1, tensor, whether it is written) of the tensors that the step is bound to.
    """
    found: list[Any] = []
    changing = disjoint([place[:2] for place in others if place[3]])
    changed = [k for k, (_, written) in enumerate(mine) if written]
    for i, (a, written) in enumerate(mine):
        begin, end = bounds(a)
        tensor = given[i] if i < len(given) and isinstance(given[i], Tensor) else None
        for k in range(i) if written else changed:
            b = mine[k][0]
            if k < i and share(a, b):
                other = given[k] if k < len(given) and isinstance(given[k], Tensor) else None
                found.append((k, i, relation(b, a), _taped(tensor, other)))
        for low, high, other, changes in others if written or meets(changing, begin, end) else ():
            if low < end and begin < high and (written or changes) and share(a, other._data):
                found.append((id(other), i, relation(other._data, a), _taped(tensor, other)))
    return tuple(found)


def _pairs(members: Sequence[MemoryUse]) -> Iterator[tuple[int, int]]:
    """Pairs of members that share memory which is changed, one of them an argument or the gradient of one."""
    for i, a in enumerate(members):
        if a.is_argument or (isinstance(a.key, tuple) and isinstance(a.key[0], int)):
            for k, b in enumerate(members):
                if k != i and (a.changed or b.changed) and share(a.array, b.array):
                    yield i, k


def check(members: Sequence[MemoryUse], known: Mapping[int, PositionInBase]) -> None:
    """Raises SharedMemory for arguments that share memory which the step writes, when a trace can follow that; else TraceError.

    known: arguments that the trace takes for views already.
    """
    members = [member for member in members if not (member.is_argument and member.key in known)]
    groups: dict[int, set[int]] = {}
    for i, k in _pairs(members):
        joined = groups.get(i, {i}) | groups.get(k, {k})
        groups.update(dict.fromkeys(joined, joined))
    if not groups:
        return
    found: dict[int, PositionInBase] = {}
    for group in {id(group): group for group in groups.values()}.values():
        ones = [members[i] for i in sorted(group)]
        base = _base(ones)
        for one in ones:
            if one is not base:
                place = found[one.key] = _place(one, base, ones)
                if place.inside is not None and any(share(one.array, x.array) for x in ones if x is not one and x is not base):
                    raise _refused(ones)
    if known:
        raise _refused(ones)
    raise SharedMemory(found)


def _base(ones: Sequence[MemoryUse]) -> MemoryUse:
    """Of members that share memory, the one of which the others are views."""
    reached = [one for one in ones if not one.is_argument]
    if reached:
        owner = reached[0].key[0] if isinstance(reached[0].key, tuple) else None
        late = isinstance(owner, int) and any(one.key < owner for one in ones if one.is_argument)
        if len(reached) > 1 or late:
            raise _refused(ones)
        return reached[0]

    def order(one: MemoryUse) -> tuple[bool, bool, bool]:
        holds = all(places_in(other.array, one.array)[1] is None for other in ones)
        return one.tensor is not None and one.tensor._tracked, holds, one.changed

    return max(ones, key=order)


def _place(one: MemoryUse, base: MemoryUse, ones: Sequence[MemoryUse]) -> PositionInBase:
    a, b = base.array, one.array
    if a.dtype != b.dtype or (one.tensor is not None and one.tensor._tracked):
        raise _refused(ones)
    taped = _taped(one.tensor, base.tensor)
    if a.shape == b.shape and relation(a, b) == (0, a.strides, a.strides):
        return PositionInBase(base.key, None, None, taped, a, base.label)
    places, inside = places_in(b, a)
    if any(x.flags.writeable and np.unique(addresses(x)).size != x.size for x in (a, b)):  # the order of changes decides
        raise _refused(ones)
    return PositionInBase(base.key, places, inside, taped, a, base.label)


def _taped(one: Tensor | None, base: Tensor | None) -> bool:
    """Whether a recorded change of one tensor is recorded as a change of the other."""
    if one is None or base is None or one._tracked or base._tracked:
        return False
    return one is base or one._base is base or (one._base is not None and one._base is base._base) or base._base is one


def places_in(part: ndarray, whole: ndarray) -> tuple[ndarray, ndarray | None]:
    """The positions of `part`'s elements among those of `whole` in row-major order, and which of them `whole` has, None for
    all; the positions of the others are arbitrary. Both are found by the elements' addresses."""
    inside, outside = addresses(part), addresses(whole).reshape(-1)
    order = np.argsort(outside, kind="stable")
    at = order[np.minimum(np.searchsorted(outside, inside, sorter=order), outside.size - 1)]
    there = outside[at] == inside
    return at, None if there.all() else there


def _refused(ones: Sequence[MemoryUse]) -> TraceError:
    changed = next(one for one in ones if one.changed)
    other = next((one for one in ones if one is not changed and one.is_argument), ones[ones[0] is changed])
    return TraceError(
        f"the compiled function changes {changed.label} of shape {shape_text(changed.array.shape)} in place, which shares "
        f"memory with {other.label} of shape {shape_text(other.array.shape)}",
        ADVICE,
        where=changed.where,
    )


def apart(written: list[Tensor], reached: list[Tensor]) -> list[tuple[int, int]]:
    """(first, last + 1) byte of the memory that is written, as ascending ranges. Raises TraceError where another tensor shares
    it: kernels assume that none does."""
    places: dict[int, tuple[int, int, Tensor]] = {}
    for tensor in reached:
        data = tensor._data
        if data.size:
            begin = data.__array_interface__["data"][0]
            places[id(tensor)] = begin, begin + data.nbytes, tensor
    ids = set(map(id, written))
    order = sorted(places.values(), key=lambda place: place[:2])
    furthest: dict[bool, tuple[int, int, Tensor] | None] = {True: None, False: None}
    for place in order:
        writes = id(place[2]) in ids
        for other_writes, other in furthest.items():
            if other is not None and other[1] > place[0] and (writes or other_writes):
                raise TraceError(
                    f"the compiled function changes a tensor of shape {shape_text((place if writes else other)[2].shape)} "
                    f"that shares memory with another one of shape {shape_text((other if writes else place)[2].shape)} "
                    "which it uses",
                    "use one tensor for both, or a clone()",
                )
        known = furthest[writes]
        if known is None or known[1] < place[1]:
            furthest[writes] = place
    return disjoint([places[id(tensor)][:2] for tensor in written if id(tensor) in places])
