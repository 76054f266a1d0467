"""PyTorch's operator samples in a session, compiled, differentiated twice, in other memory, and with arguments by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.ops import torch_sample_forms as forms
from tests.ops import torch_samples as base
from tests.ops.test_torch_ops import KNOWN, MISSING, OF_HALF, table

pytestmark = pytest.mark.oracle


def wrong(form: Callable[[Any], Iterator[str]], known: dict[str, str]) -> list[str]:
    """What is different in a form of the samples, of the ops that agree as PyTorch writes them."""
    texts = []
    for name, variants in table().items():
        if name not in MISSING and name not in KNOWN and name not in known:
            texts += [f"{name}: {text}" for op in variants for text in forms.quietly(form(op))]
    return texts


VALUES = "the shape of the result depends on values, which a graph does not have"
CONSTANT = "the numbers have to be known when a graph is built"
IN_MODES: dict[str, str] = {
    "argwhere": VALUES,
    "bincount": VALUES,
    "histogram": VALUES,
    "masked_select": VALUES,
    "narrow": CONSTANT,
    "index_put": VALUES,
    "nn.functional.embedding": "max_norm changes the weight, and placeholders don't change",
    "nn.functional.embedding_bag": "max_norm changes the weight, and placeholders don't change",
    "nn.functional.instance_norm": "running statistics change, and placeholders don't",
    "nn.functional.one_hot": VALUES,
    "nonzero": VALUES,
    "tensor_split": CONSTANT,
    "unique": VALUES,
    "unique_consecutive": VALUES,
    "zero_": "tensors of a graph are not changed in place",
}
"""Ops of which some sample is refused in a session, and why."""


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16", "bfloat16"])
def test_modes_agree(torch: Any, interpreted: None, dtype: str):
    refused = {**IN_MODES, **OF_HALF} if dtype in base.HALF else IN_MODES
    found = wrong(lambda op: forms.in_modes(torch, op, dtype), refused)
    assert not found, "\n".join(found)


TWICE: dict[str, str] = {
    "linalg.householder_product": "a result without elements needs no gradient here",
    "linalg.lstsq": "residuals of the samples need no gradient here",
    "nn.functional.linear_cross_entropy": "has second gradients here, in chunks too",
    "zero_": "a leaf is not changed in place",
}


def test_second_gradients_agree(torch: Any):
    found = wrong(lambda op: forms.twice(torch, op), TWICE)
    assert not found, "\n".join(found)


SINGULAR = "of singular matrices factors and their gradients are not unique, or not finite"
POLE = "infinite at poles, where PyTorch rounds them to large numbers"
NOT_UNIQUE = "of repeated values the gradient depends on the vectors that LAPACK chose"
RAISES = "a singular matrix raises an error here, there `info` tells"
AT_SPECIAL_POINTS: dict[str, str] = {
    "__rdiv__": "infinite gradients, added in another order",
    "addcdiv": "infinite gradients, added in another order",
    "digamma": POLE,
    **dict.fromkeys(
        ("linalg.cond", "linalg.householder_product", "linalg.lu", "linalg.qr", "lu_solve", "ormqr", "qr"), SINGULAR
    ),
    **dict.fromkeys(("linalg.eigvalsh", "linalg.matrix_norm", "linalg.svdvals", "norm"), NOT_UNIQUE),
    **dict.fromkeys(("linalg.eigvals", "linalg.inv_ex", "linalg.solve_ex"), RAISES),
    **dict.fromkeys(("linalg.lu_factor_ex", "lu"), "`info` is 0 here"),
    "linalg.lstsq": "residuals of matrices without full rank have elements here",
    "logit": "the sign of a zero counts here, and there where the gradient is recorded",
    "matrix_exp": "overflow",
    "msort": "of equal elements PyTorch keeps no order",
    "nn.functional.poisson_nll_loss": "the gradient by a target of 0 is NaN there",
    "nn.functional.soft_margin_loss": "overflows there",
    "polar": "the gradient by a radius that is not positive",
    "polygamma": POLE,
    "special.polygamma": POLE,
    "zero_": "a leaf is not changed in place",
}


def test_values_and_gradients_agree_at_special_points(torch: Any):
    found = wrong(lambda op: forms.at_special_points(torch, op), AT_SPECIAL_POINTS)
    assert not found, "\n".join(found)


ELSEWHERE: dict[str, str] = {
    "as_strided_copy": "memory before and between the elements of a view is not handed over",
    "arange": "the number of elements of a fractional range of short integers",
    "cumulative_trapezoid": "sums of short integers overflow",
    "index_add": "a negative number is no unsigned one here",
    "nn.functional.cosine_embedding_loss": "a negative number is no unsigned one here",
    "nn.functional.interpolate": "PyTorch rounds between unsigned bytes otherwise",
    "nn.functional.upsample_bilinear": "PyTorch rounds between unsigned bytes otherwise",
    "polygamma": "PyTorch computes in float32, NumPy in float64",
    "scalar_tensor": "a negative number is no unsigned one here",
    "special.polygamma": "PyTorch computes in float32, NumPy in float64",
    "tensordot": "contracted extents that differ, of which one is 1",
    "trapezoid": "sums of short integers overflow",
    "trapz": "sums of short integers overflow",
}


@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128", "int8", "uint8", "int16", "int32"])
def test_other_memory_agrees(torch: Any, dtype: str):
    found = wrong(lambda op: forms.elsewhere(torch, op, dtype), ELSEWHERE)
    assert not found, "\n".join(found)


BY_NAME: dict[str, str] = {
    "nn.functional.embedding_bag": "samples give the weight first, which the name `input` is not for",
    "linalg.pinv": "samples of a variant have other arguments",
}


def test_arguments_by_name_agree(torch: Any):
    found = wrong(lambda op: forms.by_name(torch, op), BY_NAME)
    assert not found, "\n".join(found)
