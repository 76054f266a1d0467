"""Writes to Python's state: the value before the first write, and the effect that each run repeats."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Sequence
from typing import Any

from ...eager.tensor import Tensor
from ...operators import Symbol
from ..containers import same_members, snapshot
from ..effects import Effect, is_observed
from ..guards import MISSING, static
from ..numbers import closed
from .access_log import AccessLog, key_of
from .arrays import ADVICE, array_of, set_array_item
from .class_reads import read_special_methods
from .container_reads import read_contents
from .python_types import CONTAINERS, has_plain_hash

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
    list, tuple, dict, set, frozenset, str, bytes, bytearray, range, collections.deque, collections.OrderedDict,
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
    if by_outcome and blind and name in ("extend", "__iadd__") and isinstance(holder, list):
        _keep(log, holder)
        return _extended(log, holder, len(holder))
    if not blind or by_outcome:
        read_contents(log, holder)
    if name == "pop" and isinstance(holder, set) and len(holder) > 1:
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
    kept = [(x, snapshot(x)) for x in args if isinstance(x, (list, dict, set, collections.deque, bytearray))]

    count = len(log.effects)

    def done(result: Any) -> None:
        seen = {id(effect.holder) for effect in log.effects[count:]}  # changes by Python code that the function has called
        for x, contents in kept:
            if id(x) not in seen and not same_members(snapshot(x), contents):
                log.remember("copy", x, None, contents)
                set_contents(log, x)

    return done if kept else None


def set_attribute(log: AccessLog, x: Any, name: str, value: Any, count: Any = None) -> None:
    """Record `x.name = value`; count: (operation, number) of a counter update."""
    if isinstance(x, (Symbol, Tensor)) and static(type(x), name) is not MISSING:
        return
    if (array := array_of(x)) is not None and log.arrays.watched(array):
        log.refuse(f"{log.label(x)}.{name} of an array from outside is set inside a compiled function", ADVICE)
    if isinstance(x, Symbol):
        log.refuse(
            f"an attribute {name!r} is written to a tensor that is computed inside a compiled function",
            "keep it in a variable, or in an object of your own",
        )
    how = static(type(x), "__setattr__")
    if isinstance(how, types.FunctionType) and not (hasattr(type(x), "named_modules") or hasattr(type(x), "add_param_group")):
        read_special_methods(log, x, "__setattr__")
        return
    found = static(type(x), name)
    if found is not MISSING and hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType):
        read_special_methods(log, x, name)
        if not isinstance(found, types.GetSetDescriptorType):
            return
    if isinstance(x, (types.ModuleType, type)):
        space = vars(x)
        log.ages.set_owner(space, x)
        old = space.get(name, MISSING)
        log.remember("item", space, name, old)
    elif name == "__dict__":
        old = x.__dict__
    else:
        try:
            old = object.__getattribute__(x, name)
            inherited = found is not MISSING and not hasattr(type(found), "__set__")  # a descriptor's value is the object's own
            if isinstance(old, types.MethodType) or (inherited and name not in getattr(x, "__dict__", (name,))):
                old = MISSING
        except AttributeError:
            old = MISSING
    log.remember("attribute", x, name, old)
    add_effect(log, "attribute", x, name, value, count)


def add_effect(log: AccessLog, kind: str, holder: Any, key: Any, value: Any, count: Any) -> None:
    """The effect of an assignment, or of a counter update."""
    if count is None:
        log.effects.append(Effect(kind, holder, key, (value,)))
    else:
        log.effects.append(Effect("count", holder, (kind, key), count))


def set_item(log: AccessLog, holder: Any, key: Any, value: Any, count: Any = None) -> None:
    """Record `holder[key] = value`; count: (operation, number) of a counter update."""
    if isinstance(holder, (Symbol, Tensor)):
        read_contents(log, key, deep=True)
        read_contents(log, value, deep=True)
        return
    if is_observed(static(type(holder), "__setitem__")):
        read_special_methods(log, holder, "__setitem__")
        return
    set_plain_item(log, holder, key, value, count)


def set_plain_item(log: AccessLog, holder: Any, key: Any, value: Any, count: Any = None) -> None:
    """Record `holder[key] = value` by the built-in class's own method, which an override in a subclass calls."""
    if array_of(holder) is not None:
        set_array_item(log, holder, closed(key), value)
        return
    key = closed(key)  # a number that the function keeps, whose value Python needs
    first = not log.copied(holder)
    _keep(log, holder)
    if isinstance(holder, dict) and has_plain_hash(key):
        if first:
            log.written_items[id(holder)] = set()
        if id(holder) in log.written_items:
            log.written_items[id(holder)].add(key_of(key))
    elif isinstance(value, CONTAINERS):
        read_contents(log, value)
    add_effect(log, "item", holder, key, value, count)


def set_plain_attribute(log: AccessLog, x: Any, name: str, value: Any) -> None:
    """Record `object.__setattr__(x, name, value)`."""
    log.remember("attribute", x, name, getattr(x, "__dict__", {}).get(name, MISSING))
    log.effects.append(Effect("attribute", x, name, (value,)))
