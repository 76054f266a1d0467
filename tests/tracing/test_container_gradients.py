"""First and second gradients through values that a step keeps in containers, in the call and after it."""

from __future__ import annotations

import contextlib
import queue
import types
import weakref

import numpy as np
import pytest

import staticgrad as sg
from tests.tracing.test_containers import MODES, TYPES, Record, in_segments, weighted


def held(c):
    """The tensors of a container."""
    if isinstance(c, sg.Tensor):
        return [c]
    if isinstance(c, (str, float, int, weakref.WeakValueDictionary)):
        return []
    if isinstance(c, (types.SimpleNamespace, Record)):
        c = vars(c)
    elif isinstance(c, queue.Queue):
        c = c.queue
    return [tensor for part in (c.values() if hasattr(c, "values") else c) for tensor in held(part)]


def twice(total, x):
    """First and second gradients, of which the first is a value of the graph."""
    (first,) = sg.grad(total, [x], create_graph=True)
    return first, sg.grad((first**2).sum(), [x], retain_graph=True)[0]


def gradients(wrap, kind, dtype):
    """Of two calls, the values and gradients in the step, and gradients through what the containers hold afterwards."""
    make, changes = TYPES[kind]

    def step(x, containers):
        values = []
        for change, c in zip(changes.values(), containers, strict=True):
            with contextlib.suppress(IndexError, KeyError, ValueError):
                change(c, x * x * 2)
            values.append(weighted(c, x))
        return *values, *twice(sum((value**2).sum() for value in values), x)

    step = wrap(step)
    found = []
    for i in range(2):
        x = sg.tensor([i + 1.0, 0.5], dtype=dtype, requires_grad=True)
        containers = [make(1.5) for _ in changes]
        found += step(x, containers)
        kept = [tensor for c in containers for tensor in held(c) if tensor.requires_grad]
        if kept:
            found += [*kept, *twice(sum((tensor**2).sum() for tensor in kept), x)]
    return [(value.dtype, value.detach().numpy()) for value in found]


NATIVE = ("list", "a dataclass")
"""Containers whose steps run as machine code. NumPy runs the plans of the others, which compute the same."""

CASES = [
    *[(kind, mode, sg.float64) for kind in TYPES for mode in ("strict", "cut") if mode == "cut" or not in_segments(kind)],
    *[(kind, "whole", sg.float32) for kind in NATIVE],
]


@pytest.mark.parametrize(("kind", "mode", "dtype"), CASES, ids=str)
def test_values_in_containers_have_gradients(request: pytest.FixtureRequest, kind, mode, dtype):
    if kind not in NATIVE:
        request.getfixturevalue("interpreted")
    found, expected = gradients(MODES[mode], kind, dtype), gradients(lambda step: step, kind, dtype)
    for (mine, value), (theirs, right) in zip(found, expected, strict=True):
        assert mine == theirs
        np.testing.assert_allclose(value, right, rtol=1e-5 if dtype is sg.float32 else 1e-12)
