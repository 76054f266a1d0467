"""Ctrl-C at every phase: a call ends in KeyboardInterrupt or is completed, and the next one gives the right result.

python -m tests.faults.interrupts calls [count] [seed]     where a function of the package is entered, in each mode
python -m tests.faults.interrupts signals [count] [seed]   by a signal at any time, while kernels are compiled
python -m tests.faults.interrupts hot [count] [seed]       by a signal during many short calls
"""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

import numpy as np

import staticgrad as sg
from staticgrad.compiler.backend import kernel_cache
from staticgrad.errors import PACKAGE_DIR
from tests.faults.steps import MODES, Training, reference, training


class Entered:
    """Counts the calls of the package's functions in this thread, and raises KeyboardInterrupt at one of them: Python runs the
    handlers of signals there."""

    def __init__(self, at: int | None = None):
        self.at, self.count = at, 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if frame.f_code.co_filename.startswith(PACKAGE_DIR):
            self.count += 1
            if self.count == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt

    def during(self, work: Callable[[], Any]) -> Any:
        sys.settrace(self)
        try:
            return work()
        finally:
            sys.settrace(None)


def right_after(trained: Training, done: int) -> None:
    """Two more calls: the first goes on where the interrupted one left, which was done or not."""
    size = None
    for _ in range(2):
        loss = trained.step()
        now = trained.progress(loss)
        size = getattr(loss, "size", 1)
        assert 0 <= now - done <= size, (now, done)
        done = now + size


def calls(count: int, seed: int) -> None:
    """At a random one of the calls of a first step, and of a second one."""
    rng, expected = random.Random(seed), reference()
    names = list(MODES)
    totals: dict[tuple[str, bool], int] = {}
    interrupted = 0
    for i in range(count):
        mode, warm = names[i % len(names)], bool(i // len(names) % 2)
        kind = mode, warm
        if kind not in totals:
            trained = training(mode, expected)
            if warm:
                trained.step()
            whole = Entered()
            whole.during(trained.step)
            totals[kind] = whole.count
        trained, done = training(mode, expected), 0
        if warm:
            loss = trained.step()
            done = trained.progress(loss) + getattr(loss, "size", 1)
        elif rng.random() < 0.3:
            kernel_cache._loaded.clear()
        at = rng.randint(1, max(1, totals[kind]))
        held, stack = None, ""
        try:
            loss = Entered(at).during(trained.step)
            done = trained.progress(loss) + getattr(loss, "size", 1)
        except KeyboardInterrupt as error:
            held = error  # with its frames, as an interactive session holds it
            stack = " > ".join(f"{f.name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)[2:])
            interrupted += 1
        try:
            right_after(trained, done)
        except Exception as error:
            number = "second" if warm else "first"
            error.add_note(f"after an interrupt of the {number} step, {mode}, at call {at} of {totals[kind]}: {stack}")
            raise
        del held
    print(f"{count} right")
    print(f"{interrupted} interrupted", file=sys.stderr)


def signals(count: int, seed: int) -> None:
    """At a random time of a first step for which nothing is in the kernel cache."""
    rng, expected = random.Random(seed), reference()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as place:
        os.environ["STATICGRAD_CACHE_DIR"] = place
        for i in range(count):
            kernel_cache._loaded.clear()
            for name in os.listdir(place):
                if rng.random() < 0.5:
                    os.unlink(os.path.join(place, name))
            trained, done = training("compiled", expected), 0
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.001, 1.5 if i == 0 else 0.5))
                loss = trained.step()
                signal.setitimer(signal.ITIMER_REAL, 0)
                done = trained.progress(loss) + 1
            except KeyboardInterrupt:
                pass
            signal.setitimer(signal.ITIMER_REAL, 0)
            right_after(trained, done)
            assert not [name for name in os.listdir(place) if name.endswith(".tmp")]
    print(f"{count} right")


def for_ever(run: Callable[[], Any]) -> NoReturn:
    """Call again and again. The loop has a frame of its own: Python may run a handler where a loop jumps back, and from 3.14 on
    a `try` around the loop does not cover that jump."""
    while True:
        assert np.asarray(run()).tolist() == [1, 3, 5]


def hot(count: int, seed: int) -> None:
    """During short calls without state, in quick succession. Locks are free afterwards: a call would wait for ever."""
    rng = random.Random(seed)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, (3,))
        y = x * 2 + 1
    session, array = sg.Session(x.graph), np.arange(3, dtype=np.float32)
    function = sg.compile(lambda x: x * 2 + 1)
    drawing = sg.compile(lambda x: x * 2 + 1 + 0 * sg.rand(3))
    ways = [lambda: session.run(y, {x: array}), lambda: function(array), lambda: drawing(array)]
    for i in range(count):
        run = ways[i % len(ways)]
        held = None
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.0005, 0.003))
            for_ever(run)
        except KeyboardInterrupt as error:
            held = error
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, _late)
        signal.setitimer(signal.ITIMER_REAL, 30)
        assert np.asarray(run()).tolist() == [1, 3, 5]
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        del held
    print(f"{count} right")


def _late(number: int, frame: FrameType | None) -> None:
    os.write(2, b"a call waits for ever\n")
    faulthandler.dump_traceback()
    os._exit(1)


if __name__ == "__main__":
    os.environ.setdefault("STATICGRAD_TIERS", "0")  # what runs is native
    kind, *numbers = sys.argv[1:]
    {"calls": calls, "signals": signals, "hot": hot}[kind](*[int(n) for n in numbers] + [100, 0][len(numbers) :])
