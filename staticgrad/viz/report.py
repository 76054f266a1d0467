"""The results of a comparison: differences from eager mode, figures, and their tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..errors import ArgumentError


@dataclass
class Difference:
    """How far a value is from the eager one: largest absolute, and largest in units of the last place of the eager
    value. Both are infinite where the shapes differ, or one is NaN or infinite and the other is not."""

    what: str
    absolute: float
    ulps: float


@dataclass
class Mode:
    """One mode's run of the function.

    error: why it could not be run; everything else is empty then.
    values: the floating, integer and boolean results by name, and `w after` for each tensor w that the function changes.
    gradients: by the name of the tensor differentiated by; None where no result depends on it.
    differences: from the eager mode, for each value and gradient.
    first_ms: the first call, building, tracing and compiling included; call_us: the median of later calls.
    compiled, loaded: kernels that were compiled, and those that came from the disk cache.
    kernels, host_calls, arena_bytes: of the plan: distinct generated kernels, operations without native code, memory for
    intermediate values. None in eager mode.
    """

    name: str
    error: str = ""
    values: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    gradients: dict[str, np.ndarray | None] = field(default_factory=dict, repr=False)
    differences: list[Difference] = field(default_factory=list)
    first_ms: float | None = None
    call_us: float | None = None
    compiled: int | None = None
    loaded: int | None = None
    kernels: int | None = None
    host_calls: int | None = None
    arena_bytes: int | None = None


@dataclass
class Comparison:
    """The results of `compare`. `print` it for tables; `as_dict()` is the data; `comparison["compiled"]` is one mode."""

    function: str
    modes: list[Mode]

    def __getitem__(self, name: str) -> Mode:
        for mode in self.modes:
            if mode.name == name:
                return mode
        raise ArgumentError(f"there is no mode {name!r}", f"use one of {', '.join(mode.name for mode in self.modes)}")

    @property
    def ok(self) -> bool:
        """Every mode could be run."""
        return not any(mode.error for mode in self.modes)

    def agree(self, rtol: float = 1e-5, atol: float = 1e-6) -> bool:
        """Whether the modes that could be run gave the eager values and gradients: shapes and dtypes are equal, and
        differences at most atol + rtol * |eager value| (NaN equals NaN). False when no other mode could be run."""
        eager, *others = self.modes
        others = [mode for mode in others if not mode.error]
        return bool(others) and all(
            _close(mode.values, eager.values, rtol, atol)
            and _close(mode.gradients, {name: eager.gradients[name] for name in mode.gradients}, rtol, atol)
            for mode in others
        )

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data, without the arrays."""
        data = asdict(self)
        for mode in data["modes"]:
            del mode["values"], mode["gradients"]
        return data

    def __str__(self) -> str:
        columns = (
            f"{'mode':10s} {'first call':>12s} {'per call':>12s} {'compiled':>9s} {'loaded':>7s} {'kernels':>8s} "
            f"{'host':>5s} {'arena':>12s}"
        )
        lines = [self.function, "", columns]
        for mode in self.modes:
            if mode.error:
                lines.append(f"{mode.name:10s} could not be run: {mode.error}")
                continue
            lines.append(
                f"{mode.name:10s} {_figure(mode.first_ms, 9, 'ms', 2)} {_figure(mode.call_us, 9, 'us', 1)} "
                f"{_figure(mode.compiled, 9)} {_figure(mode.loaded, 7)} {_figure(mode.kernels, 8)} "
                f"{_figure(mode.host_calls, 5)} {_figure(mode.arena_bytes, 10, 'B')}"
            )
        others = [mode for mode in self.modes[1:] if not mode.error]
        if others and others[0].differences:
            lines += ["", *_difference_table(others)]
        return "\n".join(lines)


# differences ------------------------------------------------------------------------------------------------------------


def differences(mode: Mode, eager: Mode) -> Iterator[Difference]:
    for what, expected in eager.values.items():
        yield _difference(what, mode.values.get(what), expected)
    for name, g in mode.gradients.items():
        yield _difference(f"gradient of {name}", g, eager.gradients[name])


def _difference(what: str, mine: np.ndarray | None, theirs: np.ndarray | None) -> Difference:
    if mine is None or theirs is None:
        far = 0.0 if mine is theirs else np.inf
        return Difference(what if mine is theirs else f"{what}, which one of them lacks", far, far)
    if mine.shape != theirs.shape:
        return Difference(f"{what}, whose shape is {mine.shape} and not {theirs.shape}", np.inf, np.inf)
    a, b = mine.astype(np.float64), theirs.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        absolute = np.where(same, 0.0, np.abs(a - b))
        spacing = np.spacing(np.abs(theirs)).astype(np.float64) if theirs.dtype.kind == "f" else 1.0
        ulps = np.where(same, 0.0, absolute / spacing)
    worst = [float(np.where(np.isnan(x), np.inf, x).max(initial=0.0)) for x in (absolute, ulps)]
    return Difference(what, *worst)


def _close(mine: dict[str, Any], theirs: dict[str, Any], rtol: float, atol: float) -> bool:
    for what, expected in theirs.items():
        actual = mine.get(what)
        if actual is None or expected is None:
            if actual is not expected:
                return False
            continue
        same_kind = actual.shape == expected.shape and actual.dtype == expected.dtype
        if not same_kind or not np.allclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True):
            return False
    return True


# text -------------------------------------------------------------------------------------------------------------------


def _figure(value: float | None, width: int, unit: str = "", digits: int = 0) -> str:
    suffix = f" {unit}" if unit else ""
    return f"{'-':>{width}s}{' ' * len(suffix)}" if value is None else f"{value:>{width},.{digits}f}{suffix}"


def _difference_table(modes: list[Mode]) -> list[str]:
    names = [difference.what for difference in modes[0].differences]
    width = max(34, *map(len, names))
    lines = [f"{'largest difference from eager':{width}s}" + "".join(f"  {mode.name:>22s}" for mode in modes)]
    for i, name in enumerate(names):
        cells = [f"{mode.differences[i].absolute:.2e} ({mode.differences[i].ulps:.1f} ULP)" for mode in modes]
        lines.append(f"{name:{width}s}" + "".join(f"  {cell:>22s}" for cell in cells))
    return lines
