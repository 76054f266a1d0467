"""Update rules against NumPy written from the papers and PyTorch's documentation, and against PyTorch itself."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import optim

STEPS = 20
SHAPES = [(3, 2), (4,), ()]


def sgd(p, g, slots, t, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = g + weight_decay * p
    if momentum:
        slots["b"] = g if t == 1 else momentum * slots["b"] + (1 - dampening) * g
        g = g + momentum * slots["b"] if nesterov else slots["b"]
    return p - lr * g


def adam(p, g, slots, t, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled=False):
    if decoupled:
        p = p - lr * weight_decay * p
    else:
        g = g + weight_decay * p
    slots["m"] = betas[0] * slots.get("m", 0) + (1 - betas[0]) * g
    slots["v"] = betas[1] * slots.get("v", 0) + (1 - betas[1]) * g**2
    m, v = slots["m"] / (1 - betas[0] ** t), slots["v"] / (1 - betas[1] ** t)
    return p - lr * m / (np.sqrt(v) + eps)


def adamw(*args, weight_decay=1e-2, **kwargs):
    return adam(*args, weight_decay=weight_decay, decoupled=True, **kwargs)


RULES = [
    (optim.SGD, sgd, {"lr": 0.1}),
    (optim.SGD, sgd, {"lr": 0.1, "weight_decay": 0.01}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.8, "dampening": 0.3}),
    (optim.SGD, sgd, {"lr": 0.0, "momentum": 0.8}),
    (optim.Adam, adam, {}),
    (optim.Adam, adam, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3}),
    (optim.Adam, adam, {"lr": 0.1, "weight_decay": 0.2}),
    (optim.Adam, adam, {"lr": 0.1, "betas": (0.0, 0.0)}),
    (optim.AdamW, adamw, {}),
    (optim.AdamW, adamw, {"lr": 0.1, "weight_decay": 0.5}),
    (optim.AdamW, adamw, {"lr": 0.1, "weight_decay": 0.0}),
]  # fmt: skip
ids = [f"{row[0].__name__} {row[2]}" for row in RULES]


def problem(dtype=np.float64):
    """Parameters, and the gradients of each step; one parameter has none in every third step."""
    rng = np.random.default_rng(0)
    params = [rng.normal(size=s).astype(dtype) for s in SHAPES]
    grads = [[rng.normal(size=s).astype(dtype) for s in SHAPES] for _ in range(STEPS)]
    for step in range(0, STEPS, 3):
        grads[step][1] = None
    return params, grads


def by_reference(rule, kwargs):
    params, grads = problem()
    slots, counts = [{} for _ in params], [0] * len(params)
    for step in grads:
        for i, g in enumerate(step):
            if g is not None:
                counts[i] += 1
                params[i] = rule(params[i], g, slots[i], counts[i], **kwargs)
    return params


def eager(cls, kwargs, dtype=np.float64):
    arrays, grads = problem(dtype)
    params = [sg.tensor(a, dtype=dtype, requires_grad=True) for a in arrays]
    opt = cls(params, **kwargs)
    for step in grads:
        for p, g in zip(params, step, strict=True):
            p.grad = None if g is None else sg.tensor(g, dtype=dtype)
        opt.step()
    return params, opt


@pytest.mark.parametrize(("cls", "rule", "kwargs"), RULES, ids=ids)
def test_float64(cls, rule, kwargs):
    params, _ = eager(cls, kwargs)
    for p, expected in zip(params, by_reference(rule, kwargs), strict=True):
        np.testing.assert_allclose(p.detach().numpy(), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("cls", "rule", "kwargs"), RULES, ids=ids)
def test_float32_stays_float32(cls, rule, kwargs):
    params, opt = eager(cls, kwargs, np.float32)
    for p, expected in zip(params, by_reference(rule, kwargs), strict=True):
        assert p.dtype == np.float32
        np.testing.assert_allclose(p.detach().numpy(), expected, rtol=1e-4, atol=1e-5)
        assert {s.dtype for name, s in opt.state.get(p, {}).items() if name != "step"} <= {np.dtype(np.float32)}


def stepper(cls, kwargs, dtype):
    """Parameters, and a function that takes one step with given gradients."""
    params = [sg.tensor(a, requires_grad=True) for a in problem(dtype)[0]]
    opt = cls(params, **kwargs)

    def step(grads):
        for p, g in zip(params, grads, strict=True):
            p.grad = g
        opt.step()

    return params, step, opt


def without_gaps(dtype):
    _, grads = problem(dtype)
    return [[np.zeros(s, dtype) if g is None else g for g, s in zip(step, SHAPES, strict=True)] for step in grads]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("cls", "rule", "kwargs"), RULES, ids=ids)
def test_compiled(cls, rule, kwargs, dtype):
    """The same step under `sg.compile`: one trace, and the eager side sees parameters and slots."""
    params, step, opt = stepper(cls, kwargs, dtype)
    others, other_step, other_opt = stepper(cls, kwargs, dtype)
    compiled = sg.compile(other_step)
    for i, grads in enumerate(without_gaps(dtype)):
        opt.lr = other_opt.lr = kwargs.get("lr", 1e-3) * 0.9**i
        step([sg.tensor(g) for g in grads])
        compiled([sg.tensor(g) for g in grads])
    assert compiled.recompiles == ["first call"]
    tolerance = {"rtol": 1e-12, "atol": 1e-13} if dtype == np.float64 else {"rtol": 1e-5, "atol": 1e-6}
    for p, o in zip(params, others, strict=True):
        np.testing.assert_allclose(o.detach().numpy(), p.detach().numpy(), **tolerance)
        for name, slot in opt.state[p].items():
            np.testing.assert_allclose(other_opt.state[o][name].numpy(), slot.numpy(), **tolerance)


@pytest.mark.parametrize(("cls", "rule", "kwargs"), RULES, ids=ids)
def test_in_a_graph(cls, rule, kwargs):
    """The same rule as one operation of a graph; the gradients are fed."""
    arrays, grads = problem()[0], without_gaps(np.float64)
    params, step_now, _ = stepper(cls, kwargs, np.float64)
    for step in grads:
        step_now([sg.tensor(g) for g in step])
    with sg.Graph().as_default():
        variables = [sg.Variable(a) for a in arrays]
        feeds = [sg.placeholder(np.float64, a.shape) for a in arrays]
        train = cls(**kwargs).apply_gradients(list(zip(feeds, variables, strict=True)))
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            for step in grads:
                sess.run(train, dict(zip(feeds, step, strict=True)))
            values = sess.run(variables)
    for p, value in zip(params, values, strict=True):
        np.testing.assert_allclose(value, p.detach().numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.oracle
@pytest.mark.parametrize(("cls", "rule", "kwargs"), RULES, ids=ids)
def test_against_torch(cls, rule, kwargs):
    torch = pytest.importorskip("torch")
    ours, opt = eager(cls, kwargs)
    arrays, grads = problem()
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    other = getattr(torch.optim, cls.__name__)(theirs, **kwargs)
    for step in grads:
        for p, g in zip(theirs, step, strict=True):
            p.grad = None if g is None else torch.tensor(g)
        other.step()
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12, atol=1e-13)
    state = other.state_dict()["state"]
    for i, slots in opt.state_dict()["state"].items():
        for name in slots.keys() & state[i].keys():
            np.testing.assert_allclose(slots[name].numpy(), state[i][name].numpy(), rtol=1e-12, atol=1e-13)
