"""Sums that matrix products compute as they go: factor * A B + addend costs no pass of its own.

A kernel that does nothing but add up products, times numbers, and at most one other value (a bias, what a residual branch
is added to, an old value) is taken apart: the first product starts from that value, each further one from what the
products before it have left in the result's memory. Where the sum is part of a larger kernel it costs nothing there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...ir import Extent, Graph, Layout, Native, Node, Pointwise, View
from .fuse import Decision, Group
from .iteration_domain import inlined, origin, uniform
from .layout import Layouts, broadcast_strides


@dataclass(frozen=True, eq=False)
class Sum:
    """out = the sum of factors * products + addend."""

    out: Node
    products: tuple[tuple[Node, float], ...]
    addend: Node | None
    members: tuple[Node, ...]
    """The nodes that it stands for, products included."""


class EpilogueFailure(Exception):
    """Why products can't compute a sum."""


def fuse_epilogues(
    graph: Graph, groups: Sequence[Group], layouts: Layouts, results: Iterable[Node]
) -> tuple[list[Group], list[Sum], list[Decision]]:
    """The groups that stay kernels, the sums that products compute, and why."""
    users, wanted = graph.users(), set(results)
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
        with_what = "" if found.addend is None else f", with {found.addend.op.name} to begin with"
        why = f"{len(products)} product{'s add' if len(products) > 1 else ' adds'} up in its memory{with_what}"
        decisions.append(Decision(found.products[0][0], out, True, why))
    return kept, sums, decisions


def scales(node: Node) -> bool:
    """Whether a routine computes the node times a number plus something."""
    return isinstance(node.op.emit, Native) and node.op.emit.scales and node.type.dtype.kind == "f"


def _terms(group: Group) -> dict[Node, float] | None:
    """What the group's one result is the sum of, with factors, as its members see it; None for anything but such a sum."""
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
    """The factor, or NaN where its product with a number may be another than one factor after the other gives."""
    limits = np.finfo(node.type.dtype)
    return factor if factor == 0 or float(limits.tiny) <= abs(factor) <= float(limits.max) else np.nan


def _factors(node: Node, emit: Pointwise) -> list[tuple[Node, float]] | None:
    """The operands whose sum the node is, with factors."""
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
    x: Node, group: Group, layouts: Layouts, users: dict[Node, list[Node]], readers: dict[Node, set[Group]], wanted: set[Node]
) -> None:
    """Raises Unfit unless the group alone reads this product, all of it, in the order in which it lies."""
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
    """Raises Unfit where there is more to add than a product can begin with."""
    out, others = group.outputs[0], [x for x in terms if x not in products]
    if len(others) > 1:
        raise EpilogueFailure("a product begins with one value only")
    if others:
        if terms[others[0]] != 1.0:
            raise EpilogueFailure("what is added has a factor of its own")
        if inlined(origin(others[0])):
            raise EpilogueFailure("what is added is not in memory")
        begin = origin(products[0])
        if begins(layouts.at[others[0]], out.type.shape, begin.type.shape) is None:
            raise EpilogueFailure("what is added does not lie in rows like those of the product")
    if any(terms[x] == 0.0 for x in products):
        raise EpilogueFailure("a product cancels out")
    if any(np.isnan(terms[x]) for x in products):
        raise EpilogueFailure(f"its factor leaves the range of {out.type.dtype}")
    found = tuple((origin(x), terms[x]) for x in products)
    inside = (*group.members, *(product for product, _ in found))
    return Sum(out, found, others[0] if others else None, inside)


def begins(addend: Layout, shape: tuple[int, ...], product: tuple[int, ...]) -> Layout | None:
    """How a product of one shape, whose memory is that of a sum of another, walks over what it begins with."""
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
