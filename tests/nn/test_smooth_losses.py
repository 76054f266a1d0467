"""softplus and binary cross-entropy with logits have no kink, though both are computed with |x|."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.functional as F
from tests.helpers import assert_close

POINTS = [0.0, -0.0, 1.0, -1.0, 30.0, -30.0, 200.0, -200.0]
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "softplus": sg.softplus,
    "target 1": lambda x: F.binary_cross_entropy_with_logits(x, sg.ones_like(x), reduction="none"),
    "target 0": lambda x: F.binary_cross_entropy_with_logits(x, sg.zeros_like(x), reduction="none"),
}


def derivatives(name: str, x: Any) -> list[Any]:
    y = FUNCTIONS[name](x)
    (first,) = sg.grad(y.sum(), [x], create_graph=True)
    (second,) = sg.grad(first.sum(), [x], create_graph=True)
    (third,) = sg.grad(second.sum(), [x])
    return [y, first, second, third]


def expected(name: str, x: np.ndarray) -> list[np.ndarray]:
    s = 1 / (1 + np.exp(-x))
    sign = -1 if name == "target 1" else 1  # softplus(-x) and softplus(x)
    return [np.logaddexp(0, sign * x), s - (sign < 0), s * (1 - s), s * (1 - s) * (1 - 2 * s)]


@pytest.mark.parametrize("mode", ["eager", "compiled", "session"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_three_derivatives(name: str, dtype: Any, mode: str):
    points = np.array(POINTS, dtype)
    if mode == "session":
        with sg.Graph().as_default():
            x = sg.placeholder(dtype, [None])
            y = FUNCTIONS[name](x)
            (first,) = sg.gradients(y, [x])
            (second,) = sg.gradients(first, [x])
            with sg.Session() as sess:
                results = sess.run([y, first, second], {x: points})
    else:
        run = sg.compile(derivatives) if mode == "compiled" else derivatives
        results = [r.detach().numpy() for r in run(name, sg.tensor(points, requires_grad=True))]
    with np.errstate(over="ignore"):
        wanted = expected(name, points.astype(np.float64))
    for order, (got, value) in enumerate(zip(results, wanted, strict=False)):
        assert got.dtype == dtype
        assert_close(got.astype(np.float64), value, 8 * float(np.finfo(dtype).eps), what=f"derivative {order}")


def test_small_losses_do_not_cancel():
    x, t = np.array([20, -20], np.float32), np.array([1, 0], np.float32)
    loss = F.binary_cross_entropy_with_logits(x, t, reduction="none")
    np.testing.assert_allclose(loss.numpy(), np.log1p(np.exp(-20.0)), rtol=1e-6)
