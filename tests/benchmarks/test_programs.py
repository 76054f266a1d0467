"""A few of the public training programs: compiled steps agree with eager ones, without cuts or stale settings."""

from __future__ import annotations

import math

import pytest

from benchmarks.programs import PROGRAMS
from benchmarks.programs.__main__ import page
from benchmarks.programs.measure import Outcome, difference, losses

pytestmark = pytest.mark.usefixtures("interpreted")

FAST = ("logistic_regression", "dqn", "rbm", "word2vec", "style_transfer", "bayes_by_backprop")


@pytest.mark.parametrize("name", FAST)
def test_compiled_steps_agree_with_eager_ones(name):
    compiled, training = losses(PROGRAMS[name], "staticgrad", compiled=True, steps=6)
    eager, _ = losses(PROGRAMS[name], "staticgrad", steps=6)
    assert difference(compiled, eager) < 1e-5
    assert training.step.segmented is None
    assert training.step.traces <= 4


@pytest.mark.oracle
@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if not program.random])
def test_programs_agree_with_pytorch(name):
    ours, _ = losses(PROGRAMS[name], "staticgrad", compiled=True)
    theirs, _ = losses(PROGRAMS[name], "torch")
    assert difference(ours, theirs) < 1e-4


def test_the_page():
    found = [Outcome("dqn", 1e-7, 2e-7, 0, 2, 0.001, 0.004), Outcome("vae", 0.0, math.nan, 1, 2, 0.002, 0.001)]
    text = page(found, "here")
    assert "| `dqn` |" in text
    assert "Geometric mean of 2 programs: 1.4. Slower than PyTorch: `vae`." in text
