"""Tables of sessions and compiled functions are bounded, and what is used again and again stays in them."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler import program
from staticgrad.static import prepared_run, session
from staticgrad.tracing import specialization_cache

FEW = 4
HOT = np.ones((50, 3), np.float32)


def others(number: int = 40):
    return (np.ones((n, 3), np.float32) for n in range(1, number))


@pytest.fixture
def small_tables(monkeypatch):
    monkeypatch.setattr(program, "PLANS", FEW)
    monkeypatch.setattr(prepared_run, "PLANS", FEW)
    monkeypatch.setattr(session, "SHORTCUTS", FEW)
    monkeypatch.setattr(specialization_cache, "MOST", 2 * FEW)


@pytest.mark.parametrize("numerics", ["fast", "strict"])
def test_a_session_keeps_the_plans_of_the_shapes_that_are_used(small_tables, numerics):
    x = sg.placeholder(sg.float32, [None, 3])
    y = sg.exp(x).sum(axis=0)
    with sg.Session(numerics=numerics) as sess:
        sess.run(y, {x: HOT})
        plan = sess.plan(y, {x: HOT})
        for k, array in enumerate(others()):
            np.testing.assert_allclose(sess.run(y, {x: array}), np.exp(array).sum(0), rtol=1e-6)
            if k % 3 == 0:
                np.testing.assert_allclose(sess.run(y, {x: HOT}), np.exp(HOT).sum(0), rtol=1e-5)
        assert len(sess.plans) <= 2 * FEW
        assert sess.plan(y, {x: HOT}) is plan
        (runner,) = sess._runners.everything().values()
        assert len(runner.known.everything()) <= 2 * FEW


def test_a_session_keeps_the_programs_of_the_fetches_that_are_used(small_tables):
    x = sg.placeholder(sg.float32, [])
    fetches = [x * float(n) for n in range(40)]
    with sg.Session() as sess:
        call = sess.make_callable(fetches[1], [x])
        assert call(2.0) == 2.0
        sess.run(fetches[0], {x: 1.0})
        for n, fetch in enumerate(fetches[2:], 2):
            assert sess.run(fetch, {x: 2.0}) == 2.0 * n
            assert sess.run(fetches[0], {x: 1.0}) == 0.0
        assert len(sess._runners.everything()) <= 2 * FEW
        assert len(sess._steps.everything()) <= 2 * FEW
        assert call(3.0) == 3.0
    with pytest.raises(sg.GraphError, match="closed Session"):  # although its program has left the table
        call(2.0)


@pytest.mark.parametrize("options", [{}, {"numerics": "strict"}], ids=str)
def test_a_compiled_function_keeps_the_plans_that_are_called(small_tables, options):
    fn = sg.compile(lambda x: x.exp().sum(0), **options)
    hot = sg.tensor(HOT)
    fn(hot)
    (kept,) = (s for known in fn.specializations.values() for s in known)
    for k, array in enumerate(others()):
        np.testing.assert_allclose(fn(sg.tensor(array)).numpy(), np.exp(array).sum(0), rtol=1e-6)
        if k % 6 == 5:  # the fast path has reached four others since
            np.testing.assert_allclose(fn(hot).numpy(), np.exp(HOT).sum(0), rtol=1e-5)
    known = [s for found in fn.specializations.values() for s in found]
    assert len(known) <= 2 * FEW
    assert kept in known
    assert all(fn.specializations.values())
