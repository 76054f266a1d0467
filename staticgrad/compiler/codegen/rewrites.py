"""Rewrites of loops: strip-mining, segments, row tiling, loop interchange."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from .loop_ir import ROW_I, TILE_L, Assign, Expr, Greatest, Least, Loop, Name, Statement, assign, loop, mapped, rewritten


def strip_mined(
    inner: Loop,
    index: str,
    step: int,
    before: Sequence[Statement],
    after: Sequence[Statement],
    end: str = "",
    tile: Callable[[Loop], Loop] = lambda rows: rows,
) -> Loop:
    """A loop over strips of `step` iterations, with statements before and after each strip.

    index: of the loop over strips, and so where a strip begins; end: a name for where it ends; tile: a rewrite of the
    loop over a strip.

        for s in range(first, last, step):
            e = min(s + step, last)
            <before>
            for i in range(s, e): ...
            <after>
    """
    first = Name(index)
    last = Least(first + step, inner.stop)
    named = [assign(end, last)] if end else []
    strip = replace(inner, start=first, stop=Name(end) if end else last, strip_of=index)
    return loop(index, inner.start, inner.stop, [*named, *before, tile(strip), *after], step)


def segmented(rows: Loop, length: Expr, places: Mapping[Expr, tuple[Name, Expr | None]], tile: Callable[[Loop], Loop]) -> Loop:
    """A loop over rows as one over segments, in which places that are found by divisions grow by one stride.

    A segment ends before each multiple of `length`. places: by such a place, a name for its part that is the same in all rows
    of a segment, and the other part, None where there is no other. tile: a rewrite of the loop over a segment.

        for g in range(start // length * length, stop, length):
            first, last = max(start, g), min(stop, g + length)
            p = <place of first> - first * stride
            for i in range(first, last): ... p + i * stride ...
    """
    segment, first, last = Name("g"), Name("first"), Name("last")

    def at_first(e: Expr) -> Expr:
        return mapped(e, lambda part: first if part == ROW_I else part)

    fixed, moved = list[Statement](), dict[Expr, Expr]()
    for place, (name, step) in places.items():
        fixed.append(assign(name.name, at_first(place) if step is None else at_first(place) - at_first(step)))
        moved[place] = name if step is None else name + step
    body = [rewritten(s, lambda e: mapped(e, lambda part: moved.get(part, part))) for s in rows.body]
    bounds = Assign((first.name, last.name), (Greatest(rows.start, segment), Least(rows.stop, segment + length)))
    inner = tile(replace(rows, start=first, stop=last, body=tuple(body), strip_of=segment.name))
    begin = rows.start // length * length
    return loop(segment.name, begin, rows.stop, [bounds, *fixed, inner], length, rows.strip_of)


def tiled(rows: Loop, size: Expr) -> Loop:
    """A loop over rows as one over tiles of at most `size` rows. The body gets the first row `b` and the number of rows `n`."""
    count = assign("n", Least(size, rows.stop - Name("b")))
    return loop("b", rows.start, rows.stop, [count, *rows.body], size, rows.strip_of)


def over_tile(body: Sequence[Statement]) -> Loop:
    """One phase of a tile: its statements for each row."""
    return loop("l", 0, Name("n"), [assign(ROW_I.name, Name("b") + TILE_L), *body], strip_of="b")


def interchanged(columns: Loop, before: Sequence[Statement], after: Sequence[Statement]) -> Loop:
    """A loop over columns that is to run outside of the tile's rows, `before` and `after` those of a column."""
    return replace(columns, body=(*before, over_tile(columns.body), *after))
