"""`torch.overrides`: questions about objects that have `__torch_function__`, and calls of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Set
from typing import Any

from ..eager.subclasses import GRAD
from ..ops.operators import is_tensor, takes_over, taking
from ..ops.operators.overrides import answered


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether any argument has a `__torch_function__` other than that of plain tensors."""
    return any(takes_over(type(x)) for x in relevant_args)


def has_torch_function_unary(x: Any) -> bool:
    """The same of one argument."""
    return takes_over(type(x))


def has_torch_function_variadic(*args: Any) -> bool:
    """The same of several."""
    return has_torch_function(args)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Call the `__torch_function__` of the arguments, subclasses first, until one answers. Raises TypeError."""
    return answered(public_api, taking(relevant_args), args, kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or has a `__torch_function__`."""
    return is_tensor(inp) or takes_over(type(inp))


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether it is one of a tensor's methods, or reads one of its properties."""
    from ..ops.operators.methods import Operators

    return getattr(func, "__name__", "") == "__get__" or getattr(Operators, getattr(func, "__name__", ""), None) is func


def get_default_nowrap_functions() -> Set[Callable[..., Any]]:
    """Functions whose results keep their class: gradients are plain tensors."""
    return {GRAD}


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """A decorator: the function asks the `__torch_function__` of the arguments that `dispatcher` names first."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def call(*args: Any, **named: Any) -> Any:
            found = taking(dispatcher(*args, **named))
            return answered(call, found, args, named) if found else func(*args, **named)

        return call

    return decorate


def resolve_name(f: Any) -> str:
    """The name of a function."""
    return f"torch.{getattr(f, '__name__', f)}"


__all__ = [
    "get_default_nowrap_functions", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip
