"""Points in the unit cube and of the frequency axis: Sobol sequences, which SciPy computes on the host with PyTorch's direction
numbers, and the functions of `sg.fft` that transform nothing. The transforms are in `ops/fourier.py`, beside their records."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from ..base.dtypes import as_dtype
from ..base.types import get_default_dtype
from ..eager import generator
from ..eager.creation import tensor
from ..errors import ArgumentError
from ..ops.operators import Options, Tensor, factory


class SobolEngine:
    """Points of a Sobol sequence in the unit cube, of low discrepancy. scramble: with a random matrix and shift, by `seed`.

    The first point is 0 without scrambling. Scrambled points differ from PyTorch's of the same seed. Raises
    ArgumentError.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ArgumentError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self._start = int(generator.take()[0]) if scramble and seed is None else seed
        self.reset()

    def reset(self) -> SobolEngine:
        """Begin anew."""
        from scipy.stats import qmc

        self._sequence = qmc.Sobol(self.dimension, scramble=self.scramble, bits=self.MAXBIT, rng=self._start)
        self.num_generated = 0
        return self

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Any:
        """The next n points, (n, dimension)."""
        import warnings

        with warnings.catch_warnings():  # any number of points is a user's choice
            warnings.simplefilter("ignore", UserWarning)
            points = self._sequence.random(n)
        self.num_generated += n
        found = tensor(points.astype(get_default_dtype() if dtype is None else as_dtype(dtype)))
        return found if out is None else out.copy_(found)

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Any:
        """The next 2**m points. Raises ArgumentError where their number with those before is no power of 2."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ArgumentError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points have been "
                f"previously generated, then: n={self.num_generated}+2**{m}={total}.",
                "use draw()",
            )
        return self.draw(n, out, dtype)

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave n points out."""
        self._sequence.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}", *(["scramble=True"] if self.scramble else [])]
        parts += [] if self.seed is None else [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(parts)})"


__all__ = ["SobolEngine", "fftfreq", "rfftfreq"]


# torch.fft ------------------------------------------------------------------------------------------------------------


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
