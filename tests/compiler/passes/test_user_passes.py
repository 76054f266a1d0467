"""Passes of the user: called at their stage, verified, named in `explain()`; and the graphs that users look at."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import staticgrad as sg
from staticgrad.base.types import TensorType, float32
from staticgrad.errors import ArgumentError, CompileError
from staticgrad.ir import REGISTRY, Graph

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def squares(graph):
    def rule(node, *operands):
        if node.op.name == "mul" and node.inputs[0] is node.inputs[1]:
            return sg.square(operands[0])
        return None

    return sg.rewrite(graph, rule)


def quartic(x):
    y = x * x
    return (y * y).sum()


def ops_of(graph):
    return [node.op.name for node in graph.nodes if not node.op.leaf]


@pytest.mark.parametrize("numerics", ["fast", "strict"])
def test_a_compiled_function_runs_what_the_pass_made(numerics):
    stage = "simplify" if numerics == "fast" else "specialize"
    step = sg.compile(quartic, numerics=numerics, passes=[sg.graph_pass(stage)(lambda g: squares(g))])
    assert step(X).item() == quartic(sg.tensor(X)).item()
    assert ops_of(step.graph(stage)) == ["square", "square", "sum"]
    assert len(step.plan.passed) == 1


def test_a_session_runs_what_the_pass_made():
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, [None, 3])
        y = quartic(x)
        with sg.Session(passes=[squares]) as sess:
            assert sess.run(y, {x: X}) == quartic(sg.tensor(X)).item()
            assert "squares, after simplify" in sess.plan(y, {x: X}).explain()


def test_a_pass_sees_gradients_and_updates():
    w = sg.tensor([1.0, 2.0], requires_grad=True)
    seen = []

    def look(graph):
        seen.append((len(graph.outputs), nx.is_directed_acyclic_graph(graph.dag)))
        return graph

    @sg.compile(passes=[look])
    def step(x):
        loss = (w * x).square().sum()
        loss.backward()
        with sg.no_grad():
            w.sub_(0.1 * w.grad)
        return loss

    assert step(sg.tensor([1.0, 1.0])).item() == 5.0
    assert w.tolist() == pytest.approx([0.8, 1.6])
    assert seen == [(3, True)]  # the loss, the new w, and its gradient


@pytest.mark.parametrize("stage", ["specialize", "stabilize", "expand", "simplify"])
def test_stages(stage):
    order = []

    @sg.graph_pass(stage)
    def note(graph):
        order.append(ops_of(graph))
        return graph

    sg.compile(lambda x: sg.log(sg.softmax(x, axis=1)), passes=[note])(X)
    assert len(order) == 1
    assert order[0] == {"specialize": ["softmax", "log"], "stabilize": ["log_softmax"]}.get(stage, order[0])
    assert ("log_softmax" in order[0]) is (stage == "stabilize")


def test_passes_run_in_their_order():
    order = []

    def first(graph):
        order.append(1)
        return graph

    def second(graph):
        order.append(2)
        return graph

    sg.compile(quartic, passes=[first, second])(X)
    assert order == [1, 2]


def lost(graph):
    return Graph()


def nothing(graph):
    return None


def other_type(graph):
    new = sg.rewrite(graph, lambda node, *operands: None)
    new.outputs = dict.fromkeys(new.outputs, new.nodes[0])
    return new


def foreign_leaf(graph):
    new = sg.rewrite(graph, lambda node, *operands: None)
    kind = TensorType((), float32)
    extra = new.add(REGISTRY["placeholder"], (), {"type": kind}, kind, "extra")
    new.outputs = dict.fromkeys(new.outputs, extra)
    return new


def other_shape(graph):
    return sg.rewrite(graph, lambda node, *operands: operands[0] if node.op.name == "sum" else None)


def no_tensor(graph):
    return sg.rewrite(graph, lambda node, *operands: 1.0 if node.op.name == "sum" else None)


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (nothing, "the pass nothing returned NoneType, not a graph"),
        (lost, "the pass lost lost 'result 0'"),
        (other_type, r"the pass other_type made result 0 f32\[2,3\]; it was f32\[\]"),
        (foreign_leaf, "the pass foreign_leaf reads .*extra.*, which the graph that it was given does not have"),
        (other_shape, "a rule replaced .*sum.* by a value of type"),
        (no_tensor, "a rule returned 1.0 for"),
    ],
)
def test_a_broken_pass_is_named(broken, text):
    with pytest.raises(CompileError, match=text):
        sg.compile(quartic, passes=[broken])(X)


@pytest.mark.parametrize(
    ("passes", "text"),
    [(squares, "passes is a list of functions"), ([3], "a pass is a function from a graph to a graph, got int")],
)
def test_passes_are_checked(passes, text):
    for make in (lambda: sg.compile(quartic, passes=passes), lambda: sg.Session(sg.Graph(), passes=passes)):
        with pytest.raises(ArgumentError, match=text):
            make()


def test_a_stage_that_does_not_exist():
    with pytest.raises(ArgumentError, match="called after one of specialize"):
        sg.graph_pass("fusion")
    step = sg.compile(quartic)
    step(X)
    with pytest.raises(ArgumentError, match="there is no stage 'nowhere'"):
        step.graph("nowhere")


def test_an_error_of_the_pass_itself_is_the_user_s():
    def fails(graph):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        sg.compile(quartic, passes=[fails])(X)


def test_the_graph_of_a_plan_is_its_rows():
    w = sg.tensor(np.ones((3, 4), np.float32), requires_grad=True)

    @sg.compile
    def step(x):
        loss = sg.tanh(x @ w).sum()
        loss.backward()
        return loss

    step(X)
    rows = step.graph("fuse")
    assert list(rows) == list(range(len(step.plan.instructions)))
    assert list(nx.topological_sort(rows))
    kinds = nx.get_node_attributes(rows, "kind")
    kernels = [row for row, kind in kinds.items() if kind == "kernel"]
    assert all("def kernel" in rows.nodes[row]["source"] for row in kernels)
    assert nx.has_path(rows, min(rows), max(rows))
    assert set(nx.get_node_attributes(rows, "microseconds").values()) == {None}
    step.plan.profile(10)
    assert all(rows.nodes[row]["bytes"] > 0 for row in rows)
    assert all(step.plan.graph.nodes[row]["microseconds"] is not None for row in kernels)


def two_products(x, y):
    return x @ x + y @ y


def three_products(x, y):
    return x @ x + y @ y + x @ y


def joined(x, y):
    return sg.exp(sg.concat([x, y, x + y])) @ x


def repeated(x, y):
    return sg.scan(lambda c, _: (sg.tanh(c @ y), None), x, length=3)[0].sum()


IN_TURN = {
    two_products: [("gemm", "gemm")],
    three_products: [("gemm", "gemm"), ("gemm", "gemm")],
    joined: [("kernel", "gemm")],
    repeated: [("loop", "repeat"), ("repeat", "kernel")],
}


@pytest.mark.parametrize("fn", IN_TURN)
def test_the_graph_of_a_plan_has_the_order_of_its_instructions(fn):
    """Each product of a sum adds to what the one before left: networkx finds no cycle, and no reader before the last."""
    step = sg.compile(fn, wait=True)
    x = np.ones((4, 4), np.float32)
    step(x, x)
    rows, kinds = step.plan.graph, [each.kind for each in step.plan.instructions]
    assert all(a < b for a, b in rows.edges)
    edges = [(kinds[a], kinds[b]) for a, b in nx.transitive_reduction(rows).edges]
    assert [edge for edge in edges if edge in IN_TURN[fn]] == IN_TURN[fn]


def test_a_loop_is_one_part_of_the_critical_path_with_all_iterations():
    def run(x, ys):
        last, _ = sg.scan(lambda c, y: (sg.tanh(c @ c + y), None), x, ys)
        return sg.exp(last), sg.exp(x)

    shares = []
    for length in (5, 50):
        step = sg.compile(run, wait=True)
        step(np.ones((8, 8), np.float32), np.ones((length, 8, 8), np.float32))
        critical = step.plan.explain().critical
        assert [step.plan.instructions[i].kind for i in critical.instructions] == ["loop", "repeat", "kernel"]
        assert nx.is_path(step.plan.graph, critical.instructions)
        shares.append(critical.share)
    assert 0.9 < shares[0] < shares[1] < 1


def test_a_saved_value_of_a_variable_is_no_operand():
    w = sg.tensor(np.ones((4, 4), np.float32))

    @sg.compile(wait=True)
    def step(x):
        before = w.clone()
        w.add_(x)
        return before, (w * 2).sum()

    step(np.ones((4, 4), np.float32))
    assert all(a < b for a, b in step.plan.graph.edges)


def test_graphs_share_networkx_s_form():
    step = sg.compile(quartic)
    step(X)
    dag = step.graph("functionalize").dag
    assert isinstance(dag, nx.DiGraph)
    (_, _, edge), *_ = dag.edges(data=True)
    assert edge == {"positions": (0, 1), "control": False}  # x * x
    assert [node.op.name for node in nx.dag_longest_path(dag)] == ["placeholder", "mul", "mul", "sum"]
