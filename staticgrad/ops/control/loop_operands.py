"""The inputs and results of loops by their roles, for the op's record, its gradient and the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.types import TensorType, shape_text
from ...errors import ShapeError
from ...ir import Subgraph


class Parts(dict[int, Any]):
    """The cotangent of a node with several results: by the number of the result, as far as there are any."""


class LoopOperands:
    """The inputs and results of a loop by their roles. `body`: the attributes of the node."""

    def __init__(self, attrs: Any, inputs: Sequence[Any]):
        self.body: Subgraph = attrs["body"]
        self.cond: Subgraph | None = attrs["cond"]
        self.dynamic = self.cond is not None or attrs["count"]
        at = int(attrs["count"])
        self.count = inputs[0] if at else None
        self.consts = list(inputs[at : at + attrs["consts"]])
        at += attrs["consts"]
        self.inits = list(inputs[at : at + attrs["carries"]])
        self.stacks = list(inputs[at + attrs["carries"] :])
        n = attrs["consts"]
        self.const_params = self.body.params[:n]
        self.carry_params = self.body.params[n : n + attrs["carries"]]
        self.item_params = self.body.params[n + attrs["carries"] :]
        self.next_carries = self.body.results[: attrs["carries"]]
        self.items = self.body.results[attrs["carries"] :]


def trip_count(length: Any, stacks: Sequence[TensorType]) -> Any:
    """The number of iterations, None while it is unknown. Raises ShapeError."""
    known = length
    for stack in stacks:
        n = stack.shape[0] if stack.shape else None
        if n is not None and known is not None and n != known:
            raise ShapeError(
                "scan got values with different leading axis sizes: "
                + ", ".join(shape_text(s.shape) for s in stacks)
                + (f", and length={length}" if length is not None else "")
            )
        known = n if known is None else known
    return known
