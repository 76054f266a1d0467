"""Writes to Python's state: the value before the first write, and the effect that each run repeats."""

from __future__ import annotations

import array
import collections
import dis
import operator
import types
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from ...eager.tensor import Tensor
from ...ops.operators import Symbol
from ...ops.operators.unknown_numbers import closed
from ..containers import same_members, snapshot
from ..effects import Effect, is_observed
from ..frames import BytecodeStep, Code, Operands
from ..guards import MISSING, body_of, has, is_a, namespace, own_value, python_method, static
from ..numbers import position
from .access_log import AccessLog, key_of
from .arrays import ADVICE, array_of, set_array_item
from .attribute_reads import read_attribute
from .container_reads import read_contents, read_special_methods
from .python_types import CHANGEABLE, CONTAINERS, OBJECT, has_plain_hash, is_heap_type

ITERATING = frozenset(
    [
        "extend",
        "extendleft",
        "update",
        "subtract",
        "intersection_update",
        "difference_update",
        "symmetric_difference_update",
        "__iadd__",
        "__ior__",
        "__iand__",
        "__isub__",
        "__ixor__",
    ]
)
"""Methods that take the members of their arguments."""
ITERATED_IN_C = (
    list, tuple, dict, set, frozenset, str, bytes, bytearray, range, array.array, collections.deque, collections.OrderedDict,
    collections.defaultdict, collections.Counter, type(None), int,
)  # fmt: skip
"""Classes whose members each run can take again."""
Done = Callable[[Any], None]
"""What follows a call: it gets the result, MISSING where the call has raised."""


def call_mutator(log: AccessLog, holder: Any, name: str, args: Any, blind: bool = False, kwargs: Any = None) -> Done | None:
    """Record a method that changes a built-in container. args: None where the caller adds the effect itself; blind: the
    change does not depend on the contents."""
    by_outcome = args is not None and (
        name == "sort" or (name in ITERATING and not all(type(x) in ITERATED_IN_C for x in (*args, *(kwargs or {}).values())))
    )
    if by_outcome and blind and name in ("extend", "__iadd__") and is_a(holder, list):
        _keep(log, holder)
        return _extended(log, holder, len(holder))
    if not blind or by_outcome:
        read_contents(log, holder)
    if name == "pop" and is_a(holder, set) and len(holder) > 1:
        log.refuse(
            "which member a set's pop() takes in a compiled function can't be known before the run",
            "pop from a list, or remove a member that is named",
        )
    _keep(log, holder)
    if args is None:
        return None
    if by_outcome:
        return lambda result: set_contents(log, holder)
    log.written_items.pop(id(holder), None)
    effects = []
    if kwargs and name == "update":  # values, which each run makes anew, are positional
        if args:
            effects.append(Effect("method", holder, name, args))
        args, kwargs = (dict(kwargs),), None
    effects.append(Effect("method", holder, name, args, kwargs if kwargs else {}))
    log.effects += effects
    return unless_raised(log, effects)


def _keep(log: AccessLog, holder: Any) -> None:
    """Keep the contents of a container that is about to be changed."""
    log.remember("copy", holder, None, None if log.copied(holder) else snapshot(holder))


def _extended(log: AccessLog, holder: Any, size: int) -> Done:
    """A callback for a list that got further members; size: before."""

    count = len(log.effects)

    def done(result: Any) -> None:
        if any(effect.holder is holder for effect in log.effects[count:]):  # Python code that made the members has changed it
            read_contents(log, holder)
            set_contents(log, holder)
        else:
            log.effects.append(Effect("method", holder, "extend", (holder[size:],)))

    return done


def set_contents(log: AccessLog, holder: Any) -> None:
    """The effect of a change that each run makes by its outcome: the trace depends on all of the contents before."""
    log.written_items.pop(id(holder), None)
    log.effects.append(Effect("contents", holder, None, (snapshot(holder),)))


def unless_raised(log: AccessLog, effects: Sequence[Effect]) -> Done:
    """A callback that drops effects where the instruction has raised an error, which the user's code may catch."""

    def done(result: Any) -> None:
        if result is MISSING:
            log.effects[:] = [effect for effect in log.effects if all(effect is not x for x in effects)]

    return done


def changed_by_call(log: AccessLog, args: tuple[Any, ...]) -> Done | None:
    """A callback that records the containers among its arguments that a function written in C has changed, such as
    `heapq.heappush`; None where there are none."""
    kept = [(x, snapshot(x)) for x in args if is_a(x, CHANGEABLE) and not is_a(x, np.ndarray)]

    count = len(log.effects)

    def done(result: Any) -> None:
        seen = {id(effect.holder) for effect in log.effects[count:]}  # changes by Python code that the function has called
        for x, contents in kept:
            if id(x) not in seen and not same_members(snapshot(x), contents):
                log.remember("copy", x, None, contents)
                set_contents(log, x)

    return done if kept else None


def set_attribute(log: AccessLog, x: Any, name: str, value: Any, count: Any = None, own: bool = False) -> None:
    """Record `x.name = value`; count: (operation, number) of a counter update; own: past a `__setattr__` of the user's."""
    if is_a(x, (Symbol, Tensor)) and static(type(x), name) is not MISSING:
        return
    if (array := array_of(x)) is not None and log.arrays.watched(array):
        log.refuse(f"{log.label(x)}.{name} of an array from outside is set inside a compiled function", ADVICE)
    if is_a(x, Symbol):
        log.refuse(
            f"an attribute {name!r} is written to a tensor that is computed inside a compiled function",
            "keep it in a variable, or in an object of your own",
        )
    if not own and _by_python(log, x, name, "__setattr__", "__set__"):
        return
    old = _before_write(log, x, name)
    log.remember("attribute", x, name, old)
    add_effect(log, "attribute", x, name, value, count)


def delete_attribute(log: AccessLog, x: Any, name: str, own: bool = False) -> None:
    """Record `del x.name`; own: past a `__delattr__` of the user's."""
    if is_a(x, (Symbol, Tensor)):
        return
    if not own and _by_python(log, x, name, "__delattr__", "__delete__"):
        return
    read_attribute(log, x, name, own=True)
    log.remember("attribute", x, name, _before_write(log, x, name))
    log.effects.append(Effect("no attribute", x, name, ()))


def _by_python(log: AccessLog, x: Any, name: str, method: str, described: str) -> bool:
    """Whether code of the user's class, which is observed, changes the attribute."""
    kind = type(x)
    if python_method(kind, method) and not (has(kind, "named_modules") or has(kind, "add_param_group")):
        read_special_methods(log, x, method)
        return True
    found = static(kind, name)
    if found is MISSING or not has(type(found), "__set__"):
        return False
    if is_a(found, property) or python_method(type(found), described):
        read_special_methods(log, x, name)
        return True
    return False


def _before_write(log: AccessLog, x: Any, name: str) -> Any:
    """The value that an object has under a name before it is written. Raises TraceError for one that can't be put back."""
    found = static(type(x), name)
    plain = (types.MemberDescriptorType, types.GetSetDescriptorType)
    if found is not MISSING and has(type(found), "__set__") and not is_a(found, plain) and name != "__dict__":
        refuse_change(log, x, f"attribute {name!r} of")
    space = body_of(x) if is_a(x, type) else namespace(x)
    if space is not None and not is_a(x, Tensor):
        log.ages.set_owner(space, x)
        log.remember("item", space, name, space.get(name, MISSING))
    return space if name == "__dict__" else own_value(x, name)


def refuse_change(log: AccessLog, x: Any, what: str = "") -> None:
    """Raises TraceError for a change of an object of a class that is written in C and not known: it could neither be undone
    after the trace nor be repeated. One that the trace has made may be changed."""
    while is_a(x, memoryview):
        x = x.obj
    if not log.ages.is_new(x):
        log.refuse(
            f"{what + ' ' if what else ''}a {type(x).__name__} is changed inside a compiled function, which would happen only "
            "while tracing",
            "keep the values in a list, a dict or a tensor, or do it outside",
        )


def add_effect(log: AccessLog, kind: str, holder: Any, key: Any, value: Any, count: Any) -> None:
    """The effect of an assignment, or of a counter update."""
    if count is None:
        log.effects.append(Effect(kind, holder, key, (value,)))
    else:
        log.effects.append(Effect("count", holder, (kind, key), count))


def set_item(log: AccessLog, holder: Any, key: Any, value: Any, count: Any = None) -> None:
    """Record `holder[key] = value`; count: (operation, number) of a counter update."""
    if is_a(holder, (Symbol, Tensor)):
        read_contents(log, key, deep=True)
        read_contents(log, value, deep=True)
        return
    if is_observed(static(type(holder), "__setitem__")):
        read_special_methods(log, holder, "__setitem__")
        return
    if array_of(holder) is None and not is_a(holder, CHANGEABLE):
        if not python_method(type(holder), "__setitem__"):  # of this package, which checks its changes itself
            refuse_change(log, holder)
        return
    set_plain_item(log, holder, key, value, count)


def set_plain_item(log: AccessLog, holder: Any, key: Any, value: Any, count: Any = None) -> None:
    """Record `holder[key] = value` by the built-in class's own method, which an override in a subclass calls."""
    if array_of(holder) is not None:
        set_array_item(log, holder, closed(key), value)
        return
    key = position(key)
    owner = log.ages.owner(holder)
    if owner is not MISSING and is_a(key, str):
        log.remember("attribute", owner, key, own_value(owner, key))
    first = not log.copied(holder)
    _keep(log, holder)
    if is_a(holder, dict) and has_plain_hash(key):
        if first:
            log.written_items[id(holder)] = set()
        if id(holder) in log.written_items:
            log.written_items[id(holder)].add(key_of(key))
    elif is_a(value, CONTAINERS):
        read_contents(log, value)
    add_effect(log, "item", holder, key, value, count)


# counter updates ------------------------------------------------------------------------------------------------------

# Counter updates: statements like `x.n += 1`, which each run repeats with the number that it finds.

OPERATIONS = {"+=": operator.add, "-=": operator.sub, "*=": operator.mul}
STORES = {
    "LOAD_ATTR": "STORE_ATTR",
    "LOAD_GLOBAL": "STORE_GLOBAL",
    "LOAD_DEREF": "STORE_DEREF",
    "BINARY_SUBSCR": "STORE_SUBSCR",
}
"""The store that completes a counter update, by the load that begins it."""


class FrameScope:
    """A frame that is observed: its code, its operands, and the state between two of its instructions."""

    __slots__ = ("code", "count", "frame", "names", "operands")

    def __init__(self, frame: FrameType, code: Code, operands: Operands):
        self.frame: Any = frame
        self.code, self.operands = code, operands
        self.names: tuple[str, ...] = ()
        """Keyword names of the call that follows."""
        self.count: tuple[Any, Any] | None = None
        """(operation, number) of a counter update whose value was loaded and not yet stored."""

    def take_count(self) -> tuple[Any, Any] | None:
        count, self.count = self.count, None
        return count


def is_counter_update(
    log: AccessLog, scope: FrameScope, step: BytecodeStep, kind: str, holder: Any, key: Any, value: Any, label: str
) -> bool:
    """Whether a load begins a counter update. The trace then depends on the type of the value alone."""
    found = _update_of(scope.code.steps, step) if type(value) in (int, float) else None
    if found is None:
        return False
    scope.count = found
    place = (kind, id(holder), key_of(key))
    if place not in log.before:
        log.read(f"type of {kind}", holder, key, type(value), f"the type of {label}")
    if place not in log.before and not (kind == "item" and place[2] in log.written_items.get(id(holder), ())):
        log.moved.add(place)
    return True


def _update_of(steps: dict[int, BytecodeStep], step: BytecodeStep) -> tuple[Any, Any] | None:
    """(operation, number) where the instructions after a load combine the value with a constant and store it in its place."""
    number = steps.get(step.next)
    if number is None or number.op != "LOAD_CONST" or type(number.value) not in (int, float):
        return None
    binary = steps.get(number.next)
    operation = OPERATIONS.get(dis._nb_ops[binary.arg][1]) if binary is not None and binary.op == "BINARY_OP" else None  # type: ignore[attr-defined]
    store = steps.get(binary.next) if binary is not None else None
    while store is not None and store.op == "SWAP":
        store = steps.get(store.next)
    wanted = STORES.get(step.op)
    if operation is None or store is None or store.op != wanted or (step.op != "BINARY_SUBSCR" and store.value != step.value):
        return None
    return operation, number.value


def is_plain_attribute(x: Any, name: str) -> bool:
    """Whether an object has the attribute in its own namespace or slots, so that reading and setting it runs no user code."""
    if not is_heap_type(type(x)) or is_a(x, (type, types.ModuleType, Symbol, Tensor)):
        return is_a(x, types.SimpleNamespace) and name in vars(x)
    if static(type(x), "__getattribute__") is not OBJECT.__getattribute__:
        return False
    if python_method(type(x), "__setattr__") and not has(type(x), "named_modules"):
        return False
    found = static(type(x), name)
    if is_a(found, types.MemberDescriptorType):
        return own_value(x, name) is not MISSING
    return not has(type(found), "__set__") and own_value(x, name) is not MISSING
