"""Padding, the gradients of slices, and concatenations that kernels read in place.

Such a value is a window on its operands: along one axis, the elements of an operand from some place on, and zeros
elsewhere. A kernel that uses it reads the operand at the shifted place, under a condition, and the value itself is never
stored. Its operands lie in memory: a kernel has no elements of another row or column.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from ...ir import Node, Window
from .broadcast_rank import COL, FULL, ROW, FusionFailure, IterationDomain, fused_as, origin
from .layout import Layouts, count, merged

MOST_PARTS, MOST_USERS = 4, 2
"""Beyond these, reading costs more than storing."""


def padding_of(node: Node) -> Window | None:
    return fused_as(node, Window)


def choose_paddings(
    nodes: Iterable[Node], users: dict[Node, list[Node]], stored: set[Node], fusible: Callable[[Node], bool]
) -> set[Node]:
    """The values that kernels are to read in place: only kernels read them, and few."""
    chosen = set()
    for node in nodes:
        window = padding_of(node)
        if window is None or node in stored or window.axis not in (0, node.type.ndim - 1):
            continue
        if len(window.parts) <= MOST_PARTS and 0 < len(users[node]) <= MOST_USERS and all(map(fusible, users[node])):
            chosen.add(node)
    return chosen


def block_of(window: Window, ndim: int) -> int:
    """The first axis of the columns: behind a window over rows, from a window over columns on."""
    return 0 if ndim < 2 else window.axis if window.axis else 1


def assign_padding(node: Node, window: Window, domain: IterationDomain, inside: Container[Node], layouts: Layouts) -> None:
    """Its kind, by its size. Raises Misfit when the kernel can't read its operands."""
    if any(origin(node.inputs[number]) in inside for number, _, _ in window.parts):
        raise FusionFailure("it reads elements of other rows or columns, which lie in memory only")
    shape = node.type.shape
    size, columns = count(shape), domain.columns
    kinds = [(ROW, domain.rows)] if columns is None else [(FULL, domain.rows * columns), (ROW, domain.rows), (COL, columns)]
    kind = next((kind for kind, n in kinds if n == size), "")
    if not kind:
        raise FusionFailure(f"its shape {shape} is not of the space {domain}")
    domain.rank[node] = kind
    for number, _, _ in window.parts:
        strides_of(node, window, number, kind, domain, layouts)


def strides_of(
    node: Node, window: Window, number: int, kind: str, domain: IterationDomain, layouts: Layouts
) -> tuple[int, int, bool]:
    """(row stride, column stride, whether the window is over columns) of an operand. Raises Misfit."""
    shape, operand = node.type.shape, node.inputs[number]
    at = layouts.at[operand]
    if len(at.shape) != len(shape):
        raise FusionFailure("an operand has other axes")
    if kind != FULL:
        if len(shape) != 1:
            raise FusionFailure(f"a window of shape {shape} has no rows and columns here")
        return (at.strides[0], 0, False) if kind == ROW else (0, at.strides[0], True)
    k = block_of(window, len(shape))
    if (count(shape[:k]), count(shape[k:])) != (domain.rows, domain.columns):
        raise FusionFailure(f"its rows and columns are not {domain}")
    rows, columns = merged(at.shape[:k], at.strides[:k]), merged(at.shape[k:], at.strides[k:])
    if rows is None or columns is None:
        raise FusionFailure(f"an operand of shape {at.shape} can't be walked along rows and columns")
    return rows, columns, window.axis == k and window.axis > 0
