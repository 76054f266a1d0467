"""Cases, backends, and the functions that run a case on a backend.

A case is data and first values, the same for all; a file in `cases/` holds it and its implementations, which import
their framework when they are called. What is added there appears in every measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """`arrays()` makes the data; losses after `steps` steps have to agree to `tolerance` (relative)."""

    name: str
    about: str
    arrays: Callable[[], Arrays]
    steps: int = 100
    tolerance: float = 1e-3


@dataclass(frozen=True)
class Backend:
    """A way to run a case.

    peer: what it stands for in ratios, where the fastest of a peer's backends counts; None for our own. variant: it
    differs from another backend in its steps alone, so that its start is not measured.
    """

    name: str
    about: str
    package: str = "staticgrad"
    peer: str | None = None
    variant: bool = False


class Job(NamedTuple):
    """A case made ready on a backend."""

    step: Callable[[], float]
    """Takes the next batch and reads the loss."""
    enter: Callable[[], Any] = lambda: None
    """Called before a series of steps, as several backends of one process may share settings."""
    compiled: Any = None
    """Our compiled function, where there is one."""


BACKENDS = (
    Backend("compiled", "the eager step under @sg.compile"),
    Backend("callable", "Session.make_callable", variant=True),
    Backend("session", "Session.run"),
    Backend("eager", "eager"),
    Backend("jax", "JAX: jit, state donated, synchronous dispatch", "jax", "JAX"),
    Backend("jax-device", "the same, batches on its device beforehand", "jax", "JAX, batches placed", True),
    Backend("torch", "PyTorch eager, fused optimizer, 1 thread", "torch", "PyTorch"),
    Backend("torch-2", "the same, 2 threads", "torch", "PyTorch", True),
)

CASES: dict[str, Case] = {}
IMPLEMENTATIONS: dict[tuple[str, str], Callable[[Arrays], Job]] = {}


def add_case(case: Case) -> Case:
    CASES[case.name] = case
    return case


def implements(case: Case, *backends: str) -> Callable[[Any], Any]:
    """Register `function(arrays) -> Job`, or `function(arrays, backend)` when it serves several."""

    def register(function: Any) -> Any:
        for name in backends:
            IMPLEMENTATIONS[case.name, name] = (
                function if len(backends) == 1 else lambda arrays, name=name: function(arrays, name)
            )
        return function

    return register


def backends_of(case: Case, chosen: list[str] | None = None) -> Iterator[Backend]:
    """Those that implement the case and are installed."""
    for backend in BACKENDS:
        wanted = chosen is None or backend.name in chosen
        if wanted and (case.name, backend.name) in IMPLEMENTATIONS and find_spec(backend.package) is not None:
            yield backend
