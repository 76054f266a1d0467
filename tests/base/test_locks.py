"""Locks after a fork: those of other threads are free, those of the thread that forks are its own; and after a Ctrl-C."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.processes import ended, start

BEGIN = """
import os, signal, sys, threading, time
import numpy as np
import staticgrad as sg

def child_of_fork(check):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if check() else 1)
    assert os.waitpid(child, 0)[1] == 0
"""

PLANS = """
from staticgrad.compiler.runtime import loader

a = np.random.default_rng(0).standard_normal((400, 400)).astype("f4")
loss = lambda x: (x @ x).sum() + sg.tanh(x).sum()
step = sg.compile(loss)
x = sg.placeholder("float32", (400, 400))
y, sess = loss(x), sg.Session()
calls = lambda: step(a).item(), lambda: sess.run(y, {x: a})
expected = [call() for call in calls]
hold = loader.blas_hold()
before = hold[1]
over = []

def work(call):
    while not over:
        call()

workers = [threading.Thread(target=work, args=(call,)) for call in calls]
for worker in workers:
    worker.start()
for _ in range(5):
    time.sleep(0.02)
    child_of_fork(lambda: [call() for call in calls] == expected and hold[0] == 0 and hold[1] == before)
over.append(True)
for worker in workers:
    worker.join()
"""

OWN = """
from staticgrad.base.interpreter import lock, rlock

own, other, plain = rlock(), rlock(), lock()
held = threading.Event()

def hold():
    with other, plain:
        held.set()
        time.sleep(1)

threading.Thread(target=hold).start()
held.wait()
with own:
    child_of_fork(lambda: own._is_owned() and other.acquire(False) and plain.acquire(False))
    assert not plain.acquire(False)
"""


IMPORTS = """
from staticgrad.base.interpreter import module

begun = threading.Event()

class Slow:
    def find_spec(self, name, path, target=None):
        if name == "staticgrad.compiler.rebinding":
            begun.set()
            time.sleep(0.3)

sys.meta_path.insert(0, Slow())
step = sg.compile(lambda x: (x * 2).sum())
other = threading.Thread(target=step, args=(np.ones(3),))
other.start()
begun.wait()
child_of_fork(lambda: step(np.ones(3)).item() == 6)
other.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("program", [PLANS, OWN, IMPORTS], ids=["plans", "own", "imports"])
def test_a_child_of_fork_waits_for_no_thread_of_its_parent(program: str):
    process = start(BEGIN + program)
    _, err = ended(process)
    assert process.returncode == 0, err


def test_the_end_of_a_process_waits_for_work_that_must_not_be_copied():
    """A daemon thread compiles, say: LLVM's tables have to stay until it is done."""
    program = """
import threading, time
from staticgrad.base.interpreter import unforked
begun = threading.Event()
def work():
    with unforked:
        begun.set()
        time.sleep(0.5)
        print("done", flush=True)
threading.Thread(target=work, daemon=True).start()
begun.wait()
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "done\n"


INTERRUPTED = """
    import random, signal, threading
    from staticgrad.base import interpreter

    def enter(lock):
        while True:
            with lock:
                pass

    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for make in (interpreter.lock, interpreter.rlock, interpreter.Condition):
        for _ in range(100):
            lock = make()
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0003, 0.001))
                enter(lock)
            except KeyboardInterrupt:
                pass
            other = []
            thread = threading.Thread(target=lambda: other.append(lock.acquire(timeout=0)))
            thread.start()
            thread.join()
            assert other == [True]
    print("free")
"""


def test_an_interrupt_leaves_no_lock_held():
    assert ended(start(INTERRUPTED)) == ("free\n", "")
