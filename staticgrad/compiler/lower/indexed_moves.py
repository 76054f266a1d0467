"""Rows of the table that move elements by position: checks of indices, gathers, scatters, additions to rows, scans."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...ir import Layout, Node
from ...types import SHORT, float64
from ..backend import kernel_cache
from ..fusion.layout import collapse
from .instructions import Buffer, Instruction

if TYPE_CHECKING:
    from .instruction_builder import Builder


def bounded(b: Builder, node: Node, low: int, extent: int) -> None:
    index = node.inputs[0]
    kernel = kernel_cache.library("index_checks", f"bounded_{SHORT[index.type.dtype]}")
    b.add(
        Instruction(
            "check", "bounded", node, [b._contiguous(index), (b.slot(node), 0), (b.status, 0)],
            [extent, low, 0], kernel.address, 0, node.type.size, check=True, nodes=[node], work=node.type.size,
        )
    )  # fmt: skip


def nonzero(b: Builder, node: Node) -> None:
    divisors = node.inputs[0]
    kernel = kernel_cache.library("index_checks", f"nonzero_{SHORT[divisors.type.dtype]}")
    b.add(
        Instruction(
            "check", "nonzero", node, [b._contiguous(divisors), (b.slot(node), 0), (b.status, 0)],
            [0, 0, 0], kernel.address, 0, node.type.size, check=True, nodes=[node], work=node.type.size,
        )
    )  # fmt: skip


def gather(b: Builder, node: Node) -> None:
    values, index = node.inputs
    axis, shape = node.attrs["axis"], values.type.shape
    sizes = [shape[axis], index.type.size, math.prod(shape[axis + 1 :])]
    operands = [b._contiguous(values), b._contiguous(index), (b.slot(node), 0)]
    kernel = kernel_cache.library("row_moves", f"gather_i{8 * node.type.dtype.itemsize}")
    span, work = math.prod(shape[:axis]) * index.type.size, node.type.size
    b.add(Instruction("gather", "gather", node, operands, sizes, kernel.address, 0, span, b._chunks(work, span),
                 nodes=[node], work=work))  # fmt: skip


def gather_sum(b: Builder, node: Node) -> None:
    values, index = node.inputs
    bag, inner = index.type.shape[-1], math.prod(values.type.shape[1:])
    span, work = index.type.size // bag if bag else math.prod(index.type.shape[:-1]), index.type.size * inner
    operands = [b._contiguous(values), b._contiguous(index), (b.slot(node), 0)]
    kernel = kernel_cache.library("row_moves", f"gather_sum_{SHORT[node.type.dtype]}")
    b.add(Instruction("gather", "gather_sum", node, operands, [bag, inner], kernel.address, 0, span,
                 b._chunks(work, span), nodes=[node], work=work))  # fmt: skip


def scatter_add(b: Builder, node: Node) -> None:
    values, like, index = node.inputs
    axis, shape = node.attrs["axis"], like.type.shape
    sizes = [shape[axis], index.type.size, math.prod(shape[axis + 1 :])]
    at, places = _grouped(b, values, axis, len(index.type.shape))
    operands = [at, b._contiguous(index), (b.slot(node), 0)]
    b._call_zero(node)
    kernel = kernel_cache.library("row_moves", f"scatter_{SHORT[node.type.dtype]}")
    b.add(Instruction("scatter", "scatter_add", node, operands, [*sizes, *places], kernel.address, 0,
                 math.prod(shape[:axis]), nodes=[node], work=values.type.size))  # fmt: skip


def index_add(b: Builder, node: Node) -> None:
    base, values, index = node.inputs
    shape, to = node.type.shape, b.slot(node)
    at, places = _grouped(b, values, 0, len(index.type.shape))
    if b._view(base) != (to, 0):
        b._copy_row(base, to, Layout.contiguous(shape))
    picked, inner = index.type.size, math.prod(shape[1:])
    counters = Buffer("fixed", (shape[0],), np.dtype(np.int32), memory=np.zeros(shape[0], np.int32))
    sums = b.temporary((max(picked // 2, 1) * inner,), node.type.dtype)
    operands = [at, b._contiguous(index), (to, 0), (counters, 0), (sums, 0)]
    kernel = kernel_cache.library("row_moves", f"index_add_{SHORT[node.type.dtype]}")
    b.add(Instruction("rows", "index_add", node, operands, [shape[0], picked, inner, *places], kernel.address, 0, 1,
                 nodes=[node], work=2 * values.type.size))  # fmt: skip


def _grouped(
    b: Builder, values: Node, axis: int, indexed: int) -> tuple[tuple[Buffer, int], list[int]]:
    """(memory, [group, far, near, outer]) of the rows that axes [axis, axis + indexed) count. Rows that are repeated
    stay one in memory; where two strides don't tell, they are copied."""
    layout, last = b.layouts.at[values], axis + indexed
    inner = Layout(layout.shape[last:], layout.strides[last:], 0)
    shape, strides, _ = collapse(layout.shape[axis:last], layout.strides[axis:last], layout.strides[axis:last])
    if inner.is_contiguous and len(shape) <= 2 and (axis == 0 or layout.is_contiguous):
        at = b._view(values)
    else:
        at, layout = b._contiguous(values), Layout.contiguous(layout.shape)
        shape, strides = [math.prod(layout.shape[axis:last])], [math.prod(layout.shape[last:])]
    group, far, near = (shape[1], strides[0], strides[1]) if len(shape) == 2 else (1, strides[0], 0)
    return at, [max(group, 1), far, near, math.prod(layout.shape[axis:])]


def running_sum(b: Builder, node: Node) -> None:
    (values,), axis, shape = node.inputs, node.attrs["axis"], node.type.shape
    outer, inner, work = math.prod(shape[:axis]), math.prod(shape[axis + 1 :]), node.type.size
    operands = [b._contiguous(values), (b.slot(node), 0)]
    carried = node.type.dtype.kind == "f" and node.type.dtype != float64
    if carried:
        operands.append((b.temporary((outer * inner,), float64), 0))
    kernel = kernel_cache.library("running_sums", f"{'carried' if carried else 'running'}_{SHORT[node.type.dtype]}")
    b.add(Instruction("scan", "cumsum", node, operands, [shape[axis], inner], kernel.address, 0, outer if work else 0,
              b._chunks(work, outer), nodes=[node], work=work))  # fmt: skip


CALLS = {f.__name__: f for f in (bounded, nonzero, gather, gather_sum, scatter_add, index_add, running_sum)}
"""By the names that op records use."""
