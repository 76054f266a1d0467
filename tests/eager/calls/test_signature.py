"""The signature of a call: which values are told apart in the keys of eager calls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager.calls.composite_records import Form
from staticgrad.eager.calls.signature import attributes, join, token
from staticgrad.ir import REGISTRY
from staticgrad.nn import functional as F

SINGLE: list[Any] = [
    0,
    0.0,
    -0.0,
    1,
    1.0,
    True,
    False,
    math.nan,
    math.inf,
    "1",
    "nan",
    "0.0",
    None,
    ...,
    int,
    np.dtype("f4"),
    np.dtype("f8"),
]
DIFFERENT: list[Any] = [
    *SINGLE,
    *[(a,) for a in SINGLE],
    *[[a] for a in SINGLE],
    *[((a,),) for a in SINGLE],
    (), [], ((),), (1, 1), ((1,), 1), (1, (1,)), slice(None), slice(1), slice(1, None), slice(1, None, 1), slice(0, 1),
    *[Form(math.exp, (a,), ()) for a in (0.0, -0.0, 1, True)],
    *[Form(math.exp, (), ((word, a),)) for word, a in (("x", 1), ("x", True), ("y", 1))],
    Form(math.sin, (1,), ()), sg.Size([1]),
]  # fmt: skip


def test_values_that_operations_tell_apart_have_signatures_of_their_own():
    assert len({token(value) for value in DIFFERENT}) == len(DIFFERENT)


def test_equal_values_have_equal_signatures():
    pairs = [(float("nan"), float("nan")), ((float("nan"),), (float("nan"),)), ([1, 2.5], [1, 2.5]), (slice(1, 2), slice(1, 2))]
    assert [token(a) == token(b) for a, b in pairs] == [True] * len(pairs)


@pytest.mark.parametrize("value", [object(), {1}, np.ones(2), slice(1.5), (object(),), sg.tensor(1.0), ((sg.tensor(1.0),),)])
def test_other_values_are_no_part_of_a_signature(value):
    with pytest.raises(TypeError, match="is no part of a signature"):
        token(value)


def test_tensors_are_collected_where_they_may_be_part():
    x, y = sg.ones(2, 3), sg.ones(4, dtype=sg.float64)
    key, tensors = [], []
    assert join((x, [y, 1]), key, tensors)
    assert (key, tensors[0] is x, tensors[1] is y) == ([(2, 3), sg.float32, list, 2, (4,), sg.float64, int, 1], True, True)


def test_attributes_that_are_numbers_are_told_apart():
    op = REGISTRY["attention_softmax"]
    assert len({tuple(attributes(op, {"scale": scale})) for scale in (0.0, -0.0)}) == 2
    assert tuple(attributes(REGISTRY["sum"], {"axis": (0,), "keepdims": False})) == ((0,), False)


SIGNED = {
    "pad": lambda x, v: F.pad(x, (1, 1), value=v)[:, 0],
    "leaky_relu": lambda x, v: F.leaky_relu(-x, v),
    "threshold": lambda x, v: F.threshold(x, 5.0, v),
    "full_like": lambda x, v: x * v,
    "masked_fill": lambda x, v: x.masked_fill(x > 0, v),
    "add": lambda x, v: (x * -0.0) + v,
    "clamp": lambda x, v: sg.clamp(-x, min=v),
    "nan_to_num": lambda x, v: sg.nan_to_num(x * math.nan, nan=v),
    "where": lambda x, v: sg.where(x > 5, x, v),
}


@pytest.mark.parametrize("dtype", [sg.float32, sg.float64])
@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("name", SIGNED)
def test_zeros_keep_their_sign_whichever_comes_first(name, wait, dtype):
    function = SIGNED[name]
    with sg.eager_kernels(False):
        right = {sign: np.signbit(function(sg.ones(2, 3, dtype=dtype), sign * 0.0).numpy()) for sign in (1, -1)}
    with sg.eager_kernels(wait=wait):
        for sign in [1, -1] * 6:
            found = np.signbit(function(sg.ones(2, 3, dtype=dtype), sign * 0.0).numpy())
            assert np.array_equal(found, right[sign]), sign


OF_INTEGERS = {
    "silu": F.silu, "gelu": F.gelu, "softplus": F.softplus, "normalize": F.normalize, "mean": lambda x: sg.mean(x / 2),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x), "exp": sg.exp,
    "true_divide": lambda x: sg.true_divide(x, 3), "where": lambda x: sg.where(x > 1, x, 0.5),
}  # fmt: skip


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("name", OF_INTEGERS)
def test_calls_follow_the_default_dtype(name, wait):
    function, x = OF_INTEGERS[name], sg.tensor([[1, 2], [3, 4]])
    with sg.eager_kernels(wait=wait):
        for _ in range(6):
            for dtype in (sg.float32, sg.float64):
                before = sg.get_default_dtype()
                sg.set_default_dtype(dtype)
                try:
                    assert function(x).dtype == dtype
                finally:
                    sg.set_default_dtype(before)
