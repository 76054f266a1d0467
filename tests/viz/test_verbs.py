"""The verbs on every kind of subject, and their errors."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.errors import ArgumentError, GraphError
from tests.helpers import raised

X = np.ones((4, 3), np.float32)


@pytest.fixture(scope="module")
def world() -> Any:
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    step = sg.compile(lambda x: model(x).sum())
    step(X)
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder(sg.float32, (4, 3), "x")
        y = sg.tanh(x @ sg.Variable(np.ones((3, 2), np.float32), name="w"))
        initialize = sg.global_variables_initializer()
    session = sg.Session(graph)
    session.run(initialize)
    session.run(y, {x: X})
    return SimpleNamespace(model=model, step=step, session=session, y=y, x=x, tensor=model(sg.tensor(X)).sum())


SUBJECTS: dict[str, Any] = {
    "tensor": lambda w: (w.tensor, {}),
    "graph": lambda w: (sg.graph_of(w.tensor), {}),
    "module": lambda w: (w.model, {"inputs": (X,)}),
    "function": lambda w: (lambda x: sg.tanh(x), {"inputs": (X,)}),
    "compiled function": lambda w: (w.step, {}),
    "session": lambda w: (w.session, {}),
    "plan": lambda w: (w.step.plan, {}),
}
VERBS: dict[str, Any] = {
    "to_text": lambda found: "tanh(" in found,
    "to_dot": lambda found: found.startswith("digraph") and "tanh" in found,
    "to_networkx": lambda found: "tanh" in {op for _, op in found.nodes(data="op")},
    "explain": lambda found: "tanh" in found,
    "profile": lambda found: any("tanh" in name for _, name, _ in found.instructions),
    "draw": lambda found: type(found).__name__ == "Figure",
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_verb_takes_every_subject(verb: str, subject: str, world: Any):
    what, named = SUBJECTS[subject](world)
    repeats = {"repeats": 10} if verb == "profile" else {}
    assert VERBS[verb](getattr(sg, verb)(what, **named, **repeats))


def test_symbols(world: Any):
    assert 'variable "w"' in sg.to_text(world.y)
    assert sg.to_graphml(world.y).startswith("<?xml")


def test_stages_and_groups(world: Any):
    assert "permute" in sg.to_text(world.step, stage="specialize")
    assert "permute" in sg.to_text(world.session, stage="fuse") or world.session.plans
    assert 'label="1 kernel' in sg.to_dot(world.step, group="kernel")
    assert "cluster_0" in sg.to_dot(world.step, group="module")
    with raised(ArgumentError, "to_text: only what is compiled has stages, got Tensor"):
        sg.to_text(world.tensor, stage="simplify")
    with raised(ArgumentError, "there is no stage 'none'"):
        sg.to_text(world.step, stage="none")


ERRORS: dict[str, Any] = {
    "explain needs a graph, a tensor or a symbol": lambda w: sg.explain(3),
    "explain: Sequential has not been called yet": lambda w: sg.explain(w.model),
    "draw: Sequential has not been called yet": lambda w: sg.draw(w.model),
    "to_text: inputs are for modules and functions, got Graph": lambda w: sg.to_text(w.session.graph, inputs=(X,)),
    "profile: this session has run nothing yet": lambda w: sg.profile(sg.Session(sg.Graph())),
    "explain: a graph without results has no plan": lambda w: sg.explain(w.session.graph),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str, world: Any):
    with raised((ArgumentError, GraphError), text):
        ERRORS[text](world)


def test_a_graph_with_feeds(world: Any):
    graph = sg.graph_of(world.x * 2)
    (feed,) = (node for node in graph.nodes if node.op.leaf == "placeholder")
    found = sg.explain(graph, feeds={sg.operators.Symbol(graph, feed): X})
    assert len(found.rows) == 1


def test_a_module_whose_forward_is_compiled():
    class Compiled(nn.Module):
        @sg.compile
        def forward(self, x: Any) -> Any:
            return sg.tanh(x)

    model = Compiled()
    model(X)
    assert "tanh" in sg.explain(model)
    assert "tanh(" in sg.to_text(model)


def test_plan_diff(world: Any):
    assert sg.plan_diff(world.step, world.step.plan).same
    assert not sg.plan_diff(world.step, world.session).same


def test_names_come_from_the_module_tree(tmp_path: Path):
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2), nn.BatchNorm1d(2)])

        def forward(self, x: Any) -> Any:
            return self.layers[1](self.layers[0](x))

    model = Block()
    assert model.layers[0].weight.name == "layers.0.weight"
    assert model.layers[1].running_mean.name == "layers.1.running_mean"
    opt = optim.Adam(model.parameters())
    loss = model(sg.ones(3, 2)).sum()
    assert 'variable "layers.0.weight"' in sg.to_text(loss)
    assert "test_verbs.py" in sg.to_text(loss)
    loss.backward()
    opt.step()
    slots = opt.state[model.layers[0].weight]
    assert (slots["exp_avg"].name, slots["exp_avg_sq"].name) == ("layers.0.weight.exp_avg", "layers.0.weight.exp_avg_sq")
    assert slots["step"].name == "step"
