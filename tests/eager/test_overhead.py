"""The benchmark of eager overhead runs, and its operations are what they say."""

from __future__ import annotations

from benchmarks import eager_overhead


def test_the_benchmark_runs_without_torch(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(eager_overhead, "_torch", lambda: None)
    rows = eager_overhead.main(["--rounds", "1", "--json", str(tmp_path / "rows.json")])
    assert [row.case for row in rows] == [*eager_overhead.OPERATIONS, *eager_overhead.CHAINS]
    assert all(row.ours > 0 and row.torch is None for row in rows)
    assert "a @ b" in capsys.readouterr().out
    assert (tmp_path / "rows.json").exists()
