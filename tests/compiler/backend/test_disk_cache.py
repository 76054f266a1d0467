"""The kernel cache: whose files are loaded, what heals, and runs without a cache."""

from __future__ import annotations

import errno
import os
import pwd
import re
import shutil
import stat
import warnings
from pathlib import Path

import pytest

from staticgrad.compiler.backend import disk_cache as disk

NAME, KEY, CONTENT = "k0.o", "the whole key", b"content"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where an empty cache will be, in a process that was told nothing."""
    folder = tmp_path / "kernels"
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(folder))
    monkeypatch.setattr(disk, "_told", set())
    return folder


def kept(key: str = KEY, name: str = NAME) -> bool:
    """Whether the content, which is right, was there."""
    content, found = disk.kept(name, key, lambda: CONTENT)
    assert content == CONTENT
    return found


def unused(reason: str) -> list[str]:
    """What is told, once, by loading twice from a cache that can't be used."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert not kept()
        assert not kept()
    (warning,) = told
    assert warning.category is RuntimeWarning
    assert warning.filename == __file__
    lines = str(warning.message).splitlines()
    assert re.fullmatch(rf"the kernel cache .*is not used: {reason}", lines[0]), lines[0]
    assert lines[1] == (
        "  kernels are compiled again in each process; set STATICGRAD_CACHE_DIR to a folder of yours that only you can write to"
    )
    return lines


# where it is ------------------------------------------------------------------------------------------------------------


def test_the_folder_and_its_files_are_private(cache: Path):
    assert not kept()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert [(f.name, stat.S_IMODE(f.stat().st_mode)) for f in cache.iterdir()] == [(NAME, 0o600)]
    assert kept()


@pytest.mark.parametrize(
    ("base", "expected"),
    [("/somewhere", "/somewhere/staticgrad"), ("", "/of/mine/.cache/staticgrad"), ("relative", "/of/mine/.cache/staticgrad")],
)
def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch, base: str, expected: str):
    monkeypatch.delenv("STATICGRAD_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", "/of/mine")
    monkeypatch.setenv("XDG_CACHE_HOME", base)
    assert disk.path() == expected


def test_a_folder_that_others_can_read_stays_as_it_is(cache: Path):
    cache.mkdir()
    cache.chmod(0o755)
    assert not kept()
    assert kept()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o755


def test_a_link_of_ones_own_leads_to_the_folder(cache: Path, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache.symlink_to(tmp_path / "elsewhere")
    assert not kept()
    assert kept()


# what is loaded ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["key", "name"])
def test_the_checksum_covers_what_a_file_is(change: str, cache: Path):
    assert not kept()
    if change == "key":
        assert not kept(key="another key")
    else:
        shutil.copy(cache / NAME, cache / "k1.o")
        assert not kept(name="k1.o")


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_made_again(mode: int, cache: Path):
    assert not kept()
    (cache / NAME).chmod(mode)
    assert not kept()
    assert kept()
    assert stat.S_IMODE((cache / NAME).stat().st_mode) == 0o600


def test_a_file_of_somebody_else_is_made_again(cache: Path, monkeypatch: pytest.MonkeyPatch):
    assert not kept()
    genuine, looked = os.fstat, []

    def strange(handle: int) -> os.stat_result:
        info = genuine(handle)
        if not stat.S_ISREG(info.st_mode):
            return info
        looked.append(handle)
        return os.stat_result([*info[:4], info.st_uid + 1, *info[5:]])

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", strange)
        assert not kept()
    assert looked, "the descriptor is asked, not the name"
    assert kept()


# no cache ---------------------------------------------------------------------------------------------------------------


def test_a_folder_of_somebody_else_is_not_used(cache: Path, monkeypatch: pytest.MonkeyPatch):
    assert not kept()
    uid = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    unused("it belongs to another user")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_write_is_not_used(mode: int, cache: Path):
    assert not kept()
    cache.chmod(mode)
    before = (cache / NAME).stat()
    unused("other users can write to it")
    assert stat.S_IMODE(cache.stat().st_mode) == mode, "it was tightened, with what others left in it"
    assert (cache / NAME).stat().st_mtime_ns == before.st_mtime_ns


def test_a_link_of_somebody_else_is_not_followed(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache.symlink_to(tmp_path / "elsewhere")
    uid = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    if uid:
        unused("it is a link of another user")
    else:  # root's links are followed
        unused("it belongs to another user")


def test_a_file_in_the_place_of_the_folder(cache: Path):
    cache.write_text("a file")
    unused("it can't be (opened|made): (Not a directory|File exists)")
    assert cache.read_text() == "a file"


def test_a_folder_that_can_not_be_made(cache: Path, monkeypatch: pytest.MonkeyPatch):
    cache.parent.joinpath("file").touch()
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(cache.parent / "file" / "kernels"))
    unused("it can't be (opened|made): Not a directory")


def test_no_home(monkeypatch: pytest.MonkeyPatch, cache: Path):
    monkeypatch.delenv("STATICGRAD_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)

    def nobody(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert unused("there is no home directory")[0].startswith("the kernel cache is not used")


REFUSALS = {"os.replace": errno.ENOSPC, "os.urandom": errno.EIO, "os.mkdir": errno.EROFS}


@pytest.mark.parametrize("call", REFUSALS)
def test_a_folder_that_can_not_be_written(call: str, cache: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*args: object, **options: object) -> None:
        raise OSError(REFUSALS[call], os.strerror(REFUSALS[call]))

    with monkeypatch.context() as patch:
        patch.setattr(call, refuse)
        unused(f"it can't be (written|made): {os.strerror(REFUSALS[call])}")
    assert not [*cache.rglob("*.tmp")]
    assert not kept()
    assert kept()


def test_a_folder_that_is_removed_meanwhile_is_made_again(cache: Path, monkeypatch: pytest.MonkeyPatch):
    genuine = os.replace

    def late(*args, **options):
        monkeypatch.setattr(os, "replace", genuine)
        shutil.rmtree(cache)
        return genuine(*args, **options)

    monkeypatch.setattr(os, "replace", late)
    assert not kept()
    assert kept()


def test_a_warning_that_is_an_error_leaves_the_next_call_alone(cache: Path):
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(RuntimeWarning, match="is not used: other users can write to it"):
        kept()
    assert not kept()
