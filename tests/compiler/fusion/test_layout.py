"""Strides, merged axes and row terms against what NumPy does on real arrays."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from staticgrad.compiler.fusion.node_facts import ZERO, Layouts, block_start, broadcast_strides, count, merged, real, row_terms
from staticgrad.ir import Layout
from staticgrad.operators import F
from staticgrad.ops.shaping import backwards
from tests.compiler.helpers import Bench
from tests.helpers import assert_close

SEEDS = range(60)


def random_view(seed: int) -> tuple[np.ndarray, np.ndarray, Layout]:
    """A buffer, a view of it (permuted, sliced, with steps of either sign), and the view's layout."""
    rng = random.Random(seed)
    shape = tuple(rng.choice((1, 2, 3, 5)) for _ in range(rng.choice((1, 2, 3, 4))))
    base = np.arange(math.prod(shape)).reshape(shape)
    axes = list(range(base.ndim))
    rng.shuffle(axes)
    view = base.transpose(axes)
    keys = [rng.choice((slice(None), slice(None, None, -1), slice(1, None), slice(None, None, 2))) for _ in shape]
    view = view[tuple(keys)]
    if rng.random() < 0.3:
        view = np.broadcast_to(view, (2, *view.shape))
    offset = int(view.flat[0]) if view.size else 0
    return base, view, Layout(view.shape, tuple(s // base.itemsize for s in view.strides), offset)


def walked(base: np.ndarray, layout: Layout) -> np.ndarray:
    flat = base.reshape(-1)
    grid = np.full(layout.shape, layout.offset)
    for axis, (extent, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        grid = grid + np.arange(extent).reshape([-1 if a == axis else 1 for a in range(len(layout.shape))]) * stride
    return flat[grid]


@pytest.mark.parametrize("seed", SEEDS)
def test_row_terms_give_every_row(seed: int):
    base, view, layout = random_view(seed)
    terms = row_terms(layout.shape, layout.strides)
    rows = np.arange(view.size)
    places = np.zeros(view.size, int)
    for divisor, modulus, stride in terms:
        places += (rows // divisor if modulus == 0 else rows // divisor % modulus) * stride
    flat = base.reshape(-1)
    np.testing.assert_array_equal(flat[layout.offset + places] if view.size else places, view.reshape(-1))


@pytest.mark.parametrize("seed", SEEDS)
def test_merged_is_one_stride_or_none(seed: int):
    base, view, layout = random_view(seed)
    stride = merged(layout.shape, layout.strides)
    order = view.reshape(-1)
    steps = np.diff(order)
    if stride is not None:
        np.testing.assert_array_equal(steps, np.full(steps.size, stride))
    else:
        assert len(set(steps.tolist())) > 1, "one stride would do"


@pytest.mark.parametrize("seed", SEEDS)
def test_block_start_is_the_longest_run(seed: int):
    _, _, layout = random_view(seed)
    k = block_start(layout.shape, layout.strides)
    assert merged(layout.shape[k:], layout.strides[k:]) is not None
    assert k == 0 or merged(layout.shape[k - 1 :], layout.strides[k - 1 :]) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_broadcast_strides_are_numpys(seed: int):
    rng = random.Random(seed)
    _, view, layout = random_view(seed)
    target = tuple(rng.choice((2, 4)) for _ in range(rng.choice((0, 1)))) + tuple(
        rng.choice((1, 3)) if d == 1 else d for d in view.shape
    )
    expected = np.broadcast_to(view, target).strides
    found = broadcast_strides(layout, target)
    assert found is not None
    for extent, ours, numpys in zip(target, found, expected, strict=True):
        assert extent == 1 or ours * view.itemsize == numpys


@pytest.mark.parametrize(("own", "target"), [((3,), (4,)), ((2, 3), (3,)), ((3, 1), (4, 2)), ((0,), (3,))])
def test_no_strides_where_it_does_not_broadcast(own: tuple[int, ...], target: tuple[int, ...]):
    assert broadcast_strides(Layout.contiguous(own), target) is None


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 5)])
def test_without_elements_any_stride_walks(shape: tuple[int, ...]):
    assert merged(shape, (7, 11, 13)[: len(shape)]) is not None


def test_extents_of_zero_are_told_apart():
    assert count((0, 3)) == 3 * ZERO
    assert [real(count(shape)) for shape in ((0, 3), (2, 3), (0, 0), ())] == [0, 6, 0, 1]


def test_no_extent_passes_for_an_empty_one():
    """Whatever stands for 0 in products of extents, kernels walk as many elements as there are."""
    assert np.iinfo(np.intp).max // 8 < ZERO
    b = Bench()
    x, y = b.feed(1_000_003), b.feed(2, 1_000_003)
    fetches = [F.exp(x), F.sum(y, axis=0), F.sum(y, axis=1)]
    for value, expected in zip(b.plan(*fetches).run(b.arrays, {}), b.expected(*fetches)[0], strict=True):
        assert_close(value, expected, 1e-4)


def test_listings_tell_of_empty_extents():
    b = Bench()
    told = [str(decision) for decision in b.plan(F.sum(F.exp(b.feed(3, 0)), axis=1)).decisions]
    assert told == ["exp fused with sum: one pass over 3 rows of 0"]
    assert count((0, 3)) != count((3, 0, 2))
    assert count((2, 3)) == 6


@pytest.mark.parametrize(
    ("write", "shape", "copied"),
    [
        (lambda x: F.reshape(x, (6, 2)), (3, 4), False),
        (lambda x: x.T, (3, 4), False),
        (lambda x: F.reshape(x.T, (12,)), (3, 4), True),
        (lambda x: x[1:, ::2], (3, 4), False),
        (lambda x: x[2], (3, 4), False),
        (lambda x: F.reshape(x[1:], (8,)), (3, 4), False),
        (lambda x: backwards(x, (1,)), (3, 4), False),
        (lambda x: F.broadcast_to(x, (2, 3, 4)), (3, 4), False),
        (lambda x: F.reshape(F.broadcast_to(x, (2, 3, 4)), (24,)), (3, 4), True),
        (lambda x: x[5:], (3, 4), False),
    ],
)
def test_views_lie_in_their_base_or_are_copied(write, shape: tuple[int, ...], copied: bool):
    b = Bench()
    x = b.feed(*shape)
    view = write(x)
    layouts = Layouts(b.graph)
    assert (view.node in layouts.copies) is copied
    assert layouts.base[view.node] is (view.node if copied else x.node)
    if not copied:
        at, base = layouts.at[view.node], b.arrays[0].reshape(-1)
        steps = tuple(s * base.itemsize for s in at.strides)
        seen = as_strided(base[at.offset :], at.shape, steps, writeable=False) if math.prod(at.shape) else np.empty(at.shape)
        np.testing.assert_array_equal(seen, b.expected(view)[0][0])
    b.check(view, view * 2)


def test_copy_gives_a_view_memory_of_its_own():
    b = Bench()
    x = b.feed(3, 4)
    view = x.T
    layouts = Layouts(b.graph)
    layouts.copy(view.node)
    assert layouts.copies[view.node] == (x.node, Layout((4, 3), (1, 4), 0))
    assert layouts.base[view.node] is view.node
    assert layouts.at[view.node] == Layout.contiguous((4, 3))


def test_the_sample_views_are_what_their_layouts_say():
    for seed in SEEDS:
        base, view, layout = random_view(seed)
        if view.size:
            np.testing.assert_array_equal(walked(base, layout), view)
