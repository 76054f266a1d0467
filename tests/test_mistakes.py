"""What is printed for mistakes that people make: `tests/golden/mistakes.txt` has each line of code, and below it the error.

`UPDATE_GOLDEN=1 pytest -n 0 tests/test_mistakes.py` writes the errors anew; read them as one who made the mistake."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import linecache
import os
import re
import sys
import traceback
import warnings
from pathlib import Path

import pytest

import staticgrad as sg
from staticgrad.base import tracebacks
from tools import example_runs
from tools.example_runs import reference

GOLDEN = Path(__file__).parent / "golden" / "mistakes.txt"
PREAMBLE = """\
import numpy as np
import staticgrad as sg
from staticgrad import distributions, functional as F, nn, optim, utils

x, w = sg.ones(3, 4), sg.ones(3, 4, requires_grad=True)
lin = nn.Linear(4, 2)
opt = optim.SGD(lin.parameters(), lr=0.1)
f = sg.compile(lambda a: a * 2)
graph = sg.Graph()
with graph.as_default():
    p, v = sg.placeholder(sg.float32, [2], name="p"), sg.Variable(1.0, name="v")
"""
FILE = "mistake.py"
GUESS = re.compile(r"(got an unexpected keyword argument '\w+')\. Did you mean '(\w+)'\?$", re.MULTILINE)
"""CPython's own guess, since 3.13; ours in earlier versions."""
ADDRESS = re.compile(r"0x[0-9a-f]+|(?<=\()/\S+(?=/staticgrad/)")
"""Of an object, or of the package's folder."""


def mistakes() -> dict[str, str]:
    """Errors by the line of code that makes them."""
    blocks = GOLDEN.read_text(encoding="utf-8").strip().split("\n\n")
    return {line: text for line, _, text in (block.partition("\n") for block in blocks)}


def outcome(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What is printed for a line of code that nothing catches, but for the frames. These are the user's and one of ours."""
    source = f"{PREAMBLE}{line}\n"
    linecache.cache[FILE] = len(source), None, source.splitlines(keepends=True), FILE
    try:
        exec(compile(source, FILE, "exec"), {"__name__": "mistake"})
    except Exception as error:
        whole = error.__traceback__
        error.__traceback__ = whole.tb_next if whole is not None else None  # this function's frame
        tracebacks.show(type(error), error, error.__traceback__)
        frames = traceback.extract_tb(tracebacks.shortened(error.__traceback__))
        assert sum(frame.filename != FILE for frame in frames) <= 1, frames
    else:
        return "no error"
    printed = capsys.readouterr().err
    kept = printed[printed.rindex("\n", 0, re.search(r"^\S*(Error|Exception)\b", printed, re.MULTILINE).start() + 1) + 1 :]
    lines = [text for text in kept.splitlines() if not text.startswith("frames of staticgrad are left out")]
    return ADDRESS.sub("...", GUESS.sub(r"\1\n  did you mean \2=?", "\n".join(lines)))


@pytest.mark.usefixtures("lines_noted", "empty_default_graph")
def test_what_is_printed_for_each_mistake(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    Path("junk.safetensors").write_text("no tensors")
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    expected = mistakes()
    found = {line: outcome(line, capsys) for line in expected}
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text("\n\n".join(f"{line}\n{text}" for line, text in found.items()) + "\n", encoding="utf-8")
    different = [f"{line}\n{found[line]}\ninstead of\n{text}" for line, text in mistakes().items() if found[line] != text]
    assert not different, "\n\n".join(different)


TAKES_ALL = {
    "staticgrad.distributed.algorithms.Join": "hooks of the caller's take what they like",
    "staticgrad.jit.ignore": "as PyTorch's",
    "staticgrad.nn.Identity": "as PyTorch's",
    "staticgrad.utils.data.StackDataset": "names are those of the columns",
}
"""Public names that take any named argument."""


def passing_on() -> list[str]:
    """Public functions and classes with `**named` in their signatures, and an example that calls them by their name."""
    found = []
    for path, key in reference.names().items():
        value = reference.value_of(path)
        if path != key or not callable(value) or path in TAKES_ALL:
            continue
        with contextlib.suppress(ValueError, TypeError):
            kinds = [p.kind for p in inspect.signature(value).parameters.values()]
            example = call_in(path) if inspect.Parameter.VAR_KEYWORD in kinds else None
            if example is not None and not any("init_process_group" in source for source in example[0]):
                found.append(path)
    return found


def call_in(path: str) -> tuple[list[str], ast.Module] | None:
    """The statements of a name's example before its first call, and that of the call, with one more argument `unknown=0`."""
    text = reference.examples().get(path) or inspect.getdoc(reference.value_of(path)) or ""
    name, before = path.rpartition(".")[2], []
    for part in example_runs.statements(text):
        tree = ast.parse(part.source)
        for statement in tree.body:
            for call in ast.walk(statement) if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)) else ():
                if isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", None)) == name:
                    call.keywords.append(ast.keyword("unknown", ast.Constant(0)))
                    return before, ast.fix_missing_locations(tree)
        before.append(part.source)
    return None


@pytest.mark.parametrize("path", passing_on())
def test_no_name_of_an_argument_is_ignored(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    before, call = call_in(path)
    scope = dict(example_runs.NAMES)
    with example_runs.surroundings(), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source in before:
            exec(compile(source, path, "exec"), scope)
        with pytest.raises((TypeError, ValueError, sg.errors.ArgumentError), match="unknown"):
            exec(compile(call, path, "exec"), scope)
