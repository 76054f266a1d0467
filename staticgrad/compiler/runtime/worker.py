"""The function of a worker thread."""

from ..backend.abi import ASLEEP, CALLS, LINGER, STOP, TICKET
from ..backend.runtime_builtins import atomic_add, call_with, entry, pause, peek, peek_shared
from .work_sharing import take


@entry
def worker(pool):
    """Take chunks, spin for more, then sleep, until the pool is stopped."""
    idle = 0
    while peek_shared(pool + STOP) == 0:
        ticket = peek_shared(pool + TICKET)
        if (ticket & 0xFFFF) < (ticket >> 16):
            take(pool)
            idle = 0
            continue
        pause()
        idle += 1
        if idle >= LINGER:
            mutex, condition = peek(pool + CALLS + 40), peek(pool + CALLS + 48)
            call_with(peek(pool + CALLS), mutex, 0)
            atomic_add(pool + ASLEEP, 1)
            if peek_shared(pool + STOP) == 0:
                call_with(peek(pool + CALLS + 16), condition, mutex)
            atomic_add(pool + ASLEEP, -1)
            call_with(peek(pool + CALLS + 8), mutex, 0)
            idle = 0
    return 0
