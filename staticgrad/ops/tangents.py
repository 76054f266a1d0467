"""Forward-mode rules that records share: `(node, out, primals, tangents) -> tangent`. A tangent that is None is 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operators import F, apply


def linear(node: Any, out: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Of ops that are linear in all operands through which gradients flow, together: the op on their tangents."""
    return apply(
        node.op,
        *[
            x if node.op.vjp_for(i) is None else F.zeros_like(x) if t is None else t
            for i, (x, t) in enumerate(zip(primals, tangents, strict=True))
        ],
        **node.attrs,
    )


def multilinear(node: Any, out: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Of ops that are linear in each operand through which gradients flow: the product rule."""
    total: Any = None
    for i, t in enumerate(tangents):
        if t is not None and node.op.vjp_for(i) is not None:
            part = apply(node.op, *primals[:i], t, *primals[i + 1 :], **node.attrs)
            total = part if total is None else total + part
    return total
