"""`autograd.Function` under `vmap`, `jvp` and `vjp`: what a Function has to say for each.

Values: `tests/namespaces/func/programs.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

import staticgrad as sg
from staticgrad import func
from staticgrad.errors import TransformError
from tests.helpers import assert_close

X = sg.tensor([[1.0, 2.0], [3.0, 4.0]])


class Combined(sg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 10


class Apart(sg.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 10


class Mapped(Apart):
    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        assert info.batch_size == 2
        assert in_dims == (0,)
        return Mapped.apply(x).T, 1


class Ambiguous(Mapped):
    generate_vmap_rule = True


class Product(sg.autograd.Function):
    """`jvp` and `backward` see the tensors that were saved for each."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, y = inputs
        ctx.save_for_backward(x, y, output)
        ctx.save_for_forward(y, x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y, _ = ctx.saved_tensors
        return g * y, g * x

    @staticmethod
    def jvp(ctx: Any, a: Any, b: Any) -> Any:
        y, x = ctx.saved_tensors
        return a * y + b * x


def test_a_gradient_of_the_user_s_own():
    assert_close(func.vjp(Apart.apply, X)[1](sg.ones(2, 2)), sg.ones(2, 2) * 10)
    assert_close(func.grad(lambda x: Combined.apply(x).sum())(X), sg.ones(2, 2) * 10)


def test_many_samples_by_a_static_method():
    assert_close(sg.vmap(Mapped.apply)(X), X * 2)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f, x, y: func.grad(lambda x, y: f(x, y).sum(), argnums=(0, 1))(x, y),
        lambda f, x, y: func.grad(lambda x, y: sg.vmap(f)(x, y).sum(), argnums=(0, 1))(x, y),
        lambda f, x, y: func.grad(lambda x, y: sg.vmap(f, (0, None))(x, y).sum(), argnums=(0, 1))(x, y),
        lambda f, x, y: sg.vmap(func.grad(lambda x, y: f(x, y).sum(), argnums=(0, 1)), (None, 0))(x, y),
        lambda f, x, y: func.jvp(f, (x, y), (y, x)),
        lambda f, x, y: func.jvp(sg.vmap(f, (0, None)), (x, y), (y, x)),
        lambda f, x, y: sg.vmap(lambda x, y: func.jvp(f, (x, y), (y, x)))(x, y),
    ],
)
def test_tensors_saved_for_both_directions(transform: Any):
    x, y = sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0])
    for got, expected in zip(transform(Product.apply, x, y), transform(lambda x, y: x * y, x, y), strict=True):
        assert_close(got, expected)


@pytest.mark.parametrize(
    ("dims", "shapes"), [((0, None), ((2,), (3,))), ((0, 0), ((2,), (2, 3))), ((None, 0), ((2, 1), (3, 2)))]
)
def test_gradients_of_samples_have_the_shapes_and_dtypes_of_the_arguments(dims: Any, shapes: Any):
    x, y = sg.rand(shapes[0], dtype=sg.float64), sg.rand(shapes[1])

    def slopes(f: Any) -> Any:
        return func.grad(lambda x, y: sg.vmap(f, dims)(x, y).sum(), argnums=(0, 1))(x, y)

    for got, expected in zip(slopes(Product.apply), slopes(lambda x, y: x * y), strict=True):
        assert got.dtype == expected.dtype
        assert_close(got, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: sg.vmap(Combined.apply)(X), TransformError, "must override the setup_context"),
        (lambda: func.vjp(Combined.apply, X), TransformError, "must override the setup_context"),
        (lambda: sg.vmap(Apart.apply)(X), TransformError, "does not have vmap support"),
        (lambda: sg.vmap(Ambiguous.apply)(X), TransformError, "both generate_vmap_rule=True and an overriden vmap"),
        (lambda: func.jvp(Apart.apply, (X,), (X,)), NotImplementedError, "implement the jvp function"),
    ],
)
def test_a_function_that_does_not_say_enough(call: Any, error: type[Exception], text: str):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    ("inner", "outer", "shapes"),
    [((0, None), (1, 0), ((2, 3), (3,))), ((None, 0), (0, 1), ((2,), (3, 2))), ((1, 0), (0, None), ((3, 2, 2), (2,)))],
)
def test_a_function_may_be_mapped_twice(inner: Any, outer: Any, shapes: Any):
    x, y = (sg.rand(shape, dtype=sg.float64) for shape in shapes)

    def twice(f: Any) -> Any:
        return sg.vmap(sg.vmap(f, inner), outer)

    for transform in (
        lambda f: [f(x, y)],
        lambda f: func.grad(lambda x, y: (f(x, y) ** 2).sum(), argnums=(0, 1))(x, y),
        lambda f: func.jvp(f, (x, y), (x + 1, 2 * y)),
    ):
        for got, expected in zip(transform(twice(Product.apply)), transform(twice(lambda x, y: x * y)), strict=True):
            assert_close(got, expected)
