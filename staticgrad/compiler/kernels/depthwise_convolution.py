"""Convolution along the rows of planes, for groups of few channels, from tables that `ops/convolution_tables.py` makes.

A source plane is copied into a frame of zeros, with rows and columns sorted by their residue modulo the stride. Neighboring
pixels of the result then read neighboring elements at each tap, and the whole result plane, in rows as long as the frame's,
is a sum of shifted rows of the frame. Columns beyond those of the result are dropped by the store.

gather: buffers = source, weights, result, scratch. The convolution, or (one phase per residue of the stride) its
gradient by the input. sizes = span, chunks, groups, source channels of a group, source height, width, frame top, left,
residues of rows, of columns, rows and columns of a residue's plane, elements of a framed plane, result channels of a
group, result plane, stride of a channel and of a group in the weights, phases, scratch elements of a chunk, where in it
the row of sums and the weights are, then for each phase: place of its taps, their number, rows, columns, first place in
the result, distance of rows and of columns there. Taps: offsets in the frames, then places in the weights.
The range is over chunks of (image, group, channel of the result).

weights: buffers = cotangent, source, result, scratch. Each tap is the product of the cotangent's plane and the shifted
source's. sizes = as above up to the elements of a framed plane, then images, cotangent channels of a group, its height,
width, scratch elements of a chunk, where in it the cotangent and its mask are, number of taps, their offsets.
The range is over chunks of planes of the weights.
"""

from staticgrad.compiler.backend.dialect import *

# kernels
from staticgrad.compiler.backend.intrinsics.vector_tiles import add_dots, put_span, shift, split_pairs
from staticgrad.compiler.backend.intrinsics.vector_tiles import at


@inline
def copied(x, source, y, target, count):
    """Copy a row. The last vector of one that does not end with a vector begins so much earlier."""
    if count >= 16:
        for j in range(0, count - 15, 16):
            shift(x, at(x, source + j), at(y, target + j), 16)
        shift(x, at(x, source + count - 16), at(y, target + count - 16), 16)
    elif count >= 8:
        shift(x, at(x, source), at(y, target), 8)
        shift(x, at(x, source + count - 8), at(y, target + count - 8), 8)
    elif count >= 4:
        shift(x, at(x, source), at(y, target), 4)
        shift(x, at(x, source + count - 4), at(y, target + count - 4), 4)
    else:
        for j in range(count):
            y[target + j] = x[source + j]


@inline
def split(x, source, y, even, odd, count):
    """A row's elements at even places, and the others; the last vector as in `copied`."""
    done = 0
    if count >= 16:
        for j in range(0, count - 15, 16):
            split_pairs(x, at(x, source + j), at(y, even + j // 2), at(y, odd + j // 2))
        j = (count - 16) // 2 * 2
        split_pairs(x, at(x, source + j), at(y, even + j // 2), at(y, odd + j // 2))
        done = count // 2 * 2
    for j in range(done, count, 2):
        y[even + j // 2] = x[source + j]
    for j in range(done + 1, count, 2):
        y[odd + j // 2] = x[source + j]


@inline
def framed(x, first, frame, to, sizes):
    """Copy a plane into its frame, whose border stays zero."""
    height, width, top, left = sizes[4], sizes[5], sizes[6], sizes[7]
    down, right, tall, wide = sizes[8], sizes[9], sizes[10], sizes[11]
    for i in range(height):
        source, row = first + i * width, i + top
        target = to + ((row % down) * right * tall + row // down) * wide
        if right == 1:
            copied(x, source, frame, target + left, width)
        elif right == 2:
            even, odd = target + left % 2 * tall * wide, target + (left + 1) % 2 * tall * wide
            split(x, source, frame, even + left // 2, odd + (left + 1) // 2, width)
        else:
            for j in range(width):
                frame[target + (left + j) % right * tall * wide + (left + j) // right] = x[source + j]


@inline
def stored(y, to, rows, columns, down, right, sums, first, wide):
    """The sums of a phase, without those beyond its columns."""
    for i in range(rows):
        target, source = to + i * down, first + i * wide
        if right == 1:
            copied(sums, source, y, target, columns)
        else:
            for j in range(columns):
                y[target + j * right] = sums[source + j]


@inline
def gather(x, w, y, scratch, sizes, start, stop, lanes):
    span, chunks, groups, held, plane, wide = sizes[0], sizes[1], sizes[2], sizes[3], sizes[12], sizes[11]
    area, channels = sizes[4] * sizes[5], sizes[13]
    for c in range(start, stop):
        own = c * sizes[18]
        sums, packed = own + sizes[19], own + sizes[20]
        for i in range(sizes[19]):
            scratch[own + i] = 0
        begin = span * c // chunks
        for unit in range(begin, span * (c + 1) // chunks):
            o, image = unit % channels, unit // channels
            if o == 0 or unit == begin:
                for s in range(held):
                    framed(x, (image * held + s) * area, scratch, own + s * plane, sizes)
            weights = image % groups * sizes[16] + o * sizes[15]
            for phase in range(21, 21 + 7 * sizes[17], 7):
                taps, count, rows, columns = sizes[phase], sizes[phase + 1], sizes[phase + 2], sizes[phase + 3]
                for k in range(count):
                    scratch[packed + k] = w[weights + sizes[taps + count + k]]
                for p in range(0, (rows - 1) * wide + columns, 4 * lanes):
                    put_span(x, at(scratch, own + p), at(sizes, taps), at(scratch, packed), count, at(scratch, sums + p), 4)
                to = unit * sizes[14] + sizes[phase + 4]
                stored(y, to, rows, columns, sizes[phase + 5], sizes[phase + 6], scratch, sums, wide)


@kernel
def gather_T_N(buffers, sizes, start, stop):
    gather(T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), T_at(buffers, 3), sizes, start, stop, N)


@inline
def weights(g, x, w, scratch, sizes, start, stop, lanes):
    span, chunks, groups, held, wide = sizes[0], sizes[1], sizes[2], sizes[3], sizes[11]
    area, images, channels, rows, columns = sizes[4] * sizes[5], sizes[13], sizes[14], sizes[15], sizes[16]
    taps, count, number = 21, sizes[20], ((rows - 1) * wide + columns + lanes - 1) // lanes
    for c in range(start, stop):
        own = c * sizes[17]
        left, valid = own + sizes[18], own + sizes[19]
        for i in range(sizes[17]):
            scratch[own + i] = 0
        for i in range(rows):
            for j in range(columns):
                scratch[valid + i * wide + j] = 1
        for unit in range(span * c // chunks, span * (c + 1) // chunks):
            o, s = unit // held, unit % held
            for k in range(count):
                w[unit * count + k] = 0
            for image in range(images):
                first = (image * groups * channels + o) * rows * columns
                framed(x, ((image * groups + o // channels) * held + s) * area, scratch, own, sizes)
                for i in range(rows):
                    copied(g, first + i * columns, scratch, left + i * wide, columns)
                k = 0
                while k < count:
                    a, b, to = at(scratch, left), at(scratch, valid), at(w, unit * count + k)
                    if k + 4 <= count:
                        add_dots(g, a, b, at(scratch, own), at(sizes, taps + k), number, to, 4)
                        k += 4
                    else:
                        add_dots(g, a, b, at(scratch, own), at(sizes, taps + k), number, to, 1)
                        k += 1


@kernel
def weights_T_N(buffers, sizes, start, stop):
    weights(T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), T_at(buffers, 3), sizes, start, stop, N)
