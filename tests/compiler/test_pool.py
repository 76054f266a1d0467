"""The pool of threads: chunks are all run, once, by whoever is there, and threads come and go cleanly."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from staticgrad.compiler import pool
from staticgrad.compiler.plan import Plan
from staticgrad.compiler.table import ASLEEP, OWNER, SHUN
from staticgrad.operators import F
from tests.compiler.helpers import Bench

ROOT = Path(__file__).parents[2]


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("staticgrad.compiler.builder.PARALLEL_WORK", 0)
    monkeypatch.setattr("staticgrad.compiler.builder.get_num_threads", lambda: 3)


def word(place: int) -> int:
    return int(pool._words[place // 8])


def example() -> tuple[Bench, Plan, np.ndarray]:
    b = Bench()
    plan = b.plan(F.sum(F.exp(b.feed(500, 40)), 0))
    return b, plan, plan.run(b.arrays, {})[0]


def test_every_chunk_is_run_once(threads: None):
    b, plan, first = example()
    assert plan.parallel
    for _ in range(2000):
        assert (plan.run(b.arrays, {})[0] == first).all()
    assert word(OWNER) == 0


def test_workers_that_sleep_are_woken_and_not_waited_for(threads: None):
    b, plan, first = example()
    deadline = time.monotonic() + 10
    while word(ASLEEP) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert word(ASLEEP) >= 2
    assert (plan.run(b.arrays, {})[0] == first).all()


@pytest.fixture
def shunned() -> Iterator[None]:
    pool._words[SHUN // 8] = 2**62
    yield
    pool._words[SHUN // 8] = 0


def test_values_do_not_depend_on_who_runs_the_chunks(threads: None, shunned: None):
    b, plan, alone = example()
    pool._words[SHUN // 8] = 0
    assert (plan.run(b.arrays, {})[0] == alone).all()


def test_two_plans_at_once(threads: None):
    """One has the pool, the other runs its chunks by itself."""
    wrong: list[str] = []

    def work() -> None:
        b, plan, first = example()
        for _ in range(500):
            if not (plan.run(b.arrays, {})[0] == first).all():
                wrong.append("other values")

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


END = """
from staticgrad.compiler import builder
from staticgrad.operators import F
from tests.compiler.helpers import Bench
builder.PARALLEL_WORK, builder.get_num_threads = 0, lambda: 4
b = Bench()
b.plan(F.exp(b.feed(500, 40))).run(b.arrays, {})
"""


def test_the_interpreter_ends_while_workers_wait():
    done = subprocess.run([sys.executable, "-c", END], cwd=ROOT, timeout=60, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
