"""Windows of signals, by PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

import numpy as np

from ..base.dtypes import as_dtype
from ..base.types import as_shape, get_default_dtype
from ..ops.operators import Options, Tensor, factory, public
from .creation import tensor

Values = Callable[[np.ndarray], np.ndarray]


def _window(length: int, periodic: bool, values: Values, options: Options) -> Tensor:
    """`values` of places in [0, 1]; a periodic window is one of a further element, which is left out."""
    (n,) = as_shape((length,))
    last = n if periodic else n - 1
    found = np.ones(n) if n <= 1 else values(np.arange(n) / last)
    kind = options.get("dtype")
    dtype = get_default_dtype() if kind is None else as_dtype(kind)
    return tensor(found.astype(dtype), requires_grad=options.get("requires_grad", False))


def _cosines(*weights: float) -> Values:
    """Their sum with signs in turn."""

    def values(t: np.ndarray) -> np.ndarray:
        return np.asarray(sum((-1) ** k * w * np.cos(2 * np.pi * k * t) for k, w in enumerate(weights)))

    return values


def _triangle(t: np.ndarray) -> np.ndarray:
    return np.asarray(1 - np.abs(2 * t - 1))


@public
@factory(Options)
def hann_window(window_length: int, periodic: bool = True, **options: Unpack[Options]) -> Tensor:
    """(1 - cos(2 pi t)) / 2, (window_length,)."""
    return _window(window_length, periodic, _cosines(0.5, 0.5), options)


@public
@factory(Options)
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Unpack[Options]
) -> Tensor:
    """alpha - beta cos(2 pi t), (window_length,)."""
    return _window(window_length, periodic, _cosines(alpha, beta), options)


@public
@factory(Options)
def blackman_window(window_length: int, periodic: bool = True, **options: Unpack[Options]) -> Tensor:
    """0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t), (window_length,)."""
    return _window(window_length, periodic, _cosines(0.42, 0.5, 0.08), options)


@public
@factory(Options)
def bartlett_window(window_length: int, periodic: bool = True, **options: Unpack[Options]) -> Tensor:
    """A triangle, (window_length,)."""
    return _window(window_length, periodic, _triangle, options)


@public
@factory(Options)
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Unpack[Options]) -> Tensor:
    """i0(beta sqrt(1 - (2 t - 1)^2)) / i0(beta), (window_length,)."""

    def bell(t: np.ndarray) -> np.ndarray:
        return np.asarray(np.i0(beta * np.sqrt(np.maximum(1 - (2 * t - 1) ** 2, 0))) / np.i0(beta))

    return _window(window_length, periodic, bell, options)


__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]
