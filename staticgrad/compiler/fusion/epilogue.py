"""Results that are computed where they are needed: sums inside matrix products, and parts of concatenations inside the whole.

*Epilogues*: a product can compute factor * A B + addend as it writes its result, without another pass. A kernel that only adds
products, times numbers, and at most one other value (a bias, a residual, an old value) is dissolved: the first product starts
from that value, and each further product adds to the result's memory. A sum that is part of a larger kernel stays there, where
it is free. `x @ w + b` is one call of BLAS whose result begins as copies of b.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from ...ir import Adjacency, Copy, Extent, Graph, Layout, Native, Node, Pointwise, Region, View
from .fuse import Decision, Group, check_scalars
from .iteration_domain import classify, split_strides
from .node_facts import (
    FULL,
    SPREAD,
    FusionFailure,
    IterationDomain,
    Layouts,
    block_start,
    broadcast_strides,
    count,
    inlined,
    origin,
    uniform,
)


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


# concat elision: parts of concatenations, and reordered products, are computed in place in the whole ------------------

# Where a kernel or routine computes a part of a value that consists of copies, the part becomes a view of the whole,
# and the kernel or routine writes there. Routines write parts that are contiguous. Kernels and products also write rows
# with a stride (a concatenation along the last axis), where a row is long enough. The iteration domain of a kernel may
# change by this, because its rows and columns are then those of the part.
#
# A product may be read in another order of its axes, as the heads of attention are. It is then computed in that order,
# as part of a concatenation or of a view that would have been a copy (`merge_heads = permute, reshape`).

SHORT_RUN = 8
"""The least elements of a row that a kernel stores with a stride: shorter rows are faster to copy."""


class ConcatElision:
    """Finds the parts in one graph, and changes `layouts` and the iteration domains of groups accordingly."""

    def __init__(self, graph: Graph, groups: Sequence[Group], sums: Sequence[Sum], layouts: Layouts, fetches: Iterable[Node]):
        self.graph, self.layouts = graph, layouts
        self.group_of = {node: group for group in groups for node in group.members}
        self.inside = {node for found in sums for node in found.members} - {found.out for found in sums}
        self.sums = {found.out: all(p.type.shape == found.out.type.shape for p, _ in found.products) for found in sums}
        """Sums that products compute, and whether all products have the shape of the sum."""
        self.fetched = {layouts.base[node] for node in fetches}
        self.viewed: dict[Node, list[Node]] = {}
        for node in graph.nodes:
            if layouts.base[node] is not node:
                self.viewed.setdefault(layouts.base[node], []).append(node)
        self.copied: dict[Node, list[Node]] = {}
        """Copied views, by the value that they copy."""
        for view, (base, _) in layouts.copies.items():
            self.copied.setdefault(base, []).append(view)
        self.notes: list[str] = []

    def place(self, assigned: Iterable[Node]) -> list[str]:
        """Returns notes for `explain`. Assigned values are excluded: they are in the memory of variables, whose old values are
        still read while the parts are computed."""
        held = {self.layouts.base[value] for value in assigned}
        wholes: set[Node] = set()
        for node in self.graph.nodes:
            if node in self.layouts.copies and self._reordered(node, held):
                wholes.add(node)
            calls = self._copies(node)
            if len(calls) < 2 or node in held or node in self.group_of or node in self.layouts.part:
                continue
            for number, target in calls:
                part = self.layouts.base[node.inputs[number]]
                if part in held or part in wholes or part in self.copied:
                    continue
                seen = node.inputs[number]
                if self._fits(node, self.layouts.at[seen], part, target, {seen: target}):
                    wholes.add(node)
        return self.notes

    def _reordered(self, whole: Node, held: Set[Node]) -> bool:
        """Have a product computed in the order in which a view copies it. Other copies in the same order become views."""
        layouts = self.layouts
        part, seen = layouts.copies[whole]
        others = [view for view in self.copied[part] if view is not whole]
        if part in held or part in layouts.part or layouts.base[part] is not part:
            return False
        if any(not layouts.copies[view][1].same(seen) or view in self.group_of for view in others):
            return False
        if not self._fits(whole, seen, part, Layout.contiguous(seen.shape), {}):
            return False
        for view in others:
            del layouts.copies[view]
            layouts.base.update(dict.fromkeys([view, *self.viewed.get(view, [])], whole))
        return True

    def _copies(self, node: Node) -> list[tuple[int, Layout]]:
        """(operand, its layout in the value) of a value that consists of copies, none of which overwrites another."""
        emit, layouts = node.op.emit, self.layouts
        if not isinstance(emit, Native) or emit.inplace is not None or node in self.inside or node in self.sums:
            return []
        calls = layouts.calls(node)
        copies = [call for call in calls if isinstance(call, Copy)] if calls is not None else []
        return [(copy.operand, copy.layout) for copy in copies] if calls is not None and len(copies) == len(calls) else []

    def _fits(self, whole: Node, seen: Layout, part: Node, target: Layout, known: Mapping[Node, Layout]) -> bool:
        """Make the part a view of the whole where that is possible. known: layouts of the whole's operands after that."""
        layouts = self.layouts
        layout = _at_part(seen, part.type.shape, target)
        if layout is None or part in layouts.part or part in self.fetched or not layouts.at[part].is_contiguous:
            return False
        if not self._computed(part, layout.is_contiguous) or (part in self.group_of and not seen.is_contiguous):
            return False
        views = self.viewed.get(part, [])
        before = {node: layouts.at[node] for node in (part, *views)}
        readable = self._readable(part, whole, views, layout.is_contiguous)
        domains = self._move(part, whole, layout, views, known) if readable else None
        if domains is None:
            layouts.at.update(before)
            layouts.base.update(dict.fromkeys(before, part))
            return False
        layouts.part.update(dict.fromkeys(before, part))
        for group, domain in domains.items():
            group.domain = domain
        self.notes.append(f"{part.op.name} {part.type}: computed in place in {whole.op.name} {whole.type}")
        return True

    def _computed(self, part: Node, contiguous: bool) -> bool:
        """Whether the kernel or routine that computes it can write there."""
        group = self.group_of.get(part)
        if group is not None:
            return part in group.outputs and group.domain.rank[part] != SPREAD
        emit = part.op.emit
        if part in self.sums:
            return contiguous or self.sums[part]
        if part in self.inside or not isinstance(emit, Native) or emit.inplace is not None:
            return False
        if not (contiguous or (emit.scales and part.type.dtype.kind == "f")):
            return False
        return self.layouts.calls(part) is not None

    def _readable(self, part: Node, whole: Node, views: Sequence[Node], contiguous: bool) -> bool:
        """Whether all its readers can read it in the whole: routines would copy rows with a stride."""
        for node in (part, *views):
            for user in self.graph.succ[node]:
                if isinstance(user.op.emit, Region) or (user in self.layouts.part and user not in self.group_of):
                    return False
                if not (contiguous or user is whole or user in self.group_of or isinstance(user.op.emit, View)):
                    return False
        return True

    def _move(
        self, part: Node, whole: Node, layout: Layout, views: Sequence[Node], known: Mapping[Node, Layout]
    ) -> dict[Group, IterationDomain] | None:
        """The iteration domains of the kernels that write or read the part after it has moved; None where one of them
        can't."""
        layouts = self.layouts
        layouts.base[part], layouts.at[part] = whole, layout
        for view in views:
            emit = view.op.emit
            assert isinstance(emit, View)
            found = known[view] if view in known else emit.rule(view, layouts.at[view.inputs[0]])
            if found is None:
                return None
            layouts.base[view], layouts.at[view] = whole, found
        readers = [user for node in (part, *views) for user in self.graph.succ[node]]
        groups = {self.group_of[user]: None for user in readers if user in self.group_of}
        if part in self.group_of:
            groups[self.group_of[part]] = None
        domains: dict[Group, IterationDomain] = {}
        try:
            for group in groups:
                domains[group] = domain = classify(group.members, layouts)
                check_scalars(group.members, domain)
                if any(self._badly_stored(node, domain) for node in group.outputs):
                    return None
                was = group.domain.columns
                if domain.columns != was and (was is not None or domain.columns is None or domain.columns < SHORT_RUN):
                    return None
        except FusionFailure:
            return None
        return domains

    def _badly_stored(self, node: Node, domain: IterationDomain) -> bool:
        """Whether a kernel can't write it with its layout."""
        at = self.layouts.at[node]
        if at.is_contiguous:
            return False
        found = split_strides(node, node.type.shape, FULL, domain, self.layouts) if domain.rank[node] == FULL else None
        return found is None or found[2] != 1


def _at_part(seen: Layout, shape: Sequence[int], target: Layout) -> Layout | None:
    """The layout of a value of this shape if the view `seen` of it, which has all its elements, is at `target`; None where
    strides can't describe it."""
    if seen.offset or count(seen.shape) != count(shape) or 0 in shape:
        return None
    if not seen.is_contiguous:
        return _reordered(seen, shape, target)
    if target.is_contiguous:
        return Layout(tuple(shape), Layout.contiguous(tuple(shape)).strides, target.offset)
    walked = [(d, s) for d, s in zip(target.shape, target.strides, strict=True) if d != 1]
    if [d for d, _ in walked] != [d for d in shape if d != 1]:
        return None
    steps = iter([s for _, s in walked])
    return _in_runs(Layout(tuple(shape), tuple(1 if d == 1 else next(steps) for d in shape), target.offset))


def _reordered(seen: Layout, shape: Sequence[int], target: Layout) -> Layout | None:
    """The same where the view has the value's axes in another order."""
    if seen.shape != target.shape:
        return None
    goes = [(d, s, to) for d, s, to in zip(seen.shape, seen.strides, target.strides, strict=True) if d != 1]
    own = Layout.contiguous(tuple(shape)).strides
    strides = []
    for d, s in zip(shape, own, strict=True):
        to = next((to for e, t, to in goes if d == e and s == t), None) if d != 1 else 1
        if to is None:
            return None
        strides.append(to)
    if sum([d != 1 for d in shape]) != len(goes):
        return None
    return _in_runs(Layout(tuple(shape), tuple(strides), target.offset))


def _in_runs(layout: Layout) -> Layout | None:
    """A layout whose rows are long enough to be written one by one, or None."""
    k = block_start(layout.shape, layout.strides)
    return layout if layout.strides[-1] == 1 and count(layout.shape[k:]) >= SHORT_RUN else None
