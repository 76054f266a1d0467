"""Sums of products over blocks of rows, and short rows that become columns, in explicit vectors.

LLVM vectorizes a sum along a short row poorly: the remainder runs one by one, and adding up the lanes of each row
costs more than its products. Here as many rows as a vector has lanes are summed at once, whose lanes are then added in
a tree of shuffles; the end of a row is read under a mask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ..abi import SQUARES
from ..kernel_types import Builtin, Float, Pointer, float32, float64, int64
from ..llvm import I64, Elements, Int, call, function, joined, shuffled, spread, steps, transposed, where


def _fma(of: Elements, builder: Any, x: Any, y: Any, total: Any) -> Any:
    kind = ir.FunctionType(x.type, [x.type] * 3)
    return builder.call(function(builder, f"llvm.fma.v{of.lanes}f{8 * of.size}", kind), [x, y, total])


def _sums(of: Elements, builder: Any, vectors: list[Any]) -> Any:
    """Lane r of the result is the sum of the lanes of vector r: neighbors are added in a tree."""
    while len(vectors) > 1:
        vectors = [
            builder.fadd(*(shuffled(builder, x, y, range(first, 2 * of.lanes, 2)) for first in (0, 1)))
            for x, y in zip(vectors[::2], vectors[1::2], strict=True)
        ]
    return vectors[0]


def _dot_rows(of: Elements, out: Int, x: Int, w: Int, n: Int, columns: Int, stride: Int) -> None:
    b, lanes = out.builder, of.lanes
    with steps(0, n, lanes) as first:
        totals = of.variables(b, lanes)
        rows = [x + (first + r).at_most(n - 1) * stride * of.size for r in range(lanes)]
        with steps(0, columns, lanes) as j:
            mask = of.within(columns - j, lanes)
            weights = of.load(w + j * of.size, lanes, mask)
            for row, total in zip(rows, totals, strict=True):
                b.store(_fma(of, b, of.load(row + j * of.size, lanes, mask), weights, b.load(total)), total)
        of.store(_sums(of, b, [b.load(t) for t in totals]), out + first * of.size, of.within(n - first, lanes))


GROUP = 4
"""Vectors of columns that are accumulated at once: as many as hide the latency of their sums."""


def _add_rows(of: Elements, out: Int, x: Int, w: Int, n: Int, columns: Int, stride: Int) -> None:
    b, lanes = out.builder, of.lanes
    with steps(0, columns, lanes * GROUP) as column:
        places = [column + lanes * g for g in range(GROUP)]
        masks = [of.within(columns - place, lanes) for place in places]
        totals = of.variables(b, GROUP)
        with steps(0, n, 1) as line:
            row, weight = x + line * stride * of.size, spread(b, of.one(w + line * of.size), lanes)
            for place, mask, total in zip(places, masks, totals, strict=True):
                b.store(_fma(of, b, of.load(row + place * of.size, lanes, mask), weight, b.load(total)), total)
        for place, mask, total in zip(places, masks, totals, strict=True):
            to = out + place * of.size
            of.store(b.fadd(of.load(to, lanes, mask), b.load(total)), to, mask)


def _turned(of: Elements, size: int, back: bool, tile: Int, x: Int, places: Int, n: Int, columns: Int, length: Int) -> None:
    """Squares of `size` rows and columns, at most a vector's, are transposed in registers, as many at once as a vector has."""
    k = min(size, of.lanes)
    b, at_once = tile.builder, of.lanes // k
    with steps(0, columns, k) as left, steps(0, n, of.lanes) as first:
        wide, high = columns - left, n - first
        lines = [x + ((places + (first + r).at_most(n - 1) * 8).word() + left) * of.size for r in range(of.lanes)]
        heights = [tile + ((left + Int(b, I64(j)).at_most(wide - 1)) * length + first) * of.size for j in range(k)]
        if back:
            rows = transposed(b, [of.load(place, of.lanes) for place in heights])
            for r, line in enumerate(lines):
                part = shuffled(b, rows[r % k], rows[r % k], range(r // k * k, r // k * k + k)) if at_once > 1 else rows[r]
                of.store(part, line, of.within((high > r).choose(wide, 0), k))
        else:
            mask = of.within(wide, k)
            squares = [joined(b, [of.load(lines[r + k * s], k, mask) for s in range(at_once)]) for r in range(k)]
            for j, column in enumerate(transposed(b, squares)):
                with where(wide > j):
                    of.store(column, heights[j])


def _routine(name: str, write: Callable[..., None], element: Float, *options: Any) -> Builtin:
    """`f(out, out_at, x, x_at, w, w_at, n, columns, stride)` on pointers and places in them, in elements. A module has it once,
    since LLVM takes up to half a second for the code of one."""

    def written(builder: Any, *operands: Any) -> None:
        places = [builder.gep(p.llvm, [at]) for p, at in zip(operands[:6:2], operands[1:6:2], strict=True)]
        given = [*(builder.ptrtoint(place, I64) for place in places), *operands[6:]]
        call(builder, name, lambda _, *args: write(Elements(element), *options, *args), given)

    return Builtin(name, (Pointer, int64) * 3 + (int64,) * 3, written, "")


ROUTINES: dict[str, tuple[Any, ...]] = {
    # out[l] = sum over j of x[l * stride + j] * w[j], for l < n and j < columns
    **{f"dot_rows_{of}": (_dot_rows, of) for of in (float32, float64)},
    # out[j] += sum over l < n of x[l * stride + j] * w[l], for j < columns
    **{f"add_rows_{of}": (_add_rows, of) for of in (float32, float64)},
    # tile[j * length + l] = x[places[l] + j], for l < n and j < columns; what lies up to the next vector is written as well
    **{f"turn_rows_{of}_{size}": (_turned, of, size, False) for of in (float32, float64) for size in SQUARES},
    # x[places[l] + j] = tile[j * length + l], for l < n and j < columns
    **{f"turn_back_{of}_{size}": (_turned, of, size, True) for of in (float32, float64) for size in SQUARES},
}
globals().update({name: _routine(name, *how) for name, how in ROUTINES.items()})
__all__ = [*ROUTINES]
