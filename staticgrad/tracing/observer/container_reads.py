"""Reads of built-in containers and arrays: an item, the length, all of the contents."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ...eager.tensor import Tensor
from ...operators import Symbol
from ..containers import each, native_class, pairs, size
from ..guards import MISSING, Read, is_a, namespace
from ..numbers import position
from ..plain import text_of
from .access_log import AccessLog, key_of
from .arrays import read_array
from .class_reads import read_special_methods
from .python_types import CONTAINERS, VIEWS, dict_of_view
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
