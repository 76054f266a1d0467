"""Calls that need more memory than there is: they say so, change nothing, and smaller ones succeed while memory stays short.

    python -m tests.faults.memory [count] [seed]

The limit is one on the addresses of this process, at random above what it uses: another allocation of the call fails each time.
"""

from __future__ import annotations

import gc
import os
import random
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.eager import generator

WIDTH = 64
LEAST, MOST = 32, 400
"""Megabytes that are left."""
SMALL, LARGE = np.ones((8, WIDTH), np.float32), np.ones((600_000, WIDTH), np.float32)  # 154 MB, shared by all calls
LABELS = np.zeros(len(LARGE), np.int64)


class Case(NamedTuple):
    """call(rows): with so many of the rows of LARGE. state: everything that a call which fails leaves alone."""

    call: Callable[[int], Any]
    state: Callable[[], list[Any]]


def nothing() -> list[Any]:
    return [generator.state]


def pointwise() -> Case:
    f = sg.compile(lambda x: x * 2 + 1)
    return Case(lambda n: f(sg.from_numpy(LARGE[:n])).numpy()[:2], nothing)


def results_and_draws() -> Case:
    f = sg.compile(lambda x: (x * 2 + sg.rand(1) * 0, x + 1, x.sum()))
    return Case(lambda n: [y.numpy()[:1, :1] for y in f(sg.from_numpy(LARGE[:n]))[:2]], nothing)


def buffers() -> Case:
    w = sg.ones(WIDTH, 2 * WIDTH)
    f = sg.compile(lambda x: (sg.softmax(sg.exp(x @ w * 0.01), 1) @ w.T).sum())
    return Case(lambda n: f(sg.from_numpy(LARGE[:n])).item() / n, nothing)


def views() -> Case:
    """Results that are views of the argument, or lie in a variable."""
    w = sg.zeros(WIDTH, requires_grad=True)

    def step(x: Any) -> Any:
        with sg.no_grad():
            w.add_(x[0])
        return x[:, 1:], w * 1, x.T

    f = sg.compile(step)
    return Case(lambda n: [y.detach().numpy()[:1] for y in f(sg.from_numpy(LARGE[:n]))], lambda: [w.detach().numpy().copy()])


def _net() -> tuple[Any, Any, Callable[..., Any]]:
    sg.manual_seed(0)
    net = nn.Sequential(nn.Linear(WIDTH, 48), nn.Tanh(), nn.Linear(48, 4))
    opt = optim.Adam(net.parameters(), lr=1e-3)

    def step(x: Any, y: Any) -> Any:
        logits = net(x)
        loss = F.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss, logits

    return net, opt, step


def _trained(step: Callable[..., Any], net: Any, opt: Any) -> Case:
    def state() -> list[Any]:
        slots = [slot.numpy().copy() for own in opt.state.values() for slot in own.values()]
        return [*[p.detach().numpy().copy() for p in net.parameters()], *slots, generator.state]

    return Case(lambda n: step(LARGE[:n], LABELS[:n])[0].item(), state)


def compiled_training() -> Case:
    net, opt, step = _net()
    return _trained(sg.compile(step), net, opt)


def eager_training() -> Case:
    net, opt, step = _net()
    return _trained(step, net, opt)


def looped() -> Case:
    net, opt, step = _net()
    loop = sg.compile(step).loop
    case = _trained(step, net, opt)

    def call(n: int) -> Any:
        steps = max(1, n // 1000)
        return loop((LARGE[: steps * 8].reshape(steps, 8, WIDTH), LABELS[: steps * 8].reshape(steps, 8)))[0].numpy()[:1]

    return case._replace(call=call)


def session_training() -> Case:
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float32, (None, WIDTH))
        w = sg.Variable(np.ones((WIDTH, 48), np.float32) * 0.01)
        hidden = sg.tanh(x @ w)
        train = optim.SGD(lr=0.01).minimize((hidden * hidden).mean(), [w])
        start = sg.global_variables_initializer()
    session = sg.Session(graph)
    session.run(start)
    return Case(
        lambda n: session.run([hidden, train, w], {x: LARGE[:n]})[0][:1, :1],
        lambda: [session.run(w), generator.state],
    )


def run_steps() -> Case:
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float32, (8, WIDTH))
        w = sg.Variable(np.zeros((WIDTH, 16), np.float32))
        more = w.assign_add(sg.ones(WIDTH, 16))
        start = sg.global_variables_initializer()
    session = sg.Session(graph)
    session.run(start)

    def call(n: int) -> Any:
        steps = max(1, n // 64)
        return session.run_steps([x * 2, more], {x: LARGE[: steps * 8].reshape(steps, 8, WIDTH)})[0][:1, :1, :1]

    return Case(call, lambda: [session.run(w)])


def first_runs() -> Case:
    """Of two variables that are to get their first values, none has one."""
    with sg.Graph().as_default() as graph:
        small, large = sg.Variable(np.ones(3, np.float32)), sg.Variable(sg.zeros(40_000_000))
    sessions = [sg.Session(graph)]

    def call(n: int) -> Any:
        sessions[0] = sg.Session(graph)
        sessions[0].run([small.initializer, large.initializer] if n > 1000 else [small.initializer])
        return sessions[0].run(small)

    return Case(call, lambda: [len(sessions[0]._values.store) > 1])


def host_calls() -> Case:
    f = sg.compile(lambda x: x * 2 + 1, numerics="strict")
    return Case(lambda n: f(sg.from_numpy(LARGE[:n])).numpy()[:2], nothing)


def held_gradients() -> Case:
    """Gradients that the user holds are given new memory, or are left as they are."""
    w = sg.ones(600_000, WIDTH, requires_grad=True)

    def step(x: Any) -> Any:
        loss = (w * x[0]).sum()
        w.grad = None
        loss.backward()
        return x * 2

    f, held = sg.compile(step), []

    def call(n: int) -> Any:
        if n > 1000:
            held.append(w.grad)
            del held[:-1]
        result = f(sg.from_numpy(LARGE[:n])).numpy()[:1, :1]
        assert held[-1:] in ([], [None]) or (held[-1].numpy()[:1, :1] == 1).all()
        return result

    return Case(call, nothing)


CASES: dict[str, Callable[[], Case]] = {
    function.__name__: function
    for function in (
        pointwise, results_and_draws, buffers, views, compiled_training, eager_training, looped, session_training, run_steps,
        first_runs, host_calls,
    )
}  # fmt: skip


def used() -> int:
    """Bytes of addresses that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def same(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def check(name: str, left: int) -> bool:
    """Whether a large call failed with so many megabytes left."""
    case = CASES[name]()
    before = case.call(8)
    gc.collect()
    state, limits = case.state(), resource.getrlimit(resource.RLIMIT_AS)
    failed: bool | None = None
    resource.setrlimit(resource.RLIMIT_AS, (used() + left * 1_000_000, limits[1]))
    try:
        try:
            case.call(len(LARGE))
        except MemoryError as error:
            failed, text = isinstance(error, sg.OutOfMemoryError), str(error)
        if failed is not None:
            assert failed, f"{name}: an error that is not ours, {text}"
            assert "there is no memory for" in text
            assert "memory.py:" in text
            assert same(case.state(), state), f"{name}: the state has changed"
        again = [case.call(n) for n in (8, 16, 8)]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    if failed and case.state is nothing:
        assert np.array_equal(np.ravel(again[0])[:1], np.ravel(before)[:1]), (name, again[0], before)
    return bool(failed)


def main(count: int, seed: int) -> None:
    rng, failed = random.Random(seed), 0
    names = list(CASES)
    for i in range(count):
        failed += check(names[i % len(names)], rng.randint(LEAST, MOST))
        gc.collect()
    assert failed > count // 4, f"{failed} of {count} calls ran out of memory"
    print(f"{count} right")


if __name__ == "__main__":
    os.environ.setdefault("STATICGRAD_TIERS", "0")  # what runs is native
    numbers = [int(arg) for arg in sys.argv[1:]]
    main(*numbers + [100, 0][len(numbers) :])
