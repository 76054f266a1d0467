"""What is noted about arrays that are 0 but for a few rows."""

from __future__ import annotations

import numpy as np

from staticgrad.ops import sparse_rows


def test_notes_live_as_long_as_their_arrays():
    before = len(sparse_rows.noted)
    array = np.zeros((5, 2))
    sparse_rows.note(array, np.array([[3, 1], [3, 0]]))
    assert sparse_rows.rows_of(array).tolist() == [3, 1, 3, 0]
    assert sparse_rows.rows_of(array.copy()) is None
    del array
    assert len(sparse_rows.noted) == before


def test_a_sum_has_the_rows_of_both():
    a, b, dense = np.zeros((5, 2)), np.zeros((5, 2)), np.ones((5, 2))
    sparse_rows.note(a, np.array([1]))
    sparse_rows.note(b, np.array([2, 1]))
    assert sparse_rows.rows_of(sparse_rows.carry(a + b, a, b)).tolist() == [1, 2, 1]
    assert sparse_rows.rows_of(sparse_rows.carry(a + dense, a, dense)) is None
    assert sparse_rows.rows_of(sparse_rows.carry(a, a, dense)) is None
