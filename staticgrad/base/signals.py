"""Work that the handlers of signals don't interrupt.

A handler runs between any two instructions of the main thread, and what it raises - KeyboardInterrupt for Ctrl-C - can
leave half-made state in libraries that don't expect it, or be taken for an error of theirs: LLVM in the middle of a
compilation, modules of which one half is imported. Nor is a handler to see one half of the variables of a step written.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import threading
from _thread import start_new_thread
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import caller, user_line
from . import garbage
from .locks import unforked

Result = TypeVar("Result")


def uninterrupted(work: Callable[[], Result], handlers: bool = True) -> Result:
    """The result of `work`, or what it raises. What a handler raises meanwhile is raised once the work has ended.

    Handlers run in the main thread only: there, another thread does the work while this one waits. The work must not
    wait for locks that the caller holds. handlers: they run meanwhile. Otherwise they wait as well, so that they see all that
    the work changes or nothing of it; only where no other thread can be started, they run all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    line = user_line()
    ended: list[tuple[Any, BaseException | None]] = []
    gate = _Open() if handlers else _Closed()

    def run() -> None:
        try:
            caller.line = line
            ended.append((work(), None))
        except BaseException as error:
            ended.append((None, error))

    def run_there() -> None:
        gate.begin()
        run()
        gate.end()

    started = False
    raised: BaseException | None = None
    while not ended:
        try:
            if not started:
                started = True  # no handler runs between this line and the start of the thread
                start_new_thread(run_there, ())
            gate.wait()
        except RuntimeError as error:
            if str(error) != "can't start new thread":
                raised = error
                continue
            run()
        except BaseException as error:
            raised = error
    try:
        result: Result
        result, failed = ended.pop()
        if raised is not None:
            raise raised
        if failed is not None:
            raise failed
        return result
    finally:
        raised = failed = None  # a traceback holds this frame


class _Open:
    """The main thread waits for another one, and runs handlers meanwhile."""

    def __init__(self) -> None:
        self.over = threading.Lock()
        self.over.acquire()

    def begin(self) -> None:
        """The other thread begins."""

    def end(self) -> None:
        self.over.release()

    def wait(self) -> None:
        self.over.acquire()


class _Closed:
    """The same without handlers, which Python runs between two of its instructions: the main thread waits in the system's
    `pthread_cond_wait`. It holds the mutex until then, and the other thread from there to the end of its work."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(None)
        self.mutex, self.over = (ctypes.c_int64 * 16)(), (ctypes.c_int64 * 16)()
        self.library.pthread_mutex_init(self.mutex, None)
        self.library.pthread_cond_init(self.over, None)
        self.library.pthread_mutex_lock(self.mutex)

    def begin(self) -> None:
        self.library.pthread_mutex_lock(self.mutex)

    def end(self) -> None:
        self.library.pthread_cond_signal(self.over)
        self.library.pthread_mutex_unlock(self.mutex)

    def wait(self) -> None:
        self.library.pthread_cond_wait(self.over, self.mutex)


def module(name: str) -> Any:
    """A module, of which never a half stays imported: that half could not be imported again. Nor does a fork copy the half,
    whose lock no thread of the child would release. Not to be called while a module is imported that the other one imports in
    turn.
    """

    def load() -> Any:
        with unforked, garbage.paused(old=True):
            return importlib.import_module(name)

    return importlib.import_module(name) if name in sys.modules else uninterrupted(load)
