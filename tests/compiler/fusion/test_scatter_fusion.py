"""Rows that kernels add where they belong, instead of storing them for a routine that does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.autodiff.reverse import gradients
from staticgrad.compiler.backend.kernel_cache import without_comments
from staticgrad.operators import F, Symbol, apply
from staticgrad.ops.gathering import scatter_op
from tests.compiler.helpers import Bench, reasons

NUMBERS = np.array([0, 6, 6, 2, 3, 6, 0])  # of a result of 7 rows: repeated, out of order, some left out
WIDTH = 40


@pytest.fixture(params=[1, 2], autouse=True)
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Both numbers of threads, which share even the smallest rows."""
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.PARALLEL_WORK", 1)
    before = sg.get_num_threads()
    sg.set_num_threads(request.param)
    yield request.param
    sg.set_num_threads(before)


def added(b: Bench, values: Symbol, numbers: object = NUMBERS, rows: int = 7) -> Symbol:
    """Zeros with these values added to rows."""
    index = b.feed(value=np.asarray(numbers, np.int64))
    like = b.feed(rows, *values.shape[len(index.shape) :], dtype=values.dtype)
    return apply(scatter_op, values, like, index, axis=0)


def some(b: Bench, *shape: int, dtype: type = np.float32) -> Symbol:
    """What a kernel computes, cheaply."""
    return b.feed(*(shape or (7, WIDTH)), dtype=dtype) * b.feed(*(shape or (7, WIDTH)), dtype=dtype)


FOLDED: dict[str, Callable[[Bench], list[Symbol]]] = {
    "a product": lambda b: [added(b, some(b))],
    "float64": lambda b: [added(b, some(b, dtype=np.float64))],
    "integers": lambda b: [added(b, some(b, dtype=np.int64))],
    "no numbers": lambda b: [added(b, some(b, 0, WIDTH), np.zeros(0))],
    "one number": lambda b: [added(b, some(b, 1, WIDTH), [5])],
    "one row": lambda b: [added(b, some(b), np.zeros(7), rows=1)],
    "the last row only": lambda b: [added(b, some(b), np.full(7, 6))],
    "as many rows as numbers": lambda b: [added(b, some(b), NUMBERS[::-1])],
    "many numbers": lambda b: [added(b, some(b, 700, WIDTH), np.arange(700) ** 2 % 11, rows=11)],
    "batches of numbers": lambda b: [added(b, some(b, 2, 3, WIDTH), [[6, 1, 6], [6, 0, 1]])],
    "rows of many axes": lambda b: [added(b, some(b, 7, 4, 10))],
    "values per row and per column": lambda b: [added(b, some(b) * b.feed(7, 1) + b.feed(WIDTH))],
    "a view of what is computed": lambda b: [added(b, F.reshape(some(b, 7 * WIDTH), (7, WIDTH)))],
    "numbers that lie apart": lambda b: [added_apart(b)],
    "a sum over rows beside it": lambda b: [added(b, y := F.tanh(b.feed(7, WIDTH))), F.sum(y, 0)],
    "a sum of all beside it": lambda b: [added(b, y := some(b)), F.sum(y * y)],
    "another result beside it": lambda b: [added(b, (y := F.exp(b.feed(7, WIDTH))) * 2), y],
    "rows looked up alone": lambda b: [added(b, F.take(b.feed(9, WIDTH), b.feed(value=NUMBERS + 2), 0))],
    "rows looked up": lambda b: [added(b, F.tanh(F.take(b.feed(9, WIDTH), b.feed(value=NUMBERS + 2), 0)))],
}


def added_apart(b: Bench) -> Symbol:
    index = b.feed(value=np.stack([NUMBERS, NUMBERS], 1))[:, 0]
    return apply(scatter_op, some(b), b.feed(7, WIDTH), index, axis=0)


@pytest.mark.parametrize("name", FOLDED)
def test_added_by_the_kernel_that_computes_them(name: str, threads: int):
    b = Bench()
    plan = b.check(*FOLDED[name](b), rtol=2e-5)
    kernels = [row for row in plan.instructions if row.kind == "kernel"]
    assert len(kernels) == 1, plan.explain()
    assert "put_add" in kernels[0].name
    assert not {"scatter_add", "zero"} & {row.name for row in plan.instructions}
    assert kernels[0].chunks == (1 if name in ("no numbers", "one number") else threads)


STORED: dict[str, tuple[str, Callable[[Bench], list[Symbol]]]] = {
    "they are a result": ("they are stored anyway", lambda b: [y := some(b), added(b, y)]),
    "a product reads them too": ("they are stored anyway", lambda b: [(y := some(b)) @ b.feed(WIDTH, 2), added(b, y)]),
    "a routine computes them": ("", lambda b: [added(b, b.feed(7, 3) @ b.feed(3, WIDTH))]),
    "nobody computes them": ("", lambda b: [added(b, b.feed(7, WIDTH))]),
    "short rows": ("", lambda b: [added(b, some(b, 7, 31))]),
    "along the last axis": ("", lambda b: [apply(scatter_op, some(b), b.feed(7, 50), b.feed(value=np.arange(WIDTH)), axis=1)]),
    "rows are summed up": ("the kernel reduces rows", lambda b: [added(b, F.softmax(b.feed(7, WIDTH)))]),
    "dear": ("its work is expensive", lambda b: [added(b, F.tanh(F.sin(F.exp(F.tanh(b.feed(7, WIDTH))))))]),
}  # fmt: skip


@pytest.mark.parametrize("name", STORED)
def test_stored_and_added_by_a_routine(name: str):
    why, program = STORED[name]
    b = Bench()
    plan = b.check(*program(b), rtol=2e-5)
    assert "scatter_add" in {row.name for row in plan.instructions}, plan.explain()
    assert not why or any(why in text for text in reasons(plan, False))


def test_two_results_are_two_kernels():
    b = Bench()
    x = b.feed(7, WIDTH)
    plan = b.check(added(b, x * 2), added(b, x + 1, NUMBERS[::-1]))
    assert [row.kind for row in plan.instructions if row.kind != "check"] == ["kernel", "kernel"], plan.explain()


def test_numbers_that_a_kernel_computes_lie_in_memory():
    b = Bench()
    index = b.feed(value=NUMBERS // 2) * 2
    plan = b.check(apply(scatter_op, some(b), b.feed(7, WIDTH), index, axis=0))
    assert "scatter_add" not in {row.name for row in plan.instructions}, plan.explain()


def test_what_needs_the_whole_result_waits_for_it():
    """Also where it has the shape of what is added."""
    b = Bench()
    y = some(b)
    b.check(added(b, y) * 2.0, F.sum(added(b, y + 1.0), 0), rtol=2e-5)


@pytest.mark.parametrize("reads", [False, True])
def test_a_variable_takes_the_result(reads: bool):
    """Where the kernel reads its rows, it keeps them until the kernel is done."""
    b = Bench()
    w = b.variable(7, WIDTH)
    rows = F.take(w, b.feed(value=NUMBERS[::-1].copy()), 0) if reads else b.feed(7, WIDTH)
    b.assign(w, added(b, rows * 2.0))
    b.check()


def test_any_number_of_threads_gives_the_same_bits():
    results = []
    for count in (1, 2):
        sg.set_num_threads(count)
        b = Bench()
        y = added(b, some(b, 5000, WIDTH), np.random.default_rng(0).integers(0, 50, 5000), rows=50)
        results.append(b.plan(y).run(b.arrays, b.store)[0])
    np.testing.assert_array_equal(*results)


def test_another_number_of_rows_shares_the_kernel():
    bodies = set()
    for n, rows in ((3, 7), (40, 9)):
        b = Bench()
        plan = b.plan(added(b, some(b, n, WIDTH), np.arange(n) % rows, rows))
        bodies.add(tuple(without_comments(row.source) for row in plan.instructions if row.kind == "kernel"))
    assert len(bodies) == 1


def test_the_gradient_of_rows_and_what_follows_them():
    """Numbers, rows read in place, the function, its derivative, and the rows added: one kernel."""
    b = Bench()
    table = b.feed(9, WIDTH)
    y = F.sum(F.square(F.tanh(F.take(table, b.feed(value=NUMBERS), 0))))
    plan = b.check(y, *gradients([y], [table]), rtol=1e-5)
    assert [row.kind for row in plan.instructions if row.kind != "fold"] == ["check", "kernel"], plan.explain()


def test_layer_norm_behind_an_embedding():
    """Rows are summed up between: the kernel of the gradient walks blocks of them, and a routine adds."""
    rng = np.random.default_rng(0)
    table, weight, bias = (sg.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((9, 64), 64, 64))

    def program(ids):
        y = sg.tanh(sg.functional.layer_norm(table[ids], (64,), weight, bias)).sum()
        return tuple(sg.grad(y, [table, weight, bias]))

    step = sg.compile(program)
    for result, reference in zip(step(NUMBERS), program(NUMBERS), strict=True):
        np.testing.assert_allclose(result.numpy(), reference.numpy(), rtol=1e-10, atol=1e-10)
    kinds = [row.kind for row in step.plan.instructions if row.kind != "fold"]
    assert kinds == ["check", "kernel", "routine"], step.explain()
    assert "the kernel reduces rows, and works on tiles of them" in step.explain()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ids", [NUMBERS, -1 - NUMBERS, np.zeros(0, np.int64), np.array([[3, 3], [0, 6]])])
def test_all_modes_agree(ids: np.ndarray, dtype: type):
    """Values, gradients and second gradients of a table's rows: eager, in a session, compiled."""
    rng = np.random.default_rng(1)
    start, weight = rng.standard_normal((7, WIDTH)).astype(dtype), rng.standard_normal((*ids.shape, WIDTH)).astype(dtype)

    def program(table, grad):
        y = sg.tanh(table[ids]) * weight
        (slope,) = grad(y.sum(), table)
        (bend,) = grad((slope * slope * slope).sum(), table)
        return y, slope, bend

    def eager(table):
        return program(table, lambda y, x: sg.grad(y, [x], create_graph=True))

    table = sg.tensor(start, requires_grad=True)
    expected = [v.detach().numpy() for v in eager(table)]
    compiled = [v.detach().numpy() for v in sg.compile(eager)(table)]
    with sg.Graph().as_default():
        variable = sg.Variable(start, name="table")
        session = sg.Session()
        session.run(sg.global_variables_initializer())
        values = session.run(list(program(variable, sg.gradients)))
    eps = np.finfo(dtype).eps
    for result, other, reference in zip(compiled, values, expected, strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e2 * eps, atol=1e2 * eps)
        np.testing.assert_allclose(other, reference, rtol=1e2 * eps, atol=1e2 * eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_messages_along_edges_are_one_kernel(dtype: type):
    """Rows that are looked up and added to zeros, forward and backward, with the bits of eager mode."""
    rng = np.random.default_rng(0)
    source, target = (sg.tensor(rng.integers(0, 30, 200)) for _ in range(2))
    x, w = (sg.tensor(rng.standard_normal((30, WIDTH)).astype(dtype), requires_grad=True) for _ in range(2))

    def messages(x: sg.Tensor, w: sg.Tensor) -> tuple[sg.Tensor, ...]:
        received = sg.zeros(30, WIDTH, dtype=x.dtype).index_add(0, target, x[source])
        (slope,) = sg.grad((received * w).sum(), x, create_graph=True)
        return received, slope, sg.grad((slope * x).sum(), w)[0]

    compiled = sg.compile(messages)
    for found, wanted in zip(compiled(x, w), messages(x, w), strict=True):
        np.testing.assert_array_equal(found.detach().numpy(), wanted.detach().numpy())
    assert {row.kind for row in compiled.plan.instructions} <= {"kernel", "check"}, compiled.plan.explain()


def test_rows_added_to_negative_zeros_keep_those_that_no_number_names():
    def function(values: sg.Tensor) -> sg.Tensor:
        return (-sg.zeros(9, WIDTH)).index_add(0, sg.tensor(NUMBERS), values)

    values = sg.tensor(np.ones((7, WIDTH), np.float32))
    np.testing.assert_array_equal(np.signbit(sg.compile(function)(values).numpy()), np.signbit(function(values).numpy()))
