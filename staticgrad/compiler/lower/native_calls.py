"""The instruction stream, and the lowering of native calls to it: routines, copies, clears, matrix products.

A program and the bodies of its loops and branches append to one stream. Op records hand over native calls as data
(`ir.Native`): `gather(table, index)` becomes one instruction with the kernel's address, its buffers and its sizes.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...base.dtypes import SHORT
from ...ir import Call, Cell, Clear, Copy, Gemm, Layout, Native, Node, Routine, Scratch, collapse
from ..backend import kernel_cache
from ..backend.abi import (
    AMPLE,
    COUNT,
    DEPTH,
    FIRST,
    FORM,
    MAX_BUFFERS,
    NEAR,
    NO_ADDEND,
    ROOMY,
    STATUS_WORDS,
    N,
    kernel,
    scratch_of,
)
from ..backend.kernel_cache import NOW, Code, Wanted, code
from ..fusion.epilogue import begins
from ..fusion.fuse import Decision
from ..runtime import loader
from ..runtime.plan_memory import room
from .instructions import ALIGN, PER_RUN, WORD, Buffer, Exchanges, Instruction, LoopInstruction, Place

if TYPE_CHECKING:
    from .instruction_builder import GraphLowering

# the instruction stream of a plan while it grows; beside it, the memory of a plan's buffers ---------------------------


class InstructionStream:
    """Instructions in the order in which they run, and the state that all bodies share."""

    def __init__(self, threads: int, when: float = NOW, asks: bool = True) -> None:
        """when: kernels are compiled, see `machine_code.code`. asks: for machine code at once; otherwise `ask` does, if the
        stream becomes a plan."""
        self.threads, self.when, self.asks = threads, when, asks
        self.codes: dict[Wanted, Code] = {}
        self.instructions: list[Instruction] = []
        self.temporaries: list[Buffer] = []
        """Buffers that get a place in the arena, unless they become results."""
        self.loops: list[LoopInstruction] = []
        self.stacks: dict[Buffer, np.ndarray] = {}
        """Of each stack that grows: (address, capacity in bytes, items), in words that the driver writes."""
        self.exchanges = Exchanges()
        self.status = Buffer("fixed", (STATUS_WORDS,), np.dtype(np.int64))
        self.landing = -1
        """The number of the instruction where both ways of the latest branch meet. It can't become part of the instruction
        before it, which one way skips."""
        self.decisions: list[Decision] = []
        self.notes: list[str] = []

    def __len__(self) -> int:
        return len(self.instructions)

    def code(self, text: str, name: str) -> Code:
        """Machine code for instructions: the same object for the same code."""
        wanted = Wanted(text, name)
        if wanted not in self.codes:
            self.codes[wanted] = code(wanted, self.when) if self.asks else Code(wanted)
        return self.codes[wanted]

    def ask(self) -> None:
        """Give the instructions the machine code for which the stream has not asked."""
        self.codes = {wanted: code(wanted, self.when) for wanted in self.codes}
        for instruction in self.instructions:
            if instruction.code is not None:
                instruction.code = self.codes.get(instruction.code.wanted, instruction.code)

    def library(self, module: str, kernel: str) -> Code:
        """A kernel of a file in `kernels/`, see `kernel_cache.library_source`, or of the user's, see `numba_functions.py`."""
        return self.code(kernel_cache.library_source(module, kernel) if module else "", kernel)

    def add(self, instruction: Instruction) -> Instruction:
        at = len(self.instructions)
        for buffer, _ in instruction.buffers:
            buffer.root.last = at
        if instruction.chunks > 1:
            instruction.pool = loader.pool_address
        self.instructions.append(instruction)
        return instruction

    def temporary(self, shape: tuple[int, ...], dtype: np.dtype) -> Buffer:
        at = len(self.instructions)
        buffer = Buffer("arena", shape, dtype, at, at)
        self.temporaries.append(buffer)
        return buffer

    def outlive(self, begin: int, mark: int) -> None:
        """Buffers that instructions from `begin` on use live for all of them, except for temporaries from `mark` on: a loop
        repeats these instructions."""
        own = set(self.temporaries[mark:])
        for instruction in self.instructions[begin:]:
            for buffer, _ in instruction.buffers:
                root = buffer.root
                if root not in own:
                    root.first, root.last = min(root.first, begin), max(root.last, len(self.instructions) - 1)


# the memory of a plan's buffers, and the pointers of its instructions ------------------------------------------------

# What is left of lowering in a finished plan.


class Placement:
    """Places the buffers of a program and points its instructions at them; binds what is known later: variables, the status."""

    cell_buffers: dict[Cell, Buffer]
    status: Buffer
    """The words by which instructions report errors."""

    def allocate(self, buffers: Sequence[Buffer], size: int) -> None:
        """Give buffers, whose offsets are known, their memory in an arena of so many bytes. Raises OutOfMemoryError."""
        (raw,) = room(
            lambda: [np.empty(size + ALIGN, np.uint8)],
            f"the plan's buffers need {size:.1e} bytes, and there is no memory for that",
            "use smaller batches, or a scan over parts of them",
        )
        shift = -raw.ctypes.data % ALIGN
        self.arena = raw[shift : shift + size]
        for buffer in buffers:
            part = self.arena[buffer.offset : buffer.offset + buffer.nbytes]
            buffer.memory = part.view(buffer.dtype).reshape(buffer.shape)

    def point(self, instructions: Sequence[Instruction], loops: Sequence[LoopInstruction] = ()) -> None:
        """Point the instructions at their buffers."""
        self.patches: list[list[int]] = []
        """(number of an array of a run, address to write its address to, bytes to add)"""
        self._unbound: dict[Buffer, list[tuple[np.ndarray, int, int]]] = {}
        """The pointers to a buffer whose memory is bound later."""
        for instruction in instructions:
            pointers = instruction.pointers
            for i, (part, offset) in enumerate(instruction.buffers):
                buffer, add = part, offset
                while buffer.kind == "part" and buffer.loop is None:
                    assert buffer.base is not None
                    buffer, add = buffer.base, add + buffer.offset
                if buffer.loop is not None:
                    buffer.loop.move(pointers.ctypes.data + 8 * i, buffer, add)
                elif buffer.kind == "stack":
                    continue  # its loop sets the pointer when it begins
                elif buffer.kind in PER_RUN:
                    self.patches.append([buffer.index, pointers.ctypes.data + 8 * i, add])
                elif buffer.memory is None:
                    self._unbound.setdefault(buffer, []).append((pointers, i, add))
                else:
                    pointers[i] = buffer.memory.ctypes.data + add
        for loop in loops:
            loop.finish()

    def bind_status(self, array: np.ndarray) -> None:
        self._bind(self.status, array)

    def bind_state(self, cell: Cell, array: np.ndarray) -> None:
        self._bind(self.cell_buffers[cell], array)

    def _bind(self, buffer: Buffer, array: np.ndarray) -> None:
        buffer.memory = array
        address = array.__array_interface__["data"][0]
        for pointers, i, add in self._unbound.get(buffer, ()):
            pointers[i] = address + add


def lacks(loops: Sequence[LoopInstruction], stacks: Sequence[np.ndarray], instruction: Instruction) -> tuple[int, int] | None:
    """(iterations, items) of a loop whose number of iterations exceeds the items of a stack that it reads, or is negative;
    else None."""
    state = next((loop for loop in loops if loop.instruction is instruction), None)
    if state is None or state.words[COUNT // 8] < 0:
        return None
    places = {words.ctypes.data: words for words in stacks}
    n = int(state.words[N // 8])
    items = min((int(places[address][2]) for _, address, _, filled in state.growing if not filled), default=0)
    return (n, items) if n < 0 or n > items else None


def free_stacks(stacks: Sequence[np.ndarray]) -> None:
    """Free the memory of stacks that grew; they start empty again."""
    free = ctypes.CDLL(None).free
    free.argtypes = (ctypes.c_void_p,)
    for words in stacks:
        free(int(words[0]))
        words[:] = 0


# native calls ---------------------------------------------------------------------------------------------------------

# Lowering of matrix products; `backend/gemm_products.py` has their kernel.

LARGE = 60**3
"""Multiplications below which OpenBLAS stays in one thread by itself."""
CACHED, PAGE = 2 * NEAR, 4096
"""Bytes up to which an operand stays in the L2 cache, so that tiles read it in place; bytes of a page of memory."""
NARROW, DEEP, MANY = 16, 48, 1 << 22
"""Rows and columns, steps, and multiplications, from which copies pay where tiles are small."""
MANY_LINES, LONG = 192, 1024
"""Rows and columns, and steps, from which a copy pays where the L2 cache holds a block of B."""
FEW = 1 << 21
"""Multiplications below which products take less than copies pay."""


def gemm(b: GraphLowering, node: Node, call: Gemm) -> None:
    """Append the product that computes `node`, or join it to the product before it."""
    product = node if call.product is None else call.product
    addend, factor = call.addend, call.factor
    left, right = ((product.inputs[i], at) for i, at in call.matrices) if call.matrices else ((i, None) for i in product.inputs)
    x, tx, ldx = _matrix(b, *left)
    y, ty, ldy = _matrix(b, *right)
    (m, k), n = x[2].shape[-2:], y[2].shape[-1]
    batch = y[2].shape[:-2] if call.matrices else product.type.shape[:-2]
    to, out = (b.buffer(node), 0), b.layouts.at[node]
    if out.is_contiguous:
        out = Layout.contiguous((*batch, m, n))
    ldc = max(n, 1) if out.is_contiguous else out.strides[-2]
    begin, at, lde = _begin(b, node, product, addend) if addend is not None else (to, out, NO_ADDEND)
    firsts = [_batch_offsets(layout, batch) for layout in (x[2], y[2], out, at)]
    batches = math.prod(batch)
    steps = (m * ldx, 0, m * ldc, m * (ldc if lde == NO_ADDEND else lde))
    if batches > 1 and not tx and _rows_continue(firsts, steps):
        m, batches, firsts = m * batches, 1, [first[:1] for first in firsts]
    offsets = [place for places in zip(*firsts, strict=True) for place in places]
    size, work = node.type.dtype.itemsize, batches * m * n * k
    packing = _packing(m, n, k, (tx, ldx), (ty, ldy), size)
    # Each thread reads and packs its own share of the larger operand, which its share of an update may have written. Shards
    # have rows of the batch.
    across = batches == 1 and (bool(packing) or bool(ty)) and n > m and not b.shards
    span = n if across else m if batches == 1 else batches
    chunks = b.chunks(work, span) if m else 1
    over = chunks if packing else 0
    sizes = [1, over, 0, tx, ty, m, n, k, ldx, ldy, ldc, batches, _bits(factor), lde, across, bool(packing), *offsets]
    name = "" if factor == 1.0 else f"{factor:.3g} * "
    name += f"{m}x{k}x{n}" + (f" x{batches}" if batches != 1 else "")
    name += "" if addend is None else f" + {addend.name if addend.name else addend.op.name}"
    kind, stop = SHORT[node.type.dtype] + ("_packed" if packing else ""), (over or span) if m and n else 0
    code = b.stream.code(*kernel(kind))
    if call.why:
        b.stream.notes.append(f"{node.op.name} by a product, {call.why}")
    instruction = Instruction(
        "gemm", name, node, [x[:2], y[:2], to, begin], sizes, code, 0, stop, chunks,
        nodes=[node] if product is node else [product, node], work=work, large_gemm=m * n * k >= LARGE,
    )  # fmt: skip
    if packing:
        b.stream.notes.append(f"{name} packs its operands, {packing}")
    scratch = scratch_of(size, n) if packing else 0
    if b.body or not _joined(b.stream, instruction, scratch):
        if scratch:
            room = b.stream.temporary((chunks * scratch,), np.dtype(np.int8)), 0
            instruction = replace(instruction, buffers=[*instruction.buffers, room], sizes=[1, over, scratch, *sizes[FIRST:]])
        b.stream.add(instruction)


def _packing(m: int, n: int, k: int, x: tuple[int, int], y: tuple[int, int], size: int) -> str:
    """Why the operands are copied in the order of tiles, see `gemm_products.py`; empty where they are read in place. x, y:
    whether A and B are transposed, and the distance of their rows as they are stored.

    Tiles that read operands in place do well until these outgrow the L2 cache, or lie in steps of more than a page, which
    neither prefetching nor the cache of page addresses follows. A copy pays where many tiles read it: the fewer registers hold
    the sums of a tile, the more tiles there are. It pays sooner where steps of A are rows apart, or a panel is one of several.
    A large result is written row by row, which takes all panels of B for each panel of A.
    """
    (tx, ldx), (ty, ldy) = x, y
    larger = max(m, n) * k * size
    if ROOMY:
        return _packing_by_columns(m, n, k, size)
    if k > DEPTH and ((min(m, n) >= 128 and larger >= CACHED) or (min(m, n) >= 64 and larger >= 4 * CACHED)):
        return "which outgrow the cache"
    if min(m, n) >= 64 and m * n * size >= 4 * CACHED:
        return "as the result outgrows the cache"
    if tx and ldx * size >= PAGE and k >= 64 and n >= 16 and m * n * k >= FEW:
        return "as columns of the left one are pages apart"
    if not ty and ldy * size >= PAGE and k > DEPTH and n * k * size >= 4 * CACHED and m >= 8:
        return "as rows of the right one are pages apart"
    soon = k >= DEEP and (tx or k > DEPTH)
    if not AMPLE and min(m, n) >= NARROW and (tx or k >= DEEP) and m * n * k >= (MANY // 4 if soon else MANY):
        return "which many tiles read"
    return ""


def _packing_by_columns(m: int, n: int, k: int, size: int) -> str:
    """The same where a block of B stays in the L2 cache: only B is copied, and A where it is transposed. Whole tiles of such a
    product cost less than calls of tiles in place, so that many rows and columns suffice; in place, fewer lanes are wasted."""
    few, larger, all_bytes = min(m, n), max(m, n) * k * size, (m * k + k * n + m * n) * size
    if few >= MANY_LINES and all_bytes >= 3 * NEAR:
        return "which many tiles read"
    if k > DEPTH and ((few >= 128 and larger >= 2 * CACHED) or (few >= 64 and larger >= 4 * CACHED)):
        return "which outgrow the cache"
    if few >= 64 and m * n * size >= CACHED:
        return "as the result outgrows the cache"
    if k >= LONG and few >= 24 and larger >= 3 * NEAR:
        return "as their rows are long"
    return ""


def _joined(stream: InstructionStream, new: Instruction, scratch: int) -> bool:
    """Run a product with the one before it, where threads share them: they synchronize once for both."""
    instructions = stream.instructions
    if not instructions or stream.landing == len(instructions):
        return False
    last, at = instructions[-1], len(instructions) - 1
    if last.kind != "gemm" or not new.stop or not last.stop:
        return False
    chunks = max(last.chunks, new.chunks)  # 1: they would synchronize only because they are joined
    assert last.node is not None
    assert new.node is not None
    if (
        chunks == 1
        or last.node.type.dtype != new.node.type.dtype
        or len(last.buffers) + 5 > MAX_BUFFERS
        or not _apart(last, new)
    ):
        return False
    for buffer, _ in new.buffers:
        buffer.root.first, buffer.root.last = min(buffer.root.first, at), at
    count, _, before = last.sizes[:FIRST]
    most, buffers = max(before, scratch), [*last.buffers[: 4 * count], *new.buffers]
    if most:
        room = last.buffers[-1][0] if before else stream.temporary((), np.dtype(np.int8))
        room.first, room.last, room.shape = at, at, (chunks * most,)
        buffers.append((room, 0))
    code = new.code if scratch else last.code
    instructions[-1] = Instruction(
        "gemm", f"{last.name}, {new.name}", last.node, buffers,
        [count + 1, chunks, most, *last.sizes[FIRST:], *new.sizes[FIRST:]], code, 0, chunks, chunks,
        loader.pool_address, nodes=[*last.nodes, *new.nodes], work=last.work + new.work,
        large_gemm=last.large_gemm or new.large_gemm,
    )  # fmt: skip
    return True


def _apart(last: Instruction, new: Instruction) -> bool:
    """Whether each thread can compute its rows of these products independently of the other threads."""
    a, b, c, e = new.buffers
    form = new.sizes[FIRST:]
    at = FIRST
    for i in range(last.sizes[0]):
        before = last.buffers[4 * i : 4 * i + 4]
        reads, writes = [buffer.root for buffer, _ in (*before[:2], before[3])], before[2][0].root
        if writes in (a[0].root, b[0].root):
            return False
        same = before[2] == c and form[8] == last.sizes[at + 8] == 1
        same = same and all(form[i] == last.sizes[at + i] for i in (2, 3, 11, 12))
        if not same and (c[0].root in (writes, *reads) or e[0].root is writes):
            return False
        if same and c[0].root in reads[:2]:
            return False
        at += FORM + 4 * last.sizes[at + 8]
    return True


def _begin(b: GraphLowering, node: Node, product: Node, addend: Node) -> tuple[Place, Layout, int]:
    """(place, layout, distance of rows) of the addend."""
    at = begins(b.layouts.at[addend], node.type.shape, product.type.shape)
    assert at is not None
    return b.view(addend), at, at.strides[-2]


def _bits(number: float) -> int:
    """A real number as one of the integer sizes."""
    return int.from_bytes(struct.pack("<d", number), "little", signed=True)


def _matrix(b: GraphLowering, node: Node, seen: Layout | None) -> tuple[tuple[Buffer, int, Layout], int, int]:
    """((buffer, bytes to add, layout), transposed, leading dimension) of an operand. It is copied where its layout is neither
    row-major nor column-major. seen: how its elements in row-major order are matrices."""
    at = b.layouts.at[node] if seen is None else seen
    (rows, columns), (down, right) = at.shape[-2:], at.strides[-2:]
    buffer, add = b.view(node) if seen is None else b.contiguous(node)
    if (right == 1 or columns == 1) and (down >= max(columns, 1) or rows == 1):
        return (buffer, add, at), 0, max(down if rows != 1 else columns, columns, 1)
    if (down == 1 or rows == 1) and (right >= max(rows, 1) or columns == 1):
        return (buffer, add, at), 1, max(right if columns != 1 else rows, rows, 1)
    buffer, add = b.contiguous(node)
    return (buffer, add, Layout.contiguous(at.shape)), 0, max(columns, 1)


def _rows_continue(firsts: Sequence[Sequence[int]], distances: Sequence[int]) -> bool:
    """Whether a batch of products by one B is a single product, because each matrix follows the one before."""
    return all(
        place == first[0] + i * distance for first, distance in zip(firsts, distances, strict=True)
        for i, place in enumerate(first)
    )  # fmt: skip


def _batch_offsets(layout: Layout, batch: tuple[int, ...]) -> list[int]:
    """The offset of each matrix of a batch, in elements from the first one, with broadcasting."""
    own, strides = layout.shape[:-2], layout.strides[:-2]
    lead = len(batch) - len(own)
    steps = [0] * lead + [0 if d == 1 else s for d, s in zip(own, strides, strict=True)]
    grid = np.zeros(batch, np.int64)
    for axis, (extent, step) in enumerate(zip(batch, steps, strict=True)):
        shape = [1] * len(batch)
        shape[axis] = extent
        grid = grid + (np.arange(extent, dtype=np.int64) * step).reshape(shape)
    return grid.reshape(-1).tolist()


def lower_call(b: GraphLowering, node: Node, call: Call) -> None:
    """Append the instructions of one call that computes `node`, or a part of it."""
    match call:
        case Routine():
            routine(b, node, call)
        case Gemm():
            gemm(b, node, call)
        case Copy(operand, layout):
            copy(b, node.inputs[operand], b.buffer(node), layout)
        case Clear():
            clear(b, node)


def routine(b: GraphLowering, node: Node, call: Routine) -> None:
    read = [p for p in range(len(node.inputs)) if p not in node.op.shape_only] if call.operands is None else call.operands
    check = isinstance(node.op.emit, Native) and node.op.emit.check is not None
    first = isinstance(node.op.emit, Native) and check and not node.op.emit.alike  # it reports the first bad number
    chunks = 1 if first else b.chunks(call.work, call.span)
    buffers = [b.view(node.inputs[p]) if p in call.strided else b.contiguous(node.inputs[p]) for p in read]
    buffers += [(b.buffer(node), 0), *(_scratch(b, node, s, chunks if call.chunked else 1) for s in call.scratch)]
    if check:
        buffers.append((b.stream.status, 0))
    sizes = [call.span, chunks, *call.sizes] if call.chunked else [*call.sizes]
    stop = (chunks if call.span else 0) if call.chunked else call.span
    if call.why:
        b.stream.notes.append(f"{node.op.name} by {call.module}.{call.kernel}, {call.why}")
    b.stream.add(
        Instruction(
            "check" if check else "routine", call.name if call.name else call.kernel, node, buffers, sizes,
            b.stream.library(call.module, call.kernel), 0, stop, chunks, check=check, nodes=[node], work=call.work,
        )
    )  # fmt: skip
    if call.join:
        b.stream.add(Instruction("routine", call.join, node, buffers, sizes, b.stream.library(call.module, call.join), 0, 1))


def _scratch(b: GraphLowering, node: Node, scratch: Scratch, chunks: int) -> Place:
    dtype = node.type.dtype if scratch.dtype is None else scratch.dtype
    shape = (chunks * scratch.elements,)
    if scratch.zeros:
        return Buffer("fixed", shape, dtype, memory=np.zeros(shape, dtype)), 0
    return b.stream.temporary(shape, dtype), 0


def clear(b: GraphLowering, node: Node) -> None:
    buffer = b.buffer(node)
    kernel = b.stream.library("strided_moves", "clear")
    b.stream.add(Instruction("clear", "zero", node, [(buffer, 0)], [], kernel, 0, buffer.nbytes, work=buffer.nbytes))


def copy(b: GraphLowering, node: Node, to: Buffer, layout: Layout, source: tuple[Buffer, int, Layout] | None = None) -> None:
    """Copy a node's value, or `source`, into a buffer at `layout`; nothing where it is there already."""
    buffer, add, at = (*b.view(node), b.layouts.at[node]) if source is None else source
    size = node.type.dtype.itemsize
    if buffer is to and Layout(at.shape, at.strides, add // size).same(layout):
        return
    places, steps_to, steps_from = at.shape, layout.strides, at.strides
    if size > WORD:
        places = (*places, size // WORD)
        steps_to, steps_from = ((*(s * (size // WORD) for s in steps), 1) for steps in (steps_to, steps_from))
    shape, strides_to, strides_from = collapse(places, steps_to, steps_from)
    kernel = b.stream.library("strided_moves", f"copy_i{8 * min(size, WORD)}")
    work = math.prod(shape)
    b.stream.add(
        Instruction(
            "copy", "copy", node, [(buffer, add), (to, layout.offset * size)],
            [len(shape), *shape, *strides_to, *strides_from], kernel, 0, shape[0], b.chunks(work, shape[0]), work=work,
        )
    )  # fmt: skip
