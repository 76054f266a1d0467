"""Rewrites of loops: strip-mining, row tiling, loop interchange."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .loop_ir import ROW_I, TILE_L, Expr, Least, Loop, Name, Statement, assign, loop


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
