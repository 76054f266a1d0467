"""`sg.finfo` and `sg.iinfo` give PyTorch's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg

FLOATS = {
    "float32": (32, 1.1920928955078125e-07, 3.4028234663852886e38, 1.1754943508222875e-38, 1e-06, "float32"),
    "float64": (64, 2.220446049250313e-16, 1.7976931348623157e308, 2.2250738585072014e-308, 1e-15, "float64"),
    "float16": (16, 0.0009765625, 65504.0, 6.103515625e-05, 0.001, "float16"),
    "bfloat16": (16, 0.0078125, 3.3895313892515355e38, 1.1754943508222875e-38, 0.01, "bfloat16"),
    "float8_e4m3fn": (8, 0.125, 448.0, 0.015625, 1.0, "float8_e4m3fn"),
    "float8_e5m2": (8, 0.25, 57344.0, 6.103515625e-05, 1.0, "float8_e5m2"),
    "complex64": (32, 1.1920928955078125e-07, 3.4028234663852886e38, 1.1754943508222875e-38, 1e-06, "float32"),
}
"""bits, eps, max, tiny, resolution, dtype: as PyTorch 2.13 prints them."""


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name: str):
    found = sg.finfo(getattr(sg, name))
    assert (found.bits, found.eps, found.max, found.tiny, found.resolution, found.dtype) == FLOATS[name]
    assert (found.min, found.smallest_normal) == (-found.max, found.tiny)
    assert {type(value) for value in (found.eps, found.max, found.min, found.tiny, found.resolution)} == {float}


def test_default_and_text():
    assert sg.finfo() == sg.finfo(np.float32)
    assert hash(sg.finfo()) == hash(sg.finfo("float32"))
    assert repr(sg.finfo(sg.float32)) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=float32)"
    )


def test_integers():
    found = sg.iinfo(sg.int16)
    assert (found.bits, found.min, found.max, found.dtype) == (16, -32768, 32767, "int16")
    assert (sg.iinfo(sg.uint8).max, sg.iinfo(sg.int64).min) == (255, -(2**63))
    assert found == sg.iinfo("int16")
    assert repr(found) == "iinfo(min=-32768, max=32767, dtype=int16)"


@pytest.mark.parametrize(
    ("ask", "dtype"), [(sg.finfo, sg.int32), (sg.iinfo, sg.float32), (sg.iinfo, sg.bool), (sg.iinfo, sg.float16)]
)
def test_other_kinds(ask, dtype):
    with pytest.raises(TypeError, match="requires"):
        ask(dtype)


def test_dtypes_that_tensors_lack():
    assert sg.float16.is_floating_point
    assert not sg.float16.is_complex
    assert sg.bfloat16.itemsize == 2
    assert sg.complex32.is_complex
    assert not sg.complex32.is_floating_point
    assert sg.complex32.itemsize == 4
    names = ("float8_e5m2", "uint64", "qint32", "quint4x2", "bits16", "int4", "uint1")
    dtypes = [getattr(sg, name) for name in names]
    assert [d.itemsize for d in dtypes] == [1, 8, 4, 1, 2, 1, 1]
    assert [d.is_floating_point for d in dtypes] == [True, *[False] * 6]
    assert [d.is_signed for d in dtypes] == [True, False, True, False, False, True, False]
    assert sg.finfo(sg.float8_e8m0fnu).min == 2.0**-127
    with pytest.raises(sg.DTypeError, match="dtype bits16 is not supported"):
        sg.zeros(2, dtype=sg.bits16)
