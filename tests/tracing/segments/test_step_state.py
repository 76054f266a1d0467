"""Steps whose state lies in globals, attributes, closures, containers and generators of random numbers."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from dataclasses import dataclass

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.nn import functional as F
from tests.tracing.segments.everyday import Case, assert_agreement, network, state_of, x_of, y_of

GLOBAL = {"steps": 0, "ema": None}
counter = 0


def state_in_globals(compiles):
    global counter
    counter = 0
    GLOBAL.update(steps=0, ema=None)
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @compiles
    def step(x, y):
        global counter
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        counter += 1
        GLOBAL["steps"] += 1
        ema = GLOBAL["ema"]
        GLOBAL["ema"] = loss.item() if ema is None else 0.9 * ema + 0.1 * loss.item()
        if GLOBAL["ema"] > 1.0 and counter % 3 == 0:
            print(f"{counter}: {GLOBAL['ema']:.3f}")
        return loss

    def change():
        GLOBAL["ema"] = 5.0

    return Case(lambda i: step(x_of(i), y_of(i)), lambda: (counter, dict(GLOBAL), state_of(model, optimizer)()), change)


class Trainer:
    def __init__(self, compiles):
        self.model = network()
        self.optimizer = optim.Adam(self.model.parameters(), lr=0.01)
        self.best, self.patience, self.history = float("inf"), 0, []
        self.scale = 1.0
        self.run = compiles(self.step)

    def step(self, x, y):
        loss = self.scale * F.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        value = loss.item()
        if value < self.best:
            self.best, self.patience = value, 0
        else:
            self.patience += 1
        self.history.append(round(value, 3))
        return value


def state_in_attributes(compiles):
    trainer = Trainer(compiles)

    def change():
        trainer.scale = 3.0
        trainer.best = float("inf")

    return Case(
        lambda i: trainer.run(x_of(i), y_of(i)),
        lambda: (trainer.best, trainer.patience, [*trainer.history], state_of(trainer.model, trainer.optimizer)()), change,
    )  # fmt: skip


def state_in_closures(compiles):
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    total, seen = 0.0, set()

    @compiles
    def step(x, y):
        nonlocal total
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += float(loss)
        seen.update(logits.argmax(1).tolist())
        return total / len(seen)

    return Case(lambda i: step(x_of(i), y_of(i)), lambda: (total, sorted(seen), state_of(model)()), seen.clear)


@dataclass
class Meter:
    total: float = 0.0
    count: int = 0

    def update(self, value, n=1):
        self.total += value * n
        self.count += n

    @property
    def average(self):
        return self.total / max(self.count, 1)


def meters_and_defaultdicts(compiles):
    model = network()
    optimizer = optim.AdamW(model.parameters(), lr=0.02)
    meters = defaultdict(Meter)

    @compiles
    def step(x, y):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meters["loss"].update(loss.item(), len(x))
        meters["accuracy"].update((out.argmax(-1) == y).float().mean().item(), x.size(0))
        print(" ".join(f"{name} {m.average:.3f}" for name, m in meters.items()))
        return meters["accuracy"].average

    return Case(lambda i: step(x_of(i), y_of(i)), lambda: {k: (m.total, m.count) for k, m in meters.items()}, meters.clear)


def a_queue_of_tensors(compiles):
    model, memory = network(), deque(maxlen=3)

    @compiles
    def step(x):
        z = model(x)
        memory.append(z.detach().mean(0))
        if float(z.sum()) > 0:
            memory.append(z.detach()[0])
        return sg.stack(list(memory)).sum(0) + z.mean()

    return Case(lambda i: step(x_of(i)), lambda: list(memory), memory.clear)


def values_in_strings(compiles):
    model = network()

    @compiles
    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        print(f"loss {loss.item():.4f} {loss:.2f} norm {norm:.3f}")
        print(format(loss, ".3f"), f"{norm.item():6.2f}", str(round(loss.item(), 3)))
        model.zero_grad()
        return f"{float(norm):.2e}"

    return Case(lambda i: step(x_of(i), y_of(i)), change=lambda: model[0].weight.data.mul_(2))


def numpy_in_the_step(compiles):
    model = network()
    seen = np.zeros(3)

    @compiles
    def step(x, y):
        p = F.softmax(model(x), dim=1)
        q = p.detach().numpy()
        seen[:] += q.sum(0)
        weights = sg.from_numpy((1 / (seen + 1)).astype("float32"))
        loss = -(p.log() * weights).mean()
        loss.backward()
        grad = model[4].weight.grad.numpy().copy()
        model.zero_grad()
        return loss, np.linalg.norm(grad), np.argmax(q, 1)

    def change():
        seen[:] = 10

    return Case(lambda i: step(x_of(i), y_of(i)), lambda: seen.copy(), change)


def numpy_memory_is_shared(compiles):
    @compiles
    def step(x):
        y = x * 2
        a = y.numpy()
        a[0] = 7
        z = y + 1
        a[1] += 1
        return y, z, a.sum()

    return Case(lambda i: step(x_of(i)))


def random_numbers(compiles):
    model = network(dropout=0.5)
    rng = np.random.default_rng(1)

    @compiles
    def step(x):
        x = x + 0.1 * sg.randn_like(x)
        if random.random() < 0.5:
            x = x.flip(0)
        if rng.uniform() < 0.5:
            x = x * sg.bernoulli(sg.full_like(x, 0.8))
        order = sg.randperm(len(x))
        out = model(x[order])
        lam = float(np.random.beta(0.4, 0.4))
        return (lam * out + (1 - lam) * out[sg.randperm(len(x))]).sum().item(), order

    return Case(lambda i: step(x_of(i)), change=lambda: sg.manual_seed(3))


def sampling_with_generators(compiles):
    generator = sg.Generator().manual_seed(5)

    @compiles
    def step(logits):
        probs = F.softmax(logits, -1)
        drawn = sg.multinomial(probs, 2, generator=generator)
        first = drawn[0, 0].item()
        return drawn, sg.randn(2, generator=generator) * first

    return Case(lambda i: step(x_of(i)), change=lambda: generator.manual_seed(9))


CASES = [
    state_in_globals,
    state_in_attributes,
    state_in_closures,
    meters_and_defaultdicts,
    a_queue_of_tensors,
    values_in_strings,
    numpy_in_the_step,
    numpy_memory_is_shared,
    random_numbers,
    sampling_with_generators,
]


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("make", CASES)
def test_steps_agree_with_eager_mode(make, capsys):
    assert_agreement(make, capsys)
