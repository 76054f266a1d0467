"""Batch normalization folded into the layer before it."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from tests.helpers import assert_close

LAYERS = {
    "conv": (lambda: nn.Conv2d(2, 3, 2), lambda: nn.BatchNorm2d(3), (4, 2, 5, 5), {}),
    "conv without bias": (lambda: nn.Conv1d(2, 3, 2, bias=False), lambda: nn.BatchNorm1d(3, affine=False), (4, 2, 5), {}),
    "transposed": (lambda: nn.ConvTranspose2d(2, 3, 2), lambda: nn.BatchNorm2d(3), (4, 2, 5, 5), {"transpose": True}),
    "linear": (lambda: nn.Linear(4, 3), lambda: nn.BatchNorm1d(3), (6, 4), {}),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_folded_layer_computes_both(name):
    layer, norm, shape, options = LAYERS[name]
    layer, norm = layer(), norm()
    x = sg.tensor(np.random.default_rng(0).normal(size=shape).astype(np.float32))
    norm(layer(x))  # running statistics
    if norm.weight is not None:
        norm.weight.data.uniform_(0.5, 1.5)
        norm.bias.data.uniform_(-1, 1)
    fold = nn.utils.fuse_linear_bn_eval if name == "linear" else nn.utils.fuse_conv_bn_eval
    with pytest.raises(sg.ArgumentError, match="Fusion only for eval!"):
        fold(layer, norm)
    layer.eval(), norm.eval()
    fused = fold(layer, norm, **options)
    assert type(fused) is type(layer)
    assert fused.weight.requires_grad
    assert_close(fused(x).detach().numpy(), norm(layer(x)).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_features_that_do_not_fit():
    with pytest.raises(sg.ArgumentError, match=r"linear.out_features == bn.num_features"):
        nn.utils.fuse_linear_bn_eval(nn.Linear(2, 3).eval(), nn.BatchNorm1d(4).eval())


def test_layers_that_are_filled_later():
    assert nn.utils.skip_init(nn.Linear, 2, 3, bias=False).weight.shape == (3, 2)
    with pytest.raises(sg.ArgumentError, match="Expected a Module"):
        nn.utils.skip_init(dict)
