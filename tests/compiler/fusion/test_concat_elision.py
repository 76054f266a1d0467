"""Concatenations whose parts are computed in place: how many rows a plan has, and that values stay those of the interpreter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.functional as functional
from staticgrad.autodiff.reverse import gradients
from staticgrad.operators import F, Symbol
from tests.compiler.helpers import Bench

Build = Callable[[Bench], list[Symbol]]


def joined(axis: int, *parts: Symbol) -> list[Symbol]:
    """A concatenation that is stored, as it is fetched."""
    return [F.concatenate(list(parts), axis)]


def read_twice(b: Bench) -> list[Symbol]:
    """The gradient of tanh reads its value, in the whole."""
    x, y = b.feed(6, 9), b.feed(6, 11)
    whole = F.concatenate([F.tanh(x), F.exp(y)], 1)
    return [whole, *gradients([F.sum(whole * whole * b.feed(6, 20))], [x, y])]


IN_PLACE: dict[str, tuple[Build, list[str]]] = {
    "vectors": (lambda b: joined(0, F.tanh(b.feed(3)), F.exp(b.feed(4))), ["kernel"] * 2),
    "rows": (lambda b: joined(0, F.tanh(b.feed(3, 5)), F.exp(b.feed(4, 5)), F.sqrt(b.feed(1, 5))), ["kernel"] * 3),
    "columns": (lambda b: joined(1, F.tanh(b.feed(5, 9)), F.exp(b.feed(5, 11))), ["kernel"] * 2),
    "columns of one kernel": (lambda b: joined(-1, F.tanh(x := b.feed(5, 9)), F.exp(x)), ["kernel"]),
    "columns with a bias": (lambda b: joined(1, F.tanh(b.feed(5, 9) + b.feed(9)), F.exp(b.feed(5, 11))), ["kernel"] * 2),
    "channels": (lambda b: joined(1, F.tanh(b.feed(2, 3, 4, 5)), F.exp(b.feed(2, 1, 4, 5))), ["kernel"] * 2),
    "channels with a bias": (
        lambda b: joined(1, F.tanh(b.feed(2, 3, 4, 5) + b.feed(3, 1, 1)), F.exp(b.feed(2, 1, 4, 5))), ["kernel"] * 2),
    "rows of one batch": (lambda b: joined(1, F.tanh(b.feed(1, 3, 4)), F.exp(b.feed(1, 5, 4))), ["kernel"] * 2),
    "a stack": (lambda b: [F.stack([F.tanh(b.feed(3, 5)), F.exp(b.feed(3, 5))], 0)], ["kernel"] * 2),
    "a stack in the middle": (lambda b: [F.stack([F.tanh(b.feed(3, 9)), F.exp(b.feed(3, 9))], 1)], ["kernel"] * 2),
    "sums of rows": (lambda b: joined(0, F.sum(b.feed(4, 9), 0), F.amax(b.feed(4, 3), 1)), ["kernel"] * 2),
    "softmax": (lambda b: joined(1, F.softmax(b.feed(5, 9)), F.softmax(b.feed(5, 12))), ["kernel"] * 2),
    "softmax of many axes": (
        lambda b: joined(1, F.softmax(b.feed(2, 3, 9)), F.softmax(b.feed(2, 1, 9))), ["kernel"] * 2),
    "products": (lambda b: joined(0, b.feed(3, 4) @ b.feed(4, 5), b.feed(2, 6) @ b.feed(6, 5)), ["gemm"] * 2),
    "products side by side": (
        lambda b: joined(1, b.feed(3, 4) @ b.feed(4, 9), b.feed(3, 6) @ b.feed(6, 11)), ["gemm"] * 2),
    "large products side by side": (
        lambda b: joined(1, b.feed(67, 70) @ b.feed(70, 75), b.feed(90, 67).T @ b.feed(90, 130)), ["gemm"] * 2),
    "products that add to something": (
        lambda b: joined(1, b.feed(9, 4) @ b.feed(4, 9) + b.feed(9), b.feed(9, 6) @ b.feed(6, 9) + b.feed(9, 2) @ b.feed(2, 9)),
        ["gemm"] * 3,
    ),
    "products of a batch": (
        lambda b: joined(2, b.feed(2, 3, 4) @ b.feed(2, 4, 9), b.feed(2, 3, 6) @ b.feed(6, 11)), ["gemm"] * 2),
    "rows of products of a batch": (
        lambda b: joined(1, b.feed(2, 3, 4) @ b.feed(2, 4, 9), b.feed(2, 5, 6) @ b.feed(6, 9)), ["gemm"] * 2),
    "rows of tables": (
        lambda b: joined(0, functional.embedding(b.feed(4, dtype=np.int64), b.feed(6, 3)), F.exp(b.feed(2, 3))),
        ["check", "routine", "kernel"],
    ),
    "a product reads it": (
        lambda b: [F.concatenate([F.tanh(b.feed(5, 9)), F.exp(b.feed(5, 11))], 1) @ b.feed(20, 3)],
        ["kernel", "kernel", "gemm"],
    ),
    "its gradient reads a part": (read_twice, ["kernel"] * 4),
    "double": (
        lambda b: joined(1, F.tanh(b.feed(5, 9, dtype=np.float64)), F.exp(b.feed(5, 9, dtype=np.float64))), ["kernel"] * 2),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_computed_in_place(name: str):
    build, kinds = IN_PLACE[name]
    b = Bench()
    plan = b.check(*build(b), rtol=1e-5)
    assert sorted(row.kind for row in plan.instructions) == sorted(kinds)
    assert any("computed in place in concatenate" in note for note in plan.notes)


COPIED: dict[str, tuple[Build, int]] = {
    "feeds": (lambda b: joined(0, b.feed(3), b.feed(4)), 2),
    "a feed beside what is computed": (lambda b: joined(0, b.feed(3), F.exp(b.feed(4))), 1),
    "short rows": (lambda b: joined(1, F.exp(b.feed(5, 2)), F.tanh(b.feed(5, 3))), 2),
    "a stack of elements": (lambda b: [F.stack([F.tanh(b.feed(30)), F.exp(b.feed(30))], -1)], 2),
    "routines side by side": (
        lambda b: joined(1, functional.embedding(b.feed(3, dtype=np.int64), b.feed(6, 9)), b.feed(3, 6) @ b.feed(6, 9)), 1),
    "twice the same": (lambda b: joined(0, x := F.exp(b.feed(4)), x), 1),
    "a part that is a result": (lambda b: [x := F.exp(b.feed(4)), *joined(0, x, F.tanh(b.feed(3)))], 1),
    "turned": (lambda b: joined(0, F.exp(b.feed(4, 9)).T, F.tanh(b.feed(2, 4))), 1),
    "a whole in a whole": (
        lambda b: [*joined(0, *joined(0, F.exp(b.feed(4)), F.tanh(b.feed(3))), F.sqrt(b.feed(2)))], 1),
    "a product reads a part whose rows lie apart": (
        lambda b: [*joined(1, x := F.exp(b.feed(5, 9)), F.tanh(b.feed(5, 9))), x @ b.feed(9, 2)], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIED)
def test_copied(name: str):
    build, copies = COPIED[name]
    b = Bench()
    plan = b.check(*build(b), rtol=1e-5)
    assert [row.kind for row in plan.instructions].count("copy") == copies


def heads(b: Bench, batch: int = 3) -> Symbol:
    """What attention leaves: (batch, heads, times, depth)."""
    return b.feed(batch, 2, 5, 7) @ b.feed(batch, 2, 7, 9)


def side_by_side(x: Symbol) -> Symbol:
    """(batch, times, heads * depth)"""
    x = F.permute(x, (0, 2, 1, 3))
    return F.reshape(x, (x.shape[0], x.shape[1], -1))


def rows_of(x: Symbol) -> Symbol:
    """The same memory with its first axes joined."""
    x = side_by_side(x)
    return F.reshape(x, (-1, x.shape[2]))


def stacked(b: Bench) -> list[Symbol]:
    return [F.stack([F.permute(heads(b), (0, 2, 1, 3)) for _ in range(3)], 2)]


REORDERED: dict[str, tuple[Build, list[str]]] = {
    "heads side by side": (lambda b: [side_by_side(heads(b)) @ b.feed(18, 4)], ["gemm"] * 2),
    "a batch of one": (lambda b: [side_by_side(heads(b, 1)) @ b.feed(18, 4)], ["gemm"] * 2),
    "fetched": (lambda b: [side_by_side(heads(b))], ["gemm"]),
    "read twice": (
        lambda b: [side_by_side(x := heads(b)) @ b.feed(18, 4), rows_of(x).T @ b.feed(15, 3)], ["gemm"] * 3),
    "read by a kernel, too": (lambda b: [side_by_side(x := heads(b)) @ b.feed(18, 4), F.exp(x)], ["gemm"] * 2 + ["kernel"]),
    "added to something": (lambda b: [side_by_side(heads(b) + b.feed(9)) @ b.feed(18, 4)], ["gemm"] * 2),
    "stacked": (stacked, ["gemm"] * 3),
    "columns first": (
        lambda b: [F.concatenate([(b.feed(9, 7) @ b.feed(7, 4)).T, b.feed(3, 2) @ b.feed(2, 9)], 0)], ["gemm"] * 2),
}  # fmt: skip


@pytest.mark.parametrize("name", REORDERED)
def test_products_are_computed_in_the_order_in_which_they_are_read(name: str):
    build, kinds = REORDERED[name]
    b = Bench()
    plan = b.check(*build(b), rtol=1e-5)
    assert sorted(row.kind for row in plan.instructions) == sorted(kinds)


KEPT: dict[str, tuple[Build, int]] = {
    "read in two orders": (
        lambda b: [
            side_by_side(x := heads(b)) @ b.feed(18, 4), F.reshape(F.permute(x, (0, 3, 2, 1)), (3, 9, -1)) @ b.feed(10, 4)
        ], 2),
    "fetched as it is": (lambda b: [x := heads(b), side_by_side(x)], 1),
    "a product reads it as it is": (lambda b: [side_by_side(x := heads(b)), x @ b.feed(9, 4)], 1),
    "repeated": (lambda b: [F.reshape(F.broadcast_to(heads(b, 1), (3, 2, 5, 9)), (3, -1)) @ b.feed(90, 4)], 1),
    "a part of it": (lambda b: [side_by_side(heads(b)[:, :, ::2]) @ b.feed(18, 4)], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_products_that_are_copied(name: str):
    build, copies = KEPT[name]
    b = Bench()
    plan = b.check(*build(b), rtol=1e-5)
    assert [row.kind for row in plan.instructions].count("copy") == copies


def test_attention_copies_nothing():
    """Queries, keys and values from one product, and their gradients."""
    layer = sg.nn.Linear(18, 54)

    @sg.compile
    def step(x):
        whole = layer(x).reshape(3, 5, 3, 2, 9)
        q, k, v = (whole[:, :, i].permute(0, 2, 1, 3) for i in range(3))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True).permute(0, 2, 1, 3).reshape(3, 5, 18)
        layer.zero_grad()
        (y * y).sum().backward()
        return y

    x = np.random.default_rng(0).standard_normal((3, 5, 18)).astype(np.float32)
    y, found = step(x).detach().numpy(), [p.grad.numpy().copy() for p in layer.parameters()]
    np.testing.assert_allclose(y, step.fn(sg.tensor(x)).detach().numpy(), rtol=1e-4, atol=1e-6)
    for a, p in zip(found, layer.parameters(), strict=True):
        np.testing.assert_allclose(a, p.grad.numpy(), rtol=1e-4, atol=1e-5)
    assert not [row for row in step.plan.instructions if row.kind == "copy"]


def test_a_variable_keeps_its_old_value_until_it_was_read():
    b = Bench()
    w = b.variable(8)
    b.assign(w, F.concatenate([F.exp(w[4:]), F.tanh(w[:4])], 0))
    plan = b.check()
    assert not any("computed where" in note for note in plan.notes)


def test_a_part_is_not_written_over_while_another_is_needed():
    """The whole is read last by a kernel that could write over it, before its part is."""
    b = Bench()
    x, y = b.feed(4, 9), b.feed(4, 9)
    part = F.tanh(x)
    whole = F.concatenate([part, F.exp(y)], 0)
    first = whole @ b.feed(9, 9)
    plan = b.check(F.sqrt(F.square(whole) + F.square(first)), part @ b.feed(9, 2), rtol=1e-5)
    assert plan.memory.ratio < 1.15


@pytest.mark.parametrize("axis", [0, 1])
def test_a_compiled_step(axis: int):
    """Two branches that are joined, trained: no row copies, and the losses of eager mode."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6, 16)).astype(np.float32)

    def model():
        sg.manual_seed(0)
        return sg.nn.Linear(16, 16), sg.nn.Linear(16, 16), sg.nn.Linear(32 if axis else 16, 3)

    losses = []
    for compiled in (False, True):
        left, right, out = model()
        opt = sg.optim.SGD([*left.parameters(), *right.parameters(), *out.parameters()], lr=0.1)

        def step(x, left=left, right=right, out=out, opt=opt):
            h = sg.concatenate([sg.tanh(left(x)), functional.gelu(right(x))], axis)
            loss = (out(h) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss

        run = sg.compile(step) if compiled else step
        losses.append([run(sg.tensor(x)).item() for _ in range(5)])
    np.testing.assert_allclose(*losses, rtol=1e-5)
    assert not any(row.kind == "copy" for row in run.plan.instructions)
