"""Random orders, from the library's generator or one that is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...operators import check_change
from ...ops.random import HOST_DRAW, Generator, current


def numbers_of(generator: Any) -> np.random.Generator:
    """NumPy's generator, seeded by the next draw of `generator` (the library's for None). Raises ArgumentError; TraceError in a
    trace, whose runs would repeat the order."""
    if isinstance(generator, np.random.Generator):
        check_change(generator, HOST_DRAW)
        return generator
    if generator is not None and not isinstance(generator, Generator):
        raise ArgumentError(f"generator is one of staticgrad's or NumPy's, got {type(generator).__name__}")
    seed, draw = map(int, (current() if generator is None else generator).take())
    return np.random.default_rng([seed, draw])
