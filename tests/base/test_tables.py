"""The table of what was used last."""

from __future__ import annotations

import pytest

from staticgrad.base.tables import Bounded


def test_what_is_used_stays():
    """However many others come in between, a key stays as long as it is read before `most` others were entered."""
    table: Bounded[int] = Bounded(3)
    table["hot"] = 1
    for i in range(100):
        table[i] = i
        assert table["hot"] == 1
        assert table[i] == i
    assert len(table.everything()) <= 6


@pytest.mark.parametrize("most", [1, 2, 7])
def test_what_was_used_last_is_there(most: int):
    table: Bounded[int] = Bounded(most)
    for i in range(50):
        table[i] = i
        assert [table[k] for k in range(max(0, i - most + 1), i + 1)] == [*range(max(0, i - most + 1), i + 1)]
        assert len(table.everything()) <= 2 * most


def test_a_value_that_is_replaced_or_forgotten_is_gone_from_both_generations():
    table: Bounded[str] = Bounded(2)
    table["a"] = "old"
    table["b"], table["c"] = "b", "c"
    table["a"] = "new"
    assert table["a"] == "new"
    table["d"], table["e"] = "d", "e"
    assert table["a"] == "new"
    table.forget("a")
    assert table["a"] is None
    table.clear()
    assert table.everything() == {}


def test_keys_that_cannot_be_hashed():
    with pytest.raises(TypeError):
        Bounded(2)[[1]]  # type: ignore[index]
