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
    call_0,
    call_1,
    call_2,
    call_3,
    call_8,
    call_get,
    call_kernel,
    call_set,
    call_with,
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


# the body of fast calls: one C function that checks the arguments, makes the results, and runs the plan ---------------

# `backend/abi.py` describes the blocks that it reads.


def get(block, number):
    return peek(block + 8 * number)


def above(numbers, count, x):
    """The position of the first of the ascending numbers that is greater than x."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if peek(numbers + 8 * middle) > x:
            high = middle
        else:
            low = middle + 1
    return low


def same_header(array, dtype, ndim, shape):
    """Whether an array is C-contiguous, with this dtype and shape."""
    if peek(array + t.DTYPE) != dtype or peek(array + t.NDIM) & t.INT != ndim:
        return 0
    if peek(array + t.FLAGS) & t.CONTIGUOUS == 0:
        return 0
    extents = peek(array + t.SHAPE)
    for i in range(ndim):
        if peek(extents + 8 * i) != peek(shape + 8 * i):
            return 0
    return 1


def array_of(fast, argument):
    """The ndarray of an argument; 0 for objects that the fast call does not take."""
    kind = peek(argument + t.TYPE)
    if kind == peek(get(fast, t.API) + 8 * t.NDARRAY):
        return argument
    if get(fast, t.BOX) == 0 or kind != get(fast, t.BOX) or peek(argument + get(fast, t.BOX_FLAG)) != get(fast, t.BOX_PLAIN):
        return 0
    ids, count = get(fast, t.EXCLUDED), get(fast, t.EXCLUDES)
    at = above(ids, count, argument - 1)
    return 0 if at < count and peek(ids + 8 * at) == argument else peek(argument + get(fast, t.BOX_ARRAY))


def place(fast, plan, args):
    """Put the arrays among the arguments in place. Returns 0 when the arguments don't fit."""
    objects, at = get(plan, t.OBJECTS), 0
    ranges, ranged = get(fast, t.RANGES), get(fast, t.RANGED)
    for i in range(get(fast, t.TAKES)):
        spec, array = get(fast, t.SPECS) + 8 * t.SPEC_BLOCK * i, peek(args + 8 * i)
        if get(fast, t.TRUSTED) == 0:
            if get(spec, t.SAME) != 0:
                if array != get(spec, t.SAME):
                    return 0
                continue
            argument = array
            array = array_of(fast, argument)
            bare = get(spec, t.BARE)
            if (bare == 1 and array != argument) or (bare == 2 and array == argument):
                return 0
            if array == 0 or same_header(array, get(spec, t.IN_DTYPE), get(spec, t.IN_NDIM), get(spec, t.IN_SHAPE)) == 0:
                return 0
            begin = peek(array + t.DATA_OFFSET)
            r = above(ranges, ranged, begin)
            if r < ranged and peek(ranges + 8 * (ranged + r)) < begin + get(spec, t.IN_BYTES):
                return 0
        poke(objects + 8 * at, array)
        at += 1
    return 1


def recycled(api, result):
    """An array to which only the pool refers, with a new reference; 0 for none."""
    pool = get(result, t.POOL)
    for i in range(get(result, t.POOLED)):
        array = peek(pool + 8 * i)
        if (
            peek(array + t.REFERENCES) & t.INT == 1
            and peek(array + t.WEAK) == 0
            and peek(array + t.FLAGS) & t.INT == get(result, t.OUT_FLAGS)
            and same_header(array, get(result, t.OUT_DTYPE), get(result, t.OUT_NDIM), get(result, t.OUT_SHAPE)) != 0
        ):
            call_1(get(api, t.INCREF), array)
            return array
    return 0


def output(api, result):
    """The array of a result, with a new reference; 0 without memory."""
    array = recycled(api, result)
    if array != 0:
        return array
    dtype, count = get(result, t.OUT_DTYPE), get(result, t.POOLED)
    call_1(get(api, t.INCREF), dtype)  # NEW_ARRAY takes the reference
    array = call_8(
        get(api, t.NEW_ARRAY), get(api, t.NDARRAY), dtype, get(result, t.OUT_NDIM), get(result, t.OUT_SHAPE), 0, 0, 0, 0
    )
    if array != 0 and count != 0:
        next_one = get(result, t.NEXT)
        given_up = peek(get(result, t.POOL) + 8 * next_one)
        call_1(get(api, t.INCREF), array)
        poke(get(result, t.POOL) + 8 * next_one, array)
        poke(result + 8 * t.NEXT, (next_one + 1) % count)
        call_1(get(api, t.DECREF), given_up)
    return array


def box(fast, api):
    """A tensor without its array; 0 without memory."""
    tensor = call_3(get(fast, t.BOX_NEW), get(fast, t.BOX), get(fast, t.BOX_ARGS), 0)
    if tensor != 0:
        fields = get(fast, t.BOX_FIELDS)
        for i in range(get(fast, t.BOX_FIELD)):
            value = peek(fields + 16 * i + 8)
            call_1(get(api, t.INCREF), value)
            poke(tensor + peek(fields + 16 * i), value)
    return tensor


def made(fast, plan, api):
    """The results as the caller gets them, with arrays to write, or None where Python fills them in; 0 without memory. All of
    their memory is allocated before anything runs, so that a run does not fail half-way."""
    whole = 0
    if get(fast, t.MAKE) != 0:
        whole = call_1(get(fast, t.MAKE), get(plan, t.FETCHED))
        if whole == 0:
            return 0
    for i in range(get(plan, t.FETCHED)):
        result, value = get(plan, t.RESULTS) + 8 * t.RESULT_BLOCK * i, get(api, t.NONE)
        if get(result, t.OUT_DTYPE) != 0:
            value = output(api, result)
        else:
            call_1(get(api, t.INCREF), value)
        if value != 0 and get(fast, t.BOX) != 0:
            tensor = box(fast, api)
            if tensor != 0:
                poke(tensor + get(fast, t.BOX_ARRAY), value)
            else:
                call_1(get(api, t.DECREF), value)
            value = tensor
        if get(fast, t.MAKE) == 0:
            return value
        if value == 0:
            call_1(get(api, t.DECREF), whole)
            return 0
        call_3(get(fast, t.PUT), whole, i, value)
    return whole


def item(fast, whole, i):
    return whole if get(fast, t.MAKE) == 0 else call_2(get(fast, t.GET), whole, i)


def direct(fast, plan, whole):
    """Put the arrays that instructions write in place."""
    for i in range(get(plan, t.FETCHED)):
        which = get(get(plan, t.RESULTS) + 8 * t.RESULT_BLOCK * i, t.DIRECT)
        if which != 0:
            array = item(fast, whole, i)
            if get(fast, t.BOX) != 0:
                array = peek(array + get(fast, t.BOX_ARRAY))
            poke(get(plan, t.OBJECTS) + 8 * (which - 1), array)


def copied(fast, plan, api, whole):
    """Copy the results that lie in the plan's memory, or in a variable's. Returns 0 where NumPy raised an error."""
    for i in range(get(plan, t.FETCHED)):
        source = get(get(plan, t.RESULTS) + 8 * t.RESULT_BLOCK * i, t.SOURCE)
        if source == 0:
            continue
        array = item(fast, whole, i)
        if get(fast, t.BOX) != 0:
            array = peek(array + get(fast, t.BOX_ARRAY))
        if call_with(get(api, t.COPY_INTO), array, source) != 0:
            return 0
    return 1


def part(plan, api, patched, first):
    """Run the instructions of a plan from `first` on."""
    thread = 0
    if get(plan, t.RELEASES) != 0:
        thread = call_0(get(api, t.SAVE_THREAD))
    failed = step(
        get(plan, t.PATCHES), patched, get(plan, t.OBJECTS), get(plan, t.TABLE), first, get(plan, t.ROWS),
        get(plan, t.STATUS), get(plan, t.HOLD),
    )  # fmt: skip
    if thread != 0:
        call_1(get(api, t.RESTORE_THREAD), thread)
    return failed


def pauses(plan, r):
    """Whether an instruction stopped the driver for a pause of its loop."""
    row = get(plan, t.TABLE) + 8 * t.ROW * r
    return 1 if peek(row + 40) == 0 and peek(row + 24) == t.REPEAT and peek(peek(row + 16) + t.PAUSED) != 0 else 0


def run(plan, api):
    """Run the whole plan on the arrays in place. Returns the instruction that reported an error, -1, or -2 where a signal
    handler raised (as Ctrl-C does). While a handler runs, the plan counts as in use, because the handler may call it."""
    failed = part(plan, api, get(plan, t.PATCHED), 0)
    while failed >= 0 and pauses(plan, failed) != 0:
        poke(plan + 8 * t.BUSY, get(plan, t.BUSY) + 1)
        raised = call_get(get(api, t.CHECK_SIGNALS))
        poke(plan + 8 * t.BUSY, get(plan, t.BUSY) - 1)
        if raised != 0:
            return -2
        failed = part(plan, api, 0, failed)
    poke(plan + 8 * t.FAILED, failed)
    return failed


def refused(api, whole):
    """None: the caller falls back."""
    if whole != 0:
        call_1(get(api, t.DECREF), whole)
    call_1(get(api, t.INCREF), get(api, t.NONE))
    return get(api, t.NONE)


@entry
def call(self, args, count):
    """A Python function of any arguments, in the form METH_FASTCALL; `self` is the ndarray of its block.

    Returns new results, or None when the arguments don't fit, there is no memory for the results (which is an error for
    TRUSTED calls), an instruction reports an error, or the plan is in use. After an error or a pause of an exchange the results
    are returned as they are, and the plan has FAILED. Results are made only for arguments that fit.
    Making them may run Python code (the garbage collector), so the arguments are checked again afterwards; without RELEASES,
    threads don't switch between this check and the return.
    """
    fast = peek(self + t.DATA_OFFSET)
    plan, api = get(fast, t.PLAN), get(fast, t.API)
    trusted = get(fast, t.TRUSTED) != 0
    if count != get(fast, t.TAKES):
        return refused(api, 0)
    if (not trusted and get(plan, t.BUSY) != 0) or place(fast, plan, args) == 0:
        return refused(api, 0)
    whole = made(fast, plan, api)
    if whole == 0:
        if trusted:
            poke(plan + 8 * t.FAILED, t.NO_ROOM)
            return 0
        call_0(get(api, t.CLEAR_ERROR))
        return refused(api, 0)
    if (not trusted and get(plan, t.BUSY) != 0) or place(fast, plan, args) == 0:
        return refused(api, whole)
    direct(fast, plan, whole)
    if get(plan, t.RUNS) != 0:
        failed = run(plan, api)
        if failed == -2:
            call_1(get(api, t.DECREF), whole)
            return 0
        if failed >= get(plan, t.EXCHANGES):
            return whole  # `Plan.go_on` sees that it has FAILED
        if failed >= 0:
            if not trusted:
                poke(get(plan, t.STATUS), 0)  # the fallback runs it again, and raises the error
            return refused(api, whole)
        if copied(fast, plan, api, whole) == 0:
            call_1(get(api, t.DECREF), whole)
            return 0
    return whole
