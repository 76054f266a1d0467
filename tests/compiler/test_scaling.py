"""What is done before kernels compile takes time in proportion to the graph: calls of functions are counted, at n nodes and at
four times as many."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.compiler.execute import plan as plans
from tests.compiler.helpers import without_machine_code

SMALL, LARGE = 300, 1200
"""Nodes, more or less; the larger graphs are deeper than Python's stack where they are deep."""
RATIO = 5.5
"""Of the calls that the two take: 4 in proportion, 16 by the square."""

Graph = tuple[Any, dict[Any, np.ndarray]]


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def feed(*shape: int | None) -> Any:
    return sg.placeholder("float32", shape)


def chain(n: int) -> Graph:
    x = h = feed(64)
    for i in range(n):
        h = sg.tanh(h) if i % 2 else h * 1.5
    return h, {x: ones(64)}


def gradient_of_a_chain(n: int) -> Graph:
    x = h = feed(64)
    for _ in range(n // 2):
        h = sg.tanh(h)
    return sg.gradients(sg.sum(h), [x]), {x: ones(64)}


def wide_sum(n: int) -> Graph:
    x = h = feed(64)
    for i in range(n // 2):
        h = h + sg.sin(x * float(i))
    return h, {x: ones(64)}


def independent_results(n: int) -> Graph:
    x = feed(64)
    return [sg.tanh(x * float(i)) for i in range(n // 2)], {x: ones(64)}


def uses_of_one_value(n: int) -> Graph:
    x = feed(64)
    y = sg.exp(x)
    return sg.stack([sg.sum(y * float(i)) for i in range(n // 3)]), {x: ones(64)}


def scalars(n: int) -> Graph:
    x = h = feed()
    for i in range(n):
        h = h * 1.01 if i % 2 else sg.sin(h)
    return h, {x: ones()}


def separate_scalars(n: int) -> Graph:
    x = feed(n)
    return sg.stack([sg.sin(x[i]) for i in range(n // 3)]), {x: ones(n)}


def slices(n: int) -> Graph:
    x = feed(n, 8)
    return [sg.tanh(x[i]) for i in range(n // 2)], {x: ones(n, 8)}


def gradient_of_slices(n: int) -> Graph:
    x = feed(n, 8)
    total = sg.sum(sg.tanh(x[0]))
    for i in range(1, n // 6):
        total = total + sg.sum(sg.tanh(x[i]))
    return sg.gradients(total, [x]), {x: ones(n, 8)}


def concatenation(n: int) -> Graph:
    x = feed(4, 8)
    return sg.concatenate([x * float(i) for i in range(n)]), {x: ones(4, 8)}


def gradient_of_a_concatenation(n: int) -> Graph:
    x = feed(n // 4, 8)
    whole = sg.concatenate([sg.tanh(x[i : i + 1]) for i in range(n // 4)])
    return sg.gradients(sg.sum(sg.square(whole)), [x]), {x: ones(n // 4, 8)}


def gradient_of_a_concatenation_of_unknown_extents(n: int) -> Graph:
    xs = [feed(None, 8) for _ in range(n // 6)]
    return sg.gradients(sg.sum(sg.square(sg.concatenate(xs))), xs), {x: ones(3, 8) for x in xs}


def stacks(n: int) -> Graph:
    x = h = feed(8)
    for _ in range(n // 4):
        h = sg.sum(sg.stack([h, x]), 0)
    return h, {x: ones(8)}


def gathers(n: int) -> Graph:
    x, index = feed(64, 32), sg.placeholder("int64", (16,))
    total = sg.take(x, index, 0)
    for i in range(n // 3):
        total = total + sg.take(x * float(i), index, 0)
    return total, {x: ones(64, 32), index: np.zeros(16, np.int64)}


def recurrent(n: int) -> Graph:
    x = h = feed(8, 16)
    w = sg.Variable(ones(16, 16))
    for _ in range(n // 8):
        h = sg.tanh(h @ w + x)
    loss = sg.sum(h)
    return [loss, w.assign(w - 0.1 * sg.gradients(loss, [w])[0])], {x: ones(8, 16)}


def layer_norms(n: int) -> Graph:
    x = h = feed(8, 32)
    for _ in range(n // 40):
        h = h + (h - sg.mean(h, 1, keepdims=True)) / sg.sqrt(1e-5 + sg.var(h, 1, keepdims=True, correction=0))
    return sg.gradients(sg.sum(h), [x]), {x: ones(8, 32)}


def variables(n: int) -> Graph:
    x, kept = feed(8), [sg.Variable(ones(8)) for _ in range(n // 4)]
    return [v.assign(v + x * float(i)) for i, v in enumerate(kept)], {x: ones(8)}


def assigns_in_order(n: int) -> Graph:
    x, v = feed(8), sg.Variable(ones(8))
    last = v.assign(x)
    for _ in range(n // 4):
        with sg.control_dependencies([last]):
            last = v.assign(v.read_value() + x)
    return last, {x: ones(8)}


def feeds(n: int) -> Graph:
    xs = [feed(8) for _ in range(n // 2)]
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return total, {x: ones(8) for x in xs}


def large_body(n: int) -> Graph:
    x = feed(10, 8)

    def step(h: Any, item: Any) -> Any:
        for _ in range(n // 8):
            h = sg.tanh(h) + item
        return h, h

    _, found = sg.scan(step, x[0], x)
    return sg.gradients(sg.sum(found), [x]), {x: ones(10, 8)}


def many_loops(n: int) -> Graph:
    x = feed(10, 8)
    totals = [sg.sum(sg.scan(lambda h, item, i=i: (sg.tanh(h) + item * float(i), h), x[0], x)[1]) for i in range(n // 60)]
    return sg.gradients(sg.sum(sg.stack(totals)), [x]), {x: ones(10, 8)}


GRAPHS: tuple[Callable[[int], Graph], ...] = (
    chain, gradient_of_a_chain, wide_sum, independent_results, uses_of_one_value, scalars, separate_scalars, slices,
    gradient_of_slices, concatenation, gradient_of_a_concatenation, gradient_of_a_concatenation_of_unknown_extents, stacks,
    gathers, recurrent, layer_norms, variables, assigns_in_order, feeds, large_body, many_loops,
)  # fmt: skip


def in_session(build: Callable[[int], Graph], n: int) -> None:
    graph = sg.Graph()
    with graph.as_default():
        fetches, values = build(n)
    sg.Session(graph).plan(fetches, values).explain()


class Made(Exception):
    """The plan is there; it has no machine code to run."""


def training(n: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    layers = [nn.Linear(16, 16) for _ in range(n // 40)]
    optimizer = optim.Adam([p for layer in layers for p in layer.parameters()], lr=1e-3)

    def step(x: Any) -> Any:
        h = x
        for layer in layers:
            h = sg.tanh(layer(h))
        loss = (h * h).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, (ones(8, 16),)


def changes_in_place(n: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def function(x: Any) -> Any:
        y = x * 1.0
        for i in range(n // 2):
            y.add_(x * float(i))
        return y

    return function, (sg.tensor(ones(64)),)


def traced_concatenation(n: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    x = sg.tensor(ones(4, 8), requires_grad=True)

    def function() -> Any:
        return sg.grad(sg.concatenate([sg.tanh(x) * float(i) for i in range(n // 4)]).square().sum(), x)

    return function, ()


TRACES: tuple[Callable[[int], Any], ...] = training, changes_in_place, traced_concatenation


def traced(build: Callable[[int], Any], n: int) -> None:
    function, arguments = build(n)
    with pytest.raises(Made):
        sg.compile(function)(*arguments)


def calls(action: Callable[[Any, int], None], build: Any, n: int) -> int:
    profile = cProfile.Profile()
    profile.runcall(action, build, n)
    return pstats.Stats(profile).total_calls


@pytest.mark.parametrize(
    ("action", "build"),
    [*((in_session, build) for build in GRAPHS), *((traced, build) for build in TRACES)],
    ids=lambda part: part.__name__,
)
def test_a_plan_takes_calls_in_proportion(monkeypatch: pytest.MonkeyPatch, action: Any, build: Any):
    def made(*arguments: Any) -> None:
        raise Made

    without_machine_code(monkeypatch)
    monkeypatch.setattr(plans.Plan, "execute", made)
    monkeypatch.setattr(plans.Plan, "run", made)
    action(build, SMALL // 5)  # what is imported and cached at first
    small, large = (calls(action, build, n) for n in (SMALL, LARGE))
    assert large < RATIO * small, f"{small} calls at {SMALL} nodes, {large} at {LARGE}"


def eager_views(n: int) -> Any:
    x = sg.tensor(ones(n, 8), requires_grad=True)
    return sg.sum(sg.square(sg.stack([x[i] for i in range(n)])))


def eager_sum_of_views(n: int) -> Any:
    x = sg.tensor(ones(n, 8), requires_grad=True)
    y = x * 1.0
    return sum((sg.sum(y[i]) for i in range(n)), sg.tensor(0.0))


def eager_concatenation(n: int) -> Any:
    return sg.sum(sg.concatenate([sg.tensor(ones(2, 8), requires_grad=True) for _ in range(n)]))


@pytest.mark.parametrize("build", [eager_views, eager_sum_of_views, eager_concatenation], ids=lambda build: build.__name__)
def test_an_eager_backward_pass_takes_calls_in_proportion(build: Callable[[int], Any]):
    build(4).backward()
    small, large = (calls(lambda loss, n: loss.backward(), build(n), n) for n in (SMALL, LARGE))
    assert large < RATIO * small
