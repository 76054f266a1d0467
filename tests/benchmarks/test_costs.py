"""The page of costs: what it shows on a busy machine, and sizes of caches."""

from __future__ import annotations

from pathlib import Path

from benchmarks import costs

ROW = ["digits", "compiled", "0.10", "1.00", "2.00", "0.30", "0.40", "50", "3", "0.1"]


def test_a_busy_machine_shows_no_seconds_of_the_wall_clock():
    idle, busy = costs.page_table([ROW], 0.5), costs.page_table([ROW], 9.0)
    assert idle == [list(costs.COLUMNS), ROW]
    assert busy[1] == ["digits", "compiled", "2.00", "0.40", "50", "3", "0.1"]
    assert [name for name in costs.COLUMNS if name not in busy[0]] == list(costs.WALL)


def test_the_size_of_a_folder_is_that_of_its_files(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"x" * 1_500_000)
    (tmp_path / "file").write_bytes(b"x" * 500_000)
    assert costs.size_of(tmp_path) == 2.0
