"""Running an op now: NumPy evaluation, recording, views, errors."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from weakref import ref

import numpy as np

from ..base.dtypes import DERIVED
from ..base.tables import Bounded
from ..base.types import INEXACT, float32, float64, is_scalar, type_of
from ..errors import DTypeError, OutOfMemoryError, StaticgradError, user_line
from ..ir import REGISTRY, OpDef, Reduction, View, over_types
from ..ops.operators import Symbol, append, as_array, frontends, located, promotion, state, top_level
from .calls.call_cache import OF_THREAD, shared
from .calls.op_calls import value as kernel_value
from .calls.op_calls import value_of_sparse
from .calls.signature import join
from .grad_mode import INFERRED, INFERRING, Mode, mark_inference, modes
from .tape import FreedTensor, Record, tick
from .tensor import UNRECORDED, PublicTensor, Tensor, ndarray, new, watch, wrap

# operands of ops ------------------------------------------------------------------------------------------------------

# Operands of ops: tensors, or arrays in a backward pass, of the dtypes that promotion determines.

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
    op = over_here(op, given)
    return value_of_sparse(op, given, attrs) if op.sparse else op.eval(*given, **attrs)


def over_here(op: OpDef, operands: Sequence[Any]) -> OpDef:
    """The op's record over the dtypes of operands. Raises DTypeError, with the user's line, where there is none."""
    try:
        return over_types(op, operands)
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
    dtypes over which ops have other records are not remembered, so that dispatch sees them."""
    present = [o.dtype for o in operands if o.__class__ is ndarray]
    key: list[Any] = [op]
    plan: list[np.dtype | None] = []
    for operand, dtype in zip(operands, dtypes, strict=True):
        if operand.__class__ is ndarray:
            if operand.dtype in DERIVED or (dtype is not None and dtype != operand.dtype):
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


def run(op: OpDef, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """Apply `op` to tensors, arrays and numbers. Raises the op's errors, with the user's line."""
    if frontends.tracing:
        if state.tracer is not None:
            return state.tracer.apply(op, args, attrs)
        if state.deferral is not None and (noted := state.deferral.apply(op, args, attrs)) is not None:
            return noted
    mode = modes.now
    if mode.arrays and not isinstance(args[0], Tensor):
        try:
            return value_of(op, args, attrs)
        except MemoryError as error:
            raise _no_memory(op, arrays_of(op, args), attrs, error) from None
    tracked = False
    key: list[Any] = [op]
    for arg in args:
        if isinstance(arg, Tensor):
            key.append(arg._data.dtype)
            if arg._tracked:
                tracked = True
        else:
            key.append(arg.__class__)
    plan = PLANS[tuple(key)]
    if plan is None:
        for arg in args:
            if isinstance(arg, Symbol):
                level = top_level(args)
                return append(arg.graph, op, args, attrs) if level is None else level.apply(op, args, attrs)
        args = tensors_of(op, args, run)
        op = over_here(op, [t._data for t in args])
        tracked = any(t._tracked for t in args)
    elif plan:
        args = tuple([a if d is None else number(a, d) for a, d in zip(args, plan, strict=True)])
    data = None
    if op.eager_least <= args[0]._data.size >= mode.heavy:
        data = kernel_value(op, attrs, *[t._data for t in args])
    if data is None:
        try:
            if len(args) == 1:
                data = mode.quiet(op.eval, args[0]._data, **attrs)
            else:
                data = mode.quiet(op.eval, *[t._data for t in args], **attrs)
        except Exception as error:
            data = recover(error, op, args, attrs)
    return result(op, args, data, mode if tracked else None, attrs)


def result(
    op: OpDef, inputs: tuple[Tensor, ...], data: Any, mode: Mode | None, attrs: Mapping[str, Any], made: bool = False
) -> Tensor:
    """The tensor around an op's value. With a mode (some input requires grad) it is recorded if a gradient can flow. made: the
    value is a new array, as from a NumPy ufunc, and no view of an operand."""
    if data.__class__ is not ndarray:
        data = np.asarray(data)
    out = new(PublicTensor)
    out._data = data
    out._base = None
    out._views = None
    if mode is not None and mode.grad and (op in COMPLETE or flows(op, inputs, data)):
        out._tracked = True  # and the lines of `record_of`, without another call
        out._record = record = new(Record)
        record.op = op
        record.inputs = inputs
        record.attrs = attrs
        record.out = data
        record.clock = tick()
        record.memory = record.hooks = record.position = record.named = None
        if mode.watched:
            watch(record, mode)
    else:
        out._tracked = False
        out._record = None
        if INFERRING:
            mark_inference(out)
        elif INFERRED and inputs[0]._inference and op.checks:
            out._inference = inputs[0]._inference
    if made:
        return out
    x = inputs[0]
    source = x._data
    base = data.base
    if base is None:
        if data is source:
            link(out, x)
    elif base is source or base is source.base:
        link(out, x)
    return out


COMPLETE: set[OpDef] = set()
"""Ops of floats through which a gradient flows to every input."""


def flows(op: OpDef, inputs: tuple[Tensor, ...], data: np.ndarray) -> bool:
    """Whether the result depends smoothly on an input that requires grad."""
    rules = op.vjp
    if rules.__class__ is tuple and None not in rules and (op.promote is not None or isinstance(op.emit, (View, Reduction))):
        COMPLETE.add(op)
    if rules is not None and data.dtype.kind in INEXACT:
        for position, tensor in enumerate(inputs):
            if tensor._tracked and (rules[position] if rules.__class__ is tuple else rules(position)) is not None:
                return True
    return False


def recover(error: Exception, op: OpDef, inputs: tuple[Tensor, ...], attrs: Mapping[str, Any]) -> Any:
    """Raises the package's error for one of NumPy's: `infer` names the shapes. Where `infer` finds nothing wrong, NumPy's own
    error is raised.

    The quiet context of the thread is in use while an op runs inside the `eval` of another one. Such an op runs again, in a
    copy of the context.
    """
    arrays = [t._data for t in inputs]
    if isinstance(error, RuntimeError) and "cannot enter context" in str(error):
        return contextvars.copy_context().run(op.eval, *arrays, **attrs)
    if isinstance(error, StaticgradError):
        raise located(error, op, arrays, user_line()) from None
    try:
        kind = op.infer(*[type_of(a) for a in arrays], **attrs)
        kind.check_size()
        if isinstance(error, MemoryError):
            raise _no_memory(op, arrays, attrs, error)
    except StaticgradError as ours:
        raise located(ours, op, arrays, user_line()) from None
    raise error


def _no_memory(op: OpDef, arrays: Sequence[Any], attrs: Mapping[str, Any], error: MemoryError) -> OutOfMemoryError:
    size = op.infer(*[type_of(a) for a in arrays], **attrs).nbytes
    return OutOfMemoryError(f"there is no memory for a result of {size:.1e} bytes", str(error))


def link(out: Tensor, x: Tensor, grad: bool | None = None) -> None:
    """Make `out` a view of `x`: an in-place change of either changes both. grad: of the mode, None for the thread's."""
    out._base = base = x if x._base is None else x._base
    if x._inference:
        out._inference = x._inference
    elif INFERRING and out._inference:
        out._inference = None
    if not (modes.now.grad if grad is None else grad) or x._views is UNRECORDED:
        out._views = UNRECORDED
    if base._record is None and base._tracked:
        base._views = UNLISTED
    else:  # a recorded in-place change gives its views new records
        views = base._views
        if views is None or views is UNLISTED:
            base._views = [ref(out)]
        else:
            if len(views) in PRUNE:
                views[:] = [view for view in views if view() is not None]
            views.append(ref(out))


UNLISTED: list[ref[Tensor]] = []
"""The views of a leaf that requires grad, which can't be changed in place while recording."""
PRUNE = frozenset(2**n for n in range(4, 40))
"""Lengths of the list at which dead references are dropped."""


frontends.eager = run
frontends.tensor_class, frontends.public_class = Tensor, PublicTensor
frontends.calls, frontends.join = shared, join
frontends.recording = lambda: modes.now.grad
