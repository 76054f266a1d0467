"""Schedules against closed formulas and PyTorch."""

from __future__ import annotations

import copy
import inspect
import math
import warnings

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import optim
from staticgrad.eager.tensor import Structure
from staticgrad.errors import ArgumentError
from staticgrad.optim import lr_scheduler

EPOCHS = 25
EARLY = "Detected call of `lr_scheduler.step\\(\\)` before `optimizer.step\\(\\)`"
pytestmark = pytest.mark.filterwarnings(f"ignore:{EARLY}")


def test_a_schedule_that_steps_before_its_optimizer_warns_once():
    opt = optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
    schedule = lr_scheduler.StepLR(opt, 1)
    with pytest.warns(UserWarning, match=EARLY) as said:
        schedule.step()
    assert [w.filename for w in said] == [__file__]
    opt.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()
        lr_scheduler.StepLR(opt, 1).step()


def test_schedules_expect_no_particular_step_of_a_users_optimizer():
    class Still(optim.Optimizer):
        def step(self):
            pass

    opt = Still([sg.ones(1, requires_grad=True)], {"lr": 1.0})
    opt.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lr_scheduler.StepLR(opt, 1).step()


def restarted(epoch, length, factor):
    """The share of the present cycle that is over."""
    while epoch >= length:
        epoch, length = epoch - length, length * factor
    return epoch / length


SCHEDULES = [
    # name, arguments, rate of an epoch for a base rate
    ("StepLR", {"step_size": 4, "gamma": 0.5}, lambda base, e: base * 0.5 ** (e // 4)),
    ("ExponentialLR", {"gamma": 0.9}, lambda base, e: base * 0.9**e),
    ("CosineAnnealingLR", {"T_max": 8, "eta_min": 0.01},
     lambda base, e: 0.01 + (base - 0.01) * (1 + math.cos(math.pi * e / 8)) / 2),
    ("CosineAnnealingLR", {"T_max": 30}, lambda base, e: base * (1 + math.cos(math.pi * e / 30)) / 2),
    ("LambdaLR", {"lr_lambda": lambda e: 1 / (1 + e)}, lambda base, e: base / (1 + e)),
    ("MultiplicativeLR", {"lr_lambda": lambda e: 0.95}, lambda base, e: base * 0.95**e),
    ("MultiStepLR", {"milestones": [3, 9, 9, 20], "gamma": 0.5},
     lambda base, e: base * 0.5 ** sum(e >= m for m in (3, 9, 9, 20))),
    ("PolynomialLR", {"total_iters": 30, "power": 2.0}, lambda base, e: base * (1 - min(e, 30) / 30) ** 2),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.01},
     lambda base, e: 0.01 + (base - 0.01) * (1 + math.cos(math.pi * restarted(e, 3, 2))) / 2),
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


# schedules whose first rate is not the initial one, and those of momentum ------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kwargs", "factor"),
    [
        ("ConstantLR", {"factor": 0.25, "total_iters": 4}, lambda e: 0.25 if e < 4 else 1.0),
        ("LinearLR", {"start_factor": 0.1, "end_factor": 0.9, "total_iters": 8}, lambda e: 0.1 + 0.8 * min(e, 8) / 8),
    ],
)
def test_warming_up(name, kwargs, factor):
    opt = two_groups()
    scheduler = getattr(lr_scheduler, name)(opt, **kwargs)
    for epoch in range(EPOCHS):
        assert scheduler.get_last_lr() == pytest.approx([0.1 * factor(epoch), 0.5 * factor(epoch)], rel=1e-9)
        scheduler.step()


def test_a_cycle_of_rate_and_momentum():
    opt = two_groups()
    scheduler = lr_scheduler.CyclicLR(opt, 0.1, 0.5, 2, 4, mode="triangular2")
    found = []
    for _ in range(9):
        found.append((opt.lr, opt.param_groups[1]["momentum"]))
        scheduler.step()
    rates = [0.1, 0.3, 0.5, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3]
    momenta = [0.9, 0.85, 0.8, 0.825, 0.85, 0.875, 0.9, 0.875, 0.85]
    assert [f[0] for f in found] == pytest.approx(rates)
    assert [f[1] for f in found] == pytest.approx(momenta)


def test_one_cycle():
    a = sg.ones(1, requires_grad=True)
    opt = optim.Adam([a], betas=(0.5, 0.9))
    scheduler = lr_scheduler.OneCycleLR(opt, 1.0, total_steps=11, anneal_strategy="linear", pct_start=3 / 11)
    rates, betas = [], []
    for step in range(11):
        rates.append(opt.lr)
        betas.append(opt.param_groups[0]["betas"])
        if step < 10:
            scheduler.step()
    assert rates[:4] == pytest.approx([0.04, 0.52, 1.0, 0.8750005])
    assert rates[-1] == pytest.approx(0.04e-4)
    assert [b[0] for b in betas[:3]] == pytest.approx([0.95, 0.9, 0.85])
    assert betas[-1] == pytest.approx((0.95, 0.9))
    scheduler.step()
    with pytest.raises(ArgumentError, match=r"Tried to step 12 times\. The specified number of total steps is 11"):
        scheduler.step()


def test_a_plateau():
    opt = two_groups()
    scheduler = lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1, cooldown=1, min_lr=[0.04, 0.0])
    rates = []
    for metric in (3.0, 2.0, 2.0, sg.tensor(2.0), 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0):
        scheduler.step(metric)
        rates.append(scheduler.get_last_lr())
    assert [r[0] for r in rates] == pytest.approx([0.1] * 3 + [0.05] * 3 + [0.04] * 5)
    assert [r[1] for r in rates] == pytest.approx([0.5] * 3 + [0.25] * 3 + [0.125] * 3 + [0.125, 0.0625])


def test_one_schedule_after_another():
    opt = two_groups()
    warm = lr_scheduler.LinearLR(opt, 0.5, total_iters=2)
    after = lr_scheduler.ExponentialLR(opt, 0.5)
    scheduler = lr_scheduler.SequentialLR(opt, [warm, after], [3])
    rates = []
    for _ in range(6):
        rates.append(opt.lr)
        scheduler.step()
    assert rates == pytest.approx([0.05, 0.075, 0.1, 0.1, 0.05, 0.025])


def momenta_of(opt):
    return [group["momentum"] for group in opt.param_groups]


COMPARED = [
    *((name, lambda lib, opt, name=name, kwargs=kwargs: getattr(lib, name)(opt, **kwargs)) for name, kwargs, _ in SCHEDULES),
    ("ConstantLR", lambda lib, opt: lib.ConstantLR(opt)),
    ("LinearLR", lambda lib, opt: lib.LinearLR(opt, 0.2, 0.7, 10)),
    ("LinearLR down", lambda lib, opt: lib.LinearLR(opt, 1.0, 0.0, 10)),
    ("CyclicLR", lambda lib, opt: lib.CyclicLR(opt, [0.01, 0.1], 0.5, 3)),
    ("CyclicLR exp", lambda lib, opt: lib.CyclicLR(opt, 0.01, 0.5, 3, 5, "exp_range", 0.9, cycle_momentum=False)),
    ("CyclicLR fn", lambda lib, opt: lib.CyclicLR(opt, 0.01, 0.5, 3, scale_fn=lambda x: 1 / x)),
    ("OneCycleLR", lambda lib, opt: lib.OneCycleLR(opt, 0.5, epochs=5, steps_per_epoch=6)),
    ("OneCycleLR three", lambda lib, opt: lib.OneCycleLR(opt, [0.5, 1.0], 30, three_phase=True)),
    ("OneCycleLR straight", lambda lib, opt: lib.OneCycleLR(opt, 0.5, 30, anneal_strategy="linear", cycle_momentum=False)),
    ("SequentialLR", lambda lib, opt: lib.SequentialLR(
        opt, [lib.LinearLR(opt, 0.1, total_iters=4), lib.CosineAnnealingLR(opt, 9), lib.StepLR(opt, 2)], [5, 14])),
    ("ChainedScheduler", lambda lib, opt: lib.ChainedScheduler([lib.ConstantLR(opt, 0.1), lib.ExponentialLR(opt, 0.9)])),
]  # fmt: skip


def pair(torch):
    """The same two groups in both libraries."""
    theirs = torch.optim.SGD(
        [{"params": [torch.ones(1, requires_grad=True)]}, {"params": [torch.ones(1, requires_grad=True)], "lr": 0.5}],
        lr=0.1,
    )
    return two_groups(), theirs


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:.*Plan to|.*scheduler.step.*:UserWarning")
@pytest.mark.parametrize(("name", "make"), COMPARED, ids=[row[0] for row in COMPARED])
def test_against_torch(name, make):
    torch = pytest.importorskip("torch")
    opt, theirs = pair(torch)
    scheduler, other = make(lr_scheduler, opt), make(torch.optim.lr_scheduler, theirs)
    saved = None
    for epoch in range(EPOCHS):
        assert scheduler.get_last_lr() == pytest.approx(other.get_last_lr(), rel=1e-12, abs=1e-16)
        assert momenta_of(opt) == pytest.approx(momenta_of(theirs), rel=1e-12)
        theirs.step()
        other.step()
        scheduler.step()
        if epoch == 11:
            saved = copy.deepcopy((opt.state_dict(), scheduler.state_dict()))
    again, _ = pair(torch)
    resumed = make(lr_scheduler, again)
    again.load_state_dict(saved[0])
    resumed.load_state_dict(saved[1])
    for _ in range(12, EPOCHS):
        resumed.step()
    assert resumed.get_last_lr() == pytest.approx(scheduler.get_last_lr(), rel=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("kwargs", [
    {}, {"mode": "max", "threshold_mode": "abs", "patience": 2, "threshold": 0.1}, {"patience": 0, "cooldown": 2},
    {"mode": "max", "patience": 1, "min_lr": [0.01, 0.2], "threshold": 0.2}, {"threshold_mode": "abs", "patience": 3},
])  # fmt: skip
def test_plateaus_against_torch(kwargs):
    torch = pytest.importorskip("torch")
    opt, theirs = pair(torch)
    scheduler = lr_scheduler.ReduceLROnPlateau(opt, **kwargs)
    other = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **kwargs)
    for metric in np.random.default_rng(0).normal(size=60) + np.linspace(2, 1, 60):
        scheduler.step(metric)
        other.step(metric)
        assert scheduler.get_last_lr() == pytest.approx(other.get_last_lr(), rel=1e-12)


@pytest.mark.oracle
def test_arguments_are_those_of_torch():
    theirs = pytest.importorskip("torch").optim.lr_scheduler
    names = [n for n, cls in vars(theirs).items() if inspect.isclass(cls) and issubclass(cls, theirs.LRScheduler)]
    assert len(names) > 15

    def arguments(cls):
        return [(p.name, p.default) for p in inspect.signature(cls.__init__).parameters.values()]

    for name in names:
        assert arguments(getattr(lr_scheduler, name)) == arguments(getattr(theirs, name)), name


def test_epochs_of_warm_restarts_may_be_fractions():
    opt = two_groups()
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(opt, 2)
    scheduler.step(0.5)
    assert opt.lr == pytest.approx(0.1 * (1 + math.cos(math.pi / 4)) / 2)
    with pytest.raises(ArgumentError, match="Expected non-negative epoch, but got -1"):
        scheduler.step(-1)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda opt: lr_scheduler.StepLR(opt, 0), "StepLR: step_size is a number of epochs, above 0, got 0"),
        (lambda opt: lr_scheduler.StepLR(opt, "a"), "StepLR: step_size has to be a number, got 'a'"),
        (lambda opt: lr_scheduler.StepLR(opt, 1, None), "StepLR: gamma has to be a number, got None"),
        (lambda opt: lr_scheduler.ExponentialLR(opt, "a"), "ExponentialLR: gamma has to be a number, got 'a'"),
        (lambda opt: lr_scheduler.CosineAnnealingLR(opt, 0), "CosineAnnealingLR: T_max is a number of epochs, above 0, got 0"),
        (lambda opt: lr_scheduler.CosineAnnealingLR(opt, 3, "a"), "CosineAnnealingLR: eta_min has to be a number, got 'a'"),
        (lambda opt: lr_scheduler.LambdaLR(opt, 3), "LambdaLR: lr_lambda has to be a function of the epoch, got 3"),
        (lambda opt: lr_scheduler.ConstantLR(opt, 2.0), "Constant multiplicative factor expected to be between 0 and 1."),
        (lambda opt: lr_scheduler.OneCycleLR(opt, 0.1), "You must define either total_steps OR (epochs AND steps_per_epoch)"),
        (
            lambda opt: lr_scheduler.OneCycleLR(opt, 0.1, 10, anneal_strategy="x"),
            "anneal_strategy must be one of 'cos' or 'linear', instead got x",
        ),
        (
            lambda opt: lr_scheduler.CyclicLR(opt, [0.1, 0.2], 0.1),
            "base_lr must have the same length as optimizer.param_groups: 2 and 1",
        ),
        (lambda opt: lr_scheduler.ReduceLROnPlateau(opt, factor=1.0), "Factor should be < 1.0."),
        (
            lambda opt: lr_scheduler.ChainedScheduler([]),
            "ChainedScheduler expects at least one scheduler, but got no scheduler.",
        ),
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


def test_state_dicts_have_pytorchs_keys():
    class Factor:
        def __init__(self):
            self.by = 0.5

        def __call__(self, epoch):
            return self.by**epoch

    def made():
        opt = optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        return optim.lr_scheduler.LambdaLR(opt, Factor())

    schedule = made()
    state = schedule.state_dict()
    assert {*state} == {
        "base_lrs", "last_epoch", "_step_count", "_is_initial", "_get_lr_called_within_step", "_last_lr", "lr_lambdas"
    }  # fmt: skip
    assert state["lr_lambdas"] == [{"by": 0.5}]
    assert (state["_is_initial"], state["_step_count"]) == (False, 1)
    schedule.lr_lambdas[0].by = 0.25
    again = made()
    again.load_state_dict(schedule.state_dict())
    assert again.lr_lambdas[0].by == 0.25
    assert optim.lr_scheduler.LambdaLR(again.optimizer, lambda epoch: 1.0).state_dict()["lr_lambdas"] == [None]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "mode": "exp_range", "gamma": 0.9}),
        ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "cycle_momentum": False, "scale_fn": lambda x: 0.5}),
        ("OneCycleLR", {"max_lr": 0.1, "total_steps": 10}),
        ("OneCycleLR", {"max_lr": 0.1, "total_steps": 12, "three_phase": True, "anneal_strategy": "linear"}),
    ],
)
def test_states_of_cycles_are_pytorchs(name, settings):
    torch = pytest.importorskip("torch")
    states = []
    for library in (torch, sg):
        opt = library.optim.SGD([library.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)
        schedule = getattr(library.optim.lr_scheduler, name)(opt, **settings)
        for _ in range(3):
            opt.step()
            schedule.step()
        states.append(schedule.state_dict())
    theirs, ours = states
    assert {*ours} == {*theirs}
    rates, expected = ours.pop("_last_lr"), theirs.pop("_last_lr")
    assert ours == theirs
    assert rates == pytest.approx(expected, rel=1e-12)


def test_a_cycle_goes_on_from_its_state():
    class Height:
        def __init__(self):
            self.by = 0.5

        def __call__(self, cycle):
            return self.by

    def made():
        opt = optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
        return optim.lr_scheduler.CyclicLR(opt, 0.1, 0.3, step_size_up=4, scale_fn=Height())

    schedule, again = made(), made()
    schedule._scale_fn_custom.by = 0.25
    for _ in range(3):
        schedule.step()
    again.load_state_dict(schedule.state_dict())
    assert again._scale_fn_custom.by == 0.25
    schedule.step()
    again.step()
    assert again.get_last_lr() == schedule.get_last_lr() == [pytest.approx(0.1 + 0.2 * 0.25)]
