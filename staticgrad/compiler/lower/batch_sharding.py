"""Batch sharding: a loop over independent rows of a batch is cut into shards, one per thread; see `runtime/batch_shards.py`.

The analysis is of memory, not of operations: of everything that an iteration writes, row b of the batch reads row b only.
Memory outside the loop and items of stacks are only read, so they may be read anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...ir import Copy, Gemm, Layout, Node, Reduction
from ..fusion.broadcast_rank import FULL, ROW, origin
from ..fusion.indexed_members import gather_of
from ..fusion.layout import Layouts
from ..fusion.node_facts import inlined
from ..schedule.order import Schedule, ScheduleNode
from .instructions import Buffer, Instruction

LEAST_ROWS = 8
"""Rows of the batch that a shard has at least."""


def aligned(order: Schedule, layouts: Layouts, values: Sequence[Node], written: set[Node], batch: int) -> bool:
    """Whether every schedule node of a body computes row b of its results from rows b of the memory that the body writes.

    values: the results of the body; written: the variables that it writes. All values that it computes count as written.
    """
    inside = {*written, *(node for unit in order.units for node in unit.makes)}
    if order.saved or any(not _local(Layout.contiguous(v.type.shape), v.type.size, batch) for v in values):
        return False
    check = _Check(layouts, inside, batch)
    return all(check.unit(unit) for unit in order.units)


def _local(at: Layout, size: int, batch: int) -> bool:
    """Whether row b of this layout lies in row b of memory of `size` elements."""
    if not at.shape or at.shape[0] != batch or size % batch:
        return False
    reach = at.offset + sum(s * (d - 1) for d, s in zip(at.shape[1:], at.strides[1:], strict=True))
    return at.strides[0] == size // batch and at.offset >= 0 and reach < size // batch and min((0, *at.strides)) >= 0


class _Check:
    def __init__(self, layouts: Layouts, inside: set[Node], batch: int):
        self.layouts, self.inside, self.batch = layouts, inside, batch

    def operand(self, node: Node) -> bool:
        """Whether the operand is not written by this loop, or read row by row."""
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
        if all(isinstance(call, Gemm) for call in unit.calls):
            return node.type.ndim == 2 and all(self.product(node, call) for call in unit.calls if isinstance(call, Gemm))
        return all(
            isinstance(call, Copy)
            and self.operand(node.inputs[call.operand])
            and _local(call.layout, node.type.size, self.batch)
            for call in unit.calls
        )

    def product(self, node: Node, call: Gemm) -> bool:
        left, right = (node if call.product is None else call.product).inputs
        begins = call.addend is None or call.addend is node or self.operand(call.addend)
        return begins and self.operand(left) and self.layouts.base[right] not in self.inside

    def kernel(self, unit: ScheduleNode) -> bool:
        """Whether the rows of the kernel's iteration domain are whole rows of the batch."""
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


def split(instructions: Sequence[Instruction], shards: int, shard: int, moved: dict[int, Buffer]) -> list[Instruction]:
    """The instructions of a body for one shard. moved: by the id of an item's buffer, the one that this shard's loop moves."""
    result = []
    for each in instructions:
        span = each.stop - each.start
        buffers = [(moved.get(id(buffer), buffer), add) for buffer, add in each.buffers]
        start, stop = each.start + span * shard // shards, each.start + span * (shard + 1) // shards
        result.append(replace(each, buffers=buffers, start=start, stop=stop, chunks=1, pool=0, work=each.work // shards))
    return result


def fits(instructions: Sequence[Instruction], shards: int, batch: int) -> bool:
    """Whether the range of every instruction can be cut where the batch is."""
    spans = [each.stop - each.start for each in instructions]
    return all(
        not each.control and not each.check and each.kind in ("kernel", "gemm", "copy") and each.chunks == shards
        and (span == shards or span % batch == 0)
        for each, span in zip(instructions, spans, strict=True)
    )  # fmt: skip


def worth(nodes: Sequence[Node], times: int) -> int:
    """A rough estimate of the cost units of so many iterations: elements of values times the terms of sums in products."""
    inner = [node.inputs[0].type.shape[-1:] if node.inputs else () for node in nodes]
    return times * sum(node.type.size * math.prod(extents) for node, extents in zip(nodes, inner, strict=True))
