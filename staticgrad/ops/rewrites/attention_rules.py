"""Attention with few scores, written in products and a softmax: each is faster over all matrices at once."""

from __future__ import annotations

import math
from typing import Any

from ...ir import Node
from ...operators import F
from ..blockwise_attention import attended, gradients_of
from .rule import RewriteRule

FEW = 1 << 20
"""Bytes of scores up to which they stay in the cache from one op to the next."""


def _few(node: Node) -> bool:
    q, k = (operand.type.shape for operand in node.inputs[:2])
    return bool(math.prod(q[:-1]) * k[-2] * node.type.dtype.itemsize <= FEW)


def _attention(node: Node, q: Any, k: Any, v: Any, *more: Any) -> Any:
    return attended(q, k, v, more, node.attrs) if _few(node) else None


def _gradient(node: Node, q: Any, k: Any, v: Any, g: Any, *more: Any) -> Any:
    if not _few(node):
        return None
    wanted = gradients_of(q, k, v, g, more, node.attrs)[: 3 + node.attrs["of_mask"]]
    return F.concatenate([F.reshape(x, (-1,)) for x in wanted])


ATTENTION = (
    RewriteRule("few scores", "attention(q, k, v) = softmax(scale q k') v", ("attention",), _attention),
    RewriteRule("few scores, backward", "the gradient of softmax(scale q k') v", ("attention_gradient",), _gradient),
)
