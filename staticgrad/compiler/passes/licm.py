"""Loop-invariant code motion: work that can be done once for all iterations, before or after the loop.

- A value that depends only on constants is computed before the loop.
- A product of items with a constant is one large product before the loop.
- A sum of products (or of sums) over all iterations is one product (or sum) of stacks after the loop: the gradients of
  weights.
- A product with a constant that is only stacked is one large product after the loop: the gradients of items.

The rules are in `ops/rewrites/loop_rules.py`; this pass applies them. In a loop whose number of iterations is unknown when the
plan is made, only the first rule applies.
"""

from __future__ import annotations

from typing import cast

from ...ir import Extent, Index, Native, Node, Pointwise, Reduction, Region, Result, View, may_fail
from ...ir.walks import reached
from ...operators import Symbol, apply, lines_of
from ...ops.control.subgraph_tracing import parameter
from ...ops.rewrites.loop_rules import AT_ONCE, SUMMED, Rule, terms
from .loop_builder import Carry, Later, LoopBuilder

OFTEN = 8
"""The least number of iterations for which a copy before the loop pays."""


def hoist_invariants(loop: LoopBuilder) -> None:
    """See the module."""
    _before(loop)
    if loop.length is None:
        return
    _products_before(loop)
    _sums_after(loop)
    _products_after(loop)
    loop.prune({*loop.wanted, *(index for _, index in loop.outs)})


def _fixed(loop: LoopBuilder) -> set[Node]:
    """The loop-invariant values."""
    found = {param for param, _ in loop.consts}
    for node in loop.graph.reaching(loop.roots):
        if node.op.leaf in ("constant", "shape") or (node.inputs and all(i in found for i in node.inputs)):
            found.add(node)
    return found


def _before(loop: LoopBuilder) -> None:
    """Values that depend only on constants, except views and numbers, which cost nothing, and checks, which might not run.

    A transposed operand of a product is copied once in the order that makes products faster.
    """
    fixed, params = _fixed(loop), {param for param, _ in loop.consts}
    dependent: set[Node] = set(params)
    for node in loop.graph.reaching(loop.roots):
        if any(i in dependent for i in node.inputs) and node in fixed:
            dependent.add(node)
    read = {*loop.roots, *(i for n in loop.graph.reaching(loop.roots) if n not in fixed for i in n.inputs)}
    turned = _turned(loop) if loop.length is None or loop.length >= OFTEN else set()

    def worth_moving(node: Node) -> bool:
        return isinstance(node.op.emit, (Pointwise, Reduction)) or not (may_fail(node) or _free(node)) or node in turned

    def stays(node: Node) -> bool:
        return node in params or node not in dependent

    candidates = reached(
        [node for node in loop.graph.nodes if node in read and not stays(node)],
        lambda node: () if stays(node) or worth_moving(node) else node.inputs,
    )
    moved = {node: parameter(loop.graph, node.type, node.name) for node in candidates if not stays(node) and worth_moving(node)}
    hoisted = [(param, loop.outside(node)) for node, param in moved.items()]
    loop.consts += hoisted
    if moved:
        loop.replace(moved)


def _turned(loop: LoopBuilder) -> set[Node]:
    """Constants that products read in an order other than that of memory."""
    products = [n for n in loop.graph.reaching(loop.roots) if isinstance(n.op.emit, Native) and n.type.dtype.kind == "f"]
    params = {param for param, _ in loop.consts}
    return {
        i for node in products for i in node.inputs
        if isinstance(i.op.emit, View) and not i.op.emit.keeps_order and i.inputs[0] in params
        and i.type.size == i.inputs[0].type.size
    }  # fmt: skip


def _free(node: Node) -> bool:
    """Whether the node moves no data, or has several results."""
    return isinstance(node.op.emit, (View, Index, Extent, Region, Result))


def _at_once(loop: LoopBuilder, node: Node, fixed: set[Node]) -> Rule | None:
    for match in AT_ONCE:
        rule = match(node)
        if rule is not None and all(f in fixed for f in rule.fixed):
            return rule
    return None


def _products_before(loop: LoopBuilder) -> None:
    fixed = _fixed(loop)
    moved: dict[Node, Node] = {}
    for node in loop.graph.reaching(loop.roots):
        rule = _at_once(loop, node, fixed)
        stacks = [] if rule is None else [_stacked(loop, factor) for factor in rule.factors]
        if rule is None or any(s is None for s in stacks):
            continue
        with lines_of(node.where):
            whole = rule.combine(*stacks, *(Symbol(loop.outer, loop.outside(f)) for f in rule.fixed))
        moved[node] = parameter(loop.graph, node.type, node.name)
        loop.items.append((moved[node], whole.node))
    if moved:
        loop.replace(moved)


def _stacked(loop: LoopBuilder, value: Node) -> Symbol | None:
    """The stack over all iterations of a value that is computed elementwise from items, outside the loop; None for other
    values."""
    for param, operand in loop.items:
        if param is value:
            return Symbol(loop.outer, operand)
    if not isinstance(value.op.emit, Pointwise) or any(i.type.shape != value.type.shape for i in value.inputs):
        return None
    operands = [_stacked(loop, i) for i in value.inputs]
    if any(o is None for o in operands):
        return None
    with lines_of(value.where):
        return cast("Symbol", apply(value.op, *operands, **value.attrs))


def _sums_after(loop: LoopBuilder) -> None:
    fixed = _fixed(loop)
    for carry in list(loop.carries):
        found = _summands(loop, carry)
        rules = [next((r for match in SUMMED if (r := match(t)) is not None), None) for t in found]
        if not found or any(r is None or any(f in fixed for f in r.factors) for r in rules):
            continue
        loop.carries.remove(carry)
        parts = [Later([loop.stack(f) for f in r.factors], [], r.combine) for r in rules if r is not None]
        if carry.index in loop.wanted:
            loop.later[carry.index] = carry.init, parts


def _summands(loop: LoopBuilder, carry: Carry) -> list[Node]:
    """The addends of a carry that only its own sum reads; empty for other carries."""
    parts = terms(carry.after)
    rest = [p for p in parts if p is not carry.param]
    others = [root for root in loop.roots if root is not carry.after]
    if len(rest) != len(parts) - 1 or carry.param in loop.graph.reaching([*rest, *others]):
        return []
    return rest


def _products_after(loop: LoopBuilder) -> None:
    fixed = _fixed(loop)
    for value, index in list(loop.outs):
        rule = _at_once(loop, value, fixed)
        if rule is None or index not in loop.wanted or index in loop.later:
            continue
        users = [n for n in loop.graph.reaching(loop.roots) if value in n.inputs]
        if users or sum(root is value for root in loop.roots) > 1:
            continue
        loop.outs.remove((value, index))
        stacks = [loop.stack(factor) for factor in rule.factors]
        loop.later[index] = None, [Later(stacks, [loop.outside(f) for f in rule.fixed], rule.combine)]
