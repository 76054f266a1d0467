"""Results that don't depend on an operand's values have a gradient of 0 for it, in all modes."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg

PROGRAMS = {
    "fill": lambda x: sg.fill(x, 2.0),
    "matrix_power": lambda x: sg.matrix_power(x, 0),
}
EXPECTED = {"fill": np.full((2, 2), 2.0), "matrix_power": np.eye(2)}
VALUES = np.array([[1.0, np.nan], [np.inf, 2.0]])


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["eager", "compiled", "Session"])
def test_the_gradient_is_zero(name, dtype, mode):
    def step(x):
        y = PROGRAMS[name](x)
        (slope,) = sg.gradients(y.sum(), [x]) if mode == "Session" else sg.grad(y.sum(), [x])
        return y, slope

    values = VALUES.astype(dtype)
    if mode == "Session":
        with sg.Graph().as_default():
            x = sg.placeholder(dtype, [2, 2])
            y, slope = sg.Session().run(step(x), {x: values})
    else:
        found = (sg.compile(step) if mode == "compiled" else step)(sg.tensor(values, requires_grad=True))
        y, slope = (t.detach().numpy() for t in found)
    assert y.dtype == slope.dtype == dtype
    np.testing.assert_array_equal(y, EXPECTED[name])
    np.testing.assert_array_equal(slope, np.zeros((2, 2)))


def test_a_number_has_one_row_of_powers():
    assert sg.linalg.vander(sg.tensor(3.0), N=3).tolist() == [[1.0, 3.0, 9.0]]
