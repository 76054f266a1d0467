"""Layers of PyTorch's names: arguments, text, values and gradients; eager, compiled, in a Session."""

from __future__ import annotations

import collections
import inspect

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.errors import ShapeError

X = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float64) * 2
IMAGE = np.random.default_rng(1).normal(size=(2, 8, 4, 6))
ROWS = [
    ("ReLU", (True,), X), ("ReLU6", (), 4 * X), ("LeakyReLU", (0.2, True), X), ("ELU", (0.7,), X), ("SELU", (), X),
    ("CELU", (0.7,), X), ("GELU", (), X), ("SiLU", (), X), ("Mish", (), X), ("Sigmoid", (), X), ("Tanh", (), X),
    ("Softsign", (), X), ("Tanhshrink", (), X), ("LogSigmoid", (), X), ("Hardsigmoid", (), 3 * X), ("Hardswish", (), 3 * X),
    ("Hardshrink", (0.3,), X), ("Softshrink", (0.3,), X), ("Softplus", (2.0, 3.0), X), ("Threshold", (0.1, 5.0), X),
    ("GLU", (), X), ("Softmax", (1,), X), ("LogSoftmax", (0,), X), ("Softmin", (1,), X), ("Softmax2d", (), IMAGE),
    ("Hardtanh", (-0.5, 0.7), X), ("PReLU", (6, 0.3), X), ("PReLU", (), X), ("Identity", (3, "a"), X),
    ("Unflatten", (1, (2, 3)), X), ("Flatten", (), IMAGE), ("PixelShuffle", (2,), IMAGE), ("PixelUnshuffle", (2,), IMAGE),
    ("ChannelShuffle", (4,), IMAGE), ("ConstantPad2d", ((1, 2, 0, 1), 3.0), IMAGE), ("ZeroPad2d", (1,), IMAGE),
    ("ReflectionPad2d", (2,), IMAGE), ("ReplicationPad2d", ((1, 0, 2, 1),), IMAGE), ("CircularPad2d", (1,), IMAGE),
    ("ConstantPad1d", (1, 2.0), X), ("Upsample", (None, 2), IMAGE), ("Upsample", ((7, 5),), IMAGE),
    ("Upsample", (None, 2.0, "bilinear"), IMAGE), ("Upsample", ((3, 9), None, "bilinear", True), IMAGE),
    ("Upsample", (None, (1.5, 2.0), "nearest-exact"), IMAGE), ("UpsamplingBilinear2d", (None, 2), IMAGE),
    ("UpsamplingNearest2d", (None, 3), IMAGE), ("Dropout", (0.5, True), None), ("Dropout2d", (), None),
    ("BatchNorm3d", (3,), np.random.default_rng(2).normal(size=(2, 3, 2, 2, 2))),
]  # fmt: skip
IDS = [f"{name} {args}" for name, args, _ in ROWS]
REFERENCE = {
    "ReLU6": lambda x: np.clip(x, 0, 6),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "Hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "SELU": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_values(name):
    np.testing.assert_allclose(getattr(nn, name)()(sg.tensor(3 * X)).numpy(), REFERENCE[name](3 * X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "args", "x"), ROWS, ids=IDS)
def test_the_same_in_every_mode(name, args, x):
    if x is None:
        return
    layer = getattr(nn, name)(*args).double()

    def run(x):
        y = layer(x * 1)  # some change their input
        return y, *sg.grad((y * y).sum(), [x, *layer.parameters()])

    eager = run(sg.tensor(x, requires_grad=True))
    compiled = sg.compile(run)(sg.tensor(x, requires_grad=True))
    with sg.Graph().as_default(), sg.Session() as sess:
        feed = sg.placeholder(np.float64, x.shape)
        y = layer(feed)
        (g,) = sg.gradients((y * y).sum(), [feed])
        sess.run(sg.global_variables_initializer())
        session = sess.run([y, g], {feed: x})
    for a, b in [*zip(eager, compiled, strict=True), *zip(eager, session, strict=False)]:
        np.testing.assert_allclose(np.asarray(b.detach().numpy() if hasattr(b, "detach") else b), a.detach().numpy(),
                                   rtol=1e-9, atol=1e-11)  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "args", "x"), ROWS, ids=IDS)
def test_against_torch(name, args, x):
    torch = pytest.importorskip("torch")
    ours, theirs = getattr(nn, name)(*args), getattr(torch.nn, name)(*args)
    if name != "BatchNorm3d":  # whose text in PyTorch 2.13 has its new argument `bias`
        assert repr(ours) == repr(theirs)
    if x is None:
        return
    ours, theirs = ours.double(), theirs.double()
    a, b = sg.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    if any(word in str(args) for word in ("inplace",)) or args[-1:] == (True,):
        mine, other = ours(a * 1), theirs(b * 1)
    else:
        mine, other = ours(a), theirs(b)
    np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-6, atol=1e-9)
    (mine**2).sum().backward()
    (other**2).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-6, atol=1e-8)


VARIADIC = "Module", "Parameter", "Sequential", "RNN", "LSTM", "GRU", "RNNBase", "Identity"


@pytest.mark.oracle
def test_arguments_are_those_of_torch():
    torch = pytest.importorskip("torch")
    different = []
    for name in nn.__all__:
        theirs = getattr(torch.nn, name, None)
        if name in VARIADIC or not inspect.isclass(theirs):
            continue
        mine = inspect.signature(getattr(nn, name)).parameters.values()
        wanted = [p for p in inspect.signature(theirs).parameters.values() if p.kind is not p.VAR_POSITIONAL]
        wanted = [p.name for p in wanted if p.kind is not p.VAR_KEYWORD]
        if [p.name for p in mine][: len(wanted)] != wanted:
            different.append(name)
    assert different == []


CELLS = [("RNNCell", {}), ("RNNCell", {"nonlinearity": "relu", "bias": False}), ("LSTMCell", {}), ("GRUCell", {})]


@pytest.mark.parametrize(("kind", "kwargs"), CELLS[:1] + CELLS[2:])
@pytest.mark.parametrize("compiled", [False, True])
def test_cells_are_steps_of_layers(kind, kwargs, compiled):
    cell = getattr(nn, kind)(3, 5, **kwargs).double()
    layer = getattr(nn, kind[:-4])(3, 5).double()
    layer.load_state_dict({f"{name}_l0": value for name, value in cell.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(4, 2, 3))

    def unrolled(x):
        state, found = None, []
        for t in range(4):
            state = cell(x[t], state)
            found.append(state[0] if isinstance(state, tuple) else state)
        return sg.stack(found)

    out = (sg.compile(unrolled) if compiled else unrolled)(sg.tensor(x))
    np.testing.assert_allclose(out.detach().numpy(), layer(sg.tensor(x))[0].detach().numpy(), rtol=1e-9)
    one = cell(sg.tensor(x[0, 0]))
    np.testing.assert_allclose((one[0] if kind == "LSTMCell" else one).detach().numpy(), out.detach().numpy()[0, 0], rtol=1e-9)


MODELS = {
    "bilinear": (lambda n: n.Bilinear(3, 4, 5), [(2, 3), (2, 4)]),
    "cosine": (lambda n: n.CosineSimilarity(), [(4, 3), (4, 3)]),
    "distance": (lambda n: n.PairwiseDistance(3.0), [(4, 3), (4, 3)]),
    "RNNCell": (lambda n: n.RNNCell(3, 5), [(4, 3), (4, 5)]),
    "GRUCell": (lambda n: n.GRUCell(3, 5), [(4, 3), (4, 5)]),
    "encoder": (lambda n: n.TransformerEncoder(n.TransformerEncoderLayer(6, 2, 8, 0.0), 2, n.LayerNorm(6)), [(5, 2, 6)]),
    "decoder layer": (lambda n: n.TransformerDecoderLayer(6, 2, 8, 0.0, "gelu", norm_first=True), [(5, 2, 6), (3, 2, 6)]),
    "decoder": (lambda n: n.TransformerDecoder(n.TransformerDecoderLayer(6, 2, 8, 0.0), 2), [(5, 2, 6), (3, 2, 6)]),
    "transformer": (lambda n: n.Transformer(6, 2, 1, 2, 8, 0.0, batch_first=True), [(2, 4, 6), (2, 3, 6)]),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_compile(name):
    make, shapes = MODELS[name]
    model = make(nn).double()
    rng = np.random.default_rng(0)
    xs = [sg.tensor(rng.normal(size=s), requires_grad=True) for s in shapes]

    def run(*xs):
        return sg.grad((model(*xs) ** 2).sum(), [*xs, *model.parameters()])

    for a, b in zip(run(*xs), sg.compile(run)(*xs), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-8, atol=1e-9)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_models_against_torch(name):
    torch = pytest.importorskip("torch")
    make, shapes = MODELS[name]
    ours, theirs = make(nn).double(), make(torch.nn).double()
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    assert [k for k, _ in ours.named_parameters()] == [k for k, _ in theirs.named_parameters()]
    rng = np.random.default_rng(0)
    xs = [rng.normal(size=s) for s in shapes]
    mine, other = ours(*map(sg.tensor, xs)), theirs(*map(torch.tensor, xs))
    np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-8, atol=1e-10)
    if not list(ours.parameters()):
        return
    (mine**2).sum().backward()
    (other**2).sum().backward()
    for (label, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-7, atol=1e-9, err_msg=label)


def test_masks_of_a_decoder():
    mask = nn.Transformer.generate_square_subsequent_mask(3).numpy()
    np.testing.assert_array_equal(mask == 0, np.tril(np.ones((3, 3), bool)))
    model = nn.Transformer(6, 2, 1, 1, 8, 0.0)
    tgt = sg.randn(3, 1, 6)
    out = model(sg.randn(4, 1, 6), tgt, tgt_mask=sg.tensor(mask))
    assert out.shape == (3, 1, 6)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_whole_channels_drop_out(axes):
    layer = getattr(nn, f"Dropout{axes}d")(0.5)
    x = sg.ones(20, 10, *[3] * axes)
    y = layer(x).numpy().reshape(20, 10, -1)
    assert set(np.unique(y)) == {0.0, 2.0}
    assert (y == y[..., :1]).all()
    np.testing.assert_array_equal(layer.eval()(x).numpy(), x.numpy())
    with pytest.raises(ShapeError):
        layer.train()(sg.ones(3))


def test_pretrained_embeddings():
    rows = sg.tensor([[1.0, 2.0], [3.0, 4.0]])
    layer = nn.Embedding.from_pretrained(rows)
    assert not layer.weight.requires_grad
    assert layer(sg.tensor([1])).tolist() == [[3.0, 4.0]]
    assert nn.Embedding.from_pretrained(rows, freeze=False).weight.requires_grad


def test_lists_and_dicts_of_parameters():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.several = nn.ParameterList([nn.Parameter(sg.ones(2)), sg.zeros(3)])
            self.named = nn.ParameterDict({"a": sg.ones(2), "b": nn.Parameter(sg.zeros(1))})

    model = Model()
    model.several.append(sg.ones(1))
    names = ["several.0", "several.1", "several.2", "named.a", "named.b"]
    assert [name for name, _ in model.named_parameters()] == names
    assert list(model.state_dict()) == names
    assert len(model.several) == 3
    assert model.several[-1].shape == (1,)
    assert [p.shape for p in model.several[:2]] == [(2,), (3,)]
    assert model.named.pop("a").shape == (2,)
    assert list(model.named) == ["b"]
    assert isinstance(model.several[1], nn.Parameter)


def test_the_order_of_a_dict_of_parameters_is_pytorchs():
    given = {name: sg.ones(1) for name in "bac"}
    assert list(nn.ParameterDict(given)) == ["a", "b", "c"]
    assert list(nn.ParameterDict(collections.OrderedDict(given))) == list(nn.ParameterDict(given.items())) == ["b", "a", "c"]
    named = nn.ParameterDict(given) | {"d": sg.ones(2)}
    assert list(reversed(named)) == ["d", "c", "b", "a"]
    assert named.popitem()[0] == "d"
    assert named.setdefault("e", sg.ones(3)) is named["e"]
    assert list(named.copy()) == ["a", "b", "c", "e"]
    assert list(named.fromkeys("xy")) == ["x", "y"]


# modules themselves ---------------------------------------------------------------------------------------------------


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
        self.register_buffer("kept", sg.zeros(1))
        self.register_buffer("scratch", sg.zeros(1), persistent=False)


def test_buffers_that_are_not_saved():
    model = Counter()
    assert list(model.state_dict()) == ["kept", "layer.weight", "layer.bias"]
    assert [name for name, _ in model.named_buffers()] == ["kept", "scratch"]
    assert model.load_state_dict(model.state_dict()) == ([], [])
    model.register_buffer("scratch", sg.zeros(1))
    assert "scratch" in model.state_dict()


def test_state_dicts():
    model = Counter()
    found = model.state_dict(prefix="m.", keep_vars=True)
    assert found["m.layer.weight"] is model.layer.weight
    place = {"x": 1}
    assert model.state_dict(destination=place) is place
    assert list(place) == ["x", "kept", "layer.weight", "layer.bias"]


def test_hooks_of_state_dicts():
    model, seen = Counter(), []
    model.register_state_dict_pre_hook(lambda module, prefix, keep: seen.append(("pre", prefix)))
    handle = model.layer.register_state_dict_post_hook(lambda module, state, prefix, meta: state.pop(prefix + "bias"))
    assert list(model.state_dict()) == ["kept", "layer.weight"]
    handle.remove()
    assert len(model.state_dict()) == 3

    def rename(module, state, prefix, meta, strict, missing, unexpected, errors):
        state[prefix + "weight"] = state.pop(prefix + "w")

    model.layer.register_load_state_dict_pre_hook(rename)
    model.register_load_state_dict_post_hook(lambda module, keys: seen.append(keys))
    given = {"kept": sg.ones(1), "layer.w": sg.ones(1, 2), "layer.bias": sg.ones(1)}
    model.load_state_dict(given)
    assert "layer.w" in given
    assert model.layer.weight.tolist() == [[1.0, 1.0]]
    assert seen[-1] == ([], [])


def test_members_by_path():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.BatchNorm1d(2)))
    assert model.get_submodule("1.0") is model[1][0]
    assert model.get_parameter("0.weight") is model[0].weight
    assert model.get_buffer("1.0.running_mean") is model[1][0].running_mean
    with pytest.raises(AttributeError, match="`weight` is not a buffer"):
        model.get_buffer("0.weight")
    shared = nn.Linear(2, 2)
    twice = nn.Sequential(shared, shared)
    assert len(list(twice.named_parameters())) == 2
    assert len(list(twice.named_parameters(remove_duplicate=False))) == 4
    assert [name for name, _ in twice.named_modules(remove_duplicate=False)] == ["", "0", "1"]
    assert list(model[0]._parameters) == ["weight", "bias"]


def test_casts():
    model = nn.Linear(2, 2)
    assert model.to("cpu") is model
    assert model.to("cpu", sg.float64).weight.dtype == np.float64
    assert model.to(sg.ones(1)).weight.dtype == np.float32
    assert nn.Linear(2, 2, device="cpu").cpu().weight.dtype == np.float32
    assert model.half().weight.dtype == np.float16
    assert model.bfloat16().bias.dtype is sg.bfloat16
    with pytest.raises(RuntimeError, match="CUDA"):
        model.to("cuda")


def test_containers_change():
    layers = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])
    layers.insert(1, nn.Tanh())
    layers.extend([nn.Sigmoid()])
    assert [type(m).__name__ for m in layers] == ["Linear", "Tanh", "ReLU", "Sigmoid"]
    del layers[0]
    assert type(layers.pop()).__name__ == "Sigmoid"
    assert [name for name, _ in layers.named_children()] == ["0", "1"]
