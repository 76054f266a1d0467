"""The first plan of a program in the kernel cache: a process that finds it there makes none of the compiler's passes.

The user's code is traced as always, so guards, effects and errors are those of this process; the key is what was traced
(`program_key.py`). `STATICGRAD_PLANS=0` compiles each plan.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base import logs
from ..base.types import TensorType
from ..ir import Node
from .backend import disk_cache as disk
from .passes.functionalize import FunctionalGraph
from .program_key import ProgramKey, Unkept
from .templates import Templates

if TYPE_CHECKING:
    from .execute.plan import Plan
    from .execute.stored_plan import StoredPlan
    from .rebinding import Template
    from .templates import Axes

PLANS = "STATICGRAD_PLANS"
"""The environment variable by which plans are neither read nor written where it is 0."""


class Entry:
    """The place of a program's plan in the kernel cache. templates: which the plan may follow from. Raises Unkept for a program
    that has none."""

    def __init__(self, prepared: FunctionalGraph, known: dict[Node, TensorType], threads: int, templates: Templates):
        if (name := templates.name) is None:
            raise Unkept("it may take the template of a program that is not kept")
        self.templates = templates
        self.types = [TensorType(known[feed].shape, feed.type.dtype) for feed in prepared.feeds]
        self.program = ProgramKey(prepared, known, threads)
        self.key = hashlib.sha256(f"{name} {self.program.key}".encode()).hexdigest()
        self.name = f"p{self.key[:24]}.json"

    def read(self, remake: Callable[[Templates], Plan]) -> StoredPlan | None:
        """The plan, if it is there; then the templates are those that there are after it. remake: compiles it."""
        content = disk.read(self.name, self.key)
        if content is None:
            return None
        from .execute.stored_plan import unpacked

        def template(axes: Axes) -> Template:
            anew = Templates(axes=axes)
            remake(anew)
            return anew.kept[0].made()

        program, before = self.program, self.templates.copy()
        state, _, packed = content.partition(b"\n")
        plan = unpacked(packed, self.types, [*program.cells], [*program.sources], program.arrays, lambda: remake(before))
        if plan is not None:
            self.templates.read(json.loads(state), template)
        logs.debug("a plan %s", "from the kernel cache" if plan is not None else "whose kernels are not in the cache any more")
        return plan

    def write(self, plan: Plan) -> None:
        """Keep a plan that was just made."""
        from .execute.stored_plan import packed

        program = self.program
        content = packed(plan, program.cells, program.sources, program.constants)
        if content is not None:
            disk.keep(self.name, self.key, json.dumps(self.templates.state(self.key)).encode() + b"\n" + content)

    def enter(self) -> None:
        """Name the template that was made of the program."""
        self.templates.enter(self.key)


def kept() -> bool:
    """Whether plans are read and written."""
    return os.environ.get(PLANS, "1") != "0"


def entry(prepared: FunctionalGraph, known: dict[Node, Any], threads: int, templates: Templates) -> Entry | None:
    """The place of a program's plan for so many threads; None where it has none."""
    if not kept():
        return None
    try:
        return Entry(prepared, known, threads, templates)
    except Unkept as why:
        logs.debug("the plan is not kept: %s", why)
        return None
