"""Steps with cuts between which somebody changes what their optimizers, models and tensors are."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.nn import functional as F
from tests.tracing.segments.everyday import Case, assert_agreement, network, state_of, x_of, y_of


def changed(change):
    """The training of a network whose optimizer and model are changed halfway by `change(model, optimizer)`. The step is cut
    before the backward pass and after the optimizer's step."""

    def make(compiles):
        model, logged = network(), []
        optimizer = optim.Adam(model.parameters(), lr=0.02)

        @compiles
        def step(x, y):
            loss = F.cross_entropy(model(x), y)
            logged.append(loss.item())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            logged.append(model[0].weight.norm().item())
            return loss.item()

        return Case(
            lambda i: step(x_of(i), y_of(i)),
            lambda: ([*logged], state_of(model, optimizer)()),
            lambda: change(model, optimizer),
        )

    return make


def lower_rate(model, optimizer):
    optimizer.param_groups[0]["lr"] = 0.001


def decay(model, optimizer):
    optimizer.param_groups[0]["weight_decay"] = 0.3


def maximize(model, optimizer):
    optimizer.param_groups[0]["maximize"] = True


def another_group(model, optimizer):
    extra = nn.Parameter(sg.ones(3))
    model.register_parameter("extra", extra)
    optimizer.add_param_group({"params": [extra], "lr": 0.5})


def loaded_state(model, optimizer):
    saved = copy.deepcopy(optimizer.state_dict())
    saved["param_groups"][0]["lr"] = 0.1
    for slots in saved["state"].values():
        slots["exp_avg"].zero_()
    optimizer.load_state_dict(saved)


def cleared_state(model, optimizer):
    optimizer.state.clear()


def loaded_weights(model, optimizer):
    model.load_state_dict(network(7).state_dict())


def replaced_data(model, optimizer):
    model[0].weight.data = sg.full((8, 4), 0.1)


def replaced_parameter(model, optimizer):
    model[4].bias = nn.Parameter(sg.zeros(3))


def replaced_layer(model, optimizer):
    model[2] = nn.ReLU()


def tied_weights(model, optimizer):
    model.register_parameter("tied", model[0].weight)


def frozen_layer(model, optimizer):
    model[0].requires_grad_(False)


def hook_on_a_weight(model, optimizer):
    model[0].weight.register_hook(lambda g: g * 10)


def hook_after_accumulation(model, optimizer):
    model[4].bias.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(5))


def hook_of_the_optimizer(model, optimizer):
    optimizer.register_step_post_hook(lambda o, args, kwargs: print("stepped", o.param_groups[0]["lr"]))


def gradient_that_somebody_holds(model, optimizer):
    model.kept = model[0].weight.grad


def gradients_given(model, optimizer):
    for p in model.parameters():
        p.grad = sg.ones_like(p)


def another_forward(model, optimizer):
    model[2].forward = lambda x: x.sin()


def a_view_of_a_weight(model, optimizer):
    model.view = model[0].weight.data.view(-1)
    model.view[:4] = 2.0


def weights_written_through_numpy(model, optimizer):
    model.array = model[4].weight.detach().numpy()
    model.array[:] = np.eye(3, 8)


def cast_module(model, optimizer):
    model.double()
    model.float()


def hook_that_draws(model, optimizer):
    model.register_forward_hook(lambda module, args, out: out + sg.rand(3))


CHANGES = [
    lower_rate, decay, maximize, another_group, loaded_state, cleared_state, loaded_weights, replaced_data,
    replaced_parameter, replaced_layer, tied_weights, frozen_layer, hook_on_a_weight, hook_after_accumulation,
    hook_of_the_optimizer, gradient_that_somebody_holds, gradients_given, another_forward, a_view_of_a_weight,
    weights_written_through_numpy, cast_module, hook_that_draws,
]  # fmt: skip


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("change", CHANGES)
def test_changes_between_calls(change, capsys):
    assert_agreement(changed(change), capsys)
