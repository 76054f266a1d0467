"""Where tests are: in the folder of their room, or under the name of a topic that crosses rooms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import LONG

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent / "staticgrad"

TOPICS = {
    "benchmarks": "the benchmarks",
    "control": "loops and branches, through all rooms",
    "docs": "the documentation",
    "examples": "the examples",
    "faults": "interrupts, crashes, full disks, damaged files",
    "golden": "kernels as they are generated",
    "typing": "programs as type checkers see them",
}
"""Folders that are named after no folder of the package, and what they hold."""

ELSEWHERE = {
    "compiler/kernels": "compiler/test_convolution.py",
    "ops/operators": "test_tensor_parity.py",
    "ops/control": "control",
    "ops/linear_algebra": "ops/test_torch_ops.py",
    "ops/rewrites": "compiler/passes/test_rewrite.py",
}
"""Rooms without tests that have their name, and where their tests are."""


def rooms() -> list[str]:
    """The folders of the package that have modules with functions."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        functions = re.search(r"(?m)^ *def ", path.read_text(encoding="utf-8"))
        if functions and path.name != "__init__.py" and path.parent != PACKAGE:
            found.add(path.parent.relative_to(PACKAGE).as_posix())
    return sorted(found)


FILES = sorted(path for path in TESTS.rglob("test_*.py"))


def test_long_files_are_there():
    assert [name for name in LONG if not (TESTS / name).is_file()] == []


def test_every_folder_is_a_room_or_a_topic():
    folders = {path.parent.relative_to(TESTS).as_posix() for path in FILES} - {"."}
    assert sorted(f for f in folders if f not in TOPICS and not (PACKAGE / f).is_dir()) == []
    assert [topic for topic in TOPICS if (PACKAGE / topic).exists() or not (TESTS / topic).is_dir()] == []


def own_tests(room: str) -> list[Path]:
    """The tests in the folder of a room, or in a file that is named after it or a room around it."""
    parts = room.split("/")
    named = (TESTS.joinpath(*parts[:n]) / f"test_{parts[n]}.py" for n in reversed(range(len(parts))))
    return [*(TESTS / room).glob("test_*.py"), *(file for file in named if file.exists())]


@pytest.mark.parametrize("room", rooms())
def test_every_room_has_tests(room: str):
    if room in ELSEWHERE:
        assert own_tests(room) == []
        assert (TESTS / ELSEWHERE[room]).exists()
    else:
        assert own_tests(room)


def test_every_file_says_what_it_tests():
    """In its docstring: its name says so only where it is that of a module."""
    assert [path for path in FILES if not path.read_text(encoding="utf-8").startswith('"""')] == []
