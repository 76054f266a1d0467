"""Densities where a logarithm is times 0, at ends of supports and at modes: values and gradients are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.ops.modes import MODES, eager, segments, slopes

ROWS: dict[str, tuple[Callable[..., Any], list[Any], Any]] = {
    "Beta": (lambda d, a, b: d.Beta(a, b), [1.0, 1.0], 0.25),
    "Gamma": (lambda d, a, b: d.Gamma(a, b), [1.0, 1.0], 2.0),
    "Chi2": (lambda d, a: d.Chi2(a), [2.0], 2.0),
    "Kumaraswamy": (lambda d, a, b: d.Kumaraswamy(a, b), [1.0, 1.0], 0.25),
    "Dirichlet": (lambda d, a: d.Dirichlet(a), [[1.0, 1.0, 1.0]], [0.2, 0.3, 0.5]),
    "InverseGamma": (lambda d, a, b: d.InverseGamma(a, b), [1.0, 1.0], 2.0),
    "FisherSnedecor": (lambda d, a, b: d.FisherSnedecor(a, b), [2.0, 2.0], 1.0),
    "Weibull": (lambda d, a, b: d.Weibull(a, b), [1.0, 1.0], 2.0),
    "Poisson": (lambda d, a: d.Poisson(a), [1.0], 0.0),
    "Geometric": (lambda d, a: d.Geometric(a), [0.5], 0.0),
    "NegativeBinomial": (lambda d, a, b: d.NegativeBinomial(a, b), [1.0, 0.5], 0.0),
    "Laplace": (lambda d, a, b: d.Laplace(a, b), [0.0, 1.0], 0.0),
    "HalfNormal": (lambda d, a: d.HalfNormal(a), [1.0], 0.0),
    "ContinuousBernoulli": (lambda d, a: d.ContinuousBernoulli(a), [0.5], 0.5),
}
BY_HAND = {"Beta": [1 + np.log(0.25), 1 + np.log(0.75)], "Gamma": [np.log(2) + np.euler_gamma, -1]}
"""Derivatives of the logarithm of a density by its parameters."""

TOLERANCES = {"float32": (2e-5, 1e-6), "float64": (1e-12, 1e-14)}


def density(module: Any, name: str) -> list[Any]:
    make, parameters, value = ROWS[name]
    leaves = [module.tensor(v, dtype=module.float64, requires_grad=True) for v in (*parameters, value)]
    result = make(module.distributions, *leaves[:-1]).log_prob(leaves[-1])
    result.sum().backward()
    return [result.detach().numpy(), *(0 * v.detach().numpy() if v.grad is None else v.grad.numpy() for v in leaves)]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", BY_HAND)
def test_a_parameter_of_1_has_the_derivative_of_the_logarithm(name: str, compiled: bool):
    make, parameters, value = ROWS[name]

    def gradient(*leaves: Any) -> Any:
        return sg.grad(make(sg.distributions, *leaves).log_prob(sg.tensor(value, dtype=sg.float64)), leaves)

    leaves = [sg.tensor(v, dtype=sg.float64, requires_grad=True) for v in parameters]
    found = (sg.compile(gradient) if compiled else gradient)(*leaves)
    np.testing.assert_allclose([g.item() for g in found], BY_HAND[name], rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", [*MODES, "segments"])
def test_every_mode_has_the_values_and_gradients_of_eager_mode(request: pytest.FixtureRequest, mode: str, dtype: str):
    """Those of all rows are one function. NumPy runs the plans of segments: kernels of the operations have other modes."""
    if mode == "segments":
        request.getfixturevalue("interpreted")
    arrays = [np.array(v, dtype) for _, parameters, value in ROWS.values() for v in (*parameters, value)]

    def program(*xs: Any) -> Iterator[Any]:
        pending = list(xs)
        rows = [(make, [pending.pop(0) for _ in (*parameters, value)]) for make, parameters, value in ROWS.values()]
        values = [make(sg.distributions, *of[:-1]).log_prob(of[-1]) for make, of in rows]
        yield from values
        first = [(g, of) for value, (_, of) in zip(values, rows, strict=True) for g in slopes(value, of)]
        yield from (g for g, _ in first)
        for g, of in first:
            yield from slopes(g, of)

    found = {**MODES, "segments": segments}[mode](program, arrays)
    for place, (mine, expected) in enumerate(zip(found, eager(program, arrays), strict=True)):
        np.testing.assert_allclose(mine, expected, *TOLERANCES[dtype], err_msg=f"result {place}")


@pytest.mark.oracle
@pytest.mark.parametrize("name", ROWS)
def test_values_and_gradients_are_pytorchs(name: str):
    torch = pytest.importorskip("torch")
    for mine, theirs in zip(density(sg, name), density(torch, name), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
