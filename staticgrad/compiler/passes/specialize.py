"""The first passes: from the graph of a run to a pure computation whose extents are numbers.

*Functionalize* cuts the graph at its feeds and resolves reads of variables. *Specialize* binds every extent and expands
composite ops; inputs of which an op reads only the shape become `shape` leaves, so no value is computed for them. *Check
indices* inserts checks where a graph doesn't prove that an index is in range. Strict programs keep the bits of eager mode.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

import numpy as np

from ...base.types import SingletonType, TensorType, TupleType, UnrankedType, int64
from ...errors import ArgumentError, StaticgradError
from ...ir import (
    REGISTRY,
    Cell,
    Deferred,
    Expand,
    Graph,
    Index,
    Node,
    OpDef,
    OverComplex,
    Range,
    Reduction,
    Region,
    Result,
    Subgraph,
    View,
    failing,
    literal,
)
from ...ir.walks import reached
from ...ops.deferred import Asked, NeedsValues, Values, has_deferred, placed
from ...ops.operands import LoopOperands
from ...ops.operators import F, Symbol, apply, frontends, lines_of, located
from ...ops.rules import joint
from ...ops.shaping import reshape_op

# functionalize: the pure computation of a run -------------------------------------------------------------------------

# Cuts the graph at its feeds, resolves reads of variables to the values that they see, drops control edges that are no
# longer needed, and numbers the random draws. The result is pure: leaves, values, and a list of assignments.

DRAWS_OF_A_RUN = 1 << 32
"""By which the state of an op's own generator advances: more than a loop of one run draws."""


@dataclass(repr=False)
class FunctionalGraph:
    """A pure graph: `fetches` and `assigns` are its results, `feeds` its placeholders, each in the caller's order."""

    graph: Graph
    feeds: list[Node]
    fetches: list[Node]
    assigns: list[tuple[Cell, Node]]
    draws: int
    needs: list[Node]
    """Placeholders that are read but not fed."""

    @property
    def deferred(self) -> bool:
        """Whether parts of it are written only for the types, or values, of its feeds."""
        nodes = self.graph.nodes
        if any(True for n in nodes if n.op.sized or isinstance(n.type, UnrankedType)):
            return True
        return any(has_deferred(n) or _sized_inside(n) for n in nodes if isinstance(n.op.emit, (Deferred, Region)))

    @property
    def kept(self) -> list[Node]:
        """What no pass may drop, besides the results: feeds, operations that may fail, and results of loops and branches with
        such operations that nobody reads."""
        results, feeds, users = set(self.results), set(self.feeds), self.graph.succ
        unread = [n for n in self.graph.nodes if isinstance(n.op.emit, Result) and not users[n] and n not in results]
        return [*(n for n in self.graph.nodes if n in feeds or n.op.fails), *unread]

    def __repr__(self) -> str:
        return f"<Prepared: {self.graph!r}, {len(self.feeds)} feeds, {len(self.fetches)} fetches, {len(self.assigns)} assigns>"

    @property
    def results(self) -> list[Node]:
        return [*self.fetches, *(value for _, value in self.assigns)]


def _sized_inside(node: Node) -> bool:
    """Whether a body of a loop or branch has extents that the run decides."""
    bodies = [body for body in node.attrs.values() if isinstance(body, Subgraph)]
    return any(inner.op.sized or _sized_inside(inner) for body in bodies for inner in body.nodes)


def functionalize(
    graph: Graph, fetches: Sequence[Node], feeds: Sequence[Node], effects: Sequence[Node] = (), draws: int | None = None,
    strict: bool = False,
) -> FunctionalGraph:  # fmt: skip
    """See the module. Feeds may be any nodes: they become placeholders, and their operands don't run.

    `effects` run too, without a result: assignments, and values whose computation may fail. draws: how many random draws a run
    takes, whether it uses them or not; the numbers of the draws stay. None: those that are left after the cut, numbered anew,
    unless one is in a deferred node, whose number nobody can change.
    strict: equal nodes stay apart, and nodes that record the derivation of a gradient stay, unless a value that the gradient
    passes is fed.
    """
    fed = set(feeds)
    strict = strict and not any(node.inputs for node in feeds)
    order = _needed(graph, [*fetches, *effects], fed, strict)
    if draws is None and any(isinstance(n.op.emit, Deferred) and _draws(n.inputs) for n in order):
        draws = graph.draws
    position = {node: i for i, node in enumerate(order)}
    result = Graph(intern=not strict)
    copies: dict[Node, Node] = {}
    for node in feeds:
        copies[node] = result.add(REGISTRY["placeholder"], (), {"type": node.type}, node.type, node.name, node.where)
    assigned: dict[Cell, Node] = {}
    left = 0
    for node in order:
        if node in fed:
            continue
        if node.op.equals is not None and not strict:
            copies[node] = copies[node.inputs[node.op.equals]]
            continue
        attrs, inputs = node.attrs, tuple([copies[i] for i in node.inputs])
        if node.op.effect == "read":
            copies[node] = _visible(node, copies, position, fed)
        elif node.op.effect == "assign":
            cell = node.inputs[0].attrs["cell"]
            plain = node.op is REGISTRY["assign"]
            value = inputs[1] if plain else _update(result, node, assigned.get(cell, inputs[0]), inputs)
            copies[node] = assigned[cell] = _fitted(result, node, value)
        elif node.op.effect == "group":
            copies[node] = result.add(REGISTRY["constant"], (), _true(), node.type, node.name, node.where)
        else:
            if _draws(inputs):
                attrs, left = {**attrs, "index": left} if draws is None else attrs, left + 1
            copies[node] = result.add(node.op, inputs, attrs, node.type, node.name, node.where)
    for node in order:
        if node.op.leaf == "variable" and node not in fed and node.attrs["cell"].stream is not None:
            assigned[node.attrs["cell"]] = _advanced(result, copies[node])
    given, wanted = [copies[n] for n in feeds], [copies[n] for n in fetches]
    fed_copies = set(given)
    roots = [*given, *wanted, *assigned.values()]
    result.prune([*roots, *_failing(result, roots, copies.values())])  # a variable that is only assigned needs no value
    needs = [n for n in result.nodes if n.op.leaf == "placeholder" and n not in fed_copies]
    return FunctionalGraph(result, given, wanted, list(assigned.items()), left if draws is None else draws, needs)


def _draws(inputs: Sequence[Node]) -> bool:
    """Whether operands are those of a draw of random numbers."""
    return bool(inputs) and inputs[0].op.leaf == "generator"


def _failing(graph: Graph, roots: Sequence[Node], nodes: Iterable[Node]) -> list[Node]:
    """Of these nodes those that hold an operation that may fail and that the roots don't run."""
    candidates = [(node, found) for node in nodes if (found := failing(node))]
    if not candidates:
        return []
    needed = set(graph.reaching(roots))
    run = set[Node]().union(*[found for node, found in candidates if node in needed])
    kept = []
    for node, found in candidates:
        if not found <= run:
            kept.append(node)
            run |= found
    return kept


def _advanced(graph: Graph, state: Node) -> Node:
    """The state of a generator behind all draws of a run."""
    step = graph.add(REGISTRY["constant"], (), literal(np.array([0, DRAWS_OF_A_RUN])), state.type)
    return graph.add(REGISTRY["add"], (state, step), {}, state.type)


def _update(graph: Graph, node: Node, current: Node, inputs: tuple[Node, ...]) -> Node:
    """The value that an `update` gives a variable whose value is `current`."""
    op, attrs, operands = REGISTRY[node.attrs["op"]], dict(node.attrs["attrs"]), (current, *inputs[1:])
    return graph.add(op, operands, attrs, op.infer(*(i.type for i in operands), **attrs), node.name, node.where)


def _fitted(graph: Graph, node: Node, value: Node) -> Node:
    """A value to assign. Where extents are known at run time only, they are checked then."""
    if value.type.static or not node.type.static:
        return value
    return graph.add(REGISTRY["fit"], (value,), {"shape": node.type.shape}, node.type, node.name, node.where)


def _needed(graph: Graph, targets: Sequence[Node], stop: set[Node], strict: bool) -> list[Node]:
    """The ancestors of the targets, in order; in fast numerics a node that is equal to one of its inputs needs only that
    input."""
    if strict or not any(True for node in graph.nodes if node.op.equals is not None):
        return graph.reaching(targets, stop=stop)

    def read(node: Node) -> tuple[Node, ...]:
        if node in stop:
            return ()
        equals = node.op.equals
        return node.parents if equals is None else (node.inputs[equals], *node.after)

    wanted = reached(targets, read)
    return [node for node in graph.nodes if node in wanted]


def _true() -> dict[str, Any]:
    return literal(np.asarray(True))


def _visible(read: Node, copies: dict[Node, Node], position: dict[Node, int], fed: set[Node]) -> Node:
    """The value a read sees: of the last assign that control dependencies put before it, else of the run's start."""
    variable = read.inputs[0]
    waiting = [(-position[node], node) for node in read.after]
    heapq.heapify(waiting)
    seen = set(read.after)
    while waiting:  # the latest first
        node = heapq.heappop(waiting)[1]
        if node in fed:
            continue
        if node.op.effect == "assign" and node.inputs[0] is variable:
            return copies[node]
        for parent in node.parents:
            if parent not in seen:
                seen.add(parent)
                heapq.heappush(waiting, (-position[parent], parent))
    return copies[variable]


# index checks ---------------------------------------------------------------------------------------------------------

# Kernels read and write at indices without a bounds check. The public functions check every index, so this pass adds
# nothing to their graphs. A graph from a file, or one built node by node, may lack the check or have a different one.
# The range of an integer follows from constants, checks and the ops that pass integers on (`OpDef.range`), into the
# bodies of loops too.

Types = Mapping[Node, TensorType]
Value = TypeVar("Value")


def check_indexes(graph: Graph, results: Sequence[Node]) -> tuple[Graph, dict[Node, Node]]:
    """The graph with a check for each index that may be out of range, and the new node of each node."""
    order = graph.reaching(results)
    if not _trusting(order):
        return graph, {node: node for node in order}
    types = {node: node.type for node in order}
    same = {node: node for node in order}
    try:
        _Checks().copy(order, types, None, same, {})
    except _Unproven:
        new = Graph(intern=True)
        moved: dict[Node, Node] = {}
        _Checks().copy(order, types, new, moved, {})
        return new, moved
    return graph, same


def _trusting(nodes: Iterable[Node]) -> bool:
    """Whether an op among them, or in their bodies, uses integers as positions."""
    return any(
        node.op.indexes is not None
        or (isinstance(node.op.emit, Region) and any(_trusting(body.nodes) for body in _bodies(node).values()))
        for node in nodes
    )


def _bodies(node: Node) -> dict[str, Subgraph]:
    return {key: value for key, value in node.attrs.items() if isinstance(value, Subgraph)}


class _Unproven(Exception):
    """An index may be out of range."""


class _Checks:
    """One traversal of a graph and its bodies. Without a graph to add nodes to, it only finds whether a check is needed."""

    def __init__(self) -> None:
        self.added = 0
        self.done: dict[tuple[Subgraph, tuple[TensorType, ...], tuple[Range, ...]], tuple[Subgraph, list[Range]]] = {}

    def copy(
        self, order: Sequence[Node], types: Types, new: Graph | None, moved: dict[Node, Node], ranges: dict[Node, Range]
    ) -> None:
        """Add the nodes to `new`. `moved` and `ranges` start with the parameters and grow. Raises _Unproven without `new`."""
        made: dict[Node, list[Range]] = {}
        for node in order:
            given = [ranges.get(i) for i in node.inputs]
            kinds = [types[i] for i in node.inputs]
            attrs = node.attrs
            if isinstance(node.op.emit, Region):
                found = {key: self.body(body, node, key, kinds, given, new is None) for key, body in _bodies(node).items()}
                attrs = {**attrs, **{key: body for key, (body, _) in found.items()}}
                made[node] = _results(node, kinds, found)
            elif isinstance(node.op.emit, Result) and node.inputs[0] in made:
                numbers = made[node.inputs[0]]
                index = node.attrs["index"]
                ranges[node] = numbers[index] if index < len(numbers) else None
            else:
                numbers_of = _range(node, kinds, given)
                if numbers_of is not None:
                    ranges[node] = numbers_of
            unproven = []
            if node.op.indexes is not None:
                unproven = [
                    index for index in node.op.indexes(kinds, node.attrs)
                    if not _within(given[index[0]], kinds[index[0]], kinds[index[1]].shape[index[2]])
                ]  # fmt: skip
            if new is None:
                if unproven:
                    raise _Unproven
                continue
            inputs = [moved[i] for i in node.inputs]
            for number, table, axis in unproven:
                inputs[number] = self.check(new, inputs[number], inputs[table], axis, node)
            moved[node] = new.add(node.op, tuple(inputs), attrs, node.type, node.name, node.where)

    def check(self, new: Graph, index: Node, table: Node, axis: int, reader: Node) -> Node:
        self.added += 1
        kind = index.type.with_dtype(int64)
        return new.add(REGISTRY["bounded"], (index, table), {"axis": axis, "low": -1}, kind, "", reader.where)

    def body(
        self, body: Subgraph, node: Node, key: str, types: Sequence[TensorType], given: Sequence[Range], dry: bool
    ) -> tuple[Subgraph, list[Range]]:
        """A body with its checks, and the ranges of its results."""
        kinds, known = _operands(node, key, types), _operands(node, key, given)
        if "carries" in node.attrs:  # carries change from iteration to iteration
            at = node.attrs["consts"]
            known[at : at + node.attrs["carries"]] = [None] * node.attrs["carries"]
            kinds[at + node.attrs["carries"] :] = [
                kind.item if hasattr(kind, "item") else kind.with_shape(kind.shape[1:])
                for kind in kinds[at + node.attrs["carries"] :]
            ]
        name = body, tuple(kinds), tuple(known)
        if name not in self.done:
            before = self.added
            new, ranges = None if dry else Graph(intern=True), dict(zip(body.params, known, strict=True))
            moved = {}
            if new is not None:
                moved = {p: new.add(p.op, (), p.attrs, p.type, p.name, p.where) for p in body.params}
            self.copy(body.nodes, body.types(kinds), new, moved, ranges)
            found = [ranges.get(result) for result in body.results]
            if new is not None and self.added > before:
                body = Subgraph(new, [moved[p] for p in body.params], [moved[r] for r in body.results])
            self.done[name] = body, found
        return self.done[name]


def _operands(node: Node, key: str, values: Sequence[Value]) -> list[Value]:
    """Of one value per input of a region, those of the parameters of one of its bodies."""
    if "carries" not in node.attrs:
        return list(values[1:])  # the first input selects the branch
    first, n = int(node.attrs["count"]), len(node.attrs[key].params)
    return list(values[first : first + n])


def _results(node: Node, types: Sequence[TensorType], found: dict[str, tuple[Subgraph, list[Range]]]) -> list[Range]:
    """The integer ranges of the results of a loop or branch."""
    if "carries" in node.attrs:
        loop = LoopOperands(node.attrs, types)
        _, made = found["body"]
        return [None] * len(loop.inits) + made[len(loop.inits) :]
    sides = [made for _, made in found.values()]
    return [joint(*pair) for pair in zip(*sides, strict=True)]


def range_of(node: Node, known: dict[Node, Range], depth: int) -> Range:
    """The range of the integers in a value, as far as it follows from the operations before it, `depth` of them."""
    if node not in known and depth and node.type.dtype.kind in "biu":
        known[node] = _range(node, [i.type for i in node.inputs], [range_of(i, known, depth - 1) for i in node.inputs])
    return known.get(node)


def _range(node: Node, types: Sequence[TensorType], given: Sequence[Range]) -> Range:
    if not all(kind.static for kind in types):
        return None
    if node.op.range is not None:
        return node.op.range(types, node.attrs, *given)
    if isinstance(node.op.emit, View):
        return given[0]
    if isinstance(node.op.emit, Index):
        return 0, max(types[0].shape[node.attrs["axis"]] - 1, 0)
    if node.op.leaf == "constant" and node.type.dtype.kind in "iu":
        array: np.ndarray = node.attrs["value"].array
        return (int(array.min()), int(array.max())) if array.size else (0, 0)
    return None


def _within(found: Range, index: TensorType, extent: int) -> bool:
    if not index.static or extent is None:  # in a body; the program of the part in which it lies checks it
        return True
    return index.size == 0 or (found is not None and found[0] >= 0 and found[1] < extent)


# specialize: every extent is bound, and composite ops are expanded ----------------------------------------------------

Rewrite = Callable[[Graph, Node, tuple[Node, ...]], Node]


def rebuild(graph: Graph, results: Sequence[Node], rewrite: Rewrite) -> tuple[Graph, dict[Node, Node]]:
    """A copy of the ancestors of `results`: the new graph, and the copy of each node. Each node is
    placed as `rewrite(new graph, old node, new inputs)` says. It interns if the other does."""
    return _rebuilt(graph.reaching(results), graph.intern, rewrite)


def _rebuilt(order: Sequence[Node], intern: bool, rewrite: Rewrite) -> tuple[Graph, dict[Node, Node]]:
    new = Graph(intern=intern)
    copies: dict[Node, Node] = {}
    for node in order:
        copies[node] = rewrite(new, node, tuple([copies[i] for i in node.inputs]))
    return new, copies


def copy(new: Graph, node: Node, inputs: tuple[Node, ...], *, check: bool = False) -> Node:
    """The same node over new inputs. Its type is inferred again where their types differ, and operands that are read only for
    their shape become leaves. check: check every record's constraints on operands and attributes again."""
    if not node.inputs:
        return new.append(node)
    only = node.op.shape_only
    if only:
        inputs = tuple(shape_leaf(new, i.type) if p in only and i.type.static else i for p, i in enumerate(inputs))
    found = _typed(node, inputs) if check else None
    if node.type.static:  # a body's nodes may be typed before its parameters are known
        if inputs == node.inputs and not node.after:
            return new.append(node)
        for a, b in zip(inputs, node.inputs, strict=True):
            if a.type is not b.type and a.type != b.type:
                break
        else:
            return new.add(node.op, inputs, node.attrs, node.type, node.name, node.where)
    kind = _typed(node, inputs) if found is None else found
    return new.add(node.op, inputs, node.attrs, kind, node.name, node.where)


def _typed(node: Node, inputs: tuple[Node, ...]) -> TensorType:
    try:
        return node.op.typed([i.type for i in inputs], node.attrs)
    except StaticgradError as error:
        raise located(error, node.op, inputs, node.where) from None


def specialize(
    graph: Graph, results: Sequence[Node], known: dict[Node, TensorType], decisions: list[str] | None = None
) -> tuple[Graph, dict[Node, Node]]:
    """Bind the leaves in `known` to concrete types and write deferred nodes; returns the new graph and the new node of each
    node. A leaf whose value decides how a deferred node is written has a SingletonType. decisions: gets how deferred nodes
    were written.

    Raises ShapeError, with the user's line, when the extents don't fit each other.
    """

    values = Values()

    def rewrite(new: Graph, node: Node, inputs: tuple[Node, ...]) -> Node:
        kind = known.get(node)
        if kind is not None:
            if not isinstance(kind, SingletonType):
                return _bound(new, node, kind)
            leaf = _bound(new, node, TensorType(kind.shape, kind.dtype))
            values.found[leaf] = kind.value
            return leaf
        if has_deferred(node):
            return _placed(new, node, inputs, values)
        return copy(new, node, inputs, check=True)

    made = rebuild(graph, results, rewrite)
    if decisions is not None:
        decisions += values.decisions
    return made


def _placed(new: Graph, node: Node, inputs: tuple[Node, ...], values: Values) -> Node:
    """What a deferred node becomes; one that waits for extents or values which the run computes stays as it is."""
    attrs = node.attrs
    while all(i.type.static for i in inputs):
        try:
            return placed(new, Node(node.op, node.inputs, attrs, node.type, node.name, node.where), inputs, values)
        except NeedsValues as error:
            if not all(leaf in new.succ for leaf in error.leaves):  # of a body, whose values differ between iterations
                raise
            break
        except Asked as asked:  # for a value of which no guess has told
            attrs = {**attrs, "values": tuple(sorted({*attrs["values"], *asked.positions}))}
    return new.add(node.op, inputs, attrs, node.type, node.name, node.where)


def _bound(new: Graph, node: Node, kind: TensorType) -> Node:
    if kind == node.type and not node.inputs:
        return new.append(node)
    attrs = {**node.attrs, "type": kind} if "type" in node.attrs else node.attrs
    return new.add(node.op, (), attrs, kind, node.name, node.where)


def shape_leaf(graph: Graph, kind: TensorType) -> Node:
    return graph.add(REGISTRY["shape"], (), {"type": kind}, kind)


def expand(graph: Graph, results: Sequence[Node]) -> tuple[Graph, dict[Node, Node]]:
    """Replace composite ops by their definitions until none is left."""
    moved = {node: node for node in graph.nodes}

    def rewrite(new: Graph, node: Node, inputs: tuple[Node, ...]) -> Node:
        if node not in waiting:
            return copy(new, node, inputs)
        with lines_of(node.where):
            return _definition(node, [Symbol(new, i) for i in inputs]).node

    while True:
        order = graph.reaching([moved[r] for r in results])
        waiting = {node for node in order if node.op.emit.__class__ in DEFINED and _expandable(node)}
        if not waiting:
            return graph, moved
        graph, step = _rebuilt(order, graph.intern, rewrite)
        moved = {old: step[new] for old, new in moved.items() if new in step}


DEFINED = frozenset({Expand, Reduction, View})
"""Kinds of ops that may be composite."""


def _expandable(node: Node) -> bool:
    emit = node.op.emit
    if isinstance(emit, Expand):
        return True
    if isinstance(emit, Reduction):
        return bool(node.attrs["keepdims"]) or not node.attrs["axis"] or not _one_sided(node)
    return isinstance(emit, View) and emit.keeps_order and node.op is not reshape_op


def _definition(node: Node, inputs: list[Any]) -> Any:
    emit = node.op.emit
    if isinstance(emit, Expand):
        return emit.rule(node, *inputs)
    if isinstance(emit, View):
        return F.reshape(inputs[0], node.type.shape)
    return _reduction(node, inputs[0])


def _one_sided(node: Node) -> bool:
    """Whether the reduced axes are all axes, the leading axes, or the trailing axes: the forms that a kernel can iterate
    over."""
    axis, n = node.attrs["axis"], node.inputs[0].type.ndim
    return bool(axis == tuple(range(len(axis))) or axis == tuple(range(n - len(axis), n)))


def _reduction(node: Node, x: Any) -> Any:
    """A reduction without keepdims, over leading or trailing axes."""
    axis, n = node.attrs["axis"], len(x.shape)
    if not axis:
        return x
    if node.attrs["keepdims"]:
        return F.reshape(apply(node.op, x, axis=axis, keepdims=False), node.type.shape)
    trailing = trailing_axes(axis, n)
    if trailing:
        inner = apply(node.op, x, axis=trailing, keepdims=False)
        return apply(node.op, inner, axis=tuple(a for a in axis if a not in trailing), keepdims=False)
    kept = tuple(a for a in range(n) if a not in axis)
    return apply(node.op, F.permute(x, (*kept, *axis)), axis=tuple(range(len(kept), n)), keepdims=False)


def trailing_axes(axis: Iterable[int], n: int) -> tuple[int, ...]:
    """The axes of `axis` that form an unbroken run up to the last axis."""
    axes, run = set(axis), []
    for a in range(n - 1, -1, -1):
        if a not in axes:
            break
        run.append(a)
    return tuple(reversed(run))


# `numerics="strict"`: the bits of eager mode -------------------------------------------------------------------------

# Every op runs on the host with its NumPy meaning, on arrays laid out in memory as in eager mode, because their layout decides
# the order in which NumPy adds. No rewrite rule is applied, no kernel is generated, and equal operations are not merged. This
# mode is for comparisons, and for users who need equal bits more than speed.
#
# In a graph, the gradient of a loop or branch is a loop or branch, which accumulates cotangents per iteration and recomputes
# values; a tape adds them one by one in the order of the operations. So such a program is replayed on a tape
# (`eager/tape_graph.py`): nodes of `ops/shaping.py` record where gradients were taken, and of which values.

MODES = ("fast", "strict")


def check_numerics(numerics: str) -> str:
    """One of MODES. Raises ArgumentError for anything else."""
    if numerics not in MODES:
        raise ArgumentError(f"numerics has to be 'fast' or 'strict', got {numerics!r}")
    return numerics


@cache
def _on_host(op: OpDef) -> OpDef:
    return replace(op, emit=None, complex=OverComplex("own"))  # a node's record fits its dtypes already


def _infer_replay(*types: Any, program: Any, kind: TupleType) -> TupleType:
    return kind


REPLAY = OpDef(
    name="replay",
    infer=_infer_replay,
    eval=lambda *arrays, program, kind: program(*arrays),
    doc="The whole program on a tape. Inputs: what it reads from outside.",
)


def run_on_host(graph: Graph, results: Sequence[Node]) -> tuple[Graph, dict[Node, Node]]:
    """The graph with every op on the host; a program that differentiates loops or branches becomes one call that replays
    it."""
    order = graph.reaching(results)
    if any(node.op.equals is not None for node in order):
        return _replayed(order, results)

    def rewrite(new: Graph, node: Node, inputs: tuple[Node, ...]) -> Node:
        if not node.inputs:
            return new.append(node)
        return new.add(_on_host(node.op), inputs, node.attrs, node.type, node.name, node.where)

    return rebuild(graph, results, rewrite)


def _replayed(order: Sequence[Node], results: Sequence[Node]) -> tuple[Graph, dict[Node, Node]]:
    new = Graph()
    leaves = [new.append(node) for node in order if not node.inputs]
    read = [leaf for leaf in leaves if leaf.op.leaf not in ("constant", "shape")]
    made = list(dict.fromkeys(r for r in results if r.inputs))
    kind = TupleType([node.type for node in made])
    attrs = {"program": frontends.replay(order, read, made), "kind": kind}
    where = next((node.where for node in made if node.where is not None), None)
    whole = new.add(REPLAY, tuple(read), attrs, kind, "", where)
    moved = {leaf: leaf for leaf in leaves}
    for i, node in enumerate(made):
        moved[node] = new.add(_on_host(REGISTRY["result"]), (whole,), {"index": i}, node.type, node.name, node.where)
    return new, moved
