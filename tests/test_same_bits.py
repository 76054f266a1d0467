"""One seed gives one result: in every process, whatever the kernel cache has, how busy the machine is, and how strings hash."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.processes import ROOT
from tests.seeded_programs import PROGRAMS

BUSY = "while True: pass"


@contextmanager
def busy() -> Iterator[None]:
    """More processes that want a CPU than there are."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range((os.cpu_count() or 1) + 1)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def hashes(cache: Path, **environment: str) -> dict[str, str]:
    """Of all programs, in a process of their own."""
    unset = ("STATICGRAD_EAGER", "STATICGRAD_PLANS", "STATICGRAD_TIERS")  # as a user has them
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env |= {"PYTHONPATH": str(ROOT), "STATICGRAD_CACHE_DIR": str(cache), **environment}
    done = subprocess.run(
        [sys.executable, "-m", "tests.seeded_programs"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    cache = tmp_path_factory.mktemp("kernels")
    found = {"empty cache": hashes(cache), "full cache": hashes(cache)}
    with busy():
        found["busy machine, other hashes"] = hashes(cache, PYTHONHASHSEED="5")
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_seed_gives_the_same_bits(runs: dict[str, dict[str, str]], name: str):
    first, *others = [found[name] for found in runs.values()]
    assert others == [first, first]
