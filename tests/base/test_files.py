"""Files that are written whole; `tests/faults/test_writes.py` disturbs each step."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from staticgrad.base.files import replacing


def put(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


def test_a_new_file_has_the_usual_permissions(tmp_path: Path):
    put(tmp_path / "new", b"x")
    (tmp_path / "usual").write_bytes(b"")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "usual"]


def test_permissions_and_links_stay(tmp_path: Path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"former")
    file.chmod(0o640)
    link.symlink_to(file)
    put(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_an_error_leaves_the_former_content(tmp_path: Path):
    file = tmp_path / "file"
    file.write_bytes(b"former")
    with pytest.raises(TypeError), replacing(file) as stream:
        stream.writelines([b"new", "no bytes"])  # type: ignore[list-item]
    assert file.read_bytes() == b"former"
    assert list(tmp_path.iterdir()) == [file]


def test_what_is_no_file_is_written_directly(tmp_path: Path):
    put(Path(os.devnull), b"x")
    assert not Path(os.devnull).is_file()
    with pytest.raises(IsADirectoryError):
        put(tmp_path, b"x")
