"""Factors of matrices and systems with triangles inside a kernel, by SciPy's LAPACK. Addresses are plain integers, as in
`vector_tiles.py`; `of` is that of any pointer to the elements. Matrices are in LAPACK's order, column by column: a matrix of a
kernel's, row by row, is its transpose there."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..kernel_types import Value, int64
from ..llvm import BYTE, I32, I64, Elements, Int, fortran, letter, routine
from ..object_code import symbol

LETTERS = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}


def _symbol(of: Elements, name: str) -> str:
    return symbol(f"{LETTERS[of.name]}{name}")


def _info(builder: Any) -> Any:
    """Where a routine says how it ended."""
    with builder.goto_entry_block():
        return builder.alloca(I32)


def _told(builder: Any, info: Any) -> Value:
    return Value(int64, builder.sext(builder.load(info), I64))


UPPER = ir.Constant(BYTE, ord("U"))


@routine
def potrf(of: Elements, n: Int, a: Int, lda: Int) -> Value:
    """U with A = U.H U, in the upper triangle of A, which alone is read. Returns LAPACK's `info`."""
    info = _info(n.builder)
    fortran(n.builder, _symbol(of, "potrf"), UPPER, n, a.place(of.llvm), lda, info)
    return _told(n.builder, info)


@routine
def potri(of: Elements, n: Int, a: Int, lda: Int) -> Value:
    """The upper triangle of the inverse of U.H U, in that of U. Returns LAPACK's `info`."""
    info = _info(n.builder)
    fortran(n.builder, _symbol(of, "potri"), UPPER, n, a.place(of.llvm), lda, info)
    return _told(n.builder, info)


@routine
def getrf(of: Elements, m: Int, n: Int, a: Int, pivots: Int) -> Value:
    """L and U with P A = L U, in the (m, n) matrix A; pivots: int32 numbers from 1 on. Returns LAPACK's `info`."""
    info = _info(n.builder)
    fortran(n.builder, _symbol(of, "getrf"), m, n, a.place(of.llvm), m, pivots.place(I32), info)
    return _told(n.builder, info)


@routine
def geqrf(of: Elements, m: Int, n: Int, a: Int, weights: Int, work: Int, room: Int) -> None:
    """R in the upper triangle of the (m, n) matrix A, and the reflections of Q below it. work: memory for `room` elements."""
    places = [x.place(of.llvm) for x in (weights, work)]
    fortran(n.builder, _symbol(of, "geqrf"), m, n, a.place(of.llvm), m, *places, room, _info(n.builder))


@routine
def orgqr(of: Elements, m: Int, columns: Int, n: Int, a: Int, weights: Int, work: Int, room: Int) -> None:
    """The first columns of the product of n reflections, in place."""
    places = [x.place(of.llvm) for x in (weights, work)]
    name = _symbol(of, "orgqr" if of.name in ("f32", "f64") else "ungqr")
    fortran(n.builder, name, m, columns, n, a.place(of.llvm), m, *places, room, _info(n.builder))


@routine
def trsm(
    of: Elements, right: Int, upper: Int, turned: Int, unit: Int, m: Int, n: Int, a: Int, lda: Int, b: Int, ldb: Int
) -> None:
    """X with op(A) X = B, or X op(A) = B, in the (m, n) matrix B."""
    letters = letter(right, "R", "L"), letter(upper, "U", "L"), letter(turned, "T", "N"), letter(unit, "U", "N")
    one = ir.Constant(of.llvm, 1.0 if of.name in ("f32", "f64") else [1.0, 0.0])
    fortran(m.builder, _symbol(of, "trsm"), *letters, m, n, one, a.place(of.llvm), lda, b.place(of.llvm), ldb)
