"""The memory that a process takes is what its plan and `staticgrad scale` say, whatever is divided among processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")
sys.path.insert(0, str(Path(__file__).parent))
from test_two_processes import launch

from tests.helpers import sweep

PROGRAM = Path(__file__).parent / "memory_program.py"
PARAMETERS = 4 * 3 * (1024 * 1024 + 1024)


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux's peaks of memory")
@pytest.mark.parametrize(
    ("mode", "shard", "least"),
    sweep(
        [("compiled", "", 4), ("compiled", "optimizer", 3), ("compiled", "gradients", 2.6), ("session", "gradients", 2)],
        lambda _, case: case[1] == "gradients",
    ),
)
def test_peak_of_memory(monkeypatch, mode, shard, least):
    """least: the parameters, and what each process holds besides, as multiples of them: gradients, and two slots of its own."""
    monkeypatch.setenv("SHARD", shard)
    monkeypatch.setenv("MODE", mode)
    ended = launch(str(PROGRAM))
    assert ended.returncode == 0, ended.stderr
    found = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    assert len(found) == 2
    for each in found:
        assert each["peak"] == pytest.approx(each["predicted"], rel=0.1)
        assert least * PARAMETERS < each["predicted"] < (least + 3) * PARAMETERS
    if mode == "compiled":
        scale = ["scale", f"{PROGRAM}:step", "--repeats", "1", "--ranks", "2", "--net", "1us,100Gbit", "--json"]
        command = [sys.executable, "-m", "staticgrad", *scale]
        (row,) = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout)
        assert max(each["peak"] for each in found) == pytest.approx(row["memory"], rel=0.1)
