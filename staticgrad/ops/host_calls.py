"""Python functions in the middle of a plan: they look at values, to print or to check them, or compute one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..base.types import TensorType, shape_text
from ..errors import ShapeError
from ..ir import Attribute, OpDef, define
from . import attributes as at
from .rules import keep


def nothing(*arrays: np.ndarray) -> None:
    """For an operand that is there to be computed before the result."""


def _watched(x: np.ndarray, *others: np.ndarray, call: Callable[..., None]) -> np.ndarray:
    call(*others)
    return x


FUNCTION = Attribute("a function of arrays", lambda value, types: callable(value))
watch_op: OpDef = define(
    OpDef(
        name="watch",
        attrs={"call": FUNCTION},
        infer=lambda x, *others, call: x,
        eval=_watched,
        vjp=lambda i: (lambda g, node, out, x, *others: g) if i == 0 else None,
        promote=keep,
        stateful=True,
        doc="The first operand, after a call of a Python function with the values of the others.",
    )
)


def _called(*arrays: np.ndarray, call: Callable[..., np.ndarray], type: TensorType) -> np.ndarray:
    found = np.asarray(call(*arrays), type.dtype)
    if found.shape != type.shape:
        raise ShapeError(f"a Python function gave shape {shape_text(found.shape)}, and {shape_text(type.shape)} was declared")
    return found


python_call_op: OpDef = define(
    OpDef(
        name="python_call",
        attrs={"call": FUNCTION, "type": at.tensor_type},
        infer=lambda *operands, call, type: type,
        eval=_called,
        vjp=None,
        promote=keep,
        stateful=True,
        doc="The result of a Python function, whose type is declared. No gradient flows through it.",
    )
)
