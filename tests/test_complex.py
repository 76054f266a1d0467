"""Complex numbers are refused wherever they are met, with what to write instead."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import DTypeError

ADVICE = "keep real and imaginary parts as two tensors"


@pytest.mark.parametrize(
    "call",
    [
        lambda: sg.zeros(2, dtype="complex64"),
        lambda: sg.zeros(2, dtype=np.complex128),
        lambda: sg.tensor(1j),
        lambda: sg.tensor([1.0, 2j]),
        lambda: sg.from_numpy(np.ones(2, np.complex64)),
        lambda: sg.ones(2).to(np.complex64),
        lambda: sg.ones(2).cfloat(),
        lambda: sg.ones(2) * 1j,
    ],
)
def test_dtypes_and_values(call):
    with pytest.raises(DTypeError) as caught:
        call()
    assert ADVICE in str(caught.value)


@pytest.mark.parametrize("name", ["complex64", "cfloat", "complex", "polar", "imag", "view_as_real", "view_as_complex", "stft"])
def test_names(name):
    with pytest.raises(AttributeError, match=ADVICE):
        getattr(sg, name)


@pytest.mark.parametrize("name", ["fft", "rfft", "irfft", "fft2", "fftfreq"])
def test_fourier_transforms(name):
    with pytest.raises(AttributeError, match=f"module 'staticgrad.fft' has no attribute '{name}': complex numbers") as caught:
        getattr(sg.fft, name)
    assert "x @ cos(a) and -x @ sin(a) with a = 2 pi j k / n" in str(caught.value)


def test_the_advice_is_right():
    x = sg.randn(8)
    a = 2 * np.pi * np.outer(np.arange(8), np.arange(5)).astype(np.float32) / 8
    expected = np.fft.rfft(x.numpy())
    np.testing.assert_allclose((x @ sg.cos(sg.tensor(a))).numpy(), expected.real, atol=1e-5)
    np.testing.assert_allclose((-x @ sg.sin(sg.tensor(a))).numpy(), expected.imag, atol=1e-5)
