"""Threads that fill queues: the coordinator and queue runners."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..core import get_default_session, static
from ..errors import CancelledError, OutOfRangeError
from ..graph import GraphKeys, get_default_graph
from ..handles import Operation
from ..queues import QueueBase


class Coordinator:
    """Asks threads to stop, and waits for them."""

    def __init__(self, clean_stop_exception_types: Any = None):
        self._stop = threading.Event()
        self._clean = (OutOfRangeError, *(clean_stop_exception_types or ()))
        self._error: BaseException | None = None
        self._threads: list[threading.Thread] = []
        self._joined = False

    def request_stop(self, ex: Any = None) -> None:
        """Ask all to stop; an exception that is not a clean end is raised by `join`."""
        if isinstance(ex, tuple):  # of sys.exc_info()
            ex = ex[1]
        if self._joined and ex is not None and not isinstance(ex, self._clean):
            raise RuntimeError("Too late to raise an exception: the coordinator has joined its threads.") from ex
        if isinstance(ex, BaseException) and not isinstance(ex, self._clean) and self._error is None:
            self._error = ex
        self._stop.set()

    def clear_stop(self) -> None:
        self._error, self._joined = None, False
        self._stop.clear()

    @property
    def joined(self) -> bool:
        """Whether `join` has ended."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raise what a thread reported, if one did."""
        if self._error is not None:
            raise self._error

    def should_stop(self) -> bool:
        return self._stop.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        self._threads.append(thread)

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Ask all to stop where the body raises."""
        try:
            yield
        except Exception as error:
            self.request_stop(error)

    def join(self, threads: Any = None, stop_grace_period_secs: float = 120, ignore_live_threads: bool = False) -> None:
        """Wait for the threads; raises what a thread reported. RuntimeError for threads that don't end in time."""
        end = None
        for thread in [*self._threads, *(threads or [])]:
            while thread.is_alive():
                thread.join(0.1)
                if self._stop.is_set():
                    end = end or time.monotonic() + stop_grace_period_secs
                    if time.monotonic() > end:
                        break
            if thread.is_alive() and not ignore_live_threads:
                raise RuntimeError("Coordinator stopped with threads still running.")
        self._joined = True
        self.raise_requested_exception()


class LooperThread(threading.Thread):
    """A thread that repeats `run_loop` until its coordinator stops: every `timer_interval_secs`, without a pause for None."""

    def __init__(self, coord: Coordinator, timer_interval_secs: float | None, target: Any = None, args: Any = None,
                 kwargs: Any = None):  # fmt: skip
        super().__init__(daemon=True)
        self._coord, self._interval, self._function = coord, timer_interval_secs, target
        self._given = tuple(args or ()), dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(coord: Coordinator, timer_interval_secs: float | None, target: Any, args: Any = None, kwargs: Any = None) -> Any:
        """Begin such a thread."""
        made = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        made.start()
        return made

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            while not self._coord.should_stop():
                self.run_loop()
                if self._interval is not None and self._coord.wait_for_stop(self._interval):
                    break
            self.stop_loop()

    def start_loop(self) -> None: ...

    def stop_loop(self) -> None: ...

    def run_loop(self) -> None:
        if self._function is not None:
            self._function(*self._given[0], **self._given[1])


class QueueRunner:
    """Runs the enqueue operations of a queue, each in a thread, until one has no more elements; then closes the queue."""

    def __init__(
        self, queue: QueueBase, enqueue_ops: Sequence[Operation], close_op: Operation | None = None,
        cancel_op: Operation | None = None, queue_closed_exception_types: Any = None, queue_runner_def: Any = None,
        import_scope: str | None = None,
    ):  # fmt: skip
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self.queue, self.enqueue_ops = queue, list(enqueue_ops)
        self.close_op = queue.close() if close_op is None else close_op
        self.cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._ends = (OutOfRangeError, CancelledError, *(queue_closed_exception_types or ()))
        self.exceptions_raised: list[BaseException] = []

    @property
    def name(self) -> str:
        return self.queue.name

    def create_threads(self, sess: Any, coord: Coordinator | None = None, daemon: bool = False,
                       start: bool = False) -> list[threading.Thread]:  # fmt: skip
        """One thread per operation, and with a coordinator one that closes the queue when that stops."""
        left = [len(self.enqueue_ops)]
        lock = threading.Lock()

        def feed(op: Operation) -> None:
            try:
                while coord is None or not coord.should_stop():
                    sess.run(op)
            except self._ends:
                pass
            except Exception as error:
                self.exceptions_raised.append(error)
                if coord is None:
                    raise
                coord.request_stop(error)
            finally:
                with lock:
                    left[0] -= 1
                    last = not left[0]
                if last:
                    sess.run(self.close_op)

        def stop() -> None:
            coord.wait_for_stop()  # type: ignore[union-attr]  # begun with a coordinator alone
            sess.run(self.cancel_op)

        threads = [threading.Thread(target=feed, args=(op,), daemon=daemon) for op in self.enqueue_ops]
        if coord is not None:
            threads.append(threading.Thread(target=stop, daemon=daemon))
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Let `start_queue_runners` start it."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(sess: Any = None, coord: Any = None, daemon: bool = True, start: bool = True,
                        collection: str = GraphKeys.QUEUE_RUNNERS) -> list[threading.Thread]:  # fmt: skip
    """Start the threads of all queue runners of the graph. Raises ValueError without a session."""
    chosen = get_default_session() if sess is None else sess
    if chosen is None:
        raise ValueError(
            "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass an explicit "
            "session to tf.start_queue_runners(sess=sess)"
        )
    if isinstance(chosen, static.Session):
        from ..session import Session

        chosen = Session.over(chosen)
    runners = chosen.graph.get_collection(collection)
    return [thread for runner in runners for thread in runner.create_threads(chosen, coord, daemon, start)]
