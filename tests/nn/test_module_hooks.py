"""Hooks of modules, with all options, as in PyTorch; their gradients when compiled."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from tests.helpers import raised


def lists(tensors):
    return [None if t is None else t.reshape(-1).tolist() for t in tensors]


def linear(T):
    model = T.nn.Linear(2, 2)
    with T.no_grad():
        model.weight.copy_(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
        model.bias.copy_(T.tensor([0.0, 1.0]))
    return model, T.tensor([[1.0, 1.0]], requires_grad=True)


def test_full_backward_hooks(T):
    (model, x), seen = linear(T), []
    model.register_full_backward_hook(lambda m, inputs, outputs: seen.append((m is model, lists(inputs), lists(outputs))))
    model.register_full_backward_hook(lambda m, inputs, outputs: (inputs[0] * 2,))
    handle = model.register_full_backward_pre_hook(lambda m, outputs: (outputs[0] * 3,))
    model(x).sum().backward()
    assert seen == [(True, [[12.0, 18.0]], [[3.0, 3.0]])]
    assert (x.grad.tolist(), model.weight.grad.tolist()) == ([[24.0, 36.0]], [[3.0, 3.0], [3.0, 3.0]])
    handle.remove()
    x.grad = None
    model(x).sum().backward()
    assert x.grad.tolist() == [[8.0, 12.0]]


def test_forward_hooks_with_options(T):
    (model, x), seen = linear(T), []
    model.register_forward_pre_hook(lambda m, args, named: (tuple(a * 2 for a in args), named), with_kwargs=True)
    model.register_forward_pre_hook(lambda m, args: seen.append("first"), prepend=True)
    model.register_forward_hook(lambda m, args, out: seen.append("third"))
    model.register_forward_hook(lambda m, args, named, out: seen.append(("second", named)), with_kwargs=True, prepend=True)
    assert model(x).tolist() == [[6.0, 15.0]]
    assert seen == ["first", ("second", {}), "third"]


def test_hook_that_is_always_called(T):
    class Fails(T.nn.Module):
        def forward(self, x):
            raise KeyError("no")

    seen, module = [], Fails()
    module.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    module.register_forward_hook(lambda m, args, out: seen.append("never"))
    with pytest.raises(KeyError):
        module(T.ones(1))
    assert seen == [None]


def test_hooks_of_all_modules(T):
    seen, m = [], T.nn.modules.module
    handles = [
        m.register_module_forward_pre_hook(lambda m, args: seen.append("before")),
        m.register_module_forward_hook(lambda m, args, out: seen.append(type(m).__name__)),
        m.register_module_full_backward_hook(lambda m, inputs, outputs: seen.append("gradient")),
        m.register_module_full_backward_pre_hook(lambda m, outputs: None),
    ]
    try:
        model = T.nn.Sequential(T.nn.ReLU(), T.nn.Tanh())
        model(T.ones(2, requires_grad=True)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    assert seen == ["before", "before", "ReLU", "before", "Tanh", "Sequential", "gradient", "gradient", "gradient"]
    model(T.ones(2))
    assert len(seen) == 9


def test_several_arguments_and_results(T):
    class Several(T.nn.Module):
        def forward(self, a, k, b=None):
            return a * 2, a.detach() * 3, "text"

    module, seen = Several(), []
    module.register_full_backward_hook(lambda m, inputs, outputs: seen.append((lists(inputs), lists(outputs))))
    a, _, text = module(T.ones(2, requires_grad=True) * 1, 5, b=3)
    a.sum().backward()
    assert text == "text"
    assert seen == [([[2.0, 2.0], None], [[1.0, 1.0], None, None])]


def test_wrong_results(T):
    module = T.nn.Tanh()
    module.register_full_backward_hook(lambda m, inputs, outputs: (inputs[0], inputs[0]))
    with raised(RuntimeError, "Backward hook returned an invalid number of grad_input, got 2, but expected 1"):
        module(T.ones(2, requires_grad=True)).sum().backward()
    module = T.nn.Tanh()
    module.register_full_backward_pre_hook(lambda m, outputs: (outputs[0], outputs[0]))
    with raised(RuntimeError, "Backward pre hook returned an invalid number of grad_output, got 2, but expected 1"):
        module(T.ones(2, requires_grad=True)).sum().backward()


def test_a_module_whose_arguments_need_no_gradient(T):
    module, seen = T.nn.Linear(2, 1), []
    handle = module.register_full_backward_hook(lambda m, inputs, outputs: seen.append((inputs, lists(outputs))) or (None,))
    with pytest.warns(UserWarning, match="Full backward hook is firing .* since no inputs require gradients"):
        module(T.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0]])]
    handle.remove()
    module.register_full_backward_hook(lambda m, inputs, outputs: outputs)
    with (
        pytest.warns(UserWarning, match="Full backward hook is firing"),
        raised(RuntimeError, "Backward hook for Modules where no input requires gradient should always return None"),
    ):
        module(T.ones(1, 2)).sum().backward()


def test_compiled():
    sg.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    model[1].register_full_backward_hook(lambda m, inputs, outputs: (inputs[0] * 2 + outputs[0],))
    model[0].register_full_backward_pre_hook(lambda m, outputs: (outputs[0] * 3,))
    x = sg.randn(4, 2)

    def step(x):
        model.zero_grad()
        (model(x) ** 2).sum().backward()

    compiled, found = sg.compile(step), []
    for run in (step, compiled):
        run(x)
        found.append([p.grad.numpy().copy() for p in model.parameters()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    model[2].register_full_backward_hook(lambda m, inputs, outputs: (inputs[0] * 0,))
    compiled(x)
    assert not model[0].weight.grad.numpy().any(), "another hook, another trace"
