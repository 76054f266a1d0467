"""Shards of a loop over a batch: each runs all iterations on its part of the batch, and none waits for another.

sizes: address of the plan's table, then for each shard its first instruction and the one after its last.
"""

from ..backend.abi import ROW
from ..backend.runtime_builtins import call_2, call_kernel, entry, peek


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
