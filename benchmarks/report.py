"""Results as text for a terminal and as `docs/performance.md`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import results as figures
from .registry import BACKENDS
from .results import Row, Target

VERDICT = {True: "met", False: "MISSED"}
HEAD = """# Benchmarks

Written by `python -m benchmarks report`; do not edit.

Each case runs on each backend in fresh processes, with the same data and initial values. The results after some steps
(losses, norms of results, distances that parameters moved) have to agree to 1e-3 relative, or the backend is listed under
*Failed*. The processes of a case live side by side and take turns of some blocks of steps, so that other load affects all
equally. The time of a step is the median over processes of the median over blocks; each peer counts with its fastest variant.
Differences under 1.3x are ties on a shared machine. *Fastest blocks* is the ratio of these, which other load affects least;
*eager / torch* is the time of our eager step in that of PyTorch's, which has the better of one and two threads.
With fewer instructions than the CPU has, each library is told to use no more (`--instructions`).

Memory is the peak resident memory until the first steps of a case are done, less the memory of modules: those imported at the
start, and those that a framework loads when it needs them, with their work. For us these are Numba, LLVM and the native
driver; for PyTorch's optimizers, `torch._dynamo`.
"""


def micro(us: float) -> str:
    return f"{us:,.1f}" if us < 100 else f"{us:,.0f}"


def steps_table(table: Iterable[Row]) -> Iterator[list[str]]:
    """Heading, then a line per row: microseconds by backend, and the ratio."""
    table = list(table)
    names = [name for name in BACKENDS if any(name in row.best for row in table)]
    yield ["us a step", *names, "fastest peer", "peer / ours", "fastest blocks", "eager / torch"]
    for row in table:
        cells = [micro(row.best[n].step) if n in row.best else "" for n in names]
        peer = "" if row.peer is None else " ".join(filter(None, (row.peer.backend, row.peer.variant)))
        ratios = ["" if ratio is None else f"{ratio:.2f}" for ratio in (row.ratio, row.undisturbed, row.eager)]
        yield [row.name, *cells, peer, *ratios]


def instructions_table(several: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    """The step of our fastest mode and of the fastest peer by instruction set, side by side."""
    tables = {instructions_of(results): {row.name: row for row in figures.rows(results)} for results in several}
    yield ["us a step", *(f"{name}: {what}" for name in tables for what in ("ours", "fastest peer", "peer / ours"))]
    for case in dict.fromkeys(name for table in tables.values() for name in table):
        cells = []
        for row in (table.get(case) for table in tables.values()):
            if row is None or row.ours is None or row.peer is None or row.ratio is None:
                cells += ["", "", ""]
            else:
                cells += [micro(row.ours.step), f"{micro(row.peer.step)} ({row.peer.backend})", f"{row.ratio:.2f}"]
        yield [case, *cells]
    means = [figures.geometric_mean(row.ratio for row in table.values() if row.ratio) for table in tables.values()]
    yield ["geometric mean", *(cell for mean in means for cell in ("", "", f"{mean:.2f}"))]


def instructions_of(results: Mapping[str, Any]) -> str:
    """What the processes could use: a name for a heading."""
    model = results["machine"].get("model", "").rpartition(" ")[2]
    return (figures.instructions(results) or model or "all").upper().replace("AVX512", "AVX-512")


def figures_table(table: Iterable[Row], names: Iterable[str], what: str, form: str) -> Iterator[list[str]]:
    """One of the figures by backend."""
    table, names = list(table), list(names)
    present = [name for name in names if any(name in row.best for row in table)]
    yield [what, *present]
    for row in table:
        values = [getattr(row.best[n], what) if n in row.best else None for n in present]
        if any(value is not None for value in values):
            yield [row.name, *("" if value is None else format(value, form) for value in values)]


def limits_table(table: Iterable[Row], limits: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["case", "us a step", "limit", "share"]
    for row in table:
        for what, share in (
            (f"memory, {row.case.traffic / 1e6:,.2f} MB a step", figures.bandwidth_share(row, limits)),
            ("its BLAS calls alone", figures.blas_share(row, limits)),
        ):
            if share is not None and row.ours is not None:
                yield [row.name, micro(row.ours.step), what, f"{share:.0%}"]


def variants_table(table: Iterable[Row]) -> Iterator[list[str]]:
    yield ["case", "backend", "variant", "us a step", "quartiles", "fastest block", "CPU us a step"]
    for row in table:
        for f in row.all:
            yield [
                row.name,
                f.backend,
                f.variant,
                micro(f.step),
                f"{micro(f.low)} - {micro(f.high)}",
                micro(f.fastest),
                micro(f.cpu),
            ]


def targets_table(found: Iterable[Target]) -> Iterator[list[str]]:
    yield ["target", "measured", "bound", ""]
    for target in found:
        sign = "<=" if target.at_most else ">="
        yield [target.what, f"{target.value:.2f}", f"{sign} {target.bound:.2f}", VERDICT[target.met]]


def failures_table(table: Iterable[Row]) -> Iterator[list[str]]:
    yield ["case", "backend", "variant", "error"]
    for row in table:
        for failure in row.failures:
            yield [row.name, *failure]


def overhead_table(overhead: Mapping[str, float]) -> Iterator[list[str]]:
    yield ["call of the compiled digits step", "us"]
    for name, us in overhead.items():
        yield [name, f"{us:.2f}"]


def phases_table(results: Mapping[str, Any]) -> Iterator[list[str]]:
    """Where the time of the first digits step goes: the first cold run and the first warm one."""
    yield ["first step of digits", "", "seconds", "where"]
    for entry in results["entries"]:
        if entry["case"] == "digits" and BACKENDS[entry["backend"]].ours:
            for cold in (True, False):
                for run in [run for run in entry["runs"] if run.get("cold") is cold][:1]:
                    parts = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in run["phases"].items())
                    name = " ".join(filter(None, (entry["backend"], entry["variant"])))
                    yield [name, "empty cache" if cold else "full cache", f"{run['total']:.2f}", parts]


def tables(results: Mapping[str, Any], *others: Mapping[str, Any]) -> Iterator[tuple[str, list[list[str]]]]:
    """Titles and tables, empty ones left out. others: of the same machine with fewer instructions."""
    table = figures.rows(results)
    peers = [name for name in BACKENDS if not BACKENDS[name].floor]
    yield "Steps", list(steps_table(table))
    if others:
        yield "Instruction sets side by side", list(instructions_table([results, *others]))
    for other in others:
        yield f"Steps with {instructions_of(other)} and no more", list(steps_table(figures.rows(other)))
    yield "Targets", list(targets_table(figures.targets(results)))
    yield "Share of the machine's limits", list(limits_table(table, results["limits"]))
    yield "Peak memory above the imports, full cache, MB", list(figures_table(table, BACKENDS, "memory", ".1f"))
    yield "Peak memory above the imports, empty cache, MB", list(figures_table(table, peers, "compiling", ".1f"))
    yield "Time to the first result, empty cache, seconds from process start", list(figures_table(table, peers, "cold", ".2f"))
    yield "Time to the first result, full cache, seconds from process start", list(figures_table(table, peers, "warm", ".2f"))
    yield "Import, seconds", list(figures_table(table[:1], peers, "imports", ".2f"))
    yield "First step", list(phases_table(results))
    yield "Overhead", list(overhead_table(results.get("overhead", {})))
    yield "Failed", list(failures_table(table))
    yield "All variants", list(variants_table(table))


def machine_lines(results: Mapping[str, Any]) -> Iterator[str]:
    machine, settings = results["machine"], results["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(machine["versions"].items()))
    model = f"{machine['model']}, " if "model" in machine else ""
    yield f"{machine['cpus']} CPUs ({model}{machine['machine']}), Python {machine['python']}; {versions}."
    loads = [run["load"] for entry in results["entries"] for run in entry["runs"]]
    if loads:
        text = f"load of the machine {min(loads):.1f} - {max(loads):.1f} (about 1 is the measured process)"
        counts = sorted({len(entry["runs"]) for entry in results["entries"]})
        processes = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
        processes += " process" if counts[-1] == 1 else " processes"
        yield f"{processes} for each figure, {settings['seconds']:g} s of timed steps in each; {text}."
    limits = results["limits"]
    if limits:
        bandwidth = ", ".join(f"{name} {value:.1f} GB/s" for name, value in limits["bandwidth"].items())
        blas = ", ".join(f"{name} {value:.0f} GFLOP/s" for name, value in limits["blas"].items())
        yield f"Measured in the same run: {bandwidth}; {blas}."
    yield from results["skipped"]


def text(results: Mapping[str, Any], *others: Mapping[str, Any]) -> str:
    lines = list(machine_lines(results))
    for title, (head, *body) in tables(results, *others):
        if body and title != "All variants":
            lines += ["", title, *_aligned([head, *body])]
    return "\n".join(lines)


def _aligned(table: list[list[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        padded = [cell.rjust(w) if _number(cell) else cell.ljust(w) for cell, w in zip(cells, widths, strict=True)]
        yield "  " + "  ".join(padded).rstrip()


def _number(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "").removesuffix("%").isdigit()


def markdown(results: Mapping[str, Any], *others: Mapping[str, Any]) -> str:
    lines = [HEAD, *(f"{line}\n" for line in machine_lines(results))]
    lines.append("`malloc keeps`: `MALLOC_MMAP_THRESHOLD_` and `MALLOC_TRIM_THRESHOLD_` raised; with large arrays page")
    lines.append("faults, not arithmetic, decide otherwise.\n")
    for title, (head, *body) in tables(results, *others):
        if body:
            lines += [f"## {title}", "", _cells(head), _cells(["---"] * len(head)), *map(_cells, body), ""]
    return "\n".join(lines)


def _cells(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
