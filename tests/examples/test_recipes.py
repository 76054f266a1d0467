"""The recipes, on small data: each learns, and leaves the files that it promises."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import staticgrad as sg

RECIPES = Path(__file__).resolve().parents[2] / "examples" / "recipes"


def run(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str):
    """What the program's `main` returns, and the names of the files in its folder."""
    monkeypatch.syspath_prepend(str(RECIPES))
    before = sg.get_rng_state()
    try:
        found = importlib.import_module(name).main([*options, "--folder", str(folder)])
    finally:
        sg.set_rng_state(before)
        sys.modules.pop(name, None)
    return found, {path.name for path in folder.iterdir()}


def test_all_are_here():
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {path.stem for path in RECIPES.glob("*.py")} <= tested


def test_tabular(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    error, files = run("tabular", tmp_path, monkeypatch, "--rows", "1500", "--epochs", "15")
    assert error < 2.5
    assert files == {"model.safetensors", "report.html", "run"}
    again, _ = run("tabular", tmp_path, monkeypatch, "--rows", "1500", "--epochs", "15")  # it has ended already
    assert again == error


def test_forecaster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (error, naive), files = run("forecaster", tmp_path, monkeypatch, "--weeks", "16", "--width", "16", "--epochs", "12")
    assert error < naive
    assert files == {"forecast.png", "model.safetensors", "run"}


def test_pinn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    error, files = run("pinn", tmp_path, monkeypatch, "--steps", "500", "--width", "16")
    assert error < 0.1
    assert files == {"model.safetensors", "report.html", "solution.png"}


def test_hmc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    samples, files = run("hmc", tmp_path, monkeypatch, "--samples", "400", "--warmup", "200")
    np.testing.assert_allclose(samples.mean(0), [2.0, -1.0, 0.3], atol=0.1)
    assert files == {"posterior.png", "samples.safetensors"}


def test_ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    accuracy, files = run("ship", tmp_path, monkeypatch, "--epochs", "12")
    assert accuracy > 0.85
    assert files >= {"digits_step", "images.npy", "model.safetensors", "report.html"}
