"""What processes that train one model exchange: gradients, which they add, and parameters, which may have an owner each.

All of it is written in the exchanges of `communication.py`, so it serves tensors of every mode. ZeRO divides the state of an
optimizer: the owner of a parameter keeps its slots, updates it, and gives it to the others.

Source: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.communicators import Communicator
from ..base.types import Shape
from ..errors import ArgumentError
from ..operators import F
from .communication import all_reduce_op, broadcast_op, communicate, reduce_op

FIRST_BUCKET = 1 << 20
"""Bytes of the first bucket: it travels early."""
BUCKET = 25
"""Megabytes of the others."""
ALONE = 1 << 16
"""Bytes from which a parameter is a message of its own: to join it with others would cost more than a message."""
SHARDS = (None, "optimizer", "gradients")


def check_shard(where: str, shard: Any) -> str | None:
    """Raises ArgumentError for another value than those of `SHARDS`."""
    if shard not in SHARDS:
        raise ArgumentError(f'{where}: shard is None, "optimizer" or "gradients", got {shard!r}')
    return shard


def buckets(sizes: Sequence[int], kinds: Sequence[Any], cap: float | None = None) -> list[list[int]]:
    """Numbers of parameters, in reverse order, in buckets of one kind. sizes: in bytes; cap: megabytes of a bucket. Large
    ones are buckets of their own, which MPI reads and writes where they are."""
    limit = int((BUCKET if cap is None else cap) * (1 << 20))
    found: list[list[int]] = []
    open_buckets: dict[Any, tuple[list[int], int]] = {}
    for i in reversed(range(len(sizes))):
        bucket, held = open_buckets.get(kinds[i], (None, 0))
        full = held + sizes[i] > (min(limit, FIRST_BUCKET) if found and bucket is found[0] else limit)
        if bucket is None or full or max(held, sizes[i]) >= FIRST_BUCKET:
            bucket, held = [], 0
            found.append(bucket)
        bucket.append(i)
        open_buckets[kinds[i]] = bucket, held + sizes[i]
    return found


def joined(values: Sequence[Any]) -> Any:
    """The values as one vector."""
    parts = [x.reshape(-1) for x in values]
    return F.concatenate(parts, 0) if len(parts) > 1 else parts[0]


def parted(whole: Any, shapes: Sequence[Shape]) -> list[Any]:
    """The values of such shapes that were joined."""
    found, at = [], 0
    for shape in shapes:
        count = int(np.prod(shape))
        found.append(whole[at : at + count].reshape(shape))
        at += count
    return found


def _attrs(members: Communicator) -> dict[str, int]:
    return {"group_number": members.number, "size": members.size}


def added(whole: Any, owner: int | None, members: Communicator) -> Any:
    """The sum over all processes; for its owner alone, where there is one."""
    if owner is None:
        return communicate(all_reduce_op, whole, reduction="sum", **_attrs(members))
    return communicate(reduce_op, whole, reduction="sum", root=owner, **_attrs(members))


def from_owners(values: Sequence[Any], owners: Sequence[int], members: Communicator) -> list[Any]:
    """The values of those processes that own them. Of what belongs to others only shapes and dtypes are read. Small values of
    one owner travel together."""
    groups: list[tuple[int, list[int]]] = []
    together: dict[Any, list[int]] = {}
    for i, (x, owner) in enumerate(zip(values, owners, strict=True)):
        kind = owner, x.dtype
        if int(np.prod(x.shape)) * x.dtype.itemsize >= ALONE or kind not in together:
            groups.append((owner, [i]))
            if int(np.prod(x.shape)) * x.dtype.itemsize < ALONE:
                together[kind] = groups[-1][1]
        else:
            together[kind].append(i)
    found: list[Any] = [None] * len(values)
    for owner, places in groups:
        given = [values[i] if owner == members.rank else F.zeros_like(values[i]) for i in places]
        whole = communicate(broadcast_op, joined(given), root=owner, **_attrs(members))
        for i, part in zip(places, parted(whole, [tuple(values[i].shape) for i in places]), strict=True):
            found[i] = part
    return found
