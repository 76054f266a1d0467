"""On which CPU a worker wakes up: not on that of the thread that wakes it and goes on computing.

Linux may let a woken thread run where its waker runs, beside an idle CPU: of few CPUs that were busy of late it looks for none.
The two would take turns, and spread over the CPUs some milliseconds later only. So workers that sleep are kept off
the waker's CPU; once awake, they may run everywhere again. Somebody else may limit the thread's CPUs meanwhile (`taskset`,
say): a set that is not the one written here stays as it is.

The place of a worker, in words: its thread, whether it sleeps, the CPU that it is kept off + 1 (0: none), whether a thread is
at the place; 64 bytes after its start the set of the CPUs that it may use otherwise; after that the set without this CPU, and
memory for one more set. Only the thread that is at the place reads and writes these sets, and changes what the worker may use:
the waker passes over a place that is taken; the worker, which has just woken up, waits until the waker has left it.
"""

from ..backend.abi import CALLS, CPU_SET_BYTES, PLACE_BYTES, PLACED, PLACES, STARTED
from ..backend.runtime_builtins import (
    atomic_add,
    call_0,
    call_3,
    call_get,
    exchange,
    pause,
    peek,
    peek_shared,
    poke,
    poke_shared,
)


def place_of(pool):
    """The place of the calling worker, which has just started; 0 where it has none."""
    n = atomic_add(pool + STARTED, 1)
    if n >= PLACED or peek(pool + CALLS + 56) == 0:
        return 0
    place = pool + PLACES + PLACE_BYTES * n
    poke(place, call_0(peek(pool + CALLS + 64)))
    return place


def keep_off(pool):
    """Keep the workers that sleep off the CPU of the calling thread."""
    if peek(pool + CALLS + 56) != 0:
        cpu = call_get(peek(pool + CALLS + 56))
        for n in range(min(peek_shared(pool + STARTED), PLACED)):
            place = pool + PLACES + PLACE_BYTES * n
            if peek_shared(place + 8) != 0 and exchange(place + 24, 1) == 0:
                if peek_shared(place + 8) != 0 and peek_shared(place + 16) != cpu + 1:
                    restrict(pool, place, cpu)
                poke_shared(place + 24, 0)


def restrict(pool, place, cpu):
    """Keep a worker off a CPU, unless it has no other one."""
    thread, every, others = peek(place), place + 64, place + 64 + CPU_SET_BYTES
    if unchanged(pool, place) == 0 and call_3(peek(pool + CALLS + 72), thread, CPU_SET_BYTES, every) << 32 != 0:
        return 0
    wanted, left = others + CPU_SET_BYTES, 0
    for w in range(CPU_SET_BYTES // 8):
        word = peek(every + 8 * w)
        if w == cpu >> 6 and word >> (cpu & 63) & 1 != 0:
            word = word - (1 << (cpu & 63))
        poke(wanted + 8 * w, word)
        left = left | word
    if left != 0 and call_3(peek(pool + CALLS + 80), thread, CPU_SET_BYTES, wanted) << 32 == 0:
        for w in range(CPU_SET_BYTES // 8):
            poke(others + 8 * w, peek(wanted + 8 * w))
        poke_shared(place + 16, cpu + 1)
    return 0


def unchanged(pool, place):
    """Whether a worker is kept off a CPU, and its set is the one that `restrict` has written."""
    others, present = place + 64 + CPU_SET_BYTES, place + 64 + 2 * CPU_SET_BYTES
    if peek_shared(place + 16) == 0 or call_3(peek(pool + CALLS + 72), peek(place), CPU_SET_BYTES, present) << 32 != 0:
        return 0
    for w in range(CPU_SET_BYTES // 8):
        if peek(present + 8 * w) != peek(others + 8 * w):
            return 0
    return 1


def let_go(pool, place):
    """Let the calling worker, which no longer sleeps, run on every CPU that it may use."""
    if place != 0:
        while exchange(place + 24, 1) != 0:
            pause()
        if peek_shared(place + 16) != 0:
            if unchanged(pool, place) != 0:
                call_3(peek(pool + CALLS + 80), peek(place), CPU_SET_BYTES, place + 64)
            poke_shared(place + 16, 0)
        poke_shared(place + 24, 0)


def sleeps(place, asleep):
    """Note whether a worker sleeps."""
    if place != 0:
        poke_shared(place + 8, asleep)
