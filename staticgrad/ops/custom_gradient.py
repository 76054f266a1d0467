"""The user's Python in a graph: operations whose gradient the user writes, decisions by values, functions in the middle of a
plan.

A call of `autograd.Function` is one node, which holds the rule for the cotangents of its operands. Each result that a
gradient flows through is a node of the call and the value that `forward` made of other nodes; plans take that value, and
nothing of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.types import TensorType, TupleType, bool_, int64, shape_text, type_of
from ..errors import DTypeError, ShapeError, StaticgradError, Where
from ..ir import Attribute, Call, Expand, Layout, Native, Node, OpDef, Travelling, define
from . import rules as at
from .gathering import index_check
from .operands import Parts
from .operators import Operators, Symbol, apply
from .over_complex import OWN
from .rules import keep

Rule = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], list[Any]]
"""From the cotangents of all results, the operands and the saved values to the cotangents of the operands; None where there is
none."""


class CustomCall:
    """One call: its name, the types of its results, the number of its operands, and its gradient.

    saved: for each saved value the number of the result that it is, or None. The values follow the operands as inputs of the
    node, so that the node says all that its gradient reads, in the body of a loop too.
    """

    def __init__(self, name: str, results: Sequence[TensorType], operands: int, saved: Sequence[int | None], rule: Rule):
        self.name, self.results, self.operands, self.saved, self.rule = name, tuple(results), operands, tuple(saved), rule

    def __reduce__(self) -> Any:
        return CustomCall, (self.name, self.results, self.operands, self.saved, Travelling(self.name, self.rule))

    def __repr__(self) -> str:
        return self.name


def _call_vjp(g: Any, node: Node, wanted: Sequence[bool], *inputs: Any) -> list[Any]:
    call: CustomCall = node.attrs["call"]
    operands, values = inputs[: call.operands], inputs[call.operands :]
    made = Symbol(inputs[0].graph, node)
    saved = [
        value if index is None else apply(output_op, made, value, index=index)
        for value, index in zip(values, call.saved, strict=True)
    ]
    found = call.rule([g.get(i) for i in range(len(call.results))], operands, saved)
    found += [None] * len(values)
    return [cotangent if wants else None for cotangent, wants in zip(found, wanted, strict=True)]


def _flows(i: int) -> Any:
    """Gradients flow to every floating operand; `vjp_all` computes them."""
    return _together


def _together(*args: Any) -> Any:
    raise AssertionError("the cotangents of a call are computed together")


call_op = define(
    name="custom_call",
    complex=OWN,
    fails=False,
    attrs={"call": Attribute("a call of an autograd.Function", lambda value, types: isinstance(value, CustomCall))},
    infer=lambda *types, call: TupleType(call.results),
    eval=lambda *arrays, call: call.results,
    vjp=_flows,
    vjp_all=_call_vjp,
    promote=keep,
    doc="A call of an operation with a gradient of the user's own; it has no value.",
)
output_op: OpDef = define(
    name="custom_output",
    stored=True,
    complex=OWN,
    attrs={"index": at.integer(0)},
    infer=lambda call, value, index: value,
    eval=lambda call, value, index: value,
    vjp=(lambda g, node, out, call, value: Parts({node.attrs["index"]: g}), None),
    emit=Expand(lambda node, call, value: value),
    promote=keep,
    shape_only=(0,),
    equals=1,
    doc="A result of a call: its value is `value`, its gradient is that of the call.",
)


def call_symbols(
    name: str, results: Sequence[Any], smooth: Sequence[int], tensors: Sequence[Any], saved: Sequence[Any], rule: Rule
) -> list[Any]:
    """The results of a call of which `smooth` are those that a gradient flows through.

    tensors: the operands; results: as `forward` made them; saved: tensors that the gradient reads, results among them.
    """
    types = [_type_of(x) if isinstance(x, Operators) else TensorType((), bool_) for x in results]
    numbers = [next((i for i, x in enumerate(results) if x is value and i in smooth), None) for value in saved]
    call = CustomCall(name, types, len(tensors), numbers, rule)
    node = apply(call_op, *tensors, *saved, call=call)
    made = list(results)
    for i in smooth:
        made[i] = apply(output_op, node, results[i], index=i)
    return made


def _type_of(x: Any) -> TensorType:
    return x.node.type if isinstance(x, Symbol) else type_of(x)


# decisions: what Python chose by a value while a step was traced, checked in each run ---------------------------------


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
