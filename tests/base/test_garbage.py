"""Pauses of the garbage collector: by several threads, by children of a fork, and by traces."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.base import interpreter


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_the_collector_runs_again_when_the_last_thread_is_done():
    with interpreter.paused():
        in_thread(lambda: (interpreter.pause(), interpreter.resume()))
        with interpreter.paused(old=True):
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        with interpreter.paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_is_old_is_collected_with_all_objects():
    gc.unfreeze()  # what others froze stays frozen
    with interpreter.paused(old=True):
        cycle = [set()]
        cycle.append(cycle)
    assert not any(found is cycle for found in gc.get_objects(0))
    assert any(found is cycle for found in gc.get_objects(2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_fork_has_no_pauses_of_other_threads():
    begun, over = threading.Event(), threading.Event()

    def hold():
        with interpreter.paused():
            begun.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if gc.isenabled() else 1)
    over.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert gc.isenabled()


def test_another_threads_plan_does_not_end_the_pause_of_a_trace():
    def traced(x):
        other = threading.Thread(target=lambda: sg.compile(lambda y: y * 3)(np.ones(2)), name="other")
        np.fromfunction(other.start, ())  # called by NumPy, whose frames are not observed
        np.fromfunction(other.join, ())
        enabled.append(np.fromfunction(gc.isenabled, ()))
        return x * 2

    enabled = []
    step = sg.compile(traced, on_break="eager")
    step(np.ones(2))
    assert not enabled[0]
    assert gc.isenabled()


def test_a_generator_of_a_trace_goes_on_while_another_thread_is_traced():
    """CPython 3.12.1 calls a trace function that this thread has not, for frames that ask for their instructions."""

    def numbers():
        yield from range(3)

    def traced(x):
        found = numbers()
        raise KeyError(next(found), found)

    def watched():
        sys.settrace(lambda *_: None)
        begun.set()
        over.wait()
        sys.settrace(None)

    begun, over = threading.Event(), threading.Event()
    with pytest.raises(KeyError) as caught:
        sg.compile(traced)(sg.ones(2))
    thread = threading.Thread(target=watched)
    thread.start()
    begun.wait()
    rest = list(caught.value.args[1])
    over.set()
    thread.join()
    assert rest == [1, 2]


LEAVING = """
import atexit, gc, os, sys
born = gc.get_freeze_count()  # Python 3.12 begins with frozen objects of its own
atexit.register(lambda: print(gc.get_freeze_count() > born, flush=True))
import staticgrad

class Owner:
    pass

owner = Owner()
owner.itself = owner
"""


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        ("", "True"),
        ("owner.file = open(sys.argv[1], 'w'); owner.file.write('whole')", "True"),
        ("Owner.__del__ = lambda self, write=os.write: write(1, b'deleted\\n')", "False\ndeleted"),
    ],
    ids=["nothing", "file", "finalizer"],
)
def test_the_end_of_a_process_collects_only_what_has_to_be(tmp_path, program: str, printed: str):
    file = tmp_path / "text"
    done = subprocess.run([sys.executable, "-c", LEAVING + program, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == printed
    assert not file.exists() or file.read_text() == "whole"
    assert file.exists() is ("open" in program)
