"""Decisions: what Python decided by a value while a step was traced, checked in each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..base.types import TensorType, int64
from ..errors import DTypeError, StaticgradError, Where
from ..ir import Call, Layout, Native, Node, OpDef, define
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
    OpDef(
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
)
