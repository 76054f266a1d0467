"""Graphs as data for the page: parts of a step, modules, kernels, runs of long rows."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.viz.placement import by_kernel
from staticgrad.viz.report.page import MOST_CHILDREN, Texts, common, outward, picture

pytestmark = pytest.mark.usefixtures("interpreted")  # nothing runs natively


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(4), nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        h = self.up(self.norm(x))
        return x + self.down(F.relu(h))


class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(depth))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def defined(depth):
    """The graph of a training step, and its loss."""
    net = Net(depth)
    opt = optim.SGD(net.parameters(), lr=0.1)
    graph = sg.Graph()
    with graph.as_default():
        loss = F.cross_entropy(net(sg.placeholder("float32", (5, 4), "x")), sg.placeholder("int64", (5,), "y"))
        train = opt.minimize(loss)
    graph.outputs = {"loss": loss.node, "train": train.node}
    return graph, loss.node


class Read:
    """A picture with texts in place of numbers."""

    def __init__(self, data, texts):
        names = list(texts.known)
        self.nodes = [(names[title], group) for title, _, _, group, *_ in data["nodes"]]
        self.groups = [(names[title], parent, names[kind], row) for title, parent, kind, row in data["groups"]]
        self.edges = data["edges"]

    def path(self, group):
        return () if group < 0 else (*self.path(self.groups[group][1]), self.groups[group][0])

    def members(self):
        """The number of members of each group that has any."""
        used = {group for _, group in self.nodes}
        for group in list(used):
            while group >= 0:
                group = self.groups[group][1]
                used.add(group)
        return Counter([group for _, group in self.nodes] + [self.groups[group][1] for group in used if group >= 0])


def test_parts_and_modules_of_a_step():
    graph, loss = defined(2)
    texts = Texts()
    found = Read(picture(graph, texts, loss=loss), texts)
    assert len(found.nodes) < len(graph.nodes)  # numbers are inside their readers
    paths = {title.partition(" ")[2]: found.path(group) for title, group in found.nodes}
    inside = {
        'variable "blocks.0.norm.weight"': ("forward", "blocks", "blocks.0", "blocks.0.norm"),
        'variable "blocks.1.down.bias"': ("forward", "blocks", "blocks.1", "blocks.1.down"),
        'variable "head.weight"': ("forward", "head"),
        'placeholder "x"': ("forward",),
    }
    assert {title: paths[title] for title in inside} == inside
    within = {found.path(group) for title, group in found.nodes if " mean" in title or " sqrt" in title}
    assert ("forward", "blocks", "blocks.1", "blocks.1.norm") in within  # no parameter is read there
    sums = [found.path(group) for title, group in found.nodes if title.endswith(" add")]
    assert ("forward", "blocks", "blocks.1") in sums  # the residual
    assert {path[0] for path in map(found.path, range(len(found.groups))) if path} >= {"forward", "gradients", "update"}
    assert {found.path(group)[0] for title, group in found.nodes if " assign" in title} == {"update"}


@pytest.mark.parametrize("depth", [1, 12])
def test_no_group_has_more_members_than_can_be_looked_at(depth):
    graph, loss = defined(depth)
    texts = Texts()
    found = Read(picture(graph, texts, loss=loss), texts)
    assert max(found.members().values()) <= MOST_CHILDREN
    assert all(parent < len(found.groups) and parent != i for i, (_, parent, _, _) in enumerate(found.groups))
    assert [i for i in range(len(found.groups)) if len(found.path(i)) > 12] == []


def test_large_graphs_take_few_bytes():
    graph, loss = defined(40)
    texts = Texts()
    data = picture(graph, texts, loss=loss)
    size = len(json.dumps([data, list(texts.known)], separators=(",", ":")))
    assert len(data["nodes"]) > 2000
    assert size / len(data["nodes"]) < 200  # three graphs of 5,000 nodes: 3 MB, beside the plan


def test_a_long_chain_without_modules_becomes_runs():
    x = sg.placeholder("float32", (2,), "x")
    y = x
    for _ in range(2000):
        y = sg.tanh(y)
    graph = sg.graph_of(y)
    texts = Texts()
    data = picture(graph, texts, loss=graph.outputs["output"])
    found = Read(data, texts)
    assert max(found.members().values()) <= MOST_CHILDREN
    assert {kind for _, _, kind, _ in found.groups} == {"run"}
    assert all(a < b for a, b, _ in data["edges"])
    assert len(data["edges"]) == 2000


def test_kernels_are_groups():
    @sg.compile
    def step(x, w):
        return (sg.tanh(x @ w) * 2).sum()

    step(np.ones((3, 4), "float32"), np.ones((4, 2), "float32"))
    plan, texts = step.plan, Texts()
    found = Read(picture(plan.ir, texts, kernels=by_kernel(plan)[1]), texts)
    kernels = {row: title for title, _, kind, row in found.groups if kind == "kernel"}
    assert kernels == {i: f"{each.kind} {each.name}" for i, each in enumerate(plan.instructions)}
    tanh = next(group for title, group in found.nodes if title.endswith("tanh"))
    assert found.groups[tanh][3] == next(i for i, each in enumerate(plan.instructions) if each.kind == "kernel")


def test_edges_tell_values_shapes_and_order_apart():
    graph = sg.Graph()
    with graph.as_default():
        x, v = sg.placeholder("float32", (3,), "x"), sg.Variable(np.zeros(3, "float32"), name="v")
        with sg.control_dependencies([v.assign(x)]):
            y = sg.identity(sg.ones_like(x) * x)
    graph.outputs = {"y": y.node}
    found = picture(graph, Texts(), loss=y.node)
    assert {kind for _, _, kind in found["edges"]} >= {0, 2}


def test_paths():
    assert outward("a.0.b/c") == ("a", "a.0", "a.0.b", "a.0.b/c")
    assert common([("a", "a.0", "a.0.x"), ("a", "a.0", "a.0.y"), ("a", "a.0")]) == ("a", "a.0")
    assert common([("a",), ("b",)]) == ()
