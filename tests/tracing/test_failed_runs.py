"""Calls in which an operation fails for its values: what they leave, the error and its line are those of eager mode."""

from __future__ import annotations

import contextlib
import io
import traceback
import types

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.operators import apply
from staticgrad.ops.custom_gradient import watch_op

MODES = {
    "default": {},
    "strict": {"numerics": "strict"},
    "segments": {"on_break": "split"},
    "segments, strict": {"on_break": "split", "numerics": "strict"},
}
GOOD, BAD = sg.tensor([0, 1]), sg.tensor([0, 7])


def diagonal(i):
    return sg.diag((7 - i).double())


FAILING = {
    "index": lambda x, i: x[i].sum(),
    "computed index": lambda x, i: x[(i * 2 + i) // 3].sum(),
    "gather": lambda x, i: sg.gather(x, 0, i).sum(),
    "embedding": lambda x, i: F.embedding(i, x.reshape(3, 1)).sum(),
    "cross_entropy": lambda x, i: F.cross_entropy(x.expand(2, 3), i),
    "division": lambda x, i: (i // (7 - i)).sum(),
    "power": lambda x, i: (i ** (5 - i)).sum(),
    "inverse": lambda x, i: sg.linalg.inv(diagonal(i)).sum(),
    "solve": lambda x, i: sg.linalg.solve(diagonal(i), sg.ones(2).double()).sum(),
    "cholesky": lambda x, i: sg.linalg.cholesky(diagonal(i) - 1).sum(),
    "scatter": lambda x, i: sg.zeros(3).scatter(0, i, x).sum(),
    "index_add": lambda x, i: sg.zeros(3).index_add(0, i, x[:2]).sum(),
    "nothing read": lambda x, i: (x[i], x.sum())[1],
}


def world():
    w = nn.Parameter(sg.tensor([1.0, -2.0, 0.5]))
    return types.SimpleNamespace(
        w=w, opt=optim.SGD([w], lr=0.5, momentum=0.5), buffer=sg.ones(3), numbers=[1], kept=[], table={}, n=0, last=None,
        array=np.ones(3, np.float32),
    )  # fmt: skip


def trains(s, x):
    s.opt.zero_grad()
    (s.w * x).sum().backward()
    s.opt.step()


def counts(s, x):
    s.n += 1
    s.numbers.append(s.n)
    s.table[s.n] = s.n


def keeps(s, x):
    s.kept.append(x * 2)
    s.last = s.kept[-1] + 1
    del s.kept[:-2]


def writes(s, x):
    s.buffer.add_(x)
    s.buffer[1:].mul_(0.5)
    s.array[1] += 2
    s.buffer.data = s.buffer.data * 0.5


def draws(s, x):
    s.last = sg.rand(2) + F.dropout(sg.ones(2), 0.5)


def prints(s, x):
    print("here", s.n)
    sg.print("value", x)


def changes_arguments(s, x):
    x.mul_(2)


def gradients(s, x):
    s.w.grad = None
    (s.w * s.w * x).sum().backward()


CHANGES = {
    "trains": trains, "counts": counts, "keeps": keeps, "writes": writes, "draws": draws, "prints": prints,
    "arguments": changes_arguments, "gradients": gradients,
}  # fmt: skip


def plain(x):
    if isinstance(x, sg.Tensor):
        return x.detach().numpy().round(5).tolist(), x.requires_grad, plain(x.grad) if x.is_leaf else None
    if isinstance(x, np.ndarray):
        return x.tolist()
    if isinstance(x, (list, tuple)):
        return [*map(plain, x)]
    if isinstance(x, dict):
        return {plain(k) if not isinstance(k, sg.Tensor) else 0: plain(v) for k, v in x.items()}
    return plain(vars(x)) if isinstance(x, types.SimpleNamespace) else plain(x.state) if isinstance(x, optim.Optimizer) else x


def told(error):
    """The class of an error, its first lines, and the user's lines that it went through."""
    lines = [frame.line for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
    return type(error), str(error).splitlines()[:2], lines[1:]


def history(fn, arguments):
    """After each call: what it gave or raised, the world, the text that was printed, the next random number."""
    s, found = world(), []
    sg.manual_seed(3)
    for i, x in arguments:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                result = plain(fn(s, x, i))
            except Exception as error:
                result = told(error)
        found.append((result, plain(s), plain(x), out.getvalue(), sg.random.get_rng_state().tolist()))
    return found


def calls():
    return [(i, sg.tensor([1.0, 0.5, 2.0])) for i in (GOOD, BAD, BAD, GOOD, BAD, GOOD)]


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("failing", FAILING)
def test_effects_before_an_error_are_kept_and_those_after_it_are_not_there(failing, mode):
    work = FAILING[failing]

    def step(s, x, i):
        if mode.startswith("segments"):
            f"{x.sum().item()}"
        for change in CHANGES.values():
            change(s, x)
        value = work(x, i)
        for change in CHANGES.values():
            change(s, x)
        return value

    assert history(sg.compile(step, **MODES[mode]), calls()) == history(step, calls())


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("before", [True, False])
def test_each_effect_around_an_error(change, before, mode):
    work = CHANGES[change]

    def step(s, x, i):
        if mode.startswith("segments"):
            f"{x.sum().item()}"
        if before:
            work(s, x)
        value = x[i].sum()
        work(s, x)
        return value

    assert history(sg.compile(step, **MODES[mode]), calls()) == history(step, calls())
    assert history(sg.compile(step, **MODES[mode]), calls()[1:]) == history(step, calls()[1:])


def looped(step, batches):
    for batch in batches:
        step(*batch)


@pytest.mark.parametrize("kind", [sg.tensor, np.asarray])
@pytest.mark.parametrize("form", ["stacked", "list", "generator"])
def test_a_loop_leaves_what_the_step_did_before_its_error(form, kind):
    xs, indices = np.ones((6, 3), np.float32), np.zeros((6, 3), np.int64)
    indices[4, 2] = 5
    pairs = [(kind(x), kind(i)) for x, i in zip(xs, indices, strict=True)]
    batches = {"stacked": (kind(xs), kind(indices)), "list": pairs, "generator": iter(pairs)}[form]
    found = []
    for loop in (lambda step: sg.compile(step).loop(batches), lambda step: looped(step, pairs)):
        s = world()

        def step(x, i, s=s):
            s.buffer.add_(sg.as_tensor(x))
            value = (sg.as_tensor(x[i]) * s.w).sum()
            s.buffer.mul_(2)
            return value

        with pytest.raises(IndexError) as caught:
            loop(step)
        text = [str(caught.value), *getattr(caught.value, "__notes__", ())]
        found.append((plain(s.buffer), type(caught.value), text))
    assert found[0][:2] == found[1][:2]
    assert "in step 4, counted from 0: the steps before it are done" in "".join(found[0][2])


def test_a_plan_that_calls_python_is_not_run_again():
    called, s = [], world()

    @sg.compile(on_break="error")
    def step(x, i):
        s.buffer.add_(1)
        return apply(watch_op, x, x, call=lambda x: called.append(1))[i]

    step(sg.ones(3), GOOD)
    before, count = s.buffer.tolist(), len(called)
    with pytest.raises(sg.IndexRangeError, match="nothing was changed by this run"):
        step(sg.ones(3), BAD)
    assert s.buffer.tolist() == before
    assert len(called) <= count + 1


def test_a_cut_by_an_index_that_is_computed_of_floats_raises_at_its_line():
    seen = []

    def step(x, i):
        f"{x.sum().item()}"
        place = (x * i).sum().long()
        y = x[place]
        seen.append("after")
        return y * 2

    compiled = sg.compile(step, on_break="split")
    for value in (1, 9, 1, 9):
        for fn in (step, compiled):
            seen.clear()
            try:
                fn(sg.ones(3) / 3, sg.tensor(value))
            except sg.IndexRangeError:
                assert value == 9
                assert not seen
            else:
                assert value == 1


def test_checks_that_hold_make_no_cut():
    def step(x, i, labels):
        f"{labels[0].item()}"
        rows = x[i]
        rows = rows + x.gather(1, (i * 2 - i).unsqueeze(1)) + x.gather(1, x.argmax(1, keepdim=True))
        rows = rows + x[x.sort(1).indices[:, 0] % 2]
        return F.cross_entropy(rows, labels)

    compiled = sg.compile(step, on_break="split")
    x, i, labels = sg.randn(4, 4), sg.tensor([3, 1, 2, 0]), sg.tensor([0, 1, 2, -100])
    for _ in range(4):
        assert abs(compiled(x, i, labels).item() - step(x, i, labels).item()) < 1e-6
    assert len(compiled.segmented.roads.segments) == 2


OF_CONSTANTS = {
    "division": lambda: sg.tensor([6, 4]) // sg.tensor([0, 1]),
    "power": lambda: sg.tensor([2, 3]) ** sg.tensor([-1, 1]),
    "index": lambda: sg.tensor([1.0, 2.0])[sg.tensor([0, 7])],
    "factorization": lambda: sg.linalg.cholesky(sg.tensor([[1.0, 2.0], [2.0, 1.0]])),
}


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("name", OF_CONSTANTS)
@pytest.mark.parametrize("mode", MODES)
def test_what_fails_for_constants_fails_in_each_run(name, mode):
    """Not when it is compiled, before the writes."""

    def step(x, w):
        w.mul_(0.5)
        OF_CONSTANTS[name]()
        w.mul_(0.5)

    wanted, w = sg.tensor([1.0, 2.0]), sg.tensor([1.0, 2.0])
    compiled = sg.compile(step, **MODES[mode])
    for _ in range(2):
        with pytest.raises(sg.errors.StaticgradError) as eager:
            step(sg.ones(3), wanted)
        with pytest.raises(eager.type):
            compiled(sg.ones(3), w)
        np.testing.assert_array_equal(w.numpy(), wanted.numpy())
