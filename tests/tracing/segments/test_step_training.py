"""Training steps with cuts, in the idioms of public programs."""

from __future__ import annotations

import copy
import functools
import random
import threading

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.nn import functional as F
from tests.tracing.segments.everyday import Case, assert_agreement, network, state_of, x_of, y_of


def target_networks(compiles):
    policy = network()
    target = copy.deepcopy(policy).requires_grad_(False)
    optimizer = optim.Adam(policy.parameters(), lr=0.02)
    epsilon = {"value": 0.9, "steps": 0}

    @compiles
    def step(s, r, s2):
        if random.random() < epsilon["value"]:
            a = sg.randint(0, 3, (len(s),))
        else:
            with sg.no_grad():
                a = policy(s).argmax(1)
        q = policy(s).gather(1, a[:, None]).squeeze(1)
        with sg.no_grad():
            goal = r + 0.9 * target(s2).max(1)[0]
        loss = F.smooth_l1_loss(q, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epsilon["value"] = max(0.1, epsilon["value"] * 0.8)
        epsilon["steps"] += 1
        if epsilon["steps"] % 4 == 0:
            target.load_state_dict(policy.state_dict())
        else:
            with sg.no_grad():
                for p, t in zip(policy.parameters(), target.parameters(), strict=True):
                    t.data.lerp_(p.data, 0.05)
        return loss.item(), a

    return Case(lambda i: step(x_of(i), x_of(i)[:, 0], x_of(i + 50)), state_of(policy, target))


def training_and_evaluation(compiles):
    model = network(dropout=0.3, norm=True)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    best = {"loss": float("inf"), "weights": None}

    @compiles
    def step(x, y):
        model.train()
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()
        with sg.no_grad():
            value = F.cross_entropy(model(x), y).item()
        if value < best["loss"]:
            best["loss"], best["weights"] = value, copy.deepcopy(model.state_dict())
        return loss, value, model.training

    def change():
        model.load_state_dict(best["weights"])

    return Case(lambda i: step(x_of(i), y_of(i)), lambda: (best["loss"], best["weights"], state_of(model)()), change)


def schedulers_and_early_stopping(compiles):
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=1.0, momentum=0.9, nesterov=True)
    plateau = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    cosine = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)

    @compiles
    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        cosine.step()
        rate = cosine.get_last_lr()[0]
        plateau.step(loss.item())
        return loss.item(), rate, optimizer.param_groups[0]["lr"]

    def change():
        optimizer.param_groups[0]["lr"] = 0.3

    return Case(lambda i: step(x_of(i), y_of(i)), state_of(model), change)


def batches_of_many_sizes(compiles):
    model = network()
    optimizer = optim.Adagrad(model.parameters(), lr=0.1)

    @compiles
    def step(x, y):
        mask = x[:, 0] > 0
        if mask.sum() < 2:
            return None
        out = model(x[mask])
        loss = F.nll_loss(F.log_softmax(out, 1), y[mask])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hard = loss.detach() > 1
        return loss, int(mask.sum()), bool(hard)

    return Case(lambda i: step(x_of(i, 3 + i % 5), y_of(i, 3 + i % 5)), state_of(model, optimizer))


def parameters_that_are_frozen(compiles):
    model = network()
    optimizer = optim.Adam(model.parameters(), lr=0.05, weight_decay=0.1)
    epoch = [0]

    @compiles
    def step(x, y):
        for p in model[0].parameters():
            p.requires_grad_(epoch[0] % 2 == 0)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() > 0:
            epoch[0] += 1
        return sum(p.requires_grad for p in model.parameters()), loss

    return Case(lambda i: step(x_of(i), y_of(i)), state_of(model, optimizer))


def two_optimizers_in_turn(compiles):
    a, b = network(1), network(2)
    first, second = optim.Adam(a.parameters(), lr=0.02, betas=(0.5, 0.9)), optim.SGD(b.parameters(), lr=0.05)

    @compiles
    def step(x, y):
        second.zero_grad()
        lb = F.cross_entropy(b(x + a(x).detach().mean()), y)
        lb.backward()
        second.step()
        la = lb.detach()
        if lb.item() > 0.5:
            first.zero_grad()
            la = -F.cross_entropy(b(x + a(x).mean()), y)
            la.backward()
            first.step()
        return {"a": la.item(), "b": lb.item()}

    def change():
        first.param_groups[0]["betas"] = (0.9, 0.99)

    return Case(lambda i: step(x_of(i), y_of(i)), state_of(a, b, first, second), change)


def a_closure_for_the_optimizer(compiles):
    model = network().double()  # L-BFGS amplifies rounding
    optimizer = optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)

    @compiles
    def step(x, y):
        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        return optimizer.step(closure)

    return Case(lambda i: step(x_of(i % 2).double(), y_of(i % 2)), state_of(model))


def nested_compiled_functions(compiles):
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    forward = compiles(lambda x: model(x))
    penalty = compiles(functools.partial(lambda k, ps: k * sum((p**2).sum() for p in ps), 0.01))

    @compiles
    def norm(g):
        return g.norm() if g.abs().max() > 0.05 else g.sum()

    @compiles
    def step(x, y):
        loss = F.cross_entropy(forward(x), y) + penalty(list(model.parameters()))
        optimizer.zero_grad()
        loss.backward()
        found = [norm(p.grad).item() for p in model.parameters()]
        if found[0] > 0:
            optimizer.step()
        return loss, found

    return Case(lambda i: step(x_of(i), y_of(i)), state_of(model), lambda: model.requires_grad_(True))


def recurrent_state_between_calls(compiles):
    cell, out = nn.GRUCell(4, 5), nn.Linear(5, 3)
    optimizer = optim.Adam([*cell.parameters(), *out.parameters()], lr=0.01)
    kept = {"h": None, "resets": 0}

    @compiles
    def step(x, y):
        h = kept["h"]
        h = sg.zeros(len(x), 5) if h is None else h.detach()
        loss = 0.0
        for t in range(3):
            h = cell(x * (t + 1), h)
            loss = loss + F.cross_entropy(out(h), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept["h"] = h
        if h.abs().max().item() > 0.7:
            kept["h"], kept["resets"] = None, kept["resets"] + 1
        return loss.item() / 3

    def change():
        kept["h"] = sg.ones(6, 5)

    return Case(lambda i: step(x_of(i), y_of(i)), lambda: (dict(kept), state_of(cell, out)()), change)


def modules_with_python_inside(compiles):
    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(4, 3) for _ in range(3))
            self.gate = nn.Linear(4, 3)
            self.register_buffer("load", sg.zeros(3))
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            weights = self.gate(x).softmax(-1)
            chosen = weights.argmax(-1)
            self.load += F.one_hot(chosen, 3).sum(0)
            out = x.new_zeros(len(x), 3)
            for i, expert in enumerate(self.experts):
                where = (chosen == i).nonzero().squeeze(1)
                if where.numel():
                    out[where] = expert(x[where]) * weights[where, i : i + 1]
            return out

    sg.manual_seed(1)
    model = Gate()
    optimizer = optim.Adam(model.parameters(), lr=0.05)

    @compiles
    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return Case(lambda i: step(x_of(i), y_of(i)), lambda: (model.calls, state_of(model, optimizer)()))


def a_model_made_in_the_step(compiles):
    @compiles
    def step(x, y):
        sg.manual_seed(0)
        model = network()
        optimizer = optim.SGD(model.parameters(), lr=0.3)
        losses = []
        for _ in range(3):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if losses[-1] < 1.0:
                break
        return losses

    return Case(lambda i: step(x_of(i), y_of(i)))


def threads_that_call_one_function(compiles):
    models = [network(seed) for seed in range(3)]
    optimizers = [optim.SGD(m.parameters(), lr=0.1) for m in models]

    @compiles
    def step(model, optimizer, x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        if loss.item() > 0.8:
            optimizer.step()
        return loss.item()

    def call(i):
        found: dict[int, float] = {}

        def work(k):
            found[k] = step(models[k], optimizers[k], x_of(i + k), y_of(i + k))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [found[k] for k in range(3)]

    return Case(call, state_of(*models))


def results_kept_and_changed_by_the_caller(compiles):
    kept = []

    @compiles
    def step(x):
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        return y, y[0], y.detach()

    def call(i):
        found = step(x_of(i))
        found[1].zero_()
        kept.append(found)
        return found

    return Case(call, lambda: [*kept])


def arguments_changed_in_place(compiles):
    buffer = sg.zeros(6, 4)

    @compiles
    def step(x, out):
        out.copy_(x)
        if out.max() > 1:
            out.div_(out.max())
        x.zero_()
        return out.sum()

    def call(i):
        x = x_of(i)
        return step(x, buffer), x

    return Case(call, lambda: buffer)


def integers_and_indices(compiles):
    table = sg.zeros(5)

    @compiles
    def step(y):
        counts = sg.bincount(y, minlength=3)
        k = counts.argmax().item()
        table[k] += 1
        table[y] = table[y] * 0.5
        top = sg.topk(counts, 2)
        return counts.tolist(), k, top.values.tolist(), sg.arange(k + 1), y[y == k], sg.unique(y)

    return Case(lambda i: step(y_of(i)), lambda: table)


CASES = [
    target_networks,
    training_and_evaluation,
    schedulers_and_early_stopping,
    batches_of_many_sizes,
    parameters_that_are_frozen,
    two_optimizers_in_turn,
    a_closure_for_the_optimizer,
    nested_compiled_functions,
    recurrent_state_between_calls,
    modules_with_python_inside,
    a_model_made_in_the_step,
    threads_that_call_one_function,
    results_kept_and_changed_by_the_caller,
    arguments_changed_in_place,
    integers_and_indices,
]


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.filterwarnings("ignore:step took another road in each of its latest")
@pytest.mark.parametrize("make", CASES)
def test_steps_agree_with_eager_mode(make, capsys):
    assert_agreement(make, capsys)


def test_segments_leave_gradients_of_few_rows():
    """As eager mode does: SparseAdam, which takes no others, updates the rows that were used."""

    def train(compiled):
        table = nn.Embedding(10, 3, sparse=True)
        with sg.no_grad():
            table.weight.copy_(sg.arange(30.0).reshape(10, 3) / 30)
        optimizer = optim.SparseAdam(table.parameters(), lr=0.1)

        def step(rows):
            index = sg.tensor([int(i) for i in rows])
            optimizer.zero_grad()
            loss = F.logsigmoid(table(index).sum(1)).sum()
            loss.backward()
            optimizer.step()
            return loss

        run = sg.compile(step, on_break="split") if compiled else step
        losses = [run(np.array(rows)).item() for rows in ([1, 2, 2], [0, 5, 1], [9, 2, 2])]
        return losses, table.weight.tolist()

    for expected, actual in zip(train(False), train(True), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-6)
