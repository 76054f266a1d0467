"""Row-major copies of arrays in any order of memory, by the kernel of plans."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from staticgrad.compiler.execute import fastcall

VIEWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "transposed": lambda x: x.reshape(182, 180).T,
    "axes in another order": lambda x: x.reshape(26, 28, 45).transpose(2, 0, 1),
    "the last axis first": lambda x: x.reshape(26, 28, 45).transpose(0, 2, 1),
    "heads": lambda x: x.reshape(2, 182, 5, 18).transpose(0, 2, 1, 3),
    "a part, transposed": lambda x: x.reshape(182, 180)[3:, 5:170].T,
    "a part": lambda x: x.reshape(182, 180)[:, 50:170],
    "every second": lambda x: np.concatenate([x, x]).reshape(-1, 2)[:, 1],
    "backward": lambda x: x.reshape(182, 180)[::-1, ::-1],
    "repeated": lambda x: np.broadcast_to(x[:182].reshape(182, 1), (182, 180)),
    "one row": lambda x: x.reshape(1, -1)[:, ::-1],
}


@pytest.fixture(autouse=True)
def compiled_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STATICGRAD_TIERS", "0")
    monkeypatch.setattr(fastcall, "_codes", {})


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.float32, np.float64, np.complex128])
def test_copies(view: str, dtype: type):
    x = VIEWS[view](np.random.default_rng(0).integers(0, 100, 182 * 180).astype(dtype))
    assert fastcall._kernel(x)
    copy = fastcall.copied(x)
    assert copy.flags.c_contiguous
    assert copy.flags.owndata
    np.testing.assert_array_equal(copy, x)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((4, 8)).T,
        np.zeros((200, 200)),
        np.full((200, 200), "ab").T,
        np.zeros((200, 200), [("a", "i1"), ("b", "f4")])["b"].T,
    ],
    ids=["small", "row-major", "text", "fields of records"],
)
def test_numpy_copies(array: np.ndarray):
    assert not fastcall._kernel(array)
    np.testing.assert_array_equal(fastcall.copied(array), array)
