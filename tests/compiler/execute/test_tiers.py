"""Plans that NumPy runs while kernels are compiled: the same results and effects, and the native tier takes over."""

from __future__ import annotations

import os
import signal
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn
from staticgrad.compiler.backend import machine_code
from staticgrad.compiler.execute import tiers
from staticgrad.compiler.execute.tiers import Interpreted
from tests.held_pool import Held, hold
from tests.helpers import assert_close, raised

X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(6, 4)
Y = np.array([0, 1, 2, 0, 1, 2])


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    pool = hold(monkeypatch)
    yield pool
    pool.release()


def training() -> Callable[[], list[float]]:
    """Steps with moments, running statistics, random numbers and labels."""
    sg.manual_seed(3)
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.25), nn.Linear(4, 3))
    optimizer = sg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @sg.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    def run() -> list[float]:
        return [step(X, Y).item(), *[p.sum().item() for p in model.parameters()], *[b.sum().item() for b in model.buffers()]]

    run.step = step
    return run


def test_training(held: Held, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(machine_code.TIERS, "0")
    native = training()
    expected = [native() for _ in range(6)]
    monkeypatch.setenv(machine_code.TIERS, "1")
    run = training()
    found = [run() for _ in range(3)]
    plan = run.step.plan
    assert not plan.compiled
    assert run.step.recompiles == ["first call; NumPy runs it while kernels are compiled"]
    codes = len({i.code for i in plan.instructions})
    assert f"tier: NumPy, while kernels are compiled: 0 of {codes} are" in plan.explain()
    held.release()
    found += [run() for _ in range(3)]
    assert plan.compiled
    assert "tier: native, after 3 runs in NumPy and " in run.step.explain()
    assert_close(np.array(found), np.array(expected), 1e-4)


def test_results_overwrite_what_nothing_reads_later(held: Held):
    """A chain of operations takes two arrays, and the result is not copied."""
    x = np.linspace(0, 1, 1 << 18)

    def chain(x: Any) -> Any:
        for _ in range(10):
            x = sg.exp(-x) + x * 0.5
        return x

    run = sg.compile(chain)
    run(x)
    tracemalloc.start()
    found = run(x)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not run.plan.compiled
    assert most < 3.5 * x.nbytes
    assert_close(found.numpy(), chain(sg.tensor(x)).numpy(), 1e-12)


def test_results_of_numpy_runs_have_memory_of_their_own(held: Held):
    w = sg.ones(3)

    @sg.compile
    def step(x: Any) -> Any:
        y = x * 2
        w.add_(y)
        return y, y + 0, w * 1, w * 2

    x = np.arange(3, dtype=np.float32)
    first = step(x)
    for tensor in first:
        tensor.numpy()[...] = -1
    w.fill_(1.0)
    assert not step.plan.compiled
    assert x.tolist() == [0.0, 1.0, 2.0]
    assert [t.tolist() for t in step(x)] == [
        [0.0, 2.0, 4.0], [0.0, 2.0, 4.0], [1.0, 3.0, 5.0], [2.0, 6.0, 10.0],
    ]  # fmt: skip


def test_a_session(held: Held):
    """Variables that exchange their values, a loop, and several runs at once."""
    with sg.Graph().as_default():
        a, b = sg.Variable([1.0, 2.0]), sg.Variable([3.0, 5.0])
        x = sg.placeholder("float32", (2,))
        old = sg.identity(a)
        with sg.control_dependencies([old]):
            swap = [sg.assign(a, b * 1), sg.assign(b, old + x)]
        powers = sg.while_loop(lambda v: v.sum() < 100, lambda v: v * v + 1, [x])
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            for k in range(4):
                if k == 2:
                    held.release()
                assert sess.run([*swap, powers], {x: [1.0, 2.0]})[2][0].tolist() == [26.0, 677.0]
            assert [v.tolist() for v in sess.run([a, b])] == [[3.0, 6.0], [5.0, 9.0]]
            steps = sess.run_steps(b + x, {x: np.ones((5, 2), np.float32)})
            assert steps.tolist() == [[6.0, 10.0]] * 5


def test_the_handler_of_a_signal_sees_whole_steps(held: Held, monkeypatch: pytest.MonkeyPatch):
    a, b, seen, write = sg.zeros(3), sg.zeros(3), [], tiers._write

    @sg.compile
    def step(x: Any) -> Any:
        a.add_(x)
        b.add_(x)

    def interrupted(after: list[tiers.Write]) -> None:
        write(after[:1])
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.05)
        write(after[1:])

    step(X[0, :3])
    monkeypatch.setattr(tiers, "_write", interrupted)
    handler = signal.signal(signal.SIGUSR1, lambda *args: seen.append((a.tolist(), b.tolist())))
    try:
        step(X[0, :3])
    finally:
        signal.signal(signal.SIGUSR1, handler)
    assert not step.plan.compiled
    assert seen == [(a.tolist(), b.tolist())]
    assert seen[0][0] == seen[0][1] == (2 * X[0, :3]).tolist()


def test_errors_change_nothing(held: Held):
    total = sg.tensor([0.0, 0.0])

    @sg.compile
    def add(table, i):
        total.add_(1)
        return table[i] + sg.rand(1)

    table, before = np.ones(3, np.float32), sg.get_rng_state()
    texts = []
    for _ in range(2):
        with pytest.raises(sg.IndexRangeError) as failed:
            add(table, np.array([0, 7]))
        texts.append(str(failed.value))
        held.release()
    assert add.plan.compiled
    assert texts[0] == texts[1]
    assert total.tolist() == [0.0, 0.0]
    assert np.array_equal(sg.get_rng_state(), before)


@pytest.mark.parametrize("looks", [0, 3])
def test_a_run_that_the_kernels_overtake(held: Held, monkeypatch: pytest.MonkeyPatch, looks: int):
    """It ends in a loop, in NumPy, and begins anew natively: effects happen once."""
    count = sg.tensor(0.0)

    @sg.compile
    def step(x):
        count.add_(1)
        return sg.while_loop(lambda v: v.sum() < 100, lambda v: v + 1, [x])[0] + sg.rand(1)

    genuine, seen = Interpreted._look, []

    def look(self: Interpreted) -> None:
        seen.append(1)
        if len(seen) > looks:
            held.release()
        genuine(self)

    monkeypatch.setattr(Interpreted, "_look", look)
    sg.manual_seed(1)
    first = step(np.zeros(2, np.float32))
    assert step.plan.tier.startswith("native, after 0 runs in NumPy")
    sg.manual_seed(1)
    assert first.tolist() == step(np.zeros(2, np.float32)).tolist()
    assert count.item() == 2
    assert 50 <= first[0].item() < 51


def test_results_are_arrays_of_their_own(held: Held):
    """Also those that are views of arguments and of variables."""
    w = sg.tensor([[1.0, 2.0], [3.0, 4.0]])
    step = sg.compile(lambda x: (x.T, w.T, sg.exp(x) * 0))
    x = np.eye(2, dtype=np.float32)
    results = [step(x) for _ in range(2)]
    for transposed, turned, _ in results:
        assert transposed.tolist() == np.eye(2).tolist()
        for value in (transposed, turned):
            assert value.numpy().flags.c_contiguous
            value.numpy()[...] = 7
    assert w.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x.tolist() == np.eye(2).tolist()


def test_steps_wait_for_nothing(held: Held):
    """`loop` runs step by step, and natively from the step on in which kernels have arrived."""
    total = sg.tensor(0.0)

    @sg.compile
    def add(x):
        total.add_(sg.exp(x))
        if not total.shape:
            return total * 1
        return total

    zeros = np.zeros(6, np.float32)
    assert add.loop(zeros[:3]).tolist() == [1.0, 2.0, 3.0]
    assert not add.plan.compiled
    held.release()
    assert add.loop(zeros).tolist() == [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    assert add.plan.compiled


@pytest.mark.parametrize("options", [{"wait": True}, {"numerics": "strict"}])
def test_plans_that_are_native_at_once(held: Held, options: dict[str, object]):
    step = sg.compile(lambda x: sg.tanh(x).sum(), **options)
    step(X)
    assert step.plan.compiled
    assert step.recompiles == ["first call"]


def test_waiting(held: Held):
    steps = [sg.compile(lambda x, k=k: sg.exp(x).sum(k)) for k in range(2)]
    for step in steps:
        step(X)
    sg.wait_for_kernels()
    assert [step.plan.compiled for step in steps] == [True, True]


def test_what_needs_native_code_waits(held: Held):
    step = sg.compile(lambda x: sg.exp(x) @ x.T)
    step(X)
    assert not step.plan.compiled
    assert step.profile(1).total >= 0
    assert step.plan.compiled


def test_a_job_that_failed_is_done_here_and_told_once(held: Held, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("staticgrad.compiler.backend.disk_cache._told", set())
    step = sg.compile(lambda x: sg.exp(x).sum() + (x @ x.T).sum())
    step(X)
    for job in held.jobs:
        job.error = "a worker that compiles ended with status -9"
    held.release()
    with pytest.warns(RuntimeWarning, match="compiled in this process.*: a worker that compiles ended with status -9") as told:
        step(X)
    assert len(told) == 1
    assert step.plan.compiled


def test_a_kernel_that_does_not_compile(held: Held, monkeypatch: pytest.MonkeyPatch):
    """It is an error when the native tier would begin, as it is without tiers, and again in each call."""
    step = sg.compile(lambda x: sg.exp(x).sum())
    step(X)
    held.release()

    def failing(self: object) -> int:
        raise sg.CompileError("a kernel does not compile")

    monkeypatch.setattr(machine_code.Wanted, "find", failing)
    for _ in range(2):
        with raised(sg.CompileError, "a kernel does not compile"):
            step(X)
