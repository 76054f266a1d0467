"""Processes that make batches.

Each has a pipe. Its tasks are read by a thread, so that the loader is never stuck in sending one while the process is stuck
in sending a batch. When the loader's process ends, however it does, the pipe does too, and the worker exits.
"""

from __future__ import annotations

import os
import pickle
import queue
import random
import signal
import threading
import time
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from ....base.interpreter import Condition
from ....errors import ArgumentError
from ....ops.operators import state
from ....ops.random import Generator, current, generator, stream_seed

PATIENCE = 5.0
"""Seconds that a worker has to exit before it is killed."""


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this process is: its number, how many there are, its seed, and its copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker: which one. None elsewhere."""
    return _info


class _Failure:
    """An exception in a worker, as text."""

    def __init__(self, error: BaseException, where: str):
        self.text = "".join(traceback.format_exception(error))
        self.where, self.kind = where, type(error)
        try:
            pickle.loads(pickle.dumps(self.kind))
        except Exception:  # a class that only the worker knows
            self.kind = RuntimeError

    def again(self) -> BaseException:
        """The exception, with the worker's traceback as its text; RuntimeError where its type takes no text."""
        message = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if issubclass(self.kind, KeyError):
            return KeyError(_Plain(message))
        try:
            return self.kind(message)
        except TypeError:
            return RuntimeError(message)


class _Plain(str):
    """Text that a KeyError shows as it is."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Job:
    """All that a worker needs; a fork inherits it, another start method pickles it."""

    dataset: Any
    fetcher: Callable[[Any], Callable[[Any], Any]]
    """fetcher(dataset): a function from a task to a batch. It raises StopIteration where an iterable data set ends."""
    init: Callable[[int], Any] | None
    id: int
    num_workers: int


def work(pipe: Connection, other: Connection, job: Job) -> None:
    """The body of a worker process. other: the loader's end of the pipe, which a fork inherits."""
    other.close()
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the loader's process, which ends the pipe
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    ending = threading.Event()

    def read() -> None:
        while not ending.is_set():
            try:
                task = pipe.recv()
            except (EOFError, OSError):
                os._exit(1)
            if task is None:
                ending.set()
            tasks.put(task)

    threading.Thread(target=read, daemon=True).start()
    where = f"in DataLoader worker process {job.id}"
    fetch: Callable[[Any], Any] | None = None
    failure: _Failure | None = None
    while (task := tasks.get()) is not None and not ending.is_set():
        epoch, kind, value = task
        result: tuple[str, Any]
        try:
            if kind == "begin":
                fetch = failure = None
                fetch = _begun(job, value)
                continue
            result = ("error", failure) if fetch is None else ("batch", fetch(value))
        except StopIteration:
            result = ("end", None)
        except BaseException as error:
            result = ("error", _Failure(error, where))
            if kind == "begin":  # each task of this pass gives this error
                failure = result[1]
                continue
        try:
            data = pickle.dumps((epoch, *result), protocol=pickle.HIGHEST_PROTOCOL)
        except BaseException as error:  # a batch that can't be sent is this batch's error
            data = pickle.dumps((epoch, "error", _Failure(error, where)))
        with suppress(OSError):
            pipe.send_bytes(data)


def _begun(job: Job, seed: int) -> Callable[[Any], Any]:
    """Begin a pass over the data: random numbers of its own, the user's function, and what makes batches."""
    global _info
    seed += job.id
    _info = WorkerInfo(job.id, job.num_workers, seed, job.dataset)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    generator.manual_seed(seed)
    if job.init is not None:
        job.init(job.id)
    return job.fetcher(job.dataset)


class Worker:
    """The loader's side of one worker process. Passes over the data are counted: batches of an earlier one are dropped."""

    def __init__(self, context: Any, job: Job):
        self.id = job.id
        self.epoch = 0
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other, self.pipe, job), daemon=True)
        self.process.start()
        other.close()

    def begin(self, seed: int) -> int:
        """Begin a pass; its number."""
        self.epoch += 1
        self.send("begin", seed)
        return self.epoch

    def send(self, kind: str, value: Any) -> None:
        """Give it a task. A worker that has exited is found by `receive`."""
        with suppress(OSError):
            self.pipe.send((self.epoch, kind, value))

    def receive(self, epoch: int, timeout: float) -> tuple[str, Any]:
        """("batch", batch), ("end", None) or ("error", failure) for the oldest task of a pass.

        timeout: seconds; 0: as long as it takes. Raises RuntimeError where the worker has exited, the time is over, or
        another pass has begun.
        """
        if epoch != self.epoch:
            raise RuntimeError("DataLoader: a later pass over the data has begun, with the same persistent workers")
        deadline = time.monotonic() + timeout if timeout else None
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = wait([self.pipe, self.process.sentinel], left)
            if not ready:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
            if self.pipe not in ready and not self.pipe.poll():
                self._gone()
            try:
                found, kind, value = pickle.loads(self.pipe.recv_bytes())
            except (EOFError, OSError):
                self._gone()
            if found == epoch:
                return kind, value

    def _gone(self) -> NoReturn:
        self.process.join(PATIENCE)
        raise RuntimeError(
            f"DataLoader worker {self.id} (pid {self.process.pid}) exited unexpectedly with exit code {self.process.exitcode}"
        )

    def drain(self, deadline: float) -> None:
        """Drop batches until the process has exited: it may be stuck in sending one."""
        while (left := deadline - time.monotonic()) > 0:
            if self.pipe not in wait([self.pipe, self.process.sentinel], left):
                return
            try:
                self.pipe.recv_bytes()
            except (EOFError, OSError):
                self.process.join(left)
                return


def stop(workers: list[Worker]) -> None:
    """End processes: asked to, then made to."""
    for worker in workers:
        with suppress(OSError):
            worker.pipe.send(None)
    deadline = time.monotonic() + PATIENCE
    for worker in workers:
        worker.drain(deadline)
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.exitcode is None:
            worker.process.kill()
            worker.process.join()
        worker.process.close()
        worker.pipe.close()
    workers.clear()


__all__ = ["Job", "Prefetcher", "Worker", "WorkerInfo", "get_worker_info", "stop", "work"]


# prefetcher -----------------------------------------------------------------------------------------------------------

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
