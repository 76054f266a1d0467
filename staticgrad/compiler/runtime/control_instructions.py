"""Control-flow instructions: loops and branches. They have no chunks; `start` is their operation, and their last word is the
address of `control`.

    ENTER    the first iteration of a loop: initializes its state and continues with the body, or after the loop
    REPEAT   the end of an iteration: continues with the body, or after the loop
    UNLESS   jumps to instruction sizes[0] unless the boolean in buffers[0] is true
    GO       jumps to instruction sizes[0]
    HOST     stops the driver for a host call

ENTER and REPEAT share their buffers (the first items of the loop's stacks) and sizes, which are the state of the loop:

    T        the iteration, from 0
    N        the number of iterations; -1 where a condition decides
    COUNT    the number of the buffer that holds N, -1 for none
    REVERSE  whether iteration t works on item N - 1 - t of the stacks
    EXIT   the instruction after the loop; HEAD the first one of the body
    MOVES    number and address of the pointers that advance along the stacks: (address of the pointer, number of the buffer,
             bytes per item, bytes to add)
    PAUSED   whether the loop stopped the driver at its REPEAT instruction for Python to handle signals; SINCE when it last did
    GROWING  number and address of the stacks of unknown length: (number of the buffer, address of its words, bytes per item,
             whether this loop fills it). The words are (address, capacity in bytes, items)
"""

from ..backend.abi import (
    COUNT,
    ENTER,
    EXIT,
    GO,
    GROWING,
    HEAD,
    LOOKS,
    MOVES,
    PAUSE,
    PAUSED,
    REPEAT,
    REVERSE,
    ROW,
    SINCE,
    UNLESS,
    N,
    T,
)
from ..backend.runtime_builtins import call_2, call_kernel, entry, nanoseconds, peek, peek_byte, poke, resize


def lacks(loop, n):
    """Whether a stack that this loop reads has fewer than n items, or n is negative."""
    if n < 0:
        return 1
    first = peek(loop + GROWING + 8)
    for i in range(peek(loop + GROWING)):
        entry = first + 32 * i
        if peek(entry + 24) == 0 and n > peek(peek(entry + 8) + 16):
            return 1
    return 0


def grow(loop, buffers, items, filled):
    """Grow the stacks that this loop fills to so many items, and point at the current memory of all stacks. Returns 0 where
    there is no memory."""
    first = peek(loop + GROWING + 8)
    for i in range(peek(loop + GROWING)):
        entry = first + 32 * i
        stack, need = peek(entry + 8), items * peek(entry + 16)
        if peek(entry + 24) != 0:
            poke(stack + 16, filled)
        if peek(entry + 24) != 0 and need > peek(stack + 8):
            capacity = max(need, 2 * peek(stack + 8), 4096)
            moved = resize(peek(stack), capacity)
            if moved == 0:
                return 0
            poke(stack, moved)
            poke(stack + 8, capacity)
        poke(buffers + 8 * peek(entry), peek(stack))
    return 1


def begin(loop, buffers, r, t, n):
    """Point the body at the items of iteration t. Returns the next instruction, or -1 - r without memory."""
    poke(loop + T, t)
    if t == n:
        return peek(loop + EXIT)
    if n < 0 and grow(loop, buffers, t + 1, t) == 0:
        return -1 - r
    place = n - 1 - t if peek(loop + REVERSE) != 0 else t
    first = peek(loop + MOVES + 8)
    for i in range(peek(loop + MOVES)):
        move = first + 32 * i
        poke(peek(move), peek(buffers + 8 * peek(move + 8)) + place * peek(move + 16) + peek(move + 24))
    return peek(loop + HEAD)


def due(loop, t):
    """Whether a pause is due."""
    if t % LOOKS != 0:
        return 0
    now = nanoseconds()
    if now - peek(loop + SINCE) < PAUSE:
        return 0
    poke(loop + SINCE, now)
    return 1


@entry
def control(instruction, r):
    """Run a control-flow instruction. Returns the next one, or -1 - r to stop the driver."""
    operation, buffers, sizes = peek(instruction + 24), peek(instruction + 8), peek(instruction + 16)
    if operation == UNLESS:
        return r + 1 if peek_byte(peek(buffers)) != 0 else peek(sizes)
    if operation == GO:
        return peek(sizes)
    if operation == ENTER:
        poke(sizes + PAUSED, 0)
        if peek(sizes + COUNT) >= 0:
            poke(sizes + N, peek(peek(buffers + 8 * peek(sizes + COUNT))))
            if lacks(sizes, peek(sizes + N)) != 0:
                return -1 - r
        n = peek(sizes + N)
        if grow(sizes, buffers, max(n, 0), max(n, 0)) == 0:
            return -1 - r
        return begin(sizes, buffers, r, 0, n)
    if operation == REPEAT:
        t = peek(sizes + T) + 1
        if peek(sizes + PAUSED) == 0 and due(sizes, t) != 0:
            poke(sizes + PAUSED, 1)
            return -1 - r
        poke(sizes + PAUSED, 0)
        return begin(sizes, buffers, r, t, peek(sizes + N))
    return -1 - r


# shards of a loop over a batch ---------------------------------------------------------------------------------------

# Each runs all iterations on its part of the batch, and none waits for another.
#
# sizes: address of the plan's table, then for each shard its first instruction and the one after its last.


@entry
def shards(buffers, sizes, start, stop):
    """A kernel; its range is over shards."""
    table = peek(sizes)
    for shard in range(start, stop):
        r, last = peek(sizes + 8 + 16 * shard), peek(sizes + 16 + 16 * shard)
        while r < last:
            instruction = table + 8 * ROW * r
            if peek(instruction + 40) == 0:
                to = call_2(peek(instruction + 56), instruction, r)
                r = to if to >= 0 else r  # a shard does not pause: it repeats the instruction
            else:
                buffers_at, sizes_at = peek(instruction + 8), peek(instruction + 16)
                call_kernel(peek(instruction), buffers_at, sizes_at, peek(instruction + 24), peek(instruction + 32))
                r += 1
    return 0
