"""Rows that decide which row comes next: loops and branches. They have no chunks; their `start` says what they do, and
their last number is the address of `turn`.

    ENTER    the first iteration of a loop: sets its state up, and goes on with the next row, or behind the loop
    REPEAT   the end of an iteration: goes back behind the ENTER row, or on behind the loop
    UNLESS   goes to row sizes[0] unless the boolean in buffers[0] is true
    GO       goes to row sizes[0]
    HOST     stops the driver: Python has something to do

ENTER and REPEAT share their buffers (where a loop's stacks begin) and sizes, which are its state:

    T        the iteration, from 0
    N        how many there are; -1 where a condition decides
    COUNT    which buffer holds N, -1 for none
    REVERSE  whether iteration t works on place N - 1 - t of the stacks
    BEHIND   the row behind the loop; HEAD the one behind ENTER
    MOVES    their number and address: (where to write, which buffer, bytes per place, bytes to add), the pointers that
             go along the stacks
    PAUSED   whether the loop stopped the driver at its REPEAT row, for Python to look at its signals; SINCE when it last did
    GROWING  their number and address: (which buffer, its home, bytes per place, whether this loop fills it): stacks
             whose home is (address, capacity in bytes, places filled), as nobody knows in advance how long they get
"""

from ..backend.abi import (
    BEHIND,
    COUNT,
    ENTER,
    GO,
    GROWING,
    HEAD,
    LOOKS,
    MOVES,
    PAUSE,
    PAUSED,
    REPEAT,
    REVERSE,
    SINCE,
    UNLESS,
    N,
    T,
)
from ..backend.runtime_builtins import entry, nanoseconds, peek, peek_byte, poke, resize


def short(loop, n):
    """Whether a stack that this loop reads has fewer than n places, or there can't be n iterations."""
    if n < 0:
        return 1
    first = peek(loop + GROWING + 8)
    for i in range(peek(loop + GROWING)):
        entry = first + 32 * i
        if peek(entry + 24) == 0 and n > peek(peek(entry + 8) + 16):
            return 1
    return 0


def room(loop, buffers, places, filled):
    """Stacks that this loop fills get room for so many places; every stack begins where it begins now. Returns 0 where
    there is no memory."""
    first = peek(loop + GROWING + 8)
    for i in range(peek(loop + GROWING)):
        entry = first + 32 * i
        home, need = peek(entry + 8), places * peek(entry + 16)
        if peek(entry + 24) != 0:
            poke(home + 16, filled)
        if peek(entry + 24) != 0 and need > peek(home + 8):
            capacity = max(need, 2 * peek(home + 8), 4096)
            moved = resize(peek(home), capacity)
            if moved == 0:
                return 0
            poke(home, moved)
            poke(home + 8, capacity)
        poke(buffers + 8 * peek(entry), peek(home))
    return 1


def begin(loop, buffers, r, t, n):
    """Point the rows of the body at place t; returns the row to go on with, -1 - r without memory."""
    poke(loop + T, t)
    if t == n:
        return peek(loop + BEHIND)
    if n < 0 and room(loop, buffers, t + 1, t) == 0:
        return -1 - r
    place = n - 1 - t if peek(loop + REVERSE) != 0 else t
    first = peek(loop + MOVES + 8)
    for i in range(peek(loop + MOVES)):
        move = first + 32 * i
        poke(peek(move), peek(buffers + 8 * peek(move + 8)) + place * peek(move + 16) + peek(move + 24))
    return peek(loop + HEAD)


def tired(loop, t):
    """Whether it is time for a pause."""
    if t % LOOKS != 0:
        return 0
    now = nanoseconds()
    if now - peek(loop + SINCE) < PAUSE:
        return 0
    poke(loop + SINCE, now)
    return 1


@entry
def turn(row, r):
    """What a row of a loop or branch does; returns the row to go on with, -1 - r to stop."""
    what, buffers, sizes = peek(row + 24), peek(row + 8), peek(row + 16)
    if what == UNLESS:
        return r + 1 if peek_byte(peek(buffers)) != 0 else peek(sizes)
    if what == GO:
        return peek(sizes)
    if what == ENTER:
        poke(sizes + PAUSED, 0)
        if peek(sizes + COUNT) >= 0:
            poke(sizes + N, peek(peek(buffers + 8 * peek(sizes + COUNT))))
            if short(sizes, peek(sizes + N)) != 0:
                return -1 - r
        n = peek(sizes + N)
        if room(sizes, buffers, max(n, 0), max(n, 0)) == 0:
            return -1 - r
        return begin(sizes, buffers, r, 0, n)
    if what == REPEAT:
        t = peek(sizes + T) + 1
        if peek(sizes + PAUSED) == 0 and tired(sizes, t) != 0:
            poke(sizes + PAUSED, 1)
            return -1 - r
        poke(sizes + PAUSED, 0)
        return begin(sizes, buffers, r, t, peek(sizes + N))
    return -1 - r
