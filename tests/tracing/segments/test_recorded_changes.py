"""Changes in place that the tape records, in functions that run in segments."""

from __future__ import annotations

import pytest

import staticgrad as sg


def summed(w, x):
    total = x.new_zeros(x.shape[0])
    for _ in range(3):
        x = sg.tanh(x @ w)
        total += x.sum(1)
    return total


def scaled(w, x):
    y = x @ w
    y += 1
    y *= 2
    return y + y.exp()


def shared_by_a_detached_tensor(w, x):
    y = x @ w
    d = y.detach()
    y += 1
    return y * y * d


def with_a_view(w, x):
    y = x @ w
    v = y[0]
    y += 1
    return y * v


def read_twice(w, x):
    y = x @ w
    y += y.tanh()
    y -= w.sum()
    return y**2


def copied(w, x):
    y, k = (x @ w)[:3].clone(), w * 3
    y.copy_(k)
    k += 1
    y += k
    return y * k


def saved_operand(w, x):
    y = x @ w
    z = y * y
    y += 1
    return z + y


def saved_result(w, x):
    y = (x @ w).exp()
    y += 1
    return y


# the number of segments: one up to the number that Python asks for, and one for the gradients
PROGRAMS = {
    summed: 2, scaled: 2, shared_by_a_detached_tensor: 3, with_a_view: 4, read_twice: 2, copied: 2, saved_operand: 2,
    saved_result: 2,
}  # fmt: skip


def results(program, wrap, dtype):
    sg.manual_seed(0)
    w = (sg.randn(3, 3, dtype=dtype) * 0.3).requires_grad_()
    names = set()

    def step(x):
        y = program(w, x)
        names.add(type(y.grad_fn).__name__)
        loss = y.sum() if y.sum().item() > -1e9 else y
        (g,) = sg.autograd.grad(loss, w, create_graph=True)
        (second,) = sg.autograd.grad((g * g).sum(), w)
        return [loss.item(), *g.reshape(-1).tolist(), *second.reshape(-1).tolist()]

    step, found = wrap(step), []
    for i in range(4):
        try:
            found.append(step(sg.full((4, 3), 0.1 * (i + 1), dtype=dtype)))
        except sg.GradientError as error:
            found.append(str(error).splitlines()[0][:80])
    return found, names, step


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64])
@pytest.mark.parametrize("program", PROGRAMS)
def test_recorded_changes_are_those_of_eager_mode(program, dtype):
    eager, names, _ = results(program, lambda fn: fn, dtype)
    found, compiled_names, step = results(program, lambda fn: sg.compile(fn, on_break="split"), dtype)
    assert compiled_names == names
    for expected, values in zip(eager, found, strict=True):
        if isinstance(expected, str):
            assert expected.startswith("one of the variables needed for gradient computation has been modified")
            assert values == expected
        else:
            assert values == pytest.approx(expected, rel=1e-4 if dtype == sg.float32 else 1e-10, abs=1e-6)
    assert len(step.segmented.roads.segments) <= PROGRAMS[program] + 1
