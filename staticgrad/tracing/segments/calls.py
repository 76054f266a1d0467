"""Calls of functions that are made of several operations, and have no effects: their operations are noted once.

They follow from the place in the tree of roads, from the function and from its arguments. So a later call there goes on behind
them at once. This is for calls that are not on the tape, whose operations nobody sees.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...eager.grad_mode import modes
from ...eager.pending import Pending, Value, pending
from ...eager.tensor import Tensor
from ...ir import Node
from ...operators import frontends
from ...types import get_default_dtype
from ..handlers import caught, may_fail
from .ownership import exclusive

if TYPE_CHECKING:
    from .deferral import Deferral
    from .roads import Step

PLAIN = frozenset({int, float, bool, str, type(None)})
MOST = 16
"""Calls that are kept at one step: arguments that differ in each run are not."""


class Call(NamedTuple):
    """The last step of a call, the node of its result, the number of its operations, and whether one of them may fail."""

    end: Step
    node: Node
    steps: int
    fails: bool


def call(deferral: Deferral, function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """The result of a function, whose operations are noted, or known."""
    key = _key(deferral, function, args, named)
    if key is None:
        return function(*args, **named)
    start = deferral.at
    known = start.calls.get(key)
    if known is not None and not (known.fails and caught()):
        deferral.at = known.end
        deferral.count += known.steps
        value = Value(known.node, deferral)
        deferral.values.append(weakref.ref(value))
        return pending(value)
    inputs, count, given, records = deferral.inputs, deferral.count, len(deferral.arrays), len(deferral.records)
    result = function(*args, **named)
    if (
        result.__class__ is Pending and inputs is deferral.inputs and given == len(deferral.arrays) and count < deferral.count
        and records == len(deferral.records) and result._value.source is None and len(start.calls) < MOST
        and not any(result is a for a in args)
    ):  # fmt: skip
        start.calls[key] = Call(deferral.at, result._value.node, deferral.count - count, _fails(start, deferral.at))
    return result


def _fails(start: Step, end: Step) -> bool:
    """Whether an operation between two steps may fail."""
    step: Step | None = end
    while step is not None and step is not start:
        if step.op is not None and may_fail(step.op):
            return True
        step = step.parent
    return False


def _key(deferral: Deferral, function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """What the operations depend on beside the road, with the arguments among the inputs; None where that is unknown."""
    mode = modes.now
    watched = mode.watched and (mode.saver is not None or mode.anomaly)
    if mode.arrays or watched or frontends.tracing != 1 or deferral.region is not None:
        return None
    key: list[Any] = [function, get_default_dtype(), mode.grad]
    arrays = []
    for a in (*args, *named.values()):
        kind = a.__class__
        if kind is Pending:
            if a._tracked and mode.grad:
                return None
            key.append(a._value.node)
        elif kind in PLAIN:
            key.append((kind, repr(a) if kind is float else a))
        elif kind is tuple and all(x.__class__ is int for x in a):
            key.append(a)
        elif isinstance(a, Tensor) and not (a._tracked and mode.grad) and a._data.ndim:
            if id(a._data) not in deferral.inputs and not exclusive(a._data, 1):
                return None  # a copy, which is another input in each call
            arrays.append((len(key), a))
            key.append(None)
        else:
            return None
    for at, tensor in arrays:
        node = deferral.inputs.get(id(tensor._data))
        key[at] = deferral.input_of(tensor, tensor._data) if node is None else node
        if key[at] is None:
            return None
    return (*key, *named) if named else tuple(key)
