"""Public functions whose calls eager mode may cache.

`routed` and `viewed` say so where a function is defined: it has no effects, draws nothing, and does the same for symbols as for
tensors. So eager mode can find out once to which ops the calls of one kind come down, see `eager/calls/routes.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ...base import types
from .dispatch import frontends
from .node_names import node_of

Function = TypeVar("Function", bound=Callable[..., Any])


def no_route(*tensors: Any) -> Any:
    """Of calls that have no route."""
    raise AssertionError("the function itself is called")


no_route.moves = False  # type: ignore[attr-defined]


def routed(function: Function) -> Function:
    """Let calls on eager tensors take routes."""
    node = node_of(function.__name__)

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if frontends.tracing:
            return function(*args, **named)
        tensor_class = frontends.public_class
        tensors: list[Any] = []
        key: list[Any] = [function, types.default_float]
        for a in args:  # as `frontends.join`, without a call for the most frequent ones
            kind = a.__class__
            if kind is tensor_class:
                data = a._data
                key.append(data.shape)
                key.append(data.dtype)
                tensors.append(a)
            elif kind is int:
                key.append(int)
                key.append(a)
            elif kind is list:
                key.append(list)
                key.append(len(a))
                for x in a:
                    if x.__class__ is tensor_class:
                        data = x._data
                        key.append(data.shape)
                        key.append(data.dtype)
                        tensors.append(x)
                    elif not frontends.join((x,), key, tensors):
                        return function(*args, **named)
            elif not frontends.join((a,), key, tensors):
                return function(*args, **named)
        if named:
            if "out" in named:
                return function(*args, **named)
            key += named
            if not frontends.join(named.values(), key, tensors):
                return function(*args, **named)
        route = frontends.calls[signature := tuple(key)]
        if route is None:
            route = frontends.route(function, node, signature, args, named, tensors)
        if route is no_route:
            return function(*args, **named)
        return route(*tensors)

    def ready(*args: Any) -> Callable[..., Any] | None:
        """The route of a call, if there is one."""
        key: list[Any] = [function, types.default_float]
        return frontends.calls[tuple(key)] if frontends.join(args, key, []) else None

    call.route = ready  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def viewed(function: Function) -> Function:
    """As `routed`, for a function whose result is a view: the route of a tensor and integers is found by shape, dtype
    and integers."""
    general = routed(function)

    @functools.wraps(function)
    def call(x: Any = no_route, /, *others: Any, **named: Any) -> Any:
        if named or frontends.tracing or x.__class__ is not frontends.public_class:
            return general(*others, **named) if x is no_route else general(x, *others, **named)
        for a in others:
            if a.__class__ is not int:
                return general(x, *others)
        data = x._data
        route = frontends.calls[function, data.shape, data.dtype, others]
        if route is not None:
            return route(x)
        out = general(x, *others)
        found = general.route(x, *others)  # type: ignore[attr-defined]
        if found is not None and found.moves:
            frontends.calls[function, data.shape, data.dtype, others] = found
        return out

    return call  # type: ignore[return-value]


def by_method(function: Function) -> Function:
    """Let a call on an eager tensor be one of the tensor's method, which is written for speed: it does what the function does,
    and calls that for other arguments; see `eager/calls/fast_ops.py`."""
    name = function.__name__.rstrip("_")
    method: Callable[..., Any] | None = None

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        nonlocal method
        if not named and args and args[0].__class__ is frontends.public_class:
            if method is None:
                method = frontends.methods[name]
            return method(*args)
        return function(*args, **named)

    return call  # type: ignore[return-value]


def filled_by(make: Callable[[tuple[int, ...], np.dtype], np.ndarray]) -> Callable[[Function], Function]:
    """Let a call on an eager tensor alone return a tensor around `make(its shape, its dtype)`."""

    def enter(function: Function) -> Function:
        @functools.wraps(function)
        def call(input: Any, *args: Any, **named: Any) -> Any:
            if args or named or frontends.tracing or input.__class__ is not frontends.public_class:
                return function(input, *args, **named)
            data = input._data
            if not data.flags.c_contiguous:  # its order of axes is that of the result
                return function(input)
            try:
                return frontends.around(make(data.shape, data.dtype))
            except MemoryError:
                return function(input)  # raises the error that names the line

        return call  # type: ignore[return-value]

    return enter
