"""The tiers of a plan: the NumPy interpreter answers until workers have compiled all kernels, then the plan runs natively.

A run is wholly in one tier. The interpreter evaluates the plan's own graph, computes all values first and writes variables at
the end, so it has the effects of a native run; it takes hyperparameters and random numbers from where native code would. When
the last kernel arrives during a run, the interpreter has changed nothing yet: the run ends there and begins anew natively.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Sequence
from functools import cache, partial
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import logs
from ...errors import IndexRangeError, OutOfMemoryError, StaticgradError
from ...ir import Cell, Node
from ...ir.subgraph import Abandoned, watched
from ...signals import module, uninterrupted
from ..backend.compile_pool import pool
from ..backend.machine_code import Code

if TYPE_CHECKING:
    from .plan import Plan

_waiting: weakref.WeakSet[Interpreted] = weakref.WeakSet()
ONE = 2
"""What `getrefcount` says of an array that only a table of values holds."""


class Interpreted:
    """The first tier of a plan, until its codes have arrived."""

    def __init__(self, plan: Plan, codes: Sequence[Code]):
        self.plan = weakref.ref(plan)
        self.codes = list(codes)
        self.left = list(codes)
        self.runs = 0
        self.since = time.monotonic()
        self.steps: list[tuple[Node, tuple[Node, ...]]] | None = None
        """Nodes in order, each with those whose values nothing reads later."""
        self.read: set[Cell] = set()
        """Variables that a run reads. They are written first, because their memory is there already."""
        _waiting.add(self)

    def compiled(self) -> bool:
        """Whether no worker is at the kernels any more."""
        if self.left and self.left[-1].over:
            self.left = [code for code in self.left if not code.over]
        return not self.left

    def wait(self) -> None:
        """Wait for the workers."""
        while not self.compiled():
            pool().wait([code.job for code in self.left if code.job is not None and code.job.pool is pool()])

    def arrive(self) -> None:
        """Load the kernels. Raises CompileError for those that don't compile."""
        for code in self.codes:
            code.arrive()
        logs.info("a plan runs natively: %d kernels arrived after %.2f s", len(self.codes), time.monotonic() - self.since)

    def __str__(self) -> str:
        made = sum(code.over for code in self.codes)
        return f"NumPy, while kernels are compiled: {made} of {len(self.codes)} are"

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        """One run on bound state; None, with nothing changed, when the kernels have arrived meanwhile."""
        plan = self.plan()
        assert plan is not None
        try:
            with watched(self._look), _blas().limit(limits=1):
                values = self._values(plan, arrays)
                assigns = sorted(plan.assigns, key=lambda assign: assign[0] not in self.read)
                after = _apart([(plan.bound[cell], values[node]) for cell, node in assigns])
                results = [_result(node, buffer.dtype, values) for node, buffer in self._fetches(plan)]
                del values
        except Abandoned:
            return None
        except MemoryError as error:
            raise OutOfMemoryError("there is no memory for a run", str(error), "nothing was changed by this run") from None
        if after:
            uninterrupted(partial(_write, after), handlers=False)
        self.runs += 1
        return results

    def _look(self) -> None:
        if self.compiled():
            raise Abandoned

    def _fetches(self, plan: Plan) -> Any:
        return zip(plan.builder.fetched_nodes, plan.fetches, strict=True)

    def _values(self, plan: Plan, arrays: Sequence[np.ndarray]) -> dict[Node, Any]:
        """The values of the results. Raises the errors of the operations, with the user's lines."""
        values: dict[Node, Any] = dict(zip(plan.feeds, arrays, strict=True))
        if self.steps is None:
            self.steps = self._order(plan)
            self.read = {node.attrs["cell"] for node, _ in self.steps if node.op.leaf == "variable"}
        with np.errstate(all="ignore"):
            for node, last in self.steps:
                self._look()
                place = _spare(node, last, values) if isinstance(node.op.eval, np.ufunc) else None
                values[node] = node_value(plan, node, values, place)
                del place
                for other in last:
                    values.pop(other, None)
        return values

    def _order(self, plan: Plan) -> list[tuple[Node, tuple[Node, ...]]]:
        results = {*plan.builder.fetched_nodes, *(node for _, node in plan.assigns)}
        order = [node for node in plan.ir.reaching([*results]) if node.op.leaf != "placeholder"]
        seen = set(results)
        steps = []
        for node in reversed(order):
            last = tuple(i for i in dict.fromkeys(node.inputs) if i not in seen)
            seen.update(last)
            steps.append((node, last))
        return steps[::-1]


def _spare(node: Node, last: Sequence[Node], values: dict[Node, Any]) -> np.ndarray | None:
    """The array of an operand that nothing reads later, for the result of an elementwise operation."""
    for other in last:
        if other.type == node.type and values[other].base is None and getrefcount(values[other]) == ONE:
            place: np.ndarray = values[other]
            return place
    return None


def _result(node: Node, dtype: np.dtype, values: dict[Node, Any]) -> np.ndarray:
    """The array of a result, which nobody else holds: that of the value, or a copy."""
    value = values[node]
    if value.base is not None or getrefcount(value) > ONE + 1 or value.dtype != dtype or not value.flags.c_contiguous:
        return np.array(value, dtype, order="C")
    values[node] = value.view()  # for the same result once more
    return value


def node_value(plan: Plan, node: Node, values: dict[Node, Any], place: np.ndarray | None = None) -> Any:
    """The value of a node of a plan on bound state, given those of its operands. place: the array that gets it, which may be
    that of an operand. Raises the operation's errors, with the user's line."""
    builder, op = plan.builder, node.op
    if op.leaf == "variable":
        return plan.bound[node.attrs["cell"]]
    if op.leaf == "argument":
        return np.asarray(builder.argument_values[builder.argument_index[node]], node.type.dtype)
    if op.leaf == "generator":
        return builder.generator_state.copy()
    try:
        where = {} if place is None else {"out": place}
        value = op.eval(*[values[i] for i in node.inputs], **node.attrs, **where)
    except StaticgradError as error:
        raise type(error)(error.summary, *error.details, "nothing was changed by this run", where=node.where) from None
    except IndexError as error:
        raise IndexRangeError(f"{op.name}: {error}", "nothing was changed by this run", where=node.where) from error
    except ValueError as error:
        raise StaticgradError(f"{op.name}: {error}", "nothing was changed by this run", where=node.where) from error
    return value if isinstance(value, tuple) else np.asarray(value)


@cache
def _blas() -> Any:
    """NumPy's BLAS. Its threads spin while they wait for one another, on the CPUs that the workers compile on."""
    return module("threadpoolctl").ThreadpoolController().select(user_api="blas")


Write = tuple[np.ndarray, np.ndarray]
"""An array and its new value."""


def _apart(after: Sequence[Write]) -> list[Write]:
    """The same, with copies of values that lie in memory which is written."""
    places = [array for array, _ in after]
    return [
        (array, value.copy() if any(np.may_share_memory(value, place) for place in places) else value) for array, value in after
    ]


def _write(after: list[Write]) -> None:
    """Write the values, and let go of each."""
    after.reverse()
    while after:
        array, value = after.pop()
        array[...] = value
        del value


def wait() -> None:
    """Wait until the kernels of plans are compiled, and the plans run natively. Raises CompileError for a kernel that does not
    compile."""
    for interpreted in list(_waiting):
        plan = interpreted.plan()
        if plan is not None:
            plan.wait()
