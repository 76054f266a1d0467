"""Numbers that differ between the runs of a function in segments, and flags that its first run changes."""

from __future__ import annotations

import pytest

import staticgrad as sg
from staticgrad import nn

F = sg.functional


class Counting(sg.optim.Optimizer):
    """Steps with numbers that its groups count."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.1, "k": 0})

    @sg.no_grad()
    def step(self):
        for group in self.param_groups:
            group["k"] = k = group["k"] + 1
            group["scheduled_lr"] = rate = group["lr"] / k
            for p in group["params"]:
                state = self.state[p]
                if "z" not in state:
                    state["z"] = sg.clone(p)
                p.lerp_(state["z"], 1 / (k + 1))
                p.add_(p.grad, alpha=-rate)
                state["z"].sub_(p.grad, alpha=rate * k)


def trained(wrap, steps, dtype):
    sg.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).to(dtype)
    x, y = sg.randn(6, 4, dtype=dtype), sg.randn(6, 1, dtype=dtype)
    optimizer = Counting(model.parameters())

    def step():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = wrap(step)
    losses = [step().item() for _ in range(steps)]
    return step, losses, {name: x for name, x in optimizer.param_groups[0].items() if name != "params"}


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64])
def test_all_numbers_that_differ_become_arguments_at_once(dtype):
    _, eager, group = trained(lambda fn: fn, 8, dtype)
    step, losses, compiled_group = trained(lambda fn: sg.compile(fn, on_break="split"), 8, dtype)
    assert losses == pytest.approx(eager, rel=1e-5 if dtype == sg.float32 else 1e-12)
    assert compiled_group == group
    assert group["k"] == 8
    assert group["scheduled_lr"] == 0.1 / 8
    # the first run makes the state, the second one has other operations, the third one other numbers
    assert [segment.runs for segment in step.segmented.roads.segments] == [1, 1, 6]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_number_that_stays_is_part_of_the_plan(place):
    def scaled(x, *numbers):
        for number in numbers:
            x = x * number + 1
        return x.sum().item()

    step = sg.compile(scaled, on_break="split")
    x = sg.ones(3)
    for i in range(4):
        numbers = [2.0, 3.0, 4.0]
        numbers[place] += i
        assert step(x, *numbers) == scaled(x, *numbers)
    roads = step.segmented
    assert roads is None or len(roads.roads.segments) <= 3


class Commitment(nn.Module):
    """A loss that starts from a buffer, which training turns into a leaf."""

    def __init__(self, dtype):
        super().__init__()
        self.register_buffer("zero", sg.tensor(0.0, dtype=dtype))
        self.layer = nn.Linear(3, 2).to(dtype)

    def forward(self, x):
        loss = self.zero
        loss.requires_grad_()
        return (self.layer(x) ** 2).mean() + loss


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64])
@pytest.mark.parametrize("wrap", [lambda fn: fn, sg.compile, lambda fn: sg.compile(fn, on_break="split")])
def test_a_flag_that_the_first_call_changes(wrap, dtype):
    sg.manual_seed(0)
    model = Commitment(dtype)
    optimizer = sg.optim.SGD(model.layer.parameters(), 0.1)

    def plain(x):
        optimizer.zero_grad()
        loss = model(x)
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = wrap(plain)
    losses = [step(sg.ones(4, 3, dtype=dtype)).item() for _ in range(4)]
    assert losses == sorted(losses, reverse=True)
    assert losses[3] < losses[0] / 10
    assert model.zero.requires_grad
    assert model.zero.grad.item() == 4
    if step is not plain:
        assert step.segmented is None  # one plan from the second call on


def test_a_flag_that_each_call_changes_stays_in_segments():
    w = sg.ones(3)

    @sg.compile
    def toggled(x):
        w.requires_grad_(not w.requires_grad)
        return (w * x).sum()

    found = [toggled(sg.ones(3)).requires_grad for _ in range(4)]
    assert found == [True, False, True, False]
    assert "requires_grad can't be changed" in str(toggled.explain())


def test_requires_grad_of_what_requires_grad_changes_nothing():
    w = sg.ones(3, requires_grad=True)

    @sg.compile(on_break="error")
    def gradient(x):
        loss = (w * x).sum()
        assert loss.requires_grad_() is loss
        assert w.requires_grad_() is w
        (g,) = sg.autograd.grad(loss, w)
        return g

    for _ in range(3):
        assert gradient(sg.tensor([1.0, 2.0, 3.0])).tolist() == [1.0, 2.0, 3.0]
