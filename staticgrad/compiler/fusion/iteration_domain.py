"""Iteration spaces: what nodes have to share to become one kernel, and what kind each value has in it.

Values are *full* (one per row and column), *row* (one per row), *col* (one per column) or *scalar*. `classify` gives
the space of a set of nodes, or raises Misfit with the reason why they have none.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence

from ...ir import Extent, Index, Layout, Node, Pointwise, Reduction
from .broadcast_rank import COL, FULL, ROW, SCALAR, SPREAD, FusionFailure, IterationDomain, fused_as, origin
from .gather_fusion import assign_gather, choose_gathers, gather_of, rows_begin
from .layout import Layouts, block_start, broadcast_strides, count, merged, real
from .padding_fusion import assign_padding, block_of, choose_paddings, padding_of
from .scatter_fusion import assign_scatter, choose_scatters, scatter_of, spread_domain

__all__ = [
    "CHOICES", "COL", "FULL", "FusionFailure", "GroupDomain", "IterationDomain", "ROW", "SCALAR", "SPREAD", "Union",
    "access_check", "classify", "domain_of", "facts_of", "fusible", "inlined", "origin", "split_strides", "splits",
    "uniform", "united",
]  # fmt: skip

LEAST_SCAN = 16
"""Columns from which on a kernel scans rows: shorter ones are vectorized over rows."""


def scan_of(node: Node) -> Reduction | None:
    """The reduction whose partial results along the last axis are the value."""
    return fused_as(node, Reduction)


def choose_scans(
    nodes: Iterable[Node], users: dict[Node, list[Node]], stored: set[Node], fusible: Callable[[Node], bool]
) -> set[Node]:
    """Values that are not stored: only kernels read them."""
    return {
        node for node in nodes
        if node not in stored and scan_of(node) is not None and node.type.static and node.type.shape[-1] > LEAST_SCAN
        and users[node] and all(map(fusible, users[node]))
    }  # fmt: skip


CHOICES = (choose_paddings, choose_gathers, choose_scatters, choose_scans)
"""By kind of fusion, `(nodes, users, results, fusible) -> nodes`: the results of routines that kernels are to make."""


def fusible(node: Node) -> bool:
    emit = node.op.emit
    if emit.__class__ is Pointwise:
        return node.type.static
    return emit.__class__ is Reduction


def uniform(node: Node) -> bool:
    """One number made of constants and extents: recomputed wherever it is needed."""
    known = node.uniform
    if known is None:
        known = _uniform(node)
        object.__setattr__(node, "uniform", known)
    return known


def _uniform(node: Node) -> bool:
    for d in node.type.shape:
        if d != 1:
            return False
    if node.op.emit.__class__ is Extent or node.op.leaf == "constant":
        return True
    return node.op.emit.__class__ is Pointwise and fusible(node) and all(uniform(origin(i)) for i in node.inputs)


def inlined(node: Node) -> bool:
    """Has no storage: positions, extents, numbers, operands that are read for their shape."""
    known = node.uniform
    if known or (known is None and uniform(node)):
        return True
    kind = node.op.emit.__class__
    return kind is Index or kind is Extent or node.op.leaf == "shape"


def classify(members: Sequence[Node], layouts: Layouts) -> IterationDomain:
    """The space that these nodes share, with the kind of each. Raises Misfit."""
    return domain_of(members, layouts).domain


class Facts:
    """What classification asks of a node whatever group it is in: found once a graph."""

    __slots__ = (
        "accesses", "lookup", "members", "operands", "partial", "plain", "reduction", "runs", "scan", "scatter", "shape",
        "size", "sources", "walked", "window",
    )  # fmt: skip

    def __init__(self, node: Node, origins: Mapping[Node, Node]):
        emit = node.op.emit
        self.reduction = reduction = emit.__class__ is Reduction
        self.operands = [(i, origins[i]) for i in node.inputs]
        self.sources = list({source: None for _, source in self.operands})
        self.window = self.lookup = self.scatter = self.scan = None
        if fused_as(node, object) is not None:
            self.window, self.lookup, self.scatter, self.scan = (
                padding_of(node), gather_of(node), scatter_of(node), scan_of(node)
            )  # fmt: skip
        self.plain = self.window is None and self.lookup is None and self.scatter is None and self.scan is None
        self.shape = node.inputs[0].type.shape if reduction else node.type.shape
        """Of what is walked."""
        self.size = count(self.shape)
        self.partial: tuple[int, int] | None = None
        """Rows and columns, where it can be computed over no others."""
        if reduction:
            axis, n = node.attrs["axis"], len(self.shape)
            if len(axis) < n:
                k = n - len(axis) if axis[-1] == n - 1 else len(axis)
                self.partial = count(self.shape[:k]), count(self.shape[k:])
        if self.scan is not None:
            self.partial = count(self.shape[:-1]), self.shape[-1]
        if self.scatter is not None:
            self.partial = spread_domain(node, self.scatter)
        self.walked = [
            (seen, source, 0 if seen.type.shape == self.shape else _mask_block(seen.type.shape, self.shape))
            for seen, source in self.operands
            if count(seen.type.shape) != 1 and seen.op.emit.__class__ is not Index and seen.op.leaf != "generator"
        ]
        """(operand as it is seen, its origin, from which axis on it is present throughout or absent throughout)"""
        self.members = [
            (seen, source)
            for seen, source in self.operands
            if not (source.op.leaf == "generator" or inlined(source))
        ]
        """Operands that lie in memory or are values of the group."""
        self.runs: dict[Node, tuple[Layout, int | None]] = {}
        """By operand, the first axis from which on its memory is walked by one stride, and the layout for which that holds."""
        self.accesses: dict[tuple[Node, str, int, int | None], Layout] = {}
        """Kinds and spaces in which an operand in memory can be walked, and the layout for which that holds."""


def facts_of(node: Node, layouts: Layouts) -> Facts:
    found: Facts | None = layouts.facts.get(node)
    if found is None:
        found = layouts.facts[node] = Facts(node, layouts.origin)
    return found


# domains ------------------------------------------------------------------------------------------------------------


class GroupDomain:
    """The space of a group of nodes, with what decides it: so that a union has to look only at the nodes on which the two
    groups meet, and at all nodes of a group only where the space itself becomes another."""

    __slots__ = ("domain", "partial", "preferred", "readers", "scatters", "size", "widths")

    def __init__(
        self, domain: IterationDomain, preferred: str, partial: tuple[int, int] | None, size: int, widths: dict[int, int]
    ):
        self.domain = domain
        self.preferred = preferred
        """What a vector is where there are as many rows as columns, and nothing else says it."""
        self.partial = partial
        self.size = size
        """Elements of the largest of the shapes that are walked."""
        self.widths = widths
        """How many nodes of that size ask for each number of columns; nobody looks at it where `partial` says both."""
        self.scatters = SPREAD in domain.rank.values()
        """Whether it adds rows to those of a result: all other nodes of a group decide whether it may."""
        self.readers: dict[Node, list[Node]] = {}
        """By the origin of an operand, the nodes of the group that read it."""


def domain_of(members: Sequence[Node], layouts: Layouts) -> GroupDomain:
    """From nothing: of nodes in the order of the graph. Raises Misfit."""
    inside = set(members)
    rows, columns, partial, size, widths = _extents(members, inside, layouts)
    error = FusionFailure("no space")
    for preferred in (ROW, COL):  # with as many rows as columns, a vector's kind shows only where it is used
        domain = IterationDomain(rows, columns, {}, set())
        try:
            for node in members:
                _assign(node, domain, inside, layouts, preferred)
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
    """(rows, columns, and the fields of a domain): fixed by partial reductions, else by how operands broadcast; columns
    None when all is flat."""
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
        if f.size == size and (width := _width(node, f, inside, layouts)):
            widths[width] = widths.get(width, 0) + 1
    return *_split(size, widths), None, size, widths


def _different(spaces: Iterable[tuple[int, int]]) -> FusionFailure:
    found: list[tuple[int, int]] = []
    for space in spaces:
        if space not in found:
            found.append(space)
    return FusionFailure("they reduce over different spaces: " + ", ".join(f"{real(r)} x {real(c)}" for r, c in sorted(found)))


def _split(size: int, widths: Iterable[int]) -> tuple[int, int | None]:
    if not widths:
        return size, None
    columns = min(widths)
    return size // columns, columns


def _width(node: Node, facts: Facts, inside: Container[Node], layouts: Layouts) -> int:
    """The columns that a node asks for; 0 for none."""
    k = _block(node, facts, inside, layouts)
    return count(facts.shape[k:]) if k > 0 else 0


class Union:
    """What becomes of two domains together. Nothing has changed before `commit`.

    Kinds are copied: a group has few members, and a copy takes less than a question to either of two tables each time.
    """

    def __init__(self, small: GroupDomain, large: GroupDomain):
        self.small, self.large = small, large
        self.kind: dict[Node, str] = {**large.domain.rank, **small.domain.rank}
        self.post: set[Node] = {*large.domain.post, *small.domain.post}
        self.changed: dict[Node, tuple[str, bool]] = {}
        """Of nodes that are of another kind than before, or accumulated now and not before: both, as they were."""
        self.whole: GroupDomain | None = None
        """The union from nothing, where that is how it was found."""
        self.extents: tuple[int, int | None] = (0, None)
        self.partial: tuple[int, int] | None = None
        self.size = 0
        self.widths: dict[int, int] = {}

    def commit(self) -> None:
        """Make the large domain that of all nodes."""
        small, large = self.small, self.large
        if self.whole is not None:
            for field in GroupDomain.__slots__:
                setattr(large, field, getattr(self.whole, field))
            return
        domain = large.domain
        domain.rows, domain.columns = self.extents
        domain.rank, domain.post = self.kind, self.post
        large.partial, large.size, large.widths = self.partial, self.size, self.widths
        large.scatters = large.scatters or small.scatters
        for source, readers in small.readers.items():
            if source in large.readers:
                large.readers[source] += readers
            else:
                large.readers[source] = readers


def united(small: GroupDomain, large: GroupDomain, layouts: Layouts, position: Mapping[Node, int]) -> Union:
    """The union of two domains: that of all their nodes from nothing, without looking at all of them. Raises Misfit."""
    union = Union(small, large)
    meeting = [
        *((node, small) for node in _meeting(small, large)),
        *((node, large) for node in _meeting(large, small)),
    ]
    _extents_together(union, meeting, layouts)
    rows, columns = union.extents
    if COL in (small.preferred, large.preferred) or (small.scatters and large.scatters):
        return _from_nothing(union, layouts, position)
    dirty = {node for node, _ in meeting}
    for shared in (small, large):
        if (shared.domain.rows, shared.domain.columns) != (rows, columns):
            dirty |= shared.domain.rank.keys()
    try:
        _assign_anew(union, dirty, layouts, position)
    except FusionFailure:
        if rows != columns:
            raise
        return _from_nothing(union, layouts, position)
    return union


def _meeting(shared: GroupDomain, other: GroupDomain) -> set[Node]:
    """The nodes of one domain that read those of the other."""
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
            before = _width(node, facts, shared.domain.rank, layouts)
            after = _width(node, facts, union.kind, layouts)
            if before != after:
                widths[before] = widths.get(before, 0) - 1
                widths[after] = widths.get(after, 0) + 1
    union.widths = {width: n for width, n in widths.items() if width and n > 0}
    union.extents = _split(union.size, union.widths)


def _assign_anew(union: Union, dirty: set[Node], layouts: Layouts, position: Mapping[Node, int]) -> None:
    """Kinds of these nodes, and of those that read one whose kind has changed, in the order of the graph."""
    rows, columns = union.extents
    kind, post, changed = union.kind, union.post, union.changed
    domain = IterationDomain(rows, columns, kind, post)
    waiting = [(position[node], node) for node in dirty]
    heapq.heapify(waiting)
    while waiting:
        node = heapq.heappop(waiting)[1]
        before = kind[node], node in post
        post.discard(node)
        _assign(node, domain, kind, layouts, ROW)
        if kind[node] != before[0] or (node in post) is not before[1]:
            changed[node] = before
            for shared in (union.small, union.large):
                if node in shared.readers:
                    for reader in shared.readers[node]:
                        if reader not in dirty:
                            dirty.add(reader)
                            heapq.heappush(waiting, (position[reader], reader))


def _from_nothing(union: Union, layouts: Layouts, position: Mapping[Node, int]) -> Union:
    small, large = union.small.domain, union.large.domain
    union.whole = domain_of(sorted(union.kind, key=position.__getitem__), layouts)
    domain = union.whole.domain
    union.kind, union.post, union.extents = domain.rank, domain.post, (domain.rows, domain.columns)
    union.changed = {}
    for node, kind in domain.rank.items():
        before = small if node in small.rank else large
        was = before.rank[node], node in before.post
        if was != (kind, node in domain.post):
            union.changed[node] = was
    return union


# extents ------------------------------------------------------------------------------------------------------------


def _block(node: Node, facts: Facts, inside: Container[Node], layouts: Layouts) -> int:
    """The first axis from which on each operand is either one value or one run; 0 when they all walk together."""
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
    if layouts.base[node] is not node and shape == node.type.shape:  # a part, whose rows may lie apart
        k = max(k, block_start(shape, layouts.at[node].strides))
    return k


def _run(seen: Node, facts: Facts, layouts: Layouts) -> int | None:
    """The first axis from which on memory is walked by one stride; None where it does not broadcast to the shape."""
    at = layouts.at[seen]
    if seen in facts.runs:
        known, run = facts.runs[seen]
        if known is at:
            return run
    strides = broadcast_strides(at, facts.shape)
    run = None if strides is None else block_start(facts.shape, strides)
    facts.runs[seen] = at, run
    return run


def _mask_block(t: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The first axis from which on the operand is present throughout, or absent throughout.

    An axis that the operand lacks is absent even where its extent is 1: a batch of one takes the kernel of any batch.
    """
    if t == shape or (count(t) == count(shape) and len(t) >= len(shape)):
        return 0
    lead = len(shape) - len(t)
    present = [i >= lead and t[i - lead] == d for i, d in enumerate(shape)]
    k = len(shape)
    last = present[-1] if present else True
    while k > 0 and present[k - 1] == last:
        k -= 1
    return k


# kinds --------------------------------------------------------------------------------------------------------------


def _assign(node: Node, domain: IterationDomain, inside: Collection[Node], layouts: Layouts, preferred: str) -> None:
    known = layouts.facts
    facts = known[node] if node in known else facts_of(node, layouts)
    rank, post = domain.rank, domain.post
    if facts.reduction:
        rank[node] = _reduced(node, facts, domain, inside, layouts)
        return
    if not facts.plain:
        _assign_indirect(node, facts, domain, inside, layouts)
        return
    rank[node] = kind = _pointwise_kind(node, facts, domain, inside, preferred)
    if post:
        for _, source in facts.operands:
            if source in post:
                if kind != SCALAR:
                    raise FusionFailure(f"it needs the finished {source.op.name} of all rows")
                post.add(node)
                break
    for seen, source in facts.members:
        if source in inside:
            other = rank[source]
            if other != SCALAR and (other != kind or seen.type.shape != node.type.shape):
                _check_member(seen, other, node.type.shape, kind, domain)
        elif kind != SCALAR or seen.type.shape:
            _check_access(seen, node.type.shape, kind, facts, domain, layouts)


def _assign_indirect(
    node: Node, facts: Facts, domain: IterationDomain, inside: Collection[Node], layouts: Layouts
) -> None:
    """Where elements of operands are read, or added to those of the result, at other positions."""
    if facts.window is not None:
        assign_padding(node, facts.window, domain, inside, layouts)
    elif facts.lookup is not None:
        assign_gather(node, facts.lookup, domain, inside, layouts)
    elif facts.scan is not None:
        _assign_scan(node, facts.operands[0], domain, inside, layouts)
    else:
        assert facts.scatter is not None
        values = node.inputs[facts.scatter.values]
        assign_scatter(node, facts.scatter, domain, inside)
        if origin(values) not in inside:
            access_check(values, values.type.shape, FULL, domain, layouts)


def _assign_scan(
    node: Node, operand: tuple[Node, Node], domain: IterationDomain, inside: Container[Node], layouts: Layouts
) -> None:
    """Raises FusionFailure where the operand is no memory that is walked by rows."""
    seen, source = operand
    if source in inside:
        raise FusionFailure("it reads its operand in memory: a loop that carries a total is not vectorized")
    if not inlined(source):
        access_check(seen, node.type.shape, FULL, domain, layouts)
    domain.rank[node] = FULL


def _pointwise_kind(node: Node, facts: Facts, domain: IterationDomain, inside: Container[Node], preferred: str) -> str:
    shape = node.type.shape
    if not shape:
        return SCALAR
    for seen, source in facts.operands:
        if source in inside and seen.type.shape == shape and source not in domain.post:
            return domain.rank[source]
    kinds = _kinds_of(facts.size, domain)
    if not kinds:
        raise FusionFailure(f"its shape {shape} is not of the space {domain}")
    return preferred if preferred in kinds and FULL not in kinds else kinds[0]


def _kinds_of(size: int, domain: IterationDomain) -> list[str]:
    rows, columns = domain.rows, domain.columns
    if columns is None:
        return [ROW] if size == rows else [SCALAR] if size == 1 else []
    sizes = ((FULL, rows * columns), (ROW, rows), (COL, columns), (SCALAR, 1))
    return [kind for kind, n in sizes if size == n]


def _reduced(node: Node, facts: Facts, domain: IterationDomain, inside: Container[Node], layouts: Layouts) -> str:
    seen, source = facts.operands[0]
    shape, axis = facts.shape, node.attrs["axis"]
    if source in domain.post:
        raise FusionFailure(f"it needs the finished {source.op.name} of all rows")
    everything = len(axis) == len(shape)
    if source in inside:
        kind = domain.rank[source]
    else:
        kinds = _kinds_of(facts.size, domain)
        kind = kinds[0] if kinds else ""
        if kind not in (FULL, ROW):
            raise FusionFailure(f"its operand {shape} is not of the space {domain}")
        if facts.members:
            _check_access(seen, shape, kind, facts, domain, layouts)
    if everything:
        if kind not in (FULL, ROW):
            raise FusionFailure("it reduces a value that is not one per row")
        domain.post.add(node)
        return SCALAR
    if kind != FULL:
        raise FusionFailure("it reduces part of a row value")
    if axis[0] == 0:
        domain.post.add(node)
        return COL
    return ROW


def splits(shape: Sequence[int], domain: IterationDomain) -> list[int]:
    """The axes k with [:k] the rows and [k:] the columns; the largest first, so that axes of extent 1 are rows."""
    columns = domain.columns if domain.columns is not None else 1
    return [k for k in range(len(shape), -1, -1) if count(shape[:k]) == domain.rows and count(shape[k:]) == columns]


def _check_member(seen: Node, kind: str, shape: tuple[int, ...], user: str, domain: IterationDomain) -> None:
    """A value of the group is where its user looks for it. Raises Misfit."""
    t = seen.type.shape
    if kind == SCALAR:
        return
    if kind == user:
        if t != shape:
            raise FusionFailure(f"an operand of shape {t} is repeated along a part of {shape}")
        return
    if user != FULL:
        raise FusionFailure(f"a {user} value can't use a {kind} value")
    padded = (1,) * (len(shape) - len(t)) + t
    for k in splits(shape, domain):
        row = padded[:k] == shape[:k] and all(d == 1 for d in padded[k:])
        col = padded[k:] == shape[k:] and all(d == 1 for d in padded[:k])
        if (kind == ROW and row) or (kind == COL and col):
            return
    raise FusionFailure(f"a {kind} value of shape {t} does not lie along the {kind}s of {shape}")


def _check_access(
    seen: Node, shape: Sequence[int], kind: str, facts: Facts, domain: IterationDomain, layouts: Layouts
) -> None:
    """The same for an operand, which is asked for once in a space."""
    key, at = (seen, kind, domain.rows, domain.columns), layouts.at[seen]
    if key not in facts.accesses or facts.accesses[key] is not at:
        access_check(seen, shape, kind, domain, layouts)
        facts.accesses[key] = at


def access_check(seen: Node, shape: Sequence[int], kind: str, domain: IterationDomain, layouts: Layouts) -> None:
    """A value in memory can be walked by a kernel of this space. Raises Misfit."""
    if split_strides(seen, shape, kind, domain, layouts) is None:
        raise FusionFailure(f"an operand of shape {seen.type.shape} can't be walked along rows and columns")


def split_strides(
    seen: Node, shape: Sequence[int], kind: str, domain: IterationDomain, layouts: Layouts
) -> tuple[Sequence[int], Sequence[int], int] | None:
    """(row extents, row strides, column stride) of an operand in memory, or None when no split serves."""
    layout = layouts.at[seen]
    strides = broadcast_strides(layout, shape)
    if strides is None:
        return None
    if kind == SCALAR:
        return (), (), 0
    if kind == ROW:
        return shape, strides, 0
    if kind == COL:
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
