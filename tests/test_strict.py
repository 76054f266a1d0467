"""`numerics="strict"`: the bits of eager mode, whatever the program."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.compiler.passes.specialize import functionalize
from staticgrad.compiler.pipeline import compile_plan
from tests.compiler.programs import SEED, build, run_eagerly
from tests.test_random_programs import draw_program, several

pytestmark = pytest.mark.usefixtures("eager_by_numpy")


def identical(actual: Any, expected: Any, what: str = "") -> None:
    a, b = (x.detach().numpy() if isinstance(x, sg.Tensor) else np.asarray(x) for x in (actual, expected))
    assert (a.dtype, a.shape) == (b.dtype, b.shape), what
    if a.dtype.kind == "f":  # any NaN is one
        assert np.array_equal(np.isnan(a), np.isnan(b)), what
        a, b = np.where(np.isnan(a), 0, a), np.where(np.isnan(b), 0, b)
    assert a.tobytes() == b.tobytes(), f"{what}: {a!r} and {b!r}"


@several
@given(data=st.data())
def test_random_programs(data: st.DataObject):
    program = draw_program(data)
    built, _ = build(program)
    values, assigned = run_eagerly(program)
    outputs, found = values[: len(program.outputs)], values[len(program.outputs) :]
    expected = [*outputs, *(g for g in found if g is not None), *assigned]
    ready = functionalize(built.graph, built.fetches, built.feeds, built.effects)
    plan = compile_plan(ready, {n: n.type for n in ready.feeds}, strict=True)
    assert plan.kernels == 0
    for _ in range(2):
        store = {cell: a.copy() for cell, a in built.store.items()}
        sg.manual_seed(SEED)
        results = plan.run([a.copy() for a in built.arrays], store)
        for i, (a, b) in enumerate(zip([*results, *(store[cell] for cell, _ in built.targets)], expected, strict=True)):
            identical(a, b, f"result {i}")


def cut(x: Any) -> Any:
    """Its last operations read what those before the cut left in another order."""
    y = sg.relu(sg.exp(x).T)
    y.tolist()
    return sg.sin(y).sum()


def cut_before_a_sum(x: Any) -> Any:
    """Its gradient is a number that is repeated, before the cut and after it."""
    y = (x + 0.5)[None] @ x[None].T
    s = sg.mean(y)
    y.detach().mul_(s)
    return sg.grad(sg.sin(s), [x])[0]


def cut_before_a_product(x: Any) -> Any:
    """What it multiplies lies backwards."""
    row = x[0, ::-1]
    with sg.no_grad():
        y = sg.cos(row)
        y += 1
    y.tolist()
    return sg.sin(row) @ row


def changed_view(x: Any) -> Any:
    """The view that changes is read again at once: its gradient comes before those of later operations."""
    y = sg.sum(x, 0)
    view = y.T
    view.mul_(0.5)
    scaled = x * y
    s = sg.sin(scaled[1:]).sum() + sg.sin(sg.maximum(y, view)).sum()
    return sg.grad(s, [x])[0]


def changed_leaf(x: Any) -> Any:
    """A view of a leaf has one record, before and after an unrecorded change."""
    soft, view = sg.softmax(x, 0), x.T
    with sg.no_grad():
        x.detach().mul_(x)
    s = sg.sin(-view @ (-view * soft.T).T).sum() + sg.sin(view).sum() + sg.sin(sg.sum(x) * view).sum()
    return sg.grad(s, [x])[0]


def changed_by_result(x: Any) -> Any:
    """What an operation in place makes has one record: the rules that read its result add to that one."""
    y = (x * 2.0).tanh_()
    (g,) = sg.grad(sg.sin(y).sum() + sg.exp(y).sum(), [x], create_graph=True)
    return sg.grad((g * g).sum(), [x])[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("step", "turned"), [
    (cut, False), (cut, True), (cut_before_a_sum, False), (cut_before_a_product, False),
    (changed_view, False), (changed_view, True), (changed_leaf, False),
    (changed_by_result, False), (changed_by_result, True),
])  # fmt: skip
def test_sums_have_the_order_of_eager_mode(step: Any, turned: bool, dtype: Any):
    compiled, rng = sg.compile(step, numerics="strict"), np.random.default_rng(0)
    for _ in range(20):
        values = rng.normal(size=(7, 7)).astype(dtype)
        a, b = (sg.tensor(values.copy(), requires_grad=True) for _ in range(2))
        if turned:
            a, b = (x.detach().T.requires_grad_() for x in (a, b))
        identical(compiled(a), step(b), step.__doc__ or "")


class Model(nn.Module):
    def __init__(self, dtype: Any):
        super().__init__()
        self.table = nn.Embedding(20, 16, dtype=dtype)
        self.first, self.last = nn.Linear(16, 33, dtype=dtype), nn.Linear(33, 3, dtype=dtype)
        self.norm = nn.LayerNorm(33, dtype=dtype)

    def forward(self, index: Any) -> Any:
        h = self.norm(F.gelu(self.first(self.table(index).mean(1))))
        return self.last(F.dropout(h, 0.2))


OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "plain sgd": lambda p: optim.SGD(p, lr=0.1),
    "adam": lambda p: optim.Adam(p, lr=0.01),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_steps(optimizer: str, dtype: Any):
    runs = []
    for strict in (False, True):
        sg.manual_seed(0)
        model = Model(dtype)
        opt = OPTIMIZERS[optimizer](model.parameters())

        def step(index, label, model=model, opt=opt):
            loss = F.cross_entropy(model(index), label)
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss

        run = sg.compile(step, numerics="strict") if strict else step
        rng = np.random.default_rng(0)
        losses = [run(rng.integers(0, 20, (7, 5)), rng.integers(0, 3, 7)) for _ in range(5)]
        state = dict(model.named_parameters())
        grads = {f"{name}.grad": p.grad for name, p in model.named_parameters()}
        runs.append({**{f"loss {i}": loss for i, loss in enumerate(losses)}, **state, **grads})
    assert run.plan.kernels == 0
    assert "host calls (numerics=strict)" in run.explain()
    for name, value in runs[0].items():
        identical(runs[1][name], value, name)


def test_second_gradients():
    x = sg.tensor(np.random.default_rng(0).standard_normal((9, 1000)).astype(np.float32), requires_grad=True)

    def function(x):
        y = (F.softmax(x.T, 0) * sg.tanh(x.T)).sum()
        (g,) = sg.grad(y, [x], create_graph=True)
        (h,) = sg.grad((g * g).sum(), [x])
        return y, g, h

    for a, b in zip(sg.compile(function, numerics="strict")(x), function(x), strict=True):
        identical(a, b)


def test_loops_and_branches():
    rng = np.random.default_rng(0)
    w, xs = (rng.standard_normal(shape).astype(np.float32) for shape in ((16, 16), (9, 7, 16)))

    def function(w, xs):
        def step(h, x):
            h = sg.tanh(h @ w + x)
            return h, F.softmax(h, 1)

        last, all_of_them = sg.scan(step, sg.zeros(7, 16), xs)
        chosen = sg.cond(last.sum() > 0, lambda: sg.exp(last), lambda: sg.sin(last))
        (g,) = sg.grad((all_of_them * all_of_them).sum() + chosen.sum(), [w])
        return last, all_of_them, chosen, g

    args = sg.tensor(w, requires_grad=True), sg.tensor(xs)
    for a, b in zip(sg.compile(function, numerics="strict")(*args), function(*args), strict=True):
        identical(a, b)


def test_sessions():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((300, 400)).astype(np.float32)
    w = sg.tensor(rng.standard_normal((400, 3)).astype(np.float32))
    expected = F.log_softmax(sg.exp(sg.tensor(a) * 0.1) @ w, -1).sum()
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, [None, 400])
        y = F.log_softmax(sg.exp(x * 0.1) @ w.numpy(), -1).sum()
        with sg.Session(numerics="strict") as sess:
            identical(sess.run(y, {x: a}), expected)
            identical(sess.make_callable(y, [x])(a), expected)


def test_feeds_and_tapes_have_the_order_of_eager_mode():
    """Sums go along memory: those of arrays that lie in another order have other bits."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((37, 41, 5)).astype(np.float32)
    for array in base.T, base.transpose(1, 0, 2), np.broadcast_to(base[:1], base.shape):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a broadcast array can't be written
            x = sg.from_numpy(array).requires_grad_()
        expected = sg.exp(x).sum()
        expected.backward()
        with sg.Graph().as_default():
            fed = sg.placeholder(sg.float32, array.shape)
            y = sg.exp(fed).sum()
            with sg.Session(numerics="strict") as sess:
                identical(sess.run(y, {fed: array}), expected)
                identical(sess.make_callable(y, [fed])(array), expected)
        scale = sg.ones((), requires_grad=True)  # whose gradient is a sum over x
        values, total = sg.compile(lambda x, scale: ((y := sg.exp(x * scale)), y.sum()), numerics="strict")(x, scale)
        identical(total, expected)
        identical(values.mean(), sg.exp(x).mean())  # a result lies as eager mode's does
        identical(sg.grad(total, [scale])[0], sg.grad(sg.exp(x * scale).sum(), [scale])[0])


def test_errors_change_nothing():
    table = sg.tensor(np.ones((4, 2), np.float32), requires_grad=True)
    opt = optim.SGD([table], lr=0.1)

    @sg.compile(numerics="strict")
    def step(index):
        opt.zero_grad()
        F.embedding(index, table).sum().backward()
        opt.step()

    step(np.array([1, 2]))
    before = table.detach().numpy().copy()
    with pytest.raises(sg.IndexRangeError, match="index 4 is out of range for axis 0 with extent 4"):
        step(np.array([1, 4]))
    identical(table, before)
    step(np.array([1, 3]))


@pytest.mark.parametrize("make", [lambda: sg.compile(lambda x: x, numerics="exact"), lambda: sg.Session(numerics="exact")])
def test_other_numerics(make: Any):
    with pytest.raises(sg.ArgumentError, match="numerics has to be 'fast' or 'strict', got 'exact'"):
        make()
