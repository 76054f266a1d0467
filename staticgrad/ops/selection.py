"""Selection: where and clip."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..ir import OpDef, Pointwise, define
from ..operators import F, apply, numpy_twin, public
from .rules import arithmetic, elementwise, first_boolean, joint, unbroadcast

where_op = define(
    OpDef(
        name="where",
        range=lambda types, attrs, c, x, y: joint(x, y),
        infer=elementwise,
        eval=np.where,
        vjp=(
            None,
            lambda g, node, out, c, x, y: unbroadcast(F.where(c, g, 0), x),
            lambda g, node, out, c, x, y: unbroadcast(F.where(c, 0, g), y),
        ),
        emit=Pointwise("({1} if {0} else {2})"),
        promote=first_boolean,
    )
)


def _inside(g: Any, node: Any, out: Any, x: Any, low: Any, high: Any) -> Any:
    return unbroadcast(F.where(F.logical_and(x >= low, x <= high), g, 0), x)


clip_op = define(
    OpDef(
        name="clip",
        infer=elementwise,
        eval=lambda x, low, high: np.minimum(np.maximum(x, low), high),
        vjp=(
            _inside,
            lambda g, node, out, x, low, high: unbroadcast(F.where(F.logical_and(x < low, low <= high), g, 0), low),
            lambda g, node, out, x, low, high: unbroadcast(F.where(F.logical_or(x > high, low > high), g, 0), high),
        ),
        emit=Pointwise("minimum_{s}(maximum_{s}({0}, {1}), {2})", 2),
        promote=arithmetic,
    )
)

# public functions ------------------------------------------------------------------------------------------------


@public
@numpy_twin(np.where)
def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y; all broadcast. The gradient flows to the chosen side only."""
    return apply(where_op, condition, x, y)


@public
@numpy_twin(np.clip)
def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """x limited to [min, max]; one of them may be None. Inside the bounds, edges included, the gradient passes through.

    Raises ArgumentError when both are None.
    """
    if min is None and max is None:
        raise ArgumentError(
            "torch.clamp: At least one of 'min' or 'max' must not be None",
            "write x.clamp(min=0), x.clamp(max=1) or x.clamp(0, 1)",
        )
    if min is None or max is None:
        dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
        floating = dtype.kind == "f"
        if min is None:
            min = -math.inf if floating else int(np.iinfo(dtype).min)
        if max is None:
            max = math.inf if floating else int(np.iinfo(dtype).max)
    return apply(clip_op, x, min, max)


@public
def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    """PyTorch's name of `clip`."""
    return clip(x, min, max)


@public
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """x with `value` where the mask is true."""
    return where(mask, value, x)
