"""PyTorch's operator samples, run here and there: values, dtypes, shapes and first gradients are the same."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tests.ops import torch_samples, torch_totals

pytestmark = pytest.mark.oracle

MISSING = frozenset(
    [
        "hash_tensor",
        "max_pool2d_with_indices_backward",
        "native_batch_norm",
        "native_dropout_backward",
        "native_group_norm",
        "native_layer_norm",
        "slice",
    ]
)
"""Internals, and what is still to be written."""

KNOWN: dict[str, str] = {
    "__rpow__": "a negative power of an integer is an error here, 0 there",
    "as_strided": "samples read memory before a view, which is not handed over",
    "as_strided_scatter": "overwritten elements have no gradient here",
    "chalf": "there is no such dtype",
    "cholesky": "of complex matrices, cotangents of the diagonal's imaginary part count there",
    "cholesky_inverse": "of a triangle, the other one has no gradient here",
    "cholesky_solve": "of a triangle, the other one has no gradient here",
    "cov": "what rounding leaves of derivatives that are 0",
    "histogramdd": "edges that are not ascending are an error here",
    "istft": "the gradient by the window",
    "linalg.cholesky": "of complex matrices, cotangents of the diagonal's imaginary part count there",
    "linalg.cholesky_ex": "of complex matrices, cotangents of the diagonal's imaginary part count there",
    "linalg.eig": "samples of losses that depend on phases are refused there",
    "linalg.norm": "the derivative of the nuclear norm at 0, where it is not unique",
    "linalg.svd": "of complex matrices, samples of losses that depend on phases are refused there",
    "nn.functional.batch_norm": "a tensor of one axis has no channels here",
    "nn.functional.ctc_loss": "the gradient by log-probabilities is the derivative; after log_softmax it is the same",
    "nn.functional.group_norm": "a negative eps is refused",
    "nn.functional.layer_norm": "a negative eps is refused",
    "nn.functional.rms_norm": "a negative eps is refused",
    "special.bessel_j0": "SciPy's values are nearer to the exact ones",
    "special.bessel_y1": "SciPy's values are nearer to the exact ones",
    "svd": "of complex matrices, samples of losses that depend on phases are refused there",
    "svd_lowrank": "of matrices of higher rank, the result depends on what was drawn",
}
"""Ops of which some sample differs, and why."""


OF_HALF: dict[str, str] = {
    "complex": "there is no complex32",
    "index_fill": "the gradient of one number is a sum that cancels",
    "logcumsumexp": "the gradient reads the rounded result",
    "msort": "which of equal elements moves where",
    "nn.functional.cosine_similarity": "gradients that are what rounding leaves of 0",
    "nn.functional.normalize": "gradients that are what rounding leaves of 0",
    "pow": "factors of the gradient that float16 does not hold",
    "view_as_complex": "there is no complex32",
}
"""The same for floats of 16 bits."""
OF_SECOND: dict[str, str] = {"logcumsumexp": "what rounding leaves there of 0, beside elements of 10^4"}
"""The same for second gradients."""


def known(name: str, dtype: str, order: int = 1) -> bool:
    return name in KNOWN or (dtype in torch_samples.HALF and name in OF_HALF) or (order > 1 and name in OF_SECOND)


@functools.cache
def table() -> dict[str, list[Any]]:
    """The variants of each op, by name."""
    found: dict[str, list[Any]] = {}
    for op in torch_samples.load():
        if torch_samples.compared(op):
            found.setdefault(op.name, []).append(op)
    return found


NN = "nn.functional."
GROUPS = "ab", "cd", "ef", "gh", "ijkl", "m", "no", "pqr", "s", "tu", "vwxyz_", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""First letters of names: a test for each group."""


@pytest.mark.parametrize("dtype", torch_samples.DTYPES)
@pytest.mark.parametrize("letters", GROUPS)
def test_samples_agree(torch: Any, letters: str, dtype: str):
    wrong = []
    for name, variants in table().items():
        if name[0] in letters and not name.startswith(NN) and not known(name, dtype):
            found = [text for op in variants for text in torch_samples.failures(torch, op, dtype)]
            wrong += [f"{name}: {text}" for text in found if text != "missing" or name not in MISSING]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", torch_samples.DTYPES)
@pytest.mark.parametrize("letters", ["a", "bc", "def", "ghijkl", "m", "nopq", "rst", "u"])
def test_samples_of_nn_agree(torch: Any, letters: str, dtype: str):
    wrong = []
    for name, variants in table().items():
        if name.startswith(NN) and name[len(NN)] in letters and not known(name, dtype):
            wrong += [f"{name}: {text}" for op in variants for text in torch_samples.failures(torch, op, dtype)]
    assert not wrong, "\n".join(wrong)


ACCEPTED: dict[str, str] = {
    "amax": "an extent of 0 is a matter of shapes",
    "amin": "an extent of 0 is a matter of shapes",
    "aminmax": "an extent of 0 is a matter of shapes",
    "as_strided_scatter": "places outside are a matter of indices",
    "linalg.lstsq": "samples of a variant have other arguments",
    "mean": "integers have a mean, in the default float",
    "nn.functional.conv1d": "a bias of another dtype is cast",
    "nn.functional.conv2d": "a bias of another dtype is cast",
    "nn.functional.conv3d": "a bias of another dtype is cast",
    "nn.functional.multi_margin_loss": "of two mistakes in one sample the other one is found first",
}
"""Ops whose bad arguments raise another class, or none, and why."""


def test_bad_arguments_raise_errors_of_the_same_class(torch: Any):
    wrong = [
        f"{name}: {text}"
        for name, variants in table().items()
        if name not in ACCEPTED
        for op in variants
        for text in torch_samples.refusals(torch, op)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_page_gets_totals_by_row_and_mode():
    heading = torch_totals.HEADING
    page = f"before\n\n{heading}| float32 | 1 of 2 |  |  |\n\nafter\n"
    page = torch_totals.entered(page, "float64", "graph", {"agree": 3, "differ": 1, "refused": 2})
    page = torch_totals.entered(page, "float32", "compiled", {"agree": 4, "differ": 0, "refused": 0})
    rows = "| float32 | 1 of 2 | 4 of 4 |  |\n| float64 |  |  | 3 of 6, 2 refused |\n"
    assert page == f"before\n\n{heading}{rows}\nafter\n"


def test_lists_hold_only_names_of_ops(torch: Any):
    assert set(MISSING | KNOWN.keys() | OF_HALF.keys() | OF_SECOND.keys() | ACCEPTED.keys()) <= table().keys()
