"""Positions that are another integer in each call of a function in segments: one road serves them, and memory is shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.helpers import assert_same

pytestmark = pytest.mark.usefixtures("few_kernels")

X = sg.tensor(np.random.default_rng(0).standard_normal((7, 6)), dtype=sg.float32)


class Holder:
    k = 0

    def __init__(self, dtype: str = "float32"):
        self.p = sg.tensor(np.random.default_rng(1).standard_normal((7, 6)), dtype=dtype, requires_grad=True)


def written(h: Any, x: Any) -> Any:
    x[h.k].add_(5)
    return x * 1


def base_written(h: Any, x: Any) -> Any:
    view = x[h.k : h.k + 2]
    x.mul_(2)
    return view * 1


def slope(h: Any, x: Any) -> Any:
    return sg.autograd.grad((h.p[h.k] * x[0] ** 2).sum(), h.p)[0]


def slope_of_two_axes(h: Any, x: Any) -> Any:
    return sg.autograd.grad((h.p[h.k, h.k : h.k + 2] ** 2).sum(), h.p)[0]


def second_slope(h: Any, x: Any) -> Any:
    (first,) = sg.autograd.grad((h.p[h.k] ** 3).sum(), h.p, create_graph=True)
    return sg.autograd.grad((first**2).sum(), h.p)[0]


def backward(h: Any, x: Any) -> Any:
    h.p.grad = None
    (h.p[h.k : h.k + 2] * x[:2]).sum().backward()
    return h.p.grad * 1


def trained(h: Any, x: Any) -> Any:
    optimizer = sg.optim.SGD([h.p], lr=0.1)
    optimizer.zero_grad()
    (h.p[h.k] * x[1]).sum().backward()
    optimizer.step()
    return h.p.detach() * 1


ONE_ROAD: dict[str, Callable[[Any, Any], Any]] = {
    "item": lambda h, x: x[h.k] * 3 + 1,
    "negative": lambda h, x: x[-h.k - 1] * 3,
    "of the second axis": lambda h, x: x[:, h.k] * 3,
    "two": lambda h, x: x[h.k, h.k + 1] * 3,
    "slice": lambda h, x: x[h.k : h.k + 2] * 3,
    "slice with a step": lambda h, x: x[h.k : h.k + 3 : 2] * 3,
    "narrow": lambda h, x: x.narrow(0, h.k, 2) * 3,
    "select": lambda h, x: x.select(1, h.k) * 3,
    "of a transpose": lambda h, x: x.t()[h.k] * 2,
    "view": lambda h, x: x[h.k],
    "column": lambda h, x: (x[:, h.k], x[:, h.k].is_contiguous(), x[:, h.k].stride()),
    "view of it": lambda h, x: x[h.k][1:3] * 2,
    "values": lambda h, x: x[h.k].tolist(),
    "written": written,
    "base written": base_written,
    "gradient": slope,
    "gradient of two axes": slope_of_two_axes,
    "backward": backward,
    "trained": trained,
}
OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "prefix": lambda h, x: x[: h.k + 1] * 3,
    "roll": lambda h, x: x.roll(-h.k, -1) * 3,
    "second gradient": second_slope,
    "item written": lambda h, x: (x.__setitem__(h.k, 5.0), x * 1)[1],
}


@pytest.mark.parametrize("name", {**ONE_ROAD, **OTHERS})
def test_as_eagerly(name):
    fn, mine, other = {**ONE_ROAD, **OTHERS}[name], Holder(), Holder()

    def cut(h: Any, x: Any) -> Any:
        y = x * 1
        assert len(y.tolist()) == 7
        return fn(h, y * 2)

    step, segments = sg.compile(lambda x: cut(mine, x), on_break="split"), []
    for k in (0, 1, 2, 3, 4, 2, 0, 3, 1, 4):
        mine.k = other.k = k
        assert_same(step(X), cut(other, X), f"at {k}", 1e-5)
        segments.append(len(step.segmented.roads.segments))
    if name in ONE_ROAD:
        assert segments[3] == segments[-1], segments


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fn", [slope, slope_of_two_axes, second_slope, backward])
def test_gradients(fn, dtype):
    mine, other = Holder(dtype), Holder(dtype)
    x = X.to(getattr(sg, dtype))
    step = sg.compile(lambda x: fn(mine, x * (1 if x.sum().item() else 2)), on_break="split")
    for k in (0, 1, 2, 3, 4, 1, 0):
        mine.k = other.k = k
        assert_same(step(x), fn(other, x), f"at {k}", 1e-5)


def test_positions_outside():
    holder = Holder()

    def fn(x: Any) -> Any:
        y = x * (1 if x.sum().item() else 2)
        return y[holder.k] * 2

    step = sg.compile(fn, on_break="split")
    for k in (0, 1, 2, 6, 7, -1, -7, -8, 3):
        holder.k = k
        try:
            expected = fn(X)
        except sg.IndexRangeError:
            with pytest.raises(sg.IndexRangeError):
                step(X)
        else:
            assert_same(step(X), expected, f"at {k}")


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64])
def test_rolls_by_other_numbers_are_one_road(dtype):
    w = sg.tensor([1.0, -2.0, 0.5, 3.0, 1.5], dtype=dtype, requires_grad=True)

    def step(x, i):
        y = sg.roll(x * w, -int(i), -1).tanh() + sg.roll(x, (int(i), 1), (0, 1))
        (g,) = sg.autograd.grad((y * x).sum(), [w], create_graph=True)
        (second,) = sg.autograd.grad((g * g).sum(), [w])
        return y + g, second

    compiled = sg.compile(step)
    x = sg.linspace(-1, 2, 10, dtype=dtype).reshape(2, 5)
    for i in [1, 3, 0, 5, -2, 2, 4, 1, 9, 3]:
        for a, b in zip(compiled(x, sg.tensor(i)), step(x, sg.tensor(i)), strict=True):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)
        if i == 3:
            known = len(compiled.segmented.roads.segments)
    assert len(compiled.segmented.roads.segments) == known


def test_parts_written_at_other_positions_share_a_segment():
    @sg.compile(on_break="split")
    def step(x):
        y = x * 1
        y[..., 0] = 2.0
        y[..., -1] = 3.0
        y[:, 1:2] = x[:, :1]
        return (y * y * float(y.sum())).sum()

    rng = np.random.default_rng(0)
    for _ in range(4):
        x = sg.tensor(rng.random((30, 40)), requires_grad=True)
        step(x).backward()
        y = sg.tensor(x.detach().numpy(), requires_grad=True)
        step.fn(y).backward()
        np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-12)
