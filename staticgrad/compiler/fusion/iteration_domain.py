"""Iteration domains of groups: the rows and columns that nodes share as one kernel, found for single nodes and for unions.

Values are *full* (one per row and column), *row* (one per row), *col* (one per column) or *scalar*. `classify` gives the
domain of a set of nodes, or raises FusionFailure with the reason why they share none. `united` gives the domain of two
groups together without looking at all their nodes again.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Mapping, Sequence

from ...ir import Node
from .broadcast_rank import COL, ROW, SPREAD, FusionFailure, IterationDomain
from .layout import Layouts, real
from .node_facts import facts_of
from .rank_assignment import assign_rank, width_of


def classify(members: Sequence[Node], layouts: Layouts) -> IterationDomain:
    """The iteration domain that these nodes share, with the broadcast rank of each. Raises FusionFailure."""
    return domain_of(members, layouts).domain


class GroupDomain:
    """The iteration domain of a group, with the facts that decide it.

    A union looks only at the nodes where the two groups meet, and at all nodes of a group only where the domain changes.
    """

    __slots__ = ("domain", "partial", "preferred", "readers", "scatters", "size", "widths")

    def __init__(
        self, domain: IterationDomain, preferred: str, partial: tuple[int, int] | None, size: int, widths: dict[int, int]
    ):
        self.domain = domain
        self.preferred = preferred
        """The rank of a vector where there are as many rows as columns and no other fact decides."""
        self.partial = partial
        self.size = size
        """The number of elements of the largest shape over which a node of the group iterates."""
        self.widths = widths
        """Per number of columns, how many nodes of that size require it. Unused where `partial` fixes both extents."""
        self.scatters = SPREAD in domain.rank.values()
        """Whether a node scatter-adds rows. Whether it may depends on all other nodes of the group."""
        self.readers: dict[Node, list[Node]] = {}
        """Per origin of an operand, the nodes of the group that read it."""


def domain_of(members: Sequence[Node], layouts: Layouts) -> GroupDomain:
    """The domain of nodes that come in the order of the graph, computed from scratch. Raises FusionFailure."""
    inside = set(members)
    rows, columns, partial, size, widths = _extents(members, inside, layouts)
    error = FusionFailure("no iteration domain")
    for preferred in (ROW, COL):  # with as many rows as columns, only the use of a vector shows its rank
        domain = IterationDomain(rows, columns, {}, set())
        try:
            for node in members:
                assign_rank(node, domain, inside, layouts, preferred)
        except FusionFailure as reason:
            error = reason
            if rows != columns:
                break
            continue
        shared = GroupDomain(domain, preferred, partial, size, widths)
        for node in members:
            for source in layouts.facts[node].sources:
                shared.readers.setdefault(source, []).append(node)
        return shared
    raise error


def _extents(
    members: Sequence[Node], inside: Container[Node], layouts: Layouts
) -> tuple[int, int | None, tuple[int, int] | None, int, dict[int, int]]:
    """(rows, columns, partial, size, widths) of a GroupDomain. Partial reductions decide rows and columns; without them, the
    way in which operands broadcast does. columns is None for a flat group."""
    known = layouts.facts
    facts = [known[node] if node in known else facts_of(node, layouts) for node in members]
    partial: tuple[int, int] | None = None
    for f in facts:
        if f.partial is not None and f.partial != partial:
            if partial is not None:
                raise _different([g.partial for g in facts if g.partial is not None])
            partial = f.partial
    size, widths = max([f.size for f in facts]), dict[int, int]()
    if partial is not None:
        return *partial, partial, size, widths
    for node, f in zip(members, facts, strict=True):
        if f.size == size and (width := width_of(node, f, inside, layouts)):
            widths[width] = widths.get(width, 0) + 1
    return *_split(size, widths), None, size, widths


def _different(domains: Iterable[tuple[int, int]]) -> FusionFailure:
    found: list[tuple[int, int]] = []
    for domain in domains:
        if domain not in found:
            found.append(domain)
    return FusionFailure("they reduce over different domains: " + ", ".join(f"{real(r)} x {real(c)}" for r, c in sorted(found)))


def _split(size: int, widths: Iterable[int]) -> tuple[int, int | None]:
    if not widths:
        return size, None
    columns = min(widths)
    return size // columns, columns


class Union:
    """The union of two domains. Nothing changes before `commit`.

    Ranks are copied: a group has few members, and copying them is faster than a lookup in two tables each time.
    """

    def __init__(self, small: GroupDomain, large: GroupDomain):
        self.small, self.large = small, large
        self.rank: dict[Node, str] = {**large.domain.rank, **small.domain.rank}
        self.post: set[Node] = {*large.domain.post, *small.domain.post}
        self.changed: dict[Node, tuple[str, bool]] = {}
        """Per node whose rank changed, or whose value is accumulated now and was not before or the reverse: both facts as they
        were."""
        self.whole: GroupDomain | None = None
        """The union where it was computed from scratch."""
        self.extents: tuple[int, int | None] = (0, None)
        self.partial: tuple[int, int] | None = None
        self.size = 0
        self.widths: dict[int, int] = {}

    def commit(self) -> None:
        """Make the large domain the domain of all nodes."""
        small, large = self.small, self.large
        if self.whole is not None:
            for field in GroupDomain.__slots__:
                setattr(large, field, getattr(self.whole, field))
            return
        domain = large.domain
        domain.rows, domain.columns = self.extents
        domain.rank, domain.post = self.rank, self.post
        large.partial, large.size, large.widths = self.partial, self.size, self.widths
        large.scatters = large.scatters or small.scatters
        for source, readers in small.readers.items():
            if source in large.readers:
                large.readers[source] += readers
            else:
                large.readers[source] = readers


def united(small: GroupDomain, large: GroupDomain, layouts: Layouts, position: Mapping[Node, int]) -> Union:
    """The union of two domains, equal to the domain of all their nodes but found without looking at all of them. Raises
    FusionFailure."""
    union = Union(small, large)
    meeting = [
        *((node, small) for node in _meeting(small, large)),
        *((node, large) for node in _meeting(large, small)),
    ]
    _extents_together(union, meeting, layouts)
    rows, columns = union.extents
    if COL in (small.preferred, large.preferred) or (small.scatters and large.scatters):
        return _from_scratch(union, layouts, position)
    dirty = {node for node, _ in meeting}
    for shared in (small, large):
        if (shared.domain.rows, shared.domain.columns) != (rows, columns):
            dirty |= shared.domain.rank.keys()
    try:
        _assign_anew(union, dirty, layouts, position)
    except FusionFailure:
        if rows != columns:
            raise
        return _from_scratch(union, layouts, position)
    return union


def _meeting(shared: GroupDomain, other: GroupDomain) -> set[Node]:
    """The nodes of one domain that read nodes of the other."""
    readers = shared.readers
    return {node for source in readers.keys() & other.domain.rank.keys() for node in readers[source]}


def _extents_together(union: Union, meeting: Sequence[tuple[Node, GroupDomain]], layouts: Layouts) -> None:
    small, large = union.small, union.large
    if small.partial is not None and large.partial is not None and small.partial != large.partial:
        raise _different((small.partial, large.partial))
    union.partial = large.partial if small.partial is None else small.partial
    union.size = small.size if small.size > large.size else large.size
    if union.partial is not None:
        union.extents = union.partial
        return
    widths = dict(large.widths) if large.size == union.size else {}
    if small.size == union.size:
        for width, n in small.widths.items():
            widths[width] = widths.get(width, 0) + n
    for node, shared in meeting:
        facts = facts_of(node, layouts)
        if facts.size == union.size:
            before = width_of(node, facts, shared.domain.rank, layouts)
            after = width_of(node, facts, union.rank, layouts)
            if before != after:
                widths[before] = widths.get(before, 0) - 1
                widths[after] = widths.get(after, 0) + 1
    union.widths = {width: n for width, n in widths.items() if width and n > 0}
    union.extents = _split(union.size, union.widths)


def _assign_anew(union: Union, dirty: set[Node], layouts: Layouts, position: Mapping[Node, int]) -> None:
    """Assigns ranks to these nodes, and to the readers of each node whose rank changes, in the order of the graph."""
    rows, columns = union.extents
    rank, post, changed = union.rank, union.post, union.changed
    domain = IterationDomain(rows, columns, rank, post)
    waiting = [(position[node], node) for node in dirty]
    heapq.heapify(waiting)
    while waiting:
        node = heapq.heappop(waiting)[1]
        before = rank[node], node in post
        post.discard(node)
        assign_rank(node, domain, rank, layouts, ROW)
        if rank[node] != before[0] or (node in post) is not before[1]:
            changed[node] = before
            for shared in (union.small, union.large):
                if node in shared.readers:
                    for reader in shared.readers[node]:
                        if reader not in dirty:
                            dirty.add(reader)
                            heapq.heappush(waiting, (position[reader], reader))


def _from_scratch(union: Union, layouts: Layouts, position: Mapping[Node, int]) -> Union:
    small, large = union.small.domain, union.large.domain
    union.whole = domain_of(sorted(union.rank, key=position.__getitem__), layouts)
    domain = union.whole.domain
    union.rank, union.post, union.extents = domain.rank, domain.post, (domain.rows, domain.columns)
    union.changed = {}
    for node, rank in domain.rank.items():
        before = small if node in small.rank else large
        was = before.rank[node], node in before.post
        if was != (rank, node in domain.post):
            union.changed[node] = was
    return union
