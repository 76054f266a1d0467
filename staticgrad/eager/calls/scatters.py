"""Ops whose results are 0 but for a few rows, by kernels: gradients of rows that were picked. The rows are noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...base.types import TensorType
from ...ir import REGISTRY, Graph, OpDef
from ...operators import Symbol, append
from ...ops.gathering import rows_named
from ...ops.sparse_rows import note
from ..grad_mode import modes
from .kernels import ALONE, Computation, Maker, program_of, requests, uses_of
from .signature import attributes


def value_of_sparse(op: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> np.ndarray:
    """The value of a sparse op: by its kernel, or by NumPy. Of `op.shape_only` operands the shape is read."""
    found: np.ndarray | None = by_kernel(op, operands, attrs)
    return op.eval(*operands, **attrs) if found is None else found


def by_kernel(op: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> np.ndarray | None:
    """The value of a sparse op; None where NumPy has to compute it."""
    arrays = [a for p, a in enumerate(operands) if p not in op.shape_only]
    if arrays[0].size < modes.now.heavy or any(a.__class__ is not np.ndarray for a in arrays):
        return None
    shapes = tuple([tuple(a.shape) for a in operands])
    key = ("sparse", op, tuple(attributes(op, attrs)), shapes, tuple([a.dtype for a in arrays]))
    call = modes.now.calls[key] or requests.begin(key, 4 * uses_of(max([a.size for a in arrays]), ALONE))
    if call.waits:
        call = requests.call(key, call, PROGRAM, op, dict(attrs), operands)
    found = call.run(*arrays) or call.in_any_layout(*arrays)
    if found is None:
        return None
    out: np.ndarray = found[0]
    rows = rows_named(operands, attrs)
    if rows is not None:
        note(out, rows.copy())
    return out


def _program(op: OpDef, attrs: dict[str, Any], given: Sequence[Any]) -> tuple[Computation, None] | None:
    graph, operands, feeds = Graph(), [], []
    for p, a in enumerate(given):
        kind = TensorType(tuple(a.shape), np.dtype(a.dtype))
        leaf = graph.add(REGISTRY["shape" if p in op.shape_only else "placeholder"], (), {"type": kind}, kind)
        operands.append(Symbol(graph, leaf))
        if p not in op.shape_only:
            feeds.append(leaf)
    out = append(graph, op, operands, attrs)
    if out.node.inputs != tuple([x.node for x in operands]):
        return None
    ranks = tuple([(len(a.shape), a.dtype) for a in given])
    return program_of(graph, [out.node], feeds, ("sparse", op, ranks)), None


def _family(key: Any, op: OpDef, attrs: dict[str, Any], given: Sequence[Any]) -> Any:
    return "sparse", op, tuple([(len(a.shape), a.dtype) for a in given])


PROGRAM = Maker(_program, _family)
