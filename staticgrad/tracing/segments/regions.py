"""Calls of the package that a run repeats as a whole: backward passes, and steps of optimizers.

Their operations follow from the road so far, from the tensors that they begin with, and from facts that `Structure` counts.
So a run that is at the same step of the same road takes over all of their operations at once, with the arrays of its own
tensors.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.dtypes import PUBLIC, DType
from ...eager.execution import fresh
from ...eager.grad_mode import modes
from ...eager.pending import Pending, PendingValue, pending
from ...eager.tape import Record, touch
from ...eager.tensor import PublicTensor, Structure, Tensor
from ...ir import Node
from ...ops.operators import disabled_torch_function
from .roads import RoadNode

if TYPE_CHECKING:
    from .deferral import Deferral


class Region:
    """The operations of one call. owner: the optimizer, None for a backward pass; members: the tensors of its step, or those
    that the tape has saved. sources: of the arrays that it adds to the inputs, each a kind and an object. results: the tensors
    that get new values, with the nodes of these. end: the last step; steps: their number."""

    def __init__(self, owner: Any, members: Sequence[Any]):
        self.owner, self.members = owner, {id(x): x for x in members}
        self.sources: list[tuple[str, Any]] = []
        self.inputs: list[Node] = []
        self.results: list[tuple[Any, Node]] = []
        self.freed: list[int] = []
        """Positions of the records that a backward pass frees."""
        self.end: RoadNode | None = None
        self.steps = 0
        self.changes = -1
        self.numbers: list[Any] = []
        """Those before it that differ between runs."""
        self.reads = False
        """Whether it depends on their values."""
        self.whole = True
        """Whether it can be repeated."""

    def source(self, origin: Any, array: np.ndarray, fixed: bool, former: Node | None = None) -> None:
        """Note an input. origin: the tensor whose array it is; fixed: it is the same each time; former: the node of another
        copy of that tensor's array."""
        number = None if origin is None else origin.__dict__.get("_number")
        if number is not None:
            self.sources.append(("number", number))
        elif self.owner is not None and origin is not None and id(origin) in self.members:
            self.sources.append(("tensor", origin))
        elif former is not None:
            self.sources.append(("again", former))
        elif fixed and id(origin) not in self.members:  # made by the pass itself
            self.sources.append(("constant", array))
        else:
            self.whole = False

    def saved(self, arg: SavedNumber, numbers: list[Any], step: RoadNode, dtype: np.dtype) -> None:
        """Note a number of the tape among the operands of an operation. numbers: those of this run."""
        if not step.free:
            self.reads = True
        elif arg.numbers is numbers:
            self.sources.append(("saved", (arg.at, dtype)))
            assert step.node is not None
            self.inputs.append(step.node)
        else:
            self.whole = False


class SavedNumber(PublicTensor):
    """A number that differs between runs, as the tape has saved it. numbers: those of its run; at: its place among them.

    An operation that it is an operand of takes it as an argument. Code that reads it may do something else for another number,
    so what it does is repeated only for the same one.
    """

    __slots__ = ()
    __torch_function__ = disabled_torch_function

    deferral: Deferral
    numbers: list[Any]
    at: int

    @property
    def _data(self) -> np.ndarray:  # type: ignore[override]
        region = self.deferral.region
        if region is not None:
            region.reads = True
        return Tensor._data.__get__(self)  # type: ignore[attr-defined]

    @property
    def value(self) -> Any:
        """The number, for an operation that is noted."""
        return Tensor._data.__get__(self).item()  # type: ignore[attr-defined]

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return ()

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return PUBLIC[Tensor._data.__get__(self).dtype]  # type: ignore[attr-defined]


def saved_number(value: Any, dtype: np.dtype, deferral: Deferral, at: int) -> Tensor:
    """The tensor of a number of this run, for the tape. at: its place among those that differ between runs."""
    out = fresh(value, dtype)
    out.__class__ = SavedNumber
    out.__dict__.update(deferral=deferral, numbers=deferral.numbers, at=at)
    return out


def _place(deferral: Deferral, x: Any) -> Any:
    """Where a tensor's value comes from in this run: a node, or None for an array that is no input yet."""
    if x.__class__ is Pending:
        return x._value.node
    return deferral.inputs.get(id(x._data))


def _arrays(deferral: Deferral, region: Region, gradients: dict[int, Any]) -> list[tuple[np.ndarray, Any]] | None:
    """The arrays that a region adds to the inputs, each with the tensor's array that it is; None where one is missing.
    gradients: those in the place of former ones, by ids of these."""
    arrays: list[tuple[np.ndarray, Any]] = []
    for kind, source in region.sources:
        if kind == "tensor":
            array = gradients.get(id(source), source)._data
            arrays.append((array, array) if deferral.usable(array) else (deferral.roads.copy(array), None))
        elif kind == "again":
            if source not in deferral.sources:
                return None
            arrays.append((deferral.roads.copy(deferral.sources[source]._data), None))
        elif kind == "number":
            arrays.append((np.asarray(source[0][source[1]], np.float64), None))
        elif kind == "saved":
            arrays.append((np.asarray(deferral.numbers[source[0]], source[1]), None))
        else:
            arrays.append((source, None))
    return arrays


# steps of optimizers ----------------------------------------------------------------------------------------------------


def step_key(deferral: Deferral, optimizer: Any, gradients: dict[int, list[tuple[Any, Any]]]) -> tuple[Any, list[Any]]:
    """What the operations of a step depend on, beside the road; and its tensors."""
    members: list[Any] = []
    for pairs in gradients.values():
        for p, g in pairs:
            members.append(p)
            members.append(g)
            members.extend(optimizer.state.get(p, {}).values())
    places = [_place(deferral, x) for x in members]
    return (id(optimizer), *map(len, gradients.values()), *places), members


def repeat_step(deferral: Deferral, key: Any, members: list[Any], gradients: dict[int, list[tuple[Any, Any]]]) -> bool:
    """Repeat the operations of a step, where they are known."""
    region = deferral.at.regions.get(key)
    if region is None or region.changes != Structure.changes - Structure.rebound:
        return False
    gradients_now = {}
    for new, (old, matters) in zip(members, region.owner[1], strict=True):
        if new is not old:
            if matters:
                return False
            gradients_now[id(old)] = new
    for x, _ in region.results:
        if not deferral.replaceable(x):
            return False
    arrays = _arrays(deferral, region, gradients_now)
    if arrays is None:
        return False
    deferral.follow(region, arrays)
    for x, node in region.results:
        value = PendingValue(node, deferral)
        deferral.values.append(weakref.ref(value))
        deferral.take_over(x, value)
        touch(x, 4)
    return True


def learn_step(deferral: Deferral, optimizer: Any, start: RoadNode, key: Any, members: list[Any], region: Region) -> None:
    """Keep the operations of a step that has been noted."""
    slots = [(x, x.__class__ is not Pending or x._home is not None) for x in members]
    gradients = {id(p._gradient) for group in optimizer.param_groups for p in group["params"]}
    region.owner = optimizer, [(x, id(x) not in gradients) for x, _ in slots]
    _learn(deferral, start, key, region)


def _learn(deferral: Deferral, start: RoadNode, key: Any, region: Region) -> None:
    if region.whole:
        region.end, region.changes = deferral.at, Structure.changes - Structure.rebound
        region.members = {}
        start.regions[key] = region


# backward passes --------------------------------------------------------------------------------------------------------


def plain_root(deferral: Deferral, tensors: Any, others: Sequence[Any]) -> Any:
    """The root of a backward pass that may be repeated: one pending tensor, and no other wishes. Otherwise None."""
    root = tensors[0] if tensors.__class__ in (list, tuple) and len(tensors) == 1 else tensors
    if root.__class__ is not Pending or root._record is None or any(x is not None and x is not False for x in others):
        return None
    return None if modes.now.saver is not None else root


def backward_key(deferral: Deferral, root: Any) -> Any:
    """What the operations of a pass depend on, beside the road: records read the present values of tensors."""
    return (root._value.node, *deferral.assigned)


def repeat_backward(deferral: Deferral, root: Any) -> bool:
    """Repeat a backward pass, where it is known."""
    region = deferral.at.regions.get(backward_key(deferral, root))
    if region is None or region.changes != Structure.changes - Structure.rebound:
        return False
    if region.reads and region.numbers != deferral.numbers:
        return False
    leaves = [deferral.leaves.get(leaf) for leaf, _ in region.results]
    if any(x is None or x._gradient is not None or x._hooks or x._accumulated for x in leaves):
        return False
    records = [deferral.records[i]() for i in region.freed if i < len(deferral.records)]
    if any(record is None or record.hooks or record.freed for record in records):
        return False
    arrays = _arrays(deferral, region, {})
    if arrays is None:
        return False
    numbers = [deferral.numbers[source[0]] for kind, source in region.sources if kind == "saved"]
    deferral.follow(region, arrays)
    deferral.numbers += numbers
    for leaf, (_, node) in zip(leaves, region.results, strict=True):
        value = PendingValue(node, deferral)
        deferral.values.append(weakref.ref(value))
        leaf._gradient = pending(value)  # type: ignore[union-attr]
    Structure.gradients += 1
    for record in records:
        record.free()
    return True


def learn_backward(
    deferral: Deferral, start: RoadNode, key: Any, done: Sequence[Any], found: Sequence[Any], region: Region
) -> None:
    """Keep the operations of a backward pass. done: its records; found: the leaves that had no gradient."""
    places = {id(reference()): i for i, reference in enumerate(deferral.records)}
    nodes = {id(leaf): node for node, leaf in deferral.leaves.items() if leaf is not None}
    for record in done:
        if id(record) not in places or record.hooks or type(record) is not Record:  # that of a Function runs Python
            region.whole = False
        else:
            region.freed.append(places[id(record)])
    for leaf in found:
        g: Tensor | None = leaf._gradient
        if id(leaf) not in nodes or g.__class__ is not Pending or leaf._hooks or leaf._accumulated:
            region.whole = False
        else:
            region.results.append((nodes[id(leaf)], g._value.node))
    _learn(deferral, start, key, region)
