"""Golden kernels: the code that is generated for a few programs. `UPDATE_GOLDEN=1 pytest` writes it anew.

Comments are left out: they lead to lines of this file.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad.compiler.jit import without_comments

FOLDER = Path(__file__).parent.parent / "golden"
rng = np.random.default_rng(0)
X = rng.standard_normal((5, 4)).astype(np.float32)
B = rng.standard_normal(4).astype(np.float32)
Y = np.array([0, 3, 1, 1, 2])


def gradient(function):
    def with_gradient(x, *rest):
        out = function(x, *rest)
        return out, sg.grad(out, x)[0]

    return with_gradient


def leaf(array):
    return sg.tensor(array, requires_grad=True)


CASES = {
    "pointwise": (lambda x, b: sg.tanh(x * 2 + 1) * sg.sigmoid(x), (X, B)),
    "bias_relu": (lambda x, b: sg.relu(x + b), (X, B)),
    "column_sum": (lambda x: sg.exp(x).sum(axis=0), (X,)),
    "cross_entropy": (gradient(lambda x: F.cross_entropy(x, Y)), (leaf(X),)),
    "layer_norm": (lambda x: F.layer_norm(x, 4), (X,)),
    "row_broadcast": (lambda x, m: x * m, (rng.standard_normal((2, 3, 4)).astype(np.float32), np.ones((3, 1), "f4"))),
    "comparison": (lambda x: (x > 0) & (x < 1), (X,)),
    "scalars": (lambda a: sg.sqrt(a) / (1 - a), (np.float64(0.5).reshape(()),)),
}


@pytest.mark.parametrize("name", CASES)
def test_generated_code(name):
    function, arguments = CASES[name]
    step = sg.compile(function)
    step(*arguments)
    text = without_comments(step.source())
    file = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text)
    assert file.exists(), "run UPDATE_GOLDEN=1 pytest, and read what it wrote"
    assert text == file.read_text()
