"""One run of a function whose Python needs values: operations are noted, and run as one plan where a value is asked for.

Python itself runs, with tensors whose arrays are not there yet (`eager/pending.py`). So whatever it does in between happens in
every run, and in order: it prints, it writes attributes, it branches on numbers. Tape, views and in-place changes are those of
eager mode. An array that somebody else could write before the plan runs is copied when it is noted.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from sys import getrefcount
from types import FrameType
from typing import Any

import numpy as np

from ...compiler.passes.specialize import range_of
from ...eager.calls.kernels import row_major
from ...eager.execution import flows, link, number
from ...eager.grad_mode import modes, no_grad
from ...eager.inplace import set_record
from ...eager.pending import Pending, PendingValue, pending, settled
from ...eager.tape import Record, touch
from ...eager.tensor import PublicTensor, Structure, Tensor, all_attributes, record_of, wrap
from ...errors import PACKAGE_DIR, StaticgradError, user_line
from ...ir import REGISTRY, Layout, Native, Node, OpDef
from ...ops.operators import F, frontends, promotion, state
from ..observer.python_types import IGNORED, origin_of_class
from . import calls
from .calls import COUNTED, PASSED, Detached, exclusive, only_copied, viewed
from .regions import (
    Region,
    SavedNumber,
    backward_key,
    learn_backward,
    learn_step,
    plain_root,
    repeat_backward,
    repeat_step,
    saved_number,
    step_key,
)
from .roads import NUMBERS, RoadNode, Roads, Segment

ndarray = np.ndarray
LARGE = 1 << 22
"""Bytes from which an array that others hold is not copied: the operation runs at once."""
DEEP = 16
"""Operations, one after the other, by which integers are followed."""
LONG = 4000
"""Operations after which a segment ends."""
CAST = REGISTRY["cast"]


class Deferral:
    """See the module. roads: the function's; full: what to do when there are too many segments; least: elements of a result,
    on average, below which no plan is made for what was noted."""

    def __init__(self, roads: Roads, full: Any, least: int = 0):
        self.roads, self.full, self.least = roads, full, least
        self.ended = False
        """Whether the function has returned."""
        self.latest: Segment | None = None
        """The segment that ran last."""
        self.operations = self.elements = 0
        """Of the segments that have run: the number of operations, and the elements of their results."""
        self.values: list[weakref.ref[PendingValue]] = []
        self.tensors: list[weakref.ref[Tensor]] = []
        self.records: list[Callable[[], Record | None]] = []
        self.written: dict[int, tuple[ndarray, PendingValue]] = {}
        """Arrays that a change in place has given new values, by id."""
        self.detached = Detached()
        self._begin()

    def _begin(self) -> None:
        self.at: RoadNode = self.roads.root
        self.arrays: list[ndarray] = []
        self.inputs: dict[int, Node] = {}
        self.held: list[ndarray] = []
        """The arrays whose ids are keys of `inputs`."""
        self.bases: dict[int, int] = {}
        """How many of them are views of a base, by its id."""
        self.given: set[int] = set()
        """The ids of `arrays`."""
        self.places: dict[Node, int] = {}
        """Where those of tensors are among `arrays`, by node: another reference would count as another holder."""
        self.computed: dict[Node, ndarray] = {}
        """Integers that were computed of them."""
        self.leaves: dict[Node, Tensor | None] = {}
        """Leaves that require grad, by the nodes of their arrays."""
        self.copied: dict[int, tuple[Node, Tensor]] = {}
        """Tensors whose arrays others may write, by id, with the nodes of their first copies."""
        self.sources: dict[Node, Tensor] = {}
        """The same by node."""
        self.numbers: list[Any] = []
        """Numbers that differ between runs, in their order."""
        self.count = 0
        self.assigned: list[tuple[int, Node | None, Node, bool]] = []
        """Changes in place: the operations before, the former node, the new one, and whether the tensor's counter knows."""
        self.opened = False
        """Whether attributes of an operation have inputs: the tape has their values, so that no backward pass is repeated."""
        self.region: Region | None = None
        """The call under way that may be repeated as a whole."""
        self.fixed = False
        """Whether arrays that it makes are the same each time."""
        self.noted: list[tuple[RoadNode, Tensor, Any]] | None = None
        """The operations of a call that is noted for the first time, each with its result and what that is a view of."""

    # operations -------------------------------------------------------------------------------------------------------

    def apply(self, op: OpDef, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Note an operation; None for one that runs at once."""
        mode = modes.now
        if op.leaf or not args or mode.arrays or (mode.watched and mode.saver is not None):
            return None
        refs: list[Any] = []
        large = whole = False
        bare = True  # all operands are tensors
        flags, bit = 0, 1
        for arg in args:
            kind = arg.__class__
            if kind is Pending:
                refs.append(arg._value.node)
                whole = True
                if arg._tracked:
                    flags |= bit if arg._record is None else bit << 1
            elif kind in NUMBERS:
                refs.append(arg)
                bare = False
            elif kind is SavedNumber:
                refs.append(arg.value)
            elif isinstance(arg, Tensor) and not (arg._tracked or arg._data.ndim or arg._data.flags.writeable):
                refs.append(arg._data.item())  # a number that the tape has saved
            elif isinstance(arg, Tensor):
                if arg._tracked:
                    flags |= bit if arg._record is None else bit << 1
                node = self.inputs.get(id(arg._data))
                if node is None:
                    node = self.input_of(arg, arg._data)
                    large = large or node is None
                refs.append(node)
            elif isinstance(arg, (ndarray, np.generic)) and arg.dtype.kind in "biuf" and arg.nbytes < LARGE:
                taken = wrap(np.array(arg))  # for the tape, too: a backward pass then reads the same input
                args = (*args[: len(refs)], taken, *args[len(refs) + 1 :])
                refs.append(self.input_of(taken, taken._data))
            else:
                return None
            bit <<= 2
        if not mode.grad:
            flags = 0
        if not whole and (large or all(ref.__class__ in NUMBERS for ref in refs)):
            return None
        if large:
            refs = [
                self._taken(self.roads.copy(a._data), like=a._data) if r is None else r for a, r in zip(args, refs, strict=True)
            ]
        if op.fails and not self.passes(op, refs, attrs):
            return None
        step = self.at.latest
        if step is None or not step.matches(op, refs, attrs, flags):
            step = self.roads.find(self.at, op, refs, attrs, flags)
        if step is None:
            if (cast := self._cast(op, args, refs)) is not None:
                return frontends.eager(op, cast, attrs)
            step = self.roads.add(self.at, op, refs, attrs, flags)
            if step is None:
                return None
        self.at = step
        self.count += 1
        if step.numbers:
            self._numbers(step, args, refs)
        if step.opening is not None:
            for array, node in zip(step.opening.fed(attrs) or (), step.opening.nodes, strict=True):
                self._give(array, None, node)
            self.opened = True
            if self.region is not None:
                self.region.whole = False
        assert step.recorded is not None
        out = self._result(step.recorded, step, args, attrs, flags, bare)
        if self.count >= LONG:
            self.settle()
        return out

    def passes(self, op: OpDef, refs: Sequence[Any], attrs: Mapping[str, Any]) -> bool:
        """Whether an operation that may fail does not: a check of integers that follow from arrays, or that are in range
        wherever they come from. Others run at once, so nothing of the code that follows runs where they fail."""
        if not isinstance(op.emit, Native) or op.emit.again is not None or len(op.shape_only) < len(refs) - 1:
            return False
        array = self._known(refs[0], DEEP)
        if array is None:
            ends = range_of(refs[0], self.roads.ranges, DEEP)
            if ends is None:
                return False
            array = np.array([*ends, min(max(ends[0], 0), ends[1])])
        try:
            op.eval(array, *[ref.type for ref in refs[1:]], **attrs)
        except StaticgradError:  # which it raises at once
            return False
        return True

    def _known(self, ref: Any, depth: int) -> ndarray | None:
        """The value of integers that follow from integers of arrays by a few operations."""
        if ref.__class__ is not Node:
            return np.asarray(ref)
        op, kind = ref.op, ref.type
        if op.leaf == "constant":
            return ref.attrs["value"].array
        if ref in self.places:
            return self.arrays[self.places[ref]]
        found = self.computed.get(ref)
        if found is not None or not depth or not op.pure or kind.nbytes >= LARGE:
            return found
        operands: list[Any] = []
        for i, operand in enumerate(ref.inputs):
            shape_only = i in op.shape_only
            if not shape_only and operand.type.dtype.kind not in "biu":
                return None
            operands.append(operand.type if shape_only else self._known(operand, depth - 1))
            if operands[-1] is None:
                return None
        found = self.computed[ref] = np.asarray(op.eval(*operands, **ref.attrs))
        return found

    def _numbers(self, step: RoadNode, args: tuple[Any, ...], refs: list[Any]) -> None:
        """Take the numbers among the operands, where any number will do."""
        region = self.region
        for i, dtype in step.numbers.items():
            arg = args[i]
            if step.free:
                self._give(np.asarray(refs[i], dtype), None, step.node.inputs[i])  # type: ignore[union-attr]
                self.numbers.append(refs[i])
            if region is not None and arg.__class__ is SavedNumber:
                region.saved(arg, self.numbers, step, dtype)
            elif region is not None and step.free:
                region.whole = False

    def _result(
        self, op: OpDef, step: RoadNode, args: tuple[Any, ...], attrs: dict[str, Any], flags: int, bare: bool
    ) -> Tensor:
        """The tensor of a noted operation, on the tape where a gradient can flow. bare: all operands are tensors."""
        is_view = step.view and isinstance(args[0], Tensor)
        source = None
        if is_view:
            source = args[0]._value if args[0].__class__ is Pending else args[0]._data
        value = PendingValue(step.node, self, source)
        if is_view:
            value.view = op.plain, attrs
        self.values.append(weakref.ref(value))
        record = None
        if flags and step.flows is not False:
            mode = modes.now
            inputs = args if bare else tuple([
                a if isinstance(a, Tensor) else self._saved(a, step, i) for i, a in enumerate(args)
            ])  # fmt: skip
            if step.flows is None:
                step.flows = flows(op, inputs, value)  # type: ignore[arg-type]
            if step.flows:
                record = record_of(op, inputs, attrs, value, mode)
                self.records.append(weakref.ref(record))
        out = pending(value, record)
        if is_view:
            link(out, args[0])
        if self.noted is not None:
            self.noted.append((step, out, args[0] if is_view else None))
        return out

    def _saved(self, value: Any, step: RoadNode, position: int) -> Tensor:
        """A number that the tape saves."""
        if not step.free:
            return number(value, step.numbers[position])
        at = len(self.numbers) - len(step.numbers) + list(step.numbers).index(position)
        return saved_number(value, step.numbers[position], self, at)

    def input_of(self, tensor: Tensor, array: ndarray) -> Node | None:
        """The node of a tensor's array; None for a large one that others can write."""
        owner = self.detached.owner(tensor)
        count = 2 if owner is None else 3
        alone = exclusive(array, count)
        tensor = tensor if owner is None else owner
        if not alone and array.nbytes >= LARGE:
            return None
        former = self.copied.get(id(tensor), (None, None))[0]
        if alone:
            node = self._taken(array, array, tensor, former)
        else:
            node = self._taken(self.roads.copy(array), None, tensor, former, array)
            self.copied.setdefault(id(tensor), (node, tensor))
            self.sources[node] = tensor
        if tensor._tracked and tensor._record is None:
            self.leaves[node] = tensor
        return node

    def layout(self, value: PendingValue) -> Layout:
        """How the elements of a value will lie in memory."""
        return self.roads.layout(value.node)

    def usable(self, array: ndarray) -> bool:
        """Whether an array can be an input as it is."""
        return array.flags.c_contiguous and (id(array) in self.inputs or exclusive(array, 2 + PASSED))

    def follow(self, region: Region, arrays: Sequence[tuple[ndarray, ndarray | None]]) -> None:
        """Go on after the operations of a region. arrays: its inputs, each with the tensor's array that it is."""
        steps = region.inputs
        for (array, key), node in zip(arrays, steps, strict=True):
            self._give(array, key, node)
        assert region.end is not None
        self.at = region.end
        self.count += region.steps

    def _taken(
        self, array: ndarray, key: ndarray | None = None, origin: Tensor | None = None, former: Node | None = None,
        like: ndarray | None = None,
    ) -> Node:  # fmt: skip
        """The node of an array that nobody else writes. key: the array of the tensor `origin`, where it is that; former: the
        node of the first copy of that; like: the array of which it is a copy."""
        self.at = self.roads.input(self.at, array if like is None else like, origin is not None and origin._tracked)
        node = self.at.node
        assert node is not None
        if self.region is not None:
            fixed = self.fixed and (origin is None or key is not None)
            self.region.source(origin, array, fixed, former)
            self.region.inputs.append(node)
        self._give(array if self.roads.strict else row_major(array), key, node)
        return node

    def _give(self, array: ndarray, key: ndarray | None, node: Node) -> None:
        """Give the plan an array as the next input. key: the tensor's array that it is, or stands for."""
        self.arrays.append(array)
        self.given.add(id(array))
        self.places[node] = len(self.arrays) - 1
        if key is not None:
            self.inputs[id(key)] = node
            self.held.append(key)
            base = key.base
            if base is not None:
                self.bases[id(base)] = self.bases.get(id(base), 0) + 1

    def differs(self, key: Any, number: int) -> bool:
        """Whether a run before had another number here. key: what tells it from other numbers."""
        known = self.at.calls.setdefault(key, number)
        if known != number:
            self.at.calls[key] = None
        return self.at.calls[key] is None

    def _cast(self, op: OpDef, args: Sequence[Any], refs: Sequence[Any]) -> tuple[Any, ...] | None:
        """The operands, cast to the dtypes that the operation takes; None where none is cast."""
        try:
            targets = promotion(op, refs)
        except Exception:  # which the operation raises again
            return None
        dtypes = [
            None if t is None or r.__class__ in NUMBERS or t == r.type.dtype else t for t, r in zip(targets, refs, strict=True)
        ]
        if all(d is None for d in dtypes):
            return None
        return tuple([
            a if d is None else frontends.eager(CAST, (a if isinstance(a, Tensor) else wrap(np.array(a)),), {"dtype": d})
            for a, d in zip(args, dtypes, strict=True)
        ])  # fmt: skip

    # calls of the package --------------------------------------------------------------------------------------------------

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The result of a function that has no effects."""
        return calls.call(self, function, args, named)

    def step(self, optimizer: Any, gradients: dict[int, list[tuple[Tensor, Any]]], work: Callable[[], None]) -> None:
        """Do an optimizer's step, `work`, or repeat its operations."""
        key, members = step_key(self, optimizer, gradients)
        if repeat_step(self, key, members, gradients):
            return
        start, region = self.at, Region(optimizer, members)
        region.whole = origin_of_class(type(optimizer)) is IGNORED  # a rule of the user's may count, say
        self._note(region, False, work)
        if region.steps:
            learn_step(self, optimizer, start, key, members, region)

    def _note(self, region: Region, fixed: bool, work: Callable[[], Any]) -> Any:
        """Do the work of a region. fixed: arrays that it makes are the same each time."""
        count = self.count
        self.region, self.fixed = region, fixed
        try:
            return work()
        except BaseException:
            region.whole = False
            raise
        finally:
            self.region = None
            region.steps = max(self.count - count, 0)

    def backward(self, tensors: Any, others: Sequence[Any], work: Callable[[], Any]) -> None:
        """Do a backward pass, `work`, which gives its engine, or repeat its operations."""
        root = None if self.opened else plain_root(self, tensors, others)
        if root is None:
            work()
            return
        if repeat_backward(self, root):
            return
        start, key = self.at, backward_key(self, root)
        records = [record for made in self.records if (record := made()) is not None]
        region = Region(None, [x for record in records for x in record.inputs])
        region.numbers = [*self.numbers]
        region.whole = all(leaf is None or leaf._gradient is None for leaf in self.leaves.values())
        engine = self._note(region, True, work)
        if region.steps and region.whole:
            learn_backward(self, start, key, engine.done, [leaf for leaf, _ in engine.found.values()], region)

    # changes in place ---------------------------------------------------------------------------------------------------

    def assign(self, x: Tensor, value: Any, name: str) -> bool:
        """Note that x gets a new value in its own memory. Otherwise everything is run, and False returned: eager mode
        changes the array."""
        mode = modes.now
        tracked = x._tracked or (isinstance(value, Tensor) and value._tracked)
        simple = not (mode.grad and tracked)
        if simple and isinstance(value, Tensor):
            value = value if value.dtype == x.dtype else F.astype(value, x.dtype)
            value = F.clone(value)  # which nobody else holds
            owner = self.detached.owner(x)
            if value.__class__ is Pending and self.replaceable(x, owner):
                if self.region is not None:
                    self.region.results.append((x, value._value.node))
                    self.region.whole = self.region.whole and owner is None
                self.take_over(x, value._value)
                if owner is not None:
                    self.take_over(owner, value._value, x._memory is not None and x._memory is owner._memory)
                touch(x, 3)
                return True
        elif not simple and self._takes_over_recorded(x, value):
            return True
        self.settle()
        return False

    def _takes_over_recorded(self, x: Any, value: Any) -> bool:
        """Let x take over a value with a record, where nobody else sees the memory of x."""
        if (
            value.__class__ is not Pending or value._record is None or value.dtype != x.dtype or x._views is not None
            or x._base is not None or x._retained is not None or (x._tracked and x._record is None)
            or self.region is not None or self.detached.owner(x) is not None
        ):  # fmt: skip
            return False
        record = value._record
        operands: tuple[Any, ...] = record.inputs
        read = sum([t is x for t in operands])
        if read > 1 or not (self._alone(x) if x.__class__ is Pending else self.replaceable(x)):
            return False
        with no_grad():
            own: Any = F.clone(value)  # which nobody else holds
        before = self._former(x) if read else None
        if own.__class__ is not Pending or (read and before is None):
            return False
        record.inputs = tuple([before if t is x else t for t in operands])
        self.take_over(x, own._value)
        set_record(x, record, touch(x, 4))
        return True

    def _alone(self, x: Any) -> bool:
        """Whether only a pending tensor, and the record that made it, hold its value."""
        value: PendingValue = x._value
        kept = x._record is not None and x._record.out is value
        written = x._home is not None
        return value.source is None and getrefcount(value) <= 2 + COUNTED + kept + written

    def _former(self, x: Any) -> Tensor | None:
        """A tensor with the value that x has before a change, and its record."""
        if x.__class__ is Pending:
            return pending(x._value, x._record)
        node = self.inputs.get(id(x._data), self.copied.get(id(x), (None,))[0])
        if node is None:
            return None
        value = PendingValue(node, self)
        value.array = x._data.copy()
        return pending(value)

    def rebind(self, x: Tensor, value: Any) -> bool:
        """Whether `x.data = value` is noted: at the end of `x.data += y`, which leaves x its memory, and for a value that is
        not there yet. Otherwise everything is run."""
        if self.detached.owner(value) is not x or x._base is not None:
            if self._adopts(x, value):
                return True
            self.settle()
            return False
        node = x._value.node if x.__class__ is Pending else self.inputs.get(id(x._data))
        if node is not None:
            self.assigned.append((self.count, node, node, True))
        return True

    def _adopts(self, x: Any, value: Any) -> bool:
        """Let x have the memory of a pending tensor from now on, where nothing else follows from that."""
        if (
            value.__class__ is not Pending or value._value.source is not None or x.__class__ not in (PublicTensor, Pending)
            or x._base is not None or x._record is not None or viewed(x)
            or value.dtype != x.dtype or value._value.shape != tuple(x.shape)
        ):  # fmt: skip
            return False
        if self.region is not None:
            self.region.whole = False
        node = value._value.node
        former = x._value.node if x.__class__ is Pending else self.inputs.get(id(x._data))
        self.assigned.append((self.count, former, node, True))
        if x.__class__ is not Pending:
            x.__class__ = Pending
            self.tensors.append(weakref.ref(x))
        all_attributes(x).pop("_home", None)
        all_attributes(x)["_value"] = value._value
        if x._tracked:
            self.leaves[node] = x
        Structure.changes += 1
        Structure.rebound += 1
        return True

    def replaceable(self, x: Tensor, owner: Tensor | None = None) -> bool:
        """Whether nobody else sees the memory of x, which isn't of a class of the user's: a pending tensor has none. owner: the
        tensor that x was detached from."""
        for tensor in (x,) if owner is None else (x, owner):
            ordinary = tensor.__class__ is PublicTensor or tensor.__class__ is Pending
            if not ordinary or tensor._base is not None or tensor._record is not None or viewed(tensor):
                return False
        others = owner is not None
        if x.__class__ is Pending:
            value: PendingValue = x._value
            written = x._home is not None or (owner is not None and owner._home is not None)  # type: ignore[attr-defined]
            return value.source is None and getrefcount(value) <= 2 + COUNTED + others + written
        home = x._data
        if not (home.flags.writeable and home.flags.c_contiguous):
            return False
        own = id(home.base) if id(home) in self.inputs else 0  # a variable would hold it
        return exclusive(home, 2 + others + self._holds(home), lambda base: self._views(base) - (id(base) == own))

    def take_over(self, x: Tensor, value: PendingValue, counted: bool = True) -> None:
        """Give x a value that nobody else holds. Its array gets the numbers when everything is run. counted: whether backward
        passes are to notice."""
        former = x._value.node if x.__class__ is Pending else self.inputs.get(id(x._data))
        self.assigned.append((self.count, former, value.node, counted))
        if x._tracked and x._record is None:
            self.leaves[value.node] = x
        if x.__class__ is not Pending:
            home = x._data
            all_attributes(x)["_home"] = home
            x.__class__ = Pending
            self.tensors.append(weakref.ref(x))
            self.written[id(home)] = home, value
        elif x._home is not None:
            self.written[id(x._home)] = x._home, value
        all_attributes(x)["_value"] = value

    def _holds(self, array: ndarray) -> int:
        """How many references this run has to an array."""
        known = id(array) in self.inputs
        return self._views(array) + known + (known and id(array) in self.given)

    def _views(self, base: Any) -> int:
        """How many views of an array this run has."""
        views = self.bases.get(id(base), 0)
        for _, tensor in self.copied.values():  # some of which nobody else holds any more
            if tensor.__class__ is not Pending and tensor._data.base is base and only_copied(tensor):
                views += 1
        return views

    # cuts ---------------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Run what was noted, and make all tensors ordinary ones."""
        if self.at is self.roads.root and not self.values and self.region is None:
            return
        deferral, state.deferral = state.deferral, None
        try:
            self._run()
        finally:
            state.deferral = deferral

    def _run(self) -> None:
        live = [value for reference in self.values if (value := reference()) is not None and value.array is None]
        roots = [value for value in live if value.source is None]
        if roots:
            where = (lambda: (None, "")) if self.ended else _cut
            segment = self.roads.segment(self.at, tuple([value.node for value in roots]), where, self.latest)
            self.latest = segment
            if segment is None:
                self.full()
            else:
                self.operations += segment.operations
                self.elements += segment.elements
            if segment is not None and self.elements >= self.least * self.operations:
                results = segment.run(self.arrays)
            else:
                computed = self.roads.interpret(self.at, self.arrays)
                results = [np.array(computed[value.node]) for value in roots]
            for value, array in zip(roots, results, strict=True):
                value.array = self.roads.laid_out(value.node, array)
        for home, value in self.written.values():
            if value.array is not None:
                np.copyto(home, value.array)
                value.array = home
        for value in live:
            if value.source is not None:
                source = value.source.array if value.source.__class__ is PendingValue else value.source
                if source is not None:
                    op, attrs = (value.node.op, value.node.attrs) if value.view is None else value.view
                    value.array = np.asarray(op.eval(source, **attrs))
        for reference in self.tensors:
            tensor: Any = reference()
            if tensor is not None and tensor.__class__ is Pending and tensor._value.array is not None:
                settled(tensor)
        for made in self.records:
            record = made()
            if record is not None and record.out.__class__ is PendingValue and record.out.array is not None:
                record.out = record.out.array
        for kept in (self.values, self.tensors, self.records, self.written):
            kept.clear()
        if self.region is not None:
            self.region.whole = False
        self._begin()


def _cut() -> tuple[Any, str]:
    """The user's line, and the function of the package that it calls there."""
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE_DIR):
            break
        name, frame = frame.f_code.co_name, frame.f_back
    return user_line(), name
