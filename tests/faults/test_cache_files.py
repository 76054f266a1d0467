"""Damaged files of the kernel cache; `python -m tests.faults.cache_files 10000` does many."""

from __future__ import annotations

from tests.faults.cache_files import FILES, FOLDER, HARMLESS
from tests.processes import ended, start


def test_damage_of_each_kind_is_healed():
    count = len(FILES) + len(HARMLESS) + len(FOLDER)
    out, err = ended(start(f"from tests.faults.cache_files import main; main({count}, 0)"), 300)
    assert out == f"{count} healed\n", err
