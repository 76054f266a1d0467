"""The pool of workers that compile: the order of jobs, who does them, and the line on a terminal."""

from __future__ import annotations

import io
import threading
import time
from types import SimpleNamespace

import pytest

from staticgrad.compiler.backend import compile_pool
from staticgrad.compiler.backend.compile_pool import Job, Pool
from staticgrad.compiler.backend.kernel_cache import SOON


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Instant:
    """A worker that has done what it is asked for. hold: what a patient one waits for first."""

    def __init__(self, patient: bool = False):
        self.patient, self.done, self.begun = patient, [], []
        self.hold = threading.Event()

    def do(self, job: Job, tick) -> tuple[list[str], str]:
        tick()
        self.begun.append(job.text)
        if self.patient:
            self.hold.wait(10)
        self.done.append(job.text)
        return [], ""

    def end(self) -> None:
        pass


def pool_of(monkeypatch: pytest.MonkeyPatch, *workers: Instant) -> Pool:
    monkeypatch.setattr(compile_pool, "Leader", lambda count, patient: SimpleNamespace(workers=workers))
    monkeypatch.setattr(compile_pool, "IDLE", 0.0)
    pool = Pool(1)
    pool.starting = True  # nobody is hired until `begin`
    return pool


def begin(pool: Pool) -> None:
    pool.starting = False
    pool.hire()


def until(condition) -> None:
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    assert condition()


def test_long_texts_come_first(monkeypatch: pytest.MonkeyPatch):
    worker = Instant()
    pool = pool_of(monkeypatch, worker)
    jobs = [Job(text) for text in ("xx", "x" * 50, "\nfrom a import *", "xxx")]
    for job in jobs:
        pool.submit(job)
    begin(pool)
    pool.wait(jobs)
    assert [job.error for job in jobs] == [""] * 4
    assert [len(text) for text in worker.done] == [16, 50, 3, 2]
    assert pool.given == pool.done == 0
    until(lambda: not pool.workers)


def test_what_nobody_waits_for_is_left_to_patient_workers_which_do_first_what_is_due_first(monkeypatch: pytest.MonkeyPatch):
    usual, patient = Instant(), Instant(patient=True)
    patient.hold.set()
    pool = pool_of(monkeypatch, usual, patient)
    jobs = [Job(text, due) for text, due in (("a", 3.0), ("ccc", 1.0), ("now", SOON), ("bb", 2.0), ("d", 9.0))]
    for job in jobs:
        pool.submit(job)
    pool.hurry(jobs[-1:], 2.5)
    begin(pool)
    until(lambda: all(job.over for job in jobs))
    assert (usual.done, patient.done) == (["now"], ["ccc", "bb", "d", "a"])


def test_who_comes_to_wait_does_not_wait_for_patient_workers(monkeypatch: pytest.MonkeyPatch):
    """The job that one has begun is given to another worker, too, and is over once."""
    usual, patient = Instant(), Instant(patient=True)
    pool = pool_of(monkeypatch, usual, patient)
    jobs = [Job(text, due) for due, text in enumerate(("begun", "waits", "stays"), 1)]
    for job in jobs:
        pool.submit(job)
    begin(pool)
    until(lambda: patient.begun)
    pool.wait(jobs[:2])
    assert sorted(usual.done) == ["begun", "waits"]
    assert [job.over for job in jobs] == [True, True, False]
    patient.hold.set()
    pool.wait()
    until(lambda: patient.done == ["begun", "stays"] or usual.done[2:] == ["stays"])
    assert (pool.given, pool.done) == (0, 0)


def test_the_end_of_the_process_waits_for_no_worker(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compile_pool, "START", "import time; time.sleep(1000)")
    pool = Pool(1)
    pool.submit(Job("x"))
    until(lambda: pool.workers)
    processes = {worker.leader.process for worker in pool.workers}
    begun = time.perf_counter()
    pool.abandon()
    took = time.perf_counter() - begun
    for process in processes:
        process.returncode = None
        assert process.wait(10) == -9
    assert took < 0.05


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
    def failing(count: int, patient: int) -> None:
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
    for name, seconds in (("LIMIT", 0.1), ("TICK", 0.05), ("IDLE", 0.0)):
        monkeypatch.setattr(compile_pool, name, seconds)
    pool, job = Pool(1), Job("x")
    pool.submit(job)
    pool.wait([job])
    assert job.error == "a worker that compiles gave no answer in 0.1 s"
    until(lambda: not pool.workers)
