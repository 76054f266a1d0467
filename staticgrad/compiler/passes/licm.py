"""Loop-invariant code motion: work of each iteration that can be done once for all, before or after the loop.

- A value of constants alone is computed before the loop.
- A product of items with a constant is one large product before the loop.
- A sum over all iterations of products, or of sums, is one product or sum after the loop, of stacks of its factors: the
  gradients of weights.
- A product that is only stacked, with a constant, is one large product after the loop: the gradients of items.

The rules are in `ops/rewrites/loop_rules.py`; here is where they apply. A loop whose number of iterations is not known when
its plan is made keeps all but the first.
"""

from __future__ import annotations

from typing import cast

from ...ir import Extent, Index, Native, Node, Pointwise, Reduction, Region, Result, View
from ...ir.walks import reached
from ...operators import Symbol, apply, lines_of
from ...ops.control.subgraph_tracing import parameter
from ...ops.rewrites.loop_rules import AT_ONCE, SUMMED, Rule, terms
from ..schedule.order import may_fail
from .loop_builder import Carry, Later, LoopBuilder

OFTEN = 8
"""Iterations from which a copy before the loop pays."""


def hoist_invariants(draft: LoopBuilder) -> None:
    """See the module."""
    _before(draft)
    if draft.length is None:
        return
    _products_before(draft)
    _sums_after(draft)
    _products_behind(draft)
    draft.prune({*draft.wanted, *(index for _, index in draft.outs)})


def _fixed(draft: LoopBuilder) -> set[Node]:
    """The loop-invariant values."""
    found = {param for param, _ in draft.consts}
    for node in draft.graph.reaching(draft.roots):
        if node.op.leaf in ("constant", "shape") or (node.inputs and all(i in found for i in node.inputs)):
            found.add(node)
    return found


def _before(draft: LoopBuilder) -> None:
    """Values of constants alone, but for views and numbers, which cost nothing, and checks, which may not be due.

    A transposed operand of a product is laid out anew once: products take it faster then.
    """
    fixed, params = _fixed(draft), {param for param, _ in draft.consts}
    behind: set[Node] = set(params)
    for node in draft.graph.reaching(draft.roots):
        if any(i in behind for i in node.inputs) and node in fixed:
            behind.add(node)
    read = {*draft.roots, *(i for n in draft.graph.reaching(draft.roots) if n not in fixed for i in n.inputs)}
    turned = _turned(draft) if draft.length is None or draft.length >= OFTEN else set()

    def worth_moving(node: Node) -> bool:
        return isinstance(node.op.emit, (Pointwise, Reduction)) or not (may_fail(node) or _free(node)) or node in turned

    def stays(node: Node) -> bool:
        return node in params or node not in behind

    candidates = reached(
        [node for node in draft.graph.nodes if node in read and not stays(node)],
        lambda node: () if stays(node) or worth_moving(node) else node.inputs,
    )
    moved = {
        node: parameter(draft.graph, node.type, node.name) for node in candidates if not stays(node) and worth_moving(node)
    }
    hoisted = [(param, draft.outside(node)) for node, param in moved.items()]
    draft.consts += hoisted
    if moved:
        draft.replace(moved)


def _turned(draft: LoopBuilder) -> set[Node]:
    """Constants that products read in another order than memory's."""
    products = [n for n in draft.graph.reaching(draft.roots) if isinstance(n.op.emit, Native) and n.type.dtype.kind == "f"]
    params = {param for param, _ in draft.consts}
    return {
        i for node in products for i in node.inputs
        if isinstance(i.op.emit, View) and not i.op.emit.keeps_order and i.inputs[0] in params
        and i.type.size == i.inputs[0].type.size
    }  # fmt: skip


def _free(node: Node) -> bool:
    """Moves no data, or has several results."""
    return isinstance(node.op.emit, (View, Index, Extent, Region, Result))


def _at_once(draft: LoopBuilder, node: Node, fixed: set[Node]) -> Rule | None:
    for match in AT_ONCE:
        rule = match(node)
        if rule is not None and all(f in fixed for f in rule.fixed):
            return rule
    return None


def _products_before(draft: LoopBuilder) -> None:
    fixed = _fixed(draft)
    moved: dict[Node, Node] = {}
    for node in draft.graph.reaching(draft.roots):
        rule = _at_once(draft, node, fixed)
        stacks = [] if rule is None else [_stacked(draft, factor) for factor in rule.factors]
        if rule is None or any(s is None for s in stacks):
            continue
        with lines_of(node.where):
            whole = rule.combine(*stacks, *(Symbol(draft.outer, draft.outside(f)) for f in rule.fixed))
        moved[node] = parameter(draft.graph, node.type, node.name)
        draft.items.append((moved[node], whole.node))
    if moved:
        draft.replace(moved)


def _stacked(draft: LoopBuilder, value: Node) -> Symbol | None:
    """For a value computed elementwise from items: its stack over all iterations, outside the loop; None for others."""
    for param, operand in draft.items:
        if param is value:
            return Symbol(draft.outer, operand)
    if not isinstance(value.op.emit, Pointwise) or any(i.type.shape != value.type.shape for i in value.inputs):
        return None
    operands = [_stacked(draft, i) for i in value.inputs]
    if any(o is None for o in operands):
        return None
    with lines_of(value.where):
        return cast("Symbol", apply(value.op, *operands, **value.attrs))


def _sums_after(draft: LoopBuilder) -> None:
    fixed = _fixed(draft)
    for carry in list(draft.carries):
        found = _summands(draft, carry)
        rules = [next((r for match in SUMMED if (r := match(t)) is not None), None) for t in found]
        if not found or any(r is None or any(f in fixed for f in r.factors) for r in rules):
            continue
        draft.carries.remove(carry)
        parts = [Later([draft.stack(f) for f in r.factors], [], r.combine) for r in rules if r is not None]
        if carry.index in draft.wanted:
            draft.later[carry.index] = carry.init, parts


def _summands(draft: LoopBuilder, carry: Carry) -> list[Node]:
    """The addends of a carry that only its own sum reads; empty for others."""
    parts = terms(carry.after)
    rest = [p for p in parts if p is not carry.param]
    others = [root for root in draft.roots if root is not carry.after]
    if len(rest) != len(parts) - 1 or carry.param in draft.graph.reaching([*rest, *others]):
        return []
    return rest


def _products_behind(draft: LoopBuilder) -> None:
    fixed = _fixed(draft)
    for value, index in list(draft.outs):
        rule = _at_once(draft, value, fixed)
        if rule is None or index not in draft.wanted or index in draft.later:
            continue
        users = [n for n in draft.graph.reaching(draft.roots) if value in n.inputs]
        if users or sum(root is value for root in draft.roots) > 1:
            continue
        draft.outs.remove((value, index))
        stacks = [draft.stack(factor) for factor in rule.factors]
        draft.later[index] = None, [Later(stacks, [draft.outside(f) for f in rule.fixed], rule.combine)]
