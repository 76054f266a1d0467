"""Walks over graphs: each answer is networkx's, or that of the definition."""

from __future__ import annotations

import itertools
import random

import networkx as nx
import pytest

from staticgrad.ir import walks


def random_dag(seed: int, nodes: int = 14) -> nx.DiGraph:
    rng = random.Random(seed)
    dag = nx.DiGraph()
    dag.add_nodes_from(range(nodes))
    dag.add_edges_from((a, b) for a, b in itertools.combinations(range(nodes), 2) if rng.random() < 0.2)
    return dag


@pytest.fixture(params=range(8))
def dag(request) -> nx.DiGraph:
    return random_dag(request.param)


def test_reached_is_the_roots_and_their_descendants(dag):
    roots = [3, 1]
    assert set(walks.reached(roots, dag.successors)) == {3, 1} | nx.descendants(dag, 3) | nx.descendants(dag, 1)


def test_reached_goes_depth_first_in_the_order_of_neighbors():
    tree = {0: [1, 2], 1: [3, 4], 2: [5], 3: [], 4: [], 5: []}
    assert list(walks.reached([0], tree.__getitem__)) == [0, 1, 3, 4, 2, 5]
    assert list(walks.reached([0], tree.__getitem__)) == list(nx.dfs_preorder_nodes(nx.DiGraph(tree), 0))


def test_postorder_is_networkx_s(dag):
    found = list(walks.postorder([0], dag.successors))
    assert found == list(nx.dfs_postorder_nodes(dag, 0))


def test_postorder_leaves_out_what_is_known_and_what_becomes_known():
    chain = {0: [1], 1: [2], 2: []}
    known = {2}
    found = []
    for node in walks.postorder([0], chain.__getitem__, known):
        found.append(node)
        known.add(node)
    assert found == [1, 0]


def test_postorder_of_a_deep_chain_needs_no_recursion():
    assert list(walks.postorder([0], lambda n: [n + 1] if n < 50_000 else [])) == list(range(50_000, -1, -1))


def test_ordered_takes_the_lowest_key_that_is_ready(dag):
    order = walks.ordered({n: list(dag.predecessors(n)) for n in dag}, lambda n: -n)
    assert order == list(nx.lexicographical_topological_sort(dag, lambda n: -n))
    assert sorted(order) == sorted(dag)
    assert all(order.index(a) < order.index(b) for a, b in dag.edges)
    for i, node in enumerate(order):
        ready = [n for n in order[i:] if set(dag.predecessors(n)) <= set(order[:i])]
        assert node == max(ready)


def test_ordered_names_a_cycle():
    with pytest.raises(ValueError, match="these wait for each other: 1 -> 2"):
        walks.ordered({0: [], 1: [0, 2], 2: [1]}, lambda n: n)


def test_digraph_has_an_edge_from_each_node_that_comes_before():
    dag = walks.digraph({"a": [], "b": ["a"], "c": ["a", "b"]})
    assert list(dag) == ["a", "b", "c"]
    assert set(dag.edges) == {("a", "b"), ("a", "c"), ("b", "c")}


def test_critical_path_is_the_heaviest_of_all_paths(dag):
    weight = {n: (7 * n) % 5 + 1 for n in dag}
    sinks = [n for n in dag if not dag.succ[n]]
    sources = [n for n in dag if not dag.pred[n]]
    paths = [p for a in sources for b in sinks for p in ([[a]] if a == b else nx.all_simple_paths(dag, a, b))]
    found = walks.critical_path(dag, weight.__getitem__)
    assert nx.is_path(dag, found)
    assert sum(weight[n] for n in found) == max(sum(weight[n] for n in path) for path in paths)


def test_quotient_has_networkx_s_edges(dag):
    block_of = {n: n // 3 for n in dag}
    blocks = [{n for n in dag if block_of[n] == i} for i in set(block_of.values())]
    theirs = nx.quotient_graph(dag, blocks)
    assert {(block_of[min(a)], block_of[min(b)]) for a, b in theirs.edges} == set(
        walks.quotient(dag, {n: [block] for n, block in block_of.items()}).edges
    )


def test_quotient_leaves_out_nodes_without_a_block():
    found = walks.quotient(nx.DiGraph([(0, 1), (1, 2)]), {0: [7], 2: [8]})
    assert (list(found), list(found.edges)) == ([7, 8], [])


def test_quotient_of_nodes_that_several_blocks_compute():
    """1 is computed by 20 and by 30, which read nothing of each other; the others read it from the last that ran before."""
    dag = nx.DiGraph([(0, 1), (1, 2), (1, 3), (1, 4), (1, 5)])
    found = walks.quotient(dag, {0: [10], 1: [20, 30], 2: [20], 3: [25], 4: [30], 5: [40]})
    assert set(found.edges) == {(10, 20), (10, 30), (20, 25), (30, 40)}


def test_dominators():
    diamond = nx.DiGraph([(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)])
    assert walks.dominators(diamond, 0) == {1: 0, 2: 1, 3: 1, 4: 1}


def test_dominators_are_what_no_path_avoids(dag):
    found = walks.dominators(dag, 0)
    for node in nx.descendants(dag, 0):
        above, chain = node, []
        while above in found:
            chain.append(above := found[above])
        rest = [n for n in dag if n not in (0, node) and not nx.has_path(dag.subgraph(set(dag) - {n}), 0, node)]
        assert set(chain) == {0, *rest}


def test_minimum_cut():
    dag = nx.DiGraph()
    dag.add_edge("s", "a")
    dag.add_edge("a", "b", capacity=2.0)
    dag.add_edge("a", "c", capacity=3.0)
    dag.add_edge("b", "t", capacity=9.0)
    dag.add_edge("c", "t", capacity=1.0)
    value, (near, far) = walks.minimum_cut(dag, "s", "t")
    assert value == 3.0
    assert (near, far) == ({"s", "a", "c"}, {"b", "t"})
