"""Errors for libraries that an extra installs."""

from __future__ import annotations

import sys

import pytest

import staticgrad as sg
from staticgrad import interchange
from staticgrad.base import interpreter
from staticgrad.base.interpreter import MissingExtra, need
from tests.helpers import raised


def test_a_missing_library_names_its_extra():
    with raised(MissingExtra, "no_such_library is not installed") as caught:
        need("no_such_library", "onnx")
    assert 'pip install "staticgrad[onnx]"' in str(caught.value)
    assert isinstance(caught.value, ImportError)


def test_a_folder_of_a_librarys_name_is_no_library(tmp_path, monkeypatch):
    (tmp_path / "no_such_library").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with raised(MissingExtra, "no_such_library is not installed"):
        need("no_such_library", "onnx")


@pytest.mark.parametrize(
    ("name", "library", "use"), [("onnx", "onnx", lambda onnx: onnx.export), ("sklearn", "sklearn", lambda sklearn: sklearn)]
)
def test_a_part_that_needs_a_missing_library_says_so_on_use(name: str, library: str, use, monkeypatch):
    for module in [m for m in sys.modules if m.startswith(f"staticgrad.interchange.{name}")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.delitem(sys.modules, f"staticgrad.{name}", raising=False)
    monkeypatch.delitem(vars(sg), name, raising=False)
    monkeypatch.delitem(vars(interchange), name, raising=False)
    monkeypatch.setattr(interpreter.importlib.util, "find_spec", lambda name: None)
    with raised(MissingExtra, f"{library} is not installed"):
        use(getattr(sg, name))
