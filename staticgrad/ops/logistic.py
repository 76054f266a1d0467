"""Softplus and the logistic loss, written so that nothing overflows or cancels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import Expand, OpDef, define
from ..operators import F, Tensor, TensorLike, apply, public
from .pointwise import ZERO
from .rules import elementwise, floating, unbroadcast


def _tail(x: Any) -> Any:
    """log(1 + e**-|x|), which softplus has beyond max(x, 0)."""
    return F.log1p(F.exp(F.neg(F.abs(x))))


softplus_op = define(
    OpDef(
        name="softplus",
        infer=elementwise,
        eval=lambda x: np.maximum(x, ZERO[x.dtype]) + np.log1p(np.exp(-np.abs(x))),
        vjp=(lambda g, node, out, x: g * F.sigmoid(x),),
        emit=Expand(lambda node, x: F.maximum(x, 0) + _tail(x)),
        promote=floating,
    )
)


@public
def softplus(x: TensorLike) -> Tensor:
    """log(1 + e**x) without overflow; its derivative is sigmoid(x)."""
    return apply(softplus_op, x)


logistic_loss = define(
    OpDef(
        name="logistic_loss",
        infer=elementwise,
        eval=lambda x, t: np.maximum(x, ZERO[x.dtype]) - x * t + np.log1p(np.exp(-np.abs(x))),
        vjp=(
            lambda g, node, out, x, t: unbroadcast(g * (F.sigmoid(x) - t), x),
            lambda g, node, out, x, t: unbroadcast(-g * x, t),
        ),
        emit=Expand(lambda node, x, t: F.maximum(x, 0) - x * t + _tail(x)),
        promote=floating,
        doc="-(t log(s) + (1 - t) log(1 - s)) for s = sigmoid(x): smooth, though written with |x| so that nothing cancels.",
    )
)
