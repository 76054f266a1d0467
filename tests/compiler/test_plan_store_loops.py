"""Plans with loops and branches in the kernel cache: what is read computes the same bits as what the compiler makes."""

import os
import sys

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.compiler.execute.stored_plan import StoredPlan

from .test_plan_store import DAMAGE, bits, cache, passes  # noqa: F401

SERIES = np.random.default_rng(1).normal(size=(6, 4, 3)).astype("float32")
"""(steps, batch, features)"""


def recurrence(w, x):
    """A scan whose items are kept for the gradient."""
    last, every = sg.scan(lambda h, row: (sg.tanh(row @ w + h), sg.exp(-h).sum()), sg.zeros_like(x[0]), x)
    return (last * last).mean() + every.sum()


def backwards(w, x):
    return sg.scan(lambda h, row: (sg.tanh(row @ w - h), None), sg.zeros_like(x[0]), x, reverse=True)[0].mean()


def condition(w, x):
    """A loop whose condition ends it, so that its stacks grow."""
    _, h = sg.while_loop(
        lambda n, h: (sg.square(h).sum() < 40.0) & (n < 9), lambda n, h: (n + 1, h @ w * 1.5 + x[0]), (sg.tensor(0), x[1])
    )
    return sg.square(h).mean()


def iterations(w, x):
    """The number of iterations is a result."""
    n, h = sg.while_loop(
        lambda n, h: (sg.square(h).sum() > 1.0) & (n < 7), lambda n, h: (n + 1, sg.tanh(h @ w) * 0.5), (sg.tensor(0), x[0])
    )
    return h.sum() + n.to(x.dtype)


def branches(w, x):
    h = x[0] @ w
    return sg.cond(h.sum() > 0, lambda: sg.exp(-h).mean(), lambda: sg.square(h).mean() * 2.0)


def rows(w, x):
    return sg.scan(lambda none, row: (none, sg.tanh(row @ w).sum()), (), x)[1].mean()


def nested(w, x):
    def outer(h, row):
        inner, _ = sg.scan(lambda c, part: (sg.cond(c.sum() > 0, lambda: c * 0.5, lambda: c - part @ w), None), h, x[:2])
        return sg.tanh(inner + row), None

    return sg.square(sg.scan(outer, sg.zeros_like(x[0]), x)[0]).mean()


def random_numbers(w, x):
    return sg.scan(lambda h, row: (nn.functional.dropout(sg.tanh(row @ w + h), 0.4), None), sg.zeros_like(x[0]), x)[0].mean()


PROGRAMS = {
    each.__name__: each for each in (recurrence, backwards, condition, iterations, branches, rows, nested, random_numbers)
}


def training(program, dtype="float32", **options):
    """A compiled step, made anew as in another process; its parameter."""
    sg.manual_seed(5)
    w = nn.Parameter(np.random.default_rng(2).normal(size=(3, 3)).astype(dtype))
    opt = optim.SGD([w], lr=0.05, momentum=0.5)

    @sg.compile(**options)
    def step(x):
        opt.zero_grad()
        loss = program(w, x)
        loss.backward()
        opt.step()
        return loss

    return step, w


def losses(step, x, n=5):
    """With other numbers in each step: branches go both ways, and loops end sooner or later."""
    return [np.asarray(step((x * (1 - i)).astype(x.dtype)).detach()).tobytes() for i in range(n)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_plan_that_is_read_computes_the_same_bits(passes, program, dtype):  # noqa: F811
    x = SERIES.astype(dtype)
    first, w = training(program, dtype)
    wanted, weights = losses(first, x), w.detach().numpy().tobytes()
    made = len(passes)
    again, w = training(program, dtype)
    assert losses(again, x) == wanted
    assert w.detach().numpy().tobytes() == weights
    assert isinstance(again.plan, StoredPlan)
    assert len(passes) == made == 1


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_another_shape_after_a_plan_that_was_read(passes, program):  # noqa: F811
    def all_of():
        step, w = training(program)
        return [losses(step, x, 2) for x in (SERIES, SERIES[:, :2], SERIES[:4], SERIES)], w.detach().numpy().tobytes()

    os.environ["STATICGRAD_PLANS"] = "0"
    wanted = all_of()
    os.environ["STATICGRAD_PLANS"] = "1"
    losses(training(program)[0], SERIES, 1)
    assert all_of() == wanted


@pytest.mark.parametrize("program", [recurrence, condition, branches])
def test_second_gradients_of_a_session(passes, program):  # noqa: F811
    def run():
        graph = sg.Graph()
        with graph.as_default():
            x = sg.placeholder("float32", SERIES.shape)
            w = sg.Variable(np.random.default_rng(2).normal(size=(3, 3)).astype("float32"))
            loss = program(w, x)
            (g,) = sg.gradients(loss, [w])
            (second,) = sg.gradients(sg.square(g).sum(), [w])
            update = w.assign(w - 0.01 * g - 0.001 * second)
            with sg.Session(graph) as session:
                session.run(sg.global_variables_initializer())
                found = [session.run([loss, update], {x: SERIES * (1 - i)})[0].tobytes() for i in range(4)]
                return [*found, session.run(w).tobytes()]

    wanted, made = run(), len(passes)
    assert run() == wanted
    assert len(passes) == made


@pytest.mark.parametrize("program", [recurrence, condition, branches, nested])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_made_again(passes, cache, damage, program):  # noqa: F811
    wanted = losses(training(program)[0], SERIES)
    (file,) = cache()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert losses(training(program)[0], SERIES) == wanted
    assert len(passes) == 2
    assert file.read_bytes() == whole
    assert losses(training(program)[0], SERIES) == wanted
    assert len(passes) == 2


@pytest.mark.parametrize("change", ["body", "condition", "branch", "reverse", "operand"])
def test_another_body_is_another_plan(passes, change):  # noqa: F811
    def make(changed):
        def of(name, other, usual):
            return other if changed == name else usual

        @sg.compile
        def step(x):
            by, least = of("body", 3.0, 2.0), of("condition", 2, 3)
            h, every = sg.scan(lambda h, row: (h * by + row, h), x[0], x, reverse=of("reverse", True, False))
            n, h = sg.while_loop(lambda n, h: n < least, lambda n, h: (n + 1, h + 1), (sg.tensor(0), h))
            given = of("operand", every, h)
            return sg.cond(n > 0, lambda: of("branch", sg.exp, sg.sin)(given).sum(), lambda: given.sum())

        return step

    make("")(SERIES)
    found = np.asarray(make(change)(SERIES))
    assert len(passes) == 2
    os.environ["STATICGRAD_PLANS"] = "0"
    np.testing.assert_array_equal(found, np.asarray(make(change)(SERIES)))


def test_a_loop_whose_batch_threads_share(passes):  # noqa: F811
    x = np.random.default_rng(3).normal(size=(200, 128, 64)).astype("float32")
    w = np.random.default_rng(4).normal(size=(64, 64)).astype("float32") / 8

    def make():
        return sg.compile(lambda x: sg.scan(lambda h, row: (sg.tanh(h @ sg.tensor(w) + row), None), sg.zeros_like(x[0]), x)[0])

    threads = sg.get_num_threads()
    try:
        sg.set_num_threads(2)
        first, again = make(), make()
        wanted = np.asarray(first(x))
        np.testing.assert_array_equal(np.asarray(again(x)), wanted)
        np.testing.assert_array_equal(np.asarray(again(x)), wanted)
    finally:
        sg.set_num_threads(threads)
    assert any(each.kind == "shards" for each in again.plan.instructions)
    assert isinstance(again.plan, StoredPlan)
    assert len(passes) == 1
    assert str(again.plan.explain(detail=True)) == str(first.plan.explain(detail=True))


@pytest.mark.parametrize("program", [recurrence, condition, nested])
def test_explanations_are_those_of_the_compiled_plan(passes, program):  # noqa: F811
    def text(plan):
        return (
            str(plan),
            str(plan.explain(detail=True)),
            plan.source(),
            repr(plan),
            "the plans are the same" in str(plan.diff(plan)),
        )

    first, again = training(program)[0], training(program)[0]
    losses(first, SERIES, 2)
    losses(again, SERIES, 2)  # what runs leave in the state of loops is no difference
    assert isinstance(again.plan, StoredPlan)
    assert text(again.plan) == text(first.plan)
    assert len(passes) == 2
    assert again.plan.profile(repeats=2).total > 0


def test_the_item_that_is_out_of_range_is_named(passes):  # noqa: F811
    def make():
        return sg.compile(lambda x, at: sg.scan(lambda c, i: (c + x[i].sum(), None), sg.tensor(0.0), at)[0])

    x = sg.tensor(SERIES[0])
    make()(x, sg.tensor([1, 2]))
    step = make()
    step(x, sg.tensor([1, 2]))
    assert isinstance(step.plan, StoredPlan)
    with pytest.raises(sg.IndexRangeError, match=r"test_plan_store_loops\.py"):
        step(x, sg.tensor([1, 99]))


def test_a_plan_with_a_loop_that_was_read_can_be_exported(tmp_path):
    def make():
        return sg.compile(lambda x: sg.scan(lambda h, row: (h * 0.5 + row, h), sg.zeros_like(x[0]), x))

    make()(SERIES)
    step = make()
    wanted = [np.asarray(part) for part in step(SERIES)]
    assert isinstance(step.plan, StoredPlan)
    step.plan.export(tmp_path / "looped")
    sys.path.insert(0, str(tmp_path))
    try:
        import looped

        for found, one in zip(looped.load()(SERIES), wanted, strict=True):
            np.testing.assert_array_equal(found, one)
    finally:
        sys.path.remove(str(tmp_path))


def test_recurrent_layers(passes):  # noqa: F811
    def make():
        sg.manual_seed(3)
        model = nn.LSTM(3, 5, batch_first=False)
        opt = optim.Adam(model.parameters(), lr=0.01)

        @sg.compile
        def step(x):
            opt.zero_grad()
            loss = model(x)[0].square().mean()
            loss.backward()
            opt.step()
            return loss

        return step, model

    step, model = make()
    wanted, weights = losses(step, SERIES), bits(model)
    step, model = make()
    assert losses(step, SERIES) == wanted
    assert bits(model) == weights
    assert isinstance(step.plan, StoredPlan)
    assert len(passes) == 1
