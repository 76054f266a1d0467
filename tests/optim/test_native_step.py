"""Eager steps of optimizers as one native call: the values of the rule, op by op."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.eager.sparse_gradients import DeferredGradient
from staticgrad.optim.native_step import _prepared as prepared
from staticgrad.optim.native_step import _steps
from tests.helpers import assert_close

F = sg.functional

CASES: list[tuple[Any, dict[str, Any]]] = [
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    (optim.AdamW, {"lr": 0.01, "amsgrad": True}),
    (optim.RMSprop, {"lr": 0.01, "centered": True}),
]


def trained(kind: Any, options: dict[str, Any], native: bool | None) -> tuple[list[np.ndarray], Any]:
    with sg.eager_kernels(False) if native is None else sg.eager_kernels(native, wait=True, plans=True):
        sg.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to(sg.float64)
        optimizer = kind(model.parameters(), **options)
        x = sg.ones(5, 3, dtype=sg.float64)
        for i in range(5):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            if i == 3:  # a schedule, a gradient that is missing once, other memory
                optimizer.param_groups[0]["lr"] = 0.003
                model[0].bias.grad = None
            if i == 4:
                model[2].bias.data = model[2].bias.data.clone()
            optimizer.step()
        return [p.detach().numpy() for p in model.parameters()], optimizer


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(("kind", "options"), CASES)
def test_steps_agree_with_the_rule(kind: Any, options: dict[str, Any], native: bool):
    wanted, _ = trained(kind, options, None)
    found, optimizer = trained(kind, options, native)
    assert _steps[optimizer].run is not None
    for a, b in zip(found, wanted, strict=True):
        assert_close(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *CASES, (optim.SGD, {"lr": 0.1}), (optim.Adam, {"maximize": True}), (optim.Adagrad, {}), (optim.Adadelta, {}),
        (optim.Adamax, {}), (optim.NAdam, {}), (optim.RAdam, {}), (optim.ASGD, {}), (optim.Rprop, {}), (optim.Muon, {}),
    ],
)  # fmt: skip
def test_joined_parameters_have_the_bits_of_single_ones(kind: Any, options: dict[str, Any]):
    """NumPy takes small parameters together where the rule is elementwise."""
    found = []
    for context in (sg.eager_kernels(False), sg.eager_kernels(False, wait=True, plans=True)):
        rng = np.random.default_rng(0)
        shapes = [(3, 4), (4, 5), (2, 2), (100, 100)] + ([] if kind is optim.Muon else [(4,), (), (1, 5, 1)])
        leaves = [sg.tensor(rng.standard_normal(shape).astype(np.float32), requires_grad=True) for shape in shapes]
        optimizer = kind([{"params": leaves[:2], "lr": 0.05}, {"params": leaves[2:]}], **options)
        with context:
            for _ in range(4):
                for leaf in leaves:
                    leaf.grad = sg.tensor(rng.standard_normal(leaf.shape).astype(np.float32))
                optimizer.step()
        found.append([leaf.detach().numpy() for leaf in leaves])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_step_is_an_in_place_change():
    with sg.eager_kernels(wait=True):
        w = sg.tensor([1.0, 2.0], requires_grad=True)
        optimizer = optim.SGD([w], lr=0.5)
        for _ in range(2):
            w.grad = sg.ones(2)
            optimizer.step()
        y = (w * w).sum()
        version = w._version
        optimizer.step()
        assert w._version == version + 1
        with pytest.raises(sg.GradientError, match="inplace"):
            y.backward()
        optimizer.param_groups[0]["lr"] = sg.tensor(0.25)  # a tensor is read op by op
        optimizer.step()
    assert_close(w.detach(), sg.tensor([-0.75, 0.25]))


def embedded(native: bool | None, kind: Any, options: dict[str, Any]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Parameters after steps of a model whose table is read by rows, and its gradients before the last step."""
    rng = np.random.default_rng(0)
    table, w = (sg.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((6, 3), (3, 2)))
    optimizer, index = kind([table, w], **options), np.array([[0, 2], [2, 2], [5, 0]])
    with sg.eager_kernels(False) if native is None else sg.eager_kernels(native, wait=True, plans=True):
        for i in range(6):
            optimizer.zero_grad()
            F.embedding(sg.from_numpy(index), table).mean(1).matmul(w).square().sum().backward()
            index[:] = (index + 1) % 6  # the next batch, in the memory of this one
            if i == 3:
                (table[sg.tensor([1, 1])] * 2).sum().backward()
            if i < 5:
                optimizer.step()
        return [table.detach().numpy(), w.detach().numpy()], [table.grad.numpy(), w.grad.numpy()]


@pytest.mark.parametrize(("kind", "options"), [(optim.SGD, {"lr": 0.1}), (optim.SGD, {"lr": 0.1, "momentum": 0.9}), *CASES])
def test_rows_of_a_table(kind: Any, options: dict[str, Any]):
    """The gradient of a table is made of its rows when it is read."""
    expected = embedded(None, kind, options)
    for native in (True, False):
        for found, wanted in zip(embedded(native, kind, options), expected, strict=True):
            for a, b in zip(found, wanted, strict=True):
                assert_close(a, b, rtol=1e-9, atol=1e-12)


def test_a_step_does_not_make_the_gradient_of_rows():
    table = sg.ones((100, 2), requires_grad=True)
    optimizer = optim.SGD([table], lr=0.25)
    with sg.eager_kernels(wait=True):
        for _ in range(3):
            optimizer.zero_grad()
            F.embedding(sg.tensor([3, 3, 7]), table).square().sum().backward()
            optimizer.step()
        assert table._gradient.__class__ is DeferredGradient
        assert_close(table.detach()[[2, 3, 7]], sg.tensor([[1.0, 1.0], [0.0, 0.0], [0.125, 0.125]]))
        assert_close(table.grad.sum(), sg.tensor(1.0))
        assert isinstance(table.grad, sg.Tensor)
        assert table._gradient.__class__ is not DeferredGradient
        optimizer.step()
        assert_close(table.detach()[7], sg.tensor([0.0, 0.0]))
        optimizer.zero_grad()
        F.embedding(sg.tensor([3, 3, 7]), table).square().sum().backward()
        table.data = sg.ones((5, 2))  # rows that it does not have are not written
        with pytest.raises((sg.errors.StaticgradError, ValueError)):
            optimizer.step()


def test_flags_of_tensors_are_no_changes_of_an_optimizer(monkeypatch: pytest.MonkeyPatch):
    """Steps with `x.requires_grad_()` in them don't compare the structure each time."""
    compared: list[int] = []
    module = import_module("staticgrad.optim.native_step")
    monkeypatch.setattr(module, "_prepared", lambda *args: compared.append(1) or prepared(*args))
    w = sg.ones(3, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.5)
    with sg.eager_kernels(wait=True):
        for i in range(4):
            optimizer.zero_grad()
            x = sg.ones(3).requires_grad_()
            (w * x * x).sum().backward()
            w.requires_grad_(i % 2 == 0)  # it has a gradient, and is stepped
            optimizer.step()
            w.requires_grad_()
    assert compared == [1]
    assert_close(w.detach(), sg.full((3,), -1.0))


def test_batches_of_several_sizes_keep_their_plans():
    table = sg.ones((10, 2), requires_grad=True)
    optimizer, steps = optim.SGD([table], lr=0.1), []
    with sg.eager_kernels(wait=True):
        for i in range(6):
            optimizer.zero_grad()
            F.embedding(sg.arange(2 + i % 2), table).square().sum().backward()
            optimizer.step()
            steps.append(_steps[optimizer])
    assert steps[0] is steps[2] is steps[4]
    assert steps[1] is steps[3] is steps[5] is not steps[0]
    assert_close(table.detach()[:4, 0], sg.tensor([0.8**6, 0.8**6, 0.8**3, 1.0]), rtol=1e-6)
