"""What the measured processes tell, in figures: medians, the fastest variant, agreement, ratios, targets."""

from __future__ import annotations

import copy
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .limits import BETTER, text_of
from .registry import BACKENDS, CASES, Case

MEAN, LEAST = 2.0, 1.0
"""The geometric mean over cases of the ratio to the fastest peer, and what no case may be below."""
EAGER_MEAN, EAGER_MOST = 0.6, 1.0
"""The same of eager steps: times of PyTorch's eager step, at most."""
SESSION = 1.3
"""The step of a Session takes at most this many times that of the compiled step."""
OUT_OF_CACHE = 40e6
"""Bytes that a step has to move before the memory's bandwidth is its limit."""
START = {"cold": 3.0, "warm": 1.0}
"""Seconds from process start to the first result of the compiled digits step: with an empty cache, with a full one."""


class Figures(NamedTuple):
    """Medians over the processes of one entry.

    step: microseconds, the median of the processes' medians; low, high: quartiles of all blocks; fastest: block; cpu:
    microseconds of all threads; cold, warm: seconds from process start to the first result; imports: seconds; memory:
    the most MB that were resident until the results were compared, above what modules took, loaded at any time and with all
    that they did meanwhile (for us: Numba, LLVM and the driver), with a full cache, None where only an empty one was measured;
    compiling: the same with an empty cache, above what modules take with a full one; values: compared between backends.
    """

    backend: str
    variant: str
    step: float
    low: float
    high: float
    fastest: float
    cpu: float
    cold: float | None
    warm: float | None
    imports: float
    memory: float | None
    compiling: float | None
    values: Mapping[str, float]


class Failure(NamedTuple):
    backend: str
    variant: str
    error: str


class Row(NamedTuple):
    """A case under a setting of malloc: the fastest variant of each backend, and what failed."""

    case: Case
    malloc: str
    best: dict[str, Figures]
    all: list[Figures]
    failures: list[Failure]
    limits: Mapping[str, Any] | None = None
    """What the machine could do in the run that measured it, where several runs are together."""

    @property
    def name(self) -> str:
        return f"{self.case.name} (malloc {self.malloc})" if self.malloc else self.case.name

    @property
    def ours(self) -> Figures | None:
        return min((f for f in self.best.values() if BACKENDS[f.backend].ours), key=_step, default=None)

    @property
    def peer(self) -> Figures | None:
        return min((f for f in self.best.values() if BACKENDS[f.backend].peer), key=_step, default=None)

    @property
    def ratio(self) -> float | None:
        """How many times the step of the fastest peer takes as long as ours."""
        ours, peer = self.ours, self.peer
        return None if ours is None or peer is None else peer.step / ours.step

    @property
    def eager(self) -> float | None:
        """The time of our eager step in PyTorch's, which takes the better number of threads."""
        both = "eager" in self.best and "torch" in self.best
        return self.best["eager"].step / self.best["torch"].step if both else None

    @property
    def undisturbed(self) -> float | None:
        """The same of the fastest blocks: a busy machine slows those that use two threads more than others."""
        ours, peers = ([f.fastest for f in self.all if getattr(BACKENDS[f.backend], of)] for of in ("ours", "peer"))
        return min(peers) / min(ours) if ours and peers else None


def _step(figures: Figures) -> float:
    return figures.step


def together(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The results of several runs as those of one. Raises ValueError for other machines, versions or settings."""
    if len(runs) > 1:
        runs = [
            {**run, "entries": [{**e, "runs": [*e["runs"]], "limits": run["limits"]} for e in run["entries"]]} for run in runs
        ]
    first, *others = runs
    found = copy.deepcopy({**first})
    held = {_name(entry): entry for entry in found["entries"]}
    for run in others:
        for what in ("machine", "settings"):
            differ = [k for k, v in run[what].items() if k not in ("versions", "rounds") and found[what].get(k) != v]
            if differ:
                raise ValueError(f"these results are not comparable: {', '.join(differ)} of the {what} differ")
        versions = found["machine"]["versions"]
        for name, version in run["machine"]["versions"].items():
            if versions.setdefault(name, version) != version:
                raise ValueError(f"these results are not comparable: {name} {versions[name]} and {version}")
        for kind, better in BETTER.items():
            for name, value in run["limits"].get(kind, {}).items():
                known = found["limits"].setdefault(kind, {})
                known[name] = better(known.get(name, value), value)
        found["skipped"] += [line for line in run["skipped"] if line not in found["skipped"]]
        if "overhead" in run:
            found["overhead"] = run["overhead"]
        for entry in run["entries"]:
            if _name(entry) in held:
                held[_name(entry)]["runs"] += entry["runs"]
            else:
                held[_name(entry)] = entry
                found["entries"].append(entry)
    return found


def by_instructions(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The results of all runs, those with the same instructions together, first those with all that the CPU has."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for run in sorted(runs, key=instructions):
        groups.setdefault(instructions(run), []).append(run)
    return [together(group) for group in groups.values()]


def instructions(results: Mapping[str, Any]) -> str:
    """What the processes were kept to: "" for all that the CPU has, as in files that don't say it."""
    found: str = results["machine"].get("instructions", "")
    return found


def _name(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple([entry[part] for part in ("case", "malloc", "backend", "variant")])


def rows(results: Mapping[str, Any]) -> list[Row]:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for entry in results["entries"]:
        groups.setdefault((entry["case"], entry["malloc"]), []).append(entry)
    return [_row(CASES[name], malloc, entries) for (name, malloc), entries in groups.items()]


def _row(case: Case, malloc: str, entries: Iterable[Mapping[str, Any]]) -> Row:
    found: list[Figures] = []
    failures: list[Failure] = []
    limits = None
    for entry in entries:
        limits = limits or entry.get("limits")
        errors = [run["error"] for run in entry["runs"] if "error" in run]
        if errors:
            failures.append(Failure(entry["backend"], entry["variant"], errors[0]))
        elif entry["runs"]:
            found.append(figures(entry))
    agreed = []
    wanted = reference(f.values for f in found)
    for f in found:
        differs = disagreement(case, f.values, wanted)
        if differs is None:
            agreed.append(f)
        else:
            failures.append(Failure(f.backend, f.variant, differs))
    best: dict[str, Figures] = {}
    for f in agreed:
        if f.backend not in best or f.step < best[f.backend].step:
            best[f.backend] = f
    return Row(case, malloc, best, agreed, failures, limits)


def figures(entry: Mapping[str, Any]) -> Figures:
    runs = entry["runs"]
    blocks = [block for run in runs for block in run["blocks"]]
    low, _, high = statistics.quantiles(blocks, n=4)
    starts = {state: [run["total"] for run in runs if run["cold"] == (state == "cold")] for state in ("cold", "warm")}
    warm = [run for run in runs if not run["cold"]]
    settled = warm if warm else runs
    return Figures(
        entry["backend"],
        entry["variant"],
        statistics.median(statistics.median(run["blocks"]) for run in runs),
        low,
        high,
        min(blocks),
        statistics.median(run["cpu"] for run in runs),
        *(statistics.median(seconds) if seconds else None for seconds in starts.values()),
        statistics.median(run["phases"]["import"] for run in settled),
        statistics.median(run["memory"] for run in settled) if settled[0]["cold"] is False else None,
        compiling(runs),
        runs[0]["figures"],
    )


def compiling(runs: Iterable[Mapping[str, Any]]) -> float | None:
    """None where one of the two states of the cache was not measured."""
    peaks = [run["peak"] for run in runs if run["cold"]]
    modules = [run["peak"] - run["memory"] for run in runs if not run["cold"]]
    return statistics.median(peaks) - statistics.median(modules) if peaks and modules else None


def reference(values: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """What is taken for right: the median of what the backends computed."""
    computed: dict[str, list[float]] = {}
    for one in values:
        for name, value in one.items():
            computed.setdefault(name, []).append(value)
    return {name: statistics.median(given) for name, given in computed.items()}


def disagreement(case: Case, values: Mapping[str, float], wanted: Mapping[str, float]) -> str | None:
    for name, value in values.items():
        if not abs(value - wanted[name]) <= case.tolerance * abs(wanted[name]):
            return f"disagrees: {name} is {value:.7g}, others {wanted[name]:.7g}"
    return None


class Target(NamedTuple):
    """A measured figure beside what it should be."""

    what: str
    value: float
    bound: float
    at_most: bool = False

    @property
    def met(self) -> bool:
        return self.value <= self.bound if self.at_most else self.value >= self.bound


def geometric_mean(ratios: Iterable[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def targets(results: Mapping[str, Any]) -> list[Target]:
    table = rows(results)
    known = [(row, row.ratio) for row in table if row.ratio is not None]
    found = []
    if known:
        found.append(Target("geometric mean over cases, fastest peer / ours", geometric_mean(r for _, r in known), MEAN))
        for row, ratio in known:
            found.append(Target(f"{row.name}: fastest peer / ours", ratio, max(LEAST, row.case.target)))
    eager = [(row, row.eager) for row in table if row.eager is not None]
    if eager:
        found.append(
            Target("geometric mean over cases, eager / PyTorch eager", geometric_mean(r for _, r in eager), EAGER_MEAN, True)
        )
        found += [Target(f"{row.name}: eager / PyTorch eager", ratio, EAGER_MOST, True) for row, ratio in eager]
    for row in table:
        found += _limit_targets(row, results["limits"])
        found += _memory_targets(row)
        if row.case.name == "digits":
            found += _digits_targets(row)
    return found


def bandwidth_share(row: Row, limits: Mapping[str, Any]) -> float | None:
    """Of the highest bandwidth that was measured; None where arrays stay in a cache."""
    limits = row.limits or limits
    if not (row.case.traffic >= OUT_OF_CACHE and limits and row.ours):
        return None
    return row.case.traffic / row.ours.step / 1e3 / max(limits["bandwidth"].values())


def blas_share(row: Row, limits: Mapping[str, Any]) -> float | None:
    """The time of the step's matrix products alone in that of the step."""
    limits = row.limits or limits
    text = text_of(row.case.products)
    if not (text and limits and row.ours and text in limits["products"]):
        return None
    return limits["products"][text] / row.ours.step


def _limit_targets(row: Row, limits: Mapping[str, Any]) -> Iterator[Target]:
    for what, share, bound in (
        ("of the memory bandwidth", bandwidth_share(row, limits), row.case.bandwidth),
        ("of the step is what its BLAS calls take alone", blas_share(row, limits), row.case.blas),
    ):
        if share is not None and bound is not None:
            yield Target(f"{row.name}: {what}", share, bound)


def _memory_targets(row: Row) -> Iterator[Target]:
    ours, theirs = (row.best[name].memory if name in row.best else None for name in ("compiled", "torch"))
    if ours is not None and theirs is not None:
        yield Target(f"{row.name}: peak MB above imports, compiled / PyTorch eager", ours / theirs, 1.0, True)


def _digits_targets(row: Row) -> Iterator[Target]:
    if "compiled" not in row.best:
        return
    compiled = row.best["compiled"]
    if "session" in row.best:
        yield Target("digits: Session step / compiled step", row.best["session"].step / compiled.step, SESSION, True)
    for state, bound in START.items():
        seconds = getattr(compiled, state)
        if seconds is not None:
            yield Target(f"digits: seconds from process start to first result, {state}", seconds, bound, True)
