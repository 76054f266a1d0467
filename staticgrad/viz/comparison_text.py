"""A comparison as text, as tables of `rich`, and as a table for notebooks."""

from __future__ import annotations

import html as markup
import io
import math
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .differences import excess

if TYPE_CHECKING:
    from .comparison import Comparison, Mode
    from .differences import Difference

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


def finite(data: Any) -> Any:
    """Plain data with None in place of numbers that JSON does not have."""
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
