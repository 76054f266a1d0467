"""The routines for convolutions and their gradients, each against the op's own NumPy: which is chosen, and what it computes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler.lower import instruction_builder
from staticgrad.ir import REGISTRY
from staticgrad.operators import apply
from tests.helpers import rng_of

CONV, INPUT, WEIGHT = (REGISTRY[name] for name in ("conv2d", "conv2d_input", "conv2d_weight"))


class Shape(NamedTuple):
    x: tuple[int, ...]
    w: tuple[int, ...]
    stride: tuple[int, int]
    padding: tuple[tuple[int, int], tuple[int, int]]
    dilation: tuple[int, int]
    groups: int
    routines: tuple[str, str, str]
    """Of the convolution, its gradient by the input, and by the weights."""


PLANES = ("depthwise_convolution.gather", "depthwise_convolution.gather", "depthwise_convolution.weights")
TILES = ("direct_convolution.gather", "direct_convolution.gather", "direct_convolution.weight_tiles")
DEEP = ("direct_convolution.gather_deep", "direct_convolution.gather_deep", "direct_convolution.weight_tiles")
PRODUCT = "a product"
IMAGES = ("direct_convolution.gather_images", "direct_convolution.gather_images", "direct_convolution.weights_inside")
SHAPES = {
    "depthwise": Shape((2, 5, 7, 9), (5, 1, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 5, PLANES),
    "depthwise, wide": Shape((1, 3, 6, 41), (3, 1, 3, 3), (1, 1), ((0, 2), (1, 0)), (1, 1), 3, PLANES),
    "depthwise, stride 2": Shape((2, 3, 9, 37), (3, 1, 3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1), 3, PLANES),
    "depthwise, stride 2, odd frame": Shape((1, 2, 8, 20), (2, 1, 3, 4), (2, 2), ((0, 0), (2, 1)), (1, 1), 2, PLANES),
    "depthwise, stride 3, dilated": Shape((2, 3, 11, 17), (3, 1, 2, 3), (3, 3), ((2, 1), (1, 3)), (2, 2), 3, PLANES),
    "depthwise, stride above the kernel": Shape((1, 2, 9, 9), (2, 1, 2, 1), (3, 4), ((0, 0), (0, 0)), (1, 1), 2, PLANES),
    "two results of a channel": Shape((2, 3, 6, 6), (6, 1, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 3, PLANES),
    "few channels to many": Shape(
        (2, 3, 9, 9), (18, 3, 3, 3), (2, 1), ((1, 1), (1, 1)), (1, 1), 1,
        ("direct_convolution.gather", "depthwise_convolution.gather", "direct_convolution.weight_tiles"),
    ),
    "many channels to one": Shape(
        (2, 12, 9, 9), (1, 12, 3, 3), (1, 2), ((1, 1), (1, 1)), (1, 1), 1,
        ("depthwise_convolution.gather", "direct_convolution.gather", "depthwise_convolution.weights"),
    ),
    "channels as lanes": Shape((3, 18, 7, 6), (24, 18, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1, TILES),
    "one image, one tap": Shape((1, 16, 5, 5), (32, 16, 1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1, TILES),
    "one tap, pixels as lanes": Shape(
        (3, 18, 8, 8), (24, 18, 1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1,
        (PRODUCT, PRODUCT, "direct_convolution.weight_tiles"),
    ),
    "one tap, three channels": Shape(
        (9, 3, 9, 11), (32, 3, 1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), 1,
        ("direct_convolution.gather", PRODUCT, "direct_convolution.weights"),
    ),
    "one tap, stride 2": Shape((2, 18, 8, 8), (24, 18, 1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1), 1, TILES),
    "one tap, padding": Shape((2, 18, 8, 8), (24, 18, 1, 1), (1, 1), ((1, 0), (0, 1)), (1, 1), 1, TILES),
    "groups of many": Shape((2, 16, 6, 6), (32, 8, 3, 2), (2, 1), ((0, 1), (1, 0)), (1, 2), 2, TILES),
    "many images": Shape(
        (11, 9, 6, 6), (17, 9, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1,
        ("direct_convolution.gather", "direct_convolution.gather", "direct_convolution.weights"),
    ),
    "taps that meet padding": Shape((19, 16, 4, 3), (24, 16, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1, IMAGES),
    "padding, stride 2, groups": Shape((18, 32, 5, 4), (34, 16, 3, 4), (2, 1), ((1, 1), (2, 1)), (1, 1), 2, IMAGES),
    "many taps": Shape((2, 40, 9, 11), (33, 40, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1, DEEP),
    "many taps, stride 2": Shape((2, 40, 9, 11), (130, 40, 3, 3), (2, 2), ((1, 0), (1, 1)), (1, 1), 1, DEEP),
    "large weights": Shape((10, 64, 16, 16), (128, 64, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1, DEEP),
    "large weights, no frame": Shape((9, 64, 20, 20), (120, 64, 3, 3), (1, 1), ((0, 0), (0, 0)), (1, 1), 1, DEEP),
    "large weights, groups": Shape((9, 120, 6, 6), (136, 60, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 2, DEEP),
}  # fmt: skip


def calls(case: Shape, dtype: str) -> list[tuple[Any, list[np.ndarray], dict[str, Any]]]:
    """(op, operands, attributes) of the convolution and its gradients."""
    rng = rng_of(str(case))
    x, w = (rng.standard_normal(shape).astype(dtype) for shape in (case.x, case.w))
    keys = {k: getattr(case, k) for k in ("stride", "padding", "dilation", "groups")}
    g = rng.standard_normal(CONV.eval(x, w, **keys).shape).astype(dtype)
    return [(CONV, [x, w], keys), (INPUT, [g, w, x], {**keys, "extra": (0, 0)}), (WEIGHT, [g, x, w], keys)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SHAPES)
def test_routines(name: str, dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(instruction_builder, "PARALLEL_WORK", 0)
    before = sg.get_num_threads()
    sg.set_num_threads(threads)
    try:
        for (op, operands, attrs), routine in zip(calls(SHAPES[name], dtype), SHAPES[name].routines, strict=True):
            run = sg.compile(lambda *values, op=op, attrs=attrs: apply(op, *values, **attrs))
            found, expected = run(*operands).numpy(), op.eval(*operands, **attrs)
            scale = float(np.abs(expected).max())
            np.testing.assert_allclose(found, expected, rtol=0, atol=64 * np.finfo(dtype).eps * scale, err_msg=op.name)
            kernel = routine if routine == PRODUCT else f"{routine}_{dtype[0]}{dtype[5:]}"
            assert f"{op.name} by {kernel}" in run.plan.explain()
            row = next(row for row in run.plan.instructions if row.kind in ("routine", "gemm"))
            assert row.chunks == (threads if routine == PRODUCT else min(threads, row.sizes[0]))
    finally:
        sg.set_num_threads(before)


@pytest.mark.parametrize("name", ["depthwise", "depthwise, stride 2", "channels as lanes", "many channels to one"])
def test_an_infinity_reaches_only_what_reads_it(name: str):
    """Rows of sums go on from one row of pixels to the next: what lies between must not be part of any."""
    case = SHAPES[name]
    for at in ((0, 0), (-1, -1), (-1, 0), (2, 3)):
        for op, operands, attrs in calls(case, "float64"):
            operands[1 if op is WEIGHT else 0][:, :, *at] = np.inf
            with np.errstate(all="ignore"):
                expected = op.eval(*operands, **attrs)
                found = sg.compile(lambda *v, op=op, attrs=attrs: apply(op, *v, **attrs))(*operands).numpy()
            np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected), err_msg=f"{op.name} {at}")


def test_one_tap_of_images_that_lie_otherwise():
    """A product reads row-major copies of images that are views."""
    x, w = (rng_of("one tap").standard_normal(shape).astype("float32") for shape in ((3, 18, 8, 12), (24, 18, 1, 1)))
    run = sg.compile(lambda x, w: sg.conv2d(x[:, :, :, 1:9].transpose(2, 3), w) + 1)
    attrs = {"stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "groups": 1}
    expected = CONV.eval(x[..., 1:9].swapaxes(2, 3), w, **attrs) + 1
    np.testing.assert_allclose(run(sg.from_numpy(x), sg.from_numpy(w)).numpy(), expected, rtol=1e-5, atol=1e-5)
    assert "conv2d by a product" in run.plan.explain()


def in_order(operands: list[np.ndarray], orders: list[tuple[int, ...]]) -> list[np.ndarray]:
    return [np.ascontiguousarray(x.transpose(order)) for x, order in zip(operands, orders, strict=True)]


LAST, FIRST = ((0, 2, 3, 1), (0, 3, 1, 2)), ((2, 3, 1, 0), (3, 2, 0, 1))
"""Orders of images and weights in memory, and the orders that undo them."""


@pytest.mark.parametrize(
    "name",
    ["few channels to many", "channels as lanes", "groups of many", "many images", "taps that meet padding", "large weights"],
)
def test_channels_last(name: str):
    """TensorFlow's layouts are read and written in place; other routines get copies."""
    for op, operands, attrs in calls(SHAPES[name], "float32"):
        of_operands = {CONV: [LAST, FIRST], INPUT: [LAST, FIRST, LAST], WEIGHT: [LAST, LAST, FIRST]}[op]
        order, backs = FIRST[0] if op is WEIGHT else LAST[0], [back for _, back in of_operands]

        def step(*values: Any, op: Any = op, attrs: Any = attrs, backs: Any = backs, order: Any = order) -> Any:
            found = apply(op, *(sg.permute(v, back) for v, back in zip(values, backs, strict=True)), **attrs)
            return sg.relu(sg.permute(found, order))

        run = sg.compile(step)
        found = run(*in_order(operands, [there for there, _ in of_operands])).numpy()
        expected = np.maximum(op.eval(*operands, **attrs).transpose(order), 0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=64 * np.finfo("float32").eps * float(np.abs(expected).max()))
        copies = [row for row in run.plan.instructions if row.kind == "copy"]
        assert bool(copies) == ("groups" in name or "depthwise" in run.plan.explain())


WINDOWS = [  # size of the window, stride, padding, dilation, extents
    ((2, 2), (2, 2), (0, 0), (1, 1), (3, 8, 6, 20)),
    ((3, 2), (1, 2), (1, 1), (2, 1), (2, 9, 7, 5)),
]


@pytest.mark.parametrize("window", WINDOWS)
def test_pooling_with_channels_last(window: Any):
    """The largest element, its gradient and the gradient of that: as with planes, without copies."""
    (kernel, stride, padding, dilation, shape) = window
    x = rng_of(str(window)).integers(0, 5, shape).astype("float32")
    x[0, 0, 0, 0] = np.nan

    def step(x: Any) -> Any:
        x.requires_grad_()
        y = sg.functional.max_pool2d(sg.permute(sg.relu(x), (0, 3, 1, 2)), kernel, stride, padding, dilation)
        y = sg.permute(y, (0, 2, 3, 1)) * 1
        (g,) = sg.grad((y**3).sum(), x, create_graph=True)
        (h,) = sg.grad((g**2).sum(), x)
        return y.detach(), g.detach(), h

    run = sg.compile(step)
    for found, expected in zip(run(sg.tensor(x)), step(sg.tensor(x)), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)
    assert [row for row in run.plan.instructions if row.kind == "copy"] == []
    assert "most_take_last_f32" in run.plan.explain()
