"""Steps that touch a few rows of a table: the same numbers as eagerly, and nothing walks the whole table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.static import Session, Variable, assign_sub, global_variables_initializer, gradients, placeholder
from tests.helpers import RTOL, assert_close

pytestmark = pytest.mark.usefixtures("refusing", "few_kernels")

ENTRIES, WIDTH, CLASSES = 50, 8, 3
OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.5),
    "momentum": lambda p: optim.SGD(p, lr=0.5, momentum=0.9),
    "weight decay": lambda p: optim.SGD(p, lr=0.5, weight_decay=0.1),
    "adam": lambda p: optim.Adam(p, lr=0.1),
}
POOLS = {
    "mean": lambda table, index: F.embedding(index, table).mean(1),
    "sum": lambda table, index: F.embedding(index, table).sum(axis=1),
    "kept axis": lambda table, index: F.embedding(index, table).sum(axis=1, keepdims=True)[:, 0],
    "max": lambda table, index: F.embedding(index, table).amax(1),
    "flat": lambda table, index: F.embedding(index.reshape(-1), table)[: index.shape[0]],
    "negative": lambda table, index: table[index - ENTRIES].sum(1),
    "twice": lambda table, index: F.embedding(index, table).sum(1) * F.embedding(index[:, 0], table),
    "weighted": lambda table, index: (F.embedding(index, table) * sg.astype(index[..., None], table.dtype) / ENTRIES).sum(1),
}


class Model:
    def __init__(self, pool: Any, optimizer: Any, dtype: Any):
        rng = np.random.default_rng(0)
        self.table = sg.tensor(rng.standard_normal((ENTRIES, WIDTH)).astype(dtype), requires_grad=True)
        self.weight = sg.tensor(rng.standard_normal((WIDTH, CLASSES)).astype(dtype), requires_grad=True)
        self.opt = optimizer([self.table, self.weight])
        self.pool = pool

    def step(self, index: Any, label: Any) -> Any:
        loss = F.cross_entropy(self.pool(self.table, index) @ self.weight, label)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss


def batches(n: int = 6) -> list[tuple[np.ndarray, np.ndarray]]:
    """Indices with repetitions inside a bag and between bags."""
    rng = np.random.default_rng(1)
    return [(rng.integers(0, ENTRIES, (6, 5)) // (1 + 9 * (i % 2)), rng.integers(0, CLASSES, 6)) for i in range(n)]


def close(actual: Any, expected: Any, what: str) -> None:
    assert_close(actual, expected, RTOL[expected.dtype] * 4, what=what)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_and_gradients_as_eagerly(optimizer: str, pool: str, dtype: Any):
    eager, traced = (Model(POOLS[pool], OPTIMIZERS[optimizer], dtype) for _ in range(2))
    step = sg.compile(traced.step)
    held = []
    for i, (index, label) in enumerate(batches()):
        close(step(index, label), eager.step(index, label), "loss")
        close(traced.table, eager.table, "table")
        if i % 3:  # some gradients are never looked at
            held.append((traced.table.grad, eager.table.grad))
        close(traced.weight.grad, eager.weight.grad, "gradient of the weight")
    for mine, theirs in held:  # those that were held are what they were
        close(mine, theirs, "gradient of the table")
    assert step.plan.host_calls == 0


def test_a_plain_step_walks_only_the_rows_that_it_uses():
    step = sg.compile(Model(POOLS["mean"], OPTIMIZERS["sgd"], np.float32).step)
    for index, label in batches(2):
        step(index, label)
    assert [row.name for row in step.plan.instructions if row.kind in ("routine", "clear")] == [
        "gather_sum",
        "index_add",
    ]
    assert max(node.type.size for row in step.plan.instructions for node in row.nodes if row.kind == "kernel") < ENTRIES * WIDTH
    assert "made in whole" not in step.explain()


@pytest.mark.parametrize(("optimizer", "why"), [("momentum", "add"), ("weight decay", "add"), ("adam", "mul")])
def test_explain_says_why_all_of_a_gradient_is_made(optimizer: str, why: str):
    step = sg.compile(Model(POOLS["mean"], OPTIMIZERS[optimizer], np.float32).step)
    for index, label in batches(2):
        step(index, label)
    (line,) = [line for line in step.explain(detail=True).splitlines() if "made in whole" in line]
    assert line.startswith(f"  put_add f32[{ENTRIES},{WIDTH}]: made in whole, zeros included, because ")
    assert why in line.split("because ")[1]


def test_many_small_steps_of_one_row_are_not_lost():
    """10,000 times 1e-5 beside 1000: one at a time, none would be seen in float32."""
    table = sg.tensor(np.full((4, 2), 1000, np.float32), requires_grad=True)
    opt = optim.SGD([table], lr=1e-5)

    @sg.compile
    def step(index):
        opt.zero_grad()
        F.embedding(index, table).sum().backward()
        opt.step()

    step(np.zeros(10_000, np.int64))
    np.testing.assert_allclose(table.detach().numpy()[:, 0], [999.9, 1000, 1000, 1000], rtol=1e-7)


def test_a_gradient_that_is_accumulated():
    eager, traced = (Model(POOLS["mean"], OPTIMIZERS["sgd"], np.float64) for _ in range(2))

    def accumulate(model):
        def step(index, label):
            loss = F.cross_entropy(model.pool(model.table, index) @ model.weight, label)
            loss.backward()
            model.opt.step()
            return loss

        return step

    mine, theirs = sg.compile(accumulate(traced)), accumulate(eager)
    for index, label in batches():
        close(mine(index, label), theirs(index, label), "loss")
    close(traced.table.grad, eager.table.grad, "gradient")
    close(traced.table, eager.table, "table")


def test_a_bad_index_changes_nothing():
    model = Model(POOLS["mean"], OPTIMIZERS["sgd"], np.float32)
    step = sg.compile(model.step)
    (index, label), (other, _) = batches(2)
    step(index, label)
    before, g = model.table.detach().numpy().copy(), model.table.grad
    other[3, 2] = ENTRIES
    with pytest.raises(sg.IndexRangeError, match=f"index {ENTRIES} is out of range for axis 0 with extent {ENTRIES}"):
        step(other, label)
    assert_close(model.table.detach().numpy(), before)
    assert model.table.grad is g
    step(index, label)  # and the counters are as they were
    eager = Model(POOLS["mean"], OPTIMIZERS["sgd"], np.float32)
    for _ in range(2):
        eager.step(index, label)
    close(model.table, eager.table, "table")


def test_a_gradient_is_an_ordinary_tensor_once_it_is_looked_at():
    model = Model(POOLS["mean"], OPTIMIZERS["sgd"], np.float32)
    step = sg.compile(model.step)
    (index, label), (other, _) = batches(2)
    step(index, label)
    g = model.table.grad
    assert isinstance(g, sg.Tensor)
    assert g.shape == (ENTRIES, WIDTH)
    first = g.numpy().copy()
    assert type(g) is sg.Tensor
    g *= 2
    step(other, label)
    assert model.table.grad is not g
    assert_close(g.numpy(), first * 2)
    assert np.abs(model.table.grad.numpy() - first).max() > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_in_a_session(dtype: Any):
    eager = Model(POOLS["mean"], OPTIMIZERS["sgd"], dtype)
    graph = sg.Graph()
    with graph.as_default():
        index, label = placeholder(np.int64, (None, 5)), placeholder(np.int64, (None,))
        table, weight = Variable(eager.table.detach().numpy().copy()), Variable(eager.weight.detach().numpy().copy())
        loss = F.cross_entropy(F.embedding(index, table).mean(1) @ weight, label)
        grads = gradients(loss, [table, weight])
        train = [assign_sub(v, 0.5 * g) for v, g in zip((table, weight), grads, strict=True)]
        with Session() as sess:
            sess.run(global_variables_initializer())
            for i, y in batches():
                value = sess.run([loss, *train], {index: i, label: y})[0]
                np.testing.assert_allclose(value, eager.step(i, y).item(), rtol=RTOL[np.dtype(dtype)] * 4)
            assert_close(sess.run(table), eager.table.detach().numpy(), RTOL[np.dtype(dtype)] * 4)


# bags -----------------------------------------------------------------------------------------------------------------

TABLE = np.random.default_rng(0).standard_normal((7, 4))
INDEX = np.array([[0, 6, 3], [3, 3, 1]])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_embedding_bag_in_every_mode(mode: str, dtype: Any):
    table = sg.tensor(TABLE.astype(dtype), requires_grad=True)
    expected = getattr(np, mode)(TABLE.astype(dtype)[INDEX], axis=1)

    def both(table):
        out = F.embedding_bag(INDEX, table, mode=mode)
        (first,) = sg.grad((out**3).sum(), [table], create_graph=True)
        (second,) = sg.grad((first**2).sum(), [table])
        return out, first, second

    eager, compiled = both(table), sg.compile(both)(table)
    assert_close(eager[0].detach().numpy(), expected, 1e-6)
    for a, b in zip(compiled, eager, strict=True):
        close(a, b, mode)
    bag = nn.EmbeddingBag(7, 4, mode=mode)
    assert_close(bag(INDEX).detach().numpy(), getattr(np, mode)(bag.weight.detach().numpy()[INDEX], axis=1), 1e-6)
    assert repr(bag) == f"EmbeddingBag(7, 4, mode={mode!r})"


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_embedding_bag_with_offsets(mode: str):
    index, offsets = np.array([0, 6, 3, 3, 3]), np.array([0, 2, 2])

    def run(table):
        out = F.embedding_bag(index, table, offsets, mode=mode)
        return out, *sg.grad((out**2).sum(), [table])

    table = sg.tensor(TABLE, requires_grad=True)
    expected = np.stack([getattr(np, mode)(TABLE[[0, 6]], axis=0), np.zeros(4), getattr(np, mode)(TABLE[[3, 3, 3]], axis=0)])
    eager, compiled = run(table), sg.compile(run)(table)
    assert_close(eager[0].detach().numpy(), expected, 1e-14)
    for a, b in zip(compiled, eager, strict=True):
        close(a, b, mode)


def test_embedding_bag_of_weighted_rows():
    weights = np.random.default_rng(1).standard_normal(INDEX.shape)
    out = F.embedding_bag(INDEX, sg.tensor(TABLE), mode="sum", per_sample_weights=weights)
    assert_close(out.numpy(), (TABLE[INDEX] * weights[..., None]).sum(1), 1e-14)


ERRORS = [
    (lambda: F.embedding_bag(INDEX, TABLE, mode="min"), sg.ArgumentError,
     "embedding_bag: mode has to be one of sum, mean or max, got 'min'"),
    (lambda: F.embedding_bag(INDEX[0], TABLE), sg.ShapeError,
     "embedding_bag: input has to be a 2D Tensor, or a 1D Tensor with offsets, got (3,)"),
    (lambda: F.embedding_bag(INDEX, TABLE, per_sample_weights=INDEX), sg.ArgumentError,
     "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode='mean')"),
    (lambda: nn.EmbeddingBag(3, 2, mode="min"), sg.ArgumentError,
     "EmbeddingBag: mode has to be one of sum, mean or max, got 'min'"),
    (lambda: sg.index_add(TABLE, 0, INDEX, TABLE), sg.ShapeError, "index_add: the index needs one axis, got (2, 3)"),
    (lambda: sg.index_add(TABLE, 0, [0], TABLE[:2]), sg.ShapeError,
     "index_add: the values need shape (1, 4), got (2, 4)"),
    (lambda: sg.index_add(TABLE, 0, [0], TABLE[:1].astype(np.float32)), sg.DTypeError,
     "self and source are expected to have the same dtype, but got float64 and float32"),
    (lambda: sg.index_add(TABLE, 0, [7], TABLE[:1]), sg.IndexRangeError, "index 7 is out of range for axis 0 with extent 7"),
]  # fmt: skip


@pytest.mark.parametrize(("action", "error", "text"), ERRORS, ids=[text[:50] for *_, text in ERRORS])
def test_errors(action: Any, error: type[Exception], text: str):
    with pytest.raises(error) as caught:
        action()
    assert text in str(caught.value)
