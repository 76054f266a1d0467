"""The memory of tensors: storages, and `as_strided`, which reads elements around a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg


def test_views_lie_in_the_storage_of_the_whole():
    x = sg.arange(6.0).reshape(2, 3).clone()
    whole, bytes_ = x.storage(), x.untyped_storage()
    assert (whole.size(), len(whole), whole.element_size(), whole.nbytes()) == (6, 6, 4, 24)
    assert (bytes_.size(), bytes_.nbytes(), bytes_.element_size(), len(bytes_)) == (24, 24, 1, 24)
    assert bytes_.data_ptr() == x.data_ptr()
    assert whole.dtype == sg.float32
    assert whole.untyped() == bytes_
    for view in (x[1], x.t(), x[1].detach(), x[:, 1:]):
        assert view.untyped_storage() == bytes_
        assert view.untyped_storage()._cdata == bytes_._cdata
    assert x.clone().untyped_storage() != bytes_
    assert hash(x[0].storage()) == hash(whole)
    assert (whole[2], whole.tolist(), whole[1:3].tolist()) == (2.0, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0])
    whole[5] = 7.0
    assert x[1, 2].item() == 7.0
    assert sg.is_storage(whole)
    assert not sg.is_storage(x)
    assert not whole.is_shared()
    assert not whole.is_pinned()
    assert "6 elements of float32" in repr(whole)


def test_storages_keep_their_size():
    with pytest.raises(sg.ArgumentError, match=r"use x\.resize_"):
        sg.ones(2).untyped_storage().resize_(0)
    with pytest.raises(sg.GraphError, match="asks for memory"):
        sg.placeholder(sg.float32, [2]).storage()


def whole(requires_grad: bool = True) -> Any:
    return sg.tensor(np.arange(12.0).reshape(3, 4), requires_grad=requires_grad)


CASES: dict[str, tuple[Callable[[Any], Any], list[int]]] = {
    "the whole": (lambda x: x.as_strided((2, 2), (4, 1)), [0, 1, 4, 5]),
    "an offset": (lambda x: x.as_strided((2, 2), (4, 1), 1), [1, 2, 5, 6]),
    "a view begins where it is": (lambda x: x[1:].as_strided((2, 2), (4, 1)), [4, 5, 8, 9]),
    "an offset counts from the storage": (lambda x: x[1:].as_strided((2, 2), (4, 1), 4), [4, 5, 8, 9]),
    "a transpose": (lambda x: x.t().as_strided((2, 2), (4, 1)), [0, 1, 4, 5]),
    "a transpose, whole": (lambda x: x.t().as_strided((3, 4), (4, 1), 0), [*range(12)]),
    "columns": (lambda x: x[:, ::2].as_strided((3, 2), (4, 2)), [0, 2, 4, 6, 8, 10]),
    "inner columns": (lambda x: x[:, 1:3].as_strided((2, 2), (4, 1)), [1, 2, 5, 6]),
    "repeated": (lambda x: x[1:].as_strided((2, 2), (0, 1), 5), [5, 6, 5, 6]),
    "a row that was repeated": (lambda x: x[0].expand(3, 4).as_strided((2, 4), (0, 1)), [0, 1, 2, 3, 0, 1, 2, 3]),
    "another order of memory": (lambda x: (x * 1).t().as_strided((2, 2), (4, 1), 0), [0, 1, 4, 5]),
    "one element": (lambda x: x[2, 3].as_strided((1,), (1,)), [11]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("compiled", [False, True])
def test_as_strided(name: str, compiled: bool):
    f, places = CASES[name]
    run = sg.compile(f) if compiled else f
    for _ in range(2):
        x = whole()
        y = run(x)
        assert y.reshape(-1).tolist() == places
        (g,) = sg.grad((y * y).sum(), x, create_graph=True)
        times = np.bincount(places, minlength=12).reshape(3, 4)
        np.testing.assert_array_equal(g.numpy(force=True), 2 * times * np.arange(12.0).reshape(3, 4))
        (h,) = sg.grad(g.sum(), x)
        np.testing.assert_array_equal(h.numpy(), 2.0 * times)


def test_elements_around_a_view():
    x = whole(False)
    for view in (x[1:], x[1:].detach()):
        y = view.as_strided((2, 2), (4, 1), 0)
        assert y.tolist() == [[0.0, 1.0], [4.0, 5.0]]
        assert y.data_ptr() == x.data_ptr()
    y.mul_(10)
    assert x[0].tolist() == [0.0, 10.0, 2.0, 3.0]
    with pytest.raises(sg.GradientError, match="elements that are not its own"):
        whole()[1:].as_strided((2, 2), (4, 1), 0)
    with pytest.raises(sg.ArgumentError, match="reach beyond 12 elements"):
        x[1:].as_strided((13,), (1,), 0)
    with pytest.raises(sg.ArgumentError, match="a negative storage_offset"):
        x.as_strided((2,), (1,), -1)


def test_views_and_results_say_what_they_are():
    x = sg.ones(2, 3, requires_grad=True)
    y = x * 2
    assert y[0]._is_view()
    assert not y._is_view()
    assert not y.detach()._is_view()
    assert y[0]._base is y
    assert (x.output_nr, y.output_nr, x.unbind(0)[1].output_nr, x.max(0)[0].output_nr) == (0, 0, 1, 0)


def test_new_axes_of_one_element_can_be_written():
    x = sg.arange(3).expand(1, -1)
    x.copy_(sg.tensor([[4, 5, 6]]))
    assert x.tolist() == [[4, 5, 6]]
    w = sg.zeros(3, requires_grad=True)
    z = w * 1
    z.expand(1, 3).mul_(3)
    z.sum().backward()
    assert w.grad.tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(sg.GradientError, match="broadcast view"):
        sg.arange(3).expand(2, -1).add_(1)
