"""Every elementwise function at special points: 0 of both signs, kinks, thresholds, ends of domains, infinities, NaN, ties.

The functions are found, not listed: the public ones that take one to three floating tensors and return one of the same shape.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import staticgrad as sg
from staticgrad.eager import Tensor
from staticgrad.errors import StaticgradError
from staticgrad.operators import SPECIAL, F

nan, inf = np.nan, np.inf
ONE = (
    *(
        nan,
        inf,
        -inf,
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        6.0,
        20.0,
        20.5,
        -20.0,
        89.0,
        -104.0,
        1e-40,
        1e-30,
    ),
    *(-1e-30, 3e38, -3e38, 0.25, -0.25, 1.5, 0.999, 710.0, -750.0),
)
TWO = nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 1e-40, 3e38, 100.0
THREE = nan, inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0

SPACES: dict[str, Callable[[Any], Any]] = {
    "": lambda m: m,
    "special": lambda m: m.special,
    "functional": lambda m: m.nn.functional,
}
FUNCTIONS = {"": dir(F), "special": list(SPECIAL), "functional": sg.nn.functional.__all__}
"""The names of functions of tensors."""
LEFT_OUT = frozenset({
    *("alpha_dropout", "bernoulli", "binomial", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"),
    *("gumbel_softmax", "normal", "poisson", "rand_like", "randn_like", "rrelu", "empty_like"),
    *("as_tensor", "asarray", "print", "tensor", "scalar_tensor", "from_dlpack"),
    *("bucketize", "searchsorted", "cdist", "chain_matmul", "cumsum", "flip", "flipud", "linear", "log_softmax", "msort"),
    *("nanquantile", "normalize", "quantile", "slice_scatter", "softmax", "softmin", "unique"),
})  # fmt: skip
"""Functions that draw, make tensors, or look at more than one element."""


class Call(NamedTuple):
    """A function of so many operands."""

    space: str
    name: str
    operands: int

    def of(self, module: Any) -> Any:
        """The function of this name in a library. Raises AttributeError."""
        return getattr(SPACES[self.space](module), self.name)

    def __str__(self) -> str:
        return f"{self.space}.{self.name}/{self.operands}".lstrip(".")


def points(operands: int, dtype: str) -> list[np.ndarray]:
    """All combinations of the special points."""
    values = (ONE, TWO, THREE)[operands - 1]
    return [a.reshape(-1).astype(dtype) for a in np.meshgrid(*[values] * operands)]


@functools.cache
def calls() -> tuple[Call, ...]:
    """What is found. A function with several names is there once, and none that changes its operand."""
    found: list[Call] = []
    seen: set[tuple[int, int]] = set()
    for space, room in SPACES.items():
        for name in sorted(FUNCTIONS[space]):
            function = getattr(room(sg), name, None)
            if name.startswith("_") or name.endswith("_") or name in LEFT_OUT or isinstance(function, type):
                continue
            for operands in (1, 2, 3):
                key = id(inspect.unwrap(function)) if callable(function) else 0, operands
                if key[0] and key not in seen and _elementwise(function, operands):
                    seen.add(key)
                    found.append(Call(space, name, operands))
    return tuple(found)


def _elementwise(function: Any, operands: int) -> bool:
    arrays = [np.roll([0.25, -0.5, 0.75, -0.125], i) for i in range(operands)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*map(Tensor, arrays))
    except (StaticgradError, TypeError, ValueError, AttributeError, LookupError):
        return False
    if not isinstance(result, Tensor) or tuple(result.shape) != (4,) or result.dtype.kind != "f":
        return False
    return not np.array_equal(result.detach().numpy(), arrays[0])


Parts = dict[tuple[str, tuple[int, ...]], np.ndarray]
"""Results by their kind - "value", "gradient", "second gradient" - and the operands by which they are differentiated."""


def weights(array: np.ndarray, turn: float) -> np.ndarray:
    """Cotangents, of which none is 0."""
    return (1.5 + np.cos(turn * np.arange(array.size))).astype(array.dtype).reshape(array.shape)


def parts(grad: Callable[..., Any], function: Any, operands: Sequence[Any]) -> Parts:
    """The value and the gradients that exist, of either library. grad(y, xs, cotangent, create_graph) raises RuntimeError where
    there are none."""
    y = function(*operands)
    found = {("value", ()): y.detach().numpy()}
    like = found["value", ()]
    for i, g in enumerate(_gradients(grad, y, operands, weights(like, 1.0), True)):
        if g is None:
            continue
        found["gradient", (i,)] = g.detach().numpy()
        for j, h in enumerate(_gradients(grad, g, operands, weights(like, 1.7), False)):
            if h is not None:
                found["second gradient", (i, j)] = h.detach().numpy()
    return found


def _gradients(grad: Callable[..., Any], y: Any, xs: Sequence[Any], cotangent: np.ndarray, again: bool) -> Sequence[Any]:
    try:
        result: Sequence[Any] = grad(y, xs, cotangent, again) if y.requires_grad else ()
    except RuntimeError:
        return ()
    return result


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where two results agree, NaN with NaN. Zeros of either sign and denormals are equal."""
    limits = np.finfo(a.dtype)
    tolerance = 2e-5 if a.dtype == np.float32 else 1e-7
    with np.errstate(all="ignore"):
        close: np.ndarray = np.isclose(a, b, rtol=tolerance, atol=float(limits.tiny), equal_nan=True)
    return close


def told(places: np.ndarray, operands: Sequence[np.ndarray], mine: np.ndarray, other: np.ndarray) -> str:
    """The first differences, as text."""
    few = np.flatnonzero(places)[:4]
    return "; ".join(f"at {', '.join(f'{x[i]:g}' for x in operands)}: {mine[i]:g}, not {other[i]:g}" for i in few)
