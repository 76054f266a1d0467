"""What plans make of loops: rows, what moves out of the body, memory, listings."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.autodiff.reverse import gradients
from staticgrad.compiler.backend.kernel_cache import Counters
from staticgrad.compiler.execute.plan import Plan
from staticgrad.compiler.runtime import loader
from staticgrad.interchange.graph_json import from_json, to_json
from staticgrad.ir.text import to_text, verify
from tests.compiler.helpers import Bench


def kinds(plan: Plan) -> list[str]:
    return [row.kind for row in plan.instructions]


def inside(plan: Plan) -> list[list[str]]:
    """For each loop, the names of its rows."""
    found: list[list[str]] = []
    for row in plan.instructions:
        if row.kind == "loop":
            found.append([])
        elif row.kind == "repeat":
            continue
        elif found and plan.instructions.index(row) < int(last_loop(plan, row).size_array[4]):
            found[-1].append(row.name if row.kind == "gemm" else row.kind)
    return found


def last_loop(plan: Plan, row):
    return [r for r in plan.instructions[: plan.instructions.index(row)] if r.kind == "loop"][-1]


def rnn(bench: Bench, length: int = 6, dtype=np.float64):
    h, w, x = bench.feed(4, 3, dtype=dtype), bench.feed(3, 3, dtype=dtype), bench.feed(length, 4, 3, dtype=dtype)
    last, ys = sg.scan(lambda c, v: (sg.tanh(c @ w + v @ w), c * 2), h, x)
    loss = (last**2).sum() + (ys**2).sum()
    return loss, ys, gradients([loss], [h, w, x])


def test_interpreted_unjitted_and_compiled_agree():
    bench = Bench()
    loss, ys, found = rnn(bench)
    plan = bench.check(loss, ys, *found)
    assert kinds(plan).count("loop") == kinds(plan).count("repeat") == 2


def test_a_while_loop_interpreted_unjitted_and_compiled():
    bench = Bench()
    h, w = bench.feed(4, 3, dtype=np.float64), bench.feed(3, 3, dtype=np.float64)
    last = sg.while_loop(lambda c: (c**2).sum() > 0.01, lambda c: sg.tanh(c @ w) * 0.3, h)
    loss = (last**2).sum()
    plan = bench.check(last, *gradients([loss], [h, w]))
    assert kinds(plan).count("until") == 1


@pytest.mark.parametrize("value", [-5.0, 5.0])
def test_a_branch_interpreted_unjitted_and_compiled(value):
    bench = Bench()
    h, w = bench.feed(4, 3, dtype=np.float64, value=np.full((4, 3), value)), bench.feed(3, 3, dtype=np.float64)
    y = sg.cond(h.sum() > 0, lambda: sg.tanh(h @ w), lambda: sg.sigmoid(h) * 2)
    plan = bench.check(y, *gradients([(y**2).sum()], [h, w]))
    assert kinds(plan).count("branch") == kinds(plan).count("go") == 2


@pytest.mark.parametrize("value", [-1.0, 1.0])
def test_a_product_behind_a_branch_is_not_part_of_it(value, monkeypatch):
    """Threads share both products: they would meet once for the two."""
    monkeypatch.setattr(loader, "_count", 2)
    bench = Bench()
    x, a, b = bench.feed(value=np.float32(value)), bench.feed(128, 128), bench.feed(128, 128)
    plan = bench.check(sg.cond(x > 0, lambda: a + b, lambda: a @ b), b @ a)
    assert [row.chunks for row in plan.instructions if row.kind == "gemm"] == [2, 2]


def test_products_leave_the_loops():
    """v @ w before the forward loop, both gradients of w behind the backward one. The gradient of the items is the product
    that the carry needs anyway."""
    bench = Bench()
    loss, _, found = rnn(bench)
    plan = bench.plan(loss, *found)
    assert [[name for name in body if "x" in name] for body in inside(plan)] == [["4x3x3"], ["4x3x3"]]
    outer = [row.name for row in plan.instructions if row.kind == "gemm" and row.name != "4x3x3"]
    assert sorted(outer) == ["24x3x3", "3x24x3", "3x24x3 + add"]


def test_a_value_that_stays_is_computed_once():
    bench = Bench()
    h, w = bench.feed(4, 3), bench.feed(3)
    last, _ = sg.scan(lambda c, _: (c * sg.exp(sg.sin(w)), None), h, length=5)
    plan = bench.check(last)
    assert [row.name for row in plan.instructions if row.kind == "kernel"] == ["sin+exp", "mul"]
    assert inside(plan) == [["kernel"]]


def test_carries_are_written_in_place():
    bench = Bench()
    loss, ys, _ = rnn(bench)
    plan = bench.plan(loss, ys)
    assert "in a body, carry 0: written in place by the kernel that computes tanh" in plan.notes


def test_the_slices_of_a_product_come_back_as_one_array():
    bench = Bench()
    h = bench.feed(4, 6, dtype=np.float64)
    a, b, c = sg.tensor_split(h, 3, axis=1)
    (g,) = gradients([(a * b * sg.sin(c)).sum()], [h])
    plan = bench.check(g)
    assert ("parts", "add") in plan.rewrites


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_trip_count_changes_neither_rows_nor_kernels(dynamic):
    plans = []
    for n in (10, 10_000):
        bench = Bench()
        h = bench.feed(4, dtype=np.float64)
        if dynamic:
            last = sg.while_loop(lambda c, i, n=n: i < n, lambda c, i: (sg.sin(c), i + 1), (h, np.int64(0)))[0]
        else:
            last = sg.scan(lambda c, _: (sg.sin(c), None), h, length=n)[0]
        before = Counters.compiled + Counters.from_disk
        plans.append(bench.plan(last, *gradients([last.sum()], [h])))
        loaded = Counters.compiled + Counters.from_disk - before
    assert loaded == 0
    assert kinds(plans[0]) == kinds(plans[1])
    assert plans[0].source() == plans[1].source()


def peak(length: int, every: int | None) -> int:
    bench = Bench()
    h = bench.feed(64, 64)
    last, _ = sg.scan(lambda c, _: (sg.tanh(c) + sg.sin(c), None), h, length=length, checkpoint_every=every)
    return bench.plan(*gradients([last.sum()], [h])).builder.memory.arena


def test_checkpoints_save_memory():
    """A carry per block, and the residuals of one block: 2 sqrt(n) in place of n."""
    item, length = 64 * 64 * 4, 400
    plain = peak(length, None)
    assert plain > 2 * length * item
    every = 20
    assert peak(length, every) < (length // every + 3 * every + 8) * item
    assert peak(length, every) < plain / 7


def test_explain_and_profile_show_loops():
    bench = Bench()
    loss, _, found = rnn(bench)
    plan = bench.plan(loss, *found)
    plan.run(bench.arrays, {})
    text = plan.explain()
    assert "loop       6 times" in text
    assert "gemm         4x3x3" in text  # set in by its loop
    profile = plan.profile(10)
    assert any(name == "4x3x3, 6 times" for _, name, _ in profile.instructions)
    assert len(profile.instructions) == len(plan.native)


def test_listings_and_files_hold_bodies():
    bench = Bench()
    h, x = bench.feed(2, 3), bench.feed(4, 2, 3)
    last, _ = sg.scan(lambda c, v: (sg.tanh(c + v), None), h, x)
    sg.while_loop(lambda c: c.sum() < 3.0, lambda c: c + 1.0, last)
    gradients([last.sum()], [h])
    text = to_text(bench.graph, lines=False)
    assert "  body(%0, %1)" in text
    assert "tanh(%2)" in text
    verify(bench.graph)
    again = from_json(to_json(bench.graph))
    verify(again)
    assert to_text(again) == to_text(bench.graph)


def test_a_body_that_reads_from_outside_is_not_well_formed():
    bench = Bench()
    h, x = bench.feed(2, 3), bench.feed(4, 2, 3)
    sg.scan(lambda c, v: (sg.tanh(c + v), None), h, x)
    loop = next(n for n in bench.graph.nodes if n.op.name == "loop")
    body = loop.attrs["body"]
    body.graph.add(h.node.op, (), {"type": h.node.type}, h.node.type)
    body._order.append(body.graph.nodes[-1])
    with pytest.raises(sg.VerifyError, match="which are not its parameters"):
        verify(bench.graph)


SUMS = {
    "of a vector": (lambda c, e: c + e.sum(), 0.0),
    "of squares": (lambda c, e: c + (e * e).sum(), 0.0),
    "to a vector": (lambda c, e: e.sum() + c, np.zeros(3, "f4")),
    "of a product": (lambda c, e: c + e @ e, 0.0),
}


@pytest.mark.parametrize("name", SUMS)
def test_a_running_sum_that_is_stacked_stays_in_the_loop(name):
    """A sum that only the next iteration reads is computed after the loop, one that is a result of each iteration is not."""
    add, start = SUMS[name]
    x = sg.tensor(np.arange(6, dtype="f4").reshape(3, 2))

    def sums(x, start):
        return sg.scan(lambda c, e: ((new := add(c, e)), new), start, x)[1]

    expected = sums(x, sg.tensor(start))
    place = sg.placeholder("float32", [3, 2])
    stacked = sums(place, sg.constant(start, "float32"))
    slope = sg.gradients((stacked * stacked).sum(), [place])[0]
    leaf = x.clone().requires_grad_()
    (sums(leaf, sg.tensor(start)) ** 2).sum().backward()
    with sg.Session() as session:
        found = session.run([stacked, slope], {place: x.numpy()})
    np.testing.assert_allclose(found[0], expected.numpy(), rtol=1e-6)
    np.testing.assert_allclose(found[1], leaf.grad.numpy(), rtol=1e-5)
    np.testing.assert_allclose(sg.compile(sums)(x, sg.tensor(start)).numpy(), expected.numpy(), rtol=1e-6)
