"""The store in which a program, or a function that is traced for each shape, keeps decisions that several shapes share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..ir import Graph, OpDef
    from .execute.stored_plan import StoredPlan
    from .rebinding import Template

KEPT = 4
"""Templates of one program."""
VAIN = 3
"""The number of useless templates after which no more are made."""


class Templates:
    """Templates of programs that may differ only in extents: the latest that was used comes first."""

    def __init__(self) -> None:
        self.kept: list[Template] = []
        self.vain = 0
        """How often extents could not be symbols, or had to keep their values."""
        self.error = ""
        """Why the latest template was not made, in words."""
        self.stored: list[tuple[list[OpDef], StoredPlan]] = []
        """The plans that were read from the kernel cache, with the operations of their programs. A template is made of one when
        another program of these operations comes."""

    @property
    def first(self) -> bool:
        """Whether there is no plan yet."""
        return not (self.kept or self.vain or self.stored)

    def read(self, graph: Graph, plan: StoredPlan) -> None:
        """Note a plan that was read."""
        self.stored = [*self.stored, ([node.op for node in graph.nodes], plan)]

    def prepare(self, graph: Graph) -> None:
        """Make the templates of plans that were read and may serve a program."""
        if not self.stored:
            return
        ops = [node.op for node in graph.nodes]
        suitable = [plan for other, plan in self.stored if other == ops]
        self.stored = [(other, plan) for other, plan in self.stored if other != ops]
        for plan in suitable:
            plan.twin()

    def failed(self, error: BaseException) -> None:
        self.vain += 1
        self.error = str(error).partition("\n")[0]

    def add(self, template: Template) -> None:
        """One that was just made. One that serves a single shape only tells why; it is the first to go."""
        if template.pinned:
            self.vain += 1
            self.kept = [*self.kept[: KEPT - 1], template]
        else:
            self.kept = [template, *self.kept][:KEPT]

    def served(self, template: Template) -> None:
        self.vain = 0
        self.kept = [template, *[other for other in self.kept if other is not template]]
