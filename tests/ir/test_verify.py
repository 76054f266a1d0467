"""The verifier: well-formed graphs pass, each way of being malformed is named."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.base.types import TensorType, bool_, float32, float64
from staticgrad.errors import VerifyError
from staticgrad.ir import REGISTRY, Graph, Node, literal
from staticgrad.ir.text import verify

MATRIX = TensorType((2, 3), float32)


def leaf(type_: TensorType = MATRIX) -> Node:
    return Node(REGISTRY["placeholder"], (), {"type": type_}, type_)


def node(op: str, *inputs: Node, type_: TensorType = MATRIX, after: tuple[Node, ...] = (), **attrs) -> Node:
    return Node(REGISTRY[op], inputs, attrs, type_, after=after)


def graph_with(*nodes: Node) -> Graph:
    """A graph of exactly these nodes; nothing is checked."""
    graph = Graph()
    graph.nodes = list(nodes)
    return graph


def test_a_good_graph_is_returned():
    x = leaf()
    graph = Graph.of([x, node("neg", x), node("sum", x, type_=TensorType((), float32), axis=(0, 1), keepdims=False)])
    assert verify(graph) is graph
    assert verify(graph, static=True) is graph


def test_unknown_extents_pass_unless_shapes_have_to_be_known():
    x = leaf(TensorType((None, 3), float32))
    graph = Graph.of([x, node("neg", x, type_=x.type)])
    verify(graph)
    with pytest.raises(VerifyError, match=r"%0 placeholder has unknown extents: f32\[\?,3\]"):
        verify(graph, static=True)


def test_the_forward_and_backward_graph_of_a_tape():
    w = sg.rand(3, 2, requires_grad=True)
    x = sg.rand(4, 3)
    loss = sg.logsumexp(sg.tanh(x @ w) ** 2, axis=1).mean()
    verify(sg.graph_of(loss), static=True)


def malformed() -> dict[str, tuple[list[Node], str]]:
    x, y = leaf(), leaf()
    negated = node("neg", x)
    unhashable = Node(REGISTRY["sum"], (x,), {"axis": [0, 1], "keepdims": False}, TensorType((), float32))
    return {
        "operand after its user": ([negated, x], r"%0 neg uses <placeholder f32\[2,3\]>, which does not come before"),
        "operand of another graph": ([x, node("mul", x, y)], "%1 mul uses .* which does not come before it"),
        "control input of another graph": ([x, node("neg", x, after=(y,))], "%1 neg uses .* which does not come"),
        "a node that reads itself later": ([x, node("neg", negated), negated], "%1 neg uses"),
        "listed twice": ([x, negated, x], "a node is listed twice"),
        "wrong shape": ([x, node("neg", x, type_=TensorType((3, 2), float32))], r"%1 neg is f32\[3,2\], .* f32\[2,3\]"),
        "wrong dtype": ([x, node("neg", x, type_=MATRIX.with_dtype(float64))], r"%1 neg is f64\[2,3\], .* f32\[2,3\]"),
        "extent made unknown": ([x, node("neg", x, type_=TensorType((None, 3), float32))], r"%1 neg is f32\[\?,3\]"),
        "comparison that is not bool": ([x, node("lt", x, x)], r"%1 lt is f32\[2,3\], its operands give bool\[2,3\]"),
        "operands that don't fit": ([x, node("matmul", x, x)], r"%1 matmul does not fit its operands: .*inner sizes"),
        "too few operands": ([x, node("where", x)], "%1 where does not fit its operands"),
        "too many operands": ([x, node("neg", x, x)], "%1 neg does not fit its operands"),
        "missing attribute": ([x, node("sum", x, axis=(0,))], "%1 sum does not fit its operands"),
        "unknown attribute": ([x, node("neg", x, axis=0)], "%1 neg does not fit its operands"),
        "unhashable attribute": ([x, unhashable], "%1 sum"),
        "constant that is not its value": (
            [Node(REGISTRY["constant"], (), literal(np.zeros(3, np.float32)), MATRIX)],
            r"%0 constant is f32\[2,3\], .* f32\[3\]",
        ),
        "leaf with operands": ([x, Node(REGISTRY["placeholder"], (x,), {"type": MATRIX}, MATRIX)], "%1 placeholder"),
        "placeholder of another type": (
            [Node(REGISTRY["placeholder"], (), {"type": MATRIX}, MATRIX.with_dtype(bool_))],
            r"%0 placeholder is bool\[2,3\], .* f32\[2,3\]",
        ),
    }


TAMPERED = {
    "a node is not listed": lambda graph: graph.nodes.pop(),
    "an edge is missing": lambda graph: graph.pred[graph.nodes[1]].clear(),
    "an edge has no user": lambda graph: graph.succ[graph.nodes[0]].clear(),
    "positions are others": lambda graph: graph.pred[graph.nodes[1]].update({graph.nodes[0]: {"positions": (0,)}}),
}


@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED)
def test_edges_are_those_of_the_nodes(change):
    x = leaf()
    graph = Graph.of([x, node("mul", x, x)])
    verify(graph)
    change(graph)
    with pytest.raises(VerifyError, match="the edges of the graph are not those of its nodes"):
        verify(graph)


@pytest.mark.parametrize("case", malformed())
def test_malformed(case):
    nodes, text = malformed()[case]
    with pytest.raises(VerifyError, match=text):
        verify(graph_with(*nodes))
