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
    ],
)
def test_there_are_no_values(read, match):
    with pytest.raises(NoDataError, match=match):
        read(sg.ones(2, 3, device="meta"))


def test_other_devices_are_refused_beside_it():
    with pytest.raises(DeviceError, match="found at least two devices, cpu and meta"):
        sg.ones(2, device="meta") + sg.ones(2)
    with pytest.raises(DeviceError, match="write x"):
        nn.LazyLinear(2, device="meta")


LAYERS = {
    "Linear": lambda **on: nn.Linear(3, 4, **on),
    "Bilinear": lambda **on: nn.Bilinear(3, 4, 2, **on),
    "Conv2d": lambda **on: nn.Conv2d(2, 4, 3, **on),
    "ConvTranspose1d": lambda **on: nn.ConvTranspose1d(2, 4, 3, **on),
    "BatchNorm2d": lambda **on: nn.BatchNorm2d(3, **on),
    "GroupNorm": lambda **on: nn.GroupNorm(2, 4, **on),
    "LayerNorm": lambda **on: nn.LayerNorm((3, 4), **on),
    "RMSNorm": lambda **on: nn.RMSNorm(4, **on),
    "Embedding": lambda **on: nn.Embedding(5, 3, padding_idx=1, **on),
    "EmbeddingBag": lambda **on: nn.EmbeddingBag(5, 3, **on),
    "LSTM": lambda **on: nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2, **on),
    "GRUCell": lambda **on: nn.GRUCell(3, 4, **on),
    "PReLU": lambda **on: nn.PReLU(3, **on),
    "MultiheadAttention": lambda **on: nn.MultiheadAttention(4, 2, add_bias_kv=True, kdim=3, **on),
    "Transformer": lambda **on: nn.Transformer(4, 2, 1, 1, 8, **on),
    "AdaptiveLogSoftmaxWithLoss": lambda **on: nn.AdaptiveLogSoftmaxWithLoss(4, 8, [3, 5], **on),
}


def _facts(model):
    members = (*model.named_parameters(), *model.named_buffers())
    return {name: (x.shape, x.dtype, x.requires_grad, isinstance(x, nn.Parameter)) for name, x in members}


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_layers_are_made_without_values(make):
    model = make()
    with sg.device("meta"):
        around = make()
    for other in (make(device="meta"), around):
        assert _facts(other) == _facts(model)
        assert all(x.is_meta for x in other.state_dict().values())
        other.to_empty(device="cpu").load_state_dict(model.state_dict())
        for name, x in other.state_dict().items():
            np.testing.assert_array_equal(x.numpy(), model.state_dict()[name].numpy())
    assert make(device="meta", dtype=sg.float64).state_dict().popitem()[1].dtype in (sg.float64, sg.int64)


def test_a_layer_that_no_memory_holds():
    layer = nn.Linear(10**6, 10**6, device="meta")
    assert sum(p.numel() for p in layer.parameters()) == 10**12 + 10**6
    with sg.device("meta"):
        x = sg.zeros(10**7, 10**6)
    assert layer(x).shape == (10**7, 10**6)
    assert sg.randn(10**7, 10**6, device="meta").is_meta
    for fill in (nn.init.normal_, nn.init.orthogonal_, nn.init.trunc_normal_, nn.init.ones_, nn.init.xavier_uniform_):
        assert fill(layer.weight) is layer.weight


def test_the_default_device():
    assert sg.get_default_device() == sg.device("cpu")
    x = sg.ones(2)

    @sg.device("meta")
    def make():
        return sg.tensor([1.0, 2.0])

    with sg.device("meta"):
        assert sg.get_default_device() == sg.device("meta")
        made = [
            sg.zeros(2), sg.rand(2), sg.arange(2.0), sg.tensor([1, 2]), sg.as_tensor([1, 2]), sg.eye(2), sg.full((2,), 1.0),
            sg.randint(0, 2, (2,)), sg.linspace(0, 1, 2), make(), nn.Parameter(sg.empty(2)),
        ]  # fmt: skip
        assert [m.is_meta for m in made] == [True] * len(made)
        assert [m.is_meta for m in (sg.zeros_like(x), sg.zeros(2, device="cpu"), x + 1, x.new_zeros(2))] == [False] * 4
        with sg.device("cpu"):
            assert not sg.zeros(2).is_meta
        assert sg.compile(lambda: sg.zeros(2))().is_meta
        seed = sg.initial_seed()
        with pytest.raises(DeviceError, match="not compiled with CUDA"), sg.device("cuda"):
            pass
        assert sg.get_default_device() == sg.device("meta")
    assert not sg.zeros(2).is_meta
    assert seed == sg.initial_seed()
    sg.set_default_device("meta")
    try:
        assert sg.ones(2).is_meta
    finally:
        sg.set_default_device("cpu")
    assert not sg.ones(2).is_meta
    sg.manual_seed(0)
    first = sg.rand(2)
    sg.manual_seed(0)
    sg.rand(5, device="meta"), nn.Linear(2, 2, device="meta")
    np.testing.assert_array_equal(first.numpy(), sg.rand(2).numpy())


def test_gradients_are_on_the_device():
    layer = nn.Linear(3, 2, device="meta")
    layer.note = 1
    layer.weight.note = "kept"
    assert copy.deepcopy(layer).weight.note == "kept"
    layer(sg.ones(4, 3, device="meta")).pow(2).sum().backward()
    assert layer.weight.grad.is_meta
    assert layer.weight.grad.shape == (2, 3)
    optimizer = sg.optim.SGD(layer.parameters(), lr=0.1)
    with pytest.raises(NoDataError, match="parameters on device meta, which have no values"):
        optimizer.step()
    optimizer.zero_grad()
    assert layer.bias.grad is None
    assert layer.bias.copy_(sg.ones(2)) is layer.bias
    with pytest.raises(sg.ShapeError):
        layer.bias.copy_(sg.ones(3))


def test_state_dicts_of_modules_without_values():
    model, state = nn.Linear(3, 2, device="meta"), nn.Linear(3, 2).state_dict()
    with pytest.warns(UserWarning, match="copying from a non-meta parameter in the checkpoint to a meta parameter") as told:
        model.load_state_dict(state)
    assert [str(w.message)[:11] for w in told] == ["for weight:", "for bias: c"]
    assert model.weight.is_meta
    with pytest.raises(RuntimeError, match='While copying the parameter named "weight", whose dimensions in the model are'):
        nn.Linear(3, 2).load_state_dict(model.state_dict())
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        model.load_state_dict(nn.Linear(4, 2).state_dict(), assign=True)
    assert model.load_state_dict(state, assign=True).missing_keys == []
    assert isinstance(model.weight, nn.Parameter)
    assert model.weight.requires_grad
    np.testing.assert_array_equal(model.weight.detach().numpy(), state["weight"].numpy())
    model.register_buffer("count", sg.zeros((), device="meta"))
    model.count = sg.zeros(2, device="meta")
    assert model.state_dict()["count"].shape == (2,)


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


def test_packages_make_modules_without_values():
    """As `accelerate.init_empty_weights`, which makes each parameter again as it is registered."""
    register = nn.Module.register_parameter

    def register_empty(module, name, param):
        register(module, name, param)
        if param is not None:
            given = module._parameters[name].__dict__
            given["requires_grad"] = param.requires_grad
            module._parameters[name] = type(module._parameters[name])(module._parameters[name].to("meta"), **given)

    nn.Module.register_parameter = register_empty
    try:
        layer = nn.Linear(3, 4)
    finally:
        nn.Module.register_parameter = register
    facts = [(name, isinstance(p, nn.Parameter), p.is_meta, p.requires_grad) for name, p in layer.named_parameters()]
    assert facts == [("weight", True, True, True), ("bias", True, True, True)]
    with pytest.raises(TypeError, match="unexpected keyword argument 'shape_of'"):
        sg.Tensor(2, shape_of=3)
    with pytest.raises(NoDataError, match=r"no data! Please use torch.nn.Module.to_empty\(\) instead"):
        layer.to("cpu")
