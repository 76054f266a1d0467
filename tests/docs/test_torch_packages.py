"""`docs/torch_packages.md` has a row for each program, and its head counts those that agree with PyTorch."""

from __future__ import annotations

import math
import re

import pytest

from tools import torch_packages


def _rows() -> dict[str, list[str]]:
    lines = torch_packages.PAGE.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {name: rest for name, *rest in cells[1:]}


def _agrees(cell: str) -> bool:
    return re.fullmatch(r"[\d.]+e[+-]\d+", cell) is not None and float(cell) <= torch_packages.TOLERANCE


def test_every_program_has_a_row():
    assert list(_rows()) == sorted(torch_packages.names())


def test_the_head_counts_the_rows():
    text = torch_packages.PAGE.read_text(encoding="utf-8")
    eager, compiled = (sum(_agrees(row[column]) for row in _rows().values()) for column in (1, 2))
    assert f"{eager} of {len(_rows())} give PyTorch's losses eagerly, {compiled} compiled" in text.replace("\n", " ")


@pytest.mark.parametrize(
    ("found", "expected", "apart"),
    [([1.0, 2.0], [1.0, 2.0], 0.0), ([1.1], [1.0], 0.1), ([1.0], [1.0, 1.0], math.inf), ([math.nan], [math.nan], 0.0)],
)
def test_differences_are_relative(found, expected, apart):
    assert torch_packages.difference(found, expected) == pytest.approx(apart)


def test_a_package_that_fails_says_why():
    ran = {"eager seconds": 2.0, "compiled seconds": 0.0, "seconds": 1.0, "eager works": True, "compiled works": False}
    text = torch_packages.page(
        {"some": {"version": "1.2", "torch": "", "eager": "1e-07", "compiled": "ValueError: no", **ran}}, "9"
    )
    assert "1 of 1 give PyTorch's losses eagerly, 0 compiled" in text
    assert text.splitlines()[-1] == "| some | 1.2 | 1e-07 | ValueError: no | 1.0 | 2.0 |  |"
