"""Specialization: every extent is bound, and composite ops are expanded. Strict programs keep the bits of eager mode.

Inputs of which an op reads only the shape become `shape` leaves: no value is computed for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ...base.types import SingletonType, TensorType, TupleType
from ...errors import ArgumentError, StaticgradError
from ...ir import REGISTRY, Expand, Graph, Node, OpDef, OverComplex, Reduction, View
from ...ops.deferred import Asked, has_deferred, placed
from ...ops.known_values import NeedsValues, Values
from ...ops.operators import F, Symbol, apply, frontends, lines_of, located
from ...ops.shaping import reshape_op

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
# (`eager/tape_graph.py`): nodes of `ops/broadcasting.py` record where gradients were taken, and of which values.

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
