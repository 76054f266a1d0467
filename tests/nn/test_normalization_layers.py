"""Norm layers against NumPy: values in every mode, running statistics, first values, settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from tests.helpers import assert_close, rng_of

IMAGES = rng_of("images").standard_normal((4, 6, 3, 2)) * 3 + 1
F64 = {"dtype": sg.float64}


def scaled(x: np.ndarray, axes: tuple[int, ...], eps: float = 1e-5) -> np.ndarray:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def grouped(x: np.ndarray, groups: int) -> np.ndarray:
    parts = x.reshape(len(x), groups, -1)
    return scaled(parts, (2,)).reshape(x.shape)


ROWS: dict[str, tuple[Callable[[], Any], np.ndarray, Callable[[np.ndarray], np.ndarray]]] = {
    "BatchNorm1d": (lambda: nn.BatchNorm1d(6, **F64), IMAGES[:, :, 0, 0], lambda x: scaled(x, (0,))),
    "BatchNorm1d of sequences": (lambda: nn.BatchNorm1d(6, **F64), IMAGES[:, :, 0], lambda x: scaled(x, (0, 2))),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(6, eps=0.1, **F64), IMAGES, lambda x: scaled(x, (0, 2, 3), 0.1)),
    "GroupNorm": (lambda: nn.GroupNorm(3, 6, **F64), IMAGES, lambda x: grouped(x, 3)),
    "GroupNorm of vectors": (lambda: nn.GroupNorm(2, 6, affine=False, **F64), IMAGES[:, :, 0, 0], lambda x: grouped(x, 2)),
    "RMSNorm": (lambda: nn.RMSNorm((3, 2), eps=0.1, **F64), IMAGES,
                lambda x: x / np.sqrt((x * x).mean((2, 3), keepdims=True) + 0.1)),
    "RMSNorm without weight": (lambda: nn.RMSNorm(2, elementwise_affine=False, **F64), IMAGES,
                               lambda x: x / np.sqrt((x * x).mean(3, keepdims=True) + np.finfo(float).eps)),
    "LayerNorm": (lambda: nn.LayerNorm((3, 2), **F64), IMAGES, lambda x: scaled(x, (2, 3))),
}  # fmt: skip


def changed(layer: Any, channels: int) -> tuple[np.ndarray | float, np.ndarray | float]:
    """Give the layer another weight and bias; returns their values, broadcast along the axis of channels."""
    found: list[Any] = []
    for name, first in (("weight", 1.0), ("bias", 0.0)):
        parameter = getattr(layer, name, None)
        if parameter is None:
            found.append(first)
            continue
        value = rng_of(name).uniform(0.5, 2, parameter.shape)
        assert (parameter.detach().numpy() == first).all()
        with sg.no_grad():
            parameter.copy_(sg.tensor(value))
        found.append(value.reshape(-1, *[1] * (channels - 2)) if value.shape == (6,) else value)
    return found[0], found[1]


@pytest.mark.parametrize("name", ROWS)
def test_values_in_every_mode(name: str):
    make, x, reference = ROWS[name]
    layer = make()
    weight, bias = changed(layer, x.ndim)
    expected = reference(x) * weight + bias
    assert_close(layer(sg.tensor(x)), expected, 1e-12)
    assert_close(sg.compile(layer)(sg.tensor(x)), expected, 1e-12)
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(sg.float64, x.shape)
        out = layer(given)
        sess.run(sg.global_variables_initializer())
        assert_close(sess.run(out, {given: x}), expected, 1e-12)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("momentum", [0.1, None])
def test_running_statistics(momentum: float | None, compiled: bool):
    """An exponential average with momentum, a plain one without; the variance is the unbiased one."""
    layer = nn.BatchNorm2d(6, momentum=momentum, **F64)
    call = sg.compile(layer) if compiled else layer
    mean, var = np.zeros(6), np.ones(6)
    for count in range(1, 4):
        x = IMAGES * count
        call(sg.tensor(x))
        share = 1 / count if momentum is None else momentum
        mean += share * (x.mean((0, 2, 3)) - mean)
        var += share * (x.var((0, 2, 3), ddof=1) - var)
        assert_close(layer.running_mean, mean, 1e-12)
        assert_close(layer.running_var, var, 1e-12)
        assert layer.num_batches_tracked.item() == count
    layer.eval()
    expected = (IMAGES - mean.reshape(-1, 1, 1)) / np.sqrt(var.reshape(-1, 1, 1) + 1e-5)
    assert_close(call(sg.tensor(IMAGES)), expected, 1e-12)
    assert layer.num_batches_tracked.item() == 3


def test_first_values_again():
    layer = nn.BatchNorm2d(6, **F64)
    layer(sg.tensor(IMAGES))
    changed(layer, 4)
    layer.reset_parameters()
    fresh = nn.BatchNorm2d(6, **F64).state_dict()
    for name, value in layer.state_dict().items():
        assert_close(value, fresh[name].numpy(), what=name)


def test_without_statistics_every_batch_is_its_own():
    layer = nn.BatchNorm2d(6, track_running_stats=False, affine=False, **F64)
    assert list(layer.state_dict()) == []
    layer.eval()
    assert_close(layer(sg.tensor(IMAGES)), scaled(IMAGES, (0, 2, 3)), 1e-12)


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (nn.BatchNorm1d(3), "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"),
        (nn.GroupNorm(2, 4, affine=False), "GroupNorm(2, 4, eps=1e-05, affine=False, bias=False)"),
        (nn.RMSNorm(3), "RMSNorm((3,), eps=None, elementwise_affine=True)"),
    ],
)
def test_repr(layer: Any, text: str):
    assert repr(layer) == text
