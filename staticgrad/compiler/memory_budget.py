"""`memory_budget=`: of the plans whose buffers stay within a budget, the one that computes least again.

A training step keeps the values of its forward pass until the backward pass has read them. `sg.compile(step,
memory_budget=1e9)` tries policies of rematerialization and orders of the schedule until the arena is small enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, TypeVar

from ..errors import OutOfMemoryError
from ..ir import Graph, Node
from .fusion.node_facts import Layouts
from .lower.instructions import ALIGN
from .passes.rematerialize import Joint, Policy, Rematerialized, nbytes, policies
from .schedule.order import Schedule, owners

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
    """What is used of a plan here."""

    budget: MemoryReport | None


AnyBuilt = TypeVar("AnyBuilt", bound=Built)
Lower = Callable[[Arranged], tuple[Any, int]]


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


class _Candidate:
    """A program that may become the plan. peak: its bytes as predicted; policy, made: what is computed again."""

    def __init__(
        self, arranged: Arranged, strict: bool, lower: Lower, policy: Policy | None = None, made: Rematerialized | None = None
    ):
        decided, order = arranged
        found = strict_usage(order, decided.graph) if strict else usage(order, decided.layouts, decided.fetches)
        self.peak, self.unit = found
        self.arranged, self.policy, self.made, self._lower = arranged, policy, made, lower

    @cached_property
    def lowered(self) -> tuple[Any, int]:
        """The lowered program, and the bytes of its memory: the arena has gaps, and scratch memory of kernels."""
        return self._lower(self.arranged)

    @property
    def size(self) -> int:
        """The smallest budget that it meets."""
        return max(self.peak, self.lowered[1])

    def meets(self, limit: int) -> bool:
        return self.peak <= limit and self.size <= limit

    def tried(self, limit: int) -> tuple[str, int]:
        """The policy, and the bytes for which it was taken or not."""
        return "nothing" if self.policy is None else str(self.policy), self.peak if self.peak > limit else self.size


def within(
    budget: int | float, graph: Graph, results: Sequence[Node], strict: bool,
    arrange: Callable[[Graph, Sequence[Node], dict[Node, Node], bool], Arranged], lower: Lower,
    build: Callable[[Arranged, Any], AnyBuilt],
) -> AnyBuilt:  # fmt: skip
    """The plan of the first policy that is within the budget. arrange(graph, results, waits, early): the passes up to the
    schedule, in which a strict program releases values early. lower: the program without machine code, and its bytes. build:
    the plan of both.

    Raises OutOfMemoryError where there is none, with the smallest budget that is met.
    """
    plain = _Candidate(arrange(graph, results, {}, False), strict, lower)
    limit = round(budget * plain.size) if isinstance(budget, float) else budget
    tried: list[tuple[str, int]] = []

    def plan(of: _Candidate) -> AnyBuilt:
        lowered, arena = of.lowered
        made = build(of.arranged, lowered)
        report = made.budget = MemoryReport(limit, plain.size, of.peak, tried=tried, arena=arena)
        if of.made is not None:
            report.policy, report.paid, report.repeated = str(of.policy), of.made.paid, of.made.again
        return made

    def taken(candidate: _Candidate) -> bool:
        tried.append(candidate.tried(limit))
        return candidate.meets(limit)

    if plain.size <= limit:
        return plan(plain)
    first = plain
    if strict:
        first = _Candidate(arrange(graph, results, {}, True), strict, lower)
        if taken(first):
            return plan(first)
    step: dict[Node, int] = {}
    for i, unit in enumerate(first.arranged[1].units):
        for node in unit.group.members if unit.group is not None else unit.makes:
            step.setdefault(node, i)  # several kernels may compute a cheap value
    joint = Joint(graph, results, step, first.unit, strict)
    known: dict[frozenset[Node], _Candidate] = {}
    all_of: list[_Candidate] = []
    for hopeless in (False, True):  # only where no other policy meets the budget, for the smallest one that can be met
        seen: set[frozenset[Node]] = set()
        for series in policies():
            lowest, worse = first.peak, 0
            for policy in series:
                again = joint.again(policy)
                key = frozenset(again)
                if not again or key in seen:
                    continue
                kept, most = joint.least(again)
                if not hopeless and kept > limit:
                    break  # more checkpoints are more bytes
                if not hopeless and most > limit:
                    continue
                seen.add(key)
                if key not in known:
                    made: Rematerialized = joint.rewritten(policy, again)
                    arranged = arrange(made.graph, made.results, made.waits, strict)
                    known[key] = _Candidate(arranged, strict, lower, policy, made)
                    if taken(known[key]):
                        return plan(known[key])
                peak = known[key].peak
                if hopeless:
                    all_of.append(known[key])
                lowest, worse = (peak, 0) if peak < lowest else (lowest, worse + 1)
                if worse == WORSE:
                    break
    # The candidates of the last search don't depend on the budget, so the search for the least of them ends with it or before.
    least = plain.size
    for candidate in sorted([first, *all_of], key=attrgetter("peak")):
        least = min(least, candidate.size) if candidate.peak < least else least
    raise OutOfMemoryError(
        f"the memory budget of {limit:,d} bytes can't be met: the plan takes {plain.size:,d} bytes, and at least "
        f"{least:,d} when values are computed again",
        f"allow {least:,d} bytes (memory_budget={math.ceil(100 * least / plain.size) / 100:.2f}), or use smaller batches",
    )
