"""The size of the kernel cache: what it holds, and the removal of what was not used for longest.

`STATICGRAD_CACHE_LIMIT` is the most that it holds, such as 500MB; 0 is no limit. Each process that writes to it looks once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from ...errors import ArgumentError

LIMIT = "STATICGRAD_CACHE_LIMIT"
DEFAULT = 2_000_000_000
"""The limit in bytes where the environment names none."""
SPARED = 0.9
"""The part of the limit that is left when it was exceeded, so that not every process removes something."""
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


class Entry(NamedTuple):
    """The files of one kernel: machine code, and the source beside it. used: when it was last read or written."""

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
        if name.endswith((".o", ".py", ".json")) and os.path.isfile(path) and not os.path.islink(path):
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
