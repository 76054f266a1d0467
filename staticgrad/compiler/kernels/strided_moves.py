"""Strided copies and clearing, by element size.

copy: sizes = axes, extents, strides to, strides from; the range is over the first axis. clear: the range is over
elements.
"""

from staticgrad.compiler.backend.dialect import *

# kernels


@inline
def copied(to, source, sizes, start, stop):
    axes = sizes[0]
    inner = sizes[axes]
    inner_to, inner_from = sizes[2 * axes], sizes[3 * axes]
    middle = 1
    for a in range(1, axes - 1):
        middle *= sizes[1 + a]
    if axes == 1:
        for j in range(start, stop):
            to[j * inner_to] = source[j * inner_from]
    else:
        for i in range(start, stop):
            for m in range(middle):
                at_to, at_from, rest = i * sizes[1 + axes], i * sizes[1 + 2 * axes], m
                for a in range(axes - 2, 0, -1):
                    at_to += rest % sizes[1 + a] * sizes[1 + axes + a]
                    at_from += rest % sizes[1 + a] * sizes[1 + 2 * axes + a]
                    rest //= sizes[1 + a]
                if inner_to == 1 and inner_from == 1:
                    for j in range(inner):
                        to[at_to + j] = source[at_from + j]
                else:
                    for j in range(inner):
                        to[at_to + j * inner_to] = source[at_from + j * inner_from]


@kernel
def copy_T(buffers, sizes, start, stop):
    copied(T_at(buffers, 1), T_at(buffers, 0), sizes, start, stop)


@kernel
def clear(buffers, sizes, start, stop):
    to = u8_at(buffers, 0)
    for i in range(start, stop):
        to[i] = u8(0)
