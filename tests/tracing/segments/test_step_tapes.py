"""Steps that change tensors in place after a cut, and that use the tape by hand."""

from __future__ import annotations

import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.nn import functional as F
from tests.tracing.segments.everyday import Case, assert_agreement, network, state_of, x_of, y_of


def views_after_a_cut(compiles):
    @compiles
    def step(x):
        a = x * 1
        row, block = a[0], a[1:3, :2]
        if a.sum() > 0:
            row.zero_()
        block += 5
        b = a.reshape(-1)
        b[0] = -1
        a[:, 1] *= 2
        first = b.sum().item()
        block.mul_(0.5)
        a.t()[2].fill_(first)
        return a, row, block, b

    return Case(lambda i: step(x_of(i)))


def leaves_changed_by_hand(compiles):
    w = sg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    velocity = sg.zeros(2, 2)

    @compiles
    def step(x, mode):
        loss = ((x @ w) ** 2).mean()
        if w.grad is not None:
            w.grad.zero_()
        loss.backward()
        velocity.mul_(0.9).add_(w.grad)
        if mode:
            w.data -= 0.01 * velocity
        else:
            with sg.no_grad():
                w.sub_(0.01 * velocity)
                w[0].clamp_(min=0.2)
        return loss.item()

    return Case(lambda i: step(x_of(i, width=2), i % 3 == 0), lambda: (w, velocity), velocity.zero_)


def gradients_accumulated_over_calls(compiles):
    model, count = network(), [0]
    optimizer = optim.RMSprop(model.parameters(), lr=0.01)

    @compiles
    def step(x, y):
        loss = F.cross_entropy(model(x), y) / 3
        loss.backward()
        count[0] += 1
        norm = None
        if count[0] % 3 == 0:
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5).item()
            optimizer.step()
            optimizer.zero_grad(set_to_none=count[0] % 2 == 0)
        return loss.item(), norm

    def change():
        count[0] = 0

    return Case(lambda i: step(x_of(i), y_of(i)), state_of(model, optimizer), change)


def several_backward_passes(compiles):
    model = network()

    @compiles
    def step(x, y):
        model.zero_grad()
        out = model(x)
        F.cross_entropy(out, y).backward(retain_graph=True)
        first = model[0].weight.grad.norm().item()
        (out.pow(2).mean() * first).backward()
        g = sg.autograd.grad(model(x).logsumexp(1).sum(), list(model.parameters()), create_graph=True)
        penalty = sum((p**2).sum() for p in g)
        if penalty.item() > 0:
            penalty.backward()
        return first, penalty

    return Case(lambda i: step(x_of(i), y_of(i)), state_of(model))


def hooks_and_detached_parts(compiles):
    model, seen = network(), []
    model[0].weight.register_hook(lambda g: g.clamp(-0.1, 0.1))
    model[2].register_forward_hook(lambda module, args, out: seen.append(float(out.mean())))

    @compiles
    def step(x, y):
        model.zero_grad()
        h = model[:3](x)
        loss = F.cross_entropy(model[3:](h.detach() if seen[-1] > 0 else h), y)
        loss.backward()
        return loss, h.requires_grad, [p.grad is None for p in model.parameters()]

    def change():
        model[2].register_forward_hook(lambda module, args, out: out * 2)

    return Case(lambda i: step(x_of(i), y_of(i)), lambda: ([*seen], state_of(model)()), change)


def a_function_with_its_own_backward(compiles):
    class Clip(sg.autograd.Function):
        @staticmethod
        def forward(ctx, x, bound):
            ctx.save_for_backward(x)
            ctx.bound = bound
            return x.clamp(-bound, bound)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (x.abs() <= ctx.bound).to(g.dtype) + 0.01 * g, None

    w = sg.tensor([0.5, -1.5, 2.5, 0.1], requires_grad=True)

    @compiles
    def step(x):
        w.grad = None
        bound = x.abs().mean().item()
        loss = (Clip.apply(w * x, bound) ** 2).sum()
        loss.backward()
        return loss.item(), w.grad.clone()

    return Case(lambda i: step(x_of(i)), lambda: w)


CASES = [
    views_after_a_cut,
    leaves_changed_by_hand,
    gradients_accumulated_over_calls,
    several_backward_passes,
    hooks_and_detached_parts,
    a_function_with_its_own_backward,
]


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("make", CASES)
def test_steps_agree_with_eager_mode(make, capsys):
    assert_agreement(make, capsys)
