"""`x.data = y` in segments, where y is not there yet: x has the memory of y from then on."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.nn import functional as F
from staticgrad.tracing.segments import deferral


def averaged(wrap, dtype, aliased):
    """Weights that are replaced and averaged by `.data`. aliased: other tensors share their memory."""
    rng = np.random.default_rng(0)
    w = sg.tensor(rng.standard_normal((3, 3)).astype(dtype), requires_grad=True)
    mean = sg.tensor(rng.standard_normal((3, 3)).astype(dtype))
    seen = []

    @wrap
    def step(x):
        before = w.detach() if aliased else None
        loss = (F.linear(x, w) ** 2).mean()
        loss.backward()
        w.data = w.data - 0.1 * w.grad
        new = 0.9 * mean + 0.1 * w.data
        mean.data = new
        if aliased:
            mean.data += 0.01  # which `new` sees
        if float(loss.detach()) > 0.5:
            w.data = w.data * 0.9
        y = (F.linear(x, w) ** 2).mean()
        w.data *= 0.99
        if aliased:
            seen.append((float(before.sum()), float(new.sum())))
            mean.data = new
            mean.add_(1)
            seen.append(float(new.sum()))
        w.grad = None
        return y.detach()

    for i in range(8):
        seen.append(float(step(sg.tensor((rng.standard_normal((4, 3)) * (1 + i % 3)).astype(dtype)))))
        seen.append((float(mean.sum()), float(w.detach().sum())))
    return np.hstack(seen)


@pytest.mark.parametrize("aliased", [False, True])
@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-4), ("float64", 1e-11)])
def test_values_are_those_of_eager_mode(dtype, rtol, aliased):
    found = averaged(lambda step: sg.compile(step, on_break="split"), dtype, aliased)
    np.testing.assert_allclose(found, averaged(lambda step: step, dtype, aliased), rtol=rtol)


def test_it_does_not_cut_and_backward_passes_are_repeated(monkeypatch):
    repeated = []
    known = deferral.repeat_backward
    monkeypatch.setattr(deferral, "repeat_backward", lambda *args: repeated.append(known(*args)) or repeated[-1])
    w, mean = sg.tensor(np.ones((3, 3)), requires_grad=True), sg.zeros(3, 3)

    @sg.compile(on_break="split")
    def step(x):
        loss = (F.linear(x, w) ** 2).mean()
        loss.backward()
        w.data = w.data - 0.1 * w.grad
        mean.data = 0.9 * mean.data + 0.1 * w.data.float()
        w.grad = None
        return loss.item() > 1

    for _ in range(4):
        step(sg.tensor(np.ones((2, 3))))
    assert sum(segment.runs for segment in step.segmented.roads.segments) == 4  # one in each call
    assert repeated[-1]


def test_another_dtype_or_shape_is_noticed():
    w = sg.tensor(np.ones(3), requires_grad=True)

    @sg.compile(on_break="split")
    def step(kind, n):
        loss = (w * w).sum()
        loss.backward()
        g, w.grad = w.grad, None
        if loss.item() < 0:
            return g
        w.data = (sg.ones(n) * loss.detach()).to(kind)
        return g

    w.data = w.data.clone()
    for kind, n in [("float64", 3), ("float64", 3), ("float32", 3), ("float32", 4), ("float32", 4), ("float64", 3)]:
        before = w.detach().clone()
        g = step(kind, n)
        assert g.tolist() == (2 * before).tolist()
        assert g.dtype == before.dtype
        assert str(w.dtype).endswith(kind)
        assert tuple(w.shape) == (n,)
        w.data = w.data / w.data
