"""Facts about single nodes that fusion needs, computed once per graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ir import REGISTRY, Extent, Index, Layout, Node, Pointwise, Reduction
from .broadcast_rank import choose_scans, fused_as, origin, scan_of
from .indexed_members import choose_gathers, choose_paddings, choose_scatters, gather_of, padding_of, scatter_of, spread_domain
from .layout import Layouts, count

CHOICES = (choose_paddings, choose_gathers, choose_scatters, choose_scans)
"""Per kind of fusion, `(nodes, users, results, fusible) -> nodes`: the routines whose results kernels compute instead."""


def native_form(node: Node) -> Any:
    """How a node runs natively, also where it runs on the host."""
    return node.op.emit if node.op.emit is not None else getattr(REGISTRY.get(node.op.name), "emit", None)


def fusible(node: Node) -> bool:
    emit = node.op.emit
    if emit.__class__ is Pointwise:
        return node.type.static
    return emit.__class__ is Reduction


def uniform(node: Node) -> bool:
    """Whether it is one number computed from constants and extents. Such a number is recomputed wherever it is needed."""
    known = node.uniform
    if known is None:
        known = _uniform(node)
        object.__setattr__(node, "uniform", known)
    return known


def _uniform(node: Node) -> bool:
    for d in node.type.shape:
        if d != 1:
            return False
    if node.op.emit.__class__ is Extent or node.op.leaf == "constant":
        return True
    return node.op.emit.__class__ is Pointwise and fusible(node) and all(uniform(origin(i)) for i in node.inputs)


def inlined(node: Node) -> bool:
    """Whether it has no storage: positions, extents, numbers, operands that are read only for their shape."""
    known = node.uniform
    if known or (known is None and uniform(node)):
        return True
    kind = node.op.emit.__class__
    return kind is Index or kind is Extent or node.op.leaf == "shape"


class Facts:
    """Facts about a node that don't depend on its group, computed once per graph."""

    __slots__ = (
        "accesses", "lookup", "members", "operands", "partial", "plain", "reduction", "runs", "scan", "scatter", "shape",
        "size", "sources", "walked", "window",
    )  # fmt: skip

    def __init__(self, node: Node, origins: Mapping[Node, Node]):
        emit = node.op.emit
        self.reduction = reduction = emit.__class__ is Reduction
        self.operands = [(i, origins[i]) for i in node.inputs]
        self.sources = list({source: None for _, source in self.operands})
        self.window = self.lookup = self.scatter = self.scan = None
        if fused_as(node, object) is not None:
            self.window, self.lookup, self.scatter, self.scan = (
                padding_of(node), gather_of(node), scatter_of(node), scan_of(node)
            )  # fmt: skip
        self.plain = self.window is None and self.lookup is None and self.scatter is None and self.scan is None
        self.shape = node.inputs[0].type.shape if reduction else node.type.shape
        """The shape over which the node iterates: that of its operand for a reduction."""
        self.size = count(self.shape)
        self.partial: tuple[int, int] | None = None
        """Rows and columns of the only iteration domain in which the node can be computed; None where there are several."""
        if reduction:
            axis, n = node.attrs["axis"], len(self.shape)
            if len(axis) < n:
                k = n - len(axis) if axis[-1] == n - 1 else len(axis)
                self.partial = count(self.shape[:k]), count(self.shape[k:])
        if self.scan is not None:
            self.partial = count(self.shape[:-1]), self.shape[-1]
        if self.scatter is not None:
            self.partial = spread_domain(node, self.scatter)
        self.walked = [
            (seen, source, 0 if seen.type.shape == self.shape else mask_block(seen.type.shape, self.shape))
            for seen, source in self.operands[node.op.draws :]
            if count(seen.type.shape) != 1 and seen.op.emit.__class__ is not Index
        ]
        """Per operand: the operand as the node reads it, its origin, and the first axis of the suffix of axes of which it has
        either all or none."""
        self.members = [(seen, source) for seen, source in self.operands[node.op.draws :] if not inlined(source)]
        """Operands that are in memory or values of the group, but for the state of a generator."""
        self.runs: dict[Node, tuple[Layout, int | None]] = {}
        """Per operand, its layout and the first axis of the suffix of axes that one stride walks in this layout."""
        self.accesses: dict[tuple[Node, str, int, int | None], Layout] = {}
        """Accesses that have been checked: per operand in memory, rank, rows and columns, the layout for which the check
        held."""


def facts_of(node: Node, layouts: Layouts) -> Facts:
    found: Facts | None = layouts.facts.get(node)
    if found is None:
        found = layouts.facts[node] = Facts(node, layouts.origin)
    return found


def mask_block(t: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The first axis of the suffix of axes of which the operand has either all or none.

    An axis that the operand lacks is absent even where its extent is 1, so a batch of one uses the kernel of any batch.
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
