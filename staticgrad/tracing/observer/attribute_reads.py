"""Reads of attributes: where Python's lookup finds `x.name`, and which of these places can change."""

from __future__ import annotations

import functools
import operator
import types
from typing import Any

import numpy as np

from ...eager.tensor import Tensor, own_attributes
from ...ops.operators import Symbol
from ..frames import NULL
from ..guards import MISSING, asks_user, body_of, has, is_a, look_up, namespace, order_of, python_method, runs_code, static
from .access_log import AccessLog
from .container_reads import read_class_attribute, read_contents, read_special_methods, read_super
from .python_types import is_heap_type

GETTERS = (operator.attrgetter, operator.methodcaller)
"""Functions of C that look up names which they hold."""


def read_attribute(log: AccessLog, x: Any, name: str, own: bool = False) -> None:
    """Read `x.name` in the place where Python's lookup finds it. own: past a `__getattribute__` of the user's."""
    if is_a(x, Symbol) or x is NULL:
        return
    kind = type(x)
    label = f"{log.label(x)}.{name}"
    if not is_a(x, dict):
        log.check_present(x, name)
        between = static(kind, "between_runs")
        if between is not MISSING and name in between:
            log.refuse(
                f"{label} is read in a compiled function, whose runs change the schedule at their end", "read it outside"
            )
    if is_a(x, types.ModuleType):
        space = vars(x)
        late = space.get("__getattr__")
        if name not in space and is_a(late, types.FunctionType) and late.__module__.partition(".")[0] == "staticgrad":
            getattr(x, name, None)  # a name that this package imports late: the next trace finds it there
        log.ages.set_owner(space, x)
        for part in (name,) if name in space else (name, "__getattr__"):
            log.read("item", space, part, space.get(part, MISSING), label)
        return
    if kind is super:
        read_super(log, x.__thisclass__, type(x.__self__) if not is_a(x.__self__, type) else x.__self__, name)
        return
    if is_a(x, type):
        _read_of_class(log, x, name, label)
        return
    if name == "__dict__":
        members = namespace(x)
        if is_a(members, dict):
            log.ages.set_owner(members, x)
            log.labels.setdefault(id(members), (label, members))
        if is_a(x, Tensor) and runs_code(static(kind, "__dict__")):  # a copy of the user's attributes
            log.read("names", members, None, frozenset(members), f"the names in {label}")
            for each in own_attributes(x):
                read_attribute(log, x, each)
        return
    if name == "__class__":
        log.read("type", x, None, kind, label)
        return
    found = static(kind, name)
    if is_a(x, np.ndarray) and (kind is np.ndarray or name in body_of(np.ndarray)):
        _read_of_array(log, x, name)
        return
    if not own and python_method(kind, "__getattribute__"):
        read_special_methods(log, x, "__getattribute__")
        return
    described = found is not MISSING and has(type(found), "__get__")
    if is_a(found, property) and is_a(found.fget, operator.attrgetter):
        read_by_getter(log, found.fget, x)
    if described and has(type(found), "__set__"):
        if is_a(found, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            _read_plain(log, x, name, label)
        elif not is_a(x, Tensor):
            read_special_methods(log, x, name)
        return
    if is_a(x, Tensor) and found is not MISSING:
        return
    if described and is_a(static(type(found), "__get__"), types.FunctionType):  # such as functools.cached_property
        space = namespace(x)
        if is_a(space, dict) and name in space:
            _read_plain(log, x, name, label)
        else:
            read_special_methods(log, x, name)
            if is_a(space, dict):
                log.ages.set_owner(space, x)
                log.read("item", space, name, MISSING, label)
        return
    if not is_heap_type(kind) and found is not MISSING:
        if not is_a(found, (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)):
            _read_plain(log, x, name, label)
        return
    _read_plain(log, x, name, label, found)


def _read_plain(log: AccessLog, x: Any, name: str, label: str, found: Any = MISSING) -> None:
    """Read an attribute that can be looked up without running user code. found: the value in the class."""
    value = look_up(x, name)
    if value is MISSING:
        if asks_user(type(x)):
            read_special_methods(log, x, "__getattr__")
            space = namespace(x)
            if is_a(space, dict):
                log.ages.set_owner(space, x)
                log.read("item", space, name, MISSING, label)
            return
        log.read("attribute", x, name, MISSING, label)
    elif (
        is_a(value, types.MethodType)
        and found is not MISSING
        and (value.__func__ is found or (is_a(found, classmethod) and value.__func__ is found.__func__))
    ):
        if has(type(x), "structure"):  # `Structure` counts a method set on the instance
            read_class_attribute(log, type(x), name)
        else:
            log.read("method", x, name, value.__func__, label)
    elif is_a(value, (types.BuiltinMethodType, types.MethodWrapperType)) and found is not MISSING:
        read_class_attribute(log, type(x), name)
    else:
        log.read("attribute", x, name, value, label)


def read_by_getter(log: AccessLog, getter: Any, x: Any) -> None:
    """Read what an `operator.attrgetter` or `methodcaller` is about to look up in `x`. Raises TraceError for what it looks up
    in the result of the user's code."""
    make, given = getter.__reduce__()
    if is_a(getter, operator.methodcaller):
        return read_attribute(log, x, (make.args if is_a(make, functools.partial) else given)[0])
    for path in given:
        holder = x
        for name in path.split("."):
            if holder is MISSING:
                log.refuse(f"{path} is read by an attrgetter inside a compiled function", "write it with dots")
            read_attribute(log, holder, name)
            holder = look_up(holder, name)


def _read_of_class(log: AccessLog, kind: type, name: str, label: str) -> None:
    meta = static(type(kind), name)
    if is_a(meta, types.GetSetDescriptorType) and is_heap_type(kind) and name != "__dict__":  # such as `__name__`
        log.read("attribute", kind, name, look_up(kind, name), label)
        return
    if type(kind) is not type and meta is not MISSING and has(type(meta), "__set__"):
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
    if is_a(found, staticmethod):
        log.see(found.__func__, label)
    else:
        log.see(found, label)


def _read_of_array(log: AccessLog, x: np.ndarray, name: str) -> None:
    if name in ("ctypes", "data", "__array_interface__", "__array_struct__") and log.arrays.watched(x):
        log.refuse(f"the address of {log.label(x, 'an array')} is asked for in a compiled function", "do it outside")
    if name in ("shape", "dtype", "ndim", "size", "strides", "nbytes", "itemsize") and log.arrays.existed(x):
        log.read("call", functools.partial(getattr, x), (name,), getattr(x, name), f"{log.label(x)}.{name}")


def read_all_attributes(log: AccessLog, x: Any) -> None:
    """Read the namespace and the slots of an object, as copying and pickling do."""
    space = namespace(x)
    if is_a(space, dict) and not is_a(x, (type, types.ModuleType, Tensor, Symbol)):
        log.ages.set_owner(space, x)
        read_contents(log, space, log.label(x), deep=True)
    for base in order_of(type(x)):
        for name in body_of(base).get("__slots__", ()):
            if is_a(name, str) and not name.startswith("__"):
                read_attribute(log, x, name)
