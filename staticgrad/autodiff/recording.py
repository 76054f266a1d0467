"""Reverse mode over tensors of any kind: eager ones, those of a graph, and those under other transforms. It names no op.

`func.grad` and `func.vjp` run their function on `Recorded` tensors. Each op on them is computed on their values and noted in
a `Step`; `pull` then applies the rules of the records from the results back to the arguments. Eager mode and graphs have
backward passes of their own (`eager/backward.py`, `reverse.py`), which are faster but know their own tensors only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any

from ..base.types import INEXACT
from ..ir.walks import reached
from ..operators import Application, Level, apply, frontends, lines_of
from ..ops.control.vjp import joined
from .valued import Valued

_number = count().__next__


class Step:
    """A value on the tape: an op of the function, or an argument (whose `node` is None).

    primals: the values of the operands; sources: the steps that made them, None where no gradient flows.
    """

    __slots__ = ("node", "number", "out", "primals", "sources")

    def __init__(self, node: Application | None, primals: Sequence[Any], sources: Sequence[Step | None], out: Any):
        self.node, self.primals, self.sources, self.out = node, primals, sources, out
        self.number = _number()

    def __lt__(self, other: Step) -> bool:
        return self.number > other.number


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
        out = apply(node.op, *primals, **node.attrs)
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


def pull(ends: Sequence[tuple[Step, Any]], leaves: Sequence[Step]) -> list[Any]:
    """The cotangents of the leaves for those of the ends; None where no end depends on one."""
    needed = _between([step for step, _ in ends], set(leaves))
    cotangents: dict[Step, Any] = {}
    heap: list[Step] = []

    def add(step: Step, g: Any) -> None:
        if step in cotangents:
            cotangents[step] = joined(cotangents[step], g)
        elif step in needed:
            cotangents[step] = g
            heappush(heap, step)

    for step, g in ends:
        add(step, g)
    while heap:
        step = heappop(heap)
        node, g = step.node, cotangents[step]
        if node is None:
            continue
        wanted = [source is not None and source in needed for source in step.sources]
        with lines_of(node.where):
            for source, cotangent in zip(step.sources, _back(step, g, wanted), strict=True):
                if cotangent is not None:
                    assert source is not None
                    add(source, cotangent)
    return [cotangents.get(leaf) for leaf in leaves]


def _back(step: Step, g: Any, wanted: Sequence[bool]) -> Iterator[Any]:
    """The cotangents of the operands that are wanted."""
    node = step.node
    assert node is not None
    if node.op.vjp_all is not None:
        yield from node.op.vjp_all(g, node, wanted, *step.primals)
        return
    for i, needed in enumerate(wanted):
        rule = node.op.vjp_for(i) if needed else None
        yield None if rule is None else rule(g, node, step.out, *step.primals)


def in_order(ends: Iterable[Step]) -> list[Step]:
    """The steps from which the ends are made, these included, each after its operands."""
    return sorted(reached(ends, lambda step: filter(None, step.sources)), key=lambda step: step.number)


def _between(ends: Sequence[Step], leaves: set[Step]) -> set[Step]:
    """The steps from the leaves to the ends, both included."""
    found = set(leaves)
    for step in in_order(ends):
        if step in leaves or any(s in found for s in step.sources):
            found.add(step)
    return found
