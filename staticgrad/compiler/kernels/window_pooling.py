"""Pooling over windows of each plane.

most: sizes = planes, chunks, height, width, result height, width, kernel (2), stride (2), padding (2), dilation (2).
most_max: buffers = x, y: the largest element of each window. most_take: buffers = h, x, y: the element of h where x is
largest. most_put: buffers = g, x, y: g at that place, added up over windows, elsewhere 0. The first of equal elements
counts, and a NaN before all numbers.
mean: sizes = planes, chunks, height, width, result height, width, then for each row of the result first, last and
divisor of its window, then for each column. mean_take: buffers = x, y. mean_put: buffers = g, y: each window's g spread
over its elements.

The range is over chunks of planes.

most_max_last, most_take_last, most_put_last: the same where channels are the last axis of the result. sizes = images, chunks,
height, width, result height, width, kernel, stride, padding, dilation (2 each), channels, then for each operand the steps from
pixel to pixel and from channel to channel. most_take_last has two more buffers: for each chunk the largest elements of a
window, and the number of the tap that has them. The range is over chunks of images.
"""

from staticgrad.compiler.backend.dialect import *

# kernels
from staticgrad.compiler.backend.intrinsics.vector_tiles import at, squares_max, squares_put, window_max, window_put


@inline
def above(a, b):
    """Whether a wins over b."""
    return a > b or (a != a and b == b)


@inline
def winner(x, plane, sizes, i, j):
    """Where in its plane the window of result (i, j) is largest."""
    height, width = sizes[2], sizes[3]
    tall, wide, down, right = sizes[6], sizes[7], sizes[12], sizes[13]
    top, left = i * sizes[8] - sizes[10], j * sizes[9] - sizes[11]
    if top < 0:
        top += (-top + down - 1) // down * down
    if left < 0:
        left += (-left + right - 1) // right * right
    bottom = min(i * sizes[8] - sizes[10] + (tall - 1) * down + 1, height)
    end = min(j * sizes[9] - sizes[11] + (wide - 1) * right + 1, width)
    best = top * width + left
    value = x[plane + best]
    for a in range(top, bottom, down):
        for b in range(left, end, right):
            if above(x[plane + a * width + b], value):
                best = a * width + b
                value = x[plane + best]
    return best


@inline
def by_two(sizes):
    """Windows of 2 x 2 side by side, the most common pooling, in vectors."""
    square = sizes[6] == 2 and sizes[7] == 2 and sizes[8] == 2 and sizes[9] == 2
    inside = 2 * sizes[4] <= sizes[2] and 2 * sizes[5] <= sizes[3]
    return square and inside and sizes[10] == 0 and sizes[11] == 0 and sizes[12] == 1 and sizes[13] == 1


@inline
def most_max(x, y, sizes, start, stop):
    planes, chunks, height, width, tall, wide = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    two = by_two(sizes)
    for c in range(start, stop):
        for n in range(planes * c // chunks, planes * (c + 1) // chunks):
            plane = n * height * width
            for i in range(tall):
                to = (n * tall + i) * wide
                if two and wide >= 4:
                    step = 8 if wide >= 8 else 4
                    for k in range(0, wide, step):
                        first = min(k, wide - step)  # the last vector overlaps the one before
                        upper = at(x, plane + 2 * (i * width + first))
                        lower = at(x, plane + 2 * (i * width + first) + width)
                        if step == 8:
                            squares_max(x, upper, lower, at(y, to + first), 8)
                        else:
                            squares_max(x, upper, lower, at(y, to + first), 4)
                else:
                    for j in range(wide):
                        y[to + j] = x[plane + winner(x, plane, sizes, i, j)]


@inline
def most_take(h, x, y, sizes, start, stop):
    planes, chunks, height, width, tall, wide = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    for c in range(start, stop):
        for n in range(planes * c // chunks, planes * (c + 1) // chunks):
            plane = n * height * width
            for i in range(tall):
                for j in range(wide):
                    y[(n * tall + i) * wide + j] = h[plane + winner(x, plane, sizes, i, j)]


@inline
def most_put(g, x, y, sizes, start, stop):
    planes, chunks, height, width, tall, wide = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    two = by_two(sizes)
    for c in range(start, stop):
        for n in range(planes * c // chunks, planes * (c + 1) // chunks):
            plane = n * height * width
            if not two or wide < 4 or height != 2 * tall or width != 2 * wide:
                for i in range(height * width):
                    y[plane + i] = 0
            for i in range(tall):
                source = (n * tall + i) * wide
                if two and wide >= 4:
                    step = 8 if wide >= 8 else 4
                    for k in range(0, wide, step):
                        first = min(k, wide - step)
                        upper = plane + 2 * (i * width + first)
                        lower = upper + width
                        if step == 8:
                            squares_put(x, at(x, upper), at(x, lower), at(g, source + first), at(y, upper), at(y, lower), 8)
                        else:
                            squares_put(x, at(x, upper), at(x, lower), at(g, source + first), at(y, upper), at(y, lower), 4)
                else:
                    for j in range(wide):
                        y[plane + winner(x, plane, sizes, i, j)] += g[source + j]


@inline
def inside(sizes, i, j, tap):
    """Which pixel of the operand a tap of the window of result (i, j) is, -1 outside."""
    row = i * sizes[8] - sizes[10] + tap // sizes[7] * sizes[12]
    column = j * sizes[9] - sizes[11] + tap % sizes[7] * sizes[13]
    within = row >= 0 and row < sizes[2] and column >= 0 and column < sizes[3]
    return row * sizes[3] + column if within else -1


@inline
def winners(x, image, pixel, step, sizes, i, j, most, best, to):
    """The largest element of each channel in the window of result (i, j), and its tap."""
    none = True
    for tap in range(sizes[6] * sizes[7]):
        at_pixel = inside(sizes, i, j, tap)
        if at_pixel >= 0:
            first, number = image + at_pixel * pixel, i32(tap)
            if none:
                for k in range(sizes[14]):
                    most[to + k] = x[first + k * step]
                    best[to + k] = number
            else:
                for k in range(sizes[14]):
                    value, held = x[first + k * step], most[to + k]
                    wins = above(value, held)
                    most[to + k] = value if wins else held
                    best[to + k] = number if wins else best[to + k]
            none = False


@inline
def begin_of(i, stride, padding, dilation):
    """The first tap of window i inside."""
    first = i * stride - padding
    if first < 0:
        first += (-first + dilation - 1) // dilation * dilation
    return first


@inline
def taps_in(first, i, stride, padding, dilation, kernel, extent):
    """The taps of window i from `first` on that are inside."""
    count = min(i * stride - padding + (kernel - 1) * dilation + 1, extent) - first
    if dilation > 1:  # a division takes as long as the rest
        count = (count + dilation - 1) // dilation
    return count


@inline
def max_of(like, x, step, tall, wide, down, right, y, channels, size):
    """The largest elements of a window for all channels, which are `step` bytes apart."""
    k = 0
    while step == size and k + 16 <= channels:
        window_max(like, x + k * size, tall, wide, down, right, y + k * size, 16)
        k += 16
    while step == size and k + 4 <= channels:
        window_max(like, x + k * size, tall, wide, down, right, y + k * size, 4)
        k += 4
    while k < channels:
        window_max(like, x + k * step, tall, wide, down, right, y + k * size, 1)
        k += 1


@inline
def put_of(like, x, step, tall, wide, down, right, g, apart, y, below, beside, channels, size, adds):
    """g of a window at its largest elements, for all channels, which are `step` bytes apart, in g `apart`."""
    k = 0
    while step == size and apart == size and k + 16 <= channels:
        window_put(like, x + k * size, tall, wide, down, right, g + k * size, y + k * size, below, beside, adds, 16)
        k += 16
    while step == size and apart == size and k + 4 <= channels:
        window_put(like, x + k * size, tall, wide, down, right, g + k * size, y + k * size, below, beside, adds, 4)
        k += 4
    while k < channels:
        window_put(like, x + k * step, tall, wide, down, right, g + k * apart, y + k * size, below, beside, adds, 1)
        k += 1


@inline
def most_max_last(x, y, sizes, start, stop):
    images, chunks, height, width, tall, wide = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    channels, pixel, size = sizes[14], sizes[15], at(x, 1) - at(x, 0)
    step = sizes[16] * size
    down, right = sizes[12] * width * pixel * size, sizes[13] * pixel * size
    for n in range(images * start // chunks, images * stop // chunks):
        image = n * height * width * channels
        for i in range(tall):
            top = begin_of(i, sizes[8], sizes[10], sizes[12])
            rows = taps_in(top, i, sizes[8], sizes[10], sizes[12], sizes[6], height)
            for j in range(wide):
                left = begin_of(j, sizes[9], sizes[11], sizes[13])
                columns = taps_in(left, j, sizes[9], sizes[11], sizes[13], sizes[7], width)
                source = at(x, image + (top * width + left) * pixel)
                to = at(y, ((n * tall + i) * wide + j) * channels)
                if rows == 2 and columns == 2:
                    max_of(x, source, step, 2, 2, down, right, to, channels, size)
                else:
                    max_of(x, source, step, rows, columns, down, right, to, channels, size)


@inline
def most_put_last(g, x, y, sizes, start, stop):
    images, chunks, height, width, tall, wide = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    channels, pixel, size = sizes[14], sizes[17], at(x, 1) - at(x, 0)
    lanes, step = sizes[16] * size, sizes[18] * size
    down, right = sizes[12] * width * pixel * size, sizes[13] * pixel * size
    below, beside = sizes[12] * width * channels * size, sizes[13] * channels * size
    apart = sizes[12] * (sizes[6] - 1) < sizes[8] and sizes[13] * (sizes[7] - 1) < sizes[9]
    side_by_side = apart and sizes[6] == sizes[8] and sizes[7] == sizes[9]
    full = side_by_side and tall * sizes[8] - sizes[10] >= height and wide * sizes[9] - sizes[11] >= width
    for n in range(images * start // chunks, images * stop // chunks):
        image = n * height * width * channels
        if not full:
            for k in range(height * width * channels):
                y[image + k] = 0
        for i in range(tall):
            top = begin_of(i, sizes[8], sizes[10], sizes[12])
            rows = taps_in(top, i, sizes[8], sizes[10], sizes[12], sizes[6], height)
            for j in range(wide):
                left = begin_of(j, sizes[9], sizes[11], sizes[13])
                columns = taps_in(left, j, sizes[9], sizes[11], sizes[13], sizes[7], width)
                source = at(x, image + (top * width + left) * pixel)
                more = at(g, n * tall * wide * channels + (i * wide + j) * sizes[15])
                to = at(y, image + (top * width + left) * channels)
                if not apart:
                    put_of(x, source, step, rows, columns, down, right, more, lanes, to, below, beside, channels, size, 1)
                elif rows == 2 and columns == 2:
                    put_of(x, source, step, 2, 2, down, right, more, lanes, to, below, beside, channels, size, 0)
                else:
                    put_of(x, source, step, rows, columns, down, right, more, lanes, to, below, beside, channels, size, 0)


@inline
def most_take_last(h, x, y, most, best, sizes, start, stop, h_step, x_step):
    images, chunks, tall, wide, channels = sizes[0], sizes[1], sizes[4], sizes[5], sizes[14]
    for c in range(start, stop):
        for n in range(images * c // chunks, images * (c + 1) // chunks):
            image = n * sizes[2] * sizes[3] * channels
            for i in range(tall):
                for j in range(wide):
                    winners(x, image, sizes[17], x_step, sizes, i, j, most, best, c * channels)
                    to = ((n * tall + i) * wide + j) * channels
                    for tap in range(sizes[6] * sizes[7]):
                        at_pixel = inside(sizes, i, j, tap)
                        if at_pixel >= 0:
                            first, number = image + at_pixel * sizes[15], i32(tap)
                            for k in range(channels):
                                value = h[first + k * h_step]
                                y[to + k] = value if best[c * channels + k] == number else y[to + k]


@inline
def mean_take(x, y, sizes, start, stop):
    planes, chunks, height, width, tall, wide = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    for c in range(start, stop):
        for n in range(planes * c // chunks, planes * (c + 1) // chunks):
            plane = n * height * width
            for i in range(tall):
                row, to = 6 + 3 * i, (n * tall + i) * wide
                for j in range(wide):
                    column = 6 + 3 * (tall + j)
                    first = x[plane + sizes[row] * width + sizes[column]]
                    total = first - first
                    for a in range(sizes[row], sizes[row + 1]):
                        for b in range(sizes[column], sizes[column + 1]):
                            total += x[plane + a * width + b]
                    y[to + j] = total / (sizes[row + 2] * sizes[column + 2])


@inline
def mean_put(g, y, sizes, start, stop):
    planes, chunks, height, width, tall, wide = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    for c in range(start, stop):
        for n in range(planes * c // chunks, planes * (c + 1) // chunks):
            plane = n * height * width
            for i in range(height * width):
                y[plane + i] = 0
            for i in range(tall):
                row, at = 6 + 3 * i, (n * tall + i) * wide
                for j in range(wide):
                    column = 6 + 3 * (tall + j)
                    share = g[at + j] / (sizes[row + 2] * sizes[column + 2])
                    for a in range(sizes[row], sizes[row + 1]):
                        for b in range(sizes[column], sizes[column + 1]):
                            y[plane + a * width + b] += share


@kernel
def most_max_T(buffers, sizes, start, stop):
    most_max(T_at(buffers, 0), T_at(buffers, 1), sizes, start, stop)


@kernel
def most_take_T(buffers, sizes, start, stop):
    most_take(T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), sizes, start, stop)


@kernel
def most_put_T(buffers, sizes, start, stop):
    most_put(T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), sizes, start, stop)


@kernel
def most_max_last_T(buffers, sizes, start, stop):
    most_max_last(T_at(buffers, 0), T_at(buffers, 1), sizes, start, stop)


@kernel
def most_take_last_T(buffers, sizes, start, stop):
    h, x, y, most, best = T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), T_at(buffers, 3), i32_at(buffers, 4)
    if sizes[16] == 1 and sizes[18] == 1:
        most_take_last(h, x, y, most, best, sizes, start, stop, 1, 1)
    else:
        most_take_last(h, x, y, most, best, sizes, start, stop, sizes[16], sizes[18])


@kernel
def most_put_last_T(buffers, sizes, start, stop):
    most_put_last(T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), sizes, start, stop)


@kernel
def mean_take_T(buffers, sizes, start, stop):
    mean_take(T_at(buffers, 0), T_at(buffers, 1), sizes, start, stop)


@kernel
def mean_put_T(buffers, sizes, start, stop):
    mean_put(T_at(buffers, 0), T_at(buffers, 1), sizes, start, stop)
