"""Numbers that a call passes as arguments: no trace per value, and never the value of another call."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pytest

import staticgrad as sg

pytestmark = pytest.mark.usefixtures("few_kernels")

CALLS = 24


class Settings:
    """Attributes of an object."""


def data(dtype: Any = np.float32) -> sg.Tensor:
    return sg.tensor(np.random.default_rng(1).standard_normal((4, 5)).astype(dtype))


def rate(c: Any) -> Any:
    step = c(lambda x, lr: (x * lr).sum() - lr)
    for i in range(CALLS):
        yield step, step(data(), 0.1 / (1 + i))


def keyword(c: Any) -> Any:
    step = c(lambda x, *, beta, scale=2.0: (x * beta).sum() + x.exp().sum() / scale)
    for i in range(CALLS):
        yield step, step(data(), beta=0.1 * i)


def first_argument(c: Any) -> Any:
    """The number comes before the tensors."""
    step = c(lambda lr, x, flag, y: (x * lr).sum() - (y.sum() if flag else y.mean()))
    for i in range(CALLS):
        yield step, step(0.1 / (1 + i), data(), i % 2 == 0, data() * i)


def bias_correction(c: Any) -> Any:
    def step(x, t, b1=0.9, b2=0.999):
        return (x / (1 - b1**t) / ((x * x / (1 - b2**t)) ** 0.5 + 1e-8)).sum()

    step = c(step)
    for i in range(CALLS):
        yield step, step(data(), i + 1)


def alternating_sign(c: Any) -> Any:
    step = c(lambda x, t: (x * (-1) ** t).sum() + x.sum() * -(2**t))
    for i in range(CALLS):
        yield step, step(data(), i)


def index_of_steps(c: Any) -> Any:
    def step(x, i):
        y = x * (1 / (1 + i))
        return (y + 1 if i % 10 == 0 else y).sum()

    step = c(step)
    for i in range(CALLS):
        yield step, step(data(), i)


def scalars_of_numpy(c: Any) -> Any:
    step = c(lambda x, lr, n: (x * lr).sum() - lr**2 + n)
    for i, lr in enumerate(np.linspace(0.1, 0.9, CALLS)):
        yield step, step(data(), lr, np.int64(i))


def nested(c: Any) -> Any:
    step = c(lambda x, options, more: (x * options["lr"] + options["decay"]).sum() * more[0] - more[1][0])
    for i in range(CALLS):
        yield step, step(data(), {"lr": 0.1 * i, "decay": 1 / (1 + i)}, (i, [2.0 * i, "name"]))


def integers(c: Any) -> Any:
    """A number stays an integer: the results are integers, too."""
    step = c(lambda x, n: (x * n + n // 2, x % (n + 1), x + n))
    x = sg.tensor(np.arange(12).reshape(3, 4))
    for i in range(CALLS):
        for out in step(x, i):
            yield step, out


def with_state(c: Any) -> Any:
    """Numbers of a call combined with those that the function keeps."""
    settings = Settings()
    settings.count = 0

    @c
    def step(x, lr):
        settings.count += 1
        return (x * (lr / settings.count) + settings.count * lr).sum()

    for i in range(CALLS):
        yield step, step(data(), 0.1 * i)


def width(c: Any) -> Any:
    """A number that only ever is an extent stays part of the key."""
    step = c(lambda x, n, lr: x[:, :n].sum() * lr)
    for i in range(CALLS):
        yield step, step(data(), 1 + i % 5, 0.5 * i)


def function_of_python(c: Any) -> Any:
    """`math.cos` needs the value, so each has a trace."""
    step = c(lambda x, t: (x * math.cos(t)).sum())
    for i in range(CALLS):
        yield step, step(data(), i % 4)


def clipped(c: Any) -> Any:
    step = c(lambda x, t: (x * min(1.0, t / 10)).sum() + max(t, 3))
    for i in range(CALLS):
        yield step, step(data(), i)


def returned(c: Any) -> Any:
    step = c(lambda x, lr, n: (x * lr, lr * 2, n + 1))
    for i in range(CALLS):
        y, twice, more = step(data(), 0.1 * i, i)
        assert type(twice) is float
        assert type(more) is int
        yield step, y
        yield step, sg.tensor([twice, more])


def kept(c: Any) -> Any:
    settings = Settings()

    @c
    def step(x, lr):
        settings.rate = lr * 2
        return (x * lr).sum()

    for i in range(CALLS):
        out = step(data(), 0.1 * i)
        assert type(settings.rate) is float
        yield step, out * 0 + settings.rate


PROGRAMS = {
    rate: 3, keyword: 3, first_argument: 6, bias_correction: 3, alternating_sign: 4, index_of_steps: 5, scalars_of_numpy: 4,
    nested: 5, integers: 4, with_state: 5, width: 12, function_of_python: 8, clipped: 6, returned: 4, kept: 4,
}  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"on_break": "split"}, {"on_break": "eager"}], ids=str)
@pytest.mark.parametrize(("program", "traces"), PROGRAMS.items())
def test_schedules(program: Any, traces: int, options: Any) -> None:
    expected = [out for _, out in program(lambda f: f)]
    steps, outs = zip(*program(sg.compile(**options)), strict=True)
    for i, (out, eager) in enumerate(zip(outs, expected, strict=True)):
        assert out.dtype == eager.dtype, i
        np.testing.assert_allclose(out.numpy(), eager.numpy(), rtol=4e-6, atol=1e-6)
    assert len(steps[-1].recompiles) <= traces, steps[-1].recompiles


SPECIAL = [0.0, -0.0, 1.0, 2, True, np.inf, np.nan, -np.inf, 3.0, 2**70, 2**40 + 1, 1e300]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int8])
def test_special_values_and_other_types(dtype: Any) -> None:
    def step(x, n):
        return x * n, x / n if n else x

    compiled = sg.compile(step)
    x = sg.tensor(np.arange(-2, 3).astype(dtype))
    for value in [0.1, 0.2, 0.3, 5, 6, 7, *SPECIAL, 0.5, *SPECIAL]:
        with np.errstate(all="ignore"):
            try:
                expected = step(x, value)
            except Exception as error:
                with pytest.raises(type(error)):
                    compiled(x, value)
                continue
            for a, b in zip(compiled(x, value), expected, strict=True):
                assert a.dtype == b.dtype
                assert a.numpy().tobytes() == b.numpy().tobytes() or np.array_equal(a.numpy(), b.numpy(), equal_nan=True), value


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_taken_outside(dtype: Any) -> None:
    def step(scale, x, lr):
        return ((w * x * lr) ** 2 * scale).sum() / (1 + lr)

    compiled = sg.compile(wait=True)(step)
    w = sg.tensor(np.arange(1, 6).astype(dtype), requires_grad=True)
    for i in range(12):
        x = data(dtype)
        found = []
        for f in (step, compiled):
            (g,) = sg.grad(f(2.0, x, 0.1 * i), [w], create_graph=True)
            (h,) = sg.grad((g * g).sum(), [w])
            found.append((g.detach().numpy(), h.numpy()))
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)
    assert len(compiled.recompiles) <= 5, compiled.recompiles


def test_gradients_taken_inside() -> None:
    w = {key: sg.tensor(np.arange(1, 6).astype(np.float32), requires_grad=True) for key in "ab"}

    def step(w, x, lr, t):
        loss = ((w * x) ** 2).sum()
        w.grad = None
        loss.backward()
        with sg.no_grad():
            w -= lr / (1 - 0.9**t) * w.grad
        return loss

    run = {"a": lambda *args: step(w["a"], *args), "b": sg.compile(lambda *args: step(w["b"], *args))}
    for i in range(12):
        losses = [f(data(), 0.01 / (1 + i), i + 1) for f in run.values()]
        np.testing.assert_allclose(losses[1].detach().numpy(), losses[0].detach().numpy(), rtol=1e-5)
        np.testing.assert_allclose(w["b"].detach().numpy(), w["a"].detach().numpy(), rtol=1e-5)
    assert len(run["b"].recompiles) <= 4, run["b"].recompiles


def test_threads_with_numbers_of_their_own() -> None:
    step = sg.compile(wait=True)(lambda x, lr: -x * lr if lr > 50 else x * lr)
    x = data()
    for i in range(5):
        step(x, 0.5 + i)
    wrong: list[Any] = []

    def work(first: int) -> None:
        for i in range(300):
            lr = float(first + i % 7)
            out = step(x, lr)
            if not np.array_equal(out.numpy(), (-x * lr if lr > 50 else x * lr).numpy()):
                wrong.append((first, lr))

    threads = [threading.Thread(target=work, args=(first,)) for first in (1, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(step.recompiles) <= 4, step.recompiles


def test_an_error_of_the_code_does_not_make_the_number_a_constant() -> None:
    def step(x, n):
        if n == 13:
            raise KeyError("unlucky")
        return x / (1 / n)

    compiled = sg.compile(step)
    for n in [1, 2, 3, 4, 13, 5, 0, 6, 7, 13, 8, 9]:
        if n in (0, 13):
            with pytest.raises(ZeroDivisionError if n == 0 else KeyError):
                compiled(data(), n)
        else:
            np.testing.assert_allclose(compiled(data(), n).numpy(), step(data(), n).numpy(), rtol=1e-6)
    assert len(compiled.recompiles) <= 4, compiled.recompiles


def test_other_shapes() -> None:
    step = sg.compile(lambda x, lr: (x * lr).sum(axis=0))
    for i in range(CALLS):
        x = sg.tensor(np.ones((2 + i % 6, 3), np.float32))
        np.testing.assert_allclose(step(x, 0.1 * i).numpy(), (x * (0.1 * i)).sum(axis=0).numpy(), rtol=1e-6)
    assert step.traces <= 5, step.recompiles


def test_a_loop_of_steps() -> None:
    step = sg.compile(lambda x, lr: (x * lr).sum())
    batches = [(data(), 0.1 * i) for i in range(12)]
    np.testing.assert_allclose([float(x) for x in step.loop(batches)], [float((x * lr).sum()) for x, lr in batches], rtol=1e-5)
    assert len(step.recompiles) <= 4, step.recompiles


def test_reasons_name_the_number() -> None:
    step = sg.compile(lambda x, epoch, lr: x * lr if epoch < 10 else x)
    for i in range(12):
        step(data(), i, 0.1 * i)
    assert "lr: any float instead of 0.0" in step.recompiles[2]
    assert step.recompiles[3].startswith("same arguments, but (epoch < 10) is False instead of True")
