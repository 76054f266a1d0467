"""Results as tables, and the ratios that the project promises."""

from __future__ import annotations

from typing import Any, NamedTuple

from .registry import BACKENDS, Case

ABOUT = {b.name: b.about for b in BACKENDS}
COLD, WARM = 3.0, 1.0
"""Seconds from process start to the first result of a compiled step: with an empty kernel cache, with a full one."""
TARGETS = {"digits": {"JAX": 2.0, "PyTorch": 6.0}}
"""How many times faster the compiled step is to be, by case and peer."""
SESSION = 1.3
"""The step of a Session takes at most this many times that of the compiled step."""


class Ratio(NamedTuple):
    """A measured figure beside what it should be."""

    what: str
    value: float
    target: float | None = None
    at_most: bool = False
    undisturbed: float | None = None
    """The same from the fastest rounds: a busy machine slows those that use two threads more than others."""

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target

    def __str__(self) -> str:
        best = "" if self.undisturbed is None else f"{self.undisturbed:.2f}"
        bound = "" if self.target is None else f"{'<=' if self.at_most else '>='} {self.target:g}"
        return f"  {self.what:58s}{self.value:9.2f}{best:>14s}   {bound:8s}{VERDICT[self.met]}"


VERDICT = {True: "met", False: "MISSED", None: ""}
RATIOS = f"{'Ratios':69s}{'fastest round':>14s}   target"


def steps_ratios(case: Case, results: dict[str, Any]) -> list[Ratio]:
    """Of medians. A peer counts with the fastest of its backends."""
    if "compiled" not in results:
        return []
    targets = TARGETS.get(case.name, {})
    ratios = []
    for peer in dict.fromkeys(b.peer for b in BACKENDS if b.peer is not None):
        times = [results[b.name] for b in BACKENDS if b.peer == peer and b.name in results]
        if times:
            fastest = min(times, key=lambda r: r["median"])
            ratios.append(_ratio(case, peer, fastest, results["compiled"], targets.get(peer), False))
    for name, bound in (("session", SESSION), ("callable", SESSION), ("eager", None)):
        if name in results:
            ratios.append(_ratio(case, name, results[name], results["compiled"], bound, True))
    return ratios


def _ratio(case: Case, name: str, other: Any, ours: Any, target: float | None, at_most: bool) -> Ratio:
    undisturbed = min(other["rounds"]) / min(ours["rounds"])
    what = f"{case.name}: {name} step / compiled step"
    return Ratio(what, other["median"] / ours["median"], target, at_most, undisturbed)


def start_ratios(case: Case, results: dict[str, Any]) -> list[Ratio]:
    if "compiled" not in results:
        return []
    cold, warm = (results["compiled"][state]["total"] for state in ("cold", "warm"))
    return [
        Ratio(f"{case.name}: seconds from start to first result, cold", cold, COLD, True),
        Ratio(f"{case.name}: seconds from start to first result, warm", warm, WARM, True),
    ]


def steps_table(case: Case, found: dict[str, Any]) -> str:
    lines = [
        f"Step of {case.name}: {case.about}",
        f"  {'us a step, over rounds:':50s}{'median':>9s}{'quartiles':>18s}{'loss':>13s}",
    ]
    for name, r in found["steps"].items():
        lines.append(f"  {ABOUT[name]:50s}{r['median']:9.1f}{r['low']:9.1f} ..{r['high']:6.1f}{r['loss']:13.6g}")
    lines.append(f"  load {found['load_before']:.2f} before, {found['load_after']:.2f} after (about 1 is this process)")
    return "\n".join(lines)


def start_table(case: Case, results: dict[str, Any]) -> str:
    lines = [f"First result of {case.name}: seconds from process start, imports included"]
    for state in ("cold", "warm"):
        lines.append(
            f"  {'empty cache' if state == 'cold' else 'full cache':12s}{'s':>8s}{'CPU s':>9s}{'peak MB':>9s}   where"
        )
        for name, r in results.items():
            run = r[state]
            parts = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in run["phases"].items())
            lines.append(f"    {name:10s}{run['total']:6.2f}{run['cpu']:9.2f}{run['peak_mb'] or 0:9.0f}   {parts}")
    return "\n".join(lines)


def figures(title: str, results: dict[str, float], form: str) -> str:
    return "\n".join([title, *(f"  {name:30s}{value:{form}}" for name, value in results.items())])
