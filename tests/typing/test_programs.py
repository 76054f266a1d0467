"""Small programs as a user's type checker and editor see them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from mypy import api

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
MARK = re.compile(r"  # error: (.*)$")


def expected() -> dict[tuple[str, int], str]:
    """The text of the error that a line asks for, by file and line."""
    marks = {}
    for path in PROGRAMS:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if found := MARK.search(line):
                marks[path.name, number] = found[1]
    return marks


@pytest.fixture(autouse=True)
def found_by_checkers(monkeypatch):
    """This package: as it is installed where that is an editable install of it, which checkers have to follow."""
    try:
        origin = distribution("staticgrad").read_text("direct_url.json")
    except PackageNotFoundError:
        origin = None
    if origin is None or json.loads(origin)["url"] != ROOT.as_uri():
        monkeypatch.setenv("MYPYPATH", str(ROOT))
        monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_mypy_reports_mistakes_and_nothing_else(monkeypatch):
    """Strictly, with the project's options: what `mypy` has found out about the package holds."""
    monkeypatch.chdir(ROOT)  # where the options are, and the cache
    report, problems, _ = api.run(["--no-warn-unused-configs", "--no-error-summary", *map(str, PROGRAMS)])
    assert problems == ""
    reported = {
        (Path(found[1]).name, int(found[2])): found[3]
        for line in report.splitlines()
        if (found := re.match(r"(.*?\.py):(\d+): error: (.*)", line))
    }
    wanted = expected()
    assert reported.keys() == wanted.keys(), report
    for place, text in wanted.items():
        assert text in reported[place]


@pytest.mark.skipif(shutil.which("pyright", path=str(Path(sys.executable).parent)) is None, reason="needs pyright")
def test_pyright_reports_the_same_lines(tmp_path):
    command = [str(Path(sys.executable).parent / "pyright"), "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run([*command, *map(str, PROGRAMS)], capture_output=True, text=True, check=False, cwd=tmp_path)
    found = [d for d in json.loads(done.stdout)["generalDiagnostics"] if d["severity"] == "error"]
    reported = {(Path(d["file"]).name, d["range"]["start"]["line"] + 1): d["message"] for d in found}
    assert reported.keys() == expected().keys(), reported
