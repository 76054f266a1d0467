"""Several processes and one kernel cache; forks while kernels are compiled; a cache that is removed during a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.processes import ended, start

COMPILE = """
    import os, sys, threading
    import numpy as np
    import staticgrad as sg
    from staticgrad.compiler.backend import kernel_cache as jit

    def works(number):
        step = sg.compile(lambda x: sg.exp(x * 0) * number)
        assert step(np.ones(3, np.float32)).tolist() == [number] * 3

    def fresh(lines):
        body = "@kernel\\ndef kernel(buffers, sizes, start, stop):\\n    x0 = f64_at(buffers, 0)\\n"
        jit.load(body + "    x0[0] = f64(1)\\n" * lines)
"""
SAME = """
    works(2)
    fresh(1)
    fresh(2)
    print("done")
"""
FORKS = """
    works(2)
    fresh(1)
    stop = False

    def compiling():
        lines = 2
        while not stop:
            fresh(lines)
            lines += 1

    thread = threading.Thread(target=compiling)
    thread.start()
    failed = 0
    for i in range(6):
        threading.Event().wait(0.01 * i)
        child = os.fork()
        if not child:
            import signal
            signal.alarm(60)
            fresh(100 + i)
            os._exit(0)
        failed += os.waitpid(child, 0)[1] != 0
    stop = True
    thread.join()
    print(failed)
"""
REMOVED = """
    import shutil
    folder = os.environ["STATICGRAD_CACHE_DIR"]
    for number in range(1, 4):
        works(number)
        fresh(number)
        shutil.rmtree(folder)
    works(4)
    fresh(4)
    print(len(os.listdir(folder)) > 0)
"""


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path / "kernels"))


def test_several_processes_compile_the_same_kernels(tmp_path: Path):
    processes = [start(COMPILE + SAME) for _ in range(3)]
    assert [ended(process)[0] for process in processes] == ["done\n"] * 3
    assert not [*(tmp_path / "kernels").glob("*.tmp")]
    again = start(COMPILE + SAME + "    assert jit.Counters.compiled == 0, jit.Counters.compiled\n")
    assert ended(again)[0] == "done\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forks_while_a_thread_compiles():
    out, err = ended(start(COMPILE + FORKS), 300)
    assert out == "0\n", err


def test_a_cache_that_is_removed_during_a_run():
    out, err = ended(start(COMPILE + REMOVED))
    assert out == "True\n", err
