"""The page on interchange: its programs run, in order."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "interchange.md"


def run(blocks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging, "basicConfig", lambda **named: None)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_programs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run([block for block in blocks() if "import torch" not in block], tmp_path, monkeypatch)
    assert (tmp_path / "model.onnx").exists()
    assert list((tmp_path / "runs" / "first").iterdir())


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_programs_with_pytorch_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("torch")
    run(blocks(), tmp_path, monkeypatch)
