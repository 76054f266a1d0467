"""Values that operations save: found by their rules, and kept by hooks in another form, with the same gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn
from staticgrad.autograd.graph import saved_tensors_hooks
from staticgrad.eager.saved import positions_read
from staticgrad.utils.checkpoint import checkpoint


def changed_in_place(x: Any) -> Any:
    y = x * 1
    y.mul_(2)
    y[0] = y[1] * 2
    return y


CONVOLUTION, NORMALIZATION = nn.Conv2d(3, 4, 3).double(), nn.BatchNorm2d(4).double()
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "convolution": lambda x: F.relu(NORMALIZATION(CONVOLUTION(x))),
    "pooling": lambda x: F.max_pool2d(x, 2),
    "softmax": lambda x: F.softmax(x, -1) * F.log_softmax(x, 1),
    "sort": lambda x: sg.sort(x, -1)[0],
    "scans": lambda x: x.cumsum(1) * x.cumprod(2),
    "reductions": lambda x: x.std(1) + x.logsumexp(1) + x.amax(1) + x.prod(1) + x.norm(dim=1),
    "indices": lambda x: x[:, [0, 1], 2:5] * x.gather(1, sg.zeros(2, 2, 3, 8, dtype=sg.int64)),
    "where": lambda x: sg.where(x > 0.5, x * 2, x**3),
    "products": lambda x: x @ x.transpose(-1, -2) + sg.einsum("bcij,bcjk->bcik", x, x),
    "joined": lambda x: sg.cat([x, x.sin()], 1) / 2,
    "decomposition": lambda x: sg.linalg.cholesky(x @ x.transpose(-1, -2) + sg.eye(8, dtype=sg.float64)),
    "dropout": lambda x: F.dropout(x, 0.5) ** 2,
    "in place": changed_in_place,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_with_hooks_and_checkpoints(name):
    fn = PROGRAMS[name]
    x = sg.tensor(np.random.default_rng(0).uniform(0.1, 1.1, (2, 3, 8, 8)), requires_grad=True)

    def packed(x):
        with saved_tensors_hooks(lambda t: t.numpy().copy(), sg.from_numpy):
            return fn(x)

    found = []
    for run in (fn, packed, lambda x: checkpoint(fn, x, use_reentrant=False), lambda x: checkpoint(fn, x, use_reentrant=True)):
        sg.manual_seed(1)
        x.grad = None
        (run(x) ** 2).sum().backward()
        found.append(x.grad.numpy())
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda x, c: x + c, ((), False)),
        (lambda x, c: x * c, ((1,), False)),
        (lambda x, c: x * x, ((0, 1), False)),
        (lambda x, c: x.exp(), ((), True)),
        (lambda x, c: x.sin(), ((0,), False)),
        (lambda x, c: x.sum(), ((), False)),
        (lambda x, c: x.reshape(2, 1), ((), False)),
    ],
    ids=["sum", "product with a constant", "square", "exp", "sin", "total", "reshape"],
)
def test_values_that_are_read(fn, expected):
    x = sg.tensor([1.0, 2.0], requires_grad=True)
    assert positions_read(fn(x, sg.tensor([3.0, 4.0]))._record) == expected


def test_hooks_of_one_saved_value():
    x = sg.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda t: (t * 2,), lambda packed: packed[0])
    assert y.grad_fn._saved_self.tolist() == [2.0, 4.0]
    with pytest.raises(sg.GradientError, match="only one pair of hooks is allowed"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 6.0]
    x.grad, z = None, x.exp()
    z.grad_fn._raw_saved_result.register_hooks(lambda t: t * 0 + 3, lambda t: t)
    z.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_hooks_of_a_value_that_is_not_saved_or_freed():
    x = sg.ones(2, requires_grad=True)
    assert not hasattr((x + 1).grad_fn, "_raw_saved_self")
    y = x * x
    saved = y.grad_fn._raw_saved_self
    y.sum().backward()
    with pytest.raises(sg.GradientError):
        saved.register_hooks(lambda t: t, lambda t: t)
    z = x * x
    z.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: 1)
    with pytest.raises(TypeError, match="expected to be a Tensor but got result of type int"):
        z.sum().backward()


def test_names_of_saved_values_are_pytorchs():
    x, w = sg.ones(2, 3, requires_grad=True), sg.ones(3, 4, requires_grad=True)
    node = (x @ w).grad_fn
    assert (node._saved_self.shape, node._saved_mat2.shape) == ((2, 3), (3, 4))
    assert (x**3).grad_fn._saved_exponent == 3
    assert (x * 3).grad_fn._saved_self is None
    assert x.sum(0).grad_fn._saved_self_sym_sizes == (2, 3)


def test_nodes_of_a_compiled_function_have_what_those_of_a_tape_have():
    """What a trace can't have cuts it."""

    def step(x):
        y = x.exp()
        node = y.grad_fn
        leaf = node.next_functions[0][0].variable
        edge = sg.autograd.graph.get_gradient_edge(y)
        node.metadata["factor"] = 3
        scaled = node._saved_result * node.metadata["factor"] + leaf
        return scaled, node(sg.ones(2))[0], sg.autograd.grad((y**2).sum(), edge)[0]

    x = sg.tensor([1.0, 2.0], requires_grad=True)
    compiled = sg.compile(step)
    for _ in range(3):
        for got, expected in zip(compiled(x), step(x), strict=True):
            np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-6)


def test_nan_is_found_where_a_compiled_function_asks_for_it():
    @sg.compile
    def step(x):
        with sg.autograd.set_detect_anomaly(True):
            (x * 0).sqrt().sum().backward()

    with pytest.raises(sg.errors.AnomalyError, match="returned nan values"):
        step(sg.ones(2, requires_grad=True))
