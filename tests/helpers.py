"""Shared by all tests: samples, numerical gradients, and the comparison of results."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.base.types import TensorType
from staticgrad.compiler.backend import disk_cache, kernel_cache
from staticgrad.eager import Tensor
from staticgrad.eager.calls.kernels import PlannedCall
from staticgrad.eager.grad_mode import modes
from staticgrad.ir import Graph
from staticgrad.operators import Symbol, append
from staticgrad.ops.leaves import placeholder


def raised(error: Any, text: str) -> Any:
    """A context in which an error of this class is raised whose text begins with these words."""
    return pytest.raises(error, match="^" + re.escape(text))


@dataclass(frozen=True)
class Arg:
    """An operand to draw: `kind` "real" in [low, high), "int" in [low, high), or "bool"."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    kind: str = "real"

    def draw(self, rng: np.random.Generator, dtype: Any) -> np.ndarray:
        if self.kind == "bool":
            return rng.random(self.shape) < 0.5
        if self.kind == "int":
            return rng.integers(int(self.low), int(self.high), self.shape, np.int64)
        return rng.uniform(self.low, self.high, self.shape).astype(dtype)


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Arg:
    return Arg(shape, low, high)


def positive(*shape: int) -> Arg:
    return Arg(shape, 0.3, 2.0)


def integer(*shape: int, low: int, high: int) -> Arg:
    return Arg(shape, low, high, "int")


def boolean(*shape: int) -> Arg:
    return Arg(shape, kind="bool")


def sweep(cases: Iterable[Any], kept: Callable[[int, Any], bool]) -> list[Any]:
    """Parameters of a test, of which `pytest` takes those that are kept, by their numbers or themselves, and `pytest -m sweep`
    the others. A tuple is a row of parameters."""

    def swept(case: Any) -> Any:
        return pytest.param(*(case if type(case) is tuple else (case,)), marks=pytest.mark.sweep)

    return [case if kept(i, case) else swept(case) for i, case in enumerate(cases)]


def rng_of(name: str) -> np.random.Generator:
    """A generator that depends on a test's name alone."""
    return np.random.default_rng(zlib.crc32(name.encode()))


RTOL = {np.dtype(kind): 1e-12 if kind in ("f8", "c16") else 2e-5 for kind in ("f4", "f8", "c8", "c16")}
"""How far results of a plan may be from those of eager mode, as a part of the largest element."""


def values_of(x: Any) -> np.ndarray:
    """The array of a tensor, detached; other values as they are."""
    return x.detach().numpy() if isinstance(x, Tensor) else np.asarray(x)


def assert_close(
    actual: Any, expected: Any, rtol: float | None = 0.0, atol: float | None = None, what: str = "", signs: bool = False
) -> None:
    """Same shape and dtype, and values within `rtol` of the largest expected one, or 1 (NaN equals NaN).

    rtol: 0 asks for equal values, None for the tolerance of the dtype in `RTOL`; integers and booleans have to be equal. signs:
    zeros have the same signs, too.
    """
    actual, expected = values_of(actual), values_of(expected)
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, expected {expected.shape}"
    assert actual.dtype == expected.dtype, f"{what}: dtype {actual.dtype}, expected {expected.dtype}"
    if signs and expected.dtype.kind == "f":
        zero = expected == 0
        np.testing.assert_array_equal(np.signbit(actual[zero]), np.signbit(expected[zero]), err_msg=f"{what}: sign of zero")
    if rtol is None:
        rtol = RTOL.get(expected.dtype, 0.0)
    if expected.dtype.kind not in "fc" or (rtol == 0.0 and atol is None):
        np.testing.assert_array_equal(actual, expected, err_msg=what)
        return
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max()) if finite.size else 0.0
    atol = rtol * max(scale, 1.0) if atol is None else atol
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol, err_msg=what)


def assert_same(actual: Any, expected: Any, what: str = "", rtol: float | None = None, signs: bool = False) -> None:
    """Equal structures of equal types; tensors and arrays in them as `assert_close` compares them."""
    if isinstance(expected, (sg.Tensor, np.ndarray)):
        assert isinstance(actual, sg.Tensor) or type(actual) is type(expected), f"{what}: {type(actual)}"
        assert_close(actual, expected, rtol, what=what, signs=signs)
        return
    assert type(actual) is type(expected), f"{what}: {type(actual)}, expected {type(expected)}"
    if isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected), what
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            assert_same(a, b, f"{what}[{i}]", rtol, signs)
    elif isinstance(expected, dict):
        assert list(actual) == list(expected), what
        for key in expected:
            assert_same(actual[key], expected[key], f"{what}[{key!r}]", rtol, signs)
    else:
        equal = repr(actual) == repr(expected) if signs else actual == expected
        assert equal, f"{what}: {actual!r}, expected {expected!r}"


def taken() -> dict[Any, Any]:
    """The calls of eager operations in this thread whose plans have taken over, by key."""
    return {key: call for key, call in known(PlannedCall).items() if not call.waits}


def known(kind: type) -> dict[Any, Any]:
    """What this thread's table of calls has of a class, by key."""
    return {key: value for key, value in modes.now.calls.everything().items() if isinstance(value, kind)}


def load_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this a process that has loaded no kernel, and has none at hand that another test asked for."""
    monkeypatch.setattr(kernel_cache, "_loaded", {})
    monkeypatch.setattr(disk_cache, "_delivered", {})


def directional(fn: Callable[..., np.ndarray], point: Sequence[np.ndarray], along: Sequence[np.ndarray]) -> np.ndarray:
    """d fn(point + t * along) / dt at t = 0 in float64: central differences, extrapolated once (error of order h^4)."""

    def slope(h: float) -> np.ndarray:
        ahead = fn(*(p + h * a for p, a in zip(point, along, strict=True)))
        behind = fn(*(p - h * a for p, a in zip(point, along, strict=True)))
        return (np.asarray(ahead, np.float64) - np.asarray(behind, np.float64)) / (2 * h)

    h = 1e-3
    return (4 * slope(h / 2) - slope(h)) / 3


def placeholders(graph: Graph, arrays: Sequence[np.ndarray], shapes: Sequence[Any]) -> list[Symbol]:
    """A placeholder for each array, of the given shape (with None for unknown extents)."""
    return [
        append(graph, placeholder, (), {"type": TensorType(tuple(shape), array.dtype)}, name=f"x{i}")
        for i, (array, shape) in enumerate(zip(arrays, shapes, strict=True))
    ]


def tensorflow1() -> Any:
    """TensorFlow with the behavior of version 1, or the test is skipped."""
    tf = pytest.importorskip("tensorflow").compat.v1
    tf.disable_v2_behavior()
    return tf
