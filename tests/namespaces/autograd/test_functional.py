"""`autograd.functional`: values of PyTorch's, errors of PyTorch's classes, and the same when compiled."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from tests.helpers import raised


def values(found):
    """Results as nested lists."""
    return [values(x) for x in found] if isinstance(found, tuple) else np.asarray(found.detach().numpy()).tolist()


def points(T):
    return T.tensor([1.0, 2.0], dtype=T.float64), T.tensor([3.0, 4.0], dtype=T.float64)


def test_jacobian(T):
    x, y = points(T)
    jacobian = T.autograd.functional.jacobian
    assert values(jacobian(lambda x: x**2, x)) == [[2.0, 0.0], [0.0, 4.0]]
    assert values(jacobian(lambda x, y: (x * y, x.sum()), (x, y))) == [
        [[[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]],
        [[1.0, 1.0], [0.0, 0.0]],
    ]
    assert values(jacobian(lambda x, y: x * 2, (x, y), vectorize=True)) == [[[2.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]]
    if T is sg:  # PyTorch warns of its own deprecated parts
        assert values(jacobian(lambda x: x**2, x, vectorize=True, strategy="forward-mode")) == [[2.0, 0.0], [0.0, 4.0]]
    assert tuple(jacobian(lambda m: m @ x, T.ones(3, 2, dtype=T.float64)).shape) == (3, 3, 2)


def test_hessian(T):
    x, y = points(T)
    hessian = T.autograd.functional.hessian
    assert values(hessian(lambda x: (x**3).sum(), x)) == [[6.0, 0.0], [0.0, 12.0]]
    assert values(hessian(lambda x, y: (x * x * y).sum(), (x, y))) == [
        [[[6.0, 0.0], [0.0, 8.0]], [[2.0, 0.0], [0.0, 4.0]]],
        [[[2.0, 0.0], [0.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]],
    ]


def test_products(T):
    x, y = points(T)
    f = T.autograd.functional
    assert values(f.vjp(lambda x: x**2, x, y)) == [[1.0, 4.0], [6.0, 16.0]]
    assert values(f.vjp(lambda x, y: x @ y, (x, y))) == [11.0, [[3.0, 4.0], [1.0, 2.0]]]
    assert values(f.jvp(lambda x: x**2, x, y)) == [[1.0, 4.0], [6.0, 16.0]]
    assert values(f.jvp(lambda x, y: (x * y, y), (x, y), (y, x))) == [[[3.0, 8.0], [3.0, 4.0]], [[10.0, 20.0], [1.0, 2.0]]]
    for product in (f.hvp, f.vhp):
        assert values(product(lambda x: (x**3).sum(), x, y)) == [9.0, [18.0, 48.0]]
        assert values(product(lambda x, y: (x * x * y).sum(), (x, y), (y, x))) == [19.0, [[20.0, 40.0], [6.0, 16.0]]]


def test_results_with_a_tape(T):
    x = points(T)[0].requires_grad_(True)
    (g,) = T.autograd.grad(T.autograd.functional.jacobian(lambda x: x**3, x, create_graph=True).sum(), x)
    assert values(g) == [6.0, 12.0]
    assert not T.autograd.functional.jacobian(lambda x: x**3, x).requires_grad
    _, product = T.autograd.functional.hvp(lambda x: (x**4).sum(), x, T.ones(2, dtype=T.float64), create_graph=True)
    assert values(T.autograd.grad(product.sum(), x)[0]) == [24.0, 48.0]


WRONG = {
    "vector without a value": (
        lambda T, f, x: f.vjp(lambda x: x * 2, x), RuntimeError,
        "The vector v can only be None if the user-provided function returns a single Tensor with a single element.",
    ),
    "vector of another shape": (
        lambda T, f, x: f.jvp(lambda x: x * 2, x, T.ones(3)), RuntimeError,
        "v has invalid size: should be torch.Size([2]) but got",
    ),
    "too many vectors": (
        lambda T, f, x: f.jvp(lambda x: x * 2, x, (x, x)), RuntimeError, "The given v should contain a single Tensor.",
    ),
    "no tensor": (
        lambda T, f, x: f.vjp(lambda x: x, 3.0), TypeError,
        "The inputs given to vjp must be either a Tensor or a tuple of Tensors but the given inputs has type",
    ),
    "result is no tensor": (
        lambda T, f, x: f.jacobian(lambda x: (x, 3.0), x), TypeError,
        "The outputs of the user-provided function given to jacobian must be either a Tensor or a tuple of Tensors but the",
    ),
    "several elements": (
        lambda T, f, x: f.hessian(lambda x: x * 2, x), RuntimeError,
        "The Tensor returned by the function given to hessian should contain a single element",
    ),
    "several results": (
        lambda T, f, x: f.hvp(lambda x: (x.sum(), x.sum()), x, x), RuntimeError,
        "The function given to hvp should return a single Tensor",
    ),
    "strategy": (lambda T, f, x: f.jacobian(lambda x: x, x, strategy="both"), AssertionError, "Expected strategy to be either"),
    "strict, independent": (
        lambda T, f, x: f.jacobian(lambda x, y: x * 2, (x, x), strict=True), RuntimeError,
        "Output 0 of the user-provided function is independent of input 1. This is not allowed in strict mode.",
    ),
    "strict, constant": (
        lambda T, f, x: f.vjp(lambda x: T.ones(1), x, T.ones(1), strict=True), RuntimeError,
        "Output 0 of the user-provided function does not require gradients.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_errors(T, case):
    call, error, text = WRONG[case]
    with raised(error, text):
        call(T, T.autograd.functional, points(T)[0].to(T.float32))


def test_compiled():
    def step(x, y):
        f = sg.autograd.functional
        return f.hessian(lambda p: (p**3).sum(), x), f.jvp(lambda p: p**2, x, y)[1], f.jacobian(lambda p: p.exp() * x, y)

    x, y = points(sg)
    for a, b in zip(sg.compile(step)(x, y), step(x, y), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
