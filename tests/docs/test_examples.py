"""The examples in docstrings of public functions and classes print what they say."""

from __future__ import annotations

import doctest
import importlib
import inspect
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import staticgrad as sg
from tests.docs.test_site import PATHS
from tools.example_runs import NAMES, builds_a_graph, printed, reference, surroundings
from tools.reference_facts import measured


def of(value: Any) -> Iterator[Any]:
    """A public object and, of a class, the bases that the package defines."""
    bases = inspect.getmro(value) if inspect.isclass(value) else (value,)
    return (base for base in bases if base is not object)


def examples() -> dict[str, doctest.DocTest]:
    """Examples by the name of what they document, methods included; of aliases and inherited methods, one."""
    found: dict[str, doctest.DocTest] = {}
    finder = doctest.DocTestFinder(exclude_empty=True)
    for path in PATHS:
        module, _, name = path.rpartition(".")
        for value in of(getattr(importlib.import_module(module), name)):
            if not (inspect.isclass(value) or inspect.isroutine(value)):
                continue
            if not (value.__module__ or "").startswith("staticgrad"):
                continue
            for test in finder.find(value, f"{value.__module__}.{value.__qualname__}", module=False, globs=dict(NAMES)):
                if test.examples:
                    found.setdefault(test.name, test)
    return found


EXAMPLES = examples()


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_example(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines_noted: None):
    monkeypatch.chdir(tmp_path)  # some write files
    test, report = EXAMPLES[name], []
    graph = sg.Graph().as_default() if builds_a_graph("".join(e.source for e in test.examples)) else nullcontext()
    with surroundings(), graph:
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def by_page() -> dict[str, dict[str, str]]:
    """The examples beside the package, by page."""
    found: dict[str, dict[str, str]] = {}
    for path, lines in reference.examples().items():
        found.setdefault(reference.page_of().get(path, "gone"), {})[path] = lines
    return found


@pytest.mark.parametrize("page", sorted(by_page()))
def test_stored_examples(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # some write files
    stored = by_page()[page]
    assert {path: printed(lines, path) for path, lines in stored.items()} == stored


def test_every_public_name_has_one_example():
    own = {path for path in PATHS if ">>>" in (inspect.getdoc(reference.value_of(path)) or "")}
    stored = {path for path in PATHS if reference.names()[path] in reference.examples()}
    assert sorted(set(PATHS) - own - stored) == [], "see python -m tools.reference_examples --help"
    assert sorted(own & stored) == [], "it has one in its docstring: run python -m tools.reference_examples"
    assert sorted(set(reference.examples()) - set(reference.names())) == [], "these names are gone"


def test_measured_facts_are_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert measured() == reference.facts(), "run: python -m tools.reference_examples"


def test_an_example_that_prints_something_else_is_renewed():
    assert printed(">>> 1 + 1\n3\n>>> for i in range(2):\n...     print(i)", "numbers") == (
        ">>> 1 + 1\n2\n>>> for i in range(2):\n...     print(i)\n0\n1"
    )
    error = "Traceback (most recent call last):\nstaticgrad.errors.ShapeError: "
    assert printed(f">>> sg.ones(2) + sg.ones(3)\n{error}", "shapes").startswith(f">>> sg.ones(2) + sg.ones(3)\n{error}")
    with pytest.raises(RuntimeError, match="raises nothing"):
        printed(f">>> sg.ones(2)\n{error}", "shapes")
    with pytest.raises(RuntimeError):
        printed(">>> sg.ones(2) + sg.ones(3)", "shapes")


@pytest.mark.parametrize(
    "name",
    [
        "tensor", "grad", "no_grad", "manual_seed", "graph_of", "compile", "placeholder", "Variable", "constant", "assign",
        "Session", "Graph", "gradients", "group", "control_dependencies", "cond", "while_loop", "scan", "einsum", "compare",
        "draw", "from_json", "rewrite",
    ],
)  # fmt: skip
def test_what_people_begin_with_has_an_example(name: str):
    assert ">>>" in (inspect.getdoc(getattr(sg, name)) or "")
