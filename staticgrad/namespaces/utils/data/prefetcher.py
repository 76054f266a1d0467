"""Batches that are made ahead by a thread, so that a compiled step, which runs without the GIL, doesn't wait for them."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Generic, TypeVar

import numpy as np

from ....base.interpreter import Condition
from ....errors import ArgumentError
from ....ops.operators import state
from ....ops.random import Generator, current, stream_seed
from .workers import PATIENCE

T_co = TypeVar("T_co", covariant=True)
OWN_STREAM = 1 << 62
"""Added to the number of draws: the numbers of the thread are those of no draw."""


class Prefetcher(Generic[T_co]):
    """An iterable whose items are made ahead by a thread, `size` of them at most, in order.

    source: any iterable, such as a `DataLoader`; each `iter` of the prefetcher is one of it. The first item is made where it
    is asked for, and the thread begins with the second. An error of the source is raised at its place. The thread ends with
    the items, or when the iterator is dropped. Random numbers that the source draws in the thread are those of a stream of its
    own, so they don't depend on timing, and those of the training loop are the same as without a prefetcher. A process that
    was forked has no such thread and has to begin a new `iter`. Raises ArgumentError for a size below 1.

    Examples:
        >>> from staticgrad.utils.data import DataLoader, Prefetcher, TensorDataset
        >>> loader = DataLoader(TensorDataset(sg.arange(6.0)), batch_size=2)
        >>> [batch.tolist() for (batch,) in Prefetcher(loader)]
        [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """

    def __init__(self, source: Iterable[T_co], size: int = 2):
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
            raise ArgumentError(f"Prefetcher: size has to be at least 1, got {size!r}")
        self.source, self.size = source, int(size)

    def __len__(self) -> int:
        """That of the source. Raises TypeError where it has none."""
        return len(self.source)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[T_co]:
        return _Items(iter(self.source), self.size)


class _Buffer:
    """State that the thread and its consumer share. The thread has no reference to the iterator, which can thus be dropped."""

    def __init__(self, source: Iterator[Any], size: int):
        self.source, self.size = source, size
        self.changed = Condition()  # re-entrant: a finalizer may run wherever memory is allocated
        self.items: deque[Any] = deque()
        self.error: BaseException | None = None
        self.ended = self.dropped = False
        seed, draws = current().state
        self.stream = Generator(stream_seed(seed, draws + OWN_STREAM))

    def fill(self) -> None:
        """The body of the thread."""
        state.stream = self.stream
        error: BaseException | None = None
        try:
            while self._room():
                item = next(self.source)
                with self.changed:
                    self.items.append(item)
                    self.changed.notify_all()
                del item
        except StopIteration:
            pass
        except BaseException as raised:  # the consumer's
            error = raised
        if self.dropped and hasattr(self.source, "close"):
            with suppress(Exception):
                self.source.close()
        with self.changed:
            self.error, self.ended = error, True
            del self.source
            self.changed.notify_all()

    def _room(self) -> bool:
        """Wait for a place; False where nobody takes items any more."""
        with self.changed:
            while len(self.items) >= self.size and not self.dropped:
                self.changed.wait()
            return not self.dropped

    def take(self) -> Any:
        """The next item, when it is there. Raises the error of the source, and StopIteration at the end."""
        with self.changed:
            while not self.items and not self.ended:
                self.changed.wait()
            if self.items:
                self.changed.notify_all()
                return self.items.popleft()
            error, self.error = self.error, None
        raise StopIteration if error is None else error

    def drop(self, thread: threading.Thread, process: int) -> None:
        """End the thread. In a child of fork() there is none."""
        if os.getpid() != process:
            return
        with self.changed:
            self.dropped = True
            self.items.clear()
            self.changed.notify_all()
        if thread is not threading.current_thread():
            thread.join(PATIENCE)


class _Items(Iterator[Any]):
    """One pass over the source."""

    def __init__(self, source: Iterator[Any], size: int):
        self._source: Iterator[Any] | None = source
        self._size = size
        self._buffer: _Buffer | None = None
        self._process = os.getpid()

    def __next__(self) -> Any:
        if self._buffer is not None:
            if os.getpid() != self._process:
                raise RuntimeError(
                    "Prefetcher: this process was forked and does not have the thread that makes the items; begin a new iter()"
                )
            return self._buffer.take()
        if self._source is None:
            raise StopIteration
        source, self._source = self._source, None
        first = next(source)
        self._buffer = buffer = _Buffer(source, self._size)
        self._process = os.getpid()
        thread = threading.Thread(target=buffer.fill, name="staticgrad-prefetcher", daemon=True)
        weakref.finalize(self, buffer.drop, thread, self._process)
        thread.start()
        return first


__all__ = ["Prefetcher"]
