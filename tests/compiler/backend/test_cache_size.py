"""The size of the kernel cache: sizes as texts, and what is removed first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from staticgrad.compiler.backend import disk_cache
from staticgrad.errors import ArgumentError
from tests.helpers import raised

SIZES = {"0": 0, "12": 12, "500MB": 500_000_000, "1.5 gb": 1_500_000_000, "2k": 2000}


@pytest.mark.parametrize("text", SIZES)
def test_sizes(text: str):
    assert disk_cache.size_of(text) == SIZES[text]


@pytest.mark.parametrize("text", ["much", "-1", "5TB", ""])
def test_no_sizes(text: str):
    with raised(ArgumentError, f"{text!r} is no size"):
        disk_cache.size_of(text)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three kernels of 1,000 bytes; b was used last."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(folder))
    disk_cache.write("first.o", b"")
    (folder / "first.o").unlink()
    for age, name in ((30, "a"), (10, "b"), (20, "c")):
        for file, size in ((f"{name}.o", 900), (f"{name}.py", 100)):
            (folder / file).write_bytes(bytes(size))
            os.utime(folder / file, (1e9 - age, 1e9 - 100))
    (folder / "notes.txt").write_text("kept")
    return folder


def names(folder: Path) -> list[str]:
    return sorted({path.stem for path in folder.iterdir() if path.suffix == ".o"})


def test_the_least_recently_used_go_first(cache: Path):
    assert [entry.name for entry in disk_cache.entries(cache)] == ["a", "c", "b"]
    assert disk_cache.trim(cache, 2500) == (1, 1000)
    assert names(cache) == ["b", "c"]
    assert disk_cache.trim(cache, 0) == (2, 2000)
    assert [path.name for path in cache.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("kind", [".plan", ".call"])
def test_plans_count_and_go_too(cache: Path, kind: str):
    (cache / f"plan{kind}").write_bytes(bytes(500))
    assert sum(entry.bytes for entry in disk_cache.entries(cache)) == 3500
    disk_cache.trim(cache, 0)
    assert [path.name for path in cache.iterdir()] == ["notes.txt"]


def test_reading_is_use(cache: Path):
    disk_cache.read("a.o", "no key of it")
    assert [entry.name for entry in disk_cache.entries(cache)] == ["c", "b", "a"]


def test_the_limit_holds_when_a_process_first_writes(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(disk_cache, "_swept", set())
    for limit, left in (("", "abc"), ("0", "abc"), ("10kB", "abc"), ("2.9kB", "bc")):
        monkeypatch.setenv(disk_cache.LIMIT, limit)
        disk_cache._swept.clear()
        disk_cache.write("new.py", b"")
        assert "".join(names(cache)) == left
    monkeypatch.setattr(disk_cache, "_told", set())
    monkeypatch.setenv(disk_cache.LIMIT, "much")
    disk_cache._swept.clear()
    with pytest.warns(RuntimeWarning, match="STATICGRAD_CACHE_LIMIT is not followed: 'much' is no size"):
        disk_cache.write("new.py", b"")
