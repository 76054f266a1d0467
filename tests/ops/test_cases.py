"""Every row of the op-case table, in every backend: values, first and second gradients, inference, special values."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.autodiff.reverse import gradients
from staticgrad.base.types import StackType, TensorType, TupleType
from staticgrad.compat.tf1 import slopes
from staticgrad.compiler.passes.specialize import functionalize
from staticgrad.compiler.program import Program
from staticgrad.eager import Tensor
from staticgrad.ir import REGISTRY, Graph, Node
from staticgrad.ir.graph import interpret
from staticgrad.ir.text import verify
from staticgrad.operators import F, Symbol
from tests.helpers import assert_close, directional, placeholders, rng_of
from tests.ops.cases import CASES, EXEMPT, Case, f64

ROWS = [pytest.param(case, sample, id=f"{case.name}-{i}") for case in CASES for i, sample in enumerate(case.samples)]
FIRST = [pytest.param(case, case.samples[0], id=case.name) for case in CASES]
TYPED = [
    pytest.param(case, sample, dtype.name, id=f"{case.name}-{i}-{dtype.name}")
    for case in CASES
    for i, sample in enumerate(case.samples)
    for dtype in case.dtypes
]
SMOOTH = [row for row in ROWS if row.values[0].order and f64 in row.values[0].dtypes]
FLAT = [row for row in ROWS if not row.values[0].order]
BUILT = [row for row in ROWS if not row.values[0].refused and not row.values[0].sized]
REFUSED = [row for row in ROWS if row.values[0].refused]


def draw(case: Case, sample: Any, dtype: Any) -> list[np.ndarray]:
    rng = rng_of(case.name)
    return [arg.draw(rng, dtype) for arg in sample]


def as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def floats(values: Sequence[Any]) -> list[int]:
    return [i for i, v in enumerate(values) if v.dtype.kind == "f"]


# values -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("case", "sample", "dtype"), TYPED)
def test_eager_agrees_with_numpy(case: Case, sample: Any, dtype: str):
    arrays = draw(case, sample, dtype)
    kept = [a.copy() for a in arrays]
    results = as_list(case.fn(*map(Tensor, arrays)))
    with np.errstate(all="ignore"):
        expected = as_list(case.numpy(*arrays))
    for result, value in zip(results, expected, strict=True):
        assert type(result) is sg.Tensor
        assert_close(result.numpy(), np.asarray(value), case.rtol(result.dtype))
    for array, before in zip(arrays, kept, strict=True):
        assert_close(array, before, what="an operand was changed")


# gradients --------------------------------------------------------------------------------------------------


class Derivatives:
    """Values, cotangents of the operands for random cotangents of the results, and cotangents of those."""

    def __init__(self, case: Case, arrays: list[np.ndarray]):
        rng = rng_of(case.name + " cotangents")
        self.inputs = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
        results = as_list(case.fn(*map(Tensor, arrays)))
        self.outputs = floats(results)
        self.seeds = [rng.standard_normal(results[i].shape).astype(results[i].dtype) for i in self.outputs]
        self.along = [rng.standard_normal(arrays[i].shape).astype(arrays[i].dtype) for i in self.inputs]

    def eager(self, case: Case, arrays: list[np.ndarray], order: int) -> list[list[np.ndarray]]:
        leaves = [Tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
        seeds = [Tensor(s, requires_grad=True) for s in self.seeds]
        results = as_list(case.fn(*leaves))
        values = [[r.detach().numpy() for r in results]]
        outputs = [results[i] for i in self.outputs if results[i].requires_grad]
        used = [s for i, s in zip(self.outputs, seeds, strict=True) if results[i].requires_grad]
        inputs = [leaves[i] for i in self.inputs]
        if order >= 1 and outputs:
            first = sg.grad(outputs, inputs, used, create_graph=order >= 2, allow_unused=True)
            values.append([_value(g, x) for g, x in zip(first, inputs, strict=True)])
            if order >= 2:
                tracked = [(g, a) for g, a in zip(first, self.along, strict=True) if g is not None and g.requires_grad]
                second = (
                    sg.grad([g for g, _ in tracked], [*inputs, *seeds], [Tensor(a) for _, a in tracked], allow_unused=True)
                    if tracked
                    else [None] * (len(inputs) + len(seeds))
                )
                values.append([_value(g, x) for g, x in zip(second, [*inputs, *seeds], strict=True)])
        return values

    def symbolic(self, case: Case, arrays: list[np.ndarray], shapes: Any, order: int) -> Built:
        graph = Graph()
        given = [*arrays, *self.seeds, *self.along]
        leaves = placeholders(graph, given, [*shapes, *(a.shape for a in given[len(arrays) :])])
        xs, seeds = leaves[: len(arrays)], leaves[len(arrays) : len(arrays) + len(self.seeds)]
        along = leaves[len(arrays) + len(self.seeds) :]
        results = as_list(case.fn(*xs))
        fetches: list[list[Any]] = [list(results)]
        inputs = [xs[i] for i in self.inputs]
        outputs = [results[i] for i in self.outputs]
        if order >= 1 and outputs:
            first = gradients(outputs, inputs, seeds)
            fetches.append(list(first))
            if order >= 2:
                known = [(g, a) for g, a in zip(first, along, strict=True) if g is not None]
                second = gradients([g for g, _ in known], [*inputs, *seeds], [a for _, a in known]) if known else []
                fetches.append(list(second))
        return Built(graph, leaves, fetches, given)


def _value(gradient: Any, like: Any) -> np.ndarray:
    """No gradient is a gradient of 0."""
    return np.zeros(like.shape, like.dtype) if gradient is None else gradient.detach().numpy()


class Built:
    """A symbolic program: placeholders, what to fetch (None: no gradient), and the arrays to feed."""

    def __init__(self, graph: Graph, leaves: list[Symbol], fetches: list[list[Any]], arrays: list[np.ndarray]):
        self.graph, self.leaves, self.fetches, self.arrays = graph, leaves, fetches, arrays

    def run(self, backend: str) -> list[list[np.ndarray | None]]:
        targets = [s.node for group in self.fetches for s in group if s is not None]
        values = iter(RUN[backend](self.graph, targets, [s.node for s in self.leaves], self.arrays))
        return [[None if s is None else next(values) for s in group] for group in self.fetches]


def check_type(node: Node, kind: TensorType, value: np.ndarray) -> None:
    shape, inferred = value.shape, (None, *kind.item.shape) if isinstance(kind, StackType) else kind.shape
    fits = len(shape) == len(inferred) and all(b in (a, None) for a, b in zip(shape, inferred, strict=True))
    assert fits, f"{node.op.name} was inferred to be {kind}, its value has shape {shape}"
    assert value.dtype == kind.dtype, f"{node.op.name} was inferred to be {kind}, it is {value.dtype}"


def run_interpreter(graph: Graph, targets: list[Node], feeds: list[Node], arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Also checks that each value has the type that was inferred, and that no operand is changed."""
    verify(graph)
    ready = functionalize(graph, targets, feeds)
    verify(ready.graph)
    given = [a.copy() for a in arrays]
    drawn = {node: np.array([1, 0]) for node in ready.graph.nodes if node.op.leaf == "generator"}
    values = interpret(ready.graph, ready.fetches, {**drawn, **dict(zip(ready.feeds, given, strict=True))})
    for node, value in values.items():
        several = isinstance(node.type, TupleType)
        for kind, part in zip(node.type.parts, value, strict=True) if several else [(node.type, value)]:
            check_type(node, kind, part)
    for before, after in zip(arrays, given, strict=True):
        assert_close(after, before, what="a feed was changed")
    return [values[node] for node in ready.fetches]


def run_compiled(graph: Graph, targets: list[Node], feeds: list[Node], arrays: list[np.ndarray]) -> list[np.ndarray]:
    given = [a.copy() for a in arrays]
    results = Program(graph, targets, feeds).run(given, {})
    for before, after in zip(arrays, given, strict=True):
        assert_close(after, before, what="a feed was changed")
    return results


RUN: dict[str, Callable[..., list[np.ndarray]]] = {"interpret": run_interpreter, "compiled": run_compiled}


@pytest.mark.parametrize(("case", "sample"), SMOOTH)
def test_gradients_are_right_to_second_order(case: Case, sample: Any):
    """Along one random direction, by differences in float64."""
    arrays = draw(case, sample, f64)
    rules = Derivatives(case, arrays)
    values = rules.eager(case, arrays, case.order)
    inputs = [arrays[i] for i in rules.inputs]

    def at(moved: Sequence[np.ndarray]) -> list[np.ndarray]:
        full = list(arrays)
        for i, a in zip(rules.inputs, moved, strict=True):
            full[i] = a
        return full

    def weighed(*moved: np.ndarray) -> float:
        results = as_list(case.fn(*map(Tensor, at(moved))))
        return sum(float(np.sum(results[i].numpy() * s)) for i, s in zip(rules.outputs, rules.seeds, strict=True))

    numeric = float(directional(weighed, inputs, rules.along))
    exact = sum(float(np.sum(g * a)) for g, a in zip(values[1], rules.along, strict=True))
    assert exact == pytest.approx(numeric, rel=1e-6, abs=1e-7), "first gradient"
    if case.order == 1:
        return

    def slope(*moved: np.ndarray) -> float:
        """<first gradient, along>, a function of operands and seeds."""
        other = Derivatives(case, arrays)
        other.seeds = list(moved[len(inputs) :])
        first = other.eager(case, at(moved[: len(inputs)]), 1)[1]
        return sum(float(np.sum(g * a)) for g, a in zip(first, rules.along, strict=True))

    rng = rng_of(case.name + " second")
    along = [rng.standard_normal(a.shape) for a in (*inputs, *rules.seeds)]
    numeric = float(directional(slope, [*inputs, *rules.seeds], along))
    exact = sum(float(np.sum(g * a)) for g, a in zip(values[2], along, strict=True))
    assert exact == pytest.approx(numeric, rel=1e-5, abs=1e-6), "second gradient"


@pytest.mark.parametrize(("case", "sample"), FLAT)
def test_gradients_of_what_is_piecewise_constant_are_none_or_zero(case: Case, sample: Any):
    """Eagerly and in a graph; results that are not of floats are not recorded at all."""
    arrays = draw(case, sample, case.dtypes[-1])
    rules = Derivatives(case, arrays)
    leaves = [Tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    recorded = [r for r in as_list(case.fn(*leaves)) if r.requires_grad]
    assert all(r.dtype.kind == "f" for r in recorded)
    inputs = [leaves[i] for i in rules.inputs]
    seeds = [Tensor(np.ones(r.shape, r.dtype)) for r in recorded]
    eager = sg.grad(recorded, inputs, seeds, allow_unused=True) if recorded else [None] * len(inputs)
    assert [g for g in eager if g is not None and g.numpy().any()] == []
    _, *symbolic = rules.symbolic(case, arrays, known_extents(arrays), 1).run("interpret")
    assert [g for found in symbolic for g in found if g is not None and g.any()] == []


def test_a_constant_factor_is_not_differentiated():
    x = sg.tensor([1.0, -2.0, 3.0], requires_grad=True)
    assert_close(sg.grad((F.stop_gradient(x) * x).sum(), [x])[0].numpy(), x.detach().numpy())


@pytest.mark.parametrize(("of", "to"), [("float64", "float32"), ("float32", "float64")])
def test_a_cast_passes_its_cotangent_on_in_the_dtype_of_the_operand(of: str, to: str):
    """Differences can't show it: the cast rounds."""
    x = sg.tensor([1.0, -2.0, 3.0], dtype=of, requires_grad=True)
    seed = sg.tensor([0.5, 0.25, -1.0], dtype=to, requires_grad=True)
    (first,) = sg.grad(F.astype(x, to), [x], seed, create_graph=True)
    assert_close(first.detach().numpy(), np.array([0.5, 0.25, -1.0], of))
    (second,) = sg.grad(first, [seed], sg.tensor([2.0, 3.0, 4.0], dtype=of))
    assert_close(second.numpy(), np.array([2.0, 3.0, 4.0], to))


# symbolic ---------------------------------------------------------------------------------------------------


def known_extents(arrays: list[np.ndarray]) -> list[tuple[int | None, ...]]:
    return [a.shape for a in arrays]


def unknown_extents(arrays: list[np.ndarray]) -> list[tuple[int | None, ...]]:
    return [(None,) * a.ndim for a in arrays]


def check_symbolic(case: Case, sample: Any, dtype: Any, backend: str, shapes: Callable[..., Any], order: int) -> None:
    arrays = draw(case, sample, dtype)
    rules = Derivatives(case, arrays)
    expected = rules.eager(case, arrays, order)
    found = rules.symbolic(case, arrays, shapes(arrays), order).run(backend)
    epsilon = float(np.finfo(dtype).eps)
    for level, (mine, theirs) in enumerate(zip(found, expected, strict=False)):
        rtol = epsilon * (case.compiled if backend == "compiled" else 4) * (1 + 3 * level)
        for position, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            a = np.zeros_like(b) if a is None else a
            assert_close(a, b, rtol, what=f"{('value', 'first gradient', 'second gradient')[level]} {position}")


@pytest.mark.parametrize(("case", "sample"), ROWS)
def test_interpreter_agrees_with_eager(case: Case, sample: Any):
    check_symbolic(case, sample, case.dtypes[-1], "interpret", known_extents, order=2)


@pytest.mark.parametrize(("case", "sample"), BUILT)
def test_unknown_extents(case: Case, sample: Any):
    """What is built where no extent is known agrees as well, to the second gradient."""
    check_symbolic(case, sample, case.dtypes[-1], "interpret", unknown_extents, order=2)


@pytest.mark.parametrize(("case", "sample"), REFUSED)
def test_unknown_extents_that_an_op_needs_are_refused(case: Case, sample: Any):
    arrays = draw(case, sample, case.dtypes[-1])
    xs = placeholders(Graph(), arrays, unknown_extents(arrays))
    with pytest.raises(sg.StaticgradError, match=re.escape(case.refused)):
        case.fn(*xs)


@pytest.mark.parametrize(("case", "sample"), FIRST)
def test_plan_agrees_with_eager(case: Case, sample: Any):
    """In float32, and every sixth row in float64 too (each compiles kernels of its own)."""
    for dtype in case.dtypes if CASES.index(case) % 6 == 0 else case.dtypes[:1]:
        check_symbolic(
            case, sample, dtype, "compiled", known_extents if case.refused or case.sized else unknown_extents, order=1
        )


# coverage ---------------------------------------------------------------------------------------------------


def test_every_op_has_a_row():
    """In a row's own program or in its gradients; or a reason why not."""
    seen: set[str] = set()
    for case in CASES:
        arrays = draw(case, case.samples[0], case.dtypes[-1])
        for shapes in (known_extents,) if case.refused or case.sized else (known_extents, unknown_extents):
            built = Derivatives(case, arrays).symbolic(case, arrays, shapes(arrays), 2)
            seen.update(node.op.name for node in built.graph.nodes)
    dialect = set(re.findall(r'written\(\s*"(\w+)"', inspect.getsource(slopes)))  # tests/ops/tf1_special_points.py has rows
    missing = set(REGISTRY) - seen - set(EXEMPT) - dialect
    assert not missing, f"ops without a row in tests/ops/cases.py: {sorted(missing)}"
    assert set(EXEMPT) <= set(REGISTRY)
    brought = {"placeholder", "generator", "random_stream"}  # by every program, or by one with a branch: not compared there
    assert not (set(EXEMPT) & seen) - brought, "exempt, but covered"


def test_names_are_unique():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("case", "sample"), ROWS)
def test_nothing_runs_on_the_host(interpreted: None, case: Case, sample: Any):
    """Values and gradients of every op of floats are native rows of the plan."""
    if case.host:
        return
    arrays = draw(case, sample, case.dtypes[-1])
    built = Derivatives(case, arrays).symbolic(case, arrays, [a.shape for a in arrays], case.order)
    targets = [s.node for group in built.fetches for s in group if s is not None]
    plan = Program(built.graph, targets, [s.node for s in built.leaves]).plan(*built.arrays)
    assert [row.name for row in plan.instructions if row.kind == "host"] == []
