"""The choice of segments, their number and their report."""

from __future__ import annotations

import copy
import pprint
import re
import sys
import threading
import types

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.tracing.segments import runs


def halved(x):
    y = x * 2
    if y.sum() > 3:
        y = y / 2
    return y + 1


def test_known_roads_are_taken_again():
    fn = sg.compile(halved, on_break="split")
    assert [fn(sg.ones(2) * k).tolist() for k in (1, 2, 0, 1, 2, 0)] == [[2, 2], [3, 3], [1, 1]] * 2
    assert [segment.runs for segment in fn.segmented.roads.segments] == [6, 4, 2]


def wandering(values, w):
    total = 0.0
    for i, value in enumerate(values):
        total = total + w * float(w.sum() * value) if i == 0 else total + w * value
    return total


def test_a_function_that_takes_another_road_in_each_call_runs_operation_by_operation(monkeypatch):
    monkeypatch.setattr(runs, "COSTLY", 60)
    w = sg.tensor([1.0, 2.0])
    fn, kept = sg.compile(wandering), sg.compile(wandering, on_break="split")
    with pytest.warns(RuntimeWarning, match="wandering took another road in each of its latest 3 calls, so it runs"):
        found = [fn([0.5] * n, w) for n in range(10, 16)]
    for n, y in zip(range(10, 16), found, strict=True):
        assert y.tolist() == wandering([0.5] * n, w).tolist() == kept([0.5] * n, w).tolist()
    roads = [segment.operations for segment in fn.segmented.roads.segments]
    assert len(roads) < len(kept.segmented.roads.segments)
    assert "its latest calls each took another road through the code" in str(fn.explain())
    monkeypatch.setattr(runs, "AGAIN", 1)
    fn([0.5] * 10, w)
    assert "another road" not in str(fn.explain())
    assert [segment.operations for segment in fn.segmented.roads.segments] == roads


def test_report():
    fn = sg.compile(halved, on_break="split")
    fn(sg.ones(2))
    text = str(fn.explain(detail=True))
    assert "halved runs in segments, because" in text
    assert re.search(r"cut at .*test_runs.py:\d+   if y.sum\(\) > 3:, for __bool__", text)
    assert re.search(r"segment 1, after segment 0: \d+ operations, 1 runs, cut at the end of the function", text), text[:800]
    assert fn.plan.host_calls == 0


def test_an_interrupt_where_held_output_is_written(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # and back afterwards

    def interrupted(self, name):
        raise KeyboardInterrupt

    monkeypatch.setattr(runs.HeldOutput, "end", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runs.printed_once(lambda work: print("traced"), None)
    print("after")
    assert capsys.readouterr().out == "traced\nafter\n"


def test_eager_and_error():
    fn = sg.compile(halved, on_break="eager")
    assert fn(sg.ones(2)).tolist() == [2, 2]
    assert not fn.segmented.roads.segments
    with pytest.raises(sg.TraceError, match=r"halved runs operation by operation, so there is no plan: .* truth value"):
        fn.explain()
    for refusing in (sg.compile(halved, on_break="error"), sg.compile(halved, fullgraph=True)):
        with pytest.raises(sg.TraceError, match="its truth value"):
            refusing(sg.ones(2))


def test_many_roads_run_operation_by_operation(monkeypatch):
    monkeypatch.setattr(runs, "MOST", 2)
    fn = sg.compile(lambda x: (float(x), sg.ones(int(float(x))).sum() * x))
    assert fn(sg.tensor(1.0))[1].item() == 1
    with pytest.warns(RuntimeWarning, match="beyond 2 segments it runs operation by operation"):
        assert [fn(sg.tensor(float(k)))[1].item() for k in range(1, 6)] == [1, 4, 9, 16, 25]


def test_nested_functions_and_steps_of_a_loop():
    inner = sg.compile(lambda x: x * 2)

    @sg.compile
    def outer(x):
        return inner(x).item() + inner(x)

    assert outer(sg.tensor(1.0)).item() == 4
    assert [float(r) for r in outer.loop([sg.tensor(1.0), sg.tensor(2.0)])] == [4, 8]


def test_prints_of_a_trace_are_not_repeated(capsys):
    @sg.compile
    def step(x):
        print("once")
        return float(x)

    assert step(sg.tensor(1.0)) == 1
    assert capsys.readouterr().out == "once\n"


def test_prints_before_a_cut_come_once_in_eager_mode(capsys):
    def step(x):
        print("loss", x.sum().item())
        return x * 2

    compiled = sg.compile(step, on_break="eager")
    for _ in range(2):
        compiled(sg.ones(2))
    assert capsys.readouterr().out == 2 * "loss 2.0\n"


def test_a_module_is_copied_in_a_function():
    def step(x):
        fast = copy.deepcopy(model)
        optimizer = sg.optim.SGD(fast.parameters(), lr=0.1)
        loss = (fast(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        with sg.no_grad():
            for p, q in zip(model.parameters(), fast.parameters(), strict=True):
                p += 0.5 * (q - p)
        return loss.item()

    found = []
    for wrap in (sg.compile, lambda fn: fn):
        sg.manual_seed(0)
        model = sg.nn.Linear(3, 2)
        run = wrap(step)
        found.append([run(sg.ones(4, 3)) for _ in range(4)])
    assert found[0] == pytest.approx(found[1])


def test_what_other_threads_print_during_a_trace_goes_through(capsys):
    def step(x):
        print("held")
        other = threading.Thread(name="other", target=print, args=("through",))
        np.fromfunction(other.start, ())  # called by NumPy, whose frames are not observed
        np.fromfunction(other.join, ())
        return x * 2 if float(x.sum()) > 0 else x

    sg.compile(step)(sg.ones(3))
    assert capsys.readouterr().out == "through\n" + "held\nthrough\n"
    assert not isinstance(sys.stdout, runs.HeldOutput)


TEXTS = {
    "repr": lambda x: repr(x * 2),
    "elements": lambda x: f"{x[x > 0]} {[x[x > 0]]}",
    "list": lambda x: str([x * 2]),
    "dict": lambda x: f"{ {'y': x * 2} }",
    "f-string": lambda x: f"{x * 2!r}",
    "format": lambda x: str.format("{}", (x * 2,)),
    "namespace": lambda x: str(types.SimpleNamespace(y=x * 2)),
    "pprint": lambda x: pprint.pformat({"y": x * 2}),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_values(name):
    step = TEXTS[name]
    for options in ({}, {"numerics": "strict"}, {"on_break": "split"}, {"on_break": "eager"}):
        compiled = sg.compile(step, **options)
        for k in range(3):
            x = sg.ones(2) * k
            assert compiled(x) == step(x)
    with pytest.raises((sg.TraceError, sg.errors.DataDependentError)):
        sg.compile(step, on_break="error")(sg.ones(2))
