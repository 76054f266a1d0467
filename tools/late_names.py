"""Names that modules enter in the tables of the package, of those modules that `import staticgrad` leaves alone.

`python -m tools.stubs` writes them to `ops/late_names.py`. `python -m tools.late_names` prints them: it imports one module
after another and looks at what each has entered.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import staticgrad
from staticgrad.base.tables import LateMethod
from staticgrad.ops.operators import INPLACE, SPECIAL, F, Operators
from staticgrad.ops.operators.dispatch import LATE

PACKAGE = Path(staticgrad.__file__).parent
OTHERS = ("eager.windows",)
"""Modules outside of `ops/` of this kind."""
WIDTH = 128
TABLES = {"RECORDS": "r", "FUNCTIONS": "f", "METHODS": "m", "INPLACE": "i", "SPECIAL": "s"}
"""The tables, and the letters for them in the file."""
HEAD = '''\
"""Made by `python -m tools.stubs`: the names of modules that are imported when one of these names is first asked for.

Letters say what a name is: r, an op; f, a public function; m, a method; i, a method with "_" as well; s, a function of
`staticgrad.special`. So `cumsum:rfmi` is all but the last.
"""

NAMES = {
'''
Entry = tuple[str, str]
"""A table and a name in it."""


def entered() -> set[Entry]:
    """What is in the tables by now."""
    methods = [name for name, value in vars(Operators).items() if value.__class__ is not LateMethod]
    found: list[Iterable[str]] = [staticgrad.ir.REGISTRY.entered(), vars(F), methods, INPLACE, SPECIAL.entered()]
    return {(table, name) for table, names in zip(TABLES, found, strict=True) for name in names}


def late() -> dict[str, list[Entry]]:
    """By module, what it enters. To be called once, in a process that has only imported the package."""
    for table in (LATE, staticgrad.ir.REGISTRY.late, SPECIAL.late):
        table.clear()  # no module needs another one that it does not import
    for name in [name for name in INPLACE if name not in vars(F)]:
        del INPLACE[name]
    found: dict[str, list[Entry]] = {}
    running: list[set[Entry]] = []
    execute = SourceFileLoader.exec_module

    def noting(loader: Any, module: ModuleType) -> None:
        before = entered()
        running.append(set())
        execute(loader, module)
        new = entered() - before
        found[module.__name__.partition(".")[2]] = sorted(new - running.pop())
        if running:
            running[-1] |= new

    SourceFileLoader.exec_module = noting  # type: ignore[method-assign, assignment]
    ours = (".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in sorted((PACKAGE / "ops").rglob("*.py")))
    for name in (*(name.removesuffix(".__init__") for name in ours), *OTHERS):
        if not name.startswith(("ops.rewrites", "ops.communication")):  # other rooms import them by name
            __import__(f"{PACKAGE.name}.{name}")
    return {name: entries for name, entries in sorted(found.items()) if entries}


def text() -> str:
    """The module `ops/late_names.py`."""
    done = subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    found: dict[str, list[Entry]] = json.loads(done.stdout)
    lines = []
    for module, entries in found.items():
        letters: dict[str, str] = {}
        for table, name in entries:
            letters[name] = letters.get(name, "") + TABLES[table]
        words = [f"{name}:{''.join(sorted(marks, key='rfmis'.index))}" for name, marks in sorted(letters.items())]
        parts = textwrap.wrap(" ".join(words), WIDTH - 11, break_on_hyphens=False)
        one = f'    "{module}": "{" ".join(words)}",'
        several = [f'    "{module}": (', *[f'        "{part} "' for part in parts[:-1]], f'        "{parts[-1]}"', "    ),"]
        lines += [one] if len(one) <= WIDTH else several
    return HEAD + "\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    print(json.dumps(late()))
