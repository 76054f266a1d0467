"""The compiler, and PyTorch's module of this name: questions and marks about compilation.

The processes that compile kernels import this package too, so tracing is imported only when one of these functions is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "allow_in_graph", "assume_constant_result", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling",
    "is_exporting", "list_backends", "reset",
]  # fmt: skip


def is_compiling() -> bool:
    """Whether a compiled function is being traced.

    Examples:
        >>> sg.compiler.is_compiling()
        False
    """
    from ..ops.operators import state

    return state.tracer is not None


def is_dynamo_compiling() -> bool:
    """The same as `is_compiling`."""
    return is_compiling()


def is_exporting() -> bool:
    """False: there is no `torch.export`."""
    return False


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself. A trace runs it as any other code, with the values that it has in eager mode; what it needs a value
    for, the trace refuses or splits at."""
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: all functions are traced."""
    return fn


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: its result is that of each trace."""
    return fn


def reset() -> None:
    """Nothing: compiled functions keep their own specializations."""


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no graphs of a GPU."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Empty: `sg.compile` has one way to compile."""
    return []
