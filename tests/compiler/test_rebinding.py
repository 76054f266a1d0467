"""A plan that takes its decisions from another shape's is the plan that is made from nothing."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.base.types import TensorType
from staticgrad.compiler.execute.plan import Plan
from staticgrad.compiler.passes.specialize import FunctionalGraph, functionalize
from staticgrad.compiler.pipeline import compile_plan, specialized_plan
from staticgrad.compiler.plan_store import Templates
from staticgrad.tracing.specialization import Specialization
from tests.compiler.helpers import without_machine_code
from tests.helpers import sweep

BATCHES = (5, 6, 0, 1, 2, 3, 4, 8, 16, 31, 32, 33, 64, 100, 1000, 1024, 4096, 5000, 7)
REBOUND = "new shape, plan re-bound"


def listing(plan: Plan) -> list[Any]:
    """All that a run of the plan depends on."""
    buffers: dict[int, int] = {}

    def buffer(slot: Any) -> tuple[Any, ...]:
        number = buffers.setdefault(id(slot), len(buffers))
        fixed = slot.memory.tolist() if slot.kind == "fixed" and slot.memory is not None and slot.dtype.kind == "f" else None
        return number, slot.kind, tuple(slot.shape), slot.dtype, slot.first, slot.last, slot.offset, slot.index, fixed

    rows = [
        (
            row.kind, row.name, row.sizes, row.start, row.stop, row.chunks, row.check, row.source, row.work, row.large_gemm,
            row.address, [(buffer(slot), add) for slot, add in row.buffers], [str(node) for node in row.nodes],
        )
        for row in plan.instructions
    ]  # fmt: skip
    fetches = [(buffer(slot.root), slot.shape, slot.layout) for slot in plan.fetches]
    return [*rows, fetches, plan.builder.memory, [str(d) for d in plan.decisions], plan.rewrites, plan.notes, str(plan.ir)]


class Watched:
    """Plans of a program for one batch size after another."""

    def __init__(self) -> None:
        self.templates = Templates()
        self.outcomes: dict[int, str] = {}

    def compare(self, prepared: FunctionalGraph, batch: int, rows: int = 0) -> None:
        """rows: what extents that placeholders leave open are."""
        shapes = [tuple(rows if d is None else d for d in feed.type.shape) for feed in prepared.feeds]
        known = {feed: TensorType(shape, feed.type.dtype) for feed, shape in zip(prepared.feeds, shapes, strict=True)}
        plan, self.outcomes[batch] = specialized_plan(prepared, known, self.templates)
        scratch = compile_plan(prepared, known)
        for mine, expected in zip(listing(plan), listing(scratch), strict=True):
            assert mine == expected, f"batch {batch}, {self.outcomes[batch]}"


# random programs ----------------------------------------------------------------------------------------------------


def program(seed: int, batch: int) -> FunctionalGraph:
    """Operations on a batch of rows, the same for each batch size, and their gradients."""
    choose = random.Random(seed)
    graph = sg.Graph()
    with graph.as_default():
        width = choose.choice([1, 3, 8, 33])
        x = sg.placeholder("float32", (batch, width))
        index = sg.placeholder("int64", (batch,))
        values: list[Any] = [x, sg.tanh(x)]
        for _ in range(choose.randint(2, 8)):
            values.append(step(choose, values, index, batch))
        loss = sum((sg.sum(sg.tanh(v)) for v in values[-3:]), sg.sum(values[-1]))
        fetches = [loss, *sg.gradients(loss, [x]), values[-1]]
    return functionalize(graph, [f.node for f in fetches], [x.node, index.node], [])


def step(choose: random.Random, values: Sequence[Any], index: Any, batch: int, kinds: int = 12) -> Any:
    a = choose.choice(values)
    n = a.shape[1]
    kind = choose.randrange(kinds)
    if kind == 0:
        same = [v for v in values if v.shape == a.shape]
        return a * choose.choice(same) + 0.5
    if kind == 1:
        return a @ np.full((n, choose.choice([1, 4, 16])), 0.1, np.float32)
    if kind == 2:
        return a - sg.mean(a, 1, keepdims=True)
    if kind == 3:
        return a / (1.0 + sg.sum(sg.square(a), 0))
    if kind == 4:
        return sg.concatenate([a, sg.exp(a)], 1)
    if kind == 5:
        return sg.reshape(sg.tanh(sg.reshape(a, (-1,))), (batch, n))
    if kind == 6:
        return sg.softmax(a, 1)
    if kind == 7:
        return sg.take(np.ones((7, 5), np.float32), index, 0) * sg.mean(a)
    if kind == 8:
        return sg.transpose(sg.transpose(a) * 2.0)
    if kind == 9:
        return a[:, : max(n // 2, 1)] * 3.0
    if kind == 10:
        return sg.mean(a, 0, keepdims=True) + a
    if kind == 12:
        return sg.transpose(sg.scan(lambda c, row: (c + row, sg.tanh(c)), sg.sum(a, 1), sg.transpose(a))[1])
    if kind == 13:
        return sg.cond(sg.sum(a) > 0.0, lambda: a * 2.0, lambda: sg.tanh(a))
    return sg.cumsum(a, 0) if n < 10 else sg.maximum(a, 0.0)


@pytest.mark.parametrize("start", sweep(range(0, 40, 10), lambda i, _: i == 0))
def test_random_programs(monkeypatch: pytest.MonkeyPatch, start: int):
    without_machine_code(monkeypatch)
    rebound = 0
    for seed in range(start, start + 10):
        watched = Watched()
        for batch in BATCHES:
            watched.compare(program(seed, batch), batch)
        assert watched.templates.error in ("", "no extent of the arguments may change")
        rebound += list(watched.outcomes.values()).count(REBOUND)
    assert rebound > 3 * len(BATCHES)  # of ten times as many plans, for small batches and thresholds of all kinds


class Drawn:
    """Choices that were drawn before, as a `random.Random` makes them: a trace may not draw."""

    def __init__(self, numbers: Sequence[float]):
        self.numbers, self.taken = numbers, 0

    def randrange(self, n: int) -> int:
        self.taken += 1
        return int(self.numbers[self.taken - 1] * n)

    def choice(self, values: Sequence[Any]) -> Any:
        return values[self.randrange(len(values))]


def traced_step(seed: int) -> Callable[..., Any]:
    """Such operations, loops and branches included, as a function whose batch size is that of its arguments."""
    source = random.Random(seed)
    numbers, count = [source.random() for _ in range(60)], source.randint(2, 8)

    def run(x: Any, index: Any) -> Any:
        choose: Any = Drawn(numbers)
        x, index = sg.as_tensor(x).requires_grad_(), sg.as_tensor(index)
        values: list[Any] = [x, sg.tanh(x)]
        for _ in range(count):
            values.append(step(choose, values, index, x.shape[0], kinds=14))
        loss = sum((sg.sum(sg.tanh(v)) for v in values[-3:]), sg.sum(values[-1]))
        return loss, *sg.grad(loss, [x]), values[-1]

    return run


def planned(step: Any, batch: int, width: int) -> Plan:
    """The plan for a batch, which does not run."""
    arrays = np.zeros((batch, width), np.float32), np.zeros(batch, np.int64)
    with pytest.raises(NotRun):
        step(*arrays)
    found: Plan = step.latest.plan
    return found


class NotRun(Exception):
    pass


@pytest.mark.parametrize("start", sweep(range(0, 15, 5), lambda i, _: i == 0))
def test_random_programs_that_are_not_traced_again(monkeypatch: pytest.MonkeyPatch, start: int):
    """Each plan is that of another function of the same code, which is traced with numbers."""

    def not_run(*args: Any) -> Any:
        raise NotRun

    without_machine_code(monkeypatch)
    monkeypatch.setattr(Specialization, "execute", not_run)
    again = 0
    for seed in range(start, start + 5):
        width, run = random.Random(seed).choice([1, 3, 8, 33]), traced_step(seed)
        mine = sg.compile(run)
        for batch in BATCHES:
            plan, fresh = planned(mine, batch, width), planned(sg.compile(run), batch, width)
            for found, expected in zip(listing(plan), listing(fresh), strict=True):
                assert found == expected, f"seed {seed}, batch {batch}, {mine.recompiles[-1]}"
        again += sum("not traced again" in why for why in mine.recompiles)
    assert again > 2 * len(BATCHES), again  # of five times as many


# compiled functions -------------------------------------------------------------------------------------------------


def classifier() -> tuple[Callable[..., Any], Callable[[int], tuple[np.ndarray, ...]]]:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 3))
    rng = np.random.default_rng(0)
    for p in model.parameters():
        p.data = sg.tensor(rng.normal(0, 0.3, p.shape).astype(np.float32))
    optimizer = optim.Adam(model.parameters(), lr=1e-2)

    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, [p.grad for p in model.parameters()], list(model.parameters())

    return step, lambda batch: (rng.standard_normal((batch, 8), np.float32), rng.integers(0, 3, batch))


def test_a_rebound_training_step_has_the_bits_of_one_compiled_from_nothing():
    (mine, data), (other, _) = classifier(), classifier()
    rebound = sg.compile(mine)
    for batch in (5, 9, 64, 700, 5, 33):
        arguments = data(batch)
        found, expected = rebound(*arguments), sg.compile(other)(*arguments)
        for a, b in zip(flat(found), flat(expected), strict=True):
            np.testing.assert_array_equal(a, b)
    assert [why.rpartition("; ")[2] for why in rebound.recompiles] == ["first call", *[REBOUND] * 4]


def flat(results: Any) -> list[np.ndarray]:
    loss, *lists = results
    return [x.detach().numpy() for x in (loss, *[x for found in lists for x in found])]


def test_another_decision_is_told_with_the_condition_that_did_not_hold():
    step = sg.compile(lambda x: sg.sum(x * np.arange(4.0, dtype=np.float32)[:, None], 0))
    for n in (4, 1):
        x = np.ones((n, 3), np.float32)
        np.testing.assert_array_equal(step(x).numpy(), [6.0] * 3)
    assert step.recompiles[1] == "x: shape (1, 3) instead of (4, 3); decisions made anew, because x.shape[0] == 4 is false now"


def test_the_axis_that_changed_is_a_symbol_from_then_on():
    step = sg.compile(lambda x: sg.tanh(x).sum())
    outcomes = []
    for n in (3, 4, 5):
        assert step(np.ones((2, n), np.float32)).item() == pytest.approx(2 * n * np.tanh(1.0), rel=1e-6)
        outcomes.append(step.recompiles[-1].rpartition("; ")[2])
    assert outcomes[2] == REBOUND
    assert outcomes[1].startswith("decisions made anew, because an argument is f32[2,4] instead of f32[2,3]")


OPEN: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: sg.softmax(x, 1) @ np.ones((6, 2), np.float32),
    "a loop over columns": lambda x: sg.scan(lambda c, r: (c + r, sg.tanh(c)), sg.sum(x, 1), sg.transpose(x))[1],
    "a loop over rows": lambda x: sg.scan(lambda c, r: (c + r, sg.tanh(c)), sg.sum(x, 0), x)[1],
    "a loop of Python": lambda x: sg.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.0), (sg.tensor(0), x))[1],
    "a branch": lambda x: sg.cond(sg.sum(x) > 0.0, lambda: x * 2.0, lambda: sg.tanh(x)),
    "a host call": lambda x: sg.sort(x, 0)[0],
    "an LSTM": lambda x: nn.LSTM(6, 4)(x[None])[0],
}


@pytest.mark.parametrize("make", OPEN.values(), ids=OPEN)
def test_open_extents_are_followed_everywhere(monkeypatch: pytest.MonkeyPatch, make: Callable[[Any], Any]):
    without_machine_code(monkeypatch)
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder("float32", (None, 6))
        y = make(x)
        loss = sg.sum(sg.square(y))
        fetches = [loss, *sg.gradients(loss, [x]), y]
    prepared = functionalize(graph, [f.node for f in fetches], [x.node], [])
    watched = Watched()
    for batch in (5, 7, 12, 9, 1, 0, 30, 64, 8):
        watched.compare(prepared, batch, rows=batch)
    assert list(watched.outcomes.values()).count(REBOUND) >= 4, watched.outcomes


def test_sessions_rebind_what_placeholders_leave_open():
    with sg.Graph().as_default() as graph:
        x = sg.placeholder("float32", (None, 3))
        y = sg.softmax(x, 1)
        session = sg.Session(graph)
        for n in (2, 5, 1, 40):
            value = np.random.default_rng(n).standard_normal((n, 3), np.float32)
            np.testing.assert_allclose(session.run(y, {x: value}).sum(1), np.ones(n), rtol=1e-6)


def test_explain_of_a_rebound_plan_names_its_own_numbers():
    step = sg.compile(lambda x: sg.tanh(x) * 2.0)
    for n in (3, 17):
        step(np.ones((n, 5), np.float32))
    assert step.recompiles[-1].endswith(REBOUND)
    assert "f32[17,5]" in step.source()
    assert "extent" not in str(step.explain(detail=True)) + step.source() + str(step.graph())


def test_random_numbers_beside_an_operand_as_long_as_the_state_of_the_generator():
    w = sg.ones(2, requires_grad=True)

    @sg.compile(on_break="split")
    def step(x):
        y = (w * x).sum() + sg.rand(())
        return y * 2 if y > 0 else y

    for _ in range(2):
        assert 4 <= float(step(sg.ones(2))) <= 6
    assert all(segment.program.plans for segment in step.segmented.roads.segments)
