"""Listings and exports: text, networkx, DOT, GraphML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

import staticgrad as sg
from staticgrad.base.types import TensorType, float32
from staticgrad.errors import Where
from staticgrad.ir import REGISTRY, Cell, Graph
from staticgrad.ir.text import attr_text, backward_part, clip, kind_of
from staticgrad.ops.leaves import hyper


@pytest.fixture
def model() -> SimpleNamespace:
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder(sg.float32, (None, 4), name="x")
        w = sg.Variable(np.ones((4, 2), np.float32), name="w")
        square = x * x
        y = sg.sum(square @ w, axis=0, keepdims=True) * 2.0
        update = sg.assign(w, w * 0.5)
        with sg.control_dependencies([update]):
            after = sg.exp(y)
    return SimpleNamespace(graph=graph, x=x, w=w, square=square, y=y, update=update, after=after)


def number(model: SimpleNamespace, name: str) -> str:
    return f"%{model.graph.nodes.index(getattr(model, name).node)}"


# text ---------------------------------------------------------------------------------------------------------------


def test_listing(model):
    assert sg.to_text(model.graph, lines=False).splitlines() == [
        '%0   f32[?,4]  placeholder "x"',
        "%1   f32[4,2]  constant <float32 (4, 2)>",
        '%2   f32[4,2]  variable "w"',
        "%3   f32[4,2]  assign(%2, %1)",
        '%4   bool[]    group() "w/init" after %3',
        "%5   f32[?,4]  mul(%0, %0)",
        "%6   f32[?,2]  matmul(%5, %2)",
        "%7   f32[1,2]  sum(%6, axis=(0,), keepdims=True)",
        "%8   f32[]     constant 2.0",
        "%9   f32[1,2]  mul(%7, %8)",
        "%10  f32[]     constant 0.5",
        "%11  f32[4,2]  mul(%2, %10)",
        "%12  f32[4,2]  assign(%2, %11)",
        "%13  f32[1,2]  exp(%9) after %12",
    ]


def test_listing_ends_with_the_named_results():
    w = sg.tensor([1.0, 2.0], requires_grad=True)
    w.name = "w"
    text = str(sg.graph_of((w * 3).sum()))
    assert re.search(r'^%\d+ +f32\[2\] +variable "w"$', text, re.MULTILINE)
    assert re.fullmatch(r"outputs: output = %3, grad/w = %\d+", text.splitlines()[-1])


def test_lines_lead_home_and_are_shown_once():
    graph = Graph()
    type_ = TensorType((3,), float32)
    here = Where(__file__, 1)
    x = graph.add(REGISTRY["placeholder"], (), {"type": type_}, type_, "x")
    for where in (here, here, Where("gone.py", 7)):
        x = graph.add(REGISTRY["neg"], (x,), {}, type_, where=where)
    assert str(graph).splitlines() == [
        '%0  f32[3]  placeholder "x"',
        '%1  f32[3]  neg(%0)          # test_text.py:1  """Listings and exports: text, networkx, DOT, GraphML."""',
        "%2  f32[3]  neg(%1)          # test_text.py:1",
        "%3  f32[3]  neg(%2)          # gone.py:7",
    ]


def test_a_long_expression_does_not_push_all_comments_to_the_right():
    graph = Graph()
    type_ = TensorType((1,) * 20, float32)
    here = Where("gone.py", 1)
    x = graph.add(REGISTRY["placeholder"], (), {"type": type_}, type_, "x", here)
    graph.add(REGISTRY["permute"], (x,), {"axes": tuple(range(20))}, type_, "", here)
    first, second = str(graph).splitlines()
    assert first.endswith('placeholder "x"  # gone.py:1')
    assert second.endswith("axes=(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19))  # gone.py:1")


def test_listing_of_an_empty_graph():
    assert str(Graph()) == ""


def test_listing_of_a_hyper_parameter():
    graph = sg.Graph()
    hyper({"lr": 0.1}, "lr", graph)
    assert sg.to_text(graph, lines=False) == "%0  f64[]  argument lr"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.dtype(np.float32), "f32"),
        ((1,), "(1,)"),
        ((np.dtype(np.int64), (None, 2)), "(i64, (None, 2))"),
        (-0.0, "-0.0"),
        ("mean", "'mean'"),
        (sg.tensor([1.5, 2.0]).numpy(), "array([1.5, 2. ], dtype=float32)"),
    ],
    ids=str,
)
def test_attributes(value, text):
    assert attr_text(value) == text


def test_cut_texts_keep_their_width():
    assert clip("a" * 72) == "a" * 72
    assert clip("a" * 73) == "a" * 69 + "..."


# kinds --------------------------------------------------------------------------------------------------------------


def test_kinds(model):
    kinds = {node.op.name: kind_of(node) for node in model.graph.nodes}
    assert kinds["placeholder"] == "input"
    assert kinds["variable"] == "state"
    assert kinds["constant"] == "constant"
    assert kinds["matmul"] == "op"
    assert {kinds["assign"], kinds["group"]} == {"effect"}


def test_the_backward_part_is_what_only_gradients_need():
    w = sg.rand(3, requires_grad=True)
    graph = sg.graph_of(sg.exp(w).sum())
    backward = backward_part(graph)
    assert [node.op.name for node in graph.nodes if node not in backward] == ["variable", "exp", "sum"]
    assert graph.outputs["grad/leaf"] in backward
    assert backward_part(sg.graph_of(sg.exp(w).sum(), backward=False)) == set()


# networkx -----------------------------------------------------------------------------------------------------------


def test_networkx(model):
    plain = sg.to_networkx(model.graph)
    assert type(plain) is nx.DiGraph
    assert len(plain) == len(model.graph)
    square, x, y = number(model, "square"), number(model, "x"), number(model, "y")
    assert plain.edges[x, square] == {"operands": "0,1", "control": False}
    assert plain.edges[number(model, "update"), number(model, "after")] == {"operands": "", "control": True}
    assert plain.nodes[x] | {"where": "", "line": ""} == {
        "op": "placeholder", "type": "f32[?,4]", "attrs": "", "name": "x", "where": "", "line": "", "kind": "input",
        "output": "",
    }  # fmt: skip
    assert plain.nodes[y]["where"].startswith("test_text.py:")
    assert plain.nodes[y]["line"] == "y = sg.sum(square @ w, axis=0, keepdims=True) * 2.0"
    assert {type(value) for _, data in plain.nodes(data=True) for value in data.values()} == {str}


def test_an_edge_may_carry_a_value_and_order():
    graph = Graph()
    type_ = TensorType((3,), float32)
    x = graph.add(REGISTRY["placeholder"], (), {"type": type_}, type_)
    graph.add(REGISTRY["neg"], (x,), {}, type_, after=(x,))
    assert sg.to_networkx(graph).edges["%0", "%1"] == {"operands": "0", "control": True}


def test_networkx_names_results_and_gradients():
    w = sg.rand(3, requires_grad=True)
    graph = sg.graph_of(sg.exp(w).sum())
    plain = sg.to_networkx(graph)
    outputs = {data["output"]: data["kind"] for _, data in plain.nodes(data=True) if data["output"]}
    assert outputs == {"output": "op", "grad/leaf": "backward"}


# DOT ----------------------------------------------------------------------------------------------------------------

STRING = r'"(?:[^"\\]|\\.)*"'


def test_dot(model):
    lines = sg.to_dot(model.graph).splitlines()
    assert lines[0] == "digraph staticgrad {"
    assert lines[-1] == "}"
    nodes = [line for line in lines if re.fullmatch(rf"  {STRING} \[label={STRING}, fillcolor={STRING}\];", line)]
    assert len(nodes) == len(model.graph)
    square, x, update, after = (number(model, name) for name in ("square", "x", "update", "after"))
    assert f'  "{x}" -> "{square}" [label="0,1"];' in lines
    assert f'  "{update}" -> "{after}" [style=dashed];' in lines
    assert any(line.startswith(f'  "{x}" [label="%0 placeholder \\"x\\"\\nf32[?,4]\\n') for line in lines)


def test_dot_quotes_what_users_write():
    graph = Graph()
    type_ = TensorType((), float32)
    graph.add(REGISTRY["placeholder"], (), {"type": type_}, type_, 'a"b\\N{x}\nc')
    (line,) = [line for line in sg.to_dot(graph).splitlines() if "placeholder" in line]
    assert 'label="%0 placeholder \\"a\\"b\\\\N{x}\\nc\\"\\nf32[]"' in line


# GraphML ------------------------------------------------------------------------------------------------------------


def test_graphml_reads_back(model, tmp_path):
    path = tmp_path / "g.graphml"
    text = sg.to_graphml(model.graph, path)
    assert path.read_text(encoding="utf-8") == text
    ET.fromstring(text.encode())
    again = nx.read_graphml(path)
    plain = sg.to_networkx(model.graph)
    assert dict(again.nodes(data=True)) == dict(plain.nodes(data=True))
    assert {edge: again.edges[edge] for edge in again.edges} == {edge: plain.edges[edge] for edge in plain.edges}


def test_graphml_of_names_that_xml_can_not_hold(tmp_path):
    graph = Graph()
    type_ = TensorType((), float32)
    cell = Cell("<&>\x00\x1b\ud800", type_)
    graph.add(REGISTRY["variable"], (), {"cell": cell}, type_, cell.name)
    path = tmp_path / "g.graphml"
    sg.to_graphml(graph, path)
    assert nx.read_graphml(path).nodes["%0"]["name"] == "<&>\ufffd\ufffd\ufffd"


# long listings ------------------------------------------------------------------------------------------------------


def test_a_long_graph_prints_its_ends():
    graph = sg.graph_of(sum(sg.ones(2, requires_grad=True) * i for i in range(300)).sum())
    lines = str(graph).splitlines()
    assert len(lines) == 202
    full = sg.to_text(graph).splitlines()
    assert [line.split() for line in lines[:150]] == [line.split() for line in full[:150]]
    left = len(graph) - 200
    assert lines[150] == f"... {left:,} more nodes: sg.to_text(graph) lists all, sg.draw(graph, path) draws groups of them ..."
    assert lines[-1] == full[-1]
