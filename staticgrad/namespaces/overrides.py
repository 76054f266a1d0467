"""`torch.overrides`: questions about objects that have `__torch_function__`, and calls of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..operators import is_tensor


def _own(x: Any) -> bool:
    """Whether an object has a `__torch_function__` other than that of tensors."""
    return not is_tensor(x) and hasattr(type(x), "__torch_function__")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether any argument, which is no tensor, has a `__torch_function__`."""
    return any(map(_own, relevant_args))


def has_torch_function_unary(x: Any) -> bool:
    """The same of one argument."""
    return _own(x)


def has_torch_function_variadic(*args: Any) -> bool:
    """The same of several."""
    return has_torch_function(args)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Call the `__torch_function__` of the arguments, subclasses first, until one answers. Raises TypeError."""
    kinds: list[type] = []
    for x in relevant_args:
        kind = type(x)
        if _own(x) and kind not in kinds:
            at = next((i for i, other in enumerate(kinds) if issubclass(kind, other)), len(kinds))
            kinds.insert(at, kind)
    for kind in kinds:
        found = kind.__torch_function__(public_api, tuple(kinds), args, kwargs)
        if found is not NotImplemented:
            return found
    raise TypeError(f"no implementation found for '{public_api.__name__}' on types that implement __torch_function__: {kinds}")


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or has a `__torch_function__`."""
    return is_tensor(inp) or _own(inp)


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether it is one of a tensor's methods."""
    from ..operators.methods import Operators

    return getattr(Operators, getattr(func, "__name__", ""), None) is func


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """A decorator: the function asks the `__torch_function__` of the arguments that `dispatcher` names first."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            relevant = [*dispatcher(*args, **named)]
            return (
                handle_torch_function(call, relevant, *args, **named) if has_torch_function(relevant) else func(*args, **named)
            )

        call.__name__, call.__doc__ = func.__name__, func.__doc__
        return call

    return decorate


def resolve_name(f: Any) -> str:
    """The name of a function."""
    return f"torch.{getattr(f, '__name__', f)}"


__all__ = [
    "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
    "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip
