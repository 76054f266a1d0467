"""The example of a simulation in Numba: its derivative, its training, and the same numbers in other libraries."""

from __future__ import annotations

import numpy as np
import pytest

from tests.examples.dialect import EXAMPLES, load

PROGRAM = load(EXAMPLES / "numba_simulation.py", "staticgrad")


def losses(name: str, steps: int) -> list[float]:
    train = PROGRAM[name]()
    return [train() for _ in range(steps)]


def test_the_derivative_by_hand_is_right():
    assert PROGRAM["check_gradient"]()


def test_it_trains_natively():
    found = losses("with_staticgrad", 40)
    assert found[-1] < found[0] / 4


@pytest.mark.oracle
@pytest.mark.parametrize(("library", "make"), [("torch", "with_torch"), ("jax", "with_jax")])
def test_other_libraries_give_the_same_losses(library, make):
    pytest.importorskip(library)
    np.testing.assert_allclose(losses("with_staticgrad", 5), losses(make, 5), rtol=1e-9)
