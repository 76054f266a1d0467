"""LBFGS against SciPy's minimum and against PyTorch, step by step."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import staticgrad as sg
from staticgrad import optim
from staticgrad.errors import ArgumentError, GraphError, TraceError
from staticgrad.optim.lbfgs import Point, cubic_minimum

pytestmark = pytest.mark.usefixtures("refusing")

BEGIN = np.array([0.3, 1.4, 0.7, -0.4])


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def problem(tensor, begin=BEGIN):
    """Two parameters, of which the function takes a vector made of both."""
    return [tensor(begin[:3].reshape(3, 1)), tensor(begin[3:])]


def losses(module, cls, params, steps, **kwargs):
    """The loss of each step."""
    opt = cls(params, **kwargs)
    concatenate = getattr(module, "concatenate", None) or module.cat

    def closure():
        opt.zero_grad()
        loss = rosenbrock(concatenate([params[0].reshape(-1), params[1]]))
        loss.backward()
        return loss

    return [opt.step(closure).item() for _ in range(steps)], opt


def ours(**kwargs):
    params = problem(lambda a: sg.tensor(a, requires_grad=True))
    return (*losses(sg, optim.LBFGS, params, kwargs.pop("steps", 5), **kwargs), params)


SETTINGS = [
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "max_iter": 7, "history_size": 2, "lr": 0.5},
    {"lr": 0.01, "max_iter": 10},
    {"line_search_fn": "strong_wolfe", "max_iter": 30, "max_eval": 12},
]


def test_finds_the_minimum_that_scipy_finds():
    found, _, params = ours(steps=8, line_search_fn="strong_wolfe")
    wanted = optimize.minimize(rosenbrock, BEGIN, method="L-BFGS-B", tol=1e-14).x
    x = np.concatenate([p.detach().numpy().reshape(-1) for p in params])
    np.testing.assert_allclose(x, wanted, atol=1e-5)
    assert found[-1] < 1e-8


def test_least_point_of_a_cubic():
    """x^3 - 3 x has its minimum at 1."""
    points = [Point(t, t**3 - 3 * t, np.empty(0), 3 * t**2 - 3) for t in (0.2, 2.5)]
    assert cubic_minimum(*points) == pytest.approx(1.0)
    assert cubic_minimum(*reversed(points)) == pytest.approx(1.0)
    assert cubic_minimum(*points, 1.5, 2.0) == 1.5


def test_going_on_from_a_saved_state():
    settings = {"line_search_fn": "strong_wolfe", "max_iter": 4}
    whole = ours(steps=6, **settings)[0]
    first, opt, params = ours(steps=3, **settings)
    again = [sg.tensor(p.detach().numpy(), requires_grad=True) for p in params]
    other = optim.LBFGS(again, **settings)
    other.load_state_dict(opt.state_dict())
    assert other.state_dict()["state"][0]["n_iter"] == opt.state[params[0]]["n_iter"]

    def closure():
        other.zero_grad()
        loss = rosenbrock(sg.concatenate([again[0].reshape(-1), again[1]]))
        loss.backward()
        return loss

    assert first + [float(other.step(closure)) for _ in range(3)] == pytest.approx(whole, rel=1e-9)


def test_a_closure_may_be_a_compiled_function():
    target = np.array([1.0, -2.0, 3.0])
    w = sg.zeros(3, dtype="float64", requires_grad=True)
    opt = optim.LBFGS([w], line_search_fn="strong_wolfe")

    @sg.compile
    def closure():
        opt.zero_grad()
        loss = ((w - target) ** 2 * np.array([1.0, 10.0, 100.0])).sum()
        loss.backward()
        return loss

    opt.step(closure)
    np.testing.assert_allclose(w.detach().numpy(), target, atol=1e-6)


def test_refusals():
    w = sg.ones(2, requires_grad=True)
    with pytest.raises(ArgumentError, match="LBFGS doesn't support per-parameter options"):
        optim.LBFGS([{"params": [w]}, {"params": [sg.ones(1, requires_grad=True)]}])
    with pytest.raises(ArgumentError, match="only 'strong_wolfe' is supported"):
        optim.LBFGS([w], line_search_fn="armijo")
    opt = optim.LBFGS([w])
    with pytest.raises(ArgumentError, match="needs a closure"):
        opt.step()
    with pytest.raises(TraceError, match="depends on values"):
        sg.compile(lambda: opt.step(lambda: (w * w).sum()))()
    with pytest.raises(GraphError, match="for eager tensors"):
        optim.LBFGS()


@pytest.mark.oracle
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_against_torch(settings):
    torch = pytest.importorskip("torch")
    theirs = problem(lambda a: torch.tensor(a, requires_grad=True))
    wanted, opt = losses(torch, torch.optim.LBFGS, theirs, 5, **settings)
    found, mine, params = ours(steps=5, **settings)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-18)
    state, other = mine.state_dict()["state"][0], opt.state_dict()["state"][0]
    assert (state["func_evals"], state["n_iter"]) == (other["func_evals"], other["n_iter"])
    assert state.keys() == other.keys() - {"al"}
    again = optim.LBFGS([sg.tensor(p.detach().numpy(), requires_grad=True) for p in theirs])
    again.load_state_dict(opt.state_dict())
    assert len(again.state_dict()["state"][0]["old_dirs"]) == len(other["old_dirs"])
