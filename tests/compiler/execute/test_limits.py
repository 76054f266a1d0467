"""The limits of the machine: measured once, kept, and the times that follow from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from staticgrad.compiler.codegen.printers import Cost
from staticgrad.compiler.execute import profile as module
from staticgrad.compiler.execute.profile import Limits

LIMITS = Limits(1e11, ((1000, 1e11), (10**6, 1e10)), 5e10)


@pytest.mark.parametrize(
    ("cost", "double", "us"),
    [
        (Cost(10**6, 0), False, 10.0),
        (Cost(10**6, 0), True, 20.0),
        (Cost(0, 1000), False, 0.01),
        (Cost(0, 10**6), False, 100.0),
        (Cost(0, 10**9), False, 1e5),
        (Cost(10**6, 1000), False, 10.0),
    ],
)
def test_least_time(cost: Cost, double: bool, us: float):
    assert LIMITS.least_us(cost, double) == pytest.approx(us)


def test_a_limit_that_was_exceeded_is_raised():
    assert LIMITS.raised(Cost(0, 1000), 1.0) == LIMITS
    assert LIMITS.raised(Cost(0, 10**6), 0.5) == LIMITS  # a time below a microsecond is mostly that of a call
    raised = LIMITS.raised(Cost(0, 10**6), 50.0)
    assert raised.bandwidth == ((1000, 1e11), (10**6, 2e10))
    assert raised.least_us(Cost(0, 10**6)) == pytest.approx(50.0)


def test_they_are_measured_once_per_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(module, "_measured_limits", lambda threads: LIMITS)
    module.limits.cache_clear()
    try:
        assert module.limits() == LIMITS
        monkeypatch.setattr(module, "_measured_limits", lambda threads: pytest.fail("measured again"))
        module.limits.cache_clear()
        assert module.limits() == LIMITS
        assert "50 in float64" in str(LIMITS)
    finally:
        module.limits.cache_clear()
