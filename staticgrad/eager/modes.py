"""Whether operations are recorded, and whether gradients are watched for NaN; per thread."""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np


class Mode:
    """grad: operations are recorded; anomaly: gradients are watched for NaN; arrays: a backward pass is computing on
    bare arrays, so ops of arrays give arrays; quiet: calls a function with NumPy's floating-point warnings off."""

    __slots__ = ("anomaly", "arrays", "grad", "quiet")

    def __init__(self) -> None:
        self.grad = True
        self.anomaly = False
        self.arrays = False
        # NumPy keeps its error state in a context variable. Entering a context that is ready takes 0.1 us, np.errstate
        # 1 us. The caller's own state is left alone.
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        self.quiet: Callable[..., Any] = context.run


class Modes(threading.local):
    """`now`: the mode of this thread (hot paths look a thread's attributes up once)."""

    def __init__(self) -> None:
        self.now = Mode()

    @property
    def grad(self) -> bool:
        return self.now.grad

    @grad.setter
    def grad(self, value: bool) -> None:
        self.now.grad = value


modes = Modes()


def is_grad_enabled() -> bool:
    """Whether operations in this thread are recorded."""
    return modes.now.grad


class set_grad_enabled:
    """Switch recording; as a statement for good, as a context manager until its end."""

    def __init__(self, enabled: bool):
        self.saved = modes.now.grad
        modes.now.grad = bool(enabled)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        modes.now.grad = self.saved


class _Switch:
    """A context manager that is a decorator too."""

    enabled: bool

    def __enter__(self) -> None:
        self.saved = modes.now.grad
        modes.now.grad = self.enabled

    def __exit__(self, *error: Any) -> None:
        modes.now.grad = self.saved

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        switch = type(self)

        @functools.wraps(fn)
        def switched(*args: Any, **kwargs: Any) -> Any:
            with switch():
                return fn(*args, **kwargs)

        return switched


class no_grad(_Switch):
    """Operations are not recorded: `with sg.no_grad(): ...`, or as a decorator."""

    enabled = False


class enable_grad(_Switch):
    """Operations are recorded, inside a `no_grad` too."""

    enabled = True


class detect_anomaly:
    """Record each operation's line, and raise AnomalyError at the first NaN that a backward function returns."""

    def __enter__(self) -> None:
        self.saved = modes.now.anomaly
        modes.now.anomaly = True

    def __exit__(self, *error: Any) -> None:
        modes.now.anomaly = self.saved
