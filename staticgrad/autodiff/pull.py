"""Reverse mode: the one walk back. It names no op.

A walk goes from results to the values that they were made of, the youngest operation first, so the cotangent of a value is
complete when its turn comes. At each operation hooks see the cotangent, targets keep it, and the rules of the op's record pass
it on to the operands. What differs is what a walk goes over and what its rules compute on; a subclass of `Pull` says that:

| subclass | goes over | its rules compute on |
|---|---|---|
| `eager/backward_engine.py` | records of the tape | arrays; tensors where the pass is recorded |
| `eager/backward_graphs.py` | rows of a tape's form | symbols of a new graph |
| `reverse.py` | nodes of a graph or of a trace | symbols of that graph |
| `forward.py` | steps of a function under `grad` or `vjp` | tensors of the surroundings |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

from ..errors import UnknownExtentError
from ..ir import OpDef

V = TypeVar("V")
Edge = tuple[Any, ...]
"""(position of an operand, what its cotangent goes to, ...)"""


class Pull(Generic[V]):
    """One walk back over values of a class V. targets: those whose cotangents are wanted, which `found` gets."""

    def __init__(self, targets: Collection[V] = ()) -> None:
        self.targets = targets
        self.found: dict[Any, Any] = {}
        self.cotangents: dict[V, Any] = {}
        """The sums so far, of values that were not visited yet."""
        self.heap: list[tuple[int, V]] = []
        """The values with a cotangent, the youngest first."""

    # what a walk goes over, and what its rules compute on

    age: Callable[[V], int]
    """Gives a number that grows from the operands of an operation to its result; no two values have the same."""

    def edges(self, value: V) -> Sequence[Edge]:
        """The operands that a cotangent is passed on to; nothing for leaves."""
        raise NotImplementedError

    def rules(self, value: V, g: Any, edges: Sequence[Edge]) -> Iterable[Any]:
        """The cotangents for these edges, one after the other; None where there is none. See `by_rules`."""
        raise NotImplementedError

    def hooked(self, value: V, g: Any) -> Any:
        """A complete cotangent after the hooks of its value."""
        return g

    def total(self, value: Any, known: Any, g: Any) -> Any:
        """The sum of two parts of a cotangent."""
        raise NotImplementedError

    # the walk

    def add(self, value: V, g: Any) -> None:
        """Add to the cotangent of a value."""
        known = self.cotangents.get(value)
        if known is None:
            self.cotangents[value] = g
            heappush(self.heap, (-self.age(value), value))
        else:
            self.cotangents[value] = self.total(value, known, g)

    def pass_on(self, edge: Edge, g: Any) -> None:
        """Add to the cotangent of an operand."""
        self.add(edge[1], g)

    def note(self, value: V, g: Any) -> None:
        """Keep the cotangent of a target."""
        self.found[value] = g

    def walk(self) -> None:
        """Visit the values with a cotangent."""
        while self.heap:
            value = heappop(self.heap)[1]
            g = self.cotangents.pop(value, None)
            if g is not None:
                self.visit(value, g)

    def visit(self, value: V, g: Any) -> None:
        """Pass the cotangent of a value on to its operands."""
        g = self.hooked(value, g)
        if value in self.targets:
            self.note(value, g)
        edges = self.edges(value)
        if edges:
            self.back(value, g, edges)

    def back(self, value: V, g: Any, edges: Sequence[Edge]) -> None:
        """Apply the rules of a value."""
        for edge, cotangent in zip(edges, self.rules(value, g, edges), strict=True):
            if cotangent is not None:
                self.pass_on(edge, cotangent)


def between(order: Iterable[V], edges: Callable[[V], Sequence[Edge]], targets: Iterable[Any]) -> dict[V, Sequence[Edge]]:
    """The values on a path to a target, each with its edges that lead to one; targets are in it where they lead to others.

    order: each value after its operands.
    """
    leading = {*targets}
    found: dict[V, Sequence[Edge]] = {}
    for value in order:
        led = []
        for edge in edges(value):  # as a comprehension, half as fast
            if edge[1] in leading:
                led.append(edge)
        if led:
            found[value] = led
            leading.add(value)
    return found


Deferred = Callable[[Any, Any, int, Sequence[Any]], Any]


def by_rules(
    op: OpDef, positions: Sequence[int], g: Any, node: Any, out: Any, operands: Sequence[Any], deferred: Deferred | None = None
) -> Iterator[Any]:
    """The cotangents of the operands at these positions, one after the other; None where there is none.

    node: what the rules read attributes of; out, operands: the values of its result and operands; deferred: used in place of a
    rule that needs an extent or a rank which is not known yet.
    """
    if op.vjp_all is not None:
        wanted = [False] * len(operands)
        for position in positions:
            wanted[position] = True
        together = [*op.vjp_all(g, node, wanted, *operands)]
        for position in positions:
            yield together[position]
        return
    for position in positions:
        rule = op.vjp_for(position)
        try:
            cotangent = None if rule is None else rule(g, node, out, *operands)
        except UnknownExtentError:
            if deferred is None:
                raise
            cotangent = deferred(g, node, position, operands)
        yield cotangent
