"""Running an op now: promotion, NumPy evaluation, recording."""

from __future__ import annotations

import contextvars
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError, StaticgradError, user_line
from ..ir import REGISTRY, OpDef
from ..operators import Symbol, append, as_array, frontends, located, promotion, state
from ..types import float32, float64, get_default_dtype, is_scalar, type_of
from .modes import modes
from .tape import Ghost, Record
from .tensor import Tensor, new, wrap

FLOATS = (float32, float64)
ndarray = np.ndarray


def run(op: OpDef, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """Apply `op` to tensors, arrays and numbers. Raises the op's errors, with the user's line."""
    if frontends.tracing and state.tracer is not None:
        return state.tracer.apply(op, args, attrs)
    inputs, tracked, dtype = args, False, None
    for arg in args:
        if not isinstance(arg, Tensor):
            break
        if arg._tracked:
            tracked = True
        mine = arg._data.dtype
        if mine is not dtype and op.promote is not None:
            if dtype is not None or mine not in FLOATS:
                break
            dtype = mine
    else:  # tensors only, and none to be cast
        return finish(op, args, tracked, attrs)
    for arg in args:
        if isinstance(arg, Symbol):
            return append(arg.graph, op, args, attrs)
    if modes.arrays and not any([isinstance(arg, Tensor) for arg in args]):
        return evaluate(op, args, attrs)
    inputs = convert(op, args)
    return finish(op, inputs, any([t._tracked for t in inputs]), attrs)


def finish(op: OpDef, inputs: tuple[Tensor, ...], tracked: bool, attrs: dict[str, Any]) -> Tensor:
    """Evaluate and record. `tracked`: some input requires grad."""
    source = inputs[0]._data
    try:
        if len(inputs) == 1:
            data = modes.quiet(op.eval, source, **attrs)
        else:
            data = modes.quiet(op.eval, *[t._data for t in inputs], **attrs)
    except Exception as error:
        data = once_more(error, op, inputs, attrs)
    if data.__class__ is not ndarray:
        data = np.asarray(data)
    out = new(Tensor)
    out._data = data
    out._base = None
    if tracked and modes.grad and data.dtype.kind == "f" and (op in COMPLETE or flows(op, inputs)):
        out._tracked = True
        out._record = record = Record(op, inputs, attrs, data)
        if modes.anomaly:
            record.where = user_line()
    else:
        out._tracked = False
        out._record = None
    base = data.base
    if (base is not None and (base is source or base is source.base)) or data is source:
        link(out, inputs[0])
    return out


COMPLETE: set[OpDef] = set()
"""Ops through which a gradient flows to every input."""


def flows(op: OpDef, inputs: tuple[Tensor, ...]) -> bool:
    """Whether the result depends smoothly on an input that requires grad."""
    if isinstance(op.vjp, tuple) and None not in op.vjp:
        COMPLETE.add(op)
        return True
    return any(t._tracked and op.vjp_for(i) is not None for i, t in enumerate(inputs))


def once_more(error: Exception, op: OpDef, inputs: tuple[Tensor, ...], attrs: dict[str, Any]) -> Any:
    """Our error for one of NumPy's: `infer` says it with shapes; where it sees nothing wrong, NumPy's own text stands.

    An op inside the `eval` of another finds its thread's quiet context entered: it gets a copy.
    """
    arrays = [t._data for t in inputs]
    if isinstance(error, RuntimeError) and "cannot enter context" in str(error):
        return contextvars.copy_context().run(op.eval, *arrays, **attrs)
    if isinstance(error, StaticgradError):
        raise located(error, op, arrays, user_line()) from None
    try:
        op.infer(*[type_of(a) for a in arrays], **attrs)
    except StaticgradError as ours:
        raise located(ours, op, arrays, user_line()) from None
    raise error


def link(out: Tensor, x: Tensor) -> None:
    """A view shares memory: in-place changes of one are changes of the other."""
    base = x if x._base is None or x._detached else x._base
    out._base = base
    if modes.grad:  # a recorded in-place change gives its views new records
        views = base._views
        if views is None:
            base._views = [weakref.ref(out)]
        else:
            n = len(views)
            if n >= 16 and n & (n - 1) == 0:  # at each power of two, those that are gone are dropped
                views[:] = [view for view in views if view() is not None]
            views.append(weakref.ref(out))


# operands that are not tensors of one floating dtype -------------------------------------------------------------------


def convert(op: OpDef, args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Tensors of the dtypes the op wants; casts of tensors are recorded."""
    operands = [arg._data if isinstance(arg, Tensor) else operand_of(op, i, arg) for i, arg in enumerate(args)]
    result = []
    for arg, operand, dtype in zip(args, operands, targets(op, operands), strict=True):
        if not isinstance(arg, Tensor):
            result.append(wrap(cast(op, operand, dtype)))
        elif dtype is None or operand.dtype == dtype:
            result.append(arg)
        else:
            result.append(run(REGISTRY["cast"], (arg,), {"dtype": dtype}))
    return tuple(result)


def evaluate(op: OpDef, args: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """The op on bare arrays and numbers: the backward pass computes with these. NumPy's scalars count as 0-d arrays."""
    operands = [operand_of(op, i, np.asarray(a) if isinstance(a, np.generic) else a) for i, a in enumerate(args)]
    dtypes = targets(op, operands)
    return op.eval(*[cast(op, o, d) for o, d in zip(operands, dtypes, strict=True)], **attrs)


def operand_of(op: OpDef, position: int, arg: Any) -> Any:
    """An array or a plain number."""
    if isinstance(arg, ndarray):
        return arg if arg.dtype in FLOATS else as_array(arg)
    if isinstance(arg, Ghost):
        if position not in op.shape_only:
            arg.refuse()
        return arg.shape_array()
    return arg if is_scalar(arg) else as_array(arg)


def cast(op: OpDef, operand: Any, dtype: np.dtype | None) -> np.ndarray:
    if isinstance(operand, ndarray):
        return operand if dtype is None or operand.dtype == dtype else modes.quiet(operand.astype, dtype)
    try:
        return modes.quiet(np.asarray, operand, dtype)
    except OverflowError:
        raise DTypeError(f"{op.name}: the number {operand!r} is out of range for {dtype}") from None


TARGETS: dict[Any, Sequence[np.dtype | None]] = {}
"""What promotion said, by op, dtypes, and which operands are 0-d."""


def targets(op: OpDef, operands: Sequence[Any]) -> Sequence[np.dtype | None]:
    """The dtype that each operand is cast to (None: kept)."""
    key: list[Any] = [op, get_default_dtype()]
    for operand in operands:
        if isinstance(operand, ndarray):
            key.append(operand.dtype)
            key.append(operand.ndim == 0)
        else:
            key.append(operand.__class__)
    signature = tuple(key)
    known = TARGETS.get(signature)
    if known is None:
        try:
            known = TARGETS[signature] = promotion(op, operands)
        except StaticgradError as error:
            raise located(error, op, operands, user_line()) from None
    return known


frontends.eager = run
frontends.tensor_class = Tensor
