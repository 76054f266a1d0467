"""Short-time transforms: against sums of windows, back to the signal, gradients, refusals."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.autograd import gradcheck
from staticgrad.errors import ArgumentError, DTypeError, ShapeError
from tests.helpers import assert_close

close = functools.partial(assert_close, rtol=None)

X = np.random.default_rng(0).standard_normal((2, 40))


def test_each_window_is_transformed():
    window = np.hanning(8)
    found = sg.stft(sg.tensor(X), 8, 3, window=sg.tensor(window), center=False, return_complex=True)
    frames = np.lib.stride_tricks.sliding_window_view(X, 8, 1)[:, ::3]
    close(found, np.fft.rfft(frames * window).transpose(0, 2, 1))
    pairs = sg.stft(sg.tensor(X[0]), 8, 3, window=sg.tensor(window), center=False, return_complex=False)
    close(pairs, np.stack([found.numpy()[0].real, found.numpy()[0].imag], -1))


@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_there_and_back(onesided, normalized):
    window = sg.tensor(0.5 + np.hanning(6))
    named = {"hop_length": 2, "win_length": 6, "window": window, "normalized": normalized, "onesided": onesided}
    spectrum = sg.stft(sg.tensor(X), 8, return_complex=True, **named)
    assert spectrum.shape == (2, 5 if onesided else 8, 21)
    close(sg.istft(spectrum, 8, length=40, **named), X)


def test_complex_signals():
    z = X[0] + 1j * X[1]
    close(sg.istft(sg.stft(sg.tensor(z), 8), 8, return_complex=True, length=40), z)


def test_gradients():
    x = sg.tensor(X[0, :14], requires_grad=True)
    window = sg.tensor(np.hanning(6) + 0.1, requires_grad=True)
    assert gradcheck(lambda x, w: sg.stft(x, 6, 3, window=w, return_complex=True), [x, window])
    assert gradcheck(lambda x, w: sg.istft(sg.stft(x, 6, 3, return_complex=True) ** 2, 6, 3, window=w), [x, window])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: sg.stft(x, 8), ArgumentError, "requires the return_complex parameter"),
        (lambda x: sg.stft(x, 8, win_length=9, return_complex=True), ArgumentError, "expected 0 < win_length <= n_fft"),
        (lambda x: sg.stft(x, 8, hop_length=0, return_complex=True), ArgumentError, "expected hop_length > 0"),
        (lambda x: sg.stft(x, 80, center=False, return_complex=True), ArgumentError, "expected 0 < n_fft <= 40"),
        (lambda x: sg.stft(x, 8, window=sg.ones(7), return_complex=True), ShapeError, "expected a 1D window tensor"),
        (lambda x: sg.stft(x + 0j, 8, onesided=True), ArgumentError, "Cannot have onesided output"),
        (lambda x: sg.istft(x, 8), DTypeError, "requires a complex-valued input"),
        (lambda x: sg.istft(x + 0j, 8), ShapeError, "the frequency dimension is 2"),
        (lambda x: sg.istft(sg.stft(x, 8, 8, 4, return_complex=True), 8, 8, 4), ArgumentError, "window overlap add min"),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call(sg.tensor(X))


def test_a_signal_that_is_too_short_is_filled():
    with pytest.warns(UserWarning, match="padded with zeros in the tail"):
        found = sg.istft(sg.stft(sg.tensor(X), 8, return_complex=True), 8, length=50)
    assert found.shape == (2, 50)
    close(found[:, 44:], np.zeros((2, 6)))
