"""`numerics="strict"` through loops and branches: the bits of eager mode, first and second gradients too.

`RANDOM_PROGRAMS=5000 pytest tests/control/test_strict.py` tries so many programs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.control.programs import CASES, Case, derived, drawn, tensors
from tests.control.random_programs import random_case

PROGRAMS = int(os.environ.get("RANDOM_PROGRAMS", "300"))
GROUPS = 10


def identical(found: Sequence[Any], expected: Sequence[Any], what: str) -> None:
    """To the bit. A gradient that eager mode finds to be none is 0 in a graph, whose run decides which branch it takes."""
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        left, right = (None if v is None else np.asarray(v.detach().numpy() if isinstance(v, sg.Tensor) else v) for v in (a, b))
        if left is None or right is None:
            assert left is right or not np.any(right if left is None else left), f"{what}, value {i}"
        else:
            assert left.dtype == right.dtype, f"{what}, value {i}"
            assert left.shape == right.shape, f"{what}, value {i}"
            nan = np.isnan(right)
            assert np.array_equal(np.isnan(left), nan), f"{what}, value {i}"
            assert np.where(nan, 0, left).tobytes() == np.where(nan, 0, right).tobytes(), f"{what}, value {i}: {left - right}"


def strictly_compiled(case: Case, arrays: Sequence[np.ndarray]) -> list[Any]:
    step = sg.compile(lambda *operands: derived(case, operands), numerics="strict")
    step(*tensors(arrays))
    return step(*tensors(arrays))


def in_a_strict_session(case: Case, arrays: Sequence[np.ndarray], *, known: bool = True) -> list[Any]:
    with sg.Graph().as_default():
        inputs = [sg.placeholder(a.dtype, a.shape if known else [None] * a.ndim) for a in arrays]
        fetches = derived(case, inputs)
        with sg.Session(numerics="strict") as session:
            values = iter(
                session.run([f for f in fetches if f is not None], dict(zip(inputs, arrays, strict=True)))
            )
    return [None if f is None else next(values) for f in fetches]


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_programs(group: int):
    """Every second one compiled, the others in a session."""
    for seed in range(group, PROGRAMS, GROUPS):
        case = random_case(seed)
        arrays = drawn(f"program {seed}", case, np.float32 if seed % 3 else np.float64)
        run = strictly_compiled if (seed // GROUPS) % 2 else in_a_strict_session
        identical(run(case, arrays), derived(case, tensors(arrays)), f"program {seed}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_programs(name: str, dtype: Any):
    case = CASES[name]
    arrays = drawn(name, case, dtype)
    expected = derived(case, tensors(arrays))
    identical(strictly_compiled(case, arrays), expected, "compiled")
    identical(in_a_strict_session(case, arrays), expected, "session")
