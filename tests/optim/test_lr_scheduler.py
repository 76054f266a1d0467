"""Schedules against closed formulas and PyTorch."""

from __future__ import annotations

import math

import pytest

import staticgrad as sg
from staticgrad import optim
from staticgrad.eager.tensor import Structure
from staticgrad.errors import ArgumentError
from staticgrad.optim import lr_scheduler

EPOCHS = 25
SCHEDULES = [
    # name, arguments, rate of an epoch for a base rate
    ("StepLR", {"step_size": 4, "gamma": 0.5}, lambda base, e: base * 0.5 ** (e // 4)),
    ("ExponentialLR", {"gamma": 0.9}, lambda base, e: base * 0.9**e),
    ("CosineAnnealingLR", {"T_max": 8, "eta_min": 0.01},
     lambda base, e: 0.01 + (base - 0.01) * (1 + math.cos(math.pi * e / 8)) / 2),
    ("CosineAnnealingLR", {"T_max": 30}, lambda base, e: base * (1 + math.cos(math.pi * e / 30)) / 2),
    ("LambdaLR", {"lr_lambda": lambda e: 1 / (1 + e)}, lambda base, e: base / (1 + e)),
]  # fmt: skip
ids = [f"{row[0]} {list(row[1])}" for row in SCHEDULES]


def two_groups():
    a, b = sg.ones(1, requires_grad=True), sg.ones(1, requires_grad=True)
    return optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1)


@pytest.mark.parametrize(("name", "kwargs", "expected"), SCHEDULES, ids=ids)
def test_rates(name, kwargs, expected):
    opt = two_groups()
    scheduler = getattr(lr_scheduler, name)(opt, **kwargs)
    before = Structure.changes
    for epoch in range(EPOCHS):
        rates = [group["lr"] for group in opt.param_groups]
        assert rates == pytest.approx([expected(0.1, epoch), expected(0.5, epoch)], rel=1e-9, abs=1e-15)
        assert scheduler.get_last_lr() == rates
        assert scheduler.last_epoch == epoch
        scheduler.step()
    assert Structure.changes == before  # a compiled step stays as it is


@pytest.mark.parametrize(("name", "kwargs", "expected"), SCHEDULES, ids=ids)
def test_going_on_from_a_saved_state(name, kwargs, expected):
    opt = two_groups()
    scheduler = getattr(lr_scheduler, name)(opt, **kwargs)
    for _ in range(7):
        scheduler.step()
    other_opt = two_groups()
    other = getattr(lr_scheduler, name)(other_opt, **kwargs)
    other_opt.load_state_dict(opt.state_dict())
    other.load_state_dict(scheduler.state_dict())
    for _ in range(5):
        scheduler.step()
        other.step()
        assert other.get_last_lr() == scheduler.get_last_lr()


def test_resuming_by_epoch():
    opt = two_groups()
    with pytest.raises(ArgumentError, match=r"param 'initial_lr' is not specified in param_groups\[0\] when resuming"):
        lr_scheduler.ExponentialLR(opt, 0.5, last_epoch=3)
    for group in opt.param_groups:
        group["initial_lr"] = group["lr"]
    scheduler = lr_scheduler.LambdaLR(opt, lambda e: e, last_epoch=3)
    assert scheduler.last_epoch == 4
    assert scheduler.get_last_lr() == pytest.approx([0.4, 2.0])


@pytest.mark.parametrize(("name", "kwargs", "expected"), SCHEDULES, ids=ids)
@pytest.mark.parametrize("epoch", [1, 4, 8, 9])
def test_resuming_with_the_rates_of_that_epoch(name, kwargs, expected, epoch):
    """As a saved optimizer has them: they are not moved once more."""
    opt = two_groups()
    for group, base in zip(opt.param_groups, (0.1, 0.5), strict=True):
        group["initial_lr"], group["lr"] = base, expected(base, epoch)
    scheduler = getattr(lr_scheduler, name)(opt, **kwargs, last_epoch=epoch - 1)
    for e in range(epoch, epoch + 12):
        assert scheduler.last_epoch == e
        assert scheduler.get_last_lr() == pytest.approx([expected(0.1, e), expected(0.5, e)], rel=1e-9, abs=1e-15)
        scheduler.step()


def test_a_step_that_fails_changes_nothing():
    opt = two_groups()
    scheduler = lr_scheduler.LambdaLR(opt, [lambda e: 1.0, lambda e: 1 / (1 - e)])
    with pytest.raises(ZeroDivisionError):
        scheduler.step()
    assert scheduler.last_epoch == 0
    assert scheduler.get_last_lr() == [0.1, 0.5]


def test_schedules_can_be_chained():
    opt = two_groups()
    a, b = lr_scheduler.ExponentialLR(opt, 0.9), lr_scheduler.StepLR(opt, 2, 0.5)
    for _ in range(5):
        a.step()
        b.step()
    assert opt.lr == pytest.approx(0.1 * 0.9**5 * 0.5**2)


def test_one_function_per_group():
    opt = two_groups()
    lr_scheduler.LambdaLR(opt, [lambda e: 2.0, lambda e: 3.0])
    assert [g["lr"] for g in opt.param_groups] == pytest.approx([0.2, 1.5])
    with pytest.raises(ArgumentError, match="Expected 2 lr_lambdas, but got 1"):
        lr_scheduler.LambdaLR(opt, [lambda e: 2.0])
    with pytest.raises(ArgumentError, match="float is not an Optimizer"):
        lr_scheduler.LambdaLR(0.1, lambda e: 2.0)


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "kwargs", "expected"), SCHEDULES, ids=ids)
def test_against_torch(name, kwargs, expected):
    torch = pytest.importorskip("torch")
    opt = two_groups()
    scheduler = getattr(lr_scheduler, name)(opt, **kwargs)
    theirs = torch.optim.SGD(
        [{"params": [torch.ones(1, requires_grad=True)]}, {"params": [torch.ones(1, requires_grad=True)], "lr": 0.5}],
        lr=0.1,
    )
    other = getattr(torch.optim.lr_scheduler, name)(theirs, **kwargs)
    for _ in range(EPOCHS):
        assert scheduler.get_last_lr() == pytest.approx(other.get_last_lr(), rel=1e-12, abs=1e-16)
        theirs.step()
        other.step()
        scheduler.step()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda opt: lr_scheduler.StepLR(opt, 0), "StepLR: step_size is a number of epochs, above 0, got 0"),
        (lambda opt: lr_scheduler.StepLR(opt, "a"), "StepLR: step_size has to be a number, got 'a'"),
        (lambda opt: lr_scheduler.StepLR(opt, 1, None), "StepLR: gamma has to be a number, got None"),
        (lambda opt: lr_scheduler.ExponentialLR(opt, "a"), "ExponentialLR: gamma has to be a number, got 'a'"),
        (lambda opt: lr_scheduler.CosineAnnealingLR(opt, 0),
         "CosineAnnealingLR: T_max is a number of epochs, above 0, got 0"),
        (lambda opt: lr_scheduler.CosineAnnealingLR(opt, 3, "a"),
         "CosineAnnealingLR: eta_min has to be a number, got 'a'"),
        (lambda opt: lr_scheduler.LambdaLR(opt, 3), "LambdaLR: lr_lambda has to be a function of the epoch, got 3"),
    ],
)
def test_settings_that_make_no_sense(make, text):
    opt = optim.SGD([sg.ones(2, requires_grad=True)], lr=0.5)
    before = dict(opt.param_groups[0])
    with pytest.raises(ArgumentError) as caught:
        make(opt)
    assert caught.value.summary == text
    assert caught.value.where.file == __file__
    assert dict(opt.param_groups[0]) == before


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0, "a"])
def test_a_rate_that_makes_no_sense_is_not_written(bad):
    opt = optim.SGD([{"params": [sg.ones(2, requires_grad=True)]}, {"params": [sg.ones(1, requires_grad=True)]}], lr=0.5)
    schedule = lr_scheduler.LambdaLR(opt, [lambda epoch: 1.0, lambda epoch: 1.0 if epoch == 0 else bad])
    with pytest.raises((ArgumentError, TypeError)):
        schedule.step()
    assert schedule.last_epoch == 0
    assert [group["lr"] for group in opt.param_groups] == [0.5, 0.5]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_factors_are_finite(bad):
    opt = optim.SGD([sg.ones(2, requires_grad=True)], lr=0.5)
    with pytest.raises(ArgumentError, match=f"ExponentialLR: gamma has to be finite, got {bad}"):
        lr_scheduler.ExponentialLR(opt, bad)


def test_a_schedule_of_sparse_adam_may_end_at_0():
    opt = optim.SparseAdam([sg.ones(2, requires_grad=True)], lr=0.5)
    schedule = lr_scheduler.CosineAnnealingLR(opt, 2)
    for _ in range(2):
        schedule.step()
    assert opt.lr == 0.0
