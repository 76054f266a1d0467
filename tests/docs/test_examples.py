"""The examples in docstrings of public functions and classes print what they say."""

from __future__ import annotations

import doctest
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional, nn, optim
from staticgrad.eager import generator
from tests.docs.test_site import PATHS

NAMES = {"np": np, "sg": sg, "F": functional, "nn": nn, "optim": optim}
"""Names that every example may use without importing them; the reference's pages say so."""


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
def test_example(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # some write files
    before, report = generator.state, []
    sg.manual_seed(0)
    try:
        with sg.Graph().as_default() if _builds_a_graph(EXAMPLES[name]) else sg.enable_grad():
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
            runner.run(EXAMPLES[name], out=report.append)
    finally:
        generator.state = before
    assert runner.failures == 0, "".join(report)


def _builds_a_graph(test: doctest.DocTest) -> bool:
    return any(word in example.source for example in test.examples for word in ("sg.placeholder", "sg.Variable", "sg.constant"))


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
