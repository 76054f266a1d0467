"""Memory of strict runs: NumPy's arrays are there once, and a budget writes variables as soon as nothing can fail any more."""

from __future__ import annotations

import itertools
import os
import signal
import time
import tracemalloc

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.compiler.execute.plan import _same

X = np.random.default_rng(0).standard_normal((512, 64)).astype("float32")
Y = np.arange(512) % 4


def trained(budget, make=optim.SGD, depth=16):
    """The compiled step of a perceptron, its model, and its inputs."""
    sg.manual_seed(0)
    model = nn.Sequential(*[part for _ in range(depth) for part in (nn.Linear(64, 64), nn.ReLU())], nn.Linear(64, 4))
    optimizer = make(model.parameters(), lr=1e-2)

    @sg.compile(numerics="strict", memory_budget=budget)
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, model


def peak(step):
    """The most bytes that NumPy allocates in a run."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        step(X, Y)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam])
def test_the_measured_peak_is_the_predicted_one(make):
    free, model = trained(None, make)
    expected = [float(free(X, Y)) for _ in range(4)]
    assert peak(free) == pytest.approx(free.plan.held, rel=0.1)
    for budget in (0.5, 0.4):
        step, budgeted = trained(budget, make)
        assert [float(step(X, Y)) for _ in range(4)] == expected
        report = step.plan.budget
        assert report.without == pytest.approx(free.plan.held + free.plan.memory.arena, rel=0.05)
        assert report.arena <= 1.02 * report.budget
        assert peak(step) + step.plan.memory.arena == pytest.approx(report.arena, rel=0.1)
        for a, b in zip(model.parameters(), budgeted.parameters(), strict=True):
            np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
            np.testing.assert_array_equal(a.grad.numpy(), b.grad.numpy())


def test_only_values_that_are_written_in_the_end_have_buffers_of_the_plan():
    step, model = trained(None)
    step(X, Y)
    written = 2 * sum(4 * p.numel() for p in model.parameters())
    assert step.plan.memory.arena == pytest.approx(written, rel=0.05)


def test_operands_of_operations_with_several_results_are_released():
    """And their results, once nothing reads them."""

    @sg.compile(numerics="strict")
    def step(x):
        square = sg.tanh(x.t() @ x)
        values, vectors = sg.linalg.eigh(square + square.t())
        return (vectors * values).sum(), sg.linalg.svd(vectors * 2)[1].sum()

    step(sg.tensor(X))
    plan, kept = step.plan, []
    call = plan.call_host

    def seen(instruction, arrays):
        call(instruction, arrays)
        kept.append({*plan.kept})

    plan.call_host = seen
    step(sg.tensor(X))
    hosts = [each for each in plan.instructions if each.kind == "host"]
    assert len(kept) == len(hosts)
    for i, there in enumerate(kept):
        read = {_same(node) for each in hosts[i + 1 :] for node in each.node.inputs}
        assert there <= read, f"after {hosts[i].name}"


def test_views_of_a_variable_keep_its_former_elements():
    x = np.linspace(-1, 1, 256 * 64, dtype="float32").reshape(256, 64)
    found = []
    for budget in (None, 0.95):
        sg.manual_seed(0)
        first, second = nn.Parameter(sg.randn(64, 64) / 8), nn.Parameter(sg.randn(64, 64) / 8)
        optimizer = optim.SGD([first, second], lr=0.1)

        @sg.compile(numerics="strict", memory_budget=budget)
        def step(x, first=first, second=second, optimizer=optimizer):
            optimizer.zero_grad()
            h = sg.tanh(x @ first)
            fixed = sg.exp(h @ second.detach().t()).mean()
            free = sg.tanh(h.detach() @ second.t()).mean()
            (fixed + free).backward()
            optimizer.step()
            return fixed + free

        found.append([step(x).item() for _ in range(3)] + [first.detach().numpy(), second.detach().numpy()])
    assert any(each.target is not None for each in step.plan.instructions)
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_signal_does_not_leave_half_of_the_variables_written(monkeypatch):
    (step, model), (other, reference) = trained(0.5), trained(None)
    step(X, Y), other(X, Y), other(X, Y)
    plan, sent = step.plan, []
    commit = plan._commit
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background may ignore the signal

    def interrupted(*args):
        if not sent:
            sent.append(signal.raise_signal(signal.SIGINT))
        commit(*args)

    monkeypatch.setattr(plan, "_commit", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            step(X, Y)
    finally:
        signal.signal(signal.SIGINT, handler)
    for a, b in zip(model.parameters(), reference.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_the_handler_of_a_signal_sees_whole_steps(monkeypatch):
    """It may write a checkpoint. The signal comes when some variables are written and others are not."""
    step, model = trained(0.5, optim.Adam)
    step(X, Y)
    plan, commit, count, seen = step.plan, step.plan._commit, itertools.count(), []

    def values():
        return [p.detach().numpy().copy() for p in model.parameters()]

    def interrupted(*args):
        commit(*args)
        if next(count) == 5:
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.05)

    monkeypatch.setattr(plan, "_commit", interrupted)
    handler = signal.signal(signal.SIGUSR1, lambda *args: seen.append(values()))
    try:
        step(X, Y)
    finally:
        signal.signal(signal.SIGUSR1, handler)
    assert len(seen) == 1
    for a, b in zip(seen[0], values(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_may_fail_comes_before_variables_are_written():
    weight = nn.Parameter(sg.ones(64, 64))

    @sg.compile(numerics="strict", memory_budget=0.96)
    def step(x, at):
        with sg.no_grad():
            y = sg.tanh(x @ weight)
            weight.sub_((y.t() @ y) * 1e-3)
            return y.sum(1)[at]

    step(X, np.arange(3))
    assert any(each.target is not None for each in step.plan.instructions)
    before, found = weight.detach().clone(), []
    for run in (step, step.fn):  # eager mode repeats a run that fails: it would write twice
        weight.data.copy_(before)
        with pytest.raises(IndexError):
            run(X, np.array([0, 1, 512]))
        found.append(weight.detach().numpy().copy())
    np.testing.assert_array_equal(*found)
