"""Traced views: results of slices, transpositions and reshapes, whose in-place changes change the tensor they were taken of.

Every change makes new values (functionalization). A view keeps the tensor that it was taken of; it is read from that again once
it has another value, and a change of the view gives that tensor a new value. The transpose of the view's operation, which is
its gradient rule, puts values back in their places.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.types import bool_, check_unmasked, shape_text
from ..eager.grad_mode import modes, set_grad_enabled
from ..eager.inplace import check_overlap, in_place_of
from ..eager.item_assignment import fitting, places_named
from ..eager.tensor import Tensor, unrecorded_view
from ..errors import IndexRangeError, ShapeError
from ..ir import Layout, Node, OpDef, View
from ..ops.indexing import as_read
from ..ops.operators import F, Symbol, apply, misuse
from ..ops.operators.symbols import order_in_memory, reshaped
from ..ops.placing import written
from ..ops.sized import positions_op
from .sharing import share
from .traced import Alias, DataAlias, Traced, open_in_rows


class TracedView(Alias):
    """A view of `base` on the same tape. maker: the node that took it at first."""

    __slots__ = ("maker", "part", "unrecorded")

    detaches = False

    def __init__(self, tracer: Any, base: Traced, maker: Node):
        self.maker: Node | None = maker
        self.unrecorded: bool = not modes.now.grad or (isinstance(base, TracedView) and base.unrecorded)
        self.part: tuple[str, int] | None = base.part if isinstance(base, TracedView) else None
        """The node of a function such as `split` that returned it, or that a view was taken of, and which result that is."""
        super().__init__(tracer, base)
        self._seen, self._fresh = base.node, maker

    def read_base(self) -> Node:
        if self.maker is None:
            return self.base.node
        if not self.shares:
            self.settle(self._fresh)
            return self._fresh
        if self.unrecorded and self.base.requires_grad and not self.root.is_leaf:
            self.tracer.refuse(
                f"{self.base.describe()} was changed in place with grad mode enabled, after a view of it was taken under "
                "no_grad: whether the view has a gradient is ambiguous",
                "take the view where the change is made: both inside sg.no_grad(), or both outside",
            )
        if self.part is not None and self.base.requires_grad and not self.root.is_leaf:
            raise misuse.part_changed(*self.part, "its base or another view of its base has been modified inplace")
        with set_grad_enabled(not self.unrecorded):
            node: Node = self.tracer.apply_plainly(self.maker.op, (self.base,), self.maker.attrs).node
        if self._fresh in self.tracer.tracked and node not in self.tracer.tracked:  # the base was detached in place
            self.tracer.refuse(
                f"{Symbol(self.tracer.graph, self.maker).describe()} is a view of a tensor that was changed in place after "
                "it was taken",
                "take the view again after the change",
            )
        self.tracer.keep_retained(self._fresh, node)
        if node in self.tracer.tracked and self.root.is_leaf:
            self.tracer.memory.taped_as[node] = self._fresh
        return node

    @property
    def shares(self) -> bool:
        """Whether eager mode has both in the same memory: a reshape may have to copy."""
        assert self.maker is not None
        assert self.maker.op.aliases
        if not isinstance(self.maker.op.emit, View) or not self.maker.op.emit.keeps_order:
            return True
        below = self.maker.inputs[0]
        if open_in_rows(below):
            return True
        layout = self.tracer.memory.layout(Traced(self.tracer, below))
        return self.maker.op.emit.rule(self.maker, layout) is not None or reshaped(layout, self.maker.type.shape) is not None

    @property
    def root(self) -> Any:
        """The tensor whose memory it is a part of."""
        x: Any = self
        while isinstance(x, TracedView):
            x = x.base
        return x

    def spreads(self) -> bool:
        """Whether elements of its base appear several times in it: NumPy makes such a view read-only."""
        x: Any = self
        while isinstance(x, TracedView) and x.maker is not None:
            if isinstance(x.maker.op.emit, View) and x.maker.op.emit.overlaps(x.maker, tuple(x.base.shape)):
                return True
            x = x.base
        return False

    def check_recorded(self, value_tracked: bool) -> None:
        """Raises GradientError for a change that is to be recorded, where the view itself was not."""
        if modes.now.grad and self.unrecorded and (value_tracked or self.requires_grad or self.root.requires_grad):
            raise unrecorded_view("is being modified inplace")
        if modes.now.grad and self.part is not None and self.requires_grad:
            raise misuse.part_changed(*self.part, "is being modified inplace")

    def follows(self) -> bool:
        """Whether a change of it is one of its base. Otherwise it gets a value of its own."""
        if self.maker is not None and not self.shares:
            with set_grad_enabled(not self.unrecorded):
                self.settle(self.tracer.own(self).node)
        return self.maker is not None

    def settle(self, node: Node) -> None:
        """From now on it is a tensor with this value and memory of its own."""
        self.maker = None
        self.base = Traced(self.tracer, node)
        self._seen = self._fresh = node

    def within(self, value: Any) -> Any:
        assert self.maker is not None
        base, op = self.base, self.maker.op
        if op.written is not None:
            return op.written(base, value)
        rule = op.vjp_for(0)
        assert rule is not None
        if value.size == base.size:
            return rule(value, self.maker, value, base)
        places = rule(np.ones(self.maker.type.shape, np.bool_), self.maker, value, base)
        return F.where(places, rule(value, self.maker, value, base), base)

    def same_place(self, other: Any) -> bool:
        """Whether both are the same part of the same tensor."""
        if not isinstance(other, TracedView) or self.maker is None or other.maker is None:
            return False
        if self.maker.op is not other.maker.op or dict(self.maker.attrs) != dict(other.maker.attrs):
            return False
        return self.base is other.base or (isinstance(self.base, TracedView) and self.base.same_place(other.base))


# results that share memory ---------------------------------------------------------------------------------------------


class ViewOperation(NamedTuple):
    """One operation of eager mode that gives the same memory. op: of a view, None for `x.detach()` or `x.data`; recorded:
    whether it was taken while gradients were recorded."""

    op: OpDef | None
    attrs: Mapping[str, Any]
    recorded: bool = True
    data: bool = False

    def take(self, x: Tensor) -> Any:
        """The result for an eager tensor."""
        if self.op is None:
            return x.data if self.data else x.detach()
        with set_grad_enabled(self.recorded and modes.now.grad):
            return apply(self.op, x, **self.attrs)

    def again(self, attribute: Callable[[Any], Any]) -> ViewOperation:
        """The same for other extents; attribute: of one."""
        return self._replace(attrs={name: attribute(value) for name, value in self.attrs.items()})


def memory_of(x: Any, owners: Container[int]) -> tuple[Any, list[ViewOperation]]:
    """The value, or one of `owners` (by id), in whose memory eager mode has x, and the operations that lead from it to x."""
    steps: list[ViewOperation] = []
    while id(x) not in owners:
        if not isinstance(x, Alias):
            if not isinstance(x, Traced) or id(x) not in x.tracer.memory.moves:
                break
            x = x.tracer.memory.moves[id(x)][1]
            continue
        if isinstance(x, TracedView):
            x.node  # noqa: B018 - a reshape that had to copy has memory of its own from here on
            if x.maker is not None:
                if not x.shares:
                    break
                steps.append(ViewOperation(x.maker.op, x.maker.attrs, not x.unrecorded))
        else:
            if x.requires_grad:
                x.tracer.refuse(
                    f"{x.describe()} is returned, a detached tensor that was changed in place by a value that requires grad",
                    "return a clone() of it, or change a clone()",
                )
            steps.append(ViewOperation(None, {}, data=isinstance(x, DataAlias)))
        x = x.base
    return x, steps[::-1]


def overlap(root: Traced, parts: Sequence[Sequence[ViewOperation]]) -> bool:
    """Whether two parts of a value have an element in common in eager mode. Where extents vary they count as if they had."""
    layout = _known_layout(root)
    if layout is None:
        return True
    whole = _room(layout, root.dtype)
    arrays = [_part(whole, steps) for steps in parts]
    return any(share(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


def in_order(root: Traced, parts: Sequence[Sequence[ViewOperation]]) -> tuple[Traced, ViewOperation] | None:
    """For a value of which eager mode has the parts in the same memory, only because that is not in row-major order: the
    value with its axes in the order of memory, and the operation that gives their own order back. Else None."""
    parts = [steps for steps in parts if any(step.op is not None for step in steps)]
    layout = _known_layout(root) if parts else None
    if layout is None or layout.is_contiguous:
        return None
    whole = _room(Layout.contiguous(layout.shape), root.dtype)
    if all(np.may_share_memory(_part(whole, steps), whole) for steps in parts):
        return None
    order = order_in_memory(layout)
    ordered: Any = F.permute(root, order)
    back: Any = F.permute(ordered, [order.index(axis) for axis in range(len(order))])
    return Traced(root.tracer, ordered.node), ViewOperation(back.maker.op, back.maker.attrs)


def _known_layout(root: Traced) -> Layout | None:
    """The layout in eager mode; None where an extent varies."""
    if not root.node.type.static or any(type(d) is not int for d in root.node.type.shape):
        return None
    return root.tracer.memory.layout(root)


def _room(layout: Layout, dtype: np.dtype) -> np.ndarray:
    """An array whose memory is never touched."""
    extent = 1 + sum((d - 1) * step for d, step in zip(layout.shape, layout.strides, strict=True) if d)
    room = np.empty(extent, dtype)
    return np.lib.stride_tricks.as_strided(room, layout.shape, [step * room.itemsize for step in layout.strides])


def _part(array: np.ndarray, steps: Sequence[ViewOperation]) -> np.ndarray:
    for step in steps:
        if step.op is not None:
            array = step.op.eval(array, **step.attrs)
    return array


# item assignment -------------------------------------------------------------------------------------------------------


def assign_item(tracer: Any, target: Any, key: Any, value: Any) -> None:
    """`target[key] = value`. Raises as eager mode does, and ArgumentError for a mask with as many values as it has places."""
    x = tracer.value(target) if isinstance(target, Tensor) else target
    key = as_read(key)
    keys = key if isinstance(key, tuple) else (key,)
    check_unmasked(value)
    value = tracer.operand(value if isinstance(value, (Tensor, Symbol)) else np.asarray(value))
    value = fitting(value, x.dtype, keys)
    if all(_is_basic(k) for k in keys):
        part = F.getitem(x, key)
        if isinstance(part, TracedView) and part.same_place(value):
            return  # x[i] += v has changed x already
        check_overlap(part, value, "setitem")
        tracer.memory.assign(part, in_place_of(part, _fitted(value, part.shape, x.dtype)), "setitem")
        return
    if len(keys) == 1 and _is_mask(key) and not _is_known(key):
        tracer.memory.assign(x, _masked(x, key, value), "setitem")
        return
    numbers = np.arange(int(np.prod(x.shape)), dtype=np.int64).reshape(x.shape)
    if any(isinstance(k, (Symbol, Tensor)) for k in keys):
        places: Any = F.getitem(tracer.constant(numbers), keys)
    else:
        places = places_named(numbers, tuple(keys))
    spread = _fitted(value, places.shape, x.dtype)
    if not spread.size:
        return
    flat = written(F.reshape(x, (-1,)), F.reshape(places, (-1,)), spread)
    tracer.memory.assign(x, F.reshape(flat, x.shape), "setitem")


def _is_basic(k: Any) -> bool:
    return k is None or k is Ellipsis or isinstance(k, slice) or (isinstance(k, (int, np.integer)) and not isinstance(k, bool))


def _is_mask(k: Any) -> bool:
    return getattr(k, "dtype", None) == bool_


def _is_known(k: Any) -> bool:
    return not isinstance(k, (Symbol, Tensor))


def _masked(x: Any, mask: Any, value: Any) -> Any:
    """x with a value in the places of a mask, the same in all of them along the mask's axes."""
    lead = len(mask.shape)
    if tuple(mask.shape) != tuple(x.shape[:lead]):
        raise IndexRangeError(
            f"setitem: The shape of the mask {shape_text(mask.shape)} does not match the shape of the indexed tensor "
            f"{shape_text(x.shape)}"
        )
    rest = x.shape[lead:]
    shape = value.shape
    if shape and shape[0] is None:
        flat = F.reshape(x, (-1, *rest))
        places = apply(positions_op, mask)
        return F.reshape(F.index_copy(flat, 0, places, F.astype(value, x.dtype)), x.shape)
    if len(shape) > len(rest):
        extra = len(shape) - len(rest)
        if any(d != 1 for d in shape[:extra]):
            if extra > 1 or not shape[0] or not all(a in (1, b) for a, b in zip(shape[1:], rest, strict=True)):
                raise ShapeError(
                    f"setitem: can't write a value of shape {shape_text(shape)} to the places of a mask in a tensor of shape "
                    f"{shape_text(x.shape)}"
                )
            return _in_order(x, mask, value)
        value = F.reshape(value, shape[extra:])
    wide = F.reshape(mask, (*mask.shape, *(1,) * len(rest))) if rest else mask
    return F.where(wide, _fitted(value, (*(1,) * lead, *rest) if rest else (), x.dtype), x)


def _in_order(x: Any, mask: Any, values: Any) -> Any:
    """x with values in the places of a mask, in order. A run raises IndexRangeError where their numbers differ."""
    n, rest = values.shape[0], x.shape[len(mask.shape) :]
    flat = F.astype(F.reshape(mask, (-1,)), np.int64)
    place = F.where(F.reshape(mask, (-1,)), F.cumsum(flat, 0) - 1, 0)
    place = F.where(F.eq(F.sum(flat), n), place, n)  # no place where there are more or fewer of them
    wide = F.broadcast_to(F.astype(values, x.dtype), (n, *rest))
    picked = F.reshape(F.take(wide, place, 0), x.shape)
    return F.where(F.reshape(mask, (*mask.shape, *(1,) * len(rest))), picked, x)


def _fitted(value: Any, shape: Any, dtype: np.dtype) -> Any:
    """A value in the shape and dtype of the places that it is written to. Raises ShapeError."""
    given = value.shape
    try:
        if len(given) > len(shape):  # NumPy drops leading axes of extent 1
            value = F.reshape(value, given[len(given) - len(shape) :])
        return F.broadcast_to(F.astype(value, dtype), tuple(shape))
    except ShapeError:
        raise ShapeError(
            f"setitem: can't write a value of shape {shape_text(given)} to places of shape {shape_text(shape)}"
        ) from None
