"""Elementwise ops: integers, powers at their corners, gradients that can be differentiated again, booleans."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional
from staticgrad.errors import ArgumentError, DTypeError
from staticgrad.operators import F
from staticgrad.ops.pointwise import LIKE_X86
from tests.helpers import assert_close
from tests.ops.modes import MODES, eager, slopes

EVERY = ["eager", *MODES]


def run(mode: str, program: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    return (eager if mode == "eager" else MODES[mode])(program, arrays)


# integers -----------------------------------------------------------------------------------------------------

LARGE = {"uint8": 255, "int8": 127, "int16": 2**15 - 1, "int32": 2**31 - 1, "int64": 2**53 + 1}


@pytest.mark.parametrize("mode", EVERY)
def test_integers_are_rounded_to_themselves(mode: str):
    arrays = [np.array([n, 1, 0], dtype) for dtype, n in LARGE.items()]
    found = run(mode, lambda *xs: [f(x) for f in (F.floor, F.ceil, F.round) for x in xs], arrays)
    for result, expected in zip(found, arrays * 3, strict=True):
        assert_close(result, expected)


def test_a_rounded_integer_is_a_copy():
    x = sg.tensor([1, 2])
    x.floor().numpy()[0] = 5
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize("name", ["floor", "ceil", "round"])
def test_booleans_are_not_rounded(name: str):
    with pytest.raises(DTypeError, match=f"{name}: booleans have no arithmetic"):
        getattr(sg.tensor([True]), name)()


@pytest.mark.parametrize("mode", EVERY)
def test_what_is_filled_keeps_its_dtype(mode: str):
    program = lambda x, b: [x.masked_fill(x > 1, 7.5), b.masked_fill(b, 0), F.ones_like(b), F.ones_like(x)]  # noqa: E731
    found = run(mode, program, [np.array([1, 2]), np.array([True, False])])
    for result, expected in zip(found, ([1, 7], [False, False], [True, True], [1, 1]), strict=True):
        assert_close(result, np.array(expected))


BEYOND = [
    np.nan, np.inf, -np.inf, 300.0, -300.0, 4e4, -4e4, 7e4, 3e9, -3e9, 5e9, 1e19, -1e19, -1.0, -1.5, 0.0,
    2.0**31, -(2.0**31), -(2.0**31) - 0.5, -(2.0**31) - 1, 2.0**31 - 0.5, 2.0**63, -(2.0**63),
]  # fmt: skip


def on_x86(value: float, dtype: str) -> int:
    """The integer that the instructions of x86 give for a float."""
    bits = 64 if dtype == "int64" else 32
    held = np.isfinite(value) and -(2 ** (bits - 1)) <= int(value) < 2 ** (bits - 1)
    return int(value) if held else -(2 ** (bits - 1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("to", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("like_x86", [LIKE_X86, False])
@pytest.mark.parametrize("mode", EVERY)
def test_casts_of_what_an_integer_does_not_hold(mode: str, like_x86: bool, to: str, dtype: str, monkeypatch: Any):
    monkeypatch.setattr("staticgrad.ops.pointwise.LIKE_X86", like_x86)
    x = np.array(BEYOND * 3, dtype)  # a vector and a rest
    with np.errstate(invalid="ignore"):
        found = run(mode, lambda x: [F.astype(x, to)], [x])
    expected = np.array([on_x86(float(value), to) for value in x]).astype(to)
    np.testing.assert_array_equal(found[0], expected)


@pytest.mark.parametrize("value", [np.nan, np.inf, 2**40, -(2**31) - 1])
def test_a_number_that_does_not_fit_is_not_filled_in(value: Any):
    with pytest.raises(DTypeError, match=r"masked_fill: .* cannot be converted to int32 without overflow"):
        sg.tensor([1], dtype=sg.int32).masked_fill(sg.tensor([True]), value)


# powers -------------------------------------------------------------------------------------------------------

BASES = np.array([0.0, 2.0, -2.0, 0.5])


def derivatives(power: Any) -> Any:
    def program(x: Any) -> list[Any]:
        results = [power(x)]
        for _ in range(3):
            results += slopes(results[-1], [x])
        return results

    return program


@pytest.mark.parametrize("exponent", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["plain", "float", "tensor", "several"])
@pytest.mark.parametrize("mode", EVERY)
def test_derivatives_of_powers(mode: str, kind: str, exponent: int):
    """To third order, at 0 and for negative bases too."""
    y: Any = {"plain": exponent, "float": float(exponent), "tensor": np.array(float(exponent))}.get(kind)
    y = np.full(4, float(exponent)) if kind == "several" else y
    found = run(mode, derivatives(lambda x: F.pow(x, y)), [BASES])
    factor, rest = 1.0, exponent
    for result in found:
        expected = np.zeros(4) if rest < 0 else factor * BASES**rest
        assert_close(result, expected, 1e-12)
        factor, rest = factor * rest, rest - 1


def test_the_mixed_derivative_of_a_power():
    x, y = (sg.tensor(v, dtype=sg.float64, requires_grad=True) for v in ([2.0, 2.0, 0.0], [1.0, 3.0, 0.0]))
    (first,) = sg.grad((x**y).sum(), x, create_graph=True)
    (second,) = sg.grad(first.sum(), y)
    assert_close(second.numpy(), np.array([1 + np.log(2), 4 * (1 + 3 * np.log(2)), 0]), 1e-12)


# gradients of gradients ---------------------------------------------------------------------------------------

ROWS, IMAGES = np.array([[1.5, -0.5, 2.0], [0.3, 0.7, -1.0]]), np.arange(32.0).reshape(1, 2, 4, 4) * 0.37 - 3

SAVING: dict[str, tuple[Any, np.ndarray]] = {
    "relu": (lambda x: x.relu(), ROWS),
    "x ** 1": (lambda x: x**1, ROWS),
    "abs": (lambda x: x.abs(), ROWS),
    "nll_loss": (lambda x: functional.nll_loss(x, np.array([0, 1])), ROWS),
    "max_pool1d": (lambda x: functional.max_pool1d(x, 2), ROWS),
    "max_pool2d": (lambda x: functional.max_pool2d(x, 2), IMAGES),
    "avg_pool2d": (lambda x: functional.avg_pool2d(x, 2), IMAGES),
    "adaptive_avg_pool2d": (lambda x: functional.adaptive_avg_pool2d(x, 2), IMAGES),
    "reflect": (lambda x: functional.pad(x, (1, 1, 1, 1), "reflect"), IMAGES),
    "replicate": (lambda x: functional.pad(x, (1, 1, 1, 1), "replicate"), IMAGES),
    "leaky_relu": (lambda x: functional.leaky_relu(x), ROWS),
    "hardtanh": (lambda x: functional.hardtanh(x), ROWS),
    "relu6": (lambda x: functional.relu6(x), ROWS),
    "hardshrink": (lambda x: functional.hardshrink(x), ROWS),
    "softshrink": (lambda x: functional.softshrink(x), ROWS),
    "threshold": (lambda x: functional.threshold(x, 0.1, 2.0), ROWS),
}
"""Whose backward functions save their input in PyTorch: the second gradient is 0."""

SAVING_NOTHING: dict[str, tuple[Any, np.ndarray]] = {
    "floor": (lambda x: x.floor(), ROWS),
    "2 x": (lambda x: 2 * x, ROWS),
    "x[0]": (lambda x: x[0], ROWS),
    "x[[0, 0]]": (lambda x: x[[0, 0]], ROWS),
    "clamp": (lambda x: x.clamp(-1, 1), ROWS),
    "maximum": (lambda x: F.maximum(x, 0.5), ROWS),
    "max": (lambda x: x.max(), ROWS),
    "where": (lambda x: F.where(x > 0, x, 2 * x), ROWS),
    "circular": (lambda x: functional.pad(x, (1, 1, 1, 1), "circular"), IMAGES),
    "mean over everything": (lambda x: functional.adaptive_avg_pool2d(x, 1), IMAGES),
}
"""Whose gradients don't depend on the input: they don't require grad."""


@pytest.mark.parametrize("name", SAVING)
@pytest.mark.parametrize("mode", EVERY)
def test_a_second_gradient_that_is_zero(mode: str, name: str):
    fn, array = SAVING[name]

    def program(x: Any) -> list[Any]:
        (first,) = slopes(fn(x), [x])
        if mode not in ("interpreter", "session", "strict session"):
            assert first.requires_grad
        return slopes(first * first * first, [x])

    assert_close(run(mode, program, [array])[0], np.zeros_like(array))


@pytest.mark.parametrize("name", SAVING_NOTHING)
def test_a_gradient_that_does_not_depend_on_the_input(name: str):
    fn, array = SAVING_NOTHING[name]

    def step(x: Any) -> Any:
        (first,) = sg.grad(fn(x).sum(), x, create_graph=True)
        return sg.grad(first.sum(), x)[0]

    for call in (step, sg.compile(step)):
        with pytest.raises(sg.GradientError, match="element 0 of tensors does not require grad"):
            call(sg.tensor(array, requires_grad=True))


# clamp and logic ----------------------------------------------------------------------------------------------

CLAMPED: list[tuple[Any, Any, str]] = [
    ((0, 1), [1, 0], "int64"),
    ((0, None), [1, 0], "int64"),
    ((None, 0.5), [0.5, 0], "float32"),
    ((0.5, 1), [1, 0.5], "float32"),
    ((True, None), [True, True], "bool"),
    ((False, False), [False, False], "bool"),
]


@pytest.mark.parametrize("mode", EVERY)
def test_clamp_of_booleans(mode: str):
    found = run(mode, lambda x: [x.clamp(*bounds) for bounds, *_ in CLAMPED], [np.array([True, False])])
    for result, (_, expected, dtype) in zip(found, CLAMPED, strict=True):
        assert_close(result, np.array(expected, dtype))


@pytest.mark.parametrize("mode", EVERY)
def test_the_bound_that_is_left_out_limits_nothing(mode: str):
    """Not even where the other bound has the wider dtype."""
    (found,) = run(mode, lambda x, low: [F.clamp(x, low)], [np.array([1], np.int8), np.array([300], np.int64)])
    assert_close(found, np.array([300]))


def test_clamp_needs_a_bound():
    with pytest.raises(ArgumentError, match=r"torch\.clamp: At least one of 'min' or 'max' must not be None"):
        sg.ones(2).clamp()


@pytest.mark.parametrize("mode", EVERY)
def test_operators_with_the_tensor_on_the_right(mode: str):
    def program(b: Any, x: Any) -> list[Any]:
        array = np.array([True, True])
        return [
            True ^ b, np.True_ ^ b, array ^ b, False | b, array | b, True & b, array & b, ~b,
            1 - x, np.float64(1) - x, np.array([1.0, 2.0]) - x, 2**x, 7 // x, 7 % x, 1 / x, np.array([1.0, 2.0]) @ x, 1 < x,  # noqa: SIM300
        ]  # fmt: skip

    b, x = np.array([True, False]), np.array([2.0, 4.0])
    for result, expected in zip(run(mode, program, [b, x]), program(b, x), strict=True):
        assert_close(result, expected, 1e-12)


@pytest.mark.parametrize("fn", [lambda t: 1.0 ^ t, lambda t: np.array([1.5, 2]) ^ t, lambda t: np.float64(1) & t], ids=range(3))
def test_floats_have_no_logic(fn: Any):
    with pytest.raises(DTypeError, match=r"is for booleans, got float|integers and booleans, got float"):
        fn(sg.tensor([True, False]))


@pytest.mark.parametrize("mode", EVERY)
def test_type(mode: str):
    program = lambda x: [x.type(sg.float64), x.type(sg.int64), x.type_as(x > 0), x.to(sg.int8)]  # noqa: E731
    dtypes = [r.dtype for r in run(mode, program, [np.array([1.5, 0], np.float32)])]
    assert dtypes == [np.float64, np.int64, np.bool_, np.int8]
