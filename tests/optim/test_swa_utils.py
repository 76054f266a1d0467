"""Averaged models: means of parameters by hand, and PyTorch's."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.errors import ArgumentError
from staticgrad.optim import swa_utils


def model():
    sg.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).double()


def moved(net, averaged, steps=4):
    """The parameters after each of some changes that the average takes in."""
    seen = []
    for step in range(steps):
        with sg.no_grad():
            for p in net.parameters():
                p.add_(0.1 * (step + 1))
        averaged.update_parameters(net)
        seen.append([p.detach().numpy().copy() for p in net.parameters()])
    return seen


def test_a_mean_of_all():
    net = model()
    averaged = swa_utils.AveragedModel(net)
    seen = moved(net, averaged)
    assert averaged.n_averaged.item() == 4
    for p, values in zip(averaged.module.parameters(), zip(*seen, strict=True), strict=True):
        np.testing.assert_allclose(p.detach().numpy(), np.mean(values, 0), rtol=1e-12)
    x = sg.randn(5, 3, dtype="float64")
    np.testing.assert_array_equal(averaged.eval()(x).detach().numpy(), averaged.module(x).detach().numpy())


@pytest.mark.parametrize("kind", ["avg_fn", "multi_avg_fn"])
def test_an_exponential_mean(kind):
    net = model()
    fn = swa_utils.get_ema_avg_fn(0.9) if kind == "avg_fn" else swa_utils.get_ema_multi_avg_fn(0.9)
    averaged = swa_utils.AveragedModel(net, **{kind: fn})
    seen = moved(net, averaged)
    for p, values in zip(averaged.module.parameters(), zip(*seen, strict=True), strict=True):
        wanted = values[0]
        for value in values[1:]:
            wanted = 0.9 * wanted + 0.1 * value
        np.testing.assert_allclose(p.detach().numpy(), wanted, rtol=1e-12)


def test_buffers_are_copied_unless_averaged():
    net = model()
    copied, averaged = swa_utils.AveragedModel(net), swa_utils.AveragedModel(net, use_buffers=True)
    for step in range(2):
        net(sg.randn(6, 3, dtype="float64") + step)
        copied.update_parameters(net)
        averaged.update_parameters(net)
    mean = net[1].running_mean.numpy()
    np.testing.assert_array_equal(copied.module[1].running_mean.numpy(), mean)
    assert not np.allclose(averaged.module[1].running_mean.numpy(), mean)


def test_statistics_of_batch_norms_are_computed_anew():
    net = model()
    data = [sg.randn(6, 3, dtype="float64") for _ in range(3)]
    swa_utils.update_bn([(x, None) for x in data], net.eval())
    means = [net[0](x).detach().numpy().mean(0) for x in data]
    np.testing.assert_allclose(net[1].running_mean.numpy(), np.mean(means, 0), rtol=1e-10)
    assert net[1].momentum == 0.1
    assert not net.training


def test_refusals():
    with pytest.raises(ArgumentError, match="Only one of avg_fn and multi_avg_fn should be provided"):
        swa_utils.AveragedModel(model(), None, swa_utils.get_swa_avg_fn(), swa_utils.get_swa_multi_avg_fn())
    with pytest.raises(ArgumentError, match="Invalid decay value 2"):
        swa_utils.get_ema_avg_fn(2)
    with pytest.raises(ArgumentError, match="anneal_epochs must be equal or greater than 0, got -1"):
        swa_utils.SWALR(optim.SGD([sg.ones(1, requires_grad=True)]), 0.1, -1)


@pytest.mark.filterwarnings("ignore:Detected call of")
def test_a_straight_schedule():
    opt = optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
    schedule = swa_utils.SWALR(opt, 0.5, 5, "linear")
    rates = []
    for _ in range(8):
        rates.append(opt.lr)
        schedule.step()
    assert rates == pytest.approx([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.5])


@pytest.mark.oracle
@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 6])
def test_schedules_against_torch(strategy, epochs):
    torch = pytest.importorskip("torch")
    opt = optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
    theirs = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    schedule = swa_utils.SWALR(opt, 0.05, epochs, strategy)
    other = torch.optim.swa_utils.SWALR(theirs, 0.05, epochs, strategy)
    for _ in range(10):
        assert schedule.get_last_lr() == pytest.approx(other.get_last_lr(), rel=1e-12)
        opt.step()
        theirs.step()
        schedule.step()
        other.step()


@pytest.mark.oracle
def test_state_names_and_arguments_are_those_of_torch():
    torch = pytest.importorskip("torch")
    theirs = torch.optim.swa_utils.AveragedModel(torch.nn.Linear(2, 2))
    assert list(swa_utils.AveragedModel(nn.Linear(2, 2)).state_dict()) == list(theirs.state_dict())
    for name in ("AveragedModel", "SWALR"):
        both = (getattr(lib, name).__init__ for lib in (swa_utils, torch.optim.swa_utils))
        mine, other = ([(p.name, p.default) for p in inspect.signature(f).parameters.values()] for f in both)
        assert mine == other
