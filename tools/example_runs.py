"""The examples of the API reference as programs: where they are found, and what they print."""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import inspect
import io
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad import functional, nn, optim
from staticgrad.eager import generator

ROOT = Path(__file__).resolve().parent.parent
NAMES = {"np": np, "sg": sg, "F": functional, "nn": nn, "optim": optim}
"""Names that every example may use without importing them; the reference's pages say so."""


def _reference() -> Any:
    """`docs/reference.py`; a folder of documents is no package."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = _reference()


# running an example -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def surroundings() -> Iterator[None]:
    """Those of every example: seed 0, and the generator's state as it was afterward."""
    before = generator.state
    sg.manual_seed(0)
    try:
        with sg.enable_grad():
            yield
    finally:
        generator.state = before


def builds_a_graph(source: str) -> bool:
    return any(word in source for word in ("sg.placeholder", "sg.Variable", "sg.constant"))


def statements(text: str, name: str = "") -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(text, name)


def printed(text: str, name: str) -> str:
    """The example with what it prints; an error by its first line."""
    scope: dict[str, Any] = dict(NAMES)
    lines = []
    parts = statements(text, name)
    graph = sg.Graph().as_default() if builds_a_graph(text) else contextlib.nullcontext()
    with surroundings(), graph, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Anomaly Detection has been enabled|Error detected in")  # the mode says that it is on
        for part in parts:
            head, *rest = part.source.rstrip("\n").split("\n")
            lines += [f">>> {head}", *(f"... {line}" for line in rest)]
            out = io.StringIO()
            try:
                with contextlib.redirect_stdout(out):
                    exec(compile(part.source, f"<{name}>", "single"), scope)
            except Exception as error:
                if part.exc_msg is None:
                    raise RuntimeError(f"{name}: {part.source}") from error
                kind = type(error)
                first, *more = str(error).splitlines() or [""]
                lines += ["Traceback (most recent call last):", f"{kind.__module__}.{kind.__qualname__}: {first}"]
                lines += ["..."] if more else []
                continue
            if part.exc_msg is not None:
                raise RuntimeError(f"{name}: {part.source} raises nothing")
            found = out.getvalue().rstrip("\n")
            lines += (part.want.rstrip("\n") if _elided(part.want, found) else found).split("\n") if found else []
    return "\n".join(line if line else "<BLANKLINE>" for line in lines)


def _elided(want: str, found: str) -> bool:
    """Whether the written output leaves out parts by "..." and still holds."""
    return "..." in want and doctest.OutputChecker().check_output(want, found + "\n", doctest.ELLIPSIS)


def documented(path: str) -> str:
    """The example of a path: that of its docstring, or the stored one."""
    doc = inspect.getdoc(reference.value_of(path)) or ""
    return doc if ">>>" in doc else reference.examples().get(reference.names()[path], "")
