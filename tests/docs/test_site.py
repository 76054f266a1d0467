"""The documentation is complete, and its site builds without a warning."""

from __future__ import annotations

import collections
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import staticgrad as sg
from tools.example_runs import reference

ROOT = Path(__file__).resolve().parents[2]
PATHS = [path for page in reference.pages() for path in page.paths]


def test_every_export_is_on_one_page():
    listed = collections.Counter(path for path in PATHS if path.count(".") == 1)
    assert listed == dict.fromkeys((f"staticgrad.{name}" for name in reference.exports(sg)), 1)


def test_every_page_has_entries():
    assert [page.name for page in reference.pages() if not page.paths] == []


def test_what_is_public_has_a_docstring():
    values = {path: reference.value_of(path) for path in PATHS}
    assert [path for path, value in values.items() if callable(value) and not (inspect.getdoc(value) or "").strip()] == []


def test_the_site_builds(tmp_path):
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings_handlers.python")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reference" / "functions" / "index.html").exists()


def test_every_description_has_words_of_its_own():
    """A table of the reference that says no more than another name helps nobody."""
    bare = re.compile(r"(?:As )?`[\w.]+`[.,]?")
    found = {path: reference.sentence(path) for path, key in reference.names().items() if path == key}
    assert [path for path, text in found.items() if bare.fullmatch(text)] == []
