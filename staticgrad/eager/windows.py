"""Windows of signals, by PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..devices import check_options
from ..operators import Tensor, public
from ..types import DTypeLike, as_dtype, as_shape, get_default_dtype
from .creation import made


def _window(
    name: str, length: int, periodic: bool, values: Callable[[np.ndarray], np.ndarray], dtype: DTypeLike | None,
    requires_grad: bool, options: dict[str, Any],
) -> Tensor:  # fmt: skip
    """`values` of places in [0, 1]; a periodic window is one of a further element, which is left out."""
    check_options(name, **options)
    (n,) = as_shape((length,))
    kind = get_default_dtype() if dtype is None else as_dtype(dtype)
    last = n if periodic else n - 1
    found = np.ones(n) if n <= 1 else values(np.arange(n) / last)
    return made(found.astype(kind), requires_grad)


@public
def hann_window(
    window_length: int, periodic: bool = True, *, dtype: DTypeLike | None = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """(1 - cos(2 pi t)) / 2, (window_length,)."""
    options = {"layout": layout, "device": device}
    return _window("hann_window", window_length, periodic, _cosines(0.5, 0.5), dtype, requires_grad, options)


@public
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: DTypeLike | None = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """alpha - beta cos(2 pi t), (window_length,)."""
    options = {"layout": layout, "device": device}
    return _window("hamming_window", window_length, periodic, _cosines(alpha, beta), dtype, requires_grad, options)


@public
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: DTypeLike | None = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t), (window_length,)."""
    options = {"layout": layout, "device": device}
    return _window("blackman_window", window_length, periodic, _cosines(0.42, 0.5, 0.08), dtype, requires_grad, options)


@public
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: DTypeLike | None = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A triangle, (window_length,)."""
    options = {"layout": layout, "device": device}
    triangle: Callable[[np.ndarray], np.ndarray] = lambda t: 1 - np.abs(2 * t - 1)  # noqa: E731
    return _window("bartlett_window", window_length, periodic, triangle, dtype, requires_grad, options)


@public
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: DTypeLike | None = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """i0(beta sqrt(1 - (2 t - 1)^2)) / i0(beta), (window_length,)."""

    def bell(t: np.ndarray) -> np.ndarray:
        result: np.ndarray = np.i0(beta * np.sqrt(np.maximum(1 - (2 * t - 1) ** 2, 0))) / np.i0(beta)
        return result

    options = {"layout": layout, "device": device}
    return _window("kaiser_window", window_length, periodic, bell, dtype, requires_grad, options)


def _cosines(*weights: float) -> Callable[[np.ndarray], np.ndarray]:
    """Their sum with signs in turn."""

    def values(t: np.ndarray) -> np.ndarray:
        return np.asarray(sum((-1) ** k * w * np.cos(2 * np.pi * k * t) for k, w in enumerate(weights)))

    return values


__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]
