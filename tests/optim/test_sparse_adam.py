"""SparseAdam: moments of the rows that a step used, in every mode, against PyTorch and NumPy; no step walks a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.functional as F
from staticgrad import nn, optim
from staticgrad.errors import ArgumentError, GradientError

ROWS, WIDTH, STEPS = 30, 3, 6
OPTIONS: list[dict[str, Any]] = [
    {},
    {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3},
    {"lr": 0.1, "betas": (0.0, 0.0), "maximize": True},
]
TOLERANCE = {np.float64: {"rtol": 1e-12, "atol": 1e-13}, np.float32: {"rtol": 1e-4, "atol": 1e-6}}


def looked_up(w, index, target):
    """Rows that are named several times."""
    return ((F.embedding(index, w) - target) ** 2).sum()


def twice(w, index, target):
    """A table that is used in two places, and scaled."""
    return (F.embedding(index, w) * F.embedding(index[::-1], w) * target).sum() / 3


def bags(w, index, target):
    return (F.embedding_bag(index, w, mode="sum") * target[:, 0]).sum()


LOSSES = [looked_up, twice, bags]


def problem(dtype, rows=ROWS):
    rng = np.random.default_rng(0)
    table = rng.standard_normal((rows, WIDTH)).astype(dtype)
    index = rng.integers(0, 12, (STEPS, 4, 5))
    return table, [(i, rng.standard_normal((4, 5, WIDTH)).astype(dtype)) for i in index]


def run_on_host(loss, dtype, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
    """With the gradient of eager mode; the rows are those of the index."""
    p, batches = problem(dtype)
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, (index, target) in enumerate(batches, 1):
        w = sg.tensor(p, requires_grad=True)
        (g,) = sg.grad(loss(w, sg.tensor(index), sg.tensor(target)), [w])
        rows = np.unique(index)
        g = (-g if maximize else g).numpy()[rows]
        m[rows] += (1 - betas[0]) * (g - m[rows])
        v[rows] += (1 - betas[1]) * (g * g - v[rows])
        size = lr * np.sqrt(1 - betas[1] ** t) / (1 - betas[0] ** t)
        p[rows] -= (size * m[rows] / (np.sqrt(v[rows]) + eps)).astype(dtype)
    return p, m, v


def stepper(loss, options, dtype, rows=ROWS):
    table, batches = problem(dtype, rows)
    w = sg.tensor(table, requires_grad=True)
    opt = optim.SparseAdam([w], **options)

    def step(index, target):
        opt.zero_grad()
        value = loss(w, index, target)
        value.backward()
        opt.step()
        return value

    return w, opt, step, batches


def trained(mode, loss, options, dtype):
    """(table, moments) after some steps."""
    w, opt, step, batches = stepper(loss, options, dtype)
    if mode == "session":
        return in_session(loss, options, dtype)
    run = sg.compile(step) if mode == "compiled" else step
    for index, target in batches:
        run(sg.tensor(index), sg.tensor(target))
    if mode == "compiled":
        assert run.recompiles == ["first call"]
        assert run.plan.host_calls == 0
    return w.detach().numpy(), *(opt.state[w][name].numpy() for name in ("exp_avg", "exp_avg_sq"))


def in_session(loss, options, dtype):
    table, batches = problem(dtype)
    with sg.Graph().as_default() as graph:
        index, target = sg.placeholder("int64", (None, 5)), sg.placeholder(dtype, (None, 5, WIDTH))
        w = sg.Variable(table)
        train = optim.SparseAdam(**options).minimize(loss(w, index, target))
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            for i, t in batches:
                sess.run(train, {index: i, target: t})
            moments = [v for v in graph.variables if v.name.endswith(("/exp_avg", "/exp_avg_sq"))]
            return sess.run([w, *moments])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mode", ["eager", "compiled", "session"])
def test_modes(mode, loss, dtype):
    for options in OPTIONS:
        for value, expected in zip(trained(mode, loss, options, dtype), run_on_host(loss, dtype, **options), strict=True):
            assert value.dtype == dtype
            np.testing.assert_allclose(value, expected, **TOLERANCE[dtype])


@pytest.mark.oracle
@pytest.mark.parametrize("options", OPTIONS)
def test_against_torch(options):
    torch = pytest.importorskip("torch")
    w, opt, step, batches = stepper(looked_up, options, np.float64)
    theirs = torch.tensor(problem(np.float64)[0], requires_grad=True)
    other = torch.optim.SparseAdam([theirs], **options)
    for index, target in batches:
        step(sg.tensor(index), sg.tensor(target))
        other.zero_grad()
        found = torch.nn.functional.embedding(torch.tensor(index), theirs, sparse=True)
        ((found - torch.tensor(target)) ** 2).sum().backward()
        other.step()
    np.testing.assert_allclose(w.detach().numpy(), theirs.detach().numpy(), rtol=1e-12, atol=1e-13)
    ours, saved = opt.state_dict(), other.state_dict()
    assert ours["param_groups"] == saved["param_groups"]
    assert ours["state"][0].keys() == saved["state"][0].keys()
    for name, value in ours["state"][0].items():
        np.testing.assert_allclose(value.numpy(), np.asarray(saved["state"][0][name]), rtol=1e-12, atol=1e-13)
    again = optim.SparseAdam([sg.tensor(theirs.detach().numpy(), requires_grad=True)])
    again.load_state_dict(saved)
    assert again.param_groups[0]["betas"] == other.param_groups[0]["betas"]
    (slots,) = again.state.values()
    assert slots["step"].item() == STEPS


@pytest.mark.oracle
@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}])
def test_sgd_on_rows_against_torch(options):
    """PyTorch's momentum of sparse gradients covers every row that was ever used: it is that of the whole table."""
    torch = pytest.importorskip("torch")
    table, batches = problem(np.float64)
    w, theirs = sg.tensor(table, requires_grad=True), torch.tensor(table, requires_grad=True)
    opt, other = optim.SGD([w], lr=0.1, **options), torch.optim.SGD([theirs], lr=0.1, **options)

    @sg.compile
    def step(index, target):
        opt.zero_grad()
        looked_up(w, index, target).backward()
        opt.step()

    for index, target in batches:
        step(index, target)
        other.zero_grad()
        found = torch.nn.functional.embedding(torch.tensor(index), theirs, sparse=True)
        ((found - torch.tensor(target)) ** 2).sum().backward()
        other.step()
    np.testing.assert_allclose(w.detach().numpy(), theirs.detach().numpy(), rtol=1e-12, atol=1e-13)


def test_other_rows_stay_as_they_are():
    w, opt, step, batches = stepper(looked_up, {"lr": 0.1}, np.float32)
    before = w.detach().numpy().copy()
    compiled = sg.compile(step)
    compiled(*batches[0])
    compiled(np.full((4, 5), 29), batches[1][1])
    used = np.unique(batches[0][0])
    m = opt.state[w]["exp_avg"].numpy()
    assert np.flatnonzero(m.any(1)).tolist() == [*used, 29]
    after_one, _, again, _ = stepper(looked_up, {"lr": 0.1}, np.float32)
    again(sg.tensor(batches[0][0]), sg.tensor(batches[0][1]))
    np.testing.assert_allclose(w.detach().numpy()[used], after_one.detach().numpy()[used], rtol=1e-6)
    rest = np.setdiff1d(np.arange(ROWS), [*used, 29])
    assert w.detach().numpy()[rest].tobytes() == before[rest].tobytes()


def test_a_compiled_step_never_walks_the_table():
    rows = 200_000
    w, opt, step, batches = stepper(looked_up, {}, np.float32, rows)
    compiled = sg.compile(step)
    compiled(*batches[0])
    plan = compiled.plan
    assert max(row.work for row in plan.instructions) < 10_000
    assert max(np.prod(row.sizes[1:3]) for row in plan.instructions if row.kind in ("kernel", "copy")) < 10_000
    assert sum("index_add" in note and "written in place" in note for note in plan.notes) == 3
    assert plan.memory.arena < 10 * rows  # a place for each row, not the row


def test_an_index_that_repeats_nothing_and_one_that_is_empty():
    w, opt, step, batches = stepper(looked_up, {}, np.float64)
    for run in (step, sg.compile(step)):
        before = w.detach().numpy().copy()
        run(sg.tensor(np.zeros((0, 5), np.int64)), sg.tensor(np.zeros((0, 5, WIDTH))))
        np.testing.assert_array_equal(w.detach().numpy(), before)
    assert opt.state[w]["step"].item() == 2


# gradients --------------------------------------------------------------------------------------------------------------


def test_gradients_of_several_backward_passes_add_up():
    results = []
    for passes in (1, 2):
        w, opt, _, ((index, target), (more, aim), *_) = stepper(looked_up, {"lr": 0.1}, np.float64)
        if passes == 1:
            index, target = np.concatenate([index, more]), np.concatenate([target, aim])
        looked_up(w, sg.tensor(index), sg.tensor(target)).backward()
        if passes == 2:
            looked_up(w, sg.tensor(more), sg.tensor(aim)).backward()
        opt.step()
        results.append(w.detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-12)


DENSE = "SparseAdam does not support dense gradients, please consider Adam instead"


def test_dense_gradients_are_refused():
    w, opt, _, ((index, target), *_) = stepper(looked_up, {}, np.float64)
    before = w.detach().numpy().copy()

    def step(loss):
        opt.zero_grad()
        loss(w).backward()
        opt.step()

    dense = [lambda w: (w * w).sum(), lambda w: (w * w).sum() + looked_up(w, sg.tensor(index), sg.tensor(target))]
    for loss in dense:
        for run in (step, sg.compile(step)):
            with pytest.raises(GradientError, match=DENSE) as raised:
                run(loss)
            assert "the gradient of a parameter (30, 3) is not that of rows taken along axis 0" in str(raised.value)
    with sg.Graph().as_default():
        variable = sg.Variable(before)
        with pytest.raises(GradientError, match=DENSE):
            optim.SparseAdam().minimize(sg.sum(variable * variable))
    assert w.detach().numpy().tobytes() == before.tobytes()
    assert opt.state == {}


def test_a_gradient_that_was_made_dense_is_refused():
    w, opt, _, ((index, target), *_) = stepper(looked_up, {}, np.float64)
    looked_up(w, sg.tensor(index), sg.tensor(target)).backward()
    with sg.no_grad():
        w.grad *= 2.0
    opt.step()  # the rows are the same
    with sg.no_grad():
        w.grad += w
    with pytest.raises(GradientError, match=DENSE):
        opt.step()
    looked_up(w, sg.tensor(index), sg.tensor(target)).backward()
    w.grad = w.grad + 0.0
    with pytest.raises(GradientError, match=DENSE):
        opt.step()


def test_numbers_that_scale_a_gradient():
    """Clipping by a norm, in a compiled step."""
    w, opt, _, ((index, target), *_) = stepper(looked_up, {"lr": 0.1, "eps": 1.0}, np.float64)
    other, expected, _, _ = stepper(looked_up, {"lr": 0.1, "eps": 1.0}, np.float64)

    @sg.compile
    def step(index, target):
        looked_up(w, index, target).backward()
        w.grad = w.grad * 0.25
        opt.step()

    step(index, target)
    (0.25 * looked_up(other, sg.tensor(index), sg.tensor(target))).backward()
    expected.step()
    np.testing.assert_allclose(w.detach().numpy(), other.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"lr": 0.0}, "Invalid learning rate: 0.0"),
        ({"lr": -1}, "Invalid learning rate: -1"),
        ({"eps": 0.0}, "Invalid epsilon value: 0.0"),
        ({"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
        ({"betas": (0.9, -0.1)}, "Invalid beta parameter at index 1: -0.1"),
        ({"betas": (0.9,)}, "betas are two numbers, got (0.9,)"),
    ],
)
def test_errors(options, text):
    with pytest.raises(ArgumentError) as raised:
        optim.SparseAdam(nn.Embedding(3, 2).parameters(), **options)
    assert raised.value.summary == text
