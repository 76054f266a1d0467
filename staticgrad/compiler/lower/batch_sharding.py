"""Loops over a batch whose rows don't know of each other: cut into lanes, one per thread; see `runtime/batch_shards.py`.

The question is asked of memory, not of operations: whatever an iteration writes, row b of the batch reads row b of it only.
What lies outside of the loop, or comes from its stacks, is only read, and may be read anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...ir import Layout, Node, Reduction
from ..fusion.gather_fusion import gather_of
from ..fusion.iteration_domain import FULL, ROW, inlined, origin
from ..fusion.layout import Layouts
from ..schedule.order import Schedule, ScheduleNode
from .instructions import Buffer, Instruction

LEAST_ROWS = 8
"""Rows of the batch that a lane should have."""


def aligned(order: Schedule, layouts: Layouts, values: Sequence[Node], written: set[Node], batch: int) -> bool:
    """Whether every unit of a body computes row b of its results from rows b of what the body writes.

    values: what the body hands on; written: the variables that it writes, and whatever it computes comes to that.
    """
    inside = {*written, *(node for unit in order.units for node in unit.makes)}
    if order.saved or any(not _local(Layout.contiguous(v.type.shape), v.type.size, batch) for v in values):
        return False
    check = _Check(layouts, inside, batch)
    return all(check.unit(unit) for unit in order.units)


def _local(at: Layout, size: int, batch: int) -> bool:
    """Row b of this layout lies in row b of memory of `size` elements."""
    if not at.shape or at.shape[0] != batch or size % batch:
        return False
    reach = at.offset + sum(s * (d - 1) for d, s in zip(at.shape[1:], at.strides[1:], strict=True))
    return at.strides[0] == size // batch and at.offset >= 0 and reach < size // batch and min((0, *at.strides)) >= 0


class _Check:
    def __init__(self, layouts: Layouts, inside: set[Node], batch: int):
        self.layouts, self.inside, self.batch = layouts, inside, batch

    def operand(self, node: Node) -> bool:
        """What is read is not of this loop, or row by row."""
        base = self.layouts.base[node]
        return base not in self.inside or _local(self.layouts.at[node], base.type.size, self.batch)

    def unit(self, unit: ScheduleNode) -> bool:
        if unit.kind == "kernel":
            return self.kernel(unit)
        if unit.kind == "copy":
            assert unit.source is not None
            return self.operand(unit.source) and unit.source not in self.layouts.copies
        node = unit.makes[0]
        if unit.kind != "native" or not _local(Layout.contiguous(node.type.shape), node.type.size, self.batch):
            return False
        if all(name == "gemm" for name, _ in unit.calls):
            return node.type.ndim == 2 and all(self.product(node, *extra) for _, extra in unit.calls)
        return all(
            name == "copy" and self.operand(node.inputs[extra[0]]) and _local(extra[1], node.type.size, self.batch)
            for name, extra in unit.calls
        )

    def product(self, node: Node, product: Node | None = None, addend: Node | None = None, factor: float = 1.0) -> bool:
        left, right = (node if product is None else product).inputs
        begins = addend is None or addend is node or self.operand(addend)
        return begins and self.operand(left) and self.layouts.base[right] not in self.inside

    def kernel(self, unit: ScheduleNode) -> bool:
        """A kernel walks rows of its space, of which so many make one of the batch."""
        assert unit.group is not None
        domain, members = unit.group.domain, set(unit.group.members)
        if domain.post or domain.rows % self.batch:
            return False
        for node in unit.group.members:
            if domain.rank[node] not in (FULL, ROW) or node.type.shape[:1] != (self.batch,):
                return False
            for operand in node.inputs:
                source = origin(operand)
                if source in members or inlined(source) or self.layouts.base[operand] not in self.inside:
                    continue
                same = isinstance(node.op.emit, Reduction) or operand.type.ndim == node.type.ndim
                if gather_of(node) is not None or not same or not self.operand(operand):
                    return False
        return True


def split(rows: Sequence[Instruction], lanes: int, lane: int, moved: dict[int, Buffer]) -> list[Instruction]:
    """The rows of a body for one lane. moved: by id of an item's slot, the slot that this lane's loop moves."""
    result = []
    for row in rows:
        span = row.stop - row.start
        buffers = [(moved.get(id(slot), slot), add) for slot, add in row.buffers]
        start, stop = row.start + span * lane // lanes, row.start + span * (lane + 1) // lanes
        result.append(replace(row, buffers=buffers, start=start, stop=stop, chunks=1, pool=0, work=row.work // lanes))
    return result


def fits(rows: Sequence[Instruction], lanes: int, batch: int) -> bool:
    """Whether the range of every row is cut where the batch is."""
    spans = [row.stop - row.start for row in rows]
    return all(
        not row.turn and not row.check and row.kind in ("kernel", "gemm", "copy") and row.chunks == lanes
        and (span == lanes or span % batch == 0)
        for row, span in zip(rows, spans, strict=True)
    )  # fmt: skip


def worth(nodes: Sequence[Node], times: int) -> int:
    """Cost units of so many iterations, roughly: elements of values, and the sums behind products."""
    inner = [node.inputs[0].type.shape[-1:] if node.inputs else () for node in nodes]
    return times * sum(node.type.size * math.prod(extents) for node, extents in zip(nodes, inner, strict=True))
