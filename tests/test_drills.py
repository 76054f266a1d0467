"""The drills are commands that run; `python -m tools.drills` runs them in full."""

from __future__ import annotations

import importlib.util

import pytest

from tests.soak import World
from tools import drills


def test_each_drill_is_a_module_with_a_command():
    for command in drills.commands(list(drills.DRILLS), 1.0).values():
        assert command[0] == "-m"
        assert importlib.util.find_spec(command[1]) is not None


def test_the_list_scales(capsys: pytest.CaptureFixture[str]):
    assert drills.main(["--list", "--scale", "0.5", "--only", "soak", "versions"]) == 0
    assert [line.partition("  #")[0] for line in capsys.readouterr().out.splitlines()] == [
        "python -m tests.soak --minutes 60",
        "python -m tests.faults.versions 25",
    ]


def test_a_round_of_the_soak():
    world = World(0)
    first = world.training()
    for part in (world.shapes, world.checkpoints, world.exceptions, world.threads, world.let_go):
        part()
    assert world.training() < first
    world.folder.cleanup()
