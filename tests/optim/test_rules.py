"""Update rules against NumPy written from the papers and PyTorch's documentation, and against PyTorch itself."""

from __future__ import annotations

import inspect

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


def nadam(p, g, slots, t, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3,
          decoupled_weight_decay=False, maximize=False):  # fmt: skip
    g = -g if maximize else g
    if decoupled_weight_decay:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    mu, ahead = (betas[0] * (1 - 0.5 * 0.96 ** (n * momentum_decay)) for n in (t, t + 1))
    product = slots["product"] = slots.get("product", 1.0) * mu
    slots["m"] = betas[0] * slots.get("m", 0) + (1 - betas[0]) * g
    slots["v"] = betas[1] * slots.get("v", 0) + (1 - betas[1]) * g**2
    size = np.sqrt(slots["v"] / (1 - betas[1] ** t)) + eps
    return p - lr * (1 - mu) / (1 - product) * g / size - lr * ahead / (1 - product * ahead) * slots["m"] / size


def radam(p, g, slots, t, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled_weight_decay=False):
    if decoupled_weight_decay:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    slots["m"] = betas[0] * slots.get("m", 0) + (1 - betas[0]) * g
    slots["v"] = betas[1] * slots.get("v", 0) + (1 - betas[1]) * g**2
    m, c2 = slots["m"] / (1 - betas[0] ** t), 1 - betas[1] ** t
    limit = 2 / (1 - betas[1]) - 1
    rho = limit - 2 * t * betas[1] ** t / c2
    if rho <= 5:
        return p - lr * m
    r = np.sqrt((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho))
    return p - lr * m * r * np.sqrt(c2) / (np.sqrt(slots["v"]) + eps)


def adamax(p, g, slots, t, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    g = g + weight_decay * p
    slots["m"] = betas[0] * slots.get("m", 0) + (1 - betas[0]) * g
    slots["u"] = np.maximum(betas[1] * slots.get("u", 0), np.abs(g) + eps)
    return p - lr / (1 - betas[0] ** t) * slots["m"] / slots["u"]


def adagrad(p, g, slots, t, lr=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10):
    g = g + weight_decay * p
    slots["s"] = slots.get("s", initial_accumulator_value) + g**2
    return p - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(slots["s"]) + eps)


def adadelta(p, g, slots, t, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0):
    g = g + weight_decay * p
    slots["v"] = rho * slots.get("v", 0) + (1 - rho) * g**2
    d = np.sqrt(slots.get("u", 0) + eps) / np.sqrt(slots["v"] + eps) * g
    slots["u"] = rho * slots.get("u", 0) + (1 - rho) * d**2
    return p - lr * d


def rmsprop(p, g, slots, t, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False):
    g = g + weight_decay * p
    v = slots["v"] = alpha * slots.get("v", 0) + (1 - alpha) * g**2
    if centered:
        slots["g"] = alpha * slots.get("g", 0) + (1 - alpha) * g
        v = v - slots["g"] ** 2
    slots["b"] = momentum * slots.get("b", 0) + g / (np.sqrt(v) + eps)
    return p - lr * slots["b"]


def rprop(p, g, slots, t, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50)):
    turn = np.sign(g * slots.get("prev", 0.0))
    factor = np.where(turn > 0, etas[1], np.where(turn < 0, etas[0], 1.0))
    slots["size"] = np.clip(slots.get("size", lr) * factor, *step_sizes)
    slots["prev"] = np.where(turn < 0, 0.0, g)
    return p - np.sign(slots["prev"]) * slots["size"]


def asgd(p, g, slots, t, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0):
    g = g + weight_decay * p
    eta = slots.get("eta", lr)
    slots["eta"] = lr / (1 + lambd * lr * t) ** alpha
    return p * (1 - lambd * eta) - eta * g


def ascending(rule):
    def climb(p, g, slots, t, maximize=True, **kwargs):
        return rule(p, -g, slots, t, **kwargs)

    return climb


def amsgrad(p, g, slots, t, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, amsgrad=True):
    slots["m"] = betas[0] * slots.get("m", 0) + (1 - betas[0]) * g
    slots["v"] = betas[1] * slots.get("v", 0) + (1 - betas[1]) * g**2
    slots["most"] = np.maximum(slots.get("most", 0), slots["v"])
    return p - lr / (1 - betas[0] ** t) * slots["m"] / (np.sqrt(slots["most"] / (1 - betas[1] ** t)) + eps)


def adafactor(p, g, slots, t, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0):
    least = np.finfo(np.float64).eps if eps[0] is None else eps[0]
    inflow, square = t**beta2_decay, g * g

    def running(name, value):
        slots[name] = slots.get(name, 0) + inflow * (value - slots.get(name, 0))
        return slots[name]

    if p.ndim > 1:
        rows, columns = running("r", square.mean(-1, keepdims=True)), running("c", square.mean(-2, keepdims=True))
        v = rows @ columns / np.maximum(rows.mean(-2, keepdims=True), least)
    else:
        v = running("v", square)
    u = g / np.sqrt(np.maximum(v, least**2))
    size = max(eps[1], np.sqrt((p * p).mean())) * min(lr, t**-0.5)
    return p * (1 - lr * weight_decay) - size * u / max(1, np.sqrt((u * u).mean()) / d)


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
    (optim.SGD, ascending(sgd), {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "maximize": True}),
    (optim.Adam, ascending(adam), {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    (optim.Adam, amsgrad, {"lr": 0.1, "betas": (0.5, 0.6), "amsgrad": True}),
    (optim.NAdam, nadam, {}),
    (optim.NAdam, nadam, {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1, "maximize": True}),
    (optim.NAdam, nadam, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    (optim.RAdam, radam, {}),
    (optim.RAdam, radam, {"lr": 0.1, "weight_decay": 0.1, "betas": (0.8, 0.9)}),
    (optim.RAdam, radam, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    (optim.Adamax, adamax, {}),
    (optim.Adamax, adamax, {"lr": 0.1, "weight_decay": 0.1}),
    (optim.Adagrad, adagrad, {}),
    (optim.Adagrad, adagrad, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
    (optim.Adadelta, adadelta, {}),
    (optim.Adadelta, adadelta, {"lr": 0.5, "rho": 0.5, "weight_decay": 0.1}),
    (optim.RMSprop, rmsprop, {}),
    (optim.RMSprop, rmsprop, {"lr": 0.1, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.1, "momentum": 0.9,
                              "centered": True}),
    (optim.Rprop, rprop, {}),
    (optim.Rprop, rprop, {"lr": 0.1, "etas": (0.3, 2.0), "step_sizes": (0.05, 0.5)}),
    (optim.Adafactor, adafactor, {}),
    (optim.Adafactor, adafactor, {"lr": 0.5, "d": 1.5, "eps": (1e-2, 0.1), "weight_decay": 0.1}),
    (optim.ASGD, asgd, {}),
    (optim.ASGD, asgd, {"lr": 0.1, "lambd": 0.1, "t0": 5, "weight_decay": 0.1}),
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
        exact = {"step", *cls.scalar_slots}
        assert {s.dtype for name, s in opt.state.get(p, {}).items() if name not in exact} <= {np.dtype(np.float32)}


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


@pytest.fixture
def torch():
    """Its scalars of state, such as NAdam's product, have the default dtype."""
    torch = pytest.importorskip("torch")
    torch.set_default_dtype(torch.float64)
    yield torch
    torch.set_default_dtype(torch.float32)


@pytest.mark.oracle
@pytest.mark.parametrize(("cls", "rule", "kwargs"), RULES, ids=ids)
def test_against_torch(torch, cls, rule, kwargs):
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
        assert slots.keys() >= {name for name, value in state[i].items() if value is not None}
        for name in slots.keys() & state[i].keys():
            np.testing.assert_allclose(slots[name].numpy(), state[i][name].numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.oracle
@pytest.mark.parametrize(("cls", "rule", "kwargs"), RULES, ids=ids)
def test_a_state_goes_to_torch_and_back(torch, cls, rule, kwargs):
    """Half of the steps here, some there with the state of here, the rest here with the state of there."""
    arrays, grads = problem()
    ours = [sg.tensor(a, requires_grad=True) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    judge = [torch.tensor(a, requires_grad=True) for a in arrays]
    whole = getattr(torch.optim, cls.__name__)(judge, **kwargs)

    def step(opt, params, tensor, given):
        for p, g in zip(params, given, strict=True):
            p.grad = None if g is None else tensor(g)
        opt.step()

    opt = cls(ours, **kwargs)
    for given in grads[:7]:
        step(opt, ours, sg.tensor, given)
    saved = opt.state_dict()
    state = {i: {k: torch.tensor(v.numpy()) for k, v in slots.items()} for i, slots in saved["state"].items()}
    there = getattr(torch.optim, cls.__name__)(theirs)
    assert saved["param_groups"][0].keys() == there.state_dict()["param_groups"][0].keys()
    there.load_state_dict({**saved, "state": state})
    with torch.no_grad():
        for mine, other in zip(ours, theirs, strict=True):
            other.copy_(torch.tensor(mine.detach().numpy()))
    for given in grads[7:13]:
        step(there, theirs, torch.tensor, given)
    back = [sg.tensor(p.detach().numpy(), requires_grad=True) for p in theirs]
    last = cls(back)
    last.load_state_dict(there.state_dict())
    for given in grads[13:]:
        step(last, back, sg.tensor, given)
    for given in grads:
        step(whole, judge, torch.tensor, given)
    for mine, other in zip(back, judge, strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.oracle
@pytest.mark.parametrize("name", sorted({row[0].__name__ for row in RULES} | {"LBFGS", "SparseAdam"}))
def test_arguments_are_those_of_torch(torch, name):
    """Names, positions, kinds and defaults; `params` may be left out here, for graphs."""

    def arguments(cls):
        found = inspect.signature(cls.__init__).parameters.values()
        return [(p.name, p.kind, p.default) for p in found if p.name not in ("self", "params")]

    assert arguments(getattr(optim, name)) == arguments(getattr(torch.optim, name))


def test_a_state_without_counts_is_loaded_with_the_momentum_that_it_was_saved_with():
    """SGD saves no count: where the momentum is there, the first step is over."""
    w = sg.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([w], lr=0.1, momentum=0.8, dampening=0.3)

    def step(opt, w):
        w.grad = sg.tensor([1.0, -1.0])
        opt.step()

    step(opt, w)
    other = sg.tensor(w.tolist(), requires_grad=True)
    later = optim.SGD([other])
    later.load_state_dict(opt.state_dict())
    for _ in range(2):
        step(opt, w)
        step(later, other)
    assert other.tolist() == w.tolist()
    plain = optim.SGD([other], momentum=0.5)
    step(plain, other)
    last = optim.SGD([other])
    last.load_state_dict(plain.state_dict())
    assert list(last.state[other]) == ["momentum_buffer"]
