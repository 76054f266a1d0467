"""The pool of workers that compile: the order of jobs, and the line on a terminal."""

from __future__ import annotations

import io
import time
from types import SimpleNamespace

import pytest

from staticgrad.compiler.backend import compile_pool
from staticgrad.compiler.backend.compile_pool import Job, Pool


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Instant:
    """A worker that has done what it is asked for."""

    done: list[str] = []

    def do(self, job: Job, tick) -> None:
        tick()
        self.done.append(job.text)

    def end(self) -> None:
        pass


def test_long_texts_come_first(monkeypatch: pytest.MonkeyPatch):
    worker = Instant()
    monkeypatch.setattr(compile_pool, "Leader", lambda count: SimpleNamespace(workers=[worker] * count))
    monkeypatch.setattr(compile_pool, "IDLE", 0.0)
    monkeypatch.setattr(Instant, "done", [])
    pool = Pool(1)
    pool.starting = True  # nobody is hired
    jobs = [Job(text) for text in ("xx", "x" * 50, "\nfrom a import *", "xxx")]
    for job in jobs:
        pool.submit(job)
    pool.starting = False
    pool.hire()
    pool.wait(jobs)
    assert [job.error for job in jobs] == [""] * 4
    assert [len(text) for text in Instant.done] == [16, 50, 3, 2]
    assert pool.given == pool.done == 0
    until = time.monotonic() + 10
    while pool.workers and time.monotonic() < until:
        time.sleep(0.01)
    assert not pool.workers


PROGRESS = "\r\x1b[Kstaticgrad compiles: 1 of 2 kernels\r\x1b[K"


@pytest.mark.parametrize(("stream", "shown"), [(Terminal, PROGRESS), (io.StringIO, "")])
def test_the_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], shown: str):
    written = stream()
    monkeypatch.setattr("sys.stderr", written)
    pool = Pool(1)
    pool.starting = True  # nobody is hired
    jobs = [Job(text) for text in "ab"]
    for job in jobs:
        pool.submit(job)
    with pool.changed:
        pool._finish(jobs[0])
    pool._show()  # too soon
    pool.since -= compile_pool.PATIENCE
    pool._show()
    with pool.changed:
        pool._finish(jobs[1])
    assert written.getvalue() == shown


def test_jobs_are_over_where_no_worker_can_be_started(monkeypatch: pytest.MonkeyPatch):
    def failing(count: int) -> None:
        raise OSError("no processes")

    monkeypatch.setattr(compile_pool, "Leader", failing)
    pool = Pool(2)
    jobs = [Job(text) for text in "ab"]
    for job in jobs:
        pool.submit(job)
    pool.wait(jobs)
    assert [job.error for job in jobs] == ["no process can be started to compile: no processes"] * 2


def test_a_worker_that_gives_no_answer_is_ended(monkeypatch: pytest.MonkeyPatch):
    """The job is over without a result, and the process that wants the code compiles it."""
    monkeypatch.setattr(compile_pool, "START", "import time; time.sleep(1000)")
    for name, seconds in (("LIMIT", 0.1), ("TICK", 0.05), ("IDLE", 0.0), ("GRACE", 0.0)):
        monkeypatch.setattr(compile_pool, name, seconds)
    pool, job = Pool(1), Job("x")
    pool.submit(job)
    pool.wait([job])
    assert job.error == "a worker that compiles gave no answer in 0.1 s"
    assert not pool.workers
