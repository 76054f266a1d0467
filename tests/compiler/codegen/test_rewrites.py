"""Rewrites of loops: the same iterations in another order."""

from __future__ import annotations

import pytest

from staticgrad.base.types import int64
from staticgrad.compiler.codegen import loop_ir as ir
from staticgrad.compiler.codegen.loop_ir import (
    Kernel,
    Load,
    Loop,
    Scalar,
    Statement,
    Store,
    interchanged,
    over_tile,
    segmented,
    strip_mined,
    tiled,
)
from staticgrad.compiler.codegen.printers import PYTHON


def visited(rows: Loop, noted: ir.Expr = ir.ROW_I) -> list[int]:
    """The iterations of a loop over i in their order: each notes its number, or another value, at the next place."""
    place = Load("counter", ir.ZERO, int64)
    counted = Store("counter", ir.ZERO, Scalar("add", (place, ir.ONE), int64, int64), int64)
    note = [Store("seen", place, noted, int64), counted]
    text = PYTHON.kernel(Kernel("kernel", (), (), (filled(rows, note),)))
    seen, names = [None] * 1000, {"kernel": lambda fn: fn}
    exec(text.replace("def kernel(buffers, sizes, start, stop)", "def kernel(counter, seen)"), names)
    count = [0]
    names["kernel"](count, seen)
    return seen[: count[0]]


def filled(loop: Loop, body: list[Statement]) -> Loop:
    """The loop with this body in its innermost loop."""
    inner = [s for s in loop.body if isinstance(s, Loop)]
    if not inner:
        return ir.Loop(loop.index, loop.start, loop.stop, (*loop.body, *body), loop.step, loop.strip_of)
    changed = tuple(filled(s, body) if isinstance(s, Loop) else s for s in loop.body)
    return ir.Loop(loop.index, loop.start, loop.stop, changed, loop.step, loop.strip_of)


def rows(first: int, last: int) -> Loop:
    return ir.loop("i", first, ir.Integer(last), [])


@pytest.mark.parametrize("last", [3, 4, 11, 12])
@pytest.mark.parametrize("end", ["", "e"])
def test_strips(last: int, end: str):
    assert visited(strip_mined(rows(3, last), "s", 4, [], [], end)) == list(range(3, last))


@pytest.mark.parametrize("last", [3, 4, 11, 12])
def test_tiles(last: int):
    """The body of a tile is one phase, or several."""
    whole = ir.loop("i", 3, ir.Integer(last), [over_tile([])])
    assert visited(tiled(whole, ir.Integer(4))) == list(range(3, last))
    phases = ir.loop("i", 3, ir.Integer(last), [over_tile([]), over_tile([])])
    expected = [i for b in range(3, last, 4) for _ in range(2) for i in range(b, min(b + 4, last))]
    assert visited(tiled(phases, ir.Integer(4))) == expected


def test_tiles_of_strips():
    strips = strip_mined(
        ir.loop("i", 0, ir.Integer(10), [over_tile([])]), "s", 6, [], [], "e", lambda strip: tiled(strip, ir.Integer(4))
    )
    assert visited(strips) == list(range(10))


@pytest.mark.parametrize("first", [0, 3, 8])
@pytest.mark.parametrize("last", [8, 9, 11])
def test_segments(first: int, last: int):
    """Places with divisions are computed at the beginning of each segment and grow by their stride in it."""
    place = ir.ROW_I // 4 * 100 + ir.ROW_I % 4 * 7
    found = segmented(rows(first, last), ir.Integer(4), {place: (ir.Name("p0"), ir.ROW_I * 7)}, lambda inner: inner)
    assert visited(found) == list(range(first, last))
    moved = ir.loop("i", first, ir.Integer(last), [ir.assign("at", place)])
    text = str(segmented(moved, ir.Integer(4), {place: (ir.Name("p0"), ir.ROW_I * 7)}, lambda inner: inner).body[-1])
    assert "//" not in text
    assert visited(found, ir.Name("p0") + ir.ROW_I * 7) == [i // 4 * 100 + i % 4 * 7 for i in range(first, last)]


def test_interchange():
    columns = ir.loop("j", 0, ir.Integer(2), [])
    tile = ir.loop("i", 0, ir.Integer(3), [interchanged(columns, [], [])])
    assert visited(tiled(tile, ir.Integer(2))) == [0, 1, 0, 1, 2, 2]


def test_statements_before_and_after_each_strip():
    before, after = ir.assign("t", ir.ZERO), ir.assign("u", ir.ONE)
    found = strip_mined(rows(0, 8), "s", 4, [before], [after], "e")
    assert found.body[1] == before
    assert found.body[-1] == after
    assert [type(s).__name__ for s in found.body] == ["Assign", "Assign", "Loop", "Assign"]
