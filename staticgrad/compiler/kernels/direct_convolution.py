"""Direct convolution, from the tables of `ops/convolution_tables.py`; `vector_tiles.py` has the tiles of the inner loop.

gather: buffers = source, weights, result, scratch. Every pixel of the result is a sum over taps of the source, with the
result's channels as lanes: convolution, and (one phase per residue of the stride) its gradient by the input. A chunk packs
the weights that it needs as rows of lanes; the source's planes are copied into a frame of zeros where they need one.
sizes = span, chunks, groups, source channels of a group, source height, width, frame top, left, framed height, width,
whether there is a frame, result channels of a group, result plane, stride of a lane and of a group in the weights, phases,
scratch elements of a chunk, where in it the frame and the spare tile (or many sums) are, then for each phase: place of its
taps, their number, place of its pixels, their number, whether they are consecutive; then the taps of all phases, the
images if they are what changes fastest, and whether the result's channels are its last axis. A source whose channels are its
last axis is one plane whose columns are pixels and channels.
Taps: offsets in the source, then places in the weights, ascending, and which tap each is. Pixels (filled up to a multiple
of EIGHT): offsets in the source, places in the result, and for each EIGHT the first of their taps and the number.
The range is over chunks of (image, group, block of lanes), or of (group, block of lanes, image), which keeps large weights in
the cache.

gather_deep: the same for many taps, a part of them at a time.

gather_images: the same for images of which many taps meet padding only. A tile is one pixel of EIGHT images, so it takes the
taps that are inside and there is no frame. Scratch has the weights and the sums of EIGHT images. sizes: as above, with the
images in place of the spare tile. Pixels: for each the offset in the source, the place in the result, the place of the runs of
taps (first, number) and their number. The range is over chunks of (EIGHT images, group, block of lanes).

weights: buffers = cotangent, source, result, scratch. Each tap is a sum over pixels, with the cotangent's channels as
lanes; each chunk of images has sums of its own, which weight_sum joins in order.
sizes = as above up to the frame's flag, then cotangent channels of a group, its plane, place of the taps, their number,
place of the pixels, scratch elements of a chunk, where in it the frame, the cotangent's columns and the sums are, images,
how many at once, whether channels are the cotangent's last axis, and the result's, the taps of a channel and the channels if
taps are by place first (else 0), place of the runs.
The range is over chunks of images.

weights_inside: the same for images of which many taps meet padding only. EIGHT taps are channels of one place of the kernel.
They take the pixels for which that place is inside, in runs (first, number), and there is no frame. Runs: for each place of the
kernel the place of its runs and their number.

weight_tiles: the same for few images or large weights: some images at once, whose pixels make one list. The range is over
chunks of (group, block of lanes, EIGHT taps), and no sums of chunks are to be joined.
"""

from staticgrad.compiler.backend.dialect import *

# kernels
from staticgrad.compiler.backend.intrinsics.vector_tiles import shift, transpose_to
from staticgrad.compiler.backend.intrinsics.vector_tiles import (
    add_rows,
    add_runs,
    at,
    put_columns,
    put_rows,
    put_runs,
    transpose_block,
)

DEPTH = 128  # steps of a sum whose rows of lanes stay in the L1 cache
PIXELS = 32  # whose sums stay in it, too


@inline
def framed(x, first, frame, to, sizes):
    """Copy a group's planes of an image into the frame, whose border stays zero."""
    channels, height, width = sizes[3], sizes[4], sizes[5]
    top, left, tall, wide = sizes[6], sizes[7], sizes[8], sizes[9]
    for s in range(channels):
        for i in range(height):
            source, target = first + (s * height + i) * width, to + (s * tall + i + top) * wide + left
            for j in range(width):
                frame[target + j] = x[source + j]


@inline
def packed(w, scratch, to, sizes, first, block, lanes):
    """The weights of a block of channels as rows of lanes, by phase and tap. `first`: where its group's begin."""
    channels, lane_step, phases = sizes[11], sizes[13], sizes[15]
    some = min(lanes, channels - block)
    for f in range(phases):
        count, places = sizes[20 + 5 * f], sizes[19 + 5 * f] + sizes[20 + 5 * f]
        rows, r = places + count, 0
        while r < count:
            source = first + sizes[places + r] + block * lane_step
            if some == lanes and r + 8 <= count and sizes[places + r + 7] == sizes[places + r] + 7:
                for lane in range(0, lanes, 8):
                    target = at(scratch, to + lane)
                    transpose_to(w, at(w, source + lane * lane_step), lane_step, target, at(sizes, rows + r), lanes)
                r += 8
                continue
            target = to + sizes[rows + r] * lanes
            if some == lanes and lane_step == 1:
                shift(w, at(w, source), at(scratch, target), lanes)
            else:
                for lane in range(some):
                    scratch[target + lane] = w[source + lane * lane_step]
                for lane in range(some, lanes):
                    scratch[target + lane] = 0
            r += 1
        to += count * lanes


@inline
def gathered_sums(y, to, source, scratch, v, sums, sizes, phase, some, last_axis, lanes):
    """As `gathered_tiles` for many taps: a part of them at a time, whose weights stay in the L1 cache, for a part of the
    pixels, whose sums do."""
    plane = sizes[12]
    taps, count, pixels, many = sizes[phase], sizes[phase + 1], sizes[phase + 2], sizes[phase + 3]
    padded = (many + 7) // 8 * 8
    places, parts = pixels + padded, pixels + 2 * padded
    row = at(scratch, lanes) - at(scratch, 0)
    whole = many // 8 * 8 if sizes[phase + 4] and some == lanes else 0
    for q in range(0, many, PIXELS):
        e = min(q + PIXELS, many)
        for i in range(PIXELS * lanes):
            scratch[sums + i] = 0
        for r in range(0, count, DEPTH):
            for p in range(q, e, 8):
                first, last = sizes[parts + p // 4], sizes[parts + p // 4] + sizes[parts + p // 4 + 1]
                first, last = max(first, r), min(last, r + DEPTH)
                place = at(scratch, sums + (p - q) * lanes)
                offsets = at(sizes, taps + first)
                add_rows(y, source, at(sizes, pixels + p), offsets, last - first, v + first * row, place, lanes)
        for p in range(q, e, 8):
            first = sums + (p - q) * lanes
            if last_axis:
                for b in range(min(8, many - p)):
                    for lane in range(some):
                        y[to + sizes[places + p + b] + lane] = scratch[first + b * lanes + lane]
                continue
            if p < whole:
                for lane in range(0, lanes, 8):
                    out = at(y, to + lane * plane + sizes[places + p])
                    transpose_block(y, at(scratch, first + lane), lanes, out, plane)
                continue
            for lane in range(some):
                for b in range(min(8, many - p)):
                    y[to + lane * plane + sizes[places + p + b]] = scratch[first + b * lanes + lane]


@inline
def gathered_tiles(y, to, source, scratch, v, spare, sizes, phase, some, last_axis, lanes):
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
        if last_axis:
            if p < whole:
                out = at(y, to + sizes[places + p])
                put_rows(y, source, at(sizes, pixels + p), offsets, number, rows, out, sizes[11], lanes)
                continue
            put_rows(y, source, at(sizes, pixels + p), offsets, number, rows, at(scratch, spare), lanes, lanes)
            for b in range(min(8, many - p)):
                for lane in range(some):
                    y[to + sizes[places + p + b] + lane] = scratch[spare + b * lanes + lane]
            continue
        if p < whole:
            out = at(y, to + sizes[places] + p)
            put_columns(y, source, at(sizes, pixels + p), offsets, number, rows, out, plane, lanes)
            continue
        put_columns(y, source, at(sizes, pixels + p), offsets, number, rows, at(scratch, spare), 8, lanes)
        for lane in range(some):
            for b in range(min(8, many - p)):
                y[to + lane * plane + sizes[places + p + b]] = scratch[spare + lane * 8 + b]


@inline
def gather(x, w, y, scratch, sizes, start, stop, tiles, lanes):
    span, chunks, groups, held, height, width = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    frame_size, channels, plane, phases = held * sizes[8] * sizes[9], sizes[11], sizes[12], sizes[15]
    blocks = (channels + lanes - 1) // lanes
    parts, taps, images = groups * blocks, sizes[19 + 5 * phases], sizes[20 + 5 * phases]
    last_axis = sizes[21 + 5 * phases]
    for c in range(start, stop):
        own = c * sizes[16]
        frame, spare = own + sizes[17], own + sizes[18]
        if sizes[10]:
            for i in range(frame_size):
                scratch[frame + i] = 0
        begin, in_frame = span * c // chunks, -1
        row = at(scratch, lanes) - at(scratch, 0)
        for unit in range(begin, span * (c + 1) // chunks):
            if images:  # all of them for a part of the weights, and then for the next
                image, part, rows = unit % images, unit // images, own
                fresh = image == 0 or unit == begin
            else:
                image, part, rows = unit // parts, unit % parts, own + unit % parts * taps * lanes
                fresh = unit - begin < parts
            group, block = part // blocks, part % blocks * lanes
            if fresh:
                packed(w, scratch, rows, sizes, group * sizes[14], block, lanes)
            planes = image * groups + group
            first = planes * held * height * width
            source = at(x, first)
            if sizes[10]:
                if planes != in_frame:
                    framed(x, first, scratch, frame, sizes)
                    in_frame = planes
                source = at(scratch, frame)
            v, some = at(scratch, rows), min(lanes, channels - block)
            to = planes * channels * plane + block * (1 if last_axis else plane)
            for f in range(phases):
                tiles(y, to, source, scratch, v, spare, sizes, 19 + 5 * f, some, last_axis, lanes)
                v += sizes[20 + 5 * f] * row


@kernel
def gather_T_N(buffers, sizes, start, stop):
    x, w, y, scratch = T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), T_at(buffers, 3)
    gather(x, w, y, scratch, sizes, start, stop, gathered_tiles, N)


@kernel
def gather_deep_T_N(buffers, sizes, start, stop):
    x, w, y, scratch = T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), T_at(buffers, 3)
    gather(x, w, y, scratch, sizes, start, stop, gathered_sums, N)


@inline
def gathered_images(y, to, image_step, scratch, sums, sizes, phase, images, some, last_axis, lanes):
    """Move the sums of one phase, by image and pixel, to their places in the result."""
    plane, pixels, many, consecutive = sizes[12], sizes[phase + 2], sizes[phase + 3], sizes[phase + 4]
    whole = many // 8 * 8 if consecutive and some == lanes and not last_axis else 0
    for b in range(images):
        image, rows = to + b * image_step, sums + b * many * lanes
        for p in range(0, whole, 8):
            for lane in range(0, lanes, 8):
                out = at(y, image + lane * plane + sizes[pixels + 4 * p + 1])
                transpose_block(y, at(scratch, rows + p * lanes + lane), lanes, out, plane)
        for p in range(whole, many):
            place, step = image + sizes[pixels + 4 * p + 1], 1 if last_axis else plane
            for lane in range(some):
                y[place + lane * step] = scratch[rows + p * lanes + lane]


@inline
def gather_images(x, w, y, scratch, sizes, start, stop, lanes):
    span, chunks, groups, area = sizes[0], sizes[1], sizes[2], sizes[3] * sizes[4] * sizes[5]
    channels, plane, phases, images = sizes[11], sizes[12], sizes[15], sizes[18]
    blocks = (channels + lanes - 1) // lanes
    parts, taps, last_axis = groups * blocks, sizes[19 + 5 * phases], sizes[21 + 5 * phases]
    row, one = at(scratch, lanes) - at(scratch, 0), at(x, 1) - at(x, 0)
    for c in range(start, stop):
        own, begin = c * sizes[16], span * c // chunks
        sums = own + sizes[17]
        for unit in range(begin, span * (c + 1) // chunks):
            image, part = unit // parts * 8, unit % parts
            group, block, rows = part // blocks, part % blocks * lanes, own + part * taps * lanes
            if unit - begin < parts:
                packed(w, scratch, rows, sizes, group * sizes[14], block, lanes)
            source, last, some = (
                at(x, (image * groups + group) * area),
                min(7, images - 1 - image),
                min(lanes, channels - block),
            )
            v, to = at(scratch, rows), (image * groups + group) * channels * plane + block * (1 if last_axis else plane)
            direct, image_step = last_axis and last == 7 and some == lanes, groups * channels * plane
            for f in range(phases):
                phase = 19 + 5 * f
                taps_at, pixels, many = sizes[phase], sizes[phase + 2], sizes[phase + 3]
                for p in range(many):
                    pixel = pixels + 4 * p
                    out, pitch = at(scratch, sums + p * lanes), many * lanes
                    if direct:
                        out, pitch = at(y, to + sizes[pixel + 1]), image_step
                    runs = at(sizes, sizes[pixel + 2])
                    first = source + sizes[pixel] * one
                    put_runs(y, first, groups * area, last, at(sizes, taps_at), runs, sizes[pixel + 3], v, out, pitch, lanes)
                if not direct:
                    gathered_images(y, to, image_step, scratch, sums, sizes, phase, last + 1, some, last_axis, lanes)
                v += sizes[phase + 1] * row


@kernel
def gather_images_T_N(buffers, sizes, start, stop):
    gather_images(T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), T_at(buffers, 3), sizes, start, stop, N)


@inline
def columns_of(g, first, some, plane, scratch, to, lanes):
    """Up to `lanes` planes of the cotangent as rows of lanes, one row per pixel."""
    whole = plane // 8 * 8
    for lane in range(0, some // 8 * 8, 8):
        for p in range(0, whole, 8):
            transpose_block(g, at(g, first + lane * plane + p), plane, at(scratch, to + p * lanes + lane), lanes)
    for lane in range(some):
        for p in range(whole if lane < some // 8 * 8 else 0, plane):
            scratch[to + p * lanes + lane] = g[first + lane * plane + p]


@inline
def pixel_rows(g, first, some, channels, plane, scratch, to, lanes):
    """As `columns_of` where channels are the last axis."""
    for p in range(plane):
        for lane in range(some):
            scratch[to + p * lanes + lane] = g[first + p * channels + lane]


@inline
def weights(g, x, scratch, sizes, start, stop, lanes):
    images, chunks, groups, held, height, width = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    channels, plane = sizes[11], sizes[12]
    taps, count, pixels = sizes[13], sizes[14], sizes[15]
    padded = (count + 7) // 8 * 8
    step = at(scratch, lanes) - at(scratch, 0)
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
                    some, rows = min(lanes, channels - block), at(scratch, columns)
                    if some < lanes:  # the lanes beyond belong to the block before
                        for i in range(plane * lanes):
                            scratch[columns + i] = 0
                    if sizes[22] and channels == lanes:
                        rows = at(g, n * channels * plane)
                    elif sizes[22]:
                        pixel_rows(g, n * channels * plane + block, some, channels, plane, scratch, columns, lanes)
                    else:
                        columns_of(g, ((n * groups + k) * channels + block) * plane, some, plane, scratch, columns, lanes)
                    for p in range(0, plane, DEPTH):
                        for t in range(0, padded, 8):
                            add_rows(
                                g,
                                source,
                                at(sizes, taps + t),
                                at(sizes, pixels + p),
                                min(DEPTH, plane - p),
                                rows + p * step,
                                at(scratch, out + t * lanes),
                                lanes,
                            )
                    out += padded * lanes


@inline
def weights_inside(g, x, scratch, sizes, start, stop, lanes):
    images, chunks, groups, area = sizes[0], sizes[1], sizes[2], sizes[3] * sizes[4] * sizes[5]
    channels, plane, taps, count, held = sizes[11], sizes[12], sizes[13], sizes[14], sizes[25]
    for c in range(start, stop):
        own, end = c * sizes[16], images * (c + 1) // chunks
        columns = own + sizes[18]
        for i in range(sizes[16]):
            scratch[own + i] = 0
        for n in range(images * c // chunks, end, sizes[21]):
            some_images, out = min(sizes[21], end - n), own + sizes[19]
            for k in range(groups):
                source = at(x, (n * groups + k) * area)
                for block in range(0, channels, lanes):
                    some, rows = min(lanes, channels - block), at(scratch, columns)
                    if sizes[22] and channels == lanes:
                        rows = at(g, n * channels * plane)
                    else:
                        if some < lanes:  # the lanes beyond belong to the block before
                            for i in range(some_images * plane * lanes):
                                scratch[columns + i] = 0
                        for m in range(n, n + some_images):
                            to = columns + (m - n) * plane * lanes
                            if sizes[22]:
                                pixel_rows(g, m * channels * plane + block, some, channels, plane, scratch, to, lanes)
                            else:
                                first = ((m * groups + k) * channels + block) * plane
                                columns_of(g, first, some, plane, scratch, to, lanes)
                    for t in range(0, count, 8):
                        runs, bases, to = sizes[26] + 2 * (t // held), at(sizes, taps + t), at(scratch, out + t * lanes)
                        add_runs(
                            g,
                            source,
                            groups * area,
                            some_images,
                            bases,
                            at(sizes, sizes[15]),
                            at(sizes, sizes[runs]),
                            sizes[runs + 1],
                            rows,
                            plane * lanes,
                            to,
                            lanes,
                        )
                    out += count * lanes


@inline
def weight_sum(w, scratch, sizes, lanes):
    """Join the chunks' sums, and lay them out as weights: by group, channel and tap."""
    chunks, groups, channels, count = sizes[1], sizes[2], sizes[11], sizes[14]
    padded, blocks = (count + 7) // 8 * 8, (channels + lanes - 1) // lanes
    for k in range(groups):
        for o in range(channels):
            first = sizes[19] + (k * blocks + o // lanes) * padded * lanes + o % lanes
            to, step = (o, channels) if sizes[23] else ((k * channels + o) * count, 1)
            area, by_place = sizes[24], sizes[24] > 0 and not sizes[23]
            for t in range(count):
                total = scratch[first + t * lanes]
                for c in range(1, chunks):
                    total += scratch[c * sizes[16] + first + t * lanes]
                place = t % sizes[25] * area + t // sizes[25] if by_place else t
                w[to + place * step] = total


@inline
def weight_tiles(g, x, w, scratch, sizes, start, stop, lanes):
    span, chunks, groups, held, height, width = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    channels, plane, taps, count, pixels = sizes[11], sizes[12], sizes[13], sizes[14], sizes[15]
    images, together, blocks, parts = sizes[20], sizes[21], (channels + lanes - 1) // lanes, (count + 7) // 8
    frame_size = held * sizes[8] * sizes[9]
    for c in range(start, stop):
        own = c * sizes[16]
        frame, columns, sums = own + sizes[17], own + sizes[18], own + sizes[19]
        begin, end = span * c // chunks, span * (c + 1) // chunks
        for i in range(sizes[18]):
            scratch[frame + i] = 0
        for i in range((end - begin) * 8 * lanes):
            scratch[sums + i] = 0
        for n in range(0, images, together):
            some_images = min(together, images - n)
            steps, unit, in_frame = some_images * plane, begin, -1
            while unit < end:
                first, k, block = unit % parts, unit // parts // blocks, unit // parts % blocks * lanes
                last, some = min(parts, first + end - unit), min(lanes, channels - block)
                source = at(x, (n * groups + k) * held * height * width)
                if sizes[10]:
                    if k != in_frame:
                        for m in range(some_images):
                            framed(x, ((n + m) * groups + k) * held * height * width, scratch, frame + m * frame_size, sizes)
                        in_frame = k
                    source = at(scratch, frame)
                if some < lanes:  # the lanes beyond belong to the block before
                    for i in range(steps * lanes):
                        scratch[columns + i] = 0
                for m in range(some_images):
                    rows = columns + m * plane * lanes
                    if sizes[22]:
                        pixel_rows(g, (n + m) * channels * plane + block, some, channels, plane, scratch, rows, lanes)
                    else:
                        planes = (((n + m) * groups + k) * channels + block) * plane
                        columns_of(g, planes, some, plane, scratch, rows, lanes)
                for p in range(0, steps, DEPTH):
                    for t in range(first, last):
                        add_rows(
                            g,
                            source,
                            at(sizes, taps + 8 * t),
                            at(sizes, pixels + p),
                            min(DEPTH, steps - p),
                            at(scratch, columns + p * lanes),
                            at(scratch, sums + (unit - begin + t - first) * 8 * lanes),
                            lanes,
                        )
                unit += last - first
        for unit in range(begin, end):
            t, k, block = unit % parts * 8, unit // parts // blocks, unit // parts % blocks * lanes
            rows, some, to = sums + (unit - begin) * 8 * lanes, min(lanes, channels - block), (k * channels + block) * count + t
            if sizes[23]:
                for b in range(min(8, count - t)):
                    for lane in range(some):
                        w[(t + b) * channels + block + lane] = scratch[rows + b * lanes + lane]
                continue
            if some == lanes and t + 8 <= count:
                for lane in range(0, lanes, 8):
                    transpose_block(w, at(scratch, rows + lane), lanes, at(w, to + lane * count), count)
                continue
            for lane in range(some):
                for b in range(min(8, count - t)):
                    w[to + lane * count + b] = scratch[rows + b * lanes + lane]


@kernel
def weights_T_N(buffers, sizes, start, stop):
    weights(T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 3), sizes, start, stop, N)


@kernel
def weights_inside_T_N(buffers, sizes, start, stop):
    weights_inside(T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 3), sizes, start, stop, N)


@kernel
def weight_sum_T_N(buffers, sizes, start, stop):
    weight_sum(T_at(buffers, 2), T_at(buffers, 3), sizes, N)


@kernel
def weight_tiles_T_N(buffers, sizes, start, stop):
    weight_tiles(T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), T_at(buffers, 3), sizes, start, stop, N)
