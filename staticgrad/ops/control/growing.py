"""Loops whose variables change their shapes: they are written iteration by iteration when the shapes at their entry are known.

The functions of the loop run once, on parameters with the extents that all iterations share, and make two subgraphs. The loop
is a deferred operation over the tensors that they read. Where one iteration leaves all shapes as they are, it becomes the loop
of `while_loop`; elsewhere the bodies of all iterations follow one another, each for its shapes. So a plan holds native code
for every shape, and gradients of any order are those of straight code. The condition has to follow from constants, extents
and feeds, or an operand says how many iterations there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.types import Shape, TensorType, UnrankedType, int64, shape_text
from ...errors import ArgumentError, ShapeError
from ...ir import REGISTRY, Graph, Node, Subgraph
from ...operators import Symbol, apply, has_rank, state
from ..deferred import Definition, defer, values_read, written_body, written_nodes
from ..known_values import KNOWN, NeedsValues, computed, decided, value_of
from ..leaves import fits
from ..pytree import LEAF, Structure
from .subgraph_tracing import outputs


class Growing:
    """A loop over subgraphs of constants and variables. kinds: of the variables in all iterations."""

    def __init__(self, cond: Subgraph, body: Subgraph, operands: Sequence[Symbol], kinds: Sequence[TensorType]):
        self.cond, self.body, self.kinds = cond, body, list(kinds)
        self.operands = list(operands)
        """The constants, then the first values of the variables."""
        self.consts = len(self.operands) - len(self.kinds)

    def results(self, graph: Graph) -> list[Symbol]:
        """The last variables. A graph with calls of Python has the iterations counted where the condition reads a value that is
        known in the run only."""
        operands, definition = self.operands, Definition(self._written)
        call = getattr(graph, "host_call", None)
        if call is not None and not state.inside and any(map(computed, values_read(graph, definition, operands))):
            kind = TensorType((), int64)
            (count,) = call(operands, lambda arrays: [np.asarray(self.count(arrays), int64)], [kind], "while/count", "LoopCond")
            operands, definition = [Symbol(graph, count.node), *operands], Definition(self._counted)
        return defer(graph, definition, operands, self.kinds)

    def count(self, arrays: Sequence[np.ndarray]) -> int:
        """The number of iterations for these operands, found by NumPy."""
        consts, carries, done = list(arrays[: self.consts]), list(arrays[self.consts :]), 0
        while self.cond.eval([*consts, *carries])[0]:
            carries, done = self.body.eval([*consts, *carries]), done + 1
        return done

    def _counted(self, operands: list[Symbol]) -> list[Any]:
        return self._written(operands[1:], int(value_of(operands[0])))

    def _written(self, operands: list[Symbol], total: int | None = None) -> list[Any]:
        graph, nodes = operands[0].graph, [x.node for x in operands]
        consts, carries = nodes[: self.consts], nodes[self.consts :]
        after = written_nodes(graph, self.body, [*consts, *carries], KNOWN[graph])
        if [n.type for n in after] == [n.type for n in carries]:
            try:
                return self._native(graph, consts, carries)
            except NeedsValues:  # a shape in the body depends on a variable
                pass
        done = 0
        while self._going(graph, consts, carries) if total is None else done < total:
            carries = written_nodes(graph, self.body, [*consts, *carries], KNOWN[graph]) if done else after
            done += 1
        decided(graph, f"while_loop: {done} iterations are written one after the other, because their shapes differ")
        return [Symbol(graph, n) for n in carries]

    def _going(self, graph: Graph, consts: Sequence[Node], carries: Sequence[Node]) -> bool:
        (verdict,) = written_nodes(graph, self.cond, [*consts, *carries], KNOWN[graph])
        return bool(value_of(Symbol(graph, verdict)))

    def _native(self, graph: Graph, consts: list[Node], carries: list[Node]) -> list[Any]:
        """The loop whose variables keep their shapes."""
        given = [*consts, *carries]
        places = [*range(self.consts), *[None] * len(carries)]
        kinds = [n.type for n in given]
        body, cond = (written_body(part, kinds, places, given, KNOWN[graph]) for part in (self.body, self.cond))
        node = apply(
            REGISTRY["loop"], *(Symbol(graph, n) for n in given), body=body, cond=cond, consts=self.consts,
            carries=len(carries), length=None, reverse=False, count=False, remat=False,
        )  # fmt: skip
        return outputs(node, len(carries))


# shapes ---------------------------------------------------------------------------------------------------------------


def leaf_shapes(structure: Structure, shapes: Any, at: str = "shape_invariants") -> list[Any]:
    """The shapes of the leaves, from a nest of shapes of this structure. Raises ArgumentError for another structure."""
    if structure is LEAF:
        return [shapes]
    keys = range(len(structure.items)) if structure.keys is None else structure.keys
    fitting = isinstance(shapes, dict) and set(shapes) == set(keys)
    if structure.keys is None:
        fitting = isinstance(shapes, (list, tuple)) and len(shapes) == len(keys)
    if not fitting:
        raise ArgumentError(f"{at} has to have the structure of loop_vars: one shape for each tensor")
    return [
        shape
        for key, part in zip(keys, structure.items, strict=True)
        for shape in leaf_shapes(part, shapes[key], f"{at}[{key!r}]")
    ]


def invariant(name: str, entering: Any, shape: Any) -> TensorType:
    """The type of a loop variable in all iterations. shape: its extents, None for one that may change; None for any rank.

    Raises ShapeError where the first value does not fit.
    """
    if shape is None:
        return UnrankedType(entering.dtype)
    extents: Shape = tuple(None if n is None else int(n) for n in shape)
    if has_rank(entering) and not fits(extents, entering.shape):
        raise ShapeError(
            f"The shape invariant specified for {name} is not compatible with the initial shape of the loop variable. "
            f"It enters the loop with shape {shape_text(entering.shape)}, but the specified shape invariant is "
            f"{shape_text(extents)}.",
            "give None for each extent that changes",
        )
    return TensorType(extents, entering.dtype)
