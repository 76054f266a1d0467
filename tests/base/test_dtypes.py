"""Dtypes as users hold them are PyTorch's objects and stand for NumPy's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.base.dtypes import ABSENT, PUBLIC
from staticgrad.errors import DTypeError

EACH = pytest.mark.parametrize("dtype", PUBLIC.values(), ids=str)


@EACH
def test_it_stands_for_numpys(dtype: Any):
    own = dtype.numpy
    assert all([dtype == own, own == dtype, dtype == own.type, dtype == own.name])
    assert {own: 1}[dtype] == {dtype: 1}[own] == 1
    assert np.zeros(3, dtype).dtype == np.ones(3).astype(dtype).dtype == np.dtype(dtype) == own
    assert (dtype.kind, dtype.itemsize, dtype.name, dtype.type) == (own.kind, own.itemsize, own.name, own.type)
    assert np.result_type(dtype, dtype) == own


@EACH
def test_there_is_one_of_each(dtype: Any):
    assert sg.dtype(dtype) is sg.dtype(dtype.numpy) is sg.dtype(dtype.name) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is copy.deepcopy(dtype) is dtype
    assert isinstance(dtype, sg.dtype)
    assert sg.zeros(2, dtype=dtype).dtype is dtype


@EACH
def test_it_says_what_pytorchs_says(dtype: Any):
    assert repr(dtype) == f"torch.{dtype.name}"
    assert dtype.is_floating_point == (dtype.kind == "f")
    assert dtype.is_complex == (dtype.kind == "c")
    assert dtype.is_signed == (dtype.kind in "ifc")


def test_parts_of_complex_numbers():
    assert sg.complex64.to_real() is sg.float32
    assert sg.complex128.to_real() is sg.float64
    assert sg.float64.to_complex() is sg.complex128
    assert sg.int32.to_real() is sg.int32


def test_it_differs_from_what_it_is_not():
    assert sg.float32 != sg.float64
    assert sg.float32 != np.float64
    assert sg.float32 != "no dtype"
    assert sg.float16 != sg.float32
    assert not hasattr(sg.float32, "__array_interface__")
    with pytest.raises(AttributeError, match="no_such_name"):
        sg.float32.no_such_name  # noqa: B018


@pytest.mark.parametrize("name", ABSENT)
def test_those_that_tensors_lack_are_named_and_refused(name: str):
    dtype: Any = getattr(sg, name)
    assert repr(dtype) == f"torch.{name}"
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    with pytest.raises(DTypeError, match=f"dtype {name} is not supported"):
        sg.zeros(2, dtype=dtype)
    with pytest.raises(DTypeError, match=f"dtype {name} is not supported"):
        np.zeros(2, dtype)


def program(x: Any) -> list[Any]:
    kind = x.dtype
    y = x.to(kind) * sg.ones(3, dtype=kind) + sg.zeros_like(x, dtype=kind)
    return [y, y.sum(dtype=kind), y.cumsum(0, dtype=kind), sg.full_like(x, 2, dtype=kind), y.type(kind)]


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64, sg.complex64, sg.int32], ids=str)
def test_operations_take_it_in_every_mode(dtype: Any):
    x = np.arange(3).astype(dtype)
    wanted = [r.numpy() for r in program(sg.tensor(x))]
    compiled = sg.compile(program)
    for _ in range(2):
        found = [r.numpy() for r in compiled(sg.tensor(x))]
        assert [r.dtype for r in found] == [r.dtype for r in wanted]
        assert all(map(np.array_equal, found, wanted))
    with sg.Graph().as_default() as graph:
        given = sg.placeholder(dtype, (3,))
        results = program(given)
        assert given.dtype is dtype
        assert {type(value) for node in graph.nodes for value in node.attrs.values()}.isdisjoint({sg.dtype})
        with sg.Session() as session:
            assert all(map(np.array_equal, session.run(results, {given: x}), wanted))


def test_a_compiled_function_tells_dtypes_apart():
    def step(x: Any, kind: Any) -> Any:
        return x.to(kind) if kind.is_floating_point else x

    compiled = sg.compile(step)
    x = sg.arange(3)
    assert [compiled(x, kind).dtype for kind in (sg.float32, sg.float64, sg.int32, sg.float32)] == [
        sg.float32, sg.float64, sg.int64, sg.float32,
    ]  # fmt: skip
