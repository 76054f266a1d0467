"""Modules with weight norm and spectral norm."""

import copy
import pickle

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn


@pytest.mark.filterwarnings("ignore:.*weight_norm.*is deprecated:FutureWarning")
@pytest.mark.parametrize(
    "norm",
    [
        nn.utils.weight_norm,
        nn.utils.spectral_norm,
        nn.utils.parametrizations.weight_norm,
        nn.utils.parametrizations.spectral_norm,
    ],
)
def test_pickles_and_copies(norm):
    layer = norm(nn.Linear(2, 3)).eval()
    x = sg.ones(1, 2)
    for copied in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
        assert copied(x).tolist() == layer(x).tolist()
        assert list(copied.state_dict()) == list(layer.state_dict())
        with sg.no_grad():
            for p in copied.parameters():
                p.fill_(2.0)
        assert copied(x).tolist() != layer(x).tolist()
        assert type(copied).__name__ == type(layer).__name__


def test_weight_norm_by_its_first_name_warns(T):
    with pytest.warns(FutureWarning, match="^`torch.nn.utils.weight_norm` is deprecated in favor of"):
        T.nn.utils.weight_norm(T.nn.Linear(2, 3))


def unit(x):
    return x / np.linalg.norm(x)


@pytest.mark.parametrize("first_name", [True, False], ids=["first name", "parametrized"])
def test_spectral_norm_draws_and_iterates_as_in_pytorch(first_name):
    """By its first name there is no iteration before the first call, and v comes first; the parametrization makes 15, and one
    where it is checked, u first."""
    layer = nn.Linear(4, 3)
    weight = layer.weight.detach().numpy().astype(np.float64)
    sg.manual_seed(5)
    u, v = (unit(sg.empty(n).normal_().numpy().astype(np.float64)) for n in (3, 4))
    sg.manual_seed(5)
    if first_name:
        nn.utils.spectral_norm(layer)
        found = layer.weight_u, layer.weight_v
    else:
        nn.utils.parametrizations.spectral_norm(layer)
        found = layer.parametrizations.weight[0]._u, layer.parametrizations.weight[0]._v
        for _ in range(16):
            u = unit(weight @ v)
            v = unit(weight.T @ u)
    np.testing.assert_allclose(found[0].numpy(), u, rtol=1e-5)
    np.testing.assert_allclose(found[1].numpy(), v, rtol=1e-5)
    layer(sg.ones(1, 4))
    if first_name:
        v = unit(weight.T @ u)
        u = unit(weight @ v)
    else:
        u = unit(weight @ v)
        v = unit(weight.T @ u)
    np.testing.assert_allclose(found[0].numpy(), u, rtol=1e-5)
    np.testing.assert_allclose(found[1].numpy(), v, rtol=1e-5)


def test_a_parametrization_is_called_once_where_it_is_checked():
    calls = []

    class Counted(nn.Module):
        def forward(self, x):
            calls.append(x.requires_grad)
            return x * 2

    layer = nn.Linear(2, 2)
    before = layer.weight.detach().clone()
    nn.utils.parametrize.register_parametrization(layer, "weight", Counted(), unsafe=True)
    assert calls == []
    nn.utils.parametrize.register_parametrization(layer, "weight", Counted())
    assert len(calls) == 2
    assert layer.weight.tolist() == (before * 4).tolist(), "a second one changes no original"
