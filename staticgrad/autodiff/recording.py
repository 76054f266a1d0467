"""Reverse mode over tensors of any kind: eager ones, those of a graph, and those under other transforms. It names no op.

`func.grad` and `func.vjp` run their function on `Recorded` tensors. Each op on them is computed on their values and noted in
a `Step`; `pull` then applies the rules of the records from the results back to the arguments. Eager mode and graphs have
backward passes of their own (`eager/backward.py`, `reverse.py`), which are faster but know their own tensors only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count
from operator import attrgetter
from typing import Any

from ..base.types import INEXACT
from ..ir.walks import reached
from ..operators import Application, Level, frontends, lines_of
from ..ops.control.vjp import joined
from .pull import Edge, Pull, between, by_rules
from .valued import Valued, perform

_number = count().__next__


class Step:
    """A value on the tape: an op of the function, or an argument (whose `node` is None).

    primals: the values of the operands; sources: the steps that made them, None where no gradient flows.
    """

    __slots__ = ("node", "number", "out", "primals", "sources")

    def __init__(self, node: Application | None, primals: Sequence[Any], sources: Sequence[Step | None], out: Any):
        self.node, self.primals, self.sources, self.out = node, primals, sources, out
        self.number = _number()


class Recording(Level):
    """One call of a function whose gradients are taken. always: also inside `no_grad`, for rules that differentiate rules."""

    name = "grad"

    def __init__(self, name: str = "grad", *, always: bool = False):
        super().__init__()
        self.name, self.always = name, always

    def leaf(self, value: Any) -> Recorded:
        return Recorded(self, value, Step(None, (), (), value), given=True)

    def process(self, node: Application, operands: list[Any]) -> Any:
        mine = [isinstance(x, Recorded) and x.level is self for x in operands]
        primals = [x.value if m else x for x, m in zip(operands, mine, strict=True)]
        out = perform(node, primals)
        rules = node.op.vjp
        if rules is None or node.type.dtype.kind not in INEXACT or not (self.always or frontends.recording()):
            return out
        sources = [x.step if m and node.op.vjp_for(i) is not None else None
                   for i, (x, m) in enumerate(zip(operands, mine, strict=True))]  # fmt: skip
        if not any(s is not None for s in sources):
            return out
        made = Recorded(self, out, Step(node, primals, sources, out))
        made.view_of(node, operands)
        return made


class Recorded(Valued):
    """A tensor whose operations are on the tape. step: where its value was made."""

    __slots__ = ("step",)

    def __init__(self, level: Recording, value: Any, step: Step, *, given: bool = False):
        super().__init__(level, value, given=given)
        self.step = step

    @property
    def requires_grad(self) -> bool:
        return True

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def _take(self, value: Any) -> None:
        if isinstance(value, Recorded) and value.level is self.level:
            self.value, self.step = value.value, value.step
        else:
            self.value, self.step = value, Step(None, (), (), value)


class _Pull(Pull[Step]):
    """The walk over the steps of a function."""

    def __init__(self, ends: Iterable[Step], leaves: Collection[Step]):
        super().__init__(leaves)
        self.needed = between(in_order(ends), _sources, leaves)

    age = attrgetter("number")

    def edges(self, step: Step) -> Sequence[Edge]:
        return self.needed.get(step, ())

    def rules(self, step: Step, g: Any, edges: Sequence[Edge]) -> Iterator[Any]:
        node: Any = step.node
        return by_rules(node.op, [edge[0] for edge in edges], g, node, step.out, step.primals)

    def total(self, value: Any, known: Any, g: Any) -> Any:
        return joined(known, g)

    def back(self, step: Step, g: Any, edges: Sequence[Edge]) -> None:
        assert step.node is not None
        with lines_of(step.node.where):
            super().back(step, g, edges)


def pull(ends: Sequence[tuple[Step, Any]], leaves: Sequence[Step]) -> list[Any]:
    """The cotangents of the leaves for those of the ends; None where no end depends on one."""
    walk = _Pull([step for step, _ in ends], leaves)
    for step, g in ends:
        if step in walk.needed or step in walk.targets:
            walk.add(step, g)
    walk.walk()
    return [walk.found.get(leaf) for leaf in leaves]


def _sources(step: Step) -> list[Edge]:
    return [(position, source) for position, source in enumerate(step.sources) if source is not None]


def in_order(ends: Iterable[Step]) -> list[Step]:
    """The steps from which the ends are made, these included, each after its operands."""
    return sorted(reached(ends, lambda step: filter(None, step.sources)), key=lambda step: step.number)
