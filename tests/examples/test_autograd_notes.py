"""The notes on autograd print what PyTorch prints, line for line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.dialect import EXAMPLES, load

NOTES = EXAMPLES / "autograd_notes.py"
PRINTED = Path(__file__).parent / "autograd_notes.txt"
"""The output with PyTorch 2.13."""


def printed(capsys: pytest.CaptureFixture[str], library: str) -> list[str]:
    load(NOTES, library)["main"]()
    return capsys.readouterr().out.splitlines()


def test_notes_print_the_stored_lines(capsys):
    assert printed(capsys, "staticgrad") == PRINTED.read_text(encoding="utf-8").splitlines()


@pytest.mark.oracle
def test_notes_print_pytorchs_lines(capsys):
    pytest.importorskip("torch")
    assert printed(capsys, "staticgrad") == printed(capsys, "torch")
