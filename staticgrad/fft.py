"""`sg.fft`: PyTorch's discrete Fourier transforms, which SciPy computes on the host.

They are made in `ops/fourier.py`, beside their records; `fft.pyi` tells type checkers and editors what this module has.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np

from .base.module_paths import refusing
from .base.types import as_dtype, get_default_dtype
from .eager.creation import tensor
from .operators import Options, Tensor, factory
from .ops.fourier import FFT

globals().update(FFT)
__all__ = sorted([*FFT, "fftfreq", "rfftfreq"])


@factory(Options)
def fftfreq(n: int, d: float = 1.0, **options: Unpack[Options]) -> Tensor:
    """The frequencies of the transform of n points that lie d apart, (n,): 0, the positive ones, the negative ones."""
    return _frequencies(np.fft.fftfreq(n, d), options)


@factory(Options)
def rfftfreq(n: int, d: float = 1.0, **options: Unpack[Options]) -> Tensor:
    """The frequencies of the half spectrum of n real points that lie d apart, (n // 2 + 1,)."""
    return _frequencies(np.fft.rfftfreq(n, d), options)


def _frequencies(values: np.ndarray, options: Options) -> Tensor:
    kind = options.get("dtype")
    dtype = get_default_dtype() if kind is None else as_dtype(kind)
    return tensor(values.astype(dtype), requires_grad=options.get("requires_grad", False))


__getattr__ = refusing(__name__, __all__)
