"""Reads of classes, and of built-in containers and arrays: an item, the length, all of the contents."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ...eager.tensor import Tensor
from ...ops.operators import Symbol
from ..containers import each, native_class, pairs, size, text_of
from ..guards import MISSING, Read, body_of, has, is_a, namespace, order_of, static
from ..numbers import position
from .access_log import AccessLog, key_of
from .arrays import read_array
from .python_types import CONTAINERS, VIEWS, defining_class, dict_of_view, is_heap_type
from .refused_calls import check_known


def read_item(log: AccessLog, holder: Any, key: Any, label: str) -> None:
    """Read `holder[key]` of a built-in container."""
    key = position(key)
    if log.copied(holder):
        _, contents_before = log.before["copy", id(holder), None]
        written = log.written_items.get(id(holder))
        if written is not None and is_a(holder, dict):
            if key_of(key) in written and ("item", id(holder), key_of(key)) not in log.moved:
                return
            value = contents_before.get(key, MISSING)
            log.reads.setdefault(
                ("item", id(holder), key_of(key)),
                Read("item" if type(holder) is dict else "lookup", holder, key, value, label),
            )
            log.see(value, label)
            return
        read_contents(log, holder, label)
        return
    if is_a(holder, dict):
        value = dict.get(holder, key, MISSING)
        log.read("item" if type(holder) is dict else "lookup", holder, key, value, label)
    else:
        kind = tuple if is_a(holder, tuple) else native_class(holder)
        value = kind.__getitem__(holder, key) if -kind.__len__(holder) <= key < kind.__len__(holder) else MISSING
        if type(holder) is tuple:
            log.see(value, label, holder)
        elif value is MISSING:
            read_length(log, holder)
        else:
            log.read("item", holder, key, value, label)


def read_length(log: AccessLog, holder: Any) -> None:
    """Read `len(holder)`."""
    if is_a(holder, VIEWS):
        holder = dict_of_view(holder)
    if is_a(holder, (tuple, str, bytes, range, frozenset, Tensor, Symbol)):
        return
    if log.copied(holder):
        read_contents(log, holder, log.label(holder))
    elif is_a(holder, CONTAINERS):
        log.read("length", holder, None, size(holder), log.label(holder))
    elif is_a(holder, np.ndarray) and holder.ndim:
        log.read("length", holder, None, len(holder), log.label(holder))
    else:
        read_special_methods(log, holder, "__len__")
        check_known(log, holder, "__len__")


def read_contents(log: AccessLog, holder: Any, label: str = "", deep: bool = False, arrays: bool = True) -> None:
    """Read all members of a container, or the values of an array. deep: members of members, too; arrays: values of arrays."""
    if holder is None or is_a(holder, (bool, int, float, str, bytes, Symbol, Tensor)):
        return
    label = label if label else log.label(holder)
    if is_a(holder, types.SimpleNamespace):  # whose comparisons and text read all of its attributes, in C
        log.ages.set_owner(namespace(holder), holder)
        holder, deep = namespace(holder), True
    if is_a(holder, VIEWS):
        holder = dict_of_view(holder)
    if is_a(holder, types.MappingProxyType):
        holder = dict_of_view(holder)
    if is_a(holder, np.ndarray):
        if arrays:
            read_array(log, holder)
        return
    if is_a(holder, (bytearray, memoryview)) or type(holder).__name__ == "array":
        log.read_bytes(holder, label)
        return
    if not is_a(holder, CONTAINERS):
        return
    if is_a(holder, (tuple, frozenset)):
        members = tuple(holder)
    else:
        log.check_present(holder, None)
        kind = "pairs" if is_a(holder, dict) else "members"
        known = log.before.get(("copy", id(holder), None))
        now = known[1] if known is not None else holder
        value = pairs(now) if is_a(now, dict) else tuple(each(now))
        place = kind, id(holder), None
        if place in log.reads and not deep:
            return
        log.reads.setdefault(place, Read(kind, holder, None, value, label))
        members = tuple(dict.values(holder)) if is_a(holder, dict) else tuple(each(holder))
    names = list(dict.keys(holder)) if is_a(holder, dict) else range(len(members))
    for name, member in zip(names, members, strict=False):
        if is_a(member, Symbol):
            continue
        part = f"{label}[{text_of(name)}]"
        log.see(member, part, holder)
        if deep and is_a(member, (*CONTAINERS, np.ndarray)):
            read_contents(log, member, part, deep, arrays)


# reads of classes: special methods, class attributes, `super()` ------------------------------------------------------


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
