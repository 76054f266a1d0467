"""Models in older op sets: axes of reductions inside the node, errors for ops that came later."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg

pytest.importorskip("onnx")


def test_axes_are_an_attribute_before_op_set_18():
    model = {version: sg.onnx.export(lambda x: sg.amax(x, 1), args=(np.ones((2, 3), np.float32),), opset_version=version)
             for version in (17, 18)}  # fmt: skip
    found = {v: next(n for n in made.graph.node if n.op_type == "ReduceMax") for v, made in model.items()}
    assert {v: len(node.input) for v, node in found.items()} == {17: 1, 18: 2}
    assert [list(a.ints) for a in found[17].attribute if a.name == "axes"] == [[1]]
    assert {v: made.ir_version for v, made in model.items()} == {17: 8, 18: 9}
