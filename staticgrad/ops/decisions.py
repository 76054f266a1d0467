"""What Python decided by a value while a step was traced, checked in each run, and Python functions in the middle of a plan:
they look at values, to print or to check them, or compute one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..base.types import TensorType, int64, shape_text
from ..errors import DTypeError, ShapeError, StaticgradError, Where
from ..ir import Attribute, Call, Layout, Native, Node, OpDef, define
from . import attributes as at
from .gathering import index_check
from .rules import keep


class DecisionMissed(StaticgradError):
    """A plan was made for another outcome of an `if` or `while` of the user's. Nothing was changed by the run; users never see
    it, because another plan takes its place."""

    @classmethod
    def of(cls, number: int, outcome: bool, where: Where | None = None) -> DecisionMissed:
        """The error of the decision with this number in the step, which has another outcome now."""
        return cls(f"{number} {outcome}", where=where)

    @property
    def decision(self) -> tuple[int, bool]:
        """The number of the decision, and its outcome."""
        number, outcome = self.summary.split()
        return int(number), outcome == "True"


def _infer(taken: TensorType, number: int, total: int) -> TensorType:
    if taken.dtype != int64 or taken.shape != ():
        raise DTypeError(f"a decision is an int64 number, got {taken.dtype} of shape {taken.shape}")
    return taken


def _eval(taken: np.ndarray, number: int, total: int) -> np.ndarray:
    if taken != total:
        raise DecisionMissed.of(number, bool(taken > total))
    return taken


def _missed(node: Node, taken: int) -> DecisionMissed:
    return DecisionMissed.of(node.attrs["number"], taken > node.attrs["total"], where=node.where)


def _plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    total = node.attrs["total"]
    check = index_check(node, total, total + 1)
    return [replace(check, name="decision", sizes=(*check.sizes, node.attrs["number"], total))]


def _missed_by_sizes(sizes: Sequence[int], taken: int) -> DecisionMissed:
    number, total = sizes[-2:]
    return DecisionMissed.of(number, taken > total)


decision_op = define(
    name="decision",
    attrs={"number": at.integer(0), "total": at.integer(0)},
    infer=_infer,
    eval=_eval,
    vjp=None,
    emit=Native(_plan, check=_missed, missed=_missed_by_sizes),
    promote=keep,
    doc="How many of the decisions so far are true, checked to be `total`; number: of the decision. One that misses stops "
    "the run before any state changes.",
)


# Python functions in the middle of a plan -----------------------------------------------------------------------------


def nothing(*arrays: np.ndarray) -> None:
    """For an operand that is there to be computed before the result."""


def _watched(x: np.ndarray, *others: np.ndarray, call: Callable[..., None]) -> np.ndarray:
    call(*others)
    return x


FUNCTION = Attribute("a function of arrays", lambda value, types: callable(value))
watch_op: OpDef = define(
    name="watch",
    attrs={"call": FUNCTION},
    infer=lambda x, *others, call: x,
    eval=_watched,
    vjp=lambda i: (lambda g, node, out, x, *others: g) if i == 0 else None,
    promote=keep,
    stateful=True,
    doc="The first operand, after a call of a Python function with the values of the others.",
)


def _called(*arrays: np.ndarray, call: Callable[..., np.ndarray], type: TensorType) -> np.ndarray:
    found = np.asarray(call(*arrays), type.dtype)
    if found.shape != type.shape:
        raise ShapeError(f"a Python function gave shape {shape_text(found.shape)}, and {shape_text(type.shape)} was declared")
    return found


python_call_op: OpDef = define(
    name="python_call",
    attrs={"call": FUNCTION, "type": at.tensor_type},
    infer=lambda *operands, call, type: type,
    eval=_called,
    vjp=None,
    promote=keep,
    stateful=True,
    doc="The result of a Python function, whose type is declared. No gradient flows through it.",
)
