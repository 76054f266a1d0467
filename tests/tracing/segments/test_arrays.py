"""Arrays of Python in functions that run in segments: values and gradients are those of the call."""

from __future__ import annotations

import types

import numpy as np
import pytest

import staticgrad as sg
from tests.helpers import assert_same

pytestmark = pytest.mark.usefixtures("few_kernels")

MODES = {"default": {}, "strict": {"numerics": "strict"}, "split": {"on_break": "split"}}


def draws(dtype):
    return np.random.default_rng(1).standard_normal((40, 3)).astype(dtype)


SOURCES = {
    "an iterator": lambda box: next(box.items),
    "a number of NumPy": lambda box: next(box.items)[0],
    "a number": lambda box: next(box.items)[0].item(),
    "a draw": lambda box: box.generator.standard_normal(3).astype(box.items.dtype),
    "an attribute": lambda box: box.array,
    "an array that is written": lambda box: np.copyto(box.buffer, next(box.items)) or box.buffer,
    "a view": lambda box: next(box.items)[::-1],
    "a copy as a tensor": lambda box: sg.tensor(next(box.items)),
    "a shared tensor": lambda box: sg.from_numpy(next(box.items)),
    "a shared tensor of the user's": lambda box: sg.as_tensor(box.array),
}
USES = {
    "product": lambda a, w: a * w,
    "quotient": lambda a, w: w / (a * a + 1),
    "twice": lambda a, w: w * a * w * a,
    "power": lambda a, w: (w * w + 1) ** a,
    "choice": lambda a, w: sg.where(a * sg.ones(3, dtype=w.dtype) > 0, w, w * 3),
    "composite": lambda a, w: sg.nn.functional.mse_loss(w * a, sg.zeros(3, dtype=w.dtype)),
}


class Items:
    """An iterator over arrays, which is no part of the class of those that a trace can follow."""

    def __init__(self, dtype):
        self.dtype, self.rows = dtype, iter(draws(dtype))

    def __next__(self):
        return next(self.rows)


def run(source, use, dtype, compiled, second=False):
    box = types.SimpleNamespace(items=Items(dtype), generator=np.random.default_rng(2), buffer=np.zeros(3, dtype), array=None)
    w = sg.tensor(np.array([0.5, -1.5, 2.0], dtype), requires_grad=True)

    def step():
        w.grad = None
        next(box.items)
        loss = use(source(box), w).sum()
        if second:
            (first,) = sg.grad(loss, [w], create_graph=True)
            loss = loss + (first * source(box)).sum()
        loss.backward()
        return loss, w.grad

    fn, found = compiled(step), []
    for i in range(4):
        box.array = draws(dtype)[-1 - i]
        found.append([x.detach().numpy().copy() for x in fn()])
    return found


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("source", SOURCES)
def test_gradients_are_those_of_the_array_of_the_call(source, use):
    for mode, dtype in (("split", "float32"), ("default", "float64")):
        want = run(SOURCES[source], USES[use], dtype, lambda f: f)
        assert_same(run(SOURCES[source], USES[use], dtype, lambda f, mode=mode: sg.compile(f, **MODES[mode])), want)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", SOURCES)
def test_second_gradients_are_those_of_the_array_of_the_call(source, mode):
    want = run(SOURCES[source], USES["twice"], "float64", lambda f: f, second=True)
    found = run(SOURCES[source], USES["twice"], "float64", lambda f: sg.compile(f, **MODES[mode]), second=True)
    assert_same(found, want)


@pytest.mark.parametrize("mode", MODES)
def test_a_mask_that_others_hold_at_first_and_nobody_later(mode):
    """The tape has saved two masks; the variable of the first one is assigned again before the backward pass."""

    def program(compiled):
        w = sg.tensor(np.ones(8, "float32"), requires_grad=True)
        generator = np.random.default_rng(3)

        def step():
            w.grad = None
            h = w * 1
            for _ in range(2):
                mask = generator.random(8) > 0.5
                h = h.masked_fill(sg.as_tensor(mask), 0.25) * w
            h.sum().backward()
            return w.grad

        fn = compiled(step)
        return [fn().numpy().copy() for _ in range(6)]

    assert_same(program(lambda f: sg.compile(f, **MODES[mode])), program(lambda f: f))
