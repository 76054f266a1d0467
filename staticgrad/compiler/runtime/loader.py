"""The runtime from Python: its functions, the number of its threads, and the pool of threads that share its work.

The functions are compiled, or loaded from the kernel cache, when the first plan is made. `loader.step(...)` runs the
instructions of a plan; see `runtime/instruction_loop.py`.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.interpreter import lock, rlock, uninterrupted
from ...errors import ArgumentError, CompileError
from ..backend import kernel_cache
from ..backend.abi import ASLEEP, CALLS, LOCKS, OWNER, PLACES, POOL_BYTES, SHUN, STARTED, STOP, TICKET
from ..backend.kernel_cache import NOW, SOON, Wanted, arrive, code, pool, tiers

OPERANDS = {"step": 8, "steps": 12, "hold_calls": 1}
"""The functions of the runtime that Python calls, with the number of their operands."""
MODULES = {
    "call": "instruction_loop", "hold_calls": "instruction_loop", "step": "instruction_loop", "worker": "work_sharing",
    "control": "control_instructions", "exchange": "exchange_instructions", "shards": "control_instructions",
    "steps": "instruction_loop",
}  # fmt: skip
"""The modules of all functions that are called from outside."""
PLANS = ("call", "hold_calls", "step", "worker")
"""Those that all plans need. The others are compiled with the first program that has a loop, or is run many times in a call."""


def source(name: str) -> str:
    """The source of the machine code of a function."""
    names = PLANS if name in PLANS else (name,)
    return "".join(f"from staticgrad.compiler.runtime.{MODULES[each]} import {each}\n" for each in names)


TEXT = source("step")


def address(name: str) -> int:
    """The address of a function of the runtime, once that is made."""
    found = code(Wanted(source(name), name), tiers())
    arrive([found])
    return found.address


def _function(name: str) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * OPERANDS[name])(address(name))


def begin() -> None:
    """Where the kernel cache is empty, have workers start, and one of them make the runtime while plans are made. Who only
    makes a compiled function starts none."""
    if tiers() != NOW and not kernel_cache.at_hand(TEXT):
        pool().hire()
        code(Wanted(TEXT, "step"), SOON)


if TYPE_CHECKING:

    def step(patches: int, count: int, objects: int, table: int, first: int, last: int, status: int, hold: int) -> int:
        """Bind arrays and run instructions; see `runtime/instruction_loop.py`."""

    def steps(*words: int) -> int:
        """steps(step, plan, table, width, ids, first, last, copies, count, random, draws, resume): many runs; see
        `runtime/instruction_loop.py`."""

    def hold_calls(hold: int) -> int:
        """Lock the number of BLAS's threads, until `hold[4]` is 0 again; see `runtime/instruction_loop.py`."""


def __getattr__(name: str) -> Callable[..., int]:
    """The functions that Python calls, on first use."""
    if name not in ("step", "steps", "hold_calls"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = globals()[name] = _function(name)
    return function


# the number of threads of plans, and BLAS limited to one thread while a plan runs -------------------------------------

# A child of fork() has no workers: plans that it inherits run all chunks in one thread, and plans that it makes start
# new workers.

_lock = rlock()
_count: int | None = None


class _Planned(threading.local):
    count: int | None = None


_planned = _Planned()


def get_num_threads() -> int:
    """Threads that a plan may use: the CPUs this process may run on, unless set.

    Examples:
        >>> sg.get_num_threads() >= 1
        True
    """
    if _planned.count is not None:
        return _planned.count
    if _count is not None:
        return _count
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(n: int) -> None:
    """Set the number of threads for plans made from now on; 1 is the serial driver. Raises ArgumentError below 1.

    Examples:
        >>> sg.set_num_threads(sg.get_num_threads())
    """
    global _count
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ArgumentError(f"the number of threads is an integer >= 1, got {n!r}")
    _count = n


@contextmanager
def planned(n: int) -> Iterator[None]:
    """Within it, plans that this thread makes are for n threads, whatever is set and whichever CPUs there are meanwhile."""
    before, _planned.count = _planned.count, n
    try:
        yield
    finally:
        _planned.count = before


def blas_hold() -> np.ndarray | None:
    """The words of `_blas_hold`, one array for all threads."""
    with _lock:
        return _blas_hold()


@cache
def _blas_hold() -> np.ndarray | None:
    """The words by which the driver limits SciPy's OpenBLAS to one thread: (holders, number of threads before, addresses of
    the functions that get and set it, a lock around these calls).

    None where SciPy was built with another BLAS, which keeps its own threads.
    """
    from ..backend.object_code import thread_functions

    functions = thread_functions()
    if functions is None:
        return None
    addresses = [ctypes.cast(f, ctypes.c_void_p).value for f in functions]
    made = np.array([0, functions[0](), *addresses, 0], np.int64)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=partial(_hold_calls, made),
            after_in_parent=partial(_let_call, made),
            after_in_child=partial(_free, made, functions[1]),
        )
    return made


def _hold_calls(hold: np.ndarray) -> None:
    """Before a fork: wait until no thread sets the number of threads, which takes a lock of BLAS that a child couldn't
    free."""
    from .loader import hold_calls

    hold_calls(hold.ctypes.data)


def _let_call(hold: np.ndarray) -> None:
    hold[4] = 0


def _free(hold: np.ndarray, set_threads: Callable[[int], Any]) -> None:
    """After a fork: the holders are threads that the child does not have."""
    if hold[0]:
        set_threads(int(hold[1]))
    hold[[0, 4]] = 0


# the pool: one per process, started by the first plan that needs it ---------------------------------------------------

# The workers of `runtime/work_sharing.py` are POSIX threads that never call Python. They are stopped and joined before the
# interpreter unloads the code that they run.

_starting = lock()
_block = np.zeros(POOL_BYTES // 8 + 8, np.int64)
pool_address = _block.ctypes.data + -_block.ctypes.data % 64
"""The address of the pool, at the start of a cache line."""
_words = _block[(pool_address - _block.ctypes.data) // 8 :]
_workers: list[ctypes.c_ulong] = []

FUNCTIONS = (
    "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_wait", "pthread_cond_broadcast", "sched_yield",
)  # fmt: skip
PLACING = ("sched_getcpu", "pthread_self", "pthread_getaffinity_np", "pthread_setaffinity_np")
"""Functions of Linux; see `work_sharing.py`."""


def ensure(threads: int) -> None:
    """Start the workers for this many threads. Raises CompileError when one can't be started."""
    if len(_workers) < threads - 1:
        uninterrupted(lambda: _start(threads))


def _start(threads: int) -> None:
    with _starting:
        if len(_workers) < threads - 1:
            library = ctypes.CDLL(None)
            if not _words[CALLS // 8]:
                _prepare(library)
            entry = ctypes.c_void_p(address("worker"))
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # signals are for Python's threads
            try:
                while len(_workers) < threads - 1:
                    worker = ctypes.c_ulong()
                    failed = library.pthread_create(ctypes.byref(worker), None, entry, ctypes.c_void_p(pool_address))
                    if failed:
                        raise CompileError(
                            f"a thread can't be started: {os.strerror(failed)}", "set_num_threads(1) does without"
                        )
                    _workers.append(worker)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _prepare(library: ctypes.CDLL) -> None:
    """Store the functions that the pool calls, a mutex and a condition variable."""
    addresses, placing = ([_address(library, name) for name in names] for names in (FUNCTIONS, PLACING))
    mutex, condition = pool_address + LOCKS, pool_address + LOCKS + 64
    library.pthread_mutex_init(ctypes.c_void_p(mutex), None)
    library.pthread_cond_init(ctypes.c_void_p(condition), None)
    _words[CALLS // 8 : CALLS // 8 + 11] = [*addresses, mutex, condition, *(placing if all(placing) else [0] * 4)]
    _words[SHUN // 8] = 0


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 if hasattr(library, name) else 0


def _stop() -> None:
    library = ctypes.CDLL(None)
    _words[STOP // 8] = 1
    if _workers:  # a worker that is about to sleep holds the mutex until it sleeps
        mutex, condition = ctypes.c_void_p(pool_address + LOCKS), ctypes.c_void_p(pool_address + LOCKS + 64)
        library.pthread_mutex_lock(mutex)
        library.pthread_cond_broadcast(condition)
        library.pthread_mutex_unlock(mutex)
    while _workers:
        library.pthread_join(_workers.pop(), None)


def _child() -> None:
    """After a fork: reset the pool, which has no workers."""
    _workers.clear()
    for place in (TICKET, OWNER, ASLEEP, STARTED):
        _words[place // 8] = 0
    _words[PLACES // 8 :] = 0
    if _words[CALLS // 8]:
        _prepare(ctypes.CDLL(None))


atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_child)
