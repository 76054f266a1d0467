"""Steps that are run ten times eagerly and compiled, with a change halfway: results, errors, prints and state agree."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim


class Case(NamedTuple):
    """call: of the i-th step; state: what steps may change; change: between two calls."""

    call: Callable[[int], Any]
    state: Callable[[], Any] = lambda: None
    change: Callable[[], Any] = lambda: None


def plain(x: Any) -> Any:
    """Tensors and arrays as nested tuples with their dtypes, in any nesting."""
    if isinstance(x, sg.Tensor):
        grad = plain(x.grad) if x.is_leaf and x.grad is not None else None
        return "tensor", str(x.dtype), x.requires_grad, tuple(x.shape), x.detach().numpy().copy(), grad
    if isinstance(x, np.ndarray | np.generic):
        return "array", str(x.dtype), x.shape, np.array(x)
    if isinstance(x, dict):
        return {name: plain(value) for name, value in x.items()}
    if isinstance(x, list | tuple | deque):
        return type(x), [plain(value) for value in x]
    return type(x), x


def assert_alike(a: Any, b: Any, path: str) -> None:
    if isinstance(a, np.ndarray):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5, err_msg=path)
    elif isinstance(a, dict):
        assert list(a) == list(b), path
        for name in a:
            assert_alike(a[name], b[name], f"{path}.{name}")
    elif isinstance(a, list | tuple):
        assert (type(a), len(a)) == (type(b), len(b)), (path, a, b)
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_alike(x, y, f"{path}[{i}]")
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-5, abs=1e-5, nan_ok=True), (path, a, b)
    else:
        assert (type(a), a) == (type(b), b), (path, a, b)


def observed(make: Callable[[Any], Case], compiles: Any, output: Callable[[], str]) -> list[Any]:
    """After each of ten calls: the result or the error, what was printed, and the state."""
    sg.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    run, rows = make(compiles), []
    for i in range(10):
        if i == 5:
            run.change()
        try:
            found = plain(run.call(i))
        except (ArithmeticError, AssertionError, LookupError, RuntimeError, ValueError, TypeError) as error:
            found = type(error).__name__, str(error).partition("\n")[0]
        rows.append((found, output(), plain(run.state())))
    return rows


def assert_agreement(make: Callable[[Any], Case], capsys: Any) -> None:
    """The step of `make`, compiled by what it is given, does what it does eagerly."""

    def output() -> str:
        text: str = capsys.readouterr().out
        return text

    expected = observed(make, lambda fn: fn, output)
    for compiles in (sg.compile, lambda fn: sg.compile(fn, on_break="split")):
        found = observed(make, compiles, output)
        for i, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
            assert_alike(mine, theirs, f"call {i}")


# what the steps train ------------------------------------------------------------------------------------------------------


def x_of(i: int, rows: int = 6, width: int = 4) -> sg.Tensor:
    return sg.from_numpy(np.random.default_rng(i).normal(size=(rows, width)).astype("float32"))


def y_of(i: int, rows: int = 6) -> sg.Tensor:
    return sg.from_numpy(np.random.default_rng(100 + i).integers(0, 3, rows))


def network(seed: int = 0, dropout: float = 0.0, norm: bool = False) -> nn.Module:
    layers = [nn.Linear(4, 8), nn.BatchNorm1d(8) if norm else nn.Identity(), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 3)]
    model = nn.Sequential(*layers)
    rng = np.random.default_rng(seed)
    with sg.no_grad():
        for p in model.parameters():
            p.copy_(sg.from_numpy(rng.normal(0, 0.4, p.shape).astype("float32")))
    return model


def state_of(*things: Any) -> Callable[[], Any]:
    def state() -> Any:
        return [
            x.state_dict() if isinstance(x, optim.Optimizer) else {**dict(x.named_parameters()), **dict(x.named_buffers())}
            if isinstance(x, nn.Module) else x
            for x in things
        ]  # fmt: skip

    return state
