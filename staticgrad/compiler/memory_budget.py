"""`memory_budget=`: the plan that computes least again among those whose buffers stay within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import OutOfMemoryError
from ..ir import Graph, Node
from .fusion.layout import Layouts
from .lower.instructions import ALIGN
from .passes.rematerialize import Joint, Rematerialized, nbytes, policies
from .schedule.order import Schedule

WORSE = 2
"""Policies of a series that are tried after the best one."""

Arranged = tuple[Any, Schedule]
"""A program before its schedule (`Decided`), and the schedule."""


@dataclass
class MemoryReport:
    """How a plan keeps to its budget. Bytes are those of the plan's own buffers; parameters, arguments and results are the
    caller's.

    without: bytes of the plan without a budget; predicted, arena: bytes of this one, before and after its buffers got their
    places; policy: what is computed again, in words; paid: the arithmetic of that, as a share of the program's; repeated: the
    operations; tried: (policy, bytes) in the order in which they were tried.
    """

    budget: int
    without: int
    predicted: int
    policy: str = "nothing"
    paid: float = 0.0
    repeated: Sequence[Node] = ()
    tried: list[tuple[str, int]] = field(default_factory=list)
    arena: int = 0

    def line(self) -> str:
        """What `explain()` says."""
        return (
            f"memory budget of {self.budget:,d} bytes: {self.arena:,d} instead of {self.without:,d} "
            f"(predicted {self.predicted:,d}); computed again: {self.policy}, "
            f"{len(self.repeated)} operations, {self.paid:.0%} more arithmetic"
        )


class Usage(NamedTuple):
    """The most bytes of values that are live in one unit of a schedule, and the number of that unit."""

    peak: int
    unit: int


def usage(order: Schedule, layouts: Layouts, fetches: Iterable[Node]) -> Usage:
    """The live set of a schedule, values that overwrite others counted once; without variables and results."""
    outside = {layouts.base[node] for node in fetches}

    def root(node: Node) -> Node:
        node = order.place.get(node, node)
        return layouts.base[node] if node in layouts.part else node

    first: dict[Node, int] = {}
    last: dict[Node, int] = {}
    for i, unit in enumerate(order.units):
        for node in (*map(root, unit.makes), *map(root, unit.reads)):
            first.setdefault(node, i)
            last[node] = i
    change = [0] * (len(order.units) + 1)
    for node in first:
        if not node.op.leaf and node not in outside:
            size = -(-max(nbytes(node), 1) // ALIGN) * ALIGN
            change[first[node]] += size
            change[last[node] + 1] -= size
    alive, best, at = 0, 0, 0
    for i, step in enumerate(change[:-1]):
        alive += step
        if alive > best:
            best, at = alive, i
    return Usage(best, at)


def within(
    budget: int | float,
    graph: Graph,
    results: Sequence[Node],
    strict: bool,
    arrange: Callable[[Graph, Sequence[Node], dict[Node, Node]], Arranged],
) -> tuple[Arranged, MemoryReport]:
    """The first policy whose predicted peak is within the budget. arrange(graph, results, waits): the passes up to the
    schedule.

    Raises OutOfMemoryError where there is none, with the smallest peak that was found.
    """
    plain = arrange(graph, results, {})
    found = usage(plain[1], plain[0].layouts, plain[0].fetches)
    limit = int(budget * found.peak) if isinstance(budget, float) else budget
    report = MemoryReport(limit, found.peak, found.peak)
    if found.peak <= limit:
        return plain, report
    step: dict[Node, int] = {}
    for i, unit in enumerate(plain[1].units):
        for node in unit.group.members if unit.group is not None else unit.makes:
            step.setdefault(node, i)  # several kernels may compute a cheap value
    joint = Joint(graph, results, step, found.unit, strict)
    seen: set[frozenset[Node]] = set()
    for series in policies():
        lowest, worse = found.peak, 0
        for policy in series:
            again = joint.again(policy)
            if not again or frozenset(again) in seen:
                continue
            seen.add(frozenset(again))
            made: Rematerialized = joint.rewritten(policy, again)
            arranged = arrange(made.graph, made.results, made.waits)
            peak = usage(arranged[1], arranged[0].layouts, arranged[0].fetches).peak
            report.tried.append((str(policy), peak))
            if peak <= limit:
                report.predicted, report.policy, report.paid, report.repeated = peak, str(policy), made.paid, made.again
                return arranged, report
            lowest, worse = (peak, 0) if peak < lowest else (lowest, worse + 1)
            if worse == WORSE:
                break
    least = min([found.peak, *[peak for _, peak in report.tried]])
    raise OutOfMemoryError(
        f"the memory budget of {limit:,d} bytes can't be met: the plan takes {found.peak:,d} bytes, and at least {least:,d} "
        "when values are computed again",
        f"allow {least:,d} bytes (memory_budget={least / found.peak + 0.005:.2f}), or use smaller batches",
    )
