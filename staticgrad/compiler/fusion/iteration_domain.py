"""Iteration spaces: what nodes have to share to become one kernel, and what kind each value has in it.

Values are *full* (one per row and column), *row* (one per row), *col* (one per column) or *scalar*. `classify` gives
the space of a set of nodes, or raises Misfit with the reason why they have none.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

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
    found = fused_as(node)
    return found if isinstance(found, Reduction) else None


def choose_scans(nodes: Iterable[Node], users: dict[Node, list[Node]], stored: set[Node], fusible: Callable) -> set[Node]:
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
    if isinstance(emit, Pointwise):
        return node.type.static
    return isinstance(emit, Reduction)


def uniform(node: Node) -> bool:
    """One number made of constants and extents: recomputed wherever it is needed."""
    known = node.uniform
    if known is None:
        known = _uniform(node)
        object.__setattr__(node, "uniform", known)
    return known


def _uniform(node: Node) -> bool:
    if node.type.size != 1:
        return False
    if isinstance(node.op.emit, Extent) or node.op.leaf == "constant":
        return True
    return isinstance(node.op.emit, Pointwise) and fusible(node) and all(uniform(origin(i)) for i in node.inputs)


def inlined(node: Node) -> bool:
    """Has no storage: positions, extents, numbers, operands that are read for their shape."""
    return isinstance(node.op.emit, (Index, Extent)) or node.op.leaf == "shape" or uniform(node)


def classify(members: Sequence[Node], layouts: Layouts) -> IterationDomain:
    """The space that these nodes share, with the kind of each. Raises Misfit."""
    return domain_of(members, layouts).domain


class Facts:
    """What classification asks of a node whatever group it is in: found once a graph."""

    __slots__ = ("lookup", "members", "operands", "partial", "scan", "scatter", "shape", "size", "sources", "walked", "window")

    def __init__(self, node: Node):
        emit = node.op.emit
        reduction = isinstance(emit, Reduction)
        self.operands = [(i, origin(i)) for i in node.inputs]
        self.sources = list(dict.fromkeys(source for _, source in self.operands))
        self.window = self.lookup = self.scatter = self.scan = None
        if fused_as(node) is not None:
            self.window, self.lookup, self.scatter, self.scan = (
                padding_of(node), gather_of(node), scatter_of(node), scan_of(node)
            )  # fmt: skip
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
            (seen, source, _mask_block(seen.type.shape, self.shape))
            for seen, source in self.operands
            if seen.type.size != 1 and not isinstance(seen.op.emit, Index) and seen.op.leaf != "generator"
        ]
        """(operand as it is seen, its origin, from which axis on it is present throughout or absent throughout)"""
        self.members = [
            (seen, source)
            for seen, source in self.operands
            if not (source.op.leaf == "generator" or inlined(source))
        ]
        """Operands that lie in memory or are values of the group."""


def facts_of(node: Node, layouts: Layouts) -> Facts:
    found = layouts.facts.get(node)
    if found is None:
        found = layouts.facts[node] = Facts(node)
    return found


# domains ------------------------------------------------------------------------------------------------------------


class GroupDomain:
    """The space of a group of nodes, with what decides it: so that a union has to look only at the nodes on which the two
    groups meet, and at all nodes of a group only where the space itself becomes another."""

    __slots__ = ("domain", "partial", "preferred", "readers", "scatters", "size", "widths")

    def __init__(
        self, domain: IterationDomain, preferred: str, partial: tuple[int, int] | None, size: int, widths: Counter[int]
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
            for source in facts_of(node, layouts).sources:
                shared.readers.setdefault(source, []).append(node)
        return shared
    raise error


def _extents(
    members: Sequence[Node], inside: Container[Node], layouts: Layouts
) -> tuple[int, int | None, tuple[int, int] | None, int, Counter[int]]:
    """(rows, columns, and the fields of a domain): fixed by partial reductions, else by how operands broadcast; columns
    None when all is flat."""
    facts = [facts_of(node, layouts) for node in members]
    found = {f.partial for f in facts if f.partial is not None}
    size, widths = max(f.size for f in facts), Counter[int]()
    if len(found) > 1:
        raise _different(found)
    if found:
        partial = found.pop()
        return *partial, partial, size, widths
    for node, f in zip(members, facts, strict=True):
        if f.size == size and (width := _width(node, f, inside, layouts)):
            widths[width] += 1
    return *_split(size, widths), None, size, widths


def _different(spaces: Iterable[tuple[int, int]]) -> FusionFailure:
    return FusionFailure("they reduce over different spaces: " + ", ".join(f"{real(r)} x {real(c)}" for r, c in sorted(spaces)))


def _split(size: int, widths: Iterable[int]) -> tuple[int, int | None]:
    columns = min(widths, default=None)
    return (size, None) if columns is None else (size // columns, columns)


def _width(node: Node, facts: Facts, inside: Container[Node], layouts: Layouts) -> int:
    """The columns that a node asks for; 0 for none."""
    k = _block(node, facts, inside, layouts)
    return count(facts.shape[k:]) if k > 0 else 0


class Union:
    """What becomes of two domains together. Nothing has changed before `commit`."""

    def __init__(self, small: GroupDomain, large: GroupDomain):
        self.small, self.large = small, large
        self.kind = _Kinds(small.domain.rank, large.domain.rank)
        self.post = _Post(small.domain.post, large.domain.post)
        self.whole: GroupDomain | None = None
        """The union from nothing, where that is how it was found."""
        self.extents: tuple[int, int | None] = (0, None)
        self.partial: tuple[int, int] | None = None
        self.size = 0
        self.widths: Counter[int] = Counter()

    def __contains__(self, node: object) -> bool:
        return node in self.small.domain.rank or node in self.large.domain.rank

    def __len__(self) -> int:
        return len(self.small.domain.rank) + len(self.large.domain.rank)

    def __iter__(self) -> Iterator[Node]:
        yield from self.small.domain.rank
        yield from self.large.domain.rank

    def commit(self) -> None:
        """Make the large domain that of all nodes."""
        small, large = self.small, self.large
        if self.whole is not None:
            for field in GroupDomain.__slots__:
                setattr(large, field, getattr(self.whole, field))
            return
        domain = large.domain
        domain.rows, domain.columns = self.extents
        domain.rank.update(small.domain.rank)
        domain.rank.update(self.kind)
        domain.post.difference_update(self.kind)
        domain.post.update(small.domain.post.difference(self.kind), self.post.added)
        large.partial, large.size, large.widths = self.partial, self.size, self.widths
        large.scatters = large.scatters or small.scatters
        for source, readers in small.readers.items():
            large.readers.setdefault(source, []).extend(readers)


class _Kinds(dict[Node, str]):
    """Kinds that a union assigns anew, in front of those that two domains have."""

    def __init__(self, small: dict[Node, str], large: dict[Node, str]):
        super().__init__()
        self.small, self.large = small, large

    def __missing__(self, node: Node) -> str:
        return self.small[node] if node in self.small else self.large[node]


class _Post(set[Node]):
    """The same for the accumulated values: `done` are the nodes that were assigned anew."""

    def __init__(self, small: set[Node], large: set[Node]):
        super().__init__()
        self.small, self.large = small, large
        self.done: set[Node] = set()
        self.added: set[Node] = set()

    def __contains__(self, node: object) -> bool:
        return node in self.added if node in self.done else node in self.small or node in self.large

    def add(self, node: Node) -> None:
        self.added.add(node)


def united(small: GroupDomain, large: GroupDomain, layouts: Layouts, position: Mapping[Node, int]) -> Union:
    """The union of two domains: that of all their nodes from nothing, without looking at all of them. Raises Misfit."""
    union = Union(small, large)
    meeting = [
        (node, shared)
        for shared, other in ((small, large), (large, small))
        for node in _meeting(shared, other, small)
    ]
    _extents_together(union, meeting, layouts)
    rows, columns = union.extents
    if COL in (small.preferred, large.preferred) or (small.scatters and large.scatters):
        return _from_nothing(union, layouts, position)
    dirty = {node for node, _ in meeting}
    for shared in (small, large):
        if (shared.domain.rows, shared.domain.columns) != (rows, columns):
            dirty.update(shared.domain.rank)
    try:
        _assign_anew(union, dirty, layouts, position)
    except FusionFailure:
        if rows != columns:
            raise
        return _from_nothing(union, layouts, position)
    return union


def _meeting(shared: GroupDomain, other: GroupDomain, small: GroupDomain) -> list[Node]:
    """The nodes of one domain that read those of the other."""
    if shared is small:
        read = [nodes for source, nodes in shared.readers.items() if source in other.domain.rank]
        return list(dict.fromkeys(n for nodes in read for n in nodes))
    return list(dict.fromkeys(n for source in other.domain.rank for n in shared.readers.get(source, ())))


def _extents_together(union: Union, meeting: Sequence[tuple[Node, GroupDomain]], layouts: Layouts) -> None:
    small, large = union.small, union.large
    if small.partial is not None and large.partial is not None and small.partial != large.partial:
        raise _different((small.partial, large.partial))
    union.partial = large.partial if small.partial is None else small.partial
    union.size = max(small.size, large.size)
    if union.partial is not None:
        union.extents = union.partial
        return
    for shared in (small, large):
        if shared.size == union.size:
            union.widths.update(shared.widths)
    for node, shared in meeting:
        facts = facts_of(node, layouts)
        if facts.size == union.size:
            before = _width(node, facts, shared.domain.rank, layouts)
            after = _width(node, facts, union, layouts)
            if before != after:
                union.widths[before] -= 1
                union.widths[after] += 1
    union.widths = +union.widths
    union.widths.pop(0, None)
    union.extents = _split(union.size, union.widths)


def _assign_anew(union: Union, dirty: set[Node], layouts: Layouts, position: Mapping[Node, int]) -> None:
    """Kinds of these nodes, and of those that read one whose kind has changed, in the order of the graph."""
    rows, columns = union.extents
    domain = IterationDomain(rows, columns, union.kind, union.post)
    waiting = [(position[node], node) for node in dirty]
    heapq.heapify(waiting)
    while waiting:
        node = heapq.heappop(waiting)[1]
        before = union.kind[node], node in union.post
        union.post.done.add(node)
        _assign(node, domain, union, layouts, ROW)
        if (union.kind[node], node in union.post) != before:
            for shared in (union.small, union.large):
                for reader in shared.readers.get(node, ()):
                    if reader not in dirty:
                        dirty.add(reader)
                        heapq.heappush(waiting, (position[reader], reader))


def _from_nothing(union: Union, layouts: Layouts, position: Mapping[Node, int]) -> Union:
    union.whole = domain_of(sorted(union, key=position.__getitem__), layouts)
    union.kind.clear()
    union.kind.update(union.whole.domain.rank)
    union.post.done.update(union.kind)
    union.post.added = union.whole.domain.post
    union.extents = union.whole.domain.rows, union.whole.domain.columns
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
            run = _run(layouts.at[seen], shape)
            if run is None:
                raise FusionFailure("an operand does not broadcast to the result")
            k = max(k, run)
        k = max(k, mask)
    if layouts.base[node] is not node and shape == node.type.shape:  # a part, whose rows may lie apart
        k = max(k, block_start(shape, layouts.at[node].strides))
    return k


@lru_cache(maxsize=4096)
def _run(at: Layout, shape: tuple[int, ...]) -> int | None:
    """The first axis from which on memory is walked by one stride; None where it does not broadcast to the shape."""
    strides = broadcast_strides(at, shape)
    return None if strides is None else block_start(shape, strides)


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
    facts = facts_of(node, layouts)
    operands = facts.operands
    if isinstance(node.op.emit, Reduction):
        domain.rank[node] = _reduced(node, operands[0], domain, inside, layouts)
        return
    if facts.window is not None:
        assign_padding(node, facts.window, domain, inside, layouts)
        return
    if facts.lookup is not None:
        assign_gather(node, facts.lookup, domain, inside, layouts)
        return
    if facts.scan is not None:
        _assign_scan(node, operands[0], domain, inside, layouts)
        return
    scatter = facts.scatter
    if scatter is not None:
        values = node.inputs[scatter.values]
        assign_scatter(node, scatter, domain, inside)
        if origin(values) not in inside:
            access_check(values, values.type.shape, FULL, domain, layouts)
        return
    kind = _pointwise_kind(node, operands, domain, inside, preferred)
    domain.rank[node] = kind
    late = [o for _, o in operands if o in domain.post]
    if late:
        if kind != SCALAR:
            raise FusionFailure(f"it needs the finished {late[0].op.name} of all rows")
        domain.post.add(node)
    for seen, source in facts.members:
        if source in inside:
            _check_member(seen, domain.rank[source], node.type.shape, kind, domain)
        else:
            access_check(seen, node.type.shape, kind, domain, layouts)


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


def _pointwise_kind(
    node: Node, operands: list[tuple[Node, Node]], domain: IterationDomain, inside: Container[Node], preferred: str
) -> str:
    shape = node.type.shape
    if not shape:
        return SCALAR
    for seen, source in operands:
        if source in inside and seen.type.shape == shape and source not in domain.post:
            return domain.rank[source]
    kinds = _kinds_of(count(shape), domain)
    if not kinds:
        raise FusionFailure(f"its shape {shape} is not of the space {domain}")
    return preferred if preferred in kinds and FULL not in kinds else kinds[0]


def _kinds_of(size: int, domain: IterationDomain) -> list[str]:
    if domain.columns is None:
        return [ROW] if size == domain.rows else [SCALAR] if size == 1 else []
    sizes = ((FULL, domain.rows * domain.columns), (ROW, domain.rows), (COL, domain.columns), (SCALAR, 1))
    return [kind for kind, n in sizes if size == n]


def _reduced(node: Node, operand: tuple[Node, Node], domain: IterationDomain, inside: Container[Node], layouts: Layouts) -> str:
    seen, source = operand
    shape, axis = seen.type.shape, node.attrs["axis"]
    if source in domain.post:
        raise FusionFailure(f"it needs the finished {source.op.name} of all rows")
    everything = len(axis) == len(shape)
    if source in inside:
        kind = domain.rank[source]
    else:
        kinds = _kinds_of(count(shape), domain)
        kind = kinds[0] if kinds else ""
        if kind not in (FULL, ROW):
            raise FusionFailure(f"its operand {shape} is not of the space {domain}")
        if not inlined(source):
            access_check(seen, shape, kind, domain, layouts)
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
