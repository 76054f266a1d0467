"""Composite functions whose numbers vary from call to call: one plan for all values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager.calls.open_calls import VALUES, CallFamily
from staticgrad.eager.grad_mode import modes
from staticgrad.nn import functional as F
from tests.helpers import known, sweep, taken

Function = Callable[[Any, Any, float], Any]
VARYING: dict[str, Function] = {
    "smooth_l1_loss": lambda x, y, v: F.smooth_l1_loss(x, y, beta=v),
    "huber_loss": lambda x, y, v: F.huber_loss(x, y, delta=v),
    "leaky_relu": lambda x, y, v: F.leaky_relu(x, v),
    "elu": lambda x, y, v: F.elu(x, v),
    "celu": lambda x, y, v: F.celu(x, v),
    "softplus": lambda x, y, v: F.softplus(x, v),
    "hardtanh": lambda x, y, v: F.hardtanh(x, -v, v),
    "hardshrink": lambda x, y, v: F.hardshrink(x, v),
    "softshrink": lambda x, y, v: F.softshrink(x, v),
    "threshold": lambda x, y, v: F.threshold(x, v, 2 * v),
    "layer_norm": lambda x, y, v: F.layer_norm(x, (5,), eps=v),
    "group_norm": lambda x, y, v: F.group_norm(x, 1, eps=v),
    "rms_norm": lambda x, y, v: F.rms_norm(x, (5,), eps=v),
    "normalize": lambda x, y, v: F.normalize(x, 2.0, -1, v),
    "cosine_similarity": lambda x, y, v: F.cosine_similarity(x, y, 1, v),
    "pairwise_distance": lambda x, y, v: F.pairwise_distance(x, y, 2.0, v),
    "norm": lambda x, y, v: sg.norm(x, 2 + v, 1),
    "gaussian_nll_loss": lambda x, y, v: F.gaussian_nll_loss(x, y, y * y + 0.1, eps=v),
    "poisson_nll_loss": lambda x, y, v: F.poisson_nll_loss(x * x + 0.1, y, log_input=False, eps=v),
    "cross_entropy": lambda x, y, v: F.cross_entropy(x, F.softmax(y, -1), label_smoothing=v),
    "margin_ranking_loss": lambda x, y, v: F.margin_ranking_loss(x, y, y.sign(), v),
    "hinge_embedding_loss": lambda x, y, v: F.hinge_embedding_loss(x, y.sign(), v),
    "triplet_margin_loss": lambda x, y, v: F.triplet_margin_loss(x, y, y + 1, v),
    "addcmul": lambda x, y, v: sg.addcmul(x, y, x, value=v),
    "addcdiv": lambda x, y, v: sg.addcdiv(x, y, x * x + 1, value=v),
    "addmm": lambda x, y, v: sg.addmm(x[:, :4], x, x.T, beta=v, alpha=1 - v),
    "lerp": lambda x, y, v: sg.lerp(x, y, v),
}


def plans() -> set[Any]:
    """The calls that have a plan."""
    return {key for key, call in taken().items() if call.plan is not None}


RANGE = np.linspace(0.11, 0.93, 12).tolist()


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    modes.now.calls.clear()
    with sg.eager_kernels(wait=True):
        yield


def results(function: Function, v: Any, dtype: Any, second: bool = True) -> list[np.ndarray]:
    """The value, its gradient, and the gradient of the gradient's squares."""
    rng = np.random.default_rng(3)
    x, y = (sg.tensor(rng.standard_normal((4, 5)).astype(dtype), requires_grad=True) for _ in range(2))
    sg.manual_seed(3)
    out = function(x, y, v)
    found = sg.autograd.grad((out * out).sum() if second else out.sum(), [x, y], create_graph=second, allow_unused=True)
    found = [g for g in found if g is not None]
    more = []
    if second:
        total = sum([(g * g).sum() for g in found])
        more = [g for g in sg.autograd.grad(total, [x, y], allow_unused=True) if g is not None]
    return [out.numpy(force=True), *[g.numpy(force=True) for g in (*found, *more)]]


def by_numpy(*args: Any, **named: Any) -> list[np.ndarray]:
    with sg.eager_kernels(False):
        return results(*args, **named)


def check(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        bound = 1e-5 if a.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(a, b, rtol=bound, atol=bound * max(1, np.abs(b).max()))


WAYS = [
    *((name, dtype, False) for dtype in (np.float32, np.float64) for name in VARYING),
    *((name, np.float32, True) for name in VARYING),
    *sweep([(name, np.float64, True) for name in VARYING], lambda i, _: i % 6 == 0),
]
"""A plan's number is one of its operands in either dtype, so kernels of float64 are a sample."""


@pytest.mark.parametrize(("name", "dtype", "kernels"), WAYS)
def test_values_and_gradients(name: str, dtype: Any, kernels: bool) -> None:
    function = VARYING[name]
    with sg.eager_kernels(kernels, wait=True, plans=True):
        modes.now.calls.clear()
        for v in RANGE:
            check(results(function, v, dtype), by_numpy(function, v, dtype))
        before = plans()
        for v in RANGE:
            v += 0.005
            check(results(function, v, dtype), by_numpy(function, v, dtype))
        assert plans() <= before, "a plan per value"
        assert any(kind.varying for kind in known(CallFamily).values())


def test_dropout_draws_the_same_numbers() -> None:
    def function(x: Any, y: Any, v: float) -> Any:
        return F.dropout(x, v)

    for v in RANGE:
        check(results(function, v, np.float32), by_numpy(function, v, np.float32))
    before = plans()
    check(results(function, 0.345, np.float32), by_numpy(function, 0.345, np.float32))
    assert plans() <= before


@pytest.mark.parametrize("v", [0.0, -0.0, 1.0, 1, 2, -3, True, math.inf, -math.inf, math.nan, 1e300, 1e-320])
@pytest.mark.parametrize("name", ["leaky_relu", "elu", "addcmul", "threshold", "lerp", "softplus"])
def test_special_numbers(name: str, v: Any) -> None:
    function = VARYING[name]
    for number in RANGE:
        results(function, number, np.float32, second=False)
    for _ in range(2):
        with np.errstate(all="ignore"):
            found, expected = results(function, v, np.float32, False), by_numpy(function, v, np.float32, False)
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=2e-6)
            assert np.array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))


def test_errors_of_numbers_stay() -> None:
    x = sg.ones(4, 5)
    for v in RANGE:
        F.smooth_l1_loss(x, x, beta=v)
        F.hardtanh(x, -v, v)
        F.celu(x, v)
    with pytest.raises(sg.errors.ArgumentError, match="negative values for beta"):
        F.smooth_l1_loss(x, x, beta=-0.5)
    with pytest.raises(sg.errors.ArgumentError, match="min_val"):
        F.hardtanh(x, 1.0, 0.5)
    with pytest.raises(sg.errors.ArgumentError, match="alpha cannot be 0"):
        F.celu(x, 0.0)
    assert F.smooth_l1_loss(x, x + 0.25, beta=0.0).item() == 0.25


def test_constant_numbers_stay_constants() -> None:
    x = sg.randn(4, 5)
    for _ in range(8):
        for v in RANGE[: VALUES - 1]:
            F.elu(x, v)
    assert not any(kind.varying for kind in known(CallFamily).values())


def test_a_number_whose_value_is_needed_stays_in_the_key() -> None:
    def function(x: Any, y: Any, v: float) -> Any:
        return F.scaled_dot_product_attention(x[None], y[None], y[None], scale=v)

    for v in RANGE:
        check(results(function, v, np.float64), by_numpy(function, v, np.float64))


def test_numbers_of_numpy() -> None:
    for v in np.linspace(0.1, 0.9, 12):
        check(results(VARYING["elu"], v, np.float32), by_numpy(VARYING["elu"], v, np.float32))
    before = plans()
    results(VARYING["elu"], np.float64(0.345), np.float32)
    assert plans() <= before


def test_memory_does_not_grow_with_values() -> None:
    x = sg.randn(4, 5, requires_grad=True)

    def sizes() -> tuple[int, int]:
        return len(taken()), sum(len(found) for kind in known(CallFamily).values() for found in kind.plans.values())

    for v in np.linspace(0.1, 0.9, 40).tolist():
        F.elu(x, v).sum().backward()
    before = sizes()
    for v in np.linspace(0.1, 0.9, 300).tolist():
        F.elu(x, v).sum().backward()
    assert sizes() == before


@pytest.mark.parametrize("function", [lambda x, v: sg.var(x, (v,)), lambda x, v: sg.linalg.vector_norm(x, 2, (v,))])
def test_numbers_of_other_kinds_in_a_tuple_are_other_calls(function):
    x = sg.tensor(np.random.default_rng(0).normal(size=(4, 5)))
    with sg.eager_kernels(wait=True):
        for v in (1, True, 1.0, 1):
            if type(v) is int:
                assert function(x, v).shape == (4,)
            else:
                with pytest.raises(sg.ArgumentError, match="axis must be an integer"):
                    function(x, v)
