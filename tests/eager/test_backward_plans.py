"""Backward passes by plans: gradients, errors and effects are those of the engine."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager import backward_plans
from staticgrad.eager.backward_engine import BackwardEngine
from staticgrad.eager.backward_plans import planned
from staticgrad.eager.calls import kernels
from staticgrad.eager.calls.kernels import NONE, Requests
from staticgrad.eager.grad_mode import modes
from staticgrad.eager.sparse_gradients import DeferredGradient, deferred
from staticgrad.errors import GradientError
from tests.helpers import assert_close, known

F = sg.functional
Program = Callable[..., Any]


@pytest.fixture(autouse=True)
def plans(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each backward pass of the test was by a plan, which is made at once."""
    taken: list[bool] = []

    def noted(*args: Any) -> Any:
        found = planned(*args)
        taken.append(bool(found))
        return found

    modes.now.calls.clear()
    monkeypatch.setattr(import_module("staticgrad.eager.backward"), "planned", noted)
    with sg.eager_kernels(wait=True):
        yield taken


def leaves(*shapes: tuple[int, ...], dtype: Any = np.float64) -> list[sg.Tensor]:
    rng = np.random.default_rng(0)
    return [sg.tensor(rng.uniform(0.2, 1.2, shape).astype(dtype), requires_grad=True) for shape in shapes]


def test_a_guard_that_is_compiled_is_not_written_again(monkeypatch: pytest.MonkeyPatch):
    x, w, b = leaves((4, 3), (3, 2), (2,))

    def loss() -> sg.Tensor:
        return (F.cross_entropy(x @ w + b, sg.tensor([0, 1, 1, 0])) * 2).exp()

    loss().backward()
    (plan,) = {plan for group in known(backward_plans.Forms).values() for plan in group.plans}
    make, args = plan.__reduce__()
    monkeypatch.delattr("staticgrad.eager.tape_form._Writer")
    again = make(*args).of(plan.form)
    tape = [loss()], [sg.ones(())], None
    (records, places, *arrays), expected = again.match(*tape), plan.match(*tape)
    assert (records, [*map(id, places)]) == (expected[0], [*map(id, expected[1])])
    assert [[*map(id, part)] for part in arrays] == [[*map(id, part)] for part in expected[2:]]


def gradients(program: Program, shapes: list[tuple[int, ...]], dtype: Any = np.float64) -> list[np.ndarray]:
    tensors = leaves(*shapes, dtype=dtype)
    program(*tensors).backward()
    return [None if x.grad is None else x.grad.numpy() for x in tensors]


X = np.random.default_rng(1).uniform(0.2, 1.2, (4, 3))
LSTM = sg.nn.LSTM(2, 3).double()
BAG = sg.tensor(np.array([[0, 2], [1, 2], [2, 2]]))


def halved(x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
    for _ in range(5):
        x = x * 0.5 - y
    return x


def changed_parts(x: Any) -> Any:
    """Views and parts of a result are changed on the way."""
    y = x * 1
    y[..., 0] = 2.0
    ends = y[:, -1]
    ends += x[:, 0]
    before = y[1:] - y[:-1]
    y[y.detach() > 0.9] *= 0.5
    y[1:, 1] = x[:-1, 0] * 3
    return (before * before).sum() + y.exp().sum()


def rows_set(x: Any, y: Any) -> Any:
    """Values from a mask and from positions, in a tensor that has no gradient before."""
    out = sg.zeros(3, 4, dtype=x.dtype)
    mask = sg.tensor(np.arange(12).reshape(3, 4) % 3 > 0)
    out[mask] = x[mask] ** 2
    out[~mask] = 0.0
    out[[2, 0]] = out[[0, 1]] * y
    return (out * x).sum()


def replaced(x: Any) -> Any:
    """In-place methods of whole results, which are read between."""
    h = (x * 2).tanh()
    a = h.sum()
    h = h + 1
    h.add_(x).mul_(0.5)
    b = h.sum()
    h.sigmoid_()
    return a + b * h.sum()


class Squared(sg.autograd.Function):
    """A function of the user's, which reads what it saved."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x * factor

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * ctx.factor * x * g, None


class ProductAndSum(sg.autograd.Function):
    """One with two results."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y + h, g * x + h


def functions(x: Any, w: Any) -> Any:
    """Calls after each other and beside each other, over values that are read elsewhere too."""
    h = (x @ w).tanh()
    a, b = ProductAndSum.apply(h, h.sin())
    c = Squared.apply(a * b, 2.0)
    d, _ = ProductAndSum.apply(c, h + 1)
    return (d * d.view(-1)[2:5].sum()).mean() + Squared.apply(w, 0.5).exp().sum() + h.square().sum()


def layers(x: Any, w: Any) -> Any:
    for i in range(4):
        x = Squared.apply((x @ w).tanh() + x, 0.5) + x * i
    return Squared.apply(x.mean(), 1.0)


PROGRAMS: dict[str, tuple[Program, list[tuple[int, ...]]]] = {
    "functions of the user's": (functions, [(3, 4), (4, 4)]),
    "a function in each layer": (layers, [(3, 4), (4, 4)]),
    "a function of a leaf": (lambda x: Squared.apply(Squared.apply(x, 2.0), 1.0).sum(), [(3,)]),
    "a view of a function's result": (lambda x: (Squared.apply(x, 2.0).T[1:] * 3).square().sum() + x.sum(), [(3, 4)]),
    "a chain": (lambda x: ((x * 2 + 1).tanh() ** 2).sum(), [(3, 4)]),
    "shared subexpressions": (lambda x, y: ((h := x * y) * h.exp() + h).sum(), [(3, 4), (3, 4)]),
    "broadcasting": (lambda x, y, z: (x * y + z).square().mean(), [(3, 4), (4,), (3, 1)]),
    "products and transposes": (lambda x, y: (sg.tensor(X) @ x.T @ y.T).tanh().sum(), [(4, 3), (5, 4)]),
    "products of vectors": (lambda x, y: ((sg.tensor(X) @ x).sigmoid() * (sg.tensor(X) @ x)).sum() * y, [(3,), ()]),
    "slices": (lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(), [(6,)]),
    "reductions": (lambda x: (x.sum(0) * x.mean(0) + x.amax(0)).square().sum(), [(3, 4)]),
    "joined": (lambda x, y: (sg.cat([x, y, x]) * sg.stack([x, y]).sum(0).mean()).square().sum(), [(3, 2), (3, 2)]),
    "a leaf without a value read": (lambda x, y: (x + y).sum() + (x - y).square().sum(), [(3, 4), (4,)]),
    "gradients that are the seed": (lambda x, y: x + y.exp().sum(), [(), (3,)]),
    "dtypes": (lambda x: (x.float() * x.float().exp()).double().square().sum(), [(3, 4)]),
    "several results": (lambda x: ((out := LSTM(x.tanh()))[0].square().sum() + out[1][1].sum()) * 2, [(4, 1, 2)]),
    "calls of several ops": (lambda x, w: F.cross_entropy(F.gelu(x @ w), sg.tensor([1, 0, 2])), [(3, 4), (4, 5)]),
    "rows of a table": (lambda t, w: (F.embedding(BAG, t).mean(1) @ w).square().sum(), [(3, 4), (4, 2)]),
    "a table that was computed": (lambda t, w: ((t * 2)[BAG] * w).tanh().square().sum(), [(3, 4), (4,)]),
    "padding": (lambda x: (F.pad(x, (1, 1)) * F.pad(x, (2, 0))).square().sum(), [(3, 4)]),
    "rows of a view": (lambda t: (t.T[BAG].tanh() * t.T[0]).sum(), [(4, 3)]),
    "comparisons": (lambda x: sg.where(x > 0.7, x * x, 3 * x).clamp(max=2.0).sum(), [(3, 4)]),
    "a chain whose gradient is one number": (lambda x, y: halved(x, y).sum(), [(3, 4), (3, 4)]),
    "parts that are changed": (changed_parts, [(3, 4)]),
    "rows that are set": (rows_set, [(3, 4), (4,)]),
    "results that are changed": (replaced, [(3, 4)]),
    "a part without a gradient": (lambda x, y: (x * y.detach() + (x > 0.5)).square().sum(), [(3, 4), (3, 4)]),
}


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_the_engine(name: str, kernels: bool, plans: list[bool]):
    program, shapes = PROGRAMS[name]
    with sg.eager_kernels(False):
        wanted = gradients(program, shapes)
    assert plans == [False]
    for _ in range(2):
        with sg.eager_kernels(kernels, wait=True, plans=True):
            gradient = gradients(program, shapes)
        for found, g in zip(gradient, wanted, strict=True):
            if g is None:
                assert found is None
            else:
                assert_close(found, g, rtol=1e-10)
                assert found.dtype == g.dtype
                assert found.flags.writeable
    assert plans == [False, True, True]


@pytest.mark.parametrize("name", ["joined", "rows of a table", "a table that was computed", "padding", "rows of a view"])
def test_the_whole_pass_is_one_plan(name: str, plans: list[bool]):
    """Nothing is left to the engine."""
    program, shapes = PROGRAMS[name]
    gradients(program, shapes)
    assert plans == [True]
    (plan,) = {plan for group in known(backward_plans.Forms).values() for plan in group.plans}
    (part,) = plan.parts
    assert not any(number >= 0 for number, _ in part.places)


@pytest.mark.parametrize("count", [1, 4])
def test_plans_go_on_after_functions(count: int, plans: list[bool], monkeypatch: pytest.MonkeyPatch):
    """The engine visits the calls of the user's functions alone, and parts of the plan what is between them."""
    seen: list[str] = []
    visit = BackwardEngine.visit
    monkeypatch.setattr(BackwardEngine, "visit", lambda self, record, g: seen.append(record.name()) or visit(self, record, g))
    x, w = leaves((3, 4), (4, 4))
    for _ in range(2):
        y = x
        for _ in range(count):
            y = Squared.apply((y @ w).tanh() + y, 0.5) + y
        seen.clear()
        found = sg.grad(y.exp().sum(), [x, w])
    with sg.eager_kernels(False):
        y = x
        for _ in range(count):
            y = Squared.apply((y @ w).tanh() + y, 0.5) + y
        wanted = sg.grad(y.exp().sum(), [x, w])
    assert plans == [True, True, False]
    for a, b in zip(found, wanted, strict=True):
        assert_close(a.numpy(), b.numpy(), rtol=1e-10)
    assert seen[: 2 * count] == ["SquaredBackward"] * count + seen[count : 2 * count]


def test_a_function_that_passes_no_gradient(plans: list[bool]):
    """What it was computed of has none then, and the engine does the rest."""

    class Half(sg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, through: bool) -> Any:
            ctx.through = through
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g if ctx.through else None, None

    x, y = leaves((3,), (3,))
    for through in (True, True, False):
        x.grad = y.grad = None
        Half.apply(x * 2, y * 3, through).sum().backward()
        assert_close(x.grad.numpy(), np.full(3, 2.0), rtol=1e-12)
        assert (y.grad is not None) == through
    assert plans == [True] * 3


def test_a_function_that_changes_what_older_operations_saved(plans: list[bool]):
    class Changing(sg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, other: Any) -> Any:
            ctx.other = other
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.other is not None:
                ctx.other.add_(1)
            g = g.clone()
            g[0] = 0.0
            return 2 * g, None

    (x,) = leaves((3,))
    for changes in (False, False, True):
        saved = sg.ones(3, dtype=sg.float64)
        loss = Changing.apply((x * saved).exp(), saved if changes else None).sum()
        if changes:
            with pytest.raises(GradientError, match="modified by an inplace operation"):
                loss.backward()
        else:
            loss.backward()
    assert plans == [True] * 3


def test_rows_that_are_asked_for_are_put_in_place_at_once(plans: list[bool], monkeypatch: pytest.MonkeyPatch):
    later: list[Any] = []
    monkeypatch.setattr(backward_plans, "deferred", lambda *args: later.append(args) or deferred(*args))
    (table,) = leaves((6, 3))
    index = sg.tensor([4, 1, 4])
    for _ in range(2):
        (g,) = sg.grad(F.embedding(index, table), [table], sg.ones(3, 3, dtype=sg.float64))
        assert (g.numpy() == np.array([[0, 1, 0, 0, 2, 0]]).T).all()
    assert plans == [True, True]
    assert not later
    F.embedding(index, table).sum().backward()
    assert len(later) == 1


def test_rows_are_those_of_the_index_at_the_call(plans: list[bool]):
    (table,) = leaves((4, 2))
    index = sg.tensor([1, 3, 3])
    for _ in range(2):
        table.grad = None
        (table[index] ** 2).sum().backward()
        with sg.no_grad():
            index.fill_(0)
            table.mul_(1)
        wanted = 2 * table.detach().numpy() * np.array([[0], [1], [0], [2]])
        assert table._gradient.__class__ is DeferredGradient
        assert_close(table.grad.numpy(), wanted, rtol=1e-12)
        assert table.grad is table.grad
        index = sg.tensor([1, 3, 3])
    assert plans == [True, True]


def test_rows_that_are_put_into_a_table_at_once_are_not_copied(plans: list[bool]):
    """Of a target: nobody changes the seed before the gradient is made."""
    (table,) = leaves((400, 64))
    index, seed = sg.arange(400), sg.ones(400, 64, dtype=sg.float64)
    out = table[index]

    def gradient() -> sg.Tensor:
        return sg.grad(out, [table], seed, retain_graph=True)[0]

    gradient()
    tracemalloc.start()
    try:
        found = gradient()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert plans == [True, True]
    assert peak < 1.5 * found.numpy().nbytes


def test_rows_are_added_to_a_gradient(plans: list[bool]):
    (table,) = leaves((4, 2))
    seen: list[Any] = []
    table.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.sum().item()))
    for times in (1, 2, 3):
        (table[sg.tensor([0, 0])] ** 2).sum().backward()
        assert_close(table.grad.numpy(), times * 4 * table.detach().numpy() * np.eye(4)[:, :1], rtol=1e-12)
        assert_close(seen[-1], table.grad.numpy().sum(), rtol=1e-12)
    assert plans == [True] * 3


def test_rows_of_a_table_that_is_read_twice(plans: list[bool]):
    """The optimizer of sparse gradients takes the rows of both."""
    values = []
    for enabled in (False, True):
        (table,) = leaves((5, 2))
        optimizer = sg.optim.SparseAdam([table], lr=0.1)
        with sg.eager_kernels(enabled, wait=True, plans=True):
            for _ in range(3):
                optimizer.zero_grad()
                ((table[sg.tensor([0, 2])] * table[sg.tensor([2, 4])]).sum() * 2).backward()
                optimizer.step()
        values.append(table.detach().numpy())
    assert_close(*values, rtol=1e-9)
    assert plans == [True] * 6


def test_plans_of_large_values_are_made_sooner(monkeypatch: pytest.MonkeyPatch):
    asked: list[int] = []
    ours = Requests()
    monkeypatch.setattr(ours, "begin", lambda key, last: asked.append(last) or NONE)
    monkeypatch.setattr(backward_plans, "requests", ours)
    with sg.eager_kernels():
        for extent in (7, 500, 3000):
            (x,) = leaves((extent, extent), dtype=np.float32)
            (x * 2 + 1).tanh().backward(sg.ones_like(x))
    assert asked[0] == kernels.USES > asked[1] > asked[2] == kernels.LEAST


def test_float32(plans: list[bool]):
    program, shapes = PROGRAMS["broadcasting"]
    wanted = gradients(program, shapes)
    for found, g in zip(gradients(program, shapes, np.float32), wanted, strict=True):
        assert found.dtype == np.float32
        assert_close(found, g.astype(np.float32), rtol=1e-5)
    assert plans == [True, True]


def test_numbers_are_read_anew(plans: list[bool]):
    for number in (2.0, 3.0, 0.0, -1.5):
        (x,) = leaves((3,))
        (x * number * x.exp() + number).sum().backward()
        assert_close(x.grad.numpy(), number * (1 + x.detach().numpy()) * np.exp(x.detach().numpy()), rtol=1e-12)
    assert plans == [True] * 4
    assert len({id(plan) for group in known(backward_plans.Forms).values() for plan in group.plans}) == 1


def test_forms_that_differ_in_one_thing(plans: list[bool]):
    """Each differs from the first one in one respect that a guard has to see."""
    for _ in range(2):
        for program, shapes in (
            (lambda x, y: (x * y).tanh().sum(), [(2, 3), (2, 3)]),
            (lambda x, y: (x * x).tanh().sum(), [(2, 3), (2, 3)]),
            (lambda x, y: (y * x).tanh().sum(), [(2, 3), (2, 3)]),
            (lambda x, y: (x * y).tanh().sum(), [(2, 3), (3,)]),
            (lambda x, y: (x * y).tanh().sum(), [(3, 2), (3, 2)]),
            (lambda x, y: (x * y).tanh().sum(0).sum(), [(2, 3), (2, 3)]),
            (lambda x, y: (x * y).tanh().sum(1).sum(), [(2, 3), (2, 3)]),
            (lambda x, y: (x * y).sigmoid().sum(), [(2, 3), (2, 3)]),
            (lambda x, y: (x * y.detach()).tanh().sum(), [(2, 3), (2, 3)]),
            (lambda x, y: (x + y).tanh().sum(), [(2, 3), (2, 3)]),
        ):
            with sg.eager_kernels(False):
                wanted = gradients(program, shapes)
            for found, g in zip(gradients(program, shapes), wanted, strict=True):
                assert (found is None) == (g is None)
                if g is not None:
                    assert_close(found, g, rtol=1e-11)
    assert plans[1::2] == [True] * 20


def test_targets(plans: list[bool]):
    x, y = leaves((3,), (3,))
    for _ in range(2):
        h = x * y
        loss = (h.exp() * x).sum()
        dy, dh, again = sg.grad(loss, [y, h, y])
        assert_close(dh.numpy(), (h.exp() * x).detach().numpy(), rtol=1e-12)
        assert_close(dy.numpy(), (h.exp() * x * x).detach().numpy(), rtol=1e-12)
        assert_close(again.numpy(), dy.numpy(), rtol=1e-12)
        assert again is dy
        assert x.grad is None
    assert plans == [True, True]
    (g,) = sg.grad((x * x).tanh().sum(), [y], allow_unused=True)
    assert g is None
    with pytest.raises(GradientError, match=r"not have been used|unused"):
        sg.grad((x * x).tanh().sum(), [y])


def test_a_pass_that_only_moves_values_returns_seeds_and_views(plans: list[bool]):
    x, y = leaves((3, 4), (3, 4))
    seed = sg.ones(4, dtype=sg.float64)
    for _ in range(3):
        a, b = sg.grad((x + y).sum(0), [x, y], seed)
        assert a is b
        assert a.stride() == (0, 1)
        whole = sg.ones(3, 4, dtype=sg.float64)
        assert sg.grad(x + y, [x], whole)[0] is whole
    x.grad = y.grad = None
    for _ in range(3):
        (x + y).backward(whole)
    x.grad.fill_(7)
    assert y.grad.tolist() == [[3.0] * 4] * 3
    assert whole.tolist() == [[1.0] * 4] * 3


def test_targets_that_are_one_leaf_twice():
    """A form with two leaves does not serve a tape with one in both places."""
    x, y = leaves((3,), (3,))
    for a, b in ((x, y), (x, x)):
        (g,) = sg.grad((a.exp() * b.tanh()).sum(), [a])
        with sg.eager_kernels(False):
            (wanted,) = sg.grad((a.exp() * b.tanh()).sum(), [a])
        assert_close(g.numpy(), wanted.numpy(), rtol=1e-12)


def test_several_roots_and_seeds(plans: list[bool]):
    x, y = leaves((3,), (3,))
    seeds = [sg.tensor([1.0, 2.0, 3.0], dtype=sg.float64), None]
    for _ in range(2):
        found = sg.grad([x * y, (x.exp() * y).sum()], [x, y], seeds)
    with sg.eager_kernels(False):
        wanted = sg.grad([x * y, (x.exp() * y).sum()], [x, y], seeds)
    for a, b in zip(found, wanted, strict=True):
        assert_close(a.numpy(), b.numpy(), rtol=1e-12)
    assert plans == [True, True, False]
    (g,) = sg.grad([x, (x * x).sum()], [x], [sg.ones(3, dtype=sg.float64), None])  # a leaf is a root
    assert_close(g.numpy(), 1 + 2 * x.detach().numpy(), rtol=1e-12)


def test_accumulation_and_hooks_after_it(plans: list[bool]):
    x, y = leaves((3,), (3,))
    seen: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.numpy().copy()))
    for times in (1, 2, 3):
        (x * y.exp()).sum().backward()
        assert_close(x.grad.numpy(), times * np.exp(y.detach().numpy()), rtol=1e-12)
        assert_close(seen[-1], x.grad.numpy(), rtol=1e-12)
    assert plans == [True] * 3
    first = y.grad
    (x * y.exp()).sum().backward()
    assert y.grad is first  # added in place


def test_a_second_pass_needs_retain_graph(plans: list[bool]):
    x, y = leaves((3,), (3,))
    loss = (x * y.exp()).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert plans == [True, True]
    assert_close(x.grad.numpy(), 2 * np.exp(y.detach().numpy()), rtol=1e-12)
    with pytest.raises(GradientError, match="backward through the graph a second time") as by_plan:
        loss.backward()
    with sg.eager_kernels(False):
        other = (x * y.exp()).sum()
        other.backward()
        with pytest.raises(GradientError) as by_engine:
            other.backward()
    assert by_plan.value.summary == by_engine.value.summary
    node, wanted = loss.grad_fn, other.grad_fn
    while node.next_functions:
        names = [[None if n is None else n.name() for n, _ in each.next_functions] for each in (node, wanted)]
        assert names[0] == names[1]
        node, wanted = node.next_functions[0][0], wanted.next_functions[0][0]
    assert_close(x.grad.numpy(), 3 * np.exp(y.detach().numpy()), rtol=1e-12)


def test_freed_records_that_saved_nothing_pass_gradients_again():
    x, y = leaves((3,), (3,))
    inner = x + y
    (inner.exp() * 2).sum().backward()
    inner.sum().backward()
    with sg.eager_kernels(False):
        a, b = leaves((3,), (3,))
        other = a + b
        (other.exp() * 2).sum().backward()
        other.sum().backward()
    assert_close(x.grad.numpy(), a.grad.numpy(), rtol=1e-12)


def test_a_saved_value_that_was_changed(plans: list[bool]):
    (x,) = leaves((3,))
    for changes in (False, True):
        h = x * 2
        loss = (h * h.exp()).sum()
        if changes:
            with sg.no_grad():
                h.add_(1)
            with pytest.raises(GradientError, match="modified by an inplace operation"):
                loss.backward()
        else:
            loss.backward()
    assert plans == [True, False]


def test_values_changed_before_they_were_read(plans: list[bool]):
    """An optimizer changes leaves between passes, and `data` may be given other memory."""
    x, y = leaves((3,), (3,))
    for _ in range(3):
        x.grad = None
        (x * x * y).sum().backward()
        assert_close(x.grad.numpy(), (2 * x * y).detach().numpy(), rtol=1e-12)
        with sg.no_grad():
            x -= 0.1
        y.data = y.detach().numpy() * 2
    assert plans == [True] * 3


def test_hooks_added_later(plans: list[bool]):
    x, y = leaves((3,), (3,))

    def loss() -> Any:
        x.grad = None
        return (x * y.exp()).tanh().sum()

    loss().backward()
    g = x.grad.numpy().copy()
    handle = x.register_hook(lambda g: g * 2)
    loss().backward()
    assert_close(x.grad.numpy(), 2 * g, rtol=1e-12)
    handle.remove()
    inner = loss()
    inner.grad_fn.next_functions[0][0].register_hook(lambda inputs, outputs: tuple(g * 3 for g in inputs))
    inner.backward()
    assert_close(x.grad.numpy(), 3 * g, rtol=1e-12)
    loss().backward()
    assert_close(x.grad.numpy(), g, rtol=1e-12)
    assert plans == [True, False, False, True]


def test_requires_grad_that_is_switched():
    x, y = leaves((3,), (3,))
    for flag in (True, False, True):
        y.requires_grad_(flag)
        x.grad = y.grad = None
        (x * y).exp().sum().backward()
        assert (y.grad is not None) == flag
        assert_close(x.grad.numpy(), (y * (x * y).exp()).detach().numpy(), rtol=1e-12)


def test_threads_run_one_plan():
    x, y = leaves((64, 64), (64, 64))
    (wanted,) = sg.grad((x @ y).tanh().sum(), [x])
    wrong: list[Any] = []

    def work() -> None:
        with sg.eager_kernels(wait=True):
            for _ in range(20):
                (g,) = sg.grad((x @ y).tanh().sum(), [x])
                if not np.allclose(g.numpy(), wanted.numpy()):
                    wrong.append(g)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_tapes_that_never_recur_are_left_alone(monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []
    monkeypatch.setattr(backward_plans, "form_of", lambda *args: asked.append(args))
    monkeypatch.setattr(backward_plans, "VAIN", 5)
    with sg.eager_kernels(True):
        for _ in range(40):
            (x,) = leaves((3,))
            (x * x).prod().backward()
    assert len(asked) <= 7


def test_the_first_tapes_of_functions_with_plans_are_plans_at_once(plans: list[bool]):
    """In the step in which functions become plans the backward pass does, too; tapes that differ all the time don't."""
    (w,) = leaves((5, 5))
    x = sg.tensor(np.random.default_rng(2).random((7, 5)))

    def step(others: int = 0) -> None:
        y = F.silu(F.linear(x, w))
        for _ in range(others):
            y = y + 1
        y.sum().backward()

    with sg.eager_kernels(True):
        for _ in range(kernels.STEPS + 1):
            step()
        assert plans == [False] * (kernels.STEPS - 1) + [True] * 2
        for others in range(1, backward_plans.AT_ONCE + 2):
            step(others)
        assert plans[kernels.STEPS + 1 :] == [True] * (backward_plans.AT_ONCE - 1) + [False] * 2


def test_a_form_is_the_same_for_other_numbers(monkeypatch: pytest.MonkeyPatch):
    requested: list[Any] = []
    ours = Requests()
    monkeypatch.setattr(ours, "begin", lambda key, last: requested.append(key) or NONE)
    monkeypatch.setattr(backward_plans, "requests", ours)
    with sg.eager_kernels(True):
        for number in (2.0, 3.0):
            (x,) = leaves((7, 2))
            (number * x).cosh().sum().backward()
    assert len(requested) == 2
    assert requested[0] == requested[1]


def test_gradients_of_other_numbers_of_rows():
    """No plan looks at the shapes where the pass only puts rows in their places."""
    for count in (6, 6, 6, 6, 2, 2, 6):
        x, index = sg.tensor(np.arange(24.0).reshape(2, 3, 4), requires_grad=True), sg.tensor(np.arange(count) % 4)
        y = sg.take(sg.take(x, index, 2), sg.tensor(np.arange(count) % 3), 1)
        (g,) = sg.grad([y], [x], [sg.ones_like(y)])
        weights = np.bincount(np.arange(count) % 3, minlength=3)[:, None] * np.bincount(np.arange(count) % 4, minlength=4)
        np.testing.assert_array_equal(g.numpy(), np.broadcast_to(weights, (2, 3, 4)))
