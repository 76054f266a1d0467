"""The native driver: runs the instructions of a plan. The same compiled functions serve all plans.

An instruction is ROW int64 words: address of the kernel, address of its list of buffers, address of its sizes, start, stop,
number of chunks that the range is cut into, whether to check the status afterwards, and the thread pool that shares the
chunks. An instruction without chunks is a control-flow instruction (`control_instructions.py`), one of an exchange
(`exchange_instructions.py`) or a host call.

After the error, the status holds measurements of whether threads pay: SHARES whether to measure, ALONE whether the last run
used one thread only, STREAK the number of runs in succession that did the same, SHARED_TIME and ALONE_TIME the nanoseconds
of a run either way, FASTEST those of the fastest run of a trial.
"""

from ..backend.abi import ALONE, ALONE_TIME, DATA_OFFSET, FASTEST, HOST, ROW, SHARED_TIME, SHARES, STREAK, TRIAL
from ..backend.runtime_builtins import (
    call_2,
    call_get,
    call_kernel,
    call_set,
    entry,
    exchange,
    nanoseconds,
    pause,
    peek,
    poke,
    poke_shared,
)
from .work_sharing import alone, share


def hold_blas(hold):
    """Limit BLAS to one thread while plans run. hold: 0, or (holders, number of threads before, addresses of the functions
    that get and set it, a lock around these calls)."""
    if hold != 0:
        enter(hold + 32)
        if peek(hold) == 0:
            poke(hold + 8, call_get(peek(hold + 16)))
            call_set(peek(hold + 24), 1)
        poke(hold, peek(hold) + 1)
        poke_shared(hold + 32, 0)


def release_blas(hold):
    """The last holder restores the number of threads."""
    if hold != 0:
        enter(hold + 32)
        poke(hold, peek(hold) - 1)
        if peek(hold) == 0:
            call_set(peek(hold + 24), peek(hold + 8))
        poke_shared(hold + 32, 0)


def enter(place):
    """Take a lock: wait until the word is 0, and set it to 1."""
    while exchange(place, 1) != 0:
        pause()


@entry
def hold_calls(hold):
    """Lock the number of BLAS's threads, until `hold[4]` is 0 again."""
    enter(hold + 32)
    return 0


def goes_alone(status):
    """Whether one thread runs all instructions of this run, because that was faster. Threads that synchronize after each
    instruction can take longer than one, where other processes compete for the CPUs or instructions are short."""
    alone_now = peek(status + ALONE)
    if peek(status + STREAK) >= TRIAL:
        faster = 1 if peek(status + ALONE_TIME) < peek(status + SHARED_TIME) else 0
        if faster != alone_now:
            poke(status + ALONE, faster)
            poke(status + STREAK, 0)
        alone_now = faster
    poke(status + STREAK, peek(status + STREAK) + 1)
    return alone_now


def learn(status, alone_now, took):
    """Update the time of a run. After a change the first run does not count, because threads wake up in it and data moves; of
    the others of the trial the second fastest counts, because one that was interrupted proves nothing, and a lucky one neither.
    Then the time is a moving average, which adapts faster to improvement. The time of the other way is lowered a little after
    each run, so that it is tried again some time; this costs about 2 %."""
    place, other = status + SHARED_TIME, status + ALONE_TIME
    if alone_now != 0:
        place, other = other, place
    streak, before, fastest = peek(status + STREAK), peek(place), peek(status + FASTEST)
    if streak == 2:
        poke(status + FASTEST, took)
    elif streak == 3:
        poke(status + FASTEST, min(took, fastest))
        took = max(took, fastest)
    elif streak > 3 and streak <= TRIAL:
        poke(status + FASTEST, min(took, fastest))
        took = min(before, max(took, fastest))
    elif streak > TRIAL:
        took = before + (took - before) // (2 if took < before else 8)
    if streak >= 2:
        poke(place, took)
        poke(other, min(peek(other), 4 * took))
    poke(other, peek(other) - peek(other) // 256)


@entry
def step(patches, count, objects, table, first, last, status, hold):
    """Bind the caller's arrays, then run instructions [first, last). Returns the instruction that reported an error or is a
    host call, or -1.

    patches: `count` triples (number of an object, address to write, bytes to add), which copy the data pointers of the
    ndarrays whose ids are in `objects` to the instructions. hold: see `hold_blas`.
    """
    for p in range(count):
        which, to, add = peek(patches + 24 * p), peek(patches + 24 * p + 8), peek(patches + 24 * p + 16)
        poke(to, peek(peek(objects + 8 * which) + DATA_OFFSET) + add)
    hold_blas(hold)
    tried = 1 if first == 0 and last > 0 and peek(status + SHARES) != 0 else 0
    alone_now = goes_alone(status) if tried != 0 else 0
    begun = nanoseconds() if tried != 0 else 0
    failed = -1
    r = first
    while r < last:
        instruction = table + 8 * ROW * r
        kernel, buffers, sizes = peek(instruction), peek(instruction + 8), peek(instruction + 16)
        start, stop = peek(instruction + 24), peek(instruction + 32)
        chunks = peek(instruction + 40)
        if chunks == 0:
            r = call_2(peek(instruction + 56), instruction, r) if start != HOST else -1 - r
            if r < 0:
                failed = -1 - r
                break
            continue
        if chunks == 1:
            call_kernel(kernel, buffers, sizes, start, stop)
        elif alone_now != 0:
            alone(kernel, buffers, sizes, start, stop, chunks)
        else:
            share(peek(instruction + 56), kernel, buffers, sizes, start, stop, chunks)
        if peek(instruction + 48) != 0 and peek(status) != 0:
            failed = r
            break
        r += 1
    release_blas(hold)
    if tried != 0 and failed < 0:
        learn(status, alone_now, nanoseconds() - begun)
    return failed
