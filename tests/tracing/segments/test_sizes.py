"""Functions whose operations are small run operation by operation, and say so."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.tracing.segments import runs

CALLS = 10
SMALL = runs.SMALL


@pytest.fixture(autouse=True)
def sizes_decide(plans_for_small_operations, monkeypatch):
    """As they do outside of these tests."""
    monkeypatch.setattr(runs, "SMALL", SMALL)


def trained(wrap, dtype, rows=lambda i: 4):
    """A step with a cut, whose branch changes between calls. Returns the step and what it did."""
    sg.manual_seed(0)
    model = nn.Linear(3, 2).to(dtype)
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    state = {"best": 1e9, "worse": 0}
    log = []

    def step(x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        if float(loss) < state["best"]:
            state["best"] = loss.item()
        else:
            state["worse"] += 1
            log.append("worse")
        return loss

    fn = wrap(step)
    for i in range(CALLS):
        log.append(float(fn(sg.ones(rows(i), 3, dtype=dtype) * (1 + i % 3))))
    return fn, log, [state["best"], state["worse"], *np.concatenate([p.detach().numpy().ravel() for p in model.parameters()])]


def of_segments(fn):
    return sum(segment.runs for segment in fn.segmented.roads.segments)


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64])
@pytest.mark.parametrize("on_break", [None, "split"])
def test_values_and_effects_are_those_of_eager_mode(dtype, on_break):
    fn, log, found = trained(lambda step: sg.compile(step, on_break=on_break), dtype)
    _, expected_log, expected = trained(lambda step: step, dtype)
    assert [x for x in log if isinstance(x, str)] == [x for x in expected_log if isinstance(x, str)]
    rtol = 2e-5 if dtype is sg.float32 else 1e-12
    np.testing.assert_allclose(*[[x for x in one if not isinstance(x, str)] for one in (log, expected_log)], rtol=rtol)
    np.testing.assert_allclose(found, expected, rtol=rtol)
    said = 'run operation by operation now, which is faster without plans; on_break="split" keeps to segments' in str(
        fn.explain()
    )
    assert said is (on_break is None) is (fn.segmented.small > 0)


def keeping(**settings):
    return lambda step: sg.compile(step, **settings)


@pytest.mark.parametrize("wrap", [keeping(on_break="split"), keeping(numerics="strict"), keeping(passes=[lambda graph: graph])])
def test_settings_that_concern_plans_keep_them(wrap):
    fn, *_ = trained(wrap, sg.float32)
    before = of_segments(fn)
    fn(sg.ones(4, 3))
    assert of_segments(fn) > before
    assert not fn.segmented.small


def test_counts_decide_and_are_looked_at_again(monkeypatch):
    monkeypatch.setattr(runs, "SMALL", 1000)
    monkeypatch.setattr(runs, "AGAIN", 4)

    @sg.compile
    def halved(x):
        y = x * 2
        return y / 2 if float(y.sum()) > 3 else y + 1

    x = sg.ones(8)
    looks = []
    seen = runs.SegmentedRuns._weigh
    monkeypatch.setattr(runs.SegmentedRuns, "_weigh", lambda self, *args: (looks.append(self.calls), seen(self, *args)))
    for _ in range(16):
        assert halved(x).tolist() == [1.0] * 8
    assert halved.segmented.small
    assert looks == [1, 2, 4, 8, 12, 16]
    assert of_segments(halved) == 0  # no plan was made
    assert halved.plan is not None  # but when somebody asks what it would be
    large = sg.ones(5000)
    for _ in range(8):
        assert float(halved(large).sum()) == 5000
    assert not halved.segmented.small  # the first look at large tensors ended it
    before = of_segments(halved)
    halved(large)
    assert of_segments(halved) == before + 2


def test_an_error_leaves_what_eager_mode_leaves():
    seen = []

    @sg.compile
    def refusing(x, limit):
        y = x * 2
        seen.append(y.sum().item())
        if seen[-1] > limit:
            raise ValueError("too large")
        return y

    for _ in range(CALLS):
        refusing(sg.ones(2), 10)
    with pytest.raises(ValueError, match="too large"):
        refusing(sg.ones(2), 1)
    assert seen == [4.0] * (CALLS + 1)
