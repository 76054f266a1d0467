"""Evaluation that is prepared for the types of operands is the one that takes them as they come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from staticgrad.base.types import TensorType
from staticgrad.errors import IndexRangeError
from staticgrad.ir import REGISTRY, Graph

X = np.arange(12, dtype=np.float32).reshape(3, 4)
INDEX = np.array([[2, 0], [1, 1]])
LOW = {"axis": 0, "low": 0}
SAMPLES: dict[str, list[tuple[tuple[np.ndarray, ...], dict[str, Any]]]] = {
    "reshape": [((X,), {"shape": (2, 6)}), ((X.T,), {"shape": (12,)})],
    "expand_dims": [((X,), {"axis": (0, 2)}), ((X.T,), {"axis": (1,)})],
    "squeeze": [((X[:1],), {"axis": (0,)}), ((X[:, :1].T,), {"axis": (0,)})],
    "permute": [((X,), {"axes": (1, 0)})],
    "broadcast_to": [((X[:, :1],), {"shape": (2, 3, 4)}), ((X[:1].copy(),), {"shape": (3, 4)}), ((X[0, 0],), {"shape": (2,)})],
    "slice": [((X,), {"slices": (1,)}), ((X,), {"slices": ((None, None, 2), -1)})],
    "bounded": [((INDEX, X), {"axis": 0, "low": 0}), ((INDEX - 3, X), {"axis": 0, "low": -1}), ((INDEX[:0], X), LOW)],
    "argmax": [((X,), {"axis": (1,), "keepdims": True}), ((X[0],), {"axis": (0,), "keepdims": False})],
    "argmin": [((X,), {"axis": (0,), "keepdims": False})],
}  # fmt: skip


def prepared(name: str, operands: tuple[np.ndarray, ...], attrs: dict[str, Any]) -> Any:
    graph, op = Graph(), REGISTRY[name]
    kinds = [TensorType(np.shape(a), a.dtype) for a in operands]
    feeds = [graph.add(REGISTRY["placeholder"], (), {"type": kind}, kind) for kind in kinds]
    assert op.prepared is not None
    return op.prepared(graph.add(op, tuple(feeds), attrs, op.infer(*kinds, **attrs)))


def test_all_have_samples() -> None:
    assert {name for name, op in REGISTRY.items() if op.prepared is not None} == {*SAMPLES}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_value_is_the_same(name: str) -> None:
    for operands, attrs in SAMPLES[name]:
        operands = tuple(map(np.asarray, operands))
        expected, found = REGISTRY[name].eval(*operands, **attrs), prepared(name, operands, attrs)(*operands)
        np.testing.assert_array_equal(found, expected, strict=True)
        assert np.shares_memory(found, operands[0]) == np.shares_memory(expected, operands[0])
        if np.shares_memory(found, operands[0]):
            assert found.flags.writeable == expected.flags.writeable


def test_an_index_out_of_range_is_refused() -> None:
    bounded = prepared("bounded", (INDEX, X), {"axis": 0, "low": 0})
    for bad in (INDEX + 2, INDEX - 1):
        with pytest.raises(IndexRangeError):
            bounded(bad, X)
