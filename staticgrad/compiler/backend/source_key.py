"""The modules that cached machine code is made by: a module, the modules of the compiler that it imports, and so on.

Their content is a part of the key of cached code, so a change of any of them makes the code again. The list follows from the
import statements of the files: none is executed, as a process whose code is cached imports few of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

COMPILER = Path(__file__).parent.parent
ABSOLUTE = "staticgrad.compiler."
IMPORT = re.compile(r"(?m)^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(?:\(([^)]*)\)|([^\n#]*))")


def digest(*roots: Path) -> bytes:
    """A hash of the content of these modules and of all that they import."""
    found = hashlib.sha256()
    for file in modules(*roots):
        found.update(_text(file).encode())
    return found.digest()


def digest_of_imports(source: str) -> bytes:
    """The same for a text that imports modules by their whole names."""
    return _digest(tuple(sorted({*_imported(source, COMPILER)})))


@cache
def _digest(roots: tuple[Path, ...]) -> bytes:
    return digest(*roots)


def modules(*roots: Path) -> list[Path]:
    """The files of these modules and of all modules of the compiler that they import, directly or not, sorted."""
    found: set[Path] = set()
    waiting = [*roots]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += _imports(file)
    return sorted(found)


@cache
def _imports(file: Path) -> tuple[Path, ...]:
    return tuple(_imported(_text(file), file.parent))


@cache
def _text(file: Path) -> str:
    return file.read_text()


def _imported(text: str, folder: Path) -> Iterator[Path]:
    """The files of the compiler's modules that a text imports. folder: that of its package."""
    for name, inside, listed in IMPORT.findall(text):
        if name.startswith(ABSOLUTE):
            base, rest = COMPILER, name.removeprefix(ABSOLUTE)
        elif name.startswith("."):
            rest = name.lstrip(".")
            base = folder
            for _ in range(len(name) - len(rest) - 1):
                base = base.parent
        else:
            continue
        place = base.joinpath(*rest.split(".")) if rest else base
        if place.is_relative_to(COMPILER) and place != COMPILER:
            yield from _files(place, re.findall(r"(\w+)(?:[ \t]+as[ \t]+\w+)?", inside or listed))


def _files(place: Path, names: Iterable[str]) -> Iterator[Path]:
    """The file of a module; of a package, its own and those of the modules among the imported names."""
    if place.with_suffix(".py").is_file():
        yield place.with_suffix(".py")
        return
    for name in ("__init__", *names):
        if (place / f"{name}.py").is_file():
            yield place / f"{name}.py"
        elif (place / name / "__init__.py").is_file():
            yield place / name / "__init__.py"
