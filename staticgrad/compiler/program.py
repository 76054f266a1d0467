"""Fetches compiled for feeds, specialised for feed shapes on demand. Sessions and compiled functions both run these."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

import numpy as np

from ..interpret import interpret
from ..ir import Cell, Graph, Node
from .prepare import prepare


class Program:
    """What to compute: `fetches` of `graph`, given values for `feeds` (any nodes).

    `run(arrays, store)` takes one array per feed (right dtype, a shape that fits) and the arrays of the variables by cell;
    it returns one fresh array per fetch, and writes assigned variables into `store` (in place where the shape is kept).
    """

    def __init__(self, graph: Graph, fetches: Sequence[Node], feeds: Sequence[Node]):
        self.prepared = prepare(graph, fetches, feeds)

    def run(self, arrays: Sequence[np.ndarray], store: MutableMapping[Cell, np.ndarray]) -> list[np.ndarray]:
        from ..eager.random import generator

        ready = self.prepared
        leaves = dict(zip(ready.feeds, arrays, strict=True))
        for node in ready.graph.nodes:
            if node.op.leaf == "variable":
                leaves[node] = store[node.attrs["cell"]]
            elif node.op.leaf == "argument":
                leaves[node] = np.asarray(node.attrs["source"].get(), node.type.dtype)
            elif node.op.leaf == "generator":
                leaves[node] = generator.take(ready.draws)
        values = interpret(ready.graph, ready.results, leaves)
        results = [np.array(values[node]) for node in ready.fetches]
        for cell, node in ready.assigns:
            store[cell][...] = values[node]
        return results
