"""Every row of the op-case table in one compiled function over three shapes: the second is traced over symbolic extents, the
third is traced again only where the op asks for a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.helpers import assert_close
from tests.ops.cases import Case
from tests.ops.modes import leaves, slopes
from tests.ops.test_cases import FIRST, as_list, draw


def larger(array: np.ndarray, by: int) -> np.ndarray:
    """The array over longer axes; extents of 0 and 1 stay."""
    return np.resize(array, tuple(d + by if d > 1 else d for d in array.shape)).astype(array.dtype) if array.size else array


@pytest.mark.parametrize(("case", "sample"), FIRST)
def test_values_and_gradients(case: Case, sample: Any):
    """With the numerics of eager mode: no kernel is compiled."""

    def program(*xs: Any) -> tuple[Any, ...]:
        values = as_list(case.fn(*xs))
        smooth = [y for y in values if y.dtype.kind == "f" and y.requires_grad]
        floating = [x for x in xs if x.dtype.kind == "f"]
        return (*values, *(slopes(sum(sg.sum(y * y) for y in smooth), floating) if smooth and floating else ()))

    arrays = draw(case, sample, case.dtypes[0])
    compiled = sg.compile(program, numerics="strict")
    for by in (0, 2, 5):
        given = [larger(array, by) for array in arrays]
        try:
            expected = [r.detach().numpy() for r in program(*leaves(given))]
        except (sg.StaticgradError, ValueError, IndexError, TypeError):  # the row needs the shapes that it has
            return
        for a, b in zip(compiled(*leaves(given)), expected, strict=True):
            assert_close(a.detach().numpy(), b, 1e-5, what=f"{by} more, {compiled.recompiles}")
