"""The functions of `sg.fft` that transform nothing; the transforms are made in `ops/fourier.py`, beside their records."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from ..base.dtypes import as_dtype
from ..base.types import get_default_dtype
from ..eager.creation import tensor
from ..ops.operators import Options, Tensor, factory

__all__ = ["fftfreq", "rfftfreq"]


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
