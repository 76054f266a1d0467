"""Epilogue fusion: matrix products compute factor * A B + addend as they write their result, without another pass.

A kernel that only adds products, times numbers, and at most one other value (a bias, a residual, an old value) is dissolved:
the first product starts from that value, and each further product adds to the result's memory. A sum that is part of a larger
kernel stays there, where it is free."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...ir import Adjacency, Extent, Graph, Layout, Native, Node, Pointwise, View
from .broadcast_rank import origin
from .fuse import Decision, Group
from .layout import Layouts, broadcast_strides
from .node_facts import inlined, uniform


@dataclass(frozen=True, eq=False)
class Sum:
    """out = the sum of factors * products + addend."""

    out: Node
    products: tuple[tuple[Node, float], ...]
    addend: Node | None
    members: tuple[Node, ...]
    """The nodes that it replaces, products included."""


class EpilogueFailure(Exception):
    """Why products can't compute a sum."""


def fuse_epilogues(
    graph: Graph, groups: Sequence[Group], layouts: Layouts, results: Iterable[Node]
) -> tuple[list[Group], list[Sum], list[Decision]]:
    """The groups that stay kernels, the sums that products compute, and the decisions."""
    users, wanted = graph.succ, set(results)
    readers: dict[Node, set[Group]] = {}
    for group in groups:
        for node in group.members:
            readers.setdefault(node, set()).add(group)
    kept, sums, decisions = [], [], []
    for group in groups:
        terms = _terms(group)
        products = [x for x in terms if scales(origin(x))] if terms is not None else []
        if not products:
            kept.append(group)
            continue
        out = group.outputs[-1]
        try:
            for x in products:
                _only_here(x, group, layouts, users, readers, wanted)
            found = _sum(group, terms, products, layouts)  # type: ignore[arg-type]
        except EpilogueFailure as reason:
            kept.append(group)
            decisions.append(Decision(origin(products[0]), out, False, str(reason)))
            continue
        sums.append(found)
        start = "" if found.addend is None else f", starting from {found.addend.op.name}"
        why = f"{len(products)} product{'s accumulate' if len(products) > 1 else ' accumulates'} into its memory{start}"
        decisions.append(Decision(found.products[0][0], out, True, why))
    return kept, sums, decisions


def scales(node: Node) -> bool:
    """Whether a routine computes the node times a number plus something."""
    return isinstance(node.op.emit, Native) and node.op.emit.scales and node.type.dtype.kind == "f"


def _terms(group: Group) -> dict[Node, float] | None:
    """The addends of the group's one result with their factors; None where the result is not such a sum."""
    if len(group.outputs) != 1:
        return None
    made: dict[Node, dict[Node, float]] = {}
    for node in group.members:
        emit = node.op.emit
        if not isinstance(emit, Pointwise) or node.type.shape != group.outputs[0].type.shape or node.type.dtype.kind != "f":
            return None
        factors = _factors(node, emit)
        if factors is None:
            return None
        made[node] = {}
        for operand, factor in factors:
            if operand not in made and origin(operand) in made:
                return None
            for x, own in made.get(operand, {operand: 1.0}).items():
                made[node][x] = _in_range(made[node].get(x, 0.0) + _in_range(factor * own, node), node)
    return made[group.outputs[0]]


def _in_range(factor: float, node: Node) -> float:
    """The factor, or NaN where multiplying by it may differ from multiplying by its factors one after another."""
    limits = np.finfo(node.type.dtype)
    return factor if factor == 0 or float(limits.tiny) <= abs(factor) <= float(limits.max) else np.nan


def _factors(node: Node, emit: Pointwise) -> list[tuple[Node, float]] | None:
    """The operands of which the node is the sum, with factors."""
    if emit.linear:
        return list(zip(node.inputs, map(float, emit.linear), strict=True))
    if emit.bilinear:
        for x, y in (node.inputs, node.inputs[::-1]):
            if uniform(origin(x)):
                return [(y, number(origin(x)))]
    return None


def number(node: Node) -> float:
    """The value of a uniform node."""
    if node.op.leaf == "constant":
        return float(node.attrs["value"].array.reshape(()))
    if isinstance(node.op.emit, Extent):
        return float(node.op.emit.rule(node))
    with np.errstate(all="ignore"):
        return float(np.reshape(node.op.eval(*(np.asarray(number(origin(i))) for i in node.inputs), **node.attrs), ()))


def _only_here(
    x: Node, group: Group, layouts: Layouts, users: Adjacency, readers: dict[Node, set[Group]], wanted: set[Node]
) -> None:
    """Raises EpilogueFailure unless only the group reads this product, as a whole and in the order of memory."""
    product = origin(x)
    if layouts.base[x] is not product or not layouts.at[x].is_contiguous or x.type.size != product.type.size:
        raise EpilogueFailure("it is not read in the order of memory")
    stack = [product]
    while stack:
        node = stack.pop()
        if node in wanted:
            raise EpilogueFailure("the product is a result itself")
        for user in users[node]:
            if isinstance(user.op.emit, View):
                stack.append(user)
            elif readers.get(user) != {group}:
                raise EpilogueFailure("the product is read elsewhere too")


def _sum(group: Group, terms: dict[Node, float], products: Sequence[Node], layouts: Layouts) -> Sum:
    """The sum as a record. Raises EpilogueFailure where a product can't start from the other addends."""
    out, others = group.outputs[0], [x for x in terms if x not in products]
    if len(others) > 1:
        raise EpilogueFailure("a product can start from one value only")
    if others:
        if terms[others[0]] != 1.0:
            raise EpilogueFailure("the addend has a factor other than 1")
        if inlined(origin(others[0])):
            raise EpilogueFailure("the addend is not in memory")
        first = origin(products[0])
        if begins(layouts.at[others[0]], out.type.shape, first.type.shape) is None:
            raise EpilogueFailure("the rows of the addend are not those of the product")
    if any(terms[x] == 0.0 for x in products):
        raise EpilogueFailure("a product cancels out")
    if any(np.isnan(terms[x]) for x in products):
        raise EpilogueFailure(f"its factor is outside the range of {out.type.dtype}")
    found = tuple((origin(x), terms[x]) for x in products)
    inside = (*group.members, *(product for product, _ in found))
    return Sum(out, found, others[0] if others else None, inside)


def begins(addend: Layout, shape: tuple[int, ...], product: tuple[int, ...]) -> Layout | None:
    """The layout in which a product reads the value that it starts from. The product's memory is that of the sum, which may
    have another shape. None where strides can't describe it."""
    strides = broadcast_strides(addend, shape)
    if strides is None:
        return None
    if shape != product:
        whole = Layout.contiguous(shape)
        return Layout(product, Layout.contiguous(product).strides, addend.offset) if strides == whole.strides else None
    columns = shape[-1]
    if min(strides) < 0 or (strides[-1] != 1 and columns > 1):
        return None
    return Layout(shape, strides, addend.offset)
