"""Tensors without the tape that share memory with one on it, `x.data` and `x.detach()`, in functions that run in segments."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.eager.backward_engine import BackwardEngine
from staticgrad.nn import functional as F


def kept_alias(p, kept, x):
    d = p.data
    d -= x
    kept.append(d)
    p.data -= 0.5 * x
    return [p.tolist(), kept[0].tolist(), kept[-1].tolist()]


def backward_after_an_uncounted_change(p, kept, x):
    y = (p * p * x).sum()
    d = p.data
    d -= 0.1 * x
    y.backward()
    g, p.grad = p.grad.tolist(), None
    return [float(y), g, p.tolist()]


def backward_after_a_counted_change(p, kept, x):
    y = (p * p * x).sum()
    d = p.detach()
    d += 1.0
    with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
        y.backward()
    return [p.tolist()]


def steps_without_a_record(p, kept, x):
    for _ in range(3):
        p.grad = None
        y = (p * p * x).sum()
        y.backward()
        p.data -= 0.1 * p.grad
    return [float(y), p.tolist()]


def view_of_the_same_memory(p, kept, x):
    v, w = p.reshape(2, 1), p.data
    w *= x
    return [float((v * w).sum()), v.tolist(), p.tolist(), np.shares_memory(v.detach().numpy(), w.numpy())]


def several_of_a_pending_tensor(p, kept, x):
    y = x * 2
    z, q = y.detach(), y.data
    z += 1.0
    q *= 3.0
    y.data = y.data + 1
    z -= 1.0
    return [z.tolist(), q.tolist(), y.tolist()]


def result_on_the_tape(p, kept, x):
    y = p * x
    y.data += 1.0
    (y * y).sum().backward()
    g, p.grad = p.grad.tolist(), None
    return [g, y.tolist()]


def array_that_somebody_holds(p, kept, x):
    array = p.detach().numpy()
    p.data -= x
    array[0] = 7.0
    y = p * 1
    array[1] = 3.0
    p.data.mul_(2.0)
    return [y.tolist(), p.tolist(), array.tolist()]


def memory_exchanged(p, kept, x):
    if kept:
        p.data = kept[0]
    kept[:] = [p.data]
    p.data = p.data * 1.5
    p.data += x
    p.data += x
    return [p.tolist(), kept[0].tolist()]


PROGRAMS = (
    kept_alias, backward_after_an_uncounted_change, backward_after_a_counted_change, steps_without_a_record,
    view_of_the_same_memory, several_of_a_pending_tensor, result_on_the_tape, array_that_somebody_holds, memory_exchanged,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_memory_is_shared_as_in_eager_mode(program):
    def made():
        p, kept = sg.tensor([1.0, 2.0], requires_grad=True), []

        def step(x):
            return program(p, kept, x) if float(x.sum()) < 100 else None

        return step

    eager, compiled = made(), sg.compile(made())
    for i in range(4):
        x = sg.tensor(np.array([0.5, 0.25], np.float32) * (i + 1))
        for expected, found in zip(eager(x), compiled(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert compiled.segmented is not None


def test_parameters_changed_through_data_are_no_cut():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

    @sg.compile
    def step(x):
        before = [p.detach().clone() for p in model.parameters()]
        for _ in range(2):
            gradients = sg.grad(model(x).square().mean(), list(model.parameters()))
            for p, g in zip(model.parameters(), gradients, strict=True):
                p.data -= 0.1 * g
        for p, old in zip(model.parameters(), before, strict=True):
            p.data.copy_(old + 0.5 * (p.data - old))
        return f"{model(x).sum().item():.2f}"

    for _ in range(3):
        step(sg.ones(2, 3))
    assert {segment.reason for segment in step.segmented.roads.segments} == {"item"}
    assert sum(segment.runs for segment in step.segmented.roads.segments) == 3


@pytest.mark.parametrize("change", ["counted", "uncounted", "set before", "set after"])
def test_a_backward_pass_that_is_known_is_not_repeated_after_another_change(change):
    p = sg.tensor([1.0, 2.0], requires_grad=True)

    def step(x, change):
        _ = p * 1  # from here on p is an input of the segment
        if change == "set before":
            p.data = p.data
        y = (p * p * x).sum()
        if change == "set after":
            p.data = p.data
        elif change == "counted":
            p.detach().mul_(x)
        elif change == "uncounted":
            d = p.data
            d *= x
        y.backward()
        g, p.grad = p.grad * 1, None
        return f"{g.sum().item():.2f}"

    compiled, x = sg.compile(step), sg.ones(2)
    for known in (None, "uncounted", "set before") * 3:
        assert compiled(x, known) == "6.00"
    assert compiled.segmented is not None
    for _ in range(2):
        if change in ("counted", "set after"):
            with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
                compiled(x, change)
            p.grad = None
        else:
            assert compiled(x, change) == "6.00"


def test_backward_passes_after_changes_are_repeated():
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.01)

    @sg.compile
    def step(x):
        for _ in range(2):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            for p in model.parameters():
                p.data -= 0.1 * p.grad
        return f"{loss.item():.2f}"

    for _ in range(6):
        step(sg.ones(2, 3))
    passes = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BackwardEngine, "run", lambda *_: passes.append(1))
        step(sg.ones(2, 3))
    assert not passes


def test_transposes_and_copies_are_no_cut():
    @sg.compile
    def step(x):
        y = x * 2
        for z in (y.mT, y.T, y.clone(), y.reshape(-1), y[0], F.softmax(y, 1), y.sum(), y.detach(), y.contiguous()):
            y = y + z.sum()
        return f"{y.sum().item():.2f}"

    step(sg.ones(2, 3))
    assert len(step.segmented.roads.segments) == 1
