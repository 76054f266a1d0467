"""Calls of built-in functions and methods, read as the instructions that they stand for: `getattr(x, "n")` as `x.n`."""

from __future__ import annotations

import abc
import collections
import string
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...eager.tensor import Tensor
from ...operators import Symbol
from ...operators.sizes import SymbolicCount
from ..effects import Effect
from ..guards import MISSING, has, is_a, order_of, static
from ..plain import text_of
from .access_log import AccessLog
from .attribute_reads import read_attribute
from .container_reads import read_contents, read_item, read_length
from .protocol_reads import advance, iterate, read_subscript, result_of
from .python_types import CONTAINERS, has_plain_hash, is_heap_type
from .state_writes import delete_attribute, set_attribute, set_plain_item


def call_getattr(log: AccessLog, x: Any, name: Any, *default: Any) -> Any:
    if is_a(name, str):
        read_attribute(log, x, name)
    return result_of(log, getter=True)


def call_getattribute(log: AccessLog, x: Any, name: Any) -> Any:
    if is_a(name, str):
        read_attribute(log, x, name, own=True)
    return result_of(log, getter=True)


def call_setattr(log: AccessLog, x: Any, name: Any, value: Any) -> None:
    set_attribute(log, x, name, value)


def call_plain_setattr(log: AccessLog, x: Any, name: Any, value: Any) -> None:
    set_attribute(log, x, name, value, own=True)


def call_delattr(log: AccessLog, x: Any, name: Any) -> None:
    delete_attribute(log, x, name)


def call_plain_delattr(log: AccessLog, x: Any, name: Any) -> None:
    delete_attribute(log, x, name, own=True)


def call_vars(log: AccessLog, *args: Any) -> Any:
    if args:
        read_attribute(log, args[0], "__dict__")
        if is_a(args[0], types.ModuleType):
            log.ages.set_owner(vars(args[0]), args[0])
    return None if args else log.ages.add_made


def call_len(log: AccessLog, x: Any) -> Any:
    read_length(log, x)


def call_isinstance(log: AccessLog, x: Any, kinds: Any) -> Any:
    if type(x) is SymbolicCount:
        raise x.unfollowed("the type of a number of elements is asked for")
    if not is_a(x, (Symbol, Tensor, type)) and is_heap_type(type(x)) and not has(type(x), "named_modules"):
        log.read("type", x, None, type(x), f"the class of {log.label(x)}")
        call_issubclass(log, type(x), kinds)


def call_issubclass(log: AccessLog, kind: Any, kinds: Any) -> Any:
    """Classes may be registered with abstract ones."""
    for other in kinds if is_a(kinds, tuple) else (kinds,):
        if type(other) is abc.ABCMeta and is_a(kind, type) and other not in order_of(kind):
            log.read("call", issubclass, (kind, other), issubclass(kind, other), f"the subclasses of {other.__name__}")


def call_iter(log: AccessLog, x: Any, *more: Any) -> Any:
    return iterate(log, x)


def call_next(log: AccessLog, x: Any, *default: Any) -> Any:
    advance(log, x)
    return result_of(log, getter=True)


def call_get(log: AccessLog, x: Any, *args: Any) -> Any:
    if is_a(x, dict) and args and has_plain_hash(args[0]):
        read_item(log, x, args[0], f"{log.label(x)}[{text_of(args[0])}]")
        return result_of(log, getter=True)
    if type(x).__name__ == "ContextVar":

        def done(result: Any) -> None:
            if ("context", id(x)) not in log.moved and result is not MISSING:
                log.read("context", x, args, result, x.name)

        return done
    return NotImplemented


def call_set(log: AccessLog, x: Any, *args: Any) -> Any:
    if type(x).__name__ == "ContextVar":
        log.moved.add(("context", id(x)))
        log.effects.append(Effect("method", x, "set", args))
        return lambda token: log.remember("context", x, None, token)
    return NotImplemented


def call_reset(log: AccessLog, x: Any, *args: Any) -> Any:
    if type(x).__name__ == "ContextVar":
        log.refuse("a context variable is reset inside a compiled function, which would happen only while tracing", "set it")
    return NotImplemented


def call_setitem(log: AccessLog, x: Any, key: Any, value: Any) -> Any:
    if is_a(x, (list, dict, np.ndarray, collections.deque)):
        set_plain_item(log, x, key, value)
        return None
    return NotImplemented


def call_getitem(log: AccessLog, x: Any, key: Any) -> Any:
    if is_a(static(type(x), "__getitem__"), types.FunctionType) and is_a(x, CONTAINERS):  # called by the user's own one
        if is_a(x, dict) or type(key) is int:
            read_item(log, x, key, f"{log.label(x)}[{text_of(key)}]")
        else:
            read_contents(log, x)
        return result_of(log, getter=True)
    return read_subscript(log, x, key)


def call_format(log: AccessLog, text: Any, *args: Any, **kwargs: Any) -> Any:
    if is_a(text, str) and any("." in str(name) for _, name, _, _ in string.Formatter().parse(text)):
        log.refuse("str.format reads an attribute, where a trace can't see it", "use an f-string, or do it outside")
    return NotImplemented


def call_print(log: AccessLog, *args: Any, **kwargs: Any) -> Any:
    if not any(is_a(x, Symbol) for x in args) and kwargs.get("file") in (None, sys.stdout, sys.stderr):
        log.effects.append(Effect("print", None, None, log.arrays.frozen(args), kwargs))


BUILTINS: dict[str, Callable[..., Any]] = {
    "getattr": call_getattr,
    "hasattr": call_getattr,
    "__getattribute__": call_getattribute,
    "setattr": call_setattr,
    "__setattr__": call_plain_setattr,
    "delattr": call_delattr,
    "__delattr__": call_plain_delattr,
    "vars": call_vars,
    "len": call_len,
    "isinstance": call_isinstance,
    "issubclass": call_issubclass,
    "iter": call_iter,
    "next": call_next,
    "get": call_get,
    "set": call_set,
    "reset": call_reset,
    "setitem": call_setitem,
    "getitem": call_getitem,
    "print": call_print,
    "format": call_format,
    "format_map": call_format,
}
"""By name, without the underscores of special methods that do what a function does. Each returns a callback for the result or
None, and NotImplemented for a function that only shares the name."""
