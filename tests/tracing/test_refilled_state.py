"""State in Python objects that each call fills anew, as published programs keep it: the number of traces has a bound, and the
values are those of eager mode."""

from __future__ import annotations

import collections
import functools
import heapq
import types

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from tests.helpers import assert_same

pytestmark = pytest.mark.usefixtures("few_kernels")

CALLS = 12


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


class SAM(optim.Optimizer):
    """Sharpness-aware minimization as it was published."""

    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base = base(self.param_groups, **kwargs)
        self.param_groups = self.base.param_groups

    def each(self):
        for group in self.param_groups:
            for p in group["params"]:
                yield group, p

    @sg.no_grad()
    def first_step(self):
        norm = sg.stack([p.grad.norm(p=2) for _, p in self.each()]).norm(p=2)
        for group, p in self.each():
            self.state[p]["old_p"] = p.data.clone()
            p.add_(p.grad * (group["rho"] / (norm + 1e-12)))
        self.zero_grad()

    @sg.no_grad()
    def second_step(self):
        for _, p in self.each():
            p.data = self.state[p]["old_p"]
        self.base.step()
        self.zero_grad()


def sharpness_aware():
    model = network()
    opt = SAM(model.parameters(), optim.SGD, lr=0.1, momentum=0.9)

    def step(x, t):
        loss = F.mse_loss(model(x), t)
        loss.backward()
        opt.first_step()
        F.mse_loss(model(x), t).backward()
        opt.second_step()
        return loss

    return step


class Momentum(optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @sg.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["buffer"] = 0.9 * state["buffer"] + p.grad if "buffer" in state else p.grad.clone()
                p.data = p.data - group["lr"] * state["buffer"]


class Counted(SAM):
    """A slot with a number: the count of steps."""

    def __init__(self, params, lr):
        optim.Optimizer.__init__(self, params, {"lr": lr})

    @sg.no_grad()
    def step(self):
        for group, p in self.each():
            state = self.state[p]
            if len(state) == 0:
                state["step"], state["average"] = 0, sg.zeros_like(p.data)
            state["step"] += 1
            state["average"] = 0.9 * state["average"] + 0.1 * p.grad
            p.data = p.data - group["lr"] * state["average"] / (1 - 0.9 ** state["step"])


class Remembers(SAM):
    """The gradients of the step before, in an attribute."""

    def __init__(self, params, lr):
        optim.Optimizer.__init__(self, params, {"lr": lr})
        self.before = None

    @sg.no_grad()
    def step(self):
        gradients = [p.grad.clone() for _, p in self.each()]
        before = gradients if self.before is None else self.before
        self.before = gradients
        for (group, p), new, old in zip(self.each(), gradients, before, strict=True):
            p.data.add_(new + 0.5 * old, alpha=-group["lr"])


class Moved(optim.SGD):
    """How far each step went, from a copy among the slots of the class."""

    def step(self, closure=None):
        parameters = self.parameters()
        for p in parameters:
            self.state[p]["previous"] = p.data.clone()
        super().step(closure)
        self.moved = sum((p.data - self.state[p]["previous"]).square().sum() for p in parameters)


def written_by_the_user(make):
    def program():
        model = network()
        opt = make(model.parameters(), lr=0.05)

        def step(x, t):
            opt.zero_grad()
            loss = F.mse_loss(model(x), t)
            loss.backward()
            opt.step()
            return loss + getattr(opt, "moved", 0.0)

        return step

    program.__name__ = make.__name__
    return program


def trained(prepare):
    """A step of a model whose output, loss and batch `prepare` gives a function to keep state of."""

    def program():
        model = network()
        opt = optim.SGD(model.parameters(), lr=0.05)
        further = prepare(model)

        def step(x, t):
            out = model(x)
            loss = F.mse_loss(out, t)
            more = further(out, loss, x, t)
            opt.zero_grad()
            (loss + more if isinstance(more, sg.Tensor) and more.requires_grad else loss).backward()
            opt.step()
            return loss.detach() + more

        return step

    program.__name__ = prepare.__name__
    return program


def hook_with_numbers(model):
    seen = []
    for layer in model:
        layer.register_forward_hook(lambda module, args, out: seen.append(out.mean().item()))

    def further(out, loss, x, t):
        del seen[:]
        model(x)
        return 0.0

    return further


def queue_of_numbers(model):
    losses = collections.deque(maxlen=3)

    def further(out, loss, x, t):
        losses.append(loss.item())
        return sum(losses) / len(losses)

    return further


def replay_buffer(model):
    kept = collections.deque(maxlen=3)

    def further(out, loss, x, t):
        kept.append((x, t))
        return F.mse_loss(model(sg.cat([x for x, _ in kept])), sg.cat([t for _, t in kept]))

    return further


def dict_with_defaults(model):
    last, average = collections.defaultdict(lambda: sg.zeros(8, 1)), collections.OrderedDict(loss=0.0)

    def further(out, loss, x, t):
        distance = (out - last["out"]).abs().mean()
        last["out"] = out.detach()
        average["loss"] = 0.9 * average["loss"] + 0.1 * loss.item()
        return distance + average["loss"]

    return further


def ring(model):
    kept, position = [sg.zeros(8, 1) for _ in range(3)], [0]

    def further(out, loss, x, t):
        distance = (out - sum(kept) / 3).abs().mean()
        kept[position[0] % 3] = out.detach()
        position[0] += 1
        return distance

    return further


def slice_of_a_list(model):
    kept = [sg.zeros(8, 1), sg.zeros(8, 1)]

    def further(out, loss, x, t):
        distance = sum((out - k).abs().mean() for k in kept)
        kept[:] = [out.detach(), kept[0]]
        return distance

    return further


PROGRAMS = [
    (sharpness_aware, 2),
    (written_by_the_user(Momentum), 2),
    (written_by_the_user(Counted), 2),
    (written_by_the_user(Remembers), 2),
    (written_by_the_user(Moved), 2),
    (trained(hook_with_numbers), 1),
    (trained(queue_of_numbers), 4),
    (trained(replay_buffer), 5),
    (trained(dict_with_defaults), 2),
    (trained(ring), 5),
    (trained(slice_of_a_list), 1),
]


def batches():
    rng = np.random.default_rng(0)
    for _ in range(CALLS):
        yield [sg.tensor(rng.standard_normal(shape).astype("float32")) for shape in ((8, 4), (8, 1))]


@pytest.mark.parametrize(("program", "most"), PROGRAMS, ids=[program.__name__ for program, _ in PROGRAMS])
def test_state_that_is_filled_anew_is_not_traced_anew(program, most):
    sg.manual_seed(0)
    eager = program()
    expected = [eager(*batch) for batch in batches()]
    sg.manual_seed(0)
    compiled = sg.compile(program())
    assert_same([compiled(*batch) for batch in batches()], expected)
    assert compiled.segmented is None
    assert len(compiled.recompiles) <= most, compiled.recompiles


def test_containers_that_others_refill_are_arguments():
    kept, named = [sg.zeros(3), sg.ones(3)], {"a": sg.zeros(3), "n": 1.0}

    @sg.compile
    def f(x):
        return sum((x * k).sum() for k in kept) + sum((x + v).sum() for v in named.values())

    x = sg.arange(3.0)
    for i in range(CALLS):
        kept[:] = [x * i, x + i]
        named.update(a=x - i, n=float(i))
        assert_same(f(x), f.fn(x))
    assert len(f.recompiles) <= 4, f.recompiles


def test_an_attribute_that_a_step_gives_an_optimizer_is_kept():
    p = sg.tensor([1.0, 2.0], requires_grad=True)
    opt = optim.SGD([p], lr=0.1)

    @sg.compile
    def f(x):
        opt.seen = x * 2
        return x.sum()

    for i in range(3):
        x = sg.tensor([1.0, float(i)])
        f(x)
        assert_same(opt.seen, x * 2)


def kept_after_a_change(state):
    state.kept = []

    def step(x):
        former = state.items
        former.append(x * 1)
        state.items = []
        state.kept.append(former)
        return x.sum()

    return step


def pushed_by_a_function_in_c(state):
    def step(x):
        heapq.heappush(state.items, len(state.items) * 1.5)
        total = sum(state.items)
        state.former, state.items = state.items, [total]
        return x * total

    return step


def reached_in_a_tuple(state):
    state.pair = state.items, 1

    def step(x):
        state.pair[0].append(x)
        y = state.items[-1].sum() if state.items else x.sum() * 0
        state.items = [x * 2]
        return y

    return step


def reached_by_a_method(state):
    state.items = {"p": sg.zeros(2)}
    state.put = functools.partial(state.items.__setitem__, "p")

    def step(x):
        state.items["a"] = x * 2
        state.put(x + 1)
        y = state.items["p"].sum()
        state.items = {"p": x}
        return y

    return step


@pytest.mark.parametrize("make", [kept_after_a_change, pushed_by_a_function_in_c, reached_in_a_tuple, reached_by_a_method])
def test_containers_that_are_reached_or_kept_in_two_ways_are_those_of_eager_mode(make):
    found = []
    for wrap in (sg.compile(wait=True), lambda step: step):
        state = types.SimpleNamespace(items=[])
        step = wrap(make(state))
        out = [(step(sg.ones(2) * k).tolist(), state.items) for k in (1, 0.5, 2, 1)]
        state.put = None
        found.append(repr((out, vars(state))))
    assert found[0] == found[1]
