"""The programs of `tests/programs/`, as strangers write them: under the torch front they print what they print in PyTorch."""

from __future__ import annotations

import pytest

from tests.helpers import sweep
from tools.torch_programs import KINDS, PAGE, PROGRAMS, agree, apart, outcome, tolerance, written

FAILING = {"word2vec_sparse": "it asserts that the gradient of a sparse embedding is a sparse tensor; here it is dense"}
SAMPLE = "gcn_karate", "gp_cholesky", "hand_optimizer", "variable_two_layer"


@pytest.mark.oracle
@pytest.mark.parametrize("name", sweep(PROGRAMS, lambda i, name: name in SAMPLE))
def test_losses_are_pytorchs(name: str, request: pytest.FixtureRequest):
    pytest.importorskip("torch")
    if name in FAILING:
        request.applymarker(pytest.mark.xfail(reason=FAILING[name], strict=True))
    expected = outcome(name, "torch")
    assert not expected.error
    for kind in KINDS:
        found = outcome(name, kind)
        assert not found.error, kind
        assert apart(name, found, expected) <= tolerance(name), kind
        assert found.text == expected.text, kind


def test_the_table_has_each_program_and_counts_those_that_agree():
    lines = written()
    assert list(lines) == list(PROGRAMS)
    works, compiled = agree(lines)
    assert f"\n{works} of {len(lines)} give PyTorch's losses eagerly, {compiled} compiled." in PAGE.read_text(encoding="utf-8")
