"""Nodes of the tape, hooks, requests for gradients with all arguments, and hooks on saved values: as in PyTorch."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import staticgrad as sg
from tests.helpers import raised


def leaf(T, *values):
    return T.tensor(values, dtype=T.float64, requires_grad=True)


def lists(tensors):
    return [None if t is None else t.tolist() for t in tensors]


# requests -------------------------------------------------------------------------------------------------------------------


def test_grad_with_all_arguments(T):
    x, w, u = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0), leaf(T, 1.0, 1.0)
    grad = T.autograd.grad
    assert lists(grad((x * w).sum(), (t for t in [x, w]) if T is sg else [x, w])) == [[3.0, 4.0], [1.0, 2.0]]
    assert lists(grad((x * w).sum(), [x, u], materialize_grads=True)) == [[3.0, 4.0], [0.0, 0.0]]
    assert lists(grad((x * w).sum(), [x, u], allow_unused=True)) == [[3.0, 4.0], None]
    assert lists(grad([x * w], [x, w], [T.eye(2, dtype=T.float64)], is_grads_batched=True)) == [
        [[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]],
    ]  # fmt: skip
    batched = grad([x * w], [x, u], [T.eye(2, dtype=T.float64)], is_grads_batched=True, allow_unused=True)
    assert lists(batched) == [[[3.0, 0.0], [0.0, 4.0]], None]
    assert {k: v.tolist() for k, v in grad((x * w).sum(), {"a": x, "b": w}).items()} == {"a": [3.0, 4.0], "b": [1.0, 2.0]}
    with raised(ValueError, "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "):
        grad((x * w).sum(), [x, u], allow_unused=False, materialize_grads=True)


def test_backward_with_all_arguments(T):
    x, w = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    T.autograd.backward([(x * w).sum(), x * 2], [None, T.ones(2, dtype=T.float64)], inputs=[x])
    assert (x.grad.tolist(), w.grad) == ([5.0, 6.0], None)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"):
        T.autograd.backward(x * w, grad_variables=T.ones(2, dtype=T.float64), retain_graph=True)
    assert w.grad.tolist() == [1.0, 2.0]


def test_same_request_when_compiled():
    w = leaf(sg, 3.0, 4.0)

    def step(x):
        x = x.detach().requires_grad_(True)
        sums = sg.autograd.grad([x * w], (t for t in (x, w)), [sg.eye(2, dtype=sg.float64)], is_grads_batched=True)
        return *sums, *sg.autograd.grad((x * 2).sum(), [w], materialize_grads=True)

    x = sg.tensor([1.0, 2.0], dtype=sg.float64)
    assert lists(sg.compile(step)(x)) == lists(step(x))


# nodes ------------------------------------------------------------------------------------------------------------------------


def test_hooks_of_nodes(T):
    x, w, seen = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0), []
    y = x * w
    handle = y.grad_fn.register_hook(lambda inputs, outputs: seen.append((lists(inputs), lists(outputs))))
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 0 + 1,))
    y.exp().sum().backward(retain_graph=True)
    assert seen == [([[3.0, 4.0], [1.0, 2.0]], [[1.0, 1.0]])]
    handle.remove()
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 10, inputs[1]))
    x.grad = w.grad = None
    y.sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([30.0, 40.0], [1.0, 2.0])


def test_wrong_results_of_hooks(T):
    y = leaf(T, 1.0) * 2
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0],) * 5)
    with raised(RuntimeError, "hook '<lambda>' has returned an incorrect number of values (got 5, but expected 2)"):
        y.backward()


def test_walk(T):
    x, w = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    y = x * w
    z = y.exp()
    assert z.grad_fn.next_functions[0][0] is y.grad_fn
    end = y.grad_fn.next_functions[0][0]
    assert end.variable is x
    assert end is y.grad_fn.next_functions[0][0]
    assert end.name().endswith("AccumulateGrad")
    y.grad_fn.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}


def test_saved_values(T):
    x, w = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    y = x * w
    assert y.grad_fn._saved_self is x
    assert y.grad_fn._saved_other.tolist() == [3.0, 4.0]
    assert x.sqrt().grad_fn._saved_result.tolist() == x.sqrt().tolist()
    assert not hasattr((x + w).grad_fn, "_saved_self")
    y.sum().backward()
    with raised(RuntimeError, "Trying to backward through the graph a second time"):
        y.grad_fn._saved_self  # noqa: B018


def test_hooks_of_leaves(T):
    x, w, unused, seen = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0), leaf(T, 1.0), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    handle = T.autograd.graph.register_multi_grad_hook([x, w, unused], lambda grads: seen.append(lists(grads)))
    (x * w).sum().backward()
    assert sorted(seen, key=len) == [[3.0, 4.0], [[3.0, 4.0], [1.0, 2.0], None]]
    handle.remove()
    first = []
    T.autograd.graph.register_multi_grad_hook([x, w], lambda g: first.append(g.tolist()), mode="any")
    (x * w).sum().backward()
    assert len(first) == 1
    assert seen[-1] == [6.0, 8.0]
    with raised(RuntimeError, "post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (x * 1).register_post_accumulate_grad_hook(print)


def test_optimizer_in_a_hook_when_compiled():
    def train(run):
        w = sg.ones(3, requires_grad=True)

        def update(p):
            with sg.no_grad():
                p.sub_(0.1 * p.grad)
            p.grad = None

        w.register_post_accumulate_grad_hook(update)

        def step(x):
            (w * x).sum().backward()

        step = run(step)
        for _ in range(3):
            step(sg.tensor([1.0, 2.0, 3.0]))
        return w.tolist()

    np.testing.assert_allclose(train(sg.compile), train(lambda step: step), rtol=1e-6)


def test_edges_and_versions(T):
    x = leaf(T, 1.0, 2.0)
    y = x * 2
    edge = T.autograd.graph.get_gradient_edge(y)
    assert (edge.node, edge.output_nr) == (y.grad_fn, 0)
    assert T.autograd.graph.get_gradient_edge(x).node.variable is x
    z = (y * y).sum()
    assert T.autograd.grad(z, edge, retain_graph=True)[0].tolist() == [4.0, 8.0]
    ends = [T.autograd.graph.get_gradient_edge(t) for t in (x, y)]
    assert lists(T.autograd.grad(T.autograd.graph.get_gradient_edge(z), ends)) == [[8.0, 16.0], [4.0, 8.0]]
    with raised(RuntimeError, "It is not possible to get the gradient edge for a Tensor that does not require gradients"):
        T.autograd.graph.get_gradient_edge(T.ones(2))
    z = y.exp() * y
    before = y._version
    T.autograd.graph.increment_version(y)
    assert y._version == before + 1
    with raised(RuntimeError, "one of the variables needed for gradient computation has been modified by an inplace operation"):
        z.sum().backward()


# saved values ---------------------------------------------------------------------------------------------------------------


def test_saved_tensors_hooks(T):
    x, seen = leaf(T, 1.0, 2.0), []

    def pack(t):
        seen.append("pack")
        return t.detach().numpy().copy()

    def unpack(array):
        seen.append("unpack")
        return T.from_numpy(array * 2)

    with T.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * x).exp().sum()
        z = x.sum() + 1
    assert seen == ["pack"] * 3
    y.backward()
    assert seen == ["pack"] * 3 + ["unpack"] * 3
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([1.0, 4.0]) * 2 * 2 * np.array([1.0, 2.0]))
    z.backward()


def test_saved_values_are_released():
    x = leaf(sg, 1.0, 2.0)
    with sg.autograd.graph.saved_tensors_hooks(lambda t: None, lambda p: sg.ones(2, dtype=sg.float64)):
        h = x.exp()
        array = weakref.ref(h._data)
        y = (h * h).sum()
        del h
    assert array() is None
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_innermost_pair_and_second_derivatives(T):
    x = leaf(T, 1.0, 2.0)
    outer, inner = [], []
    hooks = T.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: outer.append(1) or t, lambda t: t), hooks(lambda t: inner.append(1) or t, lambda t: t):
        y = (x.sin() * x).sum()
    assert (len(outer), len(inner)) == (0, 3)
    (g,) = T.autograd.grad(y, x, create_graph=True)
    (second,) = T.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(second.numpy(), 2 * np.cos([1.0, 2.0]) - np.array([1.0, 2.0]) * np.sin([1.0, 2.0]))


def test_save_on_cpu_and_disabled_hooks(T):
    x = leaf(T, 1.0, 2.0)
    with T.autograd.graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    with T.autograd.graph.disable_saved_tensors_hooks("not here"), raised(RuntimeError, "not here"):
        T.autograd.graph.save_on_cpu().__enter__()


def test_wrong_unpacked_value(T):
    x = leaf(T, 1.0, 2.0)
    with T.autograd.graph.saved_tensors_hooks(lambda t: 3, lambda packed: packed):
        y = (x * x).sum()
    with raised(TypeError, "Output of saved tensor unpack_hook expected to be a Tensor but got"):
        y.backward()


# modes ------------------------------------------------------------------------------------------------------------------------


def test_inference_mode(T):
    x = leaf(T, 1.0)
    with T.inference_mode():
        assert T.is_inference_mode_enabled()
        assert not (x * 2).requires_grad
        with T.inference_mode(False):
            assert (x * 2).requires_grad
    assert not T.is_inference_mode_enabled()

    @T.inference_mode()
    def decorated():
        return x * 2

    @T.inference_mode
    def without_parentheses():
        return x * 2

    assert not decorated().requires_grad
    assert not without_parentheses().requires_grad
    assert (x * 2).requires_grad


def test_set_detect_anomaly(T):
    x = leaf(T, 0.0)
    with T.autograd.set_detect_anomaly(True):
        y = (x * 0).sqrt()
        with raised(RuntimeError, "Function '"):
            y.backward()
    T.autograd.set_detect_anomaly(True)
    assert T.is_anomaly_enabled()
    T.autograd.set_detect_anomaly(False)
    with T.autograd.set_detect_anomaly(True, check_nan=False):
        (x * 0).sqrt().backward()
    assert not T.is_anomaly_enabled()


def test_variable(T):
    values = T.tensor([1.0, 2.0])
    x = T.autograd.Variable(values, requires_grad=True)
    assert isinstance(x, T.autograd.Variable)
    assert isinstance(values, T.autograd.Variable)
    assert not isinstance(3.0, T.autograd.Variable)
    assert (x.requires_grad, values.requires_grad) == (True, False)
    x.data.fill_(3.0)
    assert values.tolist() == [3.0, 3.0]


# memory -----------------------------------------------------------------------------------------------------------------------


def test_tape_is_gone_with_the_collector_off():
    model = sg.nn.Sequential(sg.nn.Linear(4, 8), sg.nn.ReLU(), sg.nn.Linear(8, 1))
    gc.collect()
    gc.disable()
    try:
        for backward in (False, True):
            hidden = model[0](sg.ones(2, 4))
            view = hidden[0]
            loss = model[2](model[1](hidden)).sum() + view.sum()
            hidden.retain_grad()
            loss.register_hook(lambda g: g * 2)
            if backward:
                loss.backward(create_graph=True)
                model.zero_grad()
                hidden.grad = None
            seen = [weakref.ref(x) for x in (loss, hidden, view, loss._record, hidden._record, hidden._data)]
            del loss, hidden, view
            assert [r() for r in seen] == [None] * len(seen), backward
    finally:
        gc.enable()


@pytest.mark.parametrize("kind", ["plain", "in place", "hooks", "function"])
def test_many_steps_grow_nothing(kind):
    class Double(sg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    w, x = sg.ones(3, requires_grad=True), sg.ones(3)
    if kind == "hooks":
        w.register_hook(lambda g: g)

    def step():
        y = w * x
        if kind == "in place":
            y[0] = 1.0
            y.mul_(2)
        elif kind == "hooks":
            y.register_hook(lambda g: g)
            y.retain_grad()
        elif kind == "function":
            y = Double.apply(y)
        y.sum().backward()
        with sg.no_grad():
            w.sub_(0.001 * w.grad)
        w.grad = None

    steps = 10_000 if kind == "plain" else 500
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(2_500):  # Python keeps up to 2,000 freed tuples of each length
            step()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(steps):
            step()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert after - before < 5_000


def test_saved_values_may_be_changed_where_it_is_allowed():
    x = sg.tensor([1.0, 2.0], requires_grad=True)
    with sg.autograd.graph.allow_mutation_on_saved_tensors():
        h = x * 1
        y = (h * h).sum()
        h.detach().zero_()
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
