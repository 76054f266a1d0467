"""Worker processes that compile kernels: they end with their parent, and what goes wrong with them goes no further."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.processes import ended, start

PROGRAM = """
    import os, signal, sys, threading, time, warnings
    from pathlib import Path
    import numpy as np
    import staticgrad as sg
    from staticgrad.compiler.backend import compile_pool, kernel_cache

    step = sg.compile(lambda x: sg.exp(x).sum())
    x = np.zeros(3, np.float32)

    def workers():
        leaders = {worker.leader.process.pid for worker in compile_pool.pool().workers}
        return [int(pid) for leader in leaders for pid in Path(f"/proc/{leader}/task/{leader}/children").read_text().split()]
"""
FIRST = """
    assert step(x).item() == 3
    assert "staticgrad.compiler.backend.kernel_compiler" not in sys.modules
    pids = workers()
    assert 2 <= len(pids) <= 6
    own, *nice = (os.getpriority(os.PRIO_PROCESS, pid) for pid in (0, *pids))
    assert {*nice} == {own, min(own + 10, 19)}, nice  # those who are waited for, and the patient ones
    print(*pids)
"""
WARM = """
    assert step(x).item() == 3
    assert step.recompiles == ["first call"] and not workers()
    assert not {"shutil", "subprocess"} & {*sys.modules}  # which takes time, for nothing
"""
FORKED = """
    with sg.eager_kernels():
        for _ in range(12):  # kernels are asked for, and waited for in a later call
            eager = sg.functional.silu(sg.ones(3))
        child = os.fork()
        if not child:
            signal.alarm(100)
            sg.wait_for_kernels()
            os._exit(not (step(x).item() == 3 and len(workers()) >= 1))
        assert os.waitpid(child, 0)[1] == 0
        sg.wait_for_kernels()
        assert step(x).item() == 3
"""
ABANDONED = """
    threading.Thread(target=step, args=(x,)).start()
    while not workers():
        time.sleep(0.01)
    print(*workers(), flush=True)
    if not os.fork():
        time.sleep(100)  # holds the pipes open
    time.sleep(100)
"""
KILLED = """
    compile_pool.pool().hire()
    while not workers():
        time.sleep(0.01)
    for pid in workers():
        os.kill(pid, signal.SIGSTOP)  # so that the one kernel is still missing
    threading.Timer(1, lambda: [os.kill(pid, signal.SIGKILL) for pid in workers()]).start()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert step(x).item() == 3
    print(*[str(one.message).splitlines()[0] for one in told], sep="\\n")
"""
NO_PROCESSES = """
    sys.executable = "/nowhere/python"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert [step(x).item() for _ in range(3)] == [3, 3, 3]
    print(*[str(one.message).splitlines()[0] for one in told], sep="\\n")
"""
UNUSABLE = """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert step(x).item() == 3 and "staticgrad.compiler.backend.kernel_compiler" not in sys.modules
    print(*[str(one.message).splitlines()[0] for one in told], sep="\\n")
"""


EAGER = """
    import staticgrad as sg
    from staticgrad.compiler.backend import compile_pool

    x = sg.rand(300, 300)
    for _ in range(20):  # kernels are asked for, and no call waits yet
        sg.functional.silu(x[:, :100])
    while not compile_pool.pool().workers:
        pass
"""


@pytest.fixture(autouse=True)
def _tiers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STATICGRAD_TIERS", "1")
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path / "kernels"))


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def gone(pids: list[int], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(alive, pids))


def test_they_end_with_the_process_and_none_is_started_when_all_is_cached():
    out, err = ended(start(PROGRAM + FIRST))
    assert err == ""
    assert gone([int(pid) for pid in out.split()])
    assert ended(start(PROGRAM + WARM)) == ("", "")


def test_an_eager_program_ends_while_its_kernels_are_compiled(monkeypatch):
    """At once, and without a word."""
    monkeypatch.setenv("STATICGRAD_EAGER", "kernels")
    assert ended(start(EAGER), 20) == ("", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_of_a_fork_has_workers_of_its_own():
    assert ended(start(PROGRAM + FORKED)) == ("", "")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_they_end_when_the_process_is_killed():
    process = start(PROGRAM + ABANDONED, start_new_session=True)
    assert process.stdout is not None
    pids = [int(pid) for pid in process.stdout.readline().split()]
    try:
        process.kill()
        assert pids
        assert gone(pids)
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # the child
        ended(process)


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (KILLED, "kernels are compiled in this process, which waits for them: a worker that compiles ended by signal 9\n"),
        (NO_PROCESSES, "kernels are compiled in this process, which waits for them: no process can be started to compile: "),
    ],
    ids=["killed", "not started"],
)
def test_without_workers_this_process_compiles_and_says_so_once(program: str, told: str):
    out, err = ended(start(PROGRAM + program))
    assert out.startswith(told), (out, err)
    assert out.count("\n") == 1


def test_code_arrives_where_the_cache_is_unusable(tmp_path: Path):
    (tmp_path / "kernels").mkdir(mode=0o777)
    (tmp_path / "kernels").chmod(0o777)
    out, err = ended(start(PROGRAM + UNUSABLE))
    assert out == f"the kernel cache {tmp_path / 'kernels'} is not used: other users can write to it\n", err
