"""Subscripts against NumPy: reading, gradients to second order and assignment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import IndexRangeError
from tests.helpers import assert_close
from tests.ops.modes import MODES, eager, slopes

X = np.arange(24.0).reshape(2, 3, 4)
FIRST, SECOND, THIRD = np.array([True, False]), np.array([True, False, True]), np.array([True, False, False, True])
TWO, REST = np.array([[1, 0, 1], [0, 1, 0]], bool), np.array([[1, 0, 0, 1], [0, 0, 1, 0], [1, 1, 0, 0]], bool)
THREE, ALL = np.array([True, True, False, True]), slice(None)

KEYS: list[Any] = [
    # masks of one axis and of several, beside everything else
    (..., THIRD), (FIRST, ...), TWO, (..., REST), X % 3 == 0, (None, FIRST), (FIRST, None), (FIRST, ALL, [0, 3]),
    (FIRST, SECOND[[0, 0, 0]]), (0, SECOND), (FIRST, 0), (ALL, SECOND, 0), (ALL, REST), (TWO, None, THREE),
    (TWO, THREE), (slice(None, None, -1), SECOND), (FIRST, ..., THIRD[[0, 1, 1, 1]]),
    ([True, False],), ([True, False], ..., 0), ([[True, False, True], [False, True, False]],), (FIRST & False, ...),
    # booleans without axes
    True, False, np.True_, np.array(True), (True, [0, 1]), (None, True), (0, True), (ALL, True, ALL), (ALL, True),
    (True, False), (False, [0]), (..., False), (True, ALL, True),
    # integers
    ([],), [], ([], []), (ALL, []), ([0, 1], None, [0, 1]), ([0, 1], 0, [0, 1]), (None, [0, 1], 0, [0, 1]),
    ([[0], [1]], [0, 2]), (..., None, [0, 1]), ([0, 1], ...), ([0, 1], ..., [0, 1]), (0, [0, 1], [1, 2]),
    (np.int64(0), [1]), ([0], np.array(1)), (np.array(1), ALL, np.array(0)), (range(2),),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_reading_and_assigning(key: Any):
    expected = X[key]
    weights = np.random.default_rng(0).random(expected.shape)
    (value, *_), x = eager(lambda x: [x[key]], [X]), sg.tensor(X, requires_grad=True)
    assert_close(value, expected)

    (first,) = slopes(x[key] ** 3 * sg.tensor(weights), [x])
    (second,) = slopes(first, [x])
    for found, cotangents in ((first, 3 * expected**2 * weights), (second, 6 * expected * weights)):
        added = np.zeros_like(X).reshape(-1)
        np.add.at(added, np.arange(X.size).reshape(X.shape)[key], cotangents)
        assert_close(found.detach().numpy(), added.reshape(X.shape), 1e-12)

    changed = X.copy()
    changed[key] = 7
    plain, recorded = sg.tensor(X.copy()), sg.tensor(X, requires_grad=True) * 1
    plain[key] = 7
    recorded[key] = sg.tensor(7.0, dtype=sg.float64, requires_grad=True)
    assert_close(plain.numpy(), changed)
    assert_close(recorded.detach().numpy(), changed)


def every_key(x: Any) -> list[Any]:
    parts = [x[key] for key in KEYS]
    return [*parts, *slopes(sum((p * p * p).sum() for p in parts), [x])]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_reads_alike(mode: str):
    for found, expected in zip(MODES[mode](every_key, [X]), eager(every_key, [X]), strict=True):
        assert_close(found, expected, 1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_a_mask_that_is_computed_in_a_graph(mode: str):
    def read(x: Any) -> Any:
        parts = [x[x > 1], x[..., x[0, 0] > 0], x[(x > 1).any()], x[(x > 100).any()]]
        return [*parts, *slopes(sum((p * p * p).sum() for p in parts), [x])]

    for found, expected in zip(MODES[mode](read, [X]), eager(read, [X]), strict=True):
        assert_close(found, expected, 1e-12)


REFUSED = [
    ((..., SECOND), IndexRangeError, "a mask of shape (3,) doesn't fit x of shape (2, 3, 4)"),
    ((TWO, TWO), IndexRangeError, "too many indices: 4 for 3 axes"),
    ((..., FIRST, ...), IndexRangeError, "an index can have only one Ellipsis"),
    (
        1.5,
        IndexRangeError,
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got",
    ),
]


@pytest.mark.parametrize(("key", "error", "text"), REFUSED, ids=range(len(REFUSED)))
def test_refusals(key: Any, error: type[Exception], text: str):
    with pytest.raises(error) as caught:
        sg.tensor(X)[key]
    assert caught.value.summary.startswith(text)


@pytest.mark.parametrize("shape", [(5, 3), (5, 700), (2, 5, 520)])
def test_gradients_of_rows_that_are_picked_often(shape: tuple[int, ...]):
    """Wide rows are added whole, in the same order as elements of narrow ones."""
    index, axis = np.array([[4, 0, 4], [2, 4, -1]]), len(shape) - 2
    rng = np.random.default_rng(0)
    g = rng.standard_normal((*shape[:axis], *index.shape, shape[-1])).astype(np.float32)
    wanted = np.zeros(shape, np.float32)
    for place in np.ndindex(index.shape):
        wanted[..., index[place], :] += g[(..., *place, slice(None))]
    x = sg.tensor(rng.standard_normal(shape).astype(np.float32), requires_grad=True)
    with sg.eager_kernels(False):
        (found,) = sg.grad(x[..., index, :], [x], sg.tensor(g))
    assert np.array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("shape", [(7,), (5, 70), (2, 3, 66), (0, 3), (4, 2, 1)], ids=str)
def test_an_index_along_an_axis_takes_one_routine(shape: tuple[int, ...]):
    """Rows and columns, of which threads share the latter by blocks."""
    rng = np.random.default_rng(0)
    for axis in range(len(shape)):
        if not shape[axis]:
            continue
        x = rng.integers(0, 9, shape).astype(np.float64)
        index = rng.integers(0, shape[axis], (*shape[:axis], 3, *shape[axis + 1 :]))
        total = x.copy()
        np.add.at(total, tuple(index if a == axis else p for a, p in enumerate(np.indices(index.shape))), 2.0)

        def program(x: Any, index: Any, axis: int = axis) -> list[Any]:
            picked = sg.gather(x, axis, index)
            added = sg.scatter_add(x, axis, index, picked * 0 + 2)
            return [picked, added, *slopes((picked * picked).sum() + (added * added).sum(), [x])]

        expected = eager(program, [x, index])
        np.testing.assert_array_equal(expected[0], np.take_along_axis(x, index, axis))
        np.testing.assert_array_equal(expected[1], total)
        for run in MODES.values():
            for found, value in zip(run(program, [x, index]), expected, strict=True):
                assert_close(found, value)


LISTS: list[tuple[Any, Any]] = [
    ([(0,), (1,)], ([0], [1])), ([[0], [1]], ([0], [1])), ([[0, 1], [1, 0]], ([0, 1], [1, 0])), ([[0, 1], 0], ([0, 1], 0)),
    ([slice(0, 2), 1], (slice(0, 2), 1)), ([None, 0], (None, 0)), ([Ellipsis, 0], (..., 0)), ([[]], ([],)),
    ([np.array([0, 1]), np.array([1, 0])], ([0, 1], [1, 0])), (((0, 1), ALL, (1, 0)), ([0, 1], ALL, [1, 0])),
    ([True, [1]], (True, [1])), ([range(2)], ([0, 1],)),
]  # fmt: skip
"""Keys, and what they mean in PyTorch, which takes a list of more than numbers for a tuple."""


@pytest.mark.parametrize(("key", "meant"), LISTS, ids=range(len(LISTS)))
@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
def test_lists_of_more_than_numbers_are_tuples(key: Any, meant: Any):
    x, weights = sg.tensor(X, requires_grad=True), sg.tensor(np.random.default_rng(0).random(X[meant].shape))
    assert_close(x[key].detach().numpy(), X[meant])
    assert_close(sg.compile(lambda x: x[key])(x.detach()).numpy(), X[meant])
    (found,), (expected,) = (sg.grad((x[k] ** 2 * weights).sum(), x) for k in (key, meant))
    assert_close(found.numpy(), expected.numpy())
    changed, recorded, numbers = sg.tensor(X), x * 1, X.copy()
    numbers[meant] = changed[key] = recorded[key] = 7.0
    assert_close(changed.numpy(), numbers)
    assert_close(recorded.detach().numpy(), numbers)


def test_tensors_in_lists_and_long_lists():
    x = sg.tensor(X)
    with pytest.warns(UserWarning, match="use x\\[tuple\\(seq\\)\\] instead of x\\[seq\\]"):
        assert_close(x[[sg.tensor([0, 1]), sg.tensor([1, 0])]].numpy(), X[[0, 1], [1, 0]])
    with pytest.warns(UserWarning, match="non-tuple"):
        assert x[[sg.tensor(0), sg.tensor(1)]].shape == (4,)
    many = [[0]] * 32
    assert x[many].shape == (32, 1, 3, 4)  # as PyTorch takes a longer list
    assert x[[0, 1]].shape == (2, 3, 4)


@pytest.mark.parametrize("key", [1.5, {0: 1}, "a", (..., 0, ...), ([0, 1], [0, 1, 2]), (0, 0, 0, 0), 5, ([5], 0)])
def test_keys_that_are_none_raise_index_errors(key: Any):
    with pytest.raises(IndexError):
        sg.tensor(X)[key]
    with pytest.raises(IndexError):
        sg.tensor(X)[key] = 0.0


def test_a_boolean_beside_an_int_and_an_array_is_an_axis_of_its_own():
    x = sg.tensor(X)
    x[True, 0, [0, 1]] = -1.0
    assert_close(x.numpy(), np.concatenate([np.where(np.arange(3)[:, None] < 2, -1.0, X[0])[None], X[1:]]))
    assert sg.tensor(X)[np.array(0), :, [0, 1]].shape == (3, 2)
