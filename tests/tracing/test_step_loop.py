"""`step.loop(batches)`: what a loop of calls gives, in native calls."""

from __future__ import annotations

import gc
import itertools
import re
import signal
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.compiler.execute.fastcall import Steps
from staticgrad.compiler.runtime import loader
from staticgrad.eager import generator
from staticgrad.errors import ArgumentError, IndexRangeError
from tests.helpers import assert_same
from tests.tracing.helpers import Program, batch, labels, of, snapshot, state
from tests.tracing.test_threads import together

N, ROWS = 7, 6
INSIDE = 3
"""Steps inside another function, whose plan has the operations of each."""
XS, YS = batch(N, ROWS, 5), labels(N * ROWS, 3).reshape(N, ROWS)


class Pair(NamedTuple):
    loss: Any
    other: Any


# programs: each makes a step and what it changes --------------------------------------------------------------------


def network(dtype: Any = sg.float32, dropout: float = 0.0, make: Any = optim.Adam) -> tuple[Any, Any]:
    net = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 3)).to(dtype)
    return net, make(net.parameters(), lr=0.05)


def train(zero: bool = True, result: Callable[..., Any] = lambda loss, net: loss, **options: Any) -> Program:
    net, opt = network(**options)

    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(net(x), y)
        if zero:
            opt.zero_grad()
        loss.backward()
        opt.step()
        return result(loss, net)

    return Program(step, of(net), (opt,))


def counts() -> Program:
    total = sg.zeros(5)

    def step(x: Any, y: Any) -> Any:
        total.add_(x.sum(0))
        return {"total": total * 1, "part": (total[1:], total.sum())}

    return Program(step, {"total": total})


def rows_of_a_table() -> Program:
    table = nn.Embedding(3, 4)
    opt = optim.SGD(table.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        loss = (table(y) ** 2).mean() + x.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return Program(step, of(table), (opt,))


def drawn() -> Program:
    return Program(lambda x, y: (sg.rand(3), F.dropout(x, 0.5, True).sum(), sg.randn(2)))


def host_call(y: Any) -> Any:
    """A number (0) by singular values, which have no native code."""
    return (sg.linalg.svdvals(sg.as_tensor(y)[None].float()).sum() * 0).long()


def on_the_host() -> Program:
    total = sg.zeros(5)

    def step(x: Any, y: Any) -> Any:
        total.add_(x[host_call(y)])
        return total.sum() + sg.rand(1)

    return Program(step, {"total": total})


def with_the_argument() -> Program:
    return Program(lambda x, y: (x, x * 2))


PROGRAMS: dict[str, tuple[Callable[[], Program], bool]] = {
    "training": (train, True),
    "float64": (lambda: train(dtype=sg.float64), True),
    "SGD with momentum": (lambda: train(make=lambda p, lr: optim.SGD(p, lr=lr, momentum=0.9)), True),
    "dropout": (lambda: train(dropout=0.3), True),
    "gradients are added up": (lambda: train(zero=False), True),
    "a dict and a tuple": (lambda: train(result=lambda loss, net: {"a": (loss, loss * 2), "b": 3}), True),
    "a named tuple": (lambda: train(result=lambda loss, net: Pair(loss, "text")), True),
    "nothing": (lambda: train(result=lambda loss, net: None), True),
    "parameters": (lambda: train(result=lambda loss, net: net[0].weight * 1), True),
    "views and variables": (counts, True),
    "rows of a table": (rows_of_a_table, True),
    "random numbers": (drawn, True),
    "host calls": (on_the_host, False),
    "an argument": (with_the_argument, False),
}
BATCHES: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "stacked": lambda xs, ys: (xs, ys),
    "stacked tensors": lambda xs, ys: (sg.tensor(xs), sg.tensor(ys)),
    "stacked the other way": lambda xs, ys: (np.asfortranarray(xs), ys),
    "a list": lambda xs, ys: list(zip(xs, ys, strict=True)),
    "a generator": lambda xs, ys: ((x, y) for x, y in zip(xs, ys, strict=True)),
    "tensors": lambda xs, ys: [(sg.tensor(x), sg.tensor(y)) for x, y in zip(xs, ys, strict=True)],
    "a smaller one at the end": lambda xs, ys: [*zip(xs, ys, strict=True), (xs[0, :4], ys[0, :4])],
    "two sizes in turn": lambda xs, ys: [(xs[i, : ROWS - i % 2], ys[i, : ROWS - i % 2]) for i in range(N)],
    "columns first": lambda xs, ys: [(np.asfortranarray(x), y) for x, y in zip(xs, ys, strict=True)],
}


def singles(batches: Any) -> list[Any]:
    """The batches of a loop, one by one."""
    return list(zip(*batches, strict=True)) if isinstance(batches, tuple) else list(batches)


def split(results: Any, count: int) -> list[Any]:
    """Stacked results, one by one."""
    if isinstance(results, (sg.Tensor, np.ndarray)):
        assert len(results) == count
        return list(results)
    if isinstance(results, dict):
        parts = {key: split(part, count) for key, part in results.items()}
        return [{key: part[i] for key, part in parts.items()} for i in range(count)]
    if isinstance(results, tuple):
        found = zip(*[split(part, count) for part in results], strict=True)
        return [type(results)(*one) if hasattr(results, "_fields") else tuple(one) for one in found]
    return [results] * count


EVERY = ("training", "views and variables", "random numbers", "an argument")
"""Programs that get batches of every form; the others, between them, too."""
PAIRS = [(name, form) for i, name in enumerate(PROGRAMS) for j, form in enumerate(BATCHES) if name in EVERY or (i + j) % 3 == 0]


@pytest.mark.parametrize(("name", "form"), PAIRS)
def test_as_calls_one_by_one(name: str, form: str):
    """To the last bit: results, state, gradients, and where the generator is; twice, so from a state that it left. Results of a
    list of batches are those of calls, which may be views of the state; a stack has the values of each step."""
    make, _ = PROGRAMS[name]
    dtype = np.float64 if name == "float64" else np.float32
    runs = []
    for looped in (False, True):
        sg.manual_seed(1)
        program = make()
        step = sg.compile(program.step)
        history = []
        for seed in range(2):
            batches = BATCHES[form](batch(N, ROWS, 5, seed=seed, dtype=dtype), YS)
            if looped:
                found = step.loop(batches)
                results = split(found, N) if isinstance(batches, tuple) else snapshot(found)
            elif isinstance(batches, tuple):
                results = [snapshot(step(*args)) for args in singles(batches)]
            else:
                results = snapshot([step(*args) for args in singles(batches)])
            history.append((results, state(program)))
        runs.append(history)
    for (expected, before), (results, after) in zip(*runs, strict=True):
        assert len(results) == len(expected)
        for i, (a, b) in enumerate(zip(results, expected, strict=True)):
            assert_same(a, b, f"step {i}")
        assert list(before) == list(after)
        for what, value in before.items():
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(after[what], value, err_msg=what)
            else:
                assert after[what] == value, what


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many steps each native call did."""
    done: list[int] = []
    inner = loader.steps

    def counted(*args: Any) -> int:
        at = inner(*args)
        done.append(at - args[5])
        return at

    monkeypatch.setattr(loader, "steps", counted)
    return done


@pytest.mark.parametrize("form", ["stacked", "a list", "a generator", "tensors"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_few_native_calls(name: str, form: str, native: list[int]):
    make, expected = PROGRAMS[name]
    program = make()
    step = sg.compile(program.step)
    step.loop(BATCHES[form](XS, YS))
    native.clear()
    step.loop(BATCHES[form](XS, YS))
    assert (sum(native) == N) == expected
    assert len(native) <= 2, "one step to see how long it takes, the others"


def test_results_are_apart():
    step = sg.compile(lambda x: (x * 2, x.sum()))
    kept = step.loop(list(XS))
    stacked = step.loop(XS)
    expected = [snapshot(pair) for pair in kept]
    step.loop(list(XS + 1))
    kept[0][0][...] += 1
    assert_same(kept[1:], expected[1:], "results")
    assert_same([tuple(one) for one in zip(*stacked, strict=True)], expected, "stacked")


@pytest.mark.parametrize("host", [False, True])
def test_what_is_no_value_of_the_step_comes_back_itself(host: bool):
    total = sg.zeros(5)

    def step(x, y):
        total.add_(x.sum(0) + host_call(y) if host else x.sum(0))
        return {"state": total, "number": 3, "mean": total.mean()}

    found = sg.compile(step).loop((XS, YS))
    assert found["state"] is total
    assert found["number"] == 3
    np.testing.assert_allclose(found["mean"], np.cumsum(XS.sum(1), 0).mean(1), rtol=1e-4)


def test_a_gradient_that_is_held_stays():
    sg.manual_seed(0)
    program = train()
    step = sg.compile(program.step)
    step(XS[0], YS[0])
    weight = program.tensors["0.weight"]
    held, value = weight.grad, weight.grad.numpy().copy()
    step.loop((XS, YS))
    assert weight.grad is not held
    np.testing.assert_array_equal(held, value)


def test_hyper_parameters_are_read_at_the_start():
    sg.manual_seed(0)
    program = train()
    (opt,) = program.optimizers
    step = sg.compile(program.step)
    step.loop((XS, YS))
    before = {name: value.detach().numpy().copy() for name, value in program.tensors.items()}
    opt.lr = 0.0
    step.loop((XS, YS))
    for name, value in before.items():
        np.testing.assert_array_equal(program.tensors[name].detach(), value)
    assert step.recompiles == ["first call"]


def test_arguments_that_are_memory_of_the_state():
    w = sg.zeros(ROWS, 5)

    def step(x):
        w.add_(x + 1)
        return w.sum()

    compiled = sg.compile(step)
    whole = np.zeros((N, ROWS, 5), np.float32)
    w.data = whole[2]
    assert_same(compiled.loop([whole[2]] * 3), [sg.tensor(30.0), sg.tensor(90.0), sg.tensor(210.0)], "results")


# ends ---------------------------------------------------------------------------------------------------------------


def test_no_steps():
    step = sg.compile(lambda x: (x * 2, x.sum()))
    assert step.loop([]) == []
    assert step.loop(iter(())) == []
    assert [r.shape for r in step.loop(XS[:0])] == [(0, ROWS, 5), (0,)]
    with pytest.raises(ArgumentError, match="loop: a stack of no batches"):  # nothing says what the results are
        sg.compile(host_call).loop(YS[:0])


@pytest.mark.parametrize(("batches", "shapes"), [((XS, YS[1:]), "(7, 6, 5), (6, 6)"), ((XS, np.ones(())), "(7, 6, 5), ()")])
def test_stacks_of_different_extents(batches: Any, shapes: str):
    step = sg.compile(lambda x, y: x.sum() + y.sum())
    with pytest.raises(ArgumentError, match=re.escape(f"loop: stacked batches need one leading extent, got shapes {shapes}")):
        step.loop(batches)


@pytest.mark.parametrize("form", ["stacked", "a list", "a generator", "host"])
@pytest.mark.parametrize("warm", [False, True])
def test_a_bad_index(form: str, warm: bool):
    """The steps before are done, and the step itself has the effects that it has in eager mode."""
    runs = []
    for looped in (False, True):
        sg.manual_seed(3)
        net, opt = network(dropout=0.2)

        def step(x, y, net=net, opt=opt):
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss if form != "host" else loss + host_call(y)

        compiled = sg.compile(step)
        program = Program(step, of(net), (opt,))
        if warm:
            compiled(XS[0], YS[0])
        ys = YS.copy()
        ys[4, 2] = 3
        if looped:
            batches = {"stacked": (XS, ys), "a generator": zip(XS, ys, strict=True)}
            with pytest.raises(IndexRangeError, match=r"Target 3 is out of bounds\.") as caught:
                compiled.loop(batches.get(form, list(zip(XS, ys, strict=True))))
            assert "in step 4, counted from 0: the steps before it are done" in str(caught.value)
            assert "F.cross_entropy(net(x), y)" in str(caught.value)
        else:
            for i in range(4):
                compiled(XS[i], ys[i])
            with pytest.raises(IndexRangeError):
                step(XS[4], ys[4])
        after = compiled(XS[5], YS[5])
        runs.append((after.detach().numpy(), state(program)))
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    for what, value in runs[0][1].items():
        np.testing.assert_array_equal(runs[1][1][what], value, err_msg=what)


def test_an_iterable_that_raises():
    """What came before is done."""
    program = counts()
    step = sg.compile(program.step)

    def batches():
        yield from [(XS[0], YS[0])] * 3
        raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        step.loop(batches())
    np.testing.assert_allclose(program.tensors["total"], 3 * XS[0].sum(0), rtol=1e-5)


def test_an_iterator_that_reuses_its_arrays():
    """Batches are taken ahead: each is kept as it was when it came."""
    step = sg.compile(lambda x: x.sum())
    x = np.empty(3, np.float32)

    def batches():
        for i in range(5):
            x[:] = i
            yield x

    assert [r.item() for r in step.loop(batches())] == [0, 3, 6, 9, 12]


def test_long_iterables_are_taken_in_parts():
    taken = []
    step = sg.compile(lambda x: x.sum())

    def batches():
        for i in range(1000):
            taken.append(i)
            yield np.full(3, i, np.float32)

    assert [r.item() for r in step.loop(batches())] == [3 * i for i in range(1000)]
    found = next(itertools.islice(iter(taken), 999, None))
    assert found == 999


def test_an_interrupt(monkeypatch: pytest.MonkeyPatch):
    """Ctrl-C is heard within a fraction of a second; the state is that of whole steps."""
    program = counts()
    step = sg.compile(program.step)
    x, y = np.ones((200_000, 5), np.float32), YS[0]
    step(x, y)
    program.tensors["total"].zero_()
    monkeypatch.setattr("staticgrad.compiler.execute.fastcall.SECONDS", 0.02)

    def stop(signum: int, frame: Any) -> None:
        raise KeyboardInterrupt

    saved = signal.signal(signal.SIGALRM, stop)
    gc.collect()  # what earlier tests left: Python drops an exception that is raised while a weak reference dies
    begin = time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            step.loop([(x, y)] * 100_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, saved)
    assert time.perf_counter() - begin < 5
    total = program.tensors["total"].numpy()
    assert total[0] > 0
    assert (total == total[0]).all()
    assert total[0] % 200_000 == 0
    before = total[0]
    step(x, y)
    assert program.tensors["total"].numpy()[0] == before + 200_000


def test_python_runs_between_native_calls(monkeypatch: pytest.MonkeyPatch, native: list[int]):
    monkeypatch.setattr("staticgrad.compiler.execute.fastcall.SECONDS", 1e-9)
    step = sg.compile(lambda x: x.sum())
    assert len(step.loop(XS)) == N
    assert native == [1] * N


@pytest.mark.parametrize("of_argument", [False, True])
@pytest.mark.parametrize("kind", [np.array, sg.tensor])
def test_results_of_a_list_share_memory_as_those_of_calls_do(kind: Any, of_argument: bool, native: list[int]):
    """With the state, with one another, and with arguments, where the steps are done one by one."""
    runs = []
    for looped in (False, True):
        total = sg.zeros(5)

        def step(x: Any, total: Any = total) -> Any:
            total.add_(x[0])
            y = x * 2
            return total[1:], y, y[0], x[1] if of_argument else None

        batches, run = [kind(x) for x in XS], sg.compile(step)
        found = run.loop(batches) if looped else [run(x) for x in batches]
        for result in found:
            for x in (result[1], *result[3 : 3 + of_argument]):
                x[...] += 1
        total.add_(1)
        runs.append([snapshot(found), [np.asarray(x) for x in batches]])
    assert_same(runs[1], runs[0], "results and arguments")
    assert of_argument or max(native) > 1


# where steps are done one by one ------------------------------------------------------------------------------------


def test_while_another_function_is_traced():
    inner = sg.compile(lambda x: x * 2)
    outer = sg.compile(lambda x, y: inner.loop([x, y]))
    assert_same(outer(*map(sg.tensor, XS[:2])), [sg.tensor(XS[0] * 2), sg.tensor(XS[1] * 2)], "results")


@pytest.mark.parametrize("fn", [lambda x: (x, x * 2), lambda x: (x[0], np.sum(x)), lambda x: {"a": x.T}])
def test_arrays_inside_another_compiled_function(fn: Any) -> None:
    step, xs = sg.compile(fn), batch(3, 4, 4)
    expected = step.loop((xs,))
    found = sg.compile(lambda xs: step.loop((xs,)), on_break="error")(xs)
    assert_same(found, expected, rtol=2e-6)


@pytest.mark.parametrize("form", ["stacked", "a list", "a generator"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_inside_another_compiled_function(name: str, form: str):
    """The steps are a part of its trace; results, also those that are views of what later steps change, are those outside."""
    make, _ = PROGRAMS[name]
    dtype = np.float64 if name == "float64" else np.float32
    xs, ys = batch(INSIDE, ROWS, 5, dtype=dtype), YS[:INSIDE]
    runs = []
    for inside in (False, True):
        sg.manual_seed(1)
        program = make()
        step = sg.compile(program.step)

        def several(xs: Any, ys: Any, step: Any = step) -> Any:
            return step.loop(BATCHES[form](xs, ys))

        runs.append(((sg.compile(several) if inside else several)(xs, ys), state(program)))
    (expected, before), (found, after) = runs
    assert_same(found, expected, "results")
    for what, value in before.items():
        assert_same(after[what], value, what)


@pytest.mark.parametrize("form", [np.array, sg.tensor])
def test_stacks_from_outside_inside_another_compiled_function(form: Any):
    stack = form(XS)
    inner = sg.compile(lambda x: x.sum())
    outer = sg.compile(lambda: inner.loop(stack))
    assert_same(outer(), form(XS.sum((1, 2))), "results")
    stack[0] = 1.0
    assert_same(outer(), form(np.concatenate([[np.float32(ROWS * 5)], XS.sum((1, 2))[1:]])), "results of the next call")


def test_arrays_in_a_call_from_another_compiled_function():
    data = XS[0].copy()

    @sg.compile
    def inner(x: Any, pair: Any) -> Any:
        return x.sum() + pair[0] + pair[1]

    outer = sg.compile(lambda: inner(data, (np.float64([1.0, 2.0]), 3)))
    for factor in (1, 2):
        data[:] = XS[0] * factor
        assert_same(outer(), inner(data, (np.float64([1.0, 2.0]), 3)), "a call inside", 1e-5)


def test_under_anomaly_detection(native: list[int]):
    step = sg.compile(lambda x: x * 2)
    with sg.autograd.detect_anomaly():
        assert_same(step.loop(XS), XS * 2, "results")
    assert native == []


def test_tensors_that_require_grad(native: list[int]):
    xs = sg.tensor(XS, requires_grad=True)
    step = sg.compile(lambda x: (x.detach() * 2).sum())
    np.testing.assert_allclose(step.loop(xs), (XS * 2).sum((1, 2)), rtol=1e-5)
    assert native == []


def test_gradients_at_the_start(native: list[int]):
    """The first step finds none, the others those of the step before: another trace."""
    w = sg.ones(5, requires_grad=True)

    def step(x):
        (x @ w).sum().backward()
        return w.grad.sum()

    found = sg.compile(step).loop(XS)
    np.testing.assert_allclose(found, np.cumsum(XS.sum((1, 2))), rtol=1e-4)
    assert sum(native) == N - 1


def test_from_a_signal_handler():
    step = sg.compile(lambda x: x * 2)
    step(XS[0])
    found: list[Any] = []

    def handler(signum: int, frame: Any) -> None:
        found.append(step.loop(list(XS)))

    saved = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
        while len(found) < 10:
            for r, x in zip(step.loop(list(XS)), XS, strict=True):
                np.testing.assert_array_equal(r, x * 2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, saved)
    for results in found:
        np.testing.assert_array_equal(results, XS * 2)


def test_from_several_threads():
    """Loops take turns, group by group."""
    count = sg.zeros(3)

    @sg.compile
    def step(x):
        count.add_(1)
        return x * 2, count * 1

    found = together(*[lambda i=i: step.loop(np.full((500, 3), i, np.float32)) for i in range(3)])
    for i, (doubled, counts) in enumerate(found):
        assert (doubled == 2 * i).all()
        assert (np.diff(counts.numpy()[:, 0]) == 1).all()
    assert (count.numpy() == 1500).all()


def test_the_generator_of_a_loop_that_another_thread_interferes_with():
    sg.manual_seed(0)
    step = sg.compile(lambda x: x * sg.rand(1))
    plan = (step(XS[0]), step.plan)[1]
    steps = Steps(plan, np.array([[XS[0].ctypes.data]] * 3), False)
    before = generator.state
    plan.alone(steps.run)
    assert generator.state == (before[0], before[1] + 3)


@pytest.mark.parametrize("stack", [np.arange(4.0, dtype=np.float32), np.arange(4), sg.tensor([0.0, 1.0, 2.0, 3.0])])
def test_a_stack_of_numbers_is_not_taken_for_one_constant(stack):
    """An element of a one-dimensional ndarray is a NumPy scalar, whose value would be part of the trace."""
    total = sg.tensor(0.0)

    @sg.compile
    def add(x):
        total.add_(x)
        return total * 1

    assert add.loop(stack).tolist() == [0.0, 1.0, 3.0, 6.0]
    assert total.item() == 6.0
    assert add.recompiles == ["first call"]


NUMBERS = {
    "item": lambda x, state: x.sum().item(),
    "int": lambda x, state: int((x > -9).sum().item() > 2) + (x > -9).sum().item(),
    "product of integers": lambda x, state: x.sum().long().item() * 7,
    "in a tuple": lambda x, state: (x.sum(), {"n": x.sum().item(), "constant": 3, "text": "a"}),
    "with an effect": lambda x, state: (state.append(1), x.sum().item(), 2.5)[1:],
}


@pytest.mark.parametrize("options", [{}, {"on_break": "split"}, {"numerics": "strict"}], ids=str)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_stacked_steps_are_stacked(name: str, options: dict[str, Any]):
    xs = sg.arange(12.0).reshape(4, 3)
    step = NUMBERS[name]
    found = sg.compile(lambda x, state=[]: step(x, state), **options).loop((xs,))
    singles = [step(x, []) for x in xs]

    def check(found: Any, ones: list[Any]) -> None:
        if isinstance(ones[0], dict):
            assert list(found) == list(ones[0])
            found, ones = tuple(found.values()), [tuple(one.values()) for one in ones]
        if isinstance(ones[0], tuple):
            for part, parts in zip(found, zip(*ones, strict=True), strict=True):
                check(part, list(parts))
        elif isinstance(ones[0], str):
            assert found == ones[0]
        else:
            assert type(found) is (sg.Tensor if isinstance(ones[0], sg.Tensor) else np.ndarray)
            assert found.tolist() == [float(one) for one in ones]

    check(found, singles)


def test_numbers_of_steps_inside_another_compiled_function():
    inner = sg.compile(lambda x: x.sum().item())
    outer = sg.compile(lambda xs: inner.loop((xs * 2,)).tolist())
    assert outer(sg.arange(6.0).reshape(3, 2)) == [2.0, 10.0, 18.0]


def test_steps_over_what_segments_put_off_run_together():
    """A tensor that waits for its segment is of no class of the user's."""
    inner = sg.compile(lambda x: x * 2)

    def outer(xs):
        float(xs.sum())
        return inner.loop((xs * 3,))

    assert sg.compile(outer)(sg.arange(3.0)).tolist() == [0.0, 6.0, 12.0]
    assert inner.latest is not None
