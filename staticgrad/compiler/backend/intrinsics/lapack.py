"""Factors of matrices and systems with triangles inside a kernel, by SciPy's LAPACK. Addresses are plain integers, as in
`vector_tiles.py`; `of` is that of any pointer to the elements. Matrices are in LAPACK's order, column by column: a matrix of a
kernel's, row by row, is its transpose there."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..blas_symbols import symbol
from ..kernel_types import Value, int64
from ..llvm import BYTE, I32, I64, Elements, Int, fortran, letter, routine


def _symbol(of: Elements, name: str) -> str:
    return symbol(f"{'s' if of.size == 4 else 'd'}{name}")


def _info(builder: Any) -> Any:
    """Where a routine says how it ended."""
    with builder.goto_entry_block():
        return builder.alloca(I32)


def _told(builder: Any, info: Any) -> Value:
    return Value(int64, builder.sext(builder.load(info), I64))


UPPER = ir.Constant(BYTE, ord("U"))


@routine
def potrf(of: Elements, n: Int, a: Int, lda: Int) -> Value:
    """U with A = U.T U, in the upper triangle of A, which alone is read. Returns LAPACK's `info`."""
    info = _info(n.builder)
    fortran(n.builder, _symbol(of, "potrf"), UPPER, n, a.place(of.llvm), lda, info)
    return _told(n.builder, info)


@routine
def potri(of: Elements, n: Int, a: Int, lda: Int) -> Value:
    """The upper triangle of the inverse of U.T U, in that of U. Returns LAPACK's `info`."""
    info = _info(n.builder)
    fortran(n.builder, _symbol(of, "potri"), UPPER, n, a.place(of.llvm), lda, info)
    return _told(n.builder, info)


@routine
def getrf(of: Elements, n: Int, a: Int, lda: Int, pivots: Int) -> Value:
    """L and U with P A = L U, in A; pivots: int32 numbers from 1 on. Returns LAPACK's `info`."""
    info = _info(n.builder)
    fortran(n.builder, _symbol(of, "getrf"), n, n, a.place(of.llvm), lda, pivots.place(I32), info)
    return _told(n.builder, info)


@routine
def trsm(
    of: Elements, right: Int, upper: Int, turned: Int, unit: Int, m: Int, n: Int, a: Int, lda: Int, b: Int, ldb: Int
) -> None:
    """X with op(A) X = B, or X op(A) = B, in the (m, n) matrix B."""
    letters = letter(right, "R", "L"), letter(upper, "U", "L"), letter(turned, "T", "N"), letter(unit, "U", "N")
    one = ir.Constant(of.llvm, 1.0)
    fortran(m.builder, _symbol(of, "trsm"), *letters, m, n, one, a.place(of.llvm), lda, b.place(of.llvm), ldb)
