"""The store in which a program, or a function that is traced for each shape, keeps decisions that several shapes share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .rebinding import Template

KEPT = 4
"""Templates of one program."""
VAIN = 3
"""The number of useless templates after which no more are made."""


Axes = list[tuple[int, int]]
"""(number of a feed, axis) of the extents that are symbols."""
State = tuple[int, list[tuple[str, "Axes | None"]]]
"""`Templates.vain`, and the names of the templates; the axes of that which was made of a program itself."""


class LateTemplate:
    """A template that is made when a program asks for it. name: tells other processes which one it is."""

    def __init__(self, name: str, axes: Axes, make: Callable[[], Template]):
        self.name, self.axes = name, axes
        self._make = make
        self._template: Template | None = None

    def made(self) -> Template:
        """The template."""
        if self._template is None:
            self._template = self._make()
        return self._template


class Templates:
    """Templates of programs that may differ only in extents: the latest that was used comes first. axes: those of the symbols
    of the first one, where they are known.

    What plans of programs follow from besides the programs is `name`: it is a part of the names of files of plans. Such a file
    also says which templates there are after its plan (`state`), so that a process that reads it needs none of them (`read`).
    """

    def __init__(self, kept: Sequence[Template | LateTemplate] = (), vain: int = 0, axes: Axes | None = None) -> None:
        self.kept = [*kept]
        self.vain = vain
        """How often extents could not be symbols, or had to keep their values."""
        self.axes = axes
        self.error = ""
        """Why the latest template was not made, in words."""

    def copy(self) -> Templates:
        return Templates(self.kept, self.vain)

    @property
    def name(self) -> str | None:
        """The same in two processes that have the same templates; None where those have no names."""
        names = [template.name for template in self.kept if isinstance(template, LateTemplate)]
        return f"{self.vain} {names}" if len(names) == len(self.kept) else None

    def enter(self, name: str) -> None:
        """Name the template that was made of a program, if there is one."""
        self.kept = [t if isinstance(t, LateTemplate) else LateTemplate(name, t.axes, t.made) for t in self.kept]

    def state(self, name: str) -> State:
        """What `read` reads. name: of the template of the latest program."""
        return self.vain, [(t.name, t.axes if t.name == name else None) for t in self.kept if isinstance(t, LateTemplate)]

    def read(self, state: State, make: Callable[[Axes], Template]) -> None:
        """Follow a program whose plan was read. make: gives the template of that program."""
        known = {template.name: template for template in self.kept if isinstance(template, LateTemplate)}
        self.vain, kept = state
        for name, axes in kept:
            if axes is not None:
                known[name] = LateTemplate(name, symbols := [(number, axis) for number, axis in axes], partial(make, symbols))
        self.kept = [known[name] for name, _ in kept]

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

    def served(self, template: Template | LateTemplate) -> None:
        self.vain = 0
        self.kept = [template, *[other for other in self.kept if other is not template]]
