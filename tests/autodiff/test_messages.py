"""Wrong requests for gradients: the same error in eager mode, in a compiled function and in a graph."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import eager
from staticgrad.autodiff.requests import HookTypeError


class Tape:
    """PyTorch's interface: eager tensors, and the same text in a compiled function."""

    def leaf(self, *shape: int) -> Any:
        return sg.ones(*shape, requires_grad=True)

    def constant(self, *shape: int, dtype: Any = sg.float32) -> Any:
        return sg.ones(*shape, dtype=dtype)

    def grad(self, outputs: Any, inputs: Any, seeds: Any = None, **options: Any) -> Any:
        return sg.grad(outputs, inputs, seeds, **options)


class InGraph:
    """TensorFlow's: every floating tensor can be differentiated, and seeds are ones by default."""

    def leaf(self, *shape: int) -> Any:
        return sg.placeholder(sg.float32, shape)

    def constant(self, *shape: int, dtype: Any = sg.float32) -> Any:
        return sg.constant(np.ones(shape, dtype))

    def grad(self, outputs: Any, inputs: Any, seeds: Any = None) -> Any:
        return sg.gradients(outputs, inputs, seeds)


def eagerly(program: Callable[[Any], Any]) -> None:
    program(Tape())


def compiled(program: Callable[[Any], Any]) -> None:
    def traced() -> None:
        program(Tape())

    sg.compile(traced)()


def in_graph(program: Callable[[Any], Any]) -> None:
    with sg.Graph().as_default():
        program(InGraph())


TAPES = (eagerly, compiled)
ALL = (*TAPES, in_graph)


def loss(m: Any, *shape: int) -> tuple[Any, Any]:
    x = m.leaf(*shape)
    return x, (x * x).sum()


def integer_root(m: Any) -> None:
    m.grad(m.constant(3, dtype=sg.int64) * 2, m.leaf(3))


def constant_root(m: Any) -> None:
    m.grad(m.constant(3).sum(), m.leaf(3))


def number_as_root(m: Any) -> None:
    m.grad(3.0, m.leaf(3))


def integer_target(m: Any) -> None:
    _, y = loss(m, 3)
    m.grad(y, [m.constant(2, dtype=sg.int64)])


def constant_target(m: Any) -> None:
    x, y = loss(m, 3)
    m.grad(y, [x, m.constant(2)])


def number_as_target(m: Any) -> None:
    _, y = loss(m, 3)
    m.grad(y, [2.0])


def no_target(m: Any) -> None:
    m.grad(loss(m, 3)[1], [])


def no_backward_target(m: Any) -> None:
    loss(m, 3)[1].backward(inputs=[])


def unused_target(m: Any) -> None:
    x, y = loss(m, 3)
    m.grad(y, [x, m.leaf(2, 2)])


def too_few_seeds(m: Any) -> None:
    x, y = loss(m, 3)
    m.grad([y, y * 2], x, [None])


def too_many_seeds(m: Any) -> None:
    x, y = loss(m, 3)
    m.grad(y, x, [None, None])


def missing_seed(m: Any) -> None:
    x = m.leaf(3, 2)
    m.grad(x * x, x)


def seed_of_another_shape(m: Any) -> None:
    x = m.leaf(3)
    m.grad([x * x, x * 2], x, [m.constant(3), m.constant(2)])


def array_of_another_shape(m: Any) -> None:
    x = m.leaf(3)
    m.grad([x * x, x * 2], x, [m.constant(3), np.ones(2)])


def seed_of_integers(m: Any) -> None:
    x = m.leaf(3)
    m.grad(x * x, x, m.constant(3, dtype=sg.int64))


def backward_twice(m: Any) -> None:
    _, y = loss(m, 3)
    y.backward()
    y.backward()


def operand_modified(m: Any) -> None:
    x = m.leaf(3)
    h = x * 2
    y = (h * h).sum()
    h += 1
    y.backward()


def output_modified(m: Any) -> None:
    h = m.leaf(3).exp()
    h += 1
    h.sum().backward()


def hook_of_another_shape(m: Any) -> None:
    h = m.leaf(3) * 2
    h.register_hook(lambda g: g.sum())
    h.sum().backward()


def hook_of_no_tensor(m: Any) -> None:
    h = m.leaf(3) * 2
    h.register_hook(lambda g: 3)
    h.sum().backward()


UNUSED = (
    "The differentiated Tensor at index 1 appears to not have been used in the graph. Set allow_unused=True if this is the "
    "desired behavior."
)
CASES: dict[Callable[[Any], None], tuple[Any, type[Exception], str, tuple[str, ...]]] = {
    integer_root: (
        ALL, sg.GradientError, "element 0 of tensors does not require grad and does not have a grad_fn",
        ("it has dtype int64: only floating point tensors have gradients",),
    ),
    constant_root: (
        TAPES, sg.GradientError, "element 0 of tensors does not require grad and does not have a grad_fn",
        ("make a leaf with requires_grad=True, and compute outside sg.no_grad()",),
    ),
    number_as_root: (ALL, sg.GradientError, "gradients need a Tensor, got float", ()),
    integer_target: (
        ALL, sg.GradientError, "One of the differentiated Tensors does not require grad",
        ("it is input 0, of shape (2,) and dtype int64",),
    ),
    constant_target: (
        TAPES, sg.GradientError, "One of the differentiated Tensors does not require grad",
        ("it is input 1, of shape (2,) and dtype float32",),
    ),
    number_as_target: (
        TAPES, sg.GradientError, "One of the differentiated Tensors does not require grad", ("it is input 0, a float",),
    ),
    no_target: (TAPES, sg.GradientError, "`inputs` argument to `grad()` cannot be empty.", ()),
    no_backward_target: (TAPES, sg.GradientError, "`inputs` argument to `backward()` cannot be empty.", ()),
    unused_target: (TAPES, sg.GradientError, UNUSED, ("it has shape (2, 2)",)),
    too_few_seeds: (ALL, sg.GradientError, "got 2 tensors and 1 gradients", ()),
    too_many_seeds: (ALL, sg.GradientError, "got 1 tensors and 2 gradients", ()),
    missing_seed: (
        TAPES, sg.GradientError, "grad can be implicitly created only for scalar outputs, this one has shape (3, 2)",
        ("pass gradient= of that shape, or reduce with .sum() or .mean()",),
    ),
    seed_of_another_shape: (
        ALL, sg.ShapeError,
        "Mismatch in shape: grad_output[1] has a shape of (2,) and output[1] has a shape of (3,)", (),
    ),
    array_of_another_shape: (
        ALL, sg.ShapeError,
        "Mismatch in shape: grad_output[1] has a shape of (2,) and output[1] has a shape of (3,)", (),
    ),
    seed_of_integers: (ALL, sg.DTypeError, "gradients are floating, got int64", ()),
    backward_twice: (
        TAPES, sg.GradientError,
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
        "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
        "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
        "after calling backward.", (),
    ),
    operand_modified: (
        TAPES, sg.GradientError,
        "one of the variables needed for gradient computation has been modified by an inplace operation: [float32 (3,)], "
        "which MulBackward0 needs",
        ("saved at y = (h * h).sum()", "changed at h += 1", "change a clone() instead, or do it after backward()"),
    ),
    output_modified: (
        TAPES, sg.GradientError,
        "one of the variables needed for gradient computation has been modified by an inplace operation: the output of "
        "ExpBackward0",
        ("saved at h = m.leaf(3).exp()", "changed at h += 1", "change a clone() instead, or do it after backward()"),
    ),
    hook_of_another_shape: (
        TAPES, sg.GradientError, "hook '<lambda>' has changed the size of value",
        ("the gradient has shape (3,), the hook returned ()",),
    ),
    hook_of_no_tensor: (
        TAPES, HookTypeError, "expected Variable, but hook returned 'int'", ("return a tensor, or nothing",),
    ),
}  # fmt: skip
ROWS = [(mode, program) for program, (modes, *_) in CASES.items() for mode in modes]


@pytest.mark.usefixtures("lines_noted")
@pytest.mark.parametrize(("mode", "program"), ROWS, ids=[f"{m.__name__}-{p.__name__}" for m, p in ROWS])
def test_wrong_request(mode: Callable[..., None], program: Callable[[Any], None]) -> None:
    _, error, summary, details = CASES[program]
    with pytest.raises(error) as caught:
        mode(program)
    assert type(caught.value) is error
    found = caught.value.summary
    assert found == summary
    assert tuple(re.sub(r"at test_messages\.py:\d+ +", "at ", detail) for detail in caught.value.details) == details


def test_eager_tensors_in_a_graph() -> None:
    x = eager.tensor(1.0, requires_grad=True)
    with pytest.raises(sg.GradientError) as caught:
        sg.gradients(x * 2, x)
    assert caught.value.summary.startswith("gradients need tensors of one mode, got tensor(2.")
    assert caught.value.details == ("of eager tensors: y.backward(); in a graph: sg.gradients(ys, xs)",)


def test_tensors_of_a_graph_on_the_tape() -> None:
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, ())
    with pytest.raises(sg.GradientError, match=r"^gradients need tensors of one mode, got <sg\.Symbol"):
        sg.grad(x, x)
