"""The notebooks run, print what they show, and open in Jupyter.

A cell with the tag `varies` prints times, which differ from run to run. `UPDATE_GOLDEN=1` writes the printed outputs anew;
pictures are not stored.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from staticgrad.eager import generator

matplotlib = pytest.importorskip("matplotlib")
FOLDER = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 20_000


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 3


def shown(output: str) -> list[dict[str, Any]]:
    lines = output.splitlines(keepends=True)
    return [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path, tmp_path, monkeypatch, lines_noted):
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(generator, "state", generator.state)
    plt.switch_backend("agg")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        for number, cell in enumerate(cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
            file = tmp_path / f"cell{number}.py"
            file.write_text("".join(cell["source"]), encoding="utf-8")
            written = io.StringIO()
            with contextlib.redirect_stdout(written):
                exec(compile(file.read_text(encoding="utf-8"), file.name, "exec"), names)
            outputs = shown(written.getvalue())
            if os.environ.get("UPDATE_GOLDEN"):
                cell["outputs"] = outputs
            elif "varies" in cell["metadata"].get("tags", ()):
                assert len(outputs) == len(cell["outputs"])
            else:
                assert outputs == cell["outputs"], f"cell {number}; if the change is meant, UPDATE_GOLDEN=1 writes it"
    finally:
        plt.close("all")
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_jupyter_opens_it(path):
    nbformat = pytest.importorskip("nbformat")
    assert path.stat().st_size < LARGEST
    nbformat.validate(nbformat.read(path, as_version=nbformat.NO_CONVERT))
