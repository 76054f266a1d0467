"""Evenly spaced numbers, between numbers or between tensors of any mode."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from ..base.types import DTypeLike, as_shape, is_number
from ..errors import ArgumentError
from ..operators import F, Options, Placement, factory, frontends, is_tensor, state
from ..operators import Tensor as AnyTensor
from .creation import _dtype, _made, _plain
from .tensor import Tensor


@factory(Placement)
def linspace(
    start: float | AnyTensor, end: float | AnyTensor | None = None, steps: int | AnyTensor | None = None,
    dtype: DTypeLike | None = None, requires_grad: bool = False, *, stop: float | AnyTensor | None = None, num: int = 50,
    **options: Unpack[Placement],
) -> AnyTensor:  # fmt: skip
    """`steps` evenly spaced values from start to end, both included. NumPy's `stop` and `num` are taken, too.

    Examples:
        >>> sg.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    last, count = stop if end is None else end, num if steps is None else steps
    if _computed(start, last):
        return F.astype(_spaced_between(start, last, count, _dtype(dtype)), _dtype(dtype))
    values = _spaced("linspace", start, last, count, _dtype(dtype))
    return _made(values.astype(_dtype(dtype)), requires_grad)


@factory(Options)
def logspace(
    start: float | AnyTensor, end: float | AnyTensor, steps: int | AnyTensor, base: float = 10.0, **options: Unpack[Options],
) -> AnyTensor:  # fmt: skip
    """base**start to base**end, with evenly spaced exponents.

    Examples:
        >>> sg.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """
    with np.errstate(all="ignore"):
        dtype = _dtype(options.get("dtype"))
        if _computed(start, end):
            first, last = (_whole(v) if dtype.kind in "iu" else v for v in (start, end))
            return F.astype(F.pow(float(base), _spaced_between(first, last, steps, np.dtype(np.float64))), dtype)
        start, end = (int(v) if dtype.kind in "iu" and is_number(v) else v for v in map(_plain, (start, end)))
        values = np.power(float(base), _spaced("logspace", start, end, steps, np.dtype(np.float64)))
        return _made(values.astype(dtype), options.get("requires_grad", False))


def _whole(value: Any) -> Any:
    """An end without its fraction."""
    return F.trunc(value) if is_tensor(value) and value.dtype.kind == "f" else value


def _computed(start: Any, stop: Any) -> bool:
    """Whether an end is a tensor without a value: one of a graph, of a trace or under a transform."""
    tracing = frontends.tracing and state.tracer is not None
    return any(is_tensor(v) and (tracing or not isinstance(v, Tensor)) for v in (start, stop))


def _spaced_between(start: Any, stop: Any, num: Any, dtype: np.dtype) -> Any:
    """As `_spaced`, of ends that are tensors without values, in float64. No gradient flows, as in PyTorch."""
    (count,) = as_shape((_plain(num),))
    first, last = (F.stop_gradient(F.astype(v, np.float64)) for v in (start, stop))
    if dtype.kind in "iu":
        first, last = F.trunc(first), F.trunc(last)
    places = np.arange(count, dtype=np.float64)
    values = first + places * ((last - first) / max(count - 1, 1))
    values = F.where(places == count - 1, last, values) if count > 1 else values
    return F.trunc(values) if dtype.kind in "iu" else values


def _spaced(name: str, start: Any, stop: Any, num: Any, dtype: np.dtype) -> np.ndarray:
    start, stop, num = map(_plain, (start, stop, num))
    for word, value in (("start", start), ("stop", stop)):
        if not is_number(value) or np.ndim(value):
            raise ArgumentError(f"{name}: {word} has to be a number, got {value!r}")
    if dtype.kind in "iu":
        start, stop = int(start), int(stop)
    (count,) = as_shape((num,))
    values = np.linspace(start, stop, count)
    return np.trunc(values) if dtype.kind in "iu" else values
