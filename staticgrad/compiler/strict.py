"""`numerics="strict"`: the bits of eager mode.

Every op runs as its NumPy meaning, from the host, on the very arrays that eager mode would have: how they lie in memory
decides in which order NumPy adds. No law is applied, no kernel is made. It is there to compare with, and for who needs
equal bits more than speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from ..errors import ArgumentError
from ..ir import Attribute, Graph, Node, OpDef, Region, Result
from .specialise import rebuild

MODES = ("fast", "strict")


def check_numerics(numerics: str) -> str:
    """One of MODES. Raises ArgumentError for anything else."""
    if numerics not in MODES:
        raise ArgumentError(f"numerics has to be 'fast' or 'strict', got {numerics!r}")
    return numerics


@cache
def _on_host(op: OpDef) -> OpDef:
    return replace(op, emit=None)


@cache
def _one_result(op: OpDef) -> OpDef:
    """A loop or branch as an op with one result: `attrs["result"]`."""
    return replace(
        op,
        emit=None,
        attrs={**op.attrs, "result": Attribute("the number of a result", lambda value, types: value.__class__ is int)},
        infer=lambda *types, result, **attrs: op.infer(*types, **attrs).parts[result],  # type: ignore[attr-defined]
        eval=lambda *arrays, result, **attrs: op.eval(*arrays, **attrs)[result],
    )


def by_numpy(graph: Graph, results: Sequence[Node]) -> tuple[Graph, dict[Node, Node]]:
    """The graph with every op on the host; a loop or branch runs once for each of its results that is used."""
    regions: dict[Node, tuple[Node, ...]] = {}

    def rewrite(new: Graph, node: Node, inputs: tuple[Node, ...]) -> Node:
        if not node.inputs:
            return new.append(node)
        if isinstance(node.op.emit, Region):
            regions[node] = inputs
            return inputs[0]  # its results are made of its operands
        if isinstance(node.op.emit, Result):
            region = node.inputs[0]
            attrs = {**region.attrs, "result": node.attrs["index"]}
            return new.add(_one_result(region.op), regions[region], attrs, node.type, node.name, node.where)
        return new.add(_on_host(node.op), inputs, node.attrs, node.type, node.name, node.where)

    return rebuild(graph, results, rewrite)
