"""Rows of the op-case table for complex numbers: functions of real operands that compute with complex ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import staticgrad as sg
from tests.helpers import real

PAIRS = ((real(3, 4), real(3, 4)), (real(2, 1), real(3)), (real(), real(2)))
SIGNALS = ((real(2, 6),), (real(5),), (real(1, 3),))
SPECTRUM = ((real(2, 4), real(2, 4)), (real(3), real(3)))


def pairs(z: np.ndarray) -> np.ndarray:
    return np.stack([z.real, z.imag], -1)


def _sgn(z: np.ndarray) -> np.ndarray:
    return z / np.abs(z)


def _seen(x: Any) -> Any:
    """A signal whose transform is multiplied by factors of its own, so that derivatives depend on the place."""
    return sg.view_as_real(sg.fft.fft(x) * sg.fft.fft(x * x))


def rows(case: Callable[..., Any]) -> list[Any]:
    known = "the extent of axis"
    return [
        case("complex", lambda x, y: sg.view_as_real(sg.complex(x, y) * sg.complex(y, x)),
             lambda x, y: pairs((x + 1j * y) * (y + 1j * x)), PAIRS),
        case("complex parts", lambda x, y: sg.complex(x, y).square().real * sg.complex(x, y).conj().imag,
             lambda x, y: ((x + 1j * y) ** 2).real * -y, PAIRS),
        case("complex sgn", lambda x, y: sg.view_as_real(sg.complex(x, y).sgn()),
             lambda x, y: pairs(_sgn(x + 1j * y)), PAIRS, ulps=8.0),
        case("view_as_complex", lambda x: abs(sg.view_as_complex(x).exp()),
             lambda x: np.exp(x[..., 0]), ((real(3, 2),), (real(2),)), ulps=8.0),
        case("fft", _seen, lambda x: pairs(np.fft.fft(x) * np.fft.fft(x * x)), SIGNALS, ulps=64.0),
        case("rfft", lambda x: abs(sg.fft.rfft(x, n=5)) ** 2, lambda x: np.abs(np.fft.rfft(x, n=5)) ** 2, SIGNALS,
             ulps=64.0, refused=known),
        case("irfft", lambda x, y: sg.fft.irfft(sg.complex(x, y) ** 2, n=6), lambda x, y: np.fft.irfft((x + 1j * y) ** 2, n=6),
             SPECTRUM, ulps=64.0, refused=known),
        case("linalg.eigvals", lambda x: abs(sg.linalg.eigvals(x)).sum(), lambda x: np.abs(np.linalg.eigvals(x)).sum(),
             ((real(3, 3),),), host=True, ulps=256.0, refused="matrices of known extents"),
    ]  # fmt: skip
