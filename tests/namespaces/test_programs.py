"""The programs of `tests/programs/`, as strangers write them: under the torch front they print what they print in PyTorch."""

from __future__ import annotations

import pytest

from tests.helpers import sweep
from tools.torch_programs import KINDS, PROGRAMS, apart, outcome, tolerance

SAMPLE = "gcn_karate", "gp_cholesky", "hand_optimizer", "variable_two_layer"


@pytest.mark.oracle
@pytest.mark.parametrize("name", sweep(PROGRAMS, lambda i, name: name in SAMPLE))
def test_losses_are_pytorchs(name: str):
    pytest.importorskip("torch")
    expected = outcome(name, "torch")
    assert not expected.error
    for kind in KINDS:
        found = outcome(name, kind)
        assert not found.error, kind
        assert apart(name, found, expected) <= tolerance(name), kind
        assert found.text == expected.text, kind
