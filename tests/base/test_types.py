"""Types: the promotion lattice, broadcasting with unknown extents, axes and shapes."""

from __future__ import annotations

import fractions
import itertools

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.base import dtypes
from staticgrad.base import types as t
from staticgrad.base.types import (
    TensorType,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)


@pytest.fixture
def double_default():
    sg.set_default_dtype(sg.float64)
    yield
    sg.set_default_dtype(sg.float32)


def matrix(dtype):
    return TensorType((2, 3), np.dtype(dtype))


def zero_d(dtype):
    return TensorType((), np.dtype(dtype))


# promotion ----------------------------------------------------------------------------------------------------------

PAIRS = [
    # tensors of one category: the wider one
    (matrix(float32), matrix(float64), float64),
    (matrix(int32), matrix(int64), int64),
    (matrix(uint8), matrix(int8), int16),
    (matrix(int16), matrix(int32), int32),
    # tensors of two categories: the higher one, whatever the widths
    (matrix(int64), matrix(float32), float32),
    (matrix(bool_), matrix(uint8), uint8),
    (matrix(bool_), matrix(float32), float32),
    # a 0-d tensor counts only by its category
    (matrix(float32), zero_d(float64), float32),
    (matrix(int8), zero_d(int64), int8),
    (matrix(int64), zero_d(float64), float64),
    (matrix(bool_), zero_d(int32), int32),
    (zero_d(float32), zero_d(float64), float64),
    # numbers are weak: they count only by their category, and then as int64 or the default float
    (matrix(float32), 2.0, float32),
    (matrix(float64), 2.0, float64),
    (matrix(float32), np.float64(2.0), float32),
    (matrix(uint8), 2, uint8),
    (matrix(int64), 2.0, float32),
    (matrix(bool_), 2, int64),
    (matrix(bool_), True, bool_),
    (zero_d(float32), 2.0, float32),
    (zero_d(int32), np.int64(2), int32),
    (2, 3, int64),
    (2, 3.0, float32),
    (True, False, bool_),
    (matrix(float32), 1j, complex64),
    (matrix(float64), 1j, complex128),
    (matrix(int64), 1j, complex64),
    (matrix(float64), TensorType((), complex64), complex128),
    (matrix(complex64), TensorType((), float64), complex64),
    (matrix(complex64), matrix(float64), complex128),
    (matrix(complex64), matrix(int64), complex64),
    (matrix(complex64), 1j, complex64),
]


@pytest.mark.parametrize(("a", "b", "expected"), PAIRS, ids=[f"{a}-{b}" for a, b, _ in PAIRS])
def test_promotion(a, b, expected):
    assert t.promote([a, b]) == expected
    assert t.promote([b, a]) == expected


def test_a_number_brings_the_default_float(double_default):
    assert t.promote([matrix(int64), 2.0]) == float64
    assert t.promote([matrix(float32), 2.0]) == float32
    assert sg.tensor(1.0).dtype == float64


def test_promotion_of_matrices_does_not_depend_on_order():
    for three in itertools.combinations_with_replacement(dtypes.DTYPES, 3):
        results = {t.promote([matrix(d) for d in order]) for order in itertools.permutations(three)}
        assert len(results) == 1, dtypes


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, bool_),
        (np.bool_(True), bool_),
        (3, int64),
        (np.int8(3), int64),
        (3.0, float32),
        (np.float64(3), float32),
        (1j, complex64),
        (np.complex128(1j), complex64),
    ],
    ids=repr,
)
def test_dtype_of_a_number(value, expected):
    assert t.is_scalar(value)
    assert t.scalar_dtype(value) == expected


def test_a_fraction_is_a_number_and_text_is_not():
    assert t.is_scalar(fractions.Fraction(1, 3))
    assert not t.is_scalar("3")
    assert not t.is_scalar(np.zeros(()))
    assert t.is_scalar(1j)


@pytest.mark.parametrize("dtype", dtypes.DTYPES, ids=str)
def test_to_float(dtype):
    assert t.to_float(dtype) == (dtype if dtype in (float32, float64) else float32)


# dtypes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [(float, float64), (int, int64), (bool, bool_), ("float64", float64), (np.int32, int32), (">f4", float32)],
    ids=str,
)
def test_as_dtype(given, expected):
    result = dtypes.as_dtype(given)
    assert result == expected
    assert result.isnative


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("longdouble", "dtype float128 is not supported"),
        (object, "dtype object is not supported"),
        ("tensor", "'tensor' is not a dtype"),
    ],
    ids=str,
)
def test_unsupported_dtypes_name_the_supported_ones(given, text):
    with pytest.raises(sg.DTypeError, match=text) as caught:
        dtypes.as_dtype(given)
    assert "use one of bool, uint8, int8, int16, int32, int64, float32, float64" in str(caught.value)


def test_default_dtype(double_default):
    assert sg.get_default_dtype() == float64
    assert dtypes.as_dtype(float) == float64


def test_the_default_dtype_is_floating_and_stays_when_refused():
    with pytest.raises(sg.DTypeError, match="only floating dtypes are supported as the default, got int32"):
        sg.set_default_dtype(sg.int32)
    assert sg.get_default_dtype() == float32


# types --------------------------------------------------------------------------------------------------------------


def test_tensor_type():
    known, unknown = TensorType((2, 3), float32), TensorType((None, 3), float64)
    assert (known.ndim, known.size, known.nbytes, known.static) == (2, 6, 24, True)
    assert (repr(known), repr(unknown), repr(zero_d(bool_))) == ("f32[2,3]", "f64[?,3]", "bool[]")
    assert not unknown.static
    with pytest.raises(sg.ShapeError, match=r"f64\[\?,3\] has no known number of elements"):
        _ = unknown.size
    assert known.with_shape((6,)) == TensorType((6,), float32)
    assert known.with_dtype(float64) == TensorType((2, 3), float64)
    assert hash(known) == hash(TensorType((2, 3), float32))
    assert known != unknown
    assert known != "f32[2,3]"
    assert t.type_of(np.zeros((2, 3), np.float32)) == known
    assert [t.shape_text(s) for s in ((), (2,), (2, None))] == ["()", "(2,)", "(2, ?)"]


# broadcasting -------------------------------------------------------------------------------------------------------

BROADCASTS = [
    ([(2, 3), (3,)], (2, 3)),
    ([(2, 1), (1, 3)], (2, 3)),
    ([(), (2, 3)], (2, 3)),
    ([(0,), (1,)], (0,)),
    ([(4, 1, 3), (2, 1), ()], (4, 2, 3)),
    ([(None, 3), (3,)], (None, 3)),
    ([(None, 3), (1, 3)], (None, 3)),
    ([(None,), (5,)], (5,)),
    ([(None,), (0,)], (0,)),
    ([(None,), (None,)], (None,)),
    ([(1,), (None,)], (None,)),
]


@pytest.mark.parametrize(("shapes", "expected"), BROADCASTS, ids=str)
def test_broadcasting(shapes, expected):
    assert t.broadcast_shapes(*shapes) == expected
    assert t.broadcast_shapes(*reversed(shapes)) == expected
    if all(None not in shape for shape in shapes):
        assert np.broadcast_shapes(*shapes) == expected


@pytest.mark.parametrize("shapes", [[(2, 3), (2,)], [(4,), (3,)], [(None, 3), (4,)], [(2,), (0,)]], ids=str)
def test_shapes_that_do_not_broadcast(shapes):
    with pytest.raises(sg.ShapeError) as caught:
        t.broadcast_shapes(*shapes)
    assert caught.value.summary == f"shapes don't broadcast, {' and '.join(map(t.shape_text, shapes))}"


# axes and shapes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "expected"),
    [(None, (0, 1, 2)), (0, (0,)), (-1, (2,)), ((2, 0), (0, 2)), ([-1, 0], (0, 2)), ((), ()), (np.int64(1), (1,))],
    ids=str,
)
def test_normalize_axes(axis, expected):
    assert t.normalize_axes(axis, 3) == expected


@pytest.mark.parametrize(
    ("axis", "text"),
    [
        (3, "axis 3 is out of range for 3 axes"),
        (-4, "axis -4 is out of range for 3 axes"),
        ((0, 3), "axis 3 is out of range for 3 axes"),
        ((0, -3), "an axis is named twice in (0, 0)"),
        (1.0, "axis must be an integer, got 1.0"),
        (True, "axis must be an integer, got True"),
        ("01", "axis must be an integer, several, or None, got str"),
    ],
    ids=str,
)
def test_bad_axes(axis, text):
    with pytest.raises(sg.ArgumentError) as caught:
        t.normalize_axes(axis, 3)
    assert caught.value.summary == text


def test_as_shape():
    assert t.as_shape(3) == (3,)
    assert t.as_shape([2, np.int64(3)]) == (2, 3)
    assert t.as_shape((None, 3), unknown=True) == (None, 3)
    assert [type(d) for d in t.as_shape(np.array([2, 3]))] == [int, int]


@pytest.mark.parametrize("shape", [(2, -1), (2.0,), (None, 3), (True,), 3.5, ("a",)], ids=str)
def test_bad_shapes(shape):
    with pytest.raises(sg.ArgumentError, match="a shape is a tuple of integers"):
        t.as_shape(shape)
