"""`docs/torch_coverage.md` is that of the names which are here."""

from __future__ import annotations

import pytest

from staticgrad.ir import REGISTRY, Pointwise
from tools import coverage


def test_the_page_has_todays_names():
    """Its lists; the cells are those of the last run of `python -m tools.coverage`."""
    text = coverage.PAGE.read_text(encoding="utf-8")
    cells = coverage.stored(text)
    assert coverage.page(cells) == text, "python -m tools.coverage --names"


def test_the_page_agrees_with_the_records():
    """Kernels compute the functions whose records are lowered elementwise, and their gradients are right."""
    cells = coverage.stored(coverage.PAGE.read_text(encoding="utf-8"))
    records = {name: op for name, op in REGISTRY.items() if f"torch.{name}" in cells}
    native = [name for name, op in records.items() if isinstance(op.emit, Pointwise)]
    assert len(native) > 50
    assert [name for name in native if cells[f"torch.{name}"][4] != "native"] == []
    smooth = [name for name in native if records[name].vjp is not None]
    assert [name for name in smooth if cells[f"torch.{name}"][1] not in ("✓", "-")] == []


@pytest.mark.parametrize(
    ("space", "name", "expected"),
    [
        ("torch", "exp", ["✓", "✓", "✓", "✓", "native"]),
        ("torch", "cumsum", ["✓", "✓", "-", "✓", "native"]),
        ("torch", "argmax", ["✓", "-", "-", "✓", "native"]),
        ("torch", "nonzero", ["✓", "-", "-", "✓", "host"]),
        ("torch.linalg", "inv", ["✓", "✓", "✓", "✓", "native"]),
        ("torch.linalg", "pinv", ["✓", "✓", "✓", "✓", "host"]),
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
