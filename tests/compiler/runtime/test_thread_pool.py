"""The pool of threads: chunks are all run, once, by whoever is there, and threads come and go cleanly."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler.backend.abi import (
    ALONE,
    ASLEEP,
    CALLS,
    CPU_SET_BYTES,
    HOME,
    INTERVAL,
    LARGE,
    OFTEN,
    OWNER,
    PLACE_BYTES,
    PLACES,
    REST,
    SELDOM,
    SHUN,
    STARTED,
    STREAK,
    TIMES,
    TOGETHER,
    TRIAL,
    WAY,
    WAYS,
)
from staticgrad.compiler.execute.plan import Plan
from staticgrad.compiler.lower import instructions
from staticgrad.compiler.runtime import loader
from staticgrad.operators import F
from tests.compiler.helpers import Bench, on_host

ROOT = Path(__file__).parents[3]


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.PARALLEL_WORK", 0)
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.get_num_threads", lambda: 3)


def word(place: int) -> int:
    return int(loader._words[place // 8])


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
    wait_until_workers_sleep()
    assert (plan.run(b.arrays, {})[0] == first).all()


def cpus(place: int) -> set[int]:
    words = loader._words[place // 8 : (place + CPU_SET_BYTES) // 8]
    return {64 * i + bit for i, found in enumerate(words.tolist()) for bit in range(64) if found >> bit & 1}


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs Linux")
def test_workers_wake_up_on_another_cpu_than_the_one_that_wakes_them(threads: None):
    b, plan, first = example()
    wait_until_workers_sleep()
    mine = os.sched_getaffinity(0)
    run_with_workers(b, plan, first)
    assert word(STARTED) >= 2
    for n in range(2):
        place = PLACES + PLACE_BYTES * n
        every, others = cpus(place + 64), cpus(place + 64 + CPU_SET_BYTES)
        assert every == mine
        assert others < every
        assert len(others) == len(every) - 1
        eventually(lambda place=place: word(place + 16) == 0)
    eventually(lambda: all(os.sched_getaffinity(int(task.name)) == mine for task in Path("/proc/self/task").iterdir()))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs Linux and two CPUs")
def test_cpus_that_somebody_else_gives_a_worker_stay(threads: None):
    """As when `taskset -ap` limits the process after a worker was kept off a CPU, and before it runs."""
    b, plan, first = example()
    wait_until_workers_sleep()
    mine = sorted(os.sched_getaffinity(0))
    others = workers()
    keep_off_the_first(mine)
    try:
        for task in others:
            os.sched_setaffinity(task, mine[:1])
        run_with_workers(b, plan, first)
        eventually(lambda: all(word(PLACES + PLACE_BYTES * n + 16) == 0 for n in range(2)))
        assert all(os.sched_getaffinity(task) == {mine[0]} for task in others)
    finally:
        for task in others:
            os.sched_setaffinity(task, mine)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs Linux and two CPUs")
def test_one_thread_at_a_time_changes_the_cpus_of_a_worker(threads: None):
    """While another thread is at its place, the waker passes over it, and the worker that wakes up waits."""
    b, plan, first = example()
    wait_until_workers_sleep()
    mine = sorted(os.sched_getaffinity(0))
    others = workers()
    keep_off_the_first(mine)
    places = [PLACES + PLACE_BYTES * n for n in range(2)]
    try:
        for place in places:
            loader._words[(place + 24) // 8] = 1
        for task in others:
            os.sched_setaffinity(task, mine[1:])
        run_with_workers(b, plan, first)
        eventually(lambda: all(word(place + 8) == 0 for place in places))
        time.sleep(0.02)
        assert all(word(place + 16) == mine[0] + 1 for place in places)
        assert all(os.sched_getaffinity(task) == {*mine[1:]} for task in others)
        for place in places:
            loader._words[(place + 24) // 8] = 0
        eventually(lambda: sum(os.sched_getaffinity(task) == {*mine} for task in others) >= 2)
        eventually(lambda: all(word(place + 16) == 0 for place in places))
    finally:
        for place in places:
            loader._words[(place + 24) // 8] = 0
        for task in others:
            os.sched_setaffinity(task, mine)


def workers() -> list[int]:
    """The threads beside the calling one."""
    return [int(task.name) for task in Path("/proc/self/task").iterdir() if int(task.name) != threading.get_native_id()]


def keep_off_the_first(mine: list[int]) -> None:
    """Write into the places of two workers that they are kept off the first CPU."""
    for n in range(2):
        start = (PLACES + PLACE_BYTES * n) // 8
        loader._words[start + 2] = mine[0] + 1
        for place, allowed in ((start + 8, mine), (start + 8 + CPU_SET_BYTES // 8, mine[1:])):
            loader._words[place : place + CPU_SET_BYTES // 8] = 0
            for cpu in allowed:
                loader._words[place + cpu // 64] |= np.uint64(1 << cpu % 64).astype(np.int64)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_workers_of_a_process_with_one_cpu():
    program = """
import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
import staticgrad as sg
sg.set_num_threads(2)
step = sg.compile(lambda x: sg.exp(x).sum(0), wait=True)
x = np.ones((2000, 400), np.float32)
for _ in range(20):
    assert abs(step(x).numpy() / (2000 * np.e) - 1).max() < 1e-5
    time.sleep(0.01)
print("done")
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def eventually(true: Callable[[], bool], times: int = 1) -> None:
    """Wait until it holds `times` times in a row, 10 ms apart."""
    deadline, held = time.monotonic() + 30, 0
    while held < times:
        assert time.monotonic() < deadline
        held = held + 1 if true() else 0
        if held < times:
            time.sleep(0.01)


def wait_until_workers_sleep() -> None:
    """A worker that was woken counts among those asleep until it runs, so their number has to last."""
    eventually(lambda: word(ASLEEP) >= 2, times=10)


def run_with_workers(b: Bench, plan: Plan, first: np.ndarray) -> None:
    """A run that wakes the workers, also where one alone took less time or workers were preempted."""
    plan.status[[WAY // 8, STREAK // 8]] = 0
    loader._words[SHUN // 8] = 0
    assert (plan.run(b.arrays, {})[0] == first).all()


YIELDS: list[int] = []
"""The threads that called `yielded`."""


@ctypes.CFUNCTYPE(ctypes.c_int)
def yielded() -> int:
    YIELDS.append(threading.get_native_id())
    return 0


def test_workers_let_other_processes_run_between_chunks(threads: None):
    """They call `sched_yield`, though not before each chunk."""
    b, plan, first = example()
    place = CALLS // 8 + 4
    kept, runs, deadline = loader._words[place], 0, time.monotonic() + 10
    loader._words[place] = ctypes.cast(yielded, ctypes.c_void_p).value
    try:
        while runs < 100 or not ({*YIELDS} - {threading.get_native_id()} or time.monotonic() > deadline):
            assert (plan.run(b.arrays, {})[0] == first).all()
            runs += 1
    finally:
        loader._words[place] = kept
    assert {*YIELDS} - {threading.get_native_id()}
    assert len(YIELDS) < runs


@pytest.fixture
def shunned() -> Iterator[None]:
    loader._words[SHUN // 8] = 2**62
    yield
    loader._words[SHUN // 8] = 0


def test_values_do_not_depend_on_who_runs_the_chunks(threads: None, shunned: None):
    b, plan, alone = example()
    loader._words[SHUN // 8] = 0
    assert (plan.run(b.arrays, {})[0] == alone).all()


LONG = 10**12
"""Nanoseconds."""


def ready(plan: Plan, way: int, *times: int, rest: int = OFTEN) -> None:
    """As after many runs in this way, the best that was known so far."""
    plan.status[[WAY // 8, HOME // 8]] = way
    plan.status[STREAK // 8] = TRIAL
    plan.status[TIMES // 8 : TIMES // 8 + len(times)] = times
    plan.status[REST // 8] = rest


def test_a_plan_goes_the_way_that_took_less(threads: None):
    """Alone where that was faster, together where that was."""
    b, plan, first = example()

    def run(way: int, together: int, alone: int) -> int:
        ready(plan, way, together, alone)
        assert (plan.run(b.arrays, {})[0] == first).all()
        return int(plan.status[WAY // 8])

    assert plan.status[WAYS // 8] == 2
    assert run(TOGETHER, LONG, LONG // 2) == ALONE
    assert run(ALONE, LONG // 2, LONG) == TOGETHER
    assert run(TOGETHER, LONG, LONG // 2) == ALONE
    plan.run(b.arrays, {})  # the second run of a kind is measured
    assert 0 < plan.status[TIMES // 8 + ALONE] < 10**11


def test_all_ways_are_tried_at_first(threads: None):
    b, plan, _ = example()
    ways = set()
    for _ in range(12):
        plan.run(b.arrays, {})
        ways.add(int(plan.status[WAY // 8]))
    assert ways == {TOGETHER, ALONE}
    assert (plan.status[[TIMES // 8, TIMES // 8 + 1]] > 0).all()


def test_another_way_is_tried_from_time_to_time_and_less_often_where_it_is_no_better(threads: None):
    b, plan, _ = example()
    ready(plan, ALONE, 2, 1, rest=2)  # no run takes a nanosecond, so that the time of each way is as measured from here on
    plan.status[TIMES // 8 + ALONE] = 0
    plan.run(b.arrays, {})
    assert (plan.status[WAY // 8], plan.status[REST // 8]) == (ALONE, 1)
    plan.status[TIMES // 8 + ALONE] = 0
    plan.run(b.arrays, {})
    assert (plan.status[WAY // 8], plan.status[STREAK // 8]) == (TOGETHER, 1)
    assert plan.status[INTERVAL // 8] == plan.status[REST // 8] == 2 * OFTEN


@pytest.mark.parametrize(("time", "often"), [(990_000, False), (800_000, True)])
def test_a_way_that_is_hardly_better_does_not_make_trials_more_frequent(threads: None, time: int, often: bool):
    b, plan, _ = example()
    ready(plan, TOGETHER, 10**6 * LONG, time * LONG, rest=SELDOM)
    plan.status[[WAY // 8, INTERVAL // 8]] = ALONE, SELDOM
    plan.run(b.arrays, {})
    assert plan.status[HOME // 8] == ALONE
    assert (plan.status[INTERVAL // 8], plan.status[REST // 8] + 1) == ((OFTEN, OFTEN) if often else (SELDOM, SELDOM))


def test_a_trial_ends_early_where_it_takes_twice_as_long(threads: None):
    b, plan, _ = example()
    ready(plan, TOGETHER, 1, 0)
    plan.status[[WAY // 8, STREAK // 8]] = ALONE, 1
    plan.run(b.arrays, {})
    assert plan.status[STREAK // 8] == TRIAL
    plan.run(b.arrays, {})
    assert plan.status[WAY // 8] == TOGETHER


def test_a_way_that_turns_slower_is_left(threads: None):
    """The average of the way that was best rises, and once it is above that of another one, that is tried."""
    b, plan, _ = example()
    ready(plan, TOGETHER, 1, LONG)
    plan.run(b.arrays, {})
    average = int(plan.status[TIMES // 8])
    assert average > 1
    ready(plan, TOGETHER, average, average - 1)
    plan.run(b.arrays, {})
    assert plan.status[WAY // 8] == ALONE


def test_large_instructions_alone_may_be_shared(threads: None, monkeypatch: pytest.MonkeyPatch):
    """Where some are large and others are not, that is a third way; all have the same results."""
    monkeypatch.setattr(instructions, "LARGE_WORK", 10_000)
    b = Bench()
    plan = b.plan(F.exp(b.feed(64, 64) @ b.feed(64, 64)).sum(0) * b.feed(64))
    assert {i.large for i in plan.instructions if i.chunks > 1} == {True, False}
    first, ways = plan.run(b.arrays, {})[0], set()
    for _ in range(3 * TRIAL + 3):
        assert (plan.run(b.arrays, {})[0] == first).all()
        ways.add(int(plan.status[WAY // 8]))
    assert plan.status[WAYS // 8] == 3
    assert ways == {TOGETHER, ALONE, LARGE}


def test_runs_with_host_calls_are_measured_as_a_whole(threads: None):
    b = Bench()
    plan = b.plan(F.exp(on_host(F.exp(b.feed(500, 40)), 0)))
    for _ in range(3 * TRIAL):
        plan.run(b.arrays, {})
    assert (plan.status[[TIMES // 8, TIMES // 8 + 1]] > 0).all()


def test_loops_are_measured(threads: None):
    step = sg.compile(lambda x: sg.scan(lambda c, _: (sg.exp(-c).cumsum(0), None), x, length=5)[0])
    x = np.ones((300, 40), np.float32)
    for _ in range(3 * TRIAL):
        step(x)
    assert (step.plan.status[[TIMES // 8, TIMES // 8 + 1]] > 0).all()


def test_one_thread_learns_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.get_num_threads", lambda: 1)
    b, plan, _ = example()
    plan.run(b.arrays, {})
    assert not plan.status.any()


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
from staticgrad.compiler.lower import instruction_builder as builder
from staticgrad.operators import F
from tests.compiler.helpers import Bench
builder.PARALLEL_WORK, builder.get_num_threads = 0, lambda: 4
b = Bench()
b.plan(F.exp(b.feed(500, 40))).run(b.arrays, {})
"""


def test_the_interpreter_ends_while_workers_wait():
    done = subprocess.run([sys.executable, "-c", END], cwd=ROOT, timeout=60, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_blas_gets_its_threads_back_when_a_plan_begins_as_another_ends():
    """The number of threads is asked for when nobody holds BLAS, and not while the last holder puts it back."""
    now, asked, leaving, restored = [8], threading.Event(), threading.Event(), threading.Event()

    @ctypes.CFUNCTYPE(ctypes.c_int)
    def get() -> int:
        if leaving.is_set():
            asked.set()
        return now[0]

    @ctypes.CFUNCTYPE(None, ctypes.c_int)
    def put(n: int) -> None:
        if n == 8:
            leaving.set()
            asked.wait(0.3)
        elif asked.is_set():
            restored.wait(10)
        now[0] = n
        if n == 8:
            restored.set()

    addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in (get, put)]
    hold = np.array([0, 0, *addresses, 0], np.int64)
    plans = [threading.Thread(target=loader.step, args=(0, 0, 0, 0, 0, 0, 0, hold.ctypes.data)) for _ in range(2)]
    plans[0].start()
    assert leaving.wait(10)
    plans[1].start()
    for plan in plans:
        plan.join()
    assert now == [8]
    assert hold[0] == 0
