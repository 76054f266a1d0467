"""Fusion: convex groups of nodes over one iteration domain, rows x columns.

A group becomes one kernel. Its values are *full* (one per row and column), *row* (one per row), *col* (one per column) or
*scalar*. A reduction over the columns turns full into row. A reduction over the rows accumulates into col, and one over both
into scalar. Accumulated values exist only after the last row, so only scalar arithmetic may follow them inside the group. A
group without columns is *flat*: all its values are row values or scalars.

A union of groups is legal if it closes no cycle between groups (convexity): with a -> x -> b, a kernel of a and b without x
would need the result of x before it has finished, and x needs the result of the kernel."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import add

from ...ir import Graph, Native, Node, Pointwise, Reduction, View
from ..backend.abi import MAX_BUFFERS
from .iteration_domain import GroupDomain, Union, classify, domain_of, united
from .node_facts import (
    CHOICES,
    COL,
    FULL,
    ROW,
    SCALAR,
    FusionFailure,
    IterationDomain,
    Layouts,
    copy_transposed,
    count,
    facts_of,
    fusible,
    gather_of,
    inlined,
    origin,
    real,
    scatter_of,
    uniform,
    why_apart,
)

# the graph of groups: operations that are contracted to single vertices -----------------------------------------------

# Whether a union would close a cycle is found by a search between the two groups only. networkx would search the whole graph,
# and fusion asks for each union that it tries. Here the vertices (`Vertex`) have labels in topological order, as in Pearce
# and Kelly, "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs" (2006). A search from the later group against
# the edges stops at labels below that of the earlier group. Vertices that it finds on no path to the earlier group move in
# front of that group, so later searches don't meet them again. Vertices on a path to the earlier group are recorded as its
# successors.

SPACE = 1 << 200
"""Room for labels in front of each vertex. Vertices that move there use a small part of the room that is left."""
PART = 8
"""The part that one of them uses, as a power of 2."""
FAR = 1024
"""The most vertices that a search visits: beyond, the groups count as too far apart."""


class Vertex:
    """A vertex: a group of nodes, or one node."""

    __slots__ = ("floor", "following", "label", "nodes", "parents")

    def __init__(self, node: Node, label: int):
        self.nodes: list[Node] = [node]
        self.label = label
        self.floor = label - SPACE
        """No other vertex has a label between this and `label`."""
        self.parents: Iterable[Node] = [origin(i) for i in node.inputs]
        """The origins of the operands of its nodes; some may be its own nodes."""
        self.following: set[Vertex] | None = None
        """Other vertices that are known to depend on it."""


class TooFar(Exception):
    """There are too many vertices between two vertices."""


class Contraction:
    """The graph of `nodes`, which come in topological order; at first, each node is a vertex of its own."""

    def __init__(self, nodes: Sequence[Node]):
        self.vertex_of = {node: Vertex(node, (i + 1) * SPACE) for i, node in enumerate(nodes)}

    def between(self, a: Node, b: Node) -> list[Vertex] | None:
        """The vertices on which the later one of the two nodes' vertices depends and that come after the earlier one; None
        where one of them depends on the earlier one, so that no union is possible. Raises TooFar."""
        first, last = self._ordered(a, b)
        floor, vertex_of = first.label, self.vertex_of
        known: set[Vertex] | tuple[()] = () if first.following is None else first.following
        path: dict[Vertex, Vertex | None] = {last: None}
        stack = [last]
        while stack:
            vertex = stack.pop()
            for parent in vertex.parents:
                other = vertex_of[parent]
                if other is vertex:
                    continue
                if other is first:
                    if vertex is not last:
                        self._note(first, vertex, path)
                        return None
                elif other in known:
                    path.setdefault(other, vertex)
                    self._note(first, other, path)
                    return None
                elif other.label > floor and other not in path:
                    path[other] = vertex
                    stack.append(other)
            if len(path) > FAR:
                raise TooFar
        del path[last]
        return sorted(path, key=_label) if path else []

    def join(self, a: Node, b: Node, between: Sequence[Vertex]) -> None:
        """Contract the vertices of two nodes. between: the vertices between them."""
        first, last = self._ordered(a, b)
        for vertex in between:
            self._move_before(vertex, first)
        whole, part = (first, last) if len(first.nodes) >= len(last.nodes) else (last, first)
        whole.label, whole.floor = first.label, first.floor
        for node in part.nodes:
            self.vertex_of[node] = whole
        whole.nodes += part.nodes
        if not isinstance(whole.parents, set):
            whole.parents = set(whole.parents)
        whole.parents |= set(part.parents)
        if part.following:
            if whole.following is None or len(whole.following) < len(part.following):
                whole.following, part.following = part.following, whole.following
            whole.following |= part.following or set()

    def _ordered(self, a: Node, b: Node) -> tuple[Vertex, Vertex]:
        first, last = self.vertex_of[a], self.vertex_of[b]
        return (first, last) if first.label <= last.label else (last, first)

    @staticmethod
    def _note(first: Vertex, vertex: Vertex | None, path: dict[Vertex, Vertex | None]) -> None:
        """Record that all vertices on this path depend on `first`."""
        if first.following is None:
            first.following = set()
        while vertex is not None:
            first.following.add(vertex)
            vertex = path[vertex]

    def _move_before(self, vertex: Vertex, first: Vertex) -> None:
        step = (first.label - first.floor) >> PART
        if not step:
            self._renumber()
            step = (first.label - first.floor) >> PART
        vertex.floor, vertex.label = first.floor, first.floor + step
        first.floor = vertex.label

    def _renumber(self) -> None:
        for i, vertex in enumerate(sorted(set(self.vertex_of.values()), key=_label)):
            vertex.label = (i + 1) * SPACE
            vertex.floor = i * SPACE


def _label(vertex: Vertex) -> int:
    return vertex.label


# groups ---------------------------------------------------------------------------------------------------------------

MAX_MEMBERS, MAX_OPERANDS = 96, 36  # beyond these, compile time grows faster than speed

SCALAR_KERNELS = 8
"""The number of latest kernels of scalar arithmetic that another scalar tries to join."""

CHEAP = 2  # a value of at most this cost is computed in each kernel that reads it
MOST_AGAIN = 6
"""Values of a kernel that another one computes again, at most, for one that it would read."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether two nodes were fused, and the reason."""

    producer: Node
    consumer: Node
    fused: bool
    reason: str

    def __str__(self) -> str:
        verb = "fused with" if self.fused else "not fused with"
        return f"{self.producer.op.name} {verb} {self.consumer.op.name}: {self.reason}"


@dataclass(eq=False, slots=True)
class Group:
    """Nodes that one kernel computes, in the order of the graph."""

    members: list[Node]
    domain: IterationDomain
    outputs: list[Node] = field(default_factory=list)
    """Members whose value is stored."""
    growth: Growth | None = None
    """The facts that decide unions with the group; None once its members were changed otherwise."""


@dataclass(slots=True)
class Growth:
    """Facts about a group, kept so that a union takes time in proportion to the smaller group."""

    shared: GroupDomain
    tally: list[int]
    """The number of members of each kind; see `_counts`."""
    operands: int
    """The number of outside values that the group reads; views of one value count once."""
    waiting: dict[Node, int]
    """Per member, the number of operand positions of outside nodes that read it."""
    stored: int
    """The number of members that are results or are read outside."""
    scalar: bool
    """Whether all members are scalar arithmetic."""
    grain: tuple[int, frozenset[str]]
    """The size of the largest members, and of these: "along" where one reads memory along the columns, "across" where one
    reads it along other axes, "folds" where one is reduced."""


@dataclass(slots=True)
class Trial:
    """A union that is possible; nothing has changed yet."""

    small: Group
    large: Group
    union: Union
    tally: list[int]
    operands: int
    taken: dict[Node, int]
    """Per member, the number of operand positions of the other group that read it."""
    stored: int


def is_scalar_work(node: Node) -> bool:
    return not isinstance(node.op.emit, Reduction) and not node.type.shape


class Fuser:
    """Builds the groups of one graph."""

    def __init__(self, graph: Graph, results: Iterable[Node], layouts: Layouts):
        self.graph = graph
        self.results = set(results)
        self.layouts = layouts
        self.position = {node: i for i, node in enumerate(graph.nodes)}
        self.contraction = Contraction(graph.nodes)
        self.group_of: dict[Node, Group] = {}
        self.scalars: list[Node] = []
        """One member of each group of scalar arithmetic, in the order in which they began."""
        self.decisions: list[Decision] = []
        self.computed_in: dict[Node, set[Group]] = {}
        """By node, all groups that compute it: a cheap value is computed in several."""
        for node in graph.nodes:
            if node.uniform is None:
                uniform(node)  # operands first, so recursion stays shallow

    def run(self) -> list[Group]:
        for operand, reader in copy_transposed(self.graph, self.results, self.layouts):
            self.decisions.append(Decision(operand, reader, False, "copied, because its memory has another order of axes"))
        natives = []
        for node in self.graph.nodes:
            kind = node.op.emit.__class__
            if kind is Reduction:
                self._walkable(node)
            elif kind is Native:
                natives.append(node)
        chosen = {n for choose in CHOICES for n in choose(natives, self.graph.succ, self.results, fusible)}
        in_place = set(filter(self._readable, chosen))
        placed = [n for n in self.graph.nodes if n in in_place or (fusible(n) and not inlined(n))]
        ends = self._ends(placed)
        for node in (*(n for n in placed if n not in ends), *(n for n in placed if n in ends)):
            self._place(node)
        self._join_readers()
        self._separate_scatters()
        groups = sorted(set(self.group_of.values()), key=lambda g: self.position[g.members[0]])
        for group in groups:
            waiting = None if group.growth is None else group.growth.waiting
            group.outputs = [
                n for n in group.members if n in self.results or ((waiting is None or waiting[n]) and self._leaves(n, group))
            ]
        self.computed_in = {node: {group} for group in groups for node in group.members}
        for group in groups:
            for node in list(group.outputs):
                self._recompute(node, group)
        return [g for g in groups if not all(map(gather_of, g.members))]  # a lookup that no kernel reads is a routine

    def _ends(self, placed: Sequence[Node]) -> set[Node]:
        """Scalars that only results need, as the sum of two losses. They come last: one that joins a kernel makes that wait for
        its other operands, and what reads both kernels could no longer join the one that then has to run first."""
        found: set[Node] = set()
        for node in reversed(placed):
            if is_scalar_work(node) and found.issuperset(self.graph.succ[node]):
                found.add(node)
        return found

    def _recompute(self, node: Node, group: Group) -> None:
        """Let the kernels that read a cheap value compute it themselves, with the values that it is computed from."""
        if node in self.results or not node.type.shape:
            return
        needed = self._cheap(node, group)
        if needed is None:
            return
        readers = {user: self.computed_in.get(user) for user in self.graph.succ[node]}
        if None in readers.values():
            return
        reading = {g for groups in readers.values() for g in groups or ()}
        others = sorted(reading - {group}, key=lambda g: self.position[g.members[0]])
        try:
            grown = [self._with(needed, other) for other in others]
        except FusionFailure:
            return
        for grow, other in zip(grown, others, strict=True):
            grow()
            for copied in needed:
                self.computed_in[copied].add(other)
        group.outputs.remove(node)
        if group not in reading:
            group.members.remove(node)
            group.growth = None
            self.computed_in[node].discard(group)
        reason = "cheap: computed again rather than stored"
        self.decisions.extend(Decision(node, user, True, reason) for user, g in readers.items() if g != {group})

    def _cheap(self, node: Node, group: Group) -> list[Node] | None:
        """A value and those that its group doesn't store from which it is computed; None where they are not cheap: values
        per row don't count beside those of all elements."""
        inside, needed, stack, price = set(group.members), dict[Node, None](), [node], 0
        while stack:
            value = stack.pop()
            if not isinstance(value.op.emit, Pointwise) or value in group.domain.post:
                return None
            needed[value] = None
            cost = value.op.emit.cost
            price += cost if value is node or group.domain.rank[value] != ROW else 0
            if max(price, cost) > CHEAP or len(needed) > MOST_AGAIN:
                return None
            operands = map(origin, value.inputs)
            stack += [o for o in operands if o in inside and o not in group.outputs and o not in needed and o not in stack]
        return list(needed)

    def _with(self, nodes: Sequence[Node], group: Group) -> Callable[[], None]:
        """A function that adds nodes to a group. Raises FusionFailure where the group can't compute them."""
        growth, node = group.growth, nodes[0]
        if growth is not None and len(nodes) == 1:
            alone = domain_of([node], self.layouts)
            union = united(alone, growth.shared, self.layouts, self.position)
            before, early = group.domain, growth.tally[EARLY]
            for n in {node, *union.changed}:
                was = n is not node and before.rank[n] == SCALAR and n not in before.post
                early += (union.rank[n] == SCALAR and n not in union.post) - was
            _check_scalars(early, len(group.members) + 1)
            operands = growth.operands - 1 + len(alone.readers.keys() - growth.shared.readers.keys() - before.rank.keys())
            _check_buffers(growth.tally, growth.stored, operands)

            def grow() -> None:
                union.commit()
                growth.tally[EARLY], growth.operands = early, operands
                group.domain = growth.shared.domain
                insort(group.members, node, key=self.position.__getitem__)

            return grow
        members = sorted({*group.members, *nodes}, key=self.position.__getitem__)
        if len(members) > MAX_MEMBERS:
            raise FusionFailure(f"more than {MAX_MEMBERS} operations in one kernel")
        domain = classify(members, self.layouts)
        check_scalars(members, domain)
        counts = [_counts(n, domain.rank[n], n in domain.post) for n in members]
        read = {source for n in members for source in facts_of(n, self.layouts).sources} - set(members)
        _check_buffers([*map(sum, zip(*counts, strict=True))], len(group.outputs), len(read))

        def replace() -> None:
            group.members, group.domain, group.growth = members, domain, None

        return replace

    def _place(self, node: Node) -> None:
        """Make a group of one node, and merge it with the groups of its producers, the latest first."""
        group = self.group_of[node] = self._alone(node)
        producers = [source for source in facts_of(node, self.layouts).sources if source in self.group_of]
        if len(producers) > 1:
            producers.sort(key=self.position.__getitem__, reverse=True)
        for producer in producers:
            self._merge(producer, node)
        if is_scalar_work(node) and self.group_of[node] is group and len(group.members) == 1:
            self._join_scalars(node)

    def _alone(self, node: Node) -> Group:
        shared = domain_of([node], self.layouts)
        rank, post = shared.domain.rank[node], node in shared.domain.post
        users = self.graph.uses(node)
        growth = Growth(
            shared, list(_counts(node, rank, post)), len(shared.readers), {node: users}, users > 0 or node in self.results,
            is_scalar_work(node), self._grain(node),
        )  # fmt: skip
        return Group([node], shared.domain, growth=growth)

    def _grain(self, node: Node) -> tuple[int, frozenset[str]]:
        facts = facts_of(node, self.layouts)
        order = self.layouts.order(node.inputs[0] if facts.reduction else node)
        grain = "" if order == () else "across" if order is not None else "along"
        return facts.size, frozenset(filter(None, (grain, "folds" if facts.partial is not None else "")))

    def _separate_scatters(self) -> None:
        """Make routines of the scatters that are faster alone, or whose operand no kernel computes."""
        for node in list(self.group_of):
            scatter = scatter_of(node)
            if scatter is None:
                continue
            group, rows = self.group_of[node], origin(node.inputs[scatter.values])
            reason = self._why_apart(rows, group)
            if reason is None:
                continue
            self.decisions.append(Decision(rows, node, False, reason))
            del self.group_of[node]
            rest = [n for n in group.members if n is not node]
            if rest:
                group.members, group.domain, group.growth = rest, classify(rest, self.layouts), None

    def _why_apart(self, rows: Node, group: Group) -> str | None:
        if rows not in group.members:
            return "another kernel computes them"
        if rows in self.results or self._leaves(rows, group):
            return "they are stored anyway"
        return why_apart(group.members, group.domain)

    def _readable(self, node: Node) -> bool:
        """Whether a kernel can walk the operands of a window or lookup. If not, its value is stored."""
        try:
            classify([node], self.layouts)
        except FusionFailure as reason:
            self.decisions.extend(Decision(node, user, False, str(reason)) for user in self.graph.succ[node])
            return False
        return True

    def _join_readers(self) -> None:
        """Merge kernels over one domain that read the same operand element by element."""
        readers: dict[Node, dict[Group, Node]] = {}
        for node in self.graph.nodes:
            if node not in self.group_of:
                continue
            group = self.group_of[node]
            size = group.domain.rows * (group.domain.columns or 1)
            for seen, source in facts_of(node, self.layouts).members:
                if source not in group.domain.rank:
                    whole = seen.type.shape and count(seen.type.shape) == size
                    if whole and self.layouts.at[seen].is_contiguous:
                        readers.setdefault(self.layouts.base[seen], {})[group] = group.members[-1]
        for groups in readers.values():
            first, *others = groups.values()
            for other in others:
                a, b = self.group_of[first].domain, self.group_of[other].domain
                if (a.rows, a.columns) == (b.rows, b.columns):
                    self._merge(first, other)

    def _walkable(self, node: Node) -> None:
        """Have an operand copied first where its reduction can't walk it, because axes are reduced in another order than
        memory's."""
        operand = node.inputs[0]
        try:
            classify([node], self.layouts)
        except FusionFailure as reason:
            if not isinstance(operand.op.emit, View):
                raise
            self.layouts.copy(operand)
            self.decisions.append(Decision(operand, node, False, f"copied, because {reason}"))

    def _join_scalars(self, node: Node) -> None:
        """Merge scalar arithmetic into few kernels, related or not."""
        at, tried = len(self.scalars), 0
        while at and tried < SCALAR_KERNELS:
            at -= 1
            group = self.group_of[self.scalars[at]]
            if group.growth is None or not group.growth.scalar or group.members[0] is not self.scalars[at]:
                del self.scalars[at]  # it has become part of another group
                continue
            tried += 1
            self._merge(group.members[-1], node)
            if len(self.group_of[node].members) > 1:
                return
        self.scalars.append(node)

    def _merge(self, producer: Node, consumer: Node) -> None:
        a, b = self.group_of[producer], self.group_of[consumer]
        if a is b:
            return
        try:
            if len(a.members) + len(b.members) > MAX_MEMBERS:
                raise FusionFailure(f"more than {MAX_MEMBERS} operations in one kernel")
            trial = self._union(*((a, b) if len(a.members) <= len(b.members) else (b, a)))
            between = self._between(producer, consumer)
        except FusionFailure as reason:
            self.decisions.append(Decision(producer, consumer, False, str(reason)))
            return
        self.contraction.join(producer, consumer, between)
        self._grow(trial)
        for node in trial.small.members:
            self.group_of[node] = trial.large
        self.decisions.append(Decision(producer, consumer, True, _describe(trial.large.domain)))

    def _between(self, producer: Node, consumer: Node) -> list[Vertex]:
        """The vertices between two groups that are to be merged. Raises FusionFailure where one of them prevents that."""
        try:
            between = self.contraction.between(producer, consumer)
        except TooFar:
            raise FusionFailure("too many nodes lie between them") from None
        if between is None:
            raise FusionFailure("a node between them is computed elsewhere (convexity)")
        return between

    def _union(self, small: Group, large: Group) -> Trial:
        """The union of two groups. Raises FusionFailure where no kernel can compute both; nodes between them are not
        considered."""
        a, b = small.growth, large.growth
        assert a is not None
        assert b is not None
        union = united(a.shared, b.shared, self.layouts, self.position)
        tally = list(map(add, a.tally, b.tally))
        for node, (rank, post) in union.changed.items():
            old, new = _counts(node, rank, post), _counts(node, union.rank[node], node in union.post)
            tally = [t - x + y for t, x, y in zip(tally, old, new, strict=True)]
        _check_grains(a.grain, b.grain)
        members = len(small.members) + len(large.members)
        _check_scalars(tally[EARLY], members)
        if tally[DEAR] and union.extents[0] > 1:
            raise FusionFailure("values per column are expensive, and computed once, in a kernel of their own")
        operands, taken = self._operands(a, b)
        stored = a.stored + b.stored
        for node, n in taken.items():
            growth = a if node in a.waiting else b
            stored -= growth.waiting[node] == n and node not in self.results
        _check_buffers(tally, stored, operands)
        return Trial(small, large, union, tally, operands, taken, stored)

    def _operands(self, small: Growth, large: Growth) -> tuple[int, dict[Node, int]]:
        """The number of outside values that the two read, and how often each member of one is read by the other, not through a
        view."""
        taken: dict[Node, int] = {}
        ours, theirs = small.shared.readers, large.shared.readers
        read, known = ours.keys(), theirs.keys()
        inside, outside = small.shared.domain.rank.keys(), large.shared.domain.rank.keys()
        shared = inside & known
        for readers, sources in ((ours, read & outside), (theirs, shared)):
            for source in sources:
                positions = 0
                for reader in readers[source]:
                    positions += reader.inputs.count(source)
                if positions:
                    taken[source] = positions
        new = len(read - inside - outside - known)
        return large.operands + new - len(shared), taken

    def _grow(self, trial: Trial) -> None:
        """Turn the large group of a trial into the union."""
        small, large = trial.small, trial.large
        a, b = small.growth, large.growth
        assert a is not None
        assert b is not None
        trial.union.commit()
        if self.position[large.members[-1]] < self.position[small.members[0]]:
            large.members = large.members + small.members
        else:
            large.members = sorted(large.members + small.members, key=self.position.__getitem__)
        large.domain = b.shared.domain
        b.waiting.update(a.waiting)
        for node, n in trial.taken.items():
            b.waiting[node] -= n
        b.tally, b.operands, b.stored = trial.tally, trial.operands, trial.stored
        b.scalar = a.scalar and b.scalar
        b.grain = _both_grains(a.grain, b.grain)

    def _leaves(self, node: Node, group: Group) -> bool:
        """Whether a node outside the group needs this value in memory."""
        stack = [node]
        while stack:
            for user in self.graph.succ[stack.pop()]:
                if self.group_of.get(user) is group:
                    continue
                if not (isinstance(user.op.emit, View) and user.op.emit.keeps_order) or user in self.layouts.copies:
                    return True
                if user in self.results:
                    return True
                stack.append(user)
        return False


def check_scalars(members: Sequence[Node], domain: IterationDomain) -> None:
    """Raises FusionFailure where scalars that don't depend on accumulated values share a group with values per row or
    column."""
    _check_scalars(sum(domain.rank[n] == SCALAR and n not in domain.post for n in members), len(members))


def _check_scalars(early: int, members: int) -> None:
    if early and early != members:
        raise FusionFailure("scalar arithmetic is done once, in a kernel of its own")


def _both_grains(a: tuple[int, frozenset[str]], b: tuple[int, frozenset[str]]) -> tuple[int, frozenset[str]]:
    if a[0] == b[0]:
        return a[0], a[1] | b[1]
    return a if a[0] > b[0] else b


def _check_grains(a: tuple[int, frozenset[str]], b: tuple[int, frozenset[str]]) -> None:
    """Raises FusionFailure where one kernel would walk memory along its columns and other memory across, and rows several
    times."""
    apart = {a[1] - {"folds"}, b[1] - {"folds"}} == {frozenset({"along"}), frozenset({"across"})}
    if apart and a[0] == b[0] and "folds" in a[1] | b[1]:
        raise FusionFailure("it reads memory along other axes")


COLUMN_SUMS, TOTALS, ROW_SUMS, KEPT, EARLY, DEAR = range(6)


def _counts(node: Node, rank: str, post: bool) -> tuple[bool, ...]:
    """Whether a node is a reduction per column, of everything, or per row; whether a kernel with a reduction per row keeps its
    value; whether it is a scalar that is known before the first row; and whether each row would compute again what is
    expensive."""
    folds, dear = isinstance(node.op.emit, Reduction), _cost(node) > CHEAP
    kept, before = rank == ROW or (rank == FULL and dear), not post
    return (
        folds and rank == COL, folds and rank == SCALAR, folds and rank == ROW, kept, rank == SCALAR and before,
        dear and rank == COL and before,
    )  # fmt: skip


def _check_buffers(tally: Sequence[int], stored: int, operands: int) -> None:
    """Raises FusionFailure for too many operands or buffers: one of numbers, results, accumulators (with their sums and
    compensations), and values kept per row or tile of rows."""
    if operands > MAX_OPERANDS:
        raise FusionFailure(f"more than {MAX_OPERANDS} operands in one kernel")
    kept = tally[KEPT] if tally[ROW_SUMS] else 0
    if 1 + stored + operands + 3 * tally[COLUMN_SUMS] + tally[TOTALS] + kept > MAX_BUFFERS:
        raise FusionFailure(f"more than {MAX_BUFFERS} buffers in one kernel")


def _describe(domain: IterationDomain) -> str:
    if domain.columns is None:
        return f"one pass over {real(domain.rows)} elements"
    return f"one pass over {real(domain.rows)} rows of {real(domain.columns)}"


def _cost(node: Node) -> int:
    return node.op.emit.cost if isinstance(node.op.emit, Pointwise) else 0
