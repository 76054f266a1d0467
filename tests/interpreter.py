"""Plans that NumPy runs: for tests of what graphs are made of, which save the compilation of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from staticgrad.compiler.backend import kernel_cache
from staticgrad.compiler.backend.compile_pool import Job
from staticgrad.compiler.execute.fastcall import Steps
from staticgrad.compiler.execute.plan import Plan
from staticgrad.compiler.execute.unjitted import UNCHANGED, _leaf_value
from staticgrad.compiler.runtime.loader import MODULES, source
from staticgrad.eager.calls.kernels import OFF
from staticgrad.eager.grad_mode import modes
from staticgrad.ir import REGISTRY, Native, Node
from staticgrad.ir.graph import interpret

RUNTIME = frozenset(map(source, MODULES))
"""The sources of the runtime."""


def interpret_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """For one test: no kernel but the runtime is compiled, native calls decline, and NumPy evaluates the graphs of plans."""
    monkeypatch.setenv(kernel_cache.TIERS, "1")
    monkeypatch.setattr(modes.now, "kernels", OFF)  # eager operations would wait for theirs
    monkeypatch.setattr(kernel_cache, "at_hand", RUNTIME.__contains__)
    for table in ("_codes", "_jobs"):
        monkeypatch.setattr(kernel_cache, table, {})
    monkeypatch.setattr(kernel_cache, "_submitted", lambda wanted, anew=False: Job(wanted.text))
    monkeypatch.setattr(Plan, "wait", _declining)
    monkeypatch.setattr(Plan, "alone", _alone)
    monkeypatch.setattr(Plan, "execute", _execute)
    monkeypatch.setattr(Steps, "suit", lambda plan: False)


DECLINES = 1 << 32
"""A count of runs under way, for which native calls decline."""


def _declining(plan: Plan) -> None:
    plan.busy[0] = DECLINES


def _alone(plan: Plan, work: Any, *args: Any) -> Any:
    with plan.lock:
        return work(*args)


def _values(plan: Plan, arrays: Sequence[np.ndarray]) -> dict[Node, Any]:
    """What a run computes: results, new values of the state, and what it checks, such as the decisions that it was made for."""
    ends = [*plan.builder.fetched_nodes, *(value for _, value in plan.assigns), *filter(_checks, plan.ir.nodes)]
    fed = dict(zip(plan.feeds, arrays, strict=True))
    return interpret(plan.ir, ends, fed, lambda leaf: _leaf_value(plan, leaf), [UNCHANGED])


def _checks(node: Node) -> bool:
    """Whether it may raise. Operations of strict plans are those of NumPy, without what the op says of native code."""
    emit = REGISTRY.get(node.op.name, node.op).emit
    return isinstance(emit, Native) and emit.check is not None


def _execute(plan: Plan, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    if plan.reads_numbers:
        plan.read_numbers()
    wanted = plan.builder.fetched_nodes
    try:
        values = _values(plan, arrays)
    except BaseException:
        plan.give_back()
        raise
    results = [np.array(values[n], buffer.dtype, order="C") for n, buffer in zip(wanted, plan.fetches, strict=True)]
    after = [(plan.bound[cell], np.array(values[value])) for cell, value in plan.assigns]
    for array, value in after:
        array[...] = value
    plan.ran = True
    return results
