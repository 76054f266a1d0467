"""The thread pool: instructions are cut into chunks, which idle threads take.

Chunk t of n covers the range [start + len * t // n, start + len * (t + 1) // n): for a given number of chunks the result
does not depend on which thread runs which. The thread that runs the plan takes chunks too, and waits only for those that
another thread has begun, so workers that sleep or are preempted delay nothing.

A pool is a block of int64 words, on cache lines of their own where many threads write them:

    TICKET   chunks << 16 | next chunk to take; adding 1 takes a chunk, and there is none when next >= chunks
    DONE     chunks that are done
    JOB ..   kernel, buffers, sizes, start, length of the range, mode of floating-point arithmetic
    OWNER    1 while a plan uses the pool; another plan meanwhile runs its chunks in its own thread
    ASLEEP   workers that sleep
    SHUN     the time until which jobs are run without workers, because these were preempted; whether they were in the last job
    STOP     1 when the workers have to exit
    CALLS .. addresses of pthread_mutex_lock, _unlock, pthread_cond_wait, _broadcast, sched_yield, a mutex, a condition
             variable, sched_getcpu, pthread_self, pthread_getaffinity_np, _setaffinity_np (these four 0 where one is missing)
    PLACES   see below
"""

from ..backend.abi import (
    ASLEEP,
    CALLS,
    CPU_SET_BYTES,
    DONE,
    GRACE,
    JOB,
    LINGER,
    LONGEST,
    OWNER,
    PATIENCE,
    PLACE_BYTES,
    PLACED,
    PLACES,
    SHUN,
    SHUNNED,
    STARTED,
    STINT,
    STOP,
    TICKET,
)
from ..backend.runtime_builtins import (
    atomic_add,
    call_0,
    call_3,
    call_get,
    call_kernel,
    call_with,
    entry,
    exchange,
    float_mode,
    nanoseconds,
    pause,
    peek,
    peek_shared,
    poke,
    poke_shared,
    set_float_mode,
)

# the CPU on which a worker wakes up: not that of the thread that wakes it and goes on computing -----------------------

# Linux may let a woken thread run where its waker runs, beside an idle CPU: of few CPUs that were busy of late it looks
# for none. The two would take turns, and spread over the CPUs some milliseconds later only. So workers that sleep are
# kept off the waker's CPU; once awake, they may run everywhere again. Somebody else may limit the thread's CPUs
# meanwhile (`taskset`, say): a set that is not the one written here stays as it is.
#
# The place of a worker, in words: its thread, whether it sleeps, the CPU that it is kept off + 1 (0: none), whether a
# thread is at the place; 64 bytes after its start the set of the CPUs that it may use otherwise; after that the set
# without this CPU, and memory for one more set. Only the thread that is at the place reads and writes these sets, and
# changes what the worker may use: the waker passes over a place that is taken; the worker, which has just woken up,
# waits until the waker has left it.


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


# work sharing ---------------------------------------------------------------------------------------------------------


def take(pool):
    """Run a chunk. Returns 0 where none is left."""
    ticket = atomic_add(pool + TICKET, 1)
    t, chunks = ticket & 0xFFFF, ticket >> 16
    if t >= chunks:
        return 0
    start, span = peek(pool + JOB + 24), peek(pool + JOB + 32)
    set_float_mode(peek(pool + JOB + 40))
    call_kernel(
        peek(pool + JOB), peek(pool + JOB + 8), peek(pool + JOB + 16),
        start + span * t // chunks, start + span * (t + 1) // chunks,
    )  # fmt: skip
    atomic_add(pool + DONE, 1)
    return 1


def wake(pool):
    """Wake the workers that sleep, without waiting for them."""
    if peek_shared(pool + ASLEEP) > 0:
        keep_off(pool)
        mutex, condition = peek(pool + CALLS + 40), peek(pool + CALLS + 48)
        call_with(peek(pool + CALLS), mutex, 0)
        call_with(peek(pool + CALLS + 24), condition, 0)
        call_with(peek(pool + CALLS + 8), mutex, 0)


def alone(kernel, buffers, sizes, start, stop, chunks):
    """Run all chunks, one after the other."""
    for t in range(chunks):
        call_kernel(
            kernel, buffers, sizes,
            start + (stop - start) * t // chunks, start + (stop - start) * (t + 1) // chunks,
        )  # fmt: skip


def join(pool, chunks, begun):
    """Wait for the chunks that other threads have begun. Where that takes longer than all work of this thread since `begun`,
    twice in a row, other processes compete for the CPUs: for many times as long, jobs are run without workers."""
    if peek_shared(pool + DONE) >= chunks:
        return
    through = nanoseconds()
    waited = 0
    while peek_shared(pool + DONE) < chunks:
        pause()
        waited += 1
        if waited % PATIENCE == 0:
            call_get(peek(pool + CALLS + 32))  # a worker that was preempted gets this CPU
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
        poke(pool + JOB + 40, float_mode())
        poke_shared(pool + DONE, 0)
        poke_shared(pool + TICKET, chunks << 16)
        more = 1
        while more != 0:
            more = take(pool)
        join(pool, chunks, begun)
        poke_shared(pool + OWNER, 0)


# the function of a worker thread -------------------------------------------------------------------------------------


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
