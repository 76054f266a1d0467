"""Modules as functions of their parameters: `functional_call`, `stack_module_state`, per-sample gradients."""

from __future__ import annotations

from typing import Any

import pytest

import staticgrad as sg
from staticgrad import func, nn
from staticgrad.errors import ArgumentError, TransformError
from tests.helpers import assert_close


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.second = nn.Linear(2, 2, bias=False)
        self.second.weight = self.first.weight
        self.register_buffer("scale", sg.tensor(2.0))

    def forward(self, x: Any, *, shift: float = 0.0) -> Any:
        return self.second(self.first(x)) * self.scale + shift


def test_a_call_with_other_tensors_leaves_the_module_as_it_is():
    model, x = nn.Linear(2, 3), sg.ones(4, 2)
    before, own = model(x), model.weight
    found = func.functional_call(model, {"weight": own * 2, "bias": sg.zeros(3)}, x)
    assert_close(found, (x @ own.T) * 2, 1e-6)
    assert model.weight is own
    assert_close(model(x), before)
    with pytest.raises(sg.ShapeError):
        func.functional_call(model, {"weight": sg.ones(3, 5)}, (x,))
    assert model.weight is own


def test_tied_weights_buffers_and_keywords():
    model, x = Tied(), sg.ones(1, 2)
    double = {"first.weight": sg.eye(2) * 3, "scale": sg.tensor(1.0)}
    assert_close(func.functional_call(model, double, (x,), {"shift": 1.0}), x * 9 + 1)
    untied = func.functional_call(model, ({"first.weight": sg.eye(2)}, {"scale": sg.tensor(1.0)}), x, tie_weights=False)
    assert_close(untied, x @ model.second.weight.T, 1e-6)
    one, other = sg.eye(2), sg.eye(2) * 2
    with pytest.raises(ArgumentError, match="multiple values for keys"):
        func.functional_call(model, {"first.weight": one, "second.weight": other}, x)
    with pytest.raises(ArgumentError, match="multiple dictionaries"):
        func.functional_call(model, [{"scale": one}, {"scale": one}], x)
    with pytest.raises(ArgumentError, match="has no attribute 'third'"):
        func.functional_call(model, {"third": one}, x)
    with pytest.raises(ArgumentError, match=r"Missing key\(s\): .*scale"):
        func.functional_call(model, {"first.weight": one, "second.weight": one}, x, strict=True)


def test_functionalize():
    def step(x: Any) -> Any:
        y = x.clone()
        y[0] = 1
        return y * 2

    assert func.functionalize(step, remove="mutations_and_views")(sg.zeros(2)).tolist() == [2, 0]
    with pytest.raises(ArgumentError, match="received invalid argument for remove=views"):
        func.functionalize(step, remove="views")


def test_an_ensemble_of_models():
    models = [nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)) for _ in range(4)]
    params, buffers = func.stack_module_state(models)
    assert buffers == {}
    assert params["0.weight"].shape == (4, 3, 2)
    assert params["0.weight"].requires_grad
    assert params["0.weight"].is_leaf
    x = sg.randn(5, 2)
    out = sg.vmap(lambda p, x: func.functional_call(models[0], p, (x,)), in_dims=(0, None))(params, x)
    assert_close(out, sg.stack([m(x) for m in models]), 1e-6)
    (out**2).sum().backward()
    for i, model in enumerate(models):
        (model(x) ** 2).sum().backward()
        assert_close(params["2.weight"].grad[i], model[2].weight.grad, 1e-5)


@pytest.mark.parametrize(
    ("models", "text"),
    [
        ([], "Expected at least one model, got 0"),
        ([nn.Linear(1, 1), nn.Tanh()], "to be of the same class"),
        ([nn.Linear(1, 1), nn.Linear(1, 1).eval()], "same training/eval mode"),
        ([nn.Linear(1, 1), nn.Linear(1, 1).requires_grad_(False)], "to have the same .requires_grad"),
    ],
)
def test_models_that_can_not_be_stacked(models: Any, text: str):
    with pytest.raises(TransformError, match=text):
        func.stack_module_state(models)


def test_per_sample_gradients_of_a_module_in_a_compiled_step():
    model, x, y = nn.Linear(3, 2), sg.randn(4, 3), sg.randn(4, 2)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return ((func.functional_call(model, p, (x,)) - y) ** 2).sum()

    @sg.compile
    def norms(x: Any, y: Any) -> Any:
        slopes = sg.vmap(func.grad(loss), in_dims=(None, 0, 0))(dict(model.named_parameters()), x, y)
        return (slopes["weight"] ** 2).sum((1, 2)) + (slopes["bias"] ** 2).sum(1)

    rows = []
    for i in range(4):
        model.zero_grad()
        ((model(x[i]) - y[i]) ** 2).sum().backward()
        rows.append((model.weight.grad**2).sum() + (model.bias.grad**2).sum())
    assert_close(norms(x, y), sg.stack(rows), 1e-5)


def test_batch_norm_counts_only_outside_of_vmap():
    """Its running statistics are one tensor for all samples; PyTorch refuses to change them too."""
    model = nn.BatchNorm1d(3)
    with pytest.raises(TransformError, match="inplace arithmetic"):
        sg.vmap(model)(sg.randn(2, 4, 3))
    with_batches = func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(3)))
    x = sg.randn(2, 4, 3)
    assert_close(sg.vmap(with_batches)(x), sg.stack([nn.BatchNorm1d(3)(row) for row in x]), 1e-6)
    assert_close(sg.vmap(model.eval())(sg.ones(2, 4, 3)), model(sg.ones(8, 3)).reshape(2, 4, 3), 1e-6)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), (4, 8)),
        (lambda: nn.LSTM(4, 5, batch_first=True), (6, 4)),
        (lambda: nn.GRU(4, 5, batch_first=True), (6, 4)),
        (lambda: nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.GroupNorm(1, 3), nn.AvgPool2d(2)), (2, 6, 6)),
        (lambda: nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3), nn.GELU()), (2, 4)),
    ],
)
def test_layers_of_one_sample_and_of_many(make: Any, shape: tuple[int, ...]):
    """Outputs and gradients of each sample: mapped, and as a batch."""
    layer, x = make(), sg.randn(3, *shape)
    params = {name: p.detach() for name, p in layer.named_parameters()}

    def run(p: Any, batch: Any) -> Any:
        out = func.functional_call(layer, p, (batch,))
        return out[0] if isinstance(out, tuple) else out

    mapped = sg.vmap(lambda p, v: run(p, v[None])[0], in_dims=(None, 0))(params, x)
    assert_close(mapped, run(params, x), 1e-5)
    slopes = sg.vmap(func.grad(lambda p, v: (run(p, v[None]) ** 2).sum()), in_dims=(None, 0))(params, x)
    whole = func.grad(lambda p: (run(p, x) ** 2).sum())(params)
    for name, slope in slopes.items():
        assert_close(slope.sum(0), whole[name], 2e-5, what=name)
