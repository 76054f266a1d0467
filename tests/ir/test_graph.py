"""Graphs: interning, names, the networkx graph, and what a node needs."""

from __future__ import annotations

import threading
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from staticgrad.base.types import TensorType, float32, int64
from staticgrad.errors import ArgumentError, GraphError
from staticgrad.ir import REGISTRY, Cell, Graph, Node, define, literal
from tests.ops import cases  # noqa: F401  (brings the records of every room)

VECTOR = TensorType((3,), float32)


def leaf(graph: Graph, name: str = "") -> Node:
    return graph.add(REGISTRY["placeholder"], (), {"type": VECTOR}, VECTOR, name)


def op(graph: Graph, name: str, *inputs: Node, after: tuple[Node, ...] = (), **attrs) -> Node:
    return graph.add(REGISTRY[name], inputs, attrs, VECTOR, after=after)


def number(graph: Graph, value: float) -> Node:
    return graph.add(REGISTRY["constant"], (), literal(np.float32(value)), TensorType((), float32))


# interning ----------------------------------------------------------------------------------------------------------


def test_an_interning_graph_keeps_pure_twins_once():
    graph = Graph(intern=True)
    x, y = leaf(graph), leaf(graph)
    first = op(graph, "mul", x, y)
    assert op(graph, "mul", x, y) is first
    assert op(graph, "mul", y, x) is not first
    assert op(graph, "neg", op(graph, "mul", x, y)) is op(graph, "neg", first)
    assert len(graph) == 5


def test_a_finished_graph_still_knows_twins():
    graph = Graph(intern=True)
    x = leaf(graph)
    square = op(graph, "square", x)
    graph.finish()
    assert op(graph, "square", x) is square
    assert len(graph) == 2


def test_a_users_graph_keeps_every_tensor_that_was_written():
    graph = Graph()
    x = leaf(graph)
    assert op(graph, "neg", x) is not op(graph, "neg", x)
    assert len(graph) == 3


def test_leaves_state_and_random_numbers_are_never_interned():
    graph = Graph(intern=True)
    assert leaf(graph) is not leaf(graph)
    cell = Cell("w", VECTOR)
    variable = [graph.add(REGISTRY["variable"], (), {"cell": cell}, VECTOR) for _ in range(2)]
    assert variable[0] is not variable[1]
    assert op(graph, "assign", variable[0], leaf(graph)) is not op(graph, "assign", variable[0], leaf(graph))
    assert op(graph, "read", variable[0]) is not op(graph, "read", variable[0])
    seed = TensorType((2,), int64)
    generator = [graph.add(REGISTRY["generator"], (), {"type": seed}, seed) for _ in range(2)]
    assert generator[0] is not generator[1]


def test_draws_with_different_indices_stay_apart():
    graph = Graph(intern=True)
    seed = TensorType((2,), int64)
    generator = graph.add(REGISTRY["generator"], (), {"type": seed}, seed)
    draws = [op(graph, "random_uniform", generator, shape=(3,), dtype=float32, index=i) for i in (0, 1, 0)]
    assert draws[0] is not draws[1]
    assert draws[0] is draws[2]  # the same numbers: Philox of one key and counter


def test_constants_are_interned_by_their_bits():
    graph = Graph(intern=True)
    assert number(graph, 2.0) is number(graph, 2.0)
    assert number(graph, 0.0) is not number(graph, -0.0)
    assert number(graph, np.nan) is number(graph, np.nan)
    double = graph.add(REGISTRY["constant"], (), literal(np.float64(2)), TensorType((), np.dtype(np.float64)))
    assert double is not number(graph, 2.0)


def test_control_edges_keep_twins_apart():
    graph = Graph(intern=True)
    x = leaf(graph)
    y = op(graph, "exp", x)
    assert op(graph, "neg", x, after=(y,)) is not op(graph, "neg", x)


def test_append_takes_existing_nodes_of_other_graphs():
    source, target = Graph(), Graph(intern=True)
    x = leaf(source)
    y, twin = op(source, "neg", x), op(source, "neg", x)
    assert target.append(x) is x
    assert target.append(y) is y
    assert target.append(y) is y
    assert target.append(twin) is y
    assert target.nodes == [x, y]
    assert x in target
    assert twin not in target


# names --------------------------------------------------------------------------------------------------------------


def test_names_are_made_unique_as_in_tensorflow():
    graph = Graph()
    assert [graph.unique_name(n) for n in ("w", "w", "w", "b", "w_1")] == ["w", "w_1", "w_2", "b", "w_1_1"]
    graph = Graph()
    assert [graph.unique_name(n) for n in ("w_1", "w", "w", "w")] == ["w_1", "w", "w_2", "w_3"]


def test_every_node_has_a_name_that_finds_it():
    """In the order of the nodes, whoever asks first; nodes that follow take other names."""
    graph = Graph()
    x = leaf(graph, graph.unique_name("neg"))
    a, b = op(graph, "neg", x), op(graph, "neg", x)
    assert graph.name_of(b) == "neg_2"
    assert [graph.name_of(n) for n in (x, a)] == ["neg", "neg_1"]
    late = leaf(graph, graph.unique_name("neg"))
    more = op(graph, "exp", a)
    assert graph.by_name("exp") is more
    names = [graph.name_of(n) for n in graph.nodes]
    assert names == ["neg", "neg_1", "neg_2", "neg_3", "exp"]
    assert [graph.by_name(name) for name in names] == [x, a, b, late, more]
    graph.withdraw([a])
    assert graph.by_name("neg_1") is None
    assert graph.name_of(op(graph, "neg", b)) == "neg_4"


def test_a_name_finds_its_first_node():
    graph = Graph()
    x = leaf(graph, "x")
    leaf(graph, "x")
    assert graph.by_name("x") is x
    assert graph.by_name("y") is None


# the networkx graph ---------------------------------------------------------------------------------------------------


def same_as_networkx(graph: Graph) -> None:
    """`dag`, `succ` and `pred` hold what networkx makes of the nodes one by one."""
    made: nx.DiGraph = nx.DiGraph()
    for node in graph.nodes:
        made.add_node(node)
        for parent in dict.fromkeys(node.parents):
            positions = tuple(p for p, i in enumerate(node.inputs) if i is parent)
            made.add_edge(parent, node, positions=positions, control=parent in node.after)
    assert list(graph.dag) == list(graph.succ) == list(graph.pred) == graph.nodes
    assert nx.utils.graphs_equal(graph.dag, made)
    assert {node: list(users) for node, users in graph.succ.items()} == {node: list(made.succ[node]) for node in made}
    assert {node: list(parents) for node, parents in graph.pred.items()} == {node: list(made.pred[node]) for node in made}
    assert all(graph.uses(node) == sum(i is node for user in graph.nodes for i in user.inputs) for node in graph.nodes)


def random_graph(rng: np.random.Generator, nodes: int, intern: bool) -> Graph:
    graph = Graph(intern=intern)
    for _ in range(nodes):
        known = [leaf(graph), *graph.nodes[-6:]]
        picked = [known[i] for i in rng.integers(0, len(known), 4)]
        op(graph, "mul", *picked[:2], after=tuple(picked[2 : 2 + int(rng.integers(0, 3))]))
        op(graph, "concatenate", *[known[i] for i in rng.integers(0, len(known), 5)], axis=0)
    return graph


@pytest.mark.parametrize("intern", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_dictionaries_are_those_of_networkx(seed, intern):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 20, intern)
    dag = graph.dag
    same_as_networkx(graph)
    kept = [graph.nodes[i] for i in rng.integers(len(graph) // 2, len(graph), 2)]
    needed = graph.reaching(kept)
    graph.prune(kept)
    assert graph.nodes == needed
    graph.withdraw([node for node in graph.nodes if not graph.succ[node]])
    op(graph, "neg", graph.nodes[0])
    same_as_networkx(graph)
    assert graph.dag is dag
    same_as_networkx(Graph.of(graph.nodes, intern=intern))


def test_a_square_has_one_edge_for_both_operands():
    graph = Graph()
    x = leaf(graph)
    square = op(graph, "mul", x, x)
    assert isinstance(graph.dag, nx.DiGraph)
    assert list(graph.dag.edges(data=True)) == [(x, square, {"positions": (0, 1), "control": False})]
    assert (list(graph.succ[x]), graph.uses(x)) == ([square], 2)


def test_dag_is_the_graph_itself():
    """Views that networkx caches see each node that follows, and each that goes."""
    graph = Graph()
    x = leaf(graph)
    dag = graph.dag
    nodes, edges, adj, pred, degree = dag.nodes, dag.edges, dag.adj, dag.pred, dag.degree
    y = op(graph, "neg", x)
    z = op(graph, "exp", x, after=(y,))
    assert (list(nodes), set(edges), list(adj[x]), list(pred[z]), degree[x]) == (
        [x, y, z], {(x, y), (x, z), (y, z)}, [y, z], [x, y], 2,
    )  # fmt: skip
    assert list(nx.topological_sort(dag)) == graph.nodes
    assert nx.dag_longest_path_length(dag) == 2
    graph.withdraw([z])
    assert (list(nodes), list(edges), degree[x]) == ([x, y], [(x, y)], 1)
    assert (graph.dag is dag, nx.dag_longest_path_length(dag)) == (True, 1)


FORBIDDEN = {
    "a method": lambda dag: dag.remove_node(next(iter(dag))),
    "an attribute of a node": lambda dag: next(iter(dag.nodes.values())).update(weight=1),
    "an attribute of an edge": lambda dag: next(iter(dag.edges.values())).pop("positions"),
    "attributes by networkx": lambda dag: nx.set_node_attributes(dag, 1, "weight"),
    "labels by networkx": lambda dag: nx.relabel_nodes(dag, {next(iter(dag)): 1}, copy=False),
    "edges by networkx": lambda dag: nx.add_path(dag, [1, 2]),
    "an algorithm in place": lambda dag: nx.stochastic_graph(dag, copy=False),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_would_change_the_dag_is_refused_on_the_users_line(name):
    graph = Graph()
    op(graph, "neg", leaf(graph))
    with pytest.raises(GraphError, match=r"graph\.dag\.copy") as caught:
        FORBIDDEN[name](graph.dag)
    assert Path(caught.value.where.file) == Path(__file__)
    assert "lambda dag: " in caught.value.where.text


def test_a_twin_adds_nothing():
    graph = Graph(intern=True)
    x = leaf(graph)
    first = op(graph, "neg", x)
    assert op(graph, "neg", x) is first
    assert (len(graph.dag), graph.dag.size(), graph.uses(x)) == (2, 1, 1)


CHANGES = {
    "add_node": (object(),), "add_nodes_from": ([object()],), "add_edge": (0, 1), "add_edges_from": ([(0, 1)],),
    "add_weighted_edges_from": ([(0, 1, 2.0)],), "remove_node": (0,), "remove_nodes_from": ([0],), "remove_edge": (0, 1),
    "remove_edges_from": ([(0, 1)],), "clear": (), "clear_edges": (), "update": ([(0, 1)],),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_networkx_does_not_change_a_graph_but_its_copies(name):
    graph = Graph()
    x = leaf(graph)
    y = op(graph, "neg", x)
    arguments = [[x, y][a] if isinstance(a, int) else a for a in CHANGES[name]]
    with pytest.raises(GraphError, match=r"only grows by operations.*(?s:.)*graph\.dag\.copy\(\)"):
        getattr(graph.dag, name)(*arguments)
    assert (list(graph.dag), list(graph.dag.edges)) == ([x, y], [(x, y)])
    for copied in (graph.dag.copy(), nx.DiGraph(graph.dag), graph.dag.reverse(), graph.dag.subgraph([x, y]).copy()):
        assert not nx.is_frozen(copied)
        copied.remove_node(x)
    assert nx.is_frozen(graph.dag)
    same_as_networkx(graph)


ANNOTATIONS = {
    "item of a node": lambda dag, x, y: dag.nodes[x].__setitem__("color", "red"),
    "item of an edge": lambda dag, x, y: dag.edges[x, y].__setitem__("weight", 2.0),
    "update of an edge": lambda dag, x, y: dag[x][y].update(weight=2.0),
    "all nodes": lambda dag, x, y: nx.set_node_attributes(dag, "red", "color"),
    "all edges": lambda dag, x, y: nx.set_edge_attributes(dag, {(x, y): 2.0}, "weight"),
}


@pytest.mark.parametrize("change", ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_attributes_are_those_of_copies(change):
    """Edges alike share their attributes, so none may change; weights belong to a copy, of each edge its own."""
    graph = Graph()
    x = leaf(graph)
    y, z = op(graph, "neg", x), op(graph, "exp", x)
    with pytest.raises(GraphError, match=r"(?s)only grows by operations.*graph\.dag\.copy\(\)"):
        change(graph.dag, x, y)
    for copied in (graph.dag.copy(), nx.DiGraph(graph.dag), graph.dag.reverse().reverse()):  # which copies deeply
        change(copied, x, y)
        assert copied.edges[x, z] == {"positions": (0,), "control": False}
        assert "color" not in graph.dag.nodes[x]
    same_as_networkx(graph)


WALKS = {
    "generations": lambda dag: [set(part) for part in nx.topological_generations(dag)],
    "transitive reduction": lambda dag: set(nx.transitive_reduction(dag).edges),
    "condensation": lambda dag: nx.condensation(dag).number_of_edges(),
    "relabelled": lambda dag: set(nx.convert_node_labels_to_integers(dag).edges),
    "line graph": lambda dag: set(nx.line_graph(dag)),
    "composed": lambda dag: set(nx.compose(dag, dag.subgraph(list(dag)[:9])).edges),
    "undirected": lambda dag: {frozenset(edge) for edge in dag.to_undirected().edges},
    "components": lambda dag: {frozenset(part) for part in nx.weakly_connected_components(dag)},
    "centrality": lambda dag: nx.betweenness_centrality(dag),
    "contracted": lambda dag: set(nx.contracted_nodes(dag, *list(dag)[:2]).edges),
    "ancestors": lambda dag: [nx.ancestors(dag, node) for node in dag],
    "dominators": lambda dag: nx.immediate_dominators(dag, next(iter(dag))),
    "data": lambda dag: sorted(map(str, nx.get_edge_attributes(dag, "positions").values())),
}


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
def test_functions_of_networkx_take_it(walk):
    graph = random_graph(np.random.default_rng(0), 12, False)
    assert walk(graph.dag) == walk(graph.dag.copy())
    same_as_networkx(graph)


def test_dag_of_nodes_without_edges():
    graph = Graph()
    assert len(graph.dag) == 0
    x = leaf(graph)
    assert x in graph.dag


@pytest.mark.parametrize("intern", [False, True])
@pytest.mark.parametrize("control", [False, True])
def test_an_operand_of_another_graph_is_refused(intern, control):
    graph, other = Graph(intern=intern), Graph()
    x, foreign = leaf(graph), leaf(other, "foreign")
    operands, after = ((x, x), (x, foreign)) if control else ((x, foreign), ())
    for _ in range(2):  # the first attempt left nothing
        with pytest.raises(GraphError, match=r"reads <foreign f32\[3\]>, which is not in its graph"):
            op(graph, "mul", *operands, after=after)
    same_as_networkx(graph)
    op(graph, "mul", x, x)
    graph.append(foreign)
    op(graph, "mul", *operands, after=after)
    same_as_networkx(graph)


# reaching -----------------------------------------------------------------------------------------------------------


def test_reaching_is_in_order_and_stops_where_told():
    graph = Graph()
    x, y = leaf(graph), leaf(graph)
    a = op(graph, "neg", x)
    b = op(graph, "exp", y)
    c = op(graph, "mul", b, a)
    d = op(graph, "mul", c, c)
    assert graph.reaching([d]) == [x, y, a, b, c, d]
    assert graph.reaching([a]) == [x, a]
    assert graph.reaching([b, a]) == [x, y, a, b]
    assert graph.reaching([d], stop={c}) == [c, d]
    assert graph.reaching([d], stop={a}) == [y, a, b, c, d]
    assert graph.reaching([c], stop={c}) == [c]
    assert graph.reaching([]) == []


def test_reaching_follows_control_edges():
    graph = Graph()
    x = leaf(graph)
    first = op(graph, "neg", x)
    then = op(graph, "exp", leaf(graph), after=(first,))
    assert first in graph.reaching([then])


def test_reaching_is_not_bounded_by_the_depth_of_pythons_stack():
    graph = Graph()
    node = leaf(graph)
    for _ in range(5000):
        node = op(graph, "neg", node)
    assert len(graph.reaching([node])) == 5001


# building from threads ----------------------------------------------------------------------------------------------


def test_threads_may_build_one_graph():
    graph = Graph(intern=True)
    x = leaf(graph)

    def build() -> None:
        node = x
        for i in range(300):
            node = op(graph, "neg", node)
            if i % 50 == 0:
                len(graph.dag)
            graph.unique_name("n")

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(graph) == 301
    assert len(graph.dag) == 301
    assert graph.unique_name("n") == "n_1200"
    same_as_networkx(graph)


# records ------------------------------------------------------------------------------------------------------------


def test_an_op_is_defined_once():
    before = dict(REGISTRY)
    with pytest.raises(ArgumentError, match="an op named 'add' is defined already"):
        define("add", lambda x: x, lambda x: x)
    assert before == REGISTRY


@pytest.mark.parametrize("record", [REGISTRY[name] for name in sorted(REGISTRY)], ids=lambda record: record.name)
def test_records_are_consistent(record):
    assert REGISTRY[record.name] is record
    assert not (record.leaf and record.effect)
    assert repr(record) == f"<op {record.name}>"
    if record.leaf or record.effect:
        assert record.name in (record.leaf, record.effect, "update")  # which is an assign, too


def test_cotangent_functions_of_an_input():
    add, comparison, concatenate = REGISTRY["add"], REGISTRY["lt"], REGISTRY["concatenate"]
    assert callable(add.vjp_for(0))
    assert comparison.vjp_for(0) is None
    assert callable(concatenate.vjp_for(5))
    assert REGISTRY["where"].vjp_for(0) is None
