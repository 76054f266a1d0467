"""Copies of transposed operands, before elementwise kernels that write another order of memory than they read.

Such a kernel would read one element of each line of memory, and read each line again for its next element. The copy goes by
tiles (`kernels/strided_moves.py`). Where all operands of a value lie in one order, and it is reduced or left in that order,
kernels walk that order and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...ir import Graph, Layout, Node, Pointwise, View
from .layout import Layouts, count

LARGE = 1 << 16
"""Elements of an operand from which its lines don't stay in the cache until their next element is read."""


def copy_transposed(graph: Graph, results: Iterable[Node], layouts: Layouts) -> list[tuple[Node, Node]]:
    """Have these operands copied. Returns them, each with the value that reads it."""
    needed, found = set(results), list[tuple[Node, Node]]()
    for node in graph.nodes:
        if not isinstance(node.op.emit, Pointwise) or not layouts.at[node].is_contiguous:
            continue
        if layouts.orders.get(node) is not None and not (layouts.orders[node] and node in needed):
            continue
        stack = [node]
        while stack:
            reader = stack.pop()
            for operand in reader.inputs:
                if isinstance(operand.op.emit, View) and _transposed(layouts.at[operand]):
                    layouts.copy(operand)
                    found.append((operand, reader))
                elif layouts.orders.get(operand) and layouts.at[operand].is_contiguous:
                    stack.append(operand)
            layouts.orders[reader] = None
    return found


def _transposed(at: Layout) -> bool:
    """Whether neighbors in memory are neighbors along another axis than the last, and no element is repeated."""
    steps = [s for d, s in zip(at.shape, at.strides, strict=True) if d != 1]
    return bool(steps) and steps[-1] != 1 and 1 in steps and 0 not in steps and count(at.shape) >= LARGE
