"""Fourier transforms against NumPy's, which has the same names and conventions, their gradients, and what is refused."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import func
from staticgrad.autograd import gradcheck, gradgradcheck
from staticgrad.errors import ArgumentError, DTypeError
from tests.helpers import assert_close

close = functools.partial(assert_close, rtol=None)

RNG = np.random.default_rng(0)
REAL = RNG.standard_normal((2, 3, 4))
COMPLEX = REAL + 1j * RNG.standard_normal((2, 3, 4))

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("fft", {}), ("fft", {"n": 3, "dim": 0, "norm": "ortho"}), ("fft", {"n": 6, "norm": "forward"}),
    ("ifft", {"dim": 1}), ("ifft", {"n": 5, "norm": "ortho"}), ("ifft", {"norm": "forward"}),
    ("rfft", {}), ("rfft", {"n": 5, "dim": 1}), ("irfft", {}), ("irfft", {"n": 5, "norm": "forward"}),
    ("hfft", {}), ("hfft", {"n": 5, "norm": "ortho"}), ("ihfft", {"dim": 0}), ("ihfft", {"n": 6, "norm": "forward"}),
    ("fft2", {}), ("ifft2", {"s": (2, 5), "dim": (0, 2)}), ("rfft2", {"norm": "ortho"}), ("irfft2", {"s": (3, 5)}),
    ("fftn", {}), ("ifftn", {"dim": (2, 0)}), ("rfftn", {"s": (2, 5), "dim": (0, 2)}), ("irfftn", {"dim": (0, 1)}),
]  # fmt: skip
WORDS = {"dim": "axis", "s": "s", "n": "n", "norm": "norm"}


def given(name: str) -> np.ndarray:
    return REAL if name.startswith(("r", "ih")) else COMPLEX


@pytest.mark.parametrize(("name", "named"), CALLS)
def test_as_numpy(name, named):
    several = name.endswith(("2", "n"))
    theirs = {("axes" if several and word == "dim" else WORDS[word]): value for word, value in named.items()}
    x = given(name)
    expected = getattr(np.fft, name)(x, **theirs)
    for dtype, rtol in ((x.dtype, 1e-12), (np.dtype(f"{x.dtype.kind}{x.dtype.itemsize // 2}"), 1e-4)):
        found = getattr(sg.fft, name)(sg.tensor(x.astype(dtype)), **named)
        assert found.dtype.itemsize == expected.dtype.itemsize * dtype.itemsize // x.dtype.itemsize
        close(found, expected.astype(found.dtype), rtol=rtol, atol=rtol)


@pytest.mark.parametrize(("name", "named"), CALLS)
def test_gradients(name, named):
    x = sg.tensor(given(name)[:2, :2, :3], requires_grad=True)
    named = {word: value for word, value in named.items() if word != "s"}
    assert gradcheck(lambda x: getattr(sg.fft, name)(x * x, **named), [x])


def test_of_higher_order_and_many_samples():
    def f(x: Any) -> Any:
        return sg.fft.irfft(sg.fft.rfft(x) * sg.fft.hfft(x)[..., :3].abs(), n=4) ** 2

    x, t = sg.tensor(REAL[0], requires_grad=True), sg.tensor(REAL[1])
    assert gradgradcheck(f, [x])
    out, tangent = func.jvp(f, (x.detach(),), (t,))
    _, expected = sg.autograd.functional.jvp(f, x.detach(), t)
    close(tangent, expected.numpy())
    close(func.vmap(f)(sg.tensor(REAL)), f(sg.tensor(REAL)).numpy())
    assert out.dtype == sg.float64


def test_hermitian_transforms_along_several_axes():
    x = sg.tensor(COMPLEX)
    expected = np.fft.hfft(np.fft.fft(COMPLEX, axis=1), axis=2)
    close(sg.fft.hfft2(x), expected)
    close(sg.fft.ihfft2(sg.fft.hfft2(x, s=(3, 5)), s=(3, 5)), sg.fft.ihfftn(sg.fft.hfftn(x, s=(3, 5)), s=(3, 5)).numpy())


def test_frequencies():
    close(sg.fft.fftfreq(5, 0.1), np.fft.fftfreq(5, 0.1).astype(np.float32))
    close(sg.fft.rfftfreq(6, dtype=sg.float64), np.fft.rfftfreq(6))
    close(sg.fft.fftshift(sg.tensor(COMPLEX)), np.fft.fftshift(COMPLEX))
    close(sg.fft.ifftshift(sg.tensor(COMPLEX), dim=(1, 2)), np.fft.ifftshift(COMPLEX, (1, 2)))


def test_integers_become_the_default_float():
    assert sg.fft.fft(sg.arange(4)).dtype == sg.complex64
    assert sg.fft.irfft(sg.arange(3)).dtype == sg.float32


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda z: sg.fft.rfft(z), DTypeError, "rfft expects a real input tensor, but got complex128"),
        (lambda z: sg.fft.fft(z, n=0), ArgumentError, r"Invalid number of data points \(0\) specified"),
        (lambda z: sg.fft.fft(z, norm="n"), ArgumentError, 'Invalid normalization mode: "n"'),
        (lambda z: sg.fft.fftn(z, dim=(1, 1)), ArgumentError, "FFT dims must be unique"),
        (lambda z: sg.fft.fft2(z, s=(2,)), ArgumentError, "dim and shape arguments must have the same length"),
        (lambda z: sg.fft.fftn(z, s=(1, 2, 3, 4)), ArgumentError, "Got shape with 4 values"),
        (lambda z: sg.fft.rfftn(z.real, dim=()), ArgumentError, "must transform at least one axis"),
        (lambda z: sg.fft.fft(z, dim=3), ArgumentError, "axis 3 is out of range"),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call(sg.tensor(COMPLEX))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize(("rows", "n"), [((16,), 4), ((3, 11), 8), ((17,), 64), ((5, 7), 512)])
def test_many_rows_of_a_power_of_two_have_a_kernel(rows: tuple[int, ...], n: int, norm: str, dtype: type):
    """In plans, with the values and the gradients of eager mode."""
    rng = np.random.default_rng(n)
    x, w = (rng.standard_normal((*rows, n)).astype(dtype) for _ in range(2))

    def power(x: Any, w: Any) -> Any:
        spectrum = sg.fft.rfft(x * w, norm=norm)
        return (spectrum.real**2 + 2 * spectrum.imag * spectrum.real).sum(-1), spectrum

    def with_slopes(x: Any, w: Any) -> Any:
        found, spectrum = power(x, w)
        (slope,) = sg.grad(found.sum(), x, create_graph=True)
        return found, spectrum, slope, sg.grad((slope * slope).sum(), w)[0]

    eps = float(np.finfo(dtype).eps)
    arguments = [sg.tensor(a, requires_grad=True) for a in (x, w)]
    compiled = sg.compile(with_slopes)
    with sg.eager_kernels(False):
        expected = with_slopes(*arguments)
    for found, wanted in zip(compiled(*arguments), expected, strict=True):
        reference = wanted.detach().numpy()
        np.testing.assert_allclose(found.detach().numpy(), reference, rtol=0, atol=30 * eps * np.abs(reference).max())
    assert any(row.name == "fft_r2c" and row.kind == "routine" for row in compiled.plan.instructions)
    alone = sg.compile(power)
    alone(*(a.detach() for a in arguments))
    assert alone.plan.host_calls == 0


def test_threads_share_the_rows_of_a_transform():
    x = np.random.default_rng(0).standard_normal((100, 256))
    before = sg.get_num_threads()
    try:
        sg.set_num_threads(3)
        step = sg.compile(lambda x: sg.fft.rfft(x))
        close(step(sg.tensor(x)), np.fft.rfft(x))
    finally:
        sg.set_num_threads(before)
    assert [row.chunks for row in step.plan.instructions] == [3]


def test_what_is_not_finite_stays_in_its_row():
    x = np.random.default_rng(0).standard_normal((20, 32))
    x[7, 3], x[11, 4] = np.nan, np.inf
    found = sg.compile(lambda x: sg.fft.rfft(x))(sg.tensor(x)).numpy()
    assert not np.isfinite(found[[7, 11]]).any()
    kept = np.delete(np.arange(20), [7, 11])
    np.testing.assert_allclose(found[kept], np.fft.rfft(x[kept]), atol=1e-13)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("inner", [2, 3, 5, 7, 9, 17, 23, 32])
def test_lines_that_lie_side_by_side_in_runs_of_any_length(inner: int, dtype: type):
    """Sixteen lines are taken at a time, whose runs end where the elements beside an axis do."""
    rng = np.random.default_rng(inner)
    z = (rng.standard_normal((7, 12, inner)) + 1j * rng.standard_normal((7, 12, inner))).astype(dtype)
    step = sg.compile(lambda z: (sg.fft.fft(z, dim=1), sg.fft.irfft(z[:, :7], n=12, dim=1), sg.fft.rfft(z.real, dim=1)))
    found = step(sg.tensor(z))
    wanted = np.fft.fft(z, axis=1), np.fft.irfft(z[:, :7], n=12, axis=1), np.fft.rfft(z.real, axis=1)
    assert not step.plan.host_calls
    for x, y in zip(found, wanted, strict=True):
        close(x.numpy(), y, atol=200 * np.finfo(dtype).eps)
