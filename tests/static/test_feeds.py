"""What may be fed."""

import numpy as np
import pytest

from staticgrad import eager
from staticgrad.errors import DTypeError, FeedError
from staticgrad.operators import F
from staticgrad.static import Session, Variable, constant, no_op, placeholder
from staticgrad.static.feeds import Feed, converted

F32, F64, I8, I32, I64, BOOL = (np.dtype(d) for d in ("float32", "float64", "int8", "int32", "int64", "bool"))


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (3, F32, np.float32(3)),
        (2.5, F32, np.float32(2.5)),
        (True, I64, np.int64(1)),
        ([1, 2], F64, np.array([1.0, 2.0])),
        ([[1.5], [2]], F32, np.array([[1.5], [2]], F32)),
        (np.array([1.0, 2.0], F64), F32, np.array([1, 2], F32)),
        (np.array([1e300], F64), F32, np.array([np.inf], F32)),
        (np.array([1, 2], I64), I8, np.array([1, 2], I8)),
        (np.array([1, 2], np.uint64), I32, np.array([1, 2], I32)),
        (np.array([1, 2], ">f4"), F32, np.array([1, 2], F32)),
        ([], I64, np.zeros(0, I64)),
        (eager.tensor([1.0, 2.0], requires_grad=True), F32, np.array([1, 2], F32)),
    ],
)
def test_casts_that_lose_nothing_but_precision(value, dtype, expected):
    np.testing.assert_array_equal(converted(value, dtype), expected, strict=True)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1.5, I64, "dtype float64 can't become int64 without loss"),
        (np.zeros(0, F32), I64, "dtype float32 can't become int64 without loss"),
        (1, BOOL, "dtype int64 can't become bool without loss"),
        ([300], I8, "some of its values are out of the range of int8"),
        ([-1], np.dtype("uint8"), "some of its values are out of the range of uint8"),
        ("a", F32, "dtype <U1 can't become float32"),
        (1j, F32, "dtype complex128 can't become float32"),
        (None, F32, "dtype object can't become float32"),
        ([[1], [2, 3]], F32, "no array can be made of it"),
    ],
)
def test_casts_that_are_refused(value, dtype, text):
    with pytest.raises(DTypeError, match=text):
        converted(value, dtype)
    x = placeholder(dtype, (), name="x")
    with pytest.raises(FeedError) as error:
        Session().run(x, {x: value})
    assert str(error.value).startswith("Cannot feed value of type ")
    assert f"for Tensor 'x', which has dtype {dtype}" in str(error.value)


def test_a_fitting_array_is_used_as_it_is():
    feed = Feed(placeholder(np.float32, (None, 2)).node)
    for array in (np.zeros((3, 2), F32), np.zeros((0, 2), F32)):
        assert feed.accept(array) is array


def test_other_layouts_are_made_contiguous():
    x = placeholder(np.float32, (None, None))
    array = np.arange(12, dtype=F32).reshape(3, 4)
    feed = Feed(x.node)
    sess = Session()
    for view in (array.T, array[:, ::2], np.asfortranarray(array), np.broadcast_to(array[0], (2, 4))):
        taken = feed.accept(view)
        assert taken.flags.c_contiguous
        np.testing.assert_array_equal(taken, view)
        np.testing.assert_array_equal(sess.run(x * 1, {x: view}), view)
    assert feed.accept(np.float32([[1]])).shape == (1, 1)


@pytest.mark.parametrize(
    ("declared", "given", "text"),
    [
        ((None, 64), (3,), r"Cannot feed value of shape \(3,\) for Tensor 'x', which has shape '\(\?, 64\)'"),
        ((None, 64), (3, 63), r"Cannot feed value of shape \(3, 63\) for Tensor 'x', which has shape '\(\?, 64\)'"),
        ((), (1,), r"Cannot feed value of shape \(1,\) for Tensor 'x', which has shape '\(\)'"),
        ((2,), (), r"Cannot feed value of shape \(\) for Tensor 'x', which has shape '\(2,\)'"),
    ],
)
def test_wrong_shapes(declared, given, text):
    x = placeholder(np.float32, declared, name="x")
    with pytest.raises(FeedError, match=text) as error:
        Session().run(x, {x: np.zeros(given, F32)})
    assert "x = placeholder(np.float32, declared" in str(error.value)


def test_the_shape_is_checked_at_every_run():
    x = placeholder(np.float32, (None, 2))
    y, sess = x * 2, Session()
    for n in (3, 1, 0, 3):
        assert sess.run(y, {x: np.zeros((n, 2), F32)}).shape == (n, 2)
    with pytest.raises(FeedError, match="Cannot feed value of shape"):
        sess.run(y, {x: np.zeros((3, 3), F32)})
    assert sess.run(y, {x: np.zeros((5, 2), F32)}).shape == (5, 2)


def test_any_tensor_can_be_fed():
    x = placeholder(np.float32, (), name="x")
    y = x * x
    z = F.exp(y)
    assert Session().run(z, {x: 3, y: 0}) == 1
    assert Session().run(z, {y: 0}) == 1  # x is not needed then
    c, v = constant(2.0), Variable(5.0)
    sess = Session()
    assert sess.run(c * v, {c: 3, v: 4}) == 12
    sess.run(v.initializer)
    assert sess.run([c * v, v], {c: 3}) == [15, 5]
    assert sess.run(v, {v: 6}) == 6
    assert sess.run(v) == 5


def test_a_fed_tensor_is_fetched_as_a_copy():
    x = placeholder(np.float32, (2,))
    array = np.array([1, 2], F32)
    result = Session().run(x, {x: array})
    np.testing.assert_array_equal(result, array)
    assert not np.shares_memory(result, array)


@pytest.mark.parametrize(
    ("feed", "text"),
    [
        (lambda x: {3: 1}, r"Cannot interpret feed_dict key as Tensor: 3. \(Can not convert a int into a Tensor"),
        (lambda x: {"q": 1}, "Cannot interpret feed_dict key as Tensor: 'q'"),
        (lambda x: {no_op(): 1}, "An operation has no value"),
        (lambda x: {x: 1, "x": 2}, "Tensor 'x' is fed twice"),
        (lambda x: {x: 1, x.graph.get_tensor("x"): 2}, "Tensor 'x' is fed twice"),
        (lambda x: {x: x + 1}, "The value of a feed cannot be a symbolic tensor: Tensor 'x' was fed \"add\""),
        (lambda x: [x], "feed_dict has to map tensors to values, got list"),
        (lambda x: {eager.tensor(1.0): 1}, "Cannot interpret feed_dict key as Tensor"),
    ],
)
def test_wrong_feeds(feed, text):
    x = placeholder(np.float32, (), name="x")
    with pytest.raises(FeedError, match=text):
        Session().run(x * 2, feed(x))


def test_unfed_placeholders():
    x = placeholder(np.float32, (None, 64), name="x")
    t = placeholder(np.int64, (), name="t")
    y = F.sum(x) + F.astype(t, np.float32)
    with pytest.raises(FeedError) as error:
        Session().run(y)
    text = str(error.value)
    assert text.startswith("You must feed a value for placeholder tensor 'x' with dtype float32 and shape (?, 64)")
    assert 'x = placeholder(np.float32, (None, 64), name="x")' in text
    assert "and for 't'" in text
    with pytest.raises(FeedError, match="You must feed a value for placeholder tensor 't' with dtype int64"):
        Session().run(y, {x: np.zeros((1, 64))})
