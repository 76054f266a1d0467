"""The ways of gradients along a tape: which operands of a record they flow to, and which records lie between roots and
targets."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any

from .tape import Record, edge
from .tensor import Tensor

Edge = tuple[int, Record | None, Any]
"""(position of the operand, the record that made it, or the leaf that it is)"""
clock_of = attrgetter("clock")


def edges_of(record: Record) -> list[Edge]:
    """The operands through which gradients flow."""
    found: list[Edge] = []
    clock = record.clock
    for position, tensor in enumerate(record.inputs):
        if tensor._history:
            maker, leaf = edge(tensor, clock)
            if maker is not None or leaf is not None:
                found.append((position, maker, leaf))
        elif tensor._tracked:
            if (maker := tensor._record) is not None:
                found.append((position, maker, None))
            elif tensor._since < clock:
                found.append((position, None, tensor))
    return found


def reached_from(roots: Sequence[Tensor]) -> dict[Record, list[Edge]]:
    """The records on which the roots depend, with their edges."""
    found: dict[Record, list[Edge]] = {}
    stack = [root._record for root in roots if root._record is not None]
    while stack:
        record = stack.pop()
        if record not in found:
            found[record] = edges = edges_of(record)
            for _, maker, _ in edges:
                if maker is not None and maker not in found:
                    stack.append(maker)
    return found


def paths(roots: Sequence[Tensor], targets: Collection[Any]) -> dict[Record, list[Edge]]:
    """The records between the roots and a target, with their edges towards one. targets: ids of leaves, and records."""
    leading: set[Any] = {*targets}
    """The targets, and the records on a path to one."""
    needed: dict[Record, list[Edge]] = {}
    reached = reached_from(roots)
    for record in sorted(reached, key=clock_of):  # a record comes before those that read its result
        edges, others = reached[record], False
        for _, maker, leaf in edges:
            if (id(leaf) if maker is None else maker) in leading:
                needed[record] = edges
            else:
                others = True
        if record in needed:
            leading.add(record)
            if others:
                needed[record] = [e for e in edges if (id(e[2]) if e[1] is None else e[1]) in leading]
    return needed
