"""Batches from an iterable, a group at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Batch = TypeVar("Batch")
AHEAD, BYTES = 256, 1 << 26
"""How many batches, and bytes, are taken from an iterable before they are run."""


def groups(batches: Iterable[Any], prepare: Callable[[Any], tuple[Batch, int]]) -> Iterator[list[Batch]]:
    """Prepared batches; prepare: gives a batch and its bytes. What the iterable raises is raised when the batches before are
    done."""
    source = iter(batches)
    failed: BaseException | None = None
    while failed is None:
        group: list[Batch] = []
        size = 0
        while len(group) < AHEAD and size < BYTES:
            try:
                batch, more = prepare(next(source))
            except BaseException as error:
                failed = error
                break
            group.append(batch)
            size += more
        if group:
            yield group
    if not isinstance(failed, StopIteration):
        raise failed
