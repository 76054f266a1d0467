"""Calls of the package that read Python's state for the user, or change it: a compiled function guards what is read, and makes
the changes at the end of each run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..ops.operators import frontends, state

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
        from .effects import Effect  # with the tracer

        tracer.observer.effects.append(Effect("method", scheduler, "step", args, kwargs))
        tracer.put_off.extend(scheduler.optimizer.param_groups)
        postponed = tracer.observer.log.postponed
        postponed.update((id(group), (group, frozenset({"params"}))) for group in scheduler.optimizer.param_groups)
        postponed.update((id(x), (x, frozenset({"step", "optimizer"}))) for x in _changed_by(scheduler))

    return put_off  # type: ignore[return-value]


def _changed_by(scheduler: Any) -> list[Any]:
    """The scheduler, its attributes, and those that it is made of."""
    parts = getattr(scheduler, "_schedulers", ())
    return [scheduler, vars(scheduler), *(x for part in parts for x in _changed_by(part))]


def check_read(owner: Any, what: str) -> None:
    """Raises TraceError for a value that a call at the end of the run is going to change."""
    tracer = state.tracer if frontends.tracing else None
    if tracer is not None and any(owner is x for x in tracer.put_off):
        tracer.refuse(
            f"{what} is read after a scheduler's step in a compiled function, which takes that at the end of each run",
            "step the scheduler last",
        )


def guard_read(owner: dict[str, Any], *keys: str) -> None:
    """The package reads items of a dict for the user's code, which the observer of a trace does not see."""
    tracer = state.tracer if frontends.tracing else None
    if tracer is not None and tracer.observer is not None:
        from .observer.container_reads import read_item  # with the tracer

        log = tracer.observer.log
        for key in keys:
            read_item(log, owner, key, f"{log.label(owner)}[{key!r}]")
