"""Which source elements each pixel of a convolution reads: the tables of `compiler/kernels/direct_convolution.py`.

A convolution and its gradient by the input are both "every pixel of the result is a sum over taps of the source". For the
convolution, pixel i reads source i * stride - padding + k * dilation at tap k. For the gradient, pixel i reads the
cotangent a with a * stride + k * dilation = i + padding, which exists for the taps of one residue modulo the stride: the
result's pixels fall into phases, each with taps of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..base.dtypes import SHORT
from ..base.tables import record
from ..ir import Gemm, Layout, Routine, Scratch

Pair = tuple[int, int]


EIGHT = 8
"""Rows of a tile."""
OVERHEAD = 8
"""Steps of a tile that take as long as the rest of its work."""
GAIN = 1.1
"""By how many times the steps have to be fewer for tiles of one pixel of several images."""
PIXELS = 32
"""That of the routine: pixels whose sums are kept where there are many taps."""
NEARER, NEAR = 1 << 15, 1 << 18
"""Bytes that stay in the L1 cache, and in the L2 cache beside other things."""
FEW_IMAGES = 8
"""Images up to which threads share the taps of a gradient by the weights, not the images: all of them stay in the cache,
there may be fewer than threads, and the sums of several threads need not be added."""


@record()
class Spec:
    """A convolution with concrete extents: x (n, c, *source), w (o, c / groups, *kernel), y (n, o, *result)."""

    n: int
    c: int
    o: int
    groups: int
    source: Pair
    kernel: Pair
    result: Pair
    stride: Pair
    padding: tuple[Pair, Pair]
    dilation: Pair

    @property
    def work(self) -> int:
        """Multiply-adds of an image."""
        (kh, kw), (oh, ow) = self.kernel, self.result
        return self.o * oh * ow * (self.c // max(self.groups, 1)) * kh * kw


@record()
class Line:
    """One axis of one phase: pixel `pixels[i]` reads source `bases[i] + offsets[k]` at tap `taps[k]`."""

    pixels: np.ndarray
    bases: np.ndarray
    taps: np.ndarray
    offsets: np.ndarray


Phase = tuple[Line, Line]
"""Of the rows, and of the columns."""


def forward_line(spec: Spec, axis: int) -> list[Line]:
    pixels = np.arange(spec.result[axis])
    taps = np.arange(spec.kernel[axis])
    bases = pixels * spec.stride[axis] - spec.padding[axis][0]
    return [Line(pixels, bases, taps, taps * spec.dilation[axis])]


def gradient_lines(spec: Spec, axis: int) -> list[Line]:
    """One line per residue of the stride that has pixels."""
    stride, first = spec.stride[axis], spec.padding[axis][0]
    lines = []
    moved = np.arange(spec.source[axis]) + first
    steps = np.arange(spec.kernel[axis]) * spec.dilation[axis]
    for phase in range(stride):
        pixels = np.flatnonzero(moved % stride == phase)
        taps = np.flatnonzero(steps % stride == phase)
        if pixels.size:
            lines.append(Line(pixels, (moved[pixels] - phase) // stride, taps, -((steps[taps] - phase) // stride)))
    return lines


def frame(lines: list[Line], extent: int) -> Pair:
    """Rows of zeros needed before the source, and the extent of the framed source."""
    low, high = 0, extent - 1
    for line in lines:
        if line.taps.size and line.bases.size:
            low = min(low, int(line.bases.min() + line.offsets.min()))
            high = max(high, int(line.bases.max() + line.offsets.max()))
    return -low, high - low + 1


def filled(values: np.ndarray) -> list[int]:
    """Padded to a multiple of eight by repeats, whose results are not stored."""
    rest = -values.size % 8
    return [*values.tolist(), *([int(values[-1])] * rest if values.size else [])]


def lanes_of(channels: int, dtype: np.dtype) -> int:
    """Lanes of a tile: two 512-bit vectors, so that a step has two multiply-adds for each number that it spreads; fewer for
    few channels."""
    vector = 64 // dtype.itemsize
    return next(lanes for lanes in (8, vector, 2 * vector) if channels <= lanes or lanes == 2 * vector)


def whole_lines(elements: int, line: int = 16) -> int:
    """Up to a multiple of `line`: scratch memory is cut where cache lines are."""
    return -(-elements // line) * line


class Places(NamedTuple):
    """How the operands of a convolution lie in memory: whether channels are the last axis of the source (the cotangent, for a
    gradient by the input), of the cotangent (for one by the weights) and of the result, and the strides of the weights (None:
    row-major)."""

    source_last: bool = False
    cotangent_last: bool = False
    result_last: bool = False
    weights: tuple[int, ...] | None = None


ROW_MAJOR = Places()


def _sides(spec: Spec, gradient: bool) -> tuple[list[Line], list[Line], int, int, Pair, Pair]:
    """Of a convolution, or of its gradient by the input: the lines of rows and of columns, the channels of a group that are
    read and made, and the extents that are read and made."""
    lines_of = gradient_lines if gradient else forward_line
    held, made = spec.c // spec.groups, spec.o // spec.groups
    sides = (spec.source, spec.result)
    if gradient:
        held, made, sides = made, held, sides[::-1]
    return lines_of(spec, 0), lines_of(spec, 1), held, made, *sides


def is_product(spec: Spec, dtype: np.dtype, channels: int, places: Places) -> bool:
    """Whether each pixel of the result reads one pixel of the source, and pixels fill vectors better than these channels."""
    if spec.groups != 1 or not spec.kernel == spec.stride == (1, 1) or spec.source != spec.result or places != ROW_MAJOR:
        return False
    pixels, lanes, vector = math.prod(spec.result), lanes_of(channels, dtype), 64 // dtype.itemsize
    return whole_lines(channels, lanes) * pixels > whole_lines(pixels, vector) * channels


def product(spec: Spec, gradient: bool) -> Gemm:
    """A convolution by one tap, or its gradient by the input: the matrix of weights times those of images."""
    pixels, weights = math.prod(spec.source), Layout.contiguous((spec.o, spec.c))
    if gradient:
        weights = Layout((spec.c, spec.o), (1, spec.c), 0)
    images = Layout.contiguous((spec.n, spec.o if gradient else spec.c, pixels))
    return Gemm(matrices=((1, weights), (0, images)), why="as it has one tap, and pixels fill vectors better than channels")


@lru_cache(maxsize=256)
def gather(spec: Spec, dtype: np.dtype, gradient: bool, places: Places = ROW_MAJOR) -> Routine:
    """The convolution, or its gradient by the input, as a native call with operands (source, weights)."""
    rows, columns, held, channels, extents, plane = _sides(spec, gradient)
    (top, tall), (left, wide) = frame(rows, extents[0]), frame(columns, extents[1])
    framed = (tall, wide) != extents
    lanes, area = lanes_of(channels, dtype), spec.kernel[0] * spec.kernel[1]
    outer, inner, down, across = places.weights if places.weights is not None else _row_major(spec)
    lane_step, source_step = (inner, outer) if gradient else (outer, inner)
    unit, channel_step = (held, 1) if places.source_last else (1, tall * wide)
    phases = [(r, c) for r in rows for c in columns]
    if _by_images(spec, dtype, phases, held, lanes, extents):
        return _gather_images(spec, dtype, gradient, places)
    at, headers, tables = 22 + 5 * len(phases), [], []
    taps_in_all = 0
    for r, c in phases:
        of_source = [r.offsets * wide * unit, np.arange(held) * channel_step, c.offsets * unit]
        of_weights = [r.taps * down, np.arange(held) * source_step, c.taps * across]
        order = [0, 2, 1] if places.source_last else [0, 1, 2]  # in which the source lies
        offsets, weights = (outer_sum(*(parts[k] for k in order)) for parts in (of_source, of_weights))
        ascending = np.argsort(weights, kind="stable")
        bases = outer_sum((r.bases + top) * wide * unit, (c.bases + left) * unit)
        pixels = outer_sum(r.pixels * plane[1], c.pixels)
        consecutive = bool(pixels.size) and bool((np.diff(pixels) == 1).all())
        if places.result_last:
            pixels = pixels * channels
        headers += [at, offsets.size, at + 3 * offsets.size, bases.size, int(consecutive)]
        passes = _parts(r, c.pixels.size, extents[0], held * c.taps.size)
        table = [
            *offsets.tolist(), *weights[ascending].tolist(), *ascending.tolist(), *filled(bases), *filled(pixels), *passes
        ]  # fmt: skip
        tables += table
        at += len(table)
        taps_in_all += offsets.size
    parts, part = spec.groups * -(-channels // lanes), taps_in_all * lanes
    # data read again for each part or image comes from the L3 cache or from memory
    by_part = parts * part * dtype.itemsize > NEAR and held * spec.groups * tall * wide < part
    packed = whole_lines(part if by_part else parts * part)
    kept = whole_lines(held * tall * wide) if framed else 0
    deep = part * dtype.itemsize > NEARER
    scratch = packed + kept + (PIXELS if deep else 8) * lanes
    sizes = (
        spec.groups, *_planes(held, extents, (top, left), (tall, wide), places.source_last), int(framed), channels,
        plane[0] * plane[1], lane_step, channels * held * area, len(phases), scratch, packed, packed + kept, *headers,
        taps_in_all, spec.n if by_part else 0, int(places.result_last), *tables,
    )  # fmt: skip
    kernel, span = f"gather{'_deep' * deep}_{SHORT[dtype]}_{lanes}", spec.n * parts
    return Routine(
        "direct_convolution", kernel, span, sizes, spec.n * spec.work, (Scratch(scratch),), why=_why(channels),
        strided=(*[0] * places.source_last, *[1] * (places.weights is not None)),
    )  # fmt: skip


def _by_images(spec: Spec, dtype: np.dtype, phases: list[Phase], held: int, lanes: int, extents: Pair) -> bool:
    """Whether tiles of one pixel of several images take notably fewer steps than tiles of several pixels, in the caches."""
    if spec.n < 2 * EIGHT:
        return False
    taps = [r.taps.size * c.taps.size * held for r, c in phases]
    pixels = max(r.pixels.size * c.pixels.size for r, c in phases)
    size = dtype.itemsize
    if max(sum(taps) * lanes * spec.groups, pixels * lanes * EIGHT, spec.c * math.prod(extents) * EIGHT) * size > NEAR:
        return False
    alone = together = 0
    for r, c in phases:
        steps = outer_product(_inside(r, extents[0]).sum(1), _inside(c, extents[1]).sum(1)) * held
        together += int(steps.sum()) + OVERHEAD * steps.size
        numbers = _parts(r, c.pixels.size, extents[0], held * c.taps.size)[1::2]
        alone += EIGHT * (sum(numbers) + OVERHEAD * len(numbers))
    return GAIN * together <= alone


def _gather_images(spec: Spec, dtype: np.dtype, gradient: bool, places: Places) -> Routine:
    """`gather` by tiles of one pixel of several images."""
    rows, columns, held, channels, extents, plane = _sides(spec, gradient)
    lanes, area = lanes_of(channels, dtype), spec.kernel[0] * spec.kernel[1]
    outer, inner, down, across = places.weights if places.weights is not None else _row_major(spec)
    lane_step, source_step = (inner, outer) if gradient else (outer, inner)
    unit, channel_step = (held, 1) if places.source_last else (1, extents[0] * extents[1])
    phases = [(r, c) for r in rows for c in columns]
    at, headers, tables, in_all = 22 + 5 * len(phases), [], [], 0
    for r, c in phases:
        offsets = outer_sum(r.offsets * extents[1] * unit, c.offsets * unit, np.arange(held) * channel_step)
        weights = outer_sum(r.taps * down, c.taps * across, np.arange(held) * source_step)
        ascending = np.argsort(weights, kind="stable")
        bases = outer_sum(r.bases * extents[1] * unit, c.bases * unit)
        pixels = outer_sum(r.pixels * plane[1], c.pixels)
        consecutive = bool(pixels.size) and bool((np.diff(pixels) == 1).all())
        if places.result_last:
            pixels = pixels * channels
        headers += [at, offsets.size, at + 3 * offsets.size, bases.size, int(consecutive)]
        tables += [*offsets.tolist(), *weights[ascending].tolist(), *ascending.tolist()]
        at += 3 * offsets.size + 4 * bases.size
        runs: list[int] = []
        for base, pixel, own in zip(bases.tolist(), pixels.tolist(), _runs(r, c, extents, held), strict=True):
            tables += [base, pixel, at + len(runs), len(own) // 2]
            runs += own
        tables += runs
        at += len(runs)
        in_all += offsets.size
    parts = spec.groups * -(-channels // lanes)
    packed = whole_lines(parts * in_all * lanes)
    scratch = packed + whole_lines(EIGHT * max(r.pixels.size * c.pixels.size for r, c in phases) * lanes)
    sizes = (
        spec.groups, *_planes(held, extents, (0, 0), extents, places.source_last), 0, channels, plane[0] * plane[1], lane_step,
        channels * held * area, len(phases), scratch, packed, spec.n, *headers, in_all, 0, int(places.result_last), *tables,
    )  # fmt: skip
    return Routine(
        "direct_convolution", f"gather_images_{SHORT[dtype]}_{lanes}", -(-spec.n // EIGHT) * parts, sizes, spec.n * spec.work,
        (Scratch(scratch),), why=f"{_why(channels)}, eight images at a time: many taps meet padding",
        strided=(*[0] * places.source_last, *[1] * (places.weights is not None)),
    )  # fmt: skip


def _inside(line: Line, extent: int) -> np.ndarray:
    """Whether each tap of each pixel is inside: (pixels, taps)."""
    read = line.bases[:, None] + line.offsets
    return (read >= 0) & (read < extent)


def _runs(r: Line, c: Line, extents: Pair, held: int) -> Iterator[list[int]]:
    """For each pixel the runs of its taps that are inside, each the first and the number. Taps are by row, column, channel."""
    across = [_span(inside) for inside in _inside(c, extents[1])]
    for first, last in map(_span, _inside(r, extents[0])):
        for left, right in across:
            if right - left == c.taps.size:
                yield [first * right * held, (last - first) * right * held] if last > first and right else []
            else:
                rows = range(first, last) if right > left else ()
                yield [n for row in rows for n in ((row * c.taps.size + left) * held, (right - left) * held)]


def _span(inside: np.ndarray) -> Pair:
    """The first that is inside and the one after the last; they lie side by side."""
    found = np.flatnonzero(inside)
    return (int(found[0]), int(found[-1]) + 1) if found.size else (0, 0)


def _row_major(spec: Spec) -> tuple[int, int, int, int]:
    """The strides of weights (o, c / groups, *kernel)."""
    height, width = spec.kernel
    return spec.c // spec.groups * height * width, height * width, width, 1


def _planes(held: int, extents: Pair, corner: Pair, frame: Pair, last: bool) -> tuple[int, ...]:
    """The header's numbers of planes, their extents, and the frame around them."""
    if last:
        return 1, extents[0], extents[1] * held, corner[0], corner[1] * held, frame[0], frame[1] * held
    return held, *extents, *corner, *frame


@lru_cache(maxsize=256)
def weights(spec: Spec, dtype: np.dtype, places: Places = ROW_MAJOR) -> Routine:
    """The gradient of a convolution by its weights as a native call with operands (cotangent, source)."""
    (row,), (column,) = forward_line(spec, 0), forward_line(spec, 1)
    held, channels = spec.c // spec.groups, spec.o // spec.groups
    (top, tall), (left, wide) = frame([row], spec.source[0]), frame([column], spec.source[1])
    framed = (tall, wide) != spec.source
    lanes, plane = lanes_of(channels, dtype), spec.result[0] * spec.result[1]
    unit, channel_step = (held, 1) if places.source_last else (1, tall * wide)
    parts = [np.arange(held) * channel_step, row.offsets * wide * unit, column.offsets * unit]
    taps = outer_sum(*(parts[k] for k in ([1, 2, 0] if places.result_last else [0, 1, 2])))
    pixels = outer_sum((row.bases + top) * wide * unit, (column.bases + left) * unit)
    blocks, tiles = spec.groups * -(-channels // lanes), -(-taps.size // 8)
    sums = blocks * tiles * 8 * lanes
    few = spec.n <= FEW_IMAGES or sums * dtype.itemsize > NEAR
    if not few and held % EIGHT == 0:
        runs = list(_runs_of_taps(row, column, spec))
        steps_inside = sum(sum(own[1::2]) for own in runs) + OVERHEAD * len(runs)
        if GAIN * steps_inside <= (plane + OVERHEAD) * len(runs):
            return _weights_inside(spec, dtype, places, runs)
    together = min(spec.n, max(NEAR // (plane * lanes * dtype.itemsize), 1)) if few else 1
    kept = whole_lines(together * held * tall * wide) if framed else 0
    columns = whole_lines(together * plane * lanes)
    scratch = kept + columns + sums
    if few:
        pixels = outer_sum(np.arange(together) * (held * tall * wide if framed else spec.c * tall * wide), pixels)
    steps = filled(taps)
    sizes = (
        spec.groups, *_planes(held, spec.source, (top, left), (tall, wide), places.source_last), int(framed), channels, plane,
        27, taps.size, 27 + len(steps), scratch, 0, kept, kept + columns, spec.n, together, int(places.cotangent_last),
        int(places.result_last), 0, 0, 0, *steps, *pixels.tolist(),
    )  # fmt: skip
    strided = (*[0] * places.cotangent_last, *[1] * places.source_last)
    name, work = f"{SHORT[dtype]}_{lanes}", spec.n * spec.work
    if few:
        why = f"{_why(channels)}, a thread for some of the taps: {spec.n} image{'s' * (spec.n > 1)}"
        return Routine(
            "direct_convolution", f"weight_tiles_{name}", blocks * tiles, sizes, work, (Scratch(scratch),), why=why,
            strided=strided,
        )  # fmt: skip
    why = f"{_why(channels)}, a thread for some of the images: {spec.n}"
    return Routine(
        "direct_convolution", f"weights_{name}", spec.n, sizes, work, (Scratch(scratch),), f"weight_sum_{name}", why,
        strided=strided,
    )  # fmt: skip


def _weights_inside(spec: Spec, dtype: np.dtype, places: Places, runs: list[list[int]]) -> Routine:
    """`weights` by the pixels for which a place of the kernel is inside. runs: of the pixels of each place."""
    (row,), (column,) = forward_line(spec, 0), forward_line(spec, 1)
    held, channels, (height, width) = spec.c // spec.groups, spec.o // spec.groups, spec.source
    lanes, plane = lanes_of(channels, dtype), spec.result[0] * spec.result[1]
    unit, channel_step = (held, 1) if places.source_last else (1, height * width)
    taps = outer_sum(row.offsets * width * unit, column.offsets * unit, np.arange(held) * channel_step)
    pixels = outer_sum(row.bases * width * unit, column.bases * unit)
    together = int(np.clip(NEARER // ((plane * lanes + height * width * held) * dtype.itemsize), 1, EIGHT))
    columns = whole_lines(together * plane * lanes)
    scratch = columns + spec.groups * -(-channels // lanes) * taps.size * lanes
    at = 27 + taps.size + pixels.size
    table: list[int] = []
    for k, own in enumerate(runs):
        table += [at + 2 * len(runs) + sum(map(len, runs[:k])), len(own) // 2]
    sizes = (
        spec.groups, *_planes(held, spec.source, (0, 0), spec.source, places.source_last), 0, channels, plane, 27, taps.size,
        27 + taps.size, scratch, 0, 0, columns, spec.n, together, int(places.cotangent_last), int(places.result_last),
        spec.kernel[0] * spec.kernel[1], held, at, *taps.tolist(), *pixels.tolist(), *table, *(n for own in runs for n in own),
    )  # fmt: skip
    name = f"{SHORT[dtype]}_{lanes}"
    return Routine(
        "direct_convolution", f"weights_inside_{name}", spec.n, sizes, spec.n * spec.work, (Scratch(scratch),),
        f"weight_sum_{name}", f"{_why(channels)}, a thread for some of the images, many taps meet padding: {spec.n}",
        strided=(*[0] * places.cotangent_last, *[1] * places.source_last),
    )  # fmt: skip


def _runs_of_taps(row: Line, column: Line, spec: Spec) -> Iterator[list[int]]:
    """For each place of the kernel the runs of pixels for which it is inside, each the first and the number."""
    wide = spec.result[1]
    across = [_span(inside) for inside in _inside(column, spec.source[1]).T]
    for first, last in map(_span, _inside(row, spec.source[0]).T):
        for left, right in across:
            if right - left == wide:
                yield [first * wide, (last - first) * wide] if last > first else []
            else:
                yield [n for i in range(first, last if right > left else first) for n in (i * wide + left, right - left)]


def _why(channels: int) -> str:
    return f"channels as lanes: {channels} of a group"


def _parts(line: Line, columns: int, extent: int, taps: int) -> list[int]:
    """(first tap, number of taps) of each tile of eight pixels: rows of the kernel that only meet zeros of the frame
    are left out. `taps`: how many a row of the kernel has; rows come one after another."""
    inside = np.repeat(_inside(line, extent), columns, axis=0)
    result = []
    for p in range(0, len(inside), 8):
        met = np.flatnonzero(inside[p : p + 8].any(0))
        result += [int(met[0]) * taps, int(met[-1] + 1 - met[0]) * taps] if met.size else [0, 0]
    return result


def outer_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """All products of one element of each, the last varying fastest."""
    return np.outer(a, b).ravel()


def outer_sum(*parts: np.ndarray) -> np.ndarray:
    """All sums of one element of each, the last varying fastest."""
    total = np.zeros(1, np.int64)
    for part in parts:
        total = (total[:, None] + part).reshape(-1)
    return total


# convolutions along the rows of planes: the tables of `compiler/kernels/depthwise_convolution.py` --------------------

# With channels as lanes of a vector, groups of one channel leave all lanes but one idle: a depthwise convolution runs along the
# width instead. The lines that say which source elements a pixel reads are those of `convolution_tables.py`.

MOST_CHANNELS, MOST_COTANGENTS = 5, 2
"""Channels of a group of the result, or of the cotangent for the weights, up to which rows of pixels were measured to fill
vectors better than channels do."""

VECTOR = 64
"""Bytes of the vectors that the kernels are written in."""


def _frame(lines: tuple[list[Line], list[Line]], extents: Pair, residues: Pair) -> tuple[int, ...]:
    """The sizes of a source that kernels read: see `sizes` there, from the frame's top to the elements of a framed plane."""
    (top, tall), (left, wide) = (frame(part, extent) for part, extent in zip(lines, extents, strict=True))
    tall, wide = (-(-d // r) for d, r in zip((tall, wide), residues, strict=True))
    return top, left, *residues, tall, wide, tall * wide * residues[0] * residues[1]


def _offsets(row: Line, column: Line, sizes: tuple[int, ...], held: int) -> np.ndarray:
    """Where in the frames the first pixel of a phase reads, for every source channel and tap."""
    top, left, down, right, tall, wide, plane = sizes
    rows, columns = int(row.bases[0]) + top + row.offsets, int(column.bases[0]) + left + column.offsets
    return outer_sum(
        np.arange(held) * plane, (rows % down * right * tall + rows // down) * wide,
        columns % right * tall * wide + columns // right,
    )  # fmt: skip


def _reach(sizes: tuple[int, ...], rows: int, columns: int, block: int) -> int:
    """Elements of a result in rows as long as the frame's, in whole blocks."""
    return whole_lines((rows - 1) * sizes[5] + columns, block)


@lru_cache(maxsize=256)
def depthwise_gather(spec: Spec, dtype: np.dtype, gradient: bool) -> Routine:
    """The convolution, or its gradient by the input, as a native call with operands (source, weights)."""
    lines_of = gradient_lines if gradient else forward_line
    lines = lines_of(spec, 0), lines_of(spec, 1)
    held, channels = spec.c // spec.groups, spec.o // spec.groups
    source, result = (spec.result, spec.source) if gradient else (spec.source, spec.result)
    if gradient:
        held, channels = channels, held
    sizes = _frame(lines, source, (1, 1) if gradient else spec.stride)
    area, lanes = spec.kernel[0] * spec.kernel[1], VECTOR // dtype.itemsize
    block = 4 * lanes
    channel_step, source_step = (area, channels * area) if gradient else (held * area, area)
    phases = [(r, c) for r in lines[0] for c in lines[1]]
    headers: list[int] = []
    tables: list[int] = []
    longest = most = 0
    for r, c in phases:
        offsets = _offsets(r, c, sizes, held) if r.taps.size and c.taps.size else np.zeros(0, np.int64)
        places = outer_sum(np.arange(held) * source_step, r.taps * spec.kernel[1], c.taps)
        right = int(c.pixels[1] - c.pixels[0]) if c.pixels.size > 1 else 1
        down = int(r.pixels[1] - r.pixels[0]) if r.pixels.size > 1 else 1
        headers += [
            21 + 7 * len(phases) + len(tables), offsets.size, r.pixels.size, c.pixels.size,
            int(r.pixels[0]) * result[1] + int(c.pixels[0]), down * result[1], right,
        ]  # fmt: skip
        tables += [*offsets.tolist(), *places.tolist()]
        longest = max(longest, _reach(sizes, r.pixels.size, c.pixels.size, block))
        most = max(most, offsets.size)
    kept = whole_lines(held * sizes[6] + block, 16)
    packed = kept + longest
    scratch = packed + whole_lines(most, 16)
    span = spec.n * spec.groups * channels
    numbers = (
        spec.groups, held, *source, *sizes, channels, result[0] * result[1], channel_step, channels * held * area,
        len(phases), scratch, kept, packed, *headers, *tables,
    )  # fmt: skip
    name = f"gather_{SHORT[dtype]}_{lanes}"
    return Routine(
        "depthwise_convolution", name, span, numbers, spec.n * spec.work, (Scratch(scratch),), why=_why_depthwise(channels)
    )


@lru_cache(maxsize=256)
def depthwise_weights(spec: Spec, dtype: np.dtype) -> Routine:
    """The gradient of a convolution by its weights as a native call with operands (cotangent, source)."""
    lines = forward_line(spec, 0), forward_line(spec, 1)
    held, channels = spec.c // spec.groups, spec.o // spec.groups
    sizes = _frame(lines, spec.source, spec.stride)
    offsets = _offsets(lines[0][0], lines[1][0], sizes, 1)
    lanes = VECTOR // dtype.itemsize
    kept = whole_lines(sizes[6] + lanes, 16)
    long = _reach(sizes, *spec.result, lanes)
    scratch = kept + 2 * long
    numbers = (
        spec.groups, held, *spec.source, *sizes, spec.n, channels, *spec.result, scratch, kept, kept + long,
        offsets.size, *offsets.tolist(),
    )  # fmt: skip
    name = f"weights_{SHORT[dtype]}_{lanes}"
    span, work = spec.o * held, spec.n * spec.work
    return Routine("depthwise_convolution", name, span, numbers, work, (Scratch(scratch),), why=_why_depthwise(channels))


def _why_depthwise(channels: int) -> str:
    return f"along the width: {channels} channel{'s' * (channels > 1)} of a group would leave a vector's other lanes idle"
