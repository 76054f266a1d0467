"""Tensors and functions of them."""

from typing import assert_type

import numpy as np

import staticgrad as sg
from staticgrad import functional as F

x = sg.tensor([1, 2, 3])
assert_type(x, sg.Tensor)
y = sg.exp(x) + 1
assert_type(y, sg.Tensor)
assert_type(1 - y, sg.Tensor)
assert_type(y @ y, sg.Tensor)
assert_type(y == 1, sg.Tensor)
assert_type(y > 0, sg.Tensor)
assert_type(y.sum(dim=0, keepdim=True), sg.Tensor)
assert_type(y.sum(0, keepdims=True), sg.Tensor)
assert_type(y.softmax(dim=-1), sg.Tensor)
assert_type(y[0, ..., None], sg.Tensor)
assert_type(y.reshape(1, -1).T, sg.Tensor)
assert_type(y.reshape((1, -1)), sg.Tensor)
assert_type(y.add_(1), sg.Tensor)
assert_type(y.detach().numpy(), np.ndarray)
assert_type(sg.where(y > 0, y, 0.0), sg.Tensor)
assert_type(sg.stack([x, y]), sg.Tensor)
assert_type(sg.max(y), sg.Tensor)
assert_type(sg.clip(y, 0, 1), sg.Tensor)
assert_type(sg.zeros(3, 4, dtype=sg.float64), sg.Tensor)
assert_type(sg.zeros((3, 4), dtype="float64"), sg.Tensor)
assert_type(sg.randn(2), sg.Tensor)
assert_type(F.gelu(y), sg.Tensor)

y.requires_grad = True
y.grad = None
tensors: list[sg.Tensor] = [x, sg.ones(3), x * 2]
for row in y:
    assert_type(row, sg.Tensor)
(gx,) = sg.grad(y.sum(), x)
assert_type(gx, sg.Tensor)
number: float = y.sum().item()
if isinstance(y, sg.Tensor):
    y.backward()


@sg.no_grad()
def evaluate(x: sg.Tensor) -> float:
    return float(x.mean())


assert_type(evaluate(x), float)


def add(total: sg.Tensor, item: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
    return total + item, total


assert_type(sg.scan(add, sg.zeros(()), sg.ones(5)), tuple[sg.Tensor, sg.Tensor])
assert_type(sg.cond(sg.sum(x) > 0, lambda: x + 1, lambda: x - 1), sg.Tensor)
assert_type(sg.while_loop(lambda i: i < 5, lambda i: i + 1, sg.tensor(0)), sg.Tensor)
assert_type(sg.while_loop(lambda i, y: i < 5, lambda i, y: [i + 1, y * y], [sg.tensor(0), y]), list[sg.Tensor])
count, _ = sg.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * y), (sg.tensor(0), y))
assert_type(count, sg.Tensor)
