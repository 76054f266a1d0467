"""Where the time of a first step goes: phases that nest, each counted without those inside it; and what memory modules took."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .memory import resident


class Phases:
    """`seconds` by phase. `enter` ends one phase and begins the next; `inside` interrupts it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.loaded = 0.0
        """Megabytes: see `watch_imports`."""
        self.current = ""
        self.since = time.monotonic()

    def enter(self, phase: str) -> str:
        """Returns the phase that ended."""
        now = time.monotonic()
        if self.current:
            self.seconds[self.current] = self.seconds.get(self.current, 0.0) + now - self.since
        ended, self.current, self.since = self.current, phase, now
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

    def watch_imports(self) -> None:
        """Count modules that are loaded from now on as a phase "load", and what memory each took with all that it did, such as
        starting a compiler, as `loaded`. Frameworks put much of this off until it is needed.

        Wraps importlib's own function, through which statements and `import_module` go where a module is not there yet.
        """
        bootstrap: Any = importlib._bootstrap  # type: ignore[attr-defined]
        find_and_load = bootstrap._find_and_load
        depth = 0

        def counted(*args: Any) -> Any:
            nonlocal depth
            if self.current == "load":
                return find_and_load(*args)
            before, depth = resident(), depth + 1
            try:
                with self.inside("load"):
                    return find_and_load(*args)
            finally:
                depth -= 1
                if depth == 0:
                    self.loaded += resident() - before

        bootstrap._find_and_load = counted

    def watch_compiler(self) -> None:
        """Count tracing, the compiler's passes, and making kernels."""
        from staticgrad.compiler.backend import kernel_cache
        from staticgrad.compiler.program import Program
        from staticgrad.tracing.function import CompiledFunction

        kernel_cache.load = self.within("kernels", kernel_cache.load)
        Program.plan = self.within("passes", Program.plan)  # type: ignore[method-assign]
        CompiledFunction._trace = self.within("trace", CompiledFunction._trace)  # type: ignore[method-assign]
