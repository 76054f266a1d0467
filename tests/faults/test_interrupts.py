"""Ctrl-C at every phase; `python -m tests.faults.interrupts` does it more often."""

from __future__ import annotations

import pytest

from tests.processes import ended, start


@pytest.mark.parametrize(("kind", "count"), [("calls", 50), ("signals", 4), ("hot", 300)])
def test_calls_are_interrupted_or_completed(kind: str, count: int, monkeypatch: pytest.MonkeyPatch):
    out, err = ended(start(f"from tests.faults import interrupts; interrupts.{kind}({count}, 0)"), 300)
    assert out == f"{count} right\n", err
