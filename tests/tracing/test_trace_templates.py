"""Functions that read shapes, over one shape after another: traced again or not, they give what the eager function gives."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from tests.helpers import assert_same

pytestmark = pytest.mark.usefixtures("refusing", "few_kernels")

SIZES = (5, 7, 12, 9, 1, 30, 0, 6, 2, 8)
"""Of the batch: the second is traced over symbols, the third needs no trace if the function allows it."""
W = sg.tensor(np.linspace(-1, 1, 24, dtype=np.float32).reshape(6, 4))
NOT_AGAIN = "not traced again"
KNOWN = {5: 1.0, 7: 2.0}


def data(n: int) -> np.ndarray:
    return np.random.default_rng(n).standard_normal((n, 6)).astype(np.float32)


def compared(fn: Callable[..., Any], sizes: tuple[int, ...] = SIZES) -> list[str]:
    """`recompiles` of the function, whose results are compared with the eager ones."""
    step = sg.compile(fn)
    for n in sizes:
        x = sg.tensor(data(n))
        found, expected = step(x), fn(x)
        assert_same(flat(found), flat(expected), f"batch {n}, {step.recompiles}", rtol=1e-5)
    return step.recompiles


def flat(result: Any) -> list[Any]:
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [x.detach().numpy() if isinstance(x, sg.Tensor) else np.asarray(x) for x in parts]


def gradient(fn: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any) -> Any:
        x = x.detach().requires_grad_(True)
        y = fn(x)
        (sg.sin(y) * y).sum().backward()
        return x.grad

    return run


# functions of shapes ------------------------------------------------------------------------------------------------


def by_head(x: Any) -> Any:
    b, c = x.shape
    assert c == 6, f"(batch, 6) is needed, got {x.shape}"
    return x.reshape(b, c // 2, 2).transpose(1, 2).reshape(b, c)


FOLLOWED: dict[str, Callable[..., Any]] = {
    "none": lambda x: sg.tanh(x) * 2,
    "view": lambda x: x.view(x.shape[0] * 2, 3),
    "size": lambda x: x.reshape(x.size(0), 2, 3),
    "sizes": lambda x: x.reshape(*x.size()[:1], 3, 2),
    "heads": by_head,
    "mean": lambda x: x.sum() / x.shape[0],
    "numel": lambda x: x.sum() / x.numel(),
    "elements": lambda x: x.reshape(x.size // 2, 2),
    "pad": lambda x: F.pad(x, (1, 1, 0, 2)),
    "roll": lambda x: sg.roll(x, 1, 0),
    "product": lambda x: x * x.shape[0] + x.shape[1],
    "zeros": lambda x: sg.zeros(x.shape[0], 6) + x,
    "full": lambda x: sg.full((x.shape[0],), 2.5) * x[:, 0],
    "ones": lambda x: sg.ones(x.shape) - x,
    "like": lambda x: sg.ones_like(x) - x,
    "half": lambda x: x[: x.shape[0] // 2] if x.shape[0] > 3 else x,
    "last": lambda x: x[max(x.shape[0] - 3, 0) :],
    "columns": lambda x: x @ W,
    "rows": lambda x: x @ x.T,
    "twice": lambda x: sg.cat([x, x * 2], 0),
    "branch": lambda x: x * 2 if x.shape[0] > 3 else x + 1,
    "kind": lambda x: x * isinstance(x.shape[0], int),
    "loss": lambda x: F.cross_entropy(x, (x[:, 0] * 0).long(), reduction="sum"),
    "norm": lambda x: F.layer_norm(x, (6,)),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
    "scan": lambda x: sg.scan(lambda c, r: (c + r, sg.tanh(c)), sg.zeros(x.shape[0]), x.T)[1],
    "branches": lambda x: sg.cond(x.sum() > 0, lambda: x * 2, lambda: x * 3),
}


@pytest.mark.parametrize("of", [lambda fn: fn, gradient], ids=["value", "gradient"])
@pytest.mark.parametrize("fn", FOLLOWED.values(), ids=FOLLOWED)
def test_functions_of_shapes_are_not_traced_again(fn, of):
    """From the third shape on; batches of 0 and 1 are traced, and others where a condition does not hold."""
    recompiles = compared(of(fn))
    assert NOT_AGAIN in recompiles[2]
    assert sum(NOT_AGAIN in why for why in recompiles) >= 4, recompiles


PINNED: dict[str, Callable[..., Any]] = {
    "float": lambda x: x * float(x.shape[0]),
    "square root": lambda x: x / math.sqrt(x.shape[0] + 1),
    "power": lambda x: x * (x.shape[0] + 1) ** -0.5,
    "text": lambda x: x * len(f"{x.shape}"),
    "format": lambda x: x * len("%d" % x.shape[0]),  # noqa: UP031
    "length": lambda x: x * len(x),
    "array": lambda x: x * np.arange(x.shape[0], dtype=np.float32)[:, None],
    "range": lambda x: sum((row for row in x), sg.zeros(6)),
    "bits": lambda x: x * x.shape[0].bit_length(),
    "and": lambda x: x * (x.shape[0] & 3),
}
UNFOLLOWED: dict[str, tuple[Callable[..., Any], str]] = {
    "key": (lambda x: x * KNOWN.get(x.shape[0], 3.0), "an extent is a key"),
    "shape as key": (lambda x: x * {(5, 6): 1.0}.get(tuple(x.shape), 3.0), "an extent is a key"),
    "set": (lambda x: x * (1 + (x.shape[0] in {5, 7})), "an extent is a key"),
    "hash": (lambda x: x * (hash(x.shape[0]) % 3), "an extent is a key"),
    "type": (lambda x: x * (2 if type(x.shape[0]) is int else 3), "the type of an extent is asked for"),
    "result": (lambda x: (x * 2, x.shape[0]), "an extent outlives the trace"),
    "result in a list": (lambda x: [x * 2, 2 * x.shape[0] + 1], "an extent outlives the trace"),
    "NumPy": (lambda x: x * float(np.sqrt(x.shape[0])), "NumPy computes with an extent"),
    "array of extents": (lambda x: x * float(np.array([x.shape[0], 3]).sum()), "NumPy makes an array of an extent"),
    "an array": (lambda x: x * (np.arange(6, dtype=np.float32) * x.shape[0]), "NumPy computes with an extent"),
}


@pytest.mark.parametrize("fn", PINNED.values(), ids=PINNED)
def test_values_that_python_asks_for_hold_for_one_shape(fn):
    assert not any(NOT_AGAIN in why for why in compared(fn))


@pytest.mark.parametrize(("fn", "reason"), UNFOLLOWED.values(), ids=UNFOLLOWED)
def test_code_that_needs_numbers_is_traced_with_numbers(fn, reason):
    recompiles = compared(fn)
    assert f"traced with numbers, because {reason}" in recompiles[1]
    assert not any(NOT_AGAIN in why for why in recompiles)


def test_a_swallowed_exception_does_not_make_a_trace_valid():
    def step(x):
        try:
            factor = KNOWN[x.shape[0]]
        except BaseException:
            factor = 3.0
        return x * factor

    assert not any(NOT_AGAIN in why for why in compared(step))


def test_a_condition_that_does_not_hold_is_named():
    recompiles = compared(lambda x: x * 2 if x.shape[0] > 8 else x + 1, (5, 6, 7, 20, 30))
    assert [NOT_AGAIN in why for why in recompiles] == [False, False, True, False, True]
    assert "traced again, because x.shape[0] < 8 is false now" in recompiles[3]


def test_an_error_of_the_function_is_told_with_numbers():
    step = sg.compile(lambda x: x @ W if x.shape[0] < 9 else x @ x)
    for n in (5, 7, 8):
        step(sg.tensor(data(n)))
    with pytest.raises(sg.ShapeError, match=r"\(9, 6\) @ \(9, 6\)"):
        step(sg.tensor(data(9)))
    step(sg.tensor(data(4)))
    assert len(step.recompiles) == 4


def test_an_extent_in_a_conversion_of_the_key():
    """The kind of the other arguments decides which trace may serve."""
    step = sg.compile(lambda x, scale: x * scale)
    for n, scale in ((5, 2), (7, 2), (9, 2), (9, 3), (11, 3), (12, 2)):
        np.testing.assert_array_equal(step(data(n), scale), data(n) * np.float32(scale))
    assert [NOT_AGAIN in why for why in step.recompiles] == [False, False, True, False, False, True]


# state ----------------------------------------------------------------------------------------------------------------


def training() -> tuple[Callable[..., Any], nn.Module, optim.Optimizer]:
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.0), nn.BatchNorm1d(8), nn.Linear(8, 3))
    rng = np.random.default_rng(0)
    for p in model.parameters():
        p.data = sg.tensor(rng.normal(0, 0.3, p.shape).astype(np.float32))
    optimizer = optim.Adam(model.parameters(), lr=1e-2)

    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, model, optimizer


@pytest.mark.parametrize("settings", [{}, {"numerics": "strict"}, {"passes": [lambda graph: graph]}])
def test_training_with_batches_of_all_sizes(settings):
    (mine, model, optimizer), (other, copied, second) = training(), training()
    step = sg.compile(mine, **settings)
    kept = []
    for i, n in enumerate((8, 5, 5, 5, 5, 9, 9, 9, 9, 30, 8, 6, 2, 17, 9, 9, 5, 5)):
        x, y = data(n), np.random.default_rng(n).integers(0, 3, n)
        if i == 10:
            optimizer.param_groups[0]["lr"] = second.param_groups[0]["lr"] = 3e-3
        if i == 12:
            model.eval()
            copied.eval()
        assert_same(step(x, y).detach().numpy(), other(sg.tensor(x), sg.tensor(y)).detach().numpy(), f"step {i}", rtol=2e-5)
        first = next(model.parameters())
        kept.append((first.grad, first.grad.numpy().copy()))  # which a later step must not overwrite
        for a, b in zip(model.parameters(), copied.parameters(), strict=True):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-3, 1e-5, err_msg=f"step {i}")
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), 1e-3, 1e-6, err_msg=f"step {i}")
    for grad, before in kept:
        np.testing.assert_array_equal(grad.numpy(), before)
    assert sum(NOT_AGAIN in why for why in step.recompiles) >= 3, step.recompiles


def test_sparse_gradients_of_all_sizes():
    def made() -> tuple[Callable[..., Any], nn.Embedding]:
        table = nn.Embedding(50, 4)
        table.weight.data = sg.tensor(np.linspace(0, 1, 200, dtype=np.float32).reshape(50, 4))
        optimizer = optim.SGD(table.parameters(), lr=0.1)

        def step(index: Any) -> Any:
            optimizer.zero_grad()
            loss = (table(index) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        return step, table

    (mine, table), (other, copied) = made(), made()
    step, kept = sg.compile(mine), []
    for n in (5, 7, 7, 7, 7, 9, 9, 9, 12, 7, 30):
        index = np.random.default_rng(n).integers(0, 50, n)
        assert_same(step(index).detach().numpy(), other(sg.tensor(index)).detach().numpy(), f"{n}", rtol=1e-5)
        kept.append((table.weight.grad, copied.weight.grad.numpy().copy()))
        assert_same(table.weight.detach().numpy(), copied.weight.detach().numpy(), f"{n}", rtol=1e-5)
    for grad, expected in kept:
        assert_same(grad.numpy(), expected, "a gradient that is read later", rtol=1e-5)
    assert sum(NOT_AGAIN in why for why in step.recompiles) >= 2, step.recompiles


def test_state_that_is_made_of_extents():
    class Seen:
        rows = 0
        last = 0

    def step(x: Any, seen: Any = None) -> Any:
        seen.last = x.shape[0] * 2
        return x * 2

    mine, other = Seen(), Seen()
    compiled = sg.compile(lambda x: step(x, mine))
    for n in (5, 7, 9, 12, 9, 7):
        compiled(data(n))
        step(data(n), other)
        assert (mine.last, type(mine.last)) == (other.last, int)
    assert sum(NOT_AGAIN in why for why in compiled.recompiles) == 2


def test_arrays_of_extents_are_not_kept():
    class Seen:
        shape: Any = None

    seen = Seen()

    def step(x: Any) -> Any:
        seen.shape = np.array([*x.shape, 1])
        return x * 2

    compiled = sg.compile(step)
    for n in (5, 7, 9):
        compiled(data(n))
        assert seen.shape.dtype == np.int64
        assert seen.shape.tolist() == [n, 6, 1]


HIDDEN: dict[str, Callable[[int], Any]] = {
    "slice": lambda n: slice(1, n), "partial": lambda n: functools.partial(min, n, 100), "function": lambda n: lambda: n + 0,
    "default": lambda n: lambda m=n: m + 0, "tuple": lambda n: (n, 1), "dict": lambda n: {"n": n},
}  # fmt: skip


def test_a_shape_is_kept_as_numbers():
    class Seen:
        shape: Any = None

    seen = Seen()

    def step(x: Any) -> Any:
        seen.shape = x.shape
        return x * 2

    compiled = sg.compile(step)
    for n in (5, 7, 9):
        compiled(data(n))
        assert repr(seen.shape) == f"({n}, 6)"
        compiled(sg.tensor(data(n)))
        assert repr(seen.shape) == f"torch.Size([{n}, 6])"


@pytest.mark.parametrize("make", HIDDEN.values(), ids=HIDDEN)
def test_objects_that_hold_extents_are_not_kept(make):
    class Seen:
        value: Any = None

    seen = Seen()

    def step(x: Any) -> Any:
        seen.value = make(x.shape[0])
        return x * 2

    compiled = sg.compile(step)
    for n in (5, 7, 9):
        compiled(data(n))
        found, expected = seen.value, make(n)
        assert repr(found() if callable(found) else found) == repr(expected() if callable(expected) else expected)
    assert not any(NOT_AGAIN in why for why in compiled.recompiles)


def test_gradients_of_arguments_and_those_that_were_there():
    def step(x: Any) -> Any:
        (x * x).sum().backward()
        return x.grad * 1.0

    compiled = sg.compile(step)
    for n in (5, 7, 9, 11):
        mine, other = (sg.tensor(data(n), requires_grad=True) for _ in range(2))
        for _ in range(2):  # the second adds to what the first left
            assert_same(compiled(mine).numpy(), step(other).detach().numpy(), f"{n}", rtol=1e-6)
            assert_same(mine.grad.numpy(), other.grad.numpy(), f"{n}", rtol=1e-6)


def test_arguments_that_share_memory_with_what_is_written():
    room = sg.tensor(np.zeros((40, 6), np.float32))

    def step(x: Any) -> Any:
        room.add_(1.0)
        return x * 2

    compiled = sg.compile(step)
    for n in (5, 7, 9):
        before = room.numpy().copy()
        np.testing.assert_array_equal(compiled(data(n)), data(n) * 2)
        np.testing.assert_array_equal(room.numpy(), before + 1)
    inside = room[:11]
    expected = (inside.numpy() + 1) * 2
    np.testing.assert_array_equal(compiled(inside).numpy(), expected)


def test_random_numbers_are_those_of_eager_steps():
    def step(x: Any) -> Any:
        return F.dropout(x, 0.5) + sg.rand(x.shape[0], 1)

    compiled = sg.compile(step)
    for n in (5, 7, 9, 11, 7):
        sg.manual_seed(n)
        expected = step(sg.tensor(data(n))).numpy()
        sg.manual_seed(n)
        np.testing.assert_array_equal(compiled(data(n)).numpy(), expected)
    assert sum(NOT_AGAIN in why for why in compiled.recompiles) == 2


def test_output_is_not_written_twice(capsys):
    def step(x: Any) -> Any:
        print("a step")
        return x * len({x.shape[0]})

    compiled = sg.compile(step)
    for n in (5, 7, 9):
        compiled(data(n))
    assert capsys.readouterr().out == "a step\n" * 3


def test_each_shape_has_its_own_specialization():
    step = sg.compile(lambda x: sg.tanh(x) * 2)
    results = [step(data(n)) for n in (5, 7, 9, 11)]
    for n, result in zip((5, 7, 9, 11), results, strict=True):
        np.testing.assert_array_equal(result.numpy(), step(data(n)).numpy())
    assert len(step.recompiles) == 4
    assert "f32[11,6]" in str(step.graph("functionalize"))
    assert "extent" not in str(step.graph("functionalize")) + str(step.explain(detail=True))
