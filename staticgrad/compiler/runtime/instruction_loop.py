"""The native driver: walks a plan's table and calls each row's kernel. The same compiled functions serve every plan.

A row of the table is ROW int64 numbers: kernel address, address of its buffer list, address of its sizes, start,
stop, number of chunks to cut the range into, whether to look at the status afterwards, and the pool of threads that
shares the chunks. A row without chunks is a part of a loop or branch (`control_instructions.py`), or stops the driver for
the host.

Behind the error, the status has what is known of how the plan runs best: SHARES whether it has to be found out, ALONE
whether the last run left all to one thread, STREAK how many runs did as it did, SHARED_TIME and ALONE_TIME how many
nanoseconds a run takes either way.
"""

from ..backend.abi import ALONE, ALONE_TIME, DATA_OFFSET, HOST, ROW, SHARED_TIME, SHARES, STREAK
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
    """Put BLAS at one thread while somebody holds it. hold: 0, or (holders, threads before, address of get and of set, 1
    while one of these is called): nobody may ask between the last holder's leaving and its restoring."""
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
    """Wait until the word there is 0, and make it 1."""
    while exchange(place, 1) != 0:
        pause()


@entry
def hold_calls(hold):
    """Wait until nobody asks for or sets BLAS's number of threads, and let nobody, until the word is 0 again."""
    enter(hold + 32)
    return 0


def goes_alone(status):
    """Whether the rows of this run are left to one thread, as seems faster. Where other processes want the CPUs, or rows are
    short, threads that meet after each row may take longer than one."""
    alone_now = peek(status + ALONE)
    # What is tried is measured at the second run: threads wake up, data moves. The very first runs take longer than others.
    if peek(status + STREAK) != 1 and (peek(status + ALONE_TIME) != 0 or peek(status + STREAK) >= 6):
        faster = 1 if peek(status + ALONE_TIME) < peek(status + SHARED_TIME) else 0
        if faster != alone_now:
            poke(status + ALONE, faster)
            poke(status + STREAK, 0)
        alone_now = faster
    poke(status + STREAK, peek(status + STREAK) + 1)
    return alone_now


def learn(status, alone_now, took):
    """Remember how long a run took: a mean of late, which believes good news sooner. The other way is thought of a little
    better after each run, until it is tried again: that costs some 1 %."""
    place, other = status + SHARED_TIME, status + ALONE_TIME
    if alone_now != 0:
        place, other = other, place
    if peek(status + STREAK) >= 2:
        before = peek(place)
        if peek(status + STREAK) > 2:
            took = before + (took - before) // (2 if took < before else 8)
        poke(place, took)
    poke(other, peek(other) - peek(other) // 256)


@entry
def step(patches, count, objects, table, first, last, status, hold):
    """Bind the caller's arrays, then run rows [first, last). Returns the row that reported an error, or that the host has
    to run, or -1.

    patches: `count` rows of (which object, address to write, bytes to add), by which the data pointers of the ndarrays
    whose ids are in `objects` get to where kernels read them. hold: see `hold_blas`.
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
        row = table + 8 * ROW * r
        kernel, buffers, sizes, start, stop = peek(row), peek(row + 8), peek(row + 16), peek(row + 24), peek(row + 32)
        chunks = peek(row + 40)
        if chunks == 0:
            r = call_2(peek(row + 56), row, r) if start != HOST else -1 - r
            if r < 0:
                failed = -1 - r
                break
            continue
        if chunks == 1:
            call_kernel(kernel, buffers, sizes, start, stop)
        elif alone_now != 0:
            alone(kernel, buffers, sizes, start, stop, chunks)
        else:
            share(peek(row + 56), kernel, buffers, sizes, start, stop, chunks)
        if peek(row + 48) != 0 and peek(status) != 0:
            failed = r
            break
        r += 1
    release_blas(hold)
    if tried != 0 and failed < 0:
        learn(status, alone_now, nanoseconds() - begun)
    return failed
