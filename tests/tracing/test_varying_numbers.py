"""Numbers that others replace between calls of a compiled function: no trace per value, and never the value of another call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.nn import functional as F

CALLS = 24
RATE = 0.1


class Settings:
    """Attributes of an object."""


def a_global(c: Any) -> Any:
    @c
    def step(x):
        return (x * RATE).sum()

    for i in range(CALLS):
        globals()["RATE"] = 0.1 / (1 + i)
        yield step, step(data())


def an_attribute(c: Any) -> Any:
    settings = Settings()

    @c
    def step(x):
        return (x * settings.rate / (1 - 0.9**settings.count)).sum()

    for i in range(CALLS):
        settings.rate, settings.count = 0.1 * 0.9**i, i + 1
        yield step, step(data())


def a_free_variable(c: Any) -> Any:
    rate = 0.1

    @c
    def step(x):
        return (x * rate).sum() - rate

    for i in range(CALLS):
        rate = 0.1 / (1 + i)
        yield step, step(data())


def items_of_a_dict(c: Any) -> Any:
    options: dict[str, float] = {}
    labels = sg.tensor(np.arange(4))

    @c
    def step(x):
        return F.cross_entropy(x / options["temperature"], labels, label_smoothing=options["smoothing"])

    for i in range(CALLS):
        options.update(temperature=1 + 0.1 * i, smoothing=0.01 * i)
        yield step, step(data())


def a_loss_annealed(c: Any) -> Any:
    settings = Settings()

    @c
    def step(x):
        return F.smooth_l1_loss(x, x * 0.5, beta=settings.beta) + F.elu(x, settings.beta).sum()

    for i in range(CALLS):
        settings.beta = 0.05 * (i + 1)
        yield step, step(data())


def a_branch(c: Any) -> Any:
    settings = Settings()

    @c
    def step(x):
        y = x * (1 / (1 + settings.count))
        return (y + 1 if settings.count % 10 == 0 else y).sum()

    for i in range(CALLS):
        settings.count = i
        yield step, step(data())


def own_counter_and_rate(c: Any) -> Any:
    settings = Settings()
    settings.count, settings.rate = 0, 0.1

    @c
    def step(x):
        settings.count += 1
        return (x * settings.rate / (1 - 0.9**settings.count)).sum()

    for i in range(CALLS):
        settings.rate = 0.1 * 0.9**i
        yield step, step(data())


def a_constant_among_attributes(c: Any) -> Any:
    """The width is an extent, which needs its value; the counter is one of the function's own."""
    settings = Settings()
    settings.count = 0

    @c
    def step(x):
        settings.count += 1
        return x[:, : settings.width].sum() * settings.count

    for i in range(CALLS):
        settings.width = 1 + i % 5
        yield step, step(data())


def data() -> sg.Tensor:
    return sg.tensor(np.random.default_rng(1).standard_normal((4, 5)).astype(np.float32))


@pytest.mark.parametrize(
    ("program", "traces"),
    {
        a_global: 3, an_attribute: 4, a_free_variable: 3, items_of_a_dict: 5, a_loss_annealed: 3, a_branch: 5,
        own_counter_and_rate: 4, a_constant_among_attributes: 8,
    }.items(),
)  # fmt: skip
def test_schedules(program: Any, traces: int) -> None:
    expected = [float(out) for _, out in program(lambda f: f)]
    steps, outs = zip(*program(sg.compile), strict=True)
    np.testing.assert_allclose([float(out) for out in outs], expected, rtol=2e-6)
    step = steps[-1]
    assert len(step.recompiles) <= traces, step.recompiles


@pytest.mark.parametrize("values", [[0.0, -0.0, 1.0, 2, True, np.inf, np.nan, -np.inf, 3.0], [1, 2, 3, 4, 5.5, 6, -1]])
def test_special_values_and_other_types(values: list[Any]) -> None:
    settings = Settings()

    @sg.compile
    def step(x):
        return x * settings.rate

    x = sg.tensor(np.arange(-2, 3))
    for value in [0.1, 0.2, 0.3, 0.4, *values, 0.5, *values]:
        settings.rate = value
        found, expected = step(x), x * value
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
        np.testing.assert_array_equal(np.signbit(found.numpy()), np.signbit(expected.numpy()))


def test_a_gradient_taken_later_has_the_number_of_its_call() -> None:
    settings = Settings()

    @sg.compile
    def f(x):
        return ((x * settings.rate) ** 2).sum()

    x = sg.ones(3, requires_grad=True)
    for i in range(6):
        settings.rate = 1.0 + i
        first = f(x)
        settings.rate = 20.0
        second = f(x)
        settings.rate = 50.0
        (g,) = sg.autograd.grad(first, [x], create_graph=True)
        (h,) = sg.autograd.grad(second, [x])
        (gg,) = sg.autograd.grad(g.sum(), [x])
        assert (g[0].item(), h[0].item(), gg[0].item()) == (2 * (1.0 + i) ** 2, 800, 2 * (1.0 + i) ** 2)


def test_a_gradient_taken_later_has_the_count_of_its_call() -> None:
    settings = Settings()
    settings.count = 0

    @sg.compile
    def f(x):
        settings.count += 1
        return ((x * settings.count) ** 2).sum()

    x = sg.ones(3, requires_grad=True)
    for i in range(4):
        outs = [f(x), f(x)]
        found = [sg.autograd.grad(out, [x])[0][0].item() for out in outs]
        assert found == [2 * (2 * i + 1) ** 2, 2 * (2 * i + 2) ** 2]


class Counting(sg.nn.Module):
    def __init__(self):
        super().__init__()
        self.iteration, self.gamma = 0, 10.0

    def forward(self, x):
        self.iteration += 1
        return self.gamma * (x.sum() - min(self.iteration / 4, 2.0)).abs()


def test_a_counter_of_a_module_is_no_new_trace():
    x = sg.tensor([1.0, 2.0])
    model, eager = Counting(), Counting()
    step = sg.compile(lambda x: model(x))
    for _ in range(12):
        assert step(x).item() == eager(x).item()
    assert model.iteration == eager.iteration == 12
    assert len(step.recompiles) <= 2
