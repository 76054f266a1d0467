"""The function of a worker thread."""

from ..backend.abi import ASLEEP, CALLS, LINGER, STINT, STOP, TICKET
from ..backend.runtime_builtins import atomic_add, call_get, call_with, entry, nanoseconds, pause, peek, peek_shared
from .placement import let_go, place_of, sleeps
from .work_sharing import take


@entry
def worker(pool):
    """Take chunks, spin for more, then sleep, until the pool is stopped.

    Between chunks it lets other processes run now and then. Otherwise the system would interrupt it in one, and the plan would
    wait for that chunk until the other process has had its time.
    """
    place = place_of(pool)
    idle = 0
    since = nanoseconds()
    while peek_shared(pool + STOP) == 0:
        ticket = peek_shared(pool + TICKET)
        if (ticket & 0xFFFF) < (ticket >> 16):
            if nanoseconds() - since > STINT:
                call_get(peek(pool + CALLS + 32))
                since = nanoseconds()
            take(pool)
            idle = 0
            continue
        pause()
        idle += 1
        if idle >= LINGER:
            mutex, condition = peek(pool + CALLS + 40), peek(pool + CALLS + 48)
            call_with(peek(pool + CALLS), mutex, 0)
            sleeps(place, 1)
            atomic_add(pool + ASLEEP, 1)
            if peek_shared(pool + STOP) == 0:
                call_with(peek(pool + CALLS + 16), condition, mutex)
            atomic_add(pool + ASLEEP, -1)
            sleeps(place, 0)
            call_with(peek(pool + CALLS + 8), mutex, 0)
            let_go(pool, place)
            idle = 0
    return 0
