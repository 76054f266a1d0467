"""Where the time and the memory of a first step go: phases that nest, each counted without those inside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from .memory import resident


class Phases:
    """`seconds` by phase, and `megabytes` that resident memory grew by. `enter` ends one phase and begins the next;
    `inside` interrupts it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.megabytes: dict[str, float] = {}
        self.current = ""
        self.since, self.before = time.monotonic(), resident()

    def enter(self, phase: str) -> str:
        """Returns the phase that ended."""
        now, memory = time.monotonic(), resident()
        if self.current:
            self.seconds[self.current] = self.seconds.get(self.current, 0.0) + now - self.since
            self.megabytes[self.current] = self.megabytes.get(self.current, 0.0) + memory - self.before
        ended, self.current, self.since, self.before = self.current, phase, now, memory
        return ended

    @contextmanager
    def inside(self, phase: str) -> Iterator[None]:
        outer = self.enter(phase)
        try:
            yield
        finally:
            self.enter(outer)

    def within(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, counted as a phase."""

        def counted(*args: Any, **kwargs: Any) -> Any:
            with self.inside(phase):
                return function(*args, **kwargs)

        return counted

    def watch_compiler(self) -> None:
        """Count tracing, the compiler's passes, loading what it needs (Numba above all), and making kernels."""
        from staticgrad.compiler import jit
        from staticgrad.compiler.program import Program
        from staticgrad.tracing.function import CompiledFunction

        for name in ("load", "library", "module"):
            setattr(jit, name, self.within("kernels", getattr(jit, name)))
        plan = self.within("passes", Program.plan)

        def loaded_and_planned(*args: Any) -> Any:
            with self.inside("load compiler"):
                for name in ("numba", "scipy.linalg.cython_blas", "networkx", "staticgrad.compiler.pipeline"):
                    import_module(name)
            return plan(*args)

        Program.plan = loaded_and_planned  # type: ignore[method-assign]
        CompiledFunction._trace = self.within("trace", CompiledFunction._trace)  # type: ignore[method-assign]
