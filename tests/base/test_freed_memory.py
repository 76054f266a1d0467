"""Memory that arrays have freed stays with the process."""

from __future__ import annotations

import platform

import pytest

from tests.processes import ended, start

PROGRAM = """
import resource
import numpy as np
import staticgrad

def step():
    for size in (1, 2, 3, 4):
        parts = [np.ones(size << 18, np.float32) for _ in range(3)]
        del parts

for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 10)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have settings of their own")
def test_arrays_of_a_step_have_the_pages_of_the_step_before(monkeypatch: pytest.MonkeyPatch):
    ours = start(PROGRAM)
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "131072")
    users = start(PROGRAM)
    assert int(ended(ours)[0]) < 50
    assert int(ended(users)[0]) > 500
