"""The kernel cache: a private folder of machine code, which is loaded only when no other user can have written it.

A file starts with the SHA-256 of its identity (its name, and the whole key that the name abbreviates) and of its content,
which follows. Files that were renamed, truncated, or changed in any byte are therefore made again, as if they were missing. A
checksum does not say who wrote a file: the folder and the file have to belong to this user, and no other user may write to
them. Both are checked after they are opened, so they can't be exchanged in between, and the bytes that were checked are the
bytes that run.

Files are written whole and renamed into place, so no process reads a partial file, whenever another process is killed. A cache
that can't be used causes one warning, and code stays in memory. `STATICGRAD_CACHE_DIR` moves the folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from ...base import interpreter
from ...errors import ArgumentError, user_line

# The size of the kernel cache: what it holds, and the removal of what was not used for longest.
#
# `STATICGRAD_CACHE_LIMIT` is the most that it holds, such as 500MB; 0 is no limit. Each process that writes to it looks once.

LIMIT = "STATICGRAD_CACHE_LIMIT"
DEFAULT = 2_000_000_000
"""The limit in bytes where the environment names none."""
SPARED = 0.9
"""The part of the limit that is left when it was exceeded, so that not every process removes something."""
KINDS = (".o", ".py", ".plan", ".call")
"""The ends of the names of its files: machine code, sources, plans of programs, and eager calls."""
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


class Entry(NamedTuple):
    """The files of one kernel, machine code and its source, or of one plan. used: when it was last read or written."""

    name: str
    files: tuple[str, ...]
    bytes: int
    used: float


def size_of(text: str) -> int:
    """Bytes of a text such as `500MB` or `2GB`. Raises ArgumentError."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?)b?\s*", text.lower())
    if found is None:
        raise ArgumentError(f"{text!r} is no size", "write 500MB or 2GB; 0 is no limit")
    return int(float(found[1]) * UNITS[found[2]])


def limit() -> int:
    """The most bytes that the cache holds; 0 for any number. Raises ArgumentError."""
    text = os.environ.get(LIMIT, "")
    return size_of(text) if text else DEFAULT


def entries(folder: str) -> list[Entry]:
    """What the cache holds, the least recently used first."""
    files: dict[str, list[str]] = {}
    for path in _files(folder):
        files.setdefault(os.path.splitext(os.path.basename(path))[0], []).append(path)
    found = []
    for name, paths in files.items():
        facts = []
        for path in paths:
            with suppress(OSError):
                facts.append(os.lstat(path))
        if facts:
            found.append(
                Entry(name, tuple(paths), sum(f.st_size for f in facts), max(max(f.st_atime, f.st_mtime) for f in facts))
            )
    return sorted(found, key=lambda entry: entry.used)


def _files(folder: str) -> Iterator[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(KINDS) and os.path.isfile(path) and not os.path.islink(path):
            yield path


def trim(folder: str, most: int) -> tuple[int, int]:
    """Remove kernels, the least recently used first, until at most so many bytes are left. Returns how many kernels and bytes
    were removed. A process that has loaded them goes on."""
    known = entries(folder)
    total, count, removed = sum(entry.bytes for entry in known), 0, 0
    for entry in known:
        if total <= most:
            break
        for file in entry.files:
            with suppress(OSError):
                os.unlink(file)
        total -= entry.bytes
        removed += entry.bytes
        count += 1
    return count, removed


def keep_below_limit(folder: str) -> tuple[int, int]:
    """Trim the cache where it exceeds its limit; see `trim`. Raises ArgumentError for a limit that is no size."""
    most = limit()
    if not most or sum(entry.bytes for entry in entries(folder)) <= most:
        return 0, 0
    return trim(folder, int(most * SPARED))


FORMAT = b"staticgrad kernel cache 2\n"
DIGEST = 32
LARGEST = 1 << 28
"""The most bytes of a file of the cache."""
PROBE = 1 << 16
"""Bytes of a file that is written to find out whether others can be: of a large kernel."""
ABANDONED = 3600
"""Seconds after which a temporary file belongs to a process that was killed."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_told: set[str] = set()
"""The unusable folders, and other topics, for which there was a warning."""
_swept: set[str] = set()
"""The folders that this process has cleared of abandoned files."""


_delivered: dict[tuple[str, str], bytes] = {}
"""Contents by name and key that another process made for this one, until they are read."""


class File(NamedTuple):
    """A file of the cache. key: the whole key that the name abbreviates."""

    name: str
    key: str


class Unusable(Exception):
    """The reason why the folder, or a file in it, can't be used."""


def path() -> str:
    """The path of the folder. Raises Unusable where there is no place for one."""
    root = os.environ.get("STATICGRAD_CACHE_DIR")
    if root:
        return root
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the specification says to ignore other paths
        return os.path.join(base, "staticgrad")
    home = os.path.expanduser("~")
    if home == "~":
        raise Unusable("there is no home directory")
    return os.path.join(home, ".cache", "staticgrad")


def kept(name: str, key: str, make: Callable[[], bytes]) -> tuple[bytes, bool]:
    """(content, found): the content of a file, which is made where the file is missing, damaged, or another user's."""
    content = read(name, key)
    if content is not None:
        return content, True
    content = make()
    keep(name, key, content)
    return content, False


def keep(name: str, key: str, content: bytes) -> None:
    """Write a file that `read` finds."""
    write(name, _digest(name, key, content) + content)


def where() -> str:
    """The path of the folder, for messages; "" where there is no place for one."""
    try:
        return path()
    except Unusable:
        return ""


def folder() -> str:
    """The path of the folder; one that does not exist where there is no place for any."""
    try:
        return path()
    except Unusable:
        return os.path.join(os.devnull, "none")


def unwritable() -> str:
    """The reason why no file can be kept, "" where one can."""
    name = f"probe.{os.urandom(8).hex()}.tmp"
    try:
        _write(name, bytes(PROBE))
        with _folder(make=False) as folder:
            os.unlink(name, dir_fd=folder)
    except Unusable as error:
        return str(error)
    except OSError as error:
        return f"it can't be written: {error.strerror}"
    return ""


def deliver(file: File, content: bytes) -> None:
    """Have the next `read` of a file return a content that another process made, wherever that could write it."""
    _delivered[file] = content


def at_hand(file: File) -> bool:
    """Whether the file can be read. The content is kept until it is."""
    if file not in _delivered:
        content = read(*file)
        if content is None:
            return False
        deliver(file, content)
    return True


def read(name: str, key: str) -> bytes | None:
    """The content of a file, if it belongs to the key and no other user can have written it."""
    if (delivered := _delivered.pop((name, key), None)) is not None:
        return delivered
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
    """Write a file whole. Where that fails, there is a warning, and no partial file."""
    try:
        try:
            _write(name, content)
        except FileNotFoundError:  # another process has just removed the folder
            _write(name, content)
    except Unusable as error:
        _tell(error)
    except OSError as error:
        _tell(Unusable(f"it can't be written: {error.strerror}"))


def _digest(name: str, key: str, content: bytes) -> bytes:
    identity = f"{name}\n{key}\n".encode()
    return hashlib.sha256(b"".join([FORMAT, b"%d\n" % len(identity), identity, content])).digest()


def _tell(reason: Unusable) -> None:
    """Warn that the folder can't be used."""
    folder = where()
    text = (
        f"the kernel cache {folder + ' ' if folder else ''}is not used: {reason}\n"
        "  kernels are compiled again in each process; "
        "set STATICGRAD_CACHE_DIR to a folder of yours that only you can write to"
    )
    tell(text, folder)


def tell(text: str, topic: str) -> None:
    """Warn once for each topic, such as a folder, at the user's line."""
    if topic in _told:
        return
    _told.add(topic)
    line = user_line()
    interpreter.logger().warning(text)
    warnings.warn_explicit(text, RuntimeWarning, *(("staticgrad", 0) if line is None else line))


def _check(info: os.stat_result) -> None:
    """Raises Unusable for files that others own or can write to."""
    if info.st_uid != os.geteuid():
        raise Unusable("it belongs to another user")
    if stat.S_IMODE(info.st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
        raise Unusable("other users can write to it")


@contextmanager
def _folder(make: bool) -> Iterator[int]:
    """A descriptor of the folder. Raises Unusable when it is not safe, or can't be made; OSError when there is none."""
    place = path()
    if os.path.islink(place) and os.lstat(place).st_uid not in (0, os.geteuid()):
        raise Unusable("it is a link of another user")
    try:
        if make:
            os.makedirs(place, mode=0o700, exist_ok=True)
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
    """The bytes of a file of this user, none for any other. Raises OSError."""
    handle = os.open(name, _READ, dir_fd=folder)
    try:
        info = os.fstat(handle)
        try:
            _check(info)
        except Unusable:
            return b""
        if not stat.S_ISREG(info.st_mode) or info.st_size > LARGEST:
            return b""
        with suppress(OSError):
            os.utime(handle, ns=(time.time_ns(), info.st_mtime_ns))  # what was not used for longest is removed first
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
    """Remove a file or folder. A folder that can't be emptied, because others own its files, is moved out of the way."""
    aside = f"{name}.{os.urandom(8).hex()}.tmp"
    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    if stat.S_ISDIR(os.stat(aside, dir_fd=folder, follow_symlinks=False).st_mode):
        import shutil  # with its compressors, for the rare folder in the place of a file

        shutil.rmtree(aside, ignore_errors=True, dir_fd=folder)
    else:
        os.unlink(aside, dir_fd=folder)


def _sweep(folder: int) -> None:
    """Remove the temporary files of killed processes, once per process."""
    where = path()
    if where in _swept:
        return
    _swept.add(where)
    for name in os.listdir(folder):
        if name.endswith(".tmp"):
            with suppress(OSError):
                info = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if time.time() - info.st_mtime > ABANDONED:
                    _remove(name, folder)
    try:
        count, size = keep_below_limit(where)
    except ArgumentError as error:
        tell(f"{LIMIT} is not followed: {error.summary}\n  {error.details[0]}", LIMIT)
        return
    if count:
        interpreter.info("%d kernels removed from the cache, %d bytes, because it exceeded its limit", count, size)
