"""The results of a comparison: what each mode computed, its differences from eager mode and how far rounding lets them be, and
its figures; as text, as tables of `rich`, and as a table for notebooks."""

from __future__ import annotations

import html as markup
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.files import replacing
from ..errors import ArgumentError

MISSING: Any = object()
"""In place of a value that a mode does not have."""


@dataclass
class Difference:
    """How far a value is from the eager one: largest absolute, largest in units of the last place of the eager value, and
    largest relative to the largest finite element of the eager value. All are infinite where shapes or floating dtypes differ,
    or one is NaN or infinite and the other is not. kind: "value", "gradient", "second gradient", or "state" for a tensor that
    the function changes."""

    what: str
    absolute: float
    ulps: float
    relative: float = 0.0
    kind: str = "value"
    tolerance: float = 0.0
    """The relative difference up to which two roundings of one result are expected to lie."""
    floor: float = 0.0
    """Likewise the absolute difference, whatever the size of the result: what is left of terms that cancel."""


def excess(difference: Difference, rtol: float | None = None, atol: float | None = None) -> float:
    """A difference in units of what rounding explains: more than 1 is a disagreement. rtol, atol: other bounds than its own."""
    bounds = (
        (difference.relative, difference.tolerance if rtol is None else rtol),
        (difference.absolute, difference.floor if atol is None else atol),
    )
    return min(apart / bound if bound else math.inf if apart else 0.0 for apart, bound in bounds)


def difference(what: str, mine: np.ndarray | None, theirs: np.ndarray | None, kind: str) -> Difference:
    """The difference of `mine` from the eager `theirs`. None is a gradient of zeros: eager mode has no branch that it
    did not take."""
    mine, theirs = _zeros(mine, theirs), _zeros(theirs, mine)
    if mine is None or theirs is None:  # both are
        return Difference(what, 0.0, 0.0, 0.0, kind)
    if mine is MISSING:
        return Difference(f"{what}, which is missing", np.inf, np.inf, np.inf, kind)
    if mine.shape != theirs.shape:
        return Difference(f"{what}, whose shape is {mine.shape} and not {theirs.shape}", np.inf, np.inf, np.inf, kind)
    if mine.dtype != theirs.dtype and "f" in mine.dtype.kind + theirs.dtype.kind:  # integers of peers may have other sizes
        return Difference(f"{what}, whose dtype is {mine.dtype} and not {theirs.dtype}", np.inf, np.inf, np.inf, kind)
    wide = np.complex128 if "c" in (mine.dtype.kind, theirs.dtype.kind) else np.float64
    a, b = mine.astype(wide), theirs.astype(wide)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        absolute = np.where(same, 0.0, np.abs(a - b))
        size = np.abs(b)
        spacing = np.spacing(np.abs(theirs)).astype(np.float64) if theirs.dtype.kind in "fc" else 1.0
        ulps = np.where(same, 0.0, absolute / spacing)
    worst, most = (float(np.where(np.isnan(x), np.inf, x).max(initial=0.0)) for x in (absolute, ulps))
    largest = float(size[np.isfinite(size)].max(initial=0.0))
    relative = worst / largest if largest else np.inf if worst else 0.0
    return Difference(what, worst, most, relative, kind, _tolerance(theirs.dtype, kind))


def _zeros(gradient: Any, other: Any) -> Any:
    return np.zeros_like(other) if gradient is None and other is not None and other is not MISSING else gradient


def _tolerance(dtype: np.dtype, kind: str) -> float:
    """A relative difference between two orders of the same sums: the square root of the unit of precision for second
    gradients, which are differences of large terms; a tenth of it else."""
    if dtype.kind not in "fc":
        return 0.0
    root = math.sqrt(np.finfo(dtype).eps)
    return root if kind == "second gradient" else root / 10


ROUNDINGS = 10
"""Units of precision that terms of size 1 may leave where they cancel."""


def floor(dtype: np.dtype, scale: float) -> float:
    """The absolute difference that rounding explains in a step whose largest value or gradient is `scale`."""
    return ROUNDINGS * float(np.finfo(dtype).eps) * min(1.0, scale) if dtype.kind in "fc" else 0.0


def largest(arrays: Iterable[np.ndarray | None]) -> float:
    """The largest finite magnitude in arrays of floating numbers; 0 without any."""
    found = [np.abs(a[np.isfinite(a)]).max(initial=0.0) for a in arrays if a is not None and a.dtype.kind in "fc"]
    return float(max(found, default=0.0))


# comparisons ----------------------------------------------------------------------------------------------------------

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
        return verdict(self)

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data, without the arrays."""
        modes = [mode.as_dict() for mode in self.modes]
        return {"function": self.function, "verdict": self.verdict, "quantiles": list(QUANTILES), "modes": modes}

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """`as_dict()` as JSON; written to `path`, too, when one is given. Infinite and undefined numbers are null."""
        from .report.page import finite

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
        return printed(self)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        yield from rich_parts(self)

    def _repr_html_(self) -> str:
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


# as text --------------------------------------------------------------------------------------------------------------

if TYPE_CHECKING:
    from .comparison import Comparison, Difference, Mode

SHOWN = 12
"""Rows of differences in a table: the largest."""
COLUMNS = ("mode", "step (median)", "5% to 95%", "first step", "kernels", "host", "cuts", "traces", "memory", "off by")
KINDS = {"value": "values", "gradient": "gradients", "second gradient": "second gradients", "state": "updates"}
"""Differences by their kinds, in sentences."""
MOST_ULPS = 1e4
"""Beyond it, units of the last place say nothing: the value is close to 0, or another one."""
TIE = 1.3
"""Times within this ratio are a tie."""


# numbers ----------------------------------------------------------------------------------------------------------------


def time_text(us: float | None) -> str:
    """A time with three digits, in the unit that suits it."""
    if us is None or not math.isfinite(us):
        return "-"
    for factor, unit in ((1.0, "us"), (1e3, "ms")):
        if us < 999.5 * factor:
            return f"{us / factor:.3g} {unit}"
    return f"{us / 1e6:,.3g} s" if us < 999.5e6 else f"{us / 1e6:,.0f} s"


def bytes_text(size: float | None) -> str:
    if size is None:
        return "-"
    for factor, unit in ((1, "B"), (1e3, "kB"), (1e6, "MB")):
        if size < 999.5 * factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size / 1e9:,.3g} GB"


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,d}"


def _off(worst: Difference | None) -> str:
    return "-" if worst is None else "equal" if not worst.absolute else f"{worst.relative:.0e}"


def row_of(mode: Mode) -> list[str]:
    """The cells of one mode under `COLUMNS`."""
    low, *_, high = mode.quantiles_us or (None, None)
    return [
        f"{mode.name} (values only)" if mode.values_only else mode.name,
        time_text(mode.call_us), f"{time_text(low)} to {time_text(high)}", time_text(_us(mode.first_ms)),
        _count(mode.kernels), _count(mode.host_calls), _count(mode.cuts),
        _count(len(mode.recompiles) or None),
        bytes_text(mode.peak_bytes), _off(mode.worst),
    ]  # fmt: skip


def _us(ms: float | None) -> float | None:
    return None if ms is None else ms * 1e3


def difference_rows(comparison: Comparison) -> tuple[list[str], list[list[str]], int]:
    """The names of the modes, a row of cells for each of the largest differences, and how many others there are."""
    modes = [mode for mode in comparison.modes[1:] if mode.differences]
    worst: dict[str, float] = {}
    cells: dict[str, dict[str, str]] = {}
    for mode in modes:
        for d in mode.differences:
            worst[d.what] = max(worst.get(d.what, 0.0), d.relative)
            units = f" ({d.ulps:.1f} ULP)" if d.ulps <= MOST_ULPS else ""
            cells.setdefault(d.what, {})[mode.name] = f"{d.absolute:.2e}{units}"
    names = list(cells)
    chosen = names if len(names) <= SHOWN else sorted(names, key=lambda name: -worst[name])[:SHOWN]
    rows = [[name, *(cells[name].get(mode.name, "-") for mode in modes)] for name in names if name in set(chosen)]
    return [mode.name for mode in modes], rows, len(names) - len(rows)


def verdict(comparison: Comparison) -> str:
    """See `Comparison.verdict`."""
    parts = [_agreement(comparison), *_speed(comparison)] if len(comparison.modes) > 1 else [_course(comparison.modes[0])]
    failed = [mode.name for mode in comparison.modes if mode.error]
    if failed:
        parts.append(f"Could not be run: {', '.join(failed)}.")
    return " ".join(part for part in parts if part)


def _course(mode: Mode) -> str:
    """What there is to say of one mode alone, such as a training."""
    if mode.error:
        return ""
    told = f"A step takes {time_text(mode.call_us)} (the median of {len(mode.times_us):,d})." if mode.times_us else ""
    fell = f" The loss goes from {mode.losses[0]:.4g} to {mode.losses[-1]:.4g}." if len(mode.losses) > 1 else ""
    return f"{told}{fell}".strip()


def _agreement(comparison: Comparison) -> str:
    run = [mode for mode in comparison.modes[1:] if not mode.error]
    if not run:
        return "No other mode could be run."
    names = [comparison.modes[0].name, *(mode.name for mode in run)]
    found = [(m, d) for m in run for d in m.differences]
    what = _joined(list(dict.fromkeys(KINDS[d.kind] for _, d in found))) or "results"
    if not any(d.absolute for _, d in found):
        return f"{_joined(names)} give equal {what}, bit by bit."
    mode, worst = max(found, key=lambda pair: excess(pair[1]))
    size = f"{worst.relative:.0e} of its largest element"
    if excess(worst) > 1:
        return f"The modes DISAGREE: {worst.what} in {mode.name} is off by {worst.absolute:.1e}, {size}."
    mode, worst = max(found, key=lambda pair: pair[1].relative if pair[1].absolute > pair[1].floor else 0.0)
    if worst.absolute <= worst.floor:
        return f"{_joined(names)} agree in {what}: they differ by no more than {worst.floor:.0e}."
    far = f"they differ by at most {worst.relative:.0e} of the largest element ({worst.what}, {mode.name})"
    return f"{_joined(names)} agree in {what}: {far}."


def _speed(comparison: Comparison) -> Iterator[str]:
    """Sentences on the times of the compiled step and its alternatives."""
    timed = [mode for mode in comparison.modes if mode.call_us and not mode.values_only]
    if len(timed) < 2:
        return
    fastest = min(timed, key=lambda mode: mode.call_us or math.inf)
    best = fastest.call_us or math.nan
    others = [f"{_ratio((m.call_us or math.nan) / best)} {m.name}'s" for m in timed if m is not fastest]
    ties = [m.name for m in timed if m is not fastest and (m.call_us or math.nan) / best < TIE]
    tie = f" (under {TIE}x is a tie: {_joined(ties)})" if ties else ""
    yield f"{fastest.name} is fastest with {time_text(best)} a step, which is {_joined(others)} speed{tie}."
    eager = timed[0]
    saved = (eager.call_us or 0.0) - best
    extra = ((fastest.ready_ms or fastest.first_ms or 0.0) - (eager.first_ms or 0.0)) * 1e3
    if fastest is not eager and saved > 0 and extra > 0:
        yield f"Building it costs {time_text(extra)} once, which pays after {extra / saved:,.0f} steps."


def _ratio(x: float) -> str:
    return f"{x:,.0f}x" if x >= 10 else f"{x:.1f}x"


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


# text -------------------------------------------------------------------------------------------------------------------


def printed(comparison: Comparison) -> str:
    """The text of `print`: by `rich` in a terminal, where it is installed."""
    if not (getattr(sys.stdout, "isatty", lambda: False)() and find_spec("rich")):
        return plain_text(comparison)
    from rich.console import Console

    console = Console(file=io.StringIO(), force_terminal=True, width=Console().width)
    console.print(comparison)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text.rstrip("\n")


def plain_text(comparison: Comparison) -> str:
    rows = [list(COLUMNS), *(row_of(mode) for mode in comparison.modes if not mode.error)]
    lines = [comparison.function, "", *_columns(rows)]
    lines += [f"{mode.name} could not be run: {mode.error}" for mode in comparison.modes if mode.error]
    lines += [f"no second gradients in {mode.name}: {mode.second_error}" for mode in comparison.modes if mode.second_error]
    names, found, left = difference_rows(comparison)
    if found:
        lines += ["", *_columns([["largest difference from eager", *names], *found])]
    if left:
        lines.append(f"and {left:,d} smaller ones")
    return "\n".join([*lines, "", comparison.verdict])


def _columns(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(f"{cell:{'<' if i == 0 else '>'}{width}}" for i, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]


def rich_parts(comparison: Comparison) -> Iterator[Any]:
    """Tables, and the verdict in a frame."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.panel import Panel
    from rich.table import Table

    table = Table(title=escape(comparison.function), title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for i, name in enumerate(COLUMNS):
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=i < 2)
    fastest = min((mode.call_us for mode in comparison.modes if mode.call_us and not mode.values_only), default=None)
    for mode in comparison.modes:
        if not mode.error:
            table.add_row(*map(escape, row_of(mode)), style="bold green" if mode.call_us == fastest else None)
    yield table
    for mode in comparison.modes:
        if mode.error:
            yield f"[bold red]{escape(mode.name)} could not be run:[/] {escape(mode.error)}"
        if mode.second_error:
            yield f"[yellow]no second gradients in {escape(mode.name)}:[/] {escape(mode.second_error)}"
    names, rows, left = difference_rows(comparison)
    if rows:
        table = Table(title=f"and {left:,d} smaller ones" if left else None, title_style="dim", box=SIMPLE_HEAD)
        for i, name in enumerate(["largest difference from eager", *names]):
            table.add_column(escape(name), justify="right" if i else "left")
        for row in rows:
            table.add_row(*map(escape, row))
        yield table
    color = "red" if "DISAGREE" in comparison.verdict else "green"
    yield Panel(escape(comparison.verdict), title="verdict", border_style=color, title_align="left")


def html(comparison: Comparison) -> str:
    """Tables for a notebook."""

    def table(head: list[str], rows: list[list[str]]) -> str:
        top = "".join(f"<th>{markup.escape(cell)}</th>" for cell in head)
        body = "".join("<tr>" + "".join(f"<td>{markup.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"

    parts = [f"<p><b>{markup.escape(comparison.function)}</b>: {markup.escape(comparison.verdict)}</p>"]
    parts.append(table(list(COLUMNS), [row_of(mode) for mode in comparison.modes if not mode.error]))
    for mode in comparison.modes:
        if mode.error:
            parts.append(f"<p>{markup.escape(mode.name)} could not be run: {markup.escape(mode.error)}</p>")
    names, rows, left = difference_rows(comparison)
    if rows:
        parts.append(table(["largest difference from eager", *names], rows))
    if left:
        parts.append(f"<p>and {left:,d} smaller ones</p>")
    return "\n".join(parts)
