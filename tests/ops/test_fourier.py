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
