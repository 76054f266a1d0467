"""One program in every mode: eager, the interpreter, a Session and a compiled function, both fast and strict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad.eager import Tensor
from staticgrad.operators import Symbol
from staticgrad.tracing.traced import Traced
from tests.helpers import placeholders
from tests.ops.test_cases import run_interpreter

Program = Callable[..., Sequence[Any]]


def slopes(y: Any, xs: Sequence[Any]) -> list[Any]:
    """The gradient of the sum of y by each x, recorded; zeros where y does not depend on x."""
    if isinstance(y, Symbol) and not isinstance(y, Traced):
        found = sg.gradients([y], list(xs))
    elif not y.requires_grad:
        found = [None] * len(xs)
    else:
        found = sg.grad(y.sum() if y.shape else y, list(xs), create_graph=True, allow_unused=True)
    return [x * 0 if g is None else g for g, x in zip(found, xs, strict=True)]


def leaves(arrays: Sequence[np.ndarray]) -> list[Tensor]:
    return [Tensor(a.copy(), requires_grad=a.dtype.kind == "f") for a in arrays]


def eager(program: Program, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [r.detach().numpy() for r in program(*leaves(arrays))]


def interpreter(program: Program, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    graph = sg.Graph()
    xs = placeholders(graph, arrays, [a.shape for a in arrays])
    return run_interpreter(graph, [r.node for r in program(*xs)], [x.node for x in xs], list(arrays))


def session(program: Program, arrays: Sequence[np.ndarray], numerics: str) -> list[np.ndarray]:
    with sg.Graph().as_default():
        xs = [sg.placeholder(a.dtype, a.shape) for a in arrays]
        results = list(program(*xs))
        with sg.Session(numerics=numerics) as sess:
            return [np.asarray(v) for v in sess.run(results, dict(zip(xs, arrays, strict=True)))]


def compiled(program: Program, arrays: Sequence[np.ndarray], numerics: str) -> list[np.ndarray]:
    function = sg.compile(lambda *xs: tuple(program(*xs)), numerics=numerics)
    return [r.detach().numpy() for r in function(*leaves(arrays))]


def segments(program: Program, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A compiled function that Python leaves after 10 and 100 results, to look at a number; its second call."""

    def step(*xs: Any) -> tuple[Any, ...]:
        results: list[Any] = []
        for result in program(*xs):
            results.append(result)
            if len(results) in (10, 100):
                float(result.detach().ravel()[0])
        return tuple(results)

    function = sg.compile(step, on_break="split")
    function(*leaves(arrays))
    return [r.detach().numpy() for r in function(*leaves(arrays))]


MODES: dict[str, Callable[[Program, Sequence[np.ndarray]], list[np.ndarray]]] = {
    "interpreter": interpreter,
    "session": lambda program, arrays: session(program, arrays, "fast"),
    "strict session": lambda program, arrays: session(program, arrays, "strict"),
    "compiled": lambda program, arrays: compiled(program, arrays, "fast"),
    "strict compiled": lambda program, arrays: compiled(program, arrays, "strict"),
}
"""All but eager mode, with which they are compared."""
