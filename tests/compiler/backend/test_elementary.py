"""Elementary functions, as kernels see them: in a loop."""

from __future__ import annotations

import ctypes
import math
import platform
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler.backend import code_generation, cpu, dialect, elementary, kernel_compiler, object_code
from staticgrad.compiler.backend.elementary import trigonometric
from staticgrad.ir import REGISTRY, Pointwise
from staticgrad.operators import F
from tests.ops.elementwise_cases import ELEMENTWISE, Elementwise

DTYPES = [np.float32, np.float64]
WIDE = np.longdouble
INF, NAN = float("inf"), float("nan")

needs_long_double = pytest.mark.skipif(np.finfo(WIDE).nmant < 63, reason="the reference needs an 80-bit long double")
needs_vectors = pytest.mark.skipif(
    cpu.BYTES == 16 and platform.machine() not in cpu.ARM,
    reason="without a vector fma the loops stay scalar",
)


class Native(NamedTuple):
    """A kernel `out[i] = function(x[i], ...)`: its code, and its address."""

    text: str
    address: int

    @property
    def code(self) -> Any:
        """As LLVM optimized it."""
        return code_generation.optimized(self.text)


def compiled(function: Callable, dtype: type, arity: int) -> Native:
    pointer = getattr(dialect, f"f{8 * np.dtype(dtype).itemsize}_at")

    def one(buffers, sizes, start, stop):
        x, out = pointer(buffers, 0), pointer(buffers, 1)
        for i in range(start, stop):
            out[i] = function(x[i])

    def two(buffers, sizes, start, stop):
        x, y, out = pointer(buffers, 0), pointer(buffers, 1), pointer(buffers, 2)
        for i in range(start, stop):
            out[i] = function(x[i], y[i])

    def three(buffers, sizes, start, stop):
        x, y, z, out = pointer(buffers, 0), pointer(buffers, 1), pointer(buffers, 2), pointer(buffers, 3)
        for i in range(start, stop):
            out[i] = function(x[i], y[i], z[i])

    return native((one, two, three)[arity - 1])


def native(function: Callable) -> Native:
    text, name = kernel_compiler.translated([kernel_compiler.kernel(function)]), function.__name__
    return Native(text, object_code.loaded(f"{name}\n".encode() + object_code.compiled(text))[name])


@cache
def kernel_of(name: str, dtype: type) -> Native:
    function = getattr(elementary, f"{name}_f{8 * np.dtype(dtype).itemsize}")
    return compiled(function, dtype, len(function.operands))


def call(kernel: Native, *arrays: np.ndarray) -> np.ndarray:
    out = np.empty_like(arrays[0])
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(kernel.address)
    operands = [*map(np.ascontiguousarray, arrays), out]
    buffers = np.array([a.ctypes.data for a in operands], np.int64)
    entry(buffers.ctypes.data, None, 0, out.size)
    return out


def run(name: str, *arrays: np.ndarray) -> np.ndarray:
    return call(kernel_of(name, arrays[0].dtype.type), *arrays)


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """The distance from `exact` in units of its last place in got's format; overflow is one unit past the largest."""
    limits = np.finfo(got.dtype)
    beyond = np.ldexp(WIDE(1), limits.maxexp)
    got, exact = got.astype(WIDE), exact.astype(WIDE)
    both_nan = np.isnan(got) & np.isnan(exact)
    got, exact = (np.clip(v, -beyond, beyond) for v in (got, exact))
    unit = np.ldexp(WIDE(1), np.maximum(np.frexp(exact)[1] - 1, limits.minexp) - limits.nmant)
    return np.where(both_nan, 0, np.where(np.isnan(got) | np.isnan(exact), np.inf, np.abs(got - exact) / unit))


CASES = [row for row in ELEMENTWISE if row.ranges]


def patterns(rng: np.random.Generator, dtype: type, n: int) -> np.ndarray:
    """Numbers of uniformly drawn bits: every exponent, subnormal numbers, infinities and NaN."""
    bits = 8 * np.dtype(dtype).itemsize
    return rng.integers(0, 2**bits, n, dtype=f"u{bits // 8}").view(dtype)


def stated(name: str, dtype: type) -> float:
    """The largest error of an op's kernels by its record, which `docs/numerics.md` shows. It is rounded there."""
    emit = REGISTRY[name].emit
    assert isinstance(emit, Pointwise)
    error = emit.error[0 if dtype is np.float32 else 1] if emit.error else 0
    assert error <= 1.95, "the budget is 2 ULP"
    return error + 0.01


WORST = {"cosh": [70.3609848022461]}
"""Where the error of float32 is largest, of functions for which all numbers were tried."""


@needs_long_double
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_accuracy(case: Elementwise, dtype: type) -> None:
    """Of the op's kernel, and of the function of the same name that it calls, if there is one."""
    rng = np.random.default_rng(0)

    def drawn() -> np.ndarray:
        uniform = [rng.uniform(*r, 50_000).astype(dtype) for r in case.ranges]
        return np.concatenate([patterns(rng, dtype, 100_000), *uniform, np.array(WORST.get(case.name, []), dtype)])

    operands = [drawn() for _ in range(case.operands)]
    exact = case.reference(*(x.astype(WIDE) for x in operands))
    plan = sg.compile(getattr(F, case.name))
    found = {"op": plan(*map(sg.from_numpy, operands)).numpy()}
    assert [row.name for row in plan.plan.instructions if row.kind == "host"] == []
    if f"{case.name}_f32" in elementary.FUNCTIONS:
        found["function"] = run(case.name, *operands)
    for what, results in found.items():
        error = ulps(results, exact)
        worst = np.argmax(error)
        assert error[worst] <= stated(case.name, dtype), f"{what} at {[x[worst] for x in operands]!r}"


# Of all numbers below 2**45 these leave least when multiples of pi/2 are taken away: 2**-29, 2**-60.
HARDEST = {np.float32: (21999384576.0, 252.89820861816406), np.float64: (45.553093477052, 14461176.67027838)}


@needs_long_double
@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_waves_near_multiples_of_a_quarter_turn(name: str, dtype: type) -> None:
    """Where x cancels against n pi/2, whatever the reduction lost would show."""
    n = np.rint(np.geomspace(1, 2e13, 50_000))
    x = np.concatenate([n * (np.pi / 2), n * (np.pi / 4), HARDEST[dtype]]).astype(dtype)
    assert ulps(run(name, x), getattr(np, name)(x.astype(WIDE))).max() <= 1.0


PLACES = 1400
"""Binary places of the integers that stand for fractions."""


def arctan_of_inverse(n: int, places: int) -> int:
    """arctan(1 / n) by its series."""
    term, total, k = (1 << places) // n, 0, 1
    while term:
        total, term, k = total + term // k * (1 if k % 4 == 1 else -1), term // (n * n), k + 2
    return total


@cache
def pi(places: int) -> int:
    """By Machin's formula."""
    return 4 * (4 * arctan_of_inverse(5, places + 64) - arctan_of_inverse(239, places + 64)) >> 64


def exact_wave(x: float, quarters: int) -> Fraction:
    """sin(x + quarters pi/2) to 290 places, in integers."""
    scaled = int(Fraction(x) * 2**PLACES)
    n = (4 * scaled + pi(PLACES)) // (2 * pi(PLACES))
    r, places = scaled - n * pi(PLACES) // 2 >> PLACES - 300, 300
    odd = (n + quarters) % 2 == 0
    term, total, k = (r if odd else 1 << places), 0, (1 if odd else 0)
    while term not in (0, -1):
        total, term, k = total + term, -((term * r >> places) * r >> places) // ((k + 1) * (k + 2)), k + 2
    return Fraction(total if (n + quarters) % 4 < 2 else -total, 1 << places)


def ulps_of(got: float, exact: Fraction, dtype: type) -> float:
    limits = np.finfo(dtype)
    exponent = max(math.frexp(float(exact))[1] - 1, int(limits.minexp))
    return float(abs(Fraction(got) - exact) / Fraction(2) ** (exponent - limits.nmant))


# Of all finite numbers these are nearest to multiples of pi/2 (Muller, "Elementary Functions", table 11.1).
NEAREST = {np.float32: 16367173 * 2.0**72, np.float64: 6381956970095103 * 2.0**797}


def far(dtype: type) -> np.ndarray:
    """Arguments from 2**44 to the largest number, of both signs."""
    limits = np.finfo(dtype)
    x = np.exp2(np.random.default_rng(0).uniform(44, limits.maxexp - 1e-6, 1500)).astype(dtype)
    bound = dtype(2.0**45)
    powers = np.exp2(np.arange(44.0, limits.maxexp)).astype(dtype)
    edges = np.array([np.nextafter(bound, dtype(0)), bound, np.nextafter(bound, limits.max), limits.max, NEAREST[dtype]], dtype)
    x = np.concatenate([x, powers, edges])
    return np.concatenate([x, -x])


def test_the_bits_of_two_over_pi() -> None:
    assert (2 << PLACES + 1161) // pi(PLACES) == trigonometric.TWO_OVER_PI_BITS


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_waves_far_out(name: str, dtype: type) -> None:
    x = far(dtype)
    exact = [exact_wave(float(v), ("sin", "cos").index(name)) for v in x]
    error = [ulps_of(float(y), v, dtype) for y, v in zip(run(name, x), exact, strict=True)]
    assert max(error) <= 0.9, f"at {x[np.argmax(error)]!r}"


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_waves_of_near_and_far_numbers_side_by_side(name: str, dtype: type) -> None:
    """At every place of vectors of any width, and where a loop ends; the others stay what they were."""
    near = np.random.default_rng(0).uniform(-9, 9, 77).astype(dtype)
    usual = run(name, near)
    for large in (NEAREST[dtype], -(2.0**45), np.finfo(dtype).max, INF, -INF, NAN):
        expected = run(name, np.array([large], dtype))[0]
        assert np.isnan(expected) == (not np.isfinite(large))
        for places in ([0], [5], [16], [31], [75, 76], [*range(40)], [*range(0, 77, 3)]):
            x, y = near.copy(), usual.copy()
            x[places], y[places] = large, expected
            np.testing.assert_array_equal(run(name, x), y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels_have_waves_far_out(dtype: type) -> None:
    """Forward, gradient and second gradient, compiled and in a session; several functions in one kernel."""
    x = far(dtype).reshape(2, -1)

    def eager(x):
        y = sg.sin(x) + sg.cos(x) * 0.5
        (slope,) = sg.grad(y.sum(), [x], create_graph=True)
        return y, slope, sg.grad((slope * slope).sum() * 0.5, [x])[0]

    expected = np.sin(x) + np.cos(x) * dtype(0.5), np.cos(x) - np.sin(x) * dtype(0.5)
    expected = *expected, expected[1] * -(np.sin(x) + np.cos(x) * dtype(0.5))
    with sg.Graph().as_default():
        fed = sg.placeholder(dtype, (2, None))
        y = sg.sin(fed) + sg.cos(fed) * 0.5
        (slope,) = sg.gradients(y, fed)
        (bend,) = sg.gradients(slope * slope * 0.5, fed)
        session = sg.Session().run([y, slope, bend], {fed: x})
    leaf = sg.tensor(x, requires_grad=True)
    for results in (eager(leaf), sg.compile(eager)(leaf), session):
        for result, reference in zip(results, expected, strict=True):
            array = result if isinstance(result, np.ndarray) else result.detach().numpy()
            np.testing.assert_allclose(array, reference, rtol=0, atol=16 * np.finfo(dtype).eps)


def pow_samples(rng: np.random.Generator, dtype: type, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs (x, y); in most, y is chosen for x**y to lie anywhere in the format's range, subnormal numbers included."""
    limits = np.finfo(dtype)
    exponent = rng.uniform(limits.minexp - limits.nmant - 3, limits.maxexp + 2, n)
    positive = np.abs(patterns(rng, dtype, n))
    positive[~(positive > 0) | np.isinf(positive)] = 3
    near_one = (1 + rng.normal(size=n) * 10 ** rng.uniform(-7, -1, n)).astype(dtype)
    near_one[near_one == 1] = 1.5
    moderate = np.exp(rng.uniform(-3, 3, n)).astype(dtype)

    def reaching(x: np.ndarray) -> np.ndarray:
        return (exponent / np.log2(x.astype(np.float64))).astype(dtype)

    return [
        (patterns(rng, dtype, n), patterns(rng, dtype, n)),
        (positive, reaching(positive)),
        (near_one, reaching(near_one)),
        (moderate, reaching(moderate)),
        (-moderate, np.rint(reaching(moderate))),
        (-moderate, rng.integers(-40, 40, n).astype(dtype) / dtype(2)),
        (positive, rng.normal(size=n).astype(dtype)),
    ]


@needs_long_double
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_accuracy_of_pow(dtype: type) -> None:
    pairs = pow_samples(np.random.default_rng(0), dtype, 50_000)
    x, y = (np.concatenate(column) for column in zip(*pairs, strict=True))
    error = ulps(run("pow", x, y), np.power(x.astype(WIDE), y.astype(WIDE)))
    worst = np.argmax(error)
    assert error[worst] <= stated("pow", dtype), f"at {x[worst]!r}, {y[worst]!r}"


@pytest.mark.parametrize("dtype", DTYPES)
def test_tanh_and_sigmoid_stay_within_their_bounds(dtype: type) -> None:
    """Rounding takes neither beyond 1, where 1 - tanh(x)**2 and log(1 - sigmoid(x)) would have the wrong sign."""
    x = np.linspace(0, 45, 400_000).astype(dtype)
    y = run("tanh", x)
    assert y.max() == 1
    assert (run("tanh", -x) == -y).all()
    for z in (run("sigmoid", x), run("sigmoid", -x)):
        assert z.min() > 0
        assert z.max() <= 1


@needs_long_double
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_exponential_of_numbers_up_to_0(dtype: type) -> None:
    """As accurate as `exp` down to the least normal number; 0 below."""
    least = -87 if dtype is np.float32 else -708
    x = np.random.default_rng(0).uniform(least, 0, 200_000).astype(dtype)
    assert ulps(run("exp_to_one", x), np.exp(x.astype(WIDE))).max() <= stated("exp", dtype)
    assert (run("exp_to_one", np.array([np.nextafter(dtype(least), -INF), -1e4, -np.finfo(dtype).max], dtype)) == 0).all()


SMALL = 1e-310  # subnormal in float64, 0 in float32
SPECIAL = [  # name, argument, exact result
    *(("exp", x, y) for x, y in [(-INF, 0), (INF, INF), (0, 1), (-0.0, 1), (1e4, INF), (-1e4, 0)]),
    *(("exp_to_one", x, y) for x, y in [(-INF, 0), (0, 1), (-0.0, 1), (NAN, NAN)]),
    *(("expm1", x, y) for x, y in [(-INF, -1), (INF, INF), (0, 0), (-0.0, -0.0), (1e4, INF), (-1e4, -1)]),
    *(("expm1", x, x) for x in [1e-30, -1e-30, 1e-40, -1e-40, SMALL]),
    *(("sigmoid", x, y) for x, y in [(-INF, 0), (INF, 1), (0, 0.5), (-0.0, 0.5), (1e4, 1), (-1e4, 0)]),
    *(("tanh", x, y) for x, y in [(-INF, -1), (INF, 1), (0, 0), (-0.0, -0.0), (1e4, 1), (-1e4, -1)]),
    *(("tanh", x, x) for x in [1e-30, -1e-30, 1e-40, -1e-40, SMALL]),
    *(("log", x, y) for x, y in [(0, -INF), (-0.0, -INF), (1, 0), (INF, INF), (-INF, NAN), (-1, NAN), (-1e-40, NAN)]),
    *(("log1p", x, y) for x, y in [(-1, -INF), (0, 0), (-0.0, -0.0), (INF, INF), (-INF, NAN), (-1.5, NAN), (-3, NAN)]),
    *(("log1p", x, x) for x in [1e-30, -1e-30, 1e-40, -1e-40, SMALL]),
    *(("erf", x, y) for x, y in [(-INF, -1), (INF, 1), (0, 0), (-0.0, -0.0), (30, 1), (-30, -1)]),
    *(("sin", x, y) for x, y in [(-INF, NAN), (INF, NAN), (0, 0), (-0.0, -0.0)]),
    *(("sin", x, x) for x in [1e-30, -1e-30, 1e-40, -1e-40, SMALL]),
    *(("tan", x, y) for x, y in [(-INF, NAN), (INF, NAN), (0, 0), (-0.0, -0.0), (1e-40, 1e-40), (-SMALL, -SMALL)]),
    *(("asin", x, y) for x, y in [(-INF, NAN), (1.5, NAN), (NAN, NAN), (0, 0), (-0.0, -0.0), (-1e-40, -1e-40), (SMALL, SMALL)]),
    *(("acos", x, y) for x, y in [(-INF, NAN), (-1.5, NAN), (NAN, NAN), (1, 0)]),
    *(("log10", x, y) for x, y in [(-1, NAN), (0, -INF), (-0.0, -INF), (INF, INF), *((10.0**k, k) for k in range(11))]),
    *(("cos", x, y) for x, y in [(-INF, NAN), (INF, NAN), (0, 1), (-0.0, 1), (1e-40, 1)]),
    *(("exp2", x, y) for x, y in [(-INF, 0), (INF, INF), (0, 1), (-0.0, 1), (1e4, INF), (-1e4, 0), (10, 1024), (-3, 0.125)]),
    *(("log2", x, y) for x, y in [(0, -INF), (-0.0, -INF), (1, 0), (1024, 10), (2**-20, -20), (INF, INF), (-INF, NAN)]),
    *(("log2", x, NAN) for x in [-1, -1e-40]),
    *(("sinh", x, y) for x, y in [(-INF, -INF), (INF, INF), (0, 0), (-0.0, -0.0), (1e4, INF), (-1e4, -INF)]),
    *(("sinh", x, x) for x in [1e-30, -1e-30, 1e-40, -1e-40, SMALL]),
    *(("cosh", x, y) for x, y in [(-INF, INF), (INF, INF), (0, 1), (-0.0, 1), (1e4, INF), (-1e4, INF), (1e-40, 1)]),
    *(("atan", x, y) for x, y in [(0, 0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2)]),
    *(("atan", x, x) for x in [1e-30, -1e-30, 1e-40, -1e-40, SMALL]),
    *((case.name, NAN, NAN) for case in CASES if case.operands == 1 and f"{case.name}_f32" in elementary.FUNCTIONS),
]
ODD, EVEN, FRACTION = 3.0, 2.0, 0.75  # not 0.5: NumPy takes the square root there, which keeps -0.0
SPECIAL_PAIRS = [  # name, two arguments, exact result
    *(("pow", x, 0.0, 1) for x in [0.0, -0.0, 1.0, -1.0, 2.0, INF, -INF, NAN]),
    *(("pow", x, -0.0, 1) for x in [0.0, -0.0, INF, NAN]),
    *(("pow", 1.0, y, 1) for y in [0.0, 5.5, -INF, INF, NAN]),
    *(("pow", x, y, NAN) for x, y in [(NAN, 1.0), (2.0, NAN), (-1.0, NAN), (NAN, NAN), (0.0, NAN), (NAN, INF)]),
    *(("pow", x, y, NAN) for x in [-1.0, -2.0, -1e-30] for y in [FRACTION, -1.5, 1e-30]),
    *(("pow", -1.0, y, 1) for y in [INF, -INF, EVEN]),
    *(("pow", -1.0, y, -1) for y in [ODD, -ODD, 16777215.0]),
    *(("pow", x, y, z) for x, y, z in [(-2.0, ODD, -8), (-2.0, EVEN, 4), (-2.0, -1.0, -0.5), (-2.0, 1e30, INF)]),
    *(("pow", x, y, z) for x, y, z in [(0.0, ODD, 0), (0.0, EVEN, 0), (0.0, FRACTION, 0), (0.0, INF, 0)]),
    *(("pow", x, y, z) for x, y, z in [(-0.0, ODD, -0.0), (-0.0, EVEN, 0), (-0.0, FRACTION, 0), (-0.0, INF, 0)]),
    *(("pow", x, y, INF) for x in [0.0, -0.0] for y in [-EVEN, -FRACTION, -INF]),
    *(("pow", x, y, z) for x, y, z in [(0.0, -ODD, INF), (-0.0, -ODD, -INF)]),
    *(("pow", x, y, z) for x, y, z in [(INF, ODD, INF), (INF, FRACTION, INF), (INF, -ODD, 0), (INF, -INF, 0)]),
    *(("pow", x, y, z) for x, y, z in [(-INF, ODD, -INF), (-INF, EVEN, INF), (-INF, FRACTION, INF), (-INF, INF, INF)]),
    *(("pow", x, y, z) for x, y, z in [(-INF, -ODD, -0.0), (-INF, -EVEN, 0), (-INF, -FRACTION, 0)]),
    *(("pow", x, y, z) for x, y, z in [(2.0, INF, INF), (2.0, -INF, 0), (0.5, INF, 0), (0.5, -INF, INF)]),
    *(("pow", x, y, z) for x, y, z in [(-2.0, INF, INF), (-2.0, -INF, 0), (-0.5, INF, 0), (-0.5, -INF, INF)]),
    *(("pow", x, y, z) for x, y, z in [(2.0, 1e30, INF), (2.0, -1e30, 0), (0.5, 1e30, 0), (0.5, -1e30, INF)]),
    *(("pow", x, y, z) for x, y, z in [(2.0, 10.0, 1024), (9.0, 0.5, 3), (2.0, -140.0, 2.0**-140)]),
    *((name, x, y, NAN) for name in ("maximum", "minimum") for x, y in [(NAN, 1.0), (1.0, NAN), (NAN, NAN)]),
    *((name, x, y, NAN) for name in ("maximum", "minimum") for x, y in [(NAN, INF), (-INF, NAN)]),
    *(("maximum", x, y, z) for x, y, z in [(1.0, 2.0, 2), (2.0, 1.0, 2), (-INF, 1.0, 1), (INF, 1.0, INF)]),
    *(("minimum", x, y, z) for x, y, z in [(1.0, 2.0, 1), (2.0, 1.0, 1), (-INF, 1.0, -INF), (INF, 1.0, 1)]),
    *(("maximum", x, y, 0.0) for x, y in [(0.0, -0.0), (-0.0, 0.0)]),
    *(("minimum", x, y, -0.0) for x, y in [(0.0, -0.0), (-0.0, 0.0)]),
]


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Equal, signs of zeros and NaN included."""
    return np.where(np.isnan(b), np.isnan(a), (a == b) & (np.signbit(a) == np.signbit(b)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted({row[0] for row in SPECIAL + SPECIAL_PAIRS}))
def test_special_values(name: str, dtype: type) -> None:
    rows = np.array([row[1:] for row in SPECIAL + SPECIAL_PAIRS if row[0] == name], dtype)
    *arguments, expected = (np.ascontiguousarray(column) for column in rows.T)
    native = run(name, *arguments)
    assert same(native, expected).all(), rows[~same(native, expected)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_underflow_gradually(dtype: type) -> None:
    """A power of two below the normal numbers is exact, and the smallest one is reached."""
    limits = np.finfo(dtype)
    k = np.arange(limits.minexp - limits.nmant, limits.minexp)
    powers = np.ldexp(dtype(1), k)
    assert (run("pow", np.full(k.size, 2, dtype), k.astype(dtype)) == powers).all()
    logs = k.astype(dtype) * dtype(math.log(2))
    assert (np.abs(run("exp", logs) / powers - 1)[limits.nmant // 2 :] < 1e-2).all()
    assert run("exp", logs[:1])[0] == limits.smallest_subnormal


def test_they_run_in_compiled_code_only() -> None:
    assert elementary.exp_f32.__doc__
    with pytest.raises(TypeError, match="exp_f32 runs in compiled code only"):
        elementary.exp_f32(1.0)
    with pytest.raises(TypeError, match="pow_f64 runs in compiled code only"):
        elementary.pow_f64(1.0, 2.0)


@needs_vectors
@pytest.mark.parametrize("name", elementary.FUNCTIONS)
def test_loop_vectorizes(name: str) -> None:
    """The optimized code computes with vectors, and calls nothing but what vectors with a rare argument take."""
    base, bits = name.split("_f")
    dtype, element = (np.float32, "float") if bits == "32" else (np.float64, "double")
    if base in ("sin", "cos", "tan", "pow"):
        element = "double"  # float32 goes through float64
    code = str(kernel_of(base, dtype).code)
    operation = base if base in ("maximum", "minimum", "copysign") else "fma"
    assert re.search(rf"<\d+ x {element}> @llvm\.{operation}\.v\d+f", code)
    calls = set(re.findall(r"\bcall\b[^@\n]*@([\w.]+)", code))
    calls = {c for c in calls if not c.startswith("llvm.")}
    own = f"staticgrad_{name}"
    assert calls == ({own, f"{own}_exact", f"{own}_each"} if base in ("sin", "cos", "tan") else set())


@needs_vectors
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_loop_with_rare_arguments_leaves_only_for_them(dtype: type) -> None:
    """In a kernel the function of vectors is part of the loop, and none of its widths that are not used stay."""
    bits = 8 * np.dtype(dtype).itemsize
    wave, at = getattr(elementary, f"sin_f{bits}"), getattr(dialect, f"f{bits}_at")

    def waves(buffers, sizes, start, stop):
        x, y = at(buffers, 0), at(buffers, 1)
        for i in range(start, stop):
            y[i] = wave(x[i])

    code = str(native(waves).code)
    assert f"@{code_generation.VARIANT}" not in code
    loop = code[code.index("vector.body:") : code.index("middle.block:")]
    calls = set(re.findall(r"\bcall\b[^@\n]*@([\w.]+)", loop))
    assert {c for c in calls if not c.startswith("llvm.")} == {f"staticgrad_sin_f{bits}_each"}
    assert re.search(rf"<\d+ x {'float' if bits == 32 else 'double'}>", loop)


def packed(kernel) -> bool:
    """Whether the machine code multiplies and adds whole vectors of float32."""
    text = code_generation.machine().emit_assembly(kernel.code)
    return re.search(r"vfn?m(add|sub)\d+ps\s.*%[yz]mm|\bfml[as]\s+v\d+\.4s", text) is not None


@needs_vectors
def test_machine_code_is_packed() -> None:
    assert all(packed(kernel_of(name, np.float32)) for name in ("exp", "tanh", "sigmoid", "log"))


@pytest.mark.skipif(cpu.BYTES < 64, reason="the CPU's vectors have 256 bits or fewer")
def test_vectors_are_as_wide_as_registers() -> None:
    """Of Intel's CPUs with AVX-512 too, for which LLVM prefers half of a register."""
    text = code_generation.machine().emit_assembly(kernel_of("exp", np.float32).code)
    assert re.search(r"vfmadd\d+ps\s.*%zmm", text)


@needs_long_double
def test_fused_into_a_larger_expression() -> None:
    """Between a kernel's own operations, whose flags stop at the instructions of the function."""
    tanh, log1p, power = elementary.tanh_f64, elementary.log1p_f64, elementary.pow_f64

    def fused(x, y):
        return (tanh(x * 3.0 + 1e-9) - log1p(x) * 1e-3) * power(y, x * 100.0)

    x = np.random.default_rng(0).uniform(-0.9, 3, 20_000)
    y = np.random.default_rng(1).uniform(0.5, 2, 20_000)
    u, v = x.astype(WIDE), y.astype(WIDE)
    # x * 100.0 is rounded before pow multiplies its error.
    exact = (np.tanh(u * 3 + WIDE(1e-9)) - np.log1p(u) * WIDE(1e-3)) * np.power(v, (x * 100.0).astype(WIDE))
    # near x = 0 the difference cancels what x * 3.0 + 1e-9 rounded
    got = call(compiled(fused, np.float64, 2), x, y)
    clear = np.abs(x) > 1e-3
    assert ulps(got, exact)[clear].max() <= 6


def stores_of_a_step(kernel) -> int:
    """Of vectors, in the first loop that LLVM vectorized."""
    code = str(native(kernel).code)
    loop = code[code.index("vector.body:") :]
    return len(re.findall(r"\bstore <\d+ x ", loop[: loop.index("\n\n")]))


@needs_vectors
def test_loops_with_elementary_functions_take_few_vectors_at_a_time() -> None:
    """A sum beside a function is no reason to interleave, which would leave more of a short row to slower loops; a long chain
    of a polynomial is one."""
    at, exp, erf = dialect.f32_at, elementary.exp_f32, elementary.erf_f32
    maximum = elementary.maximum_f32

    def sums(buffers, sizes, start, stop):
        x, y, total = at(buffers, 0), at(buffers, 1), at(buffers, 2)
        greatest = x[0]
        for i in range(start, stop):
            greatest = maximum(greatest, x[i])
            y[i] = exp(x[i])
        total[0] = greatest

    def long(buffers, sizes, start, stop):
        x, y = at(buffers, 0), at(buffers, 1)
        for i in range(start, stop):
            y[i] = erf(x[i])

    assert stores_of_a_step(sums) == 1
    assert stores_of_a_step(long) == 2


def test_loops_are_copied_where_iterations_are_short() -> None:
    """Whose number only the run knows: not those with loops in them, nor long ones."""
    at, exp = dialect.f32_at, elementary.exp_f32

    def short(buffers, sizes, start, stop):
        x, y = at(buffers, 0), at(buffers, 1)
        for i in range(start, stop):
            y[i] = x[i] * x[i]

    def long(buffers, sizes, start, stop):
        x, y = at(buffers, 0), at(buffers, 1)
        for i in range(start, stop):
            y[i] = exp(x[i])

    def nested(buffers, sizes, start, stop):
        x, y = at(buffers, 0), at(buffers, 1)
        for i in range(start, stop):
            for j in range(sizes[0]):
                y[i] += x[j]

    for function, left in ((short, 0), (long, 1), (nested, 1)):
        text = kernel_compiler.translated([kernel_compiler.kernel(function)])
        assert text.count("llvm.loop.unroll.runtime.disable") == left, function.__name__


def test_arguments_are_converted() -> None:
    """A float64 literal or an integer may meet a float32 function; the result has the function's type."""
    exp, power = elementary.exp_f32, elementary.pow_f32

    def mixed(x):
        return exp(0.5) + power(x, 2)

    x = np.linspace(0, 2, 50, dtype=np.float32)
    np.testing.assert_allclose(call(compiled(mixed, np.float32, 1), x), math.exp(0.5) + x * x, rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_maximum_reduces_a_row(dtype: type) -> None:
    maximum, minimum = (getattr(elementary, f"{n}_f{8 * np.dtype(dtype).itemsize}") for n in ("maximum", "minimum"))
    pointer = getattr(dialect, f"f{8 * np.dtype(dtype).itemsize}_at")

    def extremes(buffers, sizes, start, stop):
        x, out = pointer(buffers, 0), pointer(buffers, 1)
        low, high = x[0], x[0]
        for i in range(start, stop):
            low, high = minimum(low, x[i]), maximum(high, x[i])
        out[0], out[1] = low, high

    kernel = native(extremes)
    x = np.random.default_rng(0).normal(size=1001).astype(dtype)
    assert call(kernel, x)[:2].tolist() == [x.min(), x.max()]
    x[500] = NAN
    assert np.isnan(call(kernel, x)[:2]).all()
