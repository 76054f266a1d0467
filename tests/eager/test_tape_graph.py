"""The tape as a graph: forward and backward verify, and the interpreter gives the eager values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager import Tensor
from staticgrad.eager.grad_mode import modes
from staticgrad.ir.graph import interpret
from staticgrad.ir.text import verify
from tests.helpers import assert_close


def mlp(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor) -> Tensor:
    h = (x @ w1 + b1).relu()
    return (h @ w2).log_softmax().square().mean()


def attention(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor) -> Tensor:
    q = x @ w1 + b1
    scores = (q @ q.T / 2).softmax()
    return (scores @ x @ w2.T[:, :3].T).tanh().sum()


def indexing(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor) -> Tensor:
    picked = sg.concatenate([x[[0, 2, 0]], x[1:]], 0)
    return (picked.T[None].flatten() * picked.amax(0).expand(5, 3).reshape(-1)).std(correction=0) + sg.where(
        w1 > 0, w1.exp(), b1
    ).sum()


def changed(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor) -> Tensor:
    h = x * 2
    h += x.sum()
    h[0] *= b1[:3]
    h.T[1].exp_()
    return (h * h).sum()


@pytest.mark.parametrize("program", [mlp, attention, indexing, changed], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_forward_and_backward_as_one_graph(program, dtype):
    rng = np.random.default_rng(0)
    shapes = (
        {"x": (4, 3), "w1": (3, 5), "b1": (5,), "w2": (5, 2)}
        if program is mlp
        else {"x": (3, 3), "w1": (3, 3), "b1": (3,), "w2": (3, 3)}
    )
    leaves = {}
    for name, shape in shapes.items():
        leaves[name] = sg.tensor(rng.standard_normal(shape).astype(dtype), requires_grad=True)
        leaves[name].name = name
    loss = program(*leaves.values())
    graph = sg.graph_of(loss)
    verify(graph, static=True)
    feeds = {n: n.attrs["cell"].tensor._data for n in graph.nodes if n.op.leaf == "variable"}
    values = interpret(graph, list(graph.outputs.values()), feeds)
    loss.backward()
    rtol = 1e-5 if dtype == "float32" else 1e-12
    assert_close(values[graph.outputs["output"]], loss.detach().numpy(), rtol)
    for name, x in leaves.items():
        if x.grad is None:
            assert f"grad/{name}" not in graph.outputs
        else:
            assert_close(values[graph.outputs[f"grad/{name}"]], x.grad.numpy(), rtol, what=name)


def test_forward_alone_and_several_tensors():
    x = sg.ones(3, requires_grad=True)
    a, b = x * 2, x.exp()
    graph = sg.graph_of(a, b)
    verify(graph)
    assert set(graph.outputs) == {"output0", "output1"}
    assert [n.op.name for n in graph.nodes].count("variable") == 1
    assert set(sg.graph_of(a, backward=False).outputs) == {"output"}


def test_what_a_tape_shares_a_graph_shares():
    x = sg.ones(3, requires_grad=True)
    y = x.exp()
    graph = sg.graph_of((y * y + y).sum(), backward=False)
    assert [n.op.name for n in graph.nodes] == ["variable", "exp", "mul", "add", "sum"]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda x: _freed(x), sg.GraphError, "the tape of this tensor was freed by backward()"),
        (lambda x: 1.0, sg.GraphError, "graph_of needs tensors, got float"),
        (
            lambda x: _overwritten(x),
            sg.GraphError,
            "a tensor of shape (3,) that MulBackward0 read has been changed in place since",
        ),
    ],
    ids=["freed", "number", "changed"],
)
def test_what_has_no_graph(make, error, text):
    with pytest.raises(error) as caught:
        sg.graph_of(make(sg.ones(3, requires_grad=True)))
    assert caught.value.summary == text


def _freed(x: Tensor) -> Any:
    y = x.exp().sum()
    y.backward()
    return y


def _overwritten(x: Tensor) -> Any:
    factor = sg.ones(3)
    y = (x * factor).sum()
    factor += 1
    return y


def test_line_numbers_under_detect_anomaly():
    x = sg.ones(3, requires_grad=True)
    with sg.detect_anomaly():
        y = (x * 2).sum()
    assert all(n.where is not None and n.where.file == __file__ for n in sg.graph_of(y).nodes if n.inputs)


def test_lines_that_are_missing_are_noted_from_then_on():
    mode = modes.now
    left = mode._left
    try:
        mode._left = 0
        mode._watch()
        w = sg.ones(2, requires_grad=True)
        wheres = []
        for _ in range(2):
            y = w * 2
            wheres.append([node.where for node in sg.graph_of(y, backward=False).nodes if node.op.name == "mul"])
        assert wheres[0] == [None]
        assert wheres[1][0].short.startswith("test_tape_graph.py:")
    finally:
        mode._left = left
        mode._watch()
