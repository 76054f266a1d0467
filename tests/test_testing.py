"""`sg.testing`: what is close, and the texts of errors."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.testing import assert_allclose, assert_close, make_tensor

X = sg.arange(3.0)


@pytest.mark.parametrize(
    ("actual", "expected", "options"),
    [
        (X, X + 1e-7, {}),
        (X.double(), X, {"check_dtype": False}),
        ([X, {"a": 1.0}], (X, {"a": 1.0 + 1e-9}), {}),
        (X, X + 1, {"rtol": 0, "atol": 1.5}),
        (sg.tensor(float("nan")), sg.tensor(float("nan")), {"equal_nan": True}),
        (np.ones(2), np.ones(2), {}),
        (None, None, {}),
        (sg.tensor([True]), sg.tensor([True]), {}),
        (sg.tensor([1, 3]), sg.tensor([1, 2]), {"rtol": 0, "atol": 1}),
    ],
)
def test_close(actual, expected, options):
    assert_close(actual, expected, **options)


@pytest.mark.parametrize(
    ("actual", "expected", "text"),
    [
        (X, X + 1, "Tensor-likes are not close!\n\nMismatched elements: 3 / 3 .100.0%.\nGreatest absolute difference: 1.0 at"),
        (X, X[:2], r"'shape' do not match: torch.Size\(\[3\]\) != torch.Size\(\[2\]\)."),
        (X, X.double(), "'dtype' do not match: torch.float32 != torch.float64."),
        ([X], [X, X], "length of the sequences mismatch: 1 != 2"),
        ({"a": 1}, {"b": 1}, r"Missing keys in the actual mapping: \['b'\]"),
        (1.0, 2.0, "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 "),
        (sg.tensor([1]), sg.tensor([2]), "are not equal!"),
        ([1, {"a": [X]}], [1, {"a": [X + 1]}], r"The failure occurred for item \[1\]\['a'\]\[0\]"),
        (sg.tensor([float("nan")]), sg.tensor([float("nan")]), "difference: nan"),
        (None, X, "None mismatch"),
    ],
)
def test_not_close(actual, expected, text):
    with pytest.raises(AssertionError, match=text):
        assert_close(actual, expected)


def test_messages_and_misuse():
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(1, 2, msg="mine")
    with pytest.raises(AssertionError, match=r"^so: Scalars"):
        assert_close(1, 2, msg=lambda text: f"so: {text}")
    with pytest.raises(ValueError, match="rtol and atol must both"):
        assert_close(1, 2, rtol=1)
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close(X, 1.0)
    with pytest.raises(AssertionError, match=r"stride\(\)"):
        assert_close(sg.ones(2, 2), sg.ones(2, 2).T.contiguous().T, check_stride=True)
    assert_allclose(X, X.double())


@pytest.mark.parametrize("dtype", [sg.float32, sg.int64, sg.bool, sg.complex64])
def test_made_tensors(dtype):
    made = make_tensor(3, 4, dtype=dtype, exclude_zero=dtype != sg.bool, noncontiguous=True)
    assert made.shape == (3, 4)
    assert made.dtype == dtype
    assert dtype == sg.bool or (made != 0).all()
    assert make_tensor((2,), dtype=sg.float64, low=0, high=1, requires_grad=True).requires_grad
