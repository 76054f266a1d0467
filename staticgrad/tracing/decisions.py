"""Decisions: an `if` or a `while` of Python on a value of the step.

The trace goes on with the outcome that this call has: the NumPy interpreter computes the value from the call's arguments. The
plan checks the outcome in each run before it changes anything. Where it is another one, nothing has happened, and the call
takes the plan of the other road, traced when it is first needed. So a step that decides is one plan per road through its code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.types import int64
from ..eager.grad_mode import set_grad_enabled
from ..errors import StaticgradError, TraceError
from ..ir import Node, Region
from ..ir.graph import interpret
from ..ops.custom_gradient import DecisionMissed, decision_op
from ..ops.operators import F, state
from ..ops.random import generator
from .traced import Traced

if TYPE_CHECKING:
    from ..compiler.passes.specialize import FunctionalGraph
    from .tracer import Tracer

MOST = 32
"""Decisions of one trace."""


class RoadRaises(StaticgradError):
    """The code raises an error on the road that a call takes. The call runs operation by operation, so what comes before the
    error has its effects. traced: whether a trace of this call found that, or earlier ones did."""

    traced = True


def outcomes_of(road: tuple[bool, ...], prepared: FunctionalGraph, arrays: Sequence[np.ndarray]) -> tuple[bool, ...] | None:
    """The first outcomes of a call for which the plan of a road raised an error, perhaps in code that the call does not run.
    None where that code is run, so the error is its own."""
    graph = prepared.graph
    values: dict[Node, Any] = dict(zip(prepared.feeds, arrays, strict=True))
    checks = [node for node in graph.nodes if node.op.name == decision_op.name]
    try:
        for check in sorted(checks, key=lambda node: node.attrs["number"]):
            values = interpret(graph, [check], values, _present)
    except DecisionMissed as missed:
        number, outcome = missed.decision
        return (*road[:number], outcome)
    except StaticgradError:
        return None
    return None


def _present(leaf: Node) -> Any:
    """The value of a leaf that is no argument of the function."""
    kind = leaf.op.leaf
    if kind == "variable":
        return leaf.attrs["cell"].tensor._data.copy()
    if kind == "argument":
        return np.asarray(leaf.attrs["source"].get(), np.float64)
    if kind == "generator":
        with generator.lock:
            return np.array([generator.seed_value, generator.draws], np.int64)
    if kind == "shape":
        return leaf.op.eval(**leaf.attrs)
    raise TraceError(f"a decision reads {leaf.name or kind}, whose value is not known while tracing")


class Decisions:
    """Those of one trace. road: outcomes that are known from a run; arrays: of the call's arguments."""

    def __init__(self, tracer: Tracer, arrays: list[np.ndarray], road: tuple[bool, ...] = ()):
        self.tracer, self.arrays, self.road = tracer, arrays, road
        self.outcomes: list[bool] = []
        self.last: Any = None
        """The number of true ones so far, as a tensor of the trace."""
        self.values: dict[Node, Any] = {}
        """Values of the call, by node."""
        self.made = 0
        """How many nodes the graph had at the first decision."""

    def take(self, x: Traced) -> bool:
        """The outcome of a value of one element that Python takes for true or false. Raises TraceError where that is left to
        segments."""
        tracer = self.tracer
        if state.inside or state.levels or tracer.places or len(self.outcomes) >= MOST:
            raise TraceError(f"{x.describe()} is traced: Python can't have its truth value here")
        if tracer.graph.last_exchange is not None:  # a plan of another road would exchange once more
            raise TraceError(
                f"{x.describe()} is traced, after an exchange with other processes: Python can't have its truth value"
            )
        with set_grad_enabled(False):
            true = F.not_equal(F.reshape(F.stop_gradient(x), ()), 0)
            taken = F.astype(true, int64)
            number = len(self.outcomes)
            outcome = self.road[number] if number < len(self.road) else bool(self._value(true.node))
            self.made = self.made if self.outcomes else len(tracer.graph.nodes)
            self.outcomes.append(outcome)
            total = taken if self.last is None else F.add(taken, self.last)
            checked = {"number": number, "total": sum(self.outcomes)}
            self.last = tracer.apply_plainly(decision_op, [total], checked)  # an error that the code around it does not see
        return outcome

    def _value(self, node: Node) -> Any:
        """The value of a node in the call that is traced."""
        values, given = self.values, self._given()
        try:
            values.update(
                interpret(self.tracer.graph, [node], values, lambda leaf: given[leaf] if leaf in given else _present(leaf))
            )
        except TraceError:  # a leaf without a value
            raise
        except StaticgradError as error:
            raise RoadRaises(error.summary) from error
        return values[node]

    def _given(self) -> dict[Node, Any]:
        """The arrays of placeholders."""
        tracer = self.tracer
        given: dict[Node, Any] = {}
        for (_, leaf), array in zip(tracer.arguments, self.arrays, strict=True):
            given.setdefault(leaf.origin, array)
        for key, gradient in tracer.initial_grads.values():
            if gradient is not None:
                owner = next((x for x, argument in tracer.arguments if argument is key), None)
                if owner is not None:
                    given[gradient.origin] = owner._gradient._data
        numbers = tracer.given_numbers
        if numbers is not None and numbers.nodes:
            arrays = numbers.finish().arrays(numbers.values)
            given.update(zip(numbers.nodes.values(), arrays, strict=True))
        return given

    def close(self) -> None:
        """Raises TraceError for a loop or branch that might not end on another road."""
        self.values.clear()
        if self.outcomes and any(isinstance(node.op.emit, Region) for node in self.tracer.graph.nodes[self.made :]):
            raise TraceError("a loop or branch of the graph follows a decision of Python")
