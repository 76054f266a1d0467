"""Modules with weight norm and spectral norm."""

import copy
import pickle

import pytest

import staticgrad as sg
from staticgrad import nn


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
