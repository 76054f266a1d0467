"""Plans at run time: results, errors, host calls, threads, and what they tell about themselves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.autodiff.reverse import gradients
from staticgrad.compiler.backend.kernel_cache import Counters
from staticgrad.compiler.execute import profile as profiling
from staticgrad.compiler.execute.fastcall import Spec, fast_path
from staticgrad.compiler.execute.plan import Plan
from staticgrad.compiler.program import Program
from staticgrad.compiler.runtime import loader
from staticgrad.errors import ArgumentError, IndexRangeError, UninitializedError
from staticgrad.ir import REGISTRY, OpDef
from staticgrad.operators import F, Symbol, append, apply
from staticgrad.ops.leaves import constant_of
from tests.compiler.helpers import Bench, on_host
from tests.helpers import assert_close

# results ----------------------------------------------------------------------------------------------------------


def test_results_are_fresh():
    """Also those that are a feed, a variable, a constant, a view, or fetched twice."""
    b = Bench()
    x, w = b.feed(4, 5), b.variable(4, 5)
    y = F.exp(x)
    fetches = [x, w, y, y, y.T, x[1:], F.add(x, 0.0), F.sum(y)]
    plan = b.check(*fetches)
    first = plan.run(b.arrays, b.store)
    kept = [f.copy() for f in first]
    for one in first:
        one[...] = -1
        assert one.flags.c_contiguous
        assert one.flags.owndata
    for again, before in zip(plan.run(b.arrays, b.store), kept, strict=True):
        np.testing.assert_array_equal(again, before)


def test_a_plan_without_work():
    b = Bench()
    plan = b.check(b.feed(3))
    assert plan.instructions == []
    assert b.plan().run(b.arrays, {}) == []


def test_constants_are_fetched():
    b = Bench()
    x = b.feed(3)
    plan = b.check(F.zeros_like(x), F.broadcast_like(np.float32(2), x), F.index_along(x, 0))
    assert plan.run(b.arrays, {})[2].tolist() == [0, 1, 2]


@pytest.mark.parametrize("turn", [lambda a: a[::2], lambda a: a.T, lambda a: a[:, ::-1], lambda a: a[1:3, 2:5]])
def test_feeds_that_are_views(turn: Callable[[np.ndarray], np.ndarray]):
    a = np.arange(36, dtype=np.float32).reshape(6, 6)
    step = sg.compile(lambda x: sg.exp(x / 36).sum(axis=0) + x[0])
    view = turn(a)
    assert_close(step(view), np.exp(view / 36).sum(axis=0) + view[0], None)
    with sg.Graph().as_default(), sg.Session() as sess:
        x = sg.placeholder(sg.float32, [None, None])
        assert_close(sess.run(x * 2, {x: view}), view * 2)


# shapes -----------------------------------------------------------------------------------------------------------


def training_step(b: Bench, rows: int) -> list[Symbol]:
    """A two-layer network with cross-entropy and momentum, its batch extent unknown."""
    x = b.feed(rows, 6, declared=(None, 6))
    labels = b.feed(value=np.arange(rows) % 4, declared=(None,))
    shapes = {"w1": (6, 8), "b1": (8,), "w2": (8, 4), "b2": (4,)}
    w1, b1, w2, b2 = parameters = [b.variable(*shape, name=name) for name, shape in shapes.items()]
    logits = F.tanh(x @ w1 + b1) @ w2 + b2
    picked = F.take_along_axis(logits, F.expand_dims(labels, 1), 1)
    loss = F.mean(F.logsumexp(logits, 1, keepdims=True) - picked)
    for p, g in zip(parameters, gradients([loss], parameters), strict=True):
        m = b.variable(*p.shape, name="m")
        b.assign(m, new := 0.9 * m + g)
        b.assign(p, p - 0.1 * new)
    return [loss]


def test_a_program_with_unknown_extents_compiles_once():
    b = Bench()
    (loss,) = training_step(b, 32)
    b.check(loss, rtol=1e-4)
    program = b.program(loss)
    program.run(b.arrays, dict(b.store))
    before = Counters.compiled + Counters.from_disk
    for rows in (1, 0, 2, 33, 100):
        b.arrays = [b.sample((rows, 6), np.float32), np.arange(rows) % 4]
        b.check(loss, rtol=1e-4, plan=program.plan(*b.arrays))
    assert Counters.compiled + Counters.from_disk == before
    assert len(program.plans) == 6


def test_plans_are_kept_by_shape():
    b = Bench()
    x = b.feed(4, 5, declared=(None, 5))
    program = b.program(x * 2)
    first = program.plan(np.zeros((4, 5), np.float32))
    assert program.plan(np.ones((4, 5), np.float32)) is first
    assert program.plan(np.zeros((3, 5), np.float32)) is not first


def test_extents_that_do_not_fit_leave_the_program_usable():
    b = Bench()
    x, y = b.feed(4, declared=(None,)), b.feed(4, declared=(None,))
    program = b.program(x + y)
    with pytest.raises(sg.ShapeError, match="don't broadcast"):
        program.run([np.zeros(4, np.float32), np.zeros(3, np.float32)], {})
    assert program.run([np.ones(4, np.float32)] * 2, {})[0].tolist() == [2] * 4


# errors -----------------------------------------------------------------------------------------------------------


def test_an_index_out_of_range_changes_nothing():
    b = Bench()
    w, labels = b.variable(4, 5), b.feed(value=np.array([0, 1, 2, 5]))
    picked = F.take_along_axis(w, F.expand_dims(labels, 1), 1)
    (g,) = gradients([F.sum(picked * picked)], [w])
    b.assign(w, w - g)
    program = b.program(picked)
    before = b.value_of(w).copy()
    with pytest.raises(IndexRangeError, match="index 5 is out of range for axis 1 with extent 5") as caught:
        program.run(b.arrays, b.store)
    assert "nothing was changed by this run" in str(caught.value)
    assert "picked = F.take_along_axis" in str(caught.value)
    np.testing.assert_array_equal(b.value_of(w), before)
    program.run([np.array([0, 1, 2, 4])], b.store)  # the plan is as good as before
    assert (b.value_of(w) != before).any()


@pytest.mark.parametrize(("index", "low"), [([0, -5], -4), ([4], 4), ([0, 1, 10**12], 4)])
def test_indices_are_checked_at_both_ends(index: list[int], low: int):
    b = Bench()
    y = F.take(b.feed(4, 2), b.feed(value=np.array(index)), 0)
    with pytest.raises(IndexRangeError, match=f"index {index[-1]} is out of range for axis 0 with extent 4"):
        b.plan(y).run(b.arrays, {})


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8])
def test_exponents_of_integers_are_checked(dtype: type):
    b = Bench()
    w = b.variable(3, dtype=np.int64)
    b.assign(w, w + 1)
    raised = F.pow(b.feed(3, dtype=dtype), b.feed(value=np.array([1, -2, -1], dtype)))
    plan, before = b.plan(raised), b.value_of(w).copy()
    with pytest.raises(sg.DTypeError, match="integers can't be raised to negative powers, got -2") as caught:
        plan.run(b.arrays, b.store)
    assert "raised = F.pow(" in str(caught.value)
    assert "nothing was changed by this run" in str(caught.value)
    assert_close(b.value_of(w), before)
    assert plan.host_calls == 0


def test_an_error_of_a_host_call_names_the_line():
    def refuse(x: np.ndarray) -> np.ndarray:
        raise sg.ArgumentError("it is not the day for this")

    b = Bench()
    refused = apply(OpDef("refusal", lambda x: x, refuse), b.feed(3))
    with pytest.raises(sg.ArgumentError, match="it is not the day for this") as caught:
        b.plan(refused).run(b.arrays, {})
    assert "refused = apply(" in str(caught.value)


# host calls -------------------------------------------------------------------------------------------------------

MIXED: dict[str, tuple[Callable[[Bench], list[Symbol]], int]] = {
    "between kernels": (lambda b: [F.exp(on_host(F.tanh(b.feed(4, 5)), 0)) + 1], 1),
    "of views": (lambda b: [on_host(b.feed(4, 5).T, 1), on_host(b.feed(4, 5)[::2], 0)], 2),
    "of a variable": (lambda b: [on_host(b.variable(4, 5), 0) * 2], 1),
    "of constants": (lambda b: [on_host(append(b.graph, REGISTRY["constant"], (), constant_of(np.arange(100.0))))], 1),
    "of a product": (lambda b: [on_host(b.feed(4, 5) @ b.feed(5, 4), 0) @ b.feed(4, 2)], 1),
    "one after another": (lambda b: [on_host(on_host(b.feed(4, 5), 0), 1)], 2),
    "whose result is a view's base": (lambda b: [on_host(b.feed(4, 5), 0)[1:].T * 2], 1),
    "of an op without native code": (lambda b: [apply(REGISTRY["linalg_svdvals"], b.feed(4, 5))], 1),
}


@pytest.mark.parametrize("name", MIXED)
def test_host_calls_among_native_rows(name: str):
    write, calls = MIXED[name]
    b = Bench()
    plan = b.check(*write(b))
    assert plan.host_calls == calls
    assert "host calls (no native code for these yet)" in plan.explain()


# threads ----------------------------------------------------------------------------------------------------------

PARALLEL: dict[str, Callable[[Bench], list[Symbol]]] = {
    "elements": lambda b: [F.exp(b.feed(17, 5)) * 2],
    "rows": lambda b: [F.softmax(b.feed(17, 5))],
    "column sums": lambda b: [x := F.exp(b.feed(17, 5)), F.sum(x, 0), F.amax(x, 0)],
    "totals": lambda b: [F.sqrt(F.sum(F.square(x := b.feed(17, 5)))), F.max(F.exp(x))],
    "more threads than rows": lambda b: [F.sum(F.exp(b.feed(1, 5)), 0)],
    "no rows": lambda b: [F.sum(F.exp(b.feed(0, 5)), 0), F.sum(b.feed(0))],
    "product": lambda b: [b.feed(33, 20) @ b.feed(20, 7), b.feed(20, 33).T @ b.feed(7, 20).T],
    "batched product": lambda b: [b.feed(3, 4, 5) @ b.feed(5, 6), b.feed(3, 4, 5) @ b.feed(3, 5, 2)],
    "copies": lambda b: [F.concatenate([b.feed(7, 5), b.feed(4, 5)], 0), F.reshape(b.feed(6, 7).T, (42,)) * 2],
    "gather and scatter": lambda b: [
        y := F.take(x := b.feed(9, 5), b.feed(value=np.array([0, 8, 8, -1, 3])), 0),
        *gradients([F.sum(y * y)], [x]),
    ],
    "with host calls": lambda b: [F.softmax(on_host(b.feed(17, 5), 0)) @ b.feed(5, 3)],
    "a training step": lambda b: training_step(b, 19),
}


def forced(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Every row that can be cut is cut."""
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.PARALLEL_WORK", 0)
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.get_num_threads", lambda: count)


@pytest.mark.parametrize("name", PARALLEL)
@pytest.mark.parametrize("count", [2, 3])
def test_threads_give_the_serial_values(name: str, count: int, monkeypatch: pytest.MonkeyPatch):
    forced(monkeypatch, count)
    b = Bench()
    plan = b.check(*PARALLEL[name](b), rtol=1e-4)
    assert plan.parallel == (name not in ("no rows", "more threads than rows"))


FORK = """
import os
from staticgrad.compiler.lower import instruction_builder as builder
from staticgrad.operators import F
from tests.compiler.helpers import Bench
builder.PARALLEL_WORK, builder.get_num_threads = 0, lambda: 2
b = Bench()
plan = b.plan(F.sum(F.exp(b.feed(17, 5)), 0))
assert plan.parallel
before = plan.run(b.arrays, {})[0]
child = os.fork()
if child == 0:
    other = Bench()
    other.plan(F.sum(F.exp(other.feed(17, 5)), 0)).run(other.arrays, {})  # starts threads of the child's own
    os._exit(0 if (plan.run(b.arrays, {})[0] == before).all() else 1)
assert os.waitpid(child, 0)[1] == 0
assert (plan.run(b.arrays, {})[0] == before).all()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_parent_and_child_go_on_after_a_fork():
    """The parent has started the pool's threads by then, which don't survive in the child."""
    folder = str(Path(__file__).parents[3])
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=60, cwd=folder, env={**os.environ, "PYTHONPATH": folder})


def test_a_call_that_has_to_wait_draws_nothing():
    """The run that is under way goes on with the numbers that it drew."""
    with sg.Graph().as_default(), sg.Session() as sess:
        x = sg.placeholder("float32", (3,))
        y = x * sg.rand(3)
        first = sess.run(y, {x: np.ones(3)})
        plan = sess.plan(y, {x: np.ones(3)})
    call = fast_path(plan, [Spec(np.dtype(np.float32), (3,))])
    before = plan.builder.generator_state.copy()
    assert plan.alone(call, np.ones(3, np.float32)) is None
    assert (plan.builder.generator_state == before).all()
    assert (call(np.ones(3, np.float32))[0] != first).any()


def test_two_threads_run_one_program_at_once():
    b = Bench()
    x, w = b.feed(40, 30), b.feed(30, 30)
    program = b.program(F.softmax(x @ w), on_host(F.sum(x @ w, 0)))
    rng = np.random.default_rng(0)
    inputs = [[rng.standard_normal(a.shape).astype(np.float32) for a in b.arrays] for _ in range(2)]
    expected = [program.run(arrays, {}) for arrays in inputs]
    wrong: list[str] = []

    def work(which: int) -> None:
        for _ in range(100):
            for got, value in zip(program.run(inputs[which], {}), expected[which], strict=True):
                if not np.array_equal(got, value):
                    wrong.append(f"thread {which}")

    workers = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_a_number_of_threads_is_a_positive_integer(count):
    with pytest.raises(ArgumentError, match="the number of threads is an integer >= 1"):
        loader.set_num_threads(count)


# looking ----------------------------------------------------------------------------------------------------------


def example() -> tuple[Bench, Plan]:
    b = Bench()
    w = b.variable(5, 3)
    y = F.softmax(on_host(b.feed(4, 5), 0) @ w)
    b.assign(w, w * 0.5)
    return b, b.check(y)


def test_explain():
    _, plan = example()
    text = str(plan.explain(detail=True))
    assert text.splitlines()[0] == (
        f"{len(plan.instructions)} instructions: {len(plan.instructions) - 1} native (2 generated kernels), 1 on the host; "
        f"{len(plan.explain().buffers)} buffers in an arena of {plan.memory.arena:,d} bytes "
        f"({sum(s.nbytes for s in {s for r in plan.instructions for s, _ in r.buffers} if s.kind == 'arena'):,d} "
        f"without reuse, {plan.memory.bound:,d} live at once)"
    )
    for section in ("instructions", "buffers in the arena", "fusion", "variables", "host calls"):
        assert f"\n{section}" in text
    assert re.search(r"gemm +4x5x3 .* 120 flop", text), "2 m n k"
    assert "w: written in place by the kernel that computes mul" in text
    assert len(re.findall(r"(test_plan|helpers)\.py:", text)) >= len(plan.instructions)


def test_source_shows_each_kernel_once():
    b = Bench()
    x = b.feed(4, 4)
    for _ in range(2):
        x = F.relu(x @ b.feed(4, 4))
    plan = b.check(F.exp(on_host(x, 0)))
    assert plan.kernels == 2
    assert plan.source().count("@kernel") == 2
    assert plan.source(0) + "\n\n" + plan.source(1) == plan.source()


def test_profile_times_every_row_and_changes_nothing():
    b, plan = example()
    plan.run(b.arrays, b.store)
    before = {cell: array.copy() for cell, array in b.store.items()}
    profile = plan.profile(20)
    computing = [row for row in plan.instructions if row in plan.native or row.kind == "host"]
    assert [name for _, name, _ in profile.instructions] == [row.name for row in computing]
    assert profile.total == pytest.approx(sum(us for _, _, us in profile.instructions))
    head = ["kind", "what", "us", "share", "Mflop", "Gflop/s", "MB", "GB/s", "of", "limit"]
    assert str(profile).splitlines()[0].split() == head
    assert sum(profile.least) == pytest.approx(profile.as_dict()["least"])
    assert f"{sum(profile.least):.2f}, {sum(profile.least) / profile.total:.0%} of the total" in str(profile)
    for cell, array in b.store.items():
        np.testing.assert_array_equal(array, before[cell])


def test_profile_stays_in_range():
    """Rows run out of turn, and often: numbers of rows that are changed in place get ever larger, and where the check of them
    does not put its result lies another value of the round before."""
    b = Bench()
    table, i, w = b.feed(50, 64), b.feed(value=np.arange(100) // 3), b.feed(64, 64)
    picked = table[F.cumsum(i // 99, 0) + 1]
    fetch = F.tanh(b.feed(100, 100) @ F.exp(picked @ w * 0.1)) @ w
    plan = b.plan(fetch)
    assert any("written over floor_divide" in note for note in plan.notes)
    [check] = [row for row in plan.instructions if row.check]
    numbers = check.buffers[1][0]
    others = [slot for slot in plan.builder.stream.temporaries if slot.kind == "arena" and slot.dtype == np.float32]
    assert any(slot.offset < numbers.offset + numbers.nbytes <= slot.offset + slot.nbytes for slot in others)
    expected = plan.run(b.arrays, b.store)
    for _ in range(5):
        plan.profile(20)
    np.testing.assert_array_equal(plan.run(b.arrays, b.store), expected)


def test_profile_gives_variables_back_when_it_is_interrupted(monkeypatch: pytest.MonkeyPatch):
    b = Bench()
    w = b.variable(4)
    b.assign(w, w * 2)
    plan = b.plan()
    plan.run([], b.store)
    before = b.value_of(w).copy()

    def interrupted(plan: Plan, *_: object) -> float:
        loader.step(0, 0, 0, plan.call[3], 0, 1, plan.call[6], 0)
        raise KeyboardInterrupt

    monkeypatch.setattr(profiling, "_time_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        plan.profile()
    np.testing.assert_array_equal(b.value_of(w), before)


def test_profile_needs_variables():
    b = Bench()
    plan = b.plan(b.variable(3) * 2)
    with pytest.raises(UninitializedError, match="profile: the plan has no variables before its first run"):
        plan.profile()


def test_profile_outlives_the_feeds_of_the_last_run():
    b = Bench()
    plan = b.plan(F.take(b.feed(4, 2), b.feed(value=np.array([3, 1])), 0))
    plan.run([np.ones((4, 2), np.float32), np.array([3, 1])], {})
    assert len(plan.profile(10).instructions) == 2


def test_a_debugger_sees_the_text_of_a_kernel():
    b = Bench()
    plan = b.plan(F.exp(b.feed(3)) + 1)
    b.arrays[0] = np.zeros(2, np.float32)  # too short: plain Python notices, machine code would read on
    with pytest.raises(IndexError, match="element 2 of a buffer of 2") as caught:
        plan.run_unjitted(b.arrays, {})
    assert any("x0[i]" in str(entry.statement) for entry in caught.traceback)


# extents of 0, small dtypes -----------------------------------------------------------------------------------------


def test_logsumexp_of_nothing():
    b = Bench()
    assert b.check(F.logsumexp(b.feed(3, 0), 1)).run(b.arrays, {})[0].tolist() == [-np.inf] * 3


@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.uint8])
def test_take_along_axis_keeps_the_dtype(dtype):
    b = Bench()
    b.check(F.take_along_axis(b.feed(3, 4, dtype=dtype), b.feed(value=np.array([[0], [3], [1]])), 1))


def test_the_gradient_of_a_product_of_nothing():
    b = Bench()
    x, w = b.feed(2, 3, 0), b.feed(0, 4)
    b.check(*gradients([F.sum(x @ w)], [x, w]))


# printed ------------------------------------------------------------------------------------------------------------


def test_a_plan_prints_as_a_few_lines():
    model = sg.nn.Sequential(*[sg.nn.Linear(4, 4) for _ in range(20)])
    opt = sg.optim.Adam(model.parameters())

    @sg.compile
    def step(x, y):
        loss = ((model(x) - y) ** 2).mean()
        opt.minimize(loss)
        return loss

    step(np.ones((3, 4), np.float32), np.ones((3, 4), np.float32))
    plan = step.plan
    lines = str(plan).splitlines()
    assert [line.split()[0] for line in lines] == ["Plan", "inputs", "results", "memory", "more"]
    assert lines[0].startswith(f"Plan of {len(plan.instructions)} instructions (")
    assert lines[0].endswith(f" kernel): {plan.kernels} generated kernels, 0 host calls")
    assert lines[1] == "  inputs   x f32[3,4], y f32[3,4]"
    assert lines[2].startswith("  results  f32[]; writes ")
    assert ".explain()" in lines[4]
    assert "<td" in plan._repr_html_()
    assert len(str(plan)) < 700
    program = step.latest.program
    for thing in (plan, step, program, program.prepared, plan.instructions[0], plan.fetches[0], plan.profile(1), plan.ir):
        assert len(repr(thing)) < 200
    assert len(str(plan.ir)) < 40_000


def test_a_plan_whose_kernels_are_compiled_later_needs_no_runtime_yet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The runtime is compiled beside them."""
    monkeypatch.setenv("STATICGRAD_TIERS", "1")
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path))
    b = Bench()
    x = b.feed(4, 5)
    out = F.tanh(F.exp(F.tanh(F.sin(F.exp(F.sin(x))))))  # no other test of this process has such a kernel
    plan = Program(b.graph, [out.node], [x.node]).plan(*b.arrays, due=1.0)
    assert plan.waits
    assert "start" not in vars(plan)
    plan.wait()
    (found,) = plan.run(b.arrays, {})
    assert not plan.waits
    assert_close(found, np.tanh(np.exp(np.tanh(np.sin(np.exp(np.sin(b.arrays[0])))))), rtol=1e-5)
