"""What tests share: samples, numerical gradients, and one comparison."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from staticgrad.ir import Graph
from staticgrad.operators import Symbol, append
from staticgrad.ops.leaves import placeholder
from staticgrad.types import TensorType


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


def rng_of(name: str) -> np.random.Generator:
    """A generator that depends on a test's name alone."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def assert_close(actual: Any, expected: Any, rtol: float = 0.0, atol: float | None = None, what: str = "") -> None:
    """Same shape and dtype, and values within `rtol` of the largest expected one (NaN equals NaN); 0: equal."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, expected {expected.shape}"
    assert actual.dtype == expected.dtype, f"{what}: dtype {actual.dtype}, expected {expected.dtype}"
    if rtol == 0.0 and atol is None:
        np.testing.assert_array_equal(actual, expected, err_msg=what)
        return
    finite = np.abs(expected[np.isfinite(expected)]) if expected.dtype.kind == "f" else np.abs(expected)
    scale = float(finite.max()) if finite.size else 0.0
    atol = rtol * max(scale, 1.0) if atol is None else atol
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol, err_msg=what)


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
