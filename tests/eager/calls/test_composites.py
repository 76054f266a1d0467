"""Functions of several ops as one operation: values, gradients to second order, and errors are those of NumPy."""

from __future__ import annotations

import gc
import threading
import weakref
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn
from staticgrad.eager import Record
from staticgrad.eager.calls.call_cache import CallCache
from staticgrad.eager.calls.composites import CompositeRecord
from staticgrad.eager.grad_mode import modes
from staticgrad.errors import GradientError, IndexRangeError
from tests.helpers import assert_close, taken

pytestmark = pytest.mark.usefixtures("empty_default_graph")

LABELS = np.array([0, 2, 1, 3])


def dropped(x: sg.Tensor) -> sg.Tensor:
    sg.manual_seed(5)
    return F.dropout(x, 0.4)


CASES: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (5,), w, b), [(4, 5), (5,), (5,)]),
    "gelu": (F.gelu, [(4, 5)]),
    "cross_entropy": (lambda x: F.cross_entropy(x, sg.tensor(LABELS)), [(4, 5)]),
    "linear": (F.linear, [(4, 5), (3, 5), (3,)]),
    "attention": (lambda *x: F.scaled_dot_product_attention(*x, is_causal=True), [(2, 4, 5), (2, 4, 5), (2, 4, 3)]),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, padding=1), [(2, 2, 4, 5), (3, 2, 3, 3), (3,)]),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), [(1, 2, 4, 6)]),
    "mse_loss": (F.mse_loss, [(4, 5), (4, 5)]),
    "dropout": (dropped, [(4, 5)]),
}


def arrays_of(shapes: list[tuple[int, ...]], dtype: Any = np.float64) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.uniform(0.2, 1.5, shape).astype(dtype) for shape in shapes]


def derivatives(function: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The value, gradients, and gradients of a number that is made of them."""
    xs = [sg.tensor(a, requires_grad=True) for a in arrays]
    out = function(*xs)
    seed = sg.cos(sg.arange(out.numel(), dtype=out.dtype)).reshape(out.shape)
    first = sg.grad(out, xs, seed, retain_graph=True)
    recorded = sg.grad(out, xs, seed, create_graph=True)
    total = sum((g * g).sum() for g in recorded)
    second = sg.grad(total, xs, allow_unused=True) if total.requires_grad else ()
    found = [out.detach(), *first, *recorded, *second]
    return [np.zeros(()) if x is None else x.detach().numpy() for x in found]


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_agree_with_single_operations(name: str, kernels: bool):
    function, shapes = CASES[name]
    arrays = arrays_of(shapes)
    with sg.eager_kernels(False):
        wanted = derivatives(function, arrays)
    with sg.eager_kernels(kernels, wait=True, plans=True):
        assert isinstance(function(*[sg.tensor(a, requires_grad=True) for a in arrays])._record, CompositeRecord)
        found = derivatives(function, arrays)
    for a, b in zip(found, wanted, strict=True):
        assert_close(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("extents", [(5,), [5], sg.ones(5).shape, 5, np.int64(5), (np.int64(5),)], ids=repr)
def test_an_argument_in_any_form_is_one_operation(extents: Any):
    x = sg.tensor(arrays_of([(4, 5)])[0], requires_grad=True)
    with sg.eager_kernels(wait=True):
        out = F.layer_norm(x, extents)
        assert isinstance(out._record, CompositeRecord)
        assert_close(out.detach().numpy(), F.layer_norm(x, (5,)).detach().numpy(), rtol=0)
        assert F.softmin(x, 0, dtype=np.dtype(np.float32)).dtype == sg.float32


def test_calls_that_differ_from_the_one_before():
    x, y = (sg.tensor(a) for a in arrays_of([(4, 5), (6, 5)]))
    for _ in range(2):
        for given in (x, y, x.float(), x.T, x.detach().requires_grad_()):
            for eps in (1e-5, 0.5):
                extents = tuple(given.shape[1:])
                with sg.eager_kernels(False):
                    wanted = F.layer_norm(given, extents, eps=eps)
                with sg.eager_kernels(wait=True):
                    found = F.layer_norm(given, extents, eps=eps)
                assert_close(found.detach().numpy(), wanted.detach().numpy(), rtol=2e-5, atol=1e-6)
                assert found.requires_grad == wanted.requires_grad


def test_zeros_of_both_signs():
    x = sg.tensor(-np.ones((4, 5)))
    with sg.eager_kernels(wait=True):
        for value in (0.0, -0.0, 0.0, -0.0):
            for out in (F.threshold(x, 0.5, value), F.threshold(x, threshold=0.5, value=value)):
                assert np.signbit(out.numpy()).all() == np.signbit(value)


def test_calls_make_room(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(modes.now, "calls", CallCache(3))
    x = sg.tensor(arrays_of([(4, 5)])[0], requires_grad=True)
    with sg.eager_kernels(wait=True):
        for alpha in np.arange(1, 9).tolist() * 2:
            F.elu(x, alpha).sum().backward()
    assert len(taken()) <= 6
    x.grad = None
    F.elu(x, 2.0).sum().backward()
    wanted = np.where(x.detach().numpy() > 0, 1, 2 * np.exp(x.detach().numpy()))
    assert_close(x.grad.numpy(), wanted, rtol=1e-12)


def _nodes(tensor: Any) -> set[str]:
    """The ops of the records on which a tensor depends."""
    stack, names, seen = [tensor.grad_fn], set(), set()
    while stack:
        node = stack.pop()
        if node is not None and id(node) not in seen:
            seen.add(id(node))
            names.add(node.op.name if isinstance(node, Record) else "")
            stack += [maker for maker, _ in node.next_functions]
    return names


def test_recorded_gradients_are_operations_to_third_order():
    """Of composite functions and of the rules of ops; some operands of theirs have no influence on a result."""

    def derivatives_along_x(x: Any, w: Any, b: Any) -> list[Any]:
        out = F.linear(x, w, b).tanh().sum(1)
        found = [out]
        for _ in range(2):
            (out,) = sg.grad(out.sum(), x, create_graph=True)
            found.append(out)
        assert {"gradient", "rules"} <= _nodes(out) or not waits
        return [*found, *sg.grad((out * out).sum(), [x, w, b])]

    arrays = arrays_of([(64, 2), (32, 2), (32,)])
    found = []
    for waits in (False, True):
        with sg.eager_kernels(waits, wait=waits):
            found.append(derivatives_along_x(*[sg.tensor(a, requires_grad=True) for a in arrays]))
    for a, b in zip(*found, strict=True):
        assert_close(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("layer", [nn.LSTM(3, 4), nn.GRU(3, 4), nn.BatchNorm1d(3)])
def test_layers_with_several_results(layer: Any):
    x = np.random.default_rng(0).standard_normal((5, 3, 3)).astype(np.float32)
    found = []
    for enabled in (False, True):
        with sg.eager_kernels(enabled, wait=True):
            given = sg.tensor(x, requires_grad=True)
            out = layer(given)
            total = out.square().sum() if sg.is_tensor(out) else (out[0][1:] * out[0][:-1]).sum() + 2 * sg.cat([*out[1]]).sum()
            found.append([total.detach(), *sg.grad(total, [given, *layer.parameters()])])
    for a, b in zip(*found, strict=True):
        assert_close(a.numpy(), b.numpy(), rtol=2e-5, atol=2e-5)


def test_operands_in_any_order_of_memory_and_a_cotangent_that_is_repeated():
    x, w = arrays_of([(5, 4), (5, 3)])
    found = []
    for enabled in (False, True):
        with sg.eager_kernels(enabled, wait=True):
            xs = [sg.tensor(a, requires_grad=True) for a in (x, w)]
            total = F.linear(xs[0].T, xs[1].T).sum()
            found.append([total.detach(), *sg.grad(total, xs)])
    for a, b in zip(*found, strict=True):
        assert_close(a.numpy(), b.numpy(), rtol=1e-12)


def test_the_tape_behaves_as_ever():
    with sg.eager_kernels(wait=True):
        x = sg.tensor(arrays_of([(4, 5)])[0], requires_grad=True)
        seen = []
        y = F.gelu(x)
        y.register_hook(seen.append)
        assert y.grad_fn.name() == "GeluBackward0"
        y.sum().backward(retain_graph=True)
        once = x.grad.numpy().copy()
        y.sum().backward()
        assert len(seen) == 2
        assert_close(x.grad.numpy(), 2 * once)
        with pytest.raises(GradientError, match="second time"):
            y.sum().backward()
        a = x.detach().clone().requires_grad_() * 1
        y = F.gelu(a)
        a += 1
        with pytest.raises(GradientError, match="modified by an inplace operation"):
            y.sum().backward()
        packed = []
        with sg.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t, lambda t: t):
            F.gelu(x).sum().backward()
        assert packed
        with pytest.raises(IndexRangeError):
            F.cross_entropy(sg.zeros(2, 3), sg.tensor([0, 3]))
        assert F.gelu(sg.zeros(0, 3)).shape == (0, 3)
        text = str(sg.graph_of(F.gelu(x), backward=False))
        assert "erf" in text


def test_a_cotangent_that_numpy_made_a_scalar():
    found = []
    for enabled in (False, True):
        with sg.eager_kernels(enabled, wait=True):
            x = sg.tensor(arrays_of([(4, 5)])[0], requires_grad=True)
            loss = F.mse_loss(x, x.detach() * 2)
            (loss * loss + loss).backward()
            found.append(x.grad.numpy())
    assert_close(*found, rtol=1e-12)


def test_threads_get_the_same_values():
    x = sg.tensor(arrays_of([(64, 64)], np.float32)[0])
    found: list[np.ndarray] = []

    def run() -> None:
        with sg.eager_kernels(wait=True):
            found.extend(F.layer_norm(x, (64,)).numpy() for _ in range(20))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all((a == found[0]).all() for a in found)


@pytest.mark.parametrize("name", ["linear", "max_pool2d"])
def test_their_tape_enters_a_graph_as_operations(name: str):
    function, shapes = CASES[name]
    x, *others = [sg.tensor(a, requires_grad=True) for a in arrays_of(shapes)]
    with sg.eager_kernels(wait=True):
        value = function(x, *others)
        assert isinstance(value._record, CompositeRecord)
        (gradient,) = sg.grad(value.sum(), [x], retain_graph=True)
        with sg.Graph().as_default() as graph:
            loss = (value * sg.placeholder("float64", (), "scale")).sum()
            (slope,) = sg.gradients(loss, [x])
            assert all(node.op is not value._record.op for node in graph.nodes)
            with sg.Session() as session:
                session.run(sg.global_variables_initializer())
                found, slopes = session.run([loss, slope], {"scale:0": 2.0})
    assert_close(found, 2 * value.detach().numpy().sum(), rtol=1e-9)
    assert_close(slopes, 2 * gradient.numpy(), rtol=1e-9, atol=1e-12)


def test_arguments_are_not_kept_alive():
    """A tuple of tensors is no part of a key."""
    x, padding = sg.ones(4, 8, requires_grad=True), (sg.tensor(1), sg.tensor(2))
    with sg.eager_kernels(wait=True), suppress(sg.StaticgradError):
        F.layer_norm(x, padding)
    alive = weakref.ref(padding[0])
    del padding
    gc.collect()
    assert alive() is None
