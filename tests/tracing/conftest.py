"""Fixtures of tests of compiled functions."""

from __future__ import annotations

import pytest

from staticgrad.tracing.segments import runs


@pytest.fixture(autouse=True)
def plans_for_small_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of small operations have plans, too, so that tests of a few small arrays are tests of plans."""
    monkeypatch.setattr(runs, "SMALL", 0)
