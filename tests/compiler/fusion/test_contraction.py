"""Groups that grow without closing a cycle: compared with networkx, which walks the whole graph each time."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from staticgrad.compiler.fusion import fuse
from staticgrad.compiler.fusion.fuse import Contraction, TooFar, Vertex
from staticgrad.ir import Node
from staticgrad.operators import F
from tests.compiler.helpers import Bench


def random_nodes(rng: random.Random, n: int) -> list[Node]:
    b = Bench()
    values = [b.feed(3)]
    for _ in range(n):
        recent = values[-rng.choice((2, 5, n)) :]
        values.append(F.add(rng.choice(recent), rng.choice(recent)))
    return b.graph.nodes


def quotient(groups: Contraction) -> nx.DiGraph:
    """The graph of vertices, without edges from a vertex to itself."""
    graph = nx.DiGraph()
    for node, vertex in groups.vertex_of.items():
        graph.add_node(vertex)
        graph.add_edges_from((groups.vertex_of[i], vertex) for i in node.inputs if groups.vertex_of[i] is not vertex)
    return graph


def closes_a_cycle(graph: nx.DiGraph, a: Vertex, b: Vertex) -> bool:
    merged = nx.contracted_nodes(graph, a, b, self_loops=False, copy=True)
    return not nx.is_directed_acyclic_graph(merged)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("space", [fuse.SPACE, 1 << 9], ids=["room", "no room: labels are dealt out again"])
def test_unions_are_refused_where_networkx_finds_a_cycle(monkeypatch: pytest.MonkeyPatch, seed: int, space: int):
    monkeypatch.setattr(fuse, "SPACE", space)
    rng = random.Random(seed)
    nodes = random_nodes(rng, 40)
    groups = Contraction(nodes)
    refused = joined = 0
    for _ in range(120):
        a, b = rng.sample(nodes, 2)
        if groups.vertex_of[a] is groups.vertex_of[b]:
            continue
        graph = quotient(groups)
        between = groups.between(a, b)
        assert (between is None) == closes_a_cycle(graph, groups.vertex_of[a], groups.vertex_of[b])
        if between is None:
            refused += 1
            continue
        groups.join(a, b, between)
        joined += 1
        assert all(u.label < v.label for u, v in quotient(groups).edges), "labels are a topological order"
        assert len({vertex.label for vertex in groups.vertex_of.values()}) == len(set(groups.vertex_of.values()))
    assert refused
    assert joined


def test_what_is_too_far_is_not_looked_at():
    b = Bench()
    x = b.feed(3)
    first, h = F.exp(x), F.tanh(x)
    for _ in range(fuse.FAR + 1):
        h = F.tanh(h)
    with pytest.raises(TooFar):
        Contraction(b.graph.nodes).between(first.node, h.node)


def test_a_way_that_was_found_is_known_to_the_next_question():
    """Steps of a loop that was written out: each reads what the one before made."""
    b = Bench()
    x = h = b.feed(3)
    steps = []
    for _ in range(50):
        h = F.tanh(h)
        steps.append(h := F.add(h, x))
    groups = Contraction(b.graph.nodes)
    first = groups.vertex_of[steps[0].node]
    for step in steps[1:]:
        before = len(first.following or ())
        assert groups.between(steps[0].node, step.node) is None
        assert len(first.following or ()) - before <= 2, "only what is new is looked at"
