"""Symbols of unknown extents beside arrays, eager tensors, parameters and variables, in every position of every operation: the
result is right, or one of our errors that names the user's line."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad.errors import StaticgradError
from tests.helpers import assert_close
from tests.ops.cases import CASES

KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda a: a,
    "tensor": sg.tensor,
    "parameter": lambda a: sg.tensor(a, requires_grad=a.dtype.kind == "f"),
    "placeholder": lambda a: sg.placeholder(a.dtype, a.shape),
    "unknown": lambda a: sg.placeholder(a.dtype, [None] * a.ndim),
    "variable": sg.Variable,
}
SYMBOLS = {"placeholder", "unknown", "variable"}


def real(*shape: int) -> np.ndarray:
    return (np.random.default_rng(len(shape)).random(shape) + 0.5).astype(np.float32)


def numbers(below: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, below, shape)


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "batch_norm": (F.batch_norm, (real(4, 3), real(3), real(3), real(3), real(3))),
    "batch_norm of images": (F.batch_norm, (real(4, 3, 2, 2), real(3), real(3), real(3), real(3))),
    "batch_norm in training": (
        lambda x, m, v: F.batch_norm(x, m, v, training=True), (real(4, 3), real(3), real(3))
    ),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), (real(2, 4, 3), real(4), real(4))),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (3,), w, b), (real(4, 3), real(3), real(3))),
    "rms_norm": (lambda x, w: F.rms_norm(x, (3,), w), (real(4, 3), real(3))),
    "linear": (F.linear, (real(4, 3), real(2, 3), real(2))),
    "cross_entropy": (F.cross_entropy, (real(4, 3), numbers(3, 4))),
    "nll_loss": (F.nll_loss, (real(4, 3), numbers(3, 4))),
    "mse_loss": (F.mse_loss, (real(4, 3), real(4, 3))),
    "l1_loss": (F.l1_loss, (real(4, 3), real(4, 3))),
    "binary_cross_entropy_with_logits": (F.binary_cross_entropy_with_logits, (real(4, 3), real(4, 3) / 2)),
    "embedding": (F.embedding, (numbers(5, 4), real(5, 3))),
    "conv1d": (F.conv1d, (real(2, 3, 6), real(4, 3, 3), real(4))),
    "conv2d": (F.conv2d, (real(2, 3, 6, 6), real(4, 3, 3, 3), real(4))),
    "conv_transpose2d": (F.conv_transpose2d, (real(2, 3, 4, 4), real(3, 4, 3, 3), real(4))),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (real(2, 3, 6, 6),)),
    "attention": (F.scaled_dot_product_attention, (real(2, 3, 4), real(2, 5, 4), real(2, 5, 4))),
}  # fmt: skip
ROWS = {
    **{
        c.name: (c.fn, tuple(arg.draw(np.random.default_rng(0), c.dtypes[0]) for arg in c.samples[0]))
        for c in CASES
        if not c.sized
    },
    **FUNCTIONS,
}


def attempt(run: Callable[[], Any]) -> Any:
    """What it gives, or our error."""
    try:
        return run()
    except StaticgradError as error:
        return error


def mixtures(operands: int) -> list[tuple[str, ...]]:
    """With a symbol in it; of many operands, those of two kinds."""
    every = itertools.product(KINDS, repeat=operands)
    return [m for m in every if SYMBOLS.intersection(m) and (operands <= 2 or len(set(m)) <= 2)]


@pytest.mark.parametrize("name", ROWS)
def test_built_or_refused_with_the_line(name):
    fn, arrays = ROWS[name]
    for kinds in mixtures(len(arrays)):
        with sg.Graph().as_default():
            operands = [KINDS[kind](array) for kind, array in zip(kinds, arrays, strict=True)]
            result = attempt(lambda fn=fn, operands=operands: fn(*operands))
            assert not isinstance(result, StaticgradError) or result.where is not None, (kinds, result)


def listed(result: Any) -> Sequence[Any]:
    return result if isinstance(result, (list, tuple)) else [result]


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("rest", ["unknown", "tensor"])
def test_values(name, rest):
    """The first operand has unknown extents; the others, too, or they are eager tensors."""
    fn, arrays = ROWS[name]
    kinds = ["unknown", *[rest] * (len(arrays) - 1)]
    with sg.Graph().as_default(), sg.Session(numerics="strict") as session:
        operands = [KINDS[kind](array) for kind, array in zip(kinds, arrays, strict=True)]
        try:
            results = listed(fn(*operands))
        except StaticgradError:
            return  # it names the line: see above
        session.run(sg.global_variables_initializer())
        feeds = {x: a for x, a, kind in zip(operands, arrays, kinds, strict=True) if kind == "unknown"}
        values = session.run(list(results), feeds)
    for value, expected in zip(values, listed(fn(*map(sg.tensor, arrays))), strict=True):
        assert_close(np.asarray(value), expected.detach().numpy(), 2e-5)


# in place -----------------------------------------------------------------------------------------------------------

CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "+=": lambda x, y: x.__iadd__(y),
    "*=": lambda x, y: x.__imul__(y),
    "add_": lambda x, y: x.add_(y),
    "copy_": lambda x, y: x.copy_(y),
    "fill_": lambda x, y: x.fill_(y.sum()),
    "clamp_": lambda x, y: x.clamp_(y),
    "x[0] = y": lambda x, y: x.__setitem__(0, y),
    "x[i] = 1": lambda x, y: x.__setitem__(y.astype(sg.int64), 1.0),
    "data": lambda x, y: setattr(x, "data", y),
    "grad": lambda x, y: setattr(x, "grad", y),
    "requires_grad": lambda x, y: sg.grad(x.sum(), y),
    "backward": lambda x, y: x.backward(y),
    "out=": lambda x, y: np.add(np.ones(3, np.float32), y, out=np.ones(3, np.float32)),
    "ndarray +=": lambda x, y: np.ones(3, np.float32).__iadd__(y),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["placeholder", "unknown", "variable"])
def test_an_eager_tensor_does_not_take_a_value_that_there_is_not_yet(change, kind):
    x = sg.tensor([1.0, 2.0, 3.0])
    with sg.Graph().as_default():
        y = KINDS[kind](real(3))
        with pytest.raises(StaticgradError) as caught:
            CHANGES[change](x, y)
    assert caught.value.where is not None
    assert caught.value.where.file == __file__
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert x._version == 0


def test_text():
    with sg.Graph().as_default():
        y = sg.placeholder(sg.float32, [3], name="y")
        x = sg.tensor([1.0, 2.0, 3.0])
        with pytest.raises(
            sg.GraphError,
            match=r'add_: a tensor that has its value already can\'t take over that of "add" f32\[3\], which belongs to a ',
        ):
            x += y


# extents that fit at run time -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 1), (1,), (3, 2), (1, 2)], ids=str)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_broadcast_to(shape, count):
    fed = np.arange(1, count + 1, dtype=np.float32)
    with sg.Graph().as_default(), sg.Session() as session:
        x = sg.placeholder(np.float32, [None], name="x")
        y = sg.broadcast_to(x, shape)
        assert y.shape == shape
        (g,) = sg.gradients(sg.square(y).sum(), [x])
        (h,) = sg.gradients((g * g * g).sum(), [x])
        if count not in (1, shape[-1]):
            with pytest.raises(sg.ShapeError, match=rf"broadcast_to: can't broadcast \({count},\) to "):
                session.run([y, g, h], {x: fed})
            return
        found = session.run([y, g, h], {x: fed})
    t = sg.tensor(fed, requires_grad=True)
    (g,) = sg.grad(sg.square(sg.broadcast_to(t, shape)).sum(), [t], create_graph=True)
    (h,) = sg.grad((g * g * g).sum(), [t])
    for value, expected in zip(found, (np.broadcast_to(fed, shape), g, h), strict=True):
        assert_close(value, np.asarray(expected.detach() if sg.is_tensor(expected) else expected), 1e-6)


def test_broadcast_to_what_cannot_fit():
    with sg.Graph().as_default(), pytest.raises(sg.ShapeError, match=r"broadcast_to: can't broadcast \(\?, 4\) to \(3, 1\)"):
        sg.broadcast_to(sg.placeholder(np.float32, [None, 4]), (3, 1))


def test_batch_norm_moves_variables():
    x = real(8, 3)
    m, v = sg.tensor(np.zeros(3, np.float32)), sg.tensor(np.ones(3, np.float32))
    F.batch_norm(sg.tensor(x), m, v, training=True)
    with sg.Graph().as_default(), sg.Session() as session:
        fed = sg.placeholder(np.float32, [None, 3])
        mean, var = sg.Variable(np.zeros(3, np.float32), trainable=False), sg.Variable(np.ones(3, np.float32), trainable=False)
        y = F.batch_norm(fed, mean, var, training=True)
        session.run(sg.global_variables_initializer())
        session.run([y, *sg.get_collection(sg.GraphKeys.UPDATE_OPS)], {fed: x})
        assert_close(session.run(mean), m.numpy(), 1e-6)
        assert_close(session.run(var), v.numpy(), 1e-6)
        with pytest.raises(sg.ArgumentError, match=r'running_mean changes in training, and "p" f32\[3\] can\'t be changed'):
            F.batch_norm(fed, sg.placeholder(np.float32, [3], name="p"), var, training=True)
