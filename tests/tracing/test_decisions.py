"""Python's `if` and `while` on values of a step: one plan for each road, and the effects of eager mode."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.tracing import specialization_cache


def network(dtype=sg.float32):
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).to(dtype)
    with sg.no_grad():
        for p in model.parameters():
            p.copy_(sg.tensor(rng.normal(0, 0.5, p.shape), dtype=dtype))
    return model


def branch(state, x):
    loss = (state["model"](x) ** 2).mean()
    state["optimizer"].zero_grad()
    if loss > 0.02:
        loss = loss * 0.5
        state["log"].append("high")
    loss.backward()
    state["optimizer"].step()
    return loss


def best_so_far(state, x):
    loss = (state["model"](x) ** 2).mean()
    state["optimizer"].zero_grad()
    loss.backward()
    state["optimizer"].step()
    value = loss.item()
    if value < state["best"]:
        state["best"], state["bad"] = value, 0
    else:
        state["bad"] += 1
    return value, state["bad"]


def clipped(state, x):
    loss = (state["model"](x) ** 2).mean()
    state["optimizer"].zero_grad()
    loss.backward()
    norm = sum((p.grad**2).sum() for p in state["model"].parameters()).sqrt()
    if norm > 0.5:
        for p in state["model"].parameters():
            p.grad *= 0.5 / norm
    if not norm.isfinite().all().item():
        return None
    state["optimizer"].step()
    return norm


def repeated(state, x):
    h, n = x, 0
    while (h * h).sum() > 0.3 and n < 9:
        h, n = sg.tanh(state["model"][0](h)[:, :3]) * 0.5, n + 1
    return h.mean(), n


def dropped(state, x):
    y = sg.nn.functional.dropout(x, 0.5)
    if y.sum() > 1:
        y = y + sg.rand(3)
    return y.sum() + sg.rand(())


def several(state, x):
    total = x.sum()
    found = []
    for row in x:
        if row.sum() > 0:
            found.append(row.sum())
        elif row.sum() > -1:
            total = total - row.max()
    state["log"].append(len(found))
    return total + sum(found)


def guarded_index(state, x):
    index = (x.sum() * 3).long()
    table = sg.arange(8) * 1.5
    if (index >= 0) & (index < 8):
        return table[index]
    return x.sum()


def second_order(state, x):
    w = state["model"][0].weight
    loss = (sg.tanh(x @ w.T) ** 2).sum()
    (g,) = sg.grad(loss, [w], create_graph=True)
    penalty = (g**2).sum()
    if penalty > 1:
        penalty = penalty.sqrt()
    (h,) = sg.grad(penalty, [w])
    return h


PROGRAMS = [branch, best_so_far, clipped, repeated, dropped, several, guarded_index, second_order]


def flat(value):
    if isinstance(value, (list, tuple)):
        return [n for part in value for n in flat(part)]
    if value is None:
        return []
    return np.asarray(value.detach() if sg.is_tensor(value) else value, float).ravel().tolist()


def run(program, compiles, dtype, calls=12):
    sg.manual_seed(1)
    model = network(dtype)
    state = {"model": model, "optimizer": optim.Adam(model.parameters(), lr=0.05), "log": [], "best": 1e9, "bad": 0}
    step = compiles(lambda x: program(state, x))
    rng = np.random.default_rng(5)
    scales = [(0.1, 1.2, 3.0)[i % 3] for i in range(calls)]
    found = [flat(step(sg.tensor(rng.normal(0, scale, (4, 3)), dtype=dtype))) for scale in scales]
    return [found, state["log"], [state["best"], state["bad"]], [flat(p) for p in model.parameters()]], step


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("dtype", [sg.float32, sg.float64])
@pytest.mark.parametrize("program", PROGRAMS)
def test_roads_agree_with_eager_mode(program, dtype):
    found, step = run(program, sg.compile, dtype)
    expected, _ = run(program, lambda fn: fn, dtype)
    tolerance = 1e-5 if dtype is sg.float32 else 1e-10
    assert found[1] == expected[1]
    for mine, theirs in zip(found[::2] + [found[3]], expected[::2] + [expected[3]], strict=True):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    assert step.segmented is None
    assert len({specialization.road for specialization in step.recent}) > 1 or program is second_order


def test_strict_plans_have_the_bits_of_eager_mode():
    found, step = run(branch, lambda fn: sg.compile(fn, numerics="strict"), sg.float32)
    expected, _ = run(branch, lambda fn: fn, sg.float32)
    assert found == expected
    assert step.segmented is None


def test_a_plan_per_road_and_no_trace_for_known_ones():
    @sg.compile
    def halved(x):
        y = x * 2
        return y / 2 if y.sum() > 3 else y + 1

    found = [halved(sg.ones(2) * k).tolist() for k in (1, 2, 0, 1, 2, 0)]
    assert found == [[1, 1], [2, 2], [1, 1]] * 2
    assert [text.partition(";")[0] for text in halved.recompiles] == ["first call", "same arguments, but decision 1 is False"]
    with pytest.raises(sg.TraceError, match="decides"):
        halved.export("never written")


def test_a_missed_road_changes_nothing_and_draws_nothing():
    w = sg.ones(3)

    @sg.compile(wait=True)
    def step(x):
        w.add_(sg.rand(3))
        if x.sum() > 0:
            w.mul_(2)
        return w.sum()

    sg.manual_seed(7)
    found = [float(step(sg.ones(3) * k)) for k in (1, -1, 1, -1, -1, 1)]
    sg.manual_seed(7)
    v, expected = np.ones(3, np.float32), []
    for k in (1, -1, 1, -1, -1, 1):
        v = v + sg.rand(3).numpy()
        v = v * 2 if k > 0 else v
        expected.append(v.sum())
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_effects_before_an_error_of_a_road_are_kept(capsys):
    log, w = [], sg.zeros(2)

    @sg.compile
    def step(x):
        print("step")
        w.add_(x)
        value = x.sum().item()
        log.append(value)
        if value > 3:
            w.add_(1)
            raise StopIteration("large")
        return value

    assert [step(sg.ones(2)) for _ in range(3)] == [2, 2, 2]
    for _ in range(2):
        with pytest.raises(StopIteration, match="large"):
            step(sg.ones(2) * 2)
    assert step(sg.ones(2)) == 2
    assert log == [2, 2, 2, 4, 4, 2]
    assert w.tolist() == [10, 10]
    assert capsys.readouterr().out == "step\n" * 6


def test_prints_of_a_call_whose_plan_fails_come_once(capsys):
    table = sg.arange(4) * 1.0

    @sg.compile(wait=True)
    def picked(i):
        print("picked")
        return table[i] * 2 if (i < 9).item() else table[0] - 1

    with pytest.raises(IndexError):
        picked(sg.tensor(7))  # at the first call
    assert float(picked(sg.tensor(1))) == 2
    with pytest.raises(IndexError):
        picked(sg.tensor(5))
    assert [float(picked(sg.tensor(i))) for i in (9, 3)] == [-1, 6]
    assert capsys.readouterr().out == "picked\n" * 5


def test_an_error_of_another_road_is_not_raised():
    table = sg.arange(4) * 1.0

    @sg.compile(wait=True)
    def picked(i):
        return table[i] * 2 if (i < 4).item() else table[0] - 1

    assert [float(picked(sg.tensor(i))) for i in (1, 9, 2, 9, 3)] == [2, -1, 4, -1, 6]
    assert picked.segmented is None
    with pytest.raises(IndexError):
        picked(sg.tensor(-7))
    assert float(picked(sg.tensor(3))) == 6


def test_results_that_share_memory_do_so():
    @sg.compile
    def step(x):
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        return y, y[0]

    whole, part = step(sg.ones(2, 2))
    part.zero_()
    assert whole.tolist() == [[0, 0], [3, 3]]


def test_an_array_comes_back_itself_on_a_road_that_returns_it():
    @sg.compile
    def halved(x):
        return x / 2 if x.sum() > 1 else x

    array = np.zeros(2, np.float32)
    assert halved(np.ones(2, np.float32)).tolist() == [0.5, 0.5]
    assert halved(array) is array  # as in eager mode


def test_many_roads_run_in_segments(monkeypatch):
    monkeypatch.setattr(specialization_cache, "ROADS", 3)

    @sg.compile
    def counted(x):
        n = 0
        while x > n:
            n += 1
        return x * n

    assert [float(counted(sg.tensor(float(k)))) for k in (1, 2, 3, 4, 5, 4, 1)] == [1, 4, 9, 16, 25, 16, 1]
    assert counted.segmented is not None


def test_numbers_compare_as_pythons_do():
    @sg.compile
    def compared(x, n):
        v, k = x.item(), n.item()
        return [v < 1, v == 0.5, v != None, v == "a", k > 2, k == 3, k > 2, not k, bool(v), min(v, 0.25), v == True]  # noqa: E711, E712

    for v, k in ((0.5, 3), (1.0, 0), (0.0, 2), (float("nan"), 5)):
        want = [v < 1, v == 0.5, True, False, k > 2, k == 3, k > 2, not k, bool(v), min(v, 0.25), v == 1]
        np.testing.assert_equal(compared(sg.tensor(v), sg.tensor(k)), want)


def test_gradients_outside_follow_the_road():
    w = sg.tensor([1.0, 2.0], requires_grad=True)

    @sg.compile
    def loss_of(x):
        y = (x * w).sum()
        return y**2 if y > 1 else -y

    for k in (1.0, -1.0, 0.1, 2.0):
        w.grad = None
        loss_of(sg.ones(2) * k).backward()
        y = 3 * k
        np.testing.assert_allclose(w.grad.tolist(), [2 * y * k if y > 1 else -k] * 2, rtol=1e-6)
    assert loss_of.segmented is None


def test_settings_that_refuse_decisions():
    def halved(x):
        return x / 2 if x.sum() > 1 else x

    with pytest.raises(sg.TraceError, match="truth value"):
        sg.compile(halved, on_break="error")(sg.ones(2))
    split = sg.compile(halved, on_break="split")
    assert split(sg.ones(2)).tolist() == [0.5, 0.5]
    assert split.segmented is not None
