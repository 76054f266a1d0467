"""`utils.benchmark`: what is measured, with a clock of our own."""

from __future__ import annotations

import itertools

import pytest

from staticgrad.utils import benchmark


def clock():
    """Each call of it is a millisecond later."""
    return lambda ticks=itertools.count(): next(ticks) / 1000


def test_times_of_a_statement():
    calls: list[int] = []
    timer = benchmark.Timer(
        "calls.append(n)", "n = 3", timer=clock(), globals={"calls": calls}, label="list", sub_label="append"
    )
    found = timer.timeit(5)
    assert found.number_per_run == 5
    assert found.median == found.mean == pytest.approx(0.0002)
    assert set(calls) == {3}
    assert repr(found).splitlines()[1:] == ["list: append", "  Time: 200.00 us", "  1 measurement, 5 runs per measurement"]


def test_runs_until_they_are_enough():
    executed: list[int] = []
    counted = []
    timer = benchmark.Timer("executed.append(0)", timer=lambda: len(executed) / 1000, globals={"executed": executed})
    found = timer.blocked_autorange(lambda number, taken: counted.append(number), min_run_time=0.01)
    assert sum(found.raw_times) >= 0.01
    assert set(counted) == {found.number_per_run}
    assert found.median == pytest.approx(0.001)
    assert found.iqr == pytest.approx(0)
    assert len(timer.adaptive_autorange().raw_times) >= 3


def test_a_table_of_measurements():
    made = [
        benchmark.Timer(timer=clock(), label="sums", sub_label=row, description=column).timeit(1)
        for row in ("small", "large")
        for column in ("here", "there")
    ]
    lines = str(benchmark.Compare(made)).splitlines()
    assert lines[0].split() == ["sums", "|", "here", "|", "there"]
    assert lines[2].split() == ["small", "(1", "thread)", "|", "1.00", "|", "1.00"]
    assert lines[-1] == "Times are in ms."


def test_counting_instructions_is_refused():
    with pytest.raises(AttributeError, match="perf stat"):
        benchmark.CallgrindStats  # noqa: B018
