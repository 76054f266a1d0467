"""Fixtures of all tests."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import staticgrad as sg
from staticgrad.eager.grad_mode import modes
from staticgrad.tracing import function, settings


@pytest.fixture(params=["staticgrad", pytest.param("torch", marks=pytest.mark.oracle)])
def T(request: pytest.FixtureRequest) -> Any:
    """The library that runs a program in PyTorch's dialect: the same assertions hold for this one and for PyTorch."""
    if request.param == "staticgrad":
        return sg
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("torch")


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled functions refuse Python that needs values, unless they say otherwise."""
    monkeypatch.setattr(settings, "default_break", ["error"])
    monkeypatch.setattr(function, "default_break", settings.default_break)


@pytest.fixture
def lines_noted() -> None:
    """Records note the user's lines, as a process's first ones do and those after an error of an in-place change."""
    modes.now.note_lines()
