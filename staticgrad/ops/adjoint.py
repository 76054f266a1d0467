"""What a value was derived from: for numerics that have to repeat it one operation after the other.

Fast numerics take the first input of these ops, and nothing of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir import Expand, OpDef, define
from ..operators import apply
from ..types import TensorType


def _infer(x: TensorType, *rest: TensorType, **attrs: Any) -> TensorType:
    return x


def _flows(i: int) -> Any:
    return (lambda g, node, out, *inputs: g) if i == 0 else None


def _define(name: str, doc: str) -> OpDef:
    return define(
        OpDef(
            name=name,
            infer=_infer,
            eval=lambda x, *rest, **attrs: x,
            vjp=_flows,
            emit=Expand(lambda node, x, *rest: x),
            shape_only=(0,),
            equals=0,
            doc=doc,
        )
    )


adjoint_op = _define(
    "adjoint",
    "A cotangent that went through loops or branches. The other inputs are what it was derived from: `ys` results, their `ys` "
    "cotangents, `xs` tensors, and those that were taken for constants; it is that of number `index` among the tensors.",
)
as_written_op = _define(
    "as_written",
    "A result of a loop that was taken apart (into blocks, of which a gradient keeps the carries only), and the same result of "
    "the loop as the user wrote it.",
)


def as_written(results: Sequence[Any], plain: Sequence[Any]) -> list[Any]:
    """The results of a loop with a note of the same ones by the plain loop."""
    return [apply(as_written_op, x, y) for x, y in zip(results, plain, strict=True)]
