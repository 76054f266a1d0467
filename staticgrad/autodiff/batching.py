"""`vmap`: a function of one sample becomes a function of many. It names no op.

A `Batched` tensor stands for one tensor whose first axis is that of the samples. An op on such tensors is written by the
batching rule of its record, or by a rule that follows from how the op is lowered; the result's type is checked against that
of one sample.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

from ..base.types import shape_text
from ..errors import ShapeError, TransformError
from ..ir import REGISTRY, OpDef, Pointwise, View
from ..ops.leaves import fits
from ..ops.operators import Application, F, Level, Size, Symbol, apply, as_array, frontends, state
from ..ops.random import DrawPosition
from ..ops.rules import aligned, compared, elementwise, leading, one_by_one
from .forward import Changeable

RANDOMNESS = ("error", "different", "same")


class Vmap(Level):
    """One call of a function under `vmap`. size: the number of samples, None where it is unknown before a graph runs; sample:
    a tensor that has them along its first axis; randomness: one of RANDOMNESS."""

    name = "vmap"

    def __init__(self, size: int | None, sample: Any, randomness: str):
        super().__init__()
        self.size, self.sample, self.randomness = size, sample, randomness

    def process(self, node: Application, operands: list[Any]) -> Any:
        flags = [isinstance(x, Batched) and x.level is self for x in operands]
        values = [x.value if flag else x for x, flag in zip(operands, flags, strict=True)]
        rule = rule_of(node.op)
        if rule is None:
            warnings.warn(
                f"There is a performance drop because we have not yet implemented the batching rule for {node.op.name}: vmap "
                "computes it sample by sample",
                UserWarning,
                stacklevel=2,
            )
            rule = one_by_one
        out = rule(Samples(self, flags), node, *values)
        lead = len(out.shape) - node.type.ndim
        if lead not in (0, 1) or out.dtype != node.type.dtype or not fits(out.shape[lead:], node.type.shape):
            raise TransformError(
                f"vmap: the batching rule of {node.op.name} gives shape {shape_text(out.shape)} {out.dtype} for samples of "
                f"{shape_text(node.type.shape)} {node.type.dtype}",
                "the rule in the op's record is wrong",
            )
        if not lead:
            return out
        made = Batched(self, out)
        made.view_of(node, operands)
        return made

    loops = maps = True

    def parts(self, x: Any) -> list[Any]:
        return [self.of(x)]

    def whole(self, parts: Sequence[Any]) -> Any:
        return Batched(self, parts[0])

    def items(self, x: Any) -> list[Any]:
        return [F.swapaxes(self.of(x), 0, 1)]

    def stacked(self, parts: Sequence[Any]) -> Any:
        return Batched(self, F.swapaxes(parts[0], 0, 1))

    def any(self, condition: Any) -> Any:
        mine = isinstance(condition, Batched) and condition.level is self
        return F.any(condition.value) if mine else condition

    def lift(self, value: Any) -> Batched:
        return Batched(self, value, given=True)

    def of(self, x: Any) -> Any:
        """The value of a tensor, or of an array or number, with an axis of samples in front."""
        if isinstance(x, Batched) and x.level is self:
            return x.value
        return Samples(self, [False]).each(0, x if hasattr(x, "shape") else as_array(x))


class Samples:
    """The samples of one op: `flags` says of each operand whether every sample has its own."""

    def __init__(self, level: Vmap, flags: Sequence[bool]):
        self.level, self.flags, self.size = level, list(flags), level.size

    def shape(self, shape: Sequence[int | None]) -> tuple[int, ...]:
        """The shape of all samples. Raises ShapeError where more extents are unknown than a reshape can find."""
        extents = (self.size, *shape)
        if extents.count(None) > 1:
            raise ShapeError("vmap: extents are unknown beside that of the mapped axis", "give the placeholder known extents")
        return tuple([-1 if d is None else d for d in extents])

    def known(self) -> int:
        """The number of samples. Raises ShapeError where it is unknown."""
        if self.size is None:
            raise ShapeError("vmap: the extent of the mapped axis is unknown here", "give the placeholder a known extent")
        return self.size

    def of(self, *flags: bool) -> Samples:
        """The same samples, of other operands."""
        return Samples(self.level, flags)

    def node(self, op: str, operands: Sequence[int], node: Application, **attrs: Any) -> Application:
        """An op on operands of a node, for its batching rule."""
        record, types = REGISTRY[op], [node.types[i] for i in operands]
        return Application(record, types, attrs, record.infer(*types, **attrs))

    def spread(self, operands: Sequence[Any]) -> list[Any]:
        """The operands, each with an axis of samples."""
        return [self.each(i, x) for i, x in enumerate(operands)]

    def each(self, position: int, x: Any) -> Any:
        """The operand at a position with an axis of samples."""
        return x if self.flags[position] else self._repeated(x)

    def joined(self, position: int, x: Any, node: Application) -> Any:
        """The operand at a position, with the axis of samples and its own first one joined."""
        first, *rest = node.types[position].shape
        count = None if self.size is None or first is None else self.size * first
        if count is None and None in rest:
            raise ShapeError("vmap: extents are unknown beside that of the mapped axis", "give the placeholder known extents")
        return F.reshape(self.each(position, x), (-1 if count is None else count, *rest))

    def _repeated(self, x: Any) -> Any:
        if self.size is not None and None not in x.shape:
            return F.broadcast_to(x, (self.size, *x.shape))
        first = F.expand_dims(x, 0)
        return F.where(F.ge(self._numbers(len(x.shape)), 0), first, first)

    def _numbers(self, axes: int) -> Any:
        """The numbers of the samples, with so many axes of extent 1 after them."""
        return F.reshape(F.index_along(self.level.sample, 0), (-1, *[1] * axes))

    def broadcast(self, x: Any, shape: Sequence[int | None]) -> Any:
        """x, which has samples, broadcast to a shape for each."""
        known = [d for d in shape if d is not None]
        if len(known) < len(shape):
            raise ShapeError("vmap: extents are unknown beside that of the mapped axis", "give the placeholder known extents")
        if self.size is not None:
            return F.broadcast_to(x, (self.size, *known))
        room = np.broadcast_to(np.zeros((), np.int64), known)
        return F.broadcast_like(x, F.add(self._numbers(len(known)), room))

    def one_by_one(self, node: Application, operands: Sequence[Any]) -> Any:
        """The op on one sample after the other; a graph gets one node for each."""
        if self.known() == 0:
            raise TransformError(f"vmap: {node.op.name} has no form for many samples, and there is none")
        rows = range(self.known())
        each = [[F.getitem(x, i) if flag else x for x, flag in zip(operands, self.flags, strict=True)] for i in rows]
        return F.stack([apply(node.op, *row, **node.attrs) for row in each], 0)


Rule = Callable[..., Any]


@cache
def rule_of(op: OpDef) -> Rule | None:
    """The batching rule of an op: that of its record, or what its lowering implies; None: sample by sample."""
    if op.batch is not None:
        return op.batch
    if isinstance(op.plain.emit, Pointwise) or op.infer in (elementwise, compared):
        return aligned
    named = [kind for kind in op.attrs.values() if kind.shifted is not None]
    if isinstance(op.emit, View) or named:
        return leading
    return None


class Batched(Changeable):
    """One sample of many. value: all of them, along the first axis."""

    __slots__ = ()

    @property
    def shape(self) -> Size:  # type: ignore[override]
        return self.value.shape[1:]

    def assign(self, value: Any, name: str) -> None:
        if isinstance(self.value, Symbol):
            super().assign(value, name)
        elif self.value._data.flags.writeable:  # views of an eager tensor share its memory
            self.value.copy_(self.level.of(value))
        else:  # of repeated samples
            self._take(value)

    def _take(self, value: Any) -> None:
        self.value = self.level.of(value)

    def item(self) -> NoReturn:
        raise TransformError(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
            "please try to rewrite what you're doing with other operations.",
            "each sample has a value of its own",
        )

    __float__ = __int__ = __complex__ = item

    def __bool__(self) -> bool:
        raise TransformError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
            "yet.",
            "choose values with sg.where(condition, a, b): samples may take different branches",
        )


# random numbers -------------------------------------------------------------------------------------------------------


def draw(place: DrawPosition, op: OpDef, like: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Random numbers where functions run under `vmap`: fresh ones for each sample, or the same for all.

    Raises TransformError where `randomness` is "error".
    """
    levels = [level for level in state.levels if isinstance(level, Vmap)]
    if any(level.randomness == "error" for level in levels):
        raise TransformError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap",
        )
    own = [level for level in levels if level.randomness == "different"]
    shape = like[0].shape if like else attrs.get("shape")
    if shape is None:  # of a stream: a loop draws its own numbers
        return place.apply(op, *like, **attrs)
    if any(level.size is None for level in own) or None in shape:
        raise TransformError(
            "vmap: random numbers for each sample need known extents", "give the placeholder a known extent there"
        )
    made = place.apply(op, **{**attrs, "shape": (*[level.size for level in own], *shape)})
    for level in own:
        made = Batched(level, made)
    return made


frontends.draw = draw
