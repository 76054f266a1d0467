"""The native driver: runs the instructions of a plan. The same compiled functions serve all plans.

An instruction is ROW int64 words: address of the kernel, address of its list of buffers, address of its sizes, start, stop,
number of chunks that the range is cut into, flags (1: check the status afterwards, 2: it has LARGE work), and the thread pool
that shares the chunks. An instruction without chunks is a control-flow instruction (`control_instructions.py`), one of an
exchange (`exchange_instructions.py`) or a host call.

After the error, the status holds what the plan measures of its ways to run. In way TOGETHER all instructions that are cut into
chunks are shared, in way ALONE none, and in way LARGE those that have the flag of it. WAYS: how many of the three there are, 0
where nothing is to be decided; WAY: that of the last run; STREAK: the number of runs in succession in it; TIMES: the
nanoseconds of a run in each; FASTEST: those of the fastest run of a trial; SPENT: those of the run under way, without host
calls; END: the number of instructions; HOME: the way that is found best; TRIED: the one that was tried last; REST: runs until
another one is tried; INTERVAL: how many these were.
"""

from ..backend import abi as t
from ..backend.abi import (
    ALONE,
    DATA_OFFSET,
    END,
    FASTEST,
    HOME,
    HOST,
    INTERVAL,
    LARGE,
    OFTEN,
    REST,
    ROW,
    SELDOM,
    SPENT,
    STREAK,
    TIE,
    TIMES,
    TRIAL,
    TRIED,
    WAY,
    WAYS,
)
from ..backend.runtime_builtins import (
    call_2,
    call_8,
    call_get,
    call_kernel,
    call_set,
    copy_bytes,
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


def way_of(status):
    """How the run that begins goes: the way that took least. Threads that synchronize after each instruction can take longer
    than one, where other processes compete for the CPUs, cores are far apart, or instructions are short.

    Ways that have no time yet are tried first. From time to time another one is tried again; where it is no better, the plan
    waits twice as long for the next trial, so that trials cost little in the end. Two ways that take the same time may take
    turns as the better one; this does not make trials more frequent.
    """
    way, ways = peek(status + WAY), peek(status + WAYS)
    if peek(status + STREAK) >= TRIAL:
        best = way
        for other in range(ways):
            if peek(status + TIMES + 8 * other) < peek(status + TIMES + 8 * best):
                best = other
        if best == way:
            home = peek(status + TIMES + 8 * peek(status + HOME))
            if peek(status + TIMES + 8 * way) < home - home // TIE:
                poke(status + INTERVAL, OFTEN)
                poke(status + REST, OFTEN)
            poke(status + HOME, way)
            poke(status + REST, peek(status + REST) - 1)
            if peek(status + REST) <= 0:
                poke(status + INTERVAL, min(2 * peek(status + INTERVAL), SELDOM))
                poke(status + REST, peek(status + INTERVAL))
                best = (peek(status + TRIED) + 1) % ways
                best = (best + 1) % ways if best == way else best
                poke(status + TRIED, best)
        if best != way:
            poke(status + WAY, best)
            poke(status + STREAK, 0)
        way = best
    poke(status + STREAK, peek(status + STREAK) + 1)
    return way


def learn(status, way, took):
    """Update the time of a way. After a change the first run does not count, because threads wake up in it and data moves; of
    the others of the trial the second fastest counts, because one that was interrupted proves nothing, and a lucky one neither.
    Then the time is a moving average, which adapts faster to improvement. A trial ends early where it takes twice the time of
    the best way."""
    place, home = status + TIMES + 8 * way, peek(status + HOME)
    streak, before, fastest = peek(status + STREAK), peek(place), peek(status + FASTEST)
    best = peek(status + TIMES + 8 * home)
    if streak == 2:
        poke(status + FASTEST, took)
        if way != home and best != 0 and took > 2 * best:
            poke(status + STREAK, TRIAL)
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
    ways, way = 0, 0
    if first < last:
        ways, way = peek(status + WAYS), peek(status + WAY)
    if ways != 0 and first == 0:
        way = way_of(status)
        poke(status + SPENT, 0)
    begun = nanoseconds() if ways != 0 else 0
    failed = -1
    r = first
    while r < last:
        instruction = table + 8 * ROW * r
        kernel, buffers, sizes = peek(instruction), peek(instruction + 8), peek(instruction + 16)
        start, stop = peek(instruction + 24), peek(instruction + 32)
        chunks, flags = peek(instruction + 40), peek(instruction + 48)
        if chunks == 0:
            r = call_2(peek(instruction + 56), instruction, r) if start != HOST else -1 - r
            if r < 0:
                failed = -1 - r
                break
            continue
        if chunks == 1:
            call_kernel(kernel, buffers, sizes, start, stop)
        elif way == ALONE or (way == LARGE and flags & 2 == 0):
            alone(kernel, buffers, sizes, start, stop, chunks)
        else:
            share(peek(instruction + 56), kernel, buffers, sizes, start, stop, chunks)
        if flags & 1 != 0 and peek(status) != 0:
            failed = r
            break
        r += 1
    release_blas(hold)
    if ways != 0:
        poke(status + SPENT, peek(status + SPENT) + nanoseconds() - begun)
        if failed < 0 and last == peek(status + END):
            learn(status, way, peek(status + SPENT))
    return failed


# many runs of a plan in one call --------------------------------------------------------------------------------------


@entry
def steps(step, plan, table, width, ids, first, last, copies, count, random, draws, resume):
    """Do runs [first, last) of the plan of a control block. Returns the run in which an instruction reported an error, or
    `last`.

    step: the address of that function. table: for each run the addresses of `width` arrays; the first `ids` of them are ids of
    ndarrays. copies: `count` triples (from, to, bytes), results that are copied one after the other. random: address of
    (seed, draw), which advances by the draws of a run. resume: 0, or the instruction at which the first run continues.
    """
    patches, rows, hold = peek(plan + 8 * t.PATCHES), peek(plan + 8 * t.ROWS), peek(plan + 8 * t.HOLD)
    hold_blas(hold)
    at, failed, instruction = first, -1, resume
    while at < last:
        line = table + 8 * width * at
        for p in range(patches, patches + 24 * peek(plan + 8 * t.PATCHED), 24):
            which = peek(p)
            place = peek(line + 8 * which)
            if which < ids:
                place = peek(place + t.DATA_OFFSET)
            poke(peek(p + 8), place + peek(p + 16))
        failed = call_8(step, 0, 0, 0, peek(plan + 8 * t.TABLE), instruction, rows, peek(plan + 8 * t.STATUS), 0)
        if failed >= 0:
            break
        for c in range(copies, copies + 24 * count, 24):
            copy_bytes(peek(c + 8) + at * peek(c + 16), peek(c), peek(c + 16))
        poke(random + 8, peek(random + 8) + draws)
        at, instruction = at + 1, 0
    release_blas(hold)
    poke(plan + 8 * t.FAILED, failed)
    return at
