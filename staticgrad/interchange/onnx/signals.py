"""ONNX's spectra and windows, and random numbers."""

from __future__ import annotations

import numpy as np

from ... import fft
from ...eager import rand, randn
from ...operators import F
from ...ops.random import Generator
from .records import T, dtype_of, reader


def _complex(x: T) -> T:
    """The complex numbers whose parts the last axis holds; of an axis of one, real numbers."""
    return x[..., 0] if x.shape[-1] == 1 else F.view_as_complex(x.contiguous())


@reader("DFT", values=(1, 2))
def _dft(x: T, length: T = None, axis_input: T = None, *, axis: int | None = None, inverse: int = 0, onesided: int = 0) -> T:
    along = int(axis_input) if axis_input is not None else 1 if axis is None else axis
    along = along % x.ndim if along < 0 else along
    n = None if length is None else int(length)
    if onesided and inverse:
        return F.expand_dims(fft.irfft(_complex(x), n, along), -1)
    signal = _complex(x)
    if onesided:
        return F.view_as_real(fft.rfft(signal, n, along))
    return F.view_as_real((fft.ifft if inverse else fft.fft)(signal, n, along))


@reader("STFT", values=(1, 3))
def _stft(signal: T, step: T, window: T = None, length: T = None, *, onesided: int = 1) -> T:
    hop = int(step)
    size = int(length) if length is not None else window.shape[0]
    signal = signal if signal.ndim == 2 else _complex(signal)
    count = (signal.shape[-1] - size) // hop + 1
    places = np.arange(count)[:, None] * hop + np.arange(size)
    frames = F.reshape(F.index_select(signal, 1, places.reshape(-1)), (signal.shape[0], count, size))
    frames = frames if window is None else frames * window
    return F.view_as_real((fft.rfft if onesided and frames.dtype.kind == "f" else fft.fft)(frames, None, -1))


def _window(op: str, weights: tuple[float, ...]) -> None:
    @reader(op, values=(0,))
    def write(size: T, *, output_datatype: int = 1, periodic: int = 1) -> T:
        n = int(size)
        angle = 2 * np.pi * np.arange(n) / (n if periodic else n - 1)
        return sum(w * np.cos(i * angle) for i, w in enumerate(weights)).astype(dtype_of(output_datatype))  # type: ignore[union-attr]


_window("HannWindow", (0.5, -0.5))
_window("HammingWindow", (25 / 46, -21 / 46))
_window("BlackmanWindow", (0.42, -0.5, 0.08))


@reader("MelWeightMatrix", values=(0, 1, 2, 3, 4))
def _mel(bins: T, length: T, rate: T, low: T, high: T, *, output_datatype: int = 1) -> T:
    n = int(bins)
    ends = 2595 * np.log10(1 + np.array([float(low), float(high)]) / 700)
    step = (ends[1] - ends[0]) / (n + 2)
    hertz = 700 * (np.power(10, (np.arange(n + 2) * step + ends[0]) / 2595) - 1)
    place = ((int(length) + 1) * hertz // int(rate)).astype(np.int64)
    matrix = np.zeros((int(length) // 2 + 1, n))
    for i in range(n):
        first, center, last = place[i : i + 3]
        if center == first:
            matrix[center, i] = 1
        else:
            matrix[first : center + 1, i] = np.arange(center - first + 1) / (center - first)
        if last > center:
            matrix[center:last, i] = np.arange(last - center, 0, -1) / (last - center)
    return matrix.astype(dtype_of(output_datatype))


# random numbers: a node with a seed draws the same ones in every run


def _generator(seed: float | None) -> Generator | None:
    return None if seed is None else Generator().manual_seed(int(seed))


def _kind(x: T, dtype: int | None) -> np.dtype:
    return x.dtype if dtype is None else dtype_of(dtype)


@reader("RandomNormal")
def _random_normal(
    *, shape: tuple[int, ...], dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> T:
    return randn(shape, dtype=dtype_of(dtype), generator=_generator(seed)) * scale + mean


@reader("RandomUniform")
def _random_uniform(
    *, shape: tuple[int, ...], dtype: int = 1, low: float = 0.0, high: float = 1.0, seed: float | None = None
) -> T:
    return rand(shape, dtype=dtype_of(dtype), generator=_generator(seed)) * (high - low) + low


@reader("RandomNormalLike")
def _random_normal_like(
    x: T, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> T:
    return randn(tuple(x.shape), dtype=_kind(x, dtype), generator=_generator(seed)) * scale + mean


@reader("RandomUniformLike")
def _random_uniform_like(
    x: T, *, dtype: int | None = None, low: float = 0.0, high: float = 1.0, seed: float | None = None
) -> T:
    return rand(tuple(x.shape), dtype=_kind(x, dtype), generator=_generator(seed)) * (high - low) + low


@reader("Bernoulli")
def _bernoulli(x: T, *, dtype: int | None = None, seed: float | None = None) -> T:
    drawn = rand(tuple(x.shape), dtype=x.dtype, generator=_generator(seed))
    return F.astype(F.lt(drawn, x), _kind(x, dtype))


@reader("Multinomial")
def _multinomial(x: T, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None) -> T:
    return F.astype(F.multinomial(F.softmax(x, -1), sample_size, True, generator=_generator(seed)), dtype_of(dtype))


@reader("NonMaxSuppression", values=(0, 1, 2, 3, 4))
def _non_max_suppression(
    boxes: T, scores: T, most: T = None, overlap: T = None, least: T = None, *, center_point_box: int = 0
) -> T:
    limit = 0 if most is None else int(np.reshape(most, ()))
    share = 0.0 if overlap is None else float(np.reshape(overlap, ()))
    if center_point_box:
        centers, sizes = boxes[..., :2], boxes[..., 2:]
        low, high = centers - sizes / 2, centers + sizes / 2
    else:
        low, high = np.minimum(boxes[..., :2], boxes[..., 2:]), np.maximum(boxes[..., :2], boxes[..., 2:])
    areas = (high - low).prod(-1)
    found = []
    for b, c in np.ndindex(*scores.shape[:2]):
        kept: list[int] = []
        for i in np.argsort(-scores[b, c], kind="stable"):
            if len(kept) == limit or (least is not None and scores[b, c, i] <= float(np.reshape(least, ()))):
                break
            common = np.maximum(np.minimum(high[b, kept], high[b, i]) - np.maximum(low[b, kept], low[b, i]), 0).prod(-1)
            if not (common > share * (areas[b, kept] + areas[b, i] - common)).any():
                kept.append(int(i))
        found += [(b, c, i) for i in kept]
    return np.array(found, np.int64).reshape(-1, 3)
