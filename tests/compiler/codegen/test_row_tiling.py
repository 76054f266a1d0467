"""Row tiling: the same values, computed stage by stage for a tile of rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.base.types import float64
from staticgrad.compiler.codegen import loop_ir as ir
from staticgrad.compiler.codegen.loop_ir import (
    Accumulate,
    Expr,
    Kernel,
    Literal,
    Load,
    Loop,
    MatrixVector,
    Name,
    Scalar,
    Stage,
    Statement,
    Store,
    assign,
    inside,
    loop,
    mapped,
    rewritten,
)
from staticgrad.compiler.codegen.printers import PYTHON
from staticgrad.compiler.codegen.row_tiling import AT, BLOCK, Tiling, tile_rows
from staticgrad.compiler.execute.unjitted import run_unjitted

F64 = float64
COLUMNS, ROWS = 3, 11
X = np.random.default_rng(0).integers(-3, 4, (ROWS, COLUMNS)).astype(np.float64)
W = np.random.default_rng(1).integers(-3, 4, ROWS).astype(np.float64)
ELEMENT = Load("x", ir.ROW_I * COLUMNS + ir.COLUMN_J, F64)
ZERO = Literal(0, F64)


def op(name: str, *operands: Expr) -> Scalar:
    return Scalar(name, operands, F64, F64)


def columns(*body: Statement) -> Loop:
    return loop("j", 0, ir.Integer(COLUMNS), body)


def nest() -> Loop:
    """kept = out = x * w; r = sum of a row of x; v = w + r; y = sum of (x - v) * kept + v. t sums v, u x, acc columns of x."""
    kept = Load("kept", Name("c") * Name("columns") + ir.COLUMN_J, F64)
    stages = [
        [
            assign("a0", Load("w", ir.ROW_I, F64)),
            assign("r0", ZERO), assign("r1", ZERO),
            columns(
                assign("v0", op("mul", ELEMENT, Name("a0")), "%0 mul"),
                Store("kept", kept.index, Name("v0"), F64),
                Store("out", ELEMENT.index, Name("v0"), F64),
                Accumulate(Name("r0"), "plus", ELEMENT, F64, "%1 sum"),
                Accumulate(Name("r1"), "plus", ELEMENT, F64),
                Accumulate(Load("acc", ir.COLUMN_J, F64), "plus", ELEMENT, F64),
            ),
            Accumulate(Name("u"), "plus", Name("r1"), F64),
        ],
        [
            assign("v1", op("add", Name("a0"), Name("r0")), "%2 add"),
            Accumulate(Name("t"), "plus", Name("v1"), F64),
        ],
        [
            assign("r2", ZERO),
            columns(Accumulate(Name("r2"), "plus", op("mul", op("sub", ELEMENT, Name("v1")), kept), F64)),
        ],
        [Store("y", ir.ROW_I, op("add", Name("r2"), Name("v1")), F64)],
    ]  # fmt: skip
    return loop("i", 0, Name("rows"), [Stage(tuple(body)) for body in stages])


def run(rows: Loop) -> dict[str, np.ndarray]:
    """The buffers after a run of one chunk."""
    buffers = {
        "x": X.reshape(-1), "w": W, "y": np.zeros(ROWS), "out": np.zeros(X.size), "acc": np.zeros(COLUMNS),
        "totals": np.zeros(2), "kept": np.zeros(COLUMNS * BLOCK), **{f"array{i}": np.zeros(BLOCK) for i in range(3)},
    }  # fmt: skip
    body = [assign("t", ZERO), assign("u", ZERO), rows]
    body += [Store("totals", ir.Integer(i), Name(name), F64) for i, name in enumerate("tu")]
    named = [assign("rows", ir.Integer(ROWS)), assign("columns", ir.Integer(COLUMNS)), assign("block", ir.Integer(4))]
    pointers = tuple(ir.Pointer(name, F64, "") for name in buffers)
    kernel = Kernel("kernel", pointers, tuple(named), (loop("c", 0, ir.Integer(1), body),))
    run_unjitted(kernel, list(buffers.values()), [], 0, 1)
    return {name: array for name, array in buffers.items() if name in ("y", "out", "acc", "totals")}


def tiled(rows: Loop, width: Expr | None) -> tuple[Loop, list[str]]:
    """The rewrite, and the names of the values that it keeps in arrays."""
    kept: list[str] = []
    counters: dict[str, int] = {}

    def array(name: str) -> Load:
        if name not in kept:
            kept.append(name)
        return Load(f"array{kept.index(name)}", AT, F64)

    def fresh(letter: str) -> Name:
        counters[letter] = counters.get(letter, 9) + 1
        return Name(f"{letter}{counters[letter]}")

    return tile_rows(rows, Name("block"), width, array, fresh, frozenset({"kept"})), kept


@pytest.mark.parametrize("width", [None, ir.Integer(COLUMNS)], ids=["rows outside", "rows inside"])
def test_the_tiled_nest_computes_the_same(width: Expr | None):
    expected = run(nest())
    rows, kept = tiled(nest(), width)
    found = run(rows)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
    assert sorted(kept) == ["r0", "r2", "v1"]
    np.testing.assert_array_equal(expected["totals"], [(W + X.sum(1)).sum(), X.sum()])


@pytest.mark.parametrize(
    ("itemsize", "columns", "rows"), [(4, 10, 64), (4, 1024, 64), (4, 1025, 32), (8, 10, 64), (8, 1024, 32), (8, 1 << 20, 32)]
)
def test_tiles_have_whole_vectors_of_rows(itemsize: int, columns: int, rows: int):
    """As many as LLVM computes at a time, or the rest runs in slow loops."""
    assert Tiling(True, {}, itemsize).rows_of(columns) == rows


def test_operands_are_loaded_again_and_values_are_kept():
    rows, _ = tiled(loop("i", 0, Name("rows"), nest().body), None)
    text = PYTHON.block([rows])
    assert sum("= w[i]" in line for line in text) == 2
    assert "        array0[c * 64 + l] = r0" in [line[4:] for line in text]


def test_a_value_of_one_stage_has_no_array():
    body = [assign("v0", op("neg", Load("x", ir.ROW_I, F64)), "%0 neg"), Store("y", ir.ROW_I, Name("v0"), F64)]
    assert tiled(loop("i", 0, Name("rows"), [Stage(tuple(body))]), None)[1] == []


@pytest.mark.parametrize("transposed", [False, True])
def test_products_of_a_row_become_products_of_the_tile(transposed: bool):
    matrix = "x", ir.ROW_I * COLUMNS
    product = MatrixVector(
        transposed, ("acc", ir.ZERO) if transposed else Name("d0"), matrix, Name("v0") if transposed else ("w", ir.ZERO),
        ir.ONE, ir.Integer(COLUMNS), ir.Integer(COLUMNS), F64,
    )  # fmt: skip
    before = [assign("v0", op("neg", Load("w", ir.ROW_I, F64)), "%0 neg")]
    after = [Store("y", ir.ROW_I, ir.ONE if transposed else Name("d0"), F64)]
    rows, kept = tiled(loop("i", 0, Name("rows"), [Stage(tuple(body)) for body in (before, [product], after)]), None)
    (found,) = [s for s in rows.body if isinstance(s, MatrixVector)]
    assert found.matrix == ("x", Name("b") * COLUMNS)
    assert found.rows == Name("n")
    place = "array0", Name("c") * BLOCK
    assert (found.vector if transposed else found.out) == place
    assert kept == (["v0"] if transposed else ["d0"])


# the walks that it uses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda e: Name("k") if e == Name("a0") else e, "out[i * 3 + j] = (x[i * 3 + j] * k)"),
        (lambda e: Name("b") if e == ir.ROW_I else e, "out[b * 3 + j] = (x[b * 3 + j] * a0)"),
    ],
)
def test_expressions_of_statements_are_changed(change: Callable[[Expr], Expr], text: str):
    s = Store("out", ELEMENT.index, op("mul", ELEMENT, Name("a0")), F64)
    assert PYTHON.store(rewritten(s, lambda e: mapped(e, change))) == [text]  # type: ignore[arg-type]


def test_an_expression_without_changes_is_itself():
    assert mapped(ELEMENT, lambda e: e) is ELEMENT
    assert len(list(inside(ELEMENT))) == 6


@pytest.mark.parametrize("looked_up", [False, True])
def test_rows_that_are_looked_up_are_read_along_their_columns(looked_up: bool, interpreted: None):
    """Few columns: the loops over columns and rows are interchanged, unless the rows lie apart in memory."""
    with sg.Graph().as_default():
        table, places = sg.placeholder(sg.float32, (50, 16)), sg.placeholder(sg.int64, (64,))
        rows = table[places] if looked_up else sg.placeholder(sg.float32, (64, 16))
        score = sg.exp(sg.sigmoid(sg.sum(sg.tanh(rows) * 2, 1)))
        feeds = {table: np.zeros((50, 16), "f4"), places: np.zeros(64, "i8")} if looked_up else {rows: np.zeros((64, 16), "f4")}
        text = "".join(map(str, sg.Session().plan(score, feeds).sources().values()))
    assert ("for j in range(width)" in text) is not looked_up


@pytest.mark.parametrize("inner", [2, 3, 8, 15])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_place_that_takes_a_division_is_computed_once_for_a_row(inner: int, dtype: str):
    rng = np.random.default_rng(inner)
    x, w = (sg.tensor(rng.standard_normal(shape).astype(dtype)) for shape in ((7, 33, inner), (7, 1, inner)))

    def function(x: sg.Tensor, w: sg.Tensor) -> tuple[sg.Tensor, ...]:
        return (x * w).sum(1), sg.logsumexp(x, 1), sg.softmax(x + w, 1), x.amax(1)

    compiled = sg.compile(function)
    for found, wanted in zip(compiled(x, w), function(x, w), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5 if dtype == "float32" else 1e-12)
    for instruction in compiled.plan.instructions:
        over_columns = False
        for line in instruction.source.splitlines():
            over_columns = (over_columns and not line.startswith(" " * 12 + "for l")) or "for j" in line
            assert not (over_columns and ("//" in line or "%" in line.split("#")[0])), instruction.source
