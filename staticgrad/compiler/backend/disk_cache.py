"""The kernel cache: a private folder of machine code, which is loaded only when nobody else can have written it.

A file is the SHA-256 of what it is (its name and the whole key that the name abbreviates) and of what follows, then the
content. Files under each other's names, cut off, or changed in any byte are therefore made again, as if they were missing.
A checksum does not tell who wrote a file: the folder and the file have to belong to this user, and nobody else may
write to them. Both are looked at after they are opened, so they can't be exchanged in between, and the bytes that were
checked are the bytes that run.

Files are written whole and renamed into place, so no process sees half of one, whenever another is killed. A cache that can't
be used is told in one warning, and code stays in memory then. `STATICGRAD_CACHE_DIR` moves the folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...errors import user_line

FORMAT = b"staticgrad kernel cache 2\n"
DIGEST = 32
LARGEST = 1 << 28
"""Bytes above which no file is ours."""
ABANDONED = 3600
"""Seconds after which a temporary file belongs to a process that was killed."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_told: set[str] = set()
"""The folders of which the user was told that they can't be used."""
_swept: set[str] = set()
"""The folders that were cleared of abandoned files by this process."""


class Unusable(Exception):
    """The folder, or a file in it, can't be used: the reason."""


def path() -> Path:
    """Where the folder is. Raises Unusable when there is no place for one."""
    root = os.environ.get("STATICGRAD_CACHE_DIR")
    if root:
        return Path(root)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the specification has other paths ignored
        return Path(base) / "staticgrad"
    try:
        return Path.home() / ".cache" / "staticgrad"
    except RuntimeError:
        raise Unusable("there is no home directory") from None


def kept(name: str, key: str, make: Callable[[], bytes]) -> tuple[bytes, bool]:
    """The content of a file, made where it is missing, damaged, or not ours; whether it was there."""
    content = read(name, key)
    if content is not None:
        return content, True
    content = make()
    write(name, _digest(name, key, content) + content)
    return content, False


def read(name: str, key: str) -> bytes | None:
    """The content of a file when it is what the key says, and nobody else can have written it."""
    try:
        with _folder(make=False) as folder:
            found = _content(name, folder)
    except Unusable as error:
        _tell(error)
        return None
    except OSError:
        return None
    content = found[DIGEST:]
    return content if found[:DIGEST] == _digest(name, key, content) else None


def write(name: str, content: bytes) -> None:
    """Write a file whole. Where that can't be, there is a warning, and nothing is left behind."""
    try:
        try:
            _write(name, content)
        except FileNotFoundError:  # somebody has just removed the folder
            _write(name, content)
    except Unusable as error:
        _tell(error)
    except OSError as error:
        _tell(Unusable(f"it can't be written: {error.strerror}"))


def _digest(name: str, key: str, content: bytes) -> bytes:
    identity = f"{name}\n{key}\n".encode()
    return hashlib.sha256(b"".join([FORMAT, b"%d\n" % len(identity), identity, content])).digest()


def _tell(reason: Unusable) -> None:
    """Once for each folder, at the user's line."""
    try:
        where = str(path())
    except Unusable:
        where = ""
    if where in _told:
        return
    _told.add(where)
    line = user_line()
    text = (
        f"the kernel cache {where + ' ' if where else ''}is not used: {reason}\n"
        "  kernels are compiled again in each process; "
        "set STATICGRAD_CACHE_DIR to a folder of yours that only you can write to"
    )
    warnings.warn_explicit(text, RuntimeWarning, *(("staticgrad", 0) if line is None else line))


def _check(info: os.stat_result) -> None:
    """Raises Unusable for what others own or can write to."""
    if info.st_uid != os.geteuid():
        raise Unusable("it belongs to another user")
    if stat.S_IMODE(info.st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
        raise Unusable("other users can write to it")


@contextmanager
def _folder(make: bool) -> Iterator[int]:
    """A descriptor of the folder. Raises Unusable when it is not safe, or can't be made; OSError when there is none."""
    place = path()
    if place.is_symlink() and place.lstat().st_uid not in (0, os.geteuid()):
        raise Unusable("it is a link of another user")
    try:
        if make:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unusable(f"it can't be {'made' if make else 'opened'}: {error.strerror}") from None
    try:
        _check(os.fstat(folder))
        yield folder
    finally:
        os.close(folder)


def _content(name: str, folder: int) -> bytes:
    """The bytes of a file of ours, nothing for any other. Raises OSError."""
    handle = os.open(name, _READ, dir_fd=folder)
    try:
        info = os.fstat(handle)
        try:
            _check(info)
        except Unusable:
            return b""
        if not stat.S_ISREG(info.st_mode) or info.st_size > LARGEST:
            return b""
        with open(handle, "rb", closefd=False) as stream:
            return stream.read()
    finally:
        os.close(handle)


def _write(name: str, content: bytes) -> None:
    with _folder(make=True) as folder:
        _sweep(folder)
        temporary = f"{name}.{os.urandom(8).hex()}.tmp"
        try:
            handle = os.open(temporary, _CREATE, 0o600, dir_fd=folder)
            with open(handle, "wb") as stream:
                stream.write(content)
            try:
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except IsADirectoryError:
                _remove(name, folder)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise


def _remove(name: str, folder: int) -> None:
    """Remove a file or folder. One that can't be emptied, because others own what is in it, is moved out of the way."""
    aside = f"{name}.{os.urandom(8).hex()}.tmp"
    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    if stat.S_ISDIR(os.stat(aside, dir_fd=folder, follow_symlinks=False).st_mode):
        shutil.rmtree(aside, ignore_errors=True, dir_fd=folder)
    else:
        os.unlink(aside, dir_fd=folder)


def _sweep(folder: int) -> None:
    """Remove what killed processes left, once in a process."""
    where = str(path())
    if where in _swept:
        return
    _swept.add(where)
    for name in os.listdir(folder):
        if name.endswith(".tmp"):
            with suppress(OSError):
                info = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if time.time() - info.st_mtime > ABANDONED:
                    _remove(name, folder)
