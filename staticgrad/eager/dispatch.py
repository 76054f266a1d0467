"""Running an op now: promotion, NumPy evaluation, recording."""

from __future__ import annotations

import contextvars
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import is_
from typing import Any
from weakref import ref

import numpy as np

from ..errors import DTypeError, StaticgradError, user_line
from ..ir import REGISTRY, OpDef
from ..operators import Symbol, append, as_array, frontends, located, promotion, state
from ..ops.rules import arithmetic, floating, numeric
from ..types import SUPPORTED, float32, float64, get_default_dtype, is_scalar, type_of
from .modes import Mode, modes
from .tape import Ghost, Record
from .tensor import Tensor, new, wrap

FLOATS = (float32, float64)
ndarray = np.ndarray


def run(op: OpDef, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """Apply `op` to tensors, arrays and numbers. Raises the op's errors, with the user's line."""
    if frontends.tracing and state.tracer is not None:
        return state.tracer.apply(op, args, attrs)
    tracked, dtype = False, None
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
    else:  # tensors of one floating dtype
        return finish(op, args, tracked, attrs)
    if modes.now.arrays and not isinstance(args[0], Tensor):
        return evaluate(op, args, attrs)
    inputs = unchanged(op, args)
    if inputs is None:
        for arg in args:
            if isinstance(arg, Symbol):
                return append(arg.graph, op, args, attrs)
        inputs = convert(op, args)
    return finish(op, inputs, any(t._tracked for t in inputs), attrs)


def finish(op: OpDef, inputs: tuple[Tensor, ...], tracked: bool, attrs: Mapping[str, Any]) -> Tensor:
    """Evaluate and record. `tracked`: some input requires grad."""
    mode = modes.now
    try:
        if len(inputs) == 1:
            data = mode.quiet(op.eval, inputs[0]._data, **attrs)
        else:
            data = mode.quiet(op.eval, *[t._data for t in inputs], **attrs)
    except Exception as error:
        data = once_more(error, op, inputs, attrs)
    return result(op, inputs, data, mode if tracked else None, attrs)


def result(op: OpDef, inputs: tuple[Tensor, ...], data: Any, mode: Mode | None, attrs: Mapping[str, Any]) -> Tensor:
    """The tensor around an op's value. With a mode (some input requires grad) it is recorded where a gradient can flow."""
    if data.__class__ is not ndarray:
        data = np.asarray(data)
    out = new(Tensor)
    out._data = data
    out._base = None
    out._views = None
    if mode is not None and mode.grad and (op in COMPLETE or flows(op, inputs, data)):
        out._tracked = True
        out._record = record = Record(op, inputs, attrs, data)
        if mode.anomaly:
            record.where = user_line()
    else:
        out._tracked = False
        out._record = None
    base = data.base
    source = inputs[0]._data
    if base is None:
        if data is source:
            link(out, inputs[0])
    elif base is source or base is source.base:
        link(out, inputs[0])
    return out


COMPLETE: set[OpDef] = set()
"""Ops of floats through which a gradient flows to every input."""


def flows(op: OpDef, inputs: tuple[Tensor, ...], data: np.ndarray) -> bool:
    """Whether the result depends smoothly on an input that requires grad."""
    rules = op.vjp
    if rules.__class__ is tuple and None not in rules and op.promote is not None:
        COMPLETE.add(op)
    if rules is not None and data.dtype.kind == "f":
        for position, tensor in enumerate(inputs):
            if tensor._tracked and (rules[position] if rules.__class__ is tuple else rules(position)) is not None:
                return True
    return False


def once_more(error: Exception, op: OpDef, inputs: tuple[Tensor, ...], attrs: Mapping[str, Any]) -> Any:
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
    base = x._base
    if base is None or x._detached:
        base = x
    out._base = base
    if modes.now.grad:  # a recorded in-place change gives its views new records
        views = base._views
        if base._record is None and base._tracked:
            base._views = UNLISTED
        elif views is None or views is UNLISTED:
            base._views = [ref(out)]
        else:
            if len(views) in PRUNE:
                views[:] = [view for view in views if view() is not None]
            views.append(ref(out))


UNLISTED: list[ref[Tensor]] = []
"""The views of a leaf that requires grad, which can't be changed in place while recording."""

PRUNE = frozenset(2**n for n in range(4, 40))
"""At these lengths of the list, views that are gone are dropped."""


# operands that are not tensors of one floating dtype ------------------------------------------------------------


UNCHANGED: set[Any] = set()
"""(op, dtypes of its operands) where promotion casts none of them."""


def unchanged(op: OpDef, args: tuple[Any, ...]) -> tuple[Tensor, ...] | None:
    """The args, when they are tensors of which none has to be cast, as an earlier call has found."""
    signature: list[Any] = [op]
    for arg in args:
        if not isinstance(arg, Tensor):
            return None
        signature.append(arg._data.dtype)
    return args if tuple(signature) in UNCHANGED else None


def convert(op: OpDef, args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Tensors of the dtypes the op wants; casts of tensors are recorded."""
    if op.promote in UNIFORM:
        dtype = beside_numbers(args)
        if dtype is not None:
            return tuple([arg if isinstance(arg, Tensor) else number(arg, dtype) for arg in args])
    operands = [arg._data if isinstance(arg, Tensor) else operand_of(op, i, arg) for i, arg in enumerate(args)]
    result = []
    for arg, operand, dtype in zip(args, operands, targets(op, operands), strict=True):
        if not isinstance(arg, Tensor):
            result.append(wrap(cast(op, operand, dtype)))
        elif dtype is None or operand.dtype == dtype:
            result.append(arg)
        else:
            result.append(run(REGISTRY["cast"], (arg,), {"dtype": dtype}))
    if all(map(is_, args, result)):
        UNCHANGED.add((op, *[operand.dtype for operand in operands]))
    return tuple(result)


UNIFORM = frozenset({arithmetic, numeric, floating})
"""Promotions that give all operands one dtype, that of a floating tensor beside plain numbers."""

NUMBERS = frozenset({float, int})


def beside_numbers(args: tuple[Any, ...]) -> np.dtype | None:
    """The dtype of the tensors among args when it is one floating dtype and the rest are plain numbers, else None."""
    dtype = None
    for arg in args:
        if isinstance(arg, Tensor):
            mine = arg._data.dtype
            if mine is not dtype:
                if dtype is not None or mine not in FLOATS:
                    return None
                dtype = mine
        elif arg.__class__ not in NUMBERS:
            return None
    return dtype


def number(value: Any, dtype: np.dtype) -> Tensor:
    """A plain number as a 0-d tensor. Raises DTypeError when it is out of range."""
    return constant(value, dtype) if value or value.__class__ is int else fresh(value, dtype)  # 0.0 == -0.0


def fresh(value: float, dtype: np.dtype) -> Tensor:
    try:
        data = modes.now.quiet(np.array, value, dtype)
    except OverflowError:
        raise DTypeError(f"the number {value!r} is out of range for {dtype}") from None
    data.flags.writeable = False  # it is shared
    return wrap(data)


constant = lru_cache(maxsize=256, typed=True)(fresh)


def evaluate(op: OpDef, args: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """The op on bare arrays and numbers: the backward pass computes with these. NumPy's scalars count as 0-d arrays."""
    dtype, plain = None, True
    for arg in args:
        if arg.__class__ is ndarray:
            mine = arg.dtype
            if mine is not dtype and op.promote is not None:
                plain = plain and dtype is None and mine in FLOATS
                dtype = mine
        elif arg.__class__ in NUMBERS:
            plain = False
        else:
            args, plain = [operand_of(op, i, a) for i, a in enumerate(args)], False
            break
    if plain:  # arrays of one floating dtype
        return op.eval(*args, **attrs)
    arrays = [
        o if o.__class__ is ndarray and (d is None or o.dtype is d) else cast(op, o, d)
        for o, d in zip(args, targets(op, args), strict=True)
    ]
    return op.eval(*arrays, **attrs)


def operand_of(op: OpDef, position: int, arg: Any) -> Any:
    """An array or a plain number."""
    if isinstance(arg, ndarray):
        return arg if arg.dtype in SUPPORTED else as_array(arg)
    if isinstance(arg, Ghost):
        if position not in op.shape_only:
            arg.refuse()
        return arg.shape_array()
    if isinstance(arg, np.generic) and modes.now.arrays:
        return np.asarray(arg)
    return arg if is_scalar(arg) else as_array(arg)


def cast(op: OpDef, operand: Any, dtype: np.dtype | None) -> np.ndarray:
    if isinstance(operand, ndarray):
        return operand if dtype is None or operand.dtype is dtype else modes.now.quiet(operand.astype, dtype)
    if operand.__class__ in NUMBERS and dtype is not None:
        return number(operand, dtype)._data
    return modes.now.quiet(np.array, operand, dtype)


TARGETS: dict[Any, Sequence[np.dtype | None]] = {}
"""What promotion said, by op, dtypes, which operands are 0-d, and classes of numbers."""


def targets(op: OpDef, operands: Sequence[Any]) -> Sequence[np.dtype | None]:
    """The dtype that each operand is cast to (None: kept)."""
    key: list[Any] = [op, get_default_dtype()]
    for operand in operands:
        if operand.__class__ is ndarray:
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
