"""Operands of ops: tensors, or arrays in a backward pass, of the dtypes that promotion determines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.bounded import Bounded
from ..base.types import float32, float64, is_scalar
from ..errors import DTypeError, OutOfMemoryError, StaticgradError, user_line
from ..ir import REGISTRY, OpDef, View, over_complex
from ..operators import as_array, located, promotion
from .calls.call_cache import OF_THREAD
from .calls.op_calls import value_of_sparse
from .grad_mode import modes
from .tape import FreedTensor
from .tensor import Tensor, ndarray, wrap

FLOATS = (float32, float64)
NUMBERS = frozenset({float, int})

PLANS: Bounded[tuple[np.dtype | None, ...]] = Bounded(OF_THREAD)
"""(op, then the dtype of each tensor and the class of each number) -> the dtype of each number, where promotion casts no
tensor; () where nothing is to be done. `learn` fills it; other operands go through promotion."""


def tensors_of(op: OpDef, args: tuple[Any, ...], run: Callable[..., Any]) -> tuple[Tensor, ...]:
    """Tensors of the dtypes that the op takes; `run` records casts of tensors. What the tape may save and what has views is a
    copy of the caller's array: nobody counts later writes to that."""
    operands = [arg._data if isinstance(arg, Tensor) else operand_of(op, i, arg) for i, arg in enumerate(args)]
    dtypes = targets(op, operands)
    if all(isinstance(arg, Tensor) or arg.__class__ in NUMBERS for arg in args):
        learn(op, operands, dtypes)
    kept = modes.now.grad or isinstance(op.emit, View)
    result = []
    for arg, operand, dtype in zip(args, operands, dtypes, strict=True):
        if not isinstance(arg, Tensor):
            array = cast(operand, dtype)
            result.append(wrap(own(array) if kept and array is operand and array.flags.writeable else array))
        elif dtype is None or operand.dtype == dtype:
            result.append(arg)
        else:
            result.append(run(REGISTRY["cast"], (arg,), {"dtype": dtype}))
    return tuple(result)


def own(array: np.ndarray) -> np.ndarray:
    """A copy of the caller's array. Raises OutOfMemoryError."""
    try:
        return array.copy()
    except MemoryError:
        text = f"there is no memory for a copy of an operand, {array.nbytes:.1e} bytes"
        raise OutOfMemoryError(text, "pass a tensor, as of sg.from_numpy, which is not copied") from None


def value_of(op: OpDef, args: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The value of an op of arrays and numbers."""
    plan = PLANS[op, *[arg.dtype if arg.__class__ is ndarray else arg.__class__ for arg in args]]
    if plan is not None:
        given = [a if d is None else number(a, d)._data for a, d in zip(args, plan, strict=True)] if plan else args
        return value_of_sparse(op, given, attrs) if op.sparse else op.eval(*given, **attrs)
    if any(isinstance(arg, np.generic) for arg in args):  # results of NumPy's functions of 0-d arrays
        return value_of(op, [np.asarray(arg) if isinstance(arg, np.generic) else arg for arg in args], attrs)
    given = arrays_of(op, args)
    if any(array.dtype.kind == "c" for array in given):
        op = over_complex_here(op, given)
    return value_of_sparse(op, given, attrs) if op.sparse else op.eval(*given, **attrs)


def over_complex_here(op: OpDef, operands: Sequence[Any]) -> OpDef:
    """The op's record over complex numbers. Raises DTypeError, with the user's line, where there is none."""
    try:
        return over_complex(op)
    except StaticgradError as error:
        raise located(error, op, operands, user_line()) from None


def arrays_of(op: OpDef, args: Sequence[Any]) -> Sequence[np.ndarray]:
    """Arrays of the dtypes that the op takes, from arrays and numbers. NumPy's scalars count as 0-d arrays here."""
    operands = [operand_of(op, i, np.asarray(a) if isinstance(a, np.generic) else a) for i, a in enumerate(args)]
    dtypes = targets(op, operands)
    learn(op, operands, dtypes)
    return [cast(o, d) for o, d in zip(operands, dtypes, strict=True)]


def learn(op: OpDef, operands: Sequence[Any], dtypes: Sequence[np.dtype | None]) -> None:
    """Remember promotions that dtypes alone determine: whether an operand is 0-d matters only where dtypes differ. Those of
    complex numbers are not remembered, so that dispatch sees them."""
    present = [o.dtype for o in operands if o.__class__ is ndarray]
    key: list[Any] = [op]
    plan: list[np.dtype | None] = []
    for operand, dtype in zip(operands, dtypes, strict=True):
        if operand.__class__ is ndarray:
            if operand.dtype.kind == "c" or (dtype is not None and dtype != operand.dtype):
                return
            key.append(operand.dtype)
            plan.append(None)
        elif operand.__class__ in NUMBERS and dtype in present:
            key.append(operand.__class__)
            plan.append(dtype)
        else:
            return
    PLANS[tuple(key)] = tuple(plan) if any(plan) else ()


def operand_of(op: OpDef, position: int, arg: Any) -> Any:
    """An array or a plain number."""
    if isinstance(arg, ndarray):
        return as_array(arg)
    if isinstance(arg, FreedTensor):
        if position not in op.shape_only:
            arg.refuse()
        return arg.shape_array()
    return arg if is_scalar(arg) else as_array(arg)


def targets(op: OpDef, operands: Sequence[Any]) -> Sequence[np.dtype | None]:
    """The dtype that each operand is cast to (None: kept)."""
    try:
        return promotion(op, operands)
    except StaticgradError as error:
        raise located(error, op, operands, user_line()) from None


def cast(operand: Any, dtype: np.dtype | None) -> np.ndarray:
    if isinstance(operand, ndarray):
        return operand if dtype is None or operand.dtype == dtype else modes.now.quiet(operand.astype, dtype)
    return number(operand, np.asarray(operand).dtype if dtype is None else dtype)._data


def number(value: Any, dtype: np.dtype) -> Tensor:
    """A number as a 0-d tensor. Raises DTypeError when it is out of range."""
    return constant(value, dtype) if value or value.__class__ is int else fresh(value, dtype)  # 0.0 == -0.0


def fresh(value: Any, dtype: np.dtype) -> Tensor:
    try:
        data = modes.now.quiet(np.array, value, dtype)
    except OverflowError:
        raise DTypeError(f"the number {value!r} is out of range for {dtype}") from None
    data.flags.writeable = False  # it is shared
    return wrap(data)


constant = lru_cache(maxsize=256, typed=True)(fresh)
