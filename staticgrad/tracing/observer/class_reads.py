"""Reads of classes: special methods, class attributes, `super()`."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ...eager.tensor import Tensor
from ...operators import Symbol
from ..guards import MISSING, static
from .access_log import AccessLog
from .python_types import defining_class, is_heap_type


def read_special_methods(log: AccessLog, x: Any, *names: str) -> None:
    """Read the special methods that an operator looks up in the class of `x`."""
    kind = type(x)
    if not is_heap_type(kind) or isinstance(x, (Symbol, Tensor)) or kind.__module__.startswith("numpy"):
        return
    if not hasattr(kind, "named_modules"):  # `Structure` counts a change of a module's class
        log.read("type", x, None, kind, f"the class of {log.label(x)}")
    elif names == ("__call__",):
        kind = defining_class(kind, "__call__")
    for name in names:
        read_class_attribute(log, kind, name)


def read_class_attribute(log: AccessLog, kind: type, name: str) -> None:
    """Read `kind.name` from the bodies of the class and its bases, without calling descriptors."""
    value = static(kind, name)
    label = f"{kind.__name__}.{name}"
    plain = isinstance(value, types.FunctionType) or (value is not MISSING and not hasattr(type(value), "__get__"))
    if type(kind) is type and plain:
        log.read("attribute", kind, name, value, label)
    else:
        log.read("static", kind, name, value, label)
    if isinstance(value, np.ndarray):
        log.see(value, label)


def read_super(log: AccessLog, this: type, kind: type, name: str) -> None:
    """Read `super(this, kind).name`."""
    order = kind.__mro__
    for base in order[order.index(this) + 1 :]:
        space = type.__dict__["__dict__"].__get__(base)
        if name in space:
            if is_heap_type(base):
                read_class_attribute(log, base, name)
            return
