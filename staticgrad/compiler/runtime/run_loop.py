"""Many runs of a plan in one call."""

from ..backend import abi as t
from ..backend.runtime_builtins import call_8, copy_bytes, entry, peek, poke
from .instruction_loop import hold_blas, release_blas


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
