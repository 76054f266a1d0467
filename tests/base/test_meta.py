"""Tensors of device meta: shapes and dtypes without values."""

import copy
import pickle

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.errors import DeviceError, NoDataError


def test_operations_have_shapes_and_dtypes():
    x = sg.ones(2, 3, device="meta", requires_grad=True)
    assert x.is_meta
    assert not x.is_cpu
    assert x.device == sg.device("meta")
    y = (x @ x.T).double().softmax(-1) + 1
    assert (y.is_meta, y.shape, y.dtype, y.requires_grad, y.is_leaf) == (True, (2, 2), sg.float64, True, False)
    assert x.sum(1, keepdim=True).shape == (2, 1)
    assert x[:, 1:].shape == (2, 2)
    assert sg.zeros_like(x).is_meta
    assert x.new_zeros(4).is_meta
    assert (x * sg.tensor(2.0)).is_meta, "a number of the CPU's"
    assert x.zero_() is x
    with sg.no_grad():
        assert x.mul_(2).requires_grad
    assert repr(x) == "tensor(..., device='meta', size=(2, 3), requires_grad=True)"
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert (other.shape, other.requires_grad, other.is_meta) == ((2, 3), True, True)


@pytest.mark.parametrize(
    ("read", "match"),
    [
        (lambda x: x.sum().item(), "cannot be called on meta tensors"),
        (lambda x: bool(x.sum()), "cannot be called on meta tensors"),
        (lambda x: x.tolist(), "Cannot copy out of meta tensor; no data!"),
        (lambda x: x.numpy(), "Cannot copy out of meta tensor; no data!"),
        (lambda x: x.to("cpu"), "Cannot copy out of meta tensor; no data!"),
        (lambda x: sg.nonzero(x), "the extents of the result depend on values"),
        (lambda x: x.sum().backward(), "there are no values to differentiate"),
    ],
)
def test_there_are_no_values(read, match):
    with pytest.raises(NoDataError, match=match):
        read(sg.ones(2, 3, device="meta"))


def test_other_devices_are_refused_beside_it():
    with pytest.raises(DeviceError, match="found at least two devices, cpu and meta"):
        sg.ones(2, device="meta") + sg.ones(2)
    with pytest.raises(DeviceError, match="write x"):
        nn.Linear(2, 2, device="meta")


def test_modules():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    state = model.state_dict()
    model.to("meta")
    assert all(isinstance(p, nn.Parameter) and p.is_meta and p.requires_grad for p in model.parameters())
    assert [*model.state_dict()] == [*state]
    assert model(sg.ones(5, 1, 4, 4, device="meta")).shape == (5, 3)
    with pytest.raises(NoDataError):
        model.to("cpu")
    for layer, shape in ((nn.LSTM(3, 4), (5, 2, 3)), (nn.TransformerEncoderLayer(4, 2, 8), (5, 2, 4))):  # zeros, dropout
        out = layer.to("meta")(sg.ones(*shape, device="meta"))
        assert (out[0] if isinstance(out, tuple) else out).shape == (5, 2, 4)
    made = copy.deepcopy(model).to_empty(device="cpu")
    made.load_state_dict(state)
    model.load_state_dict(state, assign=True)
    x = sg.randn(5, 1, 4, 4)
    np.testing.assert_array_equal(model(x).detach().numpy(), made(x).detach().numpy())


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_an_ensemble_through_a_model_without_values(compiled):
    models = [nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)) for _ in range(3)]
    base = copy.deepcopy(models[0]).to("meta")
    parameters, buffers = sg.func.stack_module_state(models)
    x = sg.randn(5, 3)

    def loss_of(parameters):
        call = sg.func.vmap(lambda p, b: sg.func.functional_call(base, (p, b), (x,)))
        return (call(parameters, buffers) ** 2).mean((1, 2)).sum()

    def step():
        loss = loss_of(parameters)
        return sg.autograd.grad(loss, [*parameters.values()])

    found = (sg.compile(step) if compiled else step)()
    for i, model in enumerate(models):
        model.zero_grad()
        (model(x) ** 2).mean().backward()
        for g, p in zip(found, model.parameters(), strict=True):
            np.testing.assert_allclose(g[i].numpy(), p.grad.numpy(), rtol=1e-4, atol=1e-6)
