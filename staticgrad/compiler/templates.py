"""Where a program, or a function that is traced for each shape, keeps the decisions that several shapes share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .rebinding import Template

KEPT = 4
"""Templates of one program."""
VAIN = 3
"""Templates in vain after which none is made any more."""


class Templates:
    """Of programs that may be the same but for extents: the latest that served comes first."""

    def __init__(self) -> None:
        self.kept: list[Template] = []
        self.vain = 0
        """How often extents could not be symbols, or had to be what they were."""

    def add(self, template: Template) -> None:
        template.complete = True
        if template.pinned:
            self.vain += 1
        self.keep(template)

    def keep(self, template: Template) -> None:
        if not self.kept or self.kept[0] is not template:
            self.kept = [template, *[other for other in self.kept if other is not template][: KEPT - 1]]
