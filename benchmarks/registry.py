"""Cases, backends, and the functions that run a case on a backend.

A case is data and first values, the same for all; a file in `cases/` holds a family of them and its implementations,
which import their framework when they are called. What is added there appears in every measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

Arrays = dict[str, np.ndarray]


class Product(NamedTuple):
    """A matrix product (m, k) @ (k, n) of a case's step."""

    m: int
    k: int
    n: int


@dataclass(frozen=True)
class Case:
    """`arrays()` makes the data; what is computed after `steps` steps has to agree to `tolerance` (relative).

    target: how many times faster than the fastest peer our fastest mode is to be. large: the memory allocator decides
    much, so that the case is measured with malloc's own settings and with thresholds raised. traffic: bytes that a step
    has to move at least, for cases bound by memory; bandwidth: the share of the machine's that is to be reached.
    products: the matrix products of a step, for cases bound by them; blas: the share of the step that they are to take.
    environment: for all backends alike. unseen: the group of workloads that it belongs to, 0 for the library's own suite.
    """

    name: str
    about: str
    arrays: Callable[[], Arrays]
    steps: int = 20
    tolerance: float = 1e-3
    target: float = 1.0
    large: bool = False
    traffic: int = 0
    bandwidth: float | None = None
    products: tuple[Product, ...] = ()
    blas: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    unseen: int = 0


@dataclass(frozen=True)
class Backend:
    """A way to run a case. imports: what a process imports first; ours: one of this library's modes; floor: shown, not a
    peer."""

    name: str
    about: str
    imports: tuple[str, ...]
    ours: bool = False
    floor: bool = False

    @property
    def peer(self) -> bool:
        return not (self.ours or self.floor)


class Job(NamedTuple):
    """A case made ready on a backend."""

    step: Callable[[], Any]
    """Takes the next inputs; returns what it computed as floats and NumPy arrays, one or a tuple."""
    state: Callable[[], Mapping[str, Any]] = dict
    """What steps leave behind, by name: parameters (named as in the case's arrays), gradients."""
    compiled: Any = None
    """Our compiled function, where there is one."""


_OURS = ("staticgrad", "staticgrad.functional", "staticgrad.nn", "staticgrad.optim")
BACKENDS = {
    b.name: b
    for b in (
        Backend("compiled", "the eager step under @sg.compile", (*_OURS, "staticgrad.tracing"), ours=True),
        Backend("session", "sg.Session: run, make_callable", (*_OURS, "staticgrad.static"), ours=True),
        Backend("eager", "the step, eager", _OURS, ours=True),
        Backend("tf1", "TensorFlow 1's dialect of ours", ("staticgrad.compat.tf1",), ours=True),
        Backend("jax", "JAX jit, state donated", ("jax", "jax.numpy")),
        Backend("torch", "PyTorch eager, fused optimizers", ("torch",)),
        Backend("torch.compile", "PyTorch, whole step compiled", ("torch",)),
        Backend("tensorflow", "TensorFlow's compat.v1 Sessions", ("tensorflow.compat.v1",)),
        Backend("pytensor", "PyTensor, Numba mode", ("pytensor", "pytensor.tensor")),
        Backend("numpy", "NumPy, by hand", (), floor=True),
    )
}

CASES: dict[str, Case] = {}


class Implementation(NamedTuple):
    function: Callable[[Arrays, str, str], Job]
    variants: tuple[str, ...]


IMPLEMENTATIONS: dict[tuple[str, str], Implementation] = {}


def add_cases(*cases: Case) -> tuple[Case, ...]:
    CASES.update((case.name, case) for case in cases)
    return cases


Variants = tuple[str, ...] | Callable[[Case], tuple[str, ...]]
"""The same for all cases of a family, or by case."""


def implements(cases: Iterable[Case], *backends: str, variants: Variants = ("",)) -> Callable[[Any], Any]:
    """Register `function(arrays, backend, variant) -> Job`. variants: settings of which the fastest counts."""

    def register(function: Any) -> Any:
        for case in cases:
            for backend in backends:
                chosen = variants(case) if callable(variants) else variants
                IMPLEMENTATIONS[case.name, backend] = Implementation(function, chosen)
        return function

    return register


class Entry(NamedTuple):
    """One line of a result: a case on a backend, in one of its variants, under a setting of malloc."""

    case: str
    backend: str
    variant: str
    malloc: str

    def __str__(self) -> str:
        return " ".join(filter(None, (self.case, self.backend, self.variant, self.malloc)))


MALLOC = {"": {}, "keeps": {"MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 34)}}
"""Environments by setting of malloc: its own, and one that keeps freed memory instead of returning it."""


def entries_of(case: Case, backends: Iterable[str]) -> Iterator[Entry]:
    for malloc in MALLOC if case.large else ("",):
        for backend in backends:
            if (case.name, backend) in IMPLEMENTATIONS:
                for variant in IMPLEMENTATIONS[case.name, backend].variants:
                    yield Entry(case.name, backend, variant, malloc)
