"""Loops that take long pause for Python to look at its signals, and go on where they were."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from tests.processes import ended, interrupted, start

COUNT = 3_000_000
"""Iterations: some tenths of a second."""


def counted(x, n):
    """x + n, one by one."""
    return sg.while_loop(lambda y, i: i < n, lambda y, i: (y + 1, i + 1), [x, sg.zeros((), dtype=sg.int64)])[0]


X, N = np.arange(3.0), np.int64(COUNT)


def test_a_call():
    call = sg.compile(counted)
    for _ in range(2):
        assert np.array_equal(call(X, N).numpy(), X + COUNT)


def test_a_session():
    with sg.Graph().as_default():
        x, n = sg.placeholder("float64", (3,)), sg.placeholder("int64", ())
        y = counted(x, n)
        with sg.Session() as sess:
            assert np.array_equal(sess.run(y, {x: X, n: N}), X + COUNT)


def test_many_steps_in_one_call():
    """The step that is under way goes on; the others begin from the start."""
    total = sg.tensor(np.zeros(3))

    @sg.compile
    def step(x, n):
        y = counted(x, n)
        total.add_(y)
        return y

    found = step.loop([(X + k, N) for k in range(3)])
    assert [np.array_equal(y.numpy(), X + k + COUNT) for k, y in enumerate(found)] == [True] * 3
    assert np.array_equal(total.numpy(), 3 * X + 3 + 3 * COUNT)


def test_a_loop_in_a_loop():
    @sg.compile
    def sums(x):
        return sg.scan(lambda c, v: (counted(c, N // 4) + v, c), x[0], x)

    last, every = sums(sg.tensor(np.arange(4.0)))
    quarter = COUNT // 4
    assert last.item() == 6 + 4 * quarter
    assert np.array_equal(every.numpy(), [0.0, quarter, 2 * quarter + 1.0, 3 * quarter + 3.0])


ENDLESS = """
import numpy as np
import staticgrad as sg

def endless(x):
    return sg.while_loop(lambda c: c < np.inf, lambda c: c * 0 + 1, [x])

if MODE == "compiled":
    call = sg.compile(endless)
else:
    x = sg.placeholder("float64", ())
    y, sess = endless(x), sg.Session()
    call = lambda value: sess.run(y, {x: value})
print("running", flush=True)
try:
    call(np.float64(1))
except KeyboardInterrupt:
    assert np.isinf(np.asarray(call(np.float64(np.inf))))
    print("usable")
"""


@pytest.mark.parametrize("mode", ["compiled", "session"])
def test_ctrl_c_ends_a_loop_without_end(mode: str):
    out, err = interrupted(f"MODE = {mode!r}\n{ENDLESS}", 3.0)
    assert out == "usable\n", err


WITHIN = """
import signal
import numpy as np
import staticgrad as sg

x, n = sg.placeholder("float64", (3,)), sg.placeholder("int64", ())
y = sg.while_loop(lambda y, i: i < n, lambda y, i: (y + 1, i + 1), [x, sg.zeros((), dtype=sg.int64)])[0]
sess, told = sg.Session(), []
feeds = {x: np.arange(3.0), n: np.int64(20_000_000)}

def again(*_):
    try:
        sess.run(y, {x: np.zeros(3), n: np.int64(5)})
        signal.setitimer(signal.ITIMER_REAL, 0.01)  # it came before the run began
    except sg.errors.GraphError as error:
        told.append(error.summary)

if MODE == "steps":
    step = lambda: sess.run_steps(y, {node: value[None] for node, value in feeds.items()})[0]
else:
    step = lambda: sess.run(y, feeds)
expected = step()
signal.signal(signal.SIGALRM, again)
for _ in range(2):
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    assert np.array_equal(step(), expected)
    assert told.pop() == "a run of this plan is under way, and can't begin anew within itself"
assert np.array_equal(sess.run(y, {**feeds, n: np.int64(5)}), feeds[x] + 5)
"""


@pytest.mark.parametrize("mode", ["run", "steps"])
def test_a_handler_of_a_signal_can_not_run_what_is_running(mode: str):
    """It would write over the state of the loop."""
    process = start(f"MODE = {mode!r}\n{WITHIN}")
    _, err = ended(process)
    assert process.returncode == 0, err
