"""Lowering of native calls, which op records hand over as data: routines, copies, clears. `matmul.py` lowers products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...ir import Call, Clear, Copy, Gemm, Layout, Native, Node, Routine, Scratch, collapse
from . import matmul
from .instructions import WORD, Buffer, Instruction, Place

if TYPE_CHECKING:
    from .instruction_builder import GraphLowering


def lower_call(b: GraphLowering, node: Node, call: Call) -> None:
    """Append the instructions of one call that computes `node`, or a part of it."""
    match call:
        case Routine():
            routine(b, node, call)
        case Gemm():
            matmul.gemm(b, node, call)
        case Copy(operand, layout):
            copy(b, node.inputs[operand], b.buffer(node), layout)
        case Clear():
            clear(b, node)


def routine(b: GraphLowering, node: Node, call: Routine) -> None:
    read = [p for p in range(len(node.inputs)) if p not in node.op.shape_only] if call.operands is None else call.operands
    check = isinstance(node.op.emit, Native) and node.op.emit.check is not None
    chunks = 1 if check else b.chunks(call.work, call.span)  # a check reports the first bad number
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
