"""Gradients of loops and branches, which are loops and branches again, so they can be differentiated any number of times.

The gradient of a loop runs its iterations backwards. The values of iteration t that the transposed body needs are put by the
forward loop on stacks (its *residuals*): not what is cheap to compute again from other residuals, and with `remat` nothing but
the carries. Cotangents of carries are carried, those of items are stacked, those of constants are summed in carries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...base.types import INEXACT, StackType, TensorType, TupleType
from ...ir import REGISTRY, Extent, Graph, Index, Node, Pointwise, Subgraph, View
from ...ir.walks import reached
from ..operands import LoopOperands, Parts
from ..operators import F, Lifted, Symbol, apply, frontends, state
from .subgraph_tracing import copied, outputs, parameter, twin

CHEAP = 2
"""Cost up to which a value is computed again from residuals rather than kept itself."""


def joined(known: Any, more: Any) -> Any:
    """The sum of two cotangents of one value; None stands for none yet."""
    if known is None:
        return more
    if isinstance(more, Parts):
        return Parts({**known, **{i: joined(known.get(i), g) for i, g in more.items()}})
    if isinstance(more, Symbol) and not isinstance(more, Lifted) and isinstance(more.node.type, StackType):
        return _sum_of_stacks(known, more)
    return F.add(known, more)


def _sum_of_stacks(a: Symbol, b: Symbol) -> Any:
    """Two stacks added item by item, by a loop of as many iterations as the one that made them."""
    maker = a.node.inputs[0]
    count = Symbol(a.graph, maker.inputs[0])
    item = a.node.type.item  # type: ignore[attr-defined]
    with _apart():
        body = Graph(intern=True)
        params = [parameter(body, item), parameter(body, item)]
        total = F.add(*(Symbol(body, p) for p in params)).node
    attrs = {"consts": 0, "carries": 0, "length": None, "reverse": False, "count": True, "remat": False}
    node = apply(maker.op, count, a, b, body=Subgraph(body, params, [total]), cond=None, **attrs)
    return outputs(node, 1)[0]


@contextmanager
def _apart() -> Iterator[None]:
    """Build in graphs of one's own: a trace under way does not see it."""
    saved, state.tracer = state.tracer, None
    control, state.control = state.control, []
    state.inside += 1
    try:
        yield
    finally:
        state.inside -= 1
        state.tracer, state.control = saved, control


class Joint:
    """A body with the nodes of its gradient, in one graph.

    early: nodes that the forward loop can compute; late: nodes that need cotangents.
    """

    def __init__(self, body: Subgraph):
        self.body = body
        self.graph = Graph(intern=True)
        for node in (*body.params, *body.nodes):
            self.graph.append(node)
        self.late: set[Node] = set()

    def symbol(self, node: Node) -> Symbol:
        return Symbol(self.graph, node)

    def cotangent(self, kind: TensorType) -> Node:
        """A parameter of the backward body."""
        node = parameter(self.graph, kind)
        self.late.add(node)
        return node

    def pull(self, results: Sequence[Node], cotangents: Sequence[Node], sources: Sequence[Node]) -> list[Node | None]:
        """The cotangents of `sources`."""
        if not results or not sources:
            return [None for _ in sources]
        found = frontends.gradients(
            [self.symbol(r) for r in results], [self.symbol(s) for s in sources], [self.symbol(c) for c in cotangents]
        )
        return [None if g is None else g.node for g in found]

    def mark(self) -> None:
        """Find the late nodes, once the gradient is built."""
        for node in self.graph.nodes:
            if any(i in self.late for i in node.inputs):
                self.late.add(node)

    def known(self, node: Node, position: int) -> bool:
        """Only the shape of this operand is read, and that is known."""
        return position in node.op.shape_only and node.inputs[position].type.static

    def frontier(self, results: Sequence[Node]) -> list[Node]:
        """Early nodes that late ancestors of `results` read."""

        def read(node: Node) -> list[Node]:
            return [i for p, i in enumerate(node.inputs) if not self.known(node, p)] if node in self.late else []

        found = reached(results, read)
        return [node for node in self.graph.nodes if node in found and node not in self.late]


def active(loop: LoopOperands, wanted: Sequence[bool]) -> set[Node]:
    """The parameters of a loop's body through which something wanted reaches its results smoothly."""
    flags = wanted[len(wanted) - len(loop.body.params) :]
    live = {p for p, flag in zip(loop.body.params, flags, strict=True) if flag and p.type.dtype.kind in INEXACT}
    while True:
        smooth = set(live)
        for node in loop.body.nodes:
            if node.op.vjp is None or node.type.dtype.kind not in INEXACT:
                continue
            if any(i in smooth and node.op.vjp_for(p) is not None for p, i in enumerate(node.inputs)):
                smooth.add(node)
        more = {p for p, r in zip(loop.carry_params, loop.next_carries, strict=True) if r in smooth} - live
        if not more:
            return live
        live |= more


def residuals(joint: Joint, loop: LoopOperands, needs: Sequence[Node], remat: bool) -> list[Node]:
    """Which early values the forward loop puts on stacks. With `remat`: only carries."""
    given = {*loop.const_params, *loop.item_params}
    kept: dict[Node, None] = {}
    opened: set[Node] = set()
    """Values with extents that the run decides, which differ between iterations: no stack holds them."""
    for node in joint.graph.nodes:
        if node.op.sized or not (node.type.static or opened.isdisjoint(node.inputs)):
            opened.add(node)

    def again(node: Node) -> bool:
        return remat or node in opened or _cheap(node)

    def leaves(root: Node) -> list[Node]:
        """The ancestors of a value, up to expensive ones."""

        def ends(node: Node) -> bool:
            return node in loop.carry_params or not again(node)

        def read(node: Node) -> list[Node]:
            if node in given or node in kept or ends(node):
                return []
            return [i for p, i in enumerate(node.inputs) if not joint.known(node, p)]

        return [node for node in reached([root], read) if not (node in given or node in kept) and ends(node)]

    for node in needs:
        if remat or node in opened or not _cheap(node) or isinstance(node.op.emit, View) or _unkeepable(node):
            kept.update(dict.fromkeys(leaves(node)))
    for node in needs:
        if leaves(node):
            kept[node] = None
    return list(kept)


def _unkeepable(node: Node) -> bool:
    """A stack of stacks does not exist."""
    return isinstance(node.type, (StackType, TupleType))


def _cheap(node: Node) -> bool:
    """Costs less to compute again than to keep."""
    emit = node.op.emit
    if isinstance(emit, Pointwise):
        return emit.cost <= CHEAP and not node.op.draws
    if _unkeepable(node):  # a loop inside is run again
        return True
    return isinstance(emit, (View, Index, Extent)) or node.op.leaf in ("constant", "shape")


def loop_vjp(g: Parts, node: Node, wanted: Sequence[bool], *inputs: Any) -> list[Any]:
    """The cotangents of a loop's inputs; see the module."""
    loop = LoopOperands(node.attrs, inputs)
    with _apart():
        back = _Backward(node, loop, wanted, g)
    lead = len(inputs) - len(loop.body.params)
    read = [p in back.read for p in loop.body.params]
    return back.apply([*inputs[:lead], *_regained(inputs[lead:], read)])


def _regained(inputs: Sequence[Any], read: Sequence[bool]) -> list[Any]:
    """The operands for another run of a body. One that was changed since is lost to the gradient only where eager mode would
    have saved it, because a rule reads it."""
    return [
        x if wanted or not isinstance(x, Symbol) or isinstance(x, Lifted) else Symbol(x.graph, x.node)
        for x, wanted in zip(inputs, read, strict=True)
    ]


def _memory(node: Node) -> Node:
    """The node whose memory a value has in eager mode."""
    while isinstance(node.op.emit, View):
        node = node.inputs[0]
    return node


class _Backward:
    """The body of a loop's gradient."""

    def __init__(self, node: Node, loop: LoopOperands, wanted: Sequence[bool], g: Parts):
        self.node, self.loop, self.g = node, loop, g
        flags = list(wanted[len(wanted) - len(loop.body.params) :])
        self.live = active(loop, wanted)
        joint = Joint(loop.body)
        n = len(loop.carry_params)
        self.state = [i for i, p in enumerate(loop.carry_params) if p in self.live]
        self.items = [j for j in range(len(loop.items)) if n + j in g and loop.items[j].type.dtype.kind in INEXACT]
        state = [joint.cotangent(loop.carry_params[i].type) for i in self.state]
        items = [joint.cotangent(loop.items[j].type) for j in self.items]
        sources = [p for p in loop.body.params if p in self.live]
        results = [loop.next_carries[i] for i in self.state] + [loop.items[j] for j in self.items]
        found = dict(zip(sources, joint.pull(results, [*state, *items], sources), strict=True))
        consts = [k for k, p in enumerate(loop.const_params) if flags[k] and found.get(p) is not None]
        sums = [joint.cotangent(loop.const_params[k].type) for k in consts]
        after = [self._or_zero(joint, found[loop.carry_params[i]], s) for i, s in zip(self.state, state, strict=True)]
        for k, total in zip(consts, sums, strict=True):
            part = found[loop.const_params[k]]
            assert part is not None
            after.append(F.add(joint.symbol(total), joint.symbol(part)).node)
        self.consts = consts
        at = len(loop.const_params) + n
        self.outs = [k for k, p in enumerate(loop.item_params) if flags[at + k] and found.get(p) is not None]
        after += [found[loop.item_params[k]] for k in self.outs]  # type: ignore[misc]
        joint.mark()
        needs = joint.frontier(after)
        self.read = {_memory(value) for value in needs}
        """Among them the parameters of the body whose values the gradient reads."""
        self.kept = residuals(joint, loop, needs, node.attrs["remat"])
        self._assemble(after, state, sums, items)

    def _or_zero(self, joint: Joint, g: Node | None, like: Node) -> Node:
        return F.zeros_like(joint.symbol(like)).node if g is None else g

    def _assemble(self, after: list[Node], state: list[Node], sums: list[Node], items: list[Node]) -> None:
        """The backward body, and the forward body that makes its residuals."""
        loop, body = self.loop, Graph(intern=True)
        order = [*loop.const_params, *state, *sums, *loop.item_params, *self.kept, *items]
        moved = {p: twin(body, p) for p in order}
        results = copied(body, after, dict(moved), lean=True)
        used = set(body.reaching(results))
        self.used_consts = [k for k, p in enumerate(loop.const_params) if moved[p] in used]
        self.used_stacks = [k for k, p in enumerate(loop.item_params) if moved[p] in used]
        counted = loop.dynamic or self.node.attrs["length"] is not None
        if not (self.used_stacks or self.kept or items or counted):
            self.used_stacks = [0]  # says how many iterations there are
        given = [loop.const_params[k] for k in self.used_consts]
        stacked = [loop.item_params[k] for k in self.used_stacks]
        params = [moved[p] for p in (*given, *state, *sums, *stacked, *self.kept, *items)]
        self.body = Subgraph(body, params, results)
        ahead = Graph(intern=True)
        places = {p: twin(ahead, p) for p in loop.body.params}
        forward = copied(ahead, [*loop.body.results, *self.kept], dict(places))
        self.forward = Subgraph(ahead, list(places.values()), forward)

    def apply(self, inputs: Sequence[Any]) -> list[Any]:
        """Append both loops; the cotangents of the inputs."""
        loop, attrs = LoopOperands(self.node.attrs, inputs), dict(self.node.attrs)
        n, made = len(loop.inits), len(loop.items)
        forward = apply(self.node.op, *inputs, **{**attrs, "body": self.forward})
        ahead = outputs(forward, len(self.forward.results) + (loop.cond is not None))
        kept = ahead[n + made : n + made + len(self.kept)]
        count = () if not loop.dynamic else (loop.count if loop.cond is None else ahead[-1],)
        state = [self.g[i] if i in self.g else F.zeros_like(loop.inits[i]) for i in self.state]
        sums = [F.zeros_like(loop.consts[k]) for k in self.consts]
        stacks = [loop.stacks[k] for k in self.used_stacks] + kept + [self.g[n + j] for j in self.items]
        node = apply(
            self.node.op, *count, *(loop.consts[k] for k in self.used_consts), *state, *sums, *stacks,
            body=self.body, cond=None, consts=len(self.used_consts), carries=len(state) + len(sums),
            length=attrs["length"], reverse=not attrs["reverse"], count=loop.dynamic, remat=attrs["remat"],
        )  # fmt: skip
        found = outputs(node, len(self.body.results))
        result: list[Any] = [None] * len(inputs)
        at = int(attrs["count"])
        for k, total in zip(self.consts, found[len(state) :], strict=False):
            result[at + k] = total
        at += len(loop.consts)
        for i, value in zip(self.state, found, strict=False):
            result[at + i] = value
        at += n
        for k, value in zip(self.outs, found[len(state) + len(sums) :], strict=True):
            result[at + k] = value
        return result


# branches --------------------------------------------------------------------------------------------------------------


def branch_vjp(g: Parts, node: Node, wanted: Sequence[bool], *inputs: Any) -> list[Any]:
    """The cotangents of a branch's inputs: a branch on the same condition, each side of which runs forward and back."""
    pred, *operands = inputs
    flags = [f and x.dtype.kind in INEXACT for f, x in zip(wanted[1:], operands, strict=True)]
    outs = sorted(i for i in g if node.attrs["then"].results[i].type.dtype.kind in INEXACT)
    with _apart():
        (then, reads), (orelse, others) = (_backwards(node.attrs[side], flags, outs) for side in ("then", "orelse"))
    operands = _regained(operands, [a or b for a, b in zip(reads, others, strict=True)])
    back = apply(REGISTRY["branch"], pred, *operands, *(g[i] for i in outs), then=then, orelse=orelse)
    found = iter(outputs(back, len(then.results)))
    return [None, *(next(found) if flag else None for flag in flags)]


def _backwards(side: Subgraph, flags: Sequence[bool], outs: Sequence[int]) -> tuple[Subgraph, list[bool]]:
    """The wanted cotangents as a function of a branch's operands and the cotangents of its results; and which operands'
    values they read."""
    joint = Joint(side)
    seeds = [joint.cotangent(side.results[i].type) for i in outs]
    sources = [p for p, flag in zip(side.params, flags, strict=True) if flag]
    found = joint.pull([side.results[i] for i in outs], seeds, sources)
    results = [F.zeros_like(joint.symbol(s)).node if f is None else f for s, f in zip(sources, found, strict=True)]
    joint.mark()
    read = {_memory(value) for value in joint.frontier(results)}
    body = Graph(intern=True)
    params = {p: twin(body, p) for p in (*side.params, *seeds)}
    made = Subgraph(body, list(params.values()), copied(body, results, dict(params), lean=True))
    return made, [p in read for p in side.params]
