"""The interpreter's errors."""

from __future__ import annotations

import numpy as np
import pytest

from staticgrad.errors import IndexRangeError
from staticgrad.ir import REGISTRY
from staticgrad.ir.graph import interpret
from staticgrad.operators import apply
from tests.compiler.helpers import Bench


def test_a_position_outside_of_its_array():
    b = Bench()
    picked = apply(REGISTRY["gather"], b.feed(4, 2), b.feed(value=np.array([4])), axis=0)
    with pytest.raises(IndexRangeError, match=r"gather: index 4 is out of bounds for axis 0 with size 4") as caught:
        interpret(b.graph, [picked.node], b.leaves())
    assert "picked = apply(" in str(caught.value)
