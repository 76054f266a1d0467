"""Weight norm, spectral norm, and parametrizations of one's own."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.errors import ArgumentError
from staticgrad.nn.utils import parametrizations, parametrize, remove_spectral_norm, remove_weight_norm
from staticgrad.nn.utils import spectral_norm as old_spectral_norm
from staticgrad.nn.utils import weight_norm as old_weight_norm

pytestmark = pytest.mark.filterwarnings("ignore:.*weight_norm.*is deprecated:FutureWarning")


class Symmetric(nn.Module):
    def forward(self, x):
        return (x + x.T) / 2

    def right_inverse(self, x):
        return x


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, x):
        return x / 2


def data(*shape):
    return sg.tensor(np.random.default_rng(1).normal(size=shape))


def test_a_parametrization():
    layer = nn.Linear(3, 3).double()
    weight = layer.weight
    before = weight.detach().numpy().copy()
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert type(layer).__name__ == "ParametrizedLinear"
    assert isinstance(layer, nn.Linear)
    assert parametrize.is_parametrized(layer)
    assert parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias")
    assert [name for name, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    assert layer.parametrizations.weight.original is weight
    np.testing.assert_array_equal(layer.weight.detach().numpy(), (before + before.T) / 2)
    parametrize.register_parametrization(layer, "weight", Doubled())
    np.testing.assert_allclose(layer.weight.detach().numpy(), before + before.T)
    layer.weight = np.eye(3) + sg.zeros(3, 3, dtype="float64")
    np.testing.assert_allclose(layer.weight.detach().numpy(), np.eye(3))
    np.testing.assert_allclose(weight.detach().numpy(), np.eye(3) / 2)
    other = copy.deepcopy(layer)
    assert parametrize.is_parametrized(other)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear
    np.testing.assert_allclose(layer.weight.detach().numpy(), np.eye(3))
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight"]
    assert parametrize.is_parametrized(other)
    assert parametrize.type_before_parametrizations(other) is nn.Linear


def test_removing_may_leave_the_original():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Doubled())
    original = layer.parametrizations.weight.original.detach().numpy().copy()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    np.testing.assert_array_equal(layer.weight.detach().numpy(), original)


def test_computed_once_inside_cached():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    assert layer.weight is not layer.weight
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight


def test_refusals():
    class Sum(nn.Module):
        def forward(self, x):
            return x.sum()

    layer = nn.Linear(2, 2)
    with pytest.raises(ArgumentError, match="may not change the shape or dtype"):
        parametrize.register_parametrization(layer, "weight", Sum())
    with pytest.raises(ArgumentError, match="does not have a parameter, a buffer"):
        parametrize.register_parametrization(layer, "scale", Symmetric())
    assert type(layer) is nn.Linear
    with pytest.raises(ArgumentError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")
    with pytest.raises(ArgumentError, match="Cannot register two weight_norm hooks on the same parameter weight"):
        old_weight_norm(old_weight_norm(layer))
    with pytest.raises(ArgumentError, match="spectral_norm of 'weight' not found"):
        remove_spectral_norm(nn.Linear(2, 2))


NORMS = {
    "weight_norm": (old_weight_norm, remove_weight_norm, ["weight_g", "weight_v"]),
    "spectral_norm": (old_spectral_norm, remove_spectral_norm, ["weight_orig", "weight_u", "weight_v"]),
}


@pytest.mark.parametrize("name", NORMS)
def test_first_names(name):
    apply, remove, members = NORMS[name]
    layer = nn.Linear(4, 3).double()
    layer.weight.data = data(3, 4)
    before = layer.weight.detach().numpy().copy()
    assert apply(layer) is layer
    assert list(layer.state_dict()) == ["bias", *members]
    assert repr(layer).startswith("Linear(")
    if name == "weight_norm":
        np.testing.assert_allclose(layer.weight.detach().numpy(), before)
    else:
        np.testing.assert_array_equal(layer.weight.detach().numpy(), before)
        for _ in range(30):
            layer(data(2, 4))
        assert np.linalg.norm(layer.weight.detach().numpy(), 2) == pytest.approx(1, rel=1e-3)
    value = layer.weight.detach().numpy()
    remove(layer)
    assert type(layer) is nn.Linear
    assert isinstance(layer.weight, nn.Parameter)
    np.testing.assert_array_equal(layer.weight.detach().numpy(), value)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_reading_the_weight_under_spectral_norms_first_name_changes_nothing(compiled):
    layer = old_spectral_norm(nn.Linear(5, 4))
    call = sg.compile(layer) if compiled else layer

    def state():
        return {name: value.numpy().copy() for name, value in layer.state_dict().items()}

    before, value = state(), layer.weight.detach().numpy().copy()
    np.testing.assert_array_equal(layer.weight.detach().numpy(), value)
    assert all(np.array_equal(before[name], array) for name, array in state().items())
    call(sg.ones(2, 5))
    assert not np.array_equal(before["weight_u"], state()["weight_u"]), "a call while training does"
    layer.eval()
    after = state()
    call(sg.ones(2, 5))
    assert all(np.array_equal(after[name], array) for name, array in state().items())
    remove_spectral_norm(layer)
    assert not layer._forward_pre_hooks


MAKERS = {
    "weight_norm": lambda: old_weight_norm(nn.Linear(4, 3).double()),
    "weight_norm of all": lambda: old_weight_norm(nn.Linear(4, 3).double(), dim=None),
    "spectral_norm": lambda: old_spectral_norm(nn.Linear(4, 3).double()),
    "parametrized weight_norm": lambda: parametrizations.weight_norm(nn.Linear(4, 3).double()),
    "parametrized spectral_norm": lambda: parametrizations.spectral_norm(nn.Linear(4, 3).double()),
    "recurrent": lambda: old_weight_norm(nn.GRU(4, 3).double(), "weight_hh_l0"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_training_compiled_as_eager(name):
    x = data(5, 4)
    results = []
    for compiled in (False, True):
        sg.manual_seed(0)
        layer = MAKERS[name]()
        opt = optim.SGD(layer.parameters(), 0.1)

        def step(x, layer=layer, opt=opt):
            opt.zero_grad()
            out = layer(x)
            loss = ((out[0] if isinstance(out, tuple) else out) ** 2).mean()
            loss.backward()
            opt.step()
            return loss

        run = sg.compile(step) if compiled else step
        losses = [run(x).item() for _ in range(4)]
        results.append([losses, *(v.numpy() for v in layer.state_dict().values())])
    assert results[0][0][-1] < results[0][0][0]
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_training_in_a_session():
    layer = parametrizations.weight_norm(nn.Linear(4, 3).double())
    x = np.random.default_rng(0).normal(size=(5, 4))
    with sg.Graph().as_default(), sg.Session() as sess:
        feed = sg.placeholder(np.float64, (5, 4))
        loss = (layer(feed) ** 2).mean()
        train = optim.SGD(lr=0.1).minimize(loss)
        sess.run(sg.global_variables_initializer())
        losses = []
        for _ in range(4):
            value, _ = sess.run([loss, train], {feed: x})
            losses.append(float(value))
    opt = optim.SGD(layer.parameters(), lr=0.1)
    for wanted in losses:
        opt.zero_grad()
        loss = (layer(sg.tensor(x)) ** 2).mean()
        loss.backward()
        opt.step()
        assert loss.item() == pytest.approx(wanted, rel=1e-10)


@pytest.mark.oracle
@pytest.mark.parametrize("name", MAKERS)
def test_against_torch(name):
    torch = pytest.importorskip("torch")
    makers = {
        "weight_norm": lambda n: n.utils.weight_norm(n.Conv2d(4, 3, 2)),
        "weight_norm of all": lambda n: n.utils.weight_norm(n.Linear(4, 3), dim=None),
        "spectral_norm": lambda n: n.utils.spectral_norm(n.ConvTranspose2d(4, 3, 2)),
        "parametrized weight_norm": lambda n: n.utils.parametrizations.weight_norm(n.Linear(4, 3), dim=1),
        "parametrized spectral_norm": lambda n: n.utils.parametrizations.spectral_norm(n.Linear(4, 3)),
        "recurrent": lambda n: n.utils.weight_norm(n.GRU(4, 3), "weight_hh_l0"),
    }
    theirs, ours = makers[name](torch.nn).double(), makers[name](nn).double()
    state = {k: v.numpy() for k, v in theirs.state_dict().items()}
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict(state)
    x = data(*((2, 4, 5, 5) if "Conv" in type(theirs).__name__ else (5, 4)))
    mine, other = ours(x), theirs(torch.tensor(x.numpy()))
    if isinstance(other, tuple):
        mine, other = mine[0], other[0]
    np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-10)
    (mine**2).sum().backward()
    (other**2).sum().backward()
    for (label, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-8, atol=1e-10, err_msg=label)
    for label, value in theirs.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[label].numpy(), value.numpy(), rtol=1e-10, err_msg=label)
