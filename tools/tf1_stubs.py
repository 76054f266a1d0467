"""The stubs of TensorFlow's namespaces, whose names `staticgrad/compat/tf1/names.py` enters when it is imported.

Type checkers and editors read them for the dialect itself and for the namespaces whose modules hold no code of their own.
`python -m tools.stubs` writes them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

from staticgrad.compat import tf1
from staticgrad.compat.tf1.names import NAMES, SPACES

ROOT = Path(tf1.__file__).parent
STUBS = ROOT.parents[2] / "staticgrad-stubs" / "compat" / "tf1"
HEADER = '"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""\n'
WIDTH = 120


def files() -> dict[Path, str]:
    """The text of each stub."""
    spaces = {*NAMES, *SPACES}
    spaces |= {_parent(path) for path in spaces}
    return {_file(path): _stub(path) for path in sorted(spaces) if not _has_code(path)}


def _file(path: str) -> Path:
    place, target = (root.joinpath(*filter(None, path.split("."))) for root in (ROOT, STUBS))
    return target / "__init__.pyi" if place.is_dir() else target.with_suffix(".pyi")


def _has_code(path: str) -> bool:
    """Whether a namespace's module defines names by itself."""
    return bool(path) and bool(_written(path))


@cache
def _written(path: str) -> frozenset[str]:
    """The names that a module's text defines or imports, which checkers find there."""
    place = ROOT.joinpath(*path.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    found: set[str] = set()
    if not file.exists():
        return frozenset()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                found |= {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
    return frozenset(found)


def _stub(path: str) -> str:
    lines: set[str] = set()
    names: set[str] = set()
    for source, entries in NAMES.get(path, {}).items():
        module = importlib.import_module(f"{tf1.__name__}.{source}")
        for entry in entries.split():
            name, _, own = entry.partition("=")
            for each in getattr(module, entry[1:]) if entry.startswith("*") else [name]:
                names.add(each)
                place = f"from {_relative(path, source)} import {own or each} as {each}"
                lines.add(place if (own or each) in _written(source) else _told(each, vars(module)[own or each]))
    spaces = {*NAMES, *SPACES, *map(_parent, SPACES)} - {path}
    inner = {space[len(path) :].strip(".") for space in spaces if _parent(space) == path}
    lines |= {f"from . import {name} as {name}" for name in inner}
    listed = textwrap.wrap(", ".join(f'"{name}"' for name in sorted(names | inner)) + ",", WIDTH, break_long_words=False)
    missing = [] if path else ["def __getattr__(name: str) -> Any: ..."]
    lines |= {"from typing import Any"} if missing or any("Any" in line for line in lines) else set()
    imported = sorted(line for line in lines if line.startswith("from"))
    made = sorted(lines - {*imported})
    return "\n".join([HEADER, *imported, *made, *missing, "__all__ = [", *(f"    {line}" for line in listed), "]"]) + "\n"


def _told(name: str, value: Any) -> str:
    """What a checker is told of a name that a table makes: a function's parameters."""
    if not inspect.isfunction(value):
        return f"{name}: Any"
    words: list[str] = []
    for p in inspect.signature(value).parameters.values():
        star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        words += ["*"] if p.kind is p.KEYWORD_ONLY and not any(word.startswith("*") for word in words) else []
        words.append(f"{star}{p.name}: Any{'' if p.default is p.empty else ' = ...'}")
    return f"def {name}({', '.join(words)}) -> Any: ..."


def _parent(space: str) -> str:
    return space.rpartition(".")[0]


def _relative(path: str, source: str) -> str:
    """A module of the dialect as the stub of a namespace imports it."""
    inside = len(path.split(".")) if path else 0
    above = inside if ROOT.joinpath(*filter(None, path.split("."))).is_dir() else inside - 1
    return f"{'.' * (above + 1)}{source}"
