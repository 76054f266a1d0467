"""Steps whose branches, loops and errors depend on values."""

from __future__ import annotations

import contextlib

import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.nn import functional as F
from tests.tracing.segments.everyday import Case, assert_agreement, network, state_of, x_of, y_of


def branches_on_values(compiles):
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.5)

    @compiles
    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        if loss > 1.2:
            loss = loss * 0.5
        elif loss < 0.9:
            loss = loss + model[0].weight.pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        if any(p.grad.abs().max() > 0.1 for p in model.parameters()):
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        return loss

    def change():
        optimizer.param_groups[0]["lr"] = 0.01

    return Case(lambda i: step(x_of(i), y_of(i)), state_of(model), change)


def loops_by_values(compiles):
    limit = {"tol": 0.1}

    @compiles
    def step(x):
        w, n = x.clone().requires_grad_(), 0
        while True:
            loss = (w**2).sum()
            (g,) = sg.autograd.grad(loss, w)
            w = (w - 0.2 * g).detach().requires_grad_()
            n += 1
            if g.norm() < limit["tol"]:
                break
        return w, n

    def change():
        limit["tol"] = 0.5

    return Case(lambda i: step(x_of(i)), change=change)


def line_search(compiles):
    w = sg.tensor([3.0, -2.0], requires_grad=True)

    @compiles
    def step(target):
        loss = ((w - target) ** 4).sum()
        w.grad = None
        loss.backward()
        rate = 1.0
        with sg.no_grad():
            before = w.clone()
            for _ in range(20):
                w.copy_(before - rate * w.grad)
                if ((w - target) ** 4).sum() <= loss - 1e-4 * rate * (w.grad**2).sum():
                    break
                rate /= 2
            else:
                w.copy_(before)
        return rate, loss.item()

    return Case(lambda i: step(sg.tensor([0.1 * i, 1.0])), lambda: w)


def early_return(compiles):
    model, skipped = network(), []
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @compiles
    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        if not sg.isfinite(loss):
            skipped.append(loss.item())
            optimizer.zero_grad()
            return None
        optimizer.zero_grad()
        loss.backward()
        if loss.item() < 1.0:
            return loss.detach()
        optimizer.step()
        return loss.detach(), sg.tensor(len(skipped))

    def call(i):
        x = x_of(i)
        return step(x * float("nan") if i in (2, 7) else x, y_of(i))

    return Case(call, lambda: (len(skipped), state_of(model)()))


def generators(compiles):
    def halves(x):
        while x.abs().max() > 0.1:
            yield x
            x = x / 2

    @compiles
    def step(x):
        parts = [part.sum() for part in halves(x)]
        first = next(iter(halves(x + 1)))
        return sum(parts), len(parts), first.mean().item()

    return Case(lambda i: step(x_of(i % 3)))


def recursion(compiles):
    @compiles
    def norm(x, depth=0):
        if depth > 4 or x.norm() < 0.5:
            return x.sum(), depth
        return norm(x * 0.5, depth + 1)

    return Case(lambda i: norm(x_of(i)))


def matching_and_comprehensions(compiles):
    @compiles
    def step(x, mode):
        rows = {i: row.sum() for i, row in enumerate(x) if row[0] > 0}
        match mode, len(rows):
            case ("sum", n) if n > 2:
                return sum(rows.values())
            case ("sum", _):
                return x.sum()
            case _:
                return {i: float(v) for i, v in rows.items()}

    return Case(lambda i: step(x_of(i), "sum" if i % 2 else "rows"))


def sorting_by_values(compiles):
    @compiles
    def step(x):
        order = sorted(range(len(x)), key=lambda i: x[i].sum())
        best = max(x, key=lambda row: float(row.max()))
        return x[order[0]] - x[order[-1]], best * 2, min(x.flatten().tolist())

    return Case(lambda i: step(x_of(i)))


def an_error_in_the_middle(compiles):
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    done = []

    @compiles
    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        with sg.no_grad():
            model[0].bias.add_(1.0)
        if loss.item() > 1.3:
            raise RuntimeError(f"diverged at {loss.item():.3f}")
        optimizer.step()
        done.append(loss.item())
        return loss

    return Case(lambda i: step(x_of(i), y_of(i)), lambda: (len(done), state_of(model, optimizer)()))


def errors_that_are_caught(compiles):
    @compiles
    def step(x, k):
        try:
            if x.sum() > 0:
                y = x[k]
            else:
                y = sg.linalg.cholesky(x[:4] - x[:4]).sum() + x[0]
        except IndexError:
            y = x.mean(0)
        except RuntimeError:
            y = x.sum(0)
        finally:
            z = x * 2
        return y, z

    return Case(lambda i: step(x_of(i), i))


def assertions_and_shapes(compiles):
    @compiles
    def step(x):
        n = int(x.abs().sum()) % 4
        y = x.sum().reshape(1, 1).expand(2, n + 1)
        assert y.mean() > -2, "negative"
        return y @ x[: n + 1]

    return Case(lambda i: step(x_of(i)))


def contexts_and_cleanup(compiles):
    log = []

    @contextlib.contextmanager
    def scope(name):
        log.append("enter " + name)
        try:
            yield
        finally:
            log.append("leave " + name)

    @compiles
    def step(x):
        with scope("a"), sg.no_grad():
            y = x.exp()
            if y.max() > 8:
                raise ValueError("too large")
        with scope("b"):
            return y.log()

    return Case(lambda i: step(x_of(i)), lambda: [*log])


CASES = [
    branches_on_values,
    loops_by_values,
    line_search,
    early_return,
    generators,
    recursion,
    matching_and_comprehensions,
    sorting_by_values,
    an_error_in_the_middle,
    errors_that_are_caught,
    assertions_and_shapes,
    contexts_and_cleanup,
]


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("make", CASES)
def test_steps_agree_with_eager_mode(make, capsys):
    assert_agreement(make, capsys)
