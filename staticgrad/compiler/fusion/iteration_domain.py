"""Iteration domains of groups: the rows and columns that nodes share as one kernel, found for single nodes and for unions.

Values are *full* (one per row and column), *row* (one per row), *col* (one per column) or *scalar*. `classify` gives the
domain of a set of nodes, or raises FusionFailure with the reason why they share none. `united` gives the domain of two
groups together without looking at all their nodes again.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Container, Iterable, Mapping, Sequence

from ...ir import Node
from .node_facts import (
    COL,
    FULL,
    ROW,
    SCALAR,
    SPREAD,
    Facts,
    FusionFailure,
    IterationDomain,
    Layouts,
    assign_gather,
    assign_padding,
    assign_scan,
    assign_scatter,
    block_of,
    block_start,
    broadcast_strides,
    count,
    facts_of,
    inlined,
    merged,
    origin,
    real,
    rows_begin,
)

# the broadcast rank of each value in an iteration domain, and how a kernel over the domain addresses its operands -----


def width_of(node: Node, facts: Facts, inside: Container[Node], layouts: Layouts) -> int:
    """The number of columns that a node requires; 0 where it fits any."""
    k = _block(node, facts, inside, layouts)
    return count(facts.shape[k:]) if k > 0 else 0


# extents ------------------------------------------------------------------------------------------------------------


def _block(node: Node, facts: Facts, inside: Container[Node], layouts: Layouts) -> int:
    """The first axis of the columns: from there on, each operand is one value or is walked by one stride. 0 where all operands
    are walked by one stride as a whole."""
    shape = facts.shape
    if facts.window is not None:
        return block_of(facts.window, len(shape))
    if facts.lookup is not None:
        return rows_begin(node, facts.lookup)
    k = 0
    for seen, source, mask in facts.walked:
        if source not in inside:
            run = _run(seen, facts, layouts)
            if run is None:
                raise FusionFailure("an operand does not broadcast to the result")
            if run > k:
                k = run
        if mask > k:
            k = mask
    if shape == node.type.shape and not layouts.at[node].is_contiguous:  # rows apart, or another order of axes
        k = max(k, block_start(shape, layouts.at[node].strides))
    return k


def _run(seen: Node, facts: Facts, layouts: Layouts) -> int | None:
    """The first axis of the suffix of axes that one stride walks in memory; None where the operand doesn't broadcast to the
    shape."""
    at = layouts.at[seen]
    if seen in facts.runs:
        known, run = facts.runs[seen]
        if known is at:
            return run
    strides = broadcast_strides(at, facts.shape)
    run = None if strides is None else block_start(facts.shape, strides)
    facts.runs[seen] = at, run
    return run


# ranks --------------------------------------------------------------------------------------------------------------


def assign_rank(node: Node, domain: IterationDomain, inside: Collection[Node], layouts: Layouts, preferred: str) -> None:
    known = layouts.facts
    facts = known[node] if node in known else facts_of(node, layouts)
    rank, post = domain.rank, domain.post
    if facts.reduction:
        rank[node] = _reduced(node, facts, domain, inside, layouts)
        return
    if not facts.plain:
        _assign_indirect(node, facts, domain, inside, layouts)
        return
    rank[node] = own = _pointwise_rank(node, facts, domain, inside, preferred)
    if not layouts.at[node].is_contiguous and (
        own != FULL or split_strides(node, node.type.shape, FULL, domain, layouts) is None
    ):
        raise FusionFailure("it is stored in another order of its axes")
    if post:
        for _, source in facts.operands:
            if source in post:
                if own != SCALAR:
                    raise FusionFailure(f"it needs the finished {source.op.name} of all rows")
                post.add(node)
                break
    for seen, source in facts.members:
        if source in inside:
            other = rank[source]
            if other != SCALAR and (other != own or seen.type.shape != node.type.shape):
                _check_member(seen, other, node.type.shape, own, domain)
        elif own != SCALAR or seen.type.shape:
            _check_access(seen, node.type.shape, own, facts, domain, layouts)


def _assign_indirect(node: Node, facts: Facts, domain: IterationDomain, inside: Collection[Node], layouts: Layouts) -> None:
    """The rank of a node that reads its operands, or writes its result, at other positions."""
    if facts.window is not None:
        assign_padding(node, facts.window, domain, inside, layouts)
    elif facts.lookup is not None:
        assign_gather(node, facts.lookup, domain, inside, layouts)
    elif facts.scan is not None:
        seen, source = facts.operands[0]
        assign_scan(node, source, domain, inside)
        if not inlined(source):
            access_check(seen, node.type.shape, FULL, domain, layouts)
    else:
        assert facts.scatter is not None
        values = node.inputs[facts.scatter.values]
        assign_scatter(node, facts.scatter, domain, inside)
        if origin(values) not in inside:
            access_check(values, values.type.shape, FULL, domain, layouts)


def _pointwise_rank(node: Node, facts: Facts, domain: IterationDomain, inside: Container[Node], preferred: str) -> str:
    shape = node.type.shape
    if not shape:
        return SCALAR
    for seen, source in facts.operands:
        if source in inside and seen.type.shape == shape and source not in domain.post:
            return domain.rank[source]
    ranks = _ranks_of(facts.size, domain)
    if not ranks:
        raise FusionFailure(f"its shape {shape} does not fit the domain {domain}")
    return preferred if preferred in ranks and FULL not in ranks else ranks[0]


def _ranks_of(size: int, domain: IterationDomain) -> list[str]:
    """The ranks that a value of so many elements may have."""
    rows, columns = domain.rows, domain.columns
    if columns is None:
        return [ROW] if size == rows else [SCALAR] if size == 1 else []
    sizes = ((FULL, rows * columns), (ROW, rows), (COL, columns), (SCALAR, 1))
    return [rank for rank, n in sizes if size == n]


def _reduced(node: Node, facts: Facts, domain: IterationDomain, inside: Container[Node], layouts: Layouts) -> str:
    """The rank of a reduction."""
    seen, source = facts.operands[0]
    shape, axis = facts.shape, node.attrs["axis"]
    if source in domain.post:
        raise FusionFailure(f"it needs the finished {source.op.name} of all rows")
    everything = len(axis) == len(shape)
    if source in inside:
        rank = domain.rank[source]
    else:
        ranks = _ranks_of(facts.size, domain)
        rank = ranks[0] if ranks else ""
        if rank not in (FULL, ROW):
            raise FusionFailure(f"its operand {shape} does not fit the domain {domain}")
        if facts.members:
            _check_access(seen, shape, rank, facts, domain, layouts)
    if everything:
        if rank not in (FULL, ROW):
            raise FusionFailure("it reduces a value that is not one per row")
        domain.post.add(node)
        return SCALAR
    if rank != FULL:
        raise FusionFailure("it reduces part of a row value")
    if axis[0] == 0:
        domain.post.add(node)
        return COL
    return ROW


def splits(shape: Sequence[int], domain: IterationDomain) -> list[int]:
    """The axes k such that axes [:k] are the rows and axes [k:] the columns. The largest comes first, so axes of extent 1
    count as rows."""
    columns = domain.columns if domain.columns is not None else 1
    return [k for k in range(len(shape), -1, -1) if count(shape[:k]) == domain.rows and count(shape[k:]) == columns]


def _check_member(seen: Node, rank: str, shape: tuple[int, ...], user: str, domain: IterationDomain) -> None:
    """Raises FusionFailure unless a value of the group is available where its user, of rank `user`, needs it."""
    t = seen.type.shape
    if rank == SCALAR:
        return
    if rank == user:
        if t != shape:
            raise FusionFailure(f"an operand of shape {t} is repeated along a part of {shape}")
        return
    if user != FULL:
        raise FusionFailure(f"a {user} value can't use a {rank} value")
    padded = (1,) * (len(shape) - len(t)) + t
    for k in splits(shape, domain):
        row = padded[:k] == shape[:k] and all(d == 1 for d in padded[k:])
        col = padded[k:] == shape[k:] and all(d == 1 for d in padded[:k])
        if (rank == ROW and row) or (rank == COL and col):
            return
    raise FusionFailure(f"a {rank} value of shape {t} does not lie along the {rank}s of {shape}")


def _check_access(seen: Node, shape: Sequence[int], rank: str, facts: Facts, domain: IterationDomain, layouts: Layouts) -> None:
    """`access_check`, done once per domain and layout."""
    key, at = (seen, rank, domain.rows, domain.columns), layouts.at[seen]
    if key not in facts.accesses or facts.accesses[key] is not at:
        access_check(seen, shape, rank, domain, layouts)
        facts.accesses[key] = at


def access_check(seen: Node, shape: Sequence[int], rank: str, domain: IterationDomain, layouts: Layouts) -> None:
    """Raises FusionFailure unless a kernel over this domain can walk a value in memory."""
    if split_strides(seen, shape, rank, domain, layouts) is None:
        raise FusionFailure(f"an operand of shape {seen.type.shape} can't be walked along rows and columns")


def split_strides(
    seen: Node, shape: Sequence[int], rank: str, domain: IterationDomain, layouts: Layouts
) -> tuple[Sequence[int], Sequence[int], int] | None:
    """(row extents, row strides, column stride) of an operand in memory; None where strides can't describe the access."""
    layout = layouts.at[seen]
    strides = broadcast_strides(layout, shape)
    if strides is None:
        return None
    if rank == SCALAR:
        return (), (), 0
    if rank == ROW:
        return shape, strides, 0
    if rank == COL:
        column = merged(shape, strides)
        return None if column is None else ((), (), column)
    for k in splits(shape, domain):
        column = merged(shape[k:], strides[k:])
        if column is not None:
            return shape[:k], strides[:k], column
    whole = merged(shape, strides)
    if whole is not None and domain.columns is not None:
        return (domain.rows,), (whole * domain.columns,), whole
    return None


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
