"""The derivation of a value, for strict numerics, which repeats it one operation after the other.

Fast numerics take the first input of these ops, and nothing of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.types import TensorType
from ..errors import ArgumentError
from ..ir import Attribute, Expand, OpDef, define
from ..operators import apply
from . import attributes as at
from .over_complex import OWN


def _infer(x: TensorType, *rest: TensorType, ys: int = 0, xs: int = 0, index: int = 0) -> TensorType:
    if 2 * ys + xs > len(rest) or index > xs:
        raise ArgumentError(f"{len(rest)} inputs can't be {ys} results, their cotangents and {xs} tensors, of which {index}")
    return x


def _flows(i: int) -> Any:
    return (lambda g, node, out, *inputs: g) if i == 0 else None


def _define(name: str, doc: str, attrs: Mapping[str, Attribute]) -> OpDef:
    return define(
        name=name,
        complex=OWN,
        attrs=attrs,
        infer=_infer,
        eval=lambda x, *rest, **attrs: x,
        vjp=_flows,
        emit=Expand(lambda node, x, *rest: x),
        equals=0,
        doc=doc,
    )


adjoint_op = _define(
    "adjoint",
    "A cotangent that went through loops or branches. The other inputs are what it was derived from: `ys` results, their `ys` "
    "cotangents, `xs` tensors, and those that were taken for constants; it is that of number `index` among the tensors.",
    {"ys": at.integer(1), "xs": at.integer(1), "index": at.integer(0)},
)
as_written_op = _define(
    "as_written",
    "A result of a loop that was taken apart (into blocks, of which a gradient keeps the carries only), and the same result of "
    "the loop as the user wrote it.",
    {},
)


def as_written(results: Sequence[Any], plain: Sequence[Any]) -> list[Any]:
    """The results of a loop with a note of the same ones by the plain loop."""
    return [apply(as_written_op, x, y) for x, y in zip(results, plain, strict=True)]
