"""Running an op now: NumPy evaluation, recording, views, errors."""

from __future__ import annotations

import contextvars
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import ref

import numpy as np

from ..base.types import INEXACT, type_of
from ..errors import OutOfMemoryError, StaticgradError, user_line
from ..ir import OpDef, Reduction, View
from ..operators import Symbol, append, frontends, located, state, top_level
from .calls.call_cache import shared
from .calls.op_calls import value as kernel_value
from .calls.signature import join
from .grad_mode import INFERRING, Mode, mark_inference, modes
from .operands import PLANS, arrays_of, number, over_complex_here, tensors_of, value_of
from .tape import Record, tick
from .tensor import UNRECORDED, PublicTensor, Tensor, ndarray, new, watch


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
        if any(t._data.dtype.kind == "c" for t in args):
            op = over_complex_here(op, [t._data for t in args])
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
        out._inference = True
    elif INFERRING and out._inference:
        out._inference = False
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
