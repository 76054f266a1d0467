"""Strided copies and clearing, by element size.

copy: sizes = axes, extents, strides to, strides from; the range is over the first axis. clear: the range is over
elements.
"""

from staticgrad.compiler.backend.dialect import *

# kernels

from staticgrad.compiler.backend.intrinsics.vector_tiles import at, transpose_block, turn_firsts, turn_tile


@inline
def line(to, source, at_to, at_from, to_step, from_step, count):
    """Copy elements along one axis. Steps that are numbers in the code let the loop be vectorized."""
    if to_step == 1 and from_step == 1:
        for j in range(count):
            to[at_to + j] = source[at_from + j]
    elif to_step == 1 and from_step == 0:
        if count > 0:
            value = source[at_from]
            for j in range(count):
                to[at_to + j] = value
    else:
        for j in range(count):
            to[at_to + j * to_step] = source[at_from + j * from_step]


@inline
def plane(to, source, sizes, at_to, at_from, p, q, rows, columns):
    """Copy `rows` x `columns` elements, along the axes p and q."""
    axes = sizes[0]
    to_p, to_q = sizes[1 + axes + p], sizes[1 + axes + q]
    from_p, from_q = sizes[1 + 2 * axes + p], sizes[1 + 2 * axes + q]
    if to_q == 1 and (from_p == 1 or from_p == 2) and from_q != 1 and from_q != 0:
        tile = 16 if from_p == 1 and rows % 16 < 8 and columns % 16 < 8 else 8
        below, right = rows // tile * tile, columns // tile * tile
        for first in range(0, below, 64):
            for j in range(0, right, tile):
                for i in range(first, min(first + 64, below), tile):
                    place, there = at(source, at_from + i * from_p + j * from_q), at(to, at_to + i * to_p + j)
                    if from_p == 2:
                        turn_firsts(to, place, from_q, there, to_p)
                    elif tile == 16:
                        turn_tile(to, place, from_q, there, to_p)
                    else:
                        transpose_block(to, place, from_q, there, to_p)
        for i in range(rows):
            for j in range(right if i < below else 0, columns):
                to[at_to + i * to_p + j] = source[at_from + i * from_p + j * from_q]
    else:
        for i in range(rows):
            line(to, source, at_to + i * to_p, at_from + i * from_p, to_q, from_q, columns)


@inline
def copied(to, source, sizes, start, stop):
    """Plane by plane: along the axes of step 1 in the result (q) and of step 1 or 2 in the source (p), as parts of complex
    numbers have it, or else the last ones."""
    axes, span = sizes[0], stop - start
    at_to, at_from = start * sizes[1 + axes], start * sizes[1 + 2 * axes]
    if axes == 1:
        line(to, source, at_to, at_from, sizes[2], sizes[3], span)
    else:
        q, p = axes - 1, -1
        for a in range(axes):
            if sizes[1 + axes + a] == 1:
                q = a
        for a in range(axes):
            if a != q and (p < 0 or (sizes[1 + 2 * axes + p] != 1 and sizes[1 + 2 * axes + p] != 2)):
                p = a
        planes = 1
        for a in range(axes):
            if a != p and a != q:
                planes *= span if a == 0 else sizes[1 + a]
        rows, columns = span if p == 0 else sizes[1 + p], span if q == 0 else sizes[1 + q]
        for m in range(planes):
            to_plane, from_plane, rest = at_to, at_from, m
            for a in range(axes - 1, -1, -1):
                if a != p and a != q:
                    extent = span if a == 0 else sizes[1 + a]
                    to_plane += rest % extent * sizes[1 + axes + a]
                    from_plane += rest % extent * sizes[1 + 2 * axes + a]
                    rest //= extent
            plane(to, source, sizes, to_plane, from_plane, p, q, rows, columns)


@kernel
def copy_T(buffers, sizes, start, stop):
    copied(T_at(buffers, 1), T_at(buffers, 0), sizes, start, stop)


@kernel
def clear(buffers, sizes, start, stop):
    to = u8_at(buffers, 0)
    for i in range(start, stop):
        to[i] = u8(0)
