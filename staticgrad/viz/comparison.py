"""The results of a comparison: what each mode computed, its differences from eager mode, and its figures."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.files import replacing
from ..errors import ArgumentError
from .differences import MISSING, Difference, difference, excess, floor, largest

if TYPE_CHECKING:
    from ..compiler.execute.plan import Plan
    from ..ir import Graph
    from ..tracing.segments.roads import Segment

AFTER = " after"
"""The end of the names of the values that a step leaves in tensors."""
QUANTILES = (5, 25, 50, 75, 95)
"""Percentiles of the times of a step."""


@dataclass
class Mode:
    """One mode's run of the function.

    error: why it could not be run; everything else is empty then.
    values: the floating, integer and boolean results by name, and `w after` for each tensor w that the function changes.
    gradients: by the name of the tensor differentiated by; None where no result depends on it.
    seconds: likewise, the gradients of half the sum of all squared gradients; second_error: why there are none.
    differences: from the eager mode, for each value and gradient.
    first_ms: the first call, building, tracing and compiling included; ready_ms: until all kernels are compiled.
    times_us: of later calls; call_us: their median. losses: the first scalar of the result, in each call.
    compiled, loaded: kernels that were compiled, and those that came from the disk cache.
    kernels, host_calls, arena_bytes: of the plan: distinct generated kernels, operations without native code, memory for
    intermediate values. None in eager mode. peak_bytes: the most memory that a step allocates, where it is known.
    cuts: places where Python needs a value, at which the plan ends and another begins; recompiles: reasons of all traces.
    values_only: the time is that of values alone, because the peer has no gradients.
    graph: the eager tape, or the graph that was defined; plan: what it was compiled to; segments: of a function that is cut,
    all of its plans with the cuts between them, of which `plan` is the largest.
    """

    name: str
    error: str = ""
    values: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    gradients: dict[str, np.ndarray | None] = field(default_factory=dict, repr=False)
    seconds: dict[str, np.ndarray | None] = field(default_factory=dict, repr=False)
    second_error: str = ""
    differences: list[Difference] = field(default_factory=list)
    first_ms: float | None = None
    ready_ms: float | None = None
    times_us: list[float] = field(default_factory=list, repr=False)
    losses: list[float] = field(default_factory=list, repr=False)
    compiled: int | None = None
    loaded: int | None = None
    kernels: int | None = None
    host_calls: int | None = None
    arena_bytes: int | None = None
    peak_bytes: int | None = None
    cuts: int | None = None
    recompiles: list[str] = field(default_factory=list)
    values_only: bool = False
    graph: Graph | None = field(default=None, repr=False)
    plan: Plan | None = field(default=None, repr=False)
    segments: Sequence[Segment] = field(default=(), repr=False)

    @property
    def call_us(self) -> float | None:
        """The median microseconds of a call after the first."""
        return float(np.median(self.times_us)) if self.times_us else None

    @property
    def quantiles_us(self) -> list[float]:
        """The 5th, 25th, 50th, 75th and 95th percentiles of `times_us`; empty without times."""
        return [float(x) for x in np.percentile(self.times_us, QUANTILES)] if self.times_us else []

    @property
    def worst(self) -> Difference | None:
        """The difference of a value or gradient that is largest, relative to what is expected of its dtype."""
        return max(self.differences, key=excess, default=None)

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data, without the arrays."""
        names = (
            "name", "error", "second_error", "first_ms", "ready_ms", "call_us", "quantiles_us", "times_us", "losses",
            "compiled", "loaded", "kernels", "host_calls", "arena_bytes", "peak_bytes", "cuts", "recompiles", "values_only",
        )  # fmt: skip
        return {**{name: getattr(self, name) for name in names}, "differences": [dict(vars(d)) for d in self.differences]}


@dataclass
class Comparison:
    """The results of `compare`. `print` it for tables; `as_dict()` is the data; `comparison["compiled"]` is one mode;
    `to_html("report.html")` writes a page with graphs, kernels and charts."""

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

    def agree(self, rtol: float | None = None, atol: float | None = None) -> bool:
        """Whether the modes that could be run gave the eager results: shapes and dtypes are equal, and each difference is at
        most `rtol` of its largest element or at most `atol`; without them, what rounding in its dtype explains. It is the rule
        of the verdict, too. False when no other mode could be run."""
        run = [mode for mode in self.modes[1:] if not mode.error]
        return bool(run) and all(excess(d, rtol, atol) <= 1 for mode in run for d in mode.differences)

    @property
    def verdict(self) -> str:
        """One paragraph: whether the modes agree, how fast they are, and when compiling pays."""
        from .comparison_text import verdict

        return verdict(self)

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data, without the arrays."""
        modes = [mode.as_dict() for mode in self.modes]
        return {"function": self.function, "verdict": self.verdict, "quantiles": list(QUANTILES), "modes": modes}

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """`as_dict()` as JSON; written to `path`, too, when one is given. Infinite and undefined numbers are null."""
        from .comparison_text import finite

        text = json.dumps(finite(self.as_dict()), indent=1, allow_nan=False)
        if path is not None:
            with replacing(path) as file:
                file.write(text.encode())
        return text

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report as one page that needs no network: figures, loss curves, the graphs of all modes, kernels with their
        source and their share of the machine's limits, memory, and the decisions of the compiler. Written to `path`, too, when
        one is given.

        The first call times each instruction of the plan, and measures the machine's limits, which takes about a second.
        """
        from .report.page import page

        text = page(self)
        if path is not None:
            with replacing(path) as file:
                file.write(text.encode())
        return text

    def __str__(self) -> str:
        from .comparison_text import printed

        return printed(self)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from .comparison_text import rich_parts

        yield from rich_parts(self)

    def _repr_html_(self) -> str:
        from .comparison_text import html

        return html(self)


def differences(mode: Mode, eager: Mode) -> Iterator[Difference]:
    scale = largest([*eager.values.values(), *eager.gradients.values()])

    def apart(what: str, mine: Any, theirs: Any, kind: str) -> Difference:
        found = difference(what, mine, theirs, kind)
        if theirs is not None:
            found.floor = floor(theirs.dtype, scale)
        return found

    for what, expected in eager.values.items():
        mine = mode.values.get(what, MISSING)
        if what.endswith(AFTER):
            yield apart(what, mine, _determined(expected, mine, eager.gradients.get(what.removesuffix(AFTER)), scale), "state")
        else:
            yield apart(what, mine, expected, "value")
    for name, g in mode.gradients.items():
        yield apart(f"gradient of {name}", g, eager.gradients.get(name), "gradient")
    for name, g in mode.seconds.items():
        yield apart(f"second gradient of {name}", g, eager.seconds.get(name), "second gradient")


def _determined(expected: np.ndarray, mine: Any, gradient: np.ndarray | None, scale: float) -> np.ndarray:
    """The state that a step leaves, as it is in `mine` where the gradient is nothing but rounding: an optimizer that divides by
    the size of the gradient, as Adam does, makes whole steps of that."""
    if gradient is None or mine is MISSING or not gradient.any() or not expected.shape == mine.shape == gradient.shape:
        return expected
    return np.where(np.abs(gradient) <= floor(gradient.dtype, scale), mine, expected)
