"""`detect_anomaly` for compiled functions and sessions: the operation that made the first NaN, and no change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.helpers import raised

X = np.array([-1.0, 4.0], np.float32)


def of_the_forward(w: Any, x: Any) -> Any:
    return sg.log(w * x).sum()


def of_the_gradient(w: Any, x: Any) -> Any:
    return (sg.sqrt(w * 0) * x).sum()


def of_infinities(w: Any, x: Any) -> Any:
    big = sg.exp(w * x * 1000)
    return (big - big * 1).sum() + w.sum()


def of_a_loop(w: Any, x: Any) -> Any:
    def body(c: Any, v: Any) -> Any:
        return sg.sqrt(c + v), None  # the body

    return sg.scan(body, w, sg.stack([x * 0, x, x]))[0].sum()


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "complex64"])
def test_numbers_of_every_kind_are_watched(kind: str):
    step = sg.compile(lambda x: sg.log(x - x) * 0)
    with sg.detect_anomaly(), pytest.raises(sg.AnomalyError, match="mul returned nan values"):
        step(sg.tensor([1.0, 2.0], dtype=kind))


CASES: dict[Callable[[Any, Any], Any], tuple[str, tuple[str, ...]]] = {
    of_the_forward: ("log returned nan values", ("operand 0, mul: float32[2] from -1 to 4", "1 of 2 nan, the first at (0,)")),
    of_a_loop: ("sqrt returned nan values", ("# the body", "operand 0, add", "in evaluation 3 of the bodies of loop at ")),
    of_the_gradient: ("mul returned nan values", ("it reached w.grad",)),
    of_infinities: ("sub returned nan values", ("1 of 2 inf, the first at (1,)", "infinity came first, from exp at ")),
}


@pytest.mark.parametrize("case", CASES)
def test_a_step_names_its_first_nan_and_changes_nothing(case: Callable[[Any, Any], Any]):
    w = sg.tensor([1.0, 1.0], requires_grad=True)
    w.name = "w"
    steps = sg.tensor(0)

    @sg.compile
    def step(x: Any) -> Any:
        steps.add_(1)
        loss = case(w, x) + sg.rand(())
        w.grad = None
        loss.backward()
        return loss

    summary, details = CASES[case]
    with sg.detect_anomaly(), raised(sg.AnomalyError, summary) as caught:
        step(X)
    assert caught.value.where.file == __file__
    for text in (*details, "nothing was changed by this run"):
        assert text in str(caught.value)
    assert steps.item() == 0
    with sg.detect_anomaly(check_nan=False):
        step(X)
    assert steps.item() == 1


def test_values_without_nan_are_those_of_other_runs():
    step = sg.compile(lambda x: (x * 2 + sg.rand(2), x.sum()))
    sg.manual_seed(1)
    expected = step(X)
    sg.manual_seed(1)
    with sg.detect_anomaly():
        found = step(X)
        with raised(sg.AnomalyError, 'placeholder "x" holds nan values before the compiled step'):
            step(X * np.float32(np.nan))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_sessions():
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, (None,))
        v = sg.Variable(np.float32(1), name="v")
        root, update = sg.sqrt(x * v), sg.assign(v, v + sg.sum(sg.log(x)))
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            for _ in range(2):  # the second run takes the fast path
                assert np.isnan(sess.run(root, {x: X})).any()
            run = sess.make_callable(root, [x])
            with sg.detect_anomaly():
                for call in (lambda: sess.run(root, {x: X}), lambda: run(X), lambda: sess.run_steps(root, {x: X[None]})):
                    with raised(sg.AnomalyError, "sqrt returned nan values"):
                        call()
                with raised(sg.AnomalyError, "log returned nan values") as caught:
                    sess.run(update, {x: X})
                assert "it reached v" in str(caught.value)
                assert sess.run(v) == 1
                np.testing.assert_array_equal(sess.run(root, {x: np.abs(X)}), [1, 2])
            assert np.isnan(run(X)).any()


def test_a_step_that_replaces_its_state():
    state: dict[str, Any] = {"h": sg.zeros(3), "sum": 0.0, "n": 0}

    @sg.compile
    def step(x: Any) -> Any:
        state["h"] = sg.tanh(state["h"] + x)
        state["sum"] += state["h"][0].item()
        state["n"] = state["n"] + 1
        return state["h"].mean()

    found, h = [], 0.0
    for i in range(6):
        with sg.detect_anomaly(i in (2, 3)):
            found.append(step(sg.ones(3)).item())
        h = np.tanh(h + 1)
        np.testing.assert_allclose(found[-1], h, rtol=1e-5)
    np.testing.assert_allclose(state["sum"], sum(found), rtol=1e-5)
    assert state["n"] == 6
