"""Rows of the table that are matrix products; `gemm_tiles.py` says how they run."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...ir import Layout, Node
from ...types import SHORT
from ..backend.abi import MAX_BUFFERS
from ..backend.gemm import kernel
from ..fusion.epilogue import begins
from ..runtime import thread_pool
from .instructions import Buffer, Instruction

if TYPE_CHECKING:
    from .instruction_builder import Builder

LARGE = 60**3
"""Multiplications below which OpenBLAS stays in one thread by itself."""
NOTHING, FORM = -1, 12
"""See the sizes in `gemm_tiles.py`."""


def gemm(b: Builder, node: Node, product: Node | None = None, addend: Node | None = None, factor: float = 1.0) -> None:
    """node = factor * product + addend, where the product is `node` itself unless given."""
    product = node if product is None else product
    left, right = product.inputs
    x, tx, ldx = _matrix(b, left)
    y, ty, ldy = _matrix(b, right)
    m, k, n = left.type.shape[-2], left.type.shape[-1], right.type.shape[-1]
    batch: tuple[int, ...] = product.type.shape[:-2]
    to, out = (b.slot(node), 0), b.layouts.at[node]
    if out.is_contiguous:
        out = Layout.contiguous(product.type.shape)
    ldc = max(n, 1) if out.is_contiguous else out.strides[-2]
    begin, at, lde = _begin(b, node, product, addend) if addend is not None else (to, out, NOTHING)
    firsts = [_batch_offsets(layout, batch) for layout in (x[2], y[2], out, at)]
    batches = math.prod(batch)
    if batches > 1 and not tx and _one_below_another(firsts, (m * ldx, 0, m * ldc, m * (ldc if lde == NOTHING else lde))):
        m, batches, firsts = m * batches, 1, [first[:1] for first in firsts]
    offsets = [place for places in zip(*firsts, strict=True) for place in places]
    # Each thread reads and packs its own share of the larger operand, which its share of an update may have written. Lanes
    # have rows of the batch.
    across = batches == 1 and bool(ty) and n > m and not b.lanes
    sizes = [tx, ty, m, n, k, ldx, ldy, ldc, batches, _bits(factor), lde, across, *offsets]
    span, work = n if across else m if batches == 1 else batches, batches * m * n * k
    chunks = b._chunks(work, span) if m else 1
    name = "" if factor == 1.0 else f"{factor:.3g} * "
    name += f"{m}x{k}x{n}" + (f" x{batches}" if batches != 1 else "")
    name += "" if addend is None else f" + {addend.name if addend.name else addend.op.name}"
    address, stop = kernel(SHORT[node.type.dtype]), span if m and n else 0
    row = Instruction(
        "gemm", name, node, [x[:2], y[:2], to, begin], [1, 1, *sizes], address, 0, stop, chunks,
        nodes=[node] if product is node else [product, node], work=work, large_gemm=m * n * k >= LARGE,
    )  # fmt: skip
    if not _joined(b, row):
        b.add(row)


def _joined(b: Builder, row: Instruction) -> bool:
    """Run a product with the one before it, where threads share them: they meet once for both."""
    if b.outer is not None or not b.rows or b.landing == len(b.rows):
        return False
    if b.rows[-1].kind != "gemm" or not row.stop or not b.rows[-1].stop:
        return False
    last, chunks = b.rows[-1], max(b.rows[-1].chunks, row.chunks)  # 1: they would meet only because they are joined
    if chunks == 1 or last.address != row.address or len(last.buffers) + 4 > MAX_BUFFERS or not _apart(last, row):
        return False
    at = len(b.rows) - 1
    for slot, _ in row.buffers:
        slot.root.first, slot.root.last = min(slot.root.first, at), at
    b.rows[-1] = Instruction(
        "gemm", f"{last.name}, {row.name}", last.node, [*last.buffers, *row.buffers],
        [last.sizes[0] + 1, chunks, *last.sizes[2:], *row.sizes[2:]], row.address, 0, chunks, chunks,
        thread_pool.ensure(b.threads), nodes=[*last.nodes, *row.nodes], work=last.work + row.work,
        large_gemm=last.large_gemm or row.large_gemm,
    )  # fmt: skip
    return True


def _apart(last: Instruction, row: Instruction) -> bool:
    """Whether each thread can do its rows of these products whatever the others have done."""
    a, b, c, e = row.buffers
    form = row.sizes[2:]
    at = 2
    for i in range(last.sizes[0]):
        before = last.buffers[4 * i : 4 * i + 4]
        reads, writes = [slot.root for slot, _ in (*before[:2], before[3])], before[2][0].root
        if writes in (a[0].root, b[0].root):
            return False
        same = before[2] == c and form[8] == last.sizes[at + 8] == 1
        same = same and all(form[i] == last.sizes[at + i] for i in (2, 3, 11))
        if not same and (c[0].root in (writes, *reads) or e[0].root is writes):
            return False
        if same and c[0].root in reads[:2]:
            return False
        at += FORM + 4 * last.sizes[at + 8]
    return True


def _begin(b: Builder, node: Node, product: Node, addend: Node) -> tuple[tuple[Buffer, int], Layout, int]:
    """(memory, layout, distance of rows) of what a product is added to."""
    at = begins(b.layouts.at[addend], node.type.shape, product.type.shape)
    assert at is not None
    return b._view(addend), at, at.strides[-2]


def _bits(number: float) -> int:
    """How a real number stands among sizes."""
    return struct.unpack("q", struct.pack("d", number))[0]


def _matrix(b: Builder, node: Node) -> tuple[tuple[Buffer, int, Layout], int, int]:
    """(memory, transposed, leading dimension) of an operand; copied when its layout suits neither way."""
    at = b.layouts.at[node]
    (rows, columns), (down, right) = at.shape[-2:], at.strides[-2:]
    slot, add = b._view(node)
    if (right == 1 or columns == 1) and (down >= max(columns, 1) or rows == 1):
        return (slot, add, at), 0, max(down if rows != 1 else columns, columns, 1)
    if (down == 1 or rows == 1) and (right >= max(rows, 1) or columns == 1):
        return (slot, add, at), 1, max(right if columns != 1 else rows, rows, 1)
    slot, add = b._contiguous(node)
    return (slot, add, Layout.contiguous(at.shape)), 0, max(columns, 1)


def _one_below_another(firsts: Sequence[Sequence[int]], distances: Sequence[int]) -> bool:
    """Whether a batch of products by one B is a single product: rows go on from one to the next."""
    return all(
        place == first[0] + i * distance for first, distance in zip(firsts, distances, strict=True)
        for i, place in enumerate(first)
    )  # fmt: skip


def _batch_offsets(layout: Layout, batch: tuple[int, ...]) -> list[int]:
    """Where each matrix of a batch begins, in elements from the first, with broadcasting."""
    own, strides = layout.shape[:-2], layout.strides[:-2]
    lead = len(batch) - len(own)
    steps = [0] * lead + [0 if d == 1 else s for d, s in zip(own, strides, strict=True)]
    grid = np.zeros(batch, np.int64)
    for axis, (extent, step) in enumerate(zip(batch, steps, strict=True)):
        shape = [1] * len(batch)
        shape[axis] = extent
        grid = grid + (np.arange(extent, dtype=np.int64) * step).reshape(shape)
    return grid.reshape(-1).tolist()


CALLS = {"gemm": gemm}
"""By the names that op records use."""
