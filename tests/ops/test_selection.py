"""Choices between large arrays have the bits of what is chosen."""

from __future__ import annotations

import numpy as np
import pytest

from staticgrad.ir import REGISTRY
from staticgrad.ops.selection import CHOSEN

SHAPES = {
    "arrays": ((2, CHOSEN), (2, CHOSEN), (2, CHOSEN)),
    "a number first": ((2, CHOSEN), (), (2, CHOSEN)),
    "a number last": ((2, CHOSEN), (2, CHOSEN), ()),
    "numbers": ((2, CHOSEN), (), ()),
    "a condition for rows": ((CHOSEN, 1), (CHOSEN, 3), (3,)),
    "rows for a condition": ((3, CHOSEN), (CHOSEN,), (3, 1)),
}
SPECIAL = 0.0, -0.0, 1.0, -1.5, np.nan, -np.nan, np.inf, -np.inf, 5e-324


@pytest.mark.parametrize("first", SPECIAL)
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits(dtype: type, name: str, first: float):
    rng = np.random.default_rng(0)
    kinds = (np.array([False, True]), np.array([*SPECIAL, first], dtype), np.array([first], dtype))
    given = [np.asarray(rng.choice(kind, shape)) for kind, shape in zip(kinds, SHAPES[name], strict=True)]
    found, wanted = REGISTRY["where"].eval(*given), np.where(*given)
    assert (found.dtype, found.shape, found.base) == (wanted.dtype, wanted.shape, None)
    assert found.tobytes() == wanted.tobytes()
