"""Write the examples of the API reference: `docs/reference/*.txt`, for public names whose docstrings have none.

    python -m tools.reference_examples          # renews what the examples print, adds those that follow from a rule
    python -m tools.reference_examples --check  # exits with 1 if a file is not what would be written

To give a name an example, write its lines (`>>> ...`) under the name, in the file of its page; this program runs them and
writes what they print. A name without lines gets them by the first rule of `RULES` that fits: functions that compute elements
of tensors, in-place variants, copies, values, modules without arguments. `facts.txt` is measured by calling each function of
tensors as its example does, with operands of each dtype.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad import nn

from .example_runs import ROOT, printed, reference, surroundings
from .reference_facts import COMPUTED, measured

# rules --------------------------------------------------------------------------------------------------------------------

SHORT = {"staticgrad.functional": "F", "staticgrad.nn": "nn", "staticgrad.optim": "optim"}
VECTORS: list[list[float]] = [[-1.5, 0.5, 2.0], [0.25, 0.5, 0.75], [1.0, 2.0, 3.0]]
PAIRS: list[tuple[list[float], list[float]]] = [([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]), ([12, 10], [10, 6])]


def called(path: str) -> str:
    """The expression by which examples name a path."""
    module, _, name = path.rpartition(".")
    return f"{SHORT[module]}.{name}" if module in SHORT else f"sg{path.removeprefix('staticgrad')}"


def computes(function: Callable[..., Any], *operands: Sequence[float]) -> bool:
    """Whether it makes a tensor of numbers of these operands, of their shape, that differs from the first."""
    try:
        with surroundings(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*(sg.tensor(list(x)) for x in operands))
            values = found.detach().numpy()
    except Exception:
        return False
    return values.shape == np.shape(operands[0]) and bool(np.isfinite(values).all() and (values != operands[0]).any())


def of_a_value(path: str, value: Any) -> str:
    return "" if callable(value) else f">>> {called(path)}"


def of_a_vector(path: str, value: Any) -> str:
    for x in VECTORS if inspect.isfunction(value) else ():
        if computes(value, x):
            if path.endswith("_"):
                return f">>> x = sg.tensor({x})\n>>> {called(path)}(x)\n>>> x"
            return f">>> {called(path)}(sg.tensor({x}))"
    return ""


def of_two_vectors(path: str, value: Any) -> str:
    for x, y in PAIRS if inspect.isfunction(value) else ():
        if computes(value, x, y):
            return f">>> {called(path)}(sg.tensor({x}), sg.tensor({y}))"
    return ""


def of_a_module(path: str, value: Any) -> str:
    """A module without arguments, of one tensor."""
    if not (inspect.isclass(value) and issubclass(value, nn.Module)):
        return ""
    return f">>> {called(path)}()(sg.tensor({VECTORS[0]}))" if computes(lambda x: value()(x), VECTORS[0]) else ""


def of_a_loss(path: str, value: Any) -> str:
    """A module without arguments, of a prediction and a target, and its gradient."""
    if not (inspect.isclass(value) and issubclass(value, nn.Module)):
        return ""
    try:
        if value()(sg.tensor([1.0, 2.0, 3.0]), sg.tensor([1.0, 2.0, 5.0])).shape != ():
            return ""
    except Exception:
        return ""
    return (
        ">>> x = sg.tensor([1.0, 2.0, 3.0], requires_grad=True)\n"
        f">>> loss = {called(path)}()(x, sg.tensor([1.0, 2.0, 5.0]))\n>>> loss\n>>> loss.backward()\n>>> x.grad"
    )


RULES = {of_a_vector: COMPUTED, of_two_vectors: COMPUTED, of_a_module: ("nn",), of_a_loss: ("nn",), of_a_value: ()}
"""Rules in their order, and the pages to which they apply, if not all."""


def by_rule(path: str) -> str:
    value, page = reference.value_of(path), reference.page_of()[path]
    return next(filter(None, (rule(path, value) for rule, pages in RULES.items() if page in pages or not pages)), "")


# files --------------------------------------------------------------------------------------------------------------------


def text_of(entries: dict[str, str]) -> str:
    return "\n".join(f"{path}\n" + re.sub(r"(?m)^(?=.)", "    ", lines) + "\n" for path, lines in entries.items())


def wanted() -> dict[str, list[str]]:
    """The paths that need a stored example, by page."""
    found = defaultdict(list)
    for path, key in reference.names().items():
        if path == key and ">>>" not in (inspect.getdoc(reference.value_of(path)) or ""):
            found[reference.page_of()[path]].append(path)
    return found


def files() -> dict[Path, str]:
    """Each file of the folder, as it should be. Examples of names that are gone are left out."""
    texts = {}
    for page, paths in wanted().items():
        entries = {}
        for path in paths:
            lines = reference.examples().get(path) or by_rule(path)
            if lines:
                entries[path] = printed(lines, path)
        if entries:
            texts[reference.EXAMPLES / f"{page}.txt"] = text_of(entries)
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/reference/*.txt")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a file is not what would be written")
    check = parser.parse_args().check
    changed = False

    def written(path: Path, text: str) -> None:
        nonlocal changed
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            changed = True
            if check:
                print(f"{path.relative_to(ROOT)} is not current: run python -m tools.reference_examples")
            else:
                path.write_text(text, encoding="utf-8")

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some examples write files
        for path, text in files().items():
            written(path, text)
        reference.examples.cache_clear()
        written(reference.FACTS, text_of(measured()))
        os.chdir(ROOT)
    missing = [path for paths in wanted().values() for path in paths if path not in reference.examples()]
    print("\n".join(f"{path} has no example" for path in missing), end="\n" if missing else "")
    sys.exit(1 if missing or (check and changed) else 0)


if __name__ == "__main__":
    main()
