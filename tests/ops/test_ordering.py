"""The first elements of each row in the order of values."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.ops.ordering import FEW


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8"])
@pytest.mark.parametrize("shape", [(7,), (3, 5, 2), (4, 40), (90, 3)], ids=str)
def test_topk_is_the_head_of_a_stable_sort(dtype: str, shape: tuple[int, ...]):
    """Equal elements keep their order, and a NaN is the largest; by the kernel, by NumPy, and for many of them."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 6, shape).astype(dtype)
    if dtype.startswith("float"):
        x[rng.random(shape) < 0.2] = np.nan
    for axis, extent in enumerate(shape):
        for k in {0, 1, 3, extent, FEW + 1}:
            for largest in (True, False):
                if k > extent:
                    continue
                order = sg.argsort(sg.tensor(x), axis, descending=largest).numpy()
                expected = order[(slice(None),) * axis + (slice(k),)]
                fn = sg.compile(lambda t, k=k, axis=axis, largest=largest: tuple(t.topk(k, axis, largest)))
                with sg.eager_kernels(wait=True):
                    runs = [sg.topk(sg.tensor(x), k, axis, largest), fn(sg.tensor(x))]
                with sg.eager_kernels(False):
                    runs.append(sg.topk(sg.tensor(x), k, axis, largest))
                for values, indices in runs:
                    np.testing.assert_array_equal(indices.numpy(), expected)
                    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, expected, axis))
                assert fn.plan.host_calls == (k > FEW)


def test_topk_of_an_extent_that_is_known_late():
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float64, [None])
        top = sg.topk(x, 3).indices
        with sg.Session() as session:
            assert session.run(top, {x: [1.0, 5.0, 2.0, 7.0]}).tolist() == [3, 1, 2]
            with pytest.raises(sg.ArgumentError, match="selected index k out of range"):
                session.run(top, {x: [1.0, 5.0]})


def test_equal_elements_have_the_indices_that_the_guide_names():
    """Of a stable sort; `mode` has the last one. PyTorch promises none of them."""
    x = sg.tensor([2.0, 1.0, 2.0, 1.0, 0.0, 2.0] * 5)
    order = np.argsort(x.numpy(), kind="stable")
    assert x.sort().indices.tolist() == x.argsort().tolist() == order.tolist()
    assert [x.kthvalue(k).indices.item() for k in range(1, 31)] == order.tolist()
    assert x.topk(4).indices.tolist() == np.argsort(-x.numpy(), kind="stable")[:4].tolist()
    assert x.mode().indices.item() == 29
