"""One program run twice: eagerly and under `sg.compile`. After every call everything has to be the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager import generator
from staticgrad.tracing import CompiledFunction, mentions
from tests.helpers import assert_same, values_of


class Program(NamedTuple):
    """A function to compile, and what it may change: tensors by name, and optimizers."""

    step: Callable[..., Any]
    tensors: Mapping[str, Any] = {}
    optimizers: tuple[Any, ...] = ()


def batch(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def labels(n: int, classes: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, classes, n)


def watched_by(watcher: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have traces watched by the strict or the portable watcher, without the one warning of the latter."""
    monkeypatch.setenv("STATICGRAD_WATCHER", watcher)
    monkeypatch.setattr(mentions, "_warned", {"another function"})


def of(model: Any) -> dict[str, Any]:
    """The tensors of a module by name."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def state(program: Program) -> dict[str, Any]:
    """What a call may have changed, as arrays."""
    found: dict[str, Any] = {"generator": generator.state}
    for name, tensor in program.tensors.items():
        found[name] = values_of(tensor).copy()
        found[f"{name}.grad"] = None if tensor.grad is None else values_of(tensor.grad).copy()
    for i, optimizer in enumerate(program.optimizers):
        saved = optimizer.state_dict()
        for number, slots in saved["state"].items():
            for name, slot in slots.items():
                found[f"optimizer {i}, slot {name} of {number}"] = values_of(slot).copy()
    return found


def agree(
    make: Callable[[], Program],
    calls: Iterable[Any],
    between: Callable[[Program], Any] = lambda program: None,
    compiled: Callable[..., Any] = sg.compile,
) -> CompiledFunction:
    """Run `make()`'s step on all `calls` (tuples of arguments, or functions that make them), eagerly and compiled.

    `between(program)` runs after each call. Returns the compiled function.
    """
    calls = list(calls)
    runs = []
    for wrap in (lambda step: step, compiled):
        sg.manual_seed(1)
        program = make()
        step = wrap(program.step)
        sg.manual_seed(2)
        history = []
        for call in calls:
            args = call(program) if callable(call) else call
            result = step(*args)
            history.append((snapshot(result), snapshot(list(args)), state(program)))
            between(program)
        runs.append(history)
    for i, (eager, traced) in enumerate(zip(*runs, strict=True)):
        for expected, actual, what in zip(eager, traced, ("result", "arguments", "state"), strict=True):
            assert_same(actual, expected, f"call {i}, {what}")
    return step  # type: ignore[return-value]


def snapshot(x: Any) -> Any:
    """A copy that later calls can't change."""
    if isinstance(x, sg.Tensor):
        return sg.as_tensor(values_of(x).copy())
    if isinstance(x, np.ndarray):
        return x.copy()
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(snapshot, x))
    if isinstance(x, (list, tuple)):
        return type(x)(map(snapshot, x))
    if isinstance(x, dict):
        return {key: snapshot(part) for key, part in x.items()}
    return x
