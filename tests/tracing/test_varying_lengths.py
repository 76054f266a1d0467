"""Lengths that are another number in each call: one trace serves them, as it serves arguments of other shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.helpers import assert_same

pytestmark = pytest.mark.usefixtures("few_kernels")

MODES: dict[str, dict[str, Any]] = {"compiled": {}, "strict": {"numerics": "strict"}, "segments": {"on_break": "split"}}
W = sg.tensor(np.random.default_rng(0).standard_normal((19, 17)), dtype=sg.float32, requires_grad=True)
X = W.detach()


class Holder:
    k, last = 0, 0

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.t = sg.zeros(19)


def stores(h: Any, k: int) -> Any:
    h.last = k
    h.log.append(k + 1)
    return X[:k] * 2


def changes(h: Any, k: int) -> Any:
    h.t[:k].add_(1)
    return h.t * 1


ONE_TRACE: dict[str, Callable[[Any, int], Any]] = {
    "a prefix": lambda h, k: X[:k] * 2,
    "a suffix": lambda h, k: X[k:] * 2,
    "the last ones": lambda h, k: X[-k:] * 2,
    "without the last ones": lambda h, k: X[:-k] * 2,
    "a part of both axes": lambda h, k: X[1:k, :k].sum(0),
    "a window": lambda h, k: X[k : k + k].exp(),
    "narrow": lambda h, k: X.narrow(0, 1, k) * 2,
    "ones": lambda h, k: sg.ones(k, k + 1) + 1,
    "full": lambda h, k: sg.full((k,), 3.0) * 2,
    "expand": lambda h, k: X[0].expand(k, 17) * 2,
    "reshape": lambda h, k: X.reshape(-1)[: 6 * k].reshape(k, 6).sum(1),
    "a mean": lambda h, k: X[:k].sum() / k,
    "a product": lambda h, k: X[:k] @ X[:k].t(),
    "softmax": lambda h, k: X[:, :k].softmax(1),
    "padding": lambda h, k: sg.cat([X[:k], sg.zeros(19 - k, 17)]),
    "half": lambda h, k: X[: k // 2 + 1] * 2,
    "a bound": lambda h, k: X[: min(k, 15)] * 2,
    "beside a position": lambda h, k: X[k - 1] + X[:k].sum(0),
}  # fmt: skip
AS_EAGERLY: dict[str, Callable[[Any, int], Any]] = {
    "view": lambda h, k: X[:k],
    "stored": stores,
    "changed": changes,
    "returned": lambda h, k: (X[:k] * 2, k, k + 1),
    "a text": lambda h, k: X[:k] * len(f"{k}"),
    "a key": lambda h, k: X[:k] * {2: 1.0, 3: 2.0}.get(k, 3.0),
    "a root": lambda h, k: X[:k] / math.sqrt(k) if k > 0 else X,
    "a list": lambda h, k: sum([X[:k].sum()] * k, X[0]),
    "a comparison": lambda h, k: X[:k] * (2.0 if k in (3, 4) else 1.0),
    "a type": lambda h, k: X[:k] * (2.0 if type(k) is int else 1.0),
    "a factor": lambda h, k: X[:k] * (k * 0.5),
    "a power": lambda h, k: X[:k] * 0.9**k,
    "a tensor": lambda h, k: X[:k, :2] * sg.tensor([k, 1]),
    "a loop": lambda h, k: sum((X[j] for j in range(k)), X[0]),
    "a branch by values": lambda h, k: X[:k] * 2 if X[:k].sum() > 0 else X[:k] * 3,
    "an error": lambda h, k: X[:k] if k < 6 else [][1],
}
LENGTHS = (2, 3, 4, 5, 6, 7, 9, 3, 5, 8)


def run(fn: Callable[[Any, int], Any], lengths: Any, place: str, mode: str) -> Any:
    mine, other = Holder(), Holder()
    step = sg.compile((lambda k: fn(mine, k)) if place == "argument" else lambda: fn(mine, mine.k), **MODES[mode])
    for k in lengths:
        mine.k, given = k, (k,) if place == "argument" else ()
        try:
            expected = fn(other, k)
        except Exception as error:
            with pytest.raises(type(error)):
                step(*given)
        else:
            assert_same(step(*given), expected, f"of {k}", 1e-4)
        assert_same([mine.last, mine.log, mine.t], [other.last, other.log, other.t], f"of {k}")
    return step


@pytest.mark.parametrize("place", ["argument", "state"])
@pytest.mark.parametrize("name", ONE_TRACE)
def test_one_trace_serves_all(name, place):
    step = run(ONE_TRACE[name], LENGTHS, place, "compiled")
    assert step.traces <= 5, step.recompiles
    assert step.segmented is None


@pytest.mark.parametrize("mode", ["strict", "segments"])
@pytest.mark.parametrize("name", ["a prefix", "the last ones", "ones", "a product"])
def test_modes(name, mode):
    run(ONE_TRACE[name], LENGTHS, "argument", mode)


@pytest.mark.parametrize("place", ["argument", "state"])
@pytest.mark.parametrize("name", {**ONE_TRACE, **AS_EAGERLY})
def test_all_lengths(name, place):
    """Those for which Python, or the shapes, are special."""
    run({**ONE_TRACE, **AS_EAGERLY}[name], (2, 3, 4, 5, 6, 17, 19, 0, 1, 20, -1, -19, 4, 7), place, "compiled")


def test_two_lengths():
    step = sg.compile(lambda x, i, n: x[i : i + n] * 2)
    x = sg.arange(20.0)
    for i, n in [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (0, 8), (3, 3), (19, 1), (9, 4)]:
        assert_same(step(x, i, n), x[i : i + n] * 2, f"{i}, {n}")
    assert step.traces <= 7, step.recompiles


def test_lengths_and_shapes():
    step = sg.compile(lambda x, k: x[:k].sum(0))
    for n, k in [(9, 2), (9, 3), (9, 4), (10, 5), (11, 6), (12, 5), (13, 7), (9, 8)]:
        x = sg.tensor(np.random.default_rng(n).standard_normal((n, 3)))
        assert_same(step(x, k), x[:k].sum(0), f"{n}, {k}", 1e-6)
    assert step.traces <= 6, step.recompiles


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients(dtype):
    w = W.detach().to(getattr(sg, dtype)).requires_grad_()

    def slopes(k: int) -> Any:
        (first,) = sg.autograd.grad((w[:k] ** 3).sum() / k, w, create_graph=True)
        (second,) = sg.autograd.grad((first**2).sum(), w)
        return first, second

    step, backward = sg.compile(slopes), sg.compile(lambda k: (w[:k] ** 3).sum())
    for k in LENGTHS:
        for found, expected in zip(step(k), slopes(k), strict=True):
            assert_same(found.detach(), expected.detach(), f"of {k}", 1e-5)
        w.grad = None
        backward(k).backward()
        found, w.grad = w.grad, None
        (w[:k] ** 3).sum().backward()
        assert_same(found, w.grad, f"of {k}", 1e-5)
    assert step.traces <= 5


def test_a_step_that_counts():
    holder = Holder()

    def count(x: Any) -> Any:
        holder.k += 1
        return x[: holder.k].sum()

    step, x = sg.compile(count), sg.arange(20.0)
    for i in range(12):
        assert step(x).item() == sum(range(i + 1))
    assert holder.k == 12
    assert step.traces <= 4, step.recompiles


def test_extents_as_places_of_a_list():
    """A place that follows from the shape of an argument is that of each call: the list's own items are read and written."""

    def step(kept):
        def run(x):
            n = x.shape[0]
            y = x * kept[n % 3]
            kept[(n + 1) % 3] = x.sum()
            kept[n % 2] = kept[n % 2] + 1
            return y

        return run

    expected, actual = ([sg.zeros(()) for _ in range(3)] for _ in range(2))
    eager, compiled = step(expected), sg.compile(step(actual))
    for n in (2, 3, 4, 5, 6, 7, 4, 5, 9, 3):
        assert compiled(sg.ones(n)).tolist() == eager(sg.ones(n)).tolist()
        assert [x.item() for x in actual] == [x.item() for x in expected]
