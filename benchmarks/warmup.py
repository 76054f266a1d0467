"""The time of each of the first steps of a program: eager, compiled, in a Session, and in PyTorch.

    python -m benchmarks warmup [--case digits c51] [--steps 1000] [--json FILE] [--picture FILE]
    python -m benchmarks warmup --read FILE [FILE ...] [--picture FILE] [--bars FILE]

Each curve is a process. Ours run twice: the first finds an empty kernel cache, and the second the one that the first left after
it had waited for its kernels. All run again beside a process that keeps one CPU busy. Curves of a case take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import cases  # noqa: F401  (registers them)
from .launch import Launcher, error_in
from .programs import PROGRAMS, library
from .registry import BACKENDS, CASES, IMPLEMENTATIONS

WANTED = ("digits", "lstm", "lenet", "gpt", "pinn", "c51", "bayes_by_backprop", "deep_layer_norm")
ROUTE = "NumPy route"
MODES = (ROUTE, "eager", "compiled", "session", "torch")
WIDTH = 5
"""Steps of which the median counts where a curve is compared: one step may meet anything on the machine."""
PAUSE = 20_000
"""Microseconds by which a single step may be slower: the machine rarely takes longer, and waiting for a compiler does."""
WINDOW = 10
"""Steps of which the mean counts as slow."""
SETTLED = 1.1
"""Times of the steady step below which a curve is steady."""
LEAST = 25
"""Steps of each process, however long they take."""
WHOLE = 880
"""Steps of the whole program."""
COLUMNS = ("worst", f"worst {WINDOW}", "step 20", "as PyTorch", "steady", "program")
LEGEND = f"""\
worst, worst {WINDOW}: the slowest step after the second, and the slowest mean of {WINDOW} steps, in steps of the {ROUTE};
step 20: in steady steps; as PyTorch, steady: seconds from the first step on until a step takes at most PyTorch's time and
{SETTLED:g} steady steps, for good; program: seconds of {WHOLE} steps with the start of the process"""


class Curve(NamedTuple):
    """One process. mode: of `MODES`; cache: "empty" or "full", or "" where it does not matter; busy: beside another process."""

    case: str
    mode: str
    variant: str
    cache: str
    busy: bool


class Figures(NamedTuple):
    """What a curve comes to, as `LEGEND` tells; None where it does not get there, or there is nothing to compare with."""

    steady: float
    worst: float | None
    worst_window: float | None
    step_20: float | None
    as_torch: float | None
    settled: float | None
    program: float | None


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks warmup", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", nargs="+", choices=[*CASES, *PROGRAMS], default=WANTED, metavar="CASE")
    parser.add_argument("--mode", nargs="+", choices=MODES, default=MODES, metavar="MODE", help=", ".join(MODES))
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10.0, help="after which a process ends before its last step")
    parser.add_argument("--rounds", type=int, default=2, help="processes of each curve; figures are medians over them")
    parser.add_argument("--idle", action="store_true", help="leave out the curves beside a busy process")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: that of all threads of the process")
    parser.add_argument("--read", nargs="+", metavar="FILE", help="show these results instead of new ones")
    parser.add_argument("--json", metavar="FILE", help="write all results to this file")
    parser.add_argument("--picture", metavar="FILE", help="draw the curves on an idle machine")
    parser.add_argument(
        "--bars", metavar="FILE", help=f"draw the seconds of the first {WHOLE} steps of the first case, as bars"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    if options.read:
        results = [run for file in options.read for run in json.loads(Path(file).read_text())["runs"]]
    else:
        results = measure(options)["runs"]
    print(text(results, options.clock))
    if options.picture:
        draw(results, options.clock, options.picture)
    if options.bars:
        draw_bars(results, options.clock, options.case[0], options.bars)


# measuring ------------------------------------------------------------------------------------------------------------


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """The results of all curves, as JSON: `runs` with what the processes told, beside the fields of `Curve`. The file has those
    of each round as soon as that is over."""
    with tempfile.TemporaryDirectory() as folder:
        launcher = Launcher(Path(folder), {})
        modes = [mode for mode in options.mode if launcher.installed(_backend(mode))]
        machine = {"cpus": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
        settings = {"steps": options.steps, "seconds": options.seconds, "rounds": options.rounds}
        results: dict[str, Any] = {"machine": machine, "settings": settings, "runs": []}
        for case in options.case:
            for number in range(options.rounds):
                for busy in (False,) if options.idle else (False, True):
                    with another_process() if busy else nullcontext():
                        results["runs"] += _round(launcher, case, modes, busy, number, options)
                if options.json:
                    Path(options.json).write_text(json.dumps(results))
        return results


def _round(
    launcher: Launcher, case: str, modes: Iterable[str], busy: bool, number: int, options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    for mode in modes:
        for variant in variants(case, mode):
            cache = f"{case}-{mode.split()[0]}-{number}-{'busy' if busy else 'idle'}"
            for found in ("empty", "full") if mode in ("eager", "compiled", "session") else ("",):
                curve = Curve(case, mode, variant, found, busy)
                print(f"{name_of(curve)}: {case}", file=sys.stderr, flush=True)
                yield {**curve._asdict(), **_measured(launcher, curve, cache, options)}


def _measured(launcher: Launcher, curve: Curve, cache: str, options: argparse.Namespace) -> dict[str, Any]:
    """What the process of a curve tells. Raises RuntimeError when it fails."""
    more = launcher.caches(cache) | ({"STATICGRAD_EAGER": "numpy"} if curve.mode == ROUTE else {})
    file = ""
    if curve.case in CASES:
        file, more = str(launcher.arrays(CASES[curve.case])), more | CASES[curve.case].environment
    limits = str(options.steps), str(options.seconds)
    operands = curve.case, _backend(curve.mode), curve.variant, file, *limits, repr(time.monotonic())
    done = launcher.run([sys.executable, "-m", __spec__.name, *operands], more)
    if done.returncode:
        raise RuntimeError(f"{name_of(curve)} of {curve.case}: {error_in(done.stderr, done.returncode)}")
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def variants(case: str, mode: str) -> tuple[str, ...]:
    """PyTorch's numbers of threads, of which the better one counts; one variant of ours."""
    if case in PROGRAMS:
        return () if mode == "session" else ("1 thread",) if mode == "torch" else ("",)
    if (case, _backend(mode)) not in IMPLEMENTATIONS:
        return ()
    found = IMPLEMENTATIONS[case, _backend(mode)].variants
    return found if mode == "torch" else found[:1]


def _backend(mode: str) -> str:
    return "eager" if mode == ROUTE else mode


@contextmanager
def another_process() -> Iterator[None]:
    """With a process that keeps one CPU busy."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def run(case: str, backend: str, variant: str, file: str, steps: str, seconds: str, began: str) -> None:
    """In a process of its own: print the seconds until the first step, and the microseconds of each step."""
    for module in BACKENDS[backend].imports:
        import_module(module)
    step = step_of(case, backend, variant, file)
    wall, cpu = [time.perf_counter_ns()], [time.process_time_ns()]
    start = {"wall": time.monotonic() - float(began), "cpu": time.process_time()}
    until = wall[0] + float(seconds) * 1e9
    while len(wall) <= int(steps) and (wall[-1] < until or len(wall) <= LEAST):
        step()
        wall.append(time.perf_counter_ns())
        cpu.append(time.process_time_ns())
    if BACKENDS[backend].ours:
        import_module("staticgrad").wait_for_kernels()  # the next process is to find them
    times = {name: [(b - a) // 1000 for a, b in pairwise(c)] for name, c in (("wall", wall), ("cpu", cpu))}
    print(json.dumps({"start": start, **times}))


def step_of(case: str, backend: str, variant: str, file: str) -> Callable[[], Any]:
    """A case's or a program's step on the next batch, whose results are read."""
    if case in CASES:
        with np.load(file) as stored:
            return IMPLEMENTATIONS[case, backend].function(dict(stored), backend, variant).step
    lib = library("torch" if backend == "torch" else "staticgrad", compiled=backend == "compiled")
    if backend == "torch":
        lib.torch.set_num_threads(1)
    lib.torch.manual_seed(0)
    training, numbers = PROGRAMS[case].make(lib), iter(range(sys.maxsize))

    def step() -> list[float]:
        found = training.step(*training.batch(next(numbers)))
        return [float(part) for part in (found if isinstance(found, tuple) else (found,))]

    return step


# figures --------------------------------------------------------------------------------------------------------------


def name_of(curve: Curve) -> str:
    more = (curve.cache and f"{curve.cache} cache", curve.variant, curve.busy and "busy machine")
    return ", ".join([curve.mode, *filter(None, more)])


def curves(runs: Iterable[Mapping[str, Any]]) -> dict[Curve, list[Mapping[str, Any]]]:
    """The runs by curve; of variants only the one that is fastest in the end."""
    found: dict[Curve, dict[str, list[Mapping[str, Any]]]] = {}
    for each in runs:
        curve = Curve(*(each[field] for field in Curve._fields))
        found.setdefault(curve._replace(variant=""), {}).setdefault(curve.variant, []).append(each)

    def steady_of(rows: Sequence[Mapping[str, Any]]) -> float:
        return statistics.median(steady(row["wall"]) for row in rows)

    return {curve: min(of_variants.values(), key=steady_of) for curve, of_variants in found.items()}


def steady(times: Sequence[float]) -> float:
    """The median of the last tenth of the steps."""
    return statistics.median(times[-max(1, len(times) // 10) :])


def smooth(times: Sequence[float]) -> list[float]:
    """The running median."""
    half = WIDTH // 2
    return [statistics.median(times[max(0, i - half) : i + half + 1]) for i in range(len(times))]


def from_when(times: Sequence[float], most: float) -> float | None:
    """Seconds after which the running median stays at most `most`, and no step pauses; None where that isn't so in the end."""
    slow = [i for i, (step, level) in enumerate(zip(times, smooth(times), strict=True)) if level > most or step > most + PAUSE]
    first = slow[-1] + 1 if slow else 0
    return None if first == len(times) else sum(times[:first]) / 1e6


def figures(runs: Sequence[Mapping[str, Any]], clock: str, route: float | None, peer: float | None) -> Figures:
    """Medians over the runs of a curve. route, peer: steady steps of the NumPy route and of PyTorch."""

    def median(of: Callable[[Sequence[float]], float | None]) -> float | None:
        found = [of(run[clock]) for run in runs]
        return None if None in found else statistics.median(each for each in found if each is not None)

    def window(times: Sequence[float]) -> float:
        return max(statistics.fmean(times[i : i + WINDOW]) for i in range(2, max(3, len(times) - WINDOW + 1)))

    def whole(run: Mapping[str, Any]) -> float:
        return run["start"][clock] + sum(run[clock][:WHOLE]) / 1e6  # type: ignore[no-any-return]

    level, shortest = median(steady), min(len(run[clock]) for run in runs)
    assert level is not None
    if shortest < 3:
        route = None
    return Figures(
        level,
        median(lambda times: max(times[2:]) / route) if route else None,
        median(lambda times: window(times) / route) if route else None,
        median(lambda times: smooth(times)[19] / steady(times)) if shortest >= 20 else None,
        median(lambda times: from_when(times, peer)) if peer else None,
        median(lambda times: from_when(times, SETTLED * steady(times))),
        statistics.median(map(whole, runs)) if shortest >= WHOLE else None,
    )


def text(runs: Iterable[Mapping[str, Any]], clock: str = "wall") -> str:
    """A table for each case and each load of the machine."""
    lines, found = [], curves(runs)
    for case in dict.fromkeys(curve.case for curve in found):
        for busy in (False, True):
            group = {curve: rows for curve, rows in found.items() if (curve.case, curve.busy) == (case, busy)}
            level = {curve.mode: statistics.median(steady(row[clock]) for row in rows) for curve, rows in group.items()}
            route, peer = level.get(ROUTE), level.get("torch")
            if group:
                title = f"{case}{', beside a busy process' if busy else ''}"
                lines += ["", f"{title:36s}{'steady us':>10s}" + "".join(f"{name:>12s}" for name in COLUMNS)]
            for curve, rows in group.items():
                level_us, *others = figures(rows, clock, route, peer)
                cells = "".join(f"{'-' if value is None else f'{value:.2f}':>12s}" for value in others)
                lines.append(f"{name_of(curve._replace(busy=False)):36s}{level_us:10.0f}{cells}")
    return "\n".join([f"{LEGEND} ({clock})", *lines])


# the picture ----------------------------------------------------------------------------------------------------------

STYLES = {
    ROUTE: ("tab:gray", "-"), "eager": ("tab:orange", "-"), "compiled": ("tab:blue", "-"), "session": ("tab:green", "-"),
    "torch": ("tab:red", "-"),
}  # fmt: skip


def landmarks(times: Sequence[float]) -> list[int]:
    """Positions that a picture with a logarithmic axis needs: of each stretch of 10 % the least and the greatest time."""
    stretches: dict[int, list[int]] = {}
    for i in range(len(times)):
        stretches.setdefault(round(np.log(i + 1) / 0.1), []).append(i)
    return sorted({choose(part, key=times.__getitem__) for part in stretches.values() for choose in (min, max)})


def draw(runs: Iterable[Mapping[str, Any]], clock: str, file: str) -> None:
    """Times of steps over their number, a panel for each case: full lines with a full cache, dashed ones with an empty one."""
    import matplotlib
    from matplotlib.figure import Figure

    found = {curve: rows for curve, rows in curves(runs).items() if not curve.busy}
    names = list(dict.fromkeys(curve.case for curve in found))
    columns = min(4, len(names))
    with matplotlib.rc_context({"svg.hashsalt": "staticgrad", "font.size": 8}):
        figure = Figure(figsize=(3 * columns, 2.4 * -(-len(names) // columns)), layout="constrained")
        panels = np.atleast_1d(figure.subplots(-(-len(names) // columns), columns)).ravel()
        handles = {}
        for panel, name in zip(panels, names, strict=False):
            for curve, rows in found.items():
                if curve.case == name:
                    length = min(len(row[clock]) for row in rows)
                    times = smooth([statistics.median(row[clock][i] for row in rows) for i in range(length)])
                    label = name_of(curve).replace("torch", "PyTorch")
                    style = "--" if curve.cache == "empty" else "-"
                    color = STYLES[curve.mode][0]
                    shown = landmarks(times)
                    (handles[label],) = panel.plot(np.add(shown, 1), np.take(times, shown), style, color=color, linewidth=1)
            panel.set(xscale="log", yscale="log", title=name, xlabel="step", ylabel="us")
        for panel in panels[len(names) :]:
            panel.remove()
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, frameon=False)
        figure.savefig(file, metadata={"Date": None} if file.endswith(".svg") else None)


def draw_bars(runs: Iterable[Mapping[str, Any]], clock: str, case: str, file: str) -> None:
    """Seconds of a whole program in each mode: what its steps take at their steady time and, pale, the rest: the start of
    the process and the slower first steps. The background is transparent; the text can be read on white and on black."""
    import matplotlib
    from matplotlib.figure import Figure

    parts = {}
    for curve, rows in curves(runs).items():
        if curve.case == case and not curve.busy and curve.mode != ROUTE:
            level, *_, program = figures(rows, clock, None, None)
            if program is not None:
                kind = f", {curve.cache} cache" if curve.cache else ""
                parts[curve.mode.replace("torch", "PyTorch") + kind] = program, level * WHOLE / 1e6
    ordered = sorted(parts.items(), key=lambda part: -part[1][0])
    plain = {"svg.hashsalt": "staticgrad", "font.size": 9, "text.color": "#777", "ytick.color": "#777"}
    with matplotlib.rc_context(plain):
        figure = Figure(figsize=(7, 0.32 * len(ordered) + 0.5), layout="constrained")
        axes = figure.subplots()
        for y, (name, (program, steps)) in enumerate(ordered):
            color = STYLES[name.partition(",")[0].replace("PyTorch", "torch")][0]
            axes.barh(y, program - steps, color=color, alpha=0.4)
            axes.barh(y, steps, left=program - steps, color=color)
            axes.text(program, y, f" {program:.2f} s", va="center")
        axes.set_yticks(range(len(ordered)), [name for name, _ in ordered])
        axes.set_xticks([])
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        axes.set_xlim(0, 1.12 * ordered[0][1][0])
        figure.savefig(file, transparent=True, metadata={"Date": None} if file.endswith(".svg") else None)


if __name__ == "__main__":
    run(*sys.argv[1:])
