"""The benchmark of eager overhead runs, and its operations are what they say."""

from __future__ import annotations

import json
import sys

from benchmarks import eager_ops, eager_overhead


def test_the_benchmark_runs_without_torch(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(eager_overhead, "_torch", lambda: None)
    rows = eager_overhead.main(["--rounds", "1", "--json", str(tmp_path / "rows.json")])
    assert [row.case for row in rows] == [*eager_overhead.OPERATIONS, *eager_overhead.CHAINS]
    assert all(row.ours > 0 and row.torch is None for row in rows)
    assert "a @ b" in capsys.readouterr().out
    assert (tmp_path / "rows.json").exists()


def test_the_table_of_single_operations(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    file = tmp_path / "rows.json"
    rows = eager_ops.main(["--case", "relu", "softmax", "--size", "8", "--seconds", "0.01", "--json", str(file)])
    assert [(row.case, row.direction) for row in rows] == [
        (case, direction) for case in ("relu", "softmax") for direction in ("forward", "backward")
    ]
    assert all(row.ours > 0 and row.torch is None for row in rows)
    assert len(json.loads(file.read_text())) == 4
