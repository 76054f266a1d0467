"""`sess.run_steps`: what a loop of runs gives, in native calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad.compiler.runtime import loader
from staticgrad.eager import generator
from staticgrad.errors import FeedError, GraphError, IndexRangeError, UninitializedError
from staticgrad.static import Session, Variable, global_variables_initializer, group, placeholder
from tests.tracing.helpers import batch, labels

N, ROWS = 7, 6
XS, YS = batch(N, ROWS, 5), labels(N * ROWS, 3).reshape(N, ROWS)


def training(dtype: Any = np.float32) -> tuple[Any, Any, dict[str, Any]]:
    """(placeholders, nodes by name)"""
    sg.manual_seed(0)
    x, y = placeholder(dtype, [None, 5]), placeholder(np.int64, [None])
    w, b = Variable(batch(5, 3, dtype=dtype)), Variable(np.zeros(3, dtype))
    logits = F.dropout(sg.tanh(x @ w + b), 0.3)
    loss = F.cross_entropy(logits, y)
    train = sg.optim.Adam(lr=0.05).minimize(loss)
    return (
        x,
        y,
        {"loss": loss, "train": train, "w": w, "b": b, "logits": logits, "x": x, "host": sg.linalg.svdvals(sg.matmul(x.T, x))},
    )


FETCHES: dict[str, tuple[Callable[[dict[str, Any]], Any], bool]] = {
    "one": (lambda n: n["loss"], True),
    "with an operation": (lambda n: [n["loss"], n["train"]], True),
    "only an operation": (lambda n: n["train"], True),
    "nested": (lambda n: {"a": (n["loss"], n["train"]), "b": [n["logits"], n["loss"]]}, True),
    "variables": (lambda n: [n["train"], n["w"], n["b"]], True),
    "a feed": (lambda n: [n["train"], n["x"], n["loss"]], False),
    "of the host": (lambda n: (n["host"], n["train"]), False),
}


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many runs each native call did."""
    done: list[int] = []
    inner = loader.steps

    def counted(*args: Any) -> int:
        at = inner(*args)
        done.append(at - args[5])
        return at

    monkeypatch.setattr(loader, "steps", counted)
    return done


def flat(results: Any) -> list[Any]:
    if isinstance(results, dict):
        results = list(results.values())
    return [part for one in results for part in flat(one)] if isinstance(results, (list, tuple)) else [results]


@pytest.mark.parametrize("name", FETCHES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_runs_one_by_one(name: str, dtype: Any, native: list[int]):
    """To the last bit: results, variables, and where the generator is."""
    x, y, nodes = training(dtype)
    fetches, expected_native = FETCHES[name][0](nodes), FETCHES[name][1]
    initialize, xs = global_variables_initializer(), XS.astype(dtype)
    feeds = [{x: a, y: b} for a, b in zip(xs, YS, strict=True)]
    uneven = [*feeds, {x: xs[0, :2], y: YS[0, :2]}, feeds[0], {y: YS[1], x: xs[1]}]

    def run(how: Callable[[Session], Any]) -> tuple[Any, Any, Any]:
        sg.manual_seed(5)
        with Session() as sess:
            sess.run(initialize)
            return how(sess), sess.run([nodes["w"], nodes["b"]]), generator.state

    expected = run(lambda sess: [sess.run(fetches, feed) for feed in uneven])
    for batches in (uneven, iter(uneven)):
        found = run(lambda sess, batches=batches: sess.run_steps(fetches, batches))
        check(found, expected)
    assert (sum(native) == 2 * len(uneven)) == expected_native
    expected = run(lambda sess: [sess.run(fetches, feed) for feed in feeds])
    stacked, variables, state = run(lambda sess: sess.run_steps(fetches, {x: xs, y: YS}))
    assert type(stacked) is (type(fetches) if isinstance(fetches, (list, tuple, dict)) else type(stacked))
    for i, whole in enumerate(flat(stacked)):
        ones = [flat(one)[i] for one in expected[0]]
        if whole is None:
            assert set(ones) == {None}
        else:
            np.testing.assert_array_equal(whole, np.stack(ones))
    check(([], variables, state), ([], *expected[1:]))


def check(found: Any, expected: Any) -> None:
    assert len(found[0]) == len(expected[0])
    for one, value in zip(flat([found[0], found[1]]), flat([expected[0], expected[1]]), strict=True):
        assert type(one) is type(value)
        np.testing.assert_array_equal(one, value)
    assert found[2] == expected[2]


def test_values_are_converted():
    x = placeholder(np.float32, [None])
    with Session() as sess:
        assert [r.tolist() for r in sess.run_steps(x * 2, [{x: [1, 2]}, {x: np.array([3])}, {x: sg.tensor([4.0])}])] == [
            [2, 4], [6], [8],
        ]  # fmt: skip
        assert sess.run_steps(sg.sum(x), {x: [[1, 2], [3, 4]]}).tolist() == [3, 7]


def test_results_are_apart():
    x = placeholder(np.float32, [None])
    with Session() as sess:
        first, second = sess.run_steps(x * 2, [{x: [1, 2]}, {x: [3, 4]}])
    assert first.flags.owndata
    first[:] = 0
    assert second.tolist() == [6, 8]


def test_an_iterator_that_reuses_its_arrays():
    """Feeds are taken ahead: each is kept as it was when it came."""
    fed = np.empty(3, np.float32)

    def batches():
        for i in range(5):
            fed[:] = i
            yield {x: fed}

    with sg.Graph().as_default(), Session() as sess:
        x = placeholder(np.float32, [3])
        assert sess.run_steps(sg.sum(x), batches()) == [0, 3, 6, 9, 12]


def test_no_steps():
    x, v = placeholder(np.float32, [None, 5]), Variable(0.0)
    with Session() as sess:
        sess.run(v.initializer)
        assert sess.run_steps(v.assign_add(sg.sum(x)), []) == []
        assert sess.run_steps([v, x * 2], {x: XS[:0]})[1].shape == (0, ROWS, 5)


def test_the_first_run_of_a_session_is_among_them(native: list[int]):
    x = placeholder(np.float32, ())
    v = Variable(0.0)
    fill = v.assign(x + 1)
    with Session() as sess:
        assert sess.run_steps(fill, {x: np.arange(4)}).tolist() == [1, 2, 3, 4]
        assert sess.run(v) == 4
    assert sum(native) == 4
    with Session() as sess, pytest.raises(UninitializedError, match="Attempting to use uninitialized value"):
        sess.run_steps(v.assign_add(x), {x: np.arange(4)})


@pytest.mark.parametrize("form", ["stacked", "list"])
@pytest.mark.parametrize("fresh", [False, True])
def test_a_bad_index(form: str, fresh: bool):
    x, i, v = placeholder(np.float32, [3]), placeholder(np.int64, ()), Variable(0.0)
    picked = sg.take(x, i, 0)
    add = v.assign(picked) if fresh else v.assign_add(picked)
    xs, indices = np.ones((5, 3), np.float32), np.array([0, 1, 2, 3, 0])
    with Session() as sess:
        if not fresh:
            sess.run(v.initializer)
        stacked: Any = {x: xs, i: indices}
        batches = stacked if form == "stacked" else [{x: a, i: b} for a, b in zip(xs, indices, strict=True)]
        with pytest.raises(IndexRangeError, match="index 3 is out of range for axis 0 with extent 3") as caught:
            sess.run_steps([add], batches)
        assert "in step 3, counted from 0: the steps before it are done" in str(caught.value)
        assert sess.run(v) == (1 if fresh else 3)
        assert sess.run(add, {x: xs[0], i: 0}) == (1 if fresh else 4)


def test_a_variable_that_no_step_has_written():
    x, i, v = placeholder(np.float32, [3]), placeholder(np.int64, ()), Variable(0.0)
    fill = v.assign(sg.take(x, i, 0))
    with Session() as sess:
        with pytest.raises(IndexRangeError, match="index 3"):
            sess.run_steps(fill, {x: np.ones((2, 3)), i: [3, 0]})
        with pytest.raises(UninitializedError, match="Attempting to use uninitialized value"):
            sess.run(v)


WRONG: dict[str, tuple[Any, str]] = {
    "different extents": (lambda x, y: {x: XS, y: YS[1:]}, "need one leading extent, got shapes (7, 6, 5), (6, 6)"),
    "nothing": (lambda x, y: {}, "You must feed a value for placeholder tensor"),
    "not stacked": (lambda x, y: {x: XS[0], y: YS[0]}, "Cannot feed value of shape (6, 5) for Tensor"),
    "a number": (lambda x, y: {x: 1.0, y: YS}, "Cannot feed value of shape () for Tensor"),
    "a number for all": (lambda x, y: 3, "run_steps: batches are a feed dict of stacked values, or feed dicts, got int"),
    "no mapping": (lambda x, y: [{x: XS[0], y: YS[0]}, 3], "feed_dict has to map tensors to values, got int"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_batches(name: str):
    x, y, nodes = training()
    make, message = WRONG[name]
    with Session() as sess:
        sess.run(global_variables_initializer())
        with pytest.raises(FeedError, match=re.escape(message)):
            sess.run_steps(nodes["loss"], make(x, y))


def test_a_closed_session():
    x = placeholder(np.float32, [None])
    y = x * 2
    sess = Session()
    sess.run_steps(y, [{x: [1.0]}] * 3)
    sess.close()
    for batches in ([{x: [1.0]}], {x: [[1.0]]}):
        with pytest.raises(GraphError, match="Attempted to use a closed Session"):
            sess.run_steps(y, batches)


def test_eager_tensors_that_the_graph_took_in():
    """Their arrays are looked up at every run, so runs are done one by one."""
    w = sg.tensor([1.0, 2.0])
    x = placeholder(np.float32, [2])
    y = sg.sum(x * w)
    with Session() as sess:
        assert sess.run_steps(group(y), [{x: [1, 1]}]) == [None]
        assert sess.run_steps(y, {x: [[1, 1], [2, 2]]}).tolist() == [3, 6]
