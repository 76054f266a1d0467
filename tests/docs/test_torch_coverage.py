"""`docs/torch_coverage.md` is that of the names which are here."""

from __future__ import annotations

import pytest

from tools import coverage


def test_the_page_has_todays_names():
    """Its lists; the cells are those of the last run of `python -m tools.coverage`."""
    text = coverage.PAGE.read_text(encoding="utf-8")
    cells = coverage.stored(text)
    assert coverage.page(cells) == text, "python -m tools.coverage --names"


@pytest.mark.parametrize(
    ("space", "name", "expected"),
    [
        ("torch", "exp", ["✓", "✓", "✓", "✓", "native"]),
        ("torch", "cumsum", ["✓", "✓", "-", "✓", "native"]),
        ("torch", "argmax", ["✓", "-", "-", "✓", "native"]),
        ("torch", "nonzero", ["✓", "-", "-", "✗", "✗"]),
        ("torch.linalg", "inv", ["✓", "✓", "✓", "✓", "host"]),
    ],
)
def test_cells(space, name, expected):
    run = coverage.sampled(getattr(coverage.namespace(space), name), name)
    assert coverage.measured(run)[:5] == expected


def test_a_wrong_gradient_is_seen():
    import numpy as np

    import staticgrad as sg

    assert coverage.gradients(coverage.Run(lambda x: sg.stop_gradient(x) * x, [np.ones(3)])) == ("wrong", "wrong")
    assert coverage.gradients(coverage.Run(lambda x: x * x, [np.ones(3)])) == ("✓", "✓")
