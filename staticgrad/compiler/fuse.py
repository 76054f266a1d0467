"""Fusion: convex groups of nodes over one iteration space, rows x columns.

A group becomes one kernel. Its values are *full* (one per row and column), *row* (one per row), *col* (one per
column) or *scalar*. A reduction over the columns turns full into row; a reduction over the rows accumulates into col,
one over everything into scalar, and such accumulated values exist only when the last row is done: only scalar
arithmetic may follow them inside the group. A group without columns is *flat*: all its values are row values or
scalars.

Merging stays legal as long as it makes no cycle between groups: with a -> x -> b, fusing a and b without x would need
x's result in the middle of the kernel that x waits for (convexity).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..ir import Extent, Graph, Index, Node, Pointwise, Reduction, View
from .layout import Layouts, block_start, broadcast_strides, count, merged

MAX_MEMBERS, MAX_OPERANDS = 96, 36  # beyond these, compile time grows faster than a kernel gains

CHEAP = 2  # cost up to which a value is computed in each kernel that reads it

FULL, ROW, COL, SCALAR = "full", "row", "col", "scalar"


@dataclass(frozen=True)
class Decision:
    """A yes or no of the fuser, with its reason."""

    producer: Node
    consumer: Node
    fused: bool
    reason: str

    def __str__(self) -> str:
        verb = "fused with" if self.fused else "not fused with"
        return f"{self.producer.op.name} {verb} {self.consumer.op.name}: {self.reason}"


@dataclass
class Space:
    """An iteration space and the kind of each member in it. `columns` is None for a flat group."""

    rows: int
    columns: int | None
    kind: dict[Node, str]
    post: set[Node]
    """Accumulated values and the scalars made of them."""


@dataclass(eq=False)
class Group:
    """Nodes that one kernel computes."""

    members: list[Node]
    space: Space
    outputs: list[Node] = field(default_factory=list)
    """Members whose value is stored."""


def origin(node: Node) -> Node:
    """The node whose elements these are, looking through order-keeping views; not to positions, which know one
    shape."""
    while isinstance(node.op.emit, View) and node.op.emit.keeps_order and not isinstance(node.inputs[0].op.emit, Index):
        node = node.inputs[0]
    return node


def fusible(node: Node) -> bool:
    emit = node.op.emit
    if isinstance(emit, Pointwise):
        return emit.text(node) != "" and node.type.static
    return isinstance(emit, Reduction)


def uniform(node: Node) -> bool:
    """One number made of constants and extents: recomputed wherever it is needed."""
    if node.type.size != 1:
        return False
    if isinstance(node.op.emit, Extent) or node.op.leaf == "constant":
        return True
    return isinstance(node.op.emit, Pointwise) and fusible(node) and all(uniform(origin(i)) for i in node.inputs)


def inlined(node: Node) -> bool:
    """Has no storage: positions, extents, numbers."""
    return isinstance(node.op.emit, (Index, Extent)) or uniform(node)


def is_scalar_work(node: Node) -> bool:
    return not isinstance(node.op.emit, Reduction) and not node.type.shape


class Misfit(Exception):
    """Why nodes don't share an iteration space."""


class Fuser:
    """Builds the groups of one graph."""

    def __init__(self, graph: Graph, results: Iterable[Node], layouts: Layouts):
        self.graph = graph
        self.results = set(results)
        self.layouts = layouts
        self.position = {node: i for i, node in enumerate(graph.nodes)}
        self.users = graph.users()
        self.group_of: dict[Node, Group] = {}
        self.merged: set[Group] = set()
        self.decisions: list[Decision] = []

    def run(self) -> list[Group]:
        for node in self.graph.nodes:
            if isinstance(node.op.emit, Reduction):
                self._walkable(node)
        for node in self.graph.nodes:
            if fusible(node) and not inlined(node):
                self._place(node)
        groups = sorted(set(self.group_of.values()), key=lambda g: self.position[g.members[0]])
        for group in groups:
            group.outputs = [n for n in group.members if n in self.results or self._leaves(n, group)]
        for group in groups:
            for node in list(group.outputs):
                self._recompute(node, group)
        return [g for g in groups if g.members]

    def _recompute(self, node: Node, group: Group) -> None:
        """Let the kernels that read a cheap value compute it themselves, where they have to read its operands
        anyway."""
        if (
            node in self.results
            or not node.type.shape
            or not isinstance(node.op.emit, Pointwise)
            or node.op.emit.cost > CHEAP
        ):
            return
        operands = [origin(i) for i in node.inputs]
        if any(o in group.members and o not in group.outputs for o in operands) or node in group.space.post:
            return
        readers = {user: self.group_of.get(user) for user in self.users[node]}
        others = {g for g in readers.values() if g is not group}
        if None in others:
            return
        grown = []
        for other in others:
            members = sorted({*other.members, node}, key=self.position.__getitem__)  # type: ignore[union-attr]
            try:
                space = classify(members, self.layouts)
                _check_scalars(members, space)
                grown.append((other, members, space))
            except Misfit:
                return
        for other, members, space in grown:
            other.members, other.space = members, space  # type: ignore[union-attr]
        group.outputs.remove(node)
        if group not in readers.values():
            group.members.remove(node)
        reason = "cheap: computed again rather than stored"
        self.decisions.extend(Decision(node, user, True, reason) for user, g in readers.items() if g is not group)

    def _place(self, node: Node) -> None:
        """A group of its own, then merged with its producers' groups, the latest first."""
        group = Group([node], classify([node], self.layouts))
        self.group_of[node] = group
        producers = {origin(i) for i in node.inputs if origin(i) in self.group_of}
        for producer in sorted(producers, key=self.position.__getitem__, reverse=True):
            self._merge(producer, node)
        if is_scalar_work(node) and len(self.group_of[node].members) == 1:
            self._join_scalars(node)

    def _walkable(self, node: Node) -> None:
        """An operand that lies across its reduction (axes reduced in another order than memory's) is copied first."""
        operand = node.inputs[0]
        try:
            classify([node], self.layouts)
        except Misfit as reason:
            if not isinstance(operand.op.emit, View):
                raise
            self.layouts.copy(operand)
            self.decisions.append(Decision(operand, node, False, f"copied, because {reason}"))

    def _join_scalars(self, node: Node) -> None:
        """Scalar arithmetic gathers in one kernel, related or not."""
        for other in reversed(list(dict.fromkeys(self.group_of.values()))):
            if other is not self.group_of[node] and all(map(is_scalar_work, other.members)):
                self._merge(other.members[-1], node)
                if self.group_of[node] is self.group_of[other.members[-1]]:
                    return

    def _merge(self, producer: Node, consumer: Node) -> None:
        a, b = self.group_of[producer], self.group_of[consumer]
        if a is b:
            return
        try:
            group = self._union(a, b)
        except Misfit as reason:
            self.decisions.append(Decision(producer, consumer, False, str(reason)))
            return
        for node in group.members:
            self.group_of[node] = group
        self.merged -= {a, b}
        self.merged.add(group)
        self.decisions.append(Decision(producer, consumer, True, _describe(group.space)))

    def _union(self, a: Group, b: Group) -> Group:
        if len(a.members) + len(b.members) > MAX_MEMBERS:
            raise Misfit(f"more than {MAX_MEMBERS} operations in one kernel")
        members = sorted({*a.members, *b.members}, key=self.position.__getitem__)
        space = classify(members, self.layouts)
        _check_scalars(members, space)
        operands = {origin(i) for n in members for i in n.inputs} - set(members)
        if len(operands) > MAX_OPERANDS:
            raise Misfit(f"more than {MAX_OPERANDS} operands in one kernel")
        if self._cycle(a, b):
            raise Misfit("a node between them is computed elsewhere (convexity)")
        return Group(members, space)

    def _cycle(self, a: Group, b: Group) -> bool:
        """Whether something outside the two groups needs one of their values and is needed by them."""
        both = {*a.members, *b.members}
        first = self._horizon(min(self.position[n] for n in both))
        seen: set[Node] = set()
        stack = [i for n in both for i in n.inputs if origin(i) not in both]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            group = self.group_of.get(node)
            unit = group.members if group is not None else [node]
            seen.update(unit)
            if self.position[unit[-1]] < first:
                continue
            for operand in (i for member in unit for i in member.inputs):
                if operand in both:
                    return True
                if operand not in seen:
                    stack.append(operand)
        return False

    def _horizon(self, position: int) -> int:
        """A kernel that ends before the horizon waits for nothing from `position` on. It lies lower than `position`
        when a kernel spans it: its early members wait for its late ones."""
        begins = [(self.position[g.members[0]], self.position[g.members[-1]]) for g in self.merged]
        while spanning := [low for low, high in begins if low < position <= high]:
            position = min(spanning)
        return position

    def _leaves(self, node: Node, group: Group) -> bool:
        """Whether something outside the group needs this value in memory."""
        for user in self.users[node]:
            if self.group_of.get(user) is group:
                continue
            if isinstance(user.op.emit, View) and user.op.emit.keeps_order and user not in self.layouts.copies:
                if user in self.results or self._leaves(user, group):
                    return True
                continue
            return True
        return False


def _check_scalars(members: Sequence[Node], space: Space) -> None:
    """Scalars stand apart from values per row or column, unless they are made of accumulated ones. Raises Misfit."""
    early = [n for n in members if space.kind[n] == SCALAR and n not in space.post]
    if early and len(early) != len(members):
        raise Misfit("scalar arithmetic is done once, in a kernel of its own")


def _describe(space: Space) -> str:
    if space.columns is None:
        return f"one pass over {space.rows} elements"
    return f"one pass over {space.rows} rows of {space.columns}"


# classification -----------------------------------------------------------------------------------------------------


def classify(members: Sequence[Node], layouts: Layouts) -> Space:
    """The space that these nodes share, with the kind of each. Raises Misfit."""
    inside = set(members)
    rows, columns = _extents(members, inside, layouts)
    error = Misfit("no space")
    for preferred in (ROW, COL):  # with as many rows as columns, a vector's kind shows only where it is used
        space = Space(rows, columns, {}, set())
        try:
            for node in members:
                _assign(node, space, inside, layouts, preferred)
            return space
        except Misfit as reason:
            error = reason
            if rows != columns:
                break
    raise error


def _extents(members: Sequence[Node], inside: set[Node], layouts: Layouts) -> tuple[int, int | None]:
    """Rows and columns: fixed by partial reductions, else by how operands broadcast; columns None when all is flat."""
    found: set[tuple[int, int]] = set()
    for node in members:
        if isinstance(node.op.emit, Reduction):
            shape, axis = node.inputs[0].type.shape, node.attrs["axis"]
            n = len(shape)
            if len(axis) < n:
                k = n - len(axis) if axis[-1] == n - 1 else len(axis)
                found.add((count(shape[:k]), count(shape[k:])))
    if len(found) > 1:
        raise Misfit("they reduce over different spaces: " + ", ".join(f"{r} x {c}" for r, c in sorted(found)))
    if found:
        return found.pop()
    shapes = [n.inputs[0].type.shape if isinstance(n.op.emit, Reduction) else n.type.shape for n in members]
    size = max(map(count, shapes))
    columns = None
    for node, shape in zip(members, shapes, strict=True):
        if count(shape) == size:
            k = _block(node, shape, inside, layouts)
            if k > 0:
                columns = count(shape[k:]) if columns is None else min(columns, count(shape[k:]))
    return (size, None) if columns is None else (size // columns, columns)


def _block(node: Node, shape: tuple[int, ...], inside: set[Node], layouts: Layouts) -> int:
    """The first axis from which on each operand is either one value or one run; 0 when they all walk together."""
    k = 0
    for operand in node.inputs:
        if operand.type.size == 1 or isinstance(operand.op.emit, Index) or operand.op.leaf == "generator":
            continue
        if origin(operand) in inside:
            k = max(k, _mask_block(operand.type.shape, shape))
        else:
            strides = broadcast_strides(layouts.at[operand], shape)
            if strides is None:
                raise Misfit("an operand does not broadcast to the result")
            k = max(k, block_start(shape, strides), _mask_block(operand.type.shape, shape))
    return k


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


def _assign(node: Node, space: Space, inside: set[Node], layouts: Layouts, preferred: str) -> None:
    operands = [(i, origin(i)) for i in node.inputs]
    if isinstance(node.op.emit, Reduction):
        space.kind[node] = _reduced(node, operands[0], space, inside, layouts)
        return
    kind = _pointwise_kind(node, operands, space, inside, preferred)
    space.kind[node] = kind
    late = [o for _, o in operands if o in space.post]
    if late:
        if kind != SCALAR:
            raise Misfit(f"it needs the finished {late[0].op.name} of all rows")
        space.post.add(node)
    for seen, source in operands:
        if inlined(source) or source.op.leaf == "generator":
            continue
        if source in inside:
            _check_member(seen, space.kind[source], node.type.shape, kind, space)
        else:
            access_check(seen, node.type.shape, kind, space, layouts)


def _pointwise_kind(
    node: Node, operands: list[tuple[Node, Node]], space: Space, inside: set[Node], preferred: str
) -> str:
    shape = node.type.shape
    if not shape:
        return SCALAR
    for seen, source in operands:
        if source in inside and seen.type.shape == shape and source not in space.post:
            return space.kind[source]
    kinds = _kinds_of(count(shape), space)
    if not kinds:
        raise Misfit(f"its shape {shape} is not of the space {space.rows} x {space.columns}")
    return preferred if preferred in kinds and FULL not in kinds else kinds[0]


def _kinds_of(size: int, space: Space) -> list[str]:
    if space.columns is None:
        return [ROW] if size == space.rows else [SCALAR] if size == 1 else []
    sizes = ((FULL, space.rows * space.columns), (ROW, space.rows), (COL, space.columns), (SCALAR, 1))
    return [kind for kind, n in sizes if size == n]


def _reduced(node: Node, operand: tuple[Node, Node], space: Space, inside: set[Node], layouts: Layouts) -> str:
    seen, source = operand
    shape, axis = seen.type.shape, node.attrs["axis"]
    if source in space.post:
        raise Misfit(f"it needs the finished {source.op.name} of all rows")
    everything = len(axis) == len(shape)
    if source in inside:
        kind = space.kind[source]
    else:
        kinds = _kinds_of(count(shape), space)
        kind = kinds[0] if kinds else ""
        if kind not in (FULL, ROW):
            raise Misfit(f"its operand {shape} is not of the space {space.rows} x {space.columns}")
        if not inlined(source):
            access_check(seen, shape, kind, space, layouts)
    if everything:
        if kind not in (FULL, ROW):
            raise Misfit("it reduces a value that is not one per row")
        space.post.add(node)
        return SCALAR
    if kind != FULL:
        raise Misfit("it reduces part of a row value")
    if axis[0] == 0:
        space.post.add(node)
        return COL
    return ROW


def splits(shape: Sequence[int], space: Space) -> list[int]:
    """The axes k with [:k] the rows and [k:] the columns; the largest first, so that axes of extent 1 are rows."""
    columns = space.columns if space.columns is not None else 1
    return [k for k in range(len(shape), -1, -1) if count(shape[:k]) == space.rows and count(shape[k:]) == columns]


def _check_member(seen: Node, kind: str, shape: tuple[int, ...], user: str, space: Space) -> None:
    """A value of the group is where its user looks for it. Raises Misfit."""
    t = seen.type.shape
    if kind == SCALAR:
        return
    if kind == user:
        if t != shape:
            raise Misfit(f"an operand of shape {t} is repeated along a part of {shape}")
        return
    if user != FULL:
        raise Misfit(f"a {user} value can't use a {kind} value")
    padded = (1,) * (len(shape) - len(t)) + t
    for k in splits(shape, space):
        row = padded[:k] == shape[:k] and all(d == 1 for d in padded[k:])
        col = padded[k:] == shape[k:] and all(d == 1 for d in padded[:k])
        if (kind == ROW and row) or (kind == COL and col):
            return
    raise Misfit(f"a {kind} value of shape {t} does not lie along the {kind}s of {shape}")


def access_check(seen: Node, shape: Sequence[int], kind: str, space: Space, layouts: Layouts) -> None:
    """A value in memory can be walked by a kernel of this space. Raises Misfit."""
    if split_strides(seen, shape, kind, space, layouts) is None:
        raise Misfit(f"an operand of shape {seen.type.shape} can't be walked along rows and columns")


def split_strides(
    seen: Node, shape: Sequence[int], kind: str, space: Space, layouts: Layouts
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
    for k in splits(shape, space):
        column = merged(shape[k:], strides[k:])
        if column is not None:
            return shape[:k], strides[:k], column
    whole = merged(shape, strides)
    if whole is not None and space.columns is not None:
        return (space.rows,), (whole * space.columns,), whole
    return None
