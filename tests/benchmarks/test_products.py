"""The benchmark of products runs, and covers what it says."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks import products


def test_rows_are_of_all_libraries(tmp_path: Path):
    file = tmp_path / "rows.json"
    rows = products.main(["--shapes", "2", "--high", "40", "--most", "1e6", "--seconds", "0.01", "--json", str(file)])
    assert len(rows) == len(json.loads(file.read_text())) == 2
    for row in rows:
        assert row.ours > 0
        assert row.numpy > 0
        assert row.ratio > 0


def test_random_shapes_come_with_all_combinations():
    drawn = list(products.products(60, 16, 4096, every=False))
    assert len(drawn) == 63
    assert {p.turned for p in drawn} == {*products.TURNED}
    assert {p.dtype for p in drawn} == {"float32", "float64"}
    assert {p.bias for p in drawn} == {False, True}
    assert all(min(p.m, p.n, p.k) >= 16 and max(p.m, p.n, p.k) <= 4096 for p in drawn)
    kinds = len({p[3:] for p in products.products(0, 16, 4096, every=True)})
    assert len(list(products.products(2, 16, 4096, every=True))) == 5 * kinds
