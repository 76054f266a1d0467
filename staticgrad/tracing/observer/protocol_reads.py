"""Reads by Python's protocols: subscripts, iteration, and results that share memory with arrays."""

from __future__ import annotations

import collections
import gc
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...eager.tensor import Tensor
from ...ops.operators import Symbol
from ..containers import text_of
from ..effects import Effect, is_observed
from ..guards import MISSING, is_a, static
from .access_log import AccessLog, key_of
from .arrays import array_of, arrays_in, read_array
from .attribute_reads import read_attribute
from .container_reads import read_contents, read_item, read_special_methods
from .python_types import CONTAINERS, VIEWS, has_plain_hash, is_iterator
from .refused_calls import check_known
from .state_writes import call_mutator


def read_subscript(log: AccessLog, holder: Any, key: Any) -> Any:
    """Read `holder[key]`. Returns a callback for the result, or None."""
    plain = not is_a(key, (Symbol, Tensor, np.ndarray)) and not is_a(holder, (Symbol, Tensor))
    label = f"{log.label(holder)}[{text_of(key)}]" if plain else log.label(holder)
    if array_of(holder) is not None:
        return result_of(log, holder, key)
    if is_a(holder, (Symbol, Tensor)) and is_a(key, (list, tuple, np.ndarray)):
        read_contents(log, key, deep=True)
    getter = static(type(holder), "__getitem__")
    if is_a(getter, types.FunctionType):
        read_special_methods(log, holder, "__getitem__")
    elif is_a(holder, dict):
        if has_plain_hash(key):
            read_item(log, holder, key, label)
            if not dict.__contains__(holder, key):
                read_special_methods(log, holder, "__missing__")
                made = static(type(holder), "__missing__")  # of a dict of this library, which is not observed
                if is_a(holder, collections.defaultdict) or (made is not MISSING and not is_observed(made)):
                    read_attribute(log, holder, "default_factory")
                    call_mutator(log, holder, "setdefault", None)
                    return _default_item(log, holder, key)
        else:
            read_contents(log, holder)
    elif is_a(holder, (list, tuple, collections.deque)):
        if is_a(key, (int, np.integer)):
            read_item(log, holder, int(key), label)
        else:
            read_contents(log, holder)
    elif not is_a(holder, (str, bytes, range, type)):
        check_known(log, holder, "__getitem__")
        read_contents(log, holder)
    return None


def _default_item(log: AccessLog, holder: Any, key: Any) -> Callable[[Any], None]:
    """A callback for an item that a defaultdict makes."""

    def done(value: Any) -> None:
        if value is not MISSING:
            log.effects.append(Effect("item", holder, key, (value,)))
            log.written_items.setdefault(id(holder), set()).add(key_of(key))

    return done


def result_of(log: AccessLog, *operands: Any, getter: bool = False) -> Any:
    """A callback for the result of NumPy's functions. A view of an array that existed before the trace is registered as
    one; any other result depends on the values of its operands. getter: the result may have existed before."""
    arrays, direct = ([x for x in arrays_in(operands, depth) if log.arrays.existed(x)] for depth in (3, 0))

    def done(result: Any) -> None:
        if is_a(result, (Symbol, Tensor)):
            return
        if is_a(result, np.ndarray):
            if log.arrays.existed(result):
                if arrays:
                    log.labels.setdefault(id(result), (log.label(arrays[0]), result))
                return
            if not getter:
                log.ages.add_made(result)
        elif is_iterator(result) and not getter:
            log.ages.add_made(result)
        elif type(result) in (list, tuple) and not getter:
            for part in result:
                if is_a(part, np.ndarray) and not log.arrays.existed(part):
                    log.ages.add_made(part)
        elif type(result) is dict and not getter and not gc.is_tracked(result) and id(result) not in log.ages.untracked:
            log.ages.add_made(result)  # the garbage collector tells of others
        held = set(map(id, result.values() if is_a(result, dict) else result if is_a(result, (list, tuple)) else ()))
        for x in direct if is_iterator(result) else arrays:
            if id(x) not in held:  # it does not depend on the values of an array that it holds
                read_array(log, x)

    return done


def both(changed: Any, read: Any) -> Any:
    """One callback of two, the first of which may be None."""
    if changed is None:
        return read

    def done(result: Any) -> None:
        changed(result)
        read(result)

    return done


def iterate(log: AccessLog, x: Any) -> Any:
    """Read the state that `iter(x)` depends on. Returns a callback for the result, or None."""
    if is_a(x, np.ndarray):
        read_array(log, x)
    elif is_iterator(x):
        advance(log, x)
        return None
    elif is_a(static(type(x), "__iter__"), types.FunctionType):
        read_special_methods(log, x, "__iter__")
    else:
        read_contents(log, x)
        if not is_a(x, (*CONTAINERS, *VIEWS)):
            read_special_methods(log, x, "__iter__", "__getitem__", "__len__")
            check_known(log, x, "__iter__", "__getitem__")
    return result_of(log)


def advance(log: AccessLog, x: Any) -> None:
    """Check that an iterator whose next item is taken was made by the trace. Raises TraceError."""
    if id(x) in log.ages.made or not is_iterator(x):
        return
    if is_a(static(type(x), "__next__"), types.FunctionType):
        read_special_methods(log, x, "__next__")
    elif log.ages.is_new(x):
        log.ages.add_made(x)
    else:
        log.refuse(
            f"an iterator from outside ({log.label(x, type(x).__name__)}) is used up inside a compiled function, which "
            "would happen only while tracing",
            "call next() outside, and pass the item as an argument",
        )
