"""Gradients of a compiled function's results as functions that can be differentiated again, to any order.

A gradient depends on the leaves and on the cotangents of all orders before. Its own gradient is derived symbolically, on the
graph of the trace, when somebody asks for it first. It reads no value of the forward pass that the first backward pass did
not read: the rules that it goes through are those which that pass went through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autodiff.reverse import gradients
from ..autograd.function import Function
from ..base.locks import rlock
from ..compiler.passes.functionalize import FunctionalGraph, functionalize
from ..compiler.passes.symbolic_extents import Conditions
from ..compiler.passes.symbolic_program import SymbolicProgram
from ..compiler.program import Program
from ..eager.grad_mode import modes
from ..eager.tape import edge
from ..eager.tensor import Tensor, wrap
from ..errors import GradientError
from ..ir import REGISTRY, Graph, Node
from ..operators import Symbol, append


class Derivatives:
    """Gradients `targets` (None where there is none) of one order, as nodes of the graph of a trace.

    leaves: for each leaf, its nodes; saved: the values of the forward pass that the first backward pass reads; seeds: the
    cotangents of all orders, this one's included; stops: nodes that no gradient flows past.
    """

    def __init__(
        self,
        graph: Graph,
        leaves: Sequence[Sequence[Node]],
        saved: Sequence[Node],
        seeds: Sequence[Node],
        targets: Sequence[Node | None],
        stops: Sequence[Node],
        numerics: str,
    ):
        self.graph, self.leaves, self.saved, self.seeds = graph, leaves, list(saved), list(seeds)
        self.targets, self.stops, self.numerics = list(targets), stops, numerics
        self._next: Derivatives | None = None
        self._program: Program | None = None
        self._lock = rlock()

    def next(self) -> Derivatives:
        """The gradients of the targets: for the leaves, and for the cotangents."""
        with self._lock:
            if self._next is None:
                self._next = self._derived()
            return self._next

    def _derived(self) -> Derivatives:
        def symbols(nodes: Sequence[Node]) -> list[Symbol]:
            return [Symbol(self.graph, node) for node in nodes]

        ys = [node for node in self.targets if node is not None]
        seeds = [append(self.graph, REGISTRY["placeholder"], (), {"type": node.type}) for node in ys]
        wanted = [*self.leaves, *[[seed] for seed in self.seeds]]
        nodes = [node for versions in wanted for node in versions]
        recording, modes.now.grad = modes.now.grad, False
        try:
            parts = iter(gradients(symbols(ys), symbols(nodes), seeds, symbols(self.stops)))
            targets = [total([next(parts) for _ in versions]) for versions in wanted]
        finally:
            modes.now.grad = recording
        seen = [*self.seeds, *(seed.node for seed in seeds)]
        return Derivatives(self.graph, self.leaves, self.saved, seen, targets, self.stops, self.numerics)

    def symbolic(self, conditions: Conditions) -> SymbolicProgram:
        """The graph of a trace over symbols, to be filled in for other extents. Raises Unfollowed where it can't be."""
        present = [node for node in self.targets if node is not None]
        nodes = [*present, *self.saved, *self.stops, *(node for versions in self.leaves for node in versions)]
        return SymbolicProgram(functionalize(self.graph, nodes, self.seeds, strict=True), conditions, ())

    def filled(self, made: FunctionalGraph) -> Derivatives:
        """The same for other extents. made: what `symbolic` gave, filled in."""
        found = iter(made.fetches)
        targets = [None if node is None else next(found) for node in self.targets]
        saved, stops = [next(found) for _ in self.saved], [next(found) for _ in self.stops]
        leaves = [[next(found) for _ in versions] for versions in self.leaves]
        return Derivatives(made.graph, leaves, saved, made.feeds, targets, stops, self.numerics)

    def run(self, values: Sequence[np.ndarray]) -> list[Tensor | None]:
        """The gradients. values: of `saved` and `seeds`."""
        if self._program is None:
            feeds = [*self.saved, *self.seeds]
            made = Program(self.graph, [x for x in self.targets if x is not None], feeds, numerics=self.numerics)
            leaves = [node for node in made.prepared.graph.nodes if node.op.leaf in ("generator", "variable")]
            if leaves or made.prepared.needs:
                raise GradientError(
                    "this gradient of a compiled function's result needs a value that its first gradient did not need",
                    "take both gradients inside the compiled function",
                )
            self._program = made
        found = iter(self._program.run([np.asarray(a, order="C") for a in values], {}))
        return [None if node is None else wrap(next(found)) for node in self.targets]


def total(parts: Sequence[Any]) -> Node | None:
    """The node of a sum of cotangents, of which those that are None count for nothing."""
    present = [x for x in parts if x is not None]
    if not present:
        return None
    found = present[0]
    for part in present[1:]:
        found = found + part
    node: Node = found.node
    return node


def as_recorded(tensors: Sequence[Tensor], clock: int) -> list[Tensor]:
    """Tensors whose gradients flow to where they would have flowed at an earlier time."""
    found = []
    for tensor in tensors:
        record, leaf = edge(tensor, clock)
        found.append(leaf if leaf is not None else wrap(tensor._data, record))
    return found


class Recorded:
    """What a recorded gradient is computed of: the Derivatives that it has the values of, and what these read."""

    def __init__(self, order: Callable[[], Derivatives], saved: Sequence[Tensor], computed: Sequence[np.ndarray]):
        self.order, self.saved, self.computed = order, saved, computed

    def record(self, found: Sequence[Tensor | None], leaves: Sequence[Tensor], seeds: Sequence[Tensor]) -> list[Tensor | None]:
        """The gradients `found`, on the tape."""
        values = [g for g in found if g is not None]
        if not values:
            return list(found)
        made = iter(CompiledGradient.apply(self, values, len(leaves), *leaves, *seeds))
        return [None if g is None else next(made) for g in found]


class CompiledGradient(Function):
    """The gradients of one call on the tape. They have been computed already."""

    @staticmethod
    def forward(ctx: Any, recorded: Recorded, found: Sequence[Tensor], count: int, *operands: Tensor) -> Any:
        ctx.recorded, ctx.leaves = recorded, operands[:count]
        ctx.save_for_backward(*recorded.saved, *operands[count:])
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        recorded: Recorded = ctx.recorded
        count = len(recorded.saved)
        saved, seeds = ctx.saved_tensors[:count], [*ctx.saved_tensors[count:], *cotangents]
        order = recorded.order().next()
        values = [*(x._data for x in saved), *recorded.computed, *(g._data for g in seeds)]
        found = order.run(values)
        if modes.now.grad:
            again = Recorded(lambda: order, saved, recorded.computed)
            made = again.record(found, ctx.leaves, seeds)
            return None, None, None, *made
        return None, None, None, *found
