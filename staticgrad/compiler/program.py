"""A program: fetches compiled for feeds, with a plan for each set of feed shapes. Sessions and compiled functions both run
these.

`program.plan(*arrays)` returns the plan for the shapes of these arrays. It is compiled, or read from the kernel cache, when
such shapes come first.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..base import interpreter
from ..base.interpreter import lock, module
from ..base.tables import Bounded
from ..base.types import SingletonType, TensorType
from ..ir import Cell, Deferred, Graph, Leaf, Node, Region, View
from ..ir.graph import evaluate
from ..ops.deferred import value_operands
from .passes.specialize import FunctionalGraph, check_numerics, functionalize
from .plan_store import Templates
from .runtime.loader import get_num_threads, planned
from .runtime.plan_memory import changed

if TYPE_CHECKING:
    from .execute.plan import Plan
    from .passes.rewrite import Pass
    from .passes.symbolic_extents import SymbolicProgram


PLANS = 128
"""Shapes of feeds for which a program keeps plans, and as many that have gone longer without a run; see `Bounded`."""


FEW = 1 << 15
"""Elements that a part of a program reads up to which NumPy computes it."""


def _needs_plan(node: Node) -> bool:
    """Whether an operation is not to be evaluated by itself: a loop, a draw, a value from outside."""
    op = node.op
    return (
        isinstance(op.emit, (Region, Deferred))
        or op.draws
        or op.stateful
        or (bool(op.leaf) and op.leaf not in ("constant", "shape"))
    )


def _same_bits(node: Node) -> bool:
    """Whether NumPy and kernels give the same bits: values are moved, compared or counted."""
    return isinstance(node.op.emit, (View, Leaf)) or node.op.stored is True or node.type.dtype.kind in "biu"


def _own(x: np.ndarray) -> bool:
    """Whether an array, which no operand is, has memory of its own: constants can't be written."""
    return x.base is None and x.flags.c_contiguous and x.flags.writeable


around_plans: list[Callable[[Program, dict[Node, TensorType]], AbstractContextManager[None]]] = []
"""Contexts in which plans are made: those of a recording."""


def begin() -> None:
    """Where the kernel cache is empty, have workers start, which compile: they import Numba while a graph is traced."""
    module("staticgrad.compiler.runtime.loader")


class Program:
    """What to compute: `fetches` of `graph`, given values for `feeds` (any nodes); `effects` run without being fetched.

    `run(arrays, store)` takes one array per feed (right dtype, a shape that fits, C-contiguous where `order` is "C") and the
    arrays of the variables by cell; it returns one fresh array per fetch, and writes assigned variables into `store`'s arrays.
    """

    def __init__(
        self, graph: Graph, fetches: Sequence[Node], feeds: Sequence[Node], effects: Sequence[Node] = (),
        draws: int | None = None, numerics: str = "fast", passes: Sequence[Pass] = (), templates: Templates | None = None,
        budget: int | float | None = None, kept: bool = False,
    ):  # fmt: skip
        """templates: of programs that may differ only in extents. budget: of memory, see `memory_budget.py`. kept: plans are
        kept in the kernel cache, see `plan_store.py`."""
        self.budget, self.kept = budget, kept
        self.templates = Templates() if templates is None else templates
        self.strict = check_numerics(numerics) == "strict"
        self.passes = passes
        with interpreter.paused():
            self._hold(functionalize(graph, fetches, feeds, effects, draws, self.strict))

    def _hold(self, prepared: FunctionalGraph, origin: SymbolicProgram | None = None) -> None:
        self.prepared, self.origin = prepared, origin
        self.outcome = ""
        """Of the latest plan, whether it was re-bound; see `pipeline.specialized_plan`."""
        decisive = value_operands(prepared.graph)
        self.decisive = [i for i, feed in enumerate(prepared.feeds) if feed in decisive]
        """The feeds whose values decide what is computed: a plan serves one value of each."""
        self.plans: Bounded[Plan] = Bounded(PLANS)
        self._lock = lock()

    def of(self, prepared: FunctionalGraph, origin: SymbolicProgram | None) -> Program:
        """The program of another functional graph, with the same settings and templates. origin: that graph over symbols."""
        other = copy.copy(self)
        other._hold(prepared, origin)
        return other

    @property
    def order(self) -> Literal["C", "K"]:
        """NumPy's name of the order of memory in which a run takes arrays. "K" is any: strict runs add in the order in which
        elements lie, as eager mode does."""
        return "K" if self.strict else "C"

    def __repr__(self) -> str:
        return f"<Program of {self.prepared.graph!r}, {len(self.plans.everything())} plans>"

    def run(
        self, arrays: Sequence[np.ndarray], store: MutableMapping[Cell, np.ndarray], watched: bool = False
    ) -> list[np.ndarray]:
        """See the class. watched: a NaN is an AnomalyError. Raises ShapeError when extents don't fit, IndexRangeError for a bad
        index, OutOfMemoryError when there is no memory for the results. A plan that never ran for lack of memory is not kept,
        because it holds memory itself."""
        plan = self.plans[tuple([a.shape for a in arrays]) if not self.decisive else self._key(arrays)]
        if plan is None:
            plan = self.plan(*arrays)
        try:
            return plan.run_watched(arrays, store) if watched else plan.run(arrays, store)
        except MemoryError:
            self.forget(plan)
            raise

    def forget(self, plan: Plan) -> None:
        """After a run without memory: don't keep a plan that has never come to its end."""
        if not plan.ran:
            for key, other in self.plans.everything().items():
                if other is plan:
                    self.plans.forget(key)

    def release(self, cell: Cell) -> None:
        """Let go of a variable's array, which is no longer its value."""
        for plan in self.plans.everything().values():
            plan.bound.pop(cell, None)
        changed()

    def plan(self, *arrays: np.ndarray, due: float | None = None) -> Plan:
        """The plan for arrays of these shapes; made when there is none yet. due: it is not ready to run, the caller waits for
        its kernels (`Plan.wait`) at about that time, and workers compile those of several plans meanwhile; see `Job.due`."""
        key = self._key(arrays)
        with self._lock:
            plan = self.plans[key]
            if plan is None:
                ready = self.prepared
                known = {node: TensorType(a.shape, node.type.dtype) for node, a in zip(ready.feeds, arrays, strict=True)}
                known.update((ready.feeds[i], SingletonType(arrays[i].copy())) for i in self.decisive)
                with interpreter.paused(), ExitStack() as stack:
                    for watch in around_plans:
                        stack.enter_context(watch(self, known))
                    plan, self.outcome = self._made(known, due)
                if due is None:
                    plan.wait()
                self.plans[key] = plan
                tell = interpreter.info if due is None else interpreter.debug
                tell("new plan of %d instructions for %s", len(plan.instructions), [a.shape for a in arrays])
            return plan

    def _made(self, known: dict[Node, TensorType], due: float | None) -> tuple[Plan, str]:
        """A new plan, and whether it was re-bound. One that is not may be in the kernel cache."""
        place, count = None, get_num_threads()
        if self.kept and not (self.strict or self.passes or self.budget is not None or self.decisive):
            place = module("staticgrad.compiler.plan_store").entry(self.prepared, known, count, self.templates)
        if place is not None:
            first = not (self.templates.kept or self.templates.vain)
            stored = place.read(lambda templates: self._compiled(known, count, None, templates)[0])
            if stored is not None:
                return stored, "" if first else "plan from the kernel cache"
        try:
            plan, outcome = self._compiled(known, count, due, self.templates)
        finally:
            if place is not None:
                place.enter()
        if place is not None and not outcome:
            place.write(plan)
        return plan, outcome

    def _compiled(self, known: dict[Node, TensorType], count: int, due: float | None, templates: Templates) -> tuple[Plan, str]:
        """The plan for so many threads."""
        pipeline = module("staticgrad.compiler.pipeline")
        when = pipeline.tiers() if due is None else pipeline.tiers(due)
        with planned(count):
            found: tuple[Plan, str] = pipeline.specialized_plan(
                self.prepared, known, templates, self.strict, self.passes, self.origin, when, self.budget, self._part
            )
        return found

    def _part(
        self, graph: Graph, results: Sequence[Node], feeds: Sequence[Node], failing: Sequence[Node]
    ) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
        """What runs a part of the program whose extents are known in the run only: NumPy, where that gives the same bits or has
        few elements to compute, for a plan is made, or bound again, for each number of elements; else a program."""
        numerics = "strict" if self.strict else "fast"
        order = graph.reaching([*results, *failing], stop=set(feeds))
        order = [node for node in order if node not in feeds]
        alone = not (self.strict or self.passes or value_operands(graph) or any(map(_needs_plan, order)))
        most = (math.inf if all(map(_same_bits, order)) else FEW) if alone else -1
        part: Program | None = None

        def run(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
            nonlocal part
            if sum([array.size for array in arrays]) <= most:
                values: dict[Node, Any] = dict(zip(feeds, arrays, strict=True))
                evaluate(order, values)  # inside a host call, which ignores NumPy's warnings
                found = [values[node] for node in results]
                return [x if _own(x) and not any(x is a for a in arrays) else x.copy("C") for x in found]
            if part is None:
                part = Program(graph, results, feeds, failing, numerics=numerics, passes=self.passes, kept=self.kept)
            return part.run(arrays, {})

        return run

    def _key(self, arrays: Sequence[np.ndarray]) -> tuple[Any, ...]:
        """What a plan is for: shapes, and the values that decide."""
        return (*[a.shape for a in arrays], *[arrays[i].tobytes() for i in self.decisive])
