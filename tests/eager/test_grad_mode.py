"""Modes as context managers and decorators: of functions, generators, coroutines and classes, as in PyTorch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.functional as F
from tests.helpers import raised

DECORATORS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "no_grad()": (lambda f: sg.no_grad()(f), False),
    "no_grad": (lambda f: sg.no_grad(f), False),
    "enable_grad()": (lambda f: sg.enable_grad()(f), True),
    "enable_grad": (lambda f: sg.enable_grad(f), True),
    "set_grad_enabled(False)": (lambda f: sg.set_grad_enabled(False)(f), False),
    "set_grad_enabled(True)": (lambda f: sg.set_grad_enabled(True)(f), True),
}
"""Name -> (decorator, whether operations are recorded while the function runs)"""

decorators = pytest.mark.parametrize(("decorate", "inside"), DECORATORS.values(), ids=DECORATORS)


@pytest.fixture(autouse=True, params=[True, False], ids=["recording", "not recording"])
def outside(request: Any) -> Iterator[bool]:
    """The mode around each test; it has to be the same afterwards."""
    with sg.set_grad_enabled(request.param):
        yield request.param
        assert sg.is_grad_enabled() is request.param


@decorators
def test_function(decorate, inside, outside):
    @decorate
    def f(x: int, *, y: int = 2) -> Any:
        """Doc."""
        return sg.is_grad_enabled(), x + y

    assert sg.is_grad_enabled() is outside  # to decorate is not to switch
    assert f(1, y=3) == (inside, 4)
    assert (f.__name__, f.__doc__) == ("f", "Doc.")
    assert f(1) == (inside, 3)


@decorators
def test_exception(decorate, inside, outside):
    @decorate
    def f() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        f()
    assert sg.is_grad_enabled() is outside


@decorators
def test_method(decorate, inside, outside):
    class A:
        @decorate
        def f(self, x: int) -> Any:
            return x, sg.is_grad_enabled()

    assert A().f(1) == (1, inside)


@decorators
def test_generator(decorate, inside, outside):
    @decorate
    def f() -> Any:
        got = yield sg.is_grad_enabled()
        try:
            yield got, sg.is_grad_enabled()
        except KeyError:
            yield "caught", sg.is_grad_enabled()
        return sg.is_grad_enabled()

    steps = f()
    assert next(steps) is inside
    assert sg.is_grad_enabled() is outside
    assert steps.send(5) == (5, inside)
    assert steps.throw(KeyError) == ("caught", inside)
    assert sg.is_grad_enabled() is outside
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value is inside


@decorators
def test_generator_that_is_closed(decorate, inside, outside):
    seen = []

    @decorate
    def f() -> Any:
        try:
            yield 1
        finally:
            seen.append(sg.is_grad_enabled())

    steps = f()
    next(steps)
    steps.close()
    assert seen == [inside]
    assert sg.is_grad_enabled() is outside


@decorators
def test_coroutine(decorate, inside, outside):
    @decorate
    async def f() -> Any:
        before = sg.is_grad_enabled()
        await asyncio.sleep(0)
        return before, sg.is_grad_enabled()

    async def beside() -> Any:
        seen = []
        for _ in range(3):
            seen.append(sg.is_grad_enabled())
            await asyncio.sleep(0)
        return seen

    async def both() -> Any:
        return await asyncio.gather(f(), beside())

    assert asyncio.run(both()) == [(inside, inside), [outside] * 3]


@decorators
def test_asynchronous_generator(decorate, inside, outside):
    @decorate
    async def f() -> Any:
        got = None
        while True:
            try:
                got = yield got, sg.is_grad_enabled()
            except KeyError:
                got = "caught"

    async def run() -> Any:
        steps = f()
        seen = [await steps.__anext__(), await steps.asend(1), await steps.athrow(KeyError)]
        await steps.aclose()
        return seen, sg.is_grad_enabled()

    assert asyncio.run(run()) == ([(None, inside), (1, inside), ("caught", inside)], outside)


@decorators
def test_class(decorate, inside):
    class A:
        def __init__(self) -> None:
            self.mode = sg.is_grad_enabled()

    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        make = decorate(A)
    assert make().mode is inside


@decorators
def test_in_a_compiled_function(decorate, inside, outside):
    w = sg.tensor([1.0, 2.0], requires_grad=True)

    @decorate
    def parts(x: Any) -> Any:
        for k in range(2):
            yield w * x * k

    @decorate
    def whole(x: Any) -> Any:
        return w * x

    @sg.compile
    def f(x: Any) -> Any:
        ways = [whole(x).requires_grad, *[p.requires_grad for p in parts(x)], (w * x).requires_grad]
        return ways, w * x

    assert f(np.ones(2, np.float32))[0] == [inside, inside, inside, outside]


def test_nested(outside):
    off, on = sg.no_grad(), sg.enable_grad()
    with off:
        with on:
            with off:
                assert not sg.is_grad_enabled()
            assert sg.is_grad_enabled()
        assert not sg.is_grad_enabled()


def test_statement(outside):
    switch = sg.set_grad_enabled(not outside)
    assert repr(switch) == f"set_grad_enabled(mode={not outside})"
    assert sg.is_grad_enabled() is not outside
    with switch:
        assert sg.is_grad_enabled() is not outside
    assert sg.is_grad_enabled() is outside


def test_anomaly_is_nested(outside):
    watch = sg.detect_anomaly()
    x = sg.tensor(0.0, requires_grad=True)
    with sg.enable_grad(), watch:
        with watch:
            pass
        y = sg.sqrt(x * 0)
        with pytest.raises(sg.AnomalyError):
            y.backward()
    with sg.enable_grad():
        sg.sqrt(x * 0).backward()


def test_refusal():
    with pytest.raises(sg.ArgumentError, match="no_grad decorates functions, got 5"):
        sg.no_grad(5)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["function", "generator", "class", "nested"])
def test_as_torch(name, outside):
    torch = pytest.importorskip("torch")

    def run(lib: Any) -> list[bool]:
        seen: list[bool] = []

        def look(*_: Any) -> None:
            seen.append(lib.is_grad_enabled())

        def walk() -> Any:
            look()
            yield
            look()

        class Made:
            __init__ = look

        with lib.set_grad_enabled(outside):
            for decorator in (lib.no_grad(), lib.no_grad, lib.enable_grad, lib.set_grad_enabled(not outside)):
                if name == "function":
                    decorator(look)()
                elif name == "generator":
                    for _ in decorator(walk)():
                        look()
                elif name == "class":
                    with pytest.warns(FutureWarning):
                        decorator(Made)()
                else:
                    decorator(lib.enable_grad(lib.no_grad()(look)))()
                look()
        return seen

    assert run(sg) == run(torch)


def test_results_of_compiled_functions_are_tensors_of_inference_mode():
    x = sg.ones(3)

    def step(x):
        with sg.inference_mode():
            y = x * 2
        with sg.inference_mode(False):
            z = x * 3
        return y, z, x + 1, x[1:], x

    def told(results):
        return [one.is_inference() for one in results]

    compiled, again, plain = (sg.compile(f) for f in (step, lambda x: step(x), lambda x: x * 2))
    for _ in range(3):  # traced, by the slower path, by the fast path
        assert told(compiled(x)) == [True, False, False, False, False]
    with sg.inference_mode():
        made = x * 1
        for _ in range(3):
            assert told(again(x)) == [True, False, True, False, False]
        assert told(again(made)) == [True, False, True, True, True]
        assert told(plain.loop([(x,), (x,)])) == [True, True]
        assert plain.loop(sg.ones(2, 3)).is_inference()
    for _ in range(3):
        with sg.inference_mode():
            inside = plain(x)
        with sg.no_grad():
            outside = plain(x)
        assert told([inside, outside]) == [True, False]
    with sg.enable_grad(), raised(RuntimeError, "Inference tensors cannot be saved for backward."):
        inside * sg.ones(3, requires_grad=True)


def test_indices_of_inference_mode_when_compiled():
    w = sg.ones(3, requires_grad=True)
    with sg.inference_mode():
        i = sg.tensor([0, 2, 0])
    calls = [
        lambda w, i: w.gather(0, i),
        lambda w, i: w[i],
        lambda w, i: w.index_select(0, i),
        lambda w, i: sg.nn.functional.embedding(i, w.reshape(3, 1)),
        lambda w, i: sg.zeros(3).scatter_add(0, i, w),
    ]
    for call in calls:
        for run in (call, sg.compile(call)):
            with sg.enable_grad(), raised(RuntimeError, "Inference tensors cannot be saved for backward."):
                run(w, i)
            assert run(w.detach(), i).shape[0] == 3
            assert run(w, i.clone()).requires_grad == sg.is_grad_enabled()


LOSSES = {
    "mse": (lambda x, t: F.mse_loss(x, t), False),
    "smooth_l1": (lambda x, t: F.smooth_l1_loss(x, t), False),
    "huber": (lambda x, t: F.huber_loss(x, t), False),
    "logits, weights": (lambda x, t: F.binary_cross_entropy_with_logits(x, x.detach(), pos_weight=t), False),
    "prelu": (lambda x, t: F.prelu(x, t[0]), False),
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t), True),
    "nll": (lambda x, t: F.nll_loss(x, t), True),
    "multi_margin": (lambda x, t: F.multi_margin_loss(x, t), True),
}


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64])
@pytest.mark.parametrize("compiles", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_save_targets_of_inference_mode(loss, compiles, dtype):
    """As PyTorch's operations do, though the derivative of `(x - t)**2`, say, reads another value."""
    function, index = LOSSES[loss]
    with sg.inference_mode():
        target = sg.tensor([0, 1]) if index else sg.full((2, 2), 0.5, dtype=dtype)
    call = sg.compile(function) if compiles else function
    x = sg.ones(2, 2, dtype=dtype, requires_grad=True)
    for _ in range(3):
        with sg.enable_grad(), raised(RuntimeError, "Inference tensors cannot be saved for backward."):
            call(x, target)
        assert call(x, target.clone()).requires_grad == sg.is_grad_enabled()
        assert not call(x.detach(), target).requires_grad


def test_tensors_of_inference_mode_are_told():
    w = sg.ones(2, requires_grad=True)
    with sg.inference_mode():
        made = [w * 2, sg.zeros(2), w.exp(), w.sum(), w[0]]
        with sg.inference_mode(False):
            assert not sg.ones(1).is_inference()
            assert (w * 2).requires_grad
        with sg.inference_mode():
            pass
        assert sg.zeros(1).is_inference()
        made[1].requires_grad_()
    assert all(sg.is_inference(x) and not x.requires_grad for x in made[2:4])
    assert not made[4].is_inference()  # a view of a tensor that was made outside
    assert not (made[0] + 1).is_inference()
    assert not w.is_inference()
    with raised(RuntimeError, "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."):
        made[0].requires_grad_()
    assert made[0].clone().requires_grad_().requires_grad
