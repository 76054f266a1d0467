"""Steps whose Python needs values: compiled in segments, they do what eager mode does, call by call."""

from __future__ import annotations

import contextlib
import copy
import io
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.nn import functional as F

pytestmark = pytest.mark.usefixtures("few_kernels")

X = np.random.default_rng(0).standard_normal((8, 3)).astype("float32")
Y = np.array([0, 1, 1, 0, 1, 0, 0, 1])
CALLS = 6


class State:
    """State between calls."""

    hidden = None
    best = 1e9
    count = 0


def model_of(kind=optim.SGD, **settings):
    sg.manual_seed(0)
    model = nn.Linear(3, 2)
    return model, kind(model.parameters(), lr=0.1, **settings), State()


def update(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def log_of_losses():
    model, optimizer, state = model_of(optim.Adam)
    state.losses = []

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        update(optimizer, loss)
        state.losses.append(float(loss))
        return sum(state.losses)

    return step, model


def cut_before_backward():
    model, optimizer, state = model_of(momentum=0.9)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        if loss < state.best:
            state.best = float(loss)
        update(optimizer, loss)
        return state.best

    return step, model


def clipped_gradients():
    model, optimizer, state = model_of()

    def step(x, y):
        optimizer.zero_grad()
        (9 * F.cross_entropy(model(x), y)).backward()
        norm = sum((p.grad**2).sum() for p in model.parameters()) ** 0.5
        if norm > 1:
            state.count += 1
            for p in model.parameters():
                p.grad.mul_(1 / norm)
        optimizer.step()
        return float(norm), state.count

    return step, model


def accumulated_gradients():
    model, optimizer, state = model_of(optim.RMSprop)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        state.count += 1
        if float(loss) > 0 and state.count % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    return step, model


def sampled_actions():
    model, optimizer, state = model_of(optim.Adam)

    def step(x, y):
        policy = sg.distributions.Categorical(F.softmax(model(x[0]), -1))
        action = policy.sample()
        reward = 1.0 if float(action) == 1 else -0.5
        update(optimizer, -policy.log_prob(action) * reward)
        return reward

    return step, model


def hidden_state():
    model, optimizer, state = model_of()

    def step(x, y):
        hidden = sg.zeros(8, 2) if state.hidden is None else state.hidden.detach()
        state.hidden = sg.tanh(model(x) + hidden)
        loss = (state.hidden**2).sum()
        update(optimizer, loss)
        return float(loss), state.hidden.sum()

    return step, model


def accept_or_reject():
    state, random = State(), np.random.default_rng(1)
    state.place = sg.zeros(3)

    def step(x, y):
        proposal = state.place + 0.5 * sg.randn(3)
        if np.log(random.uniform()) < ((state.place**2).sum() - (proposal**2).sum()).item():
            state.place, state.count = proposal, state.count + 1
        return state.place, state.count

    return step, None


def printed():
    model, optimizer, _ = model_of()

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        print(loss)
        update(optimizer, loss)
        print(f"{float(loss):.3f}", model.bias)

    return step, model


def target_network():
    model, optimizer, state = model_of(optim.Adam)
    target = copy.deepcopy(model)

    def step(x, y):
        loss = ((model(x) - target(x).detach() - 1) ** 2).mean()
        update(optimizer, loss)
        for p, q in zip(model.parameters(), target.parameters(), strict=True):
            q.data.mul_(0.9).add_(0.1 * p.data)
        state.count += 1
        if state.count % 3 == 0:
            target.load_state_dict(model.state_dict())
        return float(loss)

    return step, target


def other_data():
    model, _, _ = model_of()

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data = p.data - 0.1 * p.grad
        return float(loss)

    return step, model


def changed_views():
    model, _, _ = model_of()

    def step(x, y):
        h = model(x) * 1
        view = h[2:4]
        view += 1
        h[0] = 0
        h[:, 1] *= 2
        loss = (h**2).mean()
        model.zero_grad()
        loss.backward()
        with sg.no_grad():
            model.weight.sub_(0.1 * model.weight.grad)
            model.weight[0] = model.weight[0] * 0.9
        return float(loss), view

    return step, model


def unknown_sizes():
    model, optimizer, _ = model_of()

    def step(x, y):
        kept = x[x[:, 0] > 0]
        loss = (model(kept) ** 2).mean()
        update(optimizer, loss)
        return loss, len(kept)

    return step, model


def loop_on_values():
    def step(x, y):
        a, count = (x**2).sum() + 2, 0
        root = a / 2
        while abs(root * root - a) > 1e-4:
            root, count = (root + a / root) / 2, count + 1
        return root, count

    return step, None


def second_order():
    w = sg.tensor(np.ones(3, "float32"), requires_grad=True)

    def step(x, y):
        (g,) = sg.grad(((x * w) ** 3).sum(), [w], create_graph=True)
        z = (g * g).sum()
        h = sg.grad(z, [w])[0] if float(z) > 1 else g.detach()
        with sg.no_grad():
            w.sub_(1e-4 * h)
        return h

    return step, None


def numbers_that_change():
    state = State()

    def step(x, y):
        state.count += 1
        z = x * (0.1 * state.count) + state.count
        return float(z.sum()), z

    return step, None


def numbers_that_change_on_the_tape():
    model, optimizer, state = model_of()

    def step(x, y):
        state.count += 1
        loss = ((model(x) * (0.25 * state.count - 0.25) - 1) ** 2).mean() * 0.5 / state.count
        update(optimizer, loss)
        return float(loss)

    return step, model


def arrays_that_change():
    model, optimizer, state = model_of()
    array = np.ones((8, 3), "float32")

    def step(x, y):
        loss = (model(sg.from_numpy(array)) ** 2).mean()
        update(optimizer, loss)
        array[:] *= 0.9
        return float(loss)

    return step, model


PROGRAMS = (
    log_of_losses, cut_before_backward, clipped_gradients, accumulated_gradients, sampled_actions, hidden_state,
    accept_or_reject, printed, target_network, other_data, changed_views, unknown_sizes, loop_on_values, second_order,
    numbers_that_change, numbers_that_change_on_the_tape, arrays_that_change,
)  # fmt: skip


def numbers(value):
    if isinstance(value, (list, tuple)):
        return [n for part in value for n in numbers(part)]
    if value is None:
        return []
    return np.asarray(value.detach() if sg.is_tensor(value) else value, float).ravel().tolist()


def run(program, compiled):
    step, model = program()
    fn = sg.compile(step, on_break="split") if compiled else step
    sg.manual_seed(3)
    found, out = [], io.StringIO()
    with contextlib.redirect_stdout(out):
        for i in range(CALLS):
            found.append(numbers(fn(sg.tensor(X * (1 - i % 3)), sg.tensor(Y))))
    after = [] if model is None else [numbers(p) for p in model.parameters()]
    return found, after, out.getvalue(), fn


@pytest.mark.parametrize("program", PROGRAMS)
def test_segments_agree_with_eager_mode(program):
    found, after, text, fn = run(program, compiled=True)
    expected, wanted, shown, _ = run(program, compiled=False)
    assert fn.segmented is not None
    for a, b in zip((*found, *after), (*expected, *wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert text == shown


def test_effects_come_in_order_also_where_a_later_segment_raises():
    w, seen = sg.zeros(2), []

    @sg.compile
    def step(x):
        w.add_(x)
        seen.append(float(w.sum()))
        w.mul_(2)
        if len(seen) == 2:
            raise ValueError("stop")
        w.add_(100)
        return w[sg.tensor([5])]

    for error in (sg.IndexRangeError, ValueError):
        with pytest.raises(error):
            step(sg.ones(2))
    assert seen == [2.0, 206.0]
    assert w.tolist() == [206.0, 206.0]


def test_nothing_is_stale():
    """Arrays that others write, between two calls and inside of one."""
    array = np.ones(3, "float32")
    shared, factor = sg.from_numpy(array), [1.0]

    @sg.compile
    def step(x):
        before = shared * factor[0]
        array[:] += 1
        after = shared * 1
        alias = x.detach()
        y = x * 2
        alias.add_(1)
        return before.tolist(), after.tolist(), y.tolist(), x.tolist()

    for i in range(3):
        factor[0] = i + 1.0
        assert step(sg.zeros(1)) == ([(i + 1.0) ** 2] * 3, [i + 2.0] * 3, [0.0], [1.0])


def test_errors_of_in_place_changes():
    w = sg.ones(2, requires_grad=True)

    @sg.compile
    def step():
        y = w * 2
        z = y * y
        y.add_(1)
        print(end=str(float(z.sum()))[:0])
        z.sum().backward()

    for _ in range(2):
        with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
            step()
    assert w.grad is None


def test_gradients_over_complex_numbers_after_a_cut():
    def program(x: sg.Tensor, y: sg.Tensor) -> tuple[Any, ...]:
        total = float(x.detach().sum())
        z = sg.fft.irfft(sg.complex(x, y) ** 2, n=6) * total
        return z, *sg.grad((z * z).sum(), [x, y], create_graph=True)

    values = np.arange(16.0).reshape(2, 2, 4) / 7 - 1
    expected = program(*(sg.tensor(v, requires_grad=True) for v in values))
    compiled = sg.compile(program)
    for _ in range(3):
        for a, b in zip(compiled(*(sg.tensor(v, requires_grad=True) for v in values)), expected, strict=True):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12, atol=1e-14)  # zeros by cancellation
