"""Worker processes that compile while this one goes on; `compile_worker.py` is what they run.

There are none until there is something to compile. Then a leader forks one for each CPU, at most `MOST`. They end when all
have been idle for a while, and with this process, however that ends. A thread for each worker hands it jobs and takes the
answers. It does not touch LLVM, so a fork need not wait for it; a child of a fork begins with a pool of its own.

Jobs for which nobody waits yet are left to *patient* workers, of which there are half as many: their priority is low, and they
begin with the jobs that will be waited for first. A process can't raise its priority again without privileges. So when somebody
comes to wait, the jobs are given to the other workers, even those that patient workers have begun, and the first result counts.

Where workers can't be started, or end by themselves, their jobs are over without a result. Whoever wants the code then
compiles it in this process, and there is one warning.
"""

from __future__ import annotations

import atexit
import heapq
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...base.interpreter import Condition, unforked
from . import disk_cache as disk
from .kernel_cache import SOON

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

MOST = 4
"""The most workers."""
IDLE = 10.0
"""Seconds without a job after which the workers end."""
CRASHES = 3
"""Workers that may end by themselves before no more are started."""
PATIENCE = 2.0
"""Seconds of compiling after which a terminal shows the progress."""
TICK = 0.5
"""Seconds between two lines of progress."""
LIMIT = 300.0
"""Seconds after which a worker that does not answer is ended: the largest kernels take a few on an idle machine."""
GRACE = 0.5
"""Seconds in which the leader of workers ends after them, unless it is killed."""
PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
ENVIRONMENT = ("STATICGRAD_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "STATICGRAD_KERNELS")
"""The variables on which the place of the kernel cache depends, and the compiler."""

START = """\
import gc, json, signal, sys, types
gc.disable()
signal.signal(signal.SIGINT, signal.SIG_IGN)
first = json.loads(sys.stdin.buffer.readline())
sys.path[:] = first["path"]
sys.modules["scipy"] = None
package = types.ModuleType("staticgrad")
package.__path__ = [first["package"]]
sys.modules["staticgrad"] = package
from staticgrad.compiler.backend.compile_worker import lead
lead(first["parent"], first["places"], first["patient"])
"""
"""The program of a leader. Ctrl-C is for the parent. It imports only what a worker has use for, so not the package's `__init__`
nor SciPy, whose version Numba would look at. It does not look for garbage among what it imports: there is none, and that takes
a tenth of the time."""


class Job:
    """Machine code to be made. due: the time of the monotonic clock at which somebody is expected to wait for it, or `SOON`.
    begun: a patient worker has. over: it has been delivered to `disk_cache`, or else `error` says why it has not. told: what
    the worker would have warned of."""

    __slots__ = ("begun", "due", "error", "over", "pool", "text", "told")

    def __init__(self, text: str, due: float = SOON):
        self.text, self.due = text, due
        self.begun, self.over, self.error = False, False, ""
        self.told: list[str] = []
        self.pool: Pool | None = None

    def __lt__(self, other: Job) -> bool:
        return self._long() > other._long()  # what takes longest comes first

    def _long(self) -> tuple[bool, int]:
        """A text that begins with an import stands for longer code than its own."""
        return self.text.lstrip().startswith("from "), len(self.text)


class Worker:
    """A process that compiles. patient: with low priority."""

    def __init__(self, leader: Leader, connection: Connection, patient: bool):
        self.leader, self.connection, self.patient = leader, connection, patient

    def do(self, job: Job, tick: Callable[[], None]) -> tuple[list[str], str]:
        """Do a job, and call `tick` meanwhile. Returns (told, error). Raises OSError, EOFError or ValueError when the worker
        ends, writes something else, or gives no answer in time."""
        self.connection.send_bytes(json.dumps({"text": job.text, "environment": _environment()}).encode())
        until = time.monotonic() + LIMIT
        while not self.connection.poll(TICK):
            tick()
            if time.monotonic() > until:
                raise TimeoutError
        line, _, content = self.connection.recv_bytes().partition(b"\n")
        answer = json.loads(line)
        if "status" in answer:
            raise EOFError(f" with status {answer['status']}" if answer["status"] >= 0 else f" by signal {-answer['status']}")
        if not (answer["error"] or job.over):
            disk.deliver(disk.File(answer["name"], answer["key"]), content)
        return answer["told"], answer["error"]

    def end(self) -> None:
        """End the process, in the middle of a job too, and the leader with its last one."""
        if self in self.leader.workers:
            self.leader.workers.remove(self)
            self.connection.close()
            if not self.leader.workers:
                self.leader.end()


class Leader:
    """A process that has imported what compiles, and forks workers. Raises OSError or ValueError where none can be started."""

    def __init__(self, count: int, patient: int):
        import subprocess  # imported late, as pipes are: a process that finds its kernels starts no worker
        from multiprocessing.connection import Pipe

        if not sys.executable:
            raise ValueError("there is no Python interpreter to start")
        pairs = [Pipe() for _ in range(count + patient)]
        places = [theirs.fileno() for _, theirs in pairs]
        self.process = subprocess.Popen(
            [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**_without_numba(), "OPENBLAS_NUM_THREADS": "1"}, pass_fds=places,
        )  # fmt: skip
        self.late = subprocess.TimeoutExpired
        self.workers = [Worker(self, ours, number >= count) for number, (ours, _) in enumerate(pairs)]
        first = {
            "path": sys.path, "package": PACKAGE, "parent": os.getpid(), "places": places,
            "patient": patient,
        }  # fmt: skip
        assert self.process.stdin is not None
        with suppress(BrokenPipeError), self.process.stdin as stream:
            stream.write(json.dumps(first).encode() + b"\n")
        for _, theirs in pairs:
            theirs.close()

    def end(self) -> None:
        """End the process, once its workers have ended."""
        try:
            self.process.wait(GRACE)
        except self.late:
            self.process.kill()
            self.process.wait()


class Pool:
    """The workers of this process, and the jobs that wait for them."""

    def __init__(self, most: int):
        self.most = most
        self.changed = Condition()
        self.waiting: list[Job] = []
        """The urgent jobs, a heap."""
        self.later: list[tuple[float, Job]] = []
        """The others, a heap by the times at which they are due. What is due sooner since is in it twice."""
        self.workers: set[Worker] = set()
        self.starting = False
        self.crashes = 0
        self.given = self.done = 0
        """Jobs since the pool was last idle."""
        self.since = self.busy = 0.0
        """When it was last idle before these, and when it last had something to do."""
        self.shown = False
        self.broken = ""
        """Why no worker is started any more."""
        self.closed = False
        """Whether the process ends."""

    def submit(self, job: Job) -> None:
        with self.changed:
            job.pool = self
            if not self.given:
                self.since = time.monotonic()
            self.given += 1
            if self.broken:
                job.error = self.broken
                self._finish(job)
                return
            self._push(job)
            self.hire()
            self.changed.notify_all()

    def hurry(self, jobs: Iterable[Job], due: float = SOON) -> None:
        """Have these jobs done sooner, if they are due later: `SOON` by workers of usual priority."""
        with self.changed:
            for job in jobs:
                if due < job.due and not job.over:
                    job.due = due
                    self._push(job)
            self.changed.notify_all()

    def _push(self, job: Job) -> None:
        if job.due == SOON:
            heapq.heappush(self.waiting, job)
        else:
            heapq.heappush(self.later, (job.due, job))

    def hire(self) -> None:
        """Start the workers, for jobs to come, unless there are some."""
        with self.changed:
            if not (self.workers or self.starting or self.broken):
                self.starting = True
                try:
                    _begin(self._start)
                except RuntimeError as error:  # no more threads
                    self._break(str(error))

    def wait(self, jobs: Any = None) -> None:
        """Wait until these jobs are over, or all."""
        with self.changed:
            self.hurry([job for _, job in self.later] if jobs is None else jobs)
            while self.done < self.given if jobs is None else not all(job.over for job in jobs):
                self.changed.wait()

    def close(self) -> None:
        """End the workers."""
        self._refuse()
        for worker in [*self.workers]:
            worker.end()

    def abandon(self) -> None:
        """As `close`, at the end of the process, which does not wait for them."""
        self._refuse()
        for worker in [*self.workers]:  # threads go on with connections, which end with the process
            worker.leader.process.kill()
            worker.leader.process.returncode = 0

    def _refuse(self) -> None:
        self.closed = True
        self.broken = "the process ends"

    def forget(self) -> None:
        """In a child of a fork: nothing of this is the child's."""
        for worker in self.workers:
            worker.connection.close()
            worker.leader.process.returncode = 0
        self.workers.clear()

    # in the threads -------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        try:
            with unforked:  # a child of a fork could neither go on with imports of this thread nor close the ends of its pipes
                workers = [*Leader(self.most, max(1, self.most // 2)).workers]
                with self.changed:
                    self.workers, self.starting, self.busy = {*workers}, False, time.monotonic()
        except (OSError, ValueError) as error:
            self._break(f"no process can be started to compile: {error}")
            return
        for worker in workers[1:]:
            try:
                _begin(self._serve, worker)
            except RuntimeError:  # no more threads
                self.workers.discard(worker)
                worker.end()
        self._serve(workers[0])

    def _serve(self, worker: Worker) -> None:
        failed = False
        while not failed and (job := self._next(worker)) is not None:
            told: list[str] = []
            try:
                told, error = worker.do(job, self._show)
            except (OSError, ValueError, EOFError) as problem:
                failed, error = True, _failure(problem)
            with self.changed:
                if not job.over:
                    job.told, job.error = told, error
                    self._finish(job)
                if failed:
                    self.workers.discard(worker)
                    self.crashes += 1
                    if self.crashes >= CRASHES:
                        self._break(error)
                    elif self.waiting or self.later:
                        self.hire()
        worker.end()

    def _next(self, worker: Worker) -> Job | None:
        """The next job; None when there has been none for a while, and the worker has left the pool, as all do then."""
        with self.changed:
            while (job := self._taken(worker.patient)) is None:
                left = None if self.given else self.busy + IDLE - time.monotonic()
                if self.broken or (left is not None and left <= 0):
                    self.workers.discard(worker)
                    return None
                self.changed.wait(left)
            return job

    def _taken(self, patient: bool) -> Job | None:
        """The first job for a worker, out of its queue."""
        while self.later if patient else self.waiting:
            job = heapq.heappop(self.later)[1] if patient else heapq.heappop(self.waiting)
            if not (job.over or (patient and (job.begun or job.due == SOON))):
                job.begun = patient
                return job
        return None

    def _finish(self, job: Job) -> None:
        job.over = True
        self.done += 1
        self.busy = time.monotonic()
        if self.done == self.given:
            if self.shown:
                self.shown = False
                _show("")
            self.given = self.done = 0
        self.changed.notify_all()

    def _break(self, why: str) -> None:
        with self.changed:
            self.broken, self.starting = why, False
            for job in {*self.waiting, *[job for _, job in self.later]}:
                if not job.over:
                    job.error = why
                    self._finish(job)
            self.waiting.clear()
            self.later.clear()
            self.changed.notify_all()

    def _show(self) -> None:
        """Show the progress on a terminal."""
        with self.changed:
            if self.given and time.monotonic() - self.since > PATIENCE:
                self.shown = _show(f"staticgrad compiles: {self.done} of {self.given} kernels")


def _begin(work: Callable[..., None], *operands: Any) -> None:
    """Start a thread of the pool. Raises RuntimeError."""
    threading.Thread(target=work, args=operands, name="staticgrad compiles", daemon=True).start()


def _failure(error: Exception) -> str:
    """What happened to a worker, in words, after an error of `do`."""
    if isinstance(error, TimeoutError):
        return f"a worker that compiles gave no answer in {LIMIT:g} s"
    if isinstance(error, ValueError):
        return "a worker that compiles is not understood"
    return f"a worker that compiles ended{error if isinstance(error, EOFError) else ''}"


def _show(text: str) -> bool:
    """Write a line over the last one of a terminal. Returns whether there is a terminal."""
    try:
        terminal = sys.stderr is not None and sys.stderr.isatty()
        if terminal:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
    except (OSError, ValueError):
        return False
    return terminal


def _without_numba() -> dict[str, str]:
    """The environment without settings of Numba's, which are for the functions of the user."""
    return {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}


def _environment() -> dict[str, str | None]:
    found = {name: os.environ.get(name) for name in ENVIRONMENT}
    place = found["STATICGRAD_CACHE_DIR"]
    return {**found, "STATICGRAD_CACHE_DIR": os.path.abspath(place) if place else place}


# the pool of this process -------------------------------------------------------------------------------------------

_pool: Pool | None = None


def pool() -> Pool:
    """The pool of this process."""
    global _pool
    if _pool is None:
        cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        _pool = Pool(min(cpus, MOST))
        atexit.register(_pool.abandon)
    return _pool


def _child() -> None:
    global _pool
    if _pool is not None:
        _pool.forget()
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_child)
