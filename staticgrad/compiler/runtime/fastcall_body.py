"""What is behind gates: checks the arguments of a call, makes its results and runs the plan, in one C function.

The blocks that it reads are described in `abi.py`.
"""

from ..backend import abi as t
from ..backend.runtime_builtins import call_0, call_1, call_2, call_3, call_8, call_get, call_with, entry, peek, poke
from .instruction_loop import step


def get(block, number):
    return peek(block + 8 * number)


def above(numbers, count, x):
    """The first of the ascending numbers that is greater than x."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if peek(numbers + 8 * middle) > x:
            high = middle
        else:
            low = middle + 1
    return low


def same_header(array, dtype, ndim, shape):
    """Whether it is a C-contiguous array of this kind."""
    if peek(array + t.DTYPE) != dtype or peek(array + t.NDIM) & t.INT != ndim:
        return 0
    if peek(array + t.FLAGS) & t.CONTIGUOUS == 0:
        return 0
    extents = peek(array + t.SHAPE)
    for i in range(ndim):
        if peek(extents + 8 * i) != peek(shape + 8 * i):
            return 0
    return 1


def array_of(gate, argument):
    """The ndarray of an argument; 0 for what needs a second look."""
    kind = peek(argument + t.TYPE)
    if kind == peek(get(gate, t.API) + 8 * t.NDARRAY):
        return argument
    if get(gate, t.BOX) == 0 or kind != get(gate, t.BOX) or peek(argument + get(gate, t.BOX_FLAG)) != get(gate, t.BOX_PLAIN):
        return 0
    ids, count = get(gate, t.EXCLUDED), get(gate, t.EXCLUDES)
    at = above(ids, count, argument - 1)
    return 0 if at < count and peek(ids + 8 * at) == argument else peek(argument + get(gate, t.BOX_ARRAY))


def place(gate, plan, args):
    """Put the arrays among the arguments in place. Returns 0 when the arguments don't fit."""
    objects, at = get(plan, t.OBJECTS), 0
    ranges, ranged = get(gate, t.RANGES), get(gate, t.RANGED)
    for i in range(get(gate, t.TAKES)):
        spec, array = get(gate, t.SPECS) + 8 * t.SPEC_BLOCK * i, peek(args + 8 * i)
        if get(gate, t.TRUSTED) == 0:
            if get(spec, t.SAME) != 0:
                if array != get(spec, t.SAME):
                    return 0
                continue
            argument = array
            array = array_of(gate, argument)
            if get(spec, t.BARE) != 0 and array != argument:
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
    """An array that nobody but the pool holds, with a new reference; 0 for none."""
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
    """The array that a result is written to, with a new reference; 0 without memory."""
    array = recycled(api, result)
    if array != 0:
        return array
    dtype, count = get(result, t.OUT_DTYPE), get(result, t.POOLED)
    call_1(get(api, t.INCREF), dtype)  # NEW_ARRAY takes the reference
    array = call_8(
        get(api, t.NEW_ARRAY), get(api, t.NDARRAY), dtype, get(result, t.OUT_NDIM), get(result, t.OUT_SHAPE), 0, 0, 0, 0
    )
    if array != 0 and count != 0:
        turn = get(result, t.TURN)
        given_up = peek(get(result, t.POOL) + 8 * turn)
        call_1(get(api, t.INCREF), array)
        poke(get(result, t.POOL) + 8 * turn, array)
        poke(result + 8 * t.TURN, (turn + 1) % count)
        call_1(get(api, t.DECREF), given_up)
    return array


def box(gate, api):
    """A tensor without its array, or 0."""
    tensor = call_3(get(gate, t.BOX_NEW), get(gate, t.BOX), get(gate, t.BOX_ARGS), 0)
    if tensor != 0:
        fields = get(gate, t.BOX_FIELDS)
        for i in range(get(gate, t.BOX_FIELD)):
            value = peek(fields + 16 * i + 8)
            call_1(get(api, t.INCREF), value)
            poke(tensor + peek(fields + 16 * i), value)
    return tensor


def made(gate, plan, api):
    """The results as the caller gets them, with arrays that are to be written and None for others; 0 without memory. All of
    their memory is there before anything runs: a run does not end in the middle for want of it."""
    whole = 0
    if get(gate, t.MAKE) != 0:
        whole = call_1(get(gate, t.MAKE), get(plan, t.FETCHED))
        if whole == 0:
            return 0
    for i in range(get(plan, t.FETCHED)):
        result, value = get(plan, t.RESULTS) + 8 * t.RESULT_BLOCK * i, get(api, t.NONE)
        if get(result, t.OUT_DTYPE) != 0:
            value = output(api, result)
        else:
            call_1(get(api, t.INCREF), value)
        if value != 0 and get(gate, t.BOX) != 0:
            tensor = box(gate, api)
            if tensor != 0:
                poke(tensor + get(gate, t.BOX_ARRAY), value)
            else:
                call_1(get(api, t.DECREF), value)
            value = tensor
        if get(gate, t.MAKE) == 0:
            return value
        if value == 0:
            call_1(get(api, t.DECREF), whole)
            return 0
        call_3(get(gate, t.PUT), whole, i, value)
    return whole


def item(gate, whole, i):
    return whole if get(gate, t.MAKE) == 0 else call_2(get(gate, t.GET), whole, i)


def direct(gate, plan, whole):
    """Put the arrays that the rows write in place."""
    for i in range(get(plan, t.FETCHED)):
        which = get(get(plan, t.RESULTS) + 8 * t.RESULT_BLOCK * i, t.DIRECT)
        if which != 0:
            array = item(gate, whole, i)
            if get(gate, t.BOX) != 0:
                array = peek(array + get(gate, t.BOX_ARRAY))
            poke(get(plan, t.OBJECTS) + 8 * (which - 1), array)


def copied(gate, plan, api, whole):
    """Copy results that lie in the plan's memory, or in a variable's. Returns 0 where NumPy raised an error."""
    for i in range(get(plan, t.FETCHED)):
        source = get(get(plan, t.RESULTS) + 8 * t.RESULT_BLOCK * i, t.SOURCE)
        if source == 0:
            continue
        array = item(gate, whole, i)
        if get(gate, t.BOX) != 0:
            array = peek(array + get(gate, t.BOX_ARRAY))
        if call_with(get(api, t.COPY_INTO), array, source) != 0:
            return 0
    return 1


def part(plan, api, patched, first):
    """The rows of a plan from one on."""
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
    """Whether a row that stopped the driver is that of a loop which goes on there."""
    row = get(plan, t.TABLE) + 8 * t.ROW * r
    return 1 if peek(row + 40) == 0 and peek(row + 24) == t.REPEAT and peek(peek(row + 16) + t.PAUSED) != 0 else 0


def run(plan, api):
    """The whole plan, on what is in place. Returns the row that reported an error, -1, or -2 where the handler of a signal
    raised (as Ctrl-C does). While a handler runs, the plan is in use: it may call it."""
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
    """None: the caller has to take the long way."""
    if whole != 0:
        call_1(get(api, t.DECREF), whole)
    call_1(get(api, t.INCREF), get(api, t.NONE))
    return get(api, t.NONE)


@entry
def call(self, args, count):
    """A Python function of any arguments, in the form METH_FASTCALL; `self` is the ndarray of its gate.

    Returns new results, or None when the arguments don't fit, there is no memory for the results (which is an error for
    TRUSTED gates), a row reports an error, or the plan is in use. Results are made for arguments that fit only. That may
    run Python code - the collector - so the arguments are looked at again, and put in place, behind it; without RELEASES,
    threads don't switch between then and the return.
    """
    gate = peek(self + t.DATA_OFFSET)
    plan, api = get(gate, t.PLAN), get(gate, t.API)
    trusted = get(gate, t.TRUSTED) != 0
    if count != get(gate, t.TAKES):
        return refused(api, 0)
    if (not trusted and get(plan, t.BUSY) != 0) or place(gate, plan, args) == 0:
        return refused(api, 0)
    whole = made(gate, plan, api)
    if whole == 0:
        if trusted:
            poke(plan + 8 * t.FAILED, t.NO_ROOM)
            return 0
        call_0(get(api, t.CLEAR_ERROR))
        return refused(api, 0)
    if (not trusted and get(plan, t.BUSY) != 0) or place(gate, plan, args) == 0:
        return refused(api, whole)
    direct(gate, plan, whole)
    if get(plan, t.RUNS) != 0:
        failed = run(plan, api)
        if failed == -2:
            call_1(get(api, t.DECREF), whole)
            return 0
        if failed >= 0:
            if not trusted:
                poke(get(plan, t.STATUS), 0)  # the long way runs it again, and tells
            return refused(api, whole)
        if copied(gate, plan, api, whole) == 0:
            call_1(get(api, t.DECREF), whole)
            return 0
    return whole
