"""Calls of the package that change Python's state: a compiled function makes them at the end of each run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..operators import frontends, state
from .effects import Effect

Step = TypeVar("Step", bound=Callable[..., None])


def at_end_of_run(step: Step) -> Step:
    """A scheduler's step, which a compiled function takes at the end of each run. Code of the function that reads the
    optimizer's settings after it cuts the trace."""

    @functools.wraps(step)
    def put_off(scheduler: Any, *args: Any, **kwargs: Any) -> None:
        tracer = state.tracer if frontends.tracing else None
        if tracer is None or tracer.observer is None:
            step(scheduler, *args, **kwargs)
            return
        tracer.observer.effects.append(Effect("method", scheduler, "step", args, kwargs))
        tracer.put_off.extend(scheduler.optimizer.param_groups)

    return put_off  # type: ignore[return-value]


def check_read(owner: Any, what: str) -> None:
    """Raises TraceError for a value that a call at the end of the run is going to change."""
    tracer = state.tracer if frontends.tracing else None
    if tracer is not None and any(owner is x for x in tracer.put_off):
        tracer.refuse(
            f"{what} is read after a scheduler's step in a compiled function, which takes that at the end of each run",
            "step the scheduler last",
        )


def check_not_traced(what: str) -> None:
    """Raises TraceError in a compiled function, for a number that changes between its runs."""
    tracer = state.tracer if frontends.tracing else None
    if tracer is not None:
        tracer.refuse(f"{what} is read as a number in a compiled function", "read it outside")
