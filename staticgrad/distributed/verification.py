"""Whether processes that train together still hold the same state."""

from __future__ import annotations

import json
import zlib
from itertools import zip_longest
from typing import Any

from ..base.communicators import DistError
from ..base.types import shape_text
from ..serialization.nesting import Table
from .collectives import cut
from .process_groups import member


def verify(*states: Any, group: Any = None) -> None:
    """Compare checksums of parameters, buffers and optimizers' state over all processes, which hold the same after each step.

    states: modules, optimizers and whatever else has a `state_dict()`, or containers of tensors and numbers. Raises DistError,
    in all processes, with the name of the first value that differs and the ranks that hold each version of it, and
    SerializationError for what is no state.
    """
    cut("distributed.verify")
    of = member(group, "verify")
    own = [line for state in states for line in _sums(state)]
    of.meet("verify")
    for told in zip_longest(*([own] if of.mpi is None else of.mpi.allgather(own))):
        if {*told} != {told[0]}:
            name = next(line for line in told if line is not None)[0]
            versions = {line: [rank for rank, other in zip(of.ranks, told, strict=True) if other == line] for line in told}
            lines = [f"  ranks {ranks}: {'none' if line is None else line[1]}" for line, ranks in versions.items()]
            raise DistError(
                f"{name} is not the same in all processes\n" + "\n".join(lines),
                "broadcast the state of one process, and look for what one of them does alone",
            )


def _sums(state: Any) -> list[tuple[str, str]]:
    """Of each array of a state, where it is in it, and its type with a checksum; last of what is not in arrays."""
    table = Table()
    table.item(state.state_dict() if hasattr(state, "state_dict") else state)
    kind = type(state).__name__
    found = [
        (
            f"{name or 'the value'} of {kind}",
            f"{x.dtype} {shape_text(x.shape)}, checksum {zlib.crc32(x.tobytes()):08x}",
        )
        for name, x in zip(table.names, table.arrays, strict=True)
    ]
    return [*found, (f"what is no tensor of {kind}", f"checksum {zlib.crc32(json.dumps(table.objects).encode()):08x}")]
