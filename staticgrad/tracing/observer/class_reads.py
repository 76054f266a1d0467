"""Reads of classes: special methods, class attributes, `super()`."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ...eager.tensor import Tensor
from ...operators import Symbol
from ..guards import MISSING, body_of, has, is_a, order_of, static
from .access_log import AccessLog
from .python_types import defining_class, is_heap_type


def read_special_methods(log: AccessLog, x: Any, *names: str) -> None:
    """Read the special methods that an operator looks up in the class of `x`."""
    kind = type(x)
    if not is_heap_type(kind) or is_a(x, (Symbol, Tensor)) or kind.__module__.startswith("numpy"):
        return
    if not has(kind, "named_modules"):  # `Structure` counts a change of a module's class
        log.read("type", x, None, kind, f"the class of {log.label(x)}")
    elif names == ("__call__",):
        kind = defining_class(kind, "__call__")
    for name in names:
        read_class_attribute(log, kind, name)


def read_class_attribute(log: AccessLog, kind: type, name: str) -> None:
    """Read `kind.name` from the bodies of the class and its bases, without calling descriptors."""
    value = static(kind, name)
    label = f"{kind.__name__}.{name}"
    plain = is_a(value, types.FunctionType) or (value is not MISSING and not has(type(value), "__get__"))
    if type(kind) is type and plain:
        log.read("attribute", kind, name, value, label)
    else:
        log.read("static", kind, name, value, label)
    if is_a(value, np.ndarray):
        log.see(value, label)


def read_super(log: AccessLog, this: type, kind: type, name: str) -> None:
    """Read `super(this, x).name`. kind: the class of x; or x, where that is a class."""
    order = order_of(kind)
    if this not in order:  # in a method of a metaclass
        order = order_of(type(kind))
    for base in order[order.index(this) + 1 :]:
        if name in body_of(base):
            if is_heap_type(base):
                read_class_attribute(log, base, name)
            return
