"""The cases: their arrays, and that our three modes compute the same."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from benchmarks import cases  # noqa: F401  (registers them)
from benchmarks.registry import BACKENDS, CASES, IMPLEMENTATIONS, Case, entries_of
from benchmarks.results import disagreement, reference
from benchmarks.worker import aligned, figures_of
from staticgrad.compat import tf1
from tests.helpers import sweep

SMALL = [case for case in CASES.values() if not case.large]
NAMES = [case.name for case in SMALL]
STEPS = {"unseen-springs": 3}
"""Steps before the results are compared, elsewhere 2. The springs' second loss is a difference of numbers that are equal but
for rounding."""
SHORTER = {"chain": {"w": 10, "b": 10}}
"""How much of arrays is enough to test with, where cases take long to compile."""
SAMPLE = ("unseen-inducing", "unseen-policy", "unseen-clusters", "unseen-springs", "unseen-graphs", "unseen-trees")
"""Of the programs that nothing was tuned for, those that are always run; the others are a sweep."""


def modes_of(case: Case) -> set[str]:
    if case.name.startswith("tf1-"):
        return {"tf1"}
    return {"compiled", "eager"} if case.unseen else {"compiled", "session", "eager"}


@pytest.mark.parametrize("case", SMALL, ids=NAMES)
def test_arrays_are_well_formed_and_always_the_same(case: Case) -> None:
    data, again = case.arrays(), case.arrays()
    assert data.keys() == again.keys()
    for name, array in data.items():
        assert array.dtype in (np.float32, np.float64, np.int32), name
        assert array.flags.c_contiguous, name
        assert np.isfinite(array).all(), name
        np.testing.assert_array_equal(array, again[name])
    assert len({array.dtype for array in data.values() if array.dtype.kind == "f"}) == 1


@pytest.mark.parametrize("case", sweep(SMALL, lambda _, case: not case.unseen or case.name in SAMPLE), ids=NAMES)
def test_our_modes_agree(case: Case) -> None:
    """And so does NumPy by hand, where it is there."""
    enough = SHORTER.get(case.name, {})
    data = {name: aligned(array[: enough.get(name)] if array.ndim else array) for name, array in case.arrays().items()}
    computed = {}
    for entry in entries_of(case, [b.name for b in BACKENDS.values() if b.ours or b.floor]):
        if entry.backend == "tf1":
            tf1.reset_default_graph()  # it holds what the tests before left there
        job = IMPLEMENTATIONS[case.name, entry.backend].function(data, entry.backend, entry.variant)
        result = [job.step() for _ in range(STEPS.get(case.name, 2))][-1]
        computed[entry] = figures_of(result, job.state(), data)
    assert modes_of(case) <= {entry.backend for entry in computed}
    wanted = reference(computed.values())
    assert wanted
    assert all(np.isfinite(value) and value != 0 for value in wanted.values())
    for entry, values in computed.items():
        assert values.keys() <= wanted.keys(), entry
        assert disagreement(case, values, wanted) is None, entry


def test_each_case_has_our_modes_and_peers() -> None:
    for case in CASES.values():
        backends = {backend for name, backend in IMPLEMENTATIONS if name == case.name}
        peers = {"tensorflow"} if case.name.startswith("tf1-") else {"jax", "torch", "torch.compile"}
        assert backends >= modes_of(case) | peers, case.name
        assert backends <= BACKENDS.keys()


def test_large_cases_run_under_both_settings_of_malloc() -> None:
    assert {entry.malloc for entry in entries_of(CASES["gradient-1e7"], ["compiled"])} == {"", "keeps"}
    assert {entry.malloc for entry in entries_of(CASES["gradient-1e4"], ["compiled"])} == {""}


def test_figures_are_numbers_norms_and_distances() -> None:
    data = {"w": np.array([1.0, 2.0])}
    figures = figures_of((2.5, np.array([3.0, 4.0])), {"w": np.array([1.0, 5.0]), "g": np.array([[6.0], [8.0]])}, data)
    assert figures == {"result 0": 2.5, "result 1": 5.0, "w": 3.0, "g": 10.0}


def test_aligned_copies_begin_at_cache_lines() -> None:
    array = np.arange(33, dtype=np.float32).reshape(3, 11)[:, ::2]
    copy = aligned(array)
    assert copy.ctypes.data % 64 == 0
    assert copy.flags.c_contiguous
    np.testing.assert_array_equal(copy, array)
