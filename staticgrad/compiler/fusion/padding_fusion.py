"""Padding fusion: kernels read padded values, gradients of slices and concatenations in place.

Such a value is a window on its operands: along one axis, it has the elements of an operand from some offset on, and zeros
elsewhere. A kernel that uses it reads the operand at the shifted position, under a condition, and the value itself is never
stored. Its operands are in memory, because a kernel doesn't have the elements of other rows or columns.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from ...ir import Adjacency, Node, Window
from .broadcast_rank import COL, FULL, ROW, FusionFailure, IterationDomain, fused_as, origin
from .layout import Layouts, count, merged

MOST_PARTS, MOST_USERS = 4, 2
"""Beyond these, reading in place costs more than storing."""


def padding_of(node: Node) -> Window | None:
    return fused_as(node, Window)


def choose_paddings(nodes: Iterable[Node], users: Adjacency, stored: set[Node], fusible: Callable[[Node], bool]) -> set[Node]:
    """The windows that kernels read in place: only kernels read them, and only a few."""
    chosen = set()
    for node in nodes:
        window = padding_of(node)
        if window is None or node in stored or window.axis not in (0, node.type.ndim - 1):
            continue
        if len(window.parts) <= MOST_PARTS and 0 < len(users[node]) <= MOST_USERS and all(map(fusible, users[node])):
            chosen.add(node)
    return chosen


def block_of(window: Window, ndim: int) -> int:
    """The first axis of the columns: the axis after a window over rows, or the axis of a window over columns."""
    return 0 if ndim < 2 else window.axis if window.axis else 1


def assign_padding(node: Node, window: Window, domain: IterationDomain, inside: Container[Node], layouts: Layouts) -> None:
    """Gives the window its rank, by its size. Raises FusionFailure where the kernel can't read its operands."""
    if any(origin(node.inputs[number]) in inside for number, _, _ in window.parts):
        raise FusionFailure("it reads elements of other rows or columns, which are read from memory only")
    shape = node.type.shape
    size, columns = count(shape), domain.columns
    ranks = [(ROW, domain.rows)] if columns is None else [(FULL, domain.rows * columns), (ROW, domain.rows), (COL, columns)]
    rank = next((rank for rank, n in ranks if n == size), "")
    if not rank:
        raise FusionFailure(f"its shape {shape} does not fit the domain {domain}")
    domain.rank[node] = rank
    for number, _, _ in window.parts:
        strides_of(node, window, number, rank, domain, layouts)


def strides_of(
    node: Node, window: Window, number: int, rank: str, domain: IterationDomain, layouts: Layouts
) -> tuple[int, int, bool]:
    """(row stride, column stride, whether the window is over columns) of an operand. Raises FusionFailure."""
    shape, operand = node.type.shape, node.inputs[number]
    at = layouts.at[operand]
    if len(at.shape) != len(shape):
        raise FusionFailure("an operand has other axes")
    if rank != FULL:
        if len(shape) != 1:
            raise FusionFailure(f"a window of shape {shape} has no rows and columns here")
        return (at.strides[0], 0, False) if rank == ROW else (0, at.strides[0], True)
    k = block_of(window, len(shape))
    if (count(shape[:k]), count(shape[k:])) != (domain.rows, domain.columns):
        raise FusionFailure(f"its rows and columns are not {domain}")
    rows, columns = merged(at.shape[:k], at.strides[:k]), merged(at.shape[k:], at.strides[k:])
    if rows is None or columns is None:
        raise FusionFailure(f"an operand of shape {at.shape} can't be walked along rows and columns")
    return rows, columns, window.axis == k
