"""Errors of operations whose values nobody reads: a compiled function raises those that eager mode raises."""

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import StaticgradError, TraceError

X = sg.tensor([1.0, 2.0, 3.0])
GOOD, BAD = sg.tensor([0, 1]), sg.tensor([0, 7])

MODES = {
    "default": {},
    "strict": {"numerics": "strict"},
    "split": {"on_break": "split"},
}


def cut(step):
    """The step after a number that Python needs: it runs in segments."""

    def cutting(x, i):
        f"{x.sum().item()}"
        return step(x, i)

    return cutting


def statement(work):
    """Do something, and return another value."""

    def step(x, i):
        work(x, i)
        return x * 2

    return step


def in_scan(x, i):
    def body(carry, k):
        x[k]
        return carry + 1, None

    return sg.scan(body, x[0], i)[0]


def in_cond(x, i):
    def taken():
        x[i]
        return x.sum()

    return sg.cond(x.sum() > 0, taken, lambda: x.sum() * 2)


def in_while(x, i):
    def body(k, total):
        x[i[k]]
        return k + 1, total + 1

    return sg.while_loop(lambda k, total: k < 2, body, (sg.tensor(0), x.sum()))


def unread_stack(x, i):
    return sg.scan(lambda carry, k: (carry + 1, x[k]), x[0], i)[0]


STEPS = {
    "index": statement(lambda x, i: x[i]),
    "gather": statement(lambda x, i: sg.gather(x, 0, i)),
    "index_select": statement(lambda x, i: sg.index_select(x, 0, i).sum()),
    "take": statement(lambda x, i: sg.take(x, i)),
    "embedding": statement(lambda x, i: sg.nn.functional.embedding(i, x.reshape(3, 1))),
    "one_hot": statement(lambda x, i: sg.nn.functional.one_hot(i, 3)),
    "cross_entropy": statement(lambda x, i: sg.nn.functional.cross_entropy(x.expand(2, 3), i)),
    "division": statement(lambda x, i: i // (7 - i)),
    "power": statement(lambda x, i: i ** (5 - i)),
    "inverse": statement(lambda x, i: sg.linalg.inv(sg.diag((7 - i).double()))),
    "cholesky": statement(lambda x, i: sg.linalg.cholesky(sg.diag((3 - i).double()))),
    "nothing returned": lambda x, i: (x[i], None)[1],
    "the side that where drops": lambda x, i: sg.where(x > 0, x, x[i].sum()),
    "the part that a slice drops": lambda x, i: sg.cat([x[i], x])[2:],
    "scan": statement(lambda x, i: sg.scan(lambda carry, k: (carry + x[k], None), x[0], i)),
    "scan's stack": unread_stack,
    "cond": statement(lambda x, i: sg.cond(x.sum() > 0, lambda: x[i].sum(), lambda: x.sum())),
    "body of scan": in_scan,
    "side of cond": in_cond,
    "body of while_loop": in_while,
}


def outcomes(step):
    """The error of each call, None for one without."""
    found = []
    for index in (GOOD, BAD, GOOD, BAD):
        try:
            step(X, index)
            found.append(None)
        except StaticgradError as error:
            found.append(type(error))
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", STEPS)
def test_an_error_is_raised_whether_or_not_the_value_is_read(name, mode):
    for step in (STEPS[name], cut(STEPS[name])):
        expected = outcomes(step)
        assert expected[0] is expected[2] is None
        assert expected[1] is expected[3] is not None
        assert outcomes(sg.compile(step, **MODES[mode])) == expected


def test_a_body_whose_unread_value_may_fail_runs_in_segments():
    with pytest.raises(TraceError, match="its body has a value that nobody reads, and bounded may fail"):
        sg.compile(in_scan, on_break="error")(X, GOOD)


def test_a_session_computes_what_its_fetches_need():
    with sg.Graph().as_default():
        x, i = sg.placeholder(sg.float32, (3,)), sg.placeholder(sg.int64, (2,))
        x[i]
        with sg.Session() as sess:
            assert np.array_equal(sess.run(x * 2, {x: [1, 2, 3], i: [0, 7]}), [2, 4, 6])


def test_a_check_that_nobody_reads_is_one_instruction_and_no_result():
    f = sg.compile(STEPS["index"])
    f(X, GOOD)
    assert f.plan.instructions[0].name == "bounded"
    assert len(f.plan.instructions) == 2
    assert f.plan.host_calls == 0


def _given(z, value):
    z.data = value


CHANGES = {
    "in place": lambda z, x: z.add_(x),
    "copied": lambda z, x: z.copy_(x * 3),
    "other memory": lambda z, x: _given(z, z.data + x),
}


@pytest.mark.parametrize("after", CHANGES)
@pytest.mark.parametrize("earlier", [None, *CHANGES])
def test_changes_after_a_failing_operation_in_segments(earlier, after):
    """The error comes later than in eager mode; what was changed meanwhile has the values from before the operation."""

    def make():
        z, table = sg.zeros(2), sg.ones(3)

        def step(i, x):
            if earlier is not None:
                CHANGES[earlier](z, x * 5)
            rows = table[i]
            CHANGES[after](z, x)
            return rows.sum() + (1 if x.sum().item() > 0 else 0)

        return step, z

    (eager, expected), (step, actual) = make(), make()
    run = sg.compile(step, on_break="split")
    for i in (0, 1, 7, 1, 7, 0):
        for fn in (eager, run):
            try:
                fn(sg.tensor([i]), sg.ones(2))
            except sg.IndexRangeError:
                assert i == 7
            else:
                assert i != 7
        assert actual.tolist() == expected.tolist()
