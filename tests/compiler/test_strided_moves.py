"""Copies between orders of axes: by tiles where steps are 1 or 2, and element by element at the ends."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg

DTYPES = ("bool", "int8", "int16", "int32", "int64", "float32", "float64")


def copied(function, x: np.ndarray) -> np.ndarray:
    """The result of a plan that copies."""
    step = sg.compile(function, wait=True)
    step(sg.from_numpy(x))
    assert any(i.kind == "copy" for i in step.plan.instructions)
    return step(sg.from_numpy(x)).numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 9), (8, 8), (16, 16), (24, 8), (40, 33), (70, 131)])
def test_every_few_columns_as_rows(rows: int, columns: int, step: int, dtype: str):
    """The last element of a row is the last one of the array: nothing behind it is read."""
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((rows, (columns - 1) * step + 1)) * 50).astype(dtype)
    turn = sg.compile(lambda t: t[:, ::step].mT.contiguous(), wait=True)
    for _ in range(2):
        np.testing.assert_array_equal(turn(sg.from_numpy(x)).numpy(), x[:, ::step].T)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(24, 24, 16, 8), (3, 5, 7, 9), (17, 16, 9, 2), (8, 8, 1, 16)])
def test_parts_of_complex_numbers_as_matrices(shape: tuple[int, ...], dtype: str):
    """Products read them in another order of axes."""
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    one = sg.from_numpy(np.eye(shape[1], dtype=x.real.dtype))
    for part in ("real", "imag"):
        found = copied(lambda t, part=part: getattr(t, part).permute(2, 3, 0, 1) @ one, x)
        np.testing.assert_array_equal(found, getattr(x, part).transpose(2, 3, 0, 1))
