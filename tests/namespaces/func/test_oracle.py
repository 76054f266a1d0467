"""Programs of function transforms: the same values as PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.namespaces.func.programs import PROGRAMS, Program

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning"),
]


def compared(ours: Any, theirs: Any, at: str = "") -> None:
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            compared(ours[key], theirs[key], f"{at}[{key!r}]")
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs), at
        for i, pair in enumerate(zip(ours, theirs, strict=True)):
            compared(*pair, f"{at}[{i}]")
    else:
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), 1e-9, 1e-9, err_msg=at)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_values_are_those_of_pytorch(program: Program):
    arrays = program.arrays()
    ours = program.run(sg, *[sg.tensor(a, dtype=sg.float64) for a in arrays])
    compared(ours, program.run(torch, *map(torch.tensor, arrays)))
