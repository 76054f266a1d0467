"""`param_groups` edited in place: the groups, their parameters, their hyper-parameters - before, between and inside steps, in
every mode, against PyTorch."""

from __future__ import annotations

import copy
import functools
import pickle

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager.tensor import Structure

try:
    import torch as judge  # of what a change means
except ImportError:
    judge = sg  # eager mode, which is compared with PyTorch where that is installed

pytestmark = pytest.mark.usefixtures("interpreted")


def others(opt):
    """The hyper-parameters of the first group."""
    return {name: value for name, value in opt.param_groups[0].items() if name != "params"}


def params(opt):
    return opt.param_groups[0]["params"]


def add(container, values):
    container += values


CHANGES = {
    "params.pop": lambda opt, x: params(opt).pop(),
    "params.pop(0)": lambda opt, x: params(opt).pop(0),
    "params.append": lambda opt, x: params(opt).append(x),
    "params.insert": lambda opt, x: params(opt).insert(0, x),
    "params.extend": lambda opt, x: params(opt).extend(iter([x])),
    "params +=": lambda opt, x: add(params(opt), [x]),
    "params.clear": lambda opt, x: params(opt).clear(),
    "params.remove": lambda opt, x: params(opt).remove(params(opt)[0]),
    "params.reverse": lambda opt, x: params(opt).reverse(),
    "params.sort": lambda opt, x: params(opt).sort(key=lambda p: p.shape),
    "params[0] =": lambda opt, x: params(opt).__setitem__(0, x),
    "params[:] =": lambda opt, x: params(opt).__setitem__(slice(None), [x]),
    "del params[0]": lambda opt, x: params(opt).__delitem__(0),
    "params *= 0": lambda opt, x: params(opt).__imul__(0),
    "['params'] =": lambda opt, x: opt.param_groups[0].__setitem__("params", [x]),
    "groups.append": lambda opt, x: opt.param_groups.append({**others(opt), "params": [x]}),
    "groups.append, with a rate": lambda opt, x: opt.param_groups.append({**others(opt), "params": [x], "lr": 1.0}),
    "groups.append, without defaults": lambda opt, x: opt.param_groups.append({"params": [x], "lr": 1.0}),
    "groups.insert": lambda opt, x: opt.param_groups.insert(0, {**others(opt), "params": [x]}),
    "groups +=": lambda opt, x: add(opt.param_groups, [{**others(opt), "params": [x]}]),
    "groups.pop": lambda opt, x: opt.param_groups.pop(),
    "groups.clear": lambda opt, x: opt.param_groups.clear(),
    "groups.reverse": lambda opt, x: opt.param_groups.reverse(),
    "del groups[-1]": lambda opt, x: opt.param_groups.__delitem__(-1),
    "groups[-1] =": lambda opt, x: opt.param_groups.__setitem__(-1, {**others(opt), "params": [x]}),
    "groups[:1] =": lambda opt, x: opt.param_groups.__setitem__(slice(0, 1), []),
    "param_groups =": lambda opt, x: setattr(opt, "param_groups", opt.param_groups[:1]),
    "add_param_group": lambda opt, x: opt.add_param_group({"params": [x], "lr": 1.0}),
    "['lr'] =": lambda opt, x: opt.param_groups[0].__setitem__("lr", 0.25),
    "update": lambda opt, x: opt.param_groups[0].update(lr=0.25),
    "|=": lambda opt, x: opt.param_groups[0].__ior__({"lr": 0.25}),
    "setdefault": lambda opt, x: opt.param_groups[0].setdefault("note", 2.0),
    "pop of one that is needed": lambda opt, x: opt.param_groups[0].pop("weight_decay", None),
    "pop and set": lambda opt, x: (opt.param_groups[0].pop("lr"), opt.param_groups[0].__setitem__("lr", 0.25)),
    "del of one that is needed": lambda opt, x: opt.param_groups[0].pop("lr", None),
    "clear": lambda opt, x: opt.param_groups[-1].clear(),
    "state.clear": lambda opt, x: opt.state.clear(),
    "state.pop": lambda opt, x: opt.state.pop(params(opt)[0], None),
}
OPTIMIZERS = {
    "SGD": lambda lib, groups: lib.optim.SGD(groups, lr=0.125, momentum=0.5, weight_decay=0.25),
    "Adam": lambda lib, groups: lib.optim.Adam(groups, lr=0.125, weight_decay=0.25),
}
WHEN = ("before", "between", "inside")
MODES = {
    "eager": lambda step: step,
    "whole": lambda step: sg.compile(step),
    "cut": lambda step: sg.compile(lambda t: step(t * (1.0 if t.sum().item() > -100 else 2.0)), on_break="split"),
}


def attempted(change, *args):
    """The name of the error that a change raises; None for none."""
    try:
        change(*args)
    except (AttributeError, IndexError, KeyError, ValueError) as error:
        return "an error" if isinstance(error, ValueError) else type(error).__name__


def history(lib, wrap, make, change, when):
    """The loss, the parameters and the groups after each of four steps, to the first error: PyTorch's then has updated some of
    the parameters."""
    a, b, c, x = (lib.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [3.0, -1.0], [0.5, 0.25], [-1.0, 4.0]))
    parameters = (a, b, c, x)
    opt = make(lib, [{"params": [a, b]}, {"params": [c], "lr": 0.5}])
    found = []

    def step(t):
        for p in parameters:
            p.grad = None
        loss = ((a * b + c * x) * t).sum() + (x * x).sum()
        loss.backward()
        if when == "inside":
            change(opt, x)
        opt.step()
        return loss

    wrapped = wrap(step)
    if when == "before":
        found.append(attempted(change, opt, x))
    for i in range(4):
        error = attempted(lambda t: found.append(wrapped(t).item()), lib.tensor([i + 1.0, 0.5]))
        if error:
            return [*found, error]
        found.append([p.detach().tolist() for p in parameters])
        groups = [g["params"] for g in opt.param_groups if "params" in g]
        found.append([[next(i for i, q in enumerate(parameters) if q is p) for p in group] for group in groups])
        if when == "between" and i == 1:
            found.append(attempted(change, opt, x))
    return found


def assert_close(actual, expected):
    if isinstance(expected, list):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_close(one, other)
    elif isinstance(expected, float):
        np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=2e-5)
    else:
        assert actual == expected


@functools.cache
def judged(optimizer, name, when):
    return history(judge, lambda step: step, OPTIMIZERS[optimizer], CHANGES[name], when)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("name", CHANGES)
def test_changes(name, when, mode):
    """Eagerly with both optimizers; compiled, with one or the other in turn."""
    turn = [*CHANGES].index(name) + [*WHEN].index(when) + [*MODES].index(mode)
    for optimizer, make in [*OPTIMIZERS.items()][turn % 2 :][:1] if mode != "eager" else OPTIMIZERS.items():
        expected = judged(optimizer, name, when)
        actual = history(sg, MODES[mode], make, CHANGES[name], when)
        try:
            assert_close(actual, expected)
        except AssertionError as error:
            raise AssertionError(f"{optimizer}: {error}") from None


@pytest.mark.parametrize("mode", MODES)
def test_a_parameter_that_is_given_twice_by_append(mode):
    """It steps twice, as in PyTorch; where steps are counted, the function runs in segments."""
    sgd = [{}, {"momentum": 0.5}, {"momentum": 0.5, "dampening": 0.25}, {"momentum": 0.5, "nesterov": True}]
    makers = [lambda lib, groups, more=more: lib.optim.SGD(groups, lr=0.125, **more) for more in sgd]
    for make in (*makers, OPTIMIZERS["Adam"]):
        for when in ("before", "between"):
            change = lambda opt, x: params(opt).append(params(opt)[0])  # noqa: E731
            expected = history(judge, lambda step: step, make, change, when)
            assert_close(history(sg, MODES[mode], make, change, when), expected)


def test_lists_of_the_user_are_guarded_by_their_members():
    """A list that is written into a group stays the user's own."""
    a, b = sg.tensor([1.0], requires_grad=True), sg.tensor([1.0], requires_grad=True)
    opt = sg.optim.SGD([a], lr=0.5)
    own = [a]
    opt.param_groups[0]["params"] = own

    @sg.compile
    def step():
        (a + b).sum().backward()
        opt.step()
        opt.zero_grad()
        b.grad = None

    step()
    own.append(b)
    step()
    assert (a.item(), b.item()) == (0.0, 0.5)
    assert opt.param_groups[0]["params"] is own


def test_copies_have_groups_of_their_own():
    a = sg.tensor([1.0], requires_grad=True)
    opt = sg.optim.SGD([a], lr=0.5)
    for twin in (copy.deepcopy(opt), pickle.loads(pickle.dumps(opt))):
        before = Structure.changes
        twin.param_groups[0]["params"].clear()
        assert Structure.changes > before
        assert len(opt.param_groups[0]["params"]) == 1
        twin.param_groups.append({"params": [a], "lr": 1.0})
        with pytest.raises(sg.ArgumentError):
            twin.param_groups[-1]["lr"] = float("nan")
