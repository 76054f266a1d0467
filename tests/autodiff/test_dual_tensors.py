"""`autograd.forward_ad`: levels, dual tensors, and what PyTorch refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.autograd import forward_ad
from staticgrad.errors import TransformError
from tests.helpers import assert_close

X, T = sg.tensor([1.0, 2.0]), sg.tensor([10.0, 100.0])


def slope(x: Any, t: Any) -> Any:
    with forward_ad.dual_level():
        out = forward_ad.unpack_dual(sg.sin(forward_ad.make_dual(x, t)) * x)
        assert forward_ad.unpack_dual(x) == (x, None)
    return out


def test_the_tangent_of_a_result():
    primal, tangent = slope(X, T)
    assert_close(primal, np.sin(X.numpy()) * X.numpy(), 1e-6)
    assert_close(tangent, np.cos(X.numpy()) * X.numpy() * T.numpy(), 1e-6)


def test_in_a_compiled_function_and_in_a_graph():
    expected = slope(X, T)
    compiled = sg.compile(lambda x, t: tuple(slope(x, t)))
    assert_close(compiled(X, T)[1], expected.tangent, 1e-6)
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder(sg.float32, (2,))
        found = slope(x, T)
    with sg.Session(graph=graph) as session:
        assert_close(np.asarray(session.run(found.tangent, {x: X.numpy()})), expected.tangent, 1e-6)


def test_a_decorator():
    @forward_ad.dual_level()
    def run() -> Any:
        return forward_ad.unpack_dual(forward_ad.make_dual(X, T) ** 2).tangent

    assert_close(run(), 2 * X * T)
    with pytest.raises(TransformError, match="no level exists"):
        forward_ad.make_dual(X, T)


def nested() -> None:
    with forward_ad.dual_level():
        forward_ad.enter_dual_level()


def mixed(primal: Any, tangent: Any) -> None:
    with forward_ad.dual_level():
        forward_ad.make_dual(primal, tangent)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (nested, TransformError, "Nested forward mode AD is not supported"),
        (forward_ad.exit_dual_level, TransformError, "not the last one"),
        (lambda: mixed(X, 1.0), sg.ArgumentError, "Expected tangent to be a tensor"),
        (lambda: mixed(sg.tensor([1, 2]), T), sg.DTypeError, "Expected primal to be floating point"),
        (lambda: mixed(X, sg.ones(3)), sg.ShapeError, "a forward gradient that has a different size"),
    ],
)
def test_misuse(call: Callable[[], Any], error: type[Exception], text: str):
    with pytest.raises(error, match=text):
        call()
