"""Arrays in memory that processes share: those of a process that is forked, and those to which an array is sent."""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from multiprocessing import reduction
from typing import Any

import numpy as np

PLACE = "/dev/shm"
"""A folder in memory, where there is one."""


class Pages(mmap.mmap):
    """Shared pages. file: the descriptor of a file without a name, which ends with its last user."""

    file: int


def _pages(file: int, size: int) -> Pages:
    made = Pages(file, size)
    made.file = file
    weakref.finalize(made, os.close, file)
    return made


def pages_of(array: np.ndarray) -> Pages | None:
    """The pages that an array lies in; None for memory of this process alone."""
    found: Any = array
    while isinstance(found, (np.ndarray, memoryview)):
        found = found.base if isinstance(found, np.ndarray) else found.obj
    return found if isinstance(found, Pages) else None


def shared(array: np.ndarray) -> np.ndarray:
    """A copy of an array in shared pages. What one process writes, the others read."""
    file, path = tempfile.mkstemp(dir=PLACE if os.path.isdir(PLACE) else None)
    os.unlink(path)
    size = max(array.nbytes, 1)
    os.truncate(file, size)
    made = np.ndarray(array.shape, array.dtype, _pages(file, size))
    made[...] = array
    return made


def _reduced(array: np.ndarray) -> Any:
    """How an array is sent to another process: as its pages and the place in them, or as a copy."""
    pages = pages_of(array)
    if pages is None:
        return array.__reduce__()
    start = np.frombuffer(pages, np.uint8).__array_interface__["data"][0]
    offset = array.__array_interface__["data"][0] - start
    return np.ndarray, (array.shape, array.dtype, pages, offset, array.strides)


def _sent(pages: Pages) -> Any:
    """Pages as they are sent: once, for all arrays in them."""
    return _received, (reduction.DupFd(pages.file), pages.size())


def _received(file: Any, size: int) -> Pages:
    return _pages(file.detach(), size)


reduction.ForkingPickler.register(np.ndarray, _reduced)
reduction.ForkingPickler.register(Pages, _sent)
