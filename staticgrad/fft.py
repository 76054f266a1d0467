"""`sg.fft`: Fourier transforms are complex, and tensors are not; each name says what to write instead."""

from __future__ import annotations

from typing import Any

from .types import COMPLEX


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {'; '.join(COMPLEX)}")
