"""Running an op now: promotion, NumPy evaluation, recording."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..errors import StaticgradError, user_line
from ..ir import REGISTRY, OpDef, View
from ..operators import as_array, frontends, located, promotion
from ..types import is_scalar, type_of
from .modes import modes
from .tape import Ghost, Record
from .tensor import Tensor, mark, ndarray, new

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def run(op: OpDef, args: tuple[Any, ...], attrs: dict[str, Any]) -> Tensor:
    """Apply `op` to tensors, arrays and numbers. Raises the op's errors, with the user's line."""
    inputs = args
    dtype = None
    for arg in args:
        if arg.__class__ is not Tensor:
            inputs = convert(op, args)
            break
        if dtype is None:
            dtype = arg._data.dtype
            if dtype not in FLOATS:
                inputs = convert(op, args)
                break
        elif arg._data.dtype is not dtype:
            inputs = convert(op, args)
            break
    try:
        data = op.eval(*[t._data for t in inputs], **attrs)
    except StaticgradError as error:
        raise located(error, op, [t._data for t in inputs], user_line()) from None
    except (ValueError, TypeError, IndexError) as error:
        raise explained(error, op, inputs, attrs) from None
    if data.__class__ is not ndarray:
        data = np.asarray(data)
    out = new(Tensor)
    out._data = data
    if modes.grad:
        for tensor in inputs:
            if tensor._tracked:
                if op.vjp is not None and data.dtype.kind == "f":
                    out._tracked = True
                    out._record = record = Record(op, inputs, attrs, data)
                    if modes.anomaly:
                        mark(record)
                break
    if isinstance(op.emit, View):
        link(out, inputs[0])
    return out


def explained(error: Exception, op: OpDef, inputs: tuple[Tensor, ...], attrs: dict[str, Any]) -> Exception:
    """Our error for one of NumPy's: `infer` says it with shapes; where it sees nothing wrong, NumPy's own text stands."""
    arrays = [t._data for t in inputs]
    try:
        op.infer(*[type_of(a) for a in arrays], **attrs)
    except StaticgradError as ours:
        return located(ours, op, arrays, user_line())
    return error


def link(out: Tensor, x: Tensor) -> None:
    """A view shares memory: in-place changes of one are changes of the other."""
    if out._data is x._data or out._data.base is not None and np.may_share_memory(out._data, x._data):
        base = x if x._base is None else x._base
        out._base = base
        live = tuple(v for v in base._views if v() is not None)
        base._views = (*live, weakref.ref(out))


def convert(op: OpDef, args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Tensors of the dtypes the op wants; casts of tensors are recorded."""
    operands = [
        arg._data if isinstance(arg, Tensor) else
        stand_in(op, position, arg) if isinstance(arg, Ghost) else
        arg if is_scalar(arg) else as_array(arg)
        for position, arg in enumerate(args)
    ]  # fmt: skip
    try:
        targets = promotion(op, operands)
    except StaticgradError as error:
        raise located(error, op, operands, user_line()) from None
    result = []
    for arg, operand, dtype in zip(args, operands, targets, strict=True):
        if isinstance(arg, Tensor):
            same = dtype is None or arg._data.dtype == dtype
            result.append(arg if same else run(REGISTRY["cast"], (arg,), {"dtype": dtype}))
        else:
            tensor = new(Tensor)
            tensor._data = np.asarray(operand, dtype=dtype)
            result.append(tensor)
    return tuple(result)


def stand_in(op: OpDef, position: int, ghost: Ghost) -> np.ndarray:
    if position not in op.shape_only:
        ghost.refuse()
    return ghost.shape_array()


frontends.eager = run
frontends.tensor_class = Tensor
