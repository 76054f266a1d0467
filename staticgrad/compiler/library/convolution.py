"""Direct convolution, from tables that `ops/convolution.py` makes; see `vector.py` for the tile that does the work.

gather: buffers = source, weights, result, scratch. Every pixel of the result is a sum over taps of the source, with the
result's channels as lanes: convolution, and (one phase per residue of the stride) its gradient by the input. Weights are
packed once per chunk, as rows of lanes; the source's planes are copied into a frame of zeros where they need one.
sizes = images, chunks, groups, source channels of a group, source height, width, frame top, left, framed height,
width, whether there is a frame, result channels of a group, result plane, stride of a lane and of a group in the
weights, phases, scratch elements of a chunk, where in it the frame and the spare tile are, then for each phase: place of
its taps, their number, place of its pixels, their number, whether they are consecutive.
Taps: offsets in the source, places in the weights. Pixels (filled up to a multiple of EIGHT): offsets in the source,
places in the result, and for each EIGHT the first of their taps and the number.

weights: buffers = cotangent, source, result, scratch. Each tap is a sum over pixels, with the cotangent's channels as
lanes; each chunk of images has sums of its own, which weight_sum joins in order.
sizes = as above up to the frame's flag, then cotangent channels of a group, its plane, place of the taps, their number,
place of the pixels, scratch elements of a chunk, where in it the frame, the cotangent's columns and the sums are.

The range is over chunks of images.
"""

from staticgrad.compiler.lang import *

# kernels
from staticgrad.compiler.vector import add_rows, at, put_columns, transpose_block


@merged
def framed(x, first, frame, to, sizes):
    """Copy a group's planes of an image into the frame, whose border stays zero."""
    channels, height, width = sizes[3], sizes[4], sizes[5]
    top, left, tall, wide = sizes[6], sizes[7], sizes[8], sizes[9]
    for s in range(channels):
        for i in range(height):
            source, target = first + (s * height + i) * width, to + (s * tall + i + top) * wide + left
            for j in range(width):
                frame[target + j] = x[source + j]


@merged
def packed(w, scratch, to, sizes, lanes):
    """The weights as rows of lanes, by group, phase, block of lanes and tap."""
    groups, channels, lane_step, group_step, phases = sizes[2], sizes[11], sizes[13], sizes[14], sizes[15]
    for g in range(groups):
        for f in range(phases):
            taps, count = sizes[19 + 5 * f], sizes[20 + 5 * f]
            for first in range(0, channels, lanes):
                for r in range(count):
                    source = g * group_step + sizes[taps + count + r]
                    for lane in range(lanes):
                        scratch[to + lane] = 0
                    for lane in range(min(lanes, channels - first)):
                        scratch[to + lane] = w[source + (first + lane) * lane_step]
                    to += lanes


@merged
def gathered_tiles(y, to, source, scratch, v, spare, sizes, phase, some, lanes):
    """One block of lanes of one phase of one image. `to`: where its first plane begins; `some` lanes are channels."""
    plane = sizes[12]
    taps, pixels, many, consecutive = sizes[phase], sizes[phase + 2], sizes[phase + 3], sizes[phase + 4]
    padded = (many + 7) // 8 * 8
    places, parts = pixels + padded, pixels + 2 * padded
    row = at(scratch, lanes) - at(scratch, 0)
    whole = many // 8 * 8 if consecutive and some == lanes else 0
    for p in range(0, many, 8):
        first, number = sizes[parts + p // 4], sizes[parts + p // 4 + 1]
        offsets, rows = at(sizes, taps + first), v + first * row
        if p < whole:
            out = at(y, to + sizes[places] + p)
            put_columns(y, source, at(sizes, pixels + p), offsets, number, rows, out, plane, lanes)
            continue
        put_columns(y, source, at(sizes, pixels + p), offsets, number, rows, at(scratch, spare), 8, lanes)
        for lane in range(some):
            for b in range(min(8, many - p)):
                y[to + lane * plane + sizes[places + p + b]] = scratch[spare + lane * 8 + b]


@merged
def gather(x, w, y, scratch, sizes, start, stop, lanes):
    images, chunks, groups, held, height, width = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    frame_size, channels, plane, phases = held * sizes[8] * sizes[9], sizes[11], sizes[12], sizes[15]
    for c in range(start, stop):
        own = c * sizes[16]
        frame, spare = own + sizes[17], own + sizes[18]
        packed(w, scratch, own, sizes, lanes)
        if sizes[10]:
            for i in range(frame_size):
                scratch[frame + i] = 0
        for n in range(images * c // chunks, images * (c + 1) // chunks):
            v = at(scratch, own)
            row = at(scratch, lanes) - at(scratch, 0)
            for g in range(groups):
                first = (n * groups + g) * held * height * width
                source = at(x, first)
                if sizes[10]:
                    framed(x, first, scratch, frame, sizes)
                    source = at(scratch, frame)
                for f in range(phases):
                    phase = 19 + 5 * f
                    for block in range(0, channels, lanes):
                        to = ((n * groups + g) * channels + block) * plane
                        some = min(lanes, channels - block)
                        gathered_tiles(y, to, source, scratch, v, spare, sizes, phase, some, lanes)
                        v += sizes[phase + 1] * row


@kernel
def gather_f32_8(buffers, sizes, start, stop):
    gather(f32_at(buffers, 0), f32_at(buffers, 1), f32_at(buffers, 2), f32_at(buffers, 3), sizes, start, stop, 8)


@kernel
def gather_f32_16(buffers, sizes, start, stop):
    gather(f32_at(buffers, 0), f32_at(buffers, 1), f32_at(buffers, 2), f32_at(buffers, 3), sizes, start, stop, 16)


@kernel
def gather_f64_8(buffers, sizes, start, stop):
    gather(f64_at(buffers, 0), f64_at(buffers, 1), f64_at(buffers, 2), f64_at(buffers, 3), sizes, start, stop, 8)


@merged
def columns_of(g, first, some, plane, scratch, to, lanes):
    """Up to `lanes` planes of the cotangent as rows of lanes, one row per pixel."""
    whole = plane // 8 * 8
    for lane in range(0, some // 8 * 8, 8):
        for p in range(0, whole, 8):
            transpose_block(g, at(g, first + lane * plane + p), plane, at(scratch, to + p * lanes + lane), lanes)
    for lane in range(some):
        for p in range(whole if lane < some // 8 * 8 else 0, plane):
            scratch[to + p * lanes + lane] = g[first + lane * plane + p]


@merged
def weights(g, x, scratch, sizes, start, stop, lanes):
    images, chunks, groups, held, height, width = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    channels, plane = sizes[11], sizes[12]
    taps, count, pixels = sizes[13], sizes[14], sizes[15]
    padded = (count + 7) // 8 * 8
    for c in range(start, stop):
        own = c * sizes[16]
        frame, columns = own + sizes[17], own + sizes[18]
        for i in range(sizes[16]):
            scratch[own + i] = 0
        for n in range(images * c // chunks, images * (c + 1) // chunks):
            out = own + sizes[19]
            for k in range(groups):
                first = (n * groups + k) * held * height * width
                source = at(x, first)
                if sizes[10]:
                    framed(x, first, scratch, frame, sizes)
                    source = at(scratch, frame)
                for block in range(0, channels, lanes):
                    some = min(lanes, channels - block)
                    if some < lanes:  # the lanes beyond belong to the block before
                        for i in range(plane * lanes):
                            scratch[columns + i] = 0
                    columns_of(g, ((n * groups + k) * channels + block) * plane, some, plane, scratch, columns, lanes)
                    for t in range(0, padded, 8):
                        add_rows(
                            g, source, at(sizes, taps + t), at(sizes, pixels), plane, at(scratch, columns),
                            at(scratch, out + t * lanes), lanes,
                        )
                    out += padded * lanes


@merged
def weight_sum(w, scratch, sizes, lanes):
    """Join the chunks' sums, and lay them out as weights: by group, channel and tap."""
    chunks, groups, channels, count = sizes[1], sizes[2], sizes[11], sizes[14]
    padded, blocks = (count + 7) // 8 * 8, (channels + lanes - 1) // lanes
    for k in range(groups):
        for o in range(channels):
            first = sizes[19] + (k * blocks + o // lanes) * padded * lanes + o % lanes
            to = (k * channels + o) * count
            for t in range(count):
                total = scratch[first + t * lanes]
                for c in range(1, chunks):
                    total += scratch[c * sizes[16] + first + t * lanes]
                w[to + t] = total


@kernel
def weights_f32_8(buffers, sizes, start, stop):
    weights(f32_at(buffers, 0), f32_at(buffers, 1), f32_at(buffers, 3), sizes, start, stop, 8)


@kernel
def weights_f32_16(buffers, sizes, start, stop):
    weights(f32_at(buffers, 0), f32_at(buffers, 1), f32_at(buffers, 3), sizes, start, stop, 16)


@kernel
def weights_f64_8(buffers, sizes, start, stop):
    weights(f64_at(buffers, 0), f64_at(buffers, 1), f64_at(buffers, 3), sizes, start, stop, 8)


@kernel
def weight_sum_f32_8(buffers, sizes, start, stop):
    weight_sum(f32_at(buffers, 2), f32_at(buffers, 3), sizes, 8)


@kernel
def weight_sum_f32_16(buffers, sizes, start, stop):
    weight_sum(f32_at(buffers, 2), f32_at(buffers, 3), sizes, 16)


@kernel
def weight_sum_f64_8(buffers, sizes, start, stop):
    weight_sum(f64_at(buffers, 2), f64_at(buffers, 3), sizes, 8)
