"""What is noted about arrays that are 0 but for a few rows."""

from __future__ import annotations

import numpy as np

from staticgrad.ops import touched


def test_notes_live_as_long_as_their_arrays():
    before = len(touched._noted)
    array = np.zeros((5, 2))
    touched.note(array, np.array([[3, 1], [3, 0]]))
    assert touched.rows_of(array).tolist() == [3, 1, 3, 0]
    assert touched.rows_of(array.copy()) is None
    del array
    assert len(touched._noted) == before


def test_a_sum_has_the_rows_of_both():
    a, b, dense = np.zeros((5, 2)), np.zeros((5, 2)), np.ones((5, 2))
    touched.note(a, np.array([1]))
    touched.note(b, np.array([2, 1]))
    assert touched.rows_of(touched.carry(a + b, a, b)).tolist() == [1, 2, 1]
    assert touched.rows_of(touched.carry(a + dense, a, dense)) is None
    assert touched.rows_of(touched.carry(a, a, dense)) is None
