"""Reads of attributes: where Python's lookup finds `x.name`, and which of these places can change."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from ...eager.tensor import Tensor
from ...operators import Symbol
from ..frames import NULL
from ..guards import MISSING, static
from .access_log import AccessLog
from .class_reads import read_class_attribute, read_special_methods, read_super
from .container_reads import read_contents
from .python_types import OBJECT, has_python_getattribute, is_heap_type


def read_attribute(log: AccessLog, x: Any, name: str) -> None:
    """Read `x.name` in the place where Python's lookup finds it."""
    if isinstance(x, Symbol) or x is NULL:
        return
    kind = type(x)
    label = f"{log.label(x)}.{name}"
    if not isinstance(x, dict):
        log.check_present(x, name)
        if name in getattr(kind, "between_runs", ()):
            log.refuse(
                f"{label} is read in a compiled function, whose runs change the schedule at their end", "read it outside"
            )
    if isinstance(x, types.ModuleType):
        space = vars(x)
        log.ages.set_owner(space, x)
        if name in space or "__getattr__" in space:
            log.read("item", space, name, space.get(name, MISSING), label)
        return
    if kind is super:
        read_super(log, x.__thisclass__, type(x.__self__) if not isinstance(x.__self__, type) else x.__self__, name)
        return
    if isinstance(x, type):
        _read_of_class(log, x, name, label)
        return
    if name == "__dict__":
        members = getattr(x, "__dict__", None)
        if isinstance(members, dict):
            log.ages.set_owner(members, x)
            log.labels.setdefault(id(members), (label, members))
        return
    if name == "__class__":
        log.read("type", x, None, kind, label)
        return
    if isinstance(x, np.ndarray):
        _read_of_array(log, x, name)
        return
    found = static(kind, name)
    if kind.__getattribute__ is not OBJECT.__getattribute__:
        how = static(kind, "__getattribute__")
        if isinstance(how, types.FunctionType):
            read_special_methods(log, x, "__getattribute__")
            return
    described = found is not MISSING and hasattr(type(found), "__get__")
    if described and hasattr(type(found), "__set__"):
        if isinstance(found, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            _read_plain(log, x, name, label)
        elif not isinstance(x, Tensor):
            read_special_methods(log, x, name)
        return
    if isinstance(x, Tensor) and found is not MISSING:
        return
    if described and isinstance(static(type(found), "__get__"), types.FunctionType):  # such as functools.cached_property
        own = getattr(x, "__dict__", None)
        if isinstance(own, dict) and name in own:
            _read_plain(log, x, name, label)
        else:
            read_special_methods(log, x, name)
            if isinstance(own, dict):
                log.ages.set_owner(own, x)
                log.read("item", own, name, MISSING, label)
        return
    if not is_heap_type(kind) and found is not MISSING:
        if not isinstance(found, (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)):
            _read_plain(log, x, name, label)
        return
    _read_plain(log, x, name, label, found)


def _read_plain(log: AccessLog, x: Any, name: str, label: str, found: Any = MISSING) -> None:
    """Read an attribute that can be looked up without running user code. found: the value in the class."""
    try:
        value = object.__getattribute__(x, name)
    except AttributeError:
        try:  # a type whose lookup is its own: types.ModuleType, threading.local
            value = getattr(x, name) if not is_heap_type(type(x)) or not has_python_getattribute(x) else MISSING
        except AttributeError:
            value = MISSING
    if value is MISSING:
        if static(type(x), "__getattr__") is not MISSING:
            read_special_methods(log, x, "__getattr__")
            space = getattr(x, "__dict__", None)
            if isinstance(space, dict):
                log.ages.set_owner(space, x)
                log.read("item", space, name, MISSING, label)
            return
        log.read("attribute", x, name, MISSING, label)
    elif (
        isinstance(value, types.MethodType)
        and found is not MISSING
        and value.__func__ in (found, getattr(found, "__func__", None))
    ):
        if hasattr(type(x), "structure"):  # `Structure` counts a method set on the instance
            read_class_attribute(log, type(x), name)
        else:
            log.read("method", x, name, value.__func__, label)
    elif isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)) and found is not MISSING:
        read_class_attribute(log, type(x), name)
    else:
        log.read("attribute", x, name, value, label)


def _read_of_class(log: AccessLog, kind: type, name: str, label: str) -> None:
    meta = static(type(kind), name)
    if type(kind) is not type and meta is not MISSING and hasattr(type(meta), "__set__"):
        read_special_methods(log, kind, name)
        return
    found = static(kind, name)
    if found is MISSING:
        if type(kind) is not type:
            read_special_methods(log, kind, name, "__getattr__")
        if name != "__dict__":
            log.read("static", kind, name, MISSING, label)
        return
    if not is_heap_type(kind):
        return
    read_class_attribute(log, kind, name)
    if isinstance(found, staticmethod):
        log.see(found.__func__, label)
    else:
        log.see(found, label)


def _read_of_array(log: AccessLog, x: np.ndarray, name: str) -> None:
    if name in ("shape", "dtype", "ndim", "size", "strides", "nbytes", "itemsize") and log.arrays.existed(x):
        log.read("call", functools.partial(getattr, x), (name,), getattr(x, name), f"{log.label(x)}.{name}")


def read_all_attributes(log: AccessLog, x: Any) -> None:
    """Read the namespace and the slots of an object, as copying and pickling do."""
    space = getattr(x, "__dict__", None)
    if isinstance(space, dict) and not isinstance(x, (type, types.ModuleType, Tensor, Symbol)):
        log.ages.set_owner(space, x)
        read_contents(log, space, log.label(x), deep=True)
    for base in type(x).__mro__:
        for name in getattr(base, "__slots__", ()):
            if isinstance(name, str) and not name.startswith("__"):
                read_attribute(log, x, name)
