"""Placeholders and constants."""

import numpy as np
import pytest

from staticgrad import eager
from staticgrad.errors import ArgumentError, DTypeError, ShapeError
from staticgrad.static import Session, constant, placeholder


@pytest.mark.parametrize(
    ("dtype", "shape", "expected"),
    [
        (np.float32, (None, 64), "f32[?,64]"),
        ("int64", (None,), "i64[?]"),
        (float, (), "f64[]"),
        (np.dtype(bool), [2, 3], "bool[2,3]"),
        (np.float64, 3, "f64[3]"),
    ],
)
def test_placeholder_types(dtype, shape, expected):
    assert repr(placeholder(dtype, shape).node.type) == expected
    assert repr(placeholder(dtype, shape=shape, name="x").node.type) == expected


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((np.float32,), "placeholder needs a shape of known rank"),
        (((None, 64), np.float32), r"placeholder: the dtype comes first, got \(None, 64\)"),
        ((None, ()), "placeholder: the dtype comes first, got None"),
        ((np.float32, (-1, 2)), "a shape is a tuple of integers >= 0 or None"),
    ],
)
def test_wrong_placeholders(args, text):
    with pytest.raises(ArgumentError, match=text):
        placeholder(*args)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((1.5,), np.float32(1.5)),
        ((2,), np.int64(2)),
        (([1.0, 2.0],), np.array([1, 2], np.float32)),
        ((np.array([1.0, 2.0]),), np.array([1, 2], np.float64)),
        ((0.1, np.float64), np.float64(0.1)),
        ((3, np.float32), np.float32(3)),
        ((0.0, None, (2, 3)), np.zeros((2, 3), np.float32)),
        (([1, 2, 3, 4], np.float32, (2, 2)), np.array([[1, 2], [3, 4]], np.float32)),
        ((eager.tensor([1.0, 2.0]),), np.array([1, 2], np.float32)),
    ],
)
def test_constants(args, expected):
    value = Session().run(constant(*args))
    np.testing.assert_array_equal(value, expected, strict=True)


def test_a_constant_is_a_copy():
    array = np.zeros(1000, np.float32)
    tensors = [constant(array), constant(np.broadcast_to(array, (2, 1000)))]
    array[:] = 1
    assert [v.max() for v in Session().run(tensors)] == [0, 0]


def test_wrong_constants():
    x = placeholder(np.float32, (), name="x")
    with pytest.raises(DTypeError, match='constant needs a value, got the symbolic "x"'):
        constant(x)
    with pytest.raises(ShapeError, match=r"constant: 3 values don't fill the shape \(2, 2\)"):
        constant([1, 2, 3], shape=(2, 2))
    with pytest.raises(DTypeError, match="float64 can't become int32 without loss"):
        constant(1.5, dtype=np.int32)
