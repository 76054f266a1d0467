"""Bytecode instructions: the reads and writes of each, from the operands on the value stack before it.

A handler takes (log, scope, step). It may return a callback, which gets the result of the instruction.
"""

from __future__ import annotations

import collections
import dis
import operator
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...eager.tensor import Tensor
from ...ops.operators import Symbol
from ..containers import text_of
from ..effects import Effect, is_observed
from ..frames import NULL, BytecodeStep
from ..guards import MISSING, is_a, python_method, static
from .access_log import AccessLog, key_of
from .arrays import array_of, observe_arrays, read_array
from .attribute_reads import read_attribute
from .calls import observe_call
from .container_reads import read_contents, read_length, read_special_methods, read_super
from .protocol_reads import advance, both, iterate, read_subscript, result_of
from .python_types import CHANGEABLE, CONTAINERS, USER, VIEWS, has_plain_hash, is_iterator, origin_of
from .refused_calls import check_known
from .state_writes import (
    FrameScope,
    add_effect,
    call_mutator,
    delete_attribute,
    is_counter_update,
    is_plain_attribute,
    refuse_change,
    set_attribute,
    set_item,
    unless_raised,
)  # fmt: skip

BINARY_METHODS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul", "&": "and",
    "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
COMPARISONS = ("__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__")


def on_global(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    space = scope.frame.f_globals
    if step.value in space and is_counter_update(log, scope, step, "item", space, step.value, space[step.value], step.value):
        return
    _read_variable(log, scope.frame.f_globals, step.value, scope.frame.f_builtins)


def on_name(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    if scope.frame.f_locals is not scope.frame.f_globals and step.value in scope.frame.f_locals:
        return
    on_global(log, scope, step)


def _read_variable(log: AccessLog, space: dict[str, Any], name: str, builtins: Mapping[str, Any]) -> None:
    if name in space or ("item", id(space), name) in log.before:
        log.read("item", space, name, space.get(name, MISSING), name)
    else:
        log.read("item", space, name, MISSING, name)
        log.read("item", builtins, name, builtins.get(name, MISSING), name)


def on_deref(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    if step.arg < scope.code.free:
        return
    cell = scope.operands.local(step.arg)
    try:
        value = cell.cell_contents
    except ValueError:
        value = MISSING
    if not is_counter_update(log, scope, step, "cell", cell, None, value, scope.code.names[step.arg]):
        log.read("cell", cell, None, value, scope.code.names[step.arg])


def on_attribute(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    (x,) = scope.operands.top(step.depth, 1)
    if step.op == "LOAD_ATTR" and is_plain_attribute(x, step.value):
        value = object.__getattribute__(x, step.value)
        if is_counter_update(log, scope, step, "attribute", x, step.value, value, f"{log.label(x)}.{step.value}"):
            return
    read_attribute(log, x, step.value)


def on_super(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    _, this, x = scope.operands.top(step.depth, 3)
    read_super(log, this, x if is_a(x, type) else type(x), step.value)


ITEMS = ("__getitem__", "__setitem__")


def on_item(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> Any:
    holder, key = scope.operands.top(step.depth, 2)
    kind = type(holder)
    known = kind is dict or (is_a(holder, dict) and not any(is_observed(static(kind, name)) for name in ITEMS))
    known = (
        known
        and log.ages.owner(holder) is MISSING
        and has_plain_hash(key)
        and not is_a(key, Tensor)
        and dict.__contains__(holder, key)
    )
    if known and is_counter_update(log, scope, step, "item", holder, key, holder[key], f"{log.label(holder)}[{text_of(key)}]"):
        return None
    return read_subscript(log, holder, key)


def on_slice(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> Any:
    holder = scope.operands.top(step.depth, 3)[0]
    return read_subscript(log, holder, slice(0, 0))


def on_contains(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    item, holder = scope.operands.top(step.depth, 2)
    if is_a(static(type(holder), "__contains__"), types.FunctionType):
        read_special_methods(log, holder, "__contains__")
    elif is_a(holder, (dict, set)) and has_plain_hash(item) and not log.copied(holder):
        log.read("contains", holder, item, item in holder, f"{text_of(item)} in {log.label(holder)}")
    elif is_a(holder, (VIEWS, CONTAINERS, np.ndarray)):
        read_contents(log, holder)
    else:
        read_special_methods(log, holder, "__contains__", "__iter__", "__getitem__")
        check_known(log, holder, "__contains__", "__iter__", "__getitem__")


def on_identity(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    log.compare(*scope.operands.top(step.depth, 2))


def on_iterate(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> Any:
    (x,) = scope.operands.top(step.depth, 1)
    return iterate(log, x)


def on_next(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    (x,) = scope.operands.top(step.depth, 1)
    advance(log, x)


def on_content(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    (x,) = scope.operands.top(step.depth, 1)
    read_contents(log, x)
    if is_iterator(x):
        advance(log, x)


def on_truth(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    (x,) = scope.operands.top(step.depth, 1)
    if is_a(x, np.ndarray):
        read_array(log, x)
    elif is_a(x, CONTAINERS):
        read_length(log, x)
    elif x is not None and not is_a(x, (bool, int, float, str)):
        read_special_methods(log, x, "__bool__", "__len__")


def on_length(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    read_length(log, scope.operands.top(step.depth, 1)[0])


def on_match(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    subject, *rest = scope.operands.top(step.depth, 3 if step.op == "MATCH_CLASS" else 2)
    if step.op == "MATCH_CLASS":
        kind, names = rest
        for name in (*getattr(kind, "__match_args__", ()), *names):
            read_attribute(log, subject, name)
        read_special_methods(log, subject)
    else:
        read_contents(log, subject)


def on_binary(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> Any:
    left, right = scope.operands.top(step.depth, 2)
    symbol = dis._nb_ops[step.arg][1] if step.op == "BINARY_OP" else ""  # type: ignore[attr-defined]
    if symbol == "[]":
        return read_subscript(log, left, right)
    name = BINARY_METHODS.get(symbol.rstrip("=") if symbol not in ("<=", ">=") else symbol, "")
    in_place = symbol.endswith("=")
    names = (f"__{name}__", f"__r{name}__", *([f"__i{name}__"] if in_place else []))
    if not name:
        names = COMPARISONS
    result = None
    for x in (left, right):
        if x is None or is_a(x, (bool, int, float, str, Symbol)):
            continue
        if is_a(x, np.ndarray):
            result = result_of(log, left, right)
            if in_place and x is left:
                name = f"__i{name}__"
                return None if is_a(right, Symbol) else observe_arrays(
                    log, getattr(operator, name), name, (left, right), {}, result
                )  # fmt: skip
        elif is_a(x, (*CONTAINERS, *VIEWS, types.SimpleNamespace)):
            result = result_of(log)
            if not (in_place and x is left and is_a(x, (list, set, dict, collections.deque))):
                read_contents(log, x)
        else:
            read_special_methods(log, x, *names)
    if in_place and not is_a(left, (*CHANGEABLE, Tensor, Symbol)):
        own = static(type(left), f"__i{name}__")
        if own is not MISSING and not python_method(type(left), f"__i{name}__"):
            refuse_change(log, left)
    if in_place and is_a(left, CHANGEABLE):
        if is_observed(static(type(left), f"__i{name}__")):
            read_special_methods(log, left, *names)
            return result_of(log, getter=True)
        done = call_mutator(log, left, f"__i{name}__", (right,), blind=is_a(left, list) and symbol == "+=")
        return both(done, result_of(log, getter=True))  # it is the left operand
    return result


def on_unary(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> Any:
    (x,) = scope.operands.top(step.depth, 1)
    if is_a(x, np.ndarray):
        return result_of(log, x)
    if x is not None and not is_a(x, (bool, int, float, str)):
        read_special_methods(log, x, "__neg__", "__pos__", "__invert__", "__bool__", "__len__")
        if step.op == "UNARY_NOT" and is_a(x, CONTAINERS):
            read_length(log, x)
    return None


def on_with(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    (x,) = scope.operands.top(step.depth, 1)
    read_special_methods(log, x, "__enter__", "__exit__")
    if origin_of(scope.frame.f_code.co_filename) is USER:  # locks of the standard library's own protect what is observed
        check_known(log, x, "__enter__")


def on_build(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> Any:
    return log.ages.add_made


def on_import(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    if step.value in sys.modules:
        log.read("item", sys.modules, step.value, sys.modules[step.value], f"the module {step.value}")


def on_set_attribute(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    value, x = scope.operands.top(step.depth, 2)
    count = scope.take_count()
    if count is None:
        log.moved.discard(("attribute", id(x), step.value))
    set_attribute(log, x, step.value, value, count)


def on_delete_attribute(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    (x,) = scope.operands.top(step.depth, 1)
    delete_attribute(log, x, step.value)


def on_set_item(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> Any:
    value, holder, key = scope.operands.top(step.depth, 3)
    count = scope.take_count()
    if count is None and not is_a(holder, (Symbol, Tensor)) and array_of(holder) is None:
        log.moved.discard(("item", id(holder), key_of(key)))
    known = len(log.effects)
    set_item(log, holder, key, value, count)
    return unless_raised(log, log.effects[known:])


def on_set_slice(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> Any:
    value, holder, start, stop = scope.operands.top(step.depth, 4)
    known = len(log.effects)
    set_item(log, holder, slice(start, stop), value)
    return unless_raised(log, log.effects[known:])


def on_delete_item(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> Any:
    holder, key = scope.operands.top(step.depth, 2)
    if is_a(holder, CONTAINERS) and not is_observed(static(type(holder), "__delitem__")):
        whole = is_a(holder, list) and is_a(key, slice) and key == slice(None)
        return call_mutator(log, holder, *(("clear", (), True) if whole else ("__delitem__", (key,))))
    read_special_methods(log, holder, "__delitem__")
    if not is_a(holder, Tensor) and not python_method(type(holder), "__delitem__"):
        refuse_change(log, holder)
    return None


def on_set_global(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    (value,) = scope.operands.top(step.depth, 1)
    space = scope.frame.f_globals
    count = scope.take_count()
    if count is None:
        log.moved.discard(("item", id(space), step.value))
    log.remember("item", space, step.value, space.get(step.value, MISSING))
    add_effect(log, "item", space, step.value, value, count)


def on_delete_global(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    space = scope.frame.f_globals
    log.remember("item", space, step.value, space.get(step.value, MISSING))
    log.effects.append(Effect("method", space, "__delitem__", (step.value,)))


def on_set_deref(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    if step.arg < scope.code.free:
        return
    (value,) = scope.operands.top(step.depth, 1)
    cell = scope.operands.local(step.arg)
    try:
        old = cell.cell_contents
    except ValueError:
        old = MISSING
    count = scope.take_count()
    if count is None:
        log.moved.discard(("cell", id(cell), key_of(None)))
    log.remember("cell", cell, key_of(None), old)
    add_effect(log, "cell", cell, None, value, count)


def on_call(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> Any:
    op, count = step.op, step.arg
    names: tuple[str, ...] = ()
    if op == "CALL_FUNCTION_EX":
        more = count & 1 if KEYWORDS_FLAG else 1
        found = scope.operands.top(step.depth, 3 + more)
        fn, args = found[0 if NULL_AFTER_FUNCTION else 1], found[2]
        kwargs = found[3] if more and found[3] is not NULL else {}
        read_contents(log, args)
        if kwargs:
            read_contents(log, kwargs)
        if not is_a(args, (tuple, list)) or not is_a(kwargs, dict):
            return None
        return observe_call(log, fn, tuple(args), dict(kwargs))
    if op == "CALL_KW":
        names = scope.operands.top(step.depth, 1)[0]
        found = scope.operands.top(step.depth - 1, count + 2)
    else:
        found = scope.operands.top(step.depth, count + 2)
        names, scope.names = scope.names, ()
    first, second, *args = found
    if first is NULL:
        fn = second
    elif second is NULL:
        fn = first
    else:
        fn, args = first, [second, *args]
    kwargs = dict(zip(names, args[len(args) - len(names) :], strict=True)) if names else {}
    return observe_call(log, fn, tuple(args[: len(args) - len(names)]), kwargs)


def on_keywords(log: AccessLog, scope: FrameScope, step: BytecodeStep) -> None:
    scope.names = scope.frame.f_code.co_consts[step.arg]


KEYWORDS_FLAG = sys.version_info < (3, 14)
"""Whether the argument of CALL_FUNCTION_EX says that there are keywords; otherwise their place may be empty."""
NULL_AFTER_FUNCTION = sys.version_info >= (3, 13)
"""Whether the empty place of CALL_FUNCTION_EX follows the function."""
SEPARATE_PRECALL = "PRECALL" in dis.opmap
"""CPython 3.11 makes a call of two instructions. The operands are in order before the first."""
TRUTH_TESTS = [op for op in dis.opmap if ("IF_TRUE" in op or "IF_FALSE" in op) and not op.startswith("INSTRUMENTED")]
HANDLERS: dict[str, Callable[[AccessLog, FrameScope, BytecodeStep], Any]] = {
    **dict.fromkeys(TRUTH_TESTS, on_truth), "TO_BOOL": on_truth,
    "LOAD_GLOBAL": on_global, "LOAD_NAME": on_name, "LOAD_FROM_DICT_OR_GLOBALS": on_global,
    "LOAD_DEREF": on_deref, "LOAD_CLASSDEREF": on_deref, "LOAD_FROM_DICT_OR_DEREF": on_deref,
    "LOAD_ATTR": on_attribute, "LOAD_METHOD": on_attribute, "IMPORT_FROM": on_attribute, "LOAD_SUPER_ATTR": on_super,
    "BINARY_SUBSCR": on_item, "BINARY_SLICE": on_slice, "BINARY_OP": on_binary, "COMPARE_OP": on_binary,
    "IS_OP": on_identity, "CONTAINS_OP": on_contains,
    "GET_ITER": on_iterate, "FOR_ITER": on_next, "UNPACK_SEQUENCE": on_content,
    "UNPACK_EX": on_content, "LIST_EXTEND": on_content, "SET_UPDATE": on_content, "DICT_UPDATE": on_content,
    "DICT_MERGE": on_content, "FORMAT_VALUE": on_content, "FORMAT_SIMPLE": on_content, "CONVERT_VALUE": on_content,
    "GET_LEN": on_length, "MATCH_KEYS": on_match, "MATCH_CLASS": on_match,
    "UNARY_NEGATIVE": on_unary, "UNARY_POSITIVE": on_unary, "UNARY_INVERT": on_unary, "UNARY_NOT": on_unary,
    "BEFORE_WITH": on_with, "LOAD_SPECIAL": on_with, "BUILD_MAP": on_build, "BUILD_CONST_KEY_MAP": on_build,
    "IMPORT_NAME": on_import, "STORE_ATTR": on_set_attribute, "DELETE_ATTR": on_delete_attribute, "STORE_SUBSCR": on_set_item,
    "STORE_SLICE": on_set_slice, "DELETE_SUBSCR": on_delete_item, "STORE_GLOBAL": on_set_global,
    "DELETE_GLOBAL": on_delete_global, "STORE_DEREF": on_set_deref, "CALL_KW": on_call, "CALL_FUNCTION_EX": on_call,
    "KW_NAMES": on_keywords, ("PRECALL" if SEPARATE_PRECALL else "CALL"): on_call,
}  # fmt: skip
