"""Where a gradient through loops or branches was taken, and of what: for numerics that have to repeat it on a tape."""

from __future__ import annotations

from typing import Any

from ..ir import Expand, OpDef, define
from ..types import TensorType


def _infer(g: TensorType, *rest: TensorType, **attrs: Any) -> TensorType:
    return g


def _flows(i: int) -> Any:
    return (lambda g, node, out, *inputs: g) if i == 0 else None


adjoint_op = define(
    OpDef(
        name="adjoint",
        infer=_infer,
        eval=lambda g, *rest, **attrs: g,
        vjp=_flows,
        emit=Expand(lambda node, g, *rest: g),
        shape_only=(0,),
        equals=0,
        doc="A cotangent g. Its other inputs are what it was derived from: `ys` results, their `ys` cotangents, `xs` tensors, and "
        "those that were taken for constants; g is that of number `index` among the tensors.",
    )
)
