"""The pool of threads: rows of a plan cut into chunks, which whoever is free takes.

Chunk t of n covers the range [start + len * t // n, start + len * (t + 1) // n): for a given number of chunks the
result does not depend on which thread runs which. The thread that runs the plan takes chunks too, and waits only for
those that another thread has begun: workers that sleep, or that the system has set aside, delay nothing.

A pool is a block of int64 words, hot ones on cache lines of their own:

    TICKET   chunks << 16 | next chunk to take; adding 1 takes a chunk, and there is none when next >= chunks
    DONE     chunks that are finished
    JOB ..   kernel, buffers, sizes, start, length of the range
    OWNER    1 while a plan runs on the pool; another plan meanwhile runs its chunks by itself
    ASLEEP   workers that sleep
    SHUN     until when jobs are run alone, because workers were set aside for long; whether they were in the last job
    STOP     1 when the workers have to end
    CALLS .. addresses of pthread_mutex_lock, _unlock, pthread_cond_wait, _broadcast, sched_yield, a mutex, a condition
"""

from ..backend.abi import ASLEEP, CALLS, DONE, GRACE, JOB, LONGEST, OWNER, PATIENCE, SHUN, SHUNNED, TICKET
from ..backend.runtime_builtins import (
    atomic_add,
    call_get,
    call_kernel,
    call_with,
    exchange,
    nanoseconds,
    pause,
    peek,
    peek_shared,
    poke,
    poke_shared,
)


def take(pool):
    """Run chunks until none is left."""
    while True:
        ticket = atomic_add(pool + TICKET, 1)
        t, chunks = ticket & 0xFFFF, ticket >> 16
        if t >= chunks:
            return
        start, span = peek(pool + JOB + 24), peek(pool + JOB + 32)
        call_kernel(
            peek(pool + JOB), peek(pool + JOB + 8), peek(pool + JOB + 16),
            start + span * t // chunks, start + span * (t + 1) // chunks,
        )  # fmt: skip
        atomic_add(pool + DONE, 1)


def wake(pool):
    """Workers that sleep get up, in their own time."""
    if peek_shared(pool + ASLEEP) > 0:
        mutex, condition = peek(pool + CALLS + 40), peek(pool + CALLS + 48)
        call_with(peek(pool + CALLS), mutex, 0)
        call_with(peek(pool + CALLS + 24), condition, 0)
        call_with(peek(pool + CALLS + 8), mutex, 0)


def alone(kernel, buffers, sizes, start, stop, chunks):
    """All chunks, one after the other."""
    for t in range(chunks):
        call_kernel(
            kernel, buffers, sizes,
            start + (stop - start) * t // chunks, start + (stop - start) * (t + 1) // chunks,
        )  # fmt: skip


def join(pool, chunks, begun):
    """Wait for the chunks that others have begun. Where they take longer than all that this thread has done since
    `begun`, and the next time again, other processes want the CPUs: for many times as long, jobs are run alone."""
    if peek_shared(pool + DONE) >= chunks:
        return
    through = nanoseconds()
    waited = 0
    while peek_shared(pool + DONE) < chunks:
        pause()
        waited += 1
        if waited % PATIENCE == 0:
            call_get(peek(pool + CALLS + 32))  # a worker that was set aside gets this CPU
    now = nanoseconds() if waited >= PATIENCE else through
    if now - through <= through - begun + GRACE:
        poke(pool + SHUN + 8, 0)
    elif peek(pool + SHUN + 8) == 0:
        poke(pool + SHUN + 8, 1)
    else:
        poke(pool + SHUN, now + min(SHUNNED * (now - through), LONGEST))


def share(pool, kernel, buffers, sizes, start, stop, chunks):
    """Run a kernel over [start, stop) in chunks."""
    begun = nanoseconds()
    if begun < peek(pool + SHUN) or exchange(pool + OWNER, 1) != 0:
        alone(kernel, buffers, sizes, start, stop, chunks)
    else:
        wake(pool)
        poke(pool + JOB, kernel)
        poke(pool + JOB + 8, buffers)
        poke(pool + JOB + 16, sizes)
        poke(pool + JOB + 24, start)
        poke(pool + JOB + 32, stop - start)
        poke_shared(pool + DONE, 0)
        poke_shared(pool + TICKET, chunks << 16)
        take(pool)
        join(pool, chunks, begun)
        poke_shared(pool + OWNER, 0)
