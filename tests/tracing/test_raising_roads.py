"""Errors on roads through a step: the call has the results, the effects and the error of eager mode, and the function settles
after a few traces."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import sys
import threading
import types
import weakref

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.ops.custom_gradient import DecisionMissed
from staticgrad.tracing.segments.runs import drop_held, printed_once
from staticgrad.tracing.specialization import Specialization
from staticgrad.tracing.specialization_cache import MOVING, ROADS, SpecializationCache

table = sg.arange(4) * 1.0
MOST = 9
"""Traces of a function that has settled."""


@pytest.fixture
def traces(monkeypatch):
    """The number of traces, of those that raise, too."""
    found, before = [], SpecializationCache._traced

    def counted(self, *args, **kwargs):
        found.append(self.name)
        return before(self, *args, **kwargs)

    monkeypatch.setattr(SpecializationCache, "_traced", counted)
    return found


def scheduler_that_raises(state):
    p = nn.Parameter(sg.ones(2))
    opt = optim.SGD([p], lr=0.1)
    schedule = optim.lr_scheduler.LambdaLR(opt, lambda epoch: 1.0 if epoch < 1 else 1 / 0)

    def step(i):
        opt.zero_grad()
        loss = (p * i).sum()
        loss.backward()
        opt.step()
        state.log.append("stepped")
        if loss > 0:
            loss = loss * 2
        schedule.step()
        return loss + p.sum().detach()

    return step


def state_on_a_road(state):
    state.last, state.n = sg.zeros(()), 0.0

    def step(i):
        if (i < 4).item():
            return table[i] * 2
        state.last = state.last + 1
        state.n = state.n + i.item() * 0.5
        return state.last * state.n

    return step


def argument_on_a_road(state):
    def step(i):
        if (i < 4).item():
            return table[i] * 2 + i
        return state.inputs[9] + i

    return step


def host_error(state):
    state.fails = sg.zeros(())

    def step(i):
        a = sg.stack([sg.stack([i * 0 + 2, i]), sg.stack([i, i * 0 + 2])]) * 1.0
        if a[0, 0] * a[1, 1] > a[0, 1] * a[1, 0]:
            return sg.linalg.cholesky(a).sum()
        state.fails = state.fails + 1
        return state.fails * 1

    return step


def handler(state):
    def step(i):
        y = table[i] * 2
        try:
            return y + 1 if y > 3 else y - 1
        except Exception:
            return y * 0 - 100

    return step


def another_error(state):
    def step(i):
        y = table[i] * 2
        try:
            return y + 1 if y > 3 else y - 1
        except Exception:
            raise KeyError("replaced") from None

    return step


def suppressed(state):
    def step(i):
        y = table[i] * 2
        z = y * 0 - 100
        with contextlib.suppress(Exception):
            z = y + 1 if y > 3 else y - 1
        return z

    return step


def written_as_text(state):
    def step(i):
        loss = i * 1.0
        if loss > 1:
            loss = loss * 0.5
        return len(json.dumps({"loss": loss.item()})) > 3, loss

    return step


def class_that_is_checked(state):
    def step(i):
        loss = i * 1.0
        if loss > 1:
            loss = loss * 0.5
        if not isinstance(loss.item(), float):
            raise TypeError("a number is wanted")
        return loss

    return step


def running_average(state):
    state.sum, state.n, state.average = 0.0, 0, 0.0

    def step(i):
        loss = i * 1.5
        if loss > 9:
            raise RuntimeError("diverged")
        state.sum += loss.item()
        state.n = state.n + 1
        state.average = state.sum / state.n
        return loss

    return step


def number_of_the_state(state):
    state.n = 0

    def step(i):
        state.n = state.n + 1
        if (i < 4).item():
            return i * len(json.dumps(state.n))
        return i

    return step


def refused(state):
    def step(i):
        state.log.append("begun")
        if (i > 3).item():
            raise IndexError("out of range")
        return i * 2

    return step


def always_refused(state):
    def step(i):
        if (i >= 0).item():
            raise IndexError("out of range")
        return i * 2

    return step


def replaced_tensor(state):
    def step(i):
        return i * 2 if (i < 4).item() else i * state.given

    return step


def replaced_number(state):
    def step(i):
        return i * 2 if (i < 4).item() else i * state.rate

    return step


PROGRAMS = [
    scheduler_that_raises, state_on_a_road, argument_on_a_road, host_error, handler, another_error, suppressed, written_as_text,
    class_that_is_checked, running_average, number_of_the_state, refused, always_refused, replaced_tensor, replaced_number,
]  # fmt: skip
CALLS = [1, 2, 9, 9, 3, 9, 0, 2, 1, 9] + [9, 1] * 20


def run(program, compiles):
    state = types.SimpleNamespace(log=[], inputs={i: sg.tensor(i) for i in range(10)})
    step = compiles(program(state))
    out = []
    for n, i in enumerate(CALLS):
        state.given, state.rate = sg.full((), float(n)), 0.9**n
        try:
            found = step(state.inputs[i])
            parts = found if type(found) is tuple else (found,)
            out.append([np.round(x.tolist(), 5) if sg.is_tensor(x) else x for x in parts])
        except Exception as error:
            out.append(next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"))
    state.given = state.rate = None
    return repr([out, vars(state)])


@pytest.mark.parametrize("program", PROGRAMS)
def test_calls_are_those_of_eager_mode_and_soon_none_is_traced(program, traces):
    assert run(program, sg.compile) == run(program, lambda fn: fn)
    assert len(traces) <= (MOST if program is not number_of_the_state else MOVING + MOST)  # a trace for each number


def test_numbers_among_the_arguments():
    def step(i, s):
        if (i < 4).item():
            return table[i] * s
        raise ValueError("large")

    compiled, found = sg.compile(step, wait=True), []
    for i, s in ((1, 0.1), (1, 0.2), (2, 0.3), (1, 0.4), (2, 0.5), (9, 0.6), (1, 0.7), (9, 0.8), (3, 0.9)):
        try:
            found.append(round(float(compiled(sg.tensor(i), s)), 5))
        except ValueError:
            found.append("error")
    assert found == [0.1, 0.2, 0.6, 0.4, 1.0, "error", 0.7, "error", 2.7]


@pytest.mark.parametrize("stack", [np.stack, list])
def test_a_loop_raises_the_error_of_the_code_after_its_effects(stack):
    w = sg.zeros(2)

    @sg.compile(wait=True)
    def step(x):
        w.add_(x)
        if x.sum() > 3:
            raise KeyError("large")
        return x * 2

    with pytest.raises(KeyError, match="large"):
        step.loop(stack([np.full(2, k, np.float32) for k in (1, 5, 1)]))
    assert w.tolist() == [6, 6]
    with pytest.raises(KeyError, match="large"):
        step.of(step.fn).specialization_of(sg.ones(2) * 5)


def test_plans_that_disagree_about_a_decision_leave_it_to_eager_mode(monkeypatch):
    @sg.compile(wait=True)
    def step(x):
        return x * 2 if x.sum() > 0 else x * 3

    assert [step(sg.ones(2) * k).tolist() for k in (1, -1)] == [[2, 2], [-3, -3]]
    runs = []

    def execute(self, arrays, given):
        runs.append(self.road)
        raise DecisionMissed.of(0, not self.road[0])

    monkeypatch.setattr(Specialization, "execute", execute)
    monkeypatch.setattr(step, "_fast", lambda given: sg.tracing.step_loop.FALLBACK)
    assert step(sg.ones(2)).tolist() == [2, 2]
    assert sorted(runs) == [(False,), (True,)]


def test_plans_of_a_function_with_too_many_roads_are_dropped():
    @sg.compile(wait=True)
    def counted(x):
        n = 0
        while x > n:
            n += 1
        return x * n

    for k in range(1, ROADS + 1):
        counted(sg.tensor(float(k)))
    plans = [weakref.ref(specialization.plan) for known in counted.specializations.values() for specialization in known]
    assert len(plans) == ROADS
    assert float(counted(sg.tensor(ROADS + 1.0))) == (ROADS + 1) ** 2
    assert counted.segmented is not None
    gc.collect()
    assert not any(plan() for plan in plans)


def prints(x):
    print("step", file=sys.stderr)
    print("seen")
    if x.sum() > 3:
        print("high", file=sys.stderr)
        raise ValueError("large")
    sg.print("low", x)
    return x * 2


def test_both_streams_are_written_once():
    texts = []
    for fn in (sg.compile(prints, wait=True), prints):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            for k in (1, 5, 1, 5, 1):
                with contextlib.suppress(ValueError):
                    fn(sg.ones(2) * k)
        texts.append((out.getvalue(), err.getvalue()))
    assert texts[0] == texts[1]


def test_what_another_thread_prints_is_not_dropped(capsys):
    printed, dropped = threading.Event(), threading.Event()

    def other(_):
        print("other")
        printed.set()
        assert dropped.wait(10)

    def mine(_):
        print("mine")
        thread.start()
        assert printed.wait(10)
        assert drop_held()
        dropped.set()
        thread.join()

    thread = threading.Thread(target=printed_once, args=(other, None))
    printed_once(mine, None)
    assert capsys.readouterr().out == "other\n"
    assert not drop_held()


def test_warnings_of_a_trace_that_fails_are_not_lost(capsys):
    def warned(_):
        sys.stderr.write("dropped\n")
        code = compile("out.write('a warning\\n')", "<warnings>", "exec")
        exec(code, {"__name__": "warnings", "out": sys.stderr})
        raise sg.TraceError("again")

    with pytest.raises(sg.TraceError):
        printed_once(warned, None)
    assert capsys.readouterr().err == "a warning\n"


def test_captured_tensors_decide_and_are_numbers():
    flag, n = sg.tensor(True), sg.tensor([2])

    @sg.compile(wait=True)
    def step(x):
        if flag:
            x = x * 2
        return x + n.item(), flag.item()

    found = []
    for i in range(4):
        flag.fill_(i % 2 == 0)
        n.fill_(i)
        x, outcome = step(sg.ones(2))
        found.append((x.tolist(), outcome))
    assert found == [([2, 2], True), ([2, 2], False), ([4, 4], True), ([4, 4], False)]
    assert step.segmented is None
    assert step.traces == 2


def test_an_error_of_the_code_is_told_once():
    """Eager mode raises it, and what tracing met before is not its context."""

    @sg.compile
    def step(x):
        if x.sum() > 0:
            raise ValueError("positive")
        return x

    with pytest.raises(ValueError, match="positive") as raised:
        step(sg.ones(3))
    assert raised.value.__context__ is None
