"""Pictures: the files, what is in them, and a layout without overlaps and backward edges."""

from __future__ import annotations

import itertools
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.base.interpreter import MissingExtra
from staticgrad.base.types import TensorType, float32
from staticgrad.errors import ArgumentError, GraphError
from staticgrad.ir import REGISTRY, Graph
from staticgrad.viz.placement import WIDEST, automatic, by_module, groups_of, place

ROOT = Path(__file__).resolve().parent.parent.parent


def two_layers() -> sg.Tensor:
    x = sg.rand(4, 6)
    w, v = sg.rand(6, 5, requires_grad=True), sg.rand(5, 3, requires_grad=True)
    w.name, v.name = "w", "v"
    return sg.logsumexp(sg.tanh(x @ w) @ v * 0.5, axis=1).mean()


def training_graph() -> sg.Graph:
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder(sg.float32, (None, 4), name="x")
        w = sg.Variable(np.ones((4, 2), np.float32), name="w")
        y = sg.sum(x * x @ w)
        (g,) = sg.gradients(y, [w])
        with sg.control_dependencies([sg.assign(w, w - g)]):
            sg.exp(y)
        sg.rand(3)
    return graph


def deep(levels: int) -> Graph:
    """Chains with long edges: level i reads level i-1 and the leaf."""
    graph, type_ = Graph(), TensorType((3,), float32)
    leaf = node = graph.add(REGISTRY["placeholder"], (), {"type": type_}, type_)
    for _ in range(levels):
        node = graph.add(REGISTRY["mul"], (node, leaf), {}, type_)
    return graph


GRAPHS = {
    "tape": lambda: sg.graph_of(two_layers()),
    "training": training_graph,
    "deep": lambda: deep(30),
    "one node": lambda: deep(0),
    "empty": Graph,
}


# files --------------------------------------------------------------------------------------------------------------

MAGIC = {"g.png": b"\x89PNG", "g.pdf": b"%PDF", "g.svg": b"<?xml", "G.SVG": b"<?xml", "g.dot": b"digraph"}


@pytest.mark.parametrize("name", MAGIC)
def test_the_ending_decides_the_format(tmp_path, name):
    path = tmp_path / name
    assert sg.draw(two_layers(), path) is None
    assert path.read_bytes().startswith(MAGIC[name])
    if name == "g.svg":
        ET.parse(path)


@pytest.mark.parametrize("kind", GRAPHS)
def test_every_graph_can_be_drawn(kind, tmp_path):
    sg.draw(GRAPHS[kind](), str(tmp_path / "g.png"))
    assert (tmp_path / "g.png").stat().st_size > 0


def test_without_a_path_a_figure_comes_back():
    figure = sg.draw(two_layers())
    assert type(figure).__name__ == "Figure"
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_the_same_graph_gives_the_same_file(tmp_path):
    graph = training_graph()
    for name in ("a.svg", "b.svg"):
        sg.draw(graph, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert sg.draw(graph)._repr_svg_() == (tmp_path / "a.svg").read_text(encoding="utf-8")  # in a notebook


@pytest.mark.parametrize("path", ["g.gif", "g", "png"])
def test_an_unknown_ending_writes_nothing(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError) as caught:
        sg.draw(two_layers(), path)
    assert caught.value.summary == f"draw: can't write {path!r}"
    assert caught.value.details == ("the path must end in .svg, .png, .pdf or .dot",)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", [3, "x", [], [3], np.zeros(2)], ids=repr)
def test_only_graphs_and_tensors_can_be_drawn(what):
    with pytest.raises(GraphError, match=f"draw needs a graph, a tensor or a symbol, .* got {type(what).__name__}"):
        sg.draw(what)


def test_without_matplotlib_pictures_are_refused_and_dot_is_written(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra) as caught:
        sg.draw(two_layers(), tmp_path / "g.png")
    assert caught.value.summary == "draw needs matplotlib for .svg, .png and .pdf"
    assert 'pip install "staticgrad[viz]"' in caught.value.details[0]
    sg.draw(two_layers(), tmp_path / "g.dot")
    assert [path.name for path in tmp_path.iterdir()] == ["g.dot"]


def test_dot_loads_no_matplotlib(tmp_path):
    program = (
        "import sys, staticgrad as sg; sg.draw(sg.ones(2, requires_grad=True).sum(), sys.argv[1]); "
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "g.dot")], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "False"


# what is drawn ------------------------------------------------------------------------------------------------------


def texts(figure) -> str:
    return "\n".join(text.get_text() for text in figure.axes[0].texts)


def test_a_tape_is_drawn_with_its_gradients_unless_told_otherwise():
    loss = two_layers()
    assert "= grad/w" in texts(sg.draw(loss))
    forward = texts(sg.draw(loss, backward=False))
    assert "= output" in forward
    assert "grad/" not in forward
    assert texts(sg.draw(sg.graph_of(loss), backward=False)) == forward


def test_a_symbol_is_drawn_with_what_it_needs():
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, (None,), name="x")
        y = sg.exp(x)
        sg.sin(x)
    drawn = texts(sg.draw(y))
    assert 'placeholder "x"' in drawn
    assert "exp" in drawn
    assert "sin" not in drawn


def test_several_tensors_make_one_picture():
    w = sg.ones(2, requires_grad=True)
    drawn = texts(sg.draw([sg.exp(w), sg.sin(w)]))
    assert "= output0" in drawn
    assert "= output1" in drawn
    assert drawn.count("variable") == 2  # one box, and the legend


def test_boxes_tell_name_type_attributes_and_line():
    w = sg.ones(2, 3, requires_grad=True)
    with sg.autograd.detect_anomaly():
        y = sg.clip(w, 0.0, 2.5).sum(axis=1, keepdims=True)  # a line that is told once and cut: it is too long
    boxes, _ = place(sg.graph_of(y, backward=False))
    where = next(box.node.where.short for box in boxes if box.node is not None and box.node.where)
    assert [box.lines for box in boxes if box.node is not None and not box.node.op.leaf] == [
        ["%3 clip(_, 0.0, 2.5)", "f32[2,3]", where, "y = sg.clip(w, 0.0, 2.5).sum(..."],
        ["%4 sum", "f32[2,1]", "axis=(1,)", "keepdims=True", "= output", where],
    ]
    assert max(len(line) for box in boxes for line in box.lines) <= WIDEST


def test_dollars_are_no_formulas(tmp_path):
    graph, type_ = Graph(), TensorType((), float32)
    graph.add(REGISTRY["placeholder"], (), {"type": type_}, type_, "$x_$")
    sg.draw(graph, tmp_path / "g.svg")


# layout -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GRAPHS)
def test_layout(kind):
    boxes, edges = place(GRAPHS[kind]())
    for a, b in itertools.combinations(boxes, 2):
        apart = abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
        assert apart, f"{a.lines} and {b.lines} overlap"
    for edge in edges:
        for upper, lower in itertools.pairwise(edge.path):
            assert upper.bottom < lower.top, "edges run downwards"
        assert [box.node for box in edge.path[1:-1]] == [None] * (len(edge.path) - 2)
    assert all(box.x - box.width / 2 > -1e-9 and box.top > -1e-9 for box in boxes)


def test_edges_are_those_of_the_graph_but_for_constants_drawn_inside():
    graph = sg.graph_of(two_layers())
    boxes, edges = place(graph)
    drawn = {(edge.path[0].node, edge.path[-1].node) for edge in edges}
    inside = set(graph.nodes) - {box.node for box in boxes}
    assert {node.op.name for node in inside} == {"constant"}
    assert all(node.attrs["value"].array.size == 1 for node in inside)
    assert drawn == {(a, b) for a, b in graph.dag.edges if a not in inside}
    assert len(drawn) == len(edges)


def test_edges_tell_values_shapes_and_order_apart():
    _, edges = place(training_graph())
    kinds = {(edge.path[0].node.op.name, edge.path[-1].node.op.name): edge.kind for edge in edges}
    assert kinds["placeholder", "mul"] == "value"
    assert kinds["assign", "exp"] == "control"
    assert kinds["assign", "group"] == "control"
    assert "shape" in kinds.values()


def test_a_graph_without_crossings_is_drawn_without_crossings():
    """A binary tree, its leaves entered in an order that crosses."""
    graph, type_ = Graph(), TensorType((), float32)
    leaves = [graph.add(REGISTRY["placeholder"], (), {"type": type_}, type_, f"x{i}") for i in range(8)]
    level = [leaves[i] for i in (0, 4, 2, 6, 1, 5, 3, 7)]
    while len(level) > 1:
        level = [graph.add(REGISTRY["add"], pair, {}, type_) for pair in zip(level[::2], level[1::2], strict=True)]
    boxes, edges = place(graph)
    at = {box.node: box.x for box in boxes}
    ends = [(edge.path[0], edge.path[-1].x + edge.port * edge.path[-1].width) for edge in edges]
    for (a, x), (b, y) in itertools.combinations(ends, 2):
        if a.layer == b.layer:
            assert (at[a.node] - at[b.node]) * (x - y) > 0
    assert len(boxes) == 15


def test_large_graphs_are_laid_out_in_reasonable_time():
    boxes, _ = place(deep(400))
    assert len(boxes) == 401


# large graphs -------------------------------------------------------------------------------------------------------


def network(layers: int) -> sg.Tensor:
    model = nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(4, 4), nn.Tanh())])
    list(model.parameters())  # which gives them their names
    return model(sg.ones(2, 4)).sum()


def chain(nodes: int) -> sg.Tensor:
    y = sg.ones(3, requires_grad=True)
    for _ in range(nodes):
        y = sg.tanh(y)
    return y.sum()


@pytest.mark.parametrize("make", [lambda: network(5), lambda: network(40), lambda: chain(300), lambda: chain(5000)])
def test_pictures_of_any_graph_are_of_a_size_that_can_be_looked_at(make, tmp_path):
    graph = sg.graph_of(make())
    figure = sg.draw(graph)
    assert max(figure.get_size_inches()) < 80
    boxes, _ = place(graph, automatic(graph, ())) if len(graph.nodes) >= 150 else place(graph)
    assert len(boxes) <= 150
    assert {node for box in boxes for node in box.nodes} >= {node for node in graph.nodes if not node.op.leaf}


def test_a_picture_has_few_pixels_however_large_it_is(tmp_path):
    sg.draw(network(12), tmp_path / "g.png", group="module")
    width, height = struct.unpack(">II", (tmp_path / "g.png").read_bytes()[16:24])
    assert width * height <= 1.05 * 30e6


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: chain(5000), "boxes are too many for a picture, which has at most 300"),
        (lambda: deep(290), "more than 150"),
    ],
)
def test_too_large_a_picture_is_refused_with_what_to_do_instead(make, text, tmp_path):
    with pytest.raises(ArgumentError) as caught:
        sg.draw(make(), tmp_path / "g.png", group=None)
    assert text in caught.value.summary
    assert caught.value.details == (
        'leave group out: group="auto" draws fewer boxes',
        "draw a part: a tensor further inside, or backward=False",
        "write all of it: a .dot file, sg.to_graphml, or sg.to_text",
    )
    assert list(tmp_path.iterdir()) == []


def test_groups_are_modules_with_counts_and_types():
    shown = texts(sg.draw(network(3), group="module")).splitlines()
    for name in ("0", "2", "4"):
        assert name in shown
    assert "7 nodes: 1 permute, 1 matmul" in shown
    assert {"f32[2,4]", "f32[4,4]"} in [set(line[3:].split(", ")) for line in shown if line.startswith("-> ")]


def test_groups_do_not_depend_on_each_other_in_a_circle():
    layer, between = nn.Linear(4, 4), nn.Linear(4, 4)
    model = nn.ModuleList([layer, between])
    list(model.parameters())
    graph = sg.graph_of(layer(between(layer(sg.ones(2, 4)))).sum(), backward=False)
    groups = groups_of(graph, by_module(graph).get)
    assert [group.label for group in groups].count("0") == 2
    dag = nx.DiGraph()
    number = {node: i for i, group in enumerate(groups) for node in group.nodes}
    dag.add_edges_from(
        (number[a], number[b]) for b in graph.nodes for a in b.inputs if a in number and b in number and number[a] != number[b]
    )
    assert nx.is_directed_acyclic_graph(dag)


def test_a_compiled_function_is_drawn_by_kernel(tmp_path):
    step = sg.compile(lambda x: sg.tanh(sg.exp(x) @ sg.ones(3, 3)).sum())
    step(np.ones((2, 3), np.float32))
    for what in (step, step.plan):
        shown = texts(sg.draw(what))
        assert "2 kernel tanh+sum" in shown
    sg.draw(step, tmp_path / "g.dot", group="kernel")
    assert 'subgraph cluster_0 { label="1 gemm' in (tmp_path / "g.dot").read_text()


@pytest.mark.parametrize("group", ["layer", 3, True])
def test_unknown_groupings(group):
    with pytest.raises(ArgumentError, match="draw: group has to be 'auto', 'module', 'kernel' or None, got"):
        sg.draw(two_layers(), group=group)


def test_only_compiled_functions_have_kernels():
    with pytest.raises(ArgumentError, match="draw: only compiled functions have kernels, got Tensor"):
        sg.draw(two_layers(), group="kernel")


def test_svg_has_text(tmp_path):
    sg.draw(two_layers(), tmp_path / "g.svg")
    root = ET.parse(tmp_path / "g.svg").getroot()
    found = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any(text is not None and "logsumexp" in text for text in found)
