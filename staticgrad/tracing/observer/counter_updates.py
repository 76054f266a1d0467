"""Counter updates: statements like `x.n += 1`, which each run repeats with the number that it finds."""

from __future__ import annotations

import dis
import operator
import types
from types import FrameType
from typing import Any

from ...eager.tensor import Tensor
from ...operators import Symbol
from ..frames import Code, Operands, Step
from ..guards import MISSING, has, is_a, own_value, python_method, static
from .access_log import AccessLog, key_of
from .python_types import OBJECT, is_heap_type

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
    log: AccessLog, scope: FrameScope, step: Step, kind: str, holder: Any, key: Any, value: Any, label: str
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


def _update_of(steps: dict[int, Step], step: Step) -> tuple[Any, Any] | None:
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
