"""Where buffers lie: apart while they live together, and in little more memory than is alive at once."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from staticgrad.compiler.lower.instructions import ALIGN, MANY, Buffer, Memory, bound, lay_out, size_of


def slot(size: int, first: int, last: int) -> Buffer:
    return Buffer("arena", (size,), np.dtype(np.uint8), first, last)


def mixed(seed: int) -> list[Buffer]:
    """Buffers of all sizes that live for some rows."""
    draw = random.Random(seed)
    rows = draw.choice([10, 40, 100])
    firsts = [draw.randrange(rows) for _ in range(draw.choice([2, 5, 20, 60, 150]))]
    return [slot(int(2 ** draw.uniform(4, 16)), f, min(rows, f + int(draw.expovariate(1 / 4)))) for f in firsts]


def backward(layers: int) -> list[Buffer]:
    """Activations that wait for the backward pass, and a cotangent that goes through it."""
    kept = [slot(1000 * (i % 3 + 1), i, 2 * layers - i) for i in range(layers)]
    return kept + [slot(500 * (i % 5 + 1), layers + i, layers + i + 1) for i in range(layers)]


CASES: dict[str, Callable[[], list[Buffer]]] = {
    "none": list,
    "one": lambda: [slot(100, 0, 0)],
    "empty ones": lambda: [slot(0, 0, 3), slot(0, 1, 2)],
    "a chain": lambda: [slot(1000, i, i + 1) for i in range(50)],
    "growing": lambda: [slot(100 * i, i, i + 1) for i in range(1, 50)],
    "all at once": lambda: [slot(100 * i, 0, 9) for i in range(10)],
    "forward and backward": lambda: backward(30),
    "many": lambda: [slot(i % 7 * 1000, i, i + i % 5) for i in range(2 * MANY)],
    "many, forward and backward": lambda: backward(MANY),
    "many, of all lives": lambda: [slot(100 * (i % 11), i % 97 * 10, i % 97 * 10 + i % 13 * 50) for i in range(2 * MANY)],
    **{f"mixed {seed}": lambda seed=seed: mixed(seed) for seed in range(100)},
}


@pytest.mark.parametrize("name", CASES)
def test_layouts(name: str):
    slots = CASES[name]()
    size, least = lay_out(slots), bound(slots)
    assert least <= size <= 1.15 * least
    assert size == max((s.offset + size_of(s) for s in slots), default=0)
    assert all(s.offset % ALIGN == 0 and s.offset >= 0 for s in slots)
    for i, a in enumerate(slots):
        for b in slots[:i]:
            together = a.first <= b.last and b.first <= a.last
            assert not together or a.offset + a.nbytes <= b.offset or b.offset + b.nbytes <= a.offset


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_what_is_alive_at_once(seed: int):
    slots = mixed(seed)
    alive = [sum(size_of(s) for s in slots if s.first <= row <= s.last) for row in range(200)]
    assert bound(slots) == max(alive)


def test_the_ratio():
    assert Memory(150, 100).ratio == 1.5
    assert Memory(0, 0).ratio == 1.0
