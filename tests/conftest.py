"""Fixtures of all tests."""

from __future__ import annotations

import gc
import os
import platform
import random
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("STATICGRAD_EAGER", "wait:1000")  # results don't depend on the time that compilation takes

import numpy as np
import pytest

os.environ.setdefault("STATICGRAD_PLANS", "0")  # plans are made by the compiler as it is, with what a test changes in it
os.environ.setdefault("STATICGRAD_TIERS", "0")  # kernels are compiled in this process, whose tests take turns with others'

import staticgrad as sg
from staticgrad.compiler.backend.cpu import ARM
from staticgrad.eager.grad_mode import modes
from staticgrad.operators import frontends
from staticgrad.tracing import settings
from tests.interpreter import interpret_plans


def pytest_configure(config: pytest.Config) -> None:
    """NumPy's products, with which tests compare, warn on arm64, where OpenBLAS computes with lanes that hold nothing."""
    if platform.machine() in ARM:
        config.addinivalue_line("filterwarnings", "ignore:.* encountered in matmul:RuntimeWarning")


LONG = (
    "test_tensor_parity.py", "test_same_bits.py", "namespaces/functional/test_composites.py", "docs/test_pages.py",
    "faults/test_interrupts.py", "control/test_pairs.py", "tracing/test_container_gradients.py", "compiler/test_plan_store.py",
    "compiler/test_scaling.py", "interchange/numba_ops/test_uses.py", "examples/test_side_by_side.py",
    "examples/test_torch_programs.py", "examples/test_notebooks.py", "tracing/segments/test_tape_calls.py",
    "control/test_draws.py", "test_fuzz_programs.py", "ops/test_blockwise_attention.py", "interchange/numba_ops/test_modes.py",
    "control/test_strict.py", "interchange/numba_ops/test_cache.py", "namespaces/distributions/test_special_points.py",
    "examples/test_dialects.py", "benchmarks/test_warmup.py", "faults/test_memory.py", "compiler/test_counts.py",
)  # fmt: skip
"""Files that take longer than the number of their tests tells."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with long files, then those of many tests, so that no process is left alone with one at the end."""
    files = Counter(item.path for item in items)
    first = {Path(__file__).parent / name for name in LONG}
    items.sort(key=lambda item: (item.path not in first, -files[item.path]))


def pytest_collection_finish() -> None:
    """Have garbage collections traverse what tests make alone: the tests and imported modules stay to the end. Most of what
    a test makes is gone before 10,000 more objects are there, so few are traversed at all."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


@pytest.fixture(params=["staticgrad", pytest.param("torch", marks=pytest.mark.oracle)])
def T(request: pytest.FixtureRequest) -> Any:
    """The library that runs a program in PyTorch's dialect: the same assertions hold for this one and for PyTorch."""
    return sg if request.param == "staticgrad" else request.getfixturevalue("torch")


@pytest.fixture(scope="session")
def torch() -> Any:
    """PyTorch, which judges its names, where it is installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip("torch")
    module.set_num_threads(1)
    return module


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled functions refuse Python that needs values, unless they say otherwise."""
    monkeypatch.setattr(settings, "default_break", "error")


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy runs all plans: for tests of what graphs are made of. It saves the compilation of kernels, which have tests."""
    interpret_plans(monkeypatch)


@pytest.fixture
def few_kernels(request: pytest.FixtureRequest) -> None:
    """NumPy runs the plans of seven tests in eight, and kernels those of the eighth: for tables of cases of what graphs are
    made of. Which they are follows from their names."""
    if zlib.crc32(request.node.nodeid.encode()) % 8:
        request.getfixturevalue("interpreted")


@pytest.fixture(autouse=True, scope="module")
def nothing_is_left() -> None:
    """Each file begins without marked random tensors, for which eager operations take the longer way. Its garbage collections
    don't traverse what others left in caches: a million objects at the end of a run."""
    gc.collect()
    if frontends.tracing:  # random tensors that a cache keeps, or what was frozen while it was in use
        sg.reset_default_graph()
    gc.freeze()


@pytest.fixture(autouse=True)
def seeds(request: pytest.FixtureRequest, nothing_is_left: None) -> None:
    """Random weights and data of a test follow from its name: not from the tests that ran before it in its process."""
    seed = zlib.crc32(request.node.nodeid.encode())
    sg.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


@pytest.fixture
def empty_default_graph() -> None:
    """Random tensors are not marked: eager operations take the short way."""
    sg.reset_default_graph()


@pytest.fixture
def lines_noted() -> None:
    """Records note the user's lines, as a process's first ones do and those after an error of an in-place change."""
    modes.now.note_lines()


@pytest.fixture
def eager_by_numpy() -> Iterator[None]:
    """NumPy computes all eager operations: tests of equal bits compare with these."""
    with sg.eager_kernels(False):
        yield
