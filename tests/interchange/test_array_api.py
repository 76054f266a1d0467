"""`x.__array_namespace__()`: each function against `array_api_strict`'s, where it is installed, or NumPy's."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.interchange import array_api
from tests.helpers import assert_close, raised

REAL = np.array([[0.5, -0.25, 0.75], [0.125, 0.25, -0.5]])
ABOVE = REAL + 2.0
WHOLE = np.array([[3, 1, 2], [1, 5, 1]])
FLAGS = np.array([[True, False, True], [False, False, True]])

UNARY = {
    **dict.fromkeys(
        ("abs", "acos", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh", "exp", "expm1", "floor", "isfinite",
         "isinf", "isnan", "log1p", "negative", "positive", "real", "reciprocal", "round", "sign", "signbit", "sin", "sinh",
         "square", "tan", "tanh", "trunc"), (REAL,),
    ),
    **dict.fromkeys(("acosh", "log", "log10", "log2", "sqrt"), (ABOVE,)),
    "bitwise_invert": (WHOLE,), "logical_not": (FLAGS,),
}  # fmt: skip
BINARY = {
    **dict.fromkeys(
        ("add", "atan2", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal", "hypot", "less",
         "less_equal", "logaddexp", "maximum", "minimum",
         "multiply", "nextafter", "not_equal", "remainder", "subtract"), (REAL, ABOVE),
    ),
    "pow": (ABOVE, REAL),
    **dict.fromkeys(
        ("bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor"), (WHOLE, WHOLE[::-1].copy())
    ),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), (FLAGS, FLAGS[::-1].copy())),
}  # fmt: skip
CALLS: dict[str, tuple[Any, ...]] = {name: (operands, {}) for name, operands in {**UNARY, **BINARY}.items()}
CALLS |= {
    "all": ((FLAGS,), {"axis": 1}), "any": ((FLAGS,), {"axis": 0, "keepdims": True}), "argmax": ((REAL,), {"axis": 1}),
    "argmin": ((REAL,), {}), "argsort": ((REAL,), {"axis": 0, "descending": True}), "astype": ((REAL, "float32"), {}),
    "broadcast_to": ((REAL, (2, 2, 3)), {}), "clip": ((REAL,), {"min": -0.1, "max": 0.5}), "count_nonzero": ((WHOLE,), {}),
    "cumulative_prod": ((REAL,), {"axis": 1}), "cumulative_sum": ((WHOLE,), {"axis": 0, "include_initial": True}),
    "diff": ((REAL,), {"axis": 1}), "expand_dims": ((REAL,), {"axis": 1}), "flip": ((REAL,), {}),
    "isin": ((WHOLE, WHOLE[0]), {}),
    "linspace": ((0.0, 1.0, 5), {"dtype": "float64", "endpoint": False}), "matmul": ((REAL, ABOVE.T.copy()), {}),
    "matrix_transpose": ((REAL,), {}), "max": ((REAL,), {"axis": (0, 1)}), "mean": ((REAL,), {"axis": 0}),
    "min": ((REAL,), {"keepdims": True}), "moveaxis": ((REAL, 0, 1), {}), "nonzero": ((WHOLE - 1,), {}),
    "permute_dims": ((REAL, (1, 0)), {}), "prod": ((WHOLE,), {"axis": 1}), "repeat": ((WHOLE, 2), {"axis": 1}),
    "reshape": ((REAL, (3, 2)), {}), "roll": ((REAL, 1), {"axis": 1}),
    "searchsorted": ((np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.5])), {"side": "right"}), "sort": ((REAL,), {"axis": 1}),
    "squeeze": ((REAL[None], 0), {}), "std": ((REAL,), {"correction": 1}), "sum": ((WHOLE,), {"axis": 0}),
    "take": ((REAL, np.array([2, 0])), {"axis": 1}), "take_along_axis": ((REAL, WHOLE[:, :1] % 2), {"axis": 1}),
    "tensordot": ((REAL, ABOVE), {"axes": ((1,), (1,))}), "tile": ((REAL, (2, 1)), {}), "tril": ((REAL,), {"k": -1}),
    "triu": ((REAL,), {"k": 1}), "unique_all": ((WHOLE,), {}), "unique_counts": ((WHOLE,), {}),
    "unique_inverse": ((WHOLE,), {}),
    "unique_values": ((WHOLE,), {}), "unstack": ((REAL,), {"axis": 1}), "var": ((REAL,), {"axis": 1}),
    "vecdot": ((REAL, ABOVE), {}), "where": ((FLAGS, REAL, ABOVE), {}), "arange": ((2, 8, 3), {}),
    "eye": ((2, 3), {"k": 1, "dtype": "float64"}),
    "full": ((3, 2.0), {"dtype": "float64"}), "ones": (((2, 1),), {"dtype": "int64"}), "zeros": ((2,), {"dtype": "int64"}),
    "full_like": ((REAL, 3.0), {}), "ones_like": ((REAL,), {}), "zeros_like": ((WHOLE,), {}),
}  # fmt: skip


def called(space: Any, name: str, make: Any) -> list[Any]:
    operands, named = CALLS[name]
    dtype = {key: getattr(space, value) for key, value in named.items() if key == "dtype"}
    args = [make(x) if isinstance(x, np.ndarray) else getattr(space, x) if isinstance(x, str) else x for x in operands]
    result = getattr(space, name)(*args, **{**named, **dtype})
    return list(result) if isinstance(result, (tuple, list)) else [result]


def test_functions_agree_with_numpy():
    for name in CALLS:
        if name in ("isin", "searchsorted", "unstack", "unique_all", "unique_inverse", "count_nonzero", "clip", "astype"):
            continue
        expected = called(np, name, np.asarray) if name not in NUMPY else NUMPY[name]()
        for have, want in zip(called(array_api, name, sg.as_tensor), expected, strict=True):
            assert_close(have, np.asarray(want), 1e-12, what=name)


NUMPY = {
    "argsort": lambda: [np.argsort(-REAL, axis=0, kind="stable")],
    "where": lambda: [np.where(FLAGS, REAL, ABOVE)],
    "arange": lambda: [np.arange(2, 8, 3)],
    "unique_values": lambda: [np.unique(WHOLE)],
    "eye": lambda: [np.eye(2, 3, 1)],
}
"""References where NumPy's own function takes other arguments."""


@pytest.mark.oracle
def test_functions_agree_with_the_strict_implementation():
    strict = pytest.importorskip("array_api_strict")
    for name in CALLS:
        for have, want in zip(called(array_api, name, sg.as_tensor), called(strict, name, strict.asarray), strict=True):
            want = np.asarray(want)
            assert_close(have, np.sort(want) if name == "unique_values" else want, 1e-12, what=name)


@pytest.mark.oracle
def test_names_and_arguments_are_those_of_the_standard():
    strict = pytest.importorskip("array_api_strict")
    skipped = {"ModuleType", "Device", "broadcast_shapes"}
    names = {name for name in dir(strict) if not name.startswith("_") and "flags" not in name.lower()} - skipped
    assert sorted(names - set(dir(array_api)) - {"float"}) == []
    for name in names:
        theirs, ours = getattr(strict, name), getattr(array_api, name)
        if inspect.isfunction(theirs) and inspect.isfunction(ours) and ours.__module__ == array_api.__name__:
            keywords = {p.name for p in inspect.signature(theirs).parameters.values() if p.kind is p.KEYWORD_ONLY}
            assert keywords <= set(inspect.signature(ours).parameters), name


def test_the_namespace_of_a_tensor():
    x = sg.tensor([1.0, 2.0], requires_grad=True)
    space = x.__array_namespace__(api_version="2023.12")
    assert space is array_api
    space.sum(space.square(x)).backward()
    assert_close(x.grad, np.array([2.0, 4.0], "float32"))
    compiled = sg.compile(lambda x: x.__array_namespace__().sum(x * x, axis=0))
    assert_close(compiled(x), 5 * np.ones((), "float32"))
    with raised(sg.ArgumentError, "__array_namespace__: version '1999.1' is unknown"):
        x.__array_namespace__(api_version="1999.1")
    info = space.__array_namespace_info__()
    assert info.default_dtypes()["integral"] == np.int64
    assert [*info.dtypes(kind="unsigned integer")] == ["uint8", "uint16", "uint32", "uint64"]
    assert x.to_device("cpu") is x


def test_promotion_is_the_standards():
    """By dtypes alone. Operators of tensors promote as PyTorch's do."""
    point, row = sg.tensor(3, dtype=sg.int16), sg.tensor([1, 2], dtype=sg.int8)
    assert (point + row).dtype == sg.int8
    for name in ("add", "floor_divide", "maximum", "bitwise_and"):
        assert getattr(array_api, name)(point, row).dtype == getattr(array_api, name)(row, point).dtype == sg.int16
    assert array_api.where(sg.tensor([True, False]), point, row).dtype == sg.int16
    assert array_api.less(point, row).dtype == sg.bool
    assert array_api.add(row, 1).dtype == sg.int8


UNSIGNED = {
    **dict.fromkeys(
        ("add", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "equal",
         "floor_divide", "greater", "greater_equal", "less", "less_equal", "maximum", "minimum", "multiply", "not_equal", "pow",
         "remainder", "subtract"), ((WHOLE, WHOLE[::-1].copy()), {}),
    ),
    **dict.fromkeys(
        ("abs", "bitwise_invert", "isfinite", "max", "min", "negative", "positive", "prod", "sign", "square", "sum", "tril"),
        ((WHOLE,), {}),
    ),
    **dict.fromkeys(("argmax", "cumulative_prod", "cumulative_sum", "diff", "sort"), ((WHOLE,), {"axis": 1})),
    "concat": (([WHOLE, WHOLE],), {}), "matmul": ((WHOLE, WHOLE.T.copy()), {}), "reshape": ((WHOLE, (3, 2)), {}),
    "tensordot": ((WHOLE, WHOLE), {"axes": ((1,), (1,))}), "vecdot": ((WHOLE, WHOLE), {}),
    "where": ((FLAGS, WHOLE, WHOLE + 1), {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64"])
def test_unsigned_integers_are_numpys(kind: str):
    def moved(x: Any, make: Any) -> Any:
        if isinstance(x, list):
            return [moved(v, make) for v in x]
        return make(x.astype(kind) if x.dtype == np.int64 else x) if isinstance(x, np.ndarray) else x

    for name, (operands, named) in UNSIGNED.items():
        want = getattr(np, name)(*[moved(x, np.asarray) for x in operands], **named)
        have = getattr(array_api, name)(*[moved(x, sg.as_tensor) for x in operands], **named)
        assert str(have.dtype).removeprefix("torch.") == str(want.dtype), name
        assert_close(have, np.asarray(want), 0, what=name)
    for other in ("uint8", "uint16", "uint32", "int8"):
        if (kind, other) != ("uint64", "int8"):
            a, b = (array_api.ones(2, dtype=getattr(array_api, each)) for each in (kind, other))
            assert array_api.add(a, b).dtype == np.promote_types(kind, other)


def test_the_sign_of_nan_and_of_complex_zeros():
    assert_close(array_api.sign(sg.tensor([-2.0, 0.0, np.nan])), np.array([-1.0, 0.0, np.nan], "float32"))
    assert_close(array_api.sign(sg.tensor([0j, 3 + 4j])), np.array([0j, 0.6 + 0.8j], "complex64"), 1e-6)
    assert array_api.sign(sg.tensor([-3, 0])).tolist() == [-1, 0]
