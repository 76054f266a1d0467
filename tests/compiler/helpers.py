"""Small graphs for the compiler's tests: written with symbols, run interpreted, as plain Python and compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
import pytest

from staticgrad.base.types import TensorType
from staticgrad.compiler.backend import kernel_cache
from staticgrad.compiler.execute.explain import instructions_of
from staticgrad.compiler.execute.plan import Plan
from staticgrad.compiler.passes.specialize import functionalize
from staticgrad.compiler.pipeline import compile_plan
from staticgrad.compiler.program import Program
from staticgrad.eager.calls.kernels import OFF
from staticgrad.eager.grad_mode import modes
from staticgrad.ir import REGISTRY, Cell, Graph, Node, OpDef
from staticgrad.ir.graph import interpret
from staticgrad.ir.text import verify
from staticgrad.operators import F, Symbol, append, apply
from staticgrad.ops.rules import axis_of
from tests.helpers import assert_close
from tests.interpreter import RUNTIME


class Bench:
    """A graph with its feeds, variables and assignments, and values for them."""

    def __init__(self, seed: int = 0) -> None:
        self.graph = Graph()
        self.rng = np.random.default_rng(seed)
        self.feeds: list[Symbol] = []
        self.arrays: list[np.ndarray] = []
        self.store: dict[Cell, np.ndarray] = {}
        self.effects: list[Node] = []
        self.targets: list[tuple[Cell, Node]] = []

    # writing ------------------------------------------------------------------------------------------------------

    def sample(self, shape: Sequence[int], dtype: Any) -> np.ndarray:
        kind = np.dtype(dtype)
        if kind.kind == "f":
            return np.asarray(self.rng.standard_normal(shape), kind)
        return self.rng.integers(0, 2 if kind == np.bool_ else 4, shape).astype(kind)

    def feed(self, *shape: int, dtype: Any = np.float32, value: Any = None, declared: Any = None) -> Symbol:
        """A placeholder; `declared` gives it another static shape (with None)."""
        array = self.sample(shape, dtype) if value is None else np.asarray(value)
        kind = TensorType(array.shape if declared is None else declared, array.dtype)
        symbol = append(self.graph, REGISTRY["placeholder"], (), {"type": kind}, name=f"x{len(self.feeds)}")
        self.feeds.append(symbol)
        self.arrays.append(array)
        return symbol

    def variable(self, *shape: int, dtype: Any = np.float32, value: Any = None, name: str = "w") -> Symbol:
        array = self.sample(shape, dtype) if value is None else np.array(value)
        cell = Cell(name, TensorType(array.shape, array.dtype))
        self.store[cell] = array
        return append(self.graph, REGISTRY["variable"], (), {"cell": cell}, name=name)

    def value_of(self, variable: Symbol) -> np.ndarray:
        return self.store[variable.node.attrs["cell"]]

    def assign(self, variable: Symbol, value: Symbol) -> Symbol:
        effect = append(self.graph, REGISTRY["assign"], (variable, value), {})
        self.effects.append(effect.node)
        self.targets.append((variable.node.attrs["cell"], value.node))
        return effect

    # running ------------------------------------------------------------------------------------------------------

    def program(self, *fetches: Symbol) -> Program:
        return Program(self.graph, [f.node for f in fetches], [f.node for f in self.feeds], self.effects)

    def plan(self, *fetches: Symbol) -> Plan:
        """The plan for the values at hand, every stage verified."""
        ready = functionalize(self.graph, [f.node for f in fetches], [f.node for f in self.feeds], self.effects)
        known = {n: TensorType(a.shape, a.dtype) for n, a in zip(ready.feeds, self.arrays, strict=True)}
        plan = compile_plan(ready, known, lambda stage, graph, results: verify(graph, static=True) and None)
        assert plan.memory.ratio <= 1.15, plan.explain()
        check_convexity(plan)
        return plan

    def leaves(self) -> dict[Node, np.ndarray]:
        fed = {f.node: a for f, a in zip(self.feeds, self.arrays, strict=True)}
        cells = {n: self.store[n.attrs["cell"]] for n in self.graph.nodes if n.op.leaf == "variable"}
        drawn = {n: np.array([1, 0]) for n in self.graph.nodes if n.op.leaf == "generator"}
        return {**cells, **drawn, **fed}

    def expected(self, *fetches: Symbol) -> tuple[list[np.ndarray], dict[Cell, np.ndarray]]:
        """What the interpreter gives: the fetches, and the variables after the run."""
        nodes = [f.node for f in fetches]
        values = interpret(self.graph, [*nodes, *(v for _, v in self.targets)], self.leaves())
        after = {cell: array.copy() for cell, array in self.store.items()}
        after.update({cell: values[value] for cell, value in self.targets})
        return [values[n] for n in nodes], after

    def check(self, *fetches: Symbol, rtol: float | None = None, plan: Plan | None = None) -> Plan:
        """Interpreted == plain Python == compiled, twice, with inputs left alone. Returns the plan."""
        plan = self.plan(*fetches) if plan is None else plan
        expected, after = self.expected(*fetches)
        for run in (plan.run_unjitted, plan.run, plan.run):
            arrays = [a.copy() for a in self.arrays]
            store = {cell: array.copy() for cell, array in self.store.items()}
            got = run(arrays, store)
            for i, (value, reference) in enumerate(zip(got, expected, strict=True)):
                assert_close(value, reference, rtol, what=f"{run.__name__}, fetch {i}")
            for cell, reference in after.items():
                assert_close(store[cell], reference, rtol, what=f"{run.__name__}, variable {cell}")
            for array, before in zip(arrays, self.arrays, strict=True):
                assert_close(array, before, what="a feed was changed")
        return plan


def check_convexity(plan: Plan) -> None:
    """No kernel needs a value that is computed elsewhere from one that it alone computes: it could run neither before nor after
    that."""
    computed, dag = instructions_of(plan), plan.ir.dag
    for number, row in enumerate(plan.instructions):
        if row.kind == "kernel":
            members = [node for node in row.nodes if node in dag]
            alone = [node for node in members if computed[node] == [number]]
            below, above = (
                set[Node]().union(*(walk(dag, node) for node in nodes))
                for walk, nodes in ((nx.descendants, alone), (nx.ancestors, members))
            )
            between = [node for node in below & above if node in computed and number not in computed[node]]
            assert not between, f"{row.name} is not convex: {between}"


class _Kernels(dict[str, int]):
    def __missing__(self, name: str) -> int:
        return 0


def without_machine_code(patch: pytest.MonkeyPatch) -> None:
    """Plans are made, but can't run: for what is done before kernels compile."""
    patch.setattr(modes.now, "kernels", OFF)  # eager operations, whose plans do run
    load = kernel_cache.load
    patch.setattr(kernel_cache, "load", lambda body: load(body) if body in RUNTIME else _Kernels())


def reasons(plan: Plan, fused: bool) -> list[str]:
    """The texts of the decisions that went this way."""
    return [str(d) for d in plan.decisions if d.fused is fused]


def ops_of(plan: Plan) -> list[list[str]]:
    """For each kernel row, the ops that it computes."""
    return [[n.op.name for n in row.nodes] for row in plan.instructions if row.kind == "kernel"]


_running = OpDef(
    "running sum on the host",
    lambda x, axis: x,
    lambda x, axis: np.add.accumulate(x, axis=axis, dtype=x.dtype),
    (lambda g, node, out, x: F.flip(on_host(F.flip(g, node.attrs["axis"]), node.attrs["axis"]), node.attrs["axis"]),),
    attrs={"axis": axis_of(0)},
)


def on_host(x: Symbol, axis: int = 0) -> Symbol:
    """Running sums by an op that has no native code."""
    return apply(_running, x, axis=axis)
