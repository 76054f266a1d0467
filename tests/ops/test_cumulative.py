"""Running products and extrema where they are special: zeros, NaN, equal elements, axes of any extent; native in plans."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import staticgrad as sg
from tests.helpers import rng_of
from tests.ops import modes

ZEROS = [[1.0, 2.0, 0.0, 3.0, 4.0], [0.0, 2.0, 0.0, 3.0], [0.0, 0.0], [2.0], [], [0.0, -1.5, 2.0]]


def product_without(x: np.ndarray, last: int, *left: int) -> float:
    """The product of the elements up to `last`, without those at `left`."""
    return float(np.prod([v for k, v in enumerate(x[: last + 1]) if k not in left]))


@pytest.mark.parametrize("values", ZEROS, ids=str)
def test_derivatives_of_running_products_at_zeros(values):
    x = np.array(values)
    n = len(x)
    weights = np.arange(1.0, n + 1)
    first = np.array([sum(weights[j] * product_without(x, j, i) for j in range(i, n)) for i in range(n)])
    second = np.zeros((n, n))
    for i, k in itertools.permutations(range(n), 2):
        second[i, k] = sum(weights[j] * product_without(x, j, i, k) for j in range(max(i, k), n))

    def both(t):
        (slope,) = sg.grad((sg.cumprod(t, 0) * sg.tensor(weights)).sum(), [t], create_graph=True)
        return slope, sg.grad((slope * sg.tensor(weights)).sum(), [t])[0]

    for run in (both, sg.compile(both)):
        slope, curvature = run(sg.tensor(x, requires_grad=True))
        np.testing.assert_allclose(slope.detach().numpy(), first)
        np.testing.assert_allclose(curvature.detach().numpy(), weights @ second)
    (whole,) = sg.grad(sg.prod(t := sg.tensor(x, requires_grad=True)), [t])
    np.testing.assert_allclose(whole.numpy(), [product_without(x, n - 1, i) for i in range(n)])


def test_a_gradient_has_as_many_nodes_for_any_extent():
    def nodes(n: int) -> int:
        fn = sg.compile(lambda x: sg.grad(sg.cumprod(x, 0).sum(), [x])[0])
        fn(sg.ones(n, requires_grad=True))
        assert fn.plan.host_calls == 0
        return len(fn.plan.graph)

    assert nodes(4) == nodes(400)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(7,), (1,), (0,), (3, 5, 2), (2, 0)], ids=str)
def test_running_extrema(name, dtype, shape):
    x = np.random.default_rng(0).integers(0, 4, shape).astype(dtype)
    if x.size > 4 and dtype.startswith("float"):
        x.reshape(-1)[3] = np.nan
    better = np.greater_equal if name == "cummax" else np.less_equal
    for axis in range(len(shape)):
        expected = np.zeros(shape, np.int64)
        for place in np.ndindex(shape):
            best = 0
            for k in range(place[axis] + 1):
                new, old = (x[(*place[:axis], i, *place[axis + 1 :])] for i in (k, best))
                if new != new or (old == old and better(new, old)):
                    best = k
            expected[place] = best
        for run in (getattr(sg, name), fn := sg.compile(lambda t, axis=axis: tuple(getattr(t, name)(axis)))):
            values, indices = run(sg.tensor(x), axis) if run is not fn else run(sg.tensor(x))
            np.testing.assert_array_equal(indices.numpy(), expected)
            np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, expected, axis))
        assert fn.plan.host_calls == 0


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(7,), (3, 5, 2), (2, 0), (9, 40)], ids=str)
def test_products_are_reductions_of_kernels(dtype, shape):
    x = np.random.default_rng(0).integers(-1, 3, shape).astype(dtype)
    for dim in (None, *range(len(shape))):
        fn = sg.compile(lambda t, dim=dim: sg.prod(t) if dim is None else sg.prod(t, dim, keepdim=True))
        expected = np.prod(x.astype("int64") if dtype in ("uint8", "bool") else x, dim, keepdims=dim is not None)
        np.testing.assert_array_equal(fn(sg.tensor(x)).numpy(), expected)
        assert fn.plan.host_calls == 0


INFINITE = np.array([
    [-np.inf, -np.inf, 1, 2, -np.inf, 3], [np.inf, 1, 2, 3, 4, 5], [1, 2, np.inf, 3, -np.inf, 0],
    [-800, -np.inf, -900, 5, np.nan, 1], [-np.inf] * 6, [-np.inf, -800, -790, np.inf, np.inf, 1],
])  # fmt: skip
LOGARITHMS = {
    "near": rng_of("logarithms").normal(0, 3, (5, 40)), "far": rng_of("logarithms").normal(0, 300, (3, 5, 40)),
    "infinite": INFINITE, "one": np.ones((4, 1)), "empty": np.ones((3, 0)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", LOGARITHMS)
def test_logarithms_of_running_sums(name, axis, dtype):
    """Plans compute them by a recurrence of numbers above 1, without the host, with eager mode's infinities and gradients."""
    x = LOGARITHMS[name].astype(dtype)

    def program(x):
        y = x.logcumsumexp(axis)
        first = modes.slopes(y * np.cos(np.arange(y.numel())).reshape(tuple(y.shape)).astype(dtype), [x])[0]
        return [y, first, *modes.slopes(first * first, [x])]

    expected = modes.eager(program, [x])
    function = sg.compile(lambda x: tuple(program(x)))
    results = [r.detach().numpy() for r in function(*modes.leaves([x]))]
    assert function.plan.host_calls == 0
    for found, wanted in zip(results, expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-5)


def test_logarithms_of_long_running_sums_are_no_worse_than_numpys():
    x = rng_of("long").normal(0, 1, 50_000).astype(np.float32)
    exact = np.logaddexp.accumulate(x.astype(np.float64))
    found = sg.compile(lambda x: x.logcumsumexp(0))(sg.tensor(x)).numpy()
    assert np.abs(found - exact).max() <= np.abs(np.logaddexp.accumulate(x) - exact).max()
