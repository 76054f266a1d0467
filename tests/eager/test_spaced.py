"""linspace and logspace between tensors without values."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg


@pytest.mark.parametrize(
    ("start", "end", "steps", "dtype"),
    [(0.0, 1.0, 5, "float32"), (-3.3, 7.9, 6, "int64"), (2.0, 2.5, 1, "float64"), (0.0, 3.0, 0, "float32")],
)
@pytest.mark.parametrize("function", [sg.linspace, sg.logspace])
def test_ends_are_tensors_of_any_mode(interpreted, function, start, end, steps, dtype):
    expected = function(start, end, steps, dtype=dtype).numpy()
    with sg.Graph().as_default():
        a, b = sg.placeholder(sg.float64, ()), sg.placeholder(sg.float64, ())
        with sg.Session() as sess:
            found = sess.run(function(a, b, steps, dtype=dtype), {a: start, b: end})
    compiled = sg.compile(lambda a, b: function(a, b, steps, dtype=dtype))(
        *(sg.tensor(v, dtype=sg.float64) for v in (start, end))
    )
    for value in (found, compiled.numpy()):
        assert value.dtype == expected.dtype
        np.testing.assert_allclose(value, expected, rtol=1e-6)


def test_mapped_ends():
    found = sg.vmap(lambda end: sg.linspace(0, end, 3))(sg.tensor([1.0, 2.0]))
    assert found.tolist() == [[0, 0.5, 1], [0, 1, 2]]
