"""STATICGRAD_FASTCALL=0: native code doesn't read the headers of arrays, and the results are the same."""

from __future__ import annotations

import textwrap

import pytest

from tests.processes import ended, start

SETUP = """
import numpy as np
import staticgrad as sg
from staticgrad.compiler.execute import fastcall

made, method = [], fastcall._method
fastcall._method = lambda: (made.append(1), method())[1]


def show(*values):
    arrays = [value.detach().numpy() if isinstance(value, sg.Tensor) else np.asarray(value) for value in values]
    print(*[array.tobytes().hex() for array in arrays])
"""
PROGRAMS = {
    "a training step": """
        w = sg.tensor(np.linspace(-1, 1, 12).reshape(4, 3), requires_grad=True)
        optimizer = sg.optim.Adam([w], lr=0.1)

        @sg.compile
        def step(x):
            optimizer.zero_grad()
            loss = (x @ w).tanh().square().mean()
            loss.backward()
            optimizer.step()
            return loss, x.T

        x = np.arange(20, dtype=np.float64).reshape(5, 4) / 20
        for _ in range(3):
            loss, turned = step(x)
            show(loss, turned, w, w.grad)
        show(*[loss for loss, _ in step.loop([x, x + 1])])
        show(*step.loop(np.stack([x, x])))
    """,
    "a session": """
        with sg.Graph().as_default():
            x = sg.placeholder(np.float32, (2, 3))
            v = sg.Variable(np.ones((2, 3), np.float32))
            up = v.assign_add(x * 2)
            with sg.Session() as session:
                session.run(sg.global_variables_initializer())
                one = np.full((2, 3), 0.25, np.float32)
                show(*session.run([up, x, v.T], {x: one}))
                show(*session.run_steps(up, [{x: one}, {x: -one}]), session.run_steps(up, {x: np.stack([one] * 3)}))
    """,
    "a loop that grows stacks": """
        @sg.compile
        def run(x, limit):
            count, total = sg.while_loop(lambda i, t: t.sum() < limit, lambda i, t: (i + 1, t * 1.5), (0, x))
            g, = sg.grad(total.sum(), [x])
            return count, total, g

        for limit in (10.0, 400.0):
            show(*[part for part in run(sg.tensor(np.ones(3), requires_grad=True), sg.tensor(limit))])
    """,
    "host calls": """
        @sg.compile(numerics="strict")
        def run(x):
            return (x * 3).exp().sum(), x.sort()[0] if hasattr(x, "sort") else x

        for _ in range(2):
            show(*[part for part in run(sg.tensor(np.array([3.0, 1.0, 2.0])))])
    """,
    "random draws": """
        sg.manual_seed(3)
        draw = sg.compile(lambda x: x + sg.rand(4))
        for _ in range(3):
            show(draw(np.zeros(4)))
    """,
    "an error that changes nothing": """
        table = sg.tensor(np.zeros((4, 2)))

        @sg.compile
        def put(index):
            table.add_(1.0)
            return table[index]

        show(put(np.array([0, 3])))
        try:
            put(np.array([0, 4]))
        except sg.errors.IndexRangeError as error:
            print(error.summary)
        show(table)
    """,
}


def outcomes(fastcall: str) -> dict[str, str]:
    """What each program prints, and at the end the number of fast calls that were made."""
    parts = [SETUP]
    for name, program in PROGRAMS.items():
        parts.append(f"print({name!r} + ':')\n" + textwrap.dedent(program))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STATICGRAD_FASTCALL", fastcall)
        out, err = ended(start("\n".join([*parts, "print('fast calls:')", "print(len(made))"])))
    assert not err, err
    found: dict[str, str] = {}
    for line in out.splitlines():
        if line.endswith(":"):
            found[line[:-1]] = ""
        else:
            found[next(reversed(found))] += line + "\n"
    return found


@pytest.fixture(scope="module")
def runs() -> tuple[dict[str, str], dict[str, str]]:
    return outcomes("1"), outcomes("0")


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_the_same(name: str, runs: tuple[dict[str, str], dict[str, str]]):
    fast, plain = runs
    assert fast[name]
    assert plain[name] == fast[name]


def test_no_fast_call_is_made(runs: tuple[dict[str, str], dict[str, str]]):
    fast, plain = runs
    assert int(fast["fast calls"]) > 0
    assert int(plain["fast calls"]) == 0
