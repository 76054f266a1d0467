"""The threads of `runtime/work_sharing.py`: one pool per process, started by the first plan that needs it.

The workers are POSIX threads that never call Python. They are stopped and joined before the interpreter unloads the code that
they run.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal

import numpy as np

from ...base.interpreter import lock, uninterrupted
from ...errors import CompileError
from ..backend.abi import ASLEEP, CALLS, LOCKS, OWNER, PLACES, POOL_BYTES, SHUN, STARTED, STOP, TICKET
from . import loader

_lock = lock()
_block = np.zeros(POOL_BYTES // 8 + 8, np.int64)
address = _block.ctypes.data + -_block.ctypes.data % 64
"""The address of the pool, at the start of a cache line."""
_words = _block[(address - _block.ctypes.data) // 8 :]
_workers: list[ctypes.c_ulong] = []

FUNCTIONS = (
    "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_wait", "pthread_cond_broadcast", "sched_yield",
)  # fmt: skip
PLACING = ("sched_getcpu", "pthread_self", "pthread_getaffinity_np", "pthread_setaffinity_np")
"""Functions of Linux; see `placement.py`."""


def ensure(threads: int) -> None:
    """Start the workers for this many threads. Raises CompileError when one can't be started."""
    if len(_workers) < threads - 1:
        uninterrupted(lambda: _start(threads))


def _start(threads: int) -> None:
    with _lock:
        if len(_workers) < threads - 1:
            library = ctypes.CDLL(None)
            if not _words[CALLS // 8]:
                _prepare(library)
            entry = ctypes.c_void_p(loader.address("worker"))
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # signals are for Python's threads
            try:
                while len(_workers) < threads - 1:
                    worker = ctypes.c_ulong()
                    failed = library.pthread_create(ctypes.byref(worker), None, entry, ctypes.c_void_p(address))
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
    mutex, condition = address + LOCKS, address + LOCKS + 64
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
        mutex, condition = ctypes.c_void_p(address + LOCKS), ctypes.c_void_p(address + LOCKS + 64)
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
