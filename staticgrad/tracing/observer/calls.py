"""Calls: the state that a callee reads or writes, by its arguments. Frames of Python functions are observed themselves."""

from __future__ import annotations

import abc
import collections
import functools
import inspect
import random
import string
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...compiler.passes.symbolic_extents import SymbolicExtent
from ...eager.tensor import Tensor
from ...errors import PACKAGE_DIR
from ...ops.operators import Symbol
from ...ops.operators.dispatch import SymbolicCount
from ...ops.operators.unknown_numbers import UnknownNumber
from ..containers import text_of
from ..effects import BLIND, MOVING, Effect
from ..guards import MISSING, has, is_a, namespace, order_of, static
from ..traced_array import TracedArray
from .access_log import AccessLog
from .arrays import observe_arrays, read_or_fed
from .attribute_reads import GETTERS as ATTRIBUTE_GETTERS
from .attribute_reads import read_all_attributes, read_attribute, read_by_getter
from .container_reads import read_class_attribute, read_contents, read_item, read_length, read_special_methods
from .protocol_reads import advance, both, iterate, read_subscript, result_of
from .python_types import (
    CHANGEABLE,
    CONTAINERS,
    IGNORED,
    LIBRARY,
    USER,
    VIEWS,
    has_plain_hash,
    is_heap_type,
    is_iterator,
    is_known,
    is_native_function,
    origin_of,
    origin_of_class,
)
from .refused_calls import NUMPY_FILES, check_allowed, check_settings, refuse_io, refuse_random, refuse_thread, refuse_use
from .state_writes import call_mutator, changed_by_call, delete_attribute, set_attribute, set_plain_item

# Calls of built-in functions and methods, read as the instructions that they stand for: `getattr(x, "n")` as `x.n`.


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

PURE = frozenset(["id", "callable", "repr", "hash", "print", "super", "issubclass", "__build_class__", "locals", "globals"])
"""Built-in functions that read no state."""
IDENTITY = frozenset(["id", "hash", "repr"])
"""Those whose result may follow from the identity of their argument."""
GETTERS = frozenset(
    [
        "getattr",
        "get",
        "next",
        "pop",
        "popleft",
        "popitem",
        "setdefault",
        "__getitem__",
        "__getattribute__",
        "__next__",
    ]
)
"""Functions whose result may be an object that existed before."""
WRITERS = frozenset(
    ["append", "appendleft", "extend", "insert", "pop", "popleft", "remove", "clear", "put", "put_nowait", "get", "get_nowait"]
)
"""Methods by which `array.array` and containers are changed."""
COPIERS = frozenset(["__reduce_ex__", "__reduce__", "dumps", "__getstate__", "__dir__", "dir"])
"""Functions that read all attributes of their arguments."""


def observe_call(log: AccessLog, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a call that is about to happen. Returns a callback for its result, or None."""
    if is_a(fn, types.MethodType):
        args, fn = (fn.__self__, *args), fn.__func__
    if is_a(fn, functools.partial):
        read_contents(log, fn.keywords, log.label(fn))
        return observe_call(log, fn.func, (*fn.args, *args), {**fn.keywords, **kwargs})
    if is_a(fn, types.FunctionType):
        return _python_call(log, fn, args, kwargs)
    if is_a(fn, type):
        return _class_call(log, fn, args, kwargs)
    if is_a(fn, functools._lru_cache_wrapper):
        return _cached_call(log, fn, args, kwargs)
    if is_a(fn, weakref.ref):
        refuse_use(log, fn, "__call__")  # a guard would keep the object alive
    name = getattr(fn, "__name__", "")
    name = name if is_a(name, str) else ""
    if not name or not is_native_function(fn):
        if static(type(fn), "__call__") is not MISSING:
            read_special_methods(log, fn, "__call__")
        if is_a(fn, ATTRIBUTE_GETTERS):
            read_by_getter(log, fn, args[0] if args else None)
        elif origin_of_class(type(fn)) is not USER:
            _read_argument(log, fn, type(fn).__name__, within=True)
        for x in (*args, *kwargs.values()):
            read_contents(log, x, deep=True, arrays=False)
        if is_a(static(type(fn), "__call__"), types.WrapperDescriptorType):  # of C, as `operator.methodcaller`
            return both(changed_by_call(log, args), observe_arrays(log, fn, name, args, kwargs, result_of(log)))
        return observe_arrays(log, fn, name, args, kwargs, result_of(log, *args, *kwargs.values()))
    return _native_call(log, fn, name, args, kwargs)


def _python_call(log: AccessLog, fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    file = fn.__code__.co_filename
    if fn is threading.Thread.start:
        refuse_thread(log)
    if origin_of(file) is not IGNORED:  # what it makes is seen where it is made, and what it returns may have existed before

        def done(result: Any) -> None:
            if is_a(result, types.GeneratorType) and inspect.getgeneratorstate(result) == inspect.GEN_CREATED:
                log.ages.add_made(result)

        return done
    name = fn.__name__
    check_settings(log, fn)
    if args and is_a(args[0], dict) and (name in BLIND or name in MOVING):  # a dict of this library, which counts changes
        return both(call_mutator(log, args[0], name, args[1:], name in BLIND, kwargs), result_of(log, getter=True))
    numpy = "numpy" in (fn.__module__ or "")
    if numpy and fn.__name__ in NUMPY_FILES:
        refuse_io(log, f"numpy.{fn.__name__}")
    own = file.startswith(PACKAGE_DIR)
    for x in (*args, *kwargs.values()):
        _read_value(log, x) if own else _read_argument(log, x, name, within=True)
    if own:
        return read_or_fed(log, args, kwargs, result_of(log))
    return observe_arrays(log, fn, name, args, kwargs, result_of(log, *args, *kwargs.values()))


def _class_call(log: AccessLog, fn: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_settings(log, fn)
    if fn.__module__.startswith("numpy.random") or issubclass(fn, random.Random):
        if not [x for x in (*args, *kwargs.values()) if x is not None]:
            refuse_random(log, fn.__name__)
        return log.ages.add_made
    if is_heap_type(fn) and origin_of_class(fn) is not IGNORED:
        if type(fn) is not type:
            read_special_methods(log, fn, "__call__")
        read_class_attribute(log, fn, "__init__")
        read_class_attribute(log, fn, "__new__")
        if static(fn, "__init__") is not object.__init__:
            return result_of(log)
    if fn in (type, memoryview) and len(args) == 1 and type(args[0]) is TracedArray:
        args[0].needed("the type or the memory")
    if fn is type and len(args) == 1:
        if type(args[0]) is SymbolicExtent:
            raise args[0].unfollowed("the type of an extent is asked for")
        if issubclass(type(args[0]), UnknownNumber):
            log.refuse("the type of a number that each run finds anew is asked for", "write isinstance(x, int)")
        read_special_methods(log, args[0])
        return None
    if fn in (super, property, staticmethod, classmethod, functools.partial):
        return None
    written_in_c = not is_a(static(fn, "__init__"), types.FunctionType)
    for x in (*args, *kwargs.values()):
        if written_in_c:
            _read_argument(log, x, fn.__name__)
        else:
            _read_value(log, x)
        if not is_iterator(x) and not is_a(x, (*CONTAINERS, *VIEWS)):
            read_special_methods(log, x, "__len__", "__iter__", "__float__", "__int__", "__bool__", "__str__", "__index__")
    return read_or_fed(log, args, kwargs, result_of(log, *args, *kwargs.values()))


def _cached_call(log: AccessLog, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """functools.lru_cache: every call asks the cache again, as it does eagerly. A cache that took in a traced value is cleared
    after the trace, which computes it. Other values stay in the cache, and so does what was changed for them."""
    known, count = set(log.before), len(log.effects)

    def done(result: Any) -> None:
        if _has_symbol(result) or any(_has_symbol(effect.values) for effect in log.effects[count:]):
            log.remember("cache", fn, None, None)
            return
        del log.effects[count:]
        for place in log.before.keys() - known:
            del log.before[place]
        if result is not MISSING and not kwargs and all(map(has_plain_hash, args)):
            log.read("call", fn, args, result, f"{log.label(fn, fn.__name__)}{text_of(args)}")

    return done


def _has_symbol(x: Any) -> bool:
    if is_a(x, dict):
        return any(map(_has_symbol, x.values()))
    return any(map(_has_symbol, x)) if is_a(x, (tuple, list)) else is_a(x, Symbol)


def _read_argument(log: AccessLog, x: Any, callee: str, within: bool = False) -> None:
    """Record what a function of C, or one whose frames are not observed, reads of an argument. Raises TraceError for a method
    that changes a container and would be called where a trace can't see it, as in `map(x.append, values)`. within: frames that
    the function calls are not observed either, unless they are of the user's code."""
    for inner in _callbacks(x):
        if is_a(inner, ATTRIBUTE_GETTERS):
            what = f"{callee} calls operator.{type(inner).__name__}, where a trace can't see it"
            log.refuse(what, "pass a lambda, or do it outside")
        owner = getattr(inner, "__self__", None)
        unseen = is_a(inner, (types.BuiltinMethodType, types.MethodWrapperType))
        if within and is_a(inner, types.MethodType) and is_a(inner.__func__, types.FunctionType):
            unseen = origin_of(inner.__func__.__code__.co_filename) is LIBRARY
        if not unseen or not is_a(owner, (*CONTAINERS, *CHANGEABLE, collections.UserList, collections.UserDict)):
            continue
        name = inner.__name__
        if (name in BLIND or name in MOVING or name in WRITERS) and name != "get":
            if not log.ages.is_new(owner):
                log.refuse(
                    f"{callee} calls {type(owner).__name__}.{name} inside a compiled function, where a trace can't see it",
                    "call it in a loop of Python",
                )
        elif is_a(owner, CONTAINERS):
            read_contents(log, owner, deep=True, arrays=False)
    _read_value(log, x)


def _callbacks(x: Any) -> Iterator[Any]:
    """What a callee may call: the argument, the function of a partial, or what an object of a library's holds for it."""
    while is_a(x, functools.partial):
        x = x.func
    yield x
    kind = type(x)
    if is_heap_type(kind) and origin_of_class(kind) is not USER and not is_a(x, (Tensor, Symbol)):
        for held in (namespace(x) or {}).values():
            yield from _callbacks(held) if is_a(held, functools.partial) else (held,)


def _read_value(log: AccessLog, x: Any) -> None:
    read_contents(log, x, deep=True, arrays=False)
    if is_iterator(x):
        advance(log, x)


def _native_call(log: AccessLog, fn: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    owner = getattr(fn, "__self__", None)
    bound = owner is not None and not is_a(owner, types.ModuleType)
    if bound and not is_a(owner, type):
        args = (owner, *args)
    module = owner.__name__ if is_a(owner, types.ModuleType) else getattr(fn, "__module__", None)
    first = args[0] if args else None
    check_allowed(log, fn, name, module, first, args)
    if is_a(first, (Tensor, Symbol)) and name not in ("getattr", "setattr", "hasattr", "vars"):
        for x in args[1:]:
            read_contents(log, x, deep=True, arrays=False)
        return result_of(log)
    special = BUILTINS.get(name, BUILTINS.get(name.strip("_")))
    if special is not None and (
        module == "builtins" or bound or is_a(fn, (types.WrapperDescriptorType, types.MethodDescriptorType))
    ):
        result = special(log, *args, **kwargs)
        if result is not NotImplemented:
            return result
    if (name in BLIND or name in MOVING) and is_a(first, CHANGEABLE) and not is_a(first, np.ndarray):
        for x in args[1:]:
            if is_a(x, CONTAINERS) and name not in ("append", "appendleft", "add"):
                read_contents(log, x)
            if is_iterator(x) and name in ("extend", "update", "extendleft"):
                advance(log, x)
        done = call_mutator(log, first, name, args[1:], name in BLIND, kwargs)
        return done if name in BLIND else both(done, result_of(log, getter=True))
    if name in PURE and module == "builtins":
        if name in IDENTITY and id(first) in log.stand_ins:
            log.identities.add(id(first))
        return None
    method = bound or is_a(fn, types.MethodDescriptorType)
    strange = name in WRITERS or (name not in ("__enter__", "__exit__") and not is_known(type(first), name))
    if method and strange and not is_a(first, (*CONTAINERS, *CHANGEABLE, type)):
        refuse_use(log, first, name)
    if module == "_thread" and name in ("get_ident", "get_native_id"):
        return lambda result: log.read("thread", fn, None, result, "the thread")
    for x in (*args, *kwargs.values()):
        _read_argument(log, x, name)
        if name in COPIERS and not is_iterator(x):
            read_all_attributes(log, x)
    if name == "default_rng":
        return log.ages.add_made
    read = result_of(log, *args, *kwargs.values(), getter=name in GETTERS)
    return both(changed_by_call(log, args), observe_arrays(log, fn, name, args, kwargs, read))
