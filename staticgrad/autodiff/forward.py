"""Forward mode: tangents are computed beside values. It names no op.

The rule of an op is that of its record, or follows from it:

- linear combinations: the same combination of the tangents; products of two operands: the product rule;
- other elementwise ops: the reverse rule with the tangent for a cotangent, because their Jacobian is diagonal;
- views: the view of the tangent;
- everything else: the reverse rule differentiated once more. It is linear in the cotangent, so its own reverse rule, applied
  to the tangent, is the transpose of a transpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from ..base.types import INEXACT
from ..ir import OpDef, Pointwise, View
from ..operators import Application, F, Level
from ..ops.batching import linear, multilinear
from ..ops.rules import compared, elementwise
from .pull import by_rules
from .recording import Recorded, Recording, Step, in_order, pull
from .valued import Valued, perform


class Forward(Level):
    """One call of a function under `jvp`."""

    name = "jvp"

    def lift(self, value: Any, tangent: Any) -> Dual:
        return Dual(self, value, tangent, given=True)

    loops = True

    def parts(self, x: Any) -> list[Any]:
        mine = isinstance(x, Dual) and x.level is self
        value = x.value if mine else x
        if x.dtype.kind not in INEXACT:
            return [value]
        return [value, x.tangent if mine else F.zeros_like(x)]

    def whole(self, parts: Sequence[Any]) -> Any:
        return parts[0] if len(parts) == 1 else Dual(self, *parts)

    def process(self, node: Application, operands: list[Any]) -> Any:
        mine = [isinstance(x, Dual) and x.level is self for x in operands]
        primals = [x.value if m else x for x, m in zip(operands, mine, strict=True)]
        tangents = [x.tangent if m else None for x, m in zip(operands, mine, strict=True)]
        out = perform(node, primals)
        tangent = push(node, out, primals, tangents)
        if tangent is None:
            return out
        made = Dual(self, out, tangent)
        made.view_of(node, operands)
        return made


class Dual(Valued):
    """A value with a tangent."""

    __slots__ = ("tangent",)

    def __init__(self, level: Forward, value: Any, tangent: Any, *, given: bool = False):
        super().__init__(level, value, given=given)
        self.tangent = tangent

    def _take(self, value: Any) -> None:
        if isinstance(value, Dual) and value.level is self.level:
            self.value, self.tangent = value.value, value.tangent
        else:
            self.value, self.tangent = value, F.zeros_like(value)


def push(node: Application, out: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The tangent of a result for those of the operands, of which None is 0; None where it is 0 for any of them."""
    op = node.op
    if op.vjp is None or node.type.dtype.kind not in INEXACT:
        return None
    given = [t if t is not None and op.vjp_for(i) is not None else None for i, t in enumerate(tangents)]
    if all(t is None for t in given):
        return None
    rule = op.jvp if op.jvp is not None else RULES[rule_of(op)]
    tangent = rule(node, out, primals, given)
    return tangent if tangent.shape == out.shape or None in out.shape else F.broadcast_like(tangent, out)


@cache
def rule_of(op: OpDef) -> str:
    """Which rule an op has: "own", "combination", "product", "diagonal", "view" or "reverse"."""
    if op.jvp is not None:
        return "own"
    emit = op.plain.emit
    if isinstance(emit, Pointwise) and emit.linear:
        return "combination"
    if isinstance(emit, Pointwise) and emit.bilinear:
        return "product"
    if isinstance(emit, Pointwise) or op.infer in (elementwise, compared):
        return "diagonal"
    return "view" if isinstance(emit, View) else "reverse"


def _combination(node: Application, out: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    emit = node.op.plain.emit
    assert isinstance(emit, Pointwise)
    total: Any = None
    for coefficient, t in zip(emit.linear, tangents, strict=True):
        if t is not None:
            part = t if coefficient == 1 else -t if coefficient == -1 else t * coefficient
            total = part if total is None else total + part
    return total


def _diagonal(node: Application, out: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    total: Any = None
    for i, t in enumerate(tangents):
        if t is None:
            continue
        rule = node.op.plain.vjp_for(i)  # over complex numbers, too, a tangent is multiplied by the derivative itself
        assert rule is not None
        alike = [F.broadcast_like(x, out) if p == i else x for p, x in enumerate(primals)]
        part = rule(F.broadcast_like(t, out), node, out, *alike)
        total = part if total is None else total + part
    return total


def _transposed(node: Application, out: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    with Recording("jvp", always=True) as level:
        g = level.leaf(F.zeros_like(out))
        moved = [i for i, t in enumerate(tangents) if t is not None]
        back = [*by_rules(node.op, moved, g, node, out, primals)]
    mine = [(h, tangents[i]) for i, h in zip(moved, back, strict=True) if isinstance(h, Recorded) and h.level is level]
    (found,) = pull([(h.step, t) for h, t in mine], [g.step])
    return F.zeros_like(out) if found is None else found


RULES = {"combination": _combination, "product": multilinear, "diagonal": _diagonal, "view": linear, "reverse": _transposed}
"""The rules that follow from the rest of a record."""


def push_steps(ends: Sequence[Step | None], tangents: dict[Step, Any]) -> list[Any]:
    """The tangents of recorded values for those of the arguments; None where it is 0. The values are not computed again."""
    found: dict[Step, Any] = dict(tangents)
    for step in in_order(filter(None, ends)):
        if step.node is not None:
            found[step] = push(step.node, step.out, step.primals, [None if s is None else found.get(s) for s in step.sources])
    return [None if step is None else found.get(step) for step in ends]
