"""The random generator: a seed and a draw counter; the numbers come from the ops in `ops/random.py`.

Each random op takes the next draw. Eager programs, sessions and compiled steps count draws in program order, so the
same program draws the same numbers in every mode.

Outside of `with graph.as_default():` a draw is eager, as every tensor is that is not made of a graph's. A graph that took
such a tensor in would have one constant, the same in every run: `static/capture.py` refuses it. So eager draws are marked,
and so is what is computed from them while the default graph is being built.
"""

from __future__ import annotations

import os
import weakref
from typing import Any

import numpy as np

from ..errors import ArgumentError, DTypeError
from ..ir import OpDef
from ..locks import lock
from ..operators import F, Symbol, default_graph, frontends, public, state
from ..ops.random import Generator, Place, current, dropout_mask, generator, next_place, normal_op, uniform_op
from ..types import as_dtype, as_shape, get_default_dtype, is_number
from .execution import run
from .tensor import Tensor


class PublicGenerator(Generator):
    """`sg.Generator()`: random numbers of its own for what takes a `generator`, seeded by chance unless `manual_seed` is
    called. Raises ArgumentError for a device that is not the CPU."""

    def __init__(self, device: Any = "cpu"):
        if str(device) != "cpu":
            raise ArgumentError(f"Generator: device has to be 'cpu', got {device!r}")
        super().__init__(int.from_bytes(os.urandom(7), "little"))

    def initial_seed(self) -> int:
        """The seed that it was given last."""
        return self.seed


def manual_seed(seed: int) -> Generator:
    """Restart the generator that all modes share. Raises ArgumentError for a negative or non-integer seed."""
    _refuse_tracing("manual_seed")
    return generator.manual_seed(seed)


def _refuse_tracing(name: str) -> None:
    if frontends.tracing and state.tracer is not None:
        state.tracer.refuse(f"sg.{name} can't be traced", "call it outside the compiled function")


def _place(x: Any = None) -> Place:
    """The next draw of the graph being built, or the next one of the generator."""
    graph = None
    if frontends.tracing and state.tracer is not None:
        graph = state.tracer.graph
    elif isinstance(x, Symbol):
        graph = x.graph
    elif x is None and state.graphs:
        graph = state.graphs[-1]
    return Place(Tensor(current().take()), None, 0) if graph is None else next_place(graph)


class _Marks:
    """Eager tensors of random numbers. While the default graph has nodes, results of marked tensors are marked, too: every
    op goes through `run` here as long as a marked tensor is alive."""

    def __init__(self) -> None:
        self.lock = lock()
        self.alive = 0

    def mark(self, tensor: Any) -> Any:
        if isinstance(tensor, Tensor):
            tensor._drawn = True
            if len(default_graph()):
                with self.lock:
                    self.alive += 1
                    if self.alive == 1:
                        frontends.tracing += 1  # short paths of eager ops step aside
                        frontends.eager = self.run
                weakref.finalize(tensor, self._gone).atexit = False
        return tensor

    def run(self, op: OpDef, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        result = run(op, args, attrs)
        if any(isinstance(a, Tensor) and a._drawn and i not in op.shape_only for i, a in enumerate(args)):
            self.mark(result)
        return result

    def _gone(self) -> None:
        with self.lock:
            self.alive -= 1
            if self.alive == 0:
                frontends.tracing -= 1
                frontends.eager = run


marks = _Marks()


def _draw(op: Any, shape: tuple[Any, ...], dtype: Any) -> Any:
    extents = as_shape(shape[0] if len(shape) == 1 else shape)
    kind = get_default_dtype() if dtype is None else as_dtype(dtype)
    if kind.kind != "f":
        raise ArgumentError(f"random numbers are floating, got dtype {kind}")
    return marks.mark(_place().draw(op, shape=extents, dtype=kind))


def _with_grad(x: Any, requires_grad: bool) -> Any:
    return x.requires_grad_(True) if requires_grad else x


def rand(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
    """Uniform in [0, 1), the same numbers in every mode; 24 random bits in float32, 53 in float64.

    Inside `with graph.as_default():`, and in `sg.compile`, drawn anew in each run; elsewhere now, an eager tensor, which a
    graph refuses to take for a constant (GraphError).
    """
    return _with_grad(_draw(uniform_op, shape, dtype), requires_grad)


def randn(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
    """Standard normal (Box-Muller), the same numbers in every mode; drawn when `rand` is."""
    return _with_grad(_draw(normal_op, shape, dtype), requires_grad)


def randint(low: int, high: int | None = None, shape: Any = (), dtype: Any = np.int64) -> Any:
    """Integers in [low, high), or [0, low) when `high` is left out; drawn when `rand` is."""
    low, high = (0, low) if high is None else (low, high)
    if high <= low:
        raise ArgumentError(f"randint: need low < high, got {low} and {high}")
    u = _draw(uniform_op, (as_shape(shape),), np.float64)
    return F.astype(F.astype(F.floor(u * (high - low)), np.int64) + low, dtype)  # low is added exactly


def randperm(n: int) -> Tensor:
    """A random order of 0 ... n-1, int64; drawn now in graphs, too, which refuse to take it for a constant."""
    _refuse_tracing("randperm")
    (n,) = as_shape((n,))
    keys = Place(Tensor(current().take()), None, 0).draw(uniform_op, shape=(n,), dtype=np.dtype(np.float64))
    return marks.mark(Tensor(np.argsort(keys._data, kind="stable").astype(np.int64)))


@public
def dropout(x: Any, p: float = 0.5, training: bool = True) -> Any:
    """Zero each element with probability p and scale the rest by 1 / (1 - p); x itself when not training.

    Raises ArgumentError unless 0 <= p <= 1.
    """
    if not is_number(p) or not 0 <= p <= 1:
        raise ArgumentError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return x
    if x.dtype.kind != "f":
        raise DTypeError(f"dropout: x has to be floating, got {x.dtype}")
    if p == 1:
        return F.where(False, x, 0)
    return dropout_mask(x, marks.mark(_place(x).draw(uniform_op, x, shape=None, dtype=x.dtype)), p)
