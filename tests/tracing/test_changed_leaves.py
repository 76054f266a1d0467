"""Gradients of leaves that change in place between their uses: one sum and one call of each hook, as on the tape."""

import numpy as np
import pytest

import staticgrad as sg

pytestmark = pytest.mark.usefixtures("few_kernels")

MODES = {"default": {}, "strict": {"numerics": "strict"}, "split": {"on_break": "split"}}
CHANGES = {
    "detached": lambda w: w.detach().mul_(1.5),
    "without grad": lambda w: sg.no_grad()(lambda: w.mul_(1.5))(),
    "data": lambda w: w.data.mul_(1.5),
    "rows": lambda w: w.detach()[0].mul_(3),
}
REQUESTS = {
    "grad": lambda loss, w: sg.grad(loss, [w])[0],
    "backward": lambda loss, w: (loss.backward(), w.grad)[1],
    "backward to inputs": lambda loss, w: (loss.backward(inputs=[w]), w.grad)[1],
}


def leaf(x):
    return x.detach().clone().requires_grad_()


def summed(change, request):
    def step(x):
        w = leaf(x)
        first = sg.stack([w, w]).sin().sum() * 0.1
        change(w)
        second = (w.T * 0.3).sum()
        change(w)
        return request(first + second + (w * 0.7).sum(), w)

    return step


def hooked(change, request):
    def step(x):
        w, seen = leaf(x), []
        w.register_hook(lambda g: (seen.append("first"), g.clamp(max=2.0))[1])
        first = (w * 2).sum()
        change(w)
        w.register_hook(lambda g: (seen.append("second"), g * 3)[1])
        return request(first + (w * 3).sum(), w), seen

    return step


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("change", CHANGES)
def test_cotangents_are_added_as_on_the_tape(change, request_name, mode, dtype):
    step = summed(CHANGES[change], REQUESTS[request_name])
    f = sg.compile(step, **MODES[mode])
    for seed in range(3):
        x = sg.tensor(np.random.default_rng(seed).standard_normal(5).astype(dtype))
        expected, found = step(x), f(x)
        if mode == "strict":
            assert found.tolist() == expected.tolist()
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_hook_gets_the_whole_gradient_once(change, request_name, mode):
    step = hooked(CHANGES[change], REQUESTS[request_name])
    f = sg.compile(step, **MODES[mode])
    for _ in range(3):
        (expected, calls), (found, seen) = step(sg.tensor([1.0, 2.0])), f(sg.tensor([1.0, 2.0]))
        assert found.tolist() == expected.tolist() == [6, 6]
        assert seen == calls == ["first", "second"]
