"""What the functions of `staticgrad.linalg` share: how they are entered, checks of matrices, records that LAPACK computes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...base.dtypes import SHORT
from ...base.types import TensorType, shape_text, to_float
from ...errors import LinAlgError, ShapeError
from ...ir import Call, Emit, Layout, Node, OpDef, OverComplex, Routine, Scratch, define
from ..operands import dtype_of, extents, inexact, ndim_of
from ..operators import NONE, F, Operators, as_array, composite, enter_as, numpy_twin, spelled
from ..rules import Rule, floating, leading

LINALG: dict[str, Rule] = {}
"""The functions of `staticgrad.linalg`."""


def linalg(
    *, name: str = "", public: bool = False, twin: Rule | None = None, words: Mapping[str, str] = NONE
) -> Callable[[Rule], Rule]:
    """Enter a function in `staticgrad.linalg`; public: among the functions and methods of tensors, too. words: further names
    of its arguments, each with its own."""

    def enter(function: Rule) -> Rule:
        made = spelled(composite(function), words)
        LINALG[name or function.__name__] = made
        if public:
            enter_as(name or function.__name__, made)
        if twin is not None:
            numpy_twin(twin)(made)
        return made

    return enter


def as_floats(x: Any, dtype: Any = None) -> Any:
    """x in `dtype`, or in the floating dtype of its own."""
    if dtype is not None:
        return F.astype(x, dtype)
    x = inexact(x, "Expected a floating point or complex tensor as input.") if isinstance(x, Operators) else as_array(x)
    return F.astype(x, to_float(dtype_of(x)))


def check_square(name: str, x: Any) -> None:
    if ndim_of(x) < 2:
        raise ShapeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if x.shape[-1] != x.shape[-2] and None not in x.shape[-2:]:
        raise ShapeError(
            f"linalg.{name}: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices"
        )


def check_matrices(name: str, x: Any) -> None:
    if ndim_of(x) < 2:
        raise ShapeError(f"linalg.{name}: The input tensor must have at least 2 dimensions.", f"got {shape_text(x.shape)}")


def lapack(name: str, function: Rule) -> Rule:
    """The function, whose failures are ours."""

    def call(*arrays: np.ndarray, **attrs: Any) -> Any:
        try:
            return function(*arrays, **attrs)
        except (np.linalg.LinAlgError, ArithmeticError) as error:
            raise LinAlgError(f"linalg_{name}: {error}") from None
        except Exception as error:
            if type(error).__name__ != "LinAlgError":
                raise
            raise LinAlgError(f"linalg_{name}: {error}") from None

    return call


def host_record(
    name: str, infer: Rule, evaluate: Rule, vjp: Any, attrs: Any = None, doc: str = "", shown: str = "", batch: Rule = leading,
    complex: OverComplex | None = None, emit: Emit = None, fails: bool | None = None,
) -> OpDef:  # fmt: skip
    """A record that NumPy's and SciPy's LAPACK computes; in plans as `emit` says, if it is given, over complex numbers too."""
    if complex is not None and emit is not None:
        complex = dataclasses.replace(complex, emit=emit)
    return define(
        f"linalg_{name}",
        infer,
        lapack(shown or name, evaluate),
        vjp,
        emit,
        floating,
        fails=fails,
        doc=doc,
        attrs=attrs or {},
        batch=batch,
        complex=complex,
    )


@cache
def routine(library: str, name: str, dtype: np.dtype) -> Rule:
    """A routine of SciPy's BLAS or LAPACK for arrays of a dtype."""
    from ...base.interpreter import extension

    return getattr(extension(f"scipy.linalg._f{library}"), f"{LETTERS[dtype]}{name}")


LETTERS = {np.dtype(name): letter for name, letter in zip(("f4", "f8", "c8", "c16"), "sdcz", strict=True)}
"""How the names of the routines for a dtype begin."""


# native code ----------------------------------------------------------------------------------------------------------------


BLOCK = 64
"""Right sides of a system that one call of a kernel solves at least."""


def factored(
    kernel: str, node: Node, operands: Sequence[tuple[int, Layout]], sizes: Sequence[int], span: int, work: int,
    lead: Sequence[int], turned: bool = False, scratch: tuple[Scratch, ...] = (),
) -> list[Call] | None:  # fmt: skip
    """A call of a kernel of `factorizations.py` for matrices with these leading axes. operands: (number, layout) of those that
    are read where they lie, if sizes can describe that, or as the transposed ones (`turned`). None where their leading axes
    broadcast in another way. scratch: memory for each chunk."""
    strided, described = list[int](), list[int]()
    for number, layout in operands:
        at_, found = layout, matrices_of(layout, lead)
        if found is None or not (layout.strides[-1] == 1 or layout.strides[-2] == 1):
            at_ = Layout.contiguous(layout.shape)
            found = matrices_of(at_, lead)
        else:
            strided.append(number)
        if found is None:
            return None
        rows, columns = at_.strides[-2:]
        described += [*found, *((columns, rows) if turned else (rows, columns))]
    return [
        Routine(
            "factorizations", f"{kernel}_{SHORT[node.type.dtype]}", span, (*sizes, *described), work, scratch,
            chunked=bool(scratch), strided=tuple(strided), name=node.op.name,
        )
    ]  # fmt: skip


def matrices_of(layout: Layout, lead: Sequence[int]) -> tuple[int, int, int] | None:
    """(every, count, step): matrix i of a batch with these leading axes begins at `i // every % count * step`. None where no
    such numbers describe it."""
    pad = len(lead) + 2 - len(layout.shape)
    axes = zip(layout.shape[:-2], layout.strides[:-2], strict=True)
    own = [*[1] * pad, *[1 if step == 0 else extent for extent, step in axes]]
    wide = [axis for axis, extent in enumerate(own) if extent != 1]
    first, last = (wide[0], wide[-1] + 1) if wide else (pad, pad)
    parts = layout.joined(first - pad, last - pad)
    if own[first:last] != [*lead[first:last]] or len(parts) > 1:
        return None
    return math.prod(lead[last:]), parts[0][0], parts[0][1] if wide else 0


def same_type(x: TensorType, *rest: TensorType, **attrs: Any) -> TensorType:
    return x


def each_matrix(f: Rule) -> Rule:
    """A function of one matrix, over leading axes."""

    def call(x: np.ndarray, *args: Any) -> np.ndarray:
        rows = [f(m, *args) for m in x.reshape(-1, *x.shape[-2:])] if x.size else []
        return np.array(rows, x.dtype).reshape(*x.shape[:-2], *np.shape(rows[0])) if rows else x.copy()

    return call


def zeros_info(name: str, A: Any) -> Any:
    """The `info` of LAPACK's functions for each matrix: 0, as failures raise."""
    return np.zeros(extents(name, A, 0, -2), np.int32)
