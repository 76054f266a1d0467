"""`memory_budget=`: the plan that computes least again among those whose buffers stay within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from ..errors import OutOfMemoryError
from ..ir import Graph, Node
from .fusion.layout import Layouts
from .lower.instructions import ALIGN
from .passes.rematerialize import Joint, Policy, Rematerialized, nbytes, policies
from .schedule.early_release import owners
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


class Built(Protocol):
    """What is used of a plan here. held: the most bytes of NumPy's arrays in a run."""

    budget: MemoryReport | None

    @property
    def memory(self) -> Any: ...

    @property
    def held(self) -> int: ...


AnyBuilt = TypeVar("AnyBuilt", bound=Built)


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

    return _live(order, root, outside)


def held(order: Schedule, graph: Graph) -> Usage:
    """The same of the arrays of a strict run, in which the host computes all values and NumPy's views have no memory."""
    return _live(order, owners(graph).__getitem__)


def strict_usage(order: Schedule, graph: Graph) -> Usage:
    """Of a strict run, the arrays and the arena, which is there during the whole run: values that native copies read."""
    found = held(order, graph)
    made = {node: i for i, unit in enumerate(order.units) for node in unit.makes}
    copied = {node: i for i, unit in enumerate(order.units) if unit.kind == "copy" for node in unit.reads if node in made}
    arena = _most([(node, made[node], i) for node, i in copied.items()], len(order.units))
    return Usage(found.peak + arena.peak, found.unit)


def _live(order: Schedule, root: Callable[[Node], Node], outside: Set[Node] = frozenset()) -> Usage:
    first: dict[Node, int] = {}
    last: dict[Node, int] = {}
    for i, unit in enumerate(order.units):
        for node in (*map(root, unit.makes), *map(root, unit.reads)):
            first.setdefault(node, i)
            last[node] = i
    lives = [(node, first[node], last[node]) for node in first if not node.op.leaf and node not in outside]
    return _most(lives, len(order.units))


def _most(lives: Iterable[tuple[Node, int, int]], units: int) -> Usage:
    """lives: values with the numbers of the first and the last unit that use them."""
    change = [0] * (units + 1)
    for node, begin, end in lives:
        size = -(-max(nbytes(node), 1) // ALIGN) * ALIGN
        change[begin] += size
        change[end + 1] -= size
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
    arrange: Callable[[Graph, Sequence[Node], dict[Node, Node], bool], Arranged],
    build: Callable[[Arranged], AnyBuilt],
) -> AnyBuilt:
    """The plan of the first policy that is within the budget. arrange(graph, results, waits, early): the passes up to the
    schedule, in which a strict program releases values early. build: the plan of that.

    Raises OutOfMemoryError where there is none, with the smallest peak that was found.
    """

    def peak_of(arranged: Arranged) -> Usage:
        decided, order = arranged
        return strict_usage(order, decided.graph) if strict else usage(order, decided.layouts, decided.fetches)

    def built(
        arranged: Arranged, peak: int, policy: Policy | None = None, made: Rematerialized | None = None
    ) -> AnyBuilt | None:
        """The plan, if both its predicted bytes and those of its arena are within the budget: the arena has gaps, and scratch
        memory of kernels."""
        bytes_of, plan = peak, None
        if peak <= limit:
            plan = build(arranged)
            report.predicted, report.arena = peak, plan.memory.arena + plan.held
            bytes_of = max(peak, report.arena)
            if made is not None:
                report.policy, report.paid, report.repeated = str(policy), made.paid, made.again
            plan.budget = report
        if policy is not None or strict:
            report.tried.append(("nothing" if policy is None else str(policy), bytes_of))
        return plan if bytes_of <= limit else None

    plain = arrange(graph, results, {}, False)
    found = peak_of(plain)
    limit = int(budget * found.peak) if isinstance(budget, float) else budget
    report = MemoryReport(limit, found.peak, found.peak)
    if found.peak <= limit:
        plan = build(plain)
        report.arena, plan.budget = plan.memory.arena + plan.held, report
        if report.arena <= limit or budget == 1.0:
            return plan
    if strict:
        plain = arrange(graph, results, {}, True)
        found = peak_of(plain)
        early = built(plain, found.peak)
        if early is not None:
            return early
    step: dict[Node, int] = {}
    for i, unit in enumerate(plain[1].units):
        for node in unit.group.members if unit.group is not None else unit.makes:
            step.setdefault(node, i)  # several kernels may compute a cheap value
    joint = Joint(graph, results, step, found.unit, strict)
    seen: set[frozenset[Node]] = set()
    for hopeless in (False, True):  # only where no other policy meets the budget, for the smallest one that can be met
        for series in policies():
            lowest, worse = found.peak, 0
            for policy in series:
                again = joint.again(policy)
                if not again or frozenset(again) in seen:
                    continue
                kept, most = joint.least(again)
                if not hopeless and kept > limit:
                    break  # more checkpoints are more bytes
                if not hopeless and most > limit:
                    continue
                seen.add(frozenset(again))
                made: Rematerialized = joint.rewritten(policy, again)
                arranged = arrange(made.graph, made.results, made.waits, strict)
                peak = peak_of(arranged).peak
                better = built(arranged, peak, policy, made)
                if better is not None:
                    return better
                lowest, worse = (peak, 0) if peak < lowest else (lowest, worse + 1)
                if worse == WORSE:
                    break
    least = min([found.peak, *[peak for _, peak in report.tried]])
    raise OutOfMemoryError(
        f"the memory budget of {limit:,d} bytes can't be met: the plan takes {report.without:,d} bytes, and at least "
        f"{least:,d} when values are computed again",
        f"allow {least:,d} bytes (memory_budget={least / report.without + 0.005:.2f}), or use smaller batches",
    )
