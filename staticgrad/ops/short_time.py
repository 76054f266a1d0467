"""Short-time Fourier transforms: windows of a signal, one transform each, and the signal from them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..base.dtypes import PART_OF
from ..base.types import part_dtype, shape_text
from ..errors import ArgumentError, DTypeError, ShapeError
from ..operators import F, Tensor, state, torch_function
from .fourier import fitted, transform
from .operands import dtype_of, extent, integer, ndim_of
from .padding import pad
from .slicing import cut

LEAST = 1e-11
"""The least sum of squared windows that a signal is divided by."""


def _lengths(name: str, n_fft: Any, hop_length: Any, win_length: Any) -> tuple[int, int, int]:
    n = integer(name, "n_fft", n_fft)
    hop = n // 4 if hop_length is None else integer(name, "hop_length", hop_length)
    width = n if win_length is None else integer(name, "win_length", win_length)
    if hop <= 0:
        raise ArgumentError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n:
        raise ArgumentError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={width}")
    return n, hop, width


def _window(name: str, window: Any, width: int, n: int, dtype: np.dtype) -> Any:
    """The window in the middle of n elements; None for one of n ones."""
    if window is None:
        if width == n:
            return None
        window = np.ones(width, part_dtype(dtype))
    elif tuple(window.shape) != (width,):
        raise ShapeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={width}, but got window with size "
            f"{shape_text(window.shape)}"
        )
    before = (n - width) // 2
    return pad(window, (before, n - width - before)) if width < n else window


@torch_function()
def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """The transforms of windows of `n_fft` elements every `hop_length` (n_fft // 4), frequencies before windows.

    input: (length,) or (batch, length); the result (..., n, windows), where n is n_fft // 2 + 1 if it is onesided. window:
    factors of `win_length` elements. center: the signal gets n_fft // 2 elements more at its ends. Raises ArgumentError,
    ShapeError.
    """
    n, hop, width = _lengths("stft", n_fft, hop_length, win_length)
    if align_to_window is not None:
        raise ArgumentError("stft: align_to_window is not supported", "pad the signal with functional.pad")
    if ndim_of(input) not in (1, 2):
        raise ShapeError(f"stft: expected a 1D or 2D tensor, got shape {shape_text(input.shape)}")
    is_complex = dtype_of(input) in PART_OF or (window is not None and dtype_of(window) in PART_OF)
    if return_complex is None and not is_complex:
        raise ArgumentError("stft requires the return_complex parameter be given for real inputs", "give return_complex=True")
    onesided = not is_complex if onesided is None else bool(onesided)
    if onesided and is_complex:
        raise ArgumentError("stft: Cannot have onesided output if window or input is complex")
    x = input
    if center:
        x = pad(F.reshape(x, (1, -1, extent("stft", x, -1))), (n // 2, n // 2), pad_mode)
        x = F.reshape(x, (*input.shape[:-1], extent("stft", x, -1)))
    length = extent("stft", x, -1)
    if not 0 < n <= length:
        raise ArgumentError(f"stft: expected 0 < n_fft <= {length}, but got n_fft={n}")
    frames = F.unfold(x, -1, n, hop)
    factors = _window("stft", window, width, n, dtype_of(x))
    frames = frames if factors is None else frames * factors
    out = F.swapaxes(transform("rfft" if onesided else "fft", frames, normalized), -1, -2)
    return F.view_as_real(out) if return_complex is False else out


def _added(frames: Any, hop: int, length: int) -> Any:
    """Frames (batch, number, n) added where they overlap: (batch, length)."""
    batch, number, n = (extent("istft", frames, axis) for axis in range(3))
    places = (np.arange(number)[:, None] * hop + np.arange(n)).reshape(-1)
    return F.index_add(np.zeros((batch, length), dtype_of(frames)), 1, places, F.reshape(frames, (batch, number * n)))


@torch_function()
def istft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal of `stft`'s result, by least squares: real unless `return_complex`. length: of the signal, which zeros fill.

    Raises DTypeError for real numbers, ShapeError, and ArgumentError where windows leave a gap.
    """
    n, hop, width = _lengths("istft", n_fft, hop_length, win_length)
    if dtype_of(input) not in PART_OF:
        raise DTypeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    if ndim_of(input) not in (2, 3):
        raise ShapeError(f"istft: expected a tensor with 2 or 3 dimensions, got shape {shape_text(input.shape)}")
    have = extent("istft", input, -2)
    onesided = have != n if onesided is None else bool(onesided)
    if have != (n // 2 + 1 if onesided else n):
        raise ShapeError(f"istft: the frequency dimension is {have} of n_fft={n}, which does not fit onesided={onesided}")
    if return_complex and onesided:
        raise ArgumentError("istft: cannot have onesided input and complex output")
    x = F.swapaxes(input if ndim_of(input) == 3 else F.expand_dims(input, 0), 1, 2)
    total = n + hop * (extent("istft", x, 1) - 1)
    if return_complex:
        frames = transform("ifft", x, normalized)
    else:
        frames = transform("irfft", cut(x, 2, 0, n // 2 + 1), normalized, n)
    factors = _window("istft", window, width, n, dtype_of(frames))
    factors = np.ones(n, part_dtype(dtype_of(frames))) if factors is None else factors
    signal = _added(frames * factors, hop, total)
    squares = F.broadcast_to(F.square(factors), (1, extent("istft", x, 1), n))
    envelope = _added(squares, hop, total)
    start = n // 2 if center else 0
    stop = start + integer("istft", "length", length) if length is not None else total - start
    signal, envelope = cut(signal, 1, start, min(stop, total)), cut(envelope, 1, start, min(stop, total))
    _check_gaps(envelope)
    signal = signal / envelope
    if stop > total:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail.",
            UserWarning,
            stacklevel=3,
        )
        signal = fitted(signal, 1, stop - start)
    return signal if ndim_of(input) == 3 else F.squeeze(signal, 0)


def _check_gaps(envelope: Any) -> None:
    """Raises ArgumentError where nothing of the signal is known; of a tensor that has no value yet, nothing is."""
    if state.tracer is not None or state.deferral is not None:
        return
    values = envelope if isinstance(envelope, np.ndarray) else getattr(envelope, "_data", None)
    if values is not None and values.size and np.abs(values).min() <= LEAST:
        raise ArgumentError("istft: window overlap add min: 0", "choose a window and a hop_length whose windows overlap")
