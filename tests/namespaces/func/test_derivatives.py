"""Gradients, products with Jacobians, Jacobians and Hessians of functions: forms, nesting, misuse, rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import func
from staticgrad.autodiff.forward import rule_of
from staticgrad.errors import TransformError
from staticgrad.ir import REGISTRY
from tests.helpers import assert_close

X = sg.tensor([1.0, 2.0])


def value(x: Any) -> Any:
    return x.detach().numpy()


# arguments and results ------------------------------------------------------------------------------------------------


def test_gradients_have_the_form_of_the_arguments():
    tree = {"a": [sg.tensor(2.0), sg.tensor([3.0])], "b": (sg.ones(2, dtype=sg.float64),)}
    slope = func.grad(lambda t, k: t["a"][0] * t["a"][1].sum() * k + t["b"][0].sum())(tree, 2.0)
    assert list(slope) == ["a", "b"]
    assert [value(slope["a"][0]).item(), value(slope["a"][1]).tolist()] == [6.0, [4.0]]
    assert slope["b"][0].dtype == sg.float64


def test_argnums_and_aux():
    def f(x: Any, y: Any) -> Any:
        return (x * y * y).sum(), {"y": y}

    (slope,), aux = func.grad(f, argnums=(1,), has_aux=True)(X, X)
    assert_close(slope, 2 * value(X) ** 2)
    assert not aux["y"].requires_grad
    (out, _), slope = func.value_and_grad(f, argnums=-2, has_aux=True)(X, X)
    assert_close(slope, value(X) ** 2)
    slope, (again, _) = func.grad_and_value(f, has_aux=True)(X, X)
    assert value(out).item() == value(again).item() == 9.0
    assert not out.requires_grad


def test_an_argument_without_influence_has_gradient_zero():
    assert_close(func.grad(lambda x, y: (y * 2).sum())(X, X), np.zeros(2, np.float32))
    assert_close(func.vjp(lambda x, y: y, X, X)[1](X)[0], np.zeros(2, np.float32))
    assert_close(func.jvp(lambda x: sg.ones(3), (X,), (X,))[1], np.zeros(3, np.float32))


def test_tensors_from_outside_keep_their_tape():
    w = sg.tensor([3.0, 4.0], requires_grad=True)
    slope, out = func.grad_and_value(lambda x: (w * x * x).sum())(X)
    (slope.sum() + out).backward()
    assert_close(w.grad, 2 * value(X) + value(X) ** 2)
    slope, out = func.grad_and_value(lambda x: (x * x).sum())(X)
    assert not slope.requires_grad
    assert not out.requires_grad


def test_no_grad_counts_inside_the_function_only():
    with sg.no_grad():
        assert_close(func.grad(lambda x: (x**3).sum())(X), 3 * value(X) ** 2)
        assert_close(func.vjp(lambda x: x**3, X)[1](sg.ones(2)), 3 * value(X) ** 2)

    def stopped(x: Any) -> Any:
        with sg.no_grad():
            c = x**2
        return (x * c).sum()

    assert_close(func.grad(stopped)(X), value(X) ** 2)
    assert_close(func.vjp(stopped, X)[1](sg.tensor(1.0)), value(X) ** 2)


def test_python_decides_by_values_in_eager_mode():
    def f(x: Any) -> Any:
        return (x * 2).sum() if x.sum() > 0 and float(x[0]) == 1 else x.sum()

    assert_close(func.grad(f)(X), np.full(2, 2, np.float32))
    assert value(func.jvp(f, (X,), (X,))[1]).item() == 6
    assert_close(func.vjp(f, X)[1](sg.tensor(1.0)), np.full(2, 2, np.float32))
    assert_close(func.jacrev(f)(X), np.full(2, 2, np.float32))


def test_sizes_that_depend_on_values_in_eager_mode():
    def f(x: Any) -> Any:
        return x[x > 1] * sg.nonzero(x).shape[0] + sg.tensor(x)[0] + x.new_zeros(1)

    assert_close(func.jacrev(f)(X), np.array([[0, 2]], np.float32))
    assert_close(func.jacfwd(lambda x: x * sg.unique(x).sum())(X), np.diag([3.0, 3.0]).astype(np.float32))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: func.grad(lambda x: x)(X), "Expected f.* to return a scalar tensor, got tensor with 1 dims"),
        (lambda: func.grad(lambda x: 1.0)(X), "to return a tensor, got float"),
        (lambda: func.grad(lambda x: x.sum() > 0)(X), "only floating results have gradients"),
        (lambda: func.grad(lambda x: x)(sg.tensor([1, 2])), "only tensors of floating point dtype"),
        (lambda: func.grad(lambda x: x)(1.0), "expected tensors to differentiate with respect to, got float"),
        (lambda: func.grad(lambda x: x, argnums=1)(X), "Got argnum=1, but only 1 positional inputs"),
        (lambda: func.grad(lambda x: x, argnums=())(X), "argnums must be non-empty"),
        (lambda: func.grad(lambda x: x, argnums=(0, 0))(X), "argnums elements must be unique"),
        (lambda: func.grad(lambda x: x.sum(), has_aux=True)(X), "should be a tuple: .output, aux."),
        (lambda: func.vjp(lambda x: (x, x), X)[1](X), "pytree structure of cotangents"),
        (lambda: func.vjp(lambda x: x, X)[1](sg.ones(3)), "a cotangent of shape"),
        (lambda: func.jvp(sg.sin, X, (X,)), "Expected primals to be a tuple"),
        (lambda: func.jvp(sg.sin, (X,), X), "Expected tangents to be a tuple"),
        (lambda: func.jvp(sg.sin, (X,), (X, X)), "same python structure"),
        (lambda: func.jvp(sg.sin, (X,), (sg.ones(3),)), "a tangent of shape"),
        (lambda: func.jvp(lambda x: sg.ones(1), (X,), (X,), strict=True), "independent of the inputs"),
        (lambda: func.jacrev(lambda x: 3)(X), "Expected all outputs to be Tensors, got int"),
        (lambda: func.jvp(lambda x: x.add_(1), (X,), (X,)), "is an argument of the function"),
    ],
)
def test_misuse(call: Callable[[], Any], text: str):
    with pytest.raises(TransformError, match=text) as caught:
        call()
    assert "test_derivatives.py" in str(caught.value)


def test_errors_are_those_of_pytorch_to_handlers():
    assert issubclass(TransformError, RuntimeError)


# nesting --------------------------------------------------------------------------------------------------------------


def test_third_derivatives_by_every_mode():
    def f(x: Any) -> Any:
        return sg.sin(x) * x

    x = sg.tensor(0.7, dtype=sg.float64)
    v = 0.7
    expected = -3 * np.sin(v) - v * np.cos(v)

    def forward(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: func.jvp(g, (x,), (sg.ones_like(x),))[1]

    def pulled(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: func.vjp(g, x)[1](sg.ones_like(x))

    makers = {"g": func.grad, "f": forward, "p": pulled, "j": func.jacrev, "k": func.jacfwd}
    for order in ("ggg", "fff", "gfg", "fgf", "ppp", "pfg", "jkg", "kjf", "gkj"):
        fn: Callable[[Any], Any] = f
        for maker in order:
            fn = makers[maker](fn)
        assert abs(value(fn(x)).item() - expected) < 1e-12, order
        mapped = sg.vmap(fn)(sg.tensor([0.7, 0.7], dtype=sg.float64))
        np.testing.assert_allclose(value(mapped), expected, rtol=1e-12, err_msg=order)


def test_perturbations_are_not_confused():
    """d/dx (x * d/dy (x * y)) is 2x: the inner derivative does not see the outer tangent."""
    inner = lambda x: func.jvp(lambda y: x * y, (sg.tensor(1.0),), (sg.tensor(1.0),))[1]  # noqa: E731
    assert value(func.jvp(lambda x: x * inner(x), (sg.tensor(3.0),), (sg.tensor(1.0),))[1]).item() == 6.0
    slope = lambda x: func.grad(lambda y: x * y)(sg.tensor(1.0))  # noqa: E731
    assert value(func.grad(lambda x: x * slope(x))(sg.tensor(3.0))).item() == 6.0


def test_jacobians_of_nested_results():
    def f(x: Any, y: Any) -> Any:
        return {"p": x[:, None] * y, "s": (x.sum(), y)}

    x, y = sg.tensor([1.0, 2.0], dtype=sg.float64), sg.tensor([3.0, 4.0, 5.0], dtype=sg.float64)
    for jacobian in (func.jacrev, func.jacfwd):
        found = jacobian(f, argnums=(0, 1))(x, y)
        assert found["p"][0].shape == (2, 3, 2)
        assert found["p"][1].shape == (2, 3, 3)
        assert_close(found["s"][0][0], np.ones(2))
        assert_close(found["s"][1][1], np.eye(3))
        assert_close(found["p"][1][1], 2 * np.eye(3))
        (first, aux) = jacobian(lambda x: (x * x, y * x.sum()), has_aux=True)(x)
        assert_close(first, np.diag([2.0, 4.0]))
        assert_close(aux, 3 * value(y))


def test_a_pullback_may_be_called_again_and_mapped():
    out, pull = func.vjp(lambda x: sg.exp(x) * X, X)
    rows = sg.vmap(pull)(sg.eye(2))
    assert_close(rows, func.jacrev(lambda x: sg.exp(x) * X)(X), None)
    assert_close(pull(sg.ones(2)), value(rows).sum(0), 1e-6)
    assert out.shape == (2,)


def test_linearize_runs_the_function_once():
    runs = []

    def f(x: Any, y: Any) -> Any:
        runs.append(x)
        return sg.sin(x) * y, y

    out, push = func.linearize(f, X, X)
    first = push(X, sg.zeros(2))
    again = push(sg.zeros(2), X)
    assert len(runs) == 1
    assert_close(out[0], np.sin(value(X)) * value(X), 1e-6)
    assert_close(first[0], np.cos(value(X)) * value(X) ** 2, 1e-6)
    assert_close(first[1], np.zeros(2, np.float32))
    assert_close(again[0], np.sin(value(X)) * value(X), 1e-6)


# in-place changes -----------------------------------------------------------------------------------------------------


def changed(x: Any) -> Any:
    y = x.clone()
    part, row = y[1:], y.reshape(2, 2)[0]
    y *= 2
    part.add_(x[0])
    row[0] = x[3] * x[2]
    y[sg.tensor([2])] = part[0]
    return y * row.sum()


def test_in_place_changes_reach_views():
    x = sg.tensor([1.0, 2.0, 3.0, 4.0], dtype=sg.float64)
    expected = changed(x)
    leaf = x.clone().requires_grad_(True)
    rows = [value(sg.grad(changed(leaf)[i], [leaf])[0]) for i in range(4)]
    for jacobian in (func.jacrev, func.jacfwd):
        assert_close(jacobian(changed)(x), np.stack(rows), 1e-12)
    assert_close(func.vjp(changed, x)[0], expected)
    assert_close(sg.vmap(changed)(sg.stack([x, x]))[1], expected)


# rules ----------------------------------------------------------------------------------------------------------------


def test_which_ops_have_which_forward_rule():
    kinds: dict[str, set[str]] = {}
    for name, op in REGISTRY.items():
        if op.vjp is not None:
            kinds.setdefault(rule_of(op), set()).add(name)
    assert {"add", "sub", "neg"} <= kinds["combination"]
    assert kinds["product"] == {"mul"}
    assert {"exp", "maximum", "where", "hypot", "pow"} <= kinds["diagonal"]
    assert {"slice", "permute", "reshape"} <= kinds["view"]
    assert {"sum", "matmul", "conv2d", "gather", "concatenate", "cumsum"} <= kinds["own"]
    assert {"softmax", "max", "linalg_inv", "cumprod"} <= kinds["reverse"]
