"""Random programs mean the same in every mode: eager, interpreted, as plain Python, compiled, and cut over threads.

Few by default, since each new kernel takes some 50 ms to compile. `RANDOM_PROGRAMS=1000 pytest
tests/test_random_programs.py` draws others, more of them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import staticgrad as sg
from staticgrad.compiler.passes.specialize import functionalize
from staticgrad.compiler.pipeline import compile_plan
from staticgrad.ir.graph import interpret
from staticgrad.ir.text import verify
from tests.compiler.programs import SEED, Built, Program, build, random_program, run_eagerly

EXAMPLES = int(os.environ.get("RANDOM_PROGRAMS", "25"))
EPS = {np.dtype(np.float32): 2.0**-23, np.dtype(np.float64): 2.0**-52}

several = settings(
    max_examples=EXAMPLES,
    derandomize="RANDOM_PROGRAMS" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def draw_program(data: st.DataObject) -> Program:
    program = random_program(lambda options: data.draw(st.sampled_from(options)))
    note(repr(program))
    return program


@pytest.mark.parametrize("threads", [1, 2])
@several
@given(data=st.data())
def test_every_mode_agrees(threads: int, data: st.DataObject):
    with pytest.MonkeyPatch.context() as patch:
        if threads > 1:
            patch.setattr("staticgrad.compiler.lower.instruction_builder.PARALLEL_WORK", 0)
            patch.setattr("staticgrad.compiler.lower.instruction_builder.get_num_threads", lambda: threads)
        check(draw_program(data))


def check(program: Program) -> None:
    built, exists = build(program)
    judge = Judge(built)
    values, assigned = run_eagerly(program)
    outputs, found = values[: len(program.outputs)], values[len(program.outputs) :]
    assert [g is not None for g in found] == exists
    judge.agree("eager", [*outputs, *(g for g in found if g is not None), *assigned])
    ready = functionalize(built.graph, built.fetches, built.feeds, built.effects)
    plan = compile_plan(
        ready, {n: n.type for n in ready.feeds}, lambda stage, graph, results: verify(graph, static=True) and None
    )
    assert plan.memory.ratio <= 1.15, plan.explain()
    plan.builder.arena[:] = 0xFF  # NaN: nothing may be read that was not written
    for run in (plan.run_unjitted, plan.run, plan.run):
        arrays = [a.copy() for a in built.arrays]
        store = {cell: a.copy() for cell, a in built.store.items()}
        sg.manual_seed(SEED)
        results = run(arrays, store)
        judge.agree(run.__name__, [*results, *(store[cell] for cell, _ in built.targets)])
        changed = {cell for cell, _ in built.targets}
        assert all(a.tobytes() == b.tobytes() for a, b in zip(arrays, built.arrays, strict=True)), "a feed was changed"
        assert all(store[c].tobytes() == a.tobytes() for c, a in built.store.items() if c not in changed)


# tolerance --------------------------------------------------------------------------------------------------------


class Judge:
    """Compares with the interpreter. Where values differ by more than rounding, the program may be ill-conditioned: the
    interpreter runs again on values disturbed by a few units in the last place, and the result has to lie in what
    that gives."""

    def __init__(self, built: Built):
        self.built = built
        self.targets = [*built.fetches, *(value for _, value in built.targets)]
        values = interpret(built.graph, self.targets, built.leaves)
        self.expected = [values[t] for t in self.targets]
        for node, value in zip(self.targets, self.expected, strict=True):
            assert value.dtype == node.type.dtype
            assert value.shape == node.type.shape
        floats = {n.type.dtype for n in built.graph.nodes} & set(EPS)
        self.eps = max((EPS[dtype] for dtype in floats), default=0.0)
        self.spread: list[np.ndarray] | None = None

    def agree(self, mode: str, results: Sequence[np.ndarray]) -> None:
        for i, (got, expected) in enumerate(zip(results, self.expected, strict=True)):
            assert got.shape == expected.shape, f"{mode}, result {i}"
            assert got.dtype == expected.dtype, f"{mode}, result {i}"
            if not self._close(got, expected) and not self._excused(i, got, expected):
                pytest.fail(f"{mode}, result {i}:\n{got!r}\nexpected:\n{expected!r}")

    def _close(self, got: np.ndarray, expected: np.ndarray) -> bool:
        if expected.dtype.kind != "f":
            return np.array_equal(got, expected)
        bound = 100 * self.eps * (np.abs(expected) + largest(expected))
        return bool(np.all(near(got, expected, bound)))

    def _excused(self, i: int, got: np.ndarray, expected: np.ndarray) -> bool:
        if self.spread is None:
            runs = [disturbed(self.built, self.targets, seed) for seed in range(6)]
            self.spread = [np.stack(values).astype(np.float64) for values in zip(self.expected, *runs, strict=True)]
        values = self.spread[i]
        finite = np.isfinite(values).all(0)
        with np.errstate(all="ignore"):
            width = np.where(finite, values.max(0) - values.min(0), 0.0)
            steady = ((values == values[0]) | (np.isnan(values) & np.isnan(values[0]))).all(0)
        scale = np.abs(values[0]) + largest(values[0])
        wild = (width > 0.5 * scale) & (width > 1e-30)  # nothing is known about such a value
        close = near(got.astype(np.float64), values[0], 10 * width + 100 * self.eps * scale)
        return bool(np.all(np.where(finite, close | wild, close | ~steady)))


def largest(values: np.ndarray) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def near(got: np.ndarray, expected: np.ndarray, bound: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        equal = (got == expected) | (np.isnan(got) & np.isnan(expected))
        return np.where(np.isfinite(expected), equal | (np.abs(got - expected) <= bound), equal)


def disturbed(built: Built, targets: Sequence, seed: int) -> list[np.ndarray]:
    """`interpret` with every floating value off by up to eight units in the last place; sums, of their operands."""
    rng = np.random.default_rng(seed)

    def shake(value: np.ndarray, scale: np.ndarray | float = 0.0) -> np.ndarray:
        if value.dtype.kind != "f":
            return value
        units = rng.uniform(-8, 8, value.shape) * EPS[value.dtype]
        return np.asarray(value + (np.abs(value) + scale) * units, value.dtype)

    with np.errstate(all="ignore"):
        values = {node: shake(array) for node, array in built.leaves.items()}
        for node in built.graph.reaching(targets, stop=set(values)):
            if node not in values:
                operands = [values[i] for i in node.inputs]
                value = np.asarray(node.op.eval(*operands, **node.attrs))
                sums = node.op.name in ("add", "sub") and value.dtype.kind == "f"
                values[node] = shake(value, np.maximum(*map(np.abs, operands)) if sums else 0.0)
    return [values[t] for t in targets]
