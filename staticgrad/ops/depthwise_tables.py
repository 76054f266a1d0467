"""Convolutions along the rows of planes: the tables of `compiler/kernels/depthwise_convolution.py`.

With channels as lanes of a vector, groups of one channel leave all lanes but one idle: a depthwise convolution runs along
the width instead. The lines that say which source elements a pixel reads are those of `convolution_tables.py`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..base.dtypes import SHORT
from ..ir import Routine, Scratch
from .convolution_tables import Line, Pair, Spec, forward_line, frame, gradient_lines, outer_sum, whole_lines

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
def gather(spec: Spec, dtype: np.dtype, gradient: bool) -> Routine:
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
    return Routine("depthwise_convolution", name, span, numbers, spec.n * spec.work, (Scratch(scratch),), why=_why(channels))


@lru_cache(maxsize=256)
def weights(spec: Spec, dtype: np.dtype) -> Routine:
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
    return Routine("depthwise_convolution", name, span, numbers, work, (Scratch(scratch),), why=_why(channels))


def _why(channels: int) -> str:
    return f"along the width: {channels} channel{'s' * (channels > 1)} of a group would leave a vector's other lanes idle"
