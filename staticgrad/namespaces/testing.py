"""`sg.testing`: comparisons of tensors, as PyTorch has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import as_dtype
from ..base.types import INEXACT, get_default_dtype
from ..eager import Tensor, randint, tensor
from ..errors import ArgumentError
from ..ops.operators import Operators, Symbol, state

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

TOLERANCES = {
    np.dtype(np.float32): (1.3e-6, 1e-5), np.dtype(np.float64): (1e-7, 1e-7), np.dtype(np.complex64): (1.3e-6, 1e-5),
    np.dtype(np.complex128): (1e-7, 1e-7),
}  # fmt: skip
"""(rtol, atol) by dtype; integers and booleans have to be equal."""


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None, atol: float | None = None,
    equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
    check_stride: bool = False, msg: str | Callable[[str], str] | None = None,
) -> None:  # fmt: skip
    """Raises AssertionError unless |actual - expected| <= atol + rtol |expected| everywhere; ArgumentError for one tolerance
    without the other.

    Tensors, arrays, numbers, and sequences and mappings of them. Tolerances depend on the dtype where they are not given. msg:
    the text of the error, or a function that gets the text that there would be.

    Examples:
        >>> sg.testing.assert_close(sg.tensor([1.0, 2.0]), sg.tensor([1.0, 2.0000001]))
        >>> sg.testing.assert_close(sg.tensor([1, 2]), sg.tensor([1, 3]))
        Traceback (most recent call last):
        AssertionError: Tensor-likes are not equal!
        <BLANKLINE>
        Mismatched elements: 1 / 2 (50.0%)
        Greatest absolute difference: 1 at index (1,)
        Greatest relative difference: 0.3333333333333333 at index (1,)
    """
    if (rtol is None) is not (atol is None):
        raise ArgumentError("rtol and atol must both be specified or both be unspecified", f"got rtol={rtol} and atol={atol}")
    given = None if rtol is None or atol is None else (rtol, atol)
    problem = _compared(actual, expected, given, equal_nan, check_dtype, check_stride)
    if problem is not None:
        text, path = problem
        text += f"\n\nThe failure occurred for item {path}" if path else ""
        raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg)


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True, msg: str = ""
) -> None:
    """`assert_close` as it was called before: dtypes may differ, NaN is equal to NaN."""
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg if msg else None
    )  # fmt: skip


Problem = tuple[str, str] | None
"""The text of an error, and where in nested values it is."""


def _compared(actual: Any, expected: Any, given: Any, nan: bool, check_dtype: bool, check_stride: bool) -> Problem:
    options = given, nan, check_dtype, check_stride
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, more = sorted(expected.keys() - actual.keys(), key=str), sorted(actual.keys() - expected.keys(), key=str)
        if missing or more:
            return (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {more}"
            ), ""
        return _first((f"[{key!r}]", _compared(actual[key], expected[key], *options)) for key in expected)
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", ""
        return _first((f"[{i}]", _compared(a, e, *options)) for i, (a, e) in enumerate(zip(actual, expected, strict=True)))
    for value in (actual, expected):
        if isinstance(value, Symbol):
            if state.tracer is not None:
                value.numpy(force=True)  # cuts the trace
            raise ArgumentError("assert_close: a tensor of a graph has no value", "compare what session.run returns")
    if actual is None or expected is None:
        return None if actual is expected else (f"None mismatch: {actual} is not {expected}", "")
    if isinstance(actual, str) or isinstance(expected, str):
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")
    number = not any(isinstance(v, (Operators, np.ndarray)) for v in (actual, expected))
    if not number and type(actual) is not type(expected) and not all(isinstance(v, Operators) for v in (actual, expected)):
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")
    a, e = np.asarray(_plain(actual)), np.asarray(_plain(expected))
    if a.shape != e.shape:
        return f"The values for attribute 'shape' do not match: {_size(a)} != {_size(e)}.", ""
    if check_dtype and not number and a.dtype != e.dtype:
        return f"The values for attribute 'dtype' do not match: torch.{a.dtype.name} != torch.{e.dtype.name}.", ""
    if check_stride and not number and a.strides != e.strides:
        strides = [tuple(s // v.itemsize for s in v.strides) for v in (a, e)]
        return f"The values for attribute 'stride()' do not match: {strides[0]} != {strides[1]}.", ""
    tolerances = given
    if tolerances is None:  # of numbers, those of the default dtype
        found = [
            TOLERANCES.get(get_default_dtype() if number and v.dtype.kind in INEXACT else v.dtype, (0.0, 0.0)) for v in (a, e)
        ]
        tolerances = max(found[0][0], found[1][0]), max(found[0][1], found[1][1])
    relative, absolute = tolerances
    return _difference(a, e, relative, absolute, nan, number)


def _first(found: Any) -> Problem:
    for place, problem in found:
        if problem is not None:
            return problem[0], place + problem[1]
    return None


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, Operators))


def _plain(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, Operators) else value


def _size(array: np.ndarray) -> str:
    return f"torch.Size({list(array.shape)})"


def _difference(a: np.ndarray, e: np.ndarray, rtol: float, atol: float, nan: bool, number: bool) -> Problem:
    wide = np.complex128 if "c" in (a.dtype.kind, e.dtype.kind) else np.float64
    exact = a.dtype.kind in "iub" and e.dtype.kind in "iub"
    with np.errstate(all="ignore"):
        if exact:
            far: Any = a.astype(np.int64) != e.astype(np.int64)
            off: Any = np.abs(a.astype(np.int64) - e.astype(np.int64))
        else:
            far = ~np.isclose(a.astype(wide), e.astype(wide), rtol, atol, equal_nan=nan)
            own = np.result_type(a, e)
            off = np.abs(a.astype(own) - e.astype(own))
        if exact and (rtol or atol):
            far = off > atol + rtol * np.abs(e.astype(wide))
        if not far.any():
            return None
        relative = off / np.abs(e.astype(np.float64 if exact else own))
    strict = not rtol and not atol
    kind = "equal" if strict else "close"
    up_to = ("", "") if strict else (f" (up to {atol} allowed)", f" (up to {rtol} allowed)")
    if number or not a.shape:
        return (
            f"Scalars are not {kind}!\n\nExpected {e.item()} but got {a.item()}.\n"
            f"Absolute difference: {off.item()}{up_to[0]}\nRelative difference: {relative.item()}{up_to[1]}"
        ), ""
    counted = f"Mismatched elements: {int(far.sum())} / {a.size} ({100 * float(far.mean()):.1f}%)\n"
    lines = []
    for name, values, allowed in (("absolute", off, up_to[0]), ("relative", relative, up_to[1])):
        ranked = np.where(far, values, -math.inf) if values.dtype.kind == "f" else np.where(far, values, -1)
        place = np.unravel_index(int(np.argmax(ranked)), a.shape)
        lines.append(f"Greatest {name} difference: {values[place].item()} at index {tuple(map(int, place))}{allowed}")
    return f"Tensor-likes are not {kind}!\n\n{counted}" + "\n".join(lines), ""


def make_tensor(
    *shape: Any, dtype: Any, device: Any = "cpu", low: float | None = None, high: float | None = None,
    requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Random values in [low, high): floats in [-9, 9), integers in [-9, 10), booleans, unless bounds are given."""
    extents = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    kind, rng = as_dtype(dtype), np.random.default_rng(_seed())
    if kind.kind == "b":
        values: Any = rng.integers(0, 2, extents)
    elif kind.kind in "iu":
        least = (0 if kind.kind == "u" else -9) if low is None else int(low)
        values = rng.integers(least, 10 if high is None else int(high), extents)
    else:
        ends = -9.0 if low is None else low, 9.0 if high is None else high
        values = rng.uniform(*ends, extents)
        if kind.kind == "c":
            values = values + 1j * rng.uniform(*ends, extents)
    array = np.asarray(values).astype(kind)
    if exclude_zero:
        array = np.where(array == 0, kind.type(1), array)
    if noncontiguous and array.size > 1:
        array = np.repeat(array, 2, -1)[..., ::2]
        return Tensor(array, requires_grad)
    made: Any = tensor(array)
    return made.requires_grad_() if requires_grad else made


def _seed() -> int:
    return int(randint(0, 2**31 - 1, (1,)).item())
