"""Files that are written whole, or not at all; JSON in which no key is lost."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary stream for the new content of a file, which replaces the former one when the context ends without an error.

    Whatever happens meanwhile - an error, a full disk, the end of the process or of the machine's power - the file has its
    former content or the new one. A symbolic link goes on pointing to the file, whose permissions stay. What is no regular
    file (a pipe, a terminal) is written directly. Raises OSError.
    """
    target = os.path.realpath(os.fsdecode(path))
    try:
        former = os.stat(target)
    except FileNotFoundError:
        mode = None
    else:
        if not stat.S_ISREG(former.st_mode):
            with open(target, "wb") as stream:  # a folder is an error
                yield stream
            return
        mode = stat.S_IMODE(former.st_mode)
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f"{name[:200]}.{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as stream:
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())  # the content is on the disk before its name
        os.replace(temporary, target)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename == temporary:
            error.filename = os.fspath(path)  # the name that the user knows
        with suppress(OSError):
            os.unlink(temporary)
        raise
    with suppress(OSError):  # some file systems can't
        _sync(folder)


def _sync(folder: str) -> None:
    """Wait until the names in a folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def repeated_key(pairs: Sequence[tuple[str, Any]]) -> str | None:
    """The first key of a JSON object that occurs more than once: a dict would silently keep the last value."""
    names = [name for name, _ in pairs]
    return next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
