"""`numerics="strict"`: the bits of eager mode.

Every op runs on the host with its NumPy meaning, on arrays laid out in memory as in eager mode, because their layout decides
the order in which NumPy adds. No rewrite rule is applied, no kernel is generated, and equal operations are not merged. This
mode is for comparisons, and for users who need equal bits more than speed.

In a graph, the gradient of a loop or branch is a loop or branch, which accumulates cotangents per iteration and recomputes
values; a tape adds them one by one in the order of the operations. So such a program is replayed on a tape
(`eager/tape_graph.py`): nodes of `ops/adjoint.py` record where gradients were taken, and of which values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ...base.types import TupleType
from ...errors import ArgumentError
from ...ir import REGISTRY, Graph, Node, OpDef, OverComplex
from ...operators import frontends
from .specialize import rebuild

MODES = ("fast", "strict")


def check_numerics(numerics: str) -> str:
    """One of MODES. Raises ArgumentError for anything else."""
    if numerics not in MODES:
        raise ArgumentError(f"numerics has to be 'fast' or 'strict', got {numerics!r}")
    return numerics


@cache
def _on_host(op: OpDef) -> OpDef:
    return replace(op, emit=None, complex=OverComplex("own"))  # a node's record fits its dtypes already


def _infer_replay(*types: Any, program: Any, kind: TupleType) -> TupleType:
    return kind


REPLAY = OpDef(
    name="replay",
    infer=_infer_replay,
    eval=lambda *arrays, program, kind: program(*arrays),
    doc="The whole program on a tape. Inputs: what it reads from outside.",
)


def run_on_host(graph: Graph, results: Sequence[Node]) -> tuple[Graph, dict[Node, Node]]:
    """The graph with every op on the host; a program that differentiates loops or branches becomes one call that replays
    it."""
    order = graph.reaching(results)
    if any(node.op.equals is not None for node in order):
        return _replayed(order, results)

    def rewrite(new: Graph, node: Node, inputs: tuple[Node, ...]) -> Node:
        if not node.inputs:
            return new.append(node)
        return new.add(_on_host(node.op), inputs, node.attrs, node.type, node.name, node.where)

    return rebuild(graph, results, rewrite)


def _replayed(order: Sequence[Node], results: Sequence[Node]) -> tuple[Graph, dict[Node, Node]]:
    new = Graph()
    leaves = [new.append(node) for node in order if not node.inputs]
    read = [leaf for leaf in leaves if leaf.op.leaf not in ("constant", "shape")]
    made = list(dict.fromkeys(r for r in results if r.inputs))
    kind = TupleType([node.type for node in made])
    attrs = {"program": frontends.replay(order, read, made), "kind": kind}
    where = next((node.where for node in made if node.where is not None), None)
    whole = new.add(REPLAY, tuple(read), attrs, kind, "", where)
    moved = {leaf: leaf for leaf in leaves}
    for i, node in enumerate(made):
        moved[node] = new.add(_on_host(REGISTRY["result"]), (whole,), {"index": i}, node.type, node.name, node.where)
    return new, moved
