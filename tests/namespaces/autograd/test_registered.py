"""`torch.library` and `torch.ops` under the torch front: operations that programs register."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.autograd.registered import REGISTERED


@pytest.fixture
def torch(monkeypatch):
    monkeypatch.setattr("staticgrad.autograd.registered.REGISTERED", before := dict(REGISTERED))
    with sg.as_torch() as module:
        yield module
    assert REGISTERED is not before


def test_a_registered_operation_is_found_by_its_name_and_has_its_own_gradient(torch):
    @torch.library.custom_op("mine::scaled", mutates_args=())
    def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
        return x * factor

    @scaled.register_fake
    def _(x, factor=2.0):
        return torch.empty_like(x)

    def keep(ctx, inputs, output):
        ctx.factor = inputs[1]

    scaled.register_autograd(lambda ctx, grad: (10 * grad * ctx.factor, None), setup_context=keep)
    assert torch.ops.mine.scaled is scaled.default is scaled
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.ops.mine.scaled(x, factor=3.0)
    y.sum().backward()
    np.testing.assert_array_equal(y.detach().numpy(), [3.0, 6.0])
    np.testing.assert_array_equal(x.grad.numpy(), [30.0, 30.0])

    step = torch.compile(lambda x: scaled(x).sum())
    x.grad = None
    step(x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [20.0, 20.0])


def test_an_operation_without_a_gradient_refuses_one(torch):
    double = torch.library.custom_op("mine::double", lambda x: 2 * x, mutates_args=())
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"mine::double\.default but no autograd formula was registered"):
        double(x).sum().backward()


def test_functions_by_name(torch):
    torch.library.custom_op("mine::shifted", mutates_args=())(lambda x: x + 1)
    torch.library.register_fake("mine::shifted", lambda x: x)
    torch.library.register_autograd("mine::shifted", lambda ctx, grad: 5 * grad)
    x = torch.zeros(1, requires_grad=True)
    torch.ops.mine.shifted(x).backward()
    assert x.grad.item() == 5.0
    torch.library.register_kernel("mine::shifted", "cuda", lambda x: x + 100)
    assert torch.ops.mine.shifted(x).item() == 1.0
    torch.library.register_kernel("mine::shifted", ("cpu", "cuda"))(lambda x: x + 7)
    assert torch.ops.mine.shifted(x).item() == 7.0


def test_what_is_not_registered(torch):
    assert not hasattr(torch.ops.other, "name")
    with pytest.raises(sg.UnsupportedError, match=r"torch\.ops\.aten\.mm is not in staticgrad"):
        torch.ops.aten.mm(1, 2)
    with pytest.raises(ValueError, match="operator mine::no does not exist"):
        torch.library.register_autograd("mine::no", lambda ctx, grad: grad)
    with pytest.raises(ValueError, match="expected a name like 'package::name'"):
        torch.library.custom_op("plain", lambda x: x, mutates_args=())
    with pytest.raises(OSError, match=r"libfoo\.so is a library for PyTorch's own binary interface"):
        torch.ops.load_library("libfoo.so")
