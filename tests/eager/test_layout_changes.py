"""In-place methods that change a shape or the memory: values, strides, views, gradients, versions, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import staticgrad as sg

CHANGES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], tuple[int, ...]]] = {
    "t_": (lambda x: x.t_(), (3, 2), (1, 3)),
    "transpose_": (lambda x: x.transpose_(0, -1), (3, 2), (1, 3)),
    "swapaxes_": (lambda x: x.swapaxes_(0, 1), (3, 2), (1, 3)),
    "swapdims_": (lambda x: x.swapdims_(0, 1), (3, 2), (1, 3)),
    "unsqueeze_": (lambda x: x.unsqueeze_(0), (1, 2, 3), (6, 3, 1)),
    "squeeze_": (lambda x: x.unsqueeze_(1).squeeze_(1), (2, 3), (3, 1)),
    "as_strided_": (lambda x: x.as_strided_((2, 2), (3, 1)), (2, 2), (3, 1)),
}


def matrix() -> Any:
    return sg.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])


@pytest.mark.parametrize("name", CHANGES)
def test_the_tensor_itself_is_changed(name: str):
    change, shape, stride = CHANGES[name]
    x = matrix()
    alias, row = x.detach(), x[0]
    assert change(x) is x
    assert (tuple(x.shape), x.stride()) == (shape, stride)
    assert x._version == 1 + (name == "squeeze_")
    x.add_(10)
    assert row[0].item() == alias[0, 0].item() == 10.0


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", [name for name in CHANGES if name != "as_strided_"])
def test_gradients(name: str, compiled: bool):
    """Of the changed tensor, of a view taken before, and of a record that read the former shape."""
    change, _, _ = CHANGES[name]

    def loss(w: Any) -> Any:
        x = w * 2
        row, before = x[1], x + 1
        change(x)
        x.mul_(3)
        return x.sum() + (row * row).sum() + before.sum()

    w = matrix().requires_grad_()
    (sg.compile(loss) if compiled else loss)(w).backward()
    assert w.grad.tolist() == [[8.0] * 3, [8.0 + 72 * v for v in (3.0, 4.0, 5.0)]]
    v = matrix().requires_grad_()
    (first,) = sg.grad(loss(v), v, create_graph=True)
    (second,) = sg.grad(first.sum(), v)
    assert second.tolist() == [[0.0] * 3, [72.0] * 3]


def test_a_part_of_the_memory():
    w = matrix().requires_grad_()
    x = w * 2
    x.as_strided_((2, 2), (3, 1)).mul_(5).sum().backward()
    assert w.grad.tolist() == [[10.0, 10.0, 0.0]] * 2
    x = w * 2
    row = x[1]
    with pytest.raises(sg.GradientError, match="views of this tensor need its whole memory"):
        x.as_strided_((2, 2), (3, 1))
    assert (x.shape, row.shape) == ((2, 3), (3,))


def test_saved_values_notice():
    w, x = sg.ones(2, 3, requires_grad=True), matrix()
    y = w * x
    x.t_()
    with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
        y.sum().backward()


def test_resize_keeps_the_order_of_memory():
    x = matrix().t()
    x.resize_(2, 2)
    assert x.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    x.resize_as_(sg.zeros(6))
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    x.resize_(0)
    x.resize_(8)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0]
    part = sg.arange(6.0)[2:]
    part.resize_(2)
    assert part.tolist() == [2.0, 3.0]


def test_set_takes_the_memory_of_another_tensor():
    x, source = sg.zeros(2), sg.arange(6.0)
    former = x.detach()
    assert x.set_(source) is x
    x[0] = 7.0
    assert (source[0].item(), former.tolist()) == (7.0, [0.0, 0.0])
    x.set_(source, 1, (2, 2), (2, 1))
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x.set_().numel() == 0


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: matrix().requires_grad_().t_(), sg.GradientError, "a leaf Variable that requires grad is being used"),
    (lambda: matrix().requires_grad_().resize_(3), sg.GradientError, "cannot resize variables that require grad"),
    (lambda: (matrix().requires_grad_() * 2).set_(sg.ones(2)), sg.GradientError, "derivative for set_ is not implemented"),
    (lambda: sg.zeros(2).set_(sg.arange(2)), sg.DTypeError, "Could not set tensor of type int64 to a tensor of type float32"),
    (lambda: matrix().transpose_(0, 2), sg.AxisError, "axis 2 is out of range"),
]


@pytest.mark.parametrize("row", range(len(REFUSED)))
def test_refusals(row: int):
    call, error, text = REFUSED[row]
    with pytest.raises(error, match=text):
        call()


def test_memory_that_views_share_does_not_grow():
    x = sg.arange(6.0)
    view = x[1:]
    with pytest.raises(sg.ArgumentError, match="needs more memory than the tensor has, which it shares with views"):
        x.resize_(8)
    assert (x.shape, view.tolist()) == ((6,), [1.0, 2.0, 3.0, 4.0, 5.0])


def test_a_tensor_from_outside_changes_in_segments():
    kept = matrix()

    @sg.compile(on_break="split")
    def turn() -> Any:
        kept.t_()
        return kept * 2

    assert turn().tolist() == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]
    assert kept.shape == (3, 2)
    assert turn().tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]


def test_the_same_bytes_as_another_dtype():
    x = sg.tensor([1.0, -2.0])
    bits = x.view(sg.int32)
    assert bits.tolist() == [1065353216, -1073741824]
    bits[0] = 0
    assert x.tolist() == [0.0, -2.0]
    assert x._version == bits._version == 1
    assert x.view(dtype=sg.uint8).shape == (8,)
    with pytest.raises(sg.ShapeError, match=r"view: float32 of shape \(3,\) can't be read as float64"):
        sg.zeros(3).view(sg.float64)


def test_memory_formats():
    x = sg.arange(24.0).reshape(1, 2, 3, 4)
    last = x.contiguous(memory_format=sg.channels_last)
    assert last.stride() == (24, 1, 8, 2)
    assert last.is_contiguous(memory_format=sg.channels_last)
    assert not last.is_contiguous()
    assert (last * 2).stride() == last.stride()
    assert x.to(memory_format=sg.channels_last).stride() == last.stride()
    assert sg.equal(last, x)
    with pytest.raises(sg.ShapeError, match="required rank 4 tensor to use channels_last format"):
        sg.zeros(2).contiguous(memory_format=sg.channels_last)
