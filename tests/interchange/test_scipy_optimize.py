"""`sg.scipy_objective` under `scipy.optimize.minimize`."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

import staticgrad as sg
from staticgrad import nn
from tests.helpers import raised


def rosenbrock(compiled: bool, method: str):
    x = sg.tensor([-1.2, 1.0], dtype=sg.float64, requires_grad=True)
    objective, start = sg.scipy_objective(lambda: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, [x], compiled=compiled)
    result = minimize(objective, start, jac=True, method=method)
    assert result.success
    np.testing.assert_allclose(result.x, [1, 1], atol=1e-4)
    objective(result.x)
    np.testing.assert_array_equal(x.detach().numpy(), result.x)
    return objective


def test_minimizers_find_the_minimum():
    assert rosenbrock(True, "L-BFGS-B").run.traces == 1
    rosenbrock(False, "BFGS")


def test_a_module_and_arguments():
    layer = nn.Linear(2, 1)
    x, y = sg.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), sg.tensor([[1.0], [2.0], [3.0]])
    unused = sg.ones(2, requires_grad=True)
    params = [*layer.parameters(), unused]
    objective, start = sg.scipy_objective(lambda x, y: ((layer(x) - y) ** 2).mean(), params, compiled=False)
    result = minimize(objective, start, args=(x, y), jac=True)
    assert result.fun < 1e-6
    value, slope = objective(result.x, x, y)
    assert (type(value), slope.dtype, slope.shape) == (float, np.float64, (5,))
    np.testing.assert_array_equal(slope[3:], 0)
    with raised(sg.ArgumentError, "scipy_objective: x has shape (2,), the parameters have 5 elements"):
        objective(np.zeros(2))
    with raised(sg.ArgumentError, "scipy_objective: params are tensors that require grad"):
        sg.scipy_objective(lambda: 1, [sg.ones(2)])
