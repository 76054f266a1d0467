"""`autograd.Function` under `vmap`, `jvp` and `vjp`: what a Function has to say for each. Values: `tests/func/programs.py`."""

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


def test_a_gradient_of_the_user_s_own():
    assert_close(func.vjp(Apart.apply, X)[1](sg.ones(2, 2)), sg.ones(2, 2) * 10)
    assert_close(func.grad(lambda x: Combined.apply(x).sum())(X), sg.ones(2, 2) * 10)


def test_many_samples_by_a_static_method():
    assert_close(sg.vmap(Mapped.apply)(X), X * 2)


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
