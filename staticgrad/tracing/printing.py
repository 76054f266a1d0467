"""`sg.print`: prints in every run of a compiled function, without a cut."""

from __future__ import annotations

import builtins
from typing import Any

from ..operators import frontends, state
from .effects import Effect


def print(*values: Any, **options: Any) -> None:
    """Print values as Python's `print` does. In a compiled function every run prints them at its end, and stays one plan.

    Examples:
        >>> @sg.compile
        ... def double(x):
        ...     y = 2 * x
        ...     sg.print("y:", y)
        ...     return y
        >>> _ = double(sg.ones(2))
        y: tensor([2., 2.])
    """
    tracer = state.tracer if frontends.tracing else None
    if tracer is None or tracer.observer is None:
        builtins.print(*values, **options)
        return
    effect = Effect("print", None, None, values, options)
    effect.done = False  # the trace has no values to print
    tracer.observer.effects.append(effect)
