"""Operations whose gradient the user writes, as nodes.

A call is one node, which holds the rule for the cotangents of its operands. Each result that a gradient flows through is a
node of the call and the value that `forward` made of other nodes; plans take that value, and nothing of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.types import TensorType, TupleType, bool_, type_of
from ..ir import Attribute, Expand, Node, OpDef, Travelling, define
from . import attributes as at
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
